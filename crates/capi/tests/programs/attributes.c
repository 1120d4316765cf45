/* Attributes, dimensions and domains: what is set is what is told, and what their dumps say. */
#include "filter_lists.h"

static void tell_attribute(tiledb_attribute_t* attribute) {
    const char* name = NULL;
    tiledb_datatype_t type;
    uint32_t value_count = 0;
    uint64_t cell_size = 0, fill_size = 0;
    uint8_t is_nullable = 9, valid = 9;
    const void* fill = NULL;
    tiledb_filter_list_t* filters = NULL;
    tiledb_string_t* text = NULL;
    CHECK(tiledb_attribute_get_name(ctx, attribute, &name));
    CHECK(tiledb_attribute_get_type(ctx, attribute, &type));
    CHECK(tiledb_attribute_get_cell_val_num(ctx, attribute, &value_count));
    CHECK(tiledb_attribute_get_cell_size(ctx, attribute, &cell_size));
    CHECK(tiledb_attribute_get_nullable(ctx, attribute, &is_nullable));
    printf("  attribute '%s' type %d values %u size %" PRIu64 " nullable %d\n", name, (int)type, (unsigned)value_count,
        cell_size, (int)is_nullable);
    if (is_nullable) {
        CHECK(tiledb_attribute_get_fill_value_nullable(ctx, attribute, &fill, &fill_size, &valid));
        tell_number("valid", valid);
        CODE(tiledb_attribute_get_fill_value(ctx, attribute, &fill, &fill_size));
    } else {
        CHECK(tiledb_attribute_get_fill_value(ctx, attribute, &fill, &fill_size));
        CODE(tiledb_attribute_get_fill_value_nullable(ctx, attribute, &fill, &fill_size, &valid));
    }
    tell_cells("fill", TILEDB_UINT8, fill, fill_size);
    CHECK(tiledb_attribute_get_filter_list(ctx, attribute, &filters));
    tell_filters("filters", &filters);
    CHECK(tiledb_attribute_dump_str(ctx, attribute, &text));
    tell_string("dump", &text);
}

static void attributes(void) {
    const attribute_of plain = {"plain", TILEDB_INT32, 1, 0};
    const attribute_of pair = {"pair", TILEDB_FLOAT64, 2, 1};
    const attribute_of text = {"text", TILEDB_STRING_UTF8, TILEDB_VAR_NUM, 0};
    const attribute_of unnamed = {"", TILEDB_DATETIME_DAY, 1, 0};
    const attribute_of many = {"many", TILEDB_UINT16, TILEDB_VAR_NUM, 1};
    const double doubles[] = {1.5, -1.5};
    const int32_t seven = 7;
    tiledb_attribute_t* attribute = attribute_with(&plain);
    tiledb_filter_list_t* filters = filters_of(TILEDB_FILTER_ZSTD);
    printf("attributes\n");
    tell_attribute(attribute);
    CODE(tiledb_attribute_set_filter_list(ctx, attribute, filters));
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, &seven, sizeof seven));
    tell_attribute(attribute);
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, &seven, 3));
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, NULL, 4));
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, &seven, 0));
    CODE(tiledb_attribute_set_fill_value_nullable(ctx, attribute, &seven, sizeof seven, 1));
    CODE(tiledb_attribute_set_cell_val_num(ctx, attribute, 0));
    tiledb_attribute_free(&attribute);
    tell_number("freed", attribute == NULL);
    attribute = attribute_with(&pair);
    tell_attribute(attribute);
    CODE(tiledb_attribute_set_fill_value_nullable(ctx, attribute, doubles, sizeof doubles, 1));
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, doubles, sizeof doubles));
    tell_attribute(attribute);
    tiledb_attribute_free(&attribute);
    attribute = attribute_with(&text);
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, "none", 4));
    tell_attribute(attribute);
    tiledb_attribute_free(&attribute);
    attribute = attribute_with(&unnamed);
    tell_attribute(attribute);
    tiledb_attribute_free(&attribute);
    attribute = attribute_with(&many);
    tell_attribute(attribute);
    tiledb_attribute_free(&attribute);
    tiledb_filter_list_free(&filters);
}

static void tell_dimension(tiledb_dimension_t* dimension) {
    const char* name = NULL;
    tiledb_datatype_t type;
    uint32_t value_count = 0;
    const void *bounds = NULL, *extent = NULL;
    tiledb_filter_list_t* filters = NULL;
    tiledb_string_t* text = NULL;
    CHECK(tiledb_dimension_get_name(ctx, dimension, &name));
    CHECK(tiledb_dimension_get_type(ctx, dimension, &type));
    CHECK(tiledb_dimension_get_cell_val_num(ctx, dimension, &value_count));
    printf("  dimension '%s' type %d values %u\n", name, (int)type, (unsigned)value_count);
    CHECK(tiledb_dimension_get_domain(ctx, dimension, &bounds));
    CHECK(tiledb_dimension_get_tile_extent(ctx, dimension, &extent));
    if (bounds == NULL) {
        printf("  no bounds\n");
    } else {
        tell_cells("bounds", type, bounds, 2 * tiledb_datatype_size(type));
    }
    if (extent == NULL) {
        printf("  no extent\n");
    } else {
        tell_cells("extent", type, extent, tiledb_datatype_size(type));
    }
    CHECK(tiledb_dimension_get_filter_list(ctx, dimension, &filters));
    tell_filters("filters", &filters);
    CHECK(tiledb_dimension_dump_str(ctx, dimension, &text));
    tell_string("dump", &text);
}

static void domains(void) {
    const int32_t bounds[] = {-3, 6};
    const int32_t extent = 5;
    const double reals[] = {0.0, 0.5};
    const int64_t days[] = {0, 99};
    const int64_t ten = 10;
    const dimension_of dimensions[] = {
        {"row", TILEDB_INT32, bounds, &extent},
        {"real", TILEDB_FLOAT64, reals, NULL},
        {"day", TILEDB_DATETIME_DAY, days, &ten},
        {"word", TILEDB_STRING_ASCII, NULL, NULL},
    };
    tiledb_domain_t* domain = domain_with(dimensions, 4);
    tiledb_dimension_t* dimension = NULL;
    tiledb_filter_list_t* filters = filters_of(TILEDB_FILTER_RLE);
    tiledb_datatype_t type = TILEDB_ANY;
    tiledb_string_t* text = NULL;
    uint32_t count = 0, idx;
    int32_t has = 9;
    printf("domains\n");
    CODE(tiledb_domain_get_ndim(ctx, domain, &count));
    for (idx = 0; idx < count; idx++) {
        CHECK(tiledb_domain_get_dimension_from_index(ctx, domain, idx, &dimension));
        tell_dimension(dimension);
        tiledb_dimension_free(&dimension);
    }
    CODE(tiledb_domain_get_dimension_from_index(ctx, domain, 4, &dimension));
    CODE(tiledb_domain_get_dimension_from_name(ctx, domain, "word", &dimension));
    CODE(tiledb_dimension_set_filter_list(ctx, dimension, filters));
    CODE(tiledb_dimension_set_cell_val_num(ctx, dimension, TILEDB_VAR_NUM));
    CODE(tiledb_dimension_set_cell_val_num(ctx, dimension, 1));
    tell_dimension(dimension);
    tiledb_dimension_free(&dimension);
    CODE(tiledb_domain_get_dimension_from_name(ctx, domain, "none", &dimension));
    CODE(tiledb_domain_has_dimension(ctx, domain, "day", &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_domain_has_dimension(ctx, domain, "none", &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_domain_get_type(ctx, domain, &type));
    CODE(tiledb_domain_dump_str(ctx, domain, &text));
    tell_string("dump", &text);
    tiledb_domain_free(&domain);
    domain = domain_with(dimensions, 1);
    CODE(tiledb_domain_get_type(ctx, domain, &type));
    tell_number("type", (uint64_t)type);
    tiledb_domain_free(&domain);
    tell_number("freed", domain == NULL);
    tiledb_filter_list_free(&filters);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    attributes();
    domains();
    return end();
}

/* Schemas: what is set is what is told, before and after they are stored, and what their dumps say. */
#include "filter_lists.h"

static void tell_schema(tiledb_array_schema_t* schema) {
    tiledb_array_type_t kind;
    tiledb_layout_t cells, tiles;
    uint64_t capacity = 0;
    int dups = 9;
    uint32_t count = 0, version = 0;
    tiledb_filter_list_t* filters = NULL;
    tiledb_domain_t* domain = NULL;
    tiledb_string_t* text = NULL;
    CHECK(tiledb_array_schema_get_array_type(ctx, schema, &kind));
    CHECK(tiledb_array_schema_get_cell_order(ctx, schema, &cells));
    CHECK(tiledb_array_schema_get_tile_order(ctx, schema, &tiles));
    CHECK(tiledb_array_schema_get_capacity(ctx, schema, &capacity));
    CHECK(tiledb_array_schema_get_allows_dups(ctx, schema, &dups));
    CHECK(tiledb_array_schema_get_attribute_num(ctx, schema, &count));
    CHECK(tiledb_array_schema_get_version(ctx, schema, &version));
    printf("  schema of kind %d, cells %d, tiles %d, capacity %" PRIu64 ", duplicates %d, attributes %u, version %u\n",
        (int)kind, (int)cells, (int)tiles, capacity, dups, (unsigned)count, (unsigned)version);
    CHECK(tiledb_array_schema_get_coords_filter_list(ctx, schema, &filters));
    tell_filters("coordinates", &filters);
    CHECK(tiledb_array_schema_get_offsets_filter_list(ctx, schema, &filters));
    tell_filters("offsets", &filters);
    CHECK(tiledb_array_schema_get_validity_filter_list(ctx, schema, &filters));
    tell_filters("validity", &filters);
    CHECK(tiledb_array_schema_get_domain(ctx, schema, &domain));
    CHECK(tiledb_domain_get_ndim(ctx, domain, &count));
    tell_number("dimensions", count);
    tiledb_domain_free(&domain);
    CHECK(tiledb_array_schema_dump_str(ctx, schema, &text));
    tell_string("dump", &text);
}

static void schemas(void) {
    const int32_t bounds[] = {1, 8};
    const int32_t extent = 4;
    const dimension_of dimensions[] = {
        {"row", TILEDB_INT32, bounds, &extent}, {"column", TILEDB_INT32, bounds, &extent}};
    const attribute_of attributes_of[] = {{"a", TILEDB_INT32, 1, 0}, {"b", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 1}};
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 2, attributes_of, 2);
    tiledb_array_schema_t* loaded = NULL;
    tiledb_filter_list_t* filters = filters_of(TILEDB_FILTER_GZIP);
    tiledb_attribute_t* attribute = NULL;
    tiledb_enumeration_t* enumeration = NULL;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    const char* name = NULL;
    uint64_t lo = 0, hi = 0;
    int32_t has = 9;
    printf("schemas\n");
    tell_schema(schema);
    CODE(tiledb_array_schema_set_coords_filter_list(ctx, schema, filters));
    CODE(tiledb_array_schema_set_offsets_filter_list(ctx, schema, filters));
    CODE(tiledb_array_schema_set_validity_filter_list(ctx, schema, filters));
    CODE(tiledb_array_schema_set_capacity(ctx, schema, 77));
    CODE(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
    CODE(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_HILBERT));
    CODE(tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_COL_MAJOR));
    CODE(tiledb_array_schema_check(ctx, schema));
    tell_schema(schema);
    CODE(tiledb_array_create(ctx, in_folder("array"), schema));
    tiledb_array_schema_free(&schema);
    tell_number("freed", schema == NULL);
    CODE(tiledb_array_schema_load(ctx, in_folder("array"), &loaded));
    tell_schema(loaded);
    CODE(tiledb_array_schema_get_attribute_from_index(ctx, loaded, 1, &attribute));
    CHECK(tiledb_attribute_get_name(ctx, attribute, &name));
    tell_text("attribute", name);
    tiledb_attribute_free(&attribute);
    REFUSED(tiledb_array_schema_get_attribute_from_index(ctx, loaded, 2, &attribute));
    CODE(tiledb_array_schema_get_attribute_from_name(ctx, loaded, "a", &attribute));
    tiledb_attribute_free(&attribute);
    REFUSED(tiledb_array_schema_get_attribute_from_name(ctx, loaded, "c", &attribute));
    REFUSED(tiledb_array_schema_get_attribute_from_name(ctx, loaded, "", &attribute));
    REFUSED(tiledb_array_schema_get_enumeration_from_attribute_name(ctx, loaded, "c", &enumeration));
    CODE(tiledb_array_schema_has_attribute(ctx, loaded, "b", &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_array_schema_has_attribute(ctx, loaded, "row", &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_array_schema_timestamp_range(ctx, loaded, &lo, &hi));
    tell_number("one time", lo == hi && lo > 0);
    tiledb_array_schema_free(&loaded);
    CHECK(tiledb_config_alloc(&config, &error));
    CODE(tiledb_array_schema_load_with_config(ctx, config, in_folder("array"), &loaded));
    tiledb_config_free(&config);
    tiledb_array_schema_free(&loaded);
    REFUSED(tiledb_array_schema_load(ctx, in_folder("missing"), &loaded));
    CODE(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_DENSE, 42, &schema));
    CODE(tiledb_array_schema_timestamp_range(ctx, schema, &lo, &hi));
    printf("  at %d to %d\n", (int)lo, (int)hi);
    tiledb_array_schema_free(&schema);
    tiledb_filter_list_free(&filters);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    schemas();
    return end();
}

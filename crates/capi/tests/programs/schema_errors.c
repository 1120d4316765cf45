/* What cannot be a dimension, an attribute, a domain or a schema, and where it is refused. */
#include "told.h"

static void dimension_of_type(const char* what, tiledb_datatype_t type, const void* bounds, const void* extent) {
    tiledb_dimension_t* dimension = NULL;
    printf("  %s: %d\n", what, (int)tiledb_dimension_alloc(ctx, "x", type, bounds, extent, &dimension));
    tiledb_dimension_free(&dimension);
}

static void dimensions(void) {
    const int32_t usual[] = {1, 10}, backwards[] = {10, 1}, whole[] = {INT32_MIN, INT32_MAX};
    const int32_t five = 5, zero = 0, negative = -1, eleven = 11;
    const uint64_t wide[] = {0, UINT64_MAX}, less[] = {0, UINT64_MAX - 1}, one = 1;
    const double reals[] = {0.0, 1.0}, nans[] = {0.0, 0.0 / 0.0 * 1.0}, half = 0.5, two = 2.0;
    const int8_t small[] = {0, 1};
    printf("dimensions\n");
    dimension_of_type("usual", TILEDB_INT32, usual, &five);
    dimension_of_type("backwards", TILEDB_INT32, backwards, &five);
    dimension_of_type("no bounds", TILEDB_INT32, NULL, &five);
    dimension_of_type("no extent", TILEDB_INT32, usual, NULL);
    dimension_of_type("extent of nothing", TILEDB_INT32, usual, &zero);
    dimension_of_type("negative extent", TILEDB_INT32, usual, &negative);
    dimension_of_type("extent larger than the domain", TILEDB_INT32, usual, &eleven);
    dimension_of_type("all numbers", TILEDB_INT32, whole, NULL);
    dimension_of_type("all numbers with an extent", TILEDB_INT32, whole, &five);
    dimension_of_type("all of 64 bits", TILEDB_UINT64, wide, NULL);
    dimension_of_type("all of 64 bits with an extent", TILEDB_UINT64, wide, &one);
    dimension_of_type("all but one of 64 bits", TILEDB_UINT64, less, &one);
    dimension_of_type("reals", TILEDB_FLOAT64, reals, &half);
    dimension_of_type("reals, extent too large", TILEDB_FLOAT64, reals, &two);
    dimension_of_type("not a number", TILEDB_FLOAT64, nans, &half);
    dimension_of_type("text", TILEDB_STRING_ASCII, NULL, NULL);
    dimension_of_type("text with bounds", TILEDB_STRING_ASCII, usual, NULL);
    dimension_of_type("text with an extent", TILEDB_STRING_ASCII, NULL, &five);
    dimension_of_type("text of UTF-8", TILEDB_STRING_UTF8, NULL, NULL);
    dimension_of_type("characters", TILEDB_CHAR, small, NULL);
    dimension_of_type("truth", TILEDB_BOOL, small, NULL);
    dimension_of_type("bytes", TILEDB_BLOB, small, NULL);
    dimension_of_type("anything", TILEDB_ANY, small, NULL);
    dimension_of_type("geometry", TILEDB_GEOM_WKB, small, NULL);
}

static void attributes(void) {
    const int32_t value = 1;
    tiledb_attribute_t* attribute = NULL;
    printf("attributes\n");
    CODE(tiledb_attribute_alloc(ctx, "a", (tiledb_datatype_t)99, &attribute));
    CODE(tiledb_attribute_alloc(ctx, NULL, TILEDB_INT32, &attribute));
    CODE(tiledb_attribute_alloc(ctx, "a", TILEDB_INT32, NULL));
    CODE(tiledb_attribute_alloc(ctx, "__reserved", TILEDB_INT32, &attribute));
    tiledb_attribute_free(&attribute);
    CODE(tiledb_attribute_alloc(ctx, "a", TILEDB_ANY, &attribute));
    CODE(tiledb_attribute_set_cell_val_num(ctx, attribute, 1));
    CODE(tiledb_attribute_set_cell_val_num(ctx, attribute, TILEDB_VAR_NUM));
    CODE(tiledb_attribute_set_nullable(ctx, attribute, 1));
    tiledb_attribute_free(&attribute);
    CHECK(tiledb_attribute_alloc(ctx, "a", TILEDB_INT32, &attribute));
    CODE(tiledb_attribute_set_nullable(ctx, attribute, 1));
    CODE(tiledb_attribute_set_fill_value(ctx, attribute, &value, sizeof value));
    CODE(tiledb_attribute_set_filter_list(ctx, attribute, NULL));
    CODE(tiledb_attribute_get_name(ctx, attribute, NULL));
    CODE(tiledb_attribute_dump_str(ctx, attribute, NULL));
    tiledb_attribute_free(&attribute);
}

static void domains(void) {
    const int32_t bounds[] = {1, 10};
    const int32_t extent = 5;
    tiledb_domain_t* domain = NULL;
    tiledb_dimension_t *dimension = NULL, *same = NULL;
    printf("domains\n");
    CHECK(tiledb_domain_alloc(ctx, &domain));
    CHECK(tiledb_dimension_alloc(ctx, "x", TILEDB_INT32, bounds, &extent, &dimension));
    CHECK(tiledb_dimension_alloc(ctx, "x", TILEDB_INT32, bounds, &extent, &same));
    CODE(tiledb_domain_add_dimension(ctx, domain, dimension));
    CODE(tiledb_domain_add_dimension(ctx, domain, NULL));
    CODE(tiledb_domain_get_dimension_from_index(ctx, domain, 1, &same));
    CODE(tiledb_domain_get_dimension_from_name(ctx, domain, NULL, &same));
    tiledb_dimension_free(&dimension);
    tiledb_dimension_free(&same);
    tiledb_domain_free(&domain);
}

/* A schema that lacks something or has too much, created at a path where it can be. */
static void schema_is(const char* what, tiledb_array_schema_t* schema) {
    const char* uri = in_folder(what);
    printf("  %s: check %d", what, (int)tiledb_array_schema_check(ctx, schema));
    printf(", create %d\n", (int)tiledb_array_create(ctx, uri, schema));
    tiledb_array_schema_free(&schema);
}

static void schemas(void) {
    const int32_t bounds[] = {1, 10};
    const int32_t extent = 5;
    const double reals[] = {0.0, 1.0};
    const attribute_of a = {"a", TILEDB_INT32, 1, 0}, x = {"x", TILEDB_INT32, 1, 0};
    const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
    const dimension_of without_extent = {"x", TILEDB_INT32, bounds, NULL};
    const dimension_of real = {"x", TILEDB_FLOAT64, reals, NULL};
    const dimension_of word = {"x", TILEDB_STRING_ASCII, NULL, NULL};
    tiledb_array_schema_t* schema = NULL;
    tiledb_attribute_t* attribute = attribute_with(&a);
    tiledb_domain_t* domain = NULL;
    printf("schemas\n");
    CHECK(tiledb_array_schema_alloc(ctx, TILEDB_DENSE, &schema));
    schema_is("empty", schema);
    schema_is("dense without attributes", schema_with(TILEDB_DENSE, &dimension, 1, NULL, 0));
    schema_is("sparse without attributes", schema_with(TILEDB_SPARSE, &dimension, 1, NULL, 0));
    schema_is("attribute named as the dimension", schema_with(TILEDB_SPARSE, &dimension, 1, &x, 1));
    schema_is("dense without an extent", schema_with(TILEDB_DENSE, &without_extent, 1, &a, 1));
    schema_is("sparse without an extent", schema_with(TILEDB_SPARSE, &without_extent, 1, &a, 1));
    schema_is("sparse of reals", schema_with(TILEDB_SPARSE, &real, 1, &a, 1));
    schema_is("sparse of words", schema_with(TILEDB_SPARSE, &word, 1, &a, 1));

    CHECK(tiledb_array_schema_alloc(ctx, TILEDB_DENSE, &schema));
    domain = domain_with(&real, 1);
    CODE(tiledb_array_schema_set_domain(ctx, schema, domain));
    tiledb_domain_free(&domain);
    domain = domain_with(&word, 1);
    CODE(tiledb_array_schema_set_domain(ctx, schema, domain));
    tiledb_domain_free(&domain);
    CHECK(tiledb_domain_alloc(ctx, &domain));
    CODE(tiledb_array_schema_set_domain(ctx, schema, domain));
    CODE(tiledb_array_schema_set_domain(ctx, schema, NULL));
    tiledb_domain_free(&domain);
    CODE(tiledb_array_schema_add_attribute(ctx, schema, NULL));
    CODE(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    CODE(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    CODE(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
    CODE(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_HILBERT));
    CODE(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_UNORDERED));
    CODE(tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_HILBERT));
    CODE(tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_UNORDERED));
    CODE(tiledb_array_schema_set_capacity(ctx, schema, 0));
    CODE(tiledb_array_schema_set_coords_filter_list(ctx, schema, NULL));
    tiledb_array_schema_free(&schema);
    tiledb_attribute_free(&attribute);
    CODE(tiledb_array_schema_alloc(ctx, TILEDB_DENSE, NULL));

    schema = schema_with(TILEDB_SPARSE, &dimension, 1, &a, 1);
    CODE(tiledb_array_create(ctx, in_folder("twice"), schema));
    REFUSED(tiledb_array_create(ctx, in_folder("twice"), schema));
    CODE(tiledb_array_create(ctx, NULL, schema));
    CODE(tiledb_array_create(ctx, "", schema));
    tiledb_array_schema_free(&schema);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    dimensions();
    attributes();
    domains();
    schemas();
    return end();
}

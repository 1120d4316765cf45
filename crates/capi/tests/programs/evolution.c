/* Schemas that change: attributes come and go, enumerations grow, and cells of before are read with what is new. */
#include "told.h"

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};

static void evolve(const char* uri, tiledb_array_schema_evolution_t* evolution) {
    CODE(tiledb_array_evolve(ctx, uri, evolution));
    tiledb_array_schema_evolution_free(&evolution);
}

static tiledb_array_schema_evolution_t* evolution_at(uint64_t time) {
    tiledb_array_schema_evolution_t* evolution = NULL;
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CHECK(tiledb_array_schema_evolution_set_timestamp_range(ctx, evolution, time, time));
    return evolution;
}

static void tell_attributes(const char* uri) {
    tiledb_array_schema_t* schema = NULL;
    uint32_t count = 0, idx;
    uint64_t lo = 0, hi = 0;
    CHECK(tiledb_array_schema_load(ctx, uri, &schema));
    CHECK(tiledb_array_schema_get_attribute_num(ctx, schema, &count));
    CHECK(tiledb_array_schema_timestamp_range(ctx, schema, &lo, &hi));
    printf("  at %d:", (int)lo);
    for (idx = 0; idx < count; idx++) {
        tiledb_attribute_t* attribute = NULL;
        const char* name = NULL;
        tiledb_datatype_t type;
        CHECK(tiledb_array_schema_get_attribute_from_index(ctx, schema, idx, &attribute));
        CHECK(tiledb_attribute_get_name(ctx, attribute, &name));
        CHECK(tiledb_attribute_get_type(ctx, attribute, &type));
        printf(" %s(%d)", name, (int)type);
        tiledb_attribute_free(&attribute);
    }
    printf("\n");
    tiledb_array_schema_free(&schema);
}

static void write_cells(const char* uri, uint64_t time, const char* const* names, size_t count, int32_t first) {
    int32_t cells[2][4];
    uint64_t byte_len[2];
    size_t idx, at;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    for (idx = 0; idx < count; idx++) {
        for (at = 0; at < 4; at++) {
            cells[idx][at] = first + (int32_t)(10 * idx + at);
        }
        byte_len[idx] = sizeof cells[idx];
        CHECK(tiledb_query_set_data_buffer(ctx, query, names[idx], cells[idx], &byte_len[idx]));
    }
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void read_cells(const char* uri, uint64_t time, const char* name) {
    int32_t cells[4] = {0};
    uint64_t byte_len = sizeof cells;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, time);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_subarray_t* subarray = NULL;
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, bounds));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    if (CODE(tiledb_query_set_data_buffer(ctx, query, name, cells, &byte_len)) != TILEDB_OK) {
        tell_last_error();
    } else {
        submit(query);
        TELL_I32(name, cells, byte_len);
    }
    tiledb_subarray_free(&subarray);
    tiledb_query_free(&query);
    close_array(array);
}

static void attributes(void) {
    const char* uri = in_folder("attributes");
    const attribute_of a = {"a", TILEDB_INT32, 1, 0}, b = {"b", TILEDB_INT32, 1, 0}, x = {"x", TILEDB_INT32, 1, 0};
    const int32_t fill = -5;
    const char* const first[] = {"a"};
    const char* const both[] = {"a", "b"};
    const char* const last[] = {"b"};
    tiledb_array_schema_t* schema;
    tiledb_array_schema_evolution_t* evolution;
    tiledb_attribute_t* attribute;
    tiledb_domain_t* domain = domain_with(&dimension, 1);
    printf("attributes\n");
    CHECK(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_DENSE, 1, &schema));
    CHECK(tiledb_array_schema_set_domain(ctx, schema, domain));
    tiledb_domain_free(&domain);
    attribute = attribute_with(&a);
    CHECK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    tiledb_attribute_free(&attribute);
    create_array(uri, schema);
    tell_attributes(uri);
    write_cells(uri, 2, first, 1, 100);

    evolution = evolution_at(3);
    attribute = attribute_with(&b);
    CHECK(tiledb_attribute_set_fill_value(ctx, attribute, &fill, sizeof fill));
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
    tiledb_attribute_free(&attribute);
    evolve(uri, evolution);
    tell_attributes(uri);
    read_cells(uri, 4, "b");
    write_cells(uri, 5, both, 2, 200);
    read_cells(uri, 6, "a");
    read_cells(uri, 6, "b");
    read_cells(uri, 2, "a");

    evolution = evolution_at(7);
    CODE(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "a"));
    evolve(uri, evolution);
    tell_attributes(uri);
    read_cells(uri, 8, "a");
    write_cells(uri, 9, last, 1, 300);
    read_cells(uri, 9, "b");

    /* What cannot be. */
    evolution = evolution_at(10);
    attribute = attribute_with(&b);
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
    tiledb_attribute_free(&attribute);
    evolve(uri, evolution);
    evolution = evolution_at(10);
    attribute = attribute_with(&x);
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
    tiledb_attribute_free(&attribute);
    evolve(uri, evolution);
    evolution = evolution_at(10);
    CODE(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "x"));
    evolve(uri, evolution);
    evolution = evolution_at(10);
    CODE(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "b"));
    evolve(uri, evolution);
    evolution = evolution_at(10);
    CODE(tiledb_array_schema_evolution_set_timestamp_range(ctx, evolution, 3, 5));
    CODE(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, NULL));
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, NULL));
    tiledb_array_schema_evolution_free(&evolution);
    tell_number("freed", evolution == NULL);
    CODE(tiledb_array_evolve(ctx, uri, NULL));
    tell_attributes(uri);
}

static void tell_words(const char* uri) {
    tiledb_array_schema_t* schema = NULL;
    tiledb_enumeration_t* words = NULL;
    const void* data = NULL;
    uint64_t byte_len = 0;
    CHECK(tiledb_array_schema_load(ctx, uri, &schema));
    if (CODE(tiledb_array_schema_get_enumeration_from_name(ctx, schema, "words", &words)) == TILEDB_OK &&
        words != NULL) {
        CHECK(tiledb_enumeration_get_data(ctx, words, &data, &byte_len));
        TELL_CHARS("words", data, byte_len);
        tiledb_enumeration_free(&words);
    }
    tiledb_array_schema_free(&schema);
}

static void enumerations(void) {
    const char* uri = in_folder("enumerations");
    const attribute_of a = {"a", TILEDB_INT32, 1, 0}, colour = {"colour", TILEDB_INT32, 1, 0};
    const uint64_t offsets[] = {0, 3};
    const uint64_t more_offsets[] = {0, 4};
    tiledb_array_schema_t* schema = schema_with(TILEDB_DENSE, &dimension, 1, &a, 1);
    tiledb_enumeration_t *words = NULL, *more = NULL, *other = NULL;
    tiledb_array_schema_evolution_t* evolution = NULL;
    tiledb_attribute_t* attribute = attribute_with(&colour);
    printf("enumerations\n");
    create_array(uri, schema);
    CHECK(tiledb_enumeration_alloc(
        ctx, "words", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "onetwo", 6, offsets, sizeof offsets, &words));
    CHECK(tiledb_enumeration_extend(ctx, words, "fourfive", 8, more_offsets, sizeof more_offsets, &more));
    CHECK(tiledb_enumeration_alloc(
        ctx, "words", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "oneten", 6, offsets, sizeof offsets, &other));
    CHECK(tiledb_attribute_set_enumeration_name(ctx, attribute, "words"));

    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CODE(tiledb_array_schema_evolution_add_enumeration(ctx, evolution, words));
    CODE(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
    evolve(uri, evolution);
    tell_words(uri);
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CODE(tiledb_array_schema_evolution_extend_enumeration(ctx, evolution, more));
    evolve(uri, evolution);
    tell_words(uri);
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CODE(tiledb_array_schema_evolution_extend_enumeration(ctx, evolution, other));
    evolve(uri, evolution);
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CODE(tiledb_array_schema_evolution_drop_enumeration(ctx, evolution, "words"));
    evolve(uri, evolution);
    tell_words(uri);
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CODE(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "colour"));
    CODE(tiledb_array_schema_evolution_drop_enumeration(ctx, evolution, "words"));
    evolve(uri, evolution);
    tell_words(uri);
    tiledb_attribute_free(&attribute);
    tiledb_enumeration_free(&words);
    tiledb_enumeration_free(&more);
    tiledb_enumeration_free(&other);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    attributes();
    enumerations();
    return end();
}

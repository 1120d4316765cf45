/* Enumerations: of texts and numbers, extended, in schemas and arrays, and what cannot be one. */
#include "told.h"

static tiledb_enumeration_t* words_of(
    const char* name, const char* data, const uint64_t* offsets, size_t count, int ordered) {
    tiledb_enumeration_t* words = NULL;
    CHECK(tiledb_enumeration_alloc(ctx, name, TILEDB_STRING_ASCII, TILEDB_VAR_NUM, ordered, data, strlen(data), offsets,
        count * sizeof *offsets, &words));
    return words;
}

static void tell(tiledb_enumeration_t* enumeration) {
    tiledb_string_t* text = NULL;
    tiledb_datatype_t type;
    uint32_t value_count = 0;
    int ordered = 9;
    const void *data = NULL, *offsets = NULL;
    uint64_t data_len = 0, offsets_len = 0;
    CHECK(tiledb_enumeration_get_name(ctx, enumeration, &text));
    tell_string("name", &text);
    CHECK(tiledb_enumeration_get_type(ctx, enumeration, &type));
    CHECK(tiledb_enumeration_get_cell_val_num(ctx, enumeration, &value_count));
    CHECK(tiledb_enumeration_get_ordered(ctx, enumeration, &ordered));
    printf("  type %d values %u ordered %d\n", (int)type, (unsigned)value_count, ordered);
    CHECK(tiledb_enumeration_get_data(ctx, enumeration, &data, &data_len));
    CHECK(tiledb_enumeration_get_offsets(ctx, enumeration, &offsets, &offsets_len));
    tell_cells("data", type, data, data_len);
    TELL_U64("offsets", offsets, offsets_len);
    CHECK(tiledb_enumeration_dump_str(ctx, enumeration, &text));
    tell_string("dump", &text);
}

static void tell_index(tiledb_enumeration_t* enumeration, const void* value, uint64_t byte_len) {
    int exists = 9;
    uint64_t index = 99;
    CODE(tiledb_enumeration_get_value_index(ctx, enumeration, value, byte_len, &exists, &index));
    printf("  exists %d", exists);
    printf(exists ? " at %d\n" : "\n", (int)index);
}

static void values(void) {
    const uint64_t offsets[] = {0, 3, 6};
    const uint64_t more_offsets[] = {0, 4};
    const int32_t numbers[] = {10, 20, 30};
    const int32_t forty = 40, twenty = 20, eleven = 11;
    const float pairs[] = {1.0f, 2.0f, 3.0f, 4.0f};
    tiledb_enumeration_t *words = words_of("words", "onetwothree", offsets, 3, 0), *more = NULL, *others = NULL;
    printf("values\n");
    tell(words);
    tell_index(words, "two", 3);
    tell_index(words, "tw", 2);
    tell_index(words, "", 0);
    CODE(tiledb_enumeration_extend(ctx, words, "fourfive", 8, more_offsets, sizeof more_offsets, &more));
    tell(more);
    tiledb_enumeration_free(&more);
    CODE(tiledb_enumeration_extend(ctx, words, "oneelse", 7, offsets, 2 * sizeof *offsets, &more));
    CODE(tiledb_enumeration_extend(ctx, words, NULL, 0, NULL, 0, &more));
    tiledb_enumeration_free(&words);
    tell_number("freed", words == NULL);
    CODE(tiledb_enumeration_alloc(ctx, "numbers", TILEDB_INT32, 1, 1, numbers, sizeof numbers, NULL, 0, &others));
    tell(others);
    tell_index(others, &twenty, sizeof twenty);
    tell_index(others, &eleven, sizeof eleven);
    tell_index(others, &twenty, 2);
    CODE(tiledb_enumeration_extend(ctx, others, &forty, sizeof forty, NULL, 0, &more));
    tell(more);
    tiledb_enumeration_free(&more);
    tiledb_enumeration_free(&others);
    CODE(tiledb_enumeration_alloc(ctx, "pairs", TILEDB_FLOAT32, 2, 0, pairs, sizeof pairs, NULL, 0, &others));
    tell(others);
    tell_index(others, pairs + 2, 8);
    tiledb_enumeration_free(&others);
    CODE(tiledb_enumeration_alloc(ctx, "none", TILEDB_STRING_UTF8, TILEDB_VAR_NUM, 0, NULL, 0, NULL, 0, &others));
    tell(others);
    tiledb_enumeration_free(&others);
}

static void refusals(void) {
    const uint64_t offsets[] = {0, 3}, far[] = {0, 30};
    const int32_t twice[] = {10, 10};
    tiledb_enumeration_t* made = NULL;
    printf("refusals\n");
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, twice, sizeof twice, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, twice, 7, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 0, 0, twice, 4, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, twice, 4, offsets, sizeof offsets, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "onetwo", 6, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(
        ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "onetwo", 6, far, sizeof far, &made));
    CODE(tiledb_enumeration_alloc(
        ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "oneone", 6, offsets, sizeof offsets, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "onetwo", 6, offsets, 9, &made));
    CODE(tiledb_enumeration_alloc(ctx, NULL, TILEDB_INT32, 1, 0, twice, 4, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", (tiledb_datatype_t)99, 1, 0, twice, 4, NULL, 0, &made));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, twice, 4, NULL, 0, NULL));
    CODE(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, NULL, 4, NULL, 0, &made));
}

static void arrays(void) {
    const uint64_t offsets[] = {0, 3, 6};
    const int32_t bounds[] = {1, 4};
    const int32_t extent = 2;
    const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
    const attribute_of colour = {"colour", TILEDB_UINT8, 1, 0}, real = {"real", TILEDB_FLOAT32, 1, 0};
    tiledb_array_schema_t* schema = schema_with(TILEDB_DENSE, &dimension, 1, NULL, 0);
    tiledb_enumeration_t *words = words_of("words", "redsungold", offsets, 3, 1), *found = NULL;
    tiledb_attribute_t* attribute = attribute_with(&colour);
    tiledb_string_t* name = NULL;
    tiledb_array_t* array = NULL;
    uint8_t cells[] = {0, 2, 1, 2};
    uint64_t byte_len = sizeof cells;
    tiledb_query_t* query;
    printf("arrays\n");
    CODE(tiledb_attribute_get_enumeration_name(ctx, attribute, &name));
    tell_string("enumeration", &name);
    CODE(tiledb_attribute_set_enumeration_name(ctx, attribute, "words"));
    CODE(tiledb_attribute_get_enumeration_name(ctx, attribute, &name));
    tell_string("enumeration", &name);
    CODE(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    CODE(tiledb_array_schema_add_enumeration(ctx, schema, words));
    CODE(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    CODE(tiledb_array_schema_add_enumeration(ctx, schema, words));
    tiledb_attribute_free(&attribute);
    attribute = attribute_with(&real);
    CODE(tiledb_attribute_set_enumeration_name(ctx, attribute, "words"));
    CODE(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    tiledb_attribute_free(&attribute);
    CODE(tiledb_array_schema_check(ctx, schema));
    CODE(tiledb_array_schema_get_enumeration_from_name(ctx, schema, "words", &found));
    tell(found);
    tiledb_enumeration_free(&found);
    CODE(tiledb_array_schema_get_enumeration_from_name(ctx, schema, "missing", &found));
    tell_last_error();
    CODE(tiledb_array_schema_get_enumeration_from_attribute_name(ctx, schema, "colour", &found));
    tell_number("found", found != NULL);
    tiledb_enumeration_free(&found);
    create_array(in_folder("array"), schema);

    array = array_at(in_folder("array"), TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "colour", cells, &byte_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);

    array = array_at(in_folder("array"), TILEDB_READ, 0);
    CODE(tiledb_array_get_enumeration(ctx, array, "words", &found));
    tell(found);
    tiledb_enumeration_free(&found);
    CODE(tiledb_array_get_enumeration(ctx, array, "missing", &found));
    CODE(tiledb_array_load_all_enumerations(ctx, array));
    CODE(tiledb_array_load_enumerations_all_schemas(ctx, array));
    close_array(array);
    CHECK(tiledb_array_schema_load(ctx, in_folder("array"), &schema));
    CODE(tiledb_array_schema_get_enumeration_from_name(ctx, schema, "words", &found));
    tell_number("found", found != NULL);
    tiledb_enumeration_free(&found);
    tiledb_array_schema_free(&schema);
    tiledb_enumeration_free(&words);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    values();
    refusals();
    arrays();
    return end();
}

/* Texts in queries: offsets of 32 and 64 bits, in bytes and elements, with one more, in small buffers; ranges. */
#include "told.h"

static const dimension_of word = {"word", TILEDB_STRING_ASCII, NULL, NULL};
static const attribute_of attributes[] = {
    {"text", TILEDB_STRING_UTF8, UINT32_MAX, 0},
    {"numbers", TILEDB_INT32, UINT32_MAX, 0},
};

typedef struct {
    char word[64], text[64];
    int32_t numbers[16];
    uint64_t word_at[9], text_at[9], numbers_at[9];
    uint64_t word_len, text_len, numbers_len, word_at_len, text_at_len, numbers_at_len;
} buffers_of;

static void set_buffers(tiledb_query_t* query, buffers_of* of) {
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", of->word, &of->word_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", of->word_at, &of->word_at_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "text", of->text, &of->text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "text", of->text_at, &of->text_at_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "numbers", of->numbers, &of->numbers_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "numbers", of->numbers_at, &of->numbers_at_len));
}

static void tell_buffers(const buffers_of* of, tiledb_datatype_t offset) {
    TELL_CHARS("words", of->word, of->word_len);
    tell_cells("  at", offset, of->word_at, of->word_at_len);
    TELL_CHARS("texts", of->text, of->text_len);
    tell_cells("  at", offset, of->text_at, of->text_at_len);
    TELL_I32("numbers", of->numbers, of->numbers_len);
    tell_cells("  at", offset, of->numbers_at, of->numbers_at_len);
}

static void write_three(const char* uri) {
    buffers_of of = {
        "plumfigapple", "onetwo", {1, 2, 3, 4, 5, 6}, {0, 4, 7}, {0, 3, 3}, {0, 8, 12}, 12, 6, 24, 24, 24, 24};
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    set_buffers(query, &of);
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void read_with(const char* bits, const char* mode, const char* extra, size_t text_room, size_t offset_room) {
    const char* uri = in_folder("array");
    const tiledb_datatype_t offset = strcmp(bits, "32") == 0 ? TILEDB_UINT32 : TILEDB_UINT64;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    buffers_of of;
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_query_status_t status = TILEDB_INCOMPLETE;
    int submits = 0;
    printf("  %s bits, %s, %s, room for %d and %d\n", bits, mode, extra, (int)text_room, (int)offset_room);
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.var_offsets.bitsize", bits, &error));
    CHECK(tiledb_config_set(config, "sm.var_offsets.mode", mode, &error));
    CHECK(tiledb_config_set(config, "sm.var_offsets.extra_element", extra, &error));
    array = array_at(uri, TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_config(ctx, query, config));
    while (status == TILEDB_INCOMPLETE && submits++ < 8) {
        memset(&of, 0, sizeof of);
        of.word_len = of.text_len = text_room;
        of.numbers_len = sizeof of.numbers;
        of.word_at_len = of.text_at_len = of.numbers_at_len = offset_room;
        set_buffers(query, &of);
        if (CODE(tiledb_query_submit(ctx, query)) != TILEDB_OK) {
            break;
        }
        tell_status(query);
        tell_buffers(&of, offset);
        CHECK(tiledb_query_get_status(ctx, query, &status));
        if (of.word_at_len == 0) {
            break;
        }
    }
    tiledb_query_free(&query);
    tiledb_config_free(&config);
    close_array(array);
}

/* Offsets that a write does not take. */
static void refusals(const char* uri) {
    const uint64_t wrong[][3] = {{0, 4, 3}, {0, 4, 99}, {1, 4, 7}};
    size_t idx;
    printf("refusals\n");
    for (idx = 0; idx < sizeof wrong / sizeof *wrong; idx++) {
        buffers_of of = {
            "plumfigapple", "onetwo", {1, 2, 3, 4, 5, 6}, {0, 4, 7}, {0, 3, 3}, {0, 8, 12}, 12, 6, 24, 24, 24, 24};
        tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
        tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
        memcpy(of.word_at, wrong[idx], sizeof wrong[idx]);
        set_buffers(query, &of);
        CODE(tiledb_query_submit(ctx, query));
        tiledb_query_free(&query);
        close_array(array);
    }
    {
        buffers_of of = {
            "plumfigapple", "onetwo", {1, 2, 3, 4, 5, 6}, {0, 4, 7}, {0, 3, 3}, {0, 8, 12}, 12, 6, 24, 24, 16, 24};
        tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
        tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
        set_buffers(query, &of);
        CODE(tiledb_query_set_offsets_buffer(ctx, query, "none", of.word_at, &of.word_at_len));
        CODE(tiledb_query_set_data_buffer(ctx, query, "none", of.word, &of.word_len));
        CODE(tiledb_query_set_validity_buffer(ctx, query, "text", (uint8_t*)of.word, &of.word_len));
        tiledb_query_free(&query);
        close_array(array);
    }
}

/* Ranges of words, and of points. */
static void ranges(const char* uri) {
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_subarray_t *subarray = NULL, *points = NULL;
    const uint64_t at[] = {0, 3};
    char start[16] = {0}, last[16] = {0};
    uint64_t count = 0, start_len = 0, last_len = 0;
    buffers_of of;
    printf("ranges\n");
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_range_var(ctx, subarray, 0, "a", 1, "b", 1));
    CODE(tiledb_subarray_add_range_var_by_name(ctx, subarray, "word", "plum", 4, "plum", 4));
    CODE(tiledb_subarray_add_range_var_by_name(ctx, subarray, "none", "plum", 4, "plum", 4));
    CODE(tiledb_subarray_add_range_var(ctx, subarray, 0, "b", 1, "a", 1));
    CODE(tiledb_subarray_get_range_num(ctx, subarray, 0, &count));
    tell_number("ranges", count);
    CODE(tiledb_subarray_get_range_var_size(ctx, subarray, 0, 1, &start_len, &last_len));
    CODE(tiledb_subarray_get_range_var(ctx, subarray, 0, 1, start, last));
    printf("  %.*s to %.*s\n", (int)start_len, start, (int)last_len, last);
    CODE(tiledb_subarray_get_range_var_size_from_name(ctx, subarray, "word", 0, &start_len, &last_len));
    CODE(tiledb_subarray_get_range_var_from_name(ctx, subarray, "word", 0, start, last));
    printf("  %.*s to %.*s\n", (int)start_len, start, (int)last_len, last);
    CODE(tiledb_query_set_subarray_t(ctx, query, subarray));
    memset(&of, 0, sizeof of);
    of.word_len = of.text_len = of.numbers_len = 64;
    of.word_at_len = of.text_at_len = of.numbers_at_len = 64;
    set_buffers(query, &of);
    submit(query);
    tell_buffers(&of, TILEDB_UINT64);
    tiledb_query_free(&query);
    CHECK(tiledb_subarray_alloc(ctx, array, &points));
    CODE(tiledb_subarray_add_point_ranges_var(ctx, points, 0, "figkiwi", 7, at, 2));
    CODE(tiledb_subarray_get_range_num(ctx, points, 0, &count));
    tell_number("ranges", count);
    query = query_on(array, TILEDB_READ, TILEDB_UNORDERED);
    CODE(tiledb_query_set_subarray_t(ctx, query, points));
    of.word_len = of.text_len = of.numbers_len = 64;
    of.word_at_len = of.text_at_len = of.numbers_at_len = 64;
    set_buffers(query, &of);
    submit(query);
    tell_buffers(&of, TILEDB_UINT64);
    tiledb_query_free(&query);
    tiledb_subarray_free(&points);
    tiledb_subarray_free(&subarray);
    close_array(array);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    create_array(in_folder("array"), schema_with(TILEDB_SPARSE, &word, 1, attributes, 2));
    write_three(in_folder("array"));
    printf("offsets\n");
    read_with("64", "bytes", "false", 64, 72);
    read_with("64", "elements", "false", 64, 72);
    read_with("64", "bytes", "true", 64, 72);
    read_with("32", "bytes", "false", 64, 36);
    read_with("32", "elements", "true", 64, 36);
    read_with("64", "bytes", "false", 8, 72);
    read_with("64", "bytes", "true", 64, 16);
    read_with("64", "bytes", "false", 2, 72);
    refusals(in_folder("array"));
    ranges(in_folder("array"));
    return end();
}

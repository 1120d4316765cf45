/* Dense queries: orders, subarrays of several ranges, incomplete reads, texts and nulls, fragments written. */
#include "told.h"

static const int32_t rows[] = {1, 4};
static const int32_t columns[] = {1, 6};
static const int32_t two = 2, three = 3;
static const dimension_of dimensions[] = {{"row", TILEDB_INT32, rows, &two}, {"column", TILEDB_INT32, columns, &three}};

static tiledb_subarray_t* subarray_of(tiledb_array_t* array, const int32_t* sides) {
    tiledb_subarray_t* subarray = NULL;
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, sides));
    return subarray;
}

/* Writes numbers that count from the first one into a rectangle. */
static int32_t write_numbers(
    const char* uri, uint64_t time, tiledb_layout_t layout, const int32_t* sides, int32_t first, size_t count) {
    int32_t cells[24];
    uint64_t byte_len = count * sizeof *cells;
    size_t idx;
    int32_t told;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = NULL;
    tiledb_subarray_t* subarray = subarray_of(array, sides);
    CHECK(tiledb_query_alloc(ctx, array, TILEDB_WRITE, &query));
    for (idx = 0; idx < count; idx++) {
        cells[idx] = first + (int32_t)idx;
    }
    told = tiledb_query_set_layout(ctx, query, layout);
    if (told == TILEDB_OK) {
        CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
        told = tiledb_query_set_subarray_t(ctx, query, subarray);
    }
    if (told == TILEDB_OK) {
        told = tiledb_query_submit(ctx, query);
    }
    if (told == TILEDB_OK) {
        told = tiledb_query_finalize(ctx, query);
    }
    if (told == TILEDB_OK) {
        uint32_t written = 0;
        uint64_t start = 0, last = 0;
        const char* fragment = NULL;
        CHECK(tiledb_query_get_fragment_num(ctx, query, &written));
        CHECK(tiledb_query_get_fragment_timestamp_range(ctx, query, 0, &start, &last));
        CHECK(tiledb_query_get_fragment_uri(ctx, query, 0, &fragment));
        printf("  wrote %u fragment at %d to %d, named %d\n", (unsigned)written, (int)start, (int)last,
            strstr(fragment, "__fragments") != NULL);
        CODE(tiledb_query_get_fragment_uri(ctx, query, 1, &fragment));
    }
    tiledb_subarray_free(&subarray);
    tiledb_query_free(&query);
    close_array(array);
    return told;
}

/* Where the room is small the cells come in parts; how many are in each is the library's choice. */
static void read_numbers(const char* what, const char* uri, tiledb_layout_t layout, const int32_t* sides, size_t room) {
    int32_t cells[24], found[24];
    uint64_t byte_len = 0, found_len = 0;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, layout);
    tiledb_subarray_t* subarray = subarray_of(array, sides);
    tiledb_query_status_t status = TILEDB_INCOMPLETE;
    tiledb_query_status_details_t details;
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    while (status == TILEDB_INCOMPLETE && found_len < sizeof found) {
        byte_len = room * sizeof *cells;
        CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
        CHECK(tiledb_query_submit(ctx, query));
        CHECK(tiledb_query_get_status(ctx, query, &status));
        CHECK(tiledb_query_get_status_details(ctx, query, &details));
        if (found_len == 0) {
            printf("  %s: status %d, reason %d\n", what, (int)status, (int)details.incomplete_reason);
        }
        if (byte_len == 0 || byte_len > sizeof found - found_len) {
            break;
        }
        memcpy((char*)found + found_len, cells, byte_len);
        found_len += byte_len;
    }
    TELL_I32("cells", found, found_len);
    tiledb_subarray_free(&subarray);
    tiledb_query_free(&query);
    close_array(array);
}

static void orders(void) {
    const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};
    const char* uri = in_folder("orders");
    const int32_t all[] = {1, 4, 1, 6}, some[] = {2, 3, 2, 4}, line[] = {3, 3, 1, 6}, outside[] = {1, 5, 1, 6};
    const int32_t tile[] = {1, 2, 1, 3};
    printf("orders\n");
    create_array(uri, schema_with(TILEDB_DENSE, dimensions, 2, &attribute, 1));
    read_numbers("nothing written", uri, TILEDB_ROW_MAJOR, some, 24);
    tell_number("row major fails", write_numbers(uri, 10, TILEDB_ROW_MAJOR, all, 0, 24) != TILEDB_OK);
    tell_number("column major fails", write_numbers(uri, 20, TILEDB_COL_MAJOR, some, 100, 6) != TILEDB_OK);
    tell_number("global order fails", write_numbers(uri, 30, TILEDB_GLOBAL_ORDER, tile, 200, 6) != TILEDB_OK);
    tell_number("unordered fails", write_numbers(uri, 40, TILEDB_UNORDERED, all, 0, 24) != TILEDB_OK);
    tell_number("too few cells fail", write_numbers(uri, 50, TILEDB_ROW_MAJOR, all, 0, 23) != TILEDB_OK);
    tell_number(
        "half a tile in global order fails", write_numbers(uri, 60, TILEDB_GLOBAL_ORDER, some, 0, 6) != TILEDB_OK);
    read_numbers("rows", uri, TILEDB_ROW_MAJOR, all, 24);
    read_numbers("columns", uri, TILEDB_COL_MAJOR, all, 24);
    read_numbers("global", uri, TILEDB_GLOBAL_ORDER, all, 24);
    read_numbers("some", uri, TILEDB_ROW_MAJOR, some, 24);
    read_numbers("line in parts", uri, TILEDB_ROW_MAJOR, line, 4);
    read_numbers("columns of some in parts", uri, TILEDB_COL_MAJOR, some, 2);
    {
        tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
        tiledb_subarray_t* subarray = NULL;
        CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
        CODE(tiledb_subarray_set_subarray(ctx, subarray, outside));
        tiledb_subarray_free(&subarray);
        close_array(array);
    }
}

/* Several ranges, with repetitions, and the coordinates beside the cells. */
static void ranges(void) {
    const char* uri = in_folder("orders");
    const int32_t one = 1, four = 4, six = 6, five = 5;
    int32_t cells[24], row_of[24], column_of[24];
    uint64_t byte_len = sizeof cells, row_len = sizeof row_of, column_len = sizeof column_of, size = 0;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_subarray_t *subarray = NULL, *kept = NULL;
    uint64_t count = 0;
    int32_t has = 9;
    tiledb_array_t* same = NULL;
    tiledb_layout_t layout = TILEDB_UNORDERED;
    tiledb_query_type_t mode = TILEDB_WRITE;
    printf("ranges\n");
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &four, &four, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &two, NULL));
    CODE(tiledb_subarray_add_range_by_name(ctx, subarray, "column", &five, &six, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 1, &one, &one, NULL));
    CODE(tiledb_subarray_get_range_num(ctx, subarray, 0, &count));
    tell_number("ranges", count);
    CODE(tiledb_query_set_subarray_t(ctx, query, subarray));
    CODE(tiledb_query_get_subarray_t(ctx, query, &kept));
    CODE(tiledb_subarray_get_range_num_from_name(ctx, kept, "column", &count));
    tell_number("ranges", count);
    tiledb_subarray_free(&kept);
    CODE(tiledb_query_get_est_result_size(ctx, query, "a", &size));
    tell_number("estimate", size);
    CODE(tiledb_query_has_results(ctx, query, &has));
    tell_number("results", (uint64_t)has);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "row", row_of, &row_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "column", column_of, &column_len));
    tell_status(query);
    submit(query);
    TELL_I32("rows", row_of, row_len);
    TELL_I32("columns", column_of, column_len);
    TELL_I32("cells", cells, byte_len);
    CODE(tiledb_query_has_results(ctx, query, &has));
    tell_number("results", (uint64_t)has);
    CODE(tiledb_query_get_layout(ctx, query, &layout));
    CODE(tiledb_query_get_type(ctx, query, &mode));
    printf("  layout %d, kind %d\n", (int)layout, (int)mode);
    CODE(tiledb_query_get_array(ctx, query, &same));
    tell_number("same array", same == array);
    tiledb_array_free(&same);
    CODE(tiledb_query_finalize(ctx, query));
    tiledb_subarray_free(&subarray);
    tiledb_query_free(&query);
    tell_number("freed", query == NULL);
    close_array(array);
}

/* Cells of any length, some of them null. */
static void words(void) {
    const attribute_of attributes[] = {
        {"word", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 1}, {"number", TILEDB_FLOAT64, 1, 1}};
    const char* uri = in_folder("words");
    const int32_t line[] = {1, 1, 1, 5}, all[] = {1, 1, 1, 6};
    char text[64] = "oneTHREEfive";
    uint64_t offsets[8] = {0, 3, 3, 8, 8}, text_len = 12, offsets_len = 40, valid_len = 5, number_len = 40,
             number_valid_len = 5;
    uint8_t valid[8] = {1, 0, 1, 1, 1}, number_valid[8] = {1, 1, 0, 1, 1};
    double numbers[8] = {0.5, 1.5, 2.5, 3.5, 4.5};
    uint64_t size = 0, other_size = 0, third_size = 0;
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_subarray_t* subarray;
    int writes;
    printf("words\n");
    create_array(uri, schema_with(TILEDB_DENSE, dimensions, 2, attributes, 2));
    for (writes = 0; writes < 2; writes++) {
        array = array_at(uri, writes == 0 ? TILEDB_WRITE : TILEDB_READ, 0);
        query = query_on(array, writes == 0 ? TILEDB_WRITE : TILEDB_READ, TILEDB_ROW_MAJOR);
        subarray = subarray_of(array, writes == 0 ? line : all);
        CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "word", text, &text_len));
        CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", offsets, &offsets_len));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "word", valid, &valid_len));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "number", numbers, &number_len));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "number", number_valid, &number_valid_len));
        if (writes == 1) {
            uint64_t *got = NULL, *got_len = NULL;
            uint8_t* got_valid = NULL;
            void* got_data = NULL;
            CODE(tiledb_query_get_data_buffer(ctx, query, "word", &got_data, &got_len));
            tell_number("same data", got_data == text && got_len == &text_len);
            CODE(tiledb_query_get_offsets_buffer(ctx, query, "word", &got, &got_len));
            tell_number("same offsets", got == offsets && got_len == &offsets_len);
            CODE(tiledb_query_get_validity_buffer(ctx, query, "number", &got_valid, &got_len));
            tell_number("same validity", got_valid == number_valid && got_len == &number_valid_len);
            CODE(tiledb_query_get_est_result_size_nullable(ctx, query, "number", &size, &other_size));
            printf("  %d %d\n", (int)size, (int)other_size);
            CODE(tiledb_query_get_est_result_size_var_nullable(ctx, query, "word", &size, &other_size, &third_size));
            printf("  %d %d\n", (int)size, (int)third_size);
            CODE(tiledb_query_get_est_result_size_var(ctx, query, "word", &size, &other_size));
            CODE(tiledb_query_get_est_result_size(ctx, query, "number", &size));
            CODE(tiledb_query_get_est_result_size(ctx, query, "none", &size));
        }
        submit(query);
        if (writes == 1) {
            TELL_CHARS("text", text, text_len);
            TELL_U64("offsets", offsets, offsets_len);
            tell_cells("valid", TILEDB_UINT8, valid, valid_len);
            tell_cells("numbers", TILEDB_FLOAT64, numbers, number_len);
            tell_cells("valid", TILEDB_UINT8, number_valid, number_valid_len);
        }
        tiledb_subarray_free(&subarray);
        tiledb_query_free(&query);
        close_array(array);
        text_len = sizeof text;
        offsets_len = sizeof offsets;
        valid_len = sizeof valid;
        number_len = sizeof numbers;
        number_valid_len = sizeof number_valid;
    }
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    orders();
    ranges();
    words();
    return end();
}

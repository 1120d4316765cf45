/* Sparse queries: orders, duplicates, writes in global order with several submits, incomplete reads, ranges. */
#include "told.h"

static const int32_t bounds[] = {1, 8};
static const int32_t extent = 4;
static const dimension_of dimensions[] = {{"x", TILEDB_INT32, bounds, &extent}, {"y", TILEDB_INT32, bounds, &extent}};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

typedef struct {
    int32_t x[8], y[8], a[8];
    uint64_t x_len, y_len, a_len;
} cells_of;

static void set_buffers(tiledb_query_t* query, cells_of* cells, size_t count) {
    cells->x_len = cells->y_len = cells->a_len = count * sizeof(int32_t);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", cells->x, &cells->x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "y", cells->y, &cells->y_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells->a, &cells->a_len));
}

static void tell_cells_of(const cells_of* cells) {
    size_t idx;
    printf("  cells:");
    for (idx = 0; idx < cells->a_len / sizeof(int32_t); idx++) {
        printf(" %d,%d=%d", (int)cells->x[idx], (int)cells->y[idx], (int)cells->a[idx]);
    }
    printf("\n");
}

static void read_all(const char* uri, tiledb_layout_t layout, size_t room) {
    cells_of cells;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, layout);
    tiledb_query_status_t status = TILEDB_INCOMPLETE;
    int submits = 0;
    printf("  layout %d\n", (int)layout);
    while (status == TILEDB_INCOMPLETE && submits++ < 20) {
        tiledb_query_status_details_t details;
        set_buffers(query, &cells, room);
        submit(query);
        tell_cells_of(&cells);
        CHECK(tiledb_query_get_status_details(ctx, query, &details));
        tell_number("reason", (uint64_t)details.incomplete_reason);
        CHECK(tiledb_query_get_status(ctx, query, &status));
    }
    tiledb_query_free(&query);
    close_array(array);
}

/* One write with all its outcomes. */
static void write_with(
    const char* what, const char* uri, const char* key, const char* value, const cells_of* given, size_t count) {
    cells_of cells = *given;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    if (key != NULL) {
        tiledb_config_t* kept = NULL;
        const char* told = NULL;
        CHECK(tiledb_config_alloc(&config, &error));
        CHECK(tiledb_config_set(config, key, value, &error));
        CODE(tiledb_query_set_config(ctx, query, config));
        CODE(tiledb_query_get_config(ctx, query, &kept));
        CHECK(tiledb_config_get(kept, key, &told, &error));
        tell_text(key, told);
        tiledb_config_free(&kept);
        tiledb_config_free(&config);
    }
    set_buffers(query, &cells, count);
    printf("  %s:\n", what);
    if (CODE(tiledb_query_submit(ctx, query)) != TILEDB_OK) {
        tell_last_error();
    }
    tell_status(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void duplicates(void) {
    const cells_of twice = {{1, 1, 2}, {1, 1, 2}, {10, 20, 30}, 0, 0, 0};
    const cells_of outside = {{1, 9, 2}, {1, 1, 2}, {10, 20, 30}, 0, 0, 0};
    const cells_of fine = {{8, 1, 5}, {2, 7, 5}, {40, 50, 60}, 0, 0, 0};
    const char* single = in_folder("single");
    const char* several = in_folder("several");
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1);
    printf("duplicates\n");
    create_array(single, schema);
    schema = schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1);
    CHECK(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
    create_array(several, schema);
    write_with("twice", single, NULL, NULL, &twice, 3);
    write_with("outside", single, NULL, NULL, &outside, 3);
    write_with("fine", single, NULL, NULL, &fine, 3);
    read_all(single, TILEDB_ROW_MAJOR, 8);
    write_with("twice where that is fine", several, NULL, NULL, &twice, 3);
    read_all(several, TILEDB_ROW_MAJOR, 8);
    write_with("one of each", single, "sm.dedup_coords", "true", &twice, 3);
    write_with("nothing", single, NULL, NULL, &twice, 0);
}

static void orders(void) {
    const cells_of first = {{8, 1, 5, 2}, {2, 7, 5, 3}, {40, 50, 60, 70}, 0, 0, 0};
    const cells_of second = {{1, 2, 4}, {1, 3, 6}, {80, 90, 95}, 0, 0, 0};
    const tiledb_layout_t layouts[] = {TILEDB_ROW_MAJOR, TILEDB_COL_MAJOR, TILEDB_GLOBAL_ORDER};
    const char* uri = in_folder("orders");
    size_t idx;
    printf("orders\n");
    create_array(uri, schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1));
    write_with("first", uri, NULL, NULL, &first, 4);
    write_with("second", uri, NULL, NULL, &second, 3);
    for (idx = 0; idx < sizeof layouts / sizeof *layouts; idx++) {
        read_all(uri, layouts[idx], 8);
    }
    read_all(uri, TILEDB_GLOBAL_ORDER, 2);
    {
        tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
        tiledb_query_t* query = NULL;
        CHECK(tiledb_query_alloc(ctx, array, TILEDB_WRITE, &query));
        CODE(tiledb_query_set_layout(ctx, query, TILEDB_ROW_MAJOR));
        CODE(tiledb_query_submit(ctx, query));
        tiledb_query_free(&query);
        close_array(array);
    }
}

/* Writes in global order: several submits make one fragment. */
static void global_order(void) {
    cells_of cells = {{1, 1, 2}, {1, 2, 1}, {1, 2, 3}, 0, 0, 0};
    const cells_of more = {{4, 1, 8}, {4, 5, 8}, {4, 5, 6}, 0, 0, 0};
    const char* uri = in_folder("global");
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_query_type_t mode = TILEDB_WRITE;
    uint32_t written = 9;
    int32_t told;
    printf("global order\n");
    create_array(uri, schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1));
    array = array_at(uri, mode, 0);
    query = query_on(array, mode, TILEDB_GLOBAL_ORDER);
    set_buffers(query, &cells, 3);
    submit(query);
    cells = more;
    set_buffers(query, &cells, 2);
    submit(query);
    CODE(tiledb_query_finalize(ctx, query));
    tell_status(query);
    CODE(tiledb_query_get_fragment_num(ctx, query, &written));
    tell_number("written", written);
    tiledb_query_free(&query);
    query = query_on(array, mode, TILEDB_GLOBAL_ORDER);
    cells = more;
    set_buffers(query, &cells, 3);
    CODE(tiledb_query_submit_and_finalize(ctx, query));
    tell_status(query);
    tiledb_query_free(&query);
    query = query_on(array, mode, TILEDB_GLOBAL_ORDER);
    cells = more;
    cells.x[0] = 8;
    cells.y[0] = 8;
    set_buffers(query, &cells, 3);
    told = tiledb_query_submit(ctx, query);
    printf("  out of order: %d\n", (int)told);
    tiledb_query_free(&query);
    query = query_on(array, mode, TILEDB_UNORDERED);
    set_buffers(query, &cells, 3);
    CODE(tiledb_query_submit_and_finalize(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
    read_all(uri, TILEDB_ROW_MAJOR, 8);
}

static void ranges(void) {
    const char* uri = in_folder("orders");
    const int32_t one = 1, three = 3, five = 5, eight = 8;
    const int32_t points[] = {2, 4};
    cells_of cells;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_subarray_t* subarray = NULL;
    uint64_t count = 0;
    printf("ranges\n");
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &three, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &eight, &eight, NULL));
    CODE(tiledb_subarray_add_range_by_name(ctx, subarray, "y", &one, &five, NULL));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    set_buffers(query, &cells, 8);
    submit(query);
    tell_cells_of(&cells);
    tiledb_query_free(&query);
    query = query_on(array, TILEDB_READ, TILEDB_COL_MAJOR);
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_point_ranges(ctx, subarray, 0, points, 2));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    set_buffers(query, &cells, 8);
    submit(query);
    tell_cells_of(&cells);
    tiledb_query_free(&query);
    query = query_on(array, TILEDB_READ, TILEDB_GLOBAL_ORDER);
    set_buffers(query, &cells, 8);
    submit(query);
    CODE(tiledb_query_get_relevant_fragment_num(ctx, query, &count));
    tiledb_query_free(&query);
    close_array(array);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    duplicates();
    orders();
    global_order();
    ranges();
    return end();
}

/* Labels of dimensions: in schemas, written and read, ranges by label. */
#include "told.h"

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimensions[] = {
    {"row", TILEDB_INT32, bounds, &extent}, {"column", TILEDB_INT32, bounds, &extent}};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void tell_label(tiledb_dimension_label_t* label) {
    const char *name = NULL, *uri = NULL, *attribute_name = NULL;
    uint32_t idx = 9, value_count = 0;
    tiledb_data_order_t order = TILEDB_UNORDERED_DATA;
    tiledb_datatype_t type = TILEDB_ANY;
    CHECK(tiledb_dimension_label_get_name(ctx, label, &name));
    CHECK(tiledb_dimension_label_get_dimension_index(ctx, label, &idx));
    CHECK(tiledb_dimension_label_get_label_attr_name(ctx, label, &attribute_name));
    CHECK(tiledb_dimension_label_get_label_cell_val_num(ctx, label, &value_count));
    CHECK(tiledb_dimension_label_get_label_order(ctx, label, &order));
    CHECK(tiledb_dimension_label_get_label_type(ctx, label, &type));
    CHECK(tiledb_dimension_label_get_uri(ctx, label, &uri));
    printf("  %s of dimension %u, attribute %s, values %u, order %d, type %d\n", name, (unsigned)idx, attribute_name,
        (unsigned)value_count, (int)order, (int)type);
    tell_text("uri", uri);
}

static void schemas(const char* uri) {
    const int32_t tile = 4;
    tiledb_array_schema_t* schema = schema_with(TILEDB_DENSE, dimensions, 2, &attribute, 1);
    tiledb_dimension_label_t* label = NULL;
    tiledb_filter_list_t* filters = NULL;
    tiledb_filter_t* filter = NULL;
    uint64_t count = 9, idx;
    int32_t has = 9;
    printf("schemas\n");
    CODE(tiledb_array_schema_get_dimension_label_num(ctx, schema, &count));
    tell_number("labels", count);
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "height", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 1, "name", TILEDB_DECREASING_DATA, TILEDB_STRING_ASCII));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 1, "height", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 1, "row", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 2, "depth", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 0, NULL, TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    CODE(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "blob", TILEDB_INCREASING_DATA, TILEDB_BLOB));
    CODE(tiledb_array_schema_has_dimension_label(ctx, schema, "name", &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_array_schema_has_dimension_label(ctx, schema, "row", &has));
    tell_number("has", (uint64_t)has);
    CHECK(tiledb_filter_list_alloc(ctx, &filters));
    CHECK(tiledb_filter_alloc(ctx, TILEDB_FILTER_ZSTD, &filter));
    CHECK(tiledb_filter_list_add_filter(ctx, filters, filter));
    CODE(tiledb_array_schema_set_dimension_label_filter_list(ctx, schema, "height", filters));
    CODE(tiledb_array_schema_set_dimension_label_filter_list(ctx, schema, "depth", filters));
    CODE(tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "height", TILEDB_INT32, &tile));
    CODE(tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "depth", TILEDB_INT32, &tile));
    CODE(tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "height", TILEDB_FLOAT64, &tile));
    tiledb_filter_free(&filter);
    tiledb_filter_list_free(&filters);
    CODE(tiledb_array_schema_check(ctx, schema));
    create_array(uri, schema);
    CHECK(tiledb_array_schema_load(ctx, uri, &schema));
    CODE(tiledb_array_schema_get_dimension_label_num(ctx, schema, &count));
    for (idx = 0; idx < count; idx++) {
        CODE(tiledb_array_schema_get_dimension_label_from_index(ctx, schema, idx, &label));
        tell_label(label);
        tiledb_dimension_label_free(&label);
    }
    CODE(tiledb_array_schema_get_dimension_label_from_name(ctx, schema, "name", &label));
    tell_label(label);
    tiledb_dimension_label_free(&label);
    tell_number("freed", label == NULL);
    CODE(tiledb_array_schema_get_dimension_label_from_name(ctx, schema, "none", &label));
    tiledb_array_schema_free(&schema);
}

static void write_cells(const char* uri) {
    int32_t cells[16], idx;
    double heights[] = {0.5, 1.5, 2.5, 3.5};
    char names[] = "plumpearkiwifig";
    uint64_t at[] = {0, 4, 8, 12};
    uint64_t cells_len = sizeof cells, heights_len = sizeof heights, names_len = 15, at_len = sizeof at;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    printf("write\n");
    for (idx = 0; idx < 16; idx++) {
        cells[idx] = idx;
    }
    CODE(tiledb_query_set_data_buffer(ctx, query, "height", heights, &heights_len));
    CODE(tiledb_query_set_data_buffer(ctx, query, "name", names, &names_len));
    CODE(tiledb_query_set_offsets_buffer(ctx, query, "name", at, &at_len));
    CODE(tiledb_query_set_data_buffer(ctx, query, "a", cells, &cells_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void tell_ranges(const tiledb_subarray_t* subarray, uint32_t idx) {
    int32_t has = 9;
    uint64_t count = 0;
    CHECK(tiledb_subarray_has_label_ranges(ctx, subarray, idx, &has));
    CHECK(tiledb_subarray_get_range_num(ctx, subarray, idx, &count));
    printf("  dimension %u: by label %d, ranges %d\n", (unsigned)idx, (int)has, (int)count);
}

static void read_by_labels(const char* uri) {
    const double low = 1.0, high = 3.0, none = 9.0;
    const int32_t one = 1, two = 2;
    const void *start = NULL, *last = NULL, *stride = NULL;
    const char* name = NULL;
    char first[16] = {0}, second[16] = {0}, names[32];
    uint64_t first_len = 0, second_len = 0, count = 0, at[8];
    int32_t cells[16];
    double heights[8];
    uint64_t cells_len = sizeof cells, heights_len = sizeof heights, names_len = sizeof names, at_len = sizeof at;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_subarray_t* subarray = NULL;
    printf("read\n");
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    tell_ranges(subarray, 0);
    CODE(tiledb_subarray_get_label_name(ctx, subarray, 0, &name));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "height", &low, &high, NULL));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "none", &low, &high, NULL));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "height", NULL, &high, NULL));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "height", &low, &high, &low));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "height", &high, &low, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &two, NULL));
    CODE(tiledb_subarray_add_label_range_var(ctx, subarray, "name", "kiwi", 4, "pear", 4));
    CODE(tiledb_subarray_add_label_range_var(ctx, subarray, "height", "kiwi", 4, "pear", 4));
    CODE(tiledb_subarray_get_label_name(ctx, subarray, 0, &name));
    tell_text("label", name);
    CODE(tiledb_subarray_get_label_range_num(ctx, subarray, "height", &count));
    tell_number("ranges", count);
    CODE(tiledb_subarray_get_label_range(ctx, subarray, "height", 0, &start, &last, &stride));
    printf("  %g to %g\n", *(const double*)start, *(const double*)last);
    CODE(tiledb_subarray_get_label_range_var_size(ctx, subarray, "name", 0, &first_len, &second_len));
    CODE(tiledb_subarray_get_label_range_var(ctx, subarray, "name", 0, first, second));
    printf("  %.*s to %.*s\n", (int)first_len, first, (int)second_len, second);
    CODE(tiledb_subarray_get_label_range_num(ctx, subarray, "none", &count));
    tell_ranges(subarray, 0);
    tell_ranges(subarray, 1);
    CODE(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    CODE(tiledb_query_set_data_buffer(ctx, query, "height", heights, &heights_len));
    CODE(tiledb_query_set_data_buffer(ctx, query, "name", names, &names_len));
    CODE(tiledb_query_set_offsets_buffer(ctx, query, "name", at, &at_len));
    CODE(tiledb_query_set_data_buffer(ctx, query, "a", cells, &cells_len));
    submit(query);
    tell_cells("heights", TILEDB_FLOAT64, heights, heights_len);
    TELL_CHARS("names", names, names_len);
    TELL_U64("at", at, at_len);
    TELL_I32("cells", cells, cells_len);
    tiledb_query_free(&query);

    /* Labels that are not there. */
    query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_label_range(ctx, subarray, "height", &none, &none, NULL));
    CODE(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    cells_len = sizeof cells;
    CODE(tiledb_query_set_data_buffer(ctx, query, "a", cells, &cells_len));
    CODE(tiledb_query_submit(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
}

/* Labels of a sparse array: the positions that they are for come beside them. */
static void write_sparse(const char* uri) {
    static const int32_t given[][3] = {{2, 3, 4}, {1, 3, 4}, {3, 2, 1}};
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 1, &attribute, 1);
    size_t idx;
    printf("sparse\n");
    CHECK(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "height", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    create_array(uri, schema);
    for (idx = 0; idx < 3; idx++) {
        int32_t rows[3], cells[] = {7, 8, 9};
        double heights[] = {0.5, 1.5, 2.5};
        uint64_t rows_len = sizeof rows, cells_len = sizeof cells, heights_len = sizeof heights;
        tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
        tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
        memcpy(rows, given[idx], sizeof rows);
        CHECK(tiledb_query_set_data_buffer(ctx, query, "row", rows, &rows_len));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &cells_len));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "height", heights, &heights_len));
        TELL_I32("rows", rows, sizeof rows);
        if (CODE(tiledb_query_submit(ctx, query)) != TILEDB_OK) {
            tell_last_error();
        }
        tiledb_query_free(&query);
        close_array(array);
    }
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    schemas(in_folder("array"));
    write_cells(in_folder("array"));
    read_by_labels(in_folder("array"));
    write_sparse(in_folder("sparse"));
    return end();
}

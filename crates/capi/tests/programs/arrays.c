/* Makes, writes and reads a dense and a sparse array in the folder that it is given, as any C program does. */
#include <tiledb/tiledb.h>
#include <tiledb/tiledb_experimental.h>
#include <tiledb/tiledb_serialization.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tiledb_ctx_t* ctx;

/* Ends the program, with the last error of the context, where a call did not go well. */
static void check(int32_t returned, const char* what) {
    tiledb_error_t* error = NULL;
    const char* message = "no error is told";
    if (returned == TILEDB_OK) {
        return;
    }
    if (tiledb_ctx_get_last_error(ctx, &error) == TILEDB_OK && error != NULL) {
        tiledb_error_message(error, &message);
    }
    printf("%s: %d: %s\n", what, (int)returned, message);
    exit(1);
}

#define CHECK(call) check((call), #call)

static tiledb_array_schema_t* schema_of(tiledb_array_type_t kind, uint32_t dimension_count) {
    const char* names[] = {"row", "column"};
    const int32_t domain[] = {1, 4};
    const int32_t extent = 2;
    tiledb_domain_t* dimensions = NULL;
    tiledb_array_schema_t* schema = NULL;
    uint32_t idx;
    CHECK(tiledb_domain_alloc(ctx, &dimensions));
    for (idx = 0; idx < dimension_count; idx++) {
        tiledb_dimension_t* dimension = NULL;
        CHECK(tiledb_dimension_alloc(ctx, names[idx], TILEDB_INT32, domain, &extent, &dimension));
        CHECK(tiledb_domain_add_dimension(ctx, dimensions, dimension));
        tiledb_dimension_free(&dimension);
    }
    CHECK(tiledb_array_schema_alloc(ctx, kind, &schema));
    CHECK(tiledb_array_schema_set_domain(ctx, schema, dimensions));
    tiledb_domain_free(&dimensions);
    return schema;
}

static void add_attribute(tiledb_array_schema_t* schema, const char* name, tiledb_datatype_t type, uint32_t value_count) {
    tiledb_attribute_t* attribute = NULL;
    tiledb_filter_t* filter = NULL;
    tiledb_filter_list_t* filters = NULL;
    const int32_t level = 5;
    CHECK(tiledb_attribute_alloc(ctx, name, type, &attribute));
    CHECK(tiledb_attribute_set_cell_val_num(ctx, attribute, value_count));
    CHECK(tiledb_filter_alloc(ctx, TILEDB_FILTER_ZSTD, &filter));
    CHECK(tiledb_filter_set_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, &level));
    CHECK(tiledb_filter_list_alloc(ctx, &filters));
    CHECK(tiledb_filter_list_add_filter(ctx, filters, filter));
    CHECK(tiledb_attribute_set_filter_list(ctx, attribute, filters));
    CHECK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    tiledb_filter_list_free(&filters);
    tiledb_filter_free(&filter);
    tiledb_attribute_free(&attribute);
}

static void create(const char* uri, tiledb_array_schema_t* schema) {
    CHECK(tiledb_array_schema_check(ctx, schema));
    CHECK(tiledb_array_create(ctx, uri, schema));
    tiledb_array_schema_free(&schema);
}

static tiledb_array_t* opened(const char* uri, tiledb_query_type_t mode) {
    tiledb_array_t* array = NULL;
    CHECK(tiledb_array_alloc(ctx, uri, &array));
    CHECK(tiledb_array_open(ctx, array, mode));
    return array;
}

static tiledb_query_t* query_of(tiledb_array_t* array, tiledb_query_type_t mode, tiledb_layout_t layout) {
    tiledb_query_t* query = NULL;
    CHECK(tiledb_query_alloc(ctx, array, mode, &query));
    CHECK(tiledb_query_set_layout(ctx, query, layout));
    return query;
}

static void submit(tiledb_query_t* query) {
    tiledb_query_status_t status;
    const char* name = NULL;
    CHECK(tiledb_query_submit(ctx, query));
    CHECK(tiledb_query_get_status(ctx, query, &status));
    CHECK(tiledb_query_status_to_str(status, &name));
    printf("  %s\n", name);
}

static void closed(tiledb_array_t* array, tiledb_query_t* query) {
    tiledb_query_free(&query);
    CHECK(tiledb_array_close(ctx, array));
    tiledb_array_free(&array);
}

static void dense(const char* uri) {
    int32_t cells[16];
    uint64_t byte_len = sizeof cells;
    const int32_t square[] = {2, 3, 2, 4};
    tiledb_array_schema_t* schema = schema_of(TILEDB_DENSE, 2);
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_subarray_t* subarray = NULL;
    size_t idx;
    printf("dense\n");
    add_attribute(schema, "cell", TILEDB_INT32, 1);
    create(uri, schema);

    for (idx = 0; idx < 16; idx++) {
        cells[idx] = (int32_t)(10 * idx);
    }
    array = opened(uri, TILEDB_WRITE);
    query = query_of(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "cell", cells, &byte_len));
    submit(query);
    CHECK(tiledb_array_put_metadata(ctx, array, "unit", TILEDB_STRING_UTF8, 6, "metres"));
    closed(array, query);

    array = opened(uri, TILEDB_READ);
    query = query_of(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, square));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    memset(cells, 0, sizeof cells);
    byte_len = sizeof cells;
    CHECK(tiledb_query_set_data_buffer(ctx, query, "cell", cells, &byte_len));
    submit(query);
    for (idx = 0; idx < byte_len / sizeof *cells; idx++) {
        printf("  %d\n", (int)cells[idx]);
    }
    {
        tiledb_datatype_t type;
        uint32_t value_count;
        const void* value = NULL;
        CHECK(tiledb_array_get_metadata(ctx, array, "unit", &type, &value_count, &value));
        printf("  %.*s\n", (int)value_count, (const char*)value);
    }
    tiledb_subarray_free(&subarray);
    closed(array, query);
}

static void sparse(const char* uri) {
    int32_t rows[] = {4, 1, 2};
    char text[] = "fouronetwo";
    uint64_t offsets[] = {0, 4, 7};
    uint64_t rows_len = sizeof rows;
    uint64_t text_len = sizeof text - 1;
    uint64_t offsets_len = sizeof offsets;
    tiledb_array_schema_t* schema = schema_of(TILEDB_SPARSE, 1);
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_query_channel_t* channel = NULL;
    uint64_t count = 0;
    uint64_t count_len = sizeof count;
    size_t idx;
    printf("sparse\n");
    add_attribute(schema, "name", TILEDB_STRING_UTF8, TILEDB_VAR_NUM);
    create(uri, schema);

    array = opened(uri, TILEDB_WRITE);
    query = query_of(array, TILEDB_WRITE, TILEDB_UNORDERED);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "row", rows, &rows_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "name", text, &text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "name", offsets, &offsets_len));
    submit(query);
    closed(array, query);

    array = opened(uri, TILEDB_READ);
    query = query_of(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "row", rows, &rows_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "name", text, &text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "name", offsets, &offsets_len));
    submit(query);
    for (idx = 0; idx < rows_len / sizeof *rows; idx++) {
        const int is_last = idx + 1 == offsets_len / sizeof *offsets;
        const uint64_t end = is_last ? text_len : offsets[idx + 1];
        printf("  %d %.*s\n", (int)rows[idx], (int)(end - offsets[idx]), text + offsets[idx]);
    }
    tiledb_query_free(&query);

    /* A symbol that is data. */
    query = query_of(array, TILEDB_READ, TILEDB_UNORDERED);
    CHECK(tiledb_query_get_default_channel(ctx, query, &channel));
    CHECK(tiledb_channel_apply_aggregate(ctx, channel, "count", tiledb_aggregate_count));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "count", &count, &count_len));
    submit(query);
    printf("  %d cells\n", (int)count);
    CHECK(tiledb_query_channel_free(ctx, &channel));
    closed(array, query);
}

int main(int argument_count, char** arguments) {
    char uri[4096];
    int32_t major, minor, patch;
    if (argument_count != 2) {
        printf("one argument: the folder\n");
        return 2;
    }
    tiledb_version(&major, &minor, &patch);
    if (major != TILEDB_VERSION_MAJOR || minor != TILEDB_VERSION_MINOR || patch != TILEDB_VERSION_PATCH) {
        printf("the library is %d.%d.%d\n", (int)major, (int)minor, (int)patch);
        return 1;
    }
    if (tiledb_ctx_alloc(NULL, &ctx) != TILEDB_OK) {
        return 1;
    }
    snprintf(uri, sizeof uri, "%s/dense", arguments[1]);
    dense(uri);
    snprintf(uri, sizeof uri, "%s/sparse", arguments[1]);
    sparse(uri);
    tiledb_ctx_free(&ctx);
    return 0;
}

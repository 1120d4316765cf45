/* Statistics of queries, of contexts and of the process: counters by their names, and which times were taken. */
#include "told.h"

static const int32_t bounds[] = {1, 8};
static const int32_t extent = 4;
static const dimension_of dimensions[] = {{"x", TILEDB_INT32, bounds, &extent}};
static const attribute_of attributes[] = {
    {"a", TILEDB_INT32, 1, 0}, {"text", TILEDB_STRING_ASCII, UINT32_MAX, 0}};

/* The number behind a name; no line has it where nothing was counted. */
static void tell_counter(const char* json, const char* name) {
    char key[128];
    const char* found;
    snprintf(key, sizeof key, "\"%s\": ", name);
    found = strstr(json, key);
    if (found == NULL) {
        printf("  %s: none\n", name);
    } else {
        printf("  %s: %lu\n", name, strtoul(found + strlen(key), NULL, 10));
    }
}

/* Whether a time was taken, and whether there is a counter whose number the storage decides. */
static void tell_presence(const char* json, const char* name) {
    char key[128];
    snprintf(key, sizeof key, "\"%s\": ", name);
    printf("  %s: %s\n", name, strstr(json, key) == NULL ? "none" : "there");
}

static void tell_read(const char* whose, const char* json) {
    printf(" read, %s\n", whose);
    tell_counter(json, "Context.Query.Reader.loop_num");
    tell_counter(json, "Context.Query.Reader.attr_num");
    tell_counter(json, "Context.Query.Reader.attr_fixed_num");
    tell_counter(json, "Context.Query.Reader.attr_var_num");
    tell_counter(json, "Context.Query.Reader.dim_num");
    tell_counter(json, "Context.Query.Reader.dim_fixed_num");
    tell_counter(json, "Context.Query.Reader.dim_var_num");
    tell_counter(json, "Context.Query.Reader.result_num");
    tell_counter(json, "Context.Query.Reader.num_tiles_read");
    tell_presence(json, "Context.Query.Reader.dowork.sum");
    tell_presence(json, "Context.Query.Reader.dowork.avg");
    tell_presence(json, "Context.Query.Writer.dowork.sum");
}

static void tell_write(const char* whose, const char* json) {
    printf(" write, %s\n", whose);
    tell_counter(json, "Context.Query.Writer.attr_num");
    tell_counter(json, "Context.Query.Writer.attr_fixed_num");
    tell_counter(json, "Context.Query.Writer.attr_var_num");
    tell_counter(json, "Context.Query.Writer.dim_num");
    tell_counter(json, "Context.Query.Writer.dim_fixed_num");
    tell_presence(json, "Context.Query.Writer.dowork.sum");
    tell_presence(json, "Context.Query.Reader.dowork.sum");
}

typedef struct {
    int32_t x[4], a[4];
    char text[8];
    uint64_t at[4];
    uint64_t x_len, a_len, text_len, at_len;
} cells_of;

static void set_buffers(tiledb_query_t* query, cells_of* cells, int has_coordinates) {
    cells->x_len = sizeof cells->x;
    cells->a_len = sizeof cells->a;
    cells->text_len = sizeof cells->text;
    cells->at_len = sizeof cells->at;
    if (has_coordinates) {
        CHECK(tiledb_query_set_data_buffer(ctx, query, "x", cells->x, &cells->x_len));
    }
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells->a, &cells->a_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "text", cells->text, &cells->text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "text", cells->at, &cells->at_len));
}

static tiledb_query_t* submitted(tiledb_array_t* array, tiledb_query_type_t mode, cells_of* cells, int is_sparse) {
    tiledb_query_t* query = query_on(array, mode, is_sparse ? TILEDB_UNORDERED : TILEDB_ROW_MAJOR);
    tiledb_subarray_t* subarray = NULL;
    if (!is_sparse) {
        CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
        CHECK(tiledb_subarray_add_range(ctx, subarray, 0, &bounds[0], &extent, NULL));
        CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
        tiledb_subarray_free(&subarray);
    }
    set_buffers(query, cells, is_sparse);
    submit(query);
    return query;
}

static void queries(const char* name, tiledb_array_type_t kind) {
    const cells_of given = {{1, 2, 3, 4}, {1, 2, 3, 4}, "aabbccd", {0, 2, 4, 6}, 0, 0, 0, 0};
    const int is_sparse = kind == TILEDB_SPARSE;
    const char* uri = in_folder(name);
    cells_of cells = given;
    char *of_query = NULL, *of_context = NULL;
    tiledb_array_t* array;
    tiledb_query_t* query;
    printf("%s\n", name);
    create_array(uri, schema_with(kind, dimensions, 1, attributes, 2));
    array = array_at(uri, TILEDB_WRITE, 0);
    query = submitted(array, TILEDB_WRITE, &cells, is_sparse);
    CODE(tiledb_query_get_stats(ctx, query, &of_query));
    tell_write("query", of_query);
    CODE(tiledb_stats_free_str(&of_query));
    tiledb_query_free(&query);
    close_array(array);

    array = array_at(uri, TILEDB_READ, 0);
    query = submitted(array, TILEDB_READ, &cells, is_sparse);
    CODE(tiledb_query_get_stats(ctx, query, &of_query));
    tell_read("query", of_query);
    CODE(tiledb_stats_free_str(&of_query));
    tiledb_query_free(&query);
    close_array(array);
    CODE(tiledb_ctx_get_stats(ctx, &of_context));
    tell_presence(of_context, "Context.array_open_READ.sum");
    tell_presence(of_context, "Context.array_open_WRITE.sum");
    tell_presence(of_context, "Context.VFS.read_ops_num");
    tell_presence(of_context, "Context.VFS.read_byte_num");
    tell_presence(of_context, "Context.VFS.write_ops_num");
    tell_presence(of_context, "Context.VFS.write_byte_num");
    CODE(tiledb_stats_free_str(&of_context));
}

int main(int argument_count, char** arguments) {
    uint8_t enabled = 9;
    begin(argument_count, arguments);
    CODE(tiledb_stats_is_enabled(&enabled));
    tell_number("enabled", enabled);
    CODE(tiledb_stats_enable());
    CODE(tiledb_stats_is_enabled(&enabled));
    tell_number("enabled", enabled);
    queries("dense", TILEDB_DENSE);
    queries("sparse", TILEDB_SPARSE);
    CODE(tiledb_stats_disable());
    return end();
}

/* Settings that change what queries do: checks of cells, digests, sizes of enumerations, budgets. */
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

/* A configuration with one key set. */
static tiledb_config_t* config_with(const char* key, const char* value) {
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    CHECK(tiledb_config_alloc(&config, &error));
    if (key != NULL) {
        CHECK(tiledb_config_set(config, key, value, &error));
        printf("  %s = %s\n", key, value);
    }
    return config;
}

static tiledb_query_t* query_with(
    tiledb_array_t* array, tiledb_query_type_t mode, tiledb_layout_t layout, const char* key, const char* value) {
    tiledb_query_t* query = query_on(array, mode, layout);
    tiledb_config_t* config = config_with(key, value);
    CHECK(tiledb_query_set_config(ctx, query, config));
    tiledb_config_free(&config);
    return query;
}

static void write_with(
    const char* uri, tiledb_layout_t layout, const char* key, const char* value, const cells_of* given, size_t count) {
    cells_of cells = *given;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
    tiledb_query_t* query = query_with(array, TILEDB_WRITE, layout, key, value);
    set_buffers(query, &cells, count);
    if (CODE(tiledb_query_submit(ctx, query)) != TILEDB_OK) {
        tell_last_error();
    }
    if (layout == TILEDB_GLOBAL_ORDER) {
        CODE(tiledb_query_finalize(ctx, query));
    }
    tiledb_query_free(&query);
    close_array(array);
}

static void read_all(const char* uri, tiledb_layout_t layout, int has_range) {
    cells_of cells;
    size_t idx;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, layout);
    if (has_range) {
        tiledb_subarray_t* subarray = NULL;
        CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
        CHECK(tiledb_subarray_add_range(ctx, subarray, 0, &bounds[0], &bounds[1], NULL));
        CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
        tiledb_subarray_free(&subarray);
    }
    set_buffers(query, &cells, 8);
    submit(query);
    printf("  cells:");
    for (idx = 0; idx < cells.a_len / sizeof(int32_t); idx++) {
        printf(" %d,%d=%d", (int)cells.x[idx], (int)cells.y[idx], (int)cells.a[idx]);
    }
    printf("\n");
    tiledb_query_free(&query);
    close_array(array);
}

static const char* sparse_array(const char* name) {
    const char* uri = in_folder(name);
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1);
    CHECK(tiledb_array_schema_set_capacity(ctx, schema, 2));
    create_array(uri, schema);
    return uri;
}

static void outside(void) {
    const cells_of cells = {{1, 9, 2}, {1, 1, 2}, {10, 20, 30}, 0, 0, 0};
    const cells_of sorted = {{1, 2, 9}, {1, 2, 1}, {10, 20, 30}, 0, 0, 0};
    const char* uri = sparse_array("outside");
    const tiledb_layout_t layouts[] = {TILEDB_ROW_MAJOR, TILEDB_COL_MAJOR, TILEDB_GLOBAL_ORDER, TILEDB_UNORDERED};
    size_t idx;
    printf("cells outside of the domain\n");
    write_with(uri, TILEDB_UNORDERED, "sm.check_coord_oob", "true", &cells, 3);
    write_with(uri, TILEDB_UNORDERED, "sm.check_coord_oob", "false", &cells, 3);
    for (idx = 0; idx < sizeof layouts / sizeof *layouts; idx++) {
        read_all(uri, layouts[idx], 0);
        read_all(uri, layouts[idx], 1);
    }
    {
        int32_t domain[4] = {0}, is_empty = 9;
        tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
        CHECK(tiledb_array_get_non_empty_domain(ctx, array, domain, &is_empty));
        TELL_I32("domain", domain, sizeof domain);
        close_array(array);
    }
    uri = sparse_array("outside-sorted");
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_coord_oob", "true", &sorted, 3);
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_coord_oob", "false", &sorted, 3);
    read_all(uri, TILEDB_ROW_MAJOR, 0);
    read_all(uri, TILEDB_ROW_MAJOR, 1);
}

static void order(void) {
    const cells_of other_tile = {{5, 1}, {1, 1}, {10, 20}, 0, 0, 0};
    const cells_of same_tile = {{2, 1}, {1, 4}, {10, 20}, 0, 0, 0};
    const cells_of twice = {{1, 1, 2, 5}, {1, 1, 2, 5}, {10, 20, 30, 40}, 0, 0, 0};
    const char* uri = sparse_array("order");
    printf("global order\n");
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_global_order", "true", &other_tile, 2);
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_global_order", "true", &same_tile, 2);
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_global_order", "false", &other_tile, 2);
    read_all(uri, TILEDB_ROW_MAJOR, 0);
    read_all(uri, TILEDB_COL_MAJOR, 1);
    uri = sparse_array("twice");
    write_with(uri, TILEDB_GLOBAL_ORDER, "sm.check_coord_dups", "true", &twice, 4);
    write_with(uri, TILEDB_UNORDERED, "sm.check_coord_dups", "true", &twice, 4);
    write_with(uri, TILEDB_UNORDERED, "sm.check_coord_dups", "false", &twice, 4);
}

static int32_t found_file(const char* path, void* data) {
    if (strstr(path, "a0.tdb") != NULL) {
        snprintf(data, 4096, "%s", path);
    }
    return 1;
}

static int32_t found_folder(const char* path, void* data) {
    snprintf(data, 4096, "%s", path);
    return 1;
}

/* Changes the last byte of the values of the attribute. */
static void damage(const char* uri) {
    static char fragments[4200], fragment[4096], file[4096], bytes[4096];
    uint64_t size = 0;
    tiledb_vfs_t* vfs = NULL;
    tiledb_vfs_fh_t* open = NULL;
    CHECK(tiledb_vfs_alloc(ctx, NULL, &vfs));
    snprintf(fragments, sizeof fragments, "%s/__fragments", uri);
    CHECK(tiledb_vfs_ls(ctx, vfs, fragments, found_folder, fragment));
    CHECK(tiledb_vfs_ls(ctx, vfs, fragment, found_file, file));
    CHECK(tiledb_vfs_file_size(ctx, vfs, file, &size));
    CHECK(tiledb_vfs_open(ctx, vfs, file, TILEDB_VFS_READ, &open));
    CHECK(tiledb_vfs_read(ctx, open, 0, bytes, size));
    CHECK(tiledb_vfs_close(ctx, open));
    tiledb_vfs_fh_free(&open);
    bytes[size - 1] ^= 0x40;
    CHECK(tiledb_vfs_remove_file(ctx, vfs, file));
    CHECK(tiledb_vfs_open(ctx, vfs, file, TILEDB_VFS_WRITE, &open));
    CHECK(tiledb_vfs_write(ctx, open, bytes, size));
    CHECK(tiledb_vfs_close(ctx, open));
    tiledb_vfs_fh_free(&open);
    tiledb_vfs_free(&vfs);
}

static void digests(const char* name, tiledb_filter_type_t type) {
    const char* const values[] = {"false", "true"};
    const char* uri = in_folder(name);
    cells_of given = {{1, 2}, {1, 2}, {10, 20}, 0, 0, 0};
    size_t idx;
    tiledb_attribute_t* checked = attribute_with(&attribute);
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 2, NULL, 0);
    tiledb_filter_list_t* filters = NULL;
    tiledb_filter_t* filter = NULL;
    printf("digests, %s\n", name);
    CHECK(tiledb_filter_list_alloc(ctx, &filters));
    CHECK(tiledb_filter_alloc(ctx, type, &filter));
    CHECK(tiledb_filter_list_add_filter(ctx, filters, filter));
    CHECK(tiledb_attribute_set_filter_list(ctx, checked, filters));
    CHECK(tiledb_array_schema_add_attribute(ctx, schema, checked));
    tiledb_attribute_free(&checked);
    tiledb_filter_free(&filter);
    tiledb_filter_list_free(&filters);
    create_array(uri, schema);
    write_with(uri, TILEDB_UNORDERED, NULL, NULL, &given, 2);
    damage(uri);
    for (idx = 0; idx < 9; idx++) {
        /* Of the query, of the array, of the context. */
        static const char* const whose[] = {"query", "array", "context"};
        const size_t which = idx / 3;
        cells_of cells;
        tiledb_ctx_t* outer = ctx;
        tiledb_array_t* array = NULL;
        tiledb_query_t* query = NULL;
        tiledb_config_t* config = config_with("sm.skip_checksum_validation", values[idx % 2]);
        printf("  for the %s\n", whose[which]);
        if (which == 2) {
            CHECK(tiledb_ctx_alloc(config, &ctx));
        }
        CHECK(tiledb_array_alloc(ctx, uri, &array));
        if (which == 1) {
            CHECK(tiledb_array_set_config(ctx, array, config));
        }
        CHECK(tiledb_array_open(ctx, array, TILEDB_READ));
        query = query_on(array, TILEDB_READ, TILEDB_GLOBAL_ORDER);
        if (which == 0) {
            CHECK(tiledb_query_set_config(ctx, query, config));
        }
        set_buffers(query, &cells, 8);
        if (CODE(tiledb_query_submit(ctx, query)) == TILEDB_OK) {
            TELL_I32("cells", cells.a, cells.a_len);
        }
        tiledb_query_free(&query);
        close_array(array);
        if (which == 2) {
            tiledb_ctx_free(&ctx);
            ctx = outer;
        }
        tiledb_config_free(&config);
    }
}

/* An array with one enumeration of texts, 148 bytes with its offsets, and one of numbers of 12 bytes, made in a context of its own. */
static void create_enumerations(const char* uri, const char* key, const char* value) {
    static const attribute_of attributes[] = {{"a", TILEDB_INT32, 1, 0}, {"b", TILEDB_INT32, 1, 0}};
    static char texts[132];
    const uint64_t starts[] = {0, 32};
    const int32_t numbers[] = {1, 2, 3};
    const char* const names[] = {"texts", "numbers"};
    tiledb_config_t* config = config_with(key, value);
    tiledb_ctx_t* outer = ctx;
    tiledb_array_schema_t* schema = NULL;
    tiledb_domain_t* domain = NULL;
    size_t idx;
    CHECK(tiledb_ctx_alloc(config, &ctx));
    tiledb_config_free(&config);
    memset(texts, 'x', sizeof texts);
    CHECK(tiledb_array_schema_alloc(ctx, TILEDB_DENSE, &schema));
    domain = domain_with(dimensions, 1);
    CHECK(tiledb_array_schema_set_domain(ctx, schema, domain));
    tiledb_domain_free(&domain);
    for (idx = 0; idx < 2; idx++) {
        tiledb_enumeration_t* enumeration = NULL;
        tiledb_attribute_t* named = attribute_with(&attributes[idx]);
        if (idx == 0) {
            CHECK(tiledb_enumeration_alloc(ctx, names[idx], TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, texts, sizeof texts,
                starts, sizeof starts, &enumeration));
        } else {
            CHECK(tiledb_enumeration_alloc(
                ctx, names[idx], TILEDB_INT32, 1, 0, numbers, sizeof numbers, NULL, 0, &enumeration));
        }
        CHECK(tiledb_array_schema_add_enumeration(ctx, schema, enumeration));
        CHECK(tiledb_attribute_set_enumeration_name(ctx, named, names[idx]));
        CHECK(tiledb_array_schema_add_attribute(ctx, schema, named));
        tiledb_enumeration_free(&enumeration);
        tiledb_attribute_free(&named);
    }
    if (CODE(tiledb_array_create(ctx, uri, schema)) != TILEDB_OK) {
        tell_last_error();
    }
    tiledb_array_schema_free(&schema);
    tiledb_ctx_free(&ctx);
    ctx = outer;
}

static void enumerations(void) {
    printf("sizes of enumerations\n");
    create_enumerations(in_folder("enumerations-0"), "sm.enumerations_max_size", "147");
    create_enumerations(in_folder("enumerations-1"), "sm.enumerations_max_size", "148");
    create_enumerations(in_folder("enumerations-2"), "sm.enumerations_max_total_size", "159");
    create_enumerations(in_folder("enumerations-3"), "sm.enumerations_max_total_size", "160");
}

/* Reads of as many cells in little memory, in much, and in what is there anyway. */
static void budgets(void) {
    const cells_of given = {{1, 2}, {1, 2}, {10, 20}, 0, 0, 0};
    const char* sparse = sparse_array("budget");
    const char* dense = in_folder("budget-dense");
    const char* const values[] = {"1", "1000000", "10737418240"};
    const tiledb_layout_t layouts[] = {TILEDB_ROW_MAJOR, TILEDB_GLOBAL_ORDER, TILEDB_UNORDERED};
    size_t idx, at;
    printf("budgets\n");
    write_with(sparse, TILEDB_UNORDERED, NULL, NULL, &given, 2);
    create_array(dense, schema_with(TILEDB_DENSE, dimensions, 2, &attribute, 1));
    {
        int32_t cells[64] = {7};
        uint64_t byte_len = sizeof cells;
        tiledb_array_t* array = array_at(dense, TILEDB_WRITE, 0);
        tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
        CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
        submit(query);
        tiledb_query_free(&query);
        close_array(array);
    }
    for (idx = 0; idx < sizeof values / sizeof *values; idx++) {
        for (at = 0; at < sizeof layouts / sizeof *layouts; at++) {
            cells_of cells;
            tiledb_array_t* array = array_at(sparse, TILEDB_READ, 0);
            tiledb_query_t* query = query_with(array, TILEDB_READ, layouts[at], "sm.mem.total_budget", values[idx]);
            set_buffers(query, &cells, 8);
            if (CODE(tiledb_query_submit(ctx, query)) == TILEDB_OK) {
                TELL_I32("cells", cells.a, cells.a_len);
            }
            tiledb_query_free(&query);
            close_array(array);
        }
        {
            int32_t cells[64] = {0};
            uint64_t byte_len = sizeof cells;
            tiledb_array_t* array = array_at(dense, TILEDB_READ, 0);
            tiledb_query_t* query =
                query_with(array, TILEDB_READ, TILEDB_ROW_MAJOR, "sm.mem.total_budget", values[idx]);
            tiledb_subarray_t* subarray = NULL;
            CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
            CHECK(tiledb_subarray_add_range(ctx, subarray, 0, &bounds[0], &bounds[0], NULL));
            CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
            tiledb_subarray_free(&subarray);
            CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
            if (CODE(tiledb_query_submit(ctx, query)) == TILEDB_OK) {
                TELL_I32("cells", cells, byte_len);
            }
            tiledb_query_free(&query);
            close_array(array);
        }
    }
}

/* A context that is refused. */
static void contexts(void) {
    tiledb_config_t* config = config_with("config.logging_level", "9");
    tiledb_ctx_t* refused = NULL;
    tiledb_error_t* error = NULL;
    CODE(tiledb_ctx_alloc_with_error(config, &refused, &error));
    tell_error(&error);
    tiledb_config_free(&config);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    outside();
    order();
    digests("md5", TILEDB_FILTER_CHECKSUM_MD5);
    digests("sha256", TILEDB_FILTER_CHECKSUM_SHA256);
    enumerations();
    budgets();
    contexts();
    return end();
}

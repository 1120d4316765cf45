/* Arrays, groups and files in memory: what a context keeps there, another one does not see. */
#include "told.h"

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void arrays(void) {
    int32_t cells[] = {5, 6, 7, 8};
    uint64_t byte_len = sizeof cells;
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_subarray_t* subarray = NULL;
    tiledb_object_t kind = TILEDB_INVALID;
    tiledb_ctx_t *first = ctx, *second = NULL;
    printf("arrays\n");
    create_array("mem://array", schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    array = array_at("mem://array", TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
    array = array_at("mem://array", TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, bounds));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    memset(cells, 0, sizeof cells);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
    submit(query);
    TELL_I32("cells", cells, byte_len);
    tiledb_query_free(&query);
    close_array(array);
    CODE(tiledb_object_type(ctx, "mem://array", &kind));
    tell_number("kind", (uint64_t)kind);
    CHECK(tiledb_ctx_alloc(NULL, &second));
    ctx = second;
    CODE(tiledb_object_type(ctx, "mem://array", &kind));
    tell_number("kind elsewhere", (uint64_t)kind);
    ctx = first;
    tiledb_ctx_free(&second);
    CODE(tiledb_group_create(ctx, "mem://group"));
    CODE(tiledb_object_type(ctx, "mem://group", &kind));
    tell_number("kind", (uint64_t)kind);
}

static void files(void) {
    tiledb_vfs_t* vfs = NULL;
    tiledb_vfs_fh_t* file = NULL;
    char bytes[16] = {0};
    uint64_t size = 0;
    int32_t is = 9;
    printf("files\n");
    CODE(tiledb_vfs_alloc(ctx, NULL, &vfs));
    CODE(tiledb_vfs_create_dir(ctx, vfs, "mem://folder"));
    CODE(tiledb_vfs_is_dir(ctx, vfs, "mem://folder", &is));
    tell_number("folder", (uint64_t)is);
    CODE(tiledb_vfs_open(ctx, vfs, "mem://folder/file", TILEDB_VFS_WRITE, &file));
    CODE(tiledb_vfs_write(ctx, file, "hello", 5));
    CODE(tiledb_vfs_close(ctx, file));
    tiledb_vfs_fh_free(&file);
    CODE(tiledb_vfs_file_size(ctx, vfs, "mem://folder/file", &size));
    tell_number("size", size);
    CODE(tiledb_vfs_open(ctx, vfs, "mem://folder/file", TILEDB_VFS_READ, &file));
    CODE(tiledb_vfs_read(ctx, file, 1, bytes, 3));
    TELL_CHARS("read", bytes, 3);
    CODE(tiledb_vfs_close(ctx, file));
    tiledb_vfs_fh_free(&file);
    CODE(tiledb_vfs_dir_size(ctx, vfs, "mem://folder", &size));
    CODE(tiledb_vfs_move_file(ctx, vfs, "mem://folder/file", "mem://folder/other"));
    CODE(tiledb_vfs_is_file(ctx, vfs, "mem://folder/file", &is));
    tell_number("file", (uint64_t)is);
    CODE(tiledb_vfs_remove_dir(ctx, vfs, "mem://folder"));
    CODE(tiledb_vfs_is_dir(ctx, vfs, "mem://folder", &is));
    tell_number("folder", (uint64_t)is);
    tiledb_vfs_free(&vfs);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    arrays();
    files();
    return end();
}

/* Files and folders of this machine: opening, reading, writing, listing, copying, moving, sizes, errors. */
#include "told.h"

static tiledb_vfs_t* vfs;

static void write_file(const char* uri, tiledb_vfs_mode_t mode, const char* text) {
    tiledb_vfs_fh_t* file = NULL;
    int32_t is_closed = 9;
    CODE(tiledb_vfs_open(ctx, vfs, uri, mode, &file));
    CODE(tiledb_vfs_write(ctx, file, text, strlen(text)));
    CODE(tiledb_vfs_sync(ctx, file));
    CODE(tiledb_vfs_fh_is_closed(ctx, file, &is_closed));
    tell_number("closed", (uint64_t)is_closed);
    CODE(tiledb_vfs_close(ctx, file));
    CODE(tiledb_vfs_fh_is_closed(ctx, file, &is_closed));
    tell_number("closed", (uint64_t)is_closed);
    tiledb_vfs_fh_free(&file);
    tell_number("freed", file == NULL);
}

static void tell_size(const char* uri) {
    uint64_t size = 99;
    const int32_t told = tiledb_vfs_file_size(ctx, vfs, uri, &size);
    printf("  size of %s: %d", strrchr(uri, '/') + 1, (int)told);
    printf(" %d\n", told == TILEDB_OK ? (int)size : -1);
}

static void tell_kind(const char* uri) {
    int32_t is_file = 9, is_dir = 9;
    CHECK(tiledb_vfs_is_file(ctx, vfs, uri, &is_file));
    CHECK(tiledb_vfs_is_dir(ctx, vfs, uri, &is_dir));
    printf("  %s: file %d, folder %d\n", strrchr(uri, '/') + 1, (int)is_file, (int)is_dir);
}

static void files(const char* uri) {
    tiledb_vfs_fh_t* file = NULL;
    char bytes[16] = {0};
    printf("files\n");
    write_file(uri, TILEDB_VFS_WRITE, "hello");
    tell_size(uri);
    write_file(uri, TILEDB_VFS_APPEND, " world");
    tell_size(uri);
    CODE(tiledb_vfs_open(ctx, vfs, uri, TILEDB_VFS_READ, &file));
    CODE(tiledb_vfs_read(ctx, file, 3, bytes, 5));
    TELL_CHARS("read", bytes, 5);
    CODE(tiledb_vfs_read(ctx, file, 8, bytes, 5));
    CODE(tiledb_vfs_read(ctx, file, 0, bytes, 0));
    CODE(tiledb_vfs_close(ctx, file));
    tiledb_vfs_fh_free(&file);
    write_file(uri, TILEDB_VFS_WRITE, "new");
    tell_size(uri);
    CODE(tiledb_vfs_open(ctx, vfs, uri, TILEDB_VFS_WRITE, &file));
    CODE(tiledb_vfs_read(ctx, file, 0, bytes, 1));
    CODE(tiledb_vfs_close(ctx, file));
    tiledb_vfs_fh_free(&file);
    tell_size(uri);
    CODE(tiledb_vfs_open(ctx, vfs, in_folder("missing"), TILEDB_VFS_READ, &file));
    tiledb_vfs_fh_free(&file);
}

/* Names that a callback has collected; the order of listings is no one's promise. */
static char names[16][64];
static size_t name_count;

static int compare_names(const void* left, const void* right) {
    return strcmp((const char*)left, (const char*)right);
}

static void tell_names(void) {
    size_t idx;
    qsort(names, name_count, sizeof *names, compare_names);
    for (idx = 0; idx < name_count; idx++) {
        printf("    %s\n", names[idx]);
    }
    name_count = 0;
}

static void keep_name(const char* path, size_t length, const char* more) {
    const size_t head = strlen(folder);
    const char* found = path;
    while (found + head <= path + length && memcmp(found, folder, head) != 0) {
        found++;
    }
    snprintf(names[name_count++ % 16], sizeof *names, "%.*s%s", (int)(length - (size_t)(found - path) - head),
        found + head, more);
}

static int32_t listed(const char* path, void* data) {
    const size_t* limit = (const size_t*)data;
    keep_name(path, strlen(path), "");
    return name_count < *limit;
}

static int32_t listed_all(const char* path, size_t length, uint64_t size, void* data) {
    char more[32];
    const size_t* limit = (const size_t*)data;
    snprintf(more, sizeof more, " %d", (int)size);
    keep_name(path, length, more);
    return name_count < *limit;
}

static int32_t listed_all_kinds(const char* path, size_t length, uint64_t size, uint8_t is_dir, void* data) {
    char more[32];
    const size_t* limit = (const size_t*)data;
    snprintf(more, sizeof more, is_dir ? " folder" : " %d", (int)size);
    keep_name(path, length, more);
    return name_count < *limit;
}

static int32_t failed(const char* path, void* data) {
    (void)path;
    (void)data;
    return -1;
}

static int32_t failed_all(const char* path, size_t length, uint64_t size, void* data) {
    (void)path;
    (void)length;
    (void)size;
    (void)data;
    return -1;
}

static void folders(void) {
    size_t limit = 99;
    uint64_t size = 0;
    const char* top = in_folder("top");
    const char* inner = in_folder("top/inner");
    const char* file = in_folder("top/inner/file");
    printf("folders\n");
    CODE(tiledb_vfs_create_dir(ctx, vfs, top));
    CODE(tiledb_vfs_create_dir(ctx, vfs, top));
    CODE(tiledb_vfs_create_dir(ctx, vfs, inner));
    CODE(tiledb_vfs_touch(ctx, vfs, in_folder("top/empty")));
    CODE(tiledb_vfs_touch(ctx, vfs, file));
    write_file(file, TILEDB_VFS_WRITE, "seven b");
    CODE(tiledb_vfs_touch(ctx, vfs, file));
    tell_size(file);
    tell_kind(top);
    tell_kind(file);
    tell_kind(in_folder("missing"));
    CODE(tiledb_vfs_dir_size(ctx, vfs, top, &size));
    tell_number("size", size);
    CODE(tiledb_vfs_ls(ctx, vfs, top, listed, &limit));
    tell_names();
    CODE(tiledb_vfs_ls_recursive(ctx, vfs, top, listed_all, &limit));
    tell_names();
    CODE(tiledb_vfs_ls_recursive_v2(ctx, vfs, top, listed_all_kinds, &limit));
    tell_names();
    limit = 1;
    CODE(tiledb_vfs_ls(ctx, vfs, top, listed, &limit));
    tell_number("told", name_count);
    name_count = 0;
    CODE(tiledb_vfs_ls(ctx, vfs, top, failed, NULL));
    CODE(tiledb_vfs_ls_recursive(ctx, vfs, top, failed_all, NULL));
    CODE(tiledb_vfs_ls(ctx, vfs, in_folder("missing"), listed, &limit));
    CODE(tiledb_vfs_ls(ctx, vfs, top, NULL, NULL));
}

static void copies(void) {
    uint64_t size = 0;
    printf("copies\n");
    CODE(tiledb_vfs_copy_file(ctx, vfs, in_folder("top/inner/file"), in_folder("copied")));
    tell_size(in_folder("copied"));
    CODE(tiledb_vfs_move_file(ctx, vfs, in_folder("copied"), in_folder("moved")));
    tell_kind(in_folder("copied"));
    tell_kind(in_folder("moved"));
    CODE(tiledb_vfs_move_file(ctx, vfs, in_folder("missing"), in_folder("moved too")));
    CODE(tiledb_vfs_copy_dir(ctx, vfs, in_folder("top"), in_folder("top copied")));
    CODE(tiledb_vfs_dir_size(ctx, vfs, in_folder("top copied"), &size));
    tell_number("size", size);
    CODE(tiledb_vfs_move_dir(ctx, vfs, in_folder("top"), in_folder("top moved")));
    tell_kind(in_folder("top"));
    tell_kind(in_folder("top moved"));
    CODE(tiledb_vfs_remove_file(ctx, vfs, in_folder("moved")));
    CODE(tiledb_vfs_remove_file(ctx, vfs, in_folder("moved")));
    CODE(tiledb_vfs_remove_dir(ctx, vfs, in_folder("top moved")));
    CODE(tiledb_vfs_remove_dir(ctx, vfs, in_folder("top moved")));
    tell_kind(in_folder("top moved"));
    CODE(tiledb_vfs_file_size(ctx, vfs, in_folder("missing"), &size));
}

static void buckets(void) {
    int32_t is = 9;
    printf("buckets\n");
    CODE(tiledb_vfs_create_bucket(ctx, vfs, in_folder("bucket")));
    CODE(tiledb_vfs_is_bucket(ctx, vfs, in_folder("bucket"), &is));
    CODE(tiledb_vfs_is_empty_bucket(ctx, vfs, in_folder("bucket"), &is));
    CODE(tiledb_vfs_empty_bucket(ctx, vfs, in_folder("bucket")));
    CODE(tiledb_vfs_remove_bucket(ctx, vfs, in_folder("bucket")));
}

int main(int argument_count, char** arguments) {
    tiledb_config_t *config = NULL, *kept = NULL;
    tiledb_error_t* error = NULL;
    const char* value = NULL;
    begin(argument_count, arguments);
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "vfs.min_parallel_size", "123", &error));
    CODE(tiledb_vfs_alloc(ctx, config, &vfs));
    CODE(tiledb_vfs_get_config(ctx, vfs, &kept));
    CHECK(tiledb_config_get(kept, "vfs.min_parallel_size", &value, &error));
    tell_text("what it was made with", value);
    tiledb_config_free(&kept);
    tiledb_config_free(&config);
    files(in_folder("file"));
    folders();
    copies();
    buckets();
    tiledb_vfs_free(&vfs);
    tell_number("freed", vfs == NULL);
    return end();
}

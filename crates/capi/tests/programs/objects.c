/* Objects: their kinds, lists and walks of them, moved and removed. */
#include "told.h"

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static char lines[16][128];
static size_t line_count;

static int32_t told_object(const char* path, tiledb_object_t kind, void* data) {
    const size_t* limit = (const size_t*)data;
    const char* inside = strstr(path, folder);
    snprintf(
        lines[line_count++ % 16], sizeof *lines, "%s %d", inside == NULL ? path : inside + strlen(folder), (int)kind);
    return line_count < *limit;
}

static int compare_lines(const void* left, const void* right) {
    return strcmp((const char*)left, (const char*)right);
}

static void tell_lines(int sorted) {
    size_t idx;
    if (sorted) {
        qsort(lines, line_count, sizeof *lines, compare_lines);
    }
    for (idx = 0; idx < line_count; idx++) {
        printf("    %s\n", lines[idx]);
    }
    line_count = 0;
}

static void tell_kind(const char* path) {
    tiledb_object_t kind = TILEDB_INVALID;
    const int32_t told = tiledb_object_type(ctx, path, &kind);
    printf("  %s: %d, kind %d\n", path + strlen(folder), (int)told, (int)kind);
}

static void objects(void) {
    size_t limit = 99;
    printf("objects\n");
    CHECK(tiledb_group_create(ctx, in_folder("group")));
    CHECK(tiledb_group_create(ctx, in_folder("group/inner")));
    create_array(in_folder("group/array"), schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    create_array(in_folder("outside"), schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    tell_kind(in_folder("group"));
    tell_kind(in_folder("group/array"));
    tell_kind(in_folder("missing"));
    CODE(tiledb_object_ls(ctx, in_folder("group"), told_object, &limit));
    tell_lines(1);
    CODE(tiledb_group_create(ctx, in_folder("group/inner/deep")));
    CODE(tiledb_object_walk(ctx, in_folder("group/inner"), TILEDB_PREORDER, told_object, &limit));
    tell_lines(0);
    CODE(tiledb_object_walk(ctx, folder, TILEDB_PREORDER, told_object, &limit));
    tell_lines(1);
    CODE(tiledb_object_walk(ctx, folder, TILEDB_POSTORDER, told_object, &limit));
    tell_lines(1);
    limit = 1;
    CODE(tiledb_object_walk(ctx, folder, TILEDB_PREORDER, told_object, &limit));
    tell_number("told", line_count);
    line_count = 0;
    CODE(tiledb_object_walk(ctx, folder, TILEDB_PREORDER, NULL, NULL));
    CODE(tiledb_object_ls(ctx, folder, NULL, NULL));
    CODE(tiledb_object_ls(ctx, in_folder("missing"), told_object, &limit));
    CODE(tiledb_object_move(ctx, in_folder("outside"), in_folder("moved")));
    tell_kind(in_folder("outside"));
    tell_kind(in_folder("moved"));
    CODE(tiledb_object_move(ctx, in_folder("missing"), in_folder("moved too")));
    CODE(tiledb_object_remove(ctx, in_folder("moved")));
    tell_kind(in_folder("moved"));
    CODE(tiledb_object_remove(ctx, in_folder("moved")));
    CODE(tiledb_object_type(ctx, NULL, NULL));
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    objects();
    return end();
}

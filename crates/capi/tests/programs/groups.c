/* Groups: members by index and name, metadata, dumps, removal. */
#include "told.h"

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static tiledb_group_t* group_for(const char* uri, tiledb_query_type_t mode) {
    tiledb_group_t* group = NULL;
    CHECK(tiledb_group_alloc(ctx, uri, &group));
    CHECK(tiledb_group_open(ctx, group, mode));
    return group;
}

static void close_group(tiledb_group_t* group) {
    CHECK(tiledb_group_close(ctx, group));
    tiledb_group_free(&group);
}

static void states(const char* uri) {
    tiledb_group_t* group = NULL;
    tiledb_query_type_t mode = TILEDB_WRITE;
    tiledb_config_t *config = NULL, *kept = NULL;
    tiledb_error_t* error = NULL;
    const char* text = NULL;
    int32_t is_open = 9;
    uint64_t count = 0;
    printf("states\n");
    CODE(tiledb_group_create(ctx, uri));
    REFUSED(tiledb_group_create(ctx, uri));
    CODE(tiledb_group_alloc(ctx, uri, &group));
    CODE(tiledb_group_is_open(ctx, group, &is_open));
    tell_number("open", (uint64_t)is_open);
    CODE(tiledb_group_get_query_type(ctx, group, &mode));
    CODE(tiledb_group_get_member_count(ctx, group, &count));
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.group.timestamp_end", "1000", &error));
    CODE(tiledb_group_set_config(ctx, group, config));
    CODE(tiledb_group_get_config(ctx, group, &kept));
    CHECK(tiledb_config_get(kept, "sm.group.timestamp_end", &text, &error));
    tell_text("end", text);
    tiledb_config_free(&kept);
    CODE(tiledb_group_open(ctx, group, TILEDB_READ));
    CODE(tiledb_group_is_open(ctx, group, &is_open));
    tell_number("open", (uint64_t)is_open);
    CODE(tiledb_group_get_query_type(ctx, group, &mode));
    tell_number("mode", (uint64_t)mode);
    CODE(tiledb_group_open(ctx, group, TILEDB_READ));
    CODE(tiledb_group_set_config(ctx, group, config));
    CODE(tiledb_group_get_uri(ctx, group, &text));
    tell_text("uri", text);
    CODE(tiledb_group_add_member(ctx, group, in_folder("group/array"), 0, NULL));
    CODE(tiledb_group_close(ctx, group));
    CODE(tiledb_group_close(ctx, group));
    CODE(tiledb_group_open(ctx, group, (tiledb_query_type_t)9));
    CODE(tiledb_group_open(ctx, group, TILEDB_DELETE));
    tiledb_group_free(&group);
    tell_number("freed", group == NULL);
    tiledb_config_free(&config);
    CHECK(tiledb_group_alloc(ctx, in_folder("missing"), &group));
    REFUSED(tiledb_group_open(ctx, group, TILEDB_READ));
    tiledb_group_free(&group);
}

static char lines[16][512];
static size_t line_count;

static int compare_lines(const void* left, const void* right) {
    return strcmp((const char*)left, (const char*)right);
}

/* Tells what was kept in the order of the alphabet: that of members is not promised. */
static void tell_lines(void) {
    size_t idx;
    qsort(lines, line_count, sizeof *lines, compare_lines);
    for (idx = 0; idx < line_count; idx++) {
        printf("  ");
        print_text(lines[idx], strlen(lines[idx]));
        printf("\n");
    }
    line_count = 0;
}

static void keep_member(tiledb_string_t* where, tiledb_string_t* name, tiledb_object_t kind) {
    const char *uri = NULL, *text = "none";
    size_t uri_len = 0, text_len = 4;
    CHECK(tiledb_string_view(where, &uri, &uri_len));
    if (name != NULL) {
        CHECK(tiledb_string_view(name, &text, &text_len));
    }
    snprintf(lines[line_count++ % 16], sizeof *lines, "%.*s named %.*s, kind %d", (int)uri_len, uri, (int)text_len,
        text, (int)kind);
}

static void tell_dump(tiledb_string_t** dump) {
    const char* text = NULL;
    size_t length = 0, start = 0, end;
    CHECK(tiledb_string_view(*dump, &text, &length));
    for (end = 0; end < length; end++) {
        if (text[end] == '\n') {
            snprintf(lines[line_count++ % 16], sizeof *lines, "%.*s", (int)(end - start), text + start);
            start = end + 1;
        }
    }
    tell_lines();
    CHECK(tiledb_string_free(dump));
}

static void tell_members(const char* uri) {
    tiledb_group_t* group = group_for(uri, TILEDB_READ);
    tiledb_string_t *where = NULL, *name = NULL;
    tiledb_object_t kind = TILEDB_INVALID;
    uint64_t count = 0, idx;
    uint8_t relative = 9;
    CHECK(tiledb_group_get_member_count(ctx, group, &count));
    tell_number("members", count);
    for (idx = 0; idx < count; idx++) {
        CHECK(tiledb_group_get_member_by_index_v2(ctx, group, idx, &where, &kind, &name));
        keep_member(where, name, kind);
        CHECK(tiledb_string_free(&where));
        if (name != NULL) {
            CHECK(tiledb_string_free(&name));
        }
    }
    tell_lines();
    CODE(tiledb_group_get_member_by_index_v2(ctx, group, count, &where, &kind, &name));
    if (CODE(tiledb_group_get_member_by_name_v2(ctx, group, "array", &where, &kind)) == TILEDB_OK) {
        tell_string("uri", &where);
        tell_number("kind", (uint64_t)kind);
    }
    REFUSED(tiledb_group_get_member_by_name_v2(ctx, group, "none", &where, &kind));
    if (CODE(tiledb_group_get_is_relative_uri_by_name(ctx, group, "array", &relative)) == TILEDB_OK) {
        tell_number("relative", relative);
    }
    CODE(tiledb_group_get_is_relative_uri_by_name(ctx, group, "none", &relative));
    close_group(group);
}

static void members(const char* uri) {
    tiledb_group_t* group;
    tiledb_string_t* text = NULL;
    printf("members\n");
    create_array(in_folder("group/array"), schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    CHECK(tiledb_group_create(ctx, in_folder("group/inner")));
    create_array(in_folder("outside"), schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    group = group_for(uri, TILEDB_WRITE);
    CODE(tiledb_group_add_member(ctx, group, "array", 1, "array"));
    CODE(tiledb_group_add_member_with_type(ctx, group, "inner", 1, "inner", TILEDB_GROUP));
    CODE(tiledb_group_add_member(ctx, group, in_folder("outside"), 0, NULL));
    CODE(tiledb_group_add_member(ctx, group, "array", 1, "array"));
    CODE(tiledb_group_add_member(ctx, group, "array", 1, "again"));
    CODE(tiledb_group_add_member(ctx, group, NULL, 1, "array"));
    CODE(tiledb_group_remove_member(ctx, group, "again"));
    close_group(group);
    tell_members(uri);
    group = group_for(uri, TILEDB_READ);
    CODE(tiledb_group_dump_str_v2(ctx, group, &text, 0));
    tell_dump(&text);
    CODE(tiledb_group_dump_str_v2(ctx, group, &text, 1));
    tell_dump(&text);
    close_group(group);
    group = group_for(uri, TILEDB_WRITE);
    CODE(tiledb_group_remove_member(ctx, group, "array"));
    CODE(tiledb_group_remove_member(ctx, group, "never there"));
    CODE(tiledb_group_remove_member(ctx, group, NULL));
    CODE(tiledb_group_close(ctx, group));
    tiledb_group_free(&group);
    tell_members(uri);
}

static void metadata(const char* uri) {
    const int32_t numbers[] = {7, 8};
    tiledb_group_t* group = group_for(uri, TILEDB_WRITE);
    tiledb_datatype_t type = TILEDB_ANY;
    const void* value = NULL;
    const char* key = NULL;
    uint64_t count = 0, idx;
    uint32_t key_len = 0, value_count = 0;
    int32_t has = 9;
    printf("metadata\n");
    CODE(tiledb_group_put_metadata(ctx, group, "numbers", TILEDB_INT32, 2, numbers));
    CODE(tiledb_group_put_metadata(ctx, group, "gone", TILEDB_INT32, 1, numbers));
    CODE(tiledb_group_put_metadata(ctx, group, "text", TILEDB_STRING_ASCII, 4, "abcd"));
    CODE(tiledb_group_put_metadata(ctx, group, "any", TILEDB_ANY, 1, numbers));
    CODE(tiledb_group_delete_metadata(ctx, group, "gone"));
    CODE(tiledb_group_get_metadata_num(ctx, group, &count));
    close_group(group);
    CODE(tiledb_group_consolidate_metadata(ctx, uri, NULL));
    CODE(tiledb_group_vacuum_metadata(ctx, uri, NULL));
    group = group_for(uri, TILEDB_READ);
    CODE(tiledb_group_get_metadata_num(ctx, group, &count));
    tell_number("entries", count);
    for (idx = 0; idx <= count; idx++) {
        if (CODE(tiledb_group_get_metadata_from_index(ctx, group, idx, &key, &key_len, &type, &value_count, &value)) ==
            TILEDB_OK) {
            printf("  %.*s: %d %u\n", (int)key_len, key, (int)type, (unsigned)value_count);
        }
    }
    CODE(tiledb_group_get_metadata(ctx, group, "numbers", &type, &value_count, &value));
    TELL_I32("numbers", value, 4 * value_count);
    CODE(tiledb_group_get_metadata(ctx, group, "gone", &type, &value_count, &value));
    tell_number("none", value == NULL);
    CODE(tiledb_group_has_metadata_key(ctx, group, "text", &type, &has));
    printf("  has %d of type %d\n", (int)has, (int)type);
    CODE(tiledb_group_has_metadata_key(ctx, group, "gone", &type, &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_group_put_metadata(ctx, group, "late", TILEDB_INT32, 2, numbers));
    close_group(group);
}

static void tell_kind(const char* path) {
    tiledb_object_t kind = TILEDB_INVALID;
    const int32_t told = tiledb_object_type(ctx, path, &kind);
    printf("  %s: %d, kind %d\n", path + strlen(folder), (int)told, (int)kind);
}

static void removal(const char* uri) {
    tiledb_group_t* group = group_for(uri, TILEDB_WRITE);
    printf("removal\n");
    CODE(tiledb_group_remove_member(ctx, group, "again"));
    CODE(tiledb_group_remove_member(ctx, group, "again"));
    close_group(group);
    group = group_for(uri, TILEDB_READ);
    CODE(tiledb_group_delete_group(ctx, group, uri, 1));
    close_group(group);
    group = group_for(uri, TILEDB_MODIFY_EXCLUSIVE);
    CODE(tiledb_group_delete_group(ctx, group, uri, 1));
    tiledb_group_free(&group);
    tell_kind(uri);
    tell_kind(in_folder("group/inner"));
}

int main(int argument_count, char** arguments) {
    char uri[4096];
    begin(argument_count, arguments);
    snprintf(uri, sizeof uri, "%s", in_folder("group"));
    states(uri);
    members(uri);
    metadata(uri);
    removal(uri);
    return end();
}

/* What is known of fragments: numbers, names, times, sizes, domains, rectangles, schemas; dumps; removal of some. */
#include "told.h"

static const int32_t bounds[] = {1, 100};
static const int32_t extent = 10;
static const dimension_of dimensions[] = {
    {"x", TILEDB_INT32, bounds, &extent}, {"word", TILEDB_STRING_ASCII, NULL, NULL}};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void write_cells(const char* uri, uint64_t time, int32_t first, const char* words) {
    int32_t x[] = {first, first + 5, first + 9}, a[] = {1, 2, 3};
    char text[16];
    uint64_t at[] = {0, 1, 2}, x_len = sizeof x, a_len = sizeof a, text_len = 3, at_len = sizeof at;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    snprintf(text, sizeof text, "%s", words);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", a, &a_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", text, &text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", at, &at_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static tiledb_fragment_info_t* loaded(const char* uri) {
    tiledb_fragment_info_t* info = NULL;
    CHECK(tiledb_fragment_info_alloc(ctx, uri, &info));
    CHECK(tiledb_fragment_info_load(ctx, info));
    return info;
}

static void tell_fragment(tiledb_fragment_info_t* info, uint32_t number) {
    const char *uri = NULL, *schema_name = NULL;
    tiledb_string_t* name = NULL;
    const char* name_text = NULL;
    size_t name_len = 0;
    uint64_t size = 0, start = 0, last = 0, cells = 0, rectangles = 0, first_len = 0, second_len = 0;
    int32_t dense = 9, sparse = 9, has = 9, domain[2] = {0, 0};
    uint32_t version = 0;
    char first[16] = {0}, second[16] = {0};
    tiledb_array_schema_t* schema = NULL;
    printf("  fragment %u\n", (unsigned)number);
    CODE(tiledb_fragment_info_get_fragment_uri(ctx, info, number, &uri));
    CODE(tiledb_fragment_info_get_fragment_name_v2(ctx, info, number, &name));
    CHECK(tiledb_string_view(name, &name_text, &name_len));
    tell_number("the uri ends in the name",
        strlen(uri) > name_len && memcmp(uri + strlen(uri) - name_len, name_text, name_len) == 0);
    CHECK(tiledb_string_free(&name));
    CODE(tiledb_fragment_info_get_fragment_size(ctx, info, number, &size));
    tell_number("has a size", size > 100);
    CODE(tiledb_fragment_info_get_dense(ctx, info, number, &dense));
    CODE(tiledb_fragment_info_get_sparse(ctx, info, number, &sparse));
    printf("  dense %d, sparse %d\n", (int)dense, (int)sparse);
    CODE(tiledb_fragment_info_get_timestamp_range(ctx, info, number, &start, &last));
    printf("  %d to %d\n", (int)start, (int)last);
    CODE(tiledb_fragment_info_get_cell_num(ctx, info, number, &cells));
    tell_number("cells", cells);
    CODE(tiledb_fragment_info_get_version(ctx, info, number, &version));
    tell_number("version", version);
    CODE(tiledb_fragment_info_has_consolidated_metadata(ctx, info, number, &has));
    tell_number("consolidated metadata", (uint64_t)has);
    CODE(tiledb_fragment_info_get_array_schema(ctx, info, number, &schema));
    tiledb_array_schema_free(&schema);
    CODE(tiledb_fragment_info_get_array_schema_name(ctx, info, number, &schema_name));
    tell_number("the schema has a name", schema_name != NULL && strncmp(schema_name, "__", 2) == 0);

    CODE(tiledb_fragment_info_get_non_empty_domain_from_index(ctx, info, number, 0, domain));
    printf("  %d to %d\n", (int)domain[0], (int)domain[1]);
    CODE(tiledb_fragment_info_get_non_empty_domain_from_name(ctx, info, number, "x", domain));
    CODE(tiledb_fragment_info_get_non_empty_domain_from_name(ctx, info, number, "none", domain));
    CODE(tiledb_fragment_info_get_non_empty_domain_from_index(ctx, info, number, 1, domain));
    CODE(tiledb_fragment_info_get_non_empty_domain_var_size_from_index(ctx, info, number, 1, &first_len, &second_len));
    CODE(tiledb_fragment_info_get_non_empty_domain_var_from_index(ctx, info, number, 1, first, second));
    printf("  %.*s to %.*s\n", (int)first_len, first, (int)second_len, second);
    CODE(tiledb_fragment_info_get_non_empty_domain_var_size_from_name(
        ctx, info, number, "word", &first_len, &second_len));
    CODE(tiledb_fragment_info_get_non_empty_domain_var_from_name(ctx, info, number, "word", first, second));
    CODE(tiledb_fragment_info_get_non_empty_domain_var_size_from_name(ctx, info, number, "x", &first_len, &second_len));

    CODE(tiledb_fragment_info_get_mbr_num(ctx, info, number, &rectangles));
    tell_number("rectangles", rectangles);
    CODE(tiledb_fragment_info_get_mbr_from_index(ctx, info, number, 0, 0, domain));
    printf("  %d to %d\n", (int)domain[0], (int)domain[1]);
    CODE(tiledb_fragment_info_get_mbr_from_name(ctx, info, number, 0, "x", domain));
    CODE(tiledb_fragment_info_get_mbr_var_size_from_index(ctx, info, number, 0, 1, &first_len, &second_len));
    CODE(tiledb_fragment_info_get_mbr_var_from_index(ctx, info, number, 0, 1, first, second));
    printf("  %.*s to %.*s\n", (int)first_len, first, (int)second_len, second);
    CODE(tiledb_fragment_info_get_mbr_var_size_from_name(ctx, info, number, 0, "word", &first_len, &second_len));
    CODE(tiledb_fragment_info_get_mbr_var_from_name(ctx, info, number, 0, "word", first, second));
    CODE(tiledb_fragment_info_get_mbr_from_index(ctx, info, number, 77, 0, domain));
    CODE(tiledb_fragment_info_get_mbr_from_index(ctx, info, number, 0, 77, domain));
    CODE(tiledb_fragment_info_get_mbr_from_name(ctx, info, number, 0, "none", domain));
}

static void tell_counts(const char* uri) {
    tiledb_fragment_info_t* info = loaded(uri);
    uint32_t fragments = 0, vacuum = 0, unconsolidated = 0;
    uint64_t cells = 0;
    CODE(tiledb_fragment_info_get_fragment_num(ctx, info, &fragments));
    CODE(tiledb_fragment_info_get_to_vacuum_num(ctx, info, &vacuum));
    CODE(tiledb_fragment_info_get_unconsolidated_metadata_num(ctx, info, &unconsolidated));
    CODE(tiledb_fragment_info_get_total_cell_num(ctx, info, &cells));
    printf("  fragments %u, to vacuum %u, without consolidated metadata %u, cells %d\n", (unsigned)fragments,
        (unsigned)vacuum, (unsigned)unconsolidated, (int)cells);
    tiledb_fragment_info_free(&info);
    tell_number("freed", info == NULL);
}

static void refusals(const char* uri) {
    tiledb_fragment_info_t* info = NULL;
    uint64_t size = 0;
    uint32_t count = 9;
    const char* text = NULL;
    printf("refusals\n");
    CODE(tiledb_fragment_info_alloc(ctx, uri, &info));
    CODE(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
    CODE(tiledb_fragment_info_get_fragment_uri(ctx, info, 0, &text));
    CODE(tiledb_fragment_info_load(ctx, info));
    CODE(tiledb_fragment_info_get_fragment_size(ctx, info, 99, &size));
    CODE(tiledb_fragment_info_get_fragment_uri(ctx, info, 99, &text));
    CODE(tiledb_fragment_info_get_to_vacuum_uri(ctx, info, 99, &text));
    CODE(tiledb_fragment_info_get_fragment_num(ctx, info, NULL));
    tiledb_fragment_info_free(&info);
    CODE(tiledb_fragment_info_alloc(ctx, NULL, &info));
    CHECK(tiledb_fragment_info_alloc(ctx, in_folder("missing"), &info));
    REFUSED(tiledb_fragment_info_load(ctx, info));
    tiledb_fragment_info_free(&info);
}

static void configured(const char* uri) {
    tiledb_fragment_info_t* info = NULL;
    tiledb_config_t *config = NULL, *kept = NULL;
    tiledb_error_t* error = NULL;
    const char* value = NULL;
    tiledb_string_t* text = NULL;
    const char* path = in_folder("dump.txt");
    FILE* file;
    printf("configured\n");
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.fragment_info.preload_mbrs", "true", &error));
    CHECK(tiledb_fragment_info_alloc(ctx, uri, &info));
    CODE(tiledb_fragment_info_set_config(ctx, info, config));
    CODE(tiledb_fragment_info_get_config(ctx, info, &kept));
    CHECK(tiledb_config_get(kept, "sm.fragment_info.preload_mbrs", &value, &error));
    tell_text("preload", value);
    tiledb_config_free(&kept);
    tiledb_config_free(&config);
    CODE(tiledb_fragment_info_load(ctx, info));
    CODE(tiledb_fragment_info_dump_str(ctx, info, &text));
    CHECK(tiledb_string_view(text, &value, &(size_t){0}));
    tell_number("tells the number", strstr(value, "- Fragment num: 2") != NULL);
    CHECK(tiledb_string_free(&text));
    file = fopen(path, "w");
    CODE(tiledb_fragment_info_dump(ctx, info, file));
    tell_number("the file has something", ftell(file) > 100);
    fclose(file);
    tiledb_fragment_info_free(&info);
}

static void upkeep(const char* uri) {
    tiledb_fragment_info_t* info;
    const char *fragment = NULL, *replaced = NULL;
    const char* list[1];
    printf("upkeep\n");
    CODE(tiledb_array_consolidate(ctx, uri, NULL));
    tell_counts(uri);
    info = loaded(uri);
    CODE(tiledb_fragment_info_get_to_vacuum_uri(ctx, info, 0, &replaced));
    tell_number("has a uri", replaced != NULL && strstr(replaced, "__fragments") != NULL);
    tiledb_fragment_info_free(&info);
    CODE(tiledb_array_vacuum(ctx, uri, NULL));
    tell_counts(uri);
    write_cells(uri, 30, 31, "ghi");
    info = loaded(uri);
    CODE(tiledb_fragment_info_get_fragment_uri(ctx, info, 1, &fragment));
    list[0] = fragment;
    CODE(tiledb_array_delete_fragments_list(ctx, uri, list, 1));
    tiledb_fragment_info_free(&info);
    tell_counts(uri);
    list[0] = "missing";
    CODE(tiledb_array_delete_fragments_list(ctx, uri, list, 1));
    CODE(tiledb_array_delete_fragments_list(ctx, uri, NULL, 0));
}

int main(int argument_count, char** arguments) {
    char uri[4096];
    tiledb_fragment_info_t* info;
    begin(argument_count, arguments);
    snprintf(uri, sizeof uri, "%s", in_folder("array"));
    create_array(uri, schema_with(TILEDB_SPARSE, dimensions, 2, &attribute, 1));
    tell_counts(uri);
    write_cells(uri, 10, 1, "abc");
    write_cells(uri, 20, 11, "def");
    tell_counts(uri);
    info = loaded(uri);
    tell_fragment(info, 0);
    tell_fragment(info, 1);
    tiledb_fragment_info_free(&info);
    refusals(uri);
    configured(uri);
    upkeep(uri);
    return end();
}

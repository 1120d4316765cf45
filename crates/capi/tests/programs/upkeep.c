/* Consolidation in all modes, of chosen fragments, plans of it, vacuum; updates, of which only the codes are told. */
#include "told.h"

static const int32_t bounds[] = {1, 100};
static const int32_t extent = 10;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void write_line(const char* uri, tiledb_array_type_t kind, uint64_t time, int32_t first) {
    int32_t x[10], a[10], sides[2], idx;
    uint64_t x_len = sizeof x, a_len = sizeof a;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, kind == TILEDB_DENSE ? TILEDB_ROW_MAJOR : TILEDB_UNORDERED);
    tiledb_subarray_t* subarray = NULL;
    for (idx = 0; idx < 10; idx++) {
        x[idx] = first + idx;
        a[idx] = (int32_t)time * 100 + idx;
    }
    if (kind == TILEDB_DENSE) {
        sides[0] = first;
        sides[1] = first + 9;
        CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
        CHECK(tiledb_subarray_set_subarray(ctx, subarray, sides));
        CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
        tiledb_subarray_free(&subarray);
    } else {
        CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    }
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", a, &a_len));
    CHECK(tiledb_query_submit(ctx, query));
    CHECK(tiledb_array_put_metadata(ctx, array, "time", TILEDB_UINT64, 1, &time));
    tiledb_query_free(&query);
    close_array(array);
}

/* How many entries a folder of the array has; of commits those that the format knows. */
static int32_t counted(const char* path, void* data) {
    const char* dot = strrchr(path, '.');
    *(int*)data += dot == NULL || strcmp(dot, ".gone") != 0;
    return 1;
}

static void tell_entries(const char* uri) {
    const char* const names[] = {"__fragments", "__commits", "__fragment_meta", "__meta"};
    tiledb_vfs_t* vfs = NULL;
    size_t idx;
    CHECK(tiledb_vfs_alloc(ctx, NULL, &vfs));
    printf("  entries:");
    for (idx = 0; idx < sizeof names / sizeof *names; idx++) {
        char path[4096];
        int count = 0;
        snprintf(path, sizeof path, "%s/%s", uri, names[idx]);
        CHECK(tiledb_vfs_ls(ctx, vfs, path, counted, &count));
        printf(" %s %d", names[idx] + 2, count);
    }
    printf("\n");
    tiledb_vfs_free(&vfs);
}

static void tell_sum(const char* uri, tiledb_array_type_t kind) {
    int32_t a[100];
    uint64_t a_len = sizeof a, idx;
    int64_t sum = 0;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    const int32_t sides[] = {1, 30};
    tiledb_subarray_t* subarray = NULL;
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, sides));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", a, &a_len));
    submit(query);
    for (idx = 0; idx < a_len / sizeof *a; idx++) {
        sum += a[idx];
    }
    printf("  kind %d: %d cells with the sum %d\n", (int)kind, (int)(a_len / sizeof *a), (int)sum);
    tiledb_query_free(&query);
    close_array(array);
}

static void run(int vacuums, const char* uri, const char* mode) {
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, vacuums ? "sm.vacuum.mode" : "sm.consolidation.mode", mode, &error));
    printf("  %s %s: ", vacuums ? "vacuum" : "consolidate", mode);
    printf("%d\n", (int)(vacuums ? tiledb_array_vacuum(ctx, uri, config) : tiledb_array_consolidate(ctx, uri, config)));
    tiledb_config_free(&config);
}

static void modes(const char* uri, tiledb_array_type_t kind) {
    const char* const names[] = {"commits", "fragment_meta", "array_meta", "fragments", "nonsense"};
    size_t idx;
    printf("modes\n");
    create_array(uri, schema_with(kind, &dimension, 1, &attribute, 1));
    run(0, uri, "fragments");
    write_line(uri, kind, 1, 1);
    write_line(uri, kind, 2, 11);
    write_line(uri, kind, 3, 6);
    write_line(uri, kind, 4, 21);
    tell_entries(uri);
    for (idx = 0; idx < sizeof names / sizeof *names; idx++) {
        run(0, uri, names[idx]);
        tell_entries(uri);
        run(1, uri, names[idx]);
        tell_entries(uri);
        tell_sum(uri, kind);
    }
}

/* The name of a fragment, from its URI. */
static const char* fragment_name(tiledb_fragment_info_t* info, uint32_t number) {
    const char* uri = NULL;
    CHECK(tiledb_fragment_info_get_fragment_uri(ctx, info, number, &uri));
    return strrchr(uri, '/') + 1;
}

static void chosen(const char* uri) {
    const char* names[2];
    tiledb_fragment_info_t* info = NULL;
    uint32_t count = 0;
    printf("chosen\n");
    create_array(uri, schema_with(TILEDB_SPARSE, &dimension, 1, &attribute, 1));
    write_line(uri, TILEDB_SPARSE, 1, 1);
    write_line(uri, TILEDB_SPARSE, 2, 11);
    write_line(uri, TILEDB_SPARSE, 3, 21);
    CHECK(tiledb_fragment_info_alloc(ctx, uri, &info));
    CHECK(tiledb_fragment_info_load(ctx, info));
    names[0] = fragment_name(info, 0);
    names[1] = fragment_name(info, 1);
    CODE(tiledb_array_consolidate_fragments(ctx, uri, names, 2, NULL));
    tiledb_fragment_info_free(&info);
    CHECK(tiledb_fragment_info_alloc(ctx, uri, &info));
    CHECK(tiledb_fragment_info_load(ctx, info));
    CHECK(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
    tell_number("fragments", count);
    tiledb_fragment_info_free(&info);
    CODE(tiledb_array_consolidate(ctx, in_folder("missing"), NULL));
    CODE(tiledb_array_vacuum(ctx, in_folder("missing"), NULL));
    CODE(tiledb_array_consolidate(ctx, NULL, NULL));
}

static void plans(const char* uri) {
    tiledb_array_t* array;
    tiledb_consolidation_plan_t* plan = NULL;
    uint64_t nodes = 0, node;
    char* text = NULL;
    const char* fragment = NULL;
    printf("plans\n");
    create_array(uri, schema_with(TILEDB_SPARSE, &dimension, 1, &attribute, 1));
    write_line(uri, TILEDB_SPARSE, 1, 1);
    write_line(uri, TILEDB_SPARSE, 2, 6);
    write_line(uri, TILEDB_SPARSE, 3, 80);
    array = array_at(uri, TILEDB_READ, 0);
    CODE(tiledb_consolidation_plan_create_with_mbr(ctx, array, 1024, &plan));
    CODE(tiledb_consolidation_plan_get_num_nodes(ctx, plan, &nodes));
    tell_number("nodes", nodes);
    for (node = 0; node < nodes; node++) {
        uint64_t fragments = 0;
        CODE(tiledb_consolidation_plan_get_num_fragments(ctx, plan, node, &fragments));
        tell_number("fragments", fragments);
        CODE(tiledb_consolidation_plan_get_fragment_uri(ctx, plan, node, 0, &fragment));
        tell_number("has a name", fragment != NULL && strstr(fragment, "__") != NULL);
        CODE(tiledb_consolidation_plan_get_fragment_uri(ctx, plan, node, fragments, &fragment));
    }
    CODE(tiledb_consolidation_plan_get_num_fragments(ctx, plan, nodes, &node));
    CODE(tiledb_consolidation_plan_dump_json_str(ctx, plan, &text));
    tell_number("is an object", text != NULL && text[0] == '{' && strstr(text, "nodes") != NULL);
    CODE(tiledb_consolidation_plan_free_json_str(&text));
    tell_number("freed", text == NULL);
    tiledb_consolidation_plan_free(&plan);
    tell_number("freed", plan == NULL);
    close_array(array);
    CODE(tiledb_consolidation_plan_create_with_mbr(ctx, NULL, 1024, &plan));
}

static void updates(const char* uri) {
    const int32_t seven = 7, limit = 5;
    tiledb_array_t* array = NULL;
    tiledb_query_t* query = NULL;
    tiledb_query_condition_t* condition = NULL;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    printf("updates\n");
    CHECK(tiledb_array_alloc(ctx, uri, &array));
    CODE(tiledb_array_open(ctx, array, TILEDB_UPDATE));
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.allow_updates_experimental", "true", &error));
    CHECK(tiledb_array_set_config(ctx, array, config));
    tiledb_config_free(&config);
    CODE(tiledb_array_open(ctx, array, TILEDB_UPDATE));
    CODE(tiledb_query_alloc(ctx, array, TILEDB_UPDATE, &query));
    CHECK(tiledb_query_condition_alloc(ctx, &condition));
    CHECK(tiledb_query_condition_init(ctx, condition, "x", &limit, sizeof limit, TILEDB_LE));
    CODE(tiledb_query_set_condition(ctx, query, condition));
    CODE(tiledb_query_add_update_value(ctx, query, "a", &seven, sizeof seven));
    CODE(tiledb_query_add_update_value(ctx, query, "a", &seven, sizeof seven));
    CODE(tiledb_query_submit(ctx, query));
    tell_status(query);
    tiledb_query_condition_free(&condition);
    tiledb_query_free(&query);
    close_array(array);
    array = array_at(uri, TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CODE(tiledb_query_add_update_value(ctx, query, "a", &seven, sizeof seven));
    CODE(tiledb_query_add_update_value(ctx, query, NULL, &seven, sizeof seven));
    CODE(tiledb_query_add_update_value(ctx, NULL, "a", &seven, sizeof seven));
    tiledb_query_free(&query);
    close_array(array);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    modes(in_folder("dense"), TILEDB_DENSE);
    modes(in_folder("sparse"), TILEDB_SPARSE);
    chosen(in_folder("chosen"));
    plans(in_folder("plans"));
    updates(in_folder("plans"));
    return end();
}

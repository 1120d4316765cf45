/* Contexts: their configuration, errors, tags, file systems; and statistics and the log of the library. */
#include "told.h"

static void configured(void) {
    tiledb_config_t *config = NULL, *kept = NULL;
    tiledb_ctx_t* other = NULL;
    tiledb_error_t* error = NULL;
    const char* value = NULL;
    printf("configured\n");
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.memory_budget", "4321", &error));
    CODE(tiledb_ctx_alloc_with_error(config, &other, &error));
    tell_number("no error", error == NULL);
    CHECK(tiledb_config_set(config, "sm.memory_budget", "1", &error));
    CODE(tiledb_ctx_get_config(other, &kept));
    CHECK(tiledb_config_get(kept, "sm.memory_budget", &value, &error));
    tell_text("what the context keeps", value);
    tiledb_config_free(&kept);
    tiledb_config_free(&config);
    tiledb_ctx_free(&other);
    tell_number("freed", other == NULL);
    CODE(tiledb_ctx_alloc(NULL, NULL));
    CODE(tiledb_ctx_alloc_with_error(NULL, NULL, &error));
    tell_error(&error);
}

static void errors(void) {
    tiledb_error_t* error = NULL;
    tiledb_domain_t* domain = NULL;
    tiledb_ctx_t* other = NULL;
    const char* message = NULL;
    printf("errors\n");
    CHECK(tiledb_ctx_alloc(NULL, &other));
    CODE(tiledb_ctx_get_last_error(other, &error));
    tell_number("none yet", error == NULL);
    CODE(tiledb_array_schema_check(other, NULL));
    CODE(tiledb_ctx_get_last_error(other, &error));
    CODE(tiledb_error_message(error, &message));
    tell_text("message", message);
    tiledb_error_free(&error);
    tell_number("freed", error == NULL);
    /* What goes well leaves the last error where it is. */
    CODE(tiledb_domain_alloc(other, &domain));
    CODE(tiledb_ctx_get_last_error(other, &error));
    tell_number("an error is kept", error != NULL);
    tell_error(&error);
    tiledb_domain_free(&domain);
    /* Another context does not see it. */
    CODE(tiledb_ctx_get_last_error(ctx, &error));
    tell_number("none here", error == NULL);
    tiledb_ctx_free(&other);

    CODE(tiledb_domain_alloc(NULL, &domain));
    CODE(tiledb_error_message(NULL, &message));
    CODE(tiledb_ctx_get_last_error(ctx, NULL));
    CODE(tiledb_ctx_get_last_error(NULL, &error));
    tiledb_error_free(NULL);
    tiledb_error_free(&error);
    tiledb_ctx_free(NULL);
}

static void calls(void) {
    const tiledb_filesystem_t systems[] = {TILEDB_HDFS, TILEDB_MEMFS};
    size_t idx;
    tiledb_data_protocol_t protocol = TILEDB_DATA_PROTOCOL_v2;
    printf("calls\n");
    for (idx = 0; idx < sizeof systems / sizeof *systems; idx++) {
        int32_t is_supported = 9;
        CODE(tiledb_ctx_is_supported_fs(ctx, systems[idx], &is_supported));
        tell_number("supported", (uint64_t)is_supported);
    }
    CODE(tiledb_ctx_set_tag(ctx, "program", "contexts"));
    CODE(tiledb_ctx_set_tag(ctx, NULL, "contexts"));
    CODE(tiledb_ctx_set_tag(ctx, "program", NULL));
    CODE(tiledb_ctx_cancel_tasks(ctx));
    CODE(tiledb_ctx_get_data_protocol(ctx, "file:///a", &protocol));
    CODE(tiledb_log_warn(ctx, "a warning of a program"));
    CODE(tiledb_log_warn(ctx, NULL));
}

static void heap_profiler(void) {
    printf("heap profiler\n");
    CODE(tiledb_heap_profiler_enable(NULL, 0, 0, 0));
}

/* Whether a text is an object or a list of JSON. */
static int is_json(const char* text) {
    return text != NULL && (text[0] == '{' || text[0] == '[');
}

static void statistics(void) {
    const int32_t bounds[] = {0, 3};
    const int32_t extent = 2;
    const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
    const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};
    int32_t cells[] = {1, 2, 3, 4};
    uint64_t byte_len = sizeof cells;
    const char* uri = in_folder("array");
    const char* path = in_folder("statistics.txt");
    tiledb_array_t* array;
    tiledb_query_t* query;
    uint8_t enabled = 9;
    char* text = NULL;
    FILE* file;
    printf("statistics\n");
    CODE(tiledb_stats_is_enabled(&enabled));
    tell_number("enabled", enabled);
    CODE(tiledb_stats_enable());
    CODE(tiledb_stats_is_enabled(&enabled));
    tell_number("enabled", enabled);
    CODE(tiledb_stats_reset());
    create_array(uri, schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    array = array_at(uri, TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
    submit(query);
    CODE(tiledb_query_get_stats(ctx, query, &text));
    tell_number("of the query", is_json(text) && strstr(text, "Writer") != NULL);
    CODE(tiledb_stats_free_str(&text));
    tell_number("freed", text == NULL);
    CODE(tiledb_ctx_get_stats(ctx, &text));
    tell_number("of the context", is_json(text));
    CODE(tiledb_stats_free_str(&text));
    CODE(tiledb_stats_dump_str(&text));
    tell_number("of the library", text != NULL && strstr(text, "Context") != NULL);
    CODE(tiledb_stats_free_str(&text));
    CODE(tiledb_stats_raw_dump_str(&text));
    tell_number("raw", is_json(text));
    CODE(tiledb_stats_free_str(&text));
    file = fopen(path, "w");
    CODE(tiledb_stats_dump(file));
    CODE(tiledb_stats_raw_dump(file));
    tell_number("something is in the file", ftell(file) > 10);
    fclose(file);
    CODE(tiledb_stats_disable());
    CODE(tiledb_stats_is_enabled(&enabled));
    tell_number("enabled", enabled);
    CODE(tiledb_stats_is_enabled(NULL));
    CODE(tiledb_stats_dump_str(NULL));
    tiledb_query_free(&query);
    close_array(array);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    configured();
    errors();
    calls();
    heap_profiler();
    statistics();
    return end();
}

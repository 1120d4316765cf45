/* Arrays: the ways and times of opening, configuration, non-empty domains, removal. */
#include "told.h"

static const int32_t bounds[] = {1, 10};
static const int32_t extent = 5;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void write_one(const char* uri, uint64_t time, int32_t x, int32_t a) {
    uint64_t x_len = sizeof x, a_len = sizeof a;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", &x, &x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", &a, &a_len));
    CHECK(tiledb_query_submit(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
}

static void read_all(tiledb_array_t* array) {
    int32_t cells[8];
    uint64_t byte_len = sizeof cells;
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &byte_len));
    CHECK(tiledb_query_submit(ctx, query));
    TELL_I32("cells", cells, byte_len);
    tiledb_query_free(&query);
}

static void states(const char* uri) {
    tiledb_array_t* array = NULL;
    tiledb_query_type_t mode = TILEDB_READ;
    tiledb_array_schema_t* schema = NULL;
    tiledb_query_t* query = NULL;
    const char* told = NULL;
    int32_t is_open = 9;
    int kind;
    printf("states\n");
    CODE(tiledb_array_alloc(ctx, uri, &array));
    CODE(tiledb_array_is_open(ctx, array, &is_open));
    tell_number("open", (uint64_t)is_open);
    CODE(tiledb_array_get_query_type(ctx, array, &mode));
    CODE(tiledb_array_get_schema(ctx, array, &schema));
    CODE(tiledb_array_get_uri(ctx, array, &told));
    tell_text("uri", told);
    CODE(tiledb_array_reopen(ctx, array));
    CODE(tiledb_array_close(ctx, array));
    REFUSED(tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
    for (kind = TILEDB_READ; kind <= TILEDB_MODIFY_EXCLUSIVE; kind++) {
        printf("  mode %d\n", kind);
        if (CODE(tiledb_array_open(ctx, array, (tiledb_query_type_t)kind)) != TILEDB_OK) {
            continue;
        }
        CODE(tiledb_array_is_open(ctx, array, &is_open));
        tell_number("open", (uint64_t)is_open);
        CODE(tiledb_array_get_query_type(ctx, array, &mode));
        tell_number("mode", (uint64_t)mode);
        REFUSED(tiledb_array_open(ctx, array, (tiledb_query_type_t)kind));
        CODE(tiledb_array_get_schema(ctx, array, &schema));
        tiledb_array_schema_free(&schema);
        CODE(tiledb_array_reopen(ctx, array));
        REFUSED(tiledb_query_alloc(ctx, array, kind == TILEDB_READ ? TILEDB_WRITE : TILEDB_READ, &query));
        tiledb_query_free(&query);
        CODE(tiledb_array_close(ctx, array));
    }
    CODE(tiledb_array_open(ctx, array, (tiledb_query_type_t)9));
    tiledb_array_free(&array);
    tell_number("freed", array == NULL);
    CHECK(tiledb_array_alloc(ctx, in_folder("missing"), &array));
    REFUSED(tiledb_array_open(ctx, array, TILEDB_READ));
    tiledb_array_free(&array);
    CODE(tiledb_array_alloc(ctx, NULL, &array));
    CODE(tiledb_array_alloc(ctx, uri, NULL));
}

static void times(const char* uri) {
    tiledb_array_t* array = NULL;
    uint64_t start = 9, last = 9;
    printf("times\n");
    write_one(uri, 10, 1, 100);
    write_one(uri, 20, 2, 200);
    write_one(uri, 30, 3, 300);
    array = array_at(uri, TILEDB_READ, 20);
    read_all(array);
    CODE(tiledb_array_set_open_timestamp_start(ctx, array, 15));
    CODE(tiledb_array_set_open_timestamp_end(ctx, array, 30));
    CODE(tiledb_array_get_open_timestamp_start(ctx, array, &start));
    CODE(tiledb_array_get_open_timestamp_end(ctx, array, &last));
    printf("  %d to %d\n", (int)start, (int)last);
    CODE(tiledb_array_reopen(ctx, array));
    CODE(tiledb_array_get_open_timestamp_start(ctx, array, &start));
    CODE(tiledb_array_get_open_timestamp_end(ctx, array, &last));
    printf("  %d to %d\n", (int)start, (int)last);
    read_all(array);
    close_array(array);
    array = array_at(uri, TILEDB_READ, 0);
    CHECK(tiledb_array_get_open_timestamp_end(ctx, array, &last));
    tell_number("open at about now", last > 1000000);
    read_all(array);
    close_array(array);
}

static void configured(const char* uri) {
    tiledb_array_t* array = NULL;
    tiledb_config_t *config = NULL, *kept = NULL;
    tiledb_error_t* error = NULL;
    const char* value = NULL;
    tiledb_encryption_type_t encryption = TILEDB_AES_256_GCM;
    const char* secret = in_folder("secret");
    tiledb_ctx_t* plain = ctx;
    printf("configured\n");
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.encryption_type", "AES_256_GCM", &error));
    CHECK(tiledb_config_set(config, "sm.encryption_key", "0123456789abcdeF0123456789abcdeF", &error));
    CHECK(tiledb_array_alloc(ctx, uri, &array));
    CODE(tiledb_array_set_config(ctx, array, config));
    CODE(tiledb_array_get_config(ctx, array, &kept));
    CHECK(tiledb_config_get(kept, "sm.encryption_type", &value, &error));
    tell_text("encryption", value);
    tiledb_config_free(&kept);
    CODE(tiledb_array_open(ctx, array, TILEDB_READ));
    tiledb_array_free(&array);
    CODE(tiledb_array_encryption_type(ctx, uri, &encryption));
    tell_number("encryption", (uint64_t)encryption);

    CHECK(tiledb_ctx_alloc(config, &ctx));
    create_array(secret, schema_with(TILEDB_SPARSE, &dimension, 1, &attribute, 1));
    write_one(secret, 0, 1, 11);
    array = array_at(secret, TILEDB_READ, 0);
    read_all(array);
    CODE(tiledb_array_set_config(ctx, array, config));
    close_array(array);
    CODE(tiledb_array_encryption_type(ctx, secret, &encryption));
    tell_number("encryption", (uint64_t)encryption);
    tiledb_ctx_free(&ctx);
    ctx = plain;
    CHECK(tiledb_array_alloc(ctx, secret, &array));
    CODE(tiledb_array_open(ctx, array, TILEDB_READ));
    tiledb_array_free(&array);
    tiledb_config_free(&config);
}

static void domains(const char* uri) {
    int32_t domain[2] = {0, 0};
    int32_t is_empty = 9;
    uint64_t start_len = 0, end_len = 0;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    printf("domains\n");
    CODE(tiledb_array_get_non_empty_domain(ctx, array, domain, &is_empty));
    printf("  empty %d: %d to %d\n", (int)is_empty, (int)domain[0], (int)domain[1]);
    CODE(tiledb_array_get_non_empty_domain_from_index(ctx, array, 0, domain, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_from_name(ctx, array, "x", domain, &is_empty));
    printf("  empty %d: %d to %d\n", (int)is_empty, (int)domain[0], (int)domain[1]);
    CODE(tiledb_array_get_non_empty_domain_from_index(ctx, array, 1, domain, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_from_name(ctx, array, "y", domain, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_var_size_from_index(ctx, array, 0, &start_len, &end_len, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_var_from_name(ctx, array, "x", domain, domain, &is_empty));
    close_array(array);
    array = array_at(uri, TILEDB_READ, 5);
    CODE(tiledb_array_get_non_empty_domain(ctx, array, domain, &is_empty));
    tell_number("empty", (uint64_t)is_empty);
    close_array(array);
}

static void domains_of_words(void) {
    const dimension_of word = {"word", TILEDB_STRING_ASCII, NULL, NULL};
    const char* uri = in_folder("words");
    char text[] = "pearfig", start[16] = {0}, last[16] = {0};
    uint64_t offsets[] = {0, 4}, text_len = 7, offsets_len = sizeof offsets, start_len = 0, end_len = 0;
    int32_t is_empty = 9;
    tiledb_array_t* array;
    tiledb_query_t* query;
    printf("domains of words\n");
    create_array(uri, schema_with(TILEDB_SPARSE, &word, 1, NULL, 0));
    array = array_at(uri, TILEDB_READ, 0);
    CODE(tiledb_array_get_non_empty_domain_var_size_from_index(ctx, array, 0, &start_len, &end_len, &is_empty));
    tell_number("empty", (uint64_t)is_empty);
    close_array(array);
    array = array_at(uri, TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", text, &text_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", offsets, &offsets_len));
    CHECK(tiledb_query_submit(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
    array = array_at(uri, TILEDB_READ, 0);
    CODE(tiledb_array_get_non_empty_domain_var_size_from_index(ctx, array, 0, &start_len, &end_len, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_var_from_index(ctx, array, 0, start, last, &is_empty));
    printf("  empty %d: %.*s to %.*s\n", (int)is_empty, (int)start_len, start, (int)end_len, last);
    CODE(tiledb_array_get_non_empty_domain_var_size_from_name(ctx, array, "word", &start_len, &end_len, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_var_from_name(ctx, array, "word", start, last, &is_empty));
    printf("  empty %d: %.*s to %.*s\n", (int)is_empty, (int)start_len, start, (int)end_len, last);
    CODE(tiledb_array_get_non_empty_domain(ctx, array, start, &is_empty));
    CODE(tiledb_array_get_non_empty_domain_from_index(ctx, array, 0, start, &is_empty));
    close_array(array);
}

static void removal(const char* uri) {
    tiledb_object_t kind = TILEDB_INVALID;
    tiledb_array_t* array;
    printf("removal\n");
    CODE(tiledb_array_upgrade_version(ctx, uri, NULL));
    CODE(tiledb_array_delete_fragments_v2(ctx, uri, 15, 25));
    array = array_at(uri, TILEDB_READ, 0);
    read_all(array);
    close_array(array);
    CODE(tiledb_array_delete(ctx, uri));
    CODE(tiledb_object_type(ctx, uri, &kind));
    tell_number("kind", (uint64_t)kind);
    CODE(tiledb_array_delete(ctx, uri));
}

int main(int argument_count, char** arguments) {
    char uri[4096];
    begin(argument_count, arguments);
    snprintf(uri, sizeof uri, "%s", in_folder("array"));
    create_array(uri, schema_with(TILEDB_SPARSE, &dimension, 1, &attribute, 1));
    states(uri);
    times(uri);
    configured(uri);
    domains(uri);
    domains_of_words();
    removal(uri);
    return end();
}

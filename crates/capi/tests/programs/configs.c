/* Configurations: values, defaults, iterators, files, variables of the environment, errors. */
#include "told.h"

static tiledb_error_t* error;

static void tell_value(tiledb_config_t* config, const char* key) {
    const char* value = NULL;
    const int32_t told = tiledb_config_get(config, key, &value, &error);
    printf("  %s = %s (%d)\n", key, value == NULL ? "null" : value, (int)told);
    if (told != TILEDB_OK) {
        tell_error(&error);
    }
}

static void set(tiledb_config_t* config, const char* key, const char* value) {
    const int32_t told = tiledb_config_set(config, key, value, &error);
    printf("  set %s %s: %d\n", key, value, (int)told);
    if (told != TILEDB_OK) {
        tell_error(&error);
    }
}

/* Every key that begins with a prefix, without those whose value is that of the machine. */
static void list(tiledb_config_t* config, const char* prefix) {
    tiledb_config_iter_t* keys = NULL;
    int32_t done = 0;
    printf("  keys %s\n", prefix == NULL ? "all" : prefix);
    CHECK(tiledb_config_iter_alloc(config, prefix, &keys, &error));
    CHECK(tiledb_config_iter_done(keys, &done, &error));
    while (!done) {
        const char *key = NULL, *value = NULL;
        CHECK(tiledb_config_iter_here(keys, &key, &value, &error));
        if (strstr(key, "concurrency_level") == NULL && strstr(key, "num_threads") == NULL &&
            strstr(key, "max_parallel") == NULL && strstr(key, "username") == NULL) {
            printf("    %s = %s\n", key, value);
        }
        CHECK(tiledb_config_iter_next(keys, &error));
        CHECK(tiledb_config_iter_done(keys, &done, &error));
    }
    tiledb_config_iter_free(&keys);
    printf("  freed: %d\n", keys == NULL);
}

static void defaults(void) {
    tiledb_config_t* config = NULL;
    printf("defaults\n");
    CODE(tiledb_config_alloc(&config, &error));
    list(config, NULL);
    tell_value(config, "no.such.key");
    tiledb_config_free(&config);
    printf("  freed: %d\n", config == NULL);
}

static void values(void) {
    tiledb_config_t *config = NULL, *other = NULL;
    uint8_t equal = 9;
    printf("values\n");
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_alloc(&other, &error));
    set(config, "sm.memory_budget", "1000");
    set(config, "sm.memory_budget", "many");
    set(config, "sm.memory_budget", "-1");
    set(config, "sm.dedup_coords", "true");
    set(config, "sm.dedup_coords", "perhaps");
    set(config, "sm.consolidation.amplification", "1.5");
    set(config, "sm.consolidation.amplification", "wide");
    set(config, "sm.encryption_type", "AES_256_GCM");
    set(config, "sm.query.dense.reader", "legacy");
    set(config, "sm.read_range_oob", "error");
    set(config, "vfs.min_parallel_size", "0x10");
    set(config, "my.own.key", "something");
    set(config, "my.own.other", "");
    set(config, "rest.token", "secret");
    tell_value(config, "sm.memory_budget");
    tell_value(config, "sm.dedup_coords");
    tell_value(config, "my.own.key");
    tell_value(config, "my.own.other");
    CODE(tiledb_config_compare(config, other, &equal));
    tell_number("equal", equal);
    CODE(tiledb_config_compare(config, config, &equal));
    tell_number("equal", equal);
    list(config, "my.");
    list(config, "my.own.key");
    list(config, "nothing.");
    CODE(tiledb_config_unset(config, "my.own.key", &error));
    CODE(tiledb_config_unset(config, "sm.memory_budget", &error));
    CODE(tiledb_config_unset(config, "never.set", &error));
    tell_value(config, "my.own.key");
    tell_value(config, "sm.memory_budget");
    tiledb_config_free(&other);
    tiledb_config_free(&config);
}

static void iterators(void) {
    tiledb_config_t* config = NULL;
    tiledb_config_iter_t* keys = NULL;
    const char *key = NULL, *value = NULL;
    int32_t done = 0;
    printf("iterators\n");
    CHECK(tiledb_config_alloc(&config, &error));
    set(config, "one.a", "1");
    set(config, "one.b", "2");
    set(config, "two.a", "3");
    CHECK(tiledb_config_iter_alloc(config, "one.", &keys, &error));
    CHECK(tiledb_config_iter_next(keys, &error));
    CHECK(tiledb_config_iter_here(keys, &key, &value, &error));
    printf("  %s = %s\n", key, value);
    CODE(tiledb_config_iter_reset(config, keys, "two.", &error));
    CHECK(tiledb_config_iter_here(keys, &key, &value, &error));
    printf("  %s = %s\n", key, value);
    CODE(tiledb_config_iter_next(keys, &error));
    CODE(tiledb_config_iter_done(keys, &done, &error));
    tell_number("done", (uint64_t)done);
    CODE(tiledb_config_iter_here(keys, &key, &value, &error));
    printf("  %s\n", key == NULL ? "null" : key);
    CODE(tiledb_config_iter_next(keys, &error));
    tiledb_config_iter_free(&keys);
    tiledb_config_free(&config);
}

static void files(void) {
    tiledb_config_t *config = NULL, *loaded = NULL;
    const char* path = in_folder("config.txt");
    char line[512];
    FILE* file;
    printf("files\n");
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.memory_budget", "77", &error));
    CHECK(tiledb_config_set(config, "my.key", "text with spaces", &error));
    CHECK(tiledb_config_set(config, "rest.password", "secret", &error));
    CODE(tiledb_config_save_to_file(config, path, &error));
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "my.", 3) == 0 || strncmp(line, "sm.memory_budget ", 17) == 0 ||
            strncmp(line, "rest.password", 13) == 0 || strncmp(line, "sm.encryption_key", 17) == 0) {
            printf("  line %s", line);
        }
    }
    fclose(file);
    file = fopen(path, "w");
    fprintf(file, "# a comment\n\n  sm.memory_budget   88  \nmy.key value\n  # another\nsm.dedup_coords true\n");
    fclose(file);
    CHECK(tiledb_config_alloc(&loaded, &error));
    CODE(tiledb_config_load_from_file(loaded, path, &error));
    tell_value(loaded, "sm.memory_budget");
    tell_value(loaded, "my.key");
    tell_value(loaded, "sm.dedup_coords");
    file = fopen(path, "w");
    fprintf(file, "lonely\n");
    fclose(file);
    CODE(tiledb_config_load_from_file(loaded, path, &error));
    tell_error(&error);
    file = fopen(path, "w");
    fprintf(file, "key one two\n");
    fclose(file);
    CODE(tiledb_config_load_from_file(loaded, path, &error));
    tell_error(&error);
    CODE(tiledb_config_load_from_file(loaded, in_folder("missing.txt"), &error));
    tell_error(&error);
    CODE(tiledb_config_save_to_file(loaded, in_folder("missing/config.txt"), &error));
    tell_error(&error);
    tiledb_config_free(&loaded);
    tiledb_config_free(&config);
}

static void environment(void) {
    tiledb_config_t* config = NULL;
    printf("environment\n");
    setenv("TILEDB_SM_MEMORY_BUDGET", "55", 1);
    setenv("TILEDB_MY_KEY", "from outside", 1);
    setenv("OTHER_SM_DEDUP_COORDS", "true", 1);
    CHECK(tiledb_config_alloc(&config, &error));
    tell_value(config, "sm.memory_budget");
    tell_value(config, "my.key");
    tell_value(config, "sm.dedup_coords");
    set(config, "sm.memory_budget", "66");
    tell_value(config, "sm.memory_budget");
    set(config, "config.env_var_prefix", "OTHER_");
    tell_value(config, "sm.dedup_coords");
    list(config, "sm.memory_budget");
    CODE(tiledb_config_unset(config, "sm.memory_budget", &error));
    tell_value(config, "sm.memory_budget");
    tiledb_config_free(&config);
    unsetenv("TILEDB_SM_MEMORY_BUDGET");
    unsetenv("TILEDB_MY_KEY");
    unsetenv("OTHER_SM_DEDUP_COORDS");
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    defaults();
    values();
    iterators();
    files();
    environment();
    return end();
}

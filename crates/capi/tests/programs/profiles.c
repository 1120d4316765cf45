/* Profiles: parameters, saved, loaded, removed, and configurations that use one. */
#include "told.h"

static tiledb_error_t* error;

#define TOLD(call)                     \
    do {                               \
        if (CODE(call) != TILEDB_OK) { \
            tiledb_error_free(&error); \
        }                              \
    } while (0)

static void tell_profile(tiledb_profile_t* profile) {
    tiledb_string_t* text = NULL;
    TOLD(tiledb_profile_get_name(profile, &text, &error));
    tell_string("name", &text);
    TOLD(tiledb_profile_get_dir(profile, &text, &error));
    tell_string("folder", &text);
    TOLD(tiledb_profile_dump_str(profile, &text, &error));
    tell_string("dump", &text);
}

static void tell_value(tiledb_profile_t* profile, const char* key) {
    tiledb_string_t* text = NULL;
    TOLD(tiledb_profile_get_param(profile, key, &text, &error));
    tell_string(key, &text);
}

static void saved(void) {
    tiledb_profile_t *profile = NULL, *loaded = NULL;
    printf("saved\n");
    TOLD(tiledb_profile_alloc("mine", folder, &profile, &error));
    tell_profile(profile);
    TOLD(tiledb_profile_set_param(profile, "rest.username", "somebody", &error));
    TOLD(tiledb_profile_set_param(profile, "rest.password", "secret", &error));
    TOLD(tiledb_profile_set_param(profile, "rest.server_address", "https://example.org", &error));
    TOLD(tiledb_profile_set_param(profile, "sm.memory_budget", "123", &error));
    TOLD(tiledb_profile_set_param(profile, "my.key", "value", &error));
    TOLD(tiledb_profile_set_param(profile, NULL, "value", &error));
    TOLD(tiledb_profile_set_param(profile, "my.key", NULL, &error));
    tell_value(profile, "rest.username");
    tell_value(profile, "my.key");
    tell_value(profile, "not.set");
    tell_profile(profile);
    TOLD(tiledb_profile_save(profile, 0, &error));
    TOLD(tiledb_profile_save(profile, 0, &error));
    TOLD(tiledb_profile_save(profile, 1, &error));
    TOLD(tiledb_profile_alloc("mine", folder, &loaded, &error));
    TOLD(tiledb_profile_load(loaded, &error));
    tell_profile(loaded);
    tiledb_profile_free(&loaded);
    tiledb_profile_free(&profile);
    tell_number("freed", profile == NULL);
    TOLD(tiledb_profile_alloc("other", folder, &profile, &error));
    TOLD(tiledb_profile_load(profile, &error));
    tiledb_profile_free(&profile);
}

static void used(void) {
    tiledb_config_t* config = NULL;
    const char* value = NULL;
    printf("used\n");
    CHECK(tiledb_config_alloc(&config, &error));
    TOLD(tiledb_config_set(config, "profile_dir", folder, &error));
    TOLD(tiledb_config_set(config, "profile_name", "mine", &error));
    TOLD(tiledb_config_get(config, "rest.username", &value, &error));
    tell_text("user", value);
    TOLD(tiledb_config_get(config, "sm.memory_budget", &value, &error));
    tell_text("budget", value);
    TOLD(tiledb_config_set(config, "sm.memory_budget", "456", &error));
    TOLD(tiledb_config_get(config, "sm.memory_budget", &value, &error));
    tell_text("budget", value);
    TOLD(tiledb_config_get(config, "my.key", &value, &error));
    tell_text("key", value);
    tiledb_config_free(&config);
}

static void removed(void) {
    tiledb_profile_t* profile = NULL;
    tiledb_string_t* text = NULL;
    printf("removed\n");
    TOLD(tiledb_profile_remove("mine", folder, &error));
    TOLD(tiledb_profile_remove("mine", folder, &error));
    TOLD(tiledb_profile_alloc("mine", folder, &profile, &error));
    TOLD(tiledb_profile_load(profile, &error));
    tiledb_profile_free(&profile);
    TOLD(tiledb_profile_alloc("", folder, &profile, &error));
    tiledb_profile_free(&profile);
    TOLD(tiledb_profile_alloc("mine", folder, NULL, &error));
    TOLD(tiledb_profile_get_name(NULL, &text, &error));
    TOLD(tiledb_profile_save(NULL, 0, &error));
    TOLD(tiledb_profile_load(NULL, &error));
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    saved();
    used();
    removed();
    return end();
}

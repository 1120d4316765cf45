/* A handle of each kind, and how it is freed; for the program that tests/handles.rs writes. */
#ifndef HANDLES_H
#define HANDLES_H

#include "told.h"

#include <tiledb/tiledb_serialization.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension_x = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute_a = {"a", TILEDB_INT32, 1, 0};

/* What the handles need to be there. */
static inline void prepare(void) {
    tiledb_array_schema_t* schema = schema_with(TILEDB_DENSE, &dimension_x, 1, &attribute_a, 1);
    CHECK(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "label", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
    create_array(in_folder("array"), schema);
    CHECK(tiledb_group_create(ctx, in_folder("group")));
}

static inline tiledb_ctx_t* new_ctx(void) {
    tiledb_ctx_t* made = NULL;
    CHECK(tiledb_ctx_alloc(NULL, &made));
    return made;
}

static inline tiledb_config_t* new_config(void) {
    tiledb_config_t* made = NULL;
    tiledb_error_t* error = NULL;
    CHECK(tiledb_config_alloc(&made, &error));
    return made;
}

static inline tiledb_config_iter_t* new_config_iter(void) {
    tiledb_config_iter_t* made = NULL;
    tiledb_error_t* error = NULL;
    CHECK(tiledb_config_iter_alloc(new_config(), NULL, &made, &error));
    return made;
}

static inline tiledb_error_t* new_error(void) {
    tiledb_error_t* made = NULL;
    tiledb_array_schema_check(ctx, NULL);
    CHECK(tiledb_ctx_get_last_error(ctx, &made));
    return made;
}

static inline tiledb_string_t* new_string(void) {
    tiledb_string_t* made = NULL;
    CHECK(tiledb_as_built_dump(&made));
    return made;
}

static inline tiledb_profile_t* new_profile(void) {
    tiledb_profile_t* made = NULL;
    tiledb_error_t* error = NULL;
    CHECK(tiledb_profile_alloc("profile", folder, &made, &error));
    return made;
}

static inline tiledb_buffer_t* new_buffer(void) {
    tiledb_buffer_t* made = NULL;
    CHECK(tiledb_buffer_alloc(ctx, &made));
    return made;
}

static inline tiledb_buffer_list_t* new_buffer_list(void) {
    tiledb_buffer_list_t* made = NULL;
    CHECK(tiledb_buffer_list_alloc(ctx, &made));
    return made;
}

static inline tiledb_filter_t* new_filter(void) {
    tiledb_filter_t* made = NULL;
    CHECK(tiledb_filter_alloc(ctx, TILEDB_FILTER_GZIP, &made));
    return made;
}

static inline tiledb_filter_list_t* new_filter_list(void) {
    tiledb_filter_list_t* made = NULL;
    CHECK(tiledb_filter_list_alloc(ctx, &made));
    return made;
}

static inline tiledb_attribute_t* new_attribute(void) {
    return attribute_with(&attribute_a);
}

static inline tiledb_dimension_t* new_dimension(void) {
    tiledb_dimension_t* made = NULL;
    CHECK(tiledb_dimension_alloc(ctx, "x", TILEDB_INT32, bounds, &extent, &made));
    return made;
}

static inline tiledb_domain_t* new_domain(void) {
    return domain_with(&dimension_x, 1);
}

static inline tiledb_array_schema_t* new_array_schema(void) {
    tiledb_array_schema_t* made = NULL;
    CHECK(tiledb_array_schema_load(ctx, in_folder("array"), &made));
    return made;
}

static inline tiledb_array_schema_evolution_t* new_array_schema_evolution(void) {
    tiledb_array_schema_evolution_t* made = NULL;
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &made));
    return made;
}

static inline tiledb_dimension_label_t* new_dimension_label(void) {
    tiledb_dimension_label_t* made = NULL;
    CHECK(tiledb_array_schema_get_dimension_label_from_index(ctx, new_array_schema(), 0, &made));
    return made;
}

static inline tiledb_enumeration_t* new_enumeration(void) {
    tiledb_enumeration_t* made = NULL;
    CHECK(tiledb_enumeration_alloc(ctx, "e", TILEDB_INT32, 1, 0, bounds, sizeof bounds, NULL, 0, &made));
    return made;
}

static inline tiledb_ndrectangle_t* new_ndrectangle(void) {
    tiledb_ndrectangle_t* made = NULL;
    CHECK(tiledb_ndrectangle_alloc(ctx, new_domain(), &made));
    return made;
}

static inline tiledb_current_domain_t* new_current_domain(void) {
    tiledb_current_domain_t* made = NULL;
    CHECK(tiledb_current_domain_create(ctx, &made));
    return made;
}

static inline tiledb_array_t* new_array(void) {
    return array_at(in_folder("array"), TILEDB_READ, 0);
}

static inline tiledb_group_t* new_group(void) {
    tiledb_group_t* made = NULL;
    CHECK(tiledb_group_alloc(ctx, in_folder("group"), &made));
    CHECK(tiledb_group_open(ctx, made, TILEDB_READ));
    return made;
}

static inline tiledb_subarray_t* new_subarray(void) {
    tiledb_subarray_t* made = NULL;
    CHECK(tiledb_subarray_alloc(ctx, new_array(), &made));
    return made;
}

static inline tiledb_query_t* new_query(void) {
    return query_on(new_array(), TILEDB_READ, TILEDB_ROW_MAJOR);
}

static inline tiledb_query_condition_t* new_query_condition(void) {
    tiledb_query_condition_t* made = NULL;
    CHECK(tiledb_query_condition_alloc(ctx, &made));
    CHECK(tiledb_query_condition_init(ctx, made, "a", bounds, sizeof *bounds, TILEDB_EQ));
    return made;
}

static inline tiledb_query_channel_t* new_query_channel(void) {
    tiledb_query_channel_t* made = NULL;
    CHECK(tiledb_query_get_default_channel(ctx, new_query(), &made));
    return made;
}

static inline tiledb_query_field_t* new_query_field(void) {
    tiledb_query_field_t* made = NULL;
    CHECK(tiledb_query_get_field(ctx, new_query(), "a", &made));
    return made;
}

static inline tiledb_channel_operation_t* new_channel_operation(void) {
    tiledb_channel_operation_t* made = NULL;
    CHECK(tiledb_create_unary_aggregate(ctx, new_query(), tiledb_channel_operator_sum, "a", &made));
    return made;
}

static inline const tiledb_channel_operator_t* new_channel_operator(void) {
    return tiledb_channel_operator_sum;
}

static inline tiledb_fragment_info_t* new_fragment_info(void) {
    tiledb_fragment_info_t* made = NULL;
    CHECK(tiledb_fragment_info_alloc(ctx, in_folder("array"), &made));
    return made;
}

static inline tiledb_consolidation_plan_t* new_consolidation_plan(void) {
    tiledb_consolidation_plan_t* made = NULL;
    CHECK(tiledb_consolidation_plan_create_with_mbr(ctx, new_array(), 1000, &made));
    return made;
}

static inline tiledb_vfs_t* new_vfs(void) {
    tiledb_vfs_t* made = NULL;
    CHECK(tiledb_vfs_alloc(ctx, NULL, &made));
    return made;
}

static inline tiledb_vfs_fh_t* new_vfs_fh(void) {
    tiledb_vfs_fh_t* made = NULL;
    CHECK(tiledb_vfs_open(ctx, new_vfs(), in_folder("file"), TILEDB_VFS_WRITE, &made));
    return made;
}

/* Those that are not freed by one argument that is the place of the handle. */
#define FREE(kind, place) tiledb_##kind##_free(place)
#define free_query_channel(place) tiledb_query_channel_free(ctx, (place))
#define free_query_field(place) tiledb_query_field_free(ctx, (place))
#define free_channel_operation(place) tiledb_aggregate_free(ctx, (place))

/* A place that is long enough for all that functions put out. */
static inline void* place(void) {
    static uint64_t words[1024];
    memset(words, 0, sizeof words);
    return words;
}

/* A handle of the kind that is asked for least; two kinds, so that it is of another one than what is expected. */
static inline void* other_than(const char* kind) {
    return strcmp(kind, "filter") == 0 ? (void*)new_buffer() : (void*)new_filter();
}

/* Where a callback is wanted. */
static inline void ignored(void) {
}

/* What is called is told before the call, so that a signal is told with it. */
#define CALL(text, call)                     \
    do {                                     \
        int32_t code;                        \
        printf("%s: ", (text));              \
        fflush(stdout);                      \
        code = (call);                       \
        printf("%d\n", (int)code);           \
    } while (0)

#define CALL_VOID(text, call)                \
    do {                                     \
        printf("%s: ", (text));              \
        fflush(stdout);                      \
        call;                                \
        printf("nothing\n");                 \
    } while (0)

/* Runs in a process of its own, which alone uses the library: nothing of it is shared with the one that goes on. */
static inline void apart(void (*calls)(void)) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        CHECK(tiledb_ctx_alloc(NULL, &ctx));
        calls();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("signal %d\n", WTERMSIG(status));
        fflush(stdout);
    } else if (WEXITSTATUS(status) != 0) {
        printf("exit %d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
}

#endif

/* Serialisation, which is not built in: what each of its functions says where its handles are live. */
#include "told.h"

#include <tiledb/tiledb_serialization.h>

#define FORMAT TILEDB_CAPNP

static int answers, same;

/* The code, and whether the error is the one of a library without serialisation. */
static void told(int32_t returned, const char* call) {
    tiledb_error_t* error = NULL;
    const char* message = "";
    tiledb_ctx_get_last_error(ctx, &error);
    if (error != NULL) {
        tiledb_error_message(error, &message);
    }
    answers++;
    same += returned == TILEDB_ERR && strstr(message, "serialization not enabled") != NULL;
    printf("  %.*s: %d %s\n", (int)strcspn(call, "("), call, (int)returned, message);
    tiledb_error_free(&error);
}

#define TOLD(call) told((call), #call)

static const int32_t bounds[] = {1, 4};
static const int32_t extent = 2;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void serialize(tiledb_array_t* array, tiledb_query_t* query, tiledb_group_t* group) {
    tiledb_array_schema_t* schema = NULL;
    tiledb_array_schema_evolution_t* evolution = NULL;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    tiledb_fragment_info_t* info = NULL;
    tiledb_buffer_t* buffer = NULL;
    tiledb_buffer_list_t* list = NULL;
    printf("serialize\n");
    CHECK(tiledb_array_get_schema(ctx, array, &schema));
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_fragment_info_alloc(ctx, in_folder("array"), &info));
    TOLD(tiledb_serialize_array(ctx, array, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_array_max_buffer_sizes(ctx, array, bounds, FORMAT, &buffer));
    TOLD(tiledb_serialize_array_metadata(ctx, array, FORMAT, &buffer));
    TOLD(tiledb_serialize_array_non_empty_domain_all_dimensions(ctx, array, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_array_nonempty_domain(ctx, array, bounds, 0, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_array_open(ctx, array, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_array_schema(ctx, schema, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_array_schema_evolution(ctx, evolution, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_config(ctx, config, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_fragment_info(ctx, info, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_fragment_info_request(ctx, info, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_group(ctx, group, FORMAT, 1, &buffer));
    TOLD(tiledb_serialize_group_metadata(ctx, group, FORMAT, &buffer));
    TOLD(tiledb_serialize_query(ctx, query, FORMAT, 1, &list));
    TOLD(tiledb_serialize_query_est_result_sizes(ctx, query, FORMAT, 1, &buffer));
    tell_number("no buffer", buffer == NULL && list == NULL);
    tiledb_array_schema_free(&schema);
    tiledb_array_schema_evolution_free(&evolution);
    tiledb_config_free(&config);
    tiledb_fragment_info_free(&info);
}

static void deserialize(
    tiledb_array_t* array, tiledb_query_t* query, tiledb_group_t* group, const tiledb_buffer_t* buffer) {
    const char* uri = in_folder("array");
    tiledb_array_t* other = NULL;
    tiledb_query_t* other_query = NULL;
    tiledb_array_schema_t* schema = NULL;
    tiledb_array_schema_evolution_t* evolution = NULL;
    tiledb_config_t* config = NULL;
    tiledb_fragment_info_t* info = NULL;
    tiledb_string_t* text = NULL;
    int32_t domain[2] = {0, 0}, is_empty = 9;
    printf("deserialize\n");
    CHECK(tiledb_fragment_info_alloc(ctx, uri, &info));
    TOLD(tiledb_deserialize_array(ctx, buffer, FORMAT, 1, uri, &other));
    TOLD(tiledb_deserialize_array_create(ctx, buffer, FORMAT, 1, &text, &schema));
    TOLD(tiledb_deserialize_array_metadata(ctx, array, FORMAT, buffer));
    TOLD(tiledb_deserialize_array_non_empty_domain_all_dimensions(ctx, array, buffer, FORMAT, 1));
    TOLD(tiledb_deserialize_array_nonempty_domain(ctx, array, buffer, FORMAT, 1, domain, &is_empty));
    TOLD(tiledb_deserialize_array_open(ctx, buffer, FORMAT, 1, &other));
    TOLD(tiledb_deserialize_array_schema(ctx, buffer, FORMAT, 1, &schema));
    TOLD(tiledb_deserialize_array_schema_evolution(ctx, buffer, FORMAT, 1, &evolution));
    TOLD(tiledb_deserialize_config(ctx, buffer, FORMAT, 1, &config));
    TOLD(tiledb_deserialize_fragment_info(ctx, buffer, FORMAT, uri, 1, info));
    TOLD(tiledb_deserialize_fragment_info_request(ctx, buffer, FORMAT, 1, info));
    TOLD(tiledb_deserialize_group(ctx, buffer, FORMAT, 1, group));
    TOLD(tiledb_deserialize_group_metadata(ctx, group, FORMAT, buffer));
    TOLD(tiledb_deserialize_query(ctx, buffer, FORMAT, 1, query));
    TOLD(tiledb_deserialize_query_and_array(ctx, buffer, FORMAT, 1, uri, &other_query, &other));
    TOLD(tiledb_deserialize_query_est_result_sizes(ctx, query, FORMAT, 1, buffer));
    tell_number("nothing made",
        other == NULL && other_query == NULL && schema == NULL && evolution == NULL && config == NULL && text == NULL);
    tiledb_fragment_info_free(&info);
}

static void requests(tiledb_array_t* array, const tiledb_buffer_t* request) {
    tiledb_buffer_t* response = NULL;
    printf("requests\n");
    CHECK(tiledb_buffer_alloc(ctx, &response));
    TOLD(tiledb_handle_array_delete_fragments_list_request(ctx, array, FORMAT, request));
    TOLD(tiledb_handle_array_delete_fragments_timestamps_request(ctx, array, FORMAT, request));
    TOLD(tiledb_handle_consolidation_plan_request(ctx, array, FORMAT, request, response));
    TOLD(tiledb_handle_load_array_schema_request(ctx, array, FORMAT, request, response));
    TOLD(tiledb_handle_load_enumerations_request(ctx, array, FORMAT, request, response));
    TOLD(tiledb_handle_query_plan_request(ctx, array, FORMAT, request, response));
    tiledb_buffer_free(&response);
}

int main(int argument_count, char** arguments) {
    tiledb_array_t* array;
    tiledb_query_t* query;
    tiledb_group_t* group = NULL;
    tiledb_buffer_t* buffer = NULL;
    char bytes[] = "nothing that was serialised";
    begin(argument_count, arguments);
    create_array(in_folder("array"), schema_with(TILEDB_DENSE, &dimension, 1, &attribute, 1));
    CHECK(tiledb_group_create(ctx, in_folder("group")));
    CHECK(tiledb_group_alloc(ctx, in_folder("group"), &group));
    CHECK(tiledb_group_open(ctx, group, TILEDB_READ));
    CHECK(tiledb_buffer_alloc(ctx, &buffer));
    CHECK(tiledb_buffer_set_data(ctx, buffer, bytes, sizeof bytes));
    array = array_at(in_folder("array"), TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    serialize(array, query, group);
    deserialize(array, query, group, buffer);
    requests(array, buffer);
    printf("%d answers, of which %d say that it is not built in\n", answers, same);
    tiledb_query_free(&query);
    close_array(array);
    tiledb_buffer_free(&buffer);
    CHECK(tiledb_group_close(ctx, group));
    tiledb_group_free(&group);
    return end();
}

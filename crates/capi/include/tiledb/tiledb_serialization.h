/* Serialisation, declared for programs that name it. */
#ifndef SMALTI_TILEDB_SERIALIZATION_H
#define SMALTI_TILEDB_SERIALIZATION_H

#include "tiledb_experimental.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every function here answers that serialisation is not built in. */

TILEDB_EXPORT int32_t tiledb_deserialize_array(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    const char* uri, tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_create(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_string_t** string, tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_metadata(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format,
    const tiledb_buffer_t* buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_non_empty_domain_all_dimensions(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format,
    int32_t client_side) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_nonempty_domain(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format,
    int32_t client_side, void* nonempty_domain, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_open(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_schema(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_array_schema_evolution(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_array_schema_evolution_t** array_schema_evolution) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_config(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_fragment_info(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, const char* uri,
    int32_t client_side, tiledb_fragment_info_t* fragment_info) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_fragment_info_request(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_fragment_info_t* fragment_info) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_group(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_group_t* group) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_group_metadata(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_serialization_type_t format,
    const tiledb_buffer_t* buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_query(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_query_t* query) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_query_and_array(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_serialization_type_t format, int32_t client_side,
    const char* uri, tiledb_query_t** query, tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_deserialize_query_est_result_sizes(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_serialization_type_t format, int32_t client_side,
    const tiledb_buffer_t* buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_array_delete_fragments_list_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format,
    const tiledb_buffer_t* request) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_array_delete_fragments_timestamps_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format,
    const tiledb_buffer_t* request) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_consolidation_plan_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format, const tiledb_buffer_t* request,
    tiledb_buffer_t* response) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_load_array_schema_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format, const tiledb_buffer_t* request,
    tiledb_buffer_t* response) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_load_enumerations_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format, const tiledb_buffer_t* request,
    tiledb_buffer_t* response) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_handle_query_plan_request(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_serialization_type_t format, const tiledb_buffer_t* request,
    tiledb_buffer_t* response) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialization_type_from_str(
    const char* str, tiledb_serialization_type_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialization_type_to_str(
    tiledb_serialization_type_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_serialize_array_max_buffer_sizes(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, const void* subarray, tiledb_serialization_type_t format,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_metadata(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, tiledb_serialization_type_t format,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_non_empty_domain_all_dimensions(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_nonempty_domain(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, const void* nonempty_domain, int32_t is_empty,
    tiledb_serialization_type_t format, int32_t client_side, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_open(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_schema(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_serialization_type_t format,
    int32_t client_side, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_array_schema_evolution(
    tiledb_ctx_t* ctx, const tiledb_array_schema_evolution_t* array_schema_evolution,
    tiledb_serialization_type_t format, int32_t client_side, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_config(
    tiledb_ctx_t* ctx, const tiledb_config_t* config, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_fragment_info(
    tiledb_ctx_t* ctx, const tiledb_fragment_info_t* fragment_info, tiledb_serialization_type_t format,
    int32_t client_side, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_fragment_info_request(
    tiledb_ctx_t* ctx, const tiledb_fragment_info_t* fragment_info, tiledb_serialization_type_t format,
    int32_t client_side, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_group(
    tiledb_ctx_t* ctx, const tiledb_group_t* group, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_group_metadata(
    tiledb_ctx_t* ctx, const tiledb_group_t* group, tiledb_serialization_type_t format,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_query(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_list_t** buffer_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_serialize_query_est_result_sizes(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, tiledb_serialization_type_t format, int32_t client_side,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif

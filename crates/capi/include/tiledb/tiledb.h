/* The C interface of libtiledb 2.30, which smalti keeps. Declared here: what is stable, and what is deprecated. */
#ifndef SMALTI_TILEDB_H
#define SMALTI_TILEDB_H

#include "tiledb_types.h"
#include "tiledb_version.h"
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Constants that the library tells. */
#define TILEDB_VAR_NUM tiledb_var_num()
#define TILEDB_MAX_PATH tiledb_max_path()
#define TILEDB_OFFSET_SIZE tiledb_offset_size()
#define TILEDB_TIMESTAMP_NOW_MS tiledb_timestamp_now_ms()
#define TILEDB_TIMESTAMPS tiledb_timestamps()

/* Arrays and groups at a path. */

TILEDB_EXPORT capi_return_t tiledb_object_type_from_str(const char* str, tiledb_object_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_object_type_to_str(tiledb_object_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_walk_order_from_str(const char* str, tiledb_walk_order_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_walk_order_to_str(tiledb_walk_order_t value, const char** str) TILEDB_NOEXCEPT;

/* Arrays: creating, opening, metadata, non-empty domains. */

TILEDB_EXPORT capi_return_t tiledb_array_alloc(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_close(tiledb_ctx_t* ctx, tiledb_array_t* array) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_create(
    tiledb_ctx_t* ctx, const char* array_uri, const tiledb_array_schema_t* array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_delete(tiledb_ctx_t* ctx, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_delete_fragments_list(
    tiledb_ctx_t* ctx, const char* uri, const char* fragment_uris[], size_t num_fragments) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_delete_fragments_v2(
    tiledb_ctx_t* ctx, const char* uri, uint64_t timestamp_start, uint64_t timestamp_end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_delete_metadata(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* key) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_encryption_type(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_encryption_type_t* encryption_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_array_free(tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_config(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_metadata(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* key, tiledb_datatype_t* kind, uint32_t* num,
    const void** value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_metadata_from_index(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t number, const char** key, uint32_t* key_len,
    tiledb_datatype_t* kind, uint32_t* num, const void** value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_metadata_num(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain(
    tiledb_ctx_t* ctx, tiledb_array_t* array, void* domain, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_from_index(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint32_t idx, void* domain, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_from_name(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* name, void* domain, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_var_from_index(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint32_t idx, void* start, void* end, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_var_from_name(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* name, void* start, void* end,
    int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_var_size_from_index(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint32_t idx, uint64_t* start_size, uint64_t* end_size,
    int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_non_empty_domain_var_size_from_name(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* name, uint64_t* start_size, uint64_t* end_size,
    int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_open_timestamp_end(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t* timestamp_end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_open_timestamp_start(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t* timestamp_start) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_query_type(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_query_type_t* query_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_schema(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_uri(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char** array_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_has_metadata_key(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* key, tiledb_datatype_t* kind,
    int32_t* has_key) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_is_open(
    tiledb_ctx_t* ctx, tiledb_array_t* array, int32_t* is_open) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_open(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_query_type_t query_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_put_metadata(
    tiledb_ctx_t* ctx, tiledb_array_t* array, const char* key, tiledb_datatype_t value_type, uint32_t value_num,
    const void* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_reopen(tiledb_ctx_t* ctx, tiledb_array_t* array) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_load(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_load_with_config(
    tiledb_ctx_t* ctx, tiledb_config_t* config, const char* array_uri,
    tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_set_config(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_set_open_timestamp_end(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t timestamp_end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_set_open_timestamp_start(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t timestamp_start) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_upgrade_version(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_encryption_type_from_str(
    const char* str, tiledb_encryption_type_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_encryption_type_to_str(
    tiledb_encryption_type_t value, const char** str) TILEDB_NOEXCEPT;

/* Arrays: upkeep. */

TILEDB_EXPORT capi_return_t tiledb_array_consolidate(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_vacuum(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_config_t* config) TILEDB_NOEXCEPT;

/* Attributes. */

TILEDB_EXPORT int32_t tiledb_attribute_alloc(
    tiledb_ctx_t* ctx, const char* name, tiledb_datatype_t kind, tiledb_attribute_t** attr) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_dump_str(
    tiledb_ctx_t* ctx, const tiledb_attribute_t* attr, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_attribute_free(tiledb_attribute_t** attribute) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_cell_size(
    tiledb_ctx_t* ctx, const tiledb_attribute_t* attr, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_cell_val_num(
    tiledb_ctx_t* ctx, const tiledb_attribute_t* attr, uint32_t* cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_fill_value(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, const void** value, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_fill_value_nullable(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, const void** value, uint64_t* size, uint8_t* valid) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_filter_list(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_name(
    tiledb_ctx_t* ctx, const tiledb_attribute_t* attr, const char** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_nullable(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, uint8_t* nullable) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_get_type(
    tiledb_ctx_t* ctx, const tiledb_attribute_t* attr, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_set_cell_val_num(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, uint32_t cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_set_fill_value(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, const void* value, uint64_t size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_set_fill_value_nullable(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, const void* value, uint64_t size, uint8_t validity) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_set_filter_list(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_attribute_set_nullable(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, uint8_t nullable) TILEDB_NOEXCEPT;

/* Buffers that own or borrow bytes. */

TILEDB_EXPORT capi_return_t tiledb_buffer_alloc(tiledb_ctx_t* ctx, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_buffer_free(tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_get_data(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, void** data, uint64_t* num_bytes) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_get_type(
    tiledb_ctx_t* ctx, const tiledb_buffer_t* buffer, tiledb_datatype_t* datatype) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_set_data(
    tiledb_ctx_t* ctx, tiledb_buffer_t* buffer, void* data, uint64_t size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_set_type(
    tiledb_ctx_t* ctx, tiledb_buffer_t* buffer, tiledb_datatype_t datatype) TILEDB_NOEXCEPT;

/* Codes that functions return. */

TILEDB_EXPORT capi_status_t tiledb_status_code(capi_return_t code) TILEDB_NOEXCEPT;

/* Conditions of queries. */

TILEDB_EXPORT int32_t tiledb_query_condition_alloc(tiledb_ctx_t* ctx, tiledb_query_condition_t** cond) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_condition_combine(
    tiledb_ctx_t* ctx, const tiledb_query_condition_t* left_cond, const tiledb_query_condition_t* right_cond,
    tiledb_query_condition_combination_op_t combination_op, tiledb_query_condition_t** combined_cond) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_query_condition_free(tiledb_query_condition_t** query_condition) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_condition_init(
    tiledb_ctx_t* ctx, tiledb_query_condition_t* cond, const char* attribute_name, const void* condition_value,
    uint64_t condition_value_size, tiledb_query_condition_op_t op) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_condition_negate(
    tiledb_ctx_t* ctx, const tiledb_query_condition_t* cond, tiledb_query_condition_t** negated_cond) TILEDB_NOEXCEPT;

/* Configurations, and iterators over them. */

TILEDB_EXPORT capi_return_t tiledb_config_alloc(tiledb_config_t** config, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_compare(
    tiledb_config_t* lhs, tiledb_config_t* rhs, uint8_t* equal) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_config_free(tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_get(
    tiledb_config_t* config, const char* param, const char** value, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_iter_alloc(
    tiledb_config_t* config, const char* prefix, tiledb_config_iter_t** config_iter,
    tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_iter_done(
    tiledb_config_iter_t* config_iter, int32_t* done, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_config_iter_free(tiledb_config_iter_t** config_iter) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_iter_here(
    tiledb_config_iter_t* config_iter, const char** param, const char** value, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_iter_next(
    tiledb_config_iter_t* config_iter, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_iter_reset(
    tiledb_config_t* config, tiledb_config_iter_t* config_iter, const char* prefix,
    tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_load_from_file(
    tiledb_config_t* config, const char* filename, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_save_to_file(
    tiledb_config_t* config, const char* filename, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_set(
    tiledb_config_t* config, const char* param, const char* value, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_config_unset(
    tiledb_config_t* config, const char* param, tiledb_error_t** error) TILEDB_NOEXCEPT;

/* Contexts, which keep the last error. */

TILEDB_EXPORT capi_return_t tiledb_ctx_alloc(tiledb_config_t* config, tiledb_ctx_t** ctx) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_alloc_with_error(
    tiledb_config_t* config, tiledb_ctx_t** ctx, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_cancel_tasks(tiledb_ctx_t* ctx) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_ctx_free(tiledb_ctx_t** ctx) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_get_config(tiledb_ctx_t* ctx, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_get_data_protocol(
    tiledb_ctx_t* ctx, const char* uri, tiledb_data_protocol_t* data_protocol) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_get_last_error(tiledb_ctx_t* ctx, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_get_stats(tiledb_ctx_t* ctx, char** stats_json) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_is_supported_fs(
    tiledb_ctx_t* ctx, tiledb_filesystem_t filesystem, int32_t* is_supported) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ctx_set_tag(tiledb_ctx_t* ctx, const char* key, const char* value) TILEDB_NOEXCEPT;

/* Dimensions. */

TILEDB_EXPORT int32_t tiledb_dimension_alloc(
    tiledb_ctx_t* ctx, const char* name, tiledb_datatype_t kind, const void* dim_domain, const void* tile_extent,
    tiledb_dimension_t** dim) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_dump_str(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_dimension_free(tiledb_dimension_t** dimension) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_cell_val_num(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, uint32_t* cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_domain(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, const void** domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_filter_list(
    tiledb_ctx_t* ctx, tiledb_dimension_t* dim, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_name(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, const char** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_tile_extent(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, const void** tile_extent) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_get_type(
    tiledb_ctx_t* ctx, const tiledb_dimension_t* dim, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_set_cell_val_num(
    tiledb_ctx_t* ctx, tiledb_dimension_t* dim, uint32_t cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_dimension_set_filter_list(
    tiledb_ctx_t* ctx, tiledb_dimension_t* dim, tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;

/* Domains: dimensions in their order. */

TILEDB_EXPORT int32_t tiledb_domain_add_dimension(
    tiledb_ctx_t* ctx, tiledb_domain_t* domain, tiledb_dimension_t* dim) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_alloc(tiledb_ctx_t* ctx, tiledb_domain_t** domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_dump_str(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_domain_free(tiledb_domain_t** domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_get_dimension_from_index(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, uint32_t number, tiledb_dimension_t** dim) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_get_dimension_from_name(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, const char* name, tiledb_dimension_t** dim) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_get_ndim(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, uint32_t* ndim) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_get_type(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_domain_has_dimension(
    tiledb_ctx_t* ctx, const tiledb_domain_t* domain, const char* name, int32_t* has_dim) TILEDB_NOEXCEPT;

/* Errors and their messages. */

TILEDB_EXPORT void tiledb_error_free(tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_error_message(tiledb_error_t* error, const char** message) TILEDB_NOEXCEPT;

/* Files and buckets. */

TILEDB_EXPORT capi_return_t tiledb_vfs_alloc(
    tiledb_ctx_t* ctx, tiledb_config_t* config, tiledb_vfs_t** vfs) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_close(tiledb_ctx_t* ctx, tiledb_vfs_fh_t* fh) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_copy_dir(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* old_uri, const char* new_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_copy_file(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* old_uri, const char* new_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_create_bucket(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_create_dir(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_dir_size(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_empty_bucket(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_vfs_fh_free(tiledb_vfs_fh_t** vfs_fh) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_fh_is_closed(
    tiledb_ctx_t* ctx, tiledb_vfs_fh_t* fh, int32_t* is_closed) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_file_size(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_vfs_free(tiledb_vfs_t** vfs) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_get_config(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_is_bucket(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, int32_t* is_bucket) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_is_dir(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, int32_t* is_dir) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_is_empty_bucket(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, int32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_is_file(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, int32_t* is_file) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_ls(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* path, int32_t (*callback)(const char*, void*),
    void* data) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_mode_from_str(const char* str, tiledb_vfs_mode_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_mode_to_str(tiledb_vfs_mode_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_move_dir(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* old_uri, const char* new_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_move_file(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* old_uri, const char* new_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_open(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri, tiledb_vfs_mode_t mode,
    tiledb_vfs_fh_t** fh) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_read(
    tiledb_ctx_t* ctx, tiledb_vfs_fh_t* fh, uint64_t offset, void* buffer, uint64_t nbytes) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_remove_bucket(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_remove_dir(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_remove_file(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_sync(tiledb_ctx_t* ctx, tiledb_vfs_fh_t* fh) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_touch(tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_write(
    tiledb_ctx_t* ctx, tiledb_vfs_fh_t* fh, const void* buffer, uint64_t nbytes) TILEDB_NOEXCEPT;

/* Filters and their options. */

TILEDB_EXPORT capi_return_t tiledb_filter_alloc(
    tiledb_ctx_t* ctx, tiledb_filter_type_t kind, tiledb_filter_t** filter) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_filter_free(tiledb_filter_t** filter) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_get_option(
    tiledb_ctx_t* ctx, tiledb_filter_t* filter, tiledb_filter_option_t number, void* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_get_type(
    tiledb_ctx_t* ctx, tiledb_filter_t* filter, tiledb_filter_type_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_option_from_str(
    const char* str, tiledb_filter_option_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_option_to_str(tiledb_filter_option_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_set_option(
    tiledb_ctx_t* ctx, tiledb_filter_t* filter, tiledb_filter_option_t option, const void* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_type_from_str(const char* str, tiledb_filter_type_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_type_to_str(tiledb_filter_type_t value, const char** str) TILEDB_NOEXCEPT;

/* Functions that newer ones replace. */

TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_buffer_export(
    tiledb_ctx_t* ctx, const char* filestore_array_uri, size_t offset, void* buffer, size_t size) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_buffer_import(
    tiledb_ctx_t* ctx, const char* filestore_array_uri, void* buffer, size_t size,
    tiledb_mime_type_t mime_type) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_schema_create(
    tiledb_ctx_t* ctx, const char* uri, tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_size(
    tiledb_ctx_t* ctx, const char* filestore_array_uri, size_t* size) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_uri_export(
    tiledb_ctx_t* ctx, const char* file_uri, const char* filestore_array_uri) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_filestore_uri_import(
    tiledb_ctx_t* ctx, const char* filestore_array_uri, const char* file_uri,
    tiledb_mime_type_t mime_type) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_mime_type_from_str(const char* str, tiledb_mime_type_t* value) TILEDB_NOEXCEPT;
TILEDB_DEPRECATED_EXPORT int32_t tiledb_mime_type_to_str(tiledb_mime_type_t value, const char** str) TILEDB_NOEXCEPT;

/* Groups. */

TILEDB_EXPORT capi_return_t tiledb_group_add_member(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* uri, uint8_t relative, const char* name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_add_member_with_type(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* uri, uint8_t relative, const char* name,
    tiledb_object_t kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_alloc(
    tiledb_ctx_t* ctx, const char* group_uri, tiledb_group_t** group) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_close(tiledb_ctx_t* ctx, tiledb_group_t* group) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_consolidate_metadata(
    tiledb_ctx_t* ctx, const char* group_uri, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_create(tiledb_ctx_t* ctx, const char* group_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_group_delete_group(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* uri, uint8_t recursive) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_delete_metadata(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* key) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_dump_str_v2(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_string_t** out, uint8_t recursive) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_group_free(tiledb_group_t** group) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_config(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_is_relative_uri_by_name(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* name, uint8_t* relative) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_member_by_index_v2(
    tiledb_ctx_t* ctx, tiledb_group_t* group, uint64_t number, tiledb_string_t** uri, tiledb_object_t* kind,
    tiledb_string_t** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_member_by_name_v2(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* name, tiledb_string_t** uri,
    tiledb_object_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_member_count(
    tiledb_ctx_t* ctx, tiledb_group_t* group, uint64_t* members) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_metadata(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* key, tiledb_datatype_t* kind, uint32_t* num,
    const void** value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_metadata_from_index(
    tiledb_ctx_t* ctx, tiledb_group_t* group, uint64_t number, const char** key, uint32_t* key_len,
    tiledb_datatype_t* kind, uint32_t* num, const void** value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_metadata_num(
    tiledb_ctx_t* ctx, tiledb_group_t* group, uint64_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_query_type(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_query_type_t* query_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_get_uri(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char** group_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_has_metadata_key(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* key, tiledb_datatype_t* kind,
    int32_t* has_key) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_is_open(
    tiledb_ctx_t* ctx, tiledb_group_t* group, int32_t* is_open) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_open(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_query_type_t query_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_put_metadata(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* key, tiledb_datatype_t value_type, uint32_t value_num,
    const void* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_remove_member(
    tiledb_ctx_t* ctx, tiledb_group_t* group, const char* name_or_uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_set_config(
    tiledb_ctx_t* ctx, tiledb_group_t* group, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_group_vacuum_metadata(
    tiledb_ctx_t* ctx, const char* group_uri, tiledb_config_t* config) TILEDB_NOEXCEPT;

/* Lists of buffers. */

TILEDB_EXPORT capi_return_t tiledb_buffer_list_alloc(
    tiledb_ctx_t* ctx, tiledb_buffer_list_t** buffer_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_list_flatten(
    tiledb_ctx_t* ctx, tiledb_buffer_list_t* buffer_list, tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_buffer_list_free(tiledb_buffer_list_t** buffer_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_list_get_buffer(
    tiledb_ctx_t* ctx, const tiledb_buffer_list_t* buffer_list, uint64_t buffer_idx,
    tiledb_buffer_t** buffer) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_list_get_num_buffers(
    tiledb_ctx_t* ctx, const tiledb_buffer_list_t* buffer_list, uint64_t* num_buffers) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_buffer_list_get_total_size(
    tiledb_ctx_t* ctx, const tiledb_buffer_list_t* buffer_list, uint64_t* total_size) TILEDB_NOEXCEPT;

/* Lists of filters. */

TILEDB_EXPORT capi_return_t tiledb_filter_list_add_filter(
    tiledb_ctx_t* ctx, tiledb_filter_list_t* filter_list, tiledb_filter_t* filter) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_list_alloc(
    tiledb_ctx_t* ctx, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_filter_list_free(tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_list_get_filter_from_index(
    tiledb_ctx_t* ctx, const tiledb_filter_list_t* filter_list, uint32_t index,
    tiledb_filter_t** filter) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_list_get_max_chunk_size(
    tiledb_ctx_t* ctx, const tiledb_filter_list_t* filter_list, uint32_t* max_chunk_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_list_get_nfilters(
    tiledb_ctx_t* ctx, const tiledb_filter_list_t* filter_list, uint32_t* nfilters) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filter_list_set_max_chunk_size(
    tiledb_ctx_t* ctx, tiledb_filter_list_t* filter_list, uint32_t max_chunk_size) TILEDB_NOEXCEPT;

/* Names of file systems. */

TILEDB_EXPORT capi_return_t tiledb_filesystem_from_str(const char* str, tiledb_filesystem_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_filesystem_to_str(tiledb_filesystem_t value, const char** str) TILEDB_NOEXCEPT;

/* Names of kinds of queries. */

TILEDB_EXPORT capi_return_t tiledb_query_type_from_str(const char* str, tiledb_query_type_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_query_type_to_str(tiledb_query_type_t value, const char** str) TILEDB_NOEXCEPT;

/* Names of orders of labels. */

TILEDB_EXPORT capi_return_t tiledb_data_order_from_str(const char* str, tiledb_data_order_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_data_order_to_str(tiledb_data_order_t value, const char** str) TILEDB_NOEXCEPT;

/* Queries. */

TILEDB_EXPORT int32_t tiledb_query_alloc(
    tiledb_ctx_t* ctx, tiledb_array_t* array, tiledb_query_type_t query_type, tiledb_query_t** query) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_finalize(tiledb_ctx_t* ctx, tiledb_query_t* query) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_query_free(tiledb_query_t** query) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_array(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_array_t** array) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_config(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_data_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, void** buffer, uint64_t** buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_est_result_size(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, const char* name, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_est_result_size_nullable(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, const char* name, uint64_t* size_val,
    uint64_t* size_validity) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_est_result_size_var(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, const char* name, uint64_t* size_off,
    uint64_t* size_val) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_est_result_size_var_nullable(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, const char* name, uint64_t* size_off, uint64_t* size_val,
    uint64_t* size_validity) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_fragment_num(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, uint32_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_fragment_timestamp_range(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, uint64_t idx, uint64_t* t1, uint64_t* t2) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_fragment_uri(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, uint64_t idx, const char** uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_layout(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_layout_t* layout) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_offsets_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, uint64_t** buffer,
    uint64_t** buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_stats(
    tiledb_ctx_t* ctx, tiledb_query_t* query, char** stats_json) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_status(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_query_status_t* status) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_subarray_t(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, tiledb_subarray_t** subarray) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_type(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_query_type_t* query_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_validity_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, uint8_t** buffer,
    uint64_t** buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_has_results(
    tiledb_ctx_t* ctx, tiledb_query_t* query, int32_t* has_results) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_condition(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const tiledb_query_condition_t* cond) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_config(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_data_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, void* buffer, uint64_t* buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_layout(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_layout_t layout) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_offsets_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, uint64_t* buffer,
    uint64_t* buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_subarray_t(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const tiledb_subarray_t* subarray) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_set_validity_buffer(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* name, uint8_t* buffer, uint64_t* buffer_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_status_from_str(const char* str, tiledb_query_status_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_status_to_str(tiledb_query_status_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_submit(tiledb_ctx_t* ctx, tiledb_query_t* query) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_submit_and_finalize(tiledb_ctx_t* ctx, tiledb_query_t* query) TILEDB_NOEXCEPT;

/* Schemas of arrays. */

TILEDB_EXPORT capi_return_t tiledb_array_schema_add_attribute(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_attribute_t* attr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_alloc(
    tiledb_ctx_t* ctx, tiledb_array_type_t kind, tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_check(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_dump_str(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_array_schema_free(tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_allows_dups(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, int* allows_dups) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_array_type(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_array_type_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_attribute_from_index(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, uint32_t number,
    tiledb_attribute_t** attr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_attribute_from_name(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, const char* name,
    tiledb_attribute_t** attr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_attribute_num(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, uint32_t* attribute_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_capacity(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, uint64_t* capacity) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_cell_order(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_layout_t* cell_order) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_coords_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_domain(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_domain_t** domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_offsets_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_tile_order(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, tiledb_layout_t* tile_order) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_validity_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t** filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_version(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint32_t* version) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_has_attribute(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, const char* name, int32_t* has_attr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_allows_dups(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, int allows_dups) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_capacity(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint64_t capacity) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_cell_order(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_layout_t cell_order) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_coords_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_domain(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_domain_t* domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_offsets_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_tile_order(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_layout_t tile_order) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_validity_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_type_from_str(const char* str, tiledb_array_type_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_type_to_str(tiledb_array_type_t value, const char** str) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_layout_from_str(const char* str, tiledb_layout_t* value) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_layout_to_str(tiledb_layout_t value, const char** str) TILEDB_NOEXCEPT;

/* Statistics. */

TILEDB_EXPORT int32_t tiledb_stats_disable(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_dump(FILE* out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_dump_str(char** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_enable(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_free_str(char** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_is_enabled(uint8_t* enabled) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_raw_dump(FILE* out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_raw_dump_str(char** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_stats_reset(void) TILEDB_NOEXCEPT;

/* Subarrays: ranges of the dimensions. */

TILEDB_EXPORT capi_return_t tiledb_subarray_add_range(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, uint32_t dim_idx, const void* start, const void* end,
    const void* stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_range_by_name(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, const char* dim_name, const void* start, const void* end,
    const void* stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_range_var(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, uint32_t dim_idx, const void* start, uint64_t start_size,
    const void* end, uint64_t end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_range_var_by_name(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, const char* dim_name, const void* start, uint64_t start_size,
    const void* end, uint64_t end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_alloc(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, tiledb_subarray_t** subarray) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_subarray_free(tiledb_subarray_t** subarray) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, uint32_t dim_idx, uint64_t range_idx, const void** start,
    const void** end, const void** stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_from_name(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* dim_name, uint64_t range_idx, const void** start,
    const void** end, const void** stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_num(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, uint32_t dim_idx, uint64_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_num_from_name(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* dim_name, uint64_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_var(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, uint32_t dim_idx, uint64_t range_idx, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_var_from_name(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* dim_name, uint64_t range_idx, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_var_size(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, uint32_t dim_idx, uint64_t range_idx, uint64_t* start_size,
    uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_range_var_size_from_name(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* dim_name, uint64_t range_idx,
    uint64_t* start_size, uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_set_coalesce_ranges(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, int coalesce_ranges) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_set_config(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, tiledb_config_t* config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_set_subarray(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, const void* values) TILEDB_NOEXCEPT;

/* Texts that the library hands out. */

TILEDB_EXPORT capi_return_t tiledb_string_free(tiledb_string_t** text) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_string_view(
    tiledb_string_t* text, const char** data, size_t* length) TILEDB_NOEXCEPT;

/* The library: version, constants, log. */

TILEDB_EXPORT int32_t tiledb_heap_profiler_enable(
    const char* prefix, uint64_t interval_ms, uint64_t interval_bytes, uint64_t threshold) TILEDB_NOEXCEPT;
TILEDB_EXPORT uint32_t tiledb_max_path(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_object_ls(
    tiledb_ctx_t* ctx, const char* path, int32_t (*callback)(const char*, tiledb_object_t, void*),
    void* data) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_object_move(tiledb_ctx_t* ctx, const char* old_path, const char* new_path) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_object_remove(tiledb_ctx_t* ctx, const char* path) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_object_type(tiledb_ctx_t* ctx, const char* path, tiledb_object_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_object_walk(
    tiledb_ctx_t* ctx, const char* path, tiledb_walk_order_t order,
    int32_t (*callback)(const char*, tiledb_object_t, void*), void* data) TILEDB_NOEXCEPT;
TILEDB_EXPORT uint64_t tiledb_offset_size(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT uint64_t tiledb_timestamp_now_ms(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT const char* tiledb_timestamps(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_uri_to_path(
    tiledb_ctx_t* ctx, const char* uri, char* path_out, uint32_t* path_length) TILEDB_NOEXCEPT;
TILEDB_EXPORT uint32_t tiledb_var_num(void) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_version(int32_t* major, int32_t* minor, int32_t* rev) TILEDB_NOEXCEPT;

/* Types of values. */

TILEDB_EXPORT capi_return_t tiledb_datatype_from_str(const char* word, tiledb_datatype_t* number) TILEDB_NOEXCEPT;
TILEDB_EXPORT uint64_t tiledb_datatype_size(tiledb_datatype_t number) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_datatype_to_str(tiledb_datatype_t number, const char** word) TILEDB_NOEXCEPT;

/* What is known of the fragments of an array. */

TILEDB_EXPORT capi_return_t tiledb_fragment_info_alloc(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_fragment_info_t** info) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_dump(
    tiledb_ctx_t* ctx, const tiledb_fragment_info_t* info, FILE* out) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_dump_str(
    tiledb_ctx_t* ctx, const tiledb_fragment_info_t* info, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_fragment_info_free(tiledb_fragment_info_t** fragment_info) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_array_schema(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid,
    tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_array_schema_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char** schema_name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_cell_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint64_t* cell_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_config(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, tiledb_config_t** config) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_dense(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, int32_t* dense) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_fragment_name_v2(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, tiledb_string_t** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_fragment_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_fragment_size(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint64_t* size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_fragment_uri(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char** uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, uint32_t did,
    void* mbr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, const char* dim_name,
    void* mbr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint64_t* mbr_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_var_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, uint32_t did, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_var_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, const char* dim_name, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_var_size_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, uint32_t did, uint64_t* start_size,
    uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_mbr_var_size_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t mid, const char* dim_name,
    uint64_t* start_size, uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t did, void* place) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char* dim_name, void* place) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_var_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t did, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_var_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char* dim_name, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_var_size_from_index(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t did, uint64_t* start_size,
    uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_non_empty_domain_var_size_from_name(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char* dim_name, uint64_t* start_size,
    uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_sparse(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, int32_t* sparse) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_timestamp_range(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint64_t* start, uint64_t* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_to_vacuum_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t* num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_to_vacuum_uri(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, const char** uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_unconsolidated_metadata_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t* unconsolidated) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_version(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, uint32_t* version) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_has_consolidated_metadata(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint32_t fid, int32_t* has) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_load(tiledb_ctx_t* ctx, tiledb_fragment_info_t* info) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_fragment_info_set_config(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, tiledb_config_t* config) TILEDB_NOEXCEPT;

#ifdef __cplusplus
}

/* The code of what a function returned. */
inline capi_status_t tiledb_status(capi_return_t returned) {
    return returned;
}
#endif

#endif

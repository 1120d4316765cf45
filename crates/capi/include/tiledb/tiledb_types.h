/* Types of the interface. */
#ifndef SMALTI_TILEDB_TYPES_H
#define SMALTI_TILEDB_TYPES_H

#include "tiledb_enum.h"
#include "tiledb_export.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes that functions return, by their two names. */
typedef int32_t capi_return_t;
typedef int32_t capi_status_t;

/* Handles: what they point to is known to the library alone. */
typedef struct tiledb_array_schema_evolution_t tiledb_array_schema_evolution_t;
typedef struct tiledb_array_schema_handle_t tiledb_array_schema_t;
typedef struct tiledb_array_handle_t tiledb_array_t;
typedef struct tiledb_attribute_handle_t tiledb_attribute_t;
typedef struct tiledb_buffer_list_handle_t tiledb_buffer_list_t;
typedef struct tiledb_buffer_handle_t tiledb_buffer_t;
typedef struct tiledb_channel_operation_handle_t tiledb_channel_operation_t;
typedef struct tiledb_channel_operator_handle_t tiledb_channel_operator_t;
typedef struct tiledb_config_iter_handle_t tiledb_config_iter_t;
typedef struct tiledb_config_handle_t tiledb_config_t;
typedef struct tiledb_consolidation_plan_t tiledb_consolidation_plan_t;
typedef struct tiledb_ctx_handle_t tiledb_ctx_t;
typedef struct tiledb_current_domain_handle_t tiledb_current_domain_t;
typedef struct tiledb_dimension_label_handle_t tiledb_dimension_label_t;
typedef struct tiledb_dimension_handle_t tiledb_dimension_t;
typedef struct tiledb_domain_handle_t tiledb_domain_t;
typedef struct tiledb_enumeration_handle_t tiledb_enumeration_t;
typedef struct tiledb_error_handle_t tiledb_error_t;
typedef struct tiledb_filter_list_handle_t tiledb_filter_list_t;
typedef struct tiledb_filter_handle_t tiledb_filter_t;
typedef struct tiledb_fragment_info_handle_t tiledb_fragment_info_t;
typedef struct tiledb_group_handle_t tiledb_group_t;
typedef struct tiledb_ndrectangle_handle_t tiledb_ndrectangle_t;
typedef struct tiledb_profile_handle_t tiledb_profile_t;
typedef struct tiledb_query_channel_handle_t tiledb_query_channel_t;
typedef struct tiledb_query_condition_t tiledb_query_condition_t;
typedef struct tiledb_query_field_handle_t tiledb_query_field_t;
typedef struct tiledb_query_t tiledb_query_t;
typedef struct tiledb_string_handle_t tiledb_string_t;
typedef struct tiledb_subarray_handle_t tiledb_subarray_t;
typedef struct tiledb_vfs_fh_handle_t tiledb_vfs_fh_t;
typedef struct tiledb_vfs_handle_t tiledb_vfs_t;

/* A range of a dimension: two borrowed values and their lengths in bytes. */
typedef struct {
    const void* min;
    uint64_t min_size;
    const void* max;
    uint64_t max_size;
} tiledb_range_t;

/* Why a query is incomplete. */
typedef struct tiledb_experimental_query_status_details_t {
    tiledb_query_status_details_reason_t incomplete_reason;
} tiledb_query_status_details_t;

/* Called for each entry of a listing, the text of the path with its length: 1 goes on, 0 stops, -1 is an error. */
typedef int32_t (*tiledb_ls_callback_t)(const char* path, size_t path_len, uint64_t object_size, void* data);
typedef int32_t (*tiledb_ls_callback_v2_t)(
    const char* path, size_t path_len, uint64_t object_size, uint8_t is_dir, void* data);

#ifdef __cplusplus
}
#endif

#endif

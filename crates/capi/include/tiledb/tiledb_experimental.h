/* The part of the interface of libtiledb 2.30 that may still change there. */
#ifndef SMALTI_TILEDB_EXPERIMENTAL_H
#define SMALTI_TILEDB_EXPERIMENTAL_H

#include "tiledb.h"
#include "tiledb_dimension_label_experimental.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Aggregates, and operators of aggregates. */
TILEDB_EXPORT extern const tiledb_channel_operation_t* tiledb_aggregate_count;
TILEDB_EXPORT extern const tiledb_channel_operator_t* tiledb_channel_operator_max;
TILEDB_EXPORT extern const tiledb_channel_operator_t* tiledb_channel_operator_mean;
TILEDB_EXPORT extern const tiledb_channel_operator_t* tiledb_channel_operator_min;
TILEDB_EXPORT extern const tiledb_channel_operator_t* tiledb_channel_operator_null_count;
TILEDB_EXPORT extern const tiledb_channel_operator_t* tiledb_channel_operator_sum;

/* Arrays. */

TILEDB_EXPORT capi_return_t tiledb_array_evolve(
    tiledb_ctx_t* ctx, const char* array_uri, tiledb_array_schema_evolution_t* evolution) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_get_enumeration(
    tiledb_ctx_t* ctx, const tiledb_array_t* array, const char* name,
    tiledb_enumeration_t** enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_load_all_enumerations(
    tiledb_ctx_t* ctx, const tiledb_array_t* array) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_load_enumerations_all_schemas(
    tiledb_ctx_t* ctx, const tiledb_array_t* array) TILEDB_NOEXCEPT;

/* Arrays: upkeep. */

TILEDB_EXPORT capi_return_t tiledb_array_consolidate_fragments(
    tiledb_ctx_t* ctx, const char* array_uri, const char** fragment_uris, uint64_t num_fragments,
    tiledb_config_t* config) TILEDB_NOEXCEPT;

/* Changes of schemas. */

TILEDB_EXPORT int32_t tiledb_array_schema_evolution_add_attribute(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, tiledb_attribute_t* attribute) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_evolution_add_enumeration(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, tiledb_enumeration_t* enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_array_schema_evolution_alloc(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t** evolution) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_array_schema_evolution_drop_attribute(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, const char* attribute_name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_evolution_drop_enumeration(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, const char* enumeration_name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_evolution_expand_current_domain(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution,
    tiledb_current_domain_t* expanded_domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_evolution_extend_enumeration(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, tiledb_enumeration_t* enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_array_schema_evolution_free(
    tiledb_array_schema_evolution_t** array_schema_evolution) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_array_schema_evolution_set_timestamp_range(
    tiledb_ctx_t* ctx, tiledb_array_schema_evolution_t* evolution, uint64_t lo, uint64_t hi) TILEDB_NOEXCEPT;

/* Channels and aggregates. */

TILEDB_EXPORT int32_t tiledb_aggregate_count_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operation_t** channel_operation) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_aggregate_free(
    tiledb_ctx_t* ctx, tiledb_channel_operation_t** operation) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_apply_aggregate(
    tiledb_ctx_t* ctx, tiledb_query_channel_t* channel, const char* output_field_name,
    const tiledb_channel_operation_t* operation) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_operator_max_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operator_t** channel_operator) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_operator_mean_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operator_t** channel_operator) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_operator_min_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operator_t** channel_operator) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_operator_null_count_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operator_t** channel_operator) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_channel_operator_sum_get(
    tiledb_ctx_t* ctx, const tiledb_channel_operator_t** channel_operator) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_create_unary_aggregate(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const tiledb_channel_operator_t* operator_, const char* input_field_name,
    tiledb_channel_operation_t** operation) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_query_channel_free(
    tiledb_ctx_t* ctx, tiledb_query_channel_t** channel) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_default_channel(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_query_channel_t** channel) TILEDB_NOEXCEPT;

/* Conditions of queries. */

TILEDB_EXPORT capi_return_t tiledb_query_condition_alloc_set_membership(
    tiledb_ctx_t* ctx, const char* field_name, const void* data, uint64_t data_size, const void* offsets,
    uint64_t offsets_size, tiledb_query_condition_op_t op, tiledb_query_condition_t** cond) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_condition_set_use_enumeration(
    tiledb_ctx_t* ctx, const tiledb_query_condition_t* cond, int use_enumeration) TILEDB_NOEXCEPT;

/* Current domains. */

TILEDB_EXPORT capi_return_t tiledb_current_domain_create(
    tiledb_ctx_t* ctx, tiledb_current_domain_t** current_domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_dump_str(
    tiledb_ctx_t* ctx, tiledb_current_domain_t* current_domain, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_free(tiledb_current_domain_t** current_domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_get_is_empty(
    tiledb_ctx_t* ctx, tiledb_current_domain_t* current_domain, uint32_t* is_empty) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_get_ndrectangle(
    tiledb_ctx_t* ctx, tiledb_current_domain_t* current_domain, tiledb_ndrectangle_t** ndr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_get_type(
    tiledb_ctx_t* ctx, tiledb_current_domain_t* current_domain, tiledb_current_domain_type_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_current_domain_set_ndrectangle(
    tiledb_ctx_t* ctx, tiledb_current_domain_t* current_domain, tiledb_ndrectangle_t* ndr) TILEDB_NOEXCEPT;

/* Enumerations. */

TILEDB_EXPORT capi_return_t tiledb_enumeration_alloc(
    tiledb_ctx_t* ctx, const char* name, tiledb_datatype_t kind, uint32_t cell_val_num, int ordered, const void* data,
    uint64_t data_size, const void* offsets, uint64_t offsets_size, tiledb_enumeration_t** enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_enumeration_dump_str(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_extend(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* old_enumeration, const void* data, uint64_t data_size, const void* offsets,
    uint64_t offsets_size, tiledb_enumeration_t** new_enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_enumeration_free(tiledb_enumeration_t** enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_cell_val_num(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, uint32_t* cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_data(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, const void** data, uint64_t* data_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_name(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, tiledb_string_t** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_offsets(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, const void** offsets, uint64_t* offsets_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_ordered(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, int* ordered) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_type(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_enumeration_get_value_index(
    tiledb_ctx_t* ctx, tiledb_enumeration_t* enumeration, const void* value, uint64_t value_size, int* exist,
    uint64_t* index) TILEDB_NOEXCEPT;

/* Enumerations of attributes. */

TILEDB_EXPORT capi_return_t tiledb_attribute_get_enumeration_name(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, tiledb_string_t** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_attribute_set_enumeration_name(
    tiledb_ctx_t* ctx, tiledb_attribute_t* attr, const char* enumeration_name) TILEDB_NOEXCEPT;

/* Fields of queries. */

TILEDB_EXPORT capi_return_t tiledb_field_cell_val_num(
    tiledb_ctx_t* ctx, tiledb_query_field_t* field, uint32_t* cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_field_channel(
    tiledb_ctx_t* ctx, tiledb_query_field_t* field, tiledb_query_channel_t** channel) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_field_datatype(
    tiledb_ctx_t* ctx, tiledb_query_field_t* field, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_field_get_nullable(
    tiledb_ctx_t* ctx, tiledb_query_field_t* field, uint8_t* nullable) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_field_origin(
    tiledb_ctx_t* ctx, tiledb_query_field_t* field, tiledb_field_origin_t* origin) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_query_field_free(tiledb_ctx_t* ctx, tiledb_query_field_t** field) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_query_get_field(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* field_name, tiledb_query_field_t** field) TILEDB_NOEXCEPT;

/* Fragments. */

TILEDB_EXPORT capi_return_t tiledb_fragment_info_get_total_cell_num(
    tiledb_ctx_t* ctx, tiledb_fragment_info_t* info, uint64_t* cells) TILEDB_NOEXCEPT;

/* Plans of consolidation. */

TILEDB_EXPORT int32_t tiledb_consolidation_plan_create_with_mbr(
    tiledb_ctx_t* ctx, tiledb_array_t* array, uint64_t fragment_size,
    tiledb_consolidation_plan_t** consolidation_plan) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_consolidation_plan_dump_json_str(
    tiledb_ctx_t* ctx, const tiledb_consolidation_plan_t* consolidation_plan, char** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_consolidation_plan_free(tiledb_consolidation_plan_t** consolidation_plan) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_consolidation_plan_free_json_str(char** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_consolidation_plan_get_fragment_uri(
    tiledb_ctx_t* ctx, tiledb_consolidation_plan_t* consolidation_plan, uint64_t node_index, uint64_t fragment_index,
    const char** uri) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_consolidation_plan_get_num_fragments(
    tiledb_ctx_t* ctx, tiledb_consolidation_plan_t* consolidation_plan, uint64_t node_index,
    uint64_t* num_fragments) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_consolidation_plan_get_num_nodes(
    tiledb_ctx_t* ctx, tiledb_consolidation_plan_t* consolidation_plan, uint64_t* nodes) TILEDB_NOEXCEPT;

/* Plans of queries. */

TILEDB_EXPORT int32_t tiledb_query_get_plan(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_string_t** plan) TILEDB_NOEXCEPT;

/* Profiles. */

TILEDB_EXPORT capi_return_t tiledb_profile_alloc(
    const char* name, const char* dir, tiledb_profile_t** profile, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_dump_str(
    tiledb_profile_t* profile, tiledb_string_t** out, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT void tiledb_profile_free(tiledb_profile_t** profile) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_get_dir(
    tiledb_profile_t* profile, tiledb_string_t** dir, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_get_name(
    tiledb_profile_t* profile, tiledb_string_t** name, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_get_param(
    tiledb_profile_t* profile, const char* param, tiledb_string_t** value, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_load(tiledb_profile_t* profile, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_remove(
    const char* name, const char* dir, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_save(
    tiledb_profile_t* profile, uint8_t overwrite, tiledb_error_t** error) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_profile_set_param(
    tiledb_profile_t* profile, const char* param, const char* value, tiledb_error_t** error) TILEDB_NOEXCEPT;

/* Queries. */

TILEDB_EXPORT int32_t tiledb_query_add_update_value(
    tiledb_ctx_t* ctx, tiledb_query_t* query, const char* field_name, const void* update_value,
    uint64_t update_value_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_relevant_fragment_num(
    tiledb_ctx_t* ctx, const tiledb_query_t* query, uint64_t* number) TILEDB_NOEXCEPT;
TILEDB_EXPORT int32_t tiledb_query_get_status_details(
    tiledb_ctx_t* ctx, tiledb_query_t* query, tiledb_query_status_details_t* details) TILEDB_NOEXCEPT;

/* Rectangles of any number of dimensions. */

TILEDB_EXPORT capi_return_t tiledb_ndrectangle_alloc(
    tiledb_ctx_t* ctx, tiledb_domain_t* domain, tiledb_ndrectangle_t** ndr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_dump_str(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_free(tiledb_ndrectangle_t** ndr) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_get_dim_num(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, uint32_t* ndim) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_get_dtype(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, uint32_t idx, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_get_dtype_from_name(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, const char* name, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_get_range(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, uint32_t idx, tiledb_range_t* range) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_get_range_from_name(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, const char* name, tiledb_range_t* range) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_set_range(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, uint32_t idx, tiledb_range_t* range) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_ndrectangle_set_range_for_name(
    tiledb_ctx_t* ctx, tiledb_ndrectangle_t* ndr, const char* name, tiledb_range_t* range) TILEDB_NOEXCEPT;

/* Recursive listings. */

TILEDB_DEPRECATED_EXPORT capi_return_t tiledb_vfs_ls_recursive(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* path, tiledb_ls_callback_t callback, void* data) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_vfs_ls_recursive_v2(
    tiledb_ctx_t* ctx, tiledb_vfs_t* vfs, const char* path, tiledb_ls_callback_v2_t callback,
    void* data) TILEDB_NOEXCEPT;

/* Schemas. */

TILEDB_EXPORT capi_return_t tiledb_array_schema_add_enumeration(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_enumeration_t* enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_alloc_at_timestamp(
    tiledb_ctx_t* ctx, tiledb_array_type_t kind, uint64_t timestamp,
    tiledb_array_schema_t** array_schema) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_current_domain(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_current_domain_t** current_domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_enumeration_from_attribute_name(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, const char* attribute_name,
    tiledb_enumeration_t** enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_enumeration_from_name(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, const char* enumeration_name,
    tiledb_enumeration_t** enumeration) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_current_domain(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, tiledb_current_domain_t* current_domain) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_timestamp_range(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint64_t* lo, uint64_t* hi) TILEDB_NOEXCEPT;

/* Subarrays. */

TILEDB_EXPORT capi_return_t tiledb_subarray_add_point_ranges(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, uint32_t dim_idx, const void* start,
    uint64_t number) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_point_ranges_var(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, uint32_t dim_idx, const void* start, uint64_t start_size,
    const uint64_t* start_offsets, uint64_t start_offsets_size) TILEDB_NOEXCEPT;

/* The library: version, constants, log. */

TILEDB_EXPORT capi_return_t tiledb_as_built_dump(tiledb_string_t** out) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_log_warn(tiledb_ctx_t* ctx, const char* message) TILEDB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif

/* Labels of dimensions. */
#ifndef SMALTI_TILEDB_DIMENSION_LABEL_EXPERIMENTAL_H
#define SMALTI_TILEDB_DIMENSION_LABEL_EXPERIMENTAL_H

#include "tiledb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dimension labels. */

TILEDB_EXPORT void tiledb_dimension_label_free(tiledb_dimension_label_t** dimension_label) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_dimension_index(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, uint32_t* dim_index) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_label_attr_name(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, const char** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_label_cell_val_num(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, uint32_t* cell_val_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_label_order(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, tiledb_data_order_t* order) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_label_type(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, tiledb_datatype_t* kind) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_name(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, const char** name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_dimension_label_get_uri(
    tiledb_ctx_t* ctx, tiledb_dimension_label_t* dim_label, const char** uri) TILEDB_NOEXCEPT;

/* Labels of schemas and subarrays. */

TILEDB_EXPORT capi_return_t tiledb_array_schema_add_dimension_label(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint32_t dim_index, const char* name,
    tiledb_data_order_t label_order, tiledb_datatype_t label_type) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_dimension_label_from_index(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint64_t dim_label_index,
    tiledb_dimension_label_t** dim_label) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_dimension_label_from_name(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, const char* label_name,
    tiledb_dimension_label_t** dim_label) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_get_dimension_label_num(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, uint64_t* dim_label_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_has_dimension_label(
    tiledb_ctx_t* ctx, const tiledb_array_schema_t* array_schema, const char* name,
    int32_t* has_dim_label) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_dimension_label_filter_list(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, const char* label_name,
    tiledb_filter_list_t* filter_list) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_array_schema_set_dimension_label_tile_extent(
    tiledb_ctx_t* ctx, tiledb_array_schema_t* array_schema, const char* label_name, tiledb_datatype_t kind,
    const void* tile_extent) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_label_range(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, const char* label_name, const void* start, const void* end,
    const void* stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_add_label_range_var(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, const char* label_name, const void* start, uint64_t start_size,
    const void* end, uint64_t end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_label_name(
    tiledb_ctx_t* ctx, tiledb_subarray_t* subarray, uint32_t dim_idx, const char** label_name) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_label_range(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* label_name, uint64_t range_idx,
    const void** start, const void** end, const void** stride) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_label_range_num(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* label_name, uint64_t* range_num) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_label_range_var(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* label_name, uint64_t range_idx, void* start,
    void* end) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_get_label_range_var_size(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, const char* label_name, uint64_t range_idx,
    uint64_t* start_size, uint64_t* end_size) TILEDB_NOEXCEPT;
TILEDB_EXPORT capi_return_t tiledb_subarray_has_label_ranges(
    tiledb_ctx_t* ctx, const tiledb_subarray_t* subarray, uint32_t dim_idx, int32_t* has_label_range) TILEDB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif

/* Enumerations and codes of the interface. */
#ifndef SMALTI_TILEDB_ENUM_H
#define SMALTI_TILEDB_ENUM_H

/* Codes that functions return. */
#define TILEDB_OK (0)
#define TILEDB_ERR (-1)
#define TILEDB_OOM (-2)
#define TILEDB_INVALID_CONTEXT (-3)
#define TILEDB_INVALID_ERROR (-4)
#define TILEDB_BUDGET_UNAVAILABLE (-5)

/* Kinds of arrays. */
typedef enum {
    TILEDB_DENSE = 0,
    TILEDB_SPARSE = 1
} tiledb_array_type_t;

/* Shapes of current domains. */
typedef enum {
    TILEDB_NDRECTANGLE = 0
} tiledb_current_domain_type_t;

/* Orders of labels. */
typedef enum {
    TILEDB_UNORDERED_DATA = 0,
    TILEDB_INCREASING_DATA = 1,
    TILEDB_DECREASING_DATA = 2
} tiledb_data_order_t;

/* Protocols of REST servers. */
typedef enum {
    TILEDB_DATA_PROTOCOL_v2 = 0,
    TILEDB_DATA_PROTOCOL_v3 = 1
} tiledb_data_protocol_t;

/* Types of values: numbers, texts, dates and times, geometries. */
typedef enum {
    TILEDB_INT32 = 0,
    TILEDB_INT64 = 1,
    TILEDB_FLOAT32 = 2,
    TILEDB_FLOAT64 = 3,
    TILEDB_CHAR = 4,
    TILEDB_INT8 = 5,
    TILEDB_UINT8 = 6,
    TILEDB_INT16 = 7,
    TILEDB_UINT16 = 8,
    TILEDB_UINT32 = 9,
    TILEDB_UINT64 = 10,
    TILEDB_STRING_ASCII = 11,
    TILEDB_STRING_UTF8 = 12,
    TILEDB_STRING_UTF16 = 13,
    TILEDB_STRING_UTF32 = 14,
    TILEDB_STRING_UCS2 = 15,
    TILEDB_STRING_UCS4 = 16,
    TILEDB_ANY = 17,
    TILEDB_DATETIME_YEAR = 18,
    TILEDB_DATETIME_MONTH = 19,
    TILEDB_DATETIME_WEEK = 20,
    TILEDB_DATETIME_DAY = 21,
    TILEDB_DATETIME_HR = 22,
    TILEDB_DATETIME_MIN = 23,
    TILEDB_DATETIME_SEC = 24,
    TILEDB_DATETIME_MS = 25,
    TILEDB_DATETIME_US = 26,
    TILEDB_DATETIME_NS = 27,
    TILEDB_DATETIME_PS = 28,
    TILEDB_DATETIME_FS = 29,
    TILEDB_DATETIME_AS = 30,
    TILEDB_TIME_HR = 31,
    TILEDB_TIME_MIN = 32,
    TILEDB_TIME_SEC = 33,
    TILEDB_TIME_MS = 34,
    TILEDB_TIME_US = 35,
    TILEDB_TIME_NS = 36,
    TILEDB_TIME_PS = 37,
    TILEDB_TIME_FS = 38,
    TILEDB_TIME_AS = 39,
    TILEDB_BLOB = 40,
    TILEDB_BOOL = 41,
    TILEDB_GEOM_WKB = 42,
    TILEDB_GEOM_WKT = 43
} tiledb_datatype_t;

/* Encryption at rest. */
typedef enum {
    TILEDB_NO_ENCRYPTION = 0,
    TILEDB_AES_256_GCM = 1
} tiledb_encryption_type_t;

/* Where the values of a field of a query come from. */
typedef enum {
    TILEDB_ATTRIBUTE_FIELD = 0,
    TILEDB_DIMENSION_FIELD = 1,
    TILEDB_AGGREGATE_FIELD = 2
} tiledb_field_origin_t;

/* File systems. */
typedef enum {
    TILEDB_HDFS = 0,
    TILEDB_S3 = 1,
    TILEDB_AZURE = 2,
    TILEDB_GCS = 3,
    TILEDB_MEMFS = 4,
    TILEDB_TILEDBFS = 5
} tiledb_filesystem_t;

/* Options of filters. */
typedef enum {
    TILEDB_COMPRESSION_LEVEL = 0,
    TILEDB_BIT_WIDTH_MAX_WINDOW = 1,
    TILEDB_POSITIVE_DELTA_MAX_WINDOW = 2,
    TILEDB_SCALE_FLOAT_BYTEWIDTH = 3,
    TILEDB_SCALE_FLOAT_FACTOR = 4,
    TILEDB_SCALE_FLOAT_OFFSET = 5,
    TILEDB_WEBP_QUALITY = 6,
    TILEDB_WEBP_INPUT_FORMAT = 7,
    TILEDB_WEBP_LOSSLESS = 8,
    TILEDB_COMPRESSION_REINTERPRET_DATATYPE = 9
} tiledb_filter_option_t;

/* Filters. */
typedef enum {
    TILEDB_FILTER_NONE = 0,
    TILEDB_FILTER_GZIP = 1,
    TILEDB_FILTER_ZSTD = 2,
    TILEDB_FILTER_LZ4 = 3,
    TILEDB_FILTER_RLE = 4,
    TILEDB_FILTER_BZIP2 = 5,
    TILEDB_FILTER_DOUBLE_DELTA = 6,
    TILEDB_FILTER_BIT_WIDTH_REDUCTION = 7,
    TILEDB_FILTER_BITSHUFFLE = 8,
    TILEDB_FILTER_BYTESHUFFLE = 9,
    TILEDB_FILTER_POSITIVE_DELTA = 10,
    TILEDB_FILTER_CHECKSUM_MD5 = 12,
    TILEDB_FILTER_CHECKSUM_SHA256 = 13,
    TILEDB_FILTER_DICTIONARY = 14,
    TILEDB_FILTER_SCALE_FLOAT = 15,
    TILEDB_FILTER_XOR = 16,
    TILEDB_FILTER_DEPRECATED = 17,
    TILEDB_FILTER_WEBP = 18,
    TILEDB_FILTER_DELTA = 19,
    TILEDB_INTERNAL_FILTER_COUNT = 20
} tiledb_filter_type_t;

/* Pixels that the filter WebP takes. */
typedef enum {
    TILEDB_WEBP_NONE = 0,
    TILEDB_WEBP_RGB = 1,
    TILEDB_WEBP_BGR = 2,
    TILEDB_WEBP_RGBA = 3,
    TILEDB_WEBP_BGRA = 4
} tiledb_filter_webp_format_t;

/* Orders of cells and tiles. */
typedef enum {
    TILEDB_ROW_MAJOR = 0,
    TILEDB_COL_MAJOR = 1,
    TILEDB_GLOBAL_ORDER = 2,
    TILEDB_UNORDERED = 3,
    TILEDB_HILBERT = 4
} tiledb_layout_t;

/* Kinds of files kept in arrays. */
typedef enum {
    TILEDB_MIME_AUTODETECT = 0,
    TILEDB_MIME_TIFF = 1,
    TILEDB_MIME_PDF = 2
} tiledb_mime_type_t;

/* What stands at a path. */
typedef enum {
    TILEDB_INVALID = 0,
    TILEDB_GROUP = 1,
    TILEDB_ARRAY = 2
} tiledb_object_t;

/* Conditions of conditions. */
typedef enum {
    TILEDB_AND = 0,
    TILEDB_OR = 1,
    TILEDB_NOT = 2
} tiledb_query_condition_combination_op_t;

/* Comparisons. */
typedef enum {
    TILEDB_LT = 0,
    TILEDB_LE = 1,
    TILEDB_GT = 2,
    TILEDB_GE = 3,
    TILEDB_EQ = 4,
    TILEDB_NE = 5,
    TILEDB_IN = 6,
    TILEDB_NOT_IN = 7
} tiledb_query_condition_op_t;

/* Why a query is incomplete. */
typedef enum {
    TILEDB_REASON_NONE = 0,
    TILEDB_REASON_USER_BUFFER_SIZE = 1,
    TILEDB_REASON_MEMORY_BUDGET = 2
} tiledb_query_status_details_reason_t;

/* States of a query. */
typedef enum {
    TILEDB_FAILED = 0,
    TILEDB_COMPLETED = 1,
    TILEDB_INPROGRESS = 2,
    TILEDB_INCOMPLETE = 3,
    TILEDB_UNINITIALIZED = 4,
    TILEDB_INITIALIZED = 5
} tiledb_query_status_t;

/* Kinds of queries, and of opening. */
typedef enum {
    TILEDB_READ = 0,
    TILEDB_WRITE = 1,
    TILEDB_DELETE = 2,
    TILEDB_UPDATE = 3,
    TILEDB_MODIFY_EXCLUSIVE = 4
} tiledb_query_type_t;

/* Formats of serialisation. */
typedef enum {
    TILEDB_JSON = 0,
    TILEDB_CAPNP = 1
} tiledb_serialization_type_t;

/* Ways to open a file. */
typedef enum {
    TILEDB_VFS_READ = 0,
    TILEDB_VFS_WRITE = 1,
    TILEDB_VFS_APPEND = 2
} tiledb_vfs_mode_t;

/* Orders of walks through a hierarchy. */
typedef enum {
    TILEDB_PREORDER = 0,
    TILEDB_POSTORDER = 1
} tiledb_walk_order_t;

#endif

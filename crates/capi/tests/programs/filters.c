/* Filters with all their options, and lists of them. */
#include "told.h"

/* Numbers that are no filters of programs: encryption has one of them. */
#define HAS_NO_NAME(kind) ((kind) == 11 || (kind) == TILEDB_FILTER_DEPRECATED)

static const char* filter_name(int kind) {
    const char* name = "unknown";
    tiledb_filter_type_to_str((tiledb_filter_type_t)kind, &name);
    return name;
}

/* What a filter answers when it is asked for each of the options. */
static void defaults(void) {
    int kind, option;
    printf("defaults\n");
    for (kind = 0; kind <= TILEDB_FILTER_DELTA; kind++) {
        tiledb_filter_t* filter = NULL;
        tiledb_filter_type_t back = TILEDB_FILTER_NONE;
        int32_t told;
        if (HAS_NO_NAME(kind)) {
            continue;
        }
        told = tiledb_filter_alloc(ctx, (tiledb_filter_type_t)kind, &filter);
        printf("  %d %s: %d", kind, filter_name(kind), (int)told);
        if (told != TILEDB_OK) {
            printf("\n");
            continue;
        }
        CHECK(tiledb_filter_get_type(ctx, filter, &back));
        printf(" %d:", (int)back);
        for (option = 0; option <= TILEDB_COMPRESSION_REINTERPRET_DATATYPE; option++) {
            /* Wide enough for each of them. */
            union {
                int32_t level;
                uint32_t window;
                uint64_t width;
                double factor;
                float quality;
                uint8_t small;
            } value;
            memset(&value, 0, sizeof value);
            if (tiledb_filter_get_option(ctx, filter, (tiledb_filter_option_t)option, &value) != TILEDB_OK) {
                continue;
            }
            switch (option) {
                case TILEDB_COMPRESSION_LEVEL: printf(" level %d", (int)value.level); break;
                case TILEDB_BIT_WIDTH_MAX_WINDOW:
                case TILEDB_POSITIVE_DELTA_MAX_WINDOW: printf(" window %u", (unsigned)value.window); break;
                case TILEDB_SCALE_FLOAT_BYTEWIDTH: printf(" width %d", (int)value.width); break;
                case TILEDB_SCALE_FLOAT_FACTOR: printf(" factor %g", value.factor); break;
                case TILEDB_SCALE_FLOAT_OFFSET: printf(" offset %g", value.factor); break;
                case TILEDB_WEBP_QUALITY: printf(" quality %g", (double)value.quality); break;
                case TILEDB_WEBP_INPUT_FORMAT: printf(" format %d", (int)value.small); break;
                case TILEDB_WEBP_LOSSLESS: printf(" lossless %d", (int)value.small); break;
                default: printf(" type %d", (int)value.small); break;
            }
        }
        printf("\n");
        tiledb_filter_free(&filter);
    }
}

#define SET_AND_GET(kind, option, type, given, format)                \
    do {                                                              \
        tiledb_filter_t* filter = NULL;                               \
        const type value = (given);                                   \
        type back = (type)0;                                          \
        int32_t told;                                                 \
        CHECK(tiledb_filter_alloc(ctx, kind, &filter));               \
        told = tiledb_filter_set_option(ctx, filter, option, &value); \
        printf("  " #kind " " #option " " #given ": %d", (int)told);  \
        told = tiledb_filter_get_option(ctx, filter, option, &back);  \
        printf(" %d", (int)told);                                     \
        if (told == TILEDB_OK) {                                      \
            printf(" " format, back);                                 \
        }                                                             \
        printf("\n");                                                 \
        tiledb_filter_free(&filter);                                  \
    } while (0)

static void options(void) {
    printf("options\n");
    SET_AND_GET(TILEDB_FILTER_GZIP, TILEDB_COMPRESSION_LEVEL, int32_t, 5, "%d");
    SET_AND_GET(TILEDB_FILTER_GZIP, TILEDB_COMPRESSION_LEVEL, int32_t, 99, "%d");
    SET_AND_GET(TILEDB_FILTER_GZIP, TILEDB_COMPRESSION_LEVEL, int32_t, -7, "%d");
    SET_AND_GET(TILEDB_FILTER_ZSTD, TILEDB_COMPRESSION_LEVEL, int32_t, 22, "%d");
    SET_AND_GET(TILEDB_FILTER_ZSTD, TILEDB_COMPRESSION_LEVEL, int32_t, 23, "%d");
    SET_AND_GET(TILEDB_FILTER_ZSTD, TILEDB_COMPRESSION_LEVEL, int32_t, -7, "%d");
    SET_AND_GET(TILEDB_FILTER_LZ4, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_BZIP2, TILEDB_COMPRESSION_LEVEL, int32_t, 9, "%d");
    SET_AND_GET(TILEDB_FILTER_BZIP2, TILEDB_COMPRESSION_LEVEL, int32_t, 10, "%d");
    SET_AND_GET(TILEDB_FILTER_RLE, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_DICTIONARY, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_DOUBLE_DELTA, TILEDB_COMPRESSION_REINTERPRET_DATATYPE, uint8_t, TILEDB_INT16, "%d");
    SET_AND_GET(TILEDB_FILTER_DELTA, TILEDB_COMPRESSION_REINTERPRET_DATATYPE, uint8_t, TILEDB_UINT64, "%d");
    SET_AND_GET(TILEDB_FILTER_DELTA, TILEDB_COMPRESSION_REINTERPRET_DATATYPE, uint8_t, TILEDB_FLOAT32, "%d");
    SET_AND_GET(TILEDB_FILTER_BIT_WIDTH_REDUCTION, TILEDB_BIT_WIDTH_MAX_WINDOW, uint32_t, 1000, "%u");
    SET_AND_GET(TILEDB_FILTER_BIT_WIDTH_REDUCTION, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_POSITIVE_DELTA, TILEDB_POSITIVE_DELTA_MAX_WINDOW, uint32_t, 77, "%u");
    SET_AND_GET(TILEDB_FILTER_POSITIVE_DELTA, TILEDB_BIT_WIDTH_MAX_WINDOW, uint32_t, 77, "%u");
    SET_AND_GET(TILEDB_FILTER_SCALE_FLOAT, TILEDB_SCALE_FLOAT_BYTEWIDTH, uint64_t, 2, "%" PRIu64);
    SET_AND_GET(TILEDB_FILTER_SCALE_FLOAT, TILEDB_SCALE_FLOAT_BYTEWIDTH, uint64_t, 3, "%" PRIu64);
    SET_AND_GET(TILEDB_FILTER_SCALE_FLOAT, TILEDB_SCALE_FLOAT_FACTOR, double, 0.5, "%g");
    SET_AND_GET(TILEDB_FILTER_SCALE_FLOAT, TILEDB_SCALE_FLOAT_OFFSET, double, -2.0, "%g");
    SET_AND_GET(TILEDB_FILTER_SCALE_FLOAT, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_QUALITY, float, 50.0f, "%g");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_QUALITY, float, 101.0f, "%g");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_QUALITY, float, -1.0f, "%g");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_INPUT_FORMAT, uint8_t, TILEDB_WEBP_RGBA, "%d");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_INPUT_FORMAT, uint8_t, 9, "%d");
    SET_AND_GET(TILEDB_FILTER_WEBP, TILEDB_WEBP_LOSSLESS, uint8_t, 1, "%d");
    SET_AND_GET(TILEDB_FILTER_BITSHUFFLE, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_CHECKSUM_MD5, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_XOR, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
    SET_AND_GET(TILEDB_FILTER_NONE, TILEDB_COMPRESSION_LEVEL, int32_t, 3, "%d");
}

static void lists(void) {
    const tiledb_filter_type_t kinds[] = {TILEDB_FILTER_BYTESHUFFLE, TILEDB_FILTER_ZSTD, TILEDB_FILTER_CHECKSUM_SHA256};
    tiledb_filter_list_t* list = NULL;
    tiledb_filter_t* filter = NULL;
    uint32_t count = 99, chunk = 0, idx;
    printf("lists\n");
    CODE(tiledb_filter_list_alloc(ctx, &list));
    CODE(tiledb_filter_list_get_nfilters(ctx, list, &count));
    tell_number("filters", count);
    CODE(tiledb_filter_list_get_max_chunk_size(ctx, list, &chunk));
    tell_number("chunk", chunk);
    for (idx = 0; idx < sizeof kinds / sizeof *kinds; idx++) {
        CHECK(tiledb_filter_alloc(ctx, kinds[idx], &filter));
        CODE(tiledb_filter_list_add_filter(ctx, list, filter));
        tiledb_filter_free(&filter);
    }
    CODE(tiledb_filter_list_set_max_chunk_size(ctx, list, 1000));
    CODE(tiledb_filter_list_get_max_chunk_size(ctx, list, &chunk));
    tell_number("chunk", chunk);
    CODE(tiledb_filter_list_get_nfilters(ctx, list, &count));
    tell_number("filters", count);
    for (idx = 0; idx < count + 1; idx++) {
        tiledb_filter_type_t kind = TILEDB_FILTER_NONE;
        filter = NULL;
        if (CODE(tiledb_filter_list_get_filter_from_index(ctx, list, idx, &filter)) == TILEDB_OK && filter != NULL) {
            CHECK(tiledb_filter_get_type(ctx, filter, &kind));
            tell_text("filter", filter_name(kind));
            tiledb_filter_free(&filter);
        } else {
            tell_number("no filter", filter == NULL);
        }
    }
    CODE(tiledb_filter_list_add_filter(ctx, list, NULL));
    CODE(tiledb_filter_list_get_nfilters(ctx, NULL, &count));
    CODE(tiledb_filter_list_get_nfilters(ctx, list, NULL));
    tiledb_filter_list_free(&list);
    tell_number("freed", list == NULL);
    CODE(tiledb_filter_alloc(ctx, (tiledb_filter_type_t)77, &filter));
    CODE(tiledb_filter_alloc(ctx, TILEDB_FILTER_GZIP, NULL));
}

/* Which filters a type of attribute takes: the check comes with the attribute or with the schema. Dictionaries are for texts. */
static void fits(void) {
    const tiledb_datatype_t types[] = {TILEDB_INT32, TILEDB_FLOAT32, TILEDB_STRING_ASCII, TILEDB_BLOB};
    size_t at;
    int kind;
    printf("fits\n");
    for (at = 0; at < sizeof types / sizeof *types; at++) {
        const char* type = NULL;
        CHECK(tiledb_datatype_to_str(types[at], &type));
        for (kind = 0; kind <= TILEDB_FILTER_DELTA; kind++) {
            const int32_t bounds[] = {1, 4};
            const int32_t extent = 2;
            const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
            tiledb_array_schema_t* schema;
            tiledb_attribute_t* attribute = NULL;
            tiledb_filter_t* filter = NULL;
            tiledb_filter_list_t* list = NULL;
            if (kind == TILEDB_FILTER_DICTIONARY && types[at] != TILEDB_STRING_ASCII) {
                continue;
            }
            if (HAS_NO_NAME(kind) || tiledb_filter_alloc(ctx, (tiledb_filter_type_t)kind, &filter) != TILEDB_OK) {
                continue;
            }
            schema = schema_with(TILEDB_SPARSE, &dimension, 1, NULL, 0);
            CHECK(tiledb_filter_list_alloc(ctx, &list));
            CHECK(tiledb_filter_list_add_filter(ctx, list, filter));
            CHECK(tiledb_attribute_alloc(ctx, "a", types[at], &attribute));
            if (types[at] == TILEDB_STRING_ASCII) {
                CHECK(tiledb_attribute_set_cell_val_num(ctx, attribute, TILEDB_VAR_NUM));
            }
            printf("  %s %s:", type, filter_name(kind));
            printf(" %d", (int)tiledb_attribute_set_filter_list(ctx, attribute, list));
            printf(" %d", (int)tiledb_array_schema_add_attribute(ctx, schema, attribute));
            printf(" %d\n", (int)tiledb_array_schema_check(ctx, schema));
            tiledb_filter_list_free(&list);
            tiledb_filter_free(&filter);
            tiledb_attribute_free(&attribute);
            tiledb_array_schema_free(&schema);
        }
    }
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    defaults();
    options();
    lists();
    fits();
    return end();
}

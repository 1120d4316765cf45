/* Names and numbers of all enumerations of the interface, sizes of types, and constants of the library. */
#include "told.h"

#include <tiledb/tiledb_serialization.h>

/* Every number up to the last one and one more, by its name, and back again. */
#define ENUMERATION(type, to_str, from_str, last)                                  \
    do {                                                                           \
        int number;                                                                \
        type back = (type)0;                                                       \
        printf(#type "\n");                                                        \
        for (number = 0; number <= (last) + 1; number++) {                         \
            const char* word = NULL;                                               \
            const int32_t told = to_str((type)number, &word);                      \
            if (told != TILEDB_OK) {                                               \
                printf("  %d: code %d\n", number, (int)told);                      \
                continue;                                                          \
            }                                                                      \
            printf("  %d: %s, ", number, word);                                    \
            printf("code %d, ", (int)from_str(word, &back));                       \
            printf("%d\n", (int)back);                                             \
        }                                                                          \
        printf("  no such word: code %d\n", (int)from_str("no such word", &back)); \
        printf("  an empty word: code %d\n", (int)from_str("", &back));            \
    } while (0)

static void enumerations(void) {
    ENUMERATION(tiledb_array_type_t, tiledb_array_type_to_str, tiledb_array_type_from_str, TILEDB_SPARSE);
    ENUMERATION(tiledb_data_order_t, tiledb_data_order_to_str, tiledb_data_order_from_str, TILEDB_DECREASING_DATA);
    ENUMERATION(tiledb_datatype_t, tiledb_datatype_to_str, tiledb_datatype_from_str, TILEDB_GEOM_WKT);
    ENUMERATION(
        tiledb_encryption_type_t, tiledb_encryption_type_to_str, tiledb_encryption_type_from_str, TILEDB_AES_256_GCM);
    ENUMERATION(tiledb_filesystem_t, tiledb_filesystem_to_str, tiledb_filesystem_from_str, TILEDB_MEMFS);
    ENUMERATION(tiledb_filter_option_t, tiledb_filter_option_to_str, tiledb_filter_option_from_str,
        TILEDB_COMPRESSION_REINTERPRET_DATATYPE);
    ENUMERATION(tiledb_filter_type_t, tiledb_filter_type_to_str, tiledb_filter_type_from_str, TILEDB_FILTER_DELTA);
    ENUMERATION(tiledb_layout_t, tiledb_layout_to_str, tiledb_layout_from_str, TILEDB_HILBERT);
    ENUMERATION(tiledb_mime_type_t, tiledb_mime_type_to_str, tiledb_mime_type_from_str, TILEDB_MIME_PDF);
    ENUMERATION(tiledb_object_t, tiledb_object_type_to_str, tiledb_object_type_from_str, TILEDB_ARRAY);
    ENUMERATION(tiledb_query_status_t, tiledb_query_status_to_str, tiledb_query_status_from_str, TILEDB_INITIALIZED);
    ENUMERATION(tiledb_query_type_t, tiledb_query_type_to_str, tiledb_query_type_from_str, TILEDB_MODIFY_EXCLUSIVE);
    ENUMERATION(tiledb_serialization_type_t, tiledb_serialization_type_to_str, tiledb_serialization_type_from_str,
        TILEDB_CAPNP);
    ENUMERATION(tiledb_vfs_mode_t, tiledb_vfs_mode_to_str, tiledb_vfs_mode_from_str, TILEDB_VFS_APPEND);
    ENUMERATION(tiledb_walk_order_t, tiledb_walk_order_to_str, tiledb_walk_order_from_str, TILEDB_POSTORDER);
}

static void sizes(void) {
    int number;
    printf("sizes\n");
    for (number = 0; number <= TILEDB_GEOM_WKT; number++) {
        printf("  %d: %d\n", number, (int)tiledb_datatype_size((tiledb_datatype_t)number));
    }
}

static void constants(void) {
    int32_t major = 0, minor = 0, patch = 0;
    tiledb_string_t* built = NULL;
    const char* text = NULL;
    size_t length = 0;
    printf("constants\n");
    tiledb_version(&major, &minor, &patch);
    printf("  version %d.%d.%d\n", (int)major, (int)minor, (int)patch);
    tell_text("timestamps", tiledb_timestamps());
    tell_number("values of any number", tiledb_var_num());
    tell_number("longest path", tiledb_max_path());
    tell_number("size of an offset", tiledb_offset_size());
    tell_number("now is after 2020", tiledb_timestamp_now_ms() > UINT64_C(1577836800000));
    tell_number("code of OK", (uint64_t)tiledb_status_code(TILEDB_OK));
    tell_number("code of an error", (uint64_t)-tiledb_status_code(TILEDB_ERR));
    CODE(tiledb_as_built_dump(&built));
    CHECK(tiledb_string_view(built, &text, &length));
    tell_number("what was built is an object of JSON", length > 2 && text[0] == '{');
    CODE(tiledb_string_free(&built));
    CODE(tiledb_as_built_dump(NULL));
}

static void paths(void) {
    const char* const uris[] = {"file:///a/b", "mem://a", "s3://bucket/a"};
    char path[64];
    size_t idx;
    printf("paths\n");
    for (idx = 0; idx < sizeof uris / sizeof *uris; idx++) {
        uint32_t length = sizeof path;
        const int32_t told = tiledb_uri_to_path(ctx, uris[idx], path, &length);
        printf("  %s: code %d, ", uris[idx], (int)told);
        printf("%u %s\n", (unsigned)length, told == TILEDB_OK ? path : "-");
    }
    {
        uint32_t length = 3;
        CODE(tiledb_uri_to_path(ctx, "file:///a/long/path", path, &length));
    }
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    enumerations();
    sizes();
    constants();
    paths();
    return end();
}

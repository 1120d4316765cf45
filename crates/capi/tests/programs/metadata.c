/* Metadata of arrays: values of all kinds, over time, by key and by number. */
#include "told.h"

static const int32_t bounds[] = {1, 10};
static const int32_t extent = 5;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void tell_metadata(tiledb_array_t* array, const char* key) {
    tiledb_datatype_t type = TILEDB_ANY;
    uint32_t count = 0;
    const void* value = NULL;
    CODE(tiledb_array_get_metadata(ctx, array, key, &type, &count, &value));
    if (value == NULL) {
        printf("  %s: null\n", key);
    } else {
        printf("  %s: type %d, %u of them\n", key, (int)type, (unsigned)count);
        tell_cells("value", type, value, count * tiledb_datatype_size(type));
    }
}

static void metadata(const char* uri) {
    const int32_t numbers[] = {4, 5, 6};
    const double real = 2.5;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 40);
    tiledb_datatype_t type = TILEDB_ANY;
    uint64_t count = 99, idx;
    int32_t has = 9;
    printf("metadata\n");
    CODE(tiledb_array_put_metadata(ctx, array, "numbers", TILEDB_INT32, 3, numbers));
    CODE(tiledb_array_put_metadata(ctx, array, "real", TILEDB_FLOAT64, 1, &real));
    CODE(tiledb_array_put_metadata(ctx, array, "text", TILEDB_STRING_UTF8, 5, "words"));
    CODE(tiledb_array_put_metadata(ctx, array, "empty", TILEDB_STRING_UTF8, 0, NULL));
    CODE(tiledb_array_put_metadata(ctx, array, "gone", TILEDB_INT32, 1, numbers));
    CODE(tiledb_array_put_metadata(ctx, array, "any", TILEDB_ANY, 1, numbers));
    CODE(tiledb_array_put_metadata(ctx, array, NULL, TILEDB_INT32, 1, numbers));
    CODE(tiledb_array_put_metadata(ctx, array, "", TILEDB_INT32, 1, numbers));
    CODE(tiledb_array_get_metadata_num(ctx, array, &count));
    close_array(array);
    array = array_at(uri, TILEDB_WRITE, 50);
    CODE(tiledb_array_delete_metadata(ctx, array, "gone"));
    CODE(tiledb_array_delete_metadata(ctx, array, "never there"));
    CODE(tiledb_array_put_metadata(ctx, array, "real", TILEDB_INT32, 2, numbers));
    close_array(array);
    array = array_at(uri, TILEDB_READ, 0);
    CODE(tiledb_array_get_metadata_num(ctx, array, &count));
    tell_number("entries", count);
    for (idx = 0; idx < count; idx++) {
        const char* key = NULL;
        uint32_t key_len = 0, value_count = 0;
        const void* value = NULL;
        CHECK(tiledb_array_get_metadata_from_index(ctx, array, idx, &key, &key_len, &type, &value_count, &value));
        printf("  %d: %.*s %d %u\n", (int)idx, (int)key_len, key, (int)type, (unsigned)value_count);
    }
    {
        const char* key = NULL;
        uint32_t key_len = 0, value_count = 0;
        const void* value = NULL;
        CODE(tiledb_array_get_metadata_from_index(ctx, array, count, &key, &key_len, &type, &value_count, &value));
    }
    tell_metadata(array, "numbers");
    tell_metadata(array, "real");
    tell_metadata(array, "text");
    tell_metadata(array, "empty");
    tell_metadata(array, "gone");
    CODE(tiledb_array_has_metadata_key(ctx, array, "text", &type, &has));
    printf("  has %d, type %d\n", (int)has, (int)type);
    CODE(tiledb_array_has_metadata_key(ctx, array, "gone", &type, &has));
    tell_number("has", (uint64_t)has);
    CODE(tiledb_array_put_metadata(ctx, array, "late", TILEDB_INT32, 1, numbers));
    CODE(tiledb_array_delete_metadata(ctx, array, "text"));
    close_array(array);
    array = array_at(uri, TILEDB_READ, 45);
    tell_metadata(array, "real");
    tell_metadata(array, "gone");
    close_array(array);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    create_array(in_folder("array"), schema_with(TILEDB_SPARSE, &dimension, 1, &attribute, 1));
    metadata(in_folder("array"));
    return end();
}

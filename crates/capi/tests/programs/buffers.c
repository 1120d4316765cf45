/* Buffers and lists of them, which borrow the bytes that they are given. */
#include "told.h"

static void single(void) {
    tiledb_buffer_t* buffer = NULL;
    tiledb_datatype_t type = TILEDB_ANY;
    char bytes[] = "twelve bytes";
    void* data = bytes;
    uint64_t byte_len = 99;
    printf("single\n");
    CODE(tiledb_buffer_alloc(ctx, &buffer));
    CODE(tiledb_buffer_get_type(ctx, buffer, &type));
    tell_number("type", (uint64_t)type);
    CODE(tiledb_buffer_get_data(ctx, buffer, &data, &byte_len));
    printf("  null %d, length %d\n", data == NULL, (int)byte_len);
    CODE(tiledb_buffer_set_type(ctx, buffer, TILEDB_INT32));
    CODE(tiledb_buffer_get_type(ctx, buffer, &type));
    tell_number("type", (uint64_t)type);
    CODE(tiledb_buffer_set_data(ctx, buffer, bytes, 12));
    CODE(tiledb_buffer_get_data(ctx, buffer, &data, &byte_len));
    printf("  borrowed %d, length %d\n", data == bytes, (int)byte_len);
    CODE(tiledb_buffer_set_data(ctx, buffer, NULL, 0));
    CODE(tiledb_buffer_get_data(ctx, buffer, NULL, &byte_len));
    CODE(tiledb_buffer_get_data(ctx, buffer, &data, NULL));
    CODE(tiledb_buffer_get_data(ctx, NULL, &data, &byte_len));
    CODE(tiledb_buffer_get_type(ctx, buffer, NULL));
    tiledb_buffer_free(&buffer);
    tell_number("freed", buffer == NULL);
    CODE(tiledb_buffer_alloc(ctx, NULL));
}

static void lists(void) {
    tiledb_buffer_list_t* list = NULL;
    tiledb_buffer_t* buffer = NULL;
    void* data = NULL;
    uint64_t count = 99, size = 99, byte_len = 99;
    printf("lists\n");
    CODE(tiledb_buffer_list_alloc(ctx, &list));
    CODE(tiledb_buffer_list_get_num_buffers(ctx, list, &count));
    tell_number("buffers", count);
    CODE(tiledb_buffer_list_get_total_size(ctx, list, &size));
    tell_number("size", size);
    CODE(tiledb_buffer_list_get_buffer(ctx, list, 0, &buffer));
    tell_number("none", buffer == NULL);
    CODE(tiledb_buffer_list_flatten(ctx, list, &buffer));
    CODE(tiledb_buffer_get_data(ctx, buffer, &data, &byte_len));
    tell_number("flat length", byte_len);
    tiledb_buffer_free(&buffer);
    CODE(tiledb_buffer_list_get_num_buffers(ctx, list, NULL));
    CODE(tiledb_buffer_list_flatten(ctx, list, NULL));
    CODE(tiledb_buffer_list_get_total_size(ctx, NULL, &size));
    tiledb_buffer_list_free(&list);
    tell_number("freed", list == NULL);
    CODE(tiledb_buffer_list_alloc(ctx, NULL));
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    single();
    lists();
    return end();
}

/* What the programs of this folder share: ending on a failure, telling codes, errors and cells, making arrays. */
#ifndef TOLD_H
#define TOLD_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <tiledb/tiledb.h>
#include <tiledb/tiledb_experimental.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tiledb_ctx_t* ctx;
static const char* folder;

/* Prints a text in which the folder is called @, so that no line depends on where the program runs. */
static inline void print_text(const char* text, size_t length) {
    const size_t folder_len = strlen(folder);
    size_t at = 0;
    while (at < length) {
        if (length - at >= 7 && memcmp(text + at, "file://", 7) == 0) {
            at += 7;
        } else if (length - at >= folder_len && memcmp(text + at, folder, folder_len) == 0) {
            putchar('@');
            at += folder_len;
        } else {
            putchar((unsigned char)text[at] < ' ' && text[at] != '\n' ? '?' : text[at]);
            at++;
        }
    }
}

static inline void tell_text(const char* what, const char* text) {
    printf("  %s: ", what);
    if (text == NULL) {
        printf("null");
    } else {
        print_text(text, strlen(text));
    }
    printf("\n");
}

static inline void tell_number(const char* what, uint64_t number) {
    printf("  %s: %" PRIu64 "\n", what, number);
}

/* The text of an error, which is freed. */
static inline void tell_error(tiledb_error_t** error) {
    const char* message = NULL;
    if (*error == NULL) {
        printf("  no error\n");
        return;
    }
    tiledb_error_message(*error, &message);
    tell_text("error", message);
    tiledb_error_free(error);
}

static inline void tell_last_error(void) {
    tiledb_error_t* error = NULL;
    tiledb_ctx_get_last_error(ctx, &error);
    tell_error(&error);
}

/* The text of a handle, which is freed. */
static inline void tell_string(const char* what, tiledb_string_t** string) {
    const char* text = NULL;
    size_t length = 0;
    if (*string == NULL) {
        printf("  %s: none\n", what);
        return;
    }
    tiledb_string_view(*string, &text, &length);
    printf("  %s: ", what);
    print_text(text, length);
    printf("\n");
    tiledb_string_free(string);
}

/* Ends the program, with the last error of the context, where a call did not go well. */
static inline void check(int32_t returned, const char* call) {
    if (returned != TILEDB_OK) {
        printf("%s: %d\n", call, (int)returned);
        tell_last_error();
        exit(1);
    }
}

/* Prints the name of the function and its code. */
static inline int32_t tell_code(int32_t returned, const char* call) {
    printf("  %.*s: %d\n", (int)strcspn(call, "("), call, (int)returned);
    return returned;
}

#define CHECK(call) check((call), #call)
#define CODE(call) tell_code((call), #call)
#define REFUSED(call)             \
    do {                          \
        tell_code((call), #call); \
        tell_last_error();        \
    } while (0)

/* Cells of a type, as many as there are bytes. */
static inline void tell_cells(const char* what, tiledb_datatype_t type, const void* data, uint64_t byte_len) {
    const uint64_t size = tiledb_datatype_size(type);
    uint64_t idx;
    printf("  %s:", what);
    for (idx = 0; idx < byte_len / size; idx++) {
        switch (type) {
            case TILEDB_INT8: printf(" %d", (int)((const int8_t*)data)[idx]); break;
            case TILEDB_BOOL:
            case TILEDB_UINT8: printf(" %d", (int)((const uint8_t*)data)[idx]); break;
            case TILEDB_INT16: printf(" %d", (int)((const int16_t*)data)[idx]); break;
            case TILEDB_UINT16: printf(" %d", (int)((const uint16_t*)data)[idx]); break;
            case TILEDB_INT32: printf(" %d", (int)((const int32_t*)data)[idx]); break;
            case TILEDB_UINT32: printf(" %u", (unsigned)((const uint32_t*)data)[idx]); break;
            case TILEDB_UINT64: printf(" %" PRIu64, ((const uint64_t*)data)[idx]); break;
            case TILEDB_FLOAT32: printf(" %g", (double)((const float*)data)[idx]); break;
            case TILEDB_FLOAT64: printf(" %g", ((const double*)data)[idx]); break;
            case TILEDB_CHAR:
            case TILEDB_STRING_ASCII:
            case TILEDB_STRING_UTF8: {
                const char shown = ((const char*)data)[idx];
                printf("%s%c", idx == 0 ? " " : "", shown >= ' ' && shown <= '~' ? shown : '?');
                break;
            }
            default: printf(" %" PRId64, ((const int64_t*)data)[idx]); break;
        }
    }
    printf("\n");
}

#define TELL_I32(what, data, byte_len) tell_cells((what), TILEDB_INT32, (data), (byte_len))
#define TELL_U64(what, data, byte_len) tell_cells((what), TILEDB_UINT64, (data), (byte_len))
#define TELL_CHARS(what, data, byte_len) tell_cells((what), TILEDB_CHAR, (data), (byte_len))

/* The path of something in the folder; up to eight of them are kept. */
static inline const char* in_folder(const char* name) {
    static char paths[8][4096];
    static unsigned next;
    char* path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

typedef struct {
    const char* name;
    tiledb_datatype_t type;
    const void* domain;
    const void* extent;
} dimension_of;

typedef struct {
    const char* name;
    tiledb_datatype_t type;
    uint32_t value_count;
    uint8_t is_nullable;
} attribute_of;

static inline tiledb_domain_t* domain_with(const dimension_of* dimensions, size_t count) {
    tiledb_domain_t* domain = NULL;
    size_t idx;
    CHECK(tiledb_domain_alloc(ctx, &domain));
    for (idx = 0; idx < count; idx++) {
        const dimension_of* of = &dimensions[idx];
        tiledb_dimension_t* dimension = NULL;
        CHECK(tiledb_dimension_alloc(ctx, of->name, of->type, of->domain, of->extent, &dimension));
        CHECK(tiledb_domain_add_dimension(ctx, domain, dimension));
        tiledb_dimension_free(&dimension);
    }
    return domain;
}

static inline tiledb_attribute_t* attribute_with(const attribute_of* of) {
    tiledb_attribute_t* attribute = NULL;
    CHECK(tiledb_attribute_alloc(ctx, of->name, of->type, &attribute));
    CHECK(tiledb_attribute_set_cell_val_num(ctx, attribute, of->value_count));
    CHECK(tiledb_attribute_set_nullable(ctx, attribute, of->is_nullable));
    return attribute;
}

static inline tiledb_array_schema_t* schema_with(tiledb_array_type_t kind, const dimension_of* dimensions,
    size_t dimension_count, const attribute_of* attributes, size_t attribute_count) {
    tiledb_array_schema_t* schema = NULL;
    tiledb_domain_t* domain = domain_with(dimensions, dimension_count);
    size_t idx;
    CHECK(tiledb_array_schema_alloc(ctx, kind, &schema));
    CHECK(tiledb_array_schema_set_domain(ctx, schema, domain));
    tiledb_domain_free(&domain);
    for (idx = 0; idx < attribute_count; idx++) {
        tiledb_attribute_t* attribute = attribute_with(&attributes[idx]);
        CHECK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
        tiledb_attribute_free(&attribute);
    }
    return schema;
}

static inline void create_array(const char* uri, tiledb_array_schema_t* schema) {
    CHECK(tiledb_array_create(ctx, uri, schema));
    tiledb_array_schema_free(&schema);
}

/* An array that is open; at a time where that is not zero. */
static inline tiledb_array_t* array_at(const char* uri, tiledb_query_type_t mode, uint64_t time) {
    tiledb_array_t* array = NULL;
    CHECK(tiledb_array_alloc(ctx, uri, &array));
    if (time != 0) {
        CHECK(tiledb_array_set_open_timestamp_end(ctx, array, time));
    }
    CHECK(tiledb_array_open(ctx, array, mode));
    return array;
}

static inline void close_array(tiledb_array_t* array) {
    CHECK(tiledb_array_close(ctx, array));
    tiledb_array_free(&array);
}

static inline tiledb_query_t* query_on(tiledb_array_t* array, tiledb_query_type_t mode, tiledb_layout_t layout) {
    tiledb_query_t* query = NULL;
    CHECK(tiledb_query_alloc(ctx, array, mode, &query));
    CHECK(tiledb_query_set_layout(ctx, query, layout));
    return query;
}

static inline void tell_status(tiledb_query_t* query) {
    tiledb_query_status_t status;
    const char* name = NULL;
    CHECK(tiledb_query_get_status(ctx, query, &status));
    CHECK(tiledb_query_status_to_str(status, &name));
    tell_text("status", name);
}

static inline void submit(tiledb_query_t* query) {
    CHECK(tiledb_query_submit(ctx, query));
    tell_status(query);
}

/* Begins a program: its only argument is a folder. */
static inline void begin(int argument_count, char** arguments) {
    if (argument_count != 2) {
        printf("one argument: the folder\n");
        exit(2);
    }
    folder = arguments[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (tiledb_ctx_alloc(NULL, &ctx) != TILEDB_OK) {
        printf("no context\n");
        exit(1);
    }
}

static inline int end(void) {
    tiledb_ctx_free(&ctx);
    return 0;
}

#endif

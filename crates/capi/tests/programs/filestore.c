/* Files kept in arrays: from buffers and files, back again, sizes, what cannot be. */
#include "told.h"

static void make_store(const char* uri, const char* file) {
    tiledb_array_schema_t* schema = NULL;
    CODE(tiledb_filestore_schema_create(ctx, file, &schema));
    create_array(uri, schema);
}

static void tell_schema(const char* file) {
    tiledb_array_schema_t* schema = NULL;
    tiledb_domain_t* domain = NULL;
    tiledb_dimension_t* dimension = NULL;
    tiledb_array_type_t kind;
    uint32_t count = 0;
    const char* name = NULL;
    const void *bounds = NULL, *extent = NULL;
    tiledb_datatype_t type;
    tiledb_attribute_t* attribute = NULL;
    printf("schema\n");
    CHECK(tiledb_filestore_schema_create(ctx, file, &schema));
    CHECK(tiledb_array_schema_get_array_type(ctx, schema, &kind));
    CHECK(tiledb_array_schema_get_attribute_num(ctx, schema, &count));
    CHECK(tiledb_array_schema_get_attribute_from_index(ctx, schema, 0, &attribute));
    CHECK(tiledb_attribute_get_name(ctx, attribute, &name));
    CHECK(tiledb_attribute_get_type(ctx, attribute, &type));
    printf("  kind %d, attributes %u: %s %d\n", (int)kind, (unsigned)count, name, (int)type);
    CHECK(tiledb_array_schema_get_domain(ctx, schema, &domain));
    CHECK(tiledb_domain_get_dimension_from_index(ctx, domain, 0, &dimension));
    CHECK(tiledb_dimension_get_name(ctx, dimension, &name));
    CHECK(tiledb_dimension_get_type(ctx, dimension, &type));
    CHECK(tiledb_dimension_get_domain(ctx, dimension, &bounds));
    CHECK(tiledb_dimension_get_tile_extent(ctx, dimension, &extent));
    printf("  %s %d\n", name, (int)type);
    tell_cells("bounds", type, bounds, 2 * tiledb_datatype_size(type));
    tell_cells("extent", type, extent, tiledb_datatype_size(type));
    tiledb_attribute_free(&attribute);
    tiledb_dimension_free(&dimension);
    tiledb_domain_free(&domain);
    tiledb_array_schema_free(&schema);
}

static void tell_metadata(const char* uri) {
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    uint64_t count = 0, idx;
    CHECK(tiledb_array_get_metadata_num(ctx, array, &count));
    for (idx = 0; idx < count; idx++) {
        const char* key = NULL;
        uint32_t key_len = 0, value_count = 0;
        tiledb_datatype_t type;
        const void* value = NULL;
        CHECK(tiledb_array_get_metadata_from_index(ctx, array, idx, &key, &key_len, &type, &value_count, &value));
        printf("  %.*s, type %d, %u of them\n", (int)key_len, key, (int)type, (unsigned)value_count);
        if (value != NULL) {
            tell_cells("value", type, value, value_count * tiledb_datatype_size(type));
        }
    }
    close_array(array);
}

static void tell_size(const char* uri) {
    size_t size = 99;
    CODE(tiledb_filestore_size(ctx, uri, &size));
    tell_number("size", (uint64_t)size);
}

static void buffers(void) {
    char bytes[] = "some bytes of a file", back[32] = {0};
    const char* uri = in_folder("buffers");
    printf("buffers\n");
    make_store(uri, NULL);
    tell_size(uri);
    CODE(tiledb_filestore_buffer_import(ctx, uri, bytes, sizeof bytes - 1, TILEDB_MIME_AUTODETECT));
    tell_size(uri);
    tell_metadata(uri);
    CODE(tiledb_filestore_buffer_export(ctx, uri, 5, back, 5));
    TELL_CHARS("back", back, 5);
    CODE(tiledb_filestore_buffer_export(ctx, uri, 0, back, 20));
    TELL_CHARS("back", back, 20);
    CODE(tiledb_filestore_buffer_export(ctx, uri, 15, back, 20));
    CODE(tiledb_filestore_buffer_import(ctx, uri, bytes, 0, TILEDB_MIME_AUTODETECT));
    CODE(tiledb_filestore_buffer_import(ctx, uri, bytes, 4, TILEDB_MIME_PDF));
    tell_size(uri);
    CODE(tiledb_filestore_buffer_import(ctx, uri, NULL, 4, TILEDB_MIME_PDF));
    CODE(tiledb_filestore_buffer_import(ctx, in_folder("missing"), bytes, 4, TILEDB_MIME_PDF));
}

static void files(void) {
    const char* path = in_folder("file.txt");
    const char* copy = in_folder("copy.txt");
    const char* uri = in_folder("files");
    char line[64] = {0};
    FILE* file = fopen(path, "w");
    printf("files\n");
    fprintf(file, "a line in a file");
    fclose(file);
    tell_schema(path);
    tell_schema(NULL);
    make_store(uri, path);
    CODE(tiledb_filestore_uri_import(ctx, uri, path, TILEDB_MIME_AUTODETECT));
    tell_size(uri);
    tell_metadata(uri);
    CODE(tiledb_filestore_uri_export(ctx, copy, uri));
    file = fopen(copy, "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        tell_text("line", line);
    }
    fclose(file);
    CODE(tiledb_filestore_uri_import(ctx, uri, in_folder("missing"), TILEDB_MIME_AUTODETECT));
    CODE(tiledb_filestore_uri_export(ctx, in_folder("other"), in_folder("missing")));
    CODE(tiledb_filestore_size(ctx, NULL, NULL));
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    buffers();
    files();
    return end();
}

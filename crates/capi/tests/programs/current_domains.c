/* Current domains and rectangles: made, set, told, written outside of, expanded. */
#include "told.h"

static const int32_t bounds[] = {1, 100};
static const int32_t extent = 10;
static const dimension_of dimensions[] = {
    {"x", TILEDB_INT32, bounds, &extent},
    {"word", TILEDB_STRING_ASCII, NULL, NULL},
};

static tiledb_range_t range_of(const void* low, uint64_t low_len, const void* high, uint64_t high_len) {
    tiledb_range_t range;
    range.min = low;
    range.min_size = low_len;
    range.max = high;
    range.max_size = high_len;
    return range;
}

static tiledb_range_t numbers(const int32_t* sides) {
    return range_of(&sides[0], sizeof *sides, &sides[1], sizeof *sides);
}

static tiledb_range_t words(const char* low, const char* high) {
    return range_of(low, strlen(low), high, strlen(high));
}

static void tell_range(const tiledb_range_t* range, int is_text) {
    if (is_text) {
        printf("  '%.*s' to '%.*s'\n", (int)range->min_size, (const char*)range->min, (int)range->max_size,
            (const char*)range->max);
    } else {
        printf("  %d to %d\n", (int)*(const int32_t*)range->min, (int)*(const int32_t*)range->max);
    }
}

static void rectangles(tiledb_domain_t* domain) {
    const int32_t sides[] = {1, 50}, backwards[] = {50, 1}, outside[] = {0, 200};
    const int64_t wide[] = {1, 50};
    tiledb_ndrectangle_t* rectangle = NULL;
    tiledb_range_t range = numbers(sides);
    tiledb_string_t* text = NULL;
    tiledb_datatype_t type = TILEDB_ANY;
    uint32_t count = 0;
    printf("rectangles\n");
    CODE(tiledb_ndrectangle_alloc(ctx, domain, &rectangle));
    CODE(tiledb_ndrectangle_get_dim_num(ctx, rectangle, &count));
    tell_number("dimensions", count);
    CODE(tiledb_ndrectangle_get_dtype(ctx, rectangle, 0, &type));
    tell_number("type", (uint64_t)type);
    CODE(tiledb_ndrectangle_get_dtype_from_name(ctx, rectangle, "word", &type));
    tell_number("type", (uint64_t)type);
    CODE(tiledb_ndrectangle_get_dtype(ctx, rectangle, 2, &type));
    CODE(tiledb_ndrectangle_get_dtype_from_name(ctx, rectangle, "none", &type));
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
    CODE(tiledb_ndrectangle_get_range(ctx, rectangle, 0, &range));
    tell_range(&range, 0);
    range = words("a", "mm");
    CODE(tiledb_ndrectangle_set_range_for_name(ctx, rectangle, "word", &range));
    CODE(tiledb_ndrectangle_get_range_from_name(ctx, rectangle, "word", &range));
    tell_range(&range, 1);
    CODE(tiledb_ndrectangle_get_range_from_name(ctx, rectangle, "x", &range));
    tell_range(&range, 0);
    CODE(tiledb_ndrectangle_dump_str(ctx, rectangle, &text));
    tell_string("dump", &text);
    range = numbers(backwards);
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
    range = numbers(outside);
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
    range = range_of(&wide[0], 8, &wide[1], 8);
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 0, NULL));
    range = numbers(sides);
    CODE(tiledb_ndrectangle_set_range(ctx, rectangle, 2, &range));
    CODE(tiledb_ndrectangle_set_range_for_name(ctx, rectangle, "none", &range));
    CODE(tiledb_ndrectangle_get_range(ctx, rectangle, 2, &range));
    CODE(tiledb_ndrectangle_free(&rectangle));
    CODE(tiledb_ndrectangle_alloc(ctx, NULL, &rectangle));
    CODE(tiledb_ndrectangle_alloc(ctx, domain, NULL));
}

/* A current domain of a rectangle. */
static tiledb_current_domain_t* current_of(
    tiledb_domain_t* domain, const int32_t* sides, const char* low, const char* high) {
    tiledb_current_domain_t* current = NULL;
    tiledb_ndrectangle_t* rectangle = NULL;
    tiledb_range_t range = numbers(sides);
    CHECK(tiledb_ndrectangle_alloc(ctx, domain, &rectangle));
    CHECK(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
    range = words(low, high);
    CHECK(tiledb_ndrectangle_set_range(ctx, rectangle, 1, &range));
    CHECK(tiledb_current_domain_create(ctx, &current));
    CHECK(tiledb_current_domain_set_ndrectangle(ctx, current, rectangle));
    CHECK(tiledb_ndrectangle_free(&rectangle));
    return current;
}

static void tell_current(tiledb_current_domain_t* current) {
    uint32_t is_empty = 9;
    tiledb_current_domain_type_t kind = TILEDB_NDRECTANGLE;
    tiledb_ndrectangle_t* rectangle = NULL;
    tiledb_string_t* text = NULL;
    CODE(tiledb_current_domain_get_is_empty(ctx, current, &is_empty));
    tell_number("empty", is_empty);
    CODE(tiledb_current_domain_get_type(ctx, current, &kind));
    if (CODE(tiledb_current_domain_get_ndrectangle(ctx, current, &rectangle)) == TILEDB_OK) {
        tiledb_range_t range;
        CHECK(tiledb_ndrectangle_get_range(ctx, rectangle, 0, &range));
        tell_range(&range, 0);
        CHECK(tiledb_ndrectangle_get_range(ctx, rectangle, 1, &range));
        tell_range(&range, 1);
        CHECK(tiledb_ndrectangle_free(&rectangle));
    }
    CODE(tiledb_current_domain_dump_str(ctx, current, &text));
    if (is_empty) {
        tell_string("dump", &text);
    } else {
        CHECK(tiledb_string_free(&text));
    }
}

static void tell_current_of(const char* uri) {
    tiledb_array_schema_t* schema = NULL;
    tiledb_current_domain_t* current = NULL;
    CHECK(tiledb_array_schema_load(ctx, uri, &schema));
    CODE(tiledb_array_schema_get_current_domain(ctx, schema, &current));
    tell_current(current);
    CHECK(tiledb_current_domain_free(&current));
    tiledb_array_schema_free(&schema);
}

static void write_one(const char* uri, int32_t x, const char* word) {
    uint64_t x_len = sizeof x, word_len = strlen(word), offset = 0, offset_len = sizeof offset;
    char text[16];
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, 0);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    snprintf(text, sizeof text, "%s", word);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", &x, &x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", text, &word_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", &offset, &offset_len));
    printf("  write %d %s: %d\n", (int)x, word, (int)tiledb_query_submit(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
}

static void expand(const char* uri, tiledb_current_domain_t* current) {
    tiledb_array_schema_evolution_t* evolution = NULL;
    CHECK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
    if (CODE(tiledb_array_schema_evolution_expand_current_domain(ctx, evolution, current)) == TILEDB_OK) {
        CODE(tiledb_array_evolve(ctx, uri, evolution));
    }
    tiledb_array_schema_evolution_free(&evolution);
    CHECK(tiledb_current_domain_free(&current));
}

static void arrays(tiledb_domain_t* domain) {
    const char* uri = in_folder("array");
    const int32_t sides[] = {1, 50}, larger[] = {1, 60}, smaller[] = {1, 40}, outside[] = {1, 200};
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, dimensions, 2, NULL, 0);
    tiledb_current_domain_t* current = NULL;
    printf("arrays\n");
    CODE(tiledb_current_domain_create(ctx, &current));
    tell_current(current);
    CODE(tiledb_current_domain_free(&current));
    CODE(tiledb_array_schema_get_current_domain(ctx, schema, &current));
    tell_current(current);
    CHECK(tiledb_current_domain_free(&current));
    current = current_of(domain, sides, "a", "mm");
    CODE(tiledb_array_schema_set_current_domain(ctx, schema, current));
    CHECK(tiledb_current_domain_free(&current));
    CODE(tiledb_array_schema_check(ctx, schema));
    create_array(uri, schema);
    tell_current_of(uri);
    write_one(uri, 50, "mm");
    write_one(uri, 51, "m");
    write_one(uri, 1, "n");
    expand(uri, current_of(domain, larger, "", "z"));
    tell_current_of(uri);
    write_one(uri, 51, "n");
    expand(uri, current_of(domain, smaller, "", "z"));
    expand(uri, current_of(domain, outside, "", "z"));
    CODE(tiledb_current_domain_create(ctx, &current));
    expand(uri, current);
}

int main(int argument_count, char** arguments) {
    tiledb_domain_t* domain;
    begin(argument_count, arguments);
    domain = domain_with(dimensions, 2);
    rectangles(domain);
    arrays(domain);
    tiledb_domain_free(&domain);
    return end();
}

/* Aggregates and channels, fields of queries, plans of queries. */
#include "told.h"

static const int32_t bounds[] = {1, 8};
static const int32_t extent = 4;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attributes[] = {
    {"small", TILEDB_INT8, 1, 0},
    {"real", TILEDB_FLOAT64, 1, 1},
    {"word", TILEDB_STRING_ASCII, UINT32_MAX, 1},
};

static void create(const char* uri, tiledb_array_type_t kind) {
    int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int8_t small[] = {5, -3, 100, 90, 80, 7, 0, 1};
    double real[] = {0.5, 1.5, 2.5, 3.5, -4.5, 5.5, 6.5, 7.5};
    uint8_t valid[] = {1, 1, 0, 1, 1, 1, 0, 1};
    char word[] = "pearfigplumkiwi";
    uint64_t at[] = {0, 4, 7, 11, 11, 15, 15, 15}, at_len = sizeof at, word_len = 15, word_valid_len = 8;
    uint8_t word_valid[] = {1, 1, 1, 0, 1, 0, 0, 0};
    uint64_t x_len = sizeof x, small_len = sizeof small, real_len = sizeof real, valid_len = sizeof valid;
    tiledb_array_t* array;
    tiledb_query_t* query;
    create_array(uri, schema_with(kind, &dimension, 1, attributes, 3));
    array = array_at(uri, TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, kind == TILEDB_DENSE ? TILEDB_ROW_MAJOR : TILEDB_UNORDERED);
    if (kind == TILEDB_SPARSE) {
        CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    }
    CHECK(tiledb_query_set_data_buffer(ctx, query, "small", small, &small_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "real", real, &real_len));
    CHECK(tiledb_query_set_validity_buffer(ctx, query, "real", valid, &valid_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", word, &word_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", at, &at_len));
    CHECK(tiledb_query_set_validity_buffer(ctx, query, "word", word_valid, &word_valid_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void restrict_to(tiledb_array_t* array, tiledb_query_t* query, const int32_t* sides) {
    tiledb_subarray_t* subarray = NULL;
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CHECK(tiledb_subarray_set_subarray(ctx, subarray, sides));
    CHECK(tiledb_query_set_subarray_t(ctx, query, subarray));
    tiledb_subarray_free(&subarray);
}

static int32_t apply(tiledb_query_t* query, tiledb_query_channel_t* channel, const tiledb_channel_operator_t* operation,
    const char* field, const char* name) {
    tiledb_channel_operation_t* made = NULL;
    int32_t told = tiledb_create_unary_aggregate(ctx, query, operation, field, &made);
    if (told == TILEDB_OK) {
        told = tiledb_channel_apply_aggregate(ctx, channel, name, made);
        CHECK(tiledb_aggregate_free(ctx, &made));
    }
    return told;
}

static void tell_field(tiledb_query_t* query, const char* name) {
    tiledb_query_field_t* field = NULL;
    tiledb_datatype_t type = TILEDB_ANY;
    tiledb_field_origin_t origin = TILEDB_ATTRIBUTE_FIELD;
    tiledb_query_channel_t* channel = NULL;
    uint32_t value_count = 0;
    uint8_t is_nullable = 9;
    const int32_t told = tiledb_query_get_field(ctx, query, name, &field);
    printf("  field %s: %d\n", name, (int)told);
    if (told != TILEDB_OK) {
        return;
    }
    CHECK(tiledb_field_datatype(ctx, field, &type));
    CHECK(tiledb_field_cell_val_num(ctx, field, &value_count));
    CHECK(tiledb_field_origin(ctx, field, &origin));
    CHECK(tiledb_field_get_nullable(ctx, field, &is_nullable));
    CODE(tiledb_field_channel(ctx, field, &channel));
    printf("  type %d, values %u, origin %d, nullable %d\n", (int)type, (unsigned)value_count, (int)origin,
        (int)is_nullable);
    CODE(tiledb_query_channel_free(ctx, &channel));
    CODE(tiledb_query_field_free(ctx, &field));
}

/* All aggregates of one field that it has: each of them needs its buffer. */
static void aggregate(const char* uri, const char* field, const int32_t* sides) {
    const tiledb_channel_operator_t *least = NULL, *most = NULL, *sum = NULL, *mean = NULL, *nulls = NULL;
    const tiledb_channel_operation_t* count = NULL;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_UNORDERED);
    tiledb_query_channel_t* channel = NULL;
    double real[3] = {0, 0, 0}, middle = 0;
    int64_t whole = 0;
    int8_t small[2] = {0, 0};
    char text[2][16] = {{0}};
    uint64_t at[2] = {0}, null_count = 99, cells = 99;
    uint8_t valid[4] = {9, 9, 9, 9};
    uint64_t len[12];
    size_t idx;
    printf("  of %s\n", field);
    restrict_to(array, query, sides);
    CHECK(tiledb_channel_operator_min_get(ctx, &least));
    CHECK(tiledb_channel_operator_max_get(ctx, &most));
    CHECK(tiledb_channel_operator_sum_get(ctx, &sum));
    CHECK(tiledb_channel_operator_mean_get(ctx, &mean));
    CHECK(tiledb_channel_operator_null_count_get(ctx, &nulls));
    CHECK(tiledb_aggregate_count_get(ctx, &count));
    tell_number("constants are what is got",
        least == tiledb_channel_operator_min && most == tiledb_channel_operator_max &&
            sum == tiledb_channel_operator_sum && mean == tiledb_channel_operator_mean &&
            nulls == tiledb_channel_operator_null_count && count == tiledb_aggregate_count);
    CHECK(tiledb_query_get_default_channel(ctx, query, &channel));
    for (idx = 0; idx < 12; idx++) {
        len[idx] = 8;
    }
    CHECK(tiledb_channel_apply_aggregate(ctx, channel, "cells", count));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "cells", &cells, &len[0]));
    tell_field(query, "cells");
    printf("  least %d", (int)apply(query, channel, least, field, "least"));
    printf(", most %d", (int)apply(query, channel, most, field, "most"));
    printf(", sum %d", (int)apply(query, channel, sum, field, "sum"));
    printf(", mean %d", (int)apply(query, channel, mean, field, "mean"));
    printf(", nulls %d\n", (int)apply(query, channel, nulls, field, "nulls"));
    tell_field(query, "least");
    tell_field(query, "sum");
    tell_field(query, "mean");
    tell_field(query, "nulls");
    if (strcmp(field, "small") == 0) {
        len[1] = len[2] = 1;
        CHECK(tiledb_query_set_data_buffer(ctx, query, "least", &small[0], &len[1]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "most", &small[1], &len[2]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "sum", &whole, &len[3]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "mean", &middle, &len[4]));
    } else if (strcmp(field, "real") == 0) {
        len[8] = len[9] = len[10] = len[11] = 1;
        CHECK(tiledb_query_set_data_buffer(ctx, query, "least", &real[0], &len[1]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "least", &valid[0], &len[8]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "most", &real[1], &len[2]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "most", &valid[1], &len[9]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "sum", &middle, &len[3]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "sum", &valid[2], &len[10]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "mean", &real[2], &len[4]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "mean", &valid[3], &len[11]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "nulls", &null_count, &len[5]));
    } else {
        len[1] = len[2] = 16;
        len[8] = len[9] = 1;
        CHECK(tiledb_query_set_data_buffer(ctx, query, "least", text[0], &len[1]));
        CHECK(tiledb_query_set_offsets_buffer(ctx, query, "least", &at[0], &len[5]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "least", &valid[0], &len[8]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "most", text[1], &len[2]));
        CHECK(tiledb_query_set_offsets_buffer(ctx, query, "most", &at[1], &len[6]));
        CHECK(tiledb_query_set_validity_buffer(ctx, query, "most", &valid[1], &len[9]));
        CHECK(tiledb_query_set_data_buffer(ctx, query, "nulls", &null_count, &len[4]));
    }
    submit(query);
    tell_number("cells", cells);
    if (strcmp(field, "small") == 0) {
        printf("  %d %d %d %g\n", (int)small[0], (int)small[1], (int)whole, middle);
    } else if (strcmp(field, "real") == 0) {
        printf("  %g %g %g %g, %d nulls, valid %d %d %d %d\n", real[0], real[1], middle, real[2], (int)null_count,
            (int)valid[0], (int)valid[1], (int)valid[2], (int)valid[3]);
    } else {
        printf("  %.*s %.*s, %d nulls, valid %d %d\n", (int)len[1], text[0], (int)len[2], text[1], (int)null_count,
            (int)valid[0], (int)valid[1]);
    }
    CODE(tiledb_query_channel_free(ctx, &channel));
    tiledb_query_free(&query);
    close_array(array);
}

static void fields(const char* uri) {
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    tiledb_query_channel_t* channel = NULL;
    tiledb_channel_operation_t* operation = NULL;
    printf("fields\n");
    tell_field(query, "x");
    tell_field(query, "small");
    tell_field(query, "word");
    tell_field(query, "none");
    CODE(tiledb_query_get_field(ctx, query, NULL, NULL));
    CODE(tiledb_query_get_default_channel(ctx, query, &channel));
    CODE(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_sum, "none", &operation));
    CODE(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_sum, "word", &operation));
    CODE(tiledb_create_unary_aggregate(ctx, query, NULL, "small", &operation));
    CODE(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_null_count, "small", &operation));
    CODE(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_sum, "small", &operation));
    CODE(tiledb_channel_apply_aggregate(ctx, channel, "sum", operation));
    CODE(tiledb_channel_apply_aggregate(ctx, channel, "sum", operation));
    CODE(tiledb_channel_apply_aggregate(ctx, channel, "small", operation));
    CODE(tiledb_channel_apply_aggregate(ctx, channel, NULL, operation));
    CODE(tiledb_channel_apply_aggregate(ctx, channel, "other", NULL));
    CODE(tiledb_aggregate_free(ctx, &operation));
    tell_number("freed", operation == NULL);
    CODE(tiledb_query_channel_free(ctx, &channel));
    tell_number("freed", channel == NULL);
    tiledb_query_free(&query);
    close_array(array);
}

/* Sums, means and extremes of dates and times of day. */
static void dates(const char* uri) {
    static const attribute_of fields_of_time[] = {{"day", TILEDB_DATETIME_DAY, 1, 0}, {"hour", TILEDB_TIME_HR, 1, 1}};
    int32_t x[] = {1, 2, 3};
    int64_t day[] = {18262, -5, 300}, hour[] = {7, 23, 11}, whole[3] = {0}, hours[3] = {0};
    uint8_t valid[] = {1, 0, 1}, known[4] = {9, 9, 9, 9};
    uint64_t x_len = sizeof x, day_len = sizeof day, hour_len = sizeof hour, valid_len = sizeof valid, len[12];
    double middle[2] = {0, 0};
    tiledb_query_channel_t* channel = NULL;
    tiledb_array_t* array;
    tiledb_query_t* query;
    size_t idx;
    printf("dates\n");
    create_array(uri, schema_with(TILEDB_SPARSE, &dimension, 1, fields_of_time, 2));
    array = array_at(uri, TILEDB_WRITE, 0);
    query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "day", day, &day_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "hour", hour, &hour_len));
    CHECK(tiledb_query_set_validity_buffer(ctx, query, "hour", valid, &valid_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
    array = array_at(uri, TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_UNORDERED);
    CHECK(tiledb_query_get_default_channel(ctx, query, &channel));
    CODE(apply(query, channel, tiledb_channel_operator_sum, "day", "sum"));
    CODE(apply(query, channel, tiledb_channel_operator_mean, "day", "mean"));
    CODE(apply(query, channel, tiledb_channel_operator_min, "day", "least"));
    CODE(apply(query, channel, tiledb_channel_operator_max, "day", "most"));
    CODE(apply(query, channel, tiledb_channel_operator_sum, "hour", "hours"));
    CODE(apply(query, channel, tiledb_channel_operator_mean, "hour", "hours mean"));
    CODE(apply(query, channel, tiledb_channel_operator_min, "hour", "hours least"));
    CODE(apply(query, channel, tiledb_channel_operator_max, "hour", "hours most"));
    tell_field(query, "sum");
    tell_field(query, "mean");
    tell_field(query, "least");
    tell_field(query, "hours");
    tell_field(query, "hours mean");
    for (idx = 0; idx < 12; idx++) {
        len[idx] = idx < 8 ? 8 : 1;
    }
    CODE(tiledb_query_set_data_buffer(ctx, query, "sum", &whole[0], &len[0]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "mean", &middle[0], &len[1]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "least", &whole[1], &len[2]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "most", &whole[2], &len[3]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "hours", &hours[0], &len[4]));
    CODE(tiledb_query_set_validity_buffer(ctx, query, "hours", &known[0], &len[8]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "hours mean", &middle[1], &len[5]));
    CODE(tiledb_query_set_validity_buffer(ctx, query, "hours mean", &known[1], &len[9]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "hours least", &hours[1], &len[6]));
    CODE(tiledb_query_set_validity_buffer(ctx, query, "hours least", &known[2], &len[10]));
    CODE(tiledb_query_set_data_buffer(ctx, query, "hours most", &hours[2], &len[7]));
    CODE(tiledb_query_set_validity_buffer(ctx, query, "hours most", &known[3], &len[11]));
    CODE(tiledb_query_submit(ctx, query));
    printf("  %d %g %d %d, %d %g %d %d, valid %d %d %d %d\n", (int)whole[0], middle[0], (int)whole[1], (int)whole[2],
        (int)hours[0], middle[1], (int)hours[1], (int)hours[2], (int)known[0], (int)known[1], (int)known[2],
        (int)known[3]);
    CODE(tiledb_query_channel_free(ctx, &channel));
    tiledb_query_free(&query);
    close_array(array);
}

/* Which operations take fields of each type, of one value and of any number of them. */
static void inputs(const char* uri) {
    static const attribute_of of_types[] = {
        {"bool", TILEDB_BOOL, 1, 0}, {"bool null", TILEDB_BOOL, 1, 1}, {"blob", TILEDB_BLOB, 1, 0},
        {"blobs", TILEDB_BLOB, UINT32_MAX, 1}, {"wkb", TILEDB_GEOM_WKB, UINT32_MAX, 0}, {"char", TILEDB_CHAR, 1, 0},
        {"chars", TILEDB_CHAR, 3, 0}, {"char any", TILEDB_CHAR, UINT32_MAX, 0}, {"ascii", TILEDB_STRING_ASCII, 1, 1},
        {"utf8", TILEDB_STRING_UTF8, UINT32_MAX, 0}, {"utf8 one", TILEDB_STRING_UTF8, 1, 0},
        {"utf16", TILEDB_STRING_UTF16, 1, 0}, {"utf32", TILEDB_STRING_UTF32, UINT32_MAX, 0},
        {"ucs2", TILEDB_STRING_UCS2, 1, 0}, {"pair", TILEDB_INT32, 2, 0}, {"ints", TILEDB_INT32, UINT32_MAX, 1},
        {"u64", TILEDB_UINT64, 1, 0}, {"f32", TILEDB_FLOAT32, 1, 0}, {"year", TILEDB_DATETIME_YEAR, 1, 0},
        {"days", TILEDB_DATETIME_DAY, 2, 0}, {"any day", TILEDB_DATETIME_DAY, UINT32_MAX, 1},
        {"as", TILEDB_TIME_AS, 1, 0}};
    enum { COUNT = sizeof of_types / sizeof of_types[0] };
    const struct {
        const char* name;
        const tiledb_channel_operator_t* operation;
    } operators[] = {{"sum", tiledb_channel_operator_sum}, {"mean", tiledb_channel_operator_mean},
        {"min", tiledb_channel_operator_min}, {"max", tiledb_channel_operator_max},
        {"nulls", tiledb_channel_operator_null_count}};
    tiledb_array_t* array;
    tiledb_query_t* query;
    size_t idx, at;
    printf("inputs\n");
    create_array(uri, schema_with(TILEDB_SPARSE, &dimension, 1, of_types, COUNT));
    array = array_at(uri, TILEDB_READ, 0);
    query = query_on(array, TILEDB_READ, TILEDB_UNORDERED);
    for (idx = 0; idx < COUNT; idx++) {
        for (at = 0; at < 5; at++) {
            tiledb_channel_operation_t* made = NULL;
            const int32_t told =
                tiledb_create_unary_aggregate(ctx, query, operators[at].operation, of_types[idx].name, &made);
            printf("  %s of %s: %d\n", operators[at].name, of_types[idx].name, (int)told);
            if (told == TILEDB_OK) {
                CHECK(tiledb_aggregate_free(ctx, &made));
            } else {
                tell_last_error();
            }
        }
    }
    tiledb_query_free(&query);
    close_array(array);
}

/* Operations that are applied when the query was submitted. */
static void late(const char* uri) {
    int8_t small[8];
    uint64_t small_len = sizeof small;
    tiledb_query_channel_t *channel = NULL, *other = NULL;
    tiledb_channel_operation_t* operation = NULL;
    const tiledb_channel_operation_t* count = NULL;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_UNORDERED);
    printf("late\n");
    restrict_to(array, query, bounds);
    CHECK(tiledb_aggregate_count_get(ctx, &count));
    CHECK(tiledb_query_get_default_channel(ctx, query, &channel));
    CHECK(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_sum, "small", &operation));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "small", small, &small_len));
    submit(query);
    REFUSED(tiledb_channel_apply_aggregate(ctx, channel, "sum", operation));
    REFUSED(tiledb_channel_apply_aggregate(ctx, channel, "cells", count));
    REFUSED(tiledb_channel_apply_aggregate(ctx, channel, NULL, count));
    REFUSED(tiledb_channel_apply_aggregate(ctx, channel, "cells", NULL));
    REFUSED(tiledb_create_unary_aggregate(ctx, query, tiledb_channel_operator_sum, "none", &operation));
    CHECK(tiledb_query_get_default_channel(ctx, query, &other));
    REFUSED(tiledb_channel_apply_aggregate(ctx, other, "cells", count));
    CHECK(tiledb_query_channel_free(ctx, &other));
    CHECK(tiledb_query_channel_free(ctx, &channel));
    CHECK(tiledb_aggregate_free(ctx, &operation));
    tiledb_query_free(&query);
    close_array(array);
}

static void plans(const char* uri, tiledb_layout_t layout) {
    int8_t small[8];
    int32_t x[8];
    uint64_t small_len = sizeof small, x_len = sizeof x;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, 0);
    tiledb_query_t* query = query_on(array, TILEDB_READ, layout);
    tiledb_string_t* plan = NULL;
    printf("plan\n");
    restrict_to(array, query, bounds);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "small", small, &small_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    CODE(tiledb_query_get_plan(ctx, query, &plan));
    tell_string("plan", &plan);
    tiledb_query_free(&query);
    close_array(array);
}

int main(int argument_count, char** arguments) {
    const int32_t some[] = {3, 7};
    begin(argument_count, arguments);
    create(in_folder("sparse"), TILEDB_SPARSE);
    create(in_folder("dense"), TILEDB_DENSE);
    printf("aggregates\n");
    aggregate(in_folder("sparse"), "small", bounds);
    aggregate(in_folder("sparse"), "real", bounds);
    aggregate(in_folder("sparse"), "word", bounds);
    aggregate(in_folder("sparse"), "small", some);
    aggregate(in_folder("sparse"), "real", some);
    aggregate(in_folder("sparse"), "word", some);
    fields(in_folder("sparse"));
    dates(in_folder("dates"));
    inputs(in_folder("inputs"));
    late(in_folder("sparse"));
    plans(in_folder("sparse"), TILEDB_ROW_MAJOR);
    plans(in_folder("sparse"), TILEDB_GLOBAL_ORDER);
    plans(in_folder("dense"), TILEDB_ROW_MAJOR);
    return end();
}

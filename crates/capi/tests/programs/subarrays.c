/* Subarrays: ranges by number and by name, points, coalescing, configuration, what cannot be a range. */
#include "told.h"

static const int32_t bounds[] = {1, 100};
static const int32_t extent = 10;
static const double reals[] = {0.0, 1.0};
static const dimension_of dimensions[] = {{"x", TILEDB_INT32, bounds, &extent}, {"y", TILEDB_INT32, bounds, &extent}};
static const dimension_of mixed[] = {
    {"x", TILEDB_INT32, bounds, &extent},
    {"real", TILEDB_FLOAT64, reals, NULL},
    {"word", TILEDB_STRING_ASCII, NULL, NULL},
};
static const attribute_of attribute = {"a", TILEDB_INT32, 1, 0};

static void tell_ranges(const tiledb_subarray_t* subarray, uint32_t idx) {
    uint64_t count = 0, at;
    CHECK(tiledb_subarray_get_range_num(ctx, subarray, idx, &count));
    printf("  dimension %u:", (unsigned)idx);
    for (at = 0; at < count; at++) {
        const void *start = NULL, *last = NULL, *stride = NULL;
        CHECK(tiledb_subarray_get_range(ctx, subarray, idx, at, &start, &last, &stride));
        printf(" %d..%d", (int)*(const int32_t*)start, (int)*(const int32_t*)last);
        printf(stride == NULL ? "" : " with a stride");
    }
    printf("\n");
}

static void numbers(tiledb_array_t* array) {
    const int32_t one = 1, five = 5, six = 6, nine = 9, hundred = 100, more = 101, all[] = {2, 3, 4, 5};
    const int32_t points[] = {7, 7, 50};
    tiledb_subarray_t* subarray = NULL;
    const void *start = NULL, *last = NULL, *stride = NULL;
    tiledb_config_t* config = NULL;
    tiledb_error_t* error = NULL;
    uint64_t count = 0;
    printf("numbers\n");
    CODE(tiledb_subarray_alloc(ctx, array, &subarray));
    tell_ranges(subarray, 0);
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &five, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &six, &nine, NULL));
    tell_ranges(subarray, 0);
    tell_ranges(subarray, 1);
    REFUSED(tiledb_subarray_add_range(ctx, subarray, 0, &nine, &one, NULL));
    REFUSED(tiledb_subarray_add_range(ctx, subarray, 0, &nine, &more, NULL));
    tell_ranges(subarray, 0);
    CODE(tiledb_subarray_add_range(ctx, subarray, 2, &one, &five, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &five, &one));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, NULL, &five, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, NULL, NULL));
    CODE(tiledb_subarray_add_range_by_name(ctx, subarray, "y", &hundred, &hundred, NULL));
    CODE(tiledb_subarray_add_range_by_name(ctx, subarray, "z", &one, &five, NULL));
    CODE(tiledb_subarray_add_range_var(ctx, subarray, 0, "a", 1, "b", 1));
    CODE(tiledb_subarray_get_range_from_name(ctx, subarray, "y", 0, &start, &last, &stride));
    printf("  %d..%d\n", (int)*(const int32_t*)start, (int)*(const int32_t*)last);
    CODE(tiledb_subarray_get_range_from_name(ctx, subarray, "z", 0, &start, &last, &stride));
    CODE(tiledb_subarray_get_range(ctx, subarray, 0, 77, &start, &last, &stride));
    CODE(tiledb_subarray_get_range_num(ctx, subarray, 2, &count));
    CODE(tiledb_subarray_get_range_num_from_name(ctx, subarray, "x", &count));
    tell_number("ranges", count);
    tiledb_subarray_free(&subarray);
    tell_number("freed", subarray == NULL);

    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_set_coalesce_ranges(ctx, subarray, 0));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &five, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &six, &nine, NULL));
    tell_ranges(subarray, 0);
    CODE(tiledb_subarray_add_point_ranges(ctx, subarray, 1, points, 3));
    tell_ranges(subarray, 1);
    CODE(tiledb_subarray_add_point_ranges(ctx, subarray, 5, points, 3));
    CODE(tiledb_subarray_add_point_ranges(ctx, subarray, 1, NULL, 3));
    tiledb_subarray_free(&subarray);

    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_set_subarray(ctx, subarray, all));
    tell_ranges(subarray, 0);
    tell_ranges(subarray, 1);
    CHECK(tiledb_config_alloc(&config, &error));
    CHECK(tiledb_config_set(config, "sm.read_range_oob", "error", &error));
    CODE(tiledb_subarray_set_config(ctx, subarray, config));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &nine, &more, NULL));
    tiledb_config_free(&config);
    tiledb_subarray_free(&subarray);
    CODE(tiledb_subarray_alloc(ctx, NULL, &subarray));
    CODE(tiledb_subarray_alloc(ctx, array, NULL));
}

static void types(tiledb_array_t* array) {
    const int32_t one = 1, five = 5;
    const double low = 0.25, high = 0.5, nan = strtod("nan", NULL);
    const uint64_t at[] = {0, 1, 3};
    const void *start = NULL, *last = NULL, *stride = NULL;
    char first[8] = {0}, second[8] = {0};
    uint64_t first_len = 0, second_len = 0, count = 0, idx;
    tiledb_subarray_t* subarray = NULL;
    printf("types\n");
    CHECK(tiledb_subarray_alloc(ctx, array, &subarray));
    CODE(tiledb_subarray_add_range(ctx, subarray, 0, &one, &five, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 1, &low, &high, NULL));
    CODE(tiledb_subarray_add_range(ctx, subarray, 1, &nan, &high, NULL));
    CODE(tiledb_subarray_get_range(ctx, subarray, 1, 0, &start, &last, &stride));
    printf("  %g..%g\n", *(const double*)start, *(const double*)last);
    CODE(tiledb_subarray_add_range(ctx, subarray, 2, &one, &five, NULL));
    CODE(tiledb_subarray_add_point_ranges_var(ctx, subarray, 2, "abbc", 4, at, 3));
    CHECK(tiledb_subarray_get_range_num(ctx, subarray, 2, &count));
    for (idx = 0; idx < count; idx++) {
        CHECK(tiledb_subarray_get_range_var_size(ctx, subarray, 2, idx, &first_len, &second_len));
        CHECK(tiledb_subarray_get_range_var(ctx, subarray, 2, idx, first, second));
        printf("  %.*s..%.*s\n", (int)first_len, first, (int)second_len, second);
    }
    CODE(tiledb_subarray_get_range_var_size(ctx, subarray, 0, 0, &first_len, &second_len));
    CODE(tiledb_subarray_get_range_var_size(ctx, subarray, 2, 9, &first_len, &second_len));
    CODE(tiledb_subarray_get_range_var_from_name(ctx, subarray, "none", 0, first, second));
    CODE(tiledb_subarray_get_range_var_size_from_name(ctx, subarray, "word", 1, &first_len, &second_len));
    CODE(tiledb_subarray_set_subarray(ctx, subarray, &one));
    CODE(tiledb_subarray_add_range_var_by_name(ctx, subarray, "x", "a", 1, "b", 1));
    tiledb_subarray_free(&subarray);
}

int main(int argument_count, char** arguments) {
    tiledb_array_t* array = NULL;
    tiledb_subarray_t* subarray = NULL;
    begin(argument_count, arguments);
    create_array(in_folder("numbers"), schema_with(TILEDB_DENSE, dimensions, 2, &attribute, 1));
    create_array(in_folder("mixed"), schema_with(TILEDB_SPARSE, mixed, 3, &attribute, 1));
    array = array_at(in_folder("numbers"), TILEDB_READ, 0);
    numbers(array);
    close_array(array);
    array = array_at(in_folder("mixed"), TILEDB_READ, 0);
    types(array);
    close_array(array);
    CHECK(tiledb_array_alloc(ctx, in_folder("mixed"), &array));
    CODE(tiledb_subarray_alloc(ctx, array, &subarray));
    tiledb_array_free(&array);
    return end();
}

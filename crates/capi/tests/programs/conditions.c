/* Conditions of queries: comparisons, sets, nulls, combinations, enumerations; and deletes by condition. */
#include "told.h"

static const int32_t bounds[] = {1, 20};
static const int32_t extent = 5;
static const dimension_of dimension = {"x", TILEDB_INT32, bounds, &extent};
static const attribute_of attributes[] = {
    {"number", TILEDB_INT32, 1, 0},
    {"real", TILEDB_FLOAT64, 1, 1},
    {"word", TILEDB_STRING_ASCII, UINT32_MAX, 0},
};

static void create(const char* uri) {
    const attribute_of colour = {"colour", TILEDB_UINT8, 1, 0};
    const uint64_t offsets[] = {0, 3, 8};
    tiledb_array_schema_t* schema = schema_with(TILEDB_SPARSE, &dimension, 1, attributes, 3);
    tiledb_enumeration_t* names = NULL;
    tiledb_attribute_t* attribute = attribute_with(&colour);
    CHECK(tiledb_enumeration_alloc(
        ctx, "names", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 1, "redgreenblue", 12, offsets, sizeof offsets, &names));
    CHECK(tiledb_array_schema_add_enumeration(ctx, schema, names));
    CHECK(tiledb_attribute_set_enumeration_name(ctx, attribute, "names"));
    CHECK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    tiledb_attribute_free(&attribute);
    tiledb_enumeration_free(&names);
    create_array(uri, schema);
}

static void write_cells(const char* uri, uint64_t time) {
    int32_t x[] = {1, 2, 3, 4, 5, 6}, number[] = {10, 20, 30, 40, 50, 60};
    double real[] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
    uint8_t valid[] = {1, 0, 1, 1, 0, 1}, colour[] = {0, 1, 2, 0, 1, 2};
    char word[] = "abbcccaab";
    uint64_t at[] = {0, 1, 3, 6, 6, 8};
    uint64_t x_len = sizeof x, number_len = sizeof number, real_len = sizeof real, valid_len = sizeof valid;
    uint64_t colour_len = sizeof colour, word_len = 9, at_len = sizeof at;
    tiledb_array_t* array = array_at(uri, TILEDB_WRITE, time);
    tiledb_query_t* query = query_on(array, TILEDB_WRITE, TILEDB_UNORDERED);
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "number", number, &number_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "real", real, &real_len));
    CHECK(tiledb_query_set_validity_buffer(ctx, query, "real", valid, &valid_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "colour", colour, &colour_len));
    CHECK(tiledb_query_set_data_buffer(ctx, query, "word", word, &word_len));
    CHECK(tiledb_query_set_offsets_buffer(ctx, query, "word", at, &at_len));
    submit(query);
    tiledb_query_free(&query);
    close_array(array);
}

static void read_where(const char* what, const char* uri, uint64_t time, const tiledb_query_condition_t* condition) {
    int32_t x[32];
    uint64_t x_len = sizeof x;
    tiledb_array_t* array = array_at(uri, TILEDB_READ, time);
    tiledb_query_t* query = query_on(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    int32_t told = TILEDB_OK;
    printf("  %s:", what);
    if (condition != NULL) {
        told = tiledb_query_set_condition(ctx, query, condition);
        printf(" %d", (int)told);
    }
    CHECK(tiledb_query_set_data_buffer(ctx, query, "x", x, &x_len));
    if (told == TILEDB_OK) {
        told = tiledb_query_submit(ctx, query);
        printf(" %d", (int)told);
    }
    printf("\n");
    if (told == TILEDB_OK) {
        TELL_I32("found", x, x_len);
    }
    tiledb_query_free(&query);
    close_array(array);
}

static tiledb_query_condition_t* condition_of(
    const char* field, const void* value, uint64_t byte_len, tiledb_query_condition_op_t operation) {
    tiledb_query_condition_t* condition = NULL;
    CHECK(tiledb_query_condition_alloc(ctx, &condition));
    CHECK(tiledb_query_condition_init(ctx, condition, field, value, byte_len, operation));
    return condition;
}

static void comparisons(const char* uri) {
    const int32_t thirty = 30, three = 3;
    const double real = 2.5;
    int operation;
    printf("comparisons\n");
    for (operation = TILEDB_LT; operation <= TILEDB_NE; operation++) {
        tiledb_query_condition_t* condition =
            condition_of("number", &thirty, sizeof thirty, (tiledb_query_condition_op_t)operation);
        read_where("number 30", uri, 0, condition);
        tiledb_query_condition_free(&condition);
        condition = condition_of("real", &real, sizeof real, (tiledb_query_condition_op_t)operation);
        read_where("real 2.5", uri, 0, condition);
        tiledb_query_condition_free(&condition);
        condition = condition_of("word", "b", 1, (tiledb_query_condition_op_t)operation);
        read_where("word b", uri, 0, condition);
        tiledb_query_condition_free(&condition);
        condition = condition_of("x", &three, sizeof three, (tiledb_query_condition_op_t)operation);
        read_where("x 3", uri, 0, condition);
        tiledb_query_condition_free(&condition);
        condition = condition_of("colour", "green", 5, (tiledb_query_condition_op_t)operation);
        read_where("colour green", uri, 0, condition);
        tiledb_query_condition_free(&condition);
    }
}

static void combinations(const char* uri) {
    const int32_t thirty = 30, fifty = 50;
    const uint8_t one = 1;
    tiledb_query_condition_t *left = condition_of("number", &thirty, sizeof thirty, TILEDB_GE), *both = NULL,
                             *neither = NULL;
    tiledb_query_condition_t* right = condition_of("number", &fifty, sizeof fifty, TILEDB_LT);
    tiledb_query_condition_t* null = condition_of("real", NULL, 0, TILEDB_EQ);
    tiledb_query_condition_t* present = condition_of("real", NULL, 0, TILEDB_NE);
    tiledb_query_condition_t* empty = condition_of("word", "", 0, TILEDB_EQ);
    tiledb_query_condition_t* code = condition_of("colour", &one, sizeof one, TILEDB_EQ);
    printf("combinations\n");
    CODE(tiledb_query_condition_combine(ctx, left, right, TILEDB_AND, &both));
    read_where("and", uri, 0, both);
    CODE(tiledb_query_condition_negate(ctx, both, &neither));
    read_where("not", uri, 0, neither);
    tiledb_query_condition_free(&neither);
    tiledb_query_condition_free(&both);
    CODE(tiledb_query_condition_combine(ctx, left, null, TILEDB_OR, &both));
    read_where("or", uri, 0, both);
    CODE(tiledb_query_condition_combine(ctx, both, right, TILEDB_AND, &neither));
    read_where("and of or", uri, 0, neither);
    tiledb_query_condition_free(&neither);
    tiledb_query_condition_free(&both);
    CODE(tiledb_query_condition_combine(ctx, left, NULL, TILEDB_NOT, &both));
    tiledb_query_condition_free(&both);
    CODE(tiledb_query_condition_combine(ctx, left, right, TILEDB_NOT, &both));
    read_where("null", uri, 0, null);
    read_where("not null", uri, 0, present);
    read_where("empty", uri, 0, empty);
    read_where("code as a label", uri, 0, code);
    CODE(tiledb_query_condition_set_use_enumeration(ctx, code, 0));
    read_where("code", uri, 0, code);
    tiledb_query_condition_free(&left);
    tiledb_query_condition_free(&right);
    tiledb_query_condition_free(&null);
    tiledb_query_condition_free(&present);
    tiledb_query_condition_free(&empty);
    tiledb_query_condition_free(&code);
    tell_number("freed", code == NULL);
}

static void sets(const char* uri) {
    const int32_t numbers[] = {20, 60, 99};
    const uint64_t number_at[] = {0, 4, 8}, word_at[] = {0, 3}, colour_at[] = {0, 3};
    tiledb_query_condition_t* condition = NULL;
    printf("sets\n");
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "number", numbers, sizeof numbers, number_at, sizeof number_at, TILEDB_IN, &condition));
    read_where("in", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "number", numbers, sizeof numbers, number_at, sizeof number_at, TILEDB_NOT_IN, &condition));
    read_where("not in", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "word", "cccaa", 5, word_at, sizeof word_at, TILEDB_IN, &condition));
    read_where("words", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "colour", "redblue", 7, colour_at, sizeof colour_at, TILEDB_IN, &condition));
    read_where("colours", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "number", numbers, sizeof numbers, number_at, sizeof number_at, TILEDB_EQ, &condition));
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, NULL, numbers, sizeof numbers, number_at, sizeof number_at, TILEDB_IN, &condition));
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "number", NULL, 4, number_at, sizeof number_at, TILEDB_IN, &condition));
    CODE(tiledb_query_condition_alloc_set_membership(
        ctx, "number", numbers, sizeof numbers, NULL, 8, TILEDB_IN, &condition));
}

static void refusals(const char* uri) {
    const int32_t thirty = 30;
    tiledb_query_condition_t *condition = condition_of("none", &thirty, sizeof thirty, TILEDB_EQ), *other = NULL;
    printf("refusals\n");
    read_where("no such field", uri, 0, condition);
    CODE(tiledb_query_condition_init(ctx, condition, "number", &thirty, sizeof thirty, TILEDB_EQ));
    tiledb_query_condition_free(&condition);
    condition = condition_of("number", &thirty, 2, TILEDB_EQ);
    read_where("half a value", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    condition = condition_of("number", NULL, 0, TILEDB_EQ);
    read_where("null of what is never null", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    condition = condition_of("real", NULL, 0, TILEDB_LT);
    read_where("less than null", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    condition = condition_of("colour", "pink", 4, TILEDB_EQ);
    read_where("no such label", uri, 0, condition);
    tiledb_query_condition_free(&condition);
    CHECK(tiledb_query_condition_alloc(ctx, &condition));
    read_where("nothing set", uri, 0, condition);
    CODE(tiledb_query_condition_init(ctx, condition, NULL, &thirty, 4, TILEDB_EQ));
    CODE(tiledb_query_condition_negate(ctx, NULL, &other));
    CODE(tiledb_query_condition_combine(ctx, NULL, NULL, TILEDB_AND, &other));
    tiledb_query_condition_free(&condition);
}

static void delete_where(const char* what, const char* uri, uint64_t time, const tiledb_query_condition_t* condition) {
    tiledb_array_t* array = array_at(uri, TILEDB_DELETE, time);
    tiledb_query_t* query = NULL;
    printf("  %s\n", what);
    CODE(tiledb_query_alloc(ctx, array, TILEDB_DELETE, &query));
    if (condition != NULL) {
        CODE(tiledb_query_set_condition(ctx, query, condition));
    }
    if (CODE(tiledb_query_submit(ctx, query)) == TILEDB_OK) {
        tell_status(query);
    }
    tiledb_query_free(&query);
    close_array(array);
}

static void deletes(const char* uri) {
    const int32_t twenty = 20, three = 3;
    tiledb_query_condition_t *small = condition_of("number", &twenty, sizeof twenty, TILEDB_LE),
                             *red = condition_of("colour", "red", 3, TILEDB_EQ);
    tiledb_query_condition_t *third = condition_of("x", &three, sizeof three, TILEDB_EQ),
                             *none = condition_of("none", &three, 4, TILEDB_EQ);
    printf("deletes\n");
    create(uri);
    write_cells(uri, 10);
    delete_where("small numbers", uri, 20, small);
    read_where("before", uri, 15, NULL);
    read_where("after", uri, 25, NULL);
    delete_where("red", uri, 30, red);
    delete_where("the third", uri, 40, third);
    read_where("after", uri, 0, NULL);
    delete_where("no condition", uri, 50, NULL);
    delete_where("no such field", uri, 60, none);
    write_cells(uri, 70);
    read_where("written again", uri, 0, NULL);
    tiledb_query_condition_free(&small);
    tiledb_query_condition_free(&red);
    tiledb_query_condition_free(&third);
    tiledb_query_condition_free(&none);
}

int main(int argument_count, char** arguments) {
    begin(argument_count, arguments);
    create(in_folder("array"));
    write_cells(in_folder("array"), 0);
    comparisons(in_folder("array"));
    combinations(in_folder("array"));
    sets(in_folder("array"));
    refusals(in_folder("array"));
    deletes(in_folder("deletes"));
    return end();
}

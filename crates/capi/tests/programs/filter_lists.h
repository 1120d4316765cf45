/* Lists of filters: of one kind, and as they are told. */
#ifndef FILTER_LISTS_H
#define FILTER_LISTS_H

#include "told.h"

static tiledb_filter_list_t* filters_of(tiledb_filter_type_t kind) {
    tiledb_filter_t* filter = NULL;
    tiledb_filter_list_t* list = NULL;
    CHECK(tiledb_filter_alloc(ctx, kind, &filter));
    CHECK(tiledb_filter_list_alloc(ctx, &list));
    CHECK(tiledb_filter_list_add_filter(ctx, list, filter));
    tiledb_filter_free(&filter);
    return list;
}

static void tell_filters(const char* what, tiledb_filter_list_t** list) {
    uint32_t count = 0, idx;
    CHECK(tiledb_filter_list_get_nfilters(ctx, *list, &count));
    printf("  %s:", what);
    for (idx = 0; idx < count; idx++) {
        tiledb_filter_t* filter = NULL;
        tiledb_filter_type_t kind;
        const char* name = NULL;
        int32_t level = 0;
        CHECK(tiledb_filter_list_get_filter_from_index(ctx, *list, idx, &filter));
        CHECK(tiledb_filter_get_type(ctx, filter, &kind));
        CHECK(tiledb_filter_type_to_str(kind, &name));
        printf(" %s", name);
        if (tiledb_filter_get_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, &level) == TILEDB_OK) {
            printf("(%d)", (int)level);
        }
        tiledb_filter_free(&filter);
    }
    printf("\n");
    tiledb_filter_list_free(list);
}

#endif

"""Where the reference itself is wrong or undefined: such cases are not generated, or not compared.

Each entry has a reason; an entry that is not in this list does not excuse a difference.
"""
from dataclasses import dataclass
from typing import Callable, Optional

from celltypes import limits

OPAQUE = ("BLOB", "GEOM_WKB", "GEOM_WKT", "ANY")


@dataclass(frozen=True)
class Known:
    name: str
    reason: str
    # What `applies` is called with: "schema" (schema), "write" (schema, write), "read" (schema, read). "never": the
    # generator does not draw it, there is nothing to ask. Of histories.py: "test" and "stored test" (conditions, test),
    # "history read" (case, read), "history aggregate" (case, read, cells), "history error" (case, read, message),
    # "history consolidation" (case).
    about: str
    applies: Optional[Callable] = None


def _tiled_dense_var_write(schema, write):
    attrs = schema["attrs"]
    return (
        schema["array_type"] == "dense"
        and write["layout"] in ("row", "col")
        and len(attrs) > write["tile_count"] > 1
        and any(a["cell_val_num"] == "var" for a in attrs)
    )


def _last_tile_at_the_limit(schema):
    if schema["array_type"] != "dense":
        return False
    for dim in schema["dims"]:
        low, high = dim["domain"]
        if low + ((high - low) // dim["tile"] + 1) * dim["tile"] - 1 >= limits(dim["type"])[1]:
            return True
    return False


def _string_range_beside_tiles(schema, read):
    return (
        schema["array_type"] == "sparse"
        and any(d["type"] == "STRING_ASCII" and d["name"] in (read["ranges"] or {}) for d in schema["dims"])
        and any(d["tile"] is not None for d in schema["dims"])
    )


def _range_from_the_empty_string(schema, read):
    return (
        schema["array_type"] == "sparse"
        and read["layout"] in ("row", "col")
        and any(low == "" for ranges in (read["ranges"] or {}).values() for low, _ in ranges)
    )


def _hilbert_point(schema):
    return schema["cell_order"] == "hilbert" and any(
        d["domain"] is not None and float(d["domain"][0]) == float(d["domain"][1]) for d in schema["dims"]
    )


def _fixed_char(conditions, test):
    _, datatype, number, _, _ = conditions.fields[test[1]]
    return test[0] != "null" and datatype == "CHAR" and number != "var"


def _label_that_does_not_exist(conditions, test):
    labels = conditions.labels.get(test[1])
    if not labels or test[0] == "null" or test[4]:
        return False
    return any(value not in labels["values"] for value in (test[2] if test[0] == "in" else [test[3]]))


def _dense_condition_in_another_order(case, read):
    return (
        case.dense
        and read.get("condition") is not None
        and len(case.schema["dims"]) > 1
        and read["layout"] in ("row", "col")
        and not case.schema["cell_order"].startswith(read["layout"])
    )


def _null_is_unlike_no_label(case, read):
    if case.dense or read["layout"] not in ("row", "col") or not read.get("condition"):
        return False
    return any(
        case.conditions.missing(test) and test[2] == "!=" and case.conditions.fields[test[1]][3]
        for test in case.conditions.effective_tests(read["condition"])
    )


def _tests_that_it_lacks(case, read):
    tests = case.conditions.effective_tests(read["condition"]) if read.get("condition") else []
    return not all(case.askable(test) for test in tests)


def _deletes_after_consolidation(case, read, message):
    return (
        case.consolidated
        and bool(case.model.deletes)
        and read["layout"] in ("row", "col")
        and "processed condition set metadata" in message
    )


KNOWN_DIFFERENCES = [
    Known(
        "comparisons of fixed-size CHAR",
        "libtiledb compares the first byte alone, as a signed number.",
        "test",
        _fixed_char,
    ),
    Known(
        "comparisons of opaque bytes",
        "libtiledb has none.",
        "test",
        lambda conditions, test: test[0] != "null" and conditions.fields[test[1]][1] in OPAQUE,
    ),
    Known(
        "sets that hold nothing but the empty text",
        "libtiledb takes their data for absent: it refuses the condition, and a delete commit that stores one makes the array "
        "unreadable.",
        "test",
        lambda conditions, test: test[0] == "in" and not any(test[2]),
    ),
    Known(
        "conditions on __timestamps",
        "libtiledb crashes.",
        "test",
        lambda conditions, test: test[1] == "__timestamps",
    ),
    Known(
        "deletes by null tests",
        "libtiledb stores them in a form that it takes for another or cannot read.",
        "stored test",
        lambda conditions, test: test[0] == "null",
    ),
    Known(
        "deletes by labels that do not exist",
        "libtiledb stores tests that always or never hold in a form that it does not read back.",
        "stored test",
        _label_that_does_not_exist,
    ),
    Known(
        "conditions that libtiledb does not have",
        "See the tests above: smalti alone is compared with the model.",
        "history read",
        _tests_that_it_lacks,
    ),
    Known(
        "conditions on attributes that are younger than cells, in reads",
        "In libtiledb no test of an attribute holds for cells that were written before it was added; smalti takes its fill "
        "value. Deletes are alike in both.",
        "history read",
        lambda case, read: case.looks_before_an_attribute(read),
    ),
    Known(
        "deletes by attributes that were dropped later, in reads",
        "libtiledb cannot open the array any more.",
        "history read",
        lambda case, read: case.deletes_by_dropped_attributes(read),
    ),
    Known(
        "nullable attributes that are younger than cells, in unordered reads of arrays with duplicates",
        "libtiledb crashes.",
        "history read",
        lambda case, read: case.schema["allows_dups"]
        and read["layout"] == "unordered"
        and any(case.conditions.fields[name][3] and case.is_younger(name, read) for name in read["names"]),
    ),
    Known(
        "conditions on attributes that are younger than cells, in aggregates",
        "See reads.",
        "history aggregate",
        lambda case, read, cells: case.looks_before_an_attribute(read),
    ),
    Known(
        "deletes by attributes that were dropped later, in aggregates",
        "See reads.",
        "history aggregate",
        lambda case, read, cells: case.deletes_by_dropped_attributes(read),
    ),
    Known(
        "conditions on dense arrays in another order than that of the cells",
        "In row- and column-major reads whose order is not that of the cells in a tile, libtiledb applies the results of the "
        "condition to other cells.",
        "history read",
        _dense_condition_in_another_order,
    ),
    Known(
        "labels that do not exist, by != in row- and column-major order",
        "libtiledb's older readers of sparse arrays take null cells for different from them; the newer ones do not.",
        "history read",
        _null_is_unlike_no_label,
    ),
    Known(
        "row- and column-major reads after deletes and a consolidation",
        "libtiledb's older readers ask for a list of processed conditions that they have not loaded, and fail.",
        "history error",
        _deletes_after_consolidation,
    ),
    Known(
        "reads in global order that libtiledb cannot go on with",
        "libtiledb sometimes loses track of a fragment's place between its tiles, says so, and fails.",
        "history error",
        lambda case, read, message: not case.dense and "ReadState::set_frag_idx: idx greater" in message,
    ),
    Known(
        "aggregates of dense arrays by conditions",
        "libtiledb aggregates the cells that do not fulfil the condition too.",
        "history aggregate",
        lambda case, read, cells: case.dense and read.get("condition") is not None,
    ),
    Known(
        "aggregates of dense cells that nobody wrote",
        "libtiledb counts them, but leaves the fill values of some out of sums, bounds and null counts.",
        "history aggregate",
        lambda case, read, cells: case.dense and not all(ts for _, ts, _ in cells),
    ),
    Known(
        "aggregates of the dimensions of dense arrays",
        "libtiledb takes other numbers for coordinates.",
        "never",
    ),
    Known(
        "aggregates of attributes that are younger than cells",
        "libtiledb crashes.",
        "never",
    ),
    Known(
        "null counts of fields without a minimum",
        "libtiledb fails on whole tiles, whose statistics it looks for.",
        "never",
    ),
    Known(
        "bounds and sums of NaN, infinities and sums that overflow",
        "libtiledb's minimum starts from the greatest finite float, NaN makes it depend on the order, and a sum stops at the "
        "first partial sum that overflows. smalti alone is compared with the model, and its sums of floats only where no "
        "order of adding them overflows.",
        "never",
    ),
    Known(
        "consolidation of fragments that overlap in time",
        "libtiledb gives the new fragment the last one's end, though an earlier one may end later: cells are then missing at "
        "some times. Only arrays whose writes ascend are consolidated.",
        "never",
    ),
    Known(
        "consolidation of dense arrays that have a current domain",
        "libtiledb cuts the tiles of the new fragment to the current domain and cannot read them back.",
        "history consolidation",
        lambda case: case.dense and bool(case.draw.schema["current_domain"]),
    ),
    Known(
        "consolidation after an attribute was dropped",
        "libtiledb writes the newest attributes alone: earlier times lose what they had. Arrays whose attributes were dropped are "
        "not consolidated.",
        "never",
    ),
    Known(
        "dense var write over fewer tiles than attributes",
        "libtiledb corrupts its memory when a dense row- or column-major write covers more than one tile, has more "
        "attributes than tiles and one of them is var-sized. The reference then writes tile by tile instead.",
        "write",
        _tiled_dense_var_write,
    ),
    Known(
        "dense dimension whose last tile reaches the largest value of its type",
        "libtiledb's loops over cells and tiles run past the end of the type: it hangs or crashes, on writing or reading.",
        "schema",
        _last_tile_at_the_limit,
    ),
    Known(
        "range on a string dimension beside a dimension with tiles",
        "libtiledb loses or adds cells: often in unordered and global order, seldom in row- and column-major.",
        "read",
        _string_range_beside_tiles,
    ),
    Known(
        "row- or column-major read of a range that starts at the empty string",
        "libtiledb crashes when it meets a tile in which every coordinate of that dimension is empty.",
        "read",
        _range_from_the_empty_string,
    ),
    Known(
        "Hilbert order over a domain whose bounds are one double",
        "Buckets are computed in doubles: the width of the domain is zero, the bucket a division by it, and the "
        "conversion of its result undefined.",
        "schema",
        _hilbert_point,
    ),
    Known(
        "filters over tiles without a byte",
        "Var values that are all empty make a tile of no bytes. libtiledb cannot read it back, or crashes on writing it, "
        "when it is filtered by delta, double delta, positive delta, bit width reduction, or by chains such as shuffle "
        "then checksum (encryption counts as a filter). Values of such fields are not empty.",
        "never",
    ),
    Known(
        "rle over strings longer than 255 bytes",
        "libtiledb leaves the last run out when it looks for the longest string, writes too short a length field, and "
        "crashes on reading. Such strings are shorter.",
        "never",
    ),
    Known(
        "element-wise filters after a filter whose output is not a multiple of the element",
        "libtiledb accepts xor, delta, double delta or rle after a compressor, bit width reduction or positive delta (and "
        "rle on cells of several values after anything), and then fails to read or reads wrong values.",
        "never",
    ),
    Known(
        "differences that overflow",
        "Double delta refuses values whose differences overflow, positive delta those that decrease: values of such "
        "fields are small, or ascend; what is still refused is drawn again.",
        "never",
    ),
    Known(
        "WebP with an alpha channel",
        "The color of a fully transparent pixel is lost even in lossless mode. No value is zero, and only whole tiles are "
        "written.",
        "never",
    ),
    Known(
        "coordinates -0.0 and 0.0 in one array without duplicates",
        "Two cells, but libtiledb's older readers (row- and column-major) do not find the older version of either.",
        "never",
    ),
    Known(
        "ranges that overlap or are out of order",
        "Row- and column-major reads return a cell once for each range, in the order of the ranges, unordered ones lose "
        "cells, dense ones crash. Ranges ascend and are disjoint.",
        "never",
    ),
    Known(
        "sparse reads that do not fit their buffers",
        "libtiledb never ends in row- and column-major order on some arrays in Hilbert order, and corrupts its memory in "
        "unordered reads of var values from arrays with duplicates. Buffers are large from the start there.",
        "never",
    ),
    Known(
        "coordinates of dense reads",
        "In global order libtiledb sometimes returns more coordinates than there are cells. Only its attributes are read.",
        "never",
    ),
]


def known(about, *what):
    """The first known difference that applies, or None."""
    return next((k for k in KNOWN_DIFFERENCES if k.about == about and k.applies(*what)), None)



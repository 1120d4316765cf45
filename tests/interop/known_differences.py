"""Where the reference itself is wrong or undefined: such cases are not generated, or not compared.

Each entry has a reason; an entry that is not in this list does not excuse a difference.
"""
from dataclasses import dataclass
from typing import Callable

from celltypes import limits



@dataclass(frozen=True)
class Known:
    name: str
    reason: str
    # Of "schema" (schema), "write" (schema, write) and "read" (schema, read): what `applies` is called with.
    about: str
    applies: Callable


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


KNOWN_DIFFERENCES = [
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
]


def known(about, *what):
    """The first known difference that applies, or None."""
    return next((k for k in KNOWN_DIFFERENCES if k.about == about and k.applies(*what)), None)



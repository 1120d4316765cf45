"""Where old releases of libtiledb are themselves wrong: such reads are left out, each under a name and a reason.

An exception applies to releases, to arrays and sometimes to single reads of an array. What is not excused here must
come out right. The newest release reads all of these arrays (the interop tests say so), so the files are not at fault.
"""
import math
from dataclasses import dataclass
from typing import Callable

from features import pipelines


@dataclass(frozen=True)
class Limit:
    name: str
    reason: str
    releases: tuple  # (first, last) numbers of libtiledb, both included; as many numbers as count
    applies: Callable  # (case, schema, writes, read or None for the whole array) -> bool

    def excuses(self, release, case, schema, writes, read=None):
        first, last = self.releases
        inside = first <= release.number[: len(first)] and release.number[: len(last)] <= last
        return inside and self.applies(case, schema, writes, read)


def _other_order(case, schema, writes, read):
    """A dense read over several fragments in another order than the cells'."""
    return (
        schema["array_type"] == "dense"
        and read is not None
        and len(writes) > 1
        and not schema["cell_order"].startswith(read["layout"])
    )


def _global_over_partial_tiles(case, schema, writes, read):
    """A dense read in global order over several fragments, where tiles reach beyond the domain."""
    partial = any((d["domain"][1] - d["domain"][0] + 1) % d["tile"] for d in schema["dims"] if d["domain"] and d["tile"])
    return schema["array_type"] == "dense" and read is not None and len(writes) > 1 and read["layout"] == "global" and partial


def _several_ranges_var(case, schema, writes, read):
    """A dense read of several ranges that asks for a var-sized attribute."""
    if schema["array_type"] != "dense" or read is None or not any(len(r) > 1 for r in (read["ranges"] or {}).values()):
        return False
    return any(a["cell_val_num"] == "var" and a["name"] in read.get("names", [a["name"]]) for a in schema["attrs"])


def _small_integers_cross_zero(case, schema, writes, read):
    """A dense dimension of INT8 or INT16 that begins below zero and whose last tile ends at or above it."""
    for dim in schema["dims"] if schema["array_type"] == "dense" else []:
        if dim["type"] in ("INT8", "INT16"):
            low, high = dim["domain"]
            if low < 0 <= low + ((high - low) // dim["tile"] + 1) * dim["tile"] - 1:
                return True
    return False


def _tile_of_many_bytes(case, schema, writes, read):
    """Dense tiles of more cells than 8-bit dimensions can count."""
    cells = math.prod(dim["tile"] for dim in schema["dims"]) if schema["array_type"] == "dense" else 0
    return cells > 255 and schema["dims"][0]["type"] in ("INT8", "UINT8")


def _string_codec(schema, kinds):
    """Var-sized strings, attributes and dimensions, whose filter list has one of some filters."""
    for field in schema["dims"] + schema["attrs"]:
        if field["type"] in ("STRING_ASCII", "STRING_UTF8") and field.get("cell_val_num", "var") == "var":
            if any(f["filter"] in kinds for f in (field.get("filters") or {"filters": []})["filters"]):
                yield field


def _nullable_string_codec(case, schema, writes, read):
    return any(field.get("nullable") for field in _string_codec(schema, ("rle", "dictionary")))


def _empty_under(kind):
    """Null and empty strings under a filter of strings: a tile may hold nothing else."""

    def applies(case, schema, writes, read):
        names = [field["name"] for field in _string_codec(schema, (kind,))]
        return any(not value for write in writes for name in names for value in write["columns"][name])

    return applies


def _filters_behind_scaling(case, schema, writes, read):
    """Filters that work on elements behind scale_float, before version 20: they see the field's own type."""
    for field in schema["dims"] + schema["attrs"]:
        kinds = [f["filter"] for f in (field.get("filters") or {"filters": []})["filters"]]
        if "scale_float" in kinds and set(kinds[kinds.index("scale_float") + 1 :]) & ELEMENT_WISE:
            return schema["version"] < 20
    return False


def _early_utf8_rle(case, schema, writes, read):
    """RLE on var-sized UTF-8 before version 17: it works on bytes there."""
    return schema["version"] < 17 and any(f["type"] == "STRING_UTF8" for f in _string_codec(schema, ("rle",)))


def _delta_of_version_19(case, schema, writes, read):
    filters = [f["filter"] for _, pipeline in pipelines(schema) for f in pipeline]
    return schema["version"] == 19 and "delta" in filters


def _webp(case, schema, writes, read):
    return any(f["filter"] == "webp" for a in schema["attrs"] for f in a["filters"]["filters"])


def _geometry(case, schema, writes, read):
    return any(a["type"].startswith("GEOM_") for a in schema["attrs"])


ELEMENT_WISE = {"bit_width_reduction", "positive_delta", "double_delta", "delta", "bitshuffle", "byteshuffle", "rle", "xor"}

LIMITS = [
    Limit(
        "dense reads over several fragments in another order than the cells'",
        "wrong cells, crashes or endless loops",
        ((2, 8), (2, 17)),
        _other_order,
    ),
    Limit(
        "dense reads in global order over several fragments and partial tiles",
        "wrong cells",
        ((2, 18), (2, 27)),
        _global_over_partial_tiles,
    ),
    Limit(
        "dense reads of several ranges of var-sized attributes",
        "crashes",
        ((2, 8), (2, 10)),
        _several_ranges_var,
    ),
    Limit(
        "dense dimensions of INT8 and INT16 that cross zero",
        "these releases neither write nor read them",
        ((2, 8), (2, 9)),
        _small_integers_cross_zero,
    ),
    Limit(
        "dense tiles of 256 cells and more over dimensions of 8 bits",
        "this release neither writes nor reads them; with wider dimensions it does",
        ((2, 14), (2, 14)),
        _tile_of_many_bytes,
    ),
    Limit(
        "rle or dictionary on nullable strings",
        "these releases write such arrays and cannot read them back",
        ((2, 8), (2, 12)),
        _nullable_string_codec,
    ),
    Limit(
        "rle on strings that are empty or null",
        "a tile in which all strings are empty: 2.14 neither writes nor reads it, the others can read for ever in global order",
        ((2, 10), (2, 14)),
        _empty_under("rle"),
    ),
    Limit(
        "dictionary on strings that are empty or null",
        "a tile in which all strings are empty: these releases do not read it, and 2.9 writes it so that no release reads it",
        ((2, 9), (2, 14)),
        _empty_under("dictionary"),
    ),
    Limit(
        "filters of elements behind scale_float in arrays of versions 15 to 19",
        "the releases of those versions write them so; those from 2.17 on read them as if of version 20",
        ((2, 17), (2, 99)),
        _filters_behind_scaling,
    ),
    Limit(
        "rle on UTF-8 strings in arrays of versions before 17",
        "2.14.0 reads them as if of version 17, mended in 2.14.2",
        ((2, 14), (2, 14, 1)),
        _early_utf8_rle,
    ),
    Limit(
        "the delta filter in arrays of version 19",
        "2.17 cannot read the schemas that 2.16 wrote, mended in 2.17.5",
        ((2, 17), (2, 17, 4)),
        _delta_of_version_19,
    ),
    Limit("WebP in 2.12", "the filter came with 2.13, in the middle of format version 16", ((2, 12), (2, 12)), _webp),
    Limit(
        "GEOM_WKB and GEOM_WKT in 2.19",
        "the types came with 2.21, in the middle of format version 21",
        ((2, 19), (2, 20)),
        _geometry,
    ),
]


def limit(release, case, schema, writes, read=None):
    """The first exception that applies, or None. Without `read`: one for the whole array."""
    return next((l for l in LIMITS if l.excuses(release, case, schema, writes, read)), None)

"""The arrays that every format version is tried with: schemas listed here, and writes drawn for each from its name.

A schema is in the notation of `smalti schema --json`. Values come from the interop tests' generator, which knows what
each filter demands of them.
"""
import random
from dataclasses import dataclass, field

import celltypes
import generate
from celltypes import FLOATS, INTEGERS, TIMES

KEY = "0123456789abcdefghijklmnopqrstuv"
STRINGS = ("CHAR", "STRING_ASCII", "STRING_UTF8")
# Filters that every version has, which hold on any integer; some demand something of the values.
PLAIN_FILTERS = (
    ("none",), ("gzip", 6), ("zstd", 3), ("lz4", 1), ("rle", -1), ("bzip2", 5), ("double_delta", -1), ("bit_width_reduction", 64),
    ("bitshuffle",), ("byteshuffle",), ("positive_delta", 100), ("md5",), ("sha256",), ("xor",), ("delta", -1),
)
CHAINS = (
    ("bitshuffle", "zstd"), ("byteshuffle", "lz4"), ("bit_width_reduction", "gzip"), ("positive_delta", "zstd"),
    ("double_delta", "bzip2"), ("gzip", "md5"), ("byteshuffle", "zstd", "sha256"), ("xor", "lz4", "md5"), ("delta", "zstd"),
    ("positive_delta", "bit_width_reduction", "zstd"), ("bit_width_reduction", "byteshuffle", "lz4"), ("sha256", "gzip", "md5"),
)
DEMANDS = {"double_delta": "tame", "delta": "tame", "positive_delta": "sorted"}


@dataclass
class Case:
    name: str
    schema: dict
    demands: dict = field(default_factory=dict)  # what filters demand of the values, by field
    times: tuple = (1, 5, 9)  # timestamps of the writes
    key: str = None
    metadata: bool = False
    via: str = "jsonl"  # format of the files that the program writes from
    empties: bool = True  # whether var-sized values may be empty
    random: bool = False


def filters(*items):
    """A filter list from names, or tuples of name and option."""
    out = []
    for item in items:
        kind, *option = (item,) if isinstance(item, str) else item
        one = {"filter": kind}
        if kind in ("bit_width_reduction", "positive_delta"):
            one["window"] = option[0] if option else 256
        elif kind == "scale_float":
            one.update(zip(("bytewidth", "factor", "offset"), option))
        elif option:
            one["level"] = option[0]
        elif kind in ("gzip", "zstd", "lz4", "rle", "bzip2", "double_delta", "delta", "dictionary"):
            one["level"] = -1
        if kind in ("double_delta", "delta"):
            one["reinterpret"] = "ANY"
        out.append(one)
    return {"max_chunk_size": 65536, "filters": out}


def attr(name, datatype, number=1, nullable=False, pipeline=(), **more):
    return {"name": name, "type": datatype, "cell_val_num": number, "nullable": nullable, "filters": filters(*pipeline), **more}


def dim(name, datatype, low=None, high=None, tile=None, pipeline=()):
    out = {"name": name, "type": datatype, "domain": None if low is None else [low, high], "tile": tile}
    return {**out, "filters": filters(*pipeline)} if pipeline else out


def schema(kind, dims, attrs, cells="row-major", tiles="row-major", capacity=7, dups=False, **more):
    return {"array_type": kind, "capacity": capacity, "cell_order": cells, "tile_order": tiles, "allows_dups": dups,
            "dims": dims, "attrs": attrs, **more}


def plane(kind):
    """Two dimensions with partial tiles at the end of each."""
    return [dim("row", "INT32", -3, 8, 5), dim("col", "INT32", 1, 10, 4)]


def any_attrs():
    return [attr("n", "INT32"), attr("s", "STRING_ASCII", "var"), attr("f", "FLOAT64", nullable=True)]


def listed():
    """Every listed case, whatever version it needs."""
    return [*_dense(), *_sparse(), *_attributes(), *_filters(), *_special()]


def _dense():
    for datatype in INTEGERS + ("DATETIME_DAY", "DATETIME_NS", "DATETIME_YEAR", "TIME_MS"):
        low = 3 if datatype.startswith("U") else -20
        yield Case("dense 1-D " + datatype, schema("dense", [dim("d", datatype, low, low + 30, 7)], any_attrs()))
        if datatype in ("INT8", "INT16"):
            yield Case("dense 1-D %s below zero" % datatype, schema("dense", [dim("d", datatype, -50, -20, 7)], any_attrs()))
    for cells in ("row-major", "col-major"):
        for tiles in ("row-major", "col-major"):
            name = "cells %s, tiles %s" % (cells, tiles)
            yield Case("dense 2-D " + name, schema("dense", plane("dense"), any_attrs(), cells, tiles))
        cube = [dim(n, "UINT16", 0, size, tile) for n, size, tile in (("x", 4, 2), ("y", 5, 4), ("z", 6, 3))]
        yield Case("dense 3-D cells " + cells, schema("dense", cube, any_attrs(), cells, "col-major"))
    yield Case("dense 1-D one fragment", schema("dense", [dim("d", "INT64", 0, 99, 10)], any_attrs()), times=(4,))
    yield Case("dense 2-D one fragment", schema("dense", plane("dense"), any_attrs()), times=(4,))
    yield Case("dense many fragments", schema("dense", plane("dense"), any_attrs()), times=tuple(range(1, 10)))


def _sparse():
    for datatype in INTEGERS + FLOATS + ("STRING_ASCII",) + TIMES:
        if datatype == "STRING_ASCII":
            one = dim("d", datatype)
        elif datatype in FLOATS:
            one = dim("d", datatype, -90.0, 90.0, 22.5)
        else:
            low, high = (1, 100) if datatype.startswith("U") else (-50, 77)
            one = dim("d", datatype, low, high, 10)
        yield Case("sparse 1-D " + datatype, schema("sparse", [one], any_attrs()))
    for cells in ("row-major", "col-major", "hilbert"):
        for tiles in ("row-major", "col-major"):
            for dups in (False, True):
                name = "cells %s, tiles %s%s" % (cells, tiles, ", duplicates" if dups else "")
                yield Case("sparse 2-D " + name, schema("sparse", plane("sparse"), any_attrs(), cells, tiles, dups=dups))
    mixed = [dim("name", "STRING_ASCII"), dim("time", "DATETIME_MS", 0, 10**12, 10**6), dim("x", "FLOAT32", 0.0, 1.0, 0.5)]
    for cells in ("row-major", "col-major", "hilbert"):
        yield Case("sparse mixed dimensions, cells " + cells, schema("sparse", mixed, any_attrs(), cells))
    strings = [dim("k", "STRING_ASCII"), dim("l", "STRING_ASCII")]
    for cells in ("row-major", "hilbert"):
        for dups in (False, True):
            name = "sparse strings, cells %s%s" % (cells, ", duplicates" if dups else "")
            yield Case(name, schema("sparse", strings, any_attrs(), cells, dups=dups))
    wide = [dim("d", "INT64", -(2**62), 2**62, 2**40), dim("e", "UINT64", 0, 2**63, 2**50)]
    yield Case("sparse wide domain", schema("sparse", wide[:1], any_attrs()))
    yield Case("sparse wide domains", schema("sparse", wide, any_attrs(), "col-major"))
    yield Case("sparse 3-D floats", schema("sparse", [dim(n, "FLOAT64", -1.0, 1.0, 0.25) for n in "xyz"], any_attrs()))
    yield Case("sparse one cell a tile", schema("sparse", plane("sparse"), any_attrs(), capacity=1))
    yield Case("sparse many fragments", schema("sparse", plane("sparse"), any_attrs()), times=tuple(range(1, 10)))
    yield Case("sparse no attributes", schema("sparse", plane("sparse"), []))


def _attributes():
    kinds = {
        "integers": [attr(t.lower(), t) for t in INTEGERS],
        "floats": [attr(t.lower(), t) for t in FLOATS],
        "times": [attr(t.lower(), t) for t in TIMES],
        "text": [attr(t.lower(), t, "var") for t in STRINGS],
        "fixed text": [attr("c", "CHAR"), attr("c4", "CHAR", 4), attr("a3", "STRING_ASCII", 3)],
        "code units": [attr(t.lower(), t, "var") for t in celltypes.CODE_UNITS],
        "var numbers": [attr(t.lower(), t, "var") for t in ("INT8", "UINT16", "INT32", "UINT64", *FLOATS, "DATETIME_SEC")],
        "several values": [
            attr(t.lower(), t, n) for t, n in (("INT8", 3), ("UINT16", 2), ("INT64", 4), ("FLOAT32", 2), ("FLOAT64", 3))
        ],
        "nullable fixed": [attr(t.lower(), t, 1, True) for t in ("INT8", "INT64", "FLOAT32", "DATETIME_DAY")]
        + [attr("int16", "INT16", 2, True)],
        "nullable var": [attr(t.lower(), t, "var", True) for t in STRINGS + ("INT32", "FLOAT64")],
        "blob": [attr("b", "BLOB"), attr("bv", "BLOB", "var"), attr("bn", "BLOB", "var", True)],
        "any": [attr("a", "ANY", "var")],
        "bool": [attr("b", "BOOL"), attr("bv", "BOOL", "var"), attr("bn", "BOOL", nullable=True)],
        "geometry": [attr("wkb", "GEOM_WKB", "var"), attr("wkt", "GEOM_WKT", "var")],
        "fill values": [attr("i", "INT32", fill_hex="2a000000"), attr("s", "STRING_ASCII", "var", fill_hex=b"none".hex()),
                        attr("n", "INT64", nullable=True, fill_hex="07" + 7 * "00", fill_valid=True)],
        "exotic names": [attr("with space", "INT32"), attr("größe", "INT32"), attr("a%20b/c", "INT32"), attr("q?*", "INT32")],
    }
    for kind in ("dense", "sparse"):
        for name, attrs in kinds.items():
            yield Case("%s attributes: %s" % (kind, name), schema(kind, plane(kind), attrs))


def _filters():
    for kind in ("dense", "sparse"):
        for pipeline in [(f,) for f in PLAIN_FILTERS] + list(CHAINS):
            names = [f if isinstance(f, str) else f[0] for f in pipeline]
            demand = next((DEMANDS[n] for n in names if n in DEMANDS), None)
            types = INTEGERS if demand != "sorted" else INTEGERS[:7]
            attrs = [attr(t.lower(), t, pipeline=pipeline) for t in types]
            attrs += [attr("dates", "DATETIME_US", pipeline=pipeline)]
            if not set(names) & {"double_delta", "delta", "positive_delta", "bit_width_reduction"}:
                attrs += [attr(t.lower(), t, pipeline=pipeline) for t in FLOATS]
            if demand:
                # A cell that nothing was written to holds the fill value, and that must suit the filter too.
                for one in attrs:
                    one["fill_hex"] = bytes(celltypes.UNIT_LEN[one["type"]]).hex()
            demands = {a["name"]: demand for a in attrs}
            yield Case("%s filters: %s" % (kind, ", ".join(names)), schema(kind, plane(kind), attrs), demands)
        for factor, offset, width in ((0.5, 1.0, 2), (0.25, 0.0, 4), (2.0, -5.0, 8), (1.0, 0.0, 1)):
            for behind in ((), ("zstd",), ("byteshuffle", "gzip"), ("bit_width_reduction",), ("positive_delta",)):
                if "positive_delta" in behind and width != 4:
                    continue
                pipeline = (("scale_float", width, factor, offset), *behind)
                attrs = [attr(t.lower(), t, pipeline=pipeline, fill_hex=celltypes.pack(t, [offset]).hex()) for t in FLOATS]
                demand = ("scaled", width, factor, offset)
                name = "%s filters: %s" % (kind, ", ".join(["scale_float %d" % width, *behind]))
                if behind == ("positive_delta",):
                    demand = "sorted"
                    for one in attrs:
                        one["filters"]["filters"][0].update(factor=1.0, offset=0.0)
                        one["fill_hex"] = celltypes.pack(one["type"], [0.0]).hex()
                yield Case(name, schema(kind, plane(kind), attrs), {a["name"]: demand for a in attrs})
        for pipeline in (("rle",), ("dictionary",), ("rle", "zstd"), ("dictionary", "lz4"), ("zstd",), ("gzip", "sha256")):
            for datatype in ("STRING_ASCII", "STRING_UTF8"):
                for nullable in (False, True):
                    name = "%s filters on %s%s: %s" % (kind, "nullable " if nullable else "", datatype, ", ".join(pipeline))
                    one = schema(kind, plane(kind), [attr("s", datatype, "var", nullable, pipeline)])
                    yield Case(name, one)
                    if pipeline[0] in ("rle", "dictionary") and not nullable:
                        yield Case(name + ", none empty", one, empties=False)
        own = {"offsets_filters": filters("double_delta", "zstd"), "validity_filters": filters("rle")}
        yield Case(kind + " filters of offsets and validity", schema(kind, plane(kind), any_attrs(), **own))
        own = {"offsets_filters": filters("positive_delta", "bit_width_reduction", "lz4"),
               "validity_filters": filters("bitshuffle", "gzip")}
        yield Case(kind + " filter chains of offsets and validity", schema(kind, plane(kind), any_attrs(), **own))
    chains = (("bitshuffle", "lz4"), ("byteshuffle", "zstd"), ("double_delta", "bzip2"), ("delta", "zstd"))
    for pipeline in (("zstd",), ("gzip",), ("rle",), *chains):
        name = "sparse filters of coordinates: " + ", ".join(pipeline)
        yield Case(name, schema("sparse", plane("sparse"), any_attrs(), coords_filters=filters(*pipeline)))
    own = [dim("d", "INT64", 0, 100, 10, ("double_delta", "zstd")), dim("word", "STRING_ASCII", pipeline=("rle",)),
           dim("x", "FLOAT64", 0.0, 1.0, 0.5, ("byteshuffle", "gzip"))]
    yield Case("sparse filters of each dimension", schema("sparse", own, any_attrs()))
    words = [dim("word", "STRING_ASCII", pipeline=("dictionary",)), dim("other", "STRING_ASCII", pipeline=("zstd",))]
    yield Case("sparse dictionary of a dimension", schema("sparse", words, any_attrs()))
    webp = [{"filter": "webp", "quality": 100.0, "format": 1, "lossless": 1}]
    pixels = attr("p", "UINT8")
    pixels["filters"]["filters"] = webp
    image = [dim("y", "UINT32", 0, 19, 10), dim("x", "UINT32", 0, 29, 15)]
    yield Case("dense filters: webp", schema("dense", image, [pixels]), {"p": "opaque"})


def _special():
    for kind in ("dense", "sparse"):
        yield Case(kind + " encrypted", schema(kind, plane(kind), any_attrs()), key=KEY, metadata=True)
        chained = [attr("n", "INT32", pipeline=("bitshuffle", "zstd")), attr("s", "STRING_UTF8", "var", True, ("gzip",))]
        yield Case(kind + " encrypted, filtered", schema(kind, plane(kind), chained, offsets_filters=filters("zstd")), key=KEY)
        for at in (1, 2, 3):
            yield Case("%s metadata %d" % (kind, at), schema(kind, plane(kind), any_attrs()), metadata=True, times=(3,))
        yield Case(kind + " nothing written", schema(kind, plane(kind), any_attrs()), times=())
        yield Case(kind + " metadata, nothing written", schema(kind, plane(kind), any_attrs()), times=(), metadata=True)
        for via in ("csv", "arrow"):
            attrs = [attr("n", "INT32"), attr("x", "FLOAT64"), attr("s", "STRING_UTF8", "var")]
            yield Case("%s written from %s" % (kind, via), schema(kind, plane(kind), attrs), via=via)
    line = schema("dense", [dim("d", "INT32", 0, 39999, 20000)], [attr("n", "INT64", pipeline=("zstd",))])
    yield Case("dense written from npy, several chunks a tile", line, times=(1, 2), via="npy")


def drawn(seed, version, count):
    """`count` random cases that a version can hold; each follows from seed, version and number."""
    import features

    for number in range(count):
        for draw in range(200):
            rng = random.Random("%s/%s/%s/%s" % (seed, version, number, draw))
            key = KEY if rng.random() < 0.1 else None
            draft = generate.SchemaDraw(rng, key is not None)
            asked = draft.draw()
            if features.first_version(asked) > version:
                continue
            times = tuple(sorted(rng.sample(range(1, 30), rng.randint(1, 4))))
            yield Case("random %s/%d" % (seed, number), asked, draft.demands, times, key, rng.random() < 0.3, random=True)
            break

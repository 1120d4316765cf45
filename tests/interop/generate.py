"""Random cases: schema, writes, reads and metadata. Everything follows from one random number generator."""
import itertools
import math

import celltypes
from celltypes import FLOATS, INTEGERS, TIMES, limits, pack
from model import Grid

ALL_TYPES = celltypes.NAMES
TAME = 100  # values stay within 0..TAME where a filter cannot take large differences
COMPRESSORS = ("gzip", "zstd", "lz4", "bzip2", "rle")
# Filters that follow each other even on no bytes at all
PLAIN_CHAIN = ("gzip", "zstd", "bzip2", "md5", "sha256", "none", "aes")
MAX_TILE_CELLS = 4096
MAX_WHOLE_READ_CELLS = 3000


class Unusable(Exception):
    """A draw that cannot become a case."""


# ---------------------------------------------------------------- filters


class Pipelines:
    """Draws filter lists; notes what a list demands of the values it is applied to."""

    def __init__(self, rng):
        self.rng = rng

    def webp(self, dims):
        """A lossless WebP filter for the tiles of two dimensions."""
        depth = self.rng.choice(webp_depths(dims))
        return {"filter": "webp", "quality": 100.0, "format": depth, "lossless": 1}

    def draw(self, datatype, number, shared=False):
        """(filter list, demand) for values of a datatype; `shared`: for a list that fields of several types share.

        demand: None, "tame" (small values), "sorted" (values that never decrease), "opaque" (nothing that reads as a
        transparent pixel, whose color WebP forgets), or ("scaled", bytewidth, factor, offset).
        """
        rng = self.rng
        count = rng.choices([0, 1, 2, 3], [35, 35, 20, 10])[0]
        # opaque: what comes out is no longer a sequence of values, and libtiledb cannot undo an element-wise filter on
        # it; resized: nor is it a sequence of cells, as its rle wants (which several values in a cell deny too: filters
        # cut their output anywhere).
        out, demand, opaque, resized = [], None, False, False
        for at in range(count):
            kinds = ["gzip", "zstd", "lz4", "bzip2", "rle", "md5", "sha256", "none", "byteshuffle", "bitshuffle"]
            if not opaque:
                kinds.append("xor")
                if datatype not in FLOATS:
                    kinds += ["bit_width_reduction", "delta", "double_delta"]
                    if rng.random() < 0.4 and demand is None:
                        kinds.append("positive_delta")
                if datatype in FLOATS and at == 0 and number == 1 and not shared:
                    kinds += ["scale_float"] * 4
                if datatype in ("STRING_ASCII", "STRING_UTF8") and number == "var":
                    # Element-wise filters see bytes of strings there; rle and dictionary only come first.
                    kinds = [k for k in kinds if k not in ("rle", "double_delta", "delta", "positive_delta")]
                    if at == 0:
                        kinds += ["rle", "dictionary"] * 3
            elif datatype in ("STRING_ASCII", "STRING_UTF8") and number == "var":
                kinds.remove("rle")
            if resized or (at and number != 1) or (opaque and celltypes.UNIT_LEN[datatype] > 1):
                kinds = [k for k in kinds if k != "rle"]
            kind = rng.choice(kinds)
            item = {"filter": kind}
            if kind in ("bit_width_reduction", "positive_delta"):
                item["window"] = rng.choice([256, 64, 1024, 8, 100])
            elif kind in ("delta", "double_delta"):
                item["level"] = -1
                item["reinterpret"] = "ANY"
                if rng.random() < 0.3 and not shared:
                    size = celltypes.UNIT_LEN[datatype]
                    item["reinterpret"] = rng.choice([t for t in INTEGERS if size % celltypes.UNIT_LEN[t] == 0])
                demand = demand or "tame"
                opaque = True
            elif kind == "gzip":
                item["level"] = rng.choice([-1, 1, 6, 9])
            elif kind == "zstd":
                item["level"] = rng.choice([-1, 1, 3, 12, 19])
            elif kind in ("lz4", "bzip2"):
                item["level"] = rng.choice([-1, 1, 4, 9])
            elif kind in ("rle", "dictionary"):
                item["level"] = -1
            elif kind == "scale_float":
                item["bytewidth"] = rng.choice([1, 2, 4, 8])
                item["factor"] = rng.choice([1.0, 0.5, 2.0, 0.25])
                item["offset"] = rng.choice([0.0, 1.0, -5.0, 0.5])
                demand = ("scaled", item["bytewidth"], item["factor"], item["offset"])
                datatype = {1: "INT8", 2: "INT16", 4: "INT32", 8: "INT64"}[item["bytewidth"]]
            elif kind == "xor":
                datatype = {1: "INT8", 2: "INT16", 4: "INT32", 8: "INT64"}[celltypes.UNIT_LEN[datatype]]
            if kind == "positive_delta":
                demand = "sorted"
            if kind in COMPRESSORS + ("dictionary", "bit_width_reduction", "positive_delta"):
                opaque = True
            if kind in ("scale_float", "xor"):
                resized = True
            out.append(item)
        chunk = rng.choices([65536, 16, 100, 1000, 1 << 20], [60, 10, 10, 10, 10])[0]
        return {"max_chunk_size": chunk, "filters": out}, demand


def holds_empty_tiles(filters, encrypted):
    """Whether libtiledb can write and read back a tile without any byte (var values, all of them empty) so filtered.
    Encryption is one more filter at the end."""
    kinds = [item["filter"] for item in filters["filters"]] + ["aes"] * encrypted
    if encrypted and kinds[0] == "none":
        return False  # it loses the empty part, so that a compressor behind it leaves nothing to encrypt
    if len(kinds) > 1:
        return set(kinds[1:]) <= set(PLAIN_CHAIN) and kinds[0] in PLAIN_CHAIN + ("dictionary",)
    return not set(kinds) & {"delta", "double_delta", "bit_width_reduction", "positive_delta"}


def longest_text(datatype, filters):
    """Bytes of the longest var string that libtiledb can read back: its rle on strings leaves the last run out when it
    looks for the longest, and then writes too short a length field."""
    first = filters["filters"][:1]
    rle = first and first[0]["filter"] == "rle" and datatype in ("STRING_ASCII", "STRING_UTF8")
    return 255 if rle else 1 << 20


def webp_depths(dims):
    """Pixel formats (1 RGB, 2 BGR, 3 RGBA, 4 BGRA) that the tile of two integral dimensions allows."""
    if len(dims) != 2 or dims[0]["type"] not in INTEGERS:
        return []
    return [f for f in (1, 2, 3, 4) if dims[1]["tile"] % (3 if f < 3 else 4) == 0]


# ---------------------------------------------------------------- values


class Values:
    """Draws values of one field."""

    def __init__(self, rng, datatype, number, demand, shortest=0, longest=1 << 20):
        """`shortest`, `longest`: length of var values."""
        self.rng, self.datatype, self.number, self.demand = rng, datatype, number, demand
        self.shortest, self.longest = shortest, longest
        self.low, self.high = (0, 0) if datatype in FLOATS else limits(datatype)
        self.recent = []
        self.rising = 0

    def unit(self):
        rng = self.rng
        if self.demand == "sorted":
            self.rising = min(self.rising + rng.choice([0, 0, 1]), min(self.high, 1 if self.datatype == "BOOL" else 127))
            return self.rising
        if self.demand == "opaque":
            return rng.randint(1, 255)
        if self.datatype == "BOOL":
            return rng.randrange(2)
        if isinstance(self.demand, tuple):
            _, width, factor, offset = self.demand
            top = min(2 ** (8 * width - 1) - 1, 1 << 20)
            return rng.choice([0, 1, -1, top, -top, rng.randint(-top, top), rng.randint(-9, 9)]) * factor + offset
        if self.demand == "tame":
            return rng.randint(0, TAME)
        if self.datatype in FLOATS:
            return self.float()
        kind = rng.random()
        if kind < 0.15:
            return rng.choice([self.low, self.high, self.low + 1, self.high - 1])
        if kind < 0.6:
            return max(self.low, rng.randint(-5, 100)) if self.high > 100 else rng.randint(self.low, self.high)
        return rng.randint(self.low, self.high)

    def float(self):
        rng = self.rng
        if rng.random() < 0.25:
            big, small = (3.4028234663852886e38, 1.401298464324817e-45) if self.datatype == "FLOAT32" else (
                1.7976931348623157e308, 5e-324)
            return rng.choice([math.nan, math.inf, -math.inf, -0.0, 0.0, big, -big, small, -small])
        value = rng.choice([rng.uniform(-1, 1), rng.uniform(-1e6, 1e6), rng.randint(-10, 10), 10.0 ** rng.randint(-30, 30)])
        return celltypes.float32(value) if self.datatype == "FLOAT32" else float(value)

    def count(self):
        if self.number != "var":
            return self.number
        count = self.rng.choices([0, 1, 2, 5, self.rng.randint(0, 40), 700], [15, 25, 25, 20, 14, 1])[0]
        return min(max(count, self.shortest), self.longest)

    def one(self):
        """Bytes of one value."""
        rng = self.rng
        if self.recent and rng.random() < 0.25 and self.demand != "sorted":
            return rng.choice(self.recent)
        count = self.count()
        if self.datatype in celltypes.TEXT and self.demand is None:
            value = self.text(count)
        else:
            value = pack(self.datatype, [self.unit() for _ in range(count)])
        self.recent = (self.recent + [value])[-6:]
        return value

    def text(self, count):
        rng = self.rng
        style = rng.random()
        if style < 0.6:
            raw = bytes(rng.choice(b"abcxyz AZ019_") for _ in range(count))
        elif style < 0.75:
            raw = "".join(rng.choice("a\0é\n\"\\/漢😀\u2028ß") for _ in range(count)).encode()
        elif style < 0.9:
            raw = bytes(rng.randrange(128) for _ in range(count))
        else:
            raw = bytes(rng.randrange(256) for _ in range(count))
        if self.datatype == "STRING_ASCII":
            raw = bytes(byte & 0x7F for byte in raw)
        return raw[: self.longest] if self.number == "var" else raw[:count].ljust(count, b"x")


def fill_value(rng, datatype, number, demand):
    """Bytes of a fill value (never empty)."""
    values = Values(rng, datatype, number, demand, shortest=1)
    while True:
        raw = values.one()
        if len(raw) < 200:
            return raw


# ---------------------------------------------------------------- schema


class SchemaDraw:
    """A random schema in the notation of `schema --json`, and per field what its values must obey."""

    def __init__(self, rng, encrypted):
        self.rng, self.encrypted = rng, encrypted
        self.pipelines = Pipelines(rng)
        self.demands = {}

    def draw(self):
        rng = self.rng
        dense = rng.random() < 0.5
        schema = {"array_type": "dense" if dense else "sparse"}
        schema["capacity"] = rng.choice([1, 2, 3, 7, 10, 64, 1000, 10000])
        schema["cell_order"] = rng.choice(["row-major", "col-major"] if dense else ["row-major", "col-major", "hilbert"])
        schema["tile_order"] = rng.choice(["row-major", "col-major"])
        schema["allows_dups"] = not dense and rng.random() < 0.4
        count = rng.choices([1, 2, 3, 4, 5, 8], [30, 35, 20, 7, 5, 3])[0]
        schema["dims"] = self.dense_dims(count) if dense else self.sparse_dims(count, schema["cell_order"] == "hilbert")
        schema["attrs"] = self.attributes(dense, schema["dims"])
        if rng.random() < 0.5:
            types = [d["type"] for d in schema["dims"]]
            like = ("STRING_ASCII", "var") if "STRING_ASCII" in types else (types[0], 1)
            schema["coords_filters"] = self.pipelines.draw(*like, shared=True)[0]
        if rng.random() < 0.5:
            schema["offsets_filters"] = self.pipelines.draw("UINT64", 1)[0]
        if rng.random() < 0.5:
            schema["validity_filters"] = self.pipelines.draw("UINT8", 1)[0]
        return schema

    def names(self, count, exotic):
        pool = ["a", "b", "x", "y", "row", "Time", "v1", "größe", "with_underscore", "UPPER"]
        if exotic:
            pool += ["with space", "a%20b", "a+b", "semi;colon", "quote'", "tab\t", "漢字", "a" * 60, "sla/sh", "st*r", "q?"]
        return self.rng.sample(pool, count)

    def dense_dims(self, count):
        rng = self.rng
        datatype = rng.choice(INTEGERS + TIMES if rng.random() < 0.4 else INTEGERS)
        low, high = limits(datatype)
        huge = count <= 3 and rng.random() < 0.15
        budget, tile_budget = MAX_WHOLE_READ_CELLS, MAX_TILE_CELLS
        out = []
        for name in self.names(count, False):
            most = max(1, min(20, int(budget ** (1 / max(1, count - len(out)))), tile_budget))
            size = rng.choice([1, most]) if rng.random() < 0.2 else rng.randint(1, most)
            budget //= size
            extent = rng.randint(1, size)
            if huge and rng.random() < 0.7:
                size = min(rng.choice([1000, 10**6, 10**12]), high - low - 300)
                size = max(size, 1)
            # One value past the last tile must exist: see known_differences.
            start = self.start(datatype, min(-(-size // extent) * extent + 1, high - low + 1))
            tile_budget //= extent
            out.append({"name": name, "type": datatype, "domain": [start, start + size - 1], "tile": extent})
        return out

    def start(self, datatype, size):
        """Where a domain of `size` values begins."""
        rng = self.rng
        low, high = limits(datatype)
        last = high - size + 1
        choices = [0, 1, low, low + 1, last, last - 1, -(size // 2), rng.randint(low, last), rng.randint(-50, 50)]
        return min(max(rng.choice(choices), low), last)

    def sparse_dims(self, count, hilbert):
        rng = self.rng
        mixed = rng.random() < 0.5
        pool = INTEGERS + TIMES + ("FLOAT32", "FLOAT64", "STRING_ASCII", "FLOAT64", "STRING_ASCII", "STRING_ASCII") * 3
        one = rng.choice(pool)
        out = []
        for name in self.names(count, False):
            datatype = rng.choice(pool) if mixed else one
            dim = {"name": name, "type": datatype, "domain": None, "tile": None}
            if datatype in FLOATS:
                low, high = rng.choice([(0.0, 1.0), (-90.0, 90.0), (-1.0, 1000.0), (-1e30, 1e30), (0.5, 0.75), (2.0, 2.0)])
                if low == high and hilbert:
                    high = low + 1.0
                low, high = (celltypes.float32(v) if datatype == "FLOAT32" else v for v in (low, high))
                dim["domain"] = [low, high]
                extent = rng.choice([(high - low) / 7, high - low, (high - low) / 2, None]) if low < high else 1.0
                if extent and datatype == "FLOAT32":
                    extent = celltypes.float32(extent)
                dim["tile"] = extent
            elif datatype != "STRING_ASCII":
                low, high = limits(datatype)
                size = rng.choice([2, 5, 20, 100, 250, 10**4, 10**9, 2**62, high - low - 1])
                size = max(2 if hilbert else 1, min(size if rng.random() < 0.9 else 1, high - low - 1))
                start = self.start(datatype, size)
                dim["domain"] = [start, start + size - 1]
                dim["tile"] = min(rng.choice([1, 2, 3, 10, 1000, size]), size, high)
                if rng.random() < 0.1 and size <= high:
                    dim["tile"] = None  # the whole domain, which the type must be able to hold
            if rng.random() < 0.4:
                number = "var" if datatype == "STRING_ASCII" else 1
                dim["filters"], demand = self.pipelines.draw(datatype, number)
                self.demands[name] = demand
            out.append(dim)
        return out

    def attributes(self, dense, dims):
        rng = self.rng
        out = []
        used = [d["name"] for d in dims]
        for name in self.names(rng.choices([0, 1, 2, 3, 4], [0 if dense else 8, 40, 25, 15, 12])[0], True):
            if name in used:
                continue
            datatype = rng.choice(ALL_TYPES)
            number = rng.choices([1, "var", rng.randint(2, 4)], [60, 25, 15])[0]
            if datatype == "ANY":
                number = "var"
            elif datatype in ("STRING_ASCII", "STRING_UTF8") and rng.random() < 0.7:
                number = "var"
            filters, demand = self.pipelines.draw(datatype, number)
            if dense and webp_depths(dims) and rng.random() < 0.3:
                datatype, number, demand = "UINT8", 1, "opaque"
                filters["filters"] = [self.pipelines.webp(dims)]
            attr = {"name": name, "type": datatype, "cell_val_num": number, "nullable": rng.random() < 0.35, "filters": filters}
            if number == "var" and not holds_empty_tiles(filters, self.encrypted):
                attr["nullable"] = False  # nothing is stored under a null
            if demand == "opaque":
                attr["nullable"] = False  # a zero is stored under a null
            if rng.random() < (0.8 if demand else 0.3):
                attr["fill_hex"] = fill_value(rng, datatype, number, demand).hex()
                if attr["nullable"]:
                    attr["fill_valid"] = rng.random() < 0.5
            self.demands[name] = demand
            out.append(attr)
        return out or (self.attributes(dense, dims) if dense else [])


# ---------------------------------------------------------------- writes


class WriteDraw:
    """Random writes into an array of a complete schema."""

    def __init__(self, rng, schema, demands, encrypted):
        self.rng, self.schema, self.encrypted = rng, schema, encrypted
        self.grid = Grid(schema)
        self.dense = schema["array_type"] == "dense"
        self.values = {
            a["name"]: Values(
                rng, a["type"], a["cell_val_num"], demands.get(a["name"]),
                shortest=0 if self.holds_empty_tiles(a) else 1, longest=longest_text(a["type"], a["filters"]),
            )
            for a in schema["attrs"]
        }
        self.demands = demands
        # A pixel with alpha must be written whole: padding reads as transparent.
        self.whole_tiles = any(f.get("format", 0) > 2 for a in schema["attrs"] for f in a["filters"]["filters"])
        self.pools = [] if self.dense else [self.pool(d) for d in schema["dims"]]
        self.seen = []

    def draw(self):
        count = self.rng.choices([1, 2, 3, 4], [35, 30, 20, 15])[0]
        times = sorted(self.rng.sample(range(1, 30), count))
        if self.rng.random() < 0.3:
            times = self.rng.sample(times, count)
        return [self.dense_write(ts) if self.dense else self.sparse_write(ts) for ts in times]

    def holds_empty_tiles(self, field):
        return holds_empty_tiles(field["filters"], self.encrypted)

    def columns(self, count):
        """Attribute values, and what is stored under each null."""
        rng, out, hidden = self.rng, {}, {}
        for attr in self.schema["attrs"]:
            values = self.values[attr["name"]]
            nulls = rng.choice([0, 0.3, 1]) if attr["nullable"] else 0
            column = [None if nulls and rng.random() < nulls else values.one() for _ in range(count)]
            plain = b"" if attr["cell_val_num"] == "var" else bytes(attr["cell_val_num"] * celltypes.UNIT_LEN[attr["type"]])
            under = values.one if rng.random() < 0.3 else lambda: plain
            out[attr["name"]] = column
            hidden[attr["name"]] = [under() if v is None else b"" for v in column]
        return out, hidden

    def dense_write(self, ts):
        rng = self.rng
        layout = "global" if self.whole_tiles else rng.choice(["row", "row", "col", "global"])
        ranges, cells, tile_cells = [], 1, 1
        for dim in self.schema["dims"]:
            low, high = dim["domain"]
            extent = dim["tile"]
            most = min(high - low + 1, max(1, 400 // cells), 25)
            if layout == "global":
                tiles = (high - low + 1) // extent
                count = min(tiles, rng.randint(1, max(1, most // extent)))
                first = low + rng.randint(0, tiles - count) * extent
                ranges.append([first, first + count * extent - 1])
            else:
                size = rng.randint(1, most) if rng.random() < 0.7 else most
                first = rng.choice([low, high - size + 1, rng.randint(low, high - size + 1)])
                ranges.append([first, first + size - 1])
            cells *= ranges[-1][1] - ranges[-1][0] + 1
            tile_cells *= (ranges[-1][1] - low) // extent - (ranges[-1][0] - low) // extent + 1
        coords = list(itertools.product(*(range(a, b + 1) for a, b in ranges)))
        coords.sort(key=self.grid.key(layout))
        columns, hidden = self.columns(len(coords))
        for d, dim in enumerate(self.schema["dims"]):
            columns[dim["name"]] = [celltypes.coordinate_bytes(dim["type"], c[d]) for c in coords]
        ranges = {d["name"]: [r] for d, r in zip(self.schema["dims"], ranges)}
        return {"ts": ts, "layout": layout, "ranges": ranges, "columns": columns, "hidden": hidden,
                "tile_count": tile_cells, "split": self.split(layout, len(coords))}

    def sparse_write(self, ts):
        rng = self.rng
        layout = rng.choice(["unordered", "unordered", "global"])
        count = rng.choices([1, rng.randint(2, 12), rng.randint(10, 80), rng.randint(100, 500)], [10, 40, 40, 10])[0]
        coords = []
        for _ in range(count):
            if self.seen and rng.random() < 0.25:
                coords.append(rng.choice(self.seen))
            else:
                coords.append(tuple(rng.choice(p) for p in self.pools))
        if not self.schema["allows_dups"]:
            coords = list(dict.fromkeys(coords))
        self.seen = (self.seen + coords)[-200:]
        if layout == "global":
            coords.sort(key=self.grid.key("global"))
        columns, hidden = self.columns(len(coords))
        for d, dim in enumerate(self.schema["dims"]):
            columns[dim["name"]] = [celltypes.coordinate_bytes(dim["type"], c[d]) for c in coords]
        return {"ts": ts, "layout": layout, "ranges": None, "columns": columns, "hidden": hidden,
                "tile_count": 0, "split": self.split(layout, len(coords))}

    def split(self, layout, count):
        """Where a global-order write is cut into two submissions; 0: not at all."""
        return self.rng.randint(1, count - 1) if layout == "global" and count > 1 and self.rng.random() < 0.4 else 0

    def pool(self, dim):
        """Coordinates to draw from: bounds, tile edges, anything."""
        rng = self.rng
        datatype = dim["type"]
        if datatype == "STRING_ASCII":
            return self.string_pool(self.holds_empty_tiles(dim))
        low, high = dim["domain"]
        demand = self.demands.get(dim["name"])
        if datatype in FLOATS:
            if isinstance(demand, tuple):
                _, width, factor, offset = demand
                top = min(2 ** (8 * width - 1) - 1, 1000)
                out = [k * factor + offset for k in range(-top, top + 1)]
                if not any(low <= v <= high for v in out):
                    raise Unusable("no multiple of the scale within the domain")
            else:
                out = [low, high] + [rng.uniform(low, high) for _ in range(30)]
                if dim["tile"]:
                    out += [low + dim["tile"] * k for k in range(4)]
            if datatype == "FLOAT32":
                out = [celltypes.float32(v) for v in out]
            # A zero of either sign would be two cells that compare equal: positive only.
            return [v + 0.0 for v in out if low <= v <= high]
        out = {low, high}
        extent = dim["tile"] or 1
        for _ in range(rng.choice([2, 8, 30])):
            value = rng.choice([rng.randint(low, high), low + extent * rng.randint(0, 5), low + extent * rng.randint(1, 5) - 1,
                                low + rng.randint(0, 30), high - rng.randint(0, 30)])
            out.add(min(max(value, low), high))
        return sorted(out)

    def string_pool(self, empties):
        rng = self.rng
        out = {b"", b"a", b"aa", b"ab", b"b", b"~"} if rng.random() < 0.7 else set()
        for _ in range(rng.choice([3, 10, 40])):
            alphabet = rng.choice([b"ab", b"abcdefghijklmnopqrstuvwxyz", bytes(range(1, 128)), bytes(range(128))])
            out.add(bytes(rng.choice(alphabet) for _ in range(rng.choice([1, 2, 3, 8, 9, 12]))))
        if rng.random() < 0.2:
            out.add(b"long" * 60)
        return sorted(out if empties else out - {b""})


# ---------------------------------------------------------------- reads


class ReadDraw:
    """Random reads of an array."""

    def __init__(self, rng, schema, writes, pools):
        self.rng, self.schema, self.writes, self.pools = rng, schema, writes, pools
        self.dense = schema["array_type"] == "dense"
        cells = 1
        for dim in schema["dims"] if self.dense else []:
            cells *= dim["domain"][1] - dim["domain"][0] + 1
        self.huge = cells > MAX_WHOLE_READ_CELLS

    def draw(self):
        rng = self.rng
        layouts = ["row", "col", "global"] if self.dense else ["row", "col", "global", "unordered"]
        out = [] if self.huge else [{"layout": layout, "ranges": None} for layout in layouts]
        for _ in range(3):
            layout = rng.choice(layouts)
            out.append({"layout": layout, "ranges": self.ranges(layout)})
        times = [w["ts"] for w in self.writes]
        moment = {"layout": rng.choice(layouts), "ranges": None}
        moment["ranges"] = self.ranges(moment["layout"]) if self.huge or rng.random() < 0.3 else None
        moment["at"] = rng.choice(times) + rng.choice([-1, 0, 0, 1])
        if rng.random() < 0.5:
            moment["since"] = rng.choice(range(0, moment["at"] + 1))
        out.append(moment)
        names = [f[0] for f in celltypes.fields(self.schema)]
        for read in out[-4:]:
            if rng.random() < 0.35 and not any("," in n for n in names):
                read["names"] = rng.sample(names, rng.randint(1, len(names)))
        return out

    def ranges(self, layout):
        rng = self.rng
        out, product = {}, 1
        several = layout != "global" and rng.random() < 0.7
        for d, dim in enumerate(self.schema["dims"]):
            if not self.huge and rng.random() < 0.3:
                continue
            count = rng.randint(1, 3) if several else 1
            out[dim["name"]] = self.dense_ranges(dim, count) if self.dense else self.sparse_ranges(d, dim, count)
        if not out:
            return self.ranges(layout)
        return out

    def dense_ranges(self, dim, count):
        """Disjoint, ascending, not adjacent; near the written cells."""
        rng = self.rng
        low, high = dim["domain"]
        written = [w["ranges"][dim["name"]][0] for w in self.writes]
        anchors = [v for r in written for v in r]
        first = max(low, min(anchors) - 4)
        last = min(high, first + 40)
        cuts = sorted(rng.sample(range(first, last + 1), min(2 * count, last - first + 1)))
        if len(cuts) % 2:
            cuts.append(cuts[-1])
        out = []
        for a, b in zip(cuts[::2], cuts[1::2]):
            b = min(b, a + (3 if len(self.schema["dims"]) > 3 else 12))
            if not out or a > out[-1][1] + 1:
                out.append([a, b])
        return out

    def sparse_ranges(self, d, dim, count):
        rng = self.rng
        pool = self.pools[d]
        out = []
        for _ in range(count):
            a, b = sorted([rng.choice(pool), rng.choice(pool)])
            if rng.random() < 0.2:
                b = a
            if dim["type"] == "STRING_ASCII":
                out.append([a.decode("ascii"), b.decode("ascii")])
                continue
            low, high = dim["domain"]
            if dim["type"] not in FLOATS and rng.random() < 0.4:
                a, b = max(low, a - 1), min(high, b + rng.randint(0, 3))
            out.append([a, b])
        out.sort()
        apart = out[:1]
        for a, b in out[1:]:
            if a > apart[-1][1]:
                apart.append([a, b])
        return apart


# ---------------------------------------------------------------- metadata


def metadata(rng):
    """Metadata writes: [(timestamp, {key: (datatype, bytes) or None})]."""
    out, keys = [], ["k", "key two", "größe", "n%", "empty"]
    for ts in sorted(rng.sample(range(1, 30), rng.randint(1, 3))):
        items = {}
        for key in rng.sample(keys, rng.randint(1, 3)):
            if out and rng.random() < 0.2:
                items[key] = None
                continue
            datatype = rng.choice([t for t in ALL_TYPES if t != "ANY"])
            number = "var" if datatype in celltypes.TEXT else rng.choice([1, 1, 3])
            raw = Values(rng, datatype, number, None).one()
            items[key] = (datatype, raw or b"x")
        out.append((ts, items))
    return out


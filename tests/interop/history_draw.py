"""Random arrays, the writes to them and the changes of their schemas, for histories.py."""
import copy
import itertools
import math

import celltypes
import generate
from celltypes import FLOATS, INTEGERS, TEXT
from conditions import DATES
from known_differences import OPAQUE
from model import Grid

# Datatypes of attributes, those that conditions compare more often.
ATTR_TYPES = INTEGERS * 2 + FLOATS * 4 + DATES + ("STRING_ASCII", "STRING_UTF8") * 4 + ("BOOL", "CHAR", "TIME_SEC", "BLOB")


def region(schema):
    """The inclusive [low, high] of each dimension that cells lie in; None where a string dimension is not bounded."""
    return schema.get("current_domain") or [dim["domain"] for dim in schema["dims"]]


def side_within(datatype, low, raw, high):
    """Whether a coordinate lies in a range; all three are bytes."""
    low, value, high = (celltypes.coordinate(datatype, one) for one in (low, raw, high))
    return low <= value <= high


class Draw:
    """A random schema, and steps on it. `schema` is the newest one; older ones are never changed."""

    def __init__(self, rng):
        self.rng = rng
        self.counter = 0
        self.dense = rng.random() < 0.35
        self.dense_type = rng.choice(INTEGERS + ("DATETIME_DAY",))
        self.evolves = rng.random() < 0.5
        self.schema = self.draw_schema()
        self.pools = {}

    def name(self, prefix):
        self.counter += 1
        odd = self.rng.choice(["", "", "", " é", '"', "and"])
        return "%s%d%s" % (prefix, self.counter, odd)

    def draw_schema(self):
        rng = self.rng
        schema = {"array_type": "dense" if self.dense else "sparse"}
        schema["capacity"] = rng.choice([1, 2, 3, 7, 10, 64, 10000])
        schema["cell_order"] = rng.choice(["row-major", "col-major"] + ["hilbert"] * (not self.dense))
        schema["tile_order"] = rng.choice(["row-major", "col-major"])
        schema["allows_dups"] = not self.dense and rng.random() < 0.5
        schema["enumerations"] = [self.enumeration() for _ in range(rng.choice([0, 0, 1, 2]))]
        count = rng.choice([1, 1, 2, 2, 3])
        text = not self.dense and rng.random() < 0.3  # never beside dimensions with tiles: see known_differences
        schema["dims"] = [self.dimension(text, schema["cell_order"] == "hilbert") for _ in range(count)]
        schema["attrs"] = [self.attribute(schema["enumerations"]) for _ in range(rng.randint(1, 4))]
        schema["current_domain"] = None
        if self.evolves and rng.random() < 0.4:
            schema["current_domain"] = [self.side(dim, None) for dim in schema["dims"]]
        return schema

    def side(self, dim, inside):
        """A part of a dimension that holds another part."""
        rng = self.rng
        if dim["type"] == "STRING_ASCII":
            low, high = inside or ["b", "c"]
            return [min(low, rng.choice(["a", "b"])), max(high, rng.choice(["c", "cb", "ddd"]))]
        if dim["type"] in FLOATS:
            low, high = inside or [rng.randint(-30, 30) / 4] * 2
            return [max(-10.0, low - rng.randint(0, 12) / 4), min(10.0, high + rng.randint(0, 12) / 4)]
        first, last = dim["domain"]
        low, high = inside or [rng.randint(first, last)] * 2
        return [rng.randint(first, low), rng.randint(high, last)]

    def enumeration(self):
        rng = self.rng
        datatype = rng.choice(["STRING_UTF8", "STRING_ASCII", "INT32"])
        values = self.labels(datatype, [], rng.choice([1, 3, 6]))
        number = 1 if datatype == "INT32" else "var"
        ordered = rng.random() < 0.6
        return {"name": self.name("e"), "type": datatype, "cell_val_num": number, "ordered": ordered, "values": values}

    def labels(self, datatype, there, count):
        """New labels beside those that are there."""
        rng, values = self.rng, []
        while len(values) < count:
            value = celltypes.pack("INT32", [rng.randint(-50, 50)]) if datatype == "INT32" else bytes(
                rng.choice(b"abc") for _ in range(rng.randint(1, 3)))
            values += [value] * (value not in values + there)
        return values

    def evolution(self, by_theirs, has_deletes):
        """A change of the schema, as libtiledb.Library.evolve takes it, or None. `by_theirs`: libtiledb adds no attribute with
        an enumeration that the same evolution does not add or extend. `has_deletes`: whether a delete looks at a field."""
        rng, schema, change = self.rng, self.schema, {}
        if rng.random() < 0.4:
            change["add_enumeration"] = [self.enumeration()]
        for one in schema["enumerations"]:
            if rng.random() < 0.5:
                more = self.labels(one["type"], one["values"], rng.randint(1, 3))
                change.setdefault("extend_enumeration", []).append((one["name"], more))
        droppable = [a["name"] for a in schema["attrs"] if rng.random() < 0.1 or not has_deletes(a["name"])]
        if len(schema["attrs"]) > 1 and droppable and rng.random() < 0.4:
            change["drop"] = [rng.choice(droppable)]
        known = schema["enumerations"] + change.get("add_enumeration", [])
        extended = [name for name, _ in change.get("extend_enumeration", [])]
        if rng.random() < 0.6:
            loaded = extended + [one["name"] for one in change.get("add_enumeration", [])]
            change["add"] = [self.attribute([e for e in known if not by_theirs or e["name"] in loaded])]
        left = [a for a in schema["attrs"] + change.get("add", []) if a["name"] not in change.get("drop", [])]
        used = {a.get("enumeration") for a in left} | set(extended)
        gone = [e["name"] for e in schema["enumerations"] if e["name"] not in used and rng.random() < 0.5]
        if gone:
            change["drop_enumeration"] = gone
        if schema["current_domain"] and rng.random() < 0.6:
            sides = zip(schema["dims"], schema["current_domain"])
            change["current_domain"] = [self.side(dim, side) for dim, side in sides]
        return change or None

    def evolve(self, change, described):
        """Takes over the schema as libtiledb describes it after a change."""
        extended = dict(change.get("extend_enumeration", []))
        enumerations = copy.deepcopy(self.schema["enumerations"]) + change.get("add_enumeration", [])
        for one in enumerations:
            one["values"] = one["values"] + extended.get(one["name"], [])
        of = {a["name"]: a.get("enumeration") for a in self.schema["attrs"] + change.get("add", [])}
        self.schema = {
            **described,
            "attrs": [{**attr, "enumeration": of[attr["name"]]} for attr in described["attrs"]],
            "enumerations": [e for e in enumerations if e["name"] not in change.get("drop_enumeration", [])],
            "current_domain": change.get("current_domain") or self.schema["current_domain"],
        }
        self.draw_pools()

    def dimension(self, text, hilbert):
        rng = self.rng
        dim = {"name": self.name("d"), "type": "STRING_ASCII", "domain": None, "tile": None}
        if text:
            return dim
        dim["type"] = self.dense_type if self.dense else rng.choice(INTEGERS + ("FLOAT64", "FLOAT32", "DATETIME_DAY"))
        if dim["type"] in FLOATS:
            dim["domain"], dim["tile"] = [-10.0, 10.0], 5.0
            return dim
        size = rng.choice([4, 7, 12] if self.dense else [4, 12, 100])
        low = 0 if dim["type"].startswith("U") else rng.choice([0, -5, 1])
        dim["domain"], dim["tile"] = [low, low + size - 1], rng.randint(1, size)
        return dim

    def attribute(self, enumerations):
        rng = self.rng
        attr = {"name": self.name("a"), "nullable": rng.random() < 0.4, "cell_val_num": 1}
        if enumerations and rng.random() < 0.4:
            attr["type"] = rng.choice(["UINT8", "INT8", "UINT16", "INT32", "UINT64"])
            attr["enumeration"] = rng.choice(enumerations)["name"]
            attr["fill_hex"] = celltypes.pack(attr["type"], [0]).hex()
        else:
            attr["type"] = rng.choice(ATTR_TYPES)
            if attr["type"] in TEXT + OPAQUE:
                attr["cell_val_num"] = "var" if rng.random() < 0.8 else rng.choice([1, 3])
            elif rng.random() < 0.05:
                attr["cell_val_num"] = rng.choice([2, "var"])
        attr["filters"] = {"max_chunk_size": 65536, "filters": rng.choice([[], [], [{"filter": "zstd", "level": 3}]])}
        return attr

    # ------------------------------------------------------------ values

    def pool(self, attr):
        rng = self.rng
        if attr.get("enumeration"):
            count = len(next(e for e in self.schema["enumerations"] if e["name"] == attr["enumeration"])["values"])
            return [celltypes.pack(attr["type"], [code]) for code in range(count)]
        values = generate.Values(rng, attr["type"], attr["cell_val_num"], None, longest=20)
        if attr["type"] in DATES:
            values.low, values.high = -(10**9), 10**9
        if attr["type"] in ("INT64", "UINT64") and rng.random() < 0.8:
            values.low, values.high = max(values.low, -(10**12)), 10**12
        pool = [celltypes.canonical(attr["type"], values.one()) for _ in range(rng.choice([2, 4, 12, 40]))]
        if attr["type"] in FLOATS and rng.random() < 0.4:
            specials = [math.nan, -0.0, 0.0, math.inf]
            pool += [celltypes.pack(attr["type"], [x] * len(celltypes.unpack(attr["type"], pool[0]))) for x in specials]
            pool = [celltypes.canonical(attr["type"], raw) for raw in pool]
        return pool

    def draw_pools(self):
        """Values to draw from, of every field. Those of fields that stay are kept, but for new labels and positions."""
        rng = self.rng
        for dim, side in zip(self.schema["dims"], region(self.schema)):
            if dim["type"] == "STRING_ASCII":
                pool = sorted({bytes(rng.choice(b"abcd") for _ in range(rng.randint(1, 3))) for _ in range(12)})
            elif dim["type"] in FLOATS:
                pool = sorted({celltypes.pack(dim["type"], [rng.randint(-40, 40) / 4 + 0.0]) for _ in range(12)})
            else:
                low, high = side
                pool = [celltypes.pack(dim["type"], [x]) for x in sorted({rng.randint(low, high) for _ in range(15)})]
            if self.schema["current_domain"]:
                low, high = (celltypes.coordinate_bytes(dim["type"], end) for end in side)
                within = lambda raw: side_within(dim["type"], low, raw, high)
                pool = list(dict.fromkeys([raw for raw in pool if within(raw)] + [low, high]))
            self.pools[dim["name"]] = pool
        for attr in self.schema["attrs"]:
            if attr["name"] not in self.pools or attr.get("enumeration"):
                self.pools[attr["name"]] = self.pool(attr)

    def write(self, ts):
        """One write in the notation of generate.WriteDraw."""
        rng, schema = self.rng, self.schema
        ranges = None
        grid = Grid(schema)
        if self.dense:
            ranges, axes = {}, []
            for dim, side in zip(schema["dims"], region(schema)):
                low, high = sorted(rng.randint(*side) for _ in range(2))
                ranges[dim["name"]] = [[low, high]]
                axes.append(range(low, high + 1))
            coords = sorted(itertools.product(*axes), key=grid.key("row"))
            coords = [[celltypes.coordinate_bytes(d["type"], x) for d, x in zip(schema["dims"], c)] for c in coords]
        else:
            count = rng.choice([1, rng.randint(2, 12), rng.randint(2, 12), rng.randint(10, 60), 250])
            coords = [tuple(rng.choice(self.pools[d["name"]]) for d in schema["dims"]) for _ in range(count)]
            if not schema["allows_dups"]:
                coords = list(dict.fromkeys(coords))
        columns = {d["name"]: [c[i] for c in coords] for i, d in enumerate(schema["dims"])}
        hidden = {}
        for attr in schema["attrs"]:
            nulls = rng.choice([0, 0.3, 1]) if attr["nullable"] else 0
            pool = self.pools[attr["name"]]
            some = rng.sample(pool, rng.randint(1, len(pool)))
            columns[attr["name"]] = [None if rng.random() < nulls else rng.choice(some) for _ in coords]
            plain = b"" if attr["cell_val_num"] == "var" else bytes(attr["cell_val_num"] * celltypes.UNIT_LEN[attr["type"]])
            hidden[attr["name"]] = [plain] * len(coords)
        tiles = 1
        for dim in schema["dims"] if self.dense else []:
            (low, high), first = ranges[dim["name"]][0], dim["domain"][0]
            tiles *= (high - first) // dim["tile"] - (low - first) // dim["tile"] + 1
        return {"ts": ts, "layout": "row" if self.dense else "unordered", "ranges": ranges, "columns": columns,
                "hidden": hidden, "tile_count": tiles}

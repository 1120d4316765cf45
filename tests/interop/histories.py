#!/usr/bin/env python3
"""Histories of one array that smalti and libtiledb write in turn: writes and deletes at explicit times, and sometimes a
consolidation. Both then read it by conditions, ranges and times, and aggregate it.

Each case is drawn from (seed, case number). What the two say is compared with each other and with a naive model, so that
a disagreement tells who is wrong.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import os
import random
import shutil
import sys
import tempfile
import traceback

import celltypes
import generate
import numpy as np
from celltypes import FLOATS, INTEGERS, TEXT
from conditions import DATE_UNITS, DATES, Conditions, pushed_down
from known_differences import OPAQUE, known
from libtiledb import TIMESTAMPS, Reference, ReferenceCrash, TileDBError
from model import Model, difference
from smalti import Smalti, SmaltiError

# Datatypes of attributes, those that conditions compare more often.
ATTR_TYPES = INTEGERS * 2 + FLOATS * 4 + DATES + ("STRING_ASCII", "STRING_UTF8") * 4 + ("BOOL", "CHAR", "TIME_SEC", "BLOB")


# A sum of floats that depends on the order in which they are added.
UNDEFINED = object()


class Mismatch(Exception):
    """The case failed; the text says how."""


# ---------------------------------------------------------------- the model


class History(Model):
    """The naive array, with deletes and conditions."""

    def __init__(self, schema, conditions):
        super().__init__(schema)
        self.conditions = conditions
        self.deletes = []
        self.names = [f[0] for f in self.fields]

    def delete(self, ts, condition):
        """What is stored is which cells stay."""
        self.deletes.append((ts, pushed_down(("not", self.conditions.constants(pushed_down(condition))))))

    def cells(self, ranges=None, at=None, since=None):
        """The visible cells of a box as (coordinates, time of the write, {field: bytes}); of dense arrays, all."""
        inside = lambda ts: (at is None or ts <= at) and (since is None or ts >= since)
        writes = sorted((w for w in self.writes if inside(w[0])), key=lambda w: w[0])
        deletes = [d for d in self.deletes if inside(d[0])]
        ranges = {name: list(rs) for name, rs in (ranges or {}).items()}
        if self.dense:
            newest = {}
            for ts, rows in writes:
                newest.update((self.coords(row), (ts, row)) for row in rows)
            axes = []
            for dim in self.schema["dims"]:
                sides = ranges.get(dim["name"]) or [dim["domain"]]
                axes.append(sorted({x for low, high in sides for x in range(low, high + 1)}))
            found = [(c, *(newest.get(c) or (0, self.fill_row(c)))) for c in itertools.product(*axes)]
        elif self.schema["allows_dups"]:
            found = [(self.coords(row), ts, row) for ts, rows in writes for row in rows]
        else:
            newest = {}
            for ts, rows in writes:
                newest.update((row[: len(self.schema["dims"])], (ts, row)) for row in rows)
            found = [(self.coords(row), ts, row) for ts, row in newest.values()]
        out = []
        for coords, ts, row in found:
            row = dict(zip(self.names, row))
            row[TIMESTAMPS[0]] = celltypes.pack("UINT64", [ts])
            stays = all(self.conditions.holds(tree, row) for when, tree in deletes if when >= ts)
            if stays and (self.dense or self._inside(coords, ranges)):
                out.append((coords, ts, row))
        return out

    def read(self, layout, ranges=None, names=None, at=None, since=None, condition=None, matching_only=False):
        """As the base class."""
        condition = condition and pushed_down(condition)
        found = []
        for coords, _, row in self.cells(ranges, at, since):
            if condition and not self.conditions.holds(condition, row):
                if not self.dense or matching_only:
                    continue
                row = dict(zip(self.names, self.fill_row(coords)))
            found.append((coords, tuple(row[name] for name in names)))
        if layout == "unordered":
            return [(None, row) for _, row in found]
        key = self.grid.key(layout)
        return sorted(((key(c), row) for c, row in found), key=lambda item: item[0])


def aggregated(function, datatype, values):
    """The value of an aggregate over cells, and whether libtiledb is to give the same."""
    if function == "count":
        return len(values), True
    valid = [v for v in values if v is not None]
    if function == "null_count":
        return len(values) - len(valid), True
    if datatype in TEXT:
        return ((min if function == "min" else max)(valid), True) if valid else (None, False)
    numbers = [celltypes.unpack(datatype, v)[0] for v in valid]
    if function in ("min", "max"):
        plain = [n for n in numbers if n == n]
        best = (min if function == "min" else max)(plain) if plain else None
        return best, best is not None and len(plain) == len(numbers) and math.isfinite(best)
    if datatype in FLOATS:
        if sum(abs(n) for n in numbers if math.isfinite(n)) > 1e308:
            return UNDEFINED, False
        finite = all(math.isfinite(n) for n in numbers)
        total = math.fsum(numbers) if finite else sum(numbers)
    else:
        total = sum(numbers)
        finite = sum(map(abs, numbers)) < 2**63
    if function == "sum":
        return total, finite
    return (total / len(numbers), finite) if numbers else (None, False)


# ---------------------------------------------------------------- drawing arrays


class Draw:
    """A random schema, and steps on it."""

    def __init__(self, rng):
        self.rng = rng
        self.counter = 0
        self.dense = rng.random() < 0.35
        self.dense_type = rng.choice(INTEGERS + ("DATETIME_DAY",))
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
        return schema

    def enumeration(self):
        rng = self.rng
        datatype = rng.choice(["STRING_UTF8", "STRING_ASCII", "INT32"])
        values = []
        while len(values) < rng.choice([1, 3, 6]):
            value = celltypes.pack("INT32", [rng.randint(-50, 50)]) if datatype == "INT32" else bytes(
                rng.choice(b"abc") for _ in range(rng.randint(1, 3)))
            values += [value] * (value not in values)
        number = 1 if datatype == "INT32" else "var"
        ordered = rng.random() < 0.6
        return {"name": self.name("e"), "type": datatype, "cell_val_num": number, "ordered": ordered, "values": values}

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
        """Values to draw from, of every field."""
        rng = self.rng
        for dim in self.schema["dims"]:
            if dim["type"] == "STRING_ASCII":
                pool = sorted({bytes(rng.choice(b"abcd") for _ in range(rng.randint(1, 3))) for _ in range(12)})
            elif dim["type"] in FLOATS:
                pool = sorted({celltypes.pack(dim["type"], [rng.randint(-40, 40) / 4 + 0.0]) for _ in range(12)})
            else:
                low, high = dim["domain"]
                pool = [celltypes.pack(dim["type"], [x]) for x in sorted({rng.randint(low, high) for _ in range(15)})]
            self.pools[dim["name"]] = pool
        for attr in self.schema["attrs"]:
            self.pools[attr["name"]] = self.pool(attr)

    def write(self, ts):
        """One write in the notation of generate.WriteDraw."""
        rng, schema = self.rng, self.schema
        ranges = None
        grid = History(schema, None).grid
        if self.dense:
            ranges, axes = {}, []
            for dim in schema["dims"]:
                low, high = sorted(rng.randint(*dim["domain"]) for _ in range(2))
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


# ---------------------------------------------------------------- smalti


class Ours(Smalti):
    def __init__(self, binary, folder, conditions=None):
        super().__init__(binary, folder)
        self.conditions = conditions

    def run(self, *args):
        return super().run(*args, "--sync", "none")

    def create_array(self, uri, schema):
        enumerations = []
        for one in schema["enumerations"]:
            values = [celltypes.to_json(one["type"], one["cell_val_num"], v) for v in one["values"]]
            enumerations.append({**one, "values": values})
        self.create(uri, {**schema, "enumerations": enumerations})

    def write_cells(self, uri, schema, write):
        columns = {}
        for name, datatype, number, _, _ in celltypes.fields(schema):
            labels = self.conditions.labels.get(name)
            column = write["columns"][name]
            if labels:
                column = [v if v is None else labels["values"][celltypes.unpack(datatype, v)[0]] for v in column]
                datatype, number = labels["type"], labels["cell_val_num"]
            columns[name] = [celltypes.to_json(datatype, number, v) for v in column]
        lines = [json.dumps(dict(zip(columns, row)), ensure_ascii=False) for row in zip(*columns.values())]
        path = self.file("write-%d.jsonl" % write["ts"], "\n".join(lines) + "\n")
        args = ["--from", path, "--format", "jsonl", "--at", str(write["ts"]), "--dates", "int"]
        for name, ((low, high),) in (write["ranges"] or {}).items():
            args += ["--range", "%s=%d:%d" % (name, low, high)]
        self.run("write", uri, *args)

    def window(self, ranges, at, since, condition):
        args = [] if ranges is None else ["--ranges-json", json.dumps(ranges)]
        args += [] if at is None else ["--at", str(at)]
        args += [] if since is None else ["--since", str(since)]
        return args + ([] if condition is None else ["--where", self.conditions.text(condition)])

    def cells(self, uri, layout, names, ranges=None, at=None, since=None, condition=None, matching_only=False):
        """Rows of bytes."""
        args = ["--format", "jsonl", "--layout", layout, "--dates", "int", "--enums", "codes"]
        args += self.window(ranges, at, since, condition) + ["--matching-only"] * matching_only
        # What makes reads take several passes, and tiles be decoded out of order, is not to change them.
        args += [[], [], ["--threads", "1"], ["--memory", "2MiB"]][len(self.commands) % 4]
        wanted = [name for name in names if name != TIMESTAMPS[0]]
        args += ["--select", json.dumps(wanted), *["--timestamps"] * (TIMESTAMPS[0] in names)]
        out = []
        for line in self.run("read", uri, *args).split("\n"):
            if line:
                row = json.loads(line)
                fields = (self.conditions.fields[name] for name in names)
                out.append(tuple(celltypes.from_json(f[1], f[2], row[f[0]]) for f in fields))
        return out

    def aggregates(self, uri, aggregates, ranges=None, at=None, since=None, condition=None):
        args = ["--json", "--saturate", *self.window(ranges, at, since, condition)]
        names = ["%s:%s" % pair if pair[1] else pair[0] for pair in aggregates]
        out = json.loads(self.run("aggregate", uri, *names, *args))
        return [out[name] for name in names]


# ---------------------------------------------------------------- a case


class Case:
    def __init__(self, options, number, folder, reference, tally):
        self.rng = rng = random.Random("%s/%s" % (options.seed, number))
        self.reference, self.tally, self.options = reference, tally, options
        self.uri = os.path.join(folder, "array")
        self.smalti = Ours(options.smalti, folder)
        self.steps = []
        self.consolidated = False
        self.draw = Draw(rng)
        self.dense = self.draw.dense

    def run(self):
        rng, draw = self.rng, self.draw
        creator = self.player()
        if creator == "smalti":
            self.smalti.create_array(self.uri, draw.schema)
            described = self.reference("schema", None, self.uri)
        else:
            described = self.reference("create", None, self.uri, draw.schema)
        self.steps.append("create by " + creator)
        self.schema = {**described, "enumerations": draw.schema["enumerations"]}
        for attr, wanted in zip(self.schema["attrs"], draw.schema["attrs"]):
            attr["enumeration"] = wanted.get("enumeration")
        draw.schema = self.schema
        draw.draw_pools()
        pools = dict(draw.pools)
        if not self.dense and rng.random() < 0.3:
            pools[TIMESTAMPS[0]] = [celltypes.pack("UINT64", [ts]) for ts in range(3, 100, 7)]
        self.conditions = self.smalti.conditions = Conditions(rng, self.schema, pools)
        self.model = History(self.schema, self.conditions)
        self.times = sorted(rng.sample(range(1, 100), rng.randint(2, 7)))
        if rng.random() < 0.2:
            rng.shuffle(self.times)
        for i, ts in enumerate(self.times):
            if i and not self.dense and rng.random() < 0.45:
                self.delete(rng.choice([ts, ts, rng.choice(self.times), ts + 1]))
                continue
            write = draw.write(ts)
            self.write(write)
            # libtiledb names what it makes of fragments that overlap in time by the end of the last.
            if not self.dense and self.times == sorted(self.times) and rng.random() < 0.15:
                self.consolidate()
            if rng.random() < 0.2:
                self.check_read()
        for _ in range(8):
            self.check_read()
        for _ in range(3):
            self.check_aggregates()

    def player(self):
        return self.rng.choice(["smalti", "libtiledb"])

    # ------------------------------------------------------------ steps

    def write(self, write):
        player = self.player()
        if player == "libtiledb" and known("write", self.schema, write):
            player = "smalti"
        cells = len(next(iter(write["columns"].values())))
        self.steps.append("write at %d by %s: %d cells in %s" % (write["ts"], player, cells, json.dumps(write["ranges"])))
        if player == "smalti":
            self.smalti.write_cells(self.uri, self.schema, write)
        else:
            pairs = {name: (values, write["hidden"].get(name)) for name, values in write["columns"].items()}
            for dim in self.schema["dims"] if self.dense else []:
                del pairs[dim["name"]]
            self.reference("write", None, self.uri, self.schema, write["layout"], write["ts"], [pairs], write["ranges"])
        self.model.write(write["ts"], write["columns"])

    def delete(self, ts):
        player = self.player()
        allowed = self.storable if player == "smalti" else self.deletable
        condition = self.conditions.draw(allowed)
        nullable = lambda test: self.conditions.fields[test[1]][3]
        not_null = lambda test: test[0] == "null" and not test[2] and nullable(test)
        if any(map(not_null, self.conditions.effective_tests(condition))):
            self.tally["not deleted: smalti refuses deletes of cells that are not null"] += 1
            return
        self.steps.append("delete at %d by %s: %s" % (ts, player, self.conditions.text(condition)))
        if player == "smalti":
            self.smalti.run("delete", self.uri, "--where", self.conditions.text(condition), "--at", str(ts))
        else:
            self.reference("delete", None, self.uri, condition, ts)
        self.model.delete(ts, condition)

    def consolidate(self):
        vacuumed = self.rng.random() < 0.5
        self.steps.append("consolidation by libtiledb" + ", vacuumed" * vacuumed)
        self.consolidated = True
        self.reference("consolidate", None, self.uri)
        if vacuumed:
            self.reference("vacuum", None, self.uri)

    # ------------------------------------------------------------ what is asked of whom

    def askable(self, test):
        """Whether libtiledb evaluates a test as it is documented."""
        return known("test", self.conditions, test) is None

    def storable(self, test):
        """Whether smalti stores a delete by a test, and libtiledb evaluates it."""
        _, datatype, number, _, _ = self.conditions.fields[test[1]]
        # smalti stores sets of the empty text as comparisons, which libtiledb reads.
        entry = known("test", self.conditions, test)
        is_stored = entry is None or entry.name == "sets that hold nothing but the empty text"
        return is_stored and (datatype in TEXT or (number == 1 and datatype not in OPAQUE))

    def deletable(self, test):
        """Whether libtiledb stores a delete by a test so that it reads it back."""
        return self.askable(test) and self.storable(test) and known("stored test", self.conditions, test) is None

    def excused(self, about, read, found=None):
        """Whether libtiledb is not asked, by a known difference. `found`: the cells of an aggregate."""
        entry = known(about, self, read, *[] if found is None else [found])
        entry = entry or known("read", self.schema, {**read, "ranges": read.get("ranges")})
        if entry:
            self.tally["not compared: " + entry.name] += 1
        return entry is not None

    # ------------------------------------------------------------ reads

    def window(self, layout):
        rng = self.rng
        read = {}
        if rng.random() < 0.5:
            ranges = {}
            for dim in self.schema["dims"]:
                if rng.random() < 0.7:
                    ranges[dim["name"]] = self.ranges(dim, layout)
            read["ranges"] = ranges or None
        if rng.random() < 0.6:
            read["at"] = rng.choice(self.times) + rng.choice([-1, 0, 0, 1])
            if rng.random() < 0.4:
                read["since"] = rng.randint(0, read["at"])
        return read

    def ranges(self, dim, layout):
        rng = self.rng
        pool = [celltypes.coordinate(dim["type"], raw) for raw in self.draw.pools[dim["name"]]]
        if self.dense:
            pool = list(range(dim["domain"][0], dim["domain"][1] + 1))
        out = []
        for _ in range(1 if layout == "global" else rng.choice([1, 1, 2])):
            low, high = sorted([rng.choice(pool), rng.choice(pool)])
            out.append([low, high])
        out.sort()
        apart = out[:1]
        apart += [r for r in out[1:] if r[0] > apart[-1][1]]
        if dim["type"] == "STRING_ASCII":
            apart = [[low.decode(), high.decode()] for low, high in apart]
        return apart

    def check_read(self):
        rng = self.rng
        layout = rng.choice(["row", "col", "global"] if self.dense else ["row", "col", "global", "unordered", "unordered"])
        read = {"layout": layout, **self.window(layout)}
        names = [f[0] for f in celltypes.fields(self.schema)]
        if self.dense:
            names = [a["name"] for a in self.schema["attrs"]]
        if rng.random() < 0.3:
            names = [n for n in names if rng.random() < 0.6] or names[:1]
        if not self.dense and rng.random() < 0.4:
            names = names + [TIMESTAMPS[0]]
        read["names"] = names
        if rng.random() < 0.75:
            own = rng.random() < 0.1  # also what libtiledb cannot answer
            read["condition"] = self.conditions.draw(lambda test: own or self.askable(test))
        want = self.model.read(**read)
        shown = {**read, "condition": self.conditions.text(read["condition"]) if read.get("condition") else None}
        shown = "read: " + json.dumps(shown, ensure_ascii=False)
        ours = theirs = None
        rows = self.smalti.cells(self.uri, **read)
        ours = difference(want, self.canonical(names, rows))
        if not self.excused("history read", read):
            theirs = self.theirs(read, want)
        self.judge(shown, ours, theirs)
        if self.dense and read.get("condition"):
            read["names"] = names = [d["name"] for d in self.schema["dims"]] + names
            rows = self.smalti.cells(self.uri, **read, matching_only=True)
            want = self.model.read(**read, matching_only=True)
            self.judge(shown + " matching only", difference(want, self.canonical(names, rows)), None)

    def theirs(self, read, want):
        """None, or how libtiledb's read differs from what is wanted."""
        try:
            cells = self.reference("read", None, self.uri, self.schema, **read)
        except (TileDBError, ReferenceCrash) as error:
            if known("history error", self, read, str(error)):
                self.tally["not compared: " + known("history error", self, read, str(error)).name] += 1
                return None
            return str(error)
        rows = list(zip(*(cells[name] for name in read["names"])))
        return difference(want, self.canonical(read["names"], rows))

    def judge(self, what, ours, theirs):
        if ours and theirs:
            raise Mismatch("both differ from the model\n  %s\n  smalti: %s\n  libtiledb: %s" % (what, ours, theirs))
        if ours or theirs:
            who = "smalti" if ours else "libtiledb"
            raise Mismatch("%s is alone\n  %s\n  %s" % (who, what, ours or theirs))

    def canonical(self, names, rows):
        types = [self.conditions.fields[name][1] for name in names]
        return [tuple(celltypes.canonical(t, v) for t, v in zip(types, row)) for row in rows]

    # ------------------------------------------------------------ aggregates

    def check_aggregates(self):
        rng = self.rng
        layout = rng.choice(["row", "col", "global"] if self.dense else ["unordered", "global"])
        window = self.window(layout)
        if rng.random() < 0.6:
            window["condition"] = self.conditions.draw(self.askable)
        aggregates, asked = [("count", None)], [("count", None)]
        for name, datatype, number, nullable, is_dim in celltypes.fields(self.schema):
            functions = []
            enumerated = name in self.conditions.labels
            if datatype in INTEGERS + FLOATS and number == 1 and not enumerated:
                functions += ["sum", "mean"]
            if (datatype in INTEGERS + FLOATS + DATES and number == 1 and not enumerated) or datatype == "STRING_ASCII":
                functions += ["min", "max"]
            for function in functions + ["null_count"]:
                aggregates.append((function, name))
                if self.answers(function, name):
                    asked.append((function, name))
        what = "aggregates: " + json.dumps({**window, "layout": layout, "condition": window.get("condition") and
                                            self.conditions.text(window["condition"])}, ensure_ascii=False)
        found = self.model.cells(window.get("ranges"), window.get("at"), window.get("since"))
        cells = [row for _, _, row in found]
        if window.get("condition"):
            tree = pushed_down(window["condition"])
            cells = [row for row in cells if self.conditions.holds(tree, row)]
        ours = self.smalti.aggregates(self.uri, aggregates, **window)
        theirs = {}
        if not self.excused("history aggregate", {"layout": layout, **window}, found):
            try:
                theirs = dict(zip(asked, self.reference("aggregate", None, self.uri, self.schema, asked, layout, **window)))
            except (TileDBError, ReferenceCrash) as error:
                raise Mismatch("libtiledb cannot aggregate\n  %s\n  %s" % (what, error)) from error
        for pair, value in zip(aggregates, ours):
            function, name = pair
            datatype = self.conditions.fields[name][1] if name else None
            values = [row[name] for row in cells] if name else cells
            want, sure = aggregated(function, datatype, values)
            if want is UNDEFINED:
                self.tally["not compared: sums of floats whose parts overflow"] += 1
                continue
            slack = 1e-6
            if datatype in FLOATS and function in ("sum", "mean"):
                slack += sum(abs(celltypes.unpack(datatype, v)[0]) * 1e-9 for v in values if v is not None)
            got = self.of_ours(function, datatype, value)
            left = right = None
            if not self.same(function, datatype, want, got, slack):
                left = "%s of %s is %r, not %r" % (function, name, got, want)
            if sure and pair in theirs:
                got = self.of_theirs(function, datatype, theirs[pair])
                if not self.same(function, datatype, want, got, slack):
                    right = "%s of %s is %r, not %r" % (function, name, got, want)
            self.judge(what, left, right)

    def answers(self, function, name):
        """Whether libtiledb has an aggregate, and computes it on every array: see known_differences."""
        _, datatype, number, nullable, is_dim = self.conditions.fields[name]
        is_text = datatype == "STRING_ASCII" and number == "var"
        if function == "null_count":
            return nullable and (is_text or (number == 1 and datatype not in TEXT + OPAQUE))
        if is_dim and self.dense:
            return False
        if function in ("min", "max"):
            return is_text or datatype in INTEGERS + FLOATS + DATES
        return datatype in INTEGERS + FLOATS

    @staticmethod
    def of_ours(function, datatype, value):
        if value is None or function in ("count", "null_count"):
            return value
        if function in ("min", "max"):
            if datatype in DATES:
                return int(np.datetime64(value, DATE_UNITS[datatype]).astype(np.int64))
            if datatype in TEXT:
                return celltypes.from_json(datatype, "var", value)
        return float(value) if isinstance(value, str) else value

    @staticmethod
    def of_theirs(function, datatype, raw):
        if raw is None:
            return 0 if function == "sum" else None
        if function in ("count", "null_count"):
            return celltypes.unpack("UINT64", raw)[0]
        if function == "mean":
            return celltypes.unpack("FLOAT64", raw)[0]
        if function == "sum":
            kind = "FLOAT64" if datatype in FLOATS else "UINT64" if datatype.startswith("U") else "INT64"
            return celltypes.unpack(kind, raw)[0]
        return raw if datatype in TEXT else celltypes.unpack(datatype, raw)[0]

    @staticmethod
    def same(function, datatype, want, got, slack):
        if want is None or got is None:
            return want is got
        if function == "sum" and datatype not in FLOATS:
            low, high = (0, 2**64 - 1) if datatype.startswith("U") else (-(2**63), 2**63 - 1)
            return got == min(max(want, low), high)
        if function not in ("sum", "mean") or (want == got):
            return want == got
        if want != want or got != got:
            return want != want and got != got
        if math.isinf(want):
            return abs(got) >= 1.7e308 and (got > 0) == (want > 0)
        return math.isclose(want, got, rel_tol=1e-9, abs_tol=slack)


# ---------------------------------------------------------------- running


_reference = None


def run_case(options, number):
    """(number, None or how the case failed, tally)"""
    global _reference
    _reference = _reference or Reference()
    tally = collections.Counter()
    folder = os.path.join(options.keep, "history-%d-%d" % (options.seed, number))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = failure = None
    try:
        case = Case(options, number, folder, _reference, tally)
        case.run()
    except (Mismatch, SmaltiError, TileDBError, ReferenceCrash) as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    if failure is None:
        shutil.rmtree(folder)
        return number, None, tally
    report = ["FAILED seed %d, case %d" % (options.seed, number), "  " + failure]
    if case is not None:
        schema = getattr(case, "schema", case.draw.schema)
        report.append("  schema: " + json.dumps(schema, ensure_ascii=False, default=lambda raw: raw.decode("latin-1")))
        report += ["  " + step for step in case.steps] + ["  $ " + c for c in case.smalti.commands]
    report.append("  kept in " + folder)
    with open(os.path.join(folder, "failure.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(report) + "\n")
    return number, "\n".join(report), tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smalti", default="smalti", help="the binary under test")
    parser.add_argument("--count", type=int, default=100, help="number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this case")
    parser.add_argument("--keep", help="folder for arrays of failed cases (default: a new temporary folder)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-failures", type=int, default=20, help="stop printing failures after so many")
    options = parser.parse_args()
    made = options.keep is None
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="smalti-histories-"))
    if shutil.which(options.smalti) is None:
        parser.error("no program " + options.smalti)
    options.smalti = os.path.abspath(shutil.which(options.smalti))
    numbers = range(options.count) if options.case is None else [options.case]
    passed = failed = 0
    tallies = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run_case, options, n) for n in numbers]):
            _, report, tally = future.result()
            tallies += tally
            passed, failed = passed + (report is None), failed + (report is not None)
            if report and failed <= options.max_failures:
                print(report, flush=True)
    for what, count in sorted(tallies.items()):
        print("  %6d %s" % (count, what))
    print("%d passed, %d failed" % (passed, failed))
    if made and not failed:
        shutil.rmtree(options.keep)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

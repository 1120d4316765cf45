#!/usr/bin/env python3
"""Histories of one array that smalti and libtiledb write in turn: writes, deletes and changes of the schema at explicit
times, consolidations and vacuums. Both then read it by conditions, ranges and times, and aggregate it.

Each case is drawn from (seed, case number). What the two say is compared with each other and with a naive model, so that
a disagreement tells who is wrong.
"""
import collections
import itertools
import json
import math
import os
import random
import shutil
import sys
import traceback

import celltypes
import numpy as np
from celltypes import FLOATS, INTEGERS, TEXT
from conditions import DATE_UNITS, DATES, Conditions, pushed_down, tests
import harness
from history_draw import Draw, region
from history_upkeep import Fragments, Upkeep, window_of
from known_differences import OPAQUE, known
from libtiledb import TIMESTAMPS, Reference, ReferenceCrash, TileDBError
from model import Model, difference
from smalti import Smalti, SmaltiError

# The time of the first schema. As many digits as all later ones have: libtiledb looks for the newest by its name.
FIRST = 11
# A sum of floats that depends on the order in which they are added.
UNDEFINED = object()


class Mismatch(Exception):
    """The case failed; the text says how."""


# ---------------------------------------------------------------- the model


class History(Model):
    """The naive array, with deletes, conditions, and schemas that change."""

    def __init__(self, schema, conditions, fragments):
        super().__init__(schema)
        self.fragments = fragments
        self.deletes, self.fills, self.added, self.consolidations = [], {}, {}, []
        self.enter(0, schema, conditions)

    def enter(self, ts, schema, conditions):
        """From now on the array is looked at by the schema of this time."""
        self.schema, self.conditions = schema, conditions
        self.fields = celltypes.fields(schema)
        self.names = [f[0] for f in self.fields]
        fills = self.fill_row(self.origin())
        for name, fill in list(zip(self.names, fills))[len(schema["dims"]) :]:
            self.fills[name] = fill
            self.added.setdefault(name, ts)

    def origin(self):
        return [b"" if d["domain"] is None else d["domain"][0] for d in self.schema["dims"]]

    def write(self, ts, columns):
        """As the base class; rows are kept by the names of their fields, which other schemas may lack."""
        super().write(ts, columns)
        _, rows = self.writes.pop()
        self.writes.append((ts, [dict(zip(self.names, row)) for row in rows]))

    def coords(self, row):
        return tuple(celltypes.coordinate(d["type"], row[d["name"]]) for d in self.schema["dims"])

    def delete(self, ts, condition):
        """What is stored is which cells stay, by the labels of the time."""
        stays = pushed_down(("not", self.conditions.constants(pushed_down(condition))))
        self.deletes.append((ts, self.conditions, stays))

    def cells(self, ranges=None, at=None, since=None):
        """The visible cells of a box as (coordinates, time of the write, {field: bytes}); of dense arrays, all."""
        inside = lambda ts: (at is None or ts <= at) and (since is None or ts >= since)
        lost = self.fragments.lost(window_of({"at": at, "since": since}))
        writes = sorted((w for w in self.writes if inside(w[0]) and w[0] not in lost), key=lambda w: w[0])
        deletes = [d for d in self.deletes if inside(d[0])]
        ranges = {name: list(rs) for name, rs in (ranges or {}).items()}
        dims = [d["name"] for d in self.schema["dims"]]
        if self.dense:
            newest = {}
            for ts, rows in writes:
                newest.update((self.coords(row), (ts, row)) for row in rows)
            axes = []
            for dim, side in zip(self.schema["dims"], region(self.schema)):
                sides = ranges.get(dim["name"]) or [side]
                axes.append(sorted({x for low, high in sides for x in range(low, high + 1)}))
            nobody = lambda c: dict(zip(self.names, self.fill_row(c)))
            found = [(c, *(newest.get(c) or (0, nobody(c)))) for c in itertools.product(*axes)]
        elif self.schema["allows_dups"]:
            found = [(self.coords(row), ts, row) for ts, rows in writes for row in rows]
        else:
            newest = {}
            for ts, rows in writes:
                newest.update((tuple(row[name] for name in dims), (ts, row)) for row in rows)
            found = [(self.coords(row), ts, row) for ts, row in newest.values()]
        out = []
        for coords, ts, row in found:
            row = {**row, TIMESTAMPS[0]: celltypes.pack("UINT64", [ts])}
            stays = all(self.stays(delete, ts, row) for delete in deletes if delete[0] >= ts)
            if stays and (self.dense or self._inside(coords, ranges)):
                # Cells that were written before an attribute was added have its fill value.
                out.append((coords, ts, {**self.fills, **row}))
        return out

    def consolidate(self, times, names):
        """What was written at some times has these fields now, for deletes to come."""
        self.consolidations.append((times, len(self.deletes), names))

    def lacks(self, delete, ts, name):
        """Whether a field was added after a cell was written, so that a delete does not find it in the cell's fragment."""
        idx = self.deletes.index(delete)
        filled = (names for times, count, names in self.consolidations if ts in times and idx >= count)
        return ts < self.added.get(name, 0) and not any(name in names for names in filled)

    def stays(self, delete, ts, row):
        """Whether a cell stays after a delete. No test holds of fields that it lacks."""
        _, conditions, tree = delete

        def holds(tree):
            if tree[0] in ("and", "or"):
                return (all if tree[0] == "and" else any)(map(holds, tree[1]))
            return not self.lacks(delete, ts, tree[1]) and conditions.holds(tree, {**self.fills, **row})

        return holds(tree)

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

    def evolve(self, uri, schema, change, ts):
        args = ["--at", str(ts)]
        texts = lambda one, values: [celltypes.to_json(one["type"], one["cell_val_num"], v) for v in values]
        for one in change.get("add_enumeration", []):
            args += ["--add-enumeration", json.dumps({**one, "values": texts(one, one["values"])})]
        for name, more in change.get("extend_enumeration", []):
            one = next(e for e in schema["enumerations"] if e["name"] == name)
            args += ["--extend-enumeration", "%s=%s" % (name, json.dumps(texts(one, more)))]
        for attr in change.get("add", []):
            args += ["--add", json.dumps(attr)]
        for option in ("drop", "drop_enumeration"):
            for name in change.get(option, []):
                args += ["--" + option.replace("_", "-"), name]
        for dim, side in zip(schema["dims"], change.get("current_domain") or []):
            args += ["--current-domain", "%s=%s:%s" % (dim["name"], *side)]
        self.run("evolve", uri, *args)

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


class Case(Upkeep):
    mismatch = Mismatch

    def __init__(self, options, number, folder, reference, tally):
        self.rng = rng = random.Random("%s/%s" % (options.seed, number))
        self.reference, self.tally, self.options = reference, tally, options
        self.uri = os.path.join(folder, "array")
        self.smalti = Ours(options.smalti, folder)
        self.steps = []
        self.consolidated = False
        self.draw = Draw(rng)
        self.dense = self.draw.dense
        self.fragments = Fragments(self.dense)
        # Every schema with its time and the conditions on it, oldest first.
        self.states = []

    def run(self):
        rng, draw = self.rng, self.draw
        creator = self.player()
        if creator == "smalti":
            self.smalti.create_array(self.uri, draw.schema)
            described = self.reference("schema", None, self.uri)
        else:
            described = self.reference("create", None, self.uri, draw.schema)
        self.steps.append("create by " + creator)
        self.created_at_first()
        draw.evolve({}, described)
        self.asks_timestamps = not self.dense and rng.random() < 0.3
        self.times = sorted(rng.sample(range(FIRST + 1, 99), rng.randint(2, 7) + 2 * draw.evolves))
        upkeep = rng.choice([0, 0.15, 0.3])
        if upkeep:
            self.times = sorted(rng.sample(range(FIRST + 1, 99), rng.randint(3, 12)))
        if not draw.evolves and rng.random() < 0.2:
            rng.shuffle(self.times)
        self.ascends = self.times == sorted(self.times)
        # Filled cells of merged dense fragments hide what is written below them later.
        upkeep *= self.ascends or not self.dense
        self.add_state(FIRST)
        for i, ts in enumerate(self.times):
            self.enter(None)
            if i and rng.random() < upkeep:
                self.upkeep()
            if i and draw.evolves and rng.random() < (0.25 if upkeep else 0.45):
                self.evolve(ts)
                continue
            if i and not self.dense and rng.random() < (0.3 if upkeep else 0.45):
                begin = max([self.states[-1][0]] + [max(times) for times, _, _ in self.model.consolidations])
                # A delete knows the labels of its time: where the schema changes, none is later than what follows it.
                until = ts if draw.evolves else max(self.times)
                since = [t for t in self.times if begin <= t <= until] or [ts]
                after = ts if draw.evolves and ts + 1 in self.times else ts + 1
                self.delete(rng.choice([ts, ts, rng.choice(since), after]))
                continue
            write = draw.write(ts)
            self.write(write)
            if rng.random() < 0.2:
                self.check_read()
        for _ in range(rng.choice([0, 0, 1, 2, 3]) if upkeep else 0):
            self.enter(None)
            self.upkeep()
            self.check_read()
        if upkeep and rng.random() < 0.15:
            self.copy_fragments()
        for _ in range(8):
            self.check_read()
        for _ in range(3):
            self.check_aggregates()

    def player(self):
        return self.rng.choice(["smalti", "libtiledb"])

    # ------------------------------------------------------------ schemas

    def created_at_first(self):
        """Dates the first schema before the history."""
        folder = os.path.join(self.uri, "__schema")
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                os.rename(os.path.join(folder, name), os.path.join(folder, "__%d_%d_%s" % (FIRST, FIRST, name.split("_")[-1])))

    def add_state(self, ts):
        pools = {f[0]: self.draw.pools[f[0]] for f in celltypes.fields(self.draw.schema)}
        if self.asks_timestamps:
            pools[TIMESTAMPS[0]] = [celltypes.pack("UINT64", [ts]) for ts in range(3, 100, 7)]
        conditions = Conditions(self.rng, self.draw.schema, pools)
        if not self.states:
            self.model = History(self.draw.schema, conditions, self.fragments)
        self.states.append((ts, self.draw.schema, conditions))
        self.enter(None)

    def enter(self, at):
        """The array is looked at as it was at this time."""
        ts, self.schema, self.conditions = next(s for s in reversed(self.states) if at is None or s[0] <= at)
        self.smalti.conditions = self.conditions
        self.model.enter(ts, self.schema, self.conditions)

    def evolve(self, ts):
        player = self.player()
        is_asked = lambda name: any(test[1] == name for _, _, tree in self.model.deletes for test in tests(tree))
        change = self.draw.evolution(player == "libtiledb", is_asked)
        if change is None:
            return
        shown = json.dumps(change, ensure_ascii=False, default=lambda raw: raw.decode("latin-1"))
        self.steps.append("evolve at %d by %s: %s" % (ts, player, shown))
        if player == "smalti":
            self.smalti.evolve(self.uri, self.schema, change, ts)
        else:
            self.reference("evolve", None, self.uri, self.schema["dims"], change, ts)
        for kind in change:
            self.tally["evolution: " + kind] += 1
        self.draw.evolve(change, self.reference("schema", None, self.uri))
        self.add_state(ts)

    def dropped(self):
        """The attributes that the newest schema no longer has."""
        return set(self.model.fills) - {attr["name"] for attr in self.draw.schema["attrs"]}

    def deletes_in(self, read):
        at, since = read.get("at"), read.get("since") or 0
        return [delete for delete in self.model.deletes if since <= delete[0] and (at is None or delete[0] <= at)]

    def times_in(self, read):
        """When the cells were written that a read may meet."""
        at, since = read.get("at"), read.get("since") or 0
        return [ts for ts, _ in self.model.writes if since <= ts and (at is None or ts <= at)]

    def is_younger(self, name, read):
        """Whether an attribute is younger than cells that a read may meet."""
        return any(ts < self.model.added.get(name, 0) for ts in self.times_in(read))

    def looks_before_an_attribute(self, read):
        """Whether the condition looks at an attribute that is younger than cells that the read may meet."""
        tree = read.get("condition")
        return bool(tree) and any(self.is_younger(test[1], read) for test in self.conditions.effective_tests(tree))

    def deletes_in_order(self, read):
        """Whether what a delete takes depends on the order of its tests: of those in an "or" that stand before one of a field
        that cells lack, libtiledb and smalti take none for true."""
        def depends(delete, tree, below_or=False):
            if tree[0] in ("and", "or"):
                return any(depends(delete, child, below_or or tree[0] == "or") for child in tree[1])
            times = [ts for ts in self.times_in(read) if ts <= delete[0]]
            return below_or and any(self.model.lacks(delete, ts, tree[1]) for ts in times)

        return any(depends(delete, delete[2]) for delete in self.deletes_in(read))

    def deletes_by_dropped_attributes(self, read):
        """Whether a delete looks at a field that the schema of the read lacks."""
        return any(test[1] not in self.conditions.fields for _, _, tree in self.deletes_in(read) for test in tests(tree))

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
        self.fragments.see_write(self.listed(), write["ts"], [f[0] for f in celltypes.fields(self.schema)])

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
        """Where a read looks, and when. The schema is that of the time from then on."""
        rng = self.rng
        read = {}
        if rng.random() < 0.6:
            read["at"] = rng.choice(self.times) + rng.choice([-1, 0, 0, 1])
            if rng.random() < 0.4:
                read["since"] = rng.randint(0, read["at"])
        self.enter(read.get("at"))
        if rng.random() < 0.5:
            ranges = {}
            for dim, side in zip(self.schema["dims"], region(self.schema)):
                if rng.random() < 0.7:
                    ranges[dim["name"]] = self.ranges(dim, side, layout)
            read["ranges"] = ranges or None
        return read

    def bounded(self, read):
        """The read for libtiledb, which is told the current domain."""
        if not self.schema["current_domain"]:
            return read
        sides = {dim["name"]: [side] for dim, side in zip(self.schema["dims"], self.schema["current_domain"])}
        return {**read, "ranges": {**sides, **(read.get("ranges") or {})}}

    def ranges(self, dim, side, layout):
        rng = self.rng
        pool = [celltypes.coordinate(dim["type"], raw) for raw in self.conditions.pools[dim["name"]]]
        if self.dense:
            pool = list(range(side[0], side[1] + 1))
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
        shown = {**read, "condition": self.conditions.text(read["condition"]) if read.get("condition") else None}
        shown = "read: " + json.dumps(shown, ensure_ascii=False)
        if self.refuses(shown, read, lambda: self.smalti.cells(self.uri, **read)):
            return
        want = self.model.read(**read)
        rows = self.canonical(names, self.smalti.cells(self.uri, **read))
        if self.deletes_in_order(read):
            self.tally["smalti and libtiledb compared with each other alone"] += 1
            self.check_alike(shown, read, rows)
            return
        ours, theirs = difference(want, rows), None
        if not self.excused("history read", read):
            theirs = self.theirs(read, want)
        self.judge(shown, ours, theirs)
        if self.dense and read.get("condition"):
            read["names"] = names = [d["name"] for d in self.schema["dims"]] + names
            rows = self.smalti.cells(self.uri, **read, matching_only=True)
            want = self.model.read(**read, matching_only=True)
            self.judge(shown + " matching only", difference(want, self.canonical(names, rows)), None)

    def check_alike(self, what, read, rows):
        """Compares the two with each other, where the model does not say what is right."""
        if self.excused("history read", read):
            return
        differs = self.theirs(read, sorted(((None, row) for row in rows), key=str))
        if differs:
            raise Mismatch("libtiledb is unlike smalti\n  %s\n  %s" % (what, differs))

    def theirs(self, read, want):
        """None, or how libtiledb's read differs from what is wanted."""
        try:
            cells = self.reference("read", None, self.uri, self.schema, **self.bounded(read))
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
                if self.answers(function, name) and not self.is_younger(name, window):
                    asked.append((function, name))
        what = "aggregates: " + json.dumps({**window, "layout": layout, "condition": window.get("condition") and
                                            self.conditions.text(window["condition"])}, ensure_ascii=False)
        if self.deletes_in_order(window):
            return
        if self.refuses(what, window, lambda: self.smalti.aggregates(self.uri, aggregates, **window)):
            return
        found = self.model.cells(window.get("ranges"), window.get("at"), window.get("since"))
        cells = [row for _, _, row in found]
        # Fill values that no fragment holds say nothing; a merged fragment may hold them.
        is_blank = self.dense and not any(ts for _, ts, _ in found)
        if window.get("condition"):
            tree = pushed_down(window["condition"])
            cells = [row for row in cells if self.conditions.holds(tree, row)]
        ours = self.smalti.aggregates(self.uri, aggregates, **window)
        theirs = {}
        if not self.excused("history aggregate", {"layout": layout, **window}, found):
            try:
                theirs = dict(zip(asked, self.reference("aggregate", None, self.uri, self.schema, asked, layout,
                                                      **self.bounded(window))))
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
            says_nothing = got == 0 if function == "sum" else function in ("mean", "min", "max") and got is None
            if is_blank and says_nothing:
                continue
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
            if datatype == "FLOAT32":
                return celltypes.float32(float(value))
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
    parser = harness.parser(__doc__, 100)
    options = parser.parse_args()
    harness.program(parser, options)
    kept = harness.Kept(options, "smalti-histories-")
    passed = failed = 0
    tallies = collections.Counter()
    for _, report, tally in harness.outcomes(options, run_case, [(number,) for number in harness.numbers(options)]):
        tallies += tally
        passed, failed = passed + (report is None), failed + (report is not None)
        if report and failed <= options.max_failures:
            print(report, flush=True)
    for what, count in sorted(tallies.items()):
        print("  %6d %s" % (count, what))
    kept.close(failed)
    return harness.end(passed, failed)


if __name__ == "__main__":
    sys.exit(main())

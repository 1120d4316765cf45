#!/usr/bin/env python3
"""Differential test: smalti and libtiledb must see the same cells in each other's arrays.

Each case is drawn from (seed, case number, direction): a schema, writes, metadata and reads. One program writes, the
other reads, and what it reads is compared, cell for cell and bit for bit, with a naive model and with the reference.
`--self-check` lets libtiledb play both parts and so proves generator, bindings and model.
"""
import collections
import itertools
import json
import os
import random
import shutil
import sys
import time
import traceback

import celltypes
import generate
import harness
from known_differences import known
from libtiledb import Reference, ReferenceCrash, TileDBError
from model import Model, difference
from smalti import Smalti, SmaltiError, schema_difference

DIRECTIONS = ("ours-to-theirs", "theirs-to-ours")
MAX_DRAWS = 60
ENCRYPTED_SHARE = 0.05
METADATA_SHARE = 0.2
KEY = "0123456789abcdefghijklmnopqrstuv"


class Mismatch(Exception):
    """The case failed; the text says how."""


class Case:
    """One drawn case, written by libtiledb into `theirs` as the proof that the reference accepts it."""

    def __init__(self, seed, number, direction, folder, reference, tally):
        self.direction, self.folder, self.reference, self.tally = direction, folder, reference, tally
        self.theirs = os.path.join(folder, "theirs")
        self.ours = os.path.join(folder, "ours")
        for draw in range(MAX_DRAWS):
            self.rng = random.Random("%s/%s/%s/%s" % (seed, number, direction, draw))
            try:
                if self.draw():
                    return
            except generate.Unusable as error:
                tally["redrawn: " + str(error)] += 1
            except TileDBError as error:
                tally["redrawn: " + str(error).split(";")[0][:70]] += 1
            except ReferenceCrash as error:
                tally["redrawn: " + str(error)] += 1
            shutil.rmtree(self.theirs, ignore_errors=True)
        raise Mismatch("no acceptable case in %d draws" % MAX_DRAWS)

    def draw(self):
        rng = self.rng
        self.key = KEY if rng.random() < ENCRYPTED_SHARE else None
        drawn = generate.SchemaDraw(rng, self.key is not None)
        self.requested = drawn.draw()
        entry = known("schema", self.requested)
        if entry:
            self.tally["avoided: " + entry.name] += 1
            return False
        self.schema = self.reference("create", self.key, self.theirs, self.requested)
        maker = generate.WriteDraw(rng, self.schema, drawn.demands, self.key is not None)
        self.writes = maker.draw()
        self.model = Model(self.schema)
        for write in self.writes:
            self.write_theirs(write)
            self.model.write(write["ts"], write["columns"])
        self.metadata = generate.metadata(rng) if rng.random() < METADATA_SHARE else []
        for ts, items in self.metadata:
            self.model.put_metadata(ts, items)
        self.reads = generate.ReadDraw(rng, self.schema, self.writes, maker.pools).draw()
        return True

    def write_theirs(self, write):
        pairs = {name: (values, write["hidden"].get(name)) for name, values in write["columns"].items()}
        if self.schema["array_type"] == "dense":
            for dim in self.schema["dims"]:
                del pairs[dim["name"]]
        args = self.key, self.theirs, self.schema, write["layout"], write["ts"]
        if known("write", self.schema, write):
            for ranges, positions in self.tiles(write):
                part = {n: tuple(c and [c[i] for i in positions] for c in pair) for n, pair in pairs.items()}
                self.reference("write", *args, [part], ranges)
            return
        cut = write["split"]
        parts = [pairs]
        if cut:
            parts = [
                {n: tuple(c and c[s] for c in pair) for n, pair in pairs.items()} for s in (slice(cut), slice(cut, None))
            ]
        self.reference("write", *args, parts, write["ranges"])

    def tiles(self, write):
        """A dense write cut along the space tiles: (ranges, positions of its cells in the write)."""
        dims = self.schema["dims"]
        axes = []
        for dim in dims:
            (low, high), (start, extent) = write["ranges"][dim["name"]][0], (dim["domain"][0], dim["tile"])
            edges = [low] + [e for e in range(start + ((low - start) // extent + 1) * extent, high + 1, extent)] + [high + 1]
            axes.append([[a, b - 1] for a, b in zip(edges, edges[1:])])
        columns = (write["columns"][d["name"]] for d in dims)
        coords = list(zip(*([celltypes.coordinate(d["type"], v) for v in c] for d, c in zip(dims, columns))))
        for box in itertools.product(*axes):
            inside = [i for i, c in enumerate(coords) if all(a <= v <= b for v, (a, b) in zip(c, box))]
            yield {d["name"]: [r] for d, r in zip(dims, box)}, inside

    # ---------------------------------------------------------------- comparing

    def rows(self, columns):
        """Rows in schema order, with canonical NaNs."""
        named = [(name, t) for name, t, _, _, _ in celltypes.fields(self.schema) if name in columns]
        return list(zip(*([celltypes.canonical(t, v) for v in columns[name]] for name, t in named)))

    def reference_read(self, read):
        """The read as libtiledb is asked for it. Of dense arrays it gives attributes alone: what it says about
        coordinates depends on the layout and the ranges, and the order of the cells says it already."""
        if self.schema["array_type"] == "sparse":
            return read
        attrs = [a["name"] for a in self.schema["attrs"]]
        return {**read, "names": [n for n in attrs if n in (read.get("names") or attrs)] or attrs[:1]}

    def theirs_of(self, uri, read):
        return self.rows(self.reference("read", self.key, uri, self.schema, **read))

    def check(self, what, read, rows):
        found = difference(self.model.read(**read), rows)
        if found:
            raise Mismatch("%s\n  read: %s\n  %s" % (what, json.dumps(read), found))

    def check_own_read(self, read):
        """libtiledb against the model on libtiledb's array; the rows, or None where libtiledb cannot tell."""
        read = self.reference_read(read)
        if known("read", self.schema, read):
            self.tally["not compared: " + known("read", self.schema, read).name] += 1
            return None
        try:
            rows = self.theirs_of(self.theirs, read)
        except ReferenceCrash as error:
            self.tally["reference crash on reading its own array"] += 1
            where = os.path.basename(self.folder), json.dumps(read), json.dumps(self.schema, ensure_ascii=False)
            print("reference crash: %s, %s\n  read: %s\n  schema: %s" % (error, *where), flush=True)
            return None
        self.check("libtiledb's own read of its own array is not what the model says", read, rows)
        return rows

    def check_metadata(self, what, got, at):
        want = {k: (t, celltypes.canonical(t, v)) for k, (t, v) in self.model.metadata(at).items()}
        got = {k: (t, celltypes.canonical(t, v)) for k, (t, v) in got.items()}
        if want != got:
            key = next(k for k in list(want) + list(got) if want.get(k) != got.get(k))
            raise Mismatch("%s: metadata %r at %s: expected %r, got %r" % (what, key, at, want.get(key), got.get(key)))

    def metadata_times(self):
        return [None] + [ts + d for ts, _ in self.metadata for d in (-1, 0)]

    def put_theirs(self):
        for ts, items in self.metadata:
            self.reference("put_metadata", self.key, self.theirs, items, ts)

    # ---------------------------------------------------------------- the three ways to run a case

    def self_check(self, _):
        found = schema_difference(self.schema, self.reference("schema", self.key, self.theirs))
        if found:
            raise Mismatch(found)
        for read in self.reads:
            self.check_own_read(read)
        self.put_theirs()
        for at in self.metadata_times():
            self.check_metadata("self-check", self.reference("metadata", self.key, self.theirs, at), at)

    def theirs_to_ours(self, smalti):
        found = schema_difference(self.schema, smalti.schema(self.theirs))
        if found:
            raise Mismatch("smalti describes libtiledb's schema differently\n  " + found)
        self.put_theirs()
        for read in self.reads:
            self.check_own_read(read)
            rows = self.rows(smalti.read(self.theirs, self.schema, **read))
            self.check("smalti reads libtiledb's array differently", read, rows)
        for at in self.metadata_times() if self.metadata else []:
            self.check_metadata("smalti reads libtiledb's metadata differently", smalti.metadata(self.theirs, at), at)

    def has_ties(self, write):
        """Whether cells of a sparse write have the same coordinates."""
        cells = list(zip(*(write["columns"][dim["name"]] for dim in self.schema["dims"])))
        return self.schema["array_type"] == "sparse" and len(set(cells)) < len(cells)

    def ours_to_theirs(self, smalti):
        smalti.create(self.ours, self.requested)
        try:
            found = schema_difference(self.schema, self.reference("schema", self.key, self.ours))
        except (TileDBError, ReferenceCrash) as error:
            raise Mismatch("libtiledb cannot open smalti's schema: %s" % error) from error
        if found:
            raise Mismatch("libtiledb does not see the schema that smalti was asked for\n  " + found)
        for write in self.writes:
            count = len(next(iter(write["columns"].values())))
            order = list(range(count))
            # Cells that tie keep their order: positive delta may depend on it.
            if write["layout"] != "global" and not self.schema["allows_dups"] and self.rng.random() < 0.3:
                self.rng.shuffle(order)
            try:
                smalti.write(self.ours, self.schema, write, order)
            except SmaltiError as error:
                # The two libraries put cells that tie into different orders, and so take differences of other values.
                if "do not fit in a signed 64-bit integer" in str(error) and self.has_ties(write):
                    self.tally["not written: the order of cells that tie decides whether differences fit"] += 1
                    return
                raise
        for read in map(self.reference_read, self.reads):
            if known("read", self.schema, read):
                continue
            try:
                rows = self.theirs_of(self.ours, read)
            except (TileDBError, ReferenceCrash) as error:
                if self.check_own_read(read) is None:
                    continue
                raise Mismatch("libtiledb cannot read smalti's array: %s\n  read: %s" % (error, json.dumps(read))) from error
            if difference(self.model.read(**read), rows):
                self.check_own_read(read)
            self.check("libtiledb reads smalti's array differently", read, rows)
        latest = collections.ChainMap()
        for _, items in self.metadata:
            smalti.put_metadata(self.ours, items)
            latest = latest.new_child(items)
        if self.metadata:
            self.check_metadata("libtiledb reads smalti's metadata differently", self.reference("metadata", self.key, self.ours), None)


# ---------------------------------------------------------------- running

_reference = None


def run_case(options, number, direction):
    """(number, direction, failure text or None, tally)"""
    global _reference
    _reference = _reference or Reference()
    tally = collections.Counter()
    folder = os.path.join(options.keep, "%s-%d-%d" % (direction, options.seed, number))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = smalti = failure = None
    try:
        case = Case(options.seed, number, direction, folder, _reference, tally)
        smalti = Smalti(options.smalti, folder, case.key)
        way = "self_check" if options.self_check else direction.replace("-", "_")
        getattr(case, way)(smalti)
    except (Mismatch, SmaltiError, TileDBError, ReferenceCrash) as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    if failure is None:
        shutil.rmtree(folder)
        return number, direction, None, tally
    report = ["FAILED %s, seed %d, case %d" % (direction, options.seed, number), "  " + failure]
    if case is not None:
        report.append("  schema: " + json.dumps(case.schema, ensure_ascii=False))
        for write in case.writes:
            text = {k: write[k] for k in ("ts", "layout", "ranges", "split")}
            text["cells"] = len(next(iter(write["columns"].values())))
            report.append("  write: " + json.dumps(text, ensure_ascii=False))
        if case.key:
            report.append("  key: " + case.key)
        report += ["  $ " + c for c in smalti.commands]
    report.append("  kept in " + folder)
    with open(os.path.join(folder, "failure.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(report) + "\n")
    return number, direction, "\n".join(report), tally


def main():
    parser = harness.parser(__doc__, 200, "cases in each direction")
    parser.add_argument("--direction", choices=DIRECTIONS + ("both",), default="both")
    parser.add_argument("--self-check", action="store_true", help="libtiledb plays both parts")
    options = parser.parse_args()
    if not options.self_check:
        harness.program(parser, options)
    kept = harness.Kept(options, "smalti-interop-")
    directions = DIRECTIONS if options.direction == "both" else (options.direction,)
    cases = [(number, direction) for direction in directions for number in harness.numbers(options)]

    passed, failed, tallies = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
    start = time.time()
    for _, direction, failure, tally in harness.outcomes(options, run_case, cases):
        tallies[direction].update(tally)
        if failure is None:
            passed[direction] += 1
            continue
        failed[direction] += 1
        if sum(failed.values()) <= options.max_failures:
            print(failure + "\n", flush=True)
    kept.close(sum(failed.values()))
    for direction in directions:
        for what, count in sorted(tallies[direction].items()):
            print("%s: %d x %s" % (direction, count, what))
    name = " (self-check)" if options.self_check else ""
    for direction in directions:
        print("%s%s: %d passed, %d failed" % (direction, name, passed[direction], failed[direction]))
    print("%.1f s, seed %d" % (time.time() - start, options.seed))
    return harness.end(sum(passed.values()), sum(failed.values()))


if __name__ == "__main__":
    sys.exit(main())

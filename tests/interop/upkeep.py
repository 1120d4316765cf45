#!/usr/bin/env python3
"""Differential test of consolidation and vacuum of commits, fragment metadata and metadata: whoever of smalti and libtiledb does
it, both must see the same cells, deletes and metadata at every time.

Each case is drawn from (seed, case number): a history of writes, deletes and metadata in an array (or metadata in a group), each
by smalti or libtiledb, and between them upkeep by either. After every upkeep and at the end both read the array at all times and
are compared with a naive model. Two things libtiledb cannot do, so smalti does them in its place: consolidate commits again
once a delete is in a consolidated file alone, and consolidate commits that smalti has taken back.
"""
import json
import os
import random
import shutil
import sys
import traceback

import numpy
import tiledb

import harness
import sight
from smalti import Smalti, SmaltiError

KEY = "0123456789abcdefghijklmnopqrstuv"
ENCRYPTED_SHARE = 0.2
LEN = 20
FILL = -(1 << 31)
MODES = ["fragment_meta", "commits", "array_meta"]


class Mismatch(Exception):
    """The case failed; the text says how."""


class Case:
    def __init__(self, seed, number, folder, binary):
        self.rng = random.Random("%s/%s" % (seed, number))
        self.folder, self.path = folder, os.path.join(folder, "thing")
        self.kind = self.rng.choice(["sparse", "sparse", "dense", "group"])
        self.key = KEY if self.kind != "group" and self.rng.random() < ENCRYPTED_SHARE else None
        self.smalti = Smalti(binary, folder, self.key)
        self.steps, self.contexts = [], {}
        # Time -> the cells and the metadata from then on.
        self.states = []
        self.has_deletes = False
        # Metadata of earlier times is gone.
        self.metadata_since = 0

    def context(self, **more):
        options = {"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1"}
        if self.key:
            options.update({"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": self.key})
        options.update(more)
        # Making a context for every read corrupts the memory of the process now and then.
        name = json.dumps(options)
        if name not in self.contexts:
            self.contexts[name] = tiledb.Ctx(options)
        return self.contexts[name]

    def opened(self, mode, at):
        if self.kind == "group":
            context = self.context(**{"sm.group.timestamp_end": str(at)})
            return tiledb.Group(self.path, mode, ctx=context)
        return tiledb.open(self.path, mode, timestamp=at if mode != "r" else (0, at), ctx=self.context())

    def make(self):
        if self.kind == "group":
            tiledb.Group.create(self.path)
        else:
            dimension = tiledb.Dim("x", domain=(0, LEN - 1), tile=5, dtype=numpy.int32)
            attribute = tiledb.Attr("n", dtype=numpy.int32)
            schema = tiledb.ArraySchema(tiledb.Domain(dimension), [attribute], sparse=self.kind == "sparse")
            tiledb.Array.create(self.path, schema, ctx=self.context())
        self.states.append((1, {}, {}))

    def change(self, at):
        cells, metadata = dict(self.states[-1][1]), dict(self.states[-1][2])
        ours, kind = self.rng.random() < 0.5, self.rng.random()
        step = [at, "smalti" if ours else "libtiledb"]
        if kind < 0.3 or self.kind == "group":
            key, value = self.rng.choice(["k", "l", "m"]), self.rng.randrange(-9, 9)
            value = None if key in metadata and self.rng.random() < 0.4 else value
            step += ["metadata", key, value]
            if ours:
                action = ["delete", key] if value is None else ["put", key, "INT64", str(value)]
                self.smalti.run("meta", self.path, *action, "--at", str(at))
            else:
                with self.opened("w", at) as thing:
                    if value is None:
                        del thing.meta[key]
                    else:
                        thing.meta[key] = value
            metadata.pop(key, None)
            if value is not None:
                metadata[key] = value
        elif kind < 0.45 and self.kind == "sparse" and cells:
            number = self.rng.choice(sorted(cells.values()))
            step += ["delete", number]
            self.has_deletes = True
            if ours:
                self.smalti.run("delete", self.path, "--where", "n == %d" % number, "--at", str(at))
            else:
                with self.opened("d", at) as array:
                    array.query(cond="n == %d" % number).submit()
            cells = {x: n for x, n in cells.items() if n != number}
        else:
            low = self.rng.randrange(LEN)
            count = self.rng.randrange(1, LEN - low + 1)
            written = {x: self.rng.randrange(5) if self.kind == "sparse" else at * 100 + x for x in range(low, low + count)}
            step += ["write", sorted(written.items())]
            self.write(written, at, ours)
            cells.update(written)
        self.steps.append(step)
        self.states.append((at, cells, metadata))

    def write(self, written, at, ours):
        low, high = min(written), max(written)
        if ours:
            is_dense = self.kind == "dense"
            rows = [{"n": n} if is_dense else {"x": x, "n": n} for x, n in sorted(written.items())]
            file = self.smalti.file("write.jsonl", "\n".join(json.dumps(row) for row in rows) + "\n")
            place = ["--range", "x=%d:%d" % (low, high)] if is_dense else []
            self.smalti.run("write", self.path, "--from", file, "--format", "jsonl", "--at", str(at), *place)
            return
        numbers = numpy.array([n for _, n in sorted(written.items())], dtype=numpy.int32)
        with self.opened("w", at) as array:
            if self.kind == "dense":
                array[low:high + 1] = numbers
            else:
                array[numpy.array(sorted(written), dtype=numpy.int32)] = numbers

    def upkeep(self):
        mode = "group_meta" if self.kind == "group" else self.rng.choice(MODES)
        vacuums, ours = self.rng.random() < 0.5, self.rng.random() < 0.6
        if mode == "commits" and self.has_deletes:
            ours = True
        step = ["smalti" if ours else "libtiledb", "vacuum" if vacuums else "consolidate", mode]
        self.steps.append(step)
        if ours:
            dry = json.loads(self.smalti.run(step[1], self.path, "--mode", mode, "--dry-run", "--json"))
            done = json.loads(self.smalti.run(step[1], self.path, "--mode", mode, "--json"))
            self.expect("the report", 0, (len(done["written"]), done["removed"]), (len(dry["written"]), dry["removed"]))
            again = json.loads(self.smalti.run(step[1], self.path, "--mode", mode, "--json"))
            self.expect("the second report", 0, (again["written"], again["removed"]), ([], []))
        elif self.kind == "group":
            config = tiledb.Config({"sm.%s.mode" % ("vacuum" if vacuums else "consolidation"): "group_meta"})
            (tiledb.Group.vacuum_metadata if vacuums else tiledb.Group.consolidate_metadata)(self.path, config=config)
        else:
            context = self.context(**{"sm.%s.mode" % ("vacuum" if vacuums else "consolidation"): mode})
            config = context.config()
            (tiledb.vacuum if vacuums else tiledb.consolidate)(self.path, ctx=context, config=config)
        if vacuums and mode.endswith("_meta") and mode != "fragment_meta":
            self.metadata_since = self.states[-1][0]
        self.check()

    def check(self):
        times = sorted({at for at, _, _ in self.states} | {at - 1 for at, _, _ in self.states[1:]})
        for at in times:
            _, cells, metadata = [state for state in self.states if state[0] <= at][-1]
            if self.kind != "group":
                self.expect("smalti's cells", at, self.cells_by_smalti(at), cells)
                self.expect("libtiledb's cells", at, self.cells_by_libtiledb(at), cells)
            if at >= self.metadata_since:
                text = self.smalti.run("meta", self.path, "--json", "--at", str(at))
                found = {key: item["value"][0] for key, item in json.loads(text).items()}
                self.expect("smalti's metadata", at, found, metadata)
                with self.opened("r", at) as thing:
                    found = {key: int(thing.meta[key]) for key in thing.meta}
                self.expect("libtiledb's metadata", at, found, metadata)

    def cells_by_smalti(self, at):
        text = self.smalti.run("read", self.path, "--format", "jsonl", "--at", str(at))
        rows = [json.loads(line) for line in text.splitlines() if line]
        return {row["x"]: row["n"] for row in rows if row["n"] != FILL}

    def cells_by_libtiledb(self, at):
        with self.opened("r", at) as array:
            if self.kind == "dense":
                # Of an array without cells it is a dictionary.
                found = array[:]
                found = found["n"] if isinstance(found, dict) else found
                return {x: int(n) for x, n in enumerate(found) if n != FILL}
            found = array[:]
            return {int(x): int(n) for x, n in zip(found["x"], found["n"])}

    def expect(self, what, at, found, wanted):
        if found != wanted:
            raise Mismatch("%s at %d are\n    %s, not\n    %s" % (what, at, found, wanted))

    def run(self):
        self.make()
        at = 1000
        for _ in range(self.rng.randrange(3, 14)):
            if self.rng.random() < 0.4:
                self.upkeep()
            else:
                at += self.rng.randrange(1, 50)
                self.change(at)
        self.upkeep()


def run_case(options, number):
    """The case in a process of its own. libtiledb now and then corrupts its memory where an array is opened often, whoever wrote
    it and without any upkeep; a case that ends so is run again, twice at most."""
    for _ in range(3):
        outcome = sight.in_a_process(lambda: [try_case(options, number)])
        if outcome is not None:
            return outcome[0]
    return "FAILED upkeep, seed %d, case %d\n  the process died three times" % (options.seed, number)


def try_case(options, number):
    folder = os.path.join(options.keep, "upkeep-%d-%d" % (options.seed, number))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = Case(options.seed, number, folder, options.smalti)
    try:
        case.run()
    except (Mismatch, SmaltiError, tiledb.TileDBError) as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    else:
        shutil.rmtree(folder)
        return None
    lines = ["FAILED upkeep, seed %d, case %d" % (options.seed, number), "  " + failure]
    lines += ["  step: %s" % json.dumps(step, ensure_ascii=False) for step in case.steps]
    lines += ["  $ " + command for command in case.smalti.commands]
    return "\n".join(lines + ["  kept in " + folder])


def main():
    return harness.run_cases(__doc__, "upkeep", run_case, 200)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The program is killed (SIGKILL) at its k-th storage call, for every k of every operation: what it leaves shows the array as it was
before or as it is after, to smalti and to libtiledb, and the same command then succeeds.

With strace, the k-th call of `CALLS` of any thread ends the program before the call has an effect. Without it (or with `--random N`) the
program is killed N times per operation at moments that a seed chooses. Power cuts are not the matter of this test: what was written
stays in the page cache. tests/integration/upkeep/cuts.rs enumerates those.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import tiledb

from smalti import Smalti, SmaltiError

# What changes something on the disk, but for opening files, of which most are libraries and only read.
CALLS = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,flock"
FILL = -(1 << 31)
TIMES = [15, 25, 1000]


class Array:
    """An array of a kind, with a history of writes, deletes and metadata."""

    def __init__(self, binary, folder, kind, prepared):
        self.binary, self.folder, self.kind = binary, folder, kind
        self.path = os.path.join(folder, "array")
        self.smalti = Smalti(binary, folder)
        self.number = 0
        self.run("create", self.path, "--schema", self.schema(), "--format-version", "21")
        # The schema's time is now; all that follows is told to be later or earlier by --at alone.
        for at, cells in [(10, [1, 2, 3, 4, 5]), (20, [3, 4]), (30, [4, 5, 6])]:
            self.run(*self.write(at, cells))
        self.run("meta", self.path, "put", "k", "INT64", "1", "--at", "11")
        self.run("meta", self.path, "put", "l", "INT64", "2", "--at", "21")
        if kind != "dense":
            self.run("delete", self.path, "--where", "n == 3005", "--at", "31")
        for command in prepared:
            self.run(*command(self))

    def schema(self):
        schema = {
            "array_type": "dense" if self.kind == "dense" else "sparse",
            "allows_dups": self.kind == "dups",
            "dims": [{"name": "x", "type": "INT32", "domain": [0, 19], "tile": 5}],
            "attrs": [{"name": "n", "type": "INT32"}],
        }
        return self.smalti.file("schema.json", json.dumps(schema))

    def run(self, *args):
        self.smalti.run(*args)

    def write(self, at, cells):
        rows = [{"x": x, "n": at * 100 + x} for x in cells]
        place = []
        if self.kind == "dense":
            rows = [{"n": row["n"]} for row in rows]
            place = ["--range", "x=%d:%d" % (cells[0], cells[-1])]
        file = self.smalti.file("write-%d.jsonl" % at, "\n".join(map(json.dumps, rows)) + "\n")
        return ["write", self.path, "--from", file, "--format", "jsonl", "--at", str(at), *place]


def mode(command, which):
    return lambda array: [command, array.path, "--mode", which]


CONSOLIDATE = [mode("consolidate", which) for which in ("fragments", "commits", "fragment_meta", "array_meta")]
VACUUM = [mode("vacuum", which) for which in ("fragments", "commits", "fragment_meta", "array_meta")]
# Name: the command, and whether it changes what the array says.
OPERATIONS = {
    "write": (lambda array: array.write(50, [4, 5, 6]), True),
    "delete": (lambda array: ["delete", array.path, "--where", "n == 1001", "--at", "51"], True),
    "meta": (lambda array: ["meta", array.path, "put", "k", "INT64", "5", "--at", "52"], True),
    "upgrade": (lambda array: ["upgrade", array.path], True),
    "purge": (lambda array: ["consolidate", array.path, "--purge"], False),
}
OPERATIONS.update({"consolidate " + which: (mode("consolidate", which), False)
                   for which in ("fragments", "commits", "fragment_meta", "array_meta")})
OPERATIONS.update({"vacuum " + which: (mode("vacuum", which), False)
                   for which in ("fragments", "commits", "fragment_meta", "array_meta")})
# What was done before.
PREPARED = {"fresh": [], "merged": CONSOLIDATE, "vacuumed": [CONSOLIDATE[1], VACUUM[1], CONSOLIDATE[0]]}


def seen_by_smalti(smalti, path, at):
    """The cells and the metadata at a time; None for what is gone, which smalti says."""
    def told(*args):
        try:
            return smalti.run(*args, "--at", str(at))
        except SmaltiError as error:
            if "told" in str(error) or "purged" in str(error):
                return None
            raise
    text, meta = told("read", path, "--format", "jsonl"), told("meta", path, "--json")
    rows = None if text is None else [json.loads(line) for line in text.splitlines() if line]
    cells = None if rows is None else sorted((row["x"], row["n"]) for row in rows if row["n"] != FILL)
    return cells, None if meta is None else {key: item["value"][0] for key, item in json.loads(meta).items()}


def seen_by_libtiledb(path, kind):
    with tiledb.open(path) as array:
        found = array[:]
        if kind == "dense":
            found = found["n"] if isinstance(found, dict) else found
            cells = [(x, int(n)) for x, n in enumerate(found) if n != FILL]
        else:
            cells = sorted((int(x), int(n)) for x, n in zip(found["x"], found["n"]))
        return cells, {key: int(array.meta[key]) for key in array.meta}


class Failure(Exception):
    pass


class Case:
    def __init__(self, options, kind, prepared, name):
        self.options, self.kind, self.name = options, kind, name
        self.label = "%s of %s %s" % (name, prepared, kind)
        self.folder = os.path.join(options.keep, self.label.replace(" ", "-"))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.array = Array(options.smalti, self.folder, kind, PREPARED[prepared])
        self.base = os.path.join(self.folder, "base")
        os.rename(self.array.path, self.base)
        command, self.is_change = OPERATIONS[name]
        self.command = command(self.array)
        self.states = self.opened = 0

    def restore(self):
        shutil.rmtree(self.array.path, ignore_errors=True)
        shutil.copytree(self.base, self.array.path)

    def view(self):
        return [seen_by_smalti(self.array.smalti, self.array.path, at) for at in TIMES]

    def run(self):
        self.restore()
        self.before, foreign_before = self.view(), seen_by_libtiledb(self.array.path, self.kind)
        start = time.time()
        self.array.run(*self.command)
        self.duration = time.time() - start
        self.after, foreign_after = self.view(), seen_by_libtiledb(self.array.path, self.kind)
        self.foreign = [foreign_before, foreign_after]
        if self.name.startswith("consolidate fragments") or self.name == "purge":
            # libtiledb's window between the commit and the list of what it replaces: both are seen.
            doubled = sorted(foreign_before[0] + foreign_after[0])
            self.foreign += [(doubled, foreign_before[1])] if self.kind == "dups" else []
        if self.options.random:
            rng = random.Random("%d/%s" % (self.options.seed, self.label))
            for _ in range(self.options.random):
                self.kill_after(rng.random() * self.duration * 1.1)
        else:
            k = 1
            while self.kill_at(k):
                k += self.options.stride

    def kill_at(self, k):
        """Whether there was a k-th call."""
        self.restore()
        inject = "inject=%s:signal=KILL:when=%d" % (CALLS, k)
        strace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=" + CALLS, "-e", inject]
        done = subprocess.run([*strace, self.options.smalti, *self.command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
        is_killed = done.returncode in (-9, 137)
        if not is_killed and done.returncode != 0:
            raise Failure("call %d: exit status %d: %s" % (k, done.returncode, done.stderr.decode("utf-8", "replace")))
        self.check("killed at call %d" % k, is_killed)
        return is_killed

    def kill_after(self, seconds):
        self.restore()
        child = subprocess.Popen([self.options.smalti, *self.command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
        is_killed = child.wait() != 0
        self.check("killed after %.6f s" % seconds, is_killed)

    def check(self, how, is_killed):
        self.states += 1
        found = self.view()
        sides = ([self.before] if is_killed else []) + [self.after]
        if self.is_change and found not in sides or not self.is_change and not is_between(found, sides):
            raise Failure("%s: seen is\n    %s, not one of\n    %s" % (how, found, "\n    ".join(map(str, sides))))
        if self.states % self.options.foreign == 0:
            self.opened += 1
            foreign = seen_by_libtiledb(self.array.path, self.kind)
            if foreign not in self.foreign:
                raise Failure("%s: libtiledb sees\n    %s, not one of\n    %s" % (how, foreign, "\n    ".join(map(str, self.foreign))))
        # Duplicates double when they are written twice.
        is_twice = self.is_change and found == self.after and self.before != self.after
        self.array.run(*self.command)
        again = self.view()
        if not (is_twice and self.kind == "dups") and not is_between(again, [self.after]):
            raise Failure("%s, then again: seen is\n    %s, not\n    %s" % (how, again, self.after))


def is_between(found, sides):
    """Whether all cells and metadata are as on some side."""
    return all(part in [side[at][which] for side in sides]
               for at, parts in enumerate(found) for which, part in enumerate(parts))


def run_case(options, kind, prepared, name):
    """The failure, if any, the states, and how many of them libtiledb opened. In a process of its own: libtiledb now and then corrupts
    its memory where an array is opened often."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        case = None
        try:
            case = Case(options, kind, prepared, name)
            case.run()
            failure = None
            shutil.rmtree(case.folder)
        except (Failure, SmaltiError, tiledb.TileDBError, subprocess.TimeoutExpired) as error:
            failure = "FAILED %s of %s %s\n  %s" % (name, prepared, kind, error)
        with os.fdopen(writer, "w") as out:
            out.write(json.dumps([failure, case.states if case else 0, case.opened if case else 0]))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as result:
        text = result.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else ["FAILED %s of %s %s\n  the process died" % (name, prepared, kind), 0, 0]


def has_strace(binary):
    """Whether there is an strace that may trace and inject."""
    if shutil.which("strace") is None:
        return False
    trial = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=write", "-e", "inject=write:signal=KILL:when=1"]
    return subprocess.run([*trial, binary, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode in (-9, 137)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smalti", default="smalti", help="the binary under test")
    parser.add_argument("--stride", type=int, default=1, help="kill at one call of so many")
    parser.add_argument("--random", type=int, default=0, help="kill so often per operation at random moments instead")
    parser.add_argument("--foreign", type=int, default=2, help="libtiledb opens one state of so many")
    parser.add_argument("--arrays", default="all", help="`some`: one array of each kind; `all`: each with three histories")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for arrays of failed cases (default: a new temporary folder)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    made = options.keep is None
    options.keep = os.path.realpath(options.keep or tempfile.mkdtemp(prefix="smalti-kills-"))
    options.smalti = os.path.abspath(shutil.which(options.smalti) or parser.error("no program " + options.smalti))
    if not options.random and not has_strace(options.smalti):
        print("kills: no strace here, so at random moments")
        options.random = 5
    pairs = [("sparse", "fresh"), ("dups", "merged"), ("dense", "vacuumed")]
    if options.arrays == "all":
        pairs = [(kind, prepared) for kind in ("sparse", "dups", "dense") for prepared in PREPARED]
    cases = [(kind, prepared, name) for kind, prepared in pairs for name in OPERATIONS
             if not (kind == "dense" and name == "delete")]
    start, failures, states, opened = time.time(), 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for failure, count, foreign in pool.map(lambda case: run_case(options, *case), cases):
            states, opened = states + count, opened + foreign
            if failure is not None:
                failures += 1
                print(failure + "\n", flush=True)
    if made and not failures:
        shutil.rmtree(options.keep)
    print("kills: %.1f s, %d states, %d of them opened by libtiledb" % (time.time() - start, states, opened))
    print("%d passed, %d failed" % (len(cases) - failures, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""How the time for each cell, fragment or range grows along each axis; smalti beside libtiledb: a section of docs/growth.md.

    python growth.py --peer target/release/smalti-bench [--program target/release/smalti] [--axes cells,ranges] [--reps 5]
        [--data FOLDER] [--write docs/growth.md] [--quick]

Both engines read the same arrays and take turns; each size of each line has processes of its own, which do the work once before it is measured. Files
are in the page cache. Between the turns the machine does, without an engine, what the work cannot do without (crates/bench/src/limits.rs). smalti is
driven through smalti-bench, or, where threads or memory are set, as the program; libtiledb through the worker of bench_peers.py. The axis `processes` is not in the section: opening, and opening and reading a small box, each in a new process, with the peak of its
memory, for the tables of fragments and tiles there.
"""

import argparse
import dataclasses
import functools
import json
import math
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

import compare

HERE = os.path.dirname(os.path.abspath(__file__))
SECTION = "Growth along each axis"
FLAT = 1.3
# A run that takes more seconds is repeated so many times at most.
SLOW, SLOW_REPS = 1, 3
MIB = 1 << 20
FRAGMENT_BOX = [[[500_000, 520_000], [500_000, 520_000]]]
# Columns of the sparse arrays and what a cell of them takes.
COLUMNS = {"x": "int64", "y": "int64", "a": "float64", "b": "int32"}
CELL_BYTE_LEN = 28
# Bytes of a chunk, which is filtered alone.
CHUNK_BYTE_LEN = 1 << 16
# Data files that a fragment of the sparse arrays has, and its metadata.
FRAGMENT_FILES = 5
ENGINES = ("smalti", "libtiledb")
# Positions of the dimension with many ranges.
WIDE = 10**8


@dataclasses.dataclass
class Point:
    """A size of a line: how many units the work has there, and what the peers are asked."""

    label: str
    units: float
    query: dict
    # What reads back what was written.
    check: dict = None
    # Works of smalti-bench without an engine, one after the other.
    limit: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Growth:
    """Seconds of a unit by sizes, the size that the others are held against, the one with the longest time, and the largest."""

    times: dict
    least: int
    worst: int
    largest: int

    def at(self, idx):
        return self.times[idx] / self.times[self.least]


@dataclasses.dataclass
class Line:
    what: str
    unit: str
    points: list
    # The size whose time is what comes before any unit, and is taken off the others.
    start: int = None
    measure: str = "t"
    # All sizes are to take the same, whichever is the largest.
    is_spread: bool = False
    # Runs of each peer at each size, as they are measured.
    runs: dict = dataclasses.field(default_factory=dict)

    def time(self, name, idx, measure=None):
        runs = self.runs[name][idx]
        return statistics.median(run[measure or self.measure] for run in runs) if runs else None

    def of_unit(self, name, idx):
        """Seconds of a unit; `None` where more than two thirds of the time are what comes before the units."""
        time = self.time(name, idx)
        if time is None or idx == self.start:
            return None
        if self.start is None:
            return time / self.points[idx].units
        first = self.time(name, self.start)
        if idx < self.start or time < 1.5 * first:
            return None
        return (time - first) / (self.points[idx].units - self.points[self.start].units)

    def growth(self, name):
        """How the time of a unit grows; `None` where less than two sizes have one."""
        times = {idx: time for idx in range(len(self.points)) if (time := self.of_unit(name, idx))}
        if len(times) < 2:
            return None
        least = min(times, key=times.get) if self.is_spread else min(times)
        return Growth(times, least, max(times, key=times.get), max(times))

    def faster(self, idx):
        ours, theirs = (self.time(name, idx, "t") for name in ENGINES)
        return f"{theirs / ours:.1f}" if ours and theirs else "-"


@dataclasses.dataclass
class Table:
    axis: str
    # What the columns are sizes of.
    sizes: str
    lines: list
    # How a peer is started at a point.
    start: object


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="the program smalti-bench")
    parser.add_argument("--program", help="the program smalti, by default beside smalti-bench")
    parser.add_argument("--axes", default=",".join(AXES), help="which of them, or `processes`")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="threads, and processors, of each peer")
    parser.add_argument("--longest", type=float, default=10, help="seconds of a repetition; larger sizes are left out where it would take longer")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a measurement is given up")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--data", help="folder that keeps the arrays for the next run")
    parser.add_argument("--out", help="file to append what was measured to, a JSON line for each line of a table")
    parser.add_argument("--write", help="page of documentation whose section to write")
    parser.add_argument("--before", help="an earlier smalti-bench, for the axis `processes`")
    parser.add_argument("--fragments", default="100,1000,10000,100000", help="numbers of fragments of the axis `processes`")
    parser.add_argument("--tiles", default="10000,100000,1000000,10000000", help="numbers of tiles of the axis `processes`")
    options = parser.parse_args()
    options.peer = os.path.abspath(options.peer)
    options.program = os.path.abspath(options.program or os.path.join(os.path.dirname(options.peer), "smalti"))
    axes = [axis for axis in options.axes.split(",") if axis]
    if unknown := set(axes) - {*AXES, "processes"}:
        sys.exit(f"no such axis: {', '.join(sorted(unknown))}")
    if options.write and not set(AXES) <= set(axes):
        sys.exit("--write needs all axes, or the others would be lost from the page")
    load = os.getloadavg()[0]
    # smalti has as many threads as it sees processors; libtiledb is to have no more.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    with tempfile.TemporaryDirectory(prefix="smalti-growth-") as scratch:
        os.makedirs(options.data or scratch, exist_ok=True)
        data = Data(options, os.path.abspath(options.data or scratch))
        if "processes" in axes:
            print(processes(options, data.folder))
        axes = [axis for axis in AXES if axis in axes]
        tables, wrong = [], []
        for axis in axes:
            started = time.monotonic()
            made = AXES[axis](options, data)
            # What is still to be written of new arrays would be written during the measurements.
            os.sync()
            for table in made:
                for line in table.lines:
                    wrong += measured(options, data, table, line)
                    keep(options, table, line)
            tables += made
            print(f"{axis}: {time.monotonic() - started:.0f} s with the making of its arrays", file=sys.stderr, flush=True)
    if tables:
        text = document(tables, options, load)
        print(text)
        if options.write:
            compare.put_section(options.write, SECTION, f"## {SECTION}\n\n{text}\n")
    if wrong:
        sys.exit("other sums than libtiledb: " + ", ".join(wrong))


def measured(options, data, table, line):
    """Measures a line, size by size. Names of the sizes at which the peers have different sums."""
    wrong = []
    line.runs = {name: [] for name in (*ENGINES, "limit")}
    for idx, point in enumerate(line.points):
        names = [name for name in ENGINES if expected(line, name, idx) <= options.longest]
        peers = {name: table.start(name, point) for name in names}
        queries = {name: {"path": data.output(name), **point.query} for name in names}
        runs = {name: [] for name in names}
        machine, alone = Worker([options.peer], {}), []
        for rep in range(options.reps + 1):
            for name in names if rep % 2 else names[::-1]:
                if name in peers and rep <= enough(options, runs[name]):
                    answer = prepared(peers[name], queries[name], options.limit)
                    runs[name] += [answer] if answer else []
                    if answer is None:
                        peers.pop(name).quit()
            if point.limit:
                works = [asked(machine, {"op": "run", "w": "limit", **work}, options.limit) for work in point.limit]
                alone += [{key: sum(work[key] for work in works) for key in ("t", "cpu")}] if all(works) else []
        machine.quit()
        line.runs["limit"].append(alone[1:] or None)
        for name in ENGINES:
            # The first run brings files into the page cache.
            line.runs[name].append(runs.get(name, [])[1:] or runs.get(name) or None if name in peers else None)
        sums = [line.runs[name][idx][0].get("chk") for name in peers]
        if point.check:
            # Each reads what the other wrote.
            others = {name: data.output(other) for name, other in zip(peers, list(peers)[::-1])}
            answers = [asked(peers[name], {"op": "run", "path": others[name], **point.check}, options.limit) for name in peers]
            sums = [answer and answer["chk"] for answer in answers]
        sums = [each for each in sums if each is not None]
        if any(abs(each - sums[0]) > 1e-6 * max(1, abs(sums[0])) for each in sums):
            wrong.append(f"{table.axis} {line.what} {point.label}")
        for peer in peers.values():
            peer.quit()
        times = {name: f"{1e3 * line.time(name, idx):,.1f}" if line.runs[name][idx] else "-" for name in line.runs}
        told = ", ".join(f"{name} {ms} ms" for name, ms in times.items() if ms != "-")
        print(f"{table.axis}: {line.what}, {point.label}: {told}", file=sys.stderr, flush=True)
    for name in ENGINES:
        shutil.rmtree(data.output(name), ignore_errors=True)
    return wrong


def enough(options, runs):
    """How many repetitions there are behind the first run: none where it took too long, so that it is what counts."""
    first = runs[0]["t"] if runs else 0
    return 0 if first > options.longest else min(options.reps, SLOW_REPS) if first > SLOW else options.reps


def keep(options, table, line):
    if options.out:
        with open(options.out, "a") as out:
            sizes = [[point.label, point.units] for point in line.points]
            out.write(json.dumps({"axis": table.axis, "what": line.what, "sizes": sizes, "runs": line.runs}) + "\n")


def expected(line, name, idx):
    """Seconds that a size will take, by the one before."""
    if idx == 0:
        return 0
    if not line.runs[name][idx - 1]:
        return math.inf
    before = line.time(name, idx - 1, "t")
    # What comes before the units does not grow with them.
    return before if idx - 1 == line.start else before * max(1, line.points[idx].units / line.points[idx - 1].units)


def prepared(peer, query, limit):
    """The answer of a run whose output was removed before; `None` where it takes too long."""
    return asked(peer, {"op": "prep", **query}, limit) and asked(peer, {"op": "run", **query}, limit)


def asked(peer, query, limit):
    """An answer; `None` where there is none in time, or, so that one line does not end all others, an error that is told."""
    answer = peer.ask(query, limit)
    if answer is None or "err" in answer:
        error = answer["err"] if answer else f"no answer in {limit:g} s"
        print(f"{query.get('w', query['op'])} {query['path']}: {error}", file=sys.stderr, flush=True)
        return None
    return {"done": True, **answer}


# ---- peers


class Worker:
    """A process that speaks the protocol of bench_peers.py."""

    def __init__(self, command, env):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **env})

    def ask(self, query, limit):
        self.process.stdin.write(json.dumps(query) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.process.kill()
            self.process.wait()
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"err": "the peer died"}

    def quit(self):
        if self.process.poll() is None:
            self.process.stdin.write('{"op":"quit","path":""}\n')
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Fresh:
    """A worker that is new for each run, so that the peak of its memory is that of the run."""

    def __init__(self, command, env):
        self.start = functools.partial(Worker, command, env)

    def ask(self, query, limit):
        one = self.start()
        answer = one.ask(query, limit)
        one.quit()
        return answer

    def quit(self):
        pass


class Program:
    """The program smalti in the place of a worker, its output thrown away."""

    # A process is born with the peak of the one that started it: this one is small.
    WATCH = """import json, os, sys, time
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(child, 0)
taken = time.perf_counter() - started
print(json.dumps({"t": taken, "cpu": used.ru_utime + used.ru_stime, "hwm_mb": used.ru_maxrss / 1024, "status": status}))
"""

    def __init__(self, options, settings):
        self.options, self.settings = options, settings

    def ask(self, query, limit):
        path, work = query["path"], query["w"]
        if query["op"] == "prep":
            if work == "S7":
                shutil.rmtree(path, ignore_errors=True)
                shutil.copytree(query["src"], path)
            elif work == "D1":
                creator = Worker([self.options.peer], {})
                asked(creator, query, limit)
                creator.quit()
            return {}
        reads = {"D": ["--layout", "row", "--select", "a", "--format", "npy"], "S": ["--layout", query.get("o"), "--format", "arrow"]}
        if work == "S7":
            steps = [["consolidate", path], ["vacuum", path]]
        elif work == "D1":
            steps = [["write", path, "--from", query["npy"]]]
        else:
            steps = [["read", path, *reads["D" if "shape" in query else "S"]]]
        done = []
        for step in steps:
            answer = self.watched([self.options.program, *step, *self.settings], limit)
            if answer is None or "err" in answer:
                return answer
            done.append(answer)
        sums = {key: sum(each[key] for each in done) for key in ("t", "cpu")}
        return {**sums, "hwm_mb": max(each["hwm_mb"] for each in done)}

    def watched(self, command, limit):
        watch = [sys.executable, "-I", "-S", "-c", self.WATCH, *command]
        process = subprocess.Popen(watch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, told = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            # The program with the one that watches it.
            os.killpg(process.pid, 9)
            process.communicate()
            return None
        answer = json.loads(out)
        return {"err": told.strip()} if answer["status"] else answer

    def quit(self):
        pass


def worker():
    """The worker of bench_peers.py for libtiledb, with ranges that Python adds at little cost, and reads in a budget of memory."""
    import bench_peers
    import numpy as np

    class Libtiledb(bench_peers.TileDBC):
        def p_S12(self, query):
            self.ranges = [np.array(ranges, np.int64).reshape(-1, 2) - [0, 1] for ranges in query["axes"]]

        p_D9 = p_S12

        def axes(self, request, query):
            context, subarray = self.c.p, request._s()
            add = self.c.L.tiledb_subarray_add_range
            add.argtypes = [self.m.P, self.m.P, self.m.C.c_uint32, self.m.P, self.m.P, self.m.P]
            failed = 0
            for dimension, ranges in enumerate(self.ranges):
                first = ranges.ctypes.data
                for at in range(first, first + ranges.nbytes, 16):
                    failed |= add(context, subarray, dimension, at, at + 8, None)
            self.c.ck(failed)

        def r_D9(self, query):
            m = self.m
            cells = self.nb(math.prod(int((ranges[:, 1] - ranges[:, 0] + 1).sum()) for ranges in self.ranges), query["dtype"])
            with m.Arr(self.c, query["path"]) as array:
                request = m.Q(array, m.READ, m.ROW)
                self.axes(request, query)
                assert request.buf("a", cells).submit() == 1, "incomplete"
                request.free()
            return cells

        def r_bounded(self, query):
            """Reads it all through buffers that take a quarter of the budget."""
            m, is_dense = self.m, "shape" in query
            columns = {"a": query["dtype"]} if is_dense else COLUMNS
            count = query["budget"] // 4 // sum(np.dtype(each).itemsize for each in columns.values())
            with m.Arr(self.c, query["path"]) as array:
                request = m.Q(array, m.READ, m.UNORD if query.get("o") == "unordered" else m.ROW)
                for dimension, length in enumerate(query.get("shape", [])):
                    request.rng(dimension, 0, length - 1)
                for name, dtype in columns.items():
                    request.buf(name, np.empty(count, dtype))
                total, status = 0, request.submit()
                while status == 3 and request.size("a"):
                    total += len(request.out("a"))
                    status = request.resubmit()
                assert status == 1, f"status {status} after {total} cells"
                total += len(request.out("a"))
                request.free()
            return total

    bench_peers.PEERS["libtiledb"] = Libtiledb
    bench_peers.worker("libtiledb")


# ---- data


class Data:
    """Inputs and arrays in a folder, made where they are missing."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def output(self, name):
        return os.path.join(self.folder, f"output-{name}")

    def made(self, name, make):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path + ".ok"):
            print(f"making {name}", file=sys.stderr, flush=True)
            shutil.rmtree(path, ignore_errors=True)
            make(path)
            open(path + ".ok", "w").close()
        return path

    def built(self, name, query):
        """An array that smalti makes."""

        def make(path):
            smalti = Worker([self.options.peer], {})
            if not asked(smalti, {"op": "build", "path": path, **query}, None):
                sys.exit(f"{name} cannot be made")
            smalti.quit()

        return {**query, "path": self.made(name, make)}

    def written(self, name, make):
        """An array that TileDB-Py makes, with the schema of bench_peers.py or another."""
        import bench_peers

        return {"path": self.made(name, lambda path: make(bench_peers, bench_peers.TileDBPy(), path))}

    def field(self, shape):
        """A smooth field with noise: of the same kind whatever its size, so that it compresses as well."""

        def make(path):
            import numpy as np

            noise = np.random.default_rng(7).standard_normal(shape, np.float32)
            noise *= 0.5
            for axis, length in enumerate(shape):
                wave = 280 + 10 * np.sin(np.arange(length, dtype=np.float32) / 85)
                noise += wave.astype(np.float32).reshape([-1 if each == axis else 1 for each in range(len(shape))])
            (np.round(noise * 64) / 64).astype(np.float32).tofile(path)

        return self.made(f"field-{named(shape)}.bin", make)

    def field_as_npy(self, shape):
        def make(path):
            import numpy as np

            np.save(path, np.fromfile(self.field(shape), np.float32).reshape(shape))

        return self.made(f"field-{named(shape)}.npy", make)

    def points(self, count):
        def make(path):
            import bench_peers

            os.makedirs(path)
            bench_peers.gen_sparse(path, count)

        return self.made(f"points-{count}", make)

    def points_read(self, count):
        import numpy as np

        with np.load(os.path.join(self.points(count), "pts.npz")) as columns:
            return {name: columns[name] for name in COLUMNS}

    def of_field(self, shape, tile, filters):
        return {"ds": "dense", "input": self.field(shape), "shape": list(shape), "tile": list(tile), "dtype": "float32", "v": filters}

    def dense(self, shape, tile, filters="zstd3"):
        return self.built(f"dense-{named(shape)}-{named(tile)}-{filters}", self.of_field(shape, tile, filters))

    def sparse(self, count):
        return {**self.built(f"sparse-{count}", {"ds": "pts", "v": "row", "ind": self.points(count)}), "n": count}

    def sparse_in_tiles(self, count, capacity):
        def make(peers, py, path):
            usual, peers.CAP = peers.CAP, capacity
            py.mksparse(path)
            peers.CAP = usual
            py.wr(path, self.points_read(count))

        return {**self.written(f"capacity-{count}-{capacity}", make), "n": count}

    def scattered(self, count, fragments, duplicates=False, capacity=100_000):
        """Points in fragments, each with cells from everywhere."""

        def make(peers, py, path):
            points = self.points_read(count)
            usual, peers.CAP = peers.CAP, capacity
            py.mksparse(path, dups=duplicates)
            peers.CAP = usual
            for idx in range(fragments):
                py.wr(path, {name: cells[idx::fragments].copy() for name, cells in points.items()}, ts=peers.TS0 + idx)

        return {**self.written(f"scattered-{count}-{fragments}-{capacity}{'-duplicates' * duplicates}", make), "n": count}

    def chunks(self, name, columns, pieces, threads=None):
        """The limit of reading and unfiltering chunks: `pieces` makes them, each a column's name and its values."""
        return self.limit(name, columns, lambda peers: peers.in_steps(columns, [list(pieces(peers))]), threads)

    def limit(self, name, columns, make, threads=None):
        import bench_peers
        import numpy as np

        path = self.made(f"limit-{name}.npz", lambda path: np.savez(path, **make(bench_peers)))
        return {
            "limit": "boxes",
            "input": path,
            "path": path.removesuffix(".npz") + ".bin",
            "columns": columns,
            "v": "zstd3",
            "threads": threads or self.options.threads,
        }

    def chunks_of_dense(self, shape, tile, threads=None):
        """Of a field, whose tiles fill its shape."""
        import numpy as np

        def pieces(peers):
            sides = [side for length, extent in zip(shape, tile) for side in (length // extent, extent)]
            cells = np.fromfile(self.field(shape), np.float32).reshape(sides)
            inside = list(range(1, len(sides), 2))
            for values in np.ascontiguousarray(cells.transpose([axis - 1 for axis in inside] + inside)).reshape(-1, math.prod(tile)):
                yield from chunks_of("v", values)

        return self.chunks(f"dense-{named(shape)}-{named(tile)}", {"v": "float32"}, pieces, threads)

    def chunks_of_points(self, count, fragments=1, capacity=100_000, threads=None):
        """Of points in fragments with cells from everywhere."""

        def pieces(peers):
            points = self.points_read(count)
            for idx in range(fragments):
                cells = peers.tile_sorted({name: column[idx::fragments] for name, column in points.items()})
                for start in range(0, len(cells["x"]), capacity):
                    for name, column in cells.items():
                        yield from chunks_of(name, column[start : start + capacity])

        return self.chunks(f"points-{count}-{fragments}-{capacity}", COLUMNS, pieces, threads)

    def chunks_met(self, count, capacity, boxes):
        """Of points in one fragment, those that boxes meet, box after box."""

        def make(peers):
            usual, peers.CAP = peers.CAP, capacity
            met = peers.met_sparse(peers.tile_sorted(self.points_read(count)), boxes)
            peers.CAP = usual
            return met

        return self.limit(f"met-{count}-{capacity}-{len(boxes)}", COLUMNS, make)

    def files(self, count):
        """The limit of opening as many small files and reading them."""
        return {"limit": "opens", "path": os.path.join(self.folder, "small"), "n": count, "threads": self.options.threads}

    def strips(self, count):
        """Points whose tiles all reach across x, so that ranges of x meet every tile, however few they are."""

        def make(peers, py, path):
            import numpy as np

            t, random = py.t, np.random.default_rng(19)
            filters = t.FilterList([t.ZstdFilter(3)])
            sides = [t.Dim(name, domain=(0, length - 1), tile=extent, dtype=np.int64, filters=filters) for name, length, extent in (("x", WIDE, WIDE), ("y", 100, 1))]
            attributes = [t.Attr(name, dtype=np.dtype(COLUMNS[name]), filters=filters) for name in "ab"]
            t.Array.create(path, t.ArraySchema(t.Domain(*sides), attributes, sparse=True, capacity=count // 50))
            keys = np.unique(random.integers(0, WIDE * 100, count))
            random.shuffle(keys)
            values = {"a": np.round(random.normal(20, 5, len(keys)), 2), "b": random.integers(0, 1_000_000, len(keys)).astype(np.int32)}
            with t.open(path, "w") as array:
                array[keys // 100, keys % 100] = values

        return {**self.written(f"strips-{count}", make), "n": count}


def named(lengths):
    return "x".join(str(length) for length in lengths)


def short(count):
    return f"{count:,}" if count % 10**6 else f"{count // 10**6} M"


# ---- axes: the tables of each


def chunks_of(name, values):
    """Pieces of a column's values that are filtered alone, with its name."""
    cells = CHUNK_BYTE_LEN // values.itemsize
    return [(name, values[start : start + cells]) for start in range(0, len(values), cells)]


def filters_them(work):
    """The limit of filtering the chunks of one that unfilters them."""
    return {**work, "limit": "encode"}


def started(options, name, env=None):
    """A worker that has the threads of the run."""
    threads = str(options.threads)
    if name == "smalti":
        return Worker([options.peer], env or {})
    return Worker(LIBTILEDB, {**of_threads(threads), **(env or {})})


LIBTILEDB = [sys.executable, os.path.abspath(__file__), "--worker"]


def of_threads(threads):
    return {"BENCH_THREADS": str(threads), "TDB_CFG": f"sm.compute_concurrency_level={threads},sm.io_concurrency_level={threads}"}


def workers(options):
    return lambda name, point: started(options, name)


def cells(options, data):
    # Tiles of 32^3, so that there are some for each thread at each size; the first size has one.
    cubes = [(32, 32, 32), (64, 64, 64), (128, 128, 64), (256, 128, 128), (320, 256, 256)]
    counts = [1000, 250_000, 1_000_000, 4_000_000, 20_000_000]
    if options.quick:
        cubes, counts = [(32, 32, 32), (64, 64, 32), (64, 64, 64)], [1000, 20_000, 50_000]
    labels = ["start-up", *map(short, counts[1:])]
    tile = (32, 32, 32)
    lines = []
    for filters, what in (("none", "no filter"), ("zstd3", "zstd")):
        points = [Point(label, math.prod(cube), {"w": "D2", **data.dense(cube, tile, filters)}) for label, cube in zip(labels, cubes)]
        if filters != "none":
            for point, cube in zip(points, cubes):
                point.limit = [data.chunks_of_dense(cube, tile)]
        lines.append(Line(f"dense, {what}: read all", "cell", points, 0))
    for filters, what in (("none", "no filter"), ("zstd3", "zstd")):
        queries = [data.of_field(cube, tile, filters) for cube in cubes]
        points = [
            Point(label, math.prod(cube), {"w": "D1", **query}, {"w": "D2", **query}) for label, cube, query in zip(labels, cubes, queries)
        ]
        if filters != "none":
            for point, cube in zip(points, cubes):
                point.limit = [filters_them(data.chunks_of_dense(cube, tile))]
        lines.append(Line(f"dense, {what}: write", "cell", points, 0))
    for order, what in (("unordered", "unordered"), ("row", "row-major")):
        points = [
            Point(label, count, {"w": "S2", "o": order, **data.sparse(count)}, limit=[data.chunks_of_points(count)])
            for label, count in zip(labels, counts)
        ]
        lines.append(Line(f"sparse: read all, {what}", "cell", points, 0))
    queries = [{"v": "row", "ind": data.points(count), "n": count} for count in counts]
    points = [
        Point(label, count, {"w": "S1", **query}, {"w": "S2", "o": "unordered", **query}, [filters_them(data.chunks_of_points(count))])
        for label, count, query in zip(labels, counts, queries)
    ]
    lines.append(Line("sparse: write unordered cells", "cell", points, 0))
    return [Table("cells", "cells", lines, workers(options))]


def fragments(options, data):
    counts = [1, 3, 10] if options.quick else [1, 10, 100, 1000, 10_000, 20_000]
    arrays = [data.built(f"nfr-{count}", {"ds": "nfr", "v": "plain", "n": count}) for count in counts]
    lines = []
    for work, what in (("S8a", "open"), ("S8q", "open and read a box")):
        # Room for the cells of the box in libtiledb's buffers.
        more = {"w": work, "boxes": FRAGMENT_BOX, "n": 100_000}
        points = [Point(short(count), count, {**array, **more}) for count, array in zip(counts, arrays)]
        lines.append(Line(what, "fragment", points, 0))
    count, parts = (20_000, [1, 4]) if options.quick else (1_000_000, [1, 10, 100, 300])
    all_of = []
    for duplicates, order, what in (
        (True, "unordered", "unordered, duplicates allowed"),
        (False, "unordered", "unordered, no duplicates"),
        (False, "row", "row-major, no duplicates"),
    ):
        points = [
            Point(
                short(part),
                count,
                {"w": "S2", "o": order, **data.scattered(count, part, duplicates)},
                limit=[data.chunks_of_points(count, part), data.files(FRAGMENT_FILES * part)],
            )
            for part in parts
        ]
        all_of.append(Line(f"read all, {what}", "cell", points))
    return [
        Table("fragments", "fragments of a hundred cells", lines, workers(options)),
        Table("fragments", f"fragments of {short(count)} cells together", all_of, workers(options)),
    ]


def ranges(options, data):
    counts = [1, 10, 100, 1000] if options.quick else [10**power for power in range(7)]
    count, wide = (50_000, 10**5) if options.quick else (1_000_000, 10**7)
    sparse, dense = data.strips(count), data.dense((wide,), (wide // 100,))

    def points(length, query):
        # A tenth of the dimension in as many pieces.
        steps = [(number, length // number) for number in counts]
        return [Point(short(number), number, {**query, "axes": query["axes"](number, step)}) for number, step in steps]

    def evenly(number, step):
        return [[at * step, at * step + step // 10] for at in range(number)]

    lines = [
        Line("of a sparse array", "range", points(WIDE, {"w": "S12", **sparse, "axes": lambda *each: [evenly(*each), []]}), 0),
        # From a thousand on all tiles, and all chunks of them, are met.
        Line("of a dense array", "range", points(wide, {"w": "D9", **dense, "axes": lambda *each: [evenly(*each)]}), 1 if options.quick else 3),
    ]
    return [Table("ranges", "ranges on a dimension, a tenth of the cells in all", lines, workers(options))]


def threads(options, data):
    counts = [1, 2] if options.quick else [1, 2, 4]
    shape, count, parts = ((64, 64, 64), 20_000, 4) if options.quick else ((256, 256, 256), 1_000_000, 50)
    tile = (32, 32, 32)
    dense, sparse, scattered = data.dense(shape, tile), data.sparse(count), data.scattered(count, parts)

    def line(what, query, limit=lambda number: []):
        points = [Point(str(number), 1, {**query, "threads": number}, limit=limit(number)) for number in counts]
        return Line(what, "run", points, measure="cpu")

    def start(name, point):
        number = point.query["threads"]
        if name == "smalti":
            return Program(options, ["--threads", str(number)])
        return Worker(LIBTILEDB, of_threads(number))

    written = data.of_field(shape, tile, "zstd3")
    lines = [
        line("dense, zstd: read all", {"w": "D2", **dense}, lambda number: [data.chunks_of_dense(shape, tile, number)]),
        line(
            "dense, zstd: write",
            {"w": "D1", **written, "npy": data.field_as_npy(shape)},
            lambda number: [filters_them(data.chunks_of_dense(shape, tile, number))],
        ),
        line(
            "sparse: read all, row-major",
            {"w": "S2", "o": "row", **sparse},
            lambda number: [data.chunks_of_points(count, threads=number)],
        ),
        line(
            f"consolidate {parts} fragments and vacuum",
            {"w": "S7", "src": scattered["path"]},
            lambda number: [data.chunks_of_points(count, parts, threads=number), filters_them(data.chunks_of_points(count, threads=number))],
        ),
    ]
    return [Table("threads", f"threads on {options.threads} processors", lines, start)]


def tiles(options, data):
    import numpy as np

    random = np.random.default_rng(5)
    side, sides, box = (64, [16, 32], 24) if options.quick else (256, [16, 32, 64, 128], 48)
    cube = (side,) * 3
    boxes = [[[at, at + box] for at in random.integers(0, side - box, 3).tolist()] for _ in range(20)]

    labels = [f"{tile}^3" for tile in sides]
    arrays = [data.dense(cube, (tile,) * 3) for tile in sides]
    queries = [data.of_field(cube, (tile,) * 3, "zstd3") for tile in sides]
    chunks = [data.chunks_of_dense(cube, (tile,) * 3) for tile in sides]
    met = [data.limit(f"met-{side}-{tile}-{box}", {"v": "float32"}, lambda peers: peers.met_dense({**query, "boxes": boxes})) for tile, query in zip(sides, queries)]
    dense = [
        Line("read all", "cell", [Point(label, side**3, {"w": "D2", **array}, limit=[all_of]) for label, array, all_of in zip(labels, arrays, chunks)]),
        Line(
            "write",
            "cell",
            [Point(label, side**3, {"w": "D1", **query}, {"w": "D2", **query}, [filters_them(all_of)]) for label, query, all_of in zip(labels, queries, chunks)],
        ),
        Line(
            f"20 boxes of {box}^3",
            "box",
            [Point(label, len(boxes), {"w": "D3", "boxes": boxes, **array}, limit=[some]) for label, array, some in zip(labels, arrays, met)],
        ),
    ]
    count, capacities = (50_000, [1000, 10_000]) if options.quick else (4_000_000, [1000, 10_000, 100_000, 1_000_000])
    arrays = [data.sparse_in_tiles(count, capacity) for capacity in capacities]
    points = data.points_read(count)
    half = int(500_000 * math.sqrt(1000 / count))
    centres = [(int(points["x"][at]), int(points["y"][at])) for at in random.integers(0, count, 60)]
    boxes = [[[max(0, at - half), min(1_000_000, at + half)] for at in centre] for centre in centres]
    labels = [short(capacity) for capacity in capacities]
    sparse = [
        Line(
            f"read all, {what}",
            "cell",
            [
                Point(label, count, {"w": "S2", "o": order, **array}, limit=[data.chunks_of_points(count, capacity=capacity)])
                for label, capacity, array in zip(labels, capacities, arrays)
            ],
        )
        for order, what in (("unordered", "unordered"), ("row", "row-major"))
    ]
    found = [
        Point(
            label,
            capacity * tiles_met(array["path"], boxes),
            {**array, "w": "S3", "boxes": boxes, "n": 200_000},
            limit=[data.chunks_met(count, capacity, boxes)],
        )
        for label, capacity, array in zip(labels, capacities, arrays)
    ]
    sparse.append(Line("60 boxes of about 1,000 cells", "cell of the tiles met", found))
    for line in dense + sparse:
        line.is_spread = True
    return [
        Table("tiles", f"tiles of a dense array of {side}^3, zstd", dense, workers(options)),
        Table("tiles", f"cells in a tile of a sparse array of {short(count)} cells", sparse, workers(options)),
    ]


def tiles_met(path, boxes):
    import numpy as np
    import tiledb

    rectangles = np.array(tiledb.FragmentInfoList(path, include_mbrs=True).mbrs[0])
    return sum(
        int(np.all([(rectangles[:, axis, 0] < end) & (rectangles[:, axis, 1] >= start) for axis, (start, end) in enumerate(box)], axis=0).sum())
        for box in boxes
    )


def memory(options, data):
    limit = (16 if options.quick else 64) * MIB
    times = [0.25, 1] if options.quick else [0.25, 1, 4]
    cubes = {0.25: (256, 128, 128), 1: (256, 256, 256), 4: (256, 512, 512)}
    if options.quick:
        cubes = {0.25: (64, 128, 128), 1: (256, 128, 128)}
    counts = [int(limit / CELL_BYTE_LEN * part) // 1000 * 1000 for part in times]
    labels = ["start-up", *(f"{part:g} times" for part in times)]
    cubes, counts = [(64, 64, 64), *cubes.values()], [1000, *counts]

    def start(name, point):
        if name == "smalti":
            return Program(options, ["--threads", str(options.threads), "--memory", str(limit)])
        env = of_threads(options.threads)
        env["TDB_CFG"] += f",sm.mem.total_budget={limit},sm.memory_budget={limit},sm.memory_budget_var={limit}"
        return Fresh(LIBTILEDB, env)

    def line(what, units, queries, work="bounded"):
        points = [Point(label, count, {**query, "w": work, "budget": limit}) for label, count, query in zip(labels, units, queries)]
        return Line(what, "cell", points, 0)

    sparse = [data.sparse_in_tiles(count, 10_000) for count in counts]
    scattered = [data.scattered(count, 10, capacity=10_000) for count in counts]
    lines = [
        line("dense, zstd: read all, row-major", [math.prod(cube) for cube in cubes], [data.dense(cube, (64, 64, 64)) for cube in cubes]),
        line("sparse: read all, unordered", counts, [{**array, "o": "unordered"} for array in sparse]),
        line("sparse: read all, row-major", counts, [{**array, "o": "row"} for array in sparse]),
        line("consolidate 10 fragments and vacuum", counts, [{"src": array["path"]} for array in scattered], "S7"),
    ]
    return [Table("memory", f"bytes of the cells over a limit of {limit // MIB} MiB", lines, start)]


AXES = {"cells": cells, "fragments": fragments, "ranges": ranges, "threads": threads, "tiles": tiles, "memory": memory}
TITLES = {
    "cells": "Cells",
    "fragments": "Fragments",
    "ranges": "Ranges",
    "threads": "Threads",
    "tiles": "Sizes of tiles",
    "memory": "Array size against memory",
}
NOTES = {
    "cells": "Dense arrays are cubes of float32 in tiles of 32^3, sparse ones points of two int64 dimensions and two attributes in tiles of 100,000. Start-up is one tile, or a thousand cells. "
    "Dense arrays have 5 % more cells than the heads say. Writes are durable: the files are synced.",
    "fragments": "The time for the first fragment is taken off the others of the first table.",
    "ranges": "The tiles of the sparse array all reach across its dimension, so that as many cells are decoded for one range as for a million: the time for one is taken off the others. "
    "Of the dense array a thousand ranges are the first to meet all tiles and all chunks in them; their time is taken off.",
    "threads": "Processor milliseconds, those of the clock in brackets. More threads are to take no more of the processor. smalti is the program, `smalti read`, `write` and `consolidate`, from its start to its end.",
    "tiles": "The ratio is that of the worst size over the best. Boxes of the dense array meet more cells in larger tiles; those of the sparse one, whose tiles have to be decoded whole, are divided "
    "by the cells of all tiles that they meet; the machine alone unfilters each of their chunks once, as if there were memory for all of them.",
    "memory": "Cells have 4 bytes in dense arrays, 28 in sparse ones; tiles are 64^3 and 10,000. Start-up is one tile, or a thousand cells. smalti is the program, `smalti read` and `consolidate` with `--memory`, a process for each run and its output thrown away; libtiledb has the limit as its budgets, and reads through buffers of a quarter of "
    "it. Peaks of memory are of the whole process of smalti, and for libtiledb above what Python and the library took before.",
}


# ---- text


def document(tables, options, load):
    how = f"""
smalti beside libtiledb, in one run, turn by turn, {options.threads} threads each where nothing else is said, medians of {options.reps} repetitions, of
{min(options.reps, SLOW_REPS)} where one takes more than {SLOW} s, files in the page cache, both on the same arrays. In brackets is the time of a unit: of a cell, a
fragment, a range. What comes before any unit, the time in the first column or as said there, is taken off; where that is more than two thirds of the time, no unit is
counted. "The machine alone" is what it takes between these turns, without an engine and on as many threads, for what the line above cannot do without: its chunks read out of the page
cache and unfiltered, those that are met where boxes are read, or filtered; where there are many fragments their files opened and read too. "Largest over smallest" is the time of a unit at the largest size over that at the smallest that counts; flat is no more than {FLAT:g}. "Faster" is the
time of libtiledb over that of smalti, at the first size and at the last. Sizes at which a repetition would take more than {options.longest:g} s are left out."""
    machine = f"""Measured on {compare.machine()}, smalti built with `cargo build --release`. When it began, the load of the machine by others was {load:.1f}."""
    parts = [wrapped(how), wrapped(machine)]
    for axis in dict.fromkeys(table.axis for table in tables):
        parts += [f"### {TITLES[axis]}", wrapped(NOTES[axis])]
        parts += [lines_of(table) for table in tables if table.axis == axis]
    parts.append(not_flat(tables))
    parts.append("To measure again: `python bench/growth.py --peer target/release/smalti-bench --write docs/growth.md`.")
    return "\n\n".join(parts)


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 150, break_long_words=False, break_on_hyphens=False)


def lines_of(table):
    labels = [point.label for point in table.lines[0].points]
    ratio = "worst over best" if table.lines[0].is_spread else "largest over smallest"
    heads = [table.sizes, "in", *labels, ratio, "libtiledb's", "faster, first", "last"]
    if table.axis == "memory":
        heads.append("peak MiB, largest")
        heads.append("libtiledb's")
    text = ["| " + " | ".join(heads) + " |", "|---|---|" + "--:|" * (len(heads) - 2)]
    for line in table.lines:
        sizes = range(len(labels))
        first = 1 if line.points[0].label == "start-up" else 0
        row = [line.what, scale(line)[1], *(told(line, idx) for idx in sizes)]
        row += [ratio_of(line, "smalti"), ratio_of(line, "libtiledb"), line.faster(first), line.faster(sizes[-1])]
        if table.axis == "memory":
            row += [peak(line, "smalti"), peak(line, "libtiledb")]
        text.append("| " + " | ".join(row) + " |")
        if any(line.runs["limit"]):
            row = ["*the machine alone*", "", *(told(line, idx, "limit") for idx in sizes), ratio_of(line, "limit")]
            text.append("| " + " | ".join(row + [""] * (len(heads) - len(row))) + " |")
    return "\n".join(text)


def scale(line):
    """What a second is multiplied with for the time of a unit, and what the unit is called."""
    if line.measure == "cpu":
        return 1e3, "processor ms (ms)"
    if line.unit.startswith("cell"):
        return 1e9, f"ms (ns a {line.unit})"
    return 1e6, f"ms (µs a {line.unit})"


def told(line, idx, name="smalti"):
    time, wall = line.time(name, idx), line.time(name, idx, "t")
    if time is None:
        return "-"
    if line.measure == "cpu":
        return f"{digits(1e3 * time)} ({digits(1e3 * wall)})"
    of_unit = line.of_unit(name, idx)
    return digits(1e3 * time) + (f" ({digits(scale(line)[0] * of_unit)})" if of_unit else "")


def digits(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def ratio_of(line, name):
    grown = line.growth(name)
    if not grown:
        return "-"
    if line.is_spread:
        return f"{grown.at(grown.worst):.2f}"
    usual = next(idx for idx in range(len(line.points)) if idx != line.start)
    from_where = f" from {line.points[grown.least].label}" if grown.least > usual else ""
    to_where = f" to {line.points[grown.largest].label}" if grown.largest < len(line.points) - 1 else ""
    return f"{grown.at(grown.largest):.2f}{from_where}{to_where}"


def peak(line, name):
    runs = line.runs[name][-1]
    if not runs:
        return "-"
    return f"{max(run['hwm_mb'] - run.get('base_mb', 0) for run in runs):,.0f}"


def not_flat(tables):
    """The lines that are not, by the worst of their sizes."""
    named = []
    for table in tables:
        for line in table.lines:
            grown = line.growth("smalti")
            if grown and grown.at(grown.worst) > FLAT:
                theirs = line.growth("libtiledb")
                beside = f"; libtiledb's {theirs.at(theirs.worst):.2f}" if theirs else ""
                alone = line.growth("limit")
                if alone and {grown.worst, grown.least} <= set(alone.times):
                    beside += f"; the machine alone {alone.times[grown.worst] / alone.times[grown.least]:.2f}"
                worst, least = (line.points[idx].label for idx in (grown.worst, grown.least))
                ratio = grown.at(grown.worst)
                named.append((ratio, f"- {line.what} ({table.sizes}): {ratio:.2f} at {worst} over {least}{beside}"))
    if not named:
        return f"All lines are flat within {FLAT:g}."
    return f"Not flat within {FLAT:g}:\n\n" + "\n".join(text for _, text in sorted(named, reverse=True))


# ---- opening in new processes


def processes(options, folder):
    """Tables of opening, and opening and reading a small box, each in a process of its own, with the peak of its memory."""
    peers = {"before": options.before and [os.path.abspath(options.before)], "smalti": [options.peer], "libtiledb": LIBTILEDB}
    peers = {name: command for name, command in peers.items() if command}
    quick = options.quick
    counts = {"nfr": "10" if quick else options.fragments, "tiles": "100" if quick else options.tiles}
    tables = []
    for kind, what in (("nfr", "fragments"), ("tiles", "tiles in one fragment")):
        heads = [f"{name} ms | {name} MiB" for name in peers]
        text = [f"| {what} | | " + " | ".join(heads) + " |", "|--:|---|" + "--:|--:|" * len(peers)]
        for count in [int(count) for count in counts[kind].split(",") if count]:
            # Cells of the array of many tiles lie on a line in x, two to a tile; the box is in the middle.
            boxes = FRAGMENT_BOX if kind == "nfr" else [[[count, count + 10], [0, 1_000_000]]]
            array = Data(options, folder).built(f"{kind}-{count}", {"ds": kind, "v": "plain", "n": count})
            for work, step in (("S8a", "open"), ("S8q", "open and read")):
                # Buffers of the C interface for as many cells as the box may have.
                query = {"op": "run", "w": work, **array, "boxes": boxes, "n": 10_000 if kind == "nfr" and count < 10_000 else 1_000_000}
                row = [f"{count:,}", step]
                for name, command in peers.items():
                    fresh = Fresh(command, of_threads(options.threads))
                    # The first run brings the files into the page cache.
                    runs = [asked(fresh, query, options.limit) for _ in range(options.reps + 1)][1:]
                    row.append(f"{1e3 * statistics.median(run['t'] for run in runs):,.1f} | {max(run['hwm_mb'] for run in runs):,.0f}" if all(runs) else "- | -")
                    print(f"{kind} {count} {step} {name}: {row[-1]}", file=sys.stderr, flush=True)
                text.append("| " + " | ".join(row) + " |")
        tables.append("\n".join(text))
    return "\n\n".join(tables) + "\n"


if __name__ == "__main__":
    main()

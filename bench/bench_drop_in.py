"""TileDB-Py on libtiledb and on our library in its place: the section "Drop-in library" of docs/benchmarks.md.

    python bench_drop_in.py --program SMALTI --library FILE [--only grid,table-write] [--reps 7] [--scale 0.5] [--data FOLDER] [--write docs/benchmarks.md]

It runs where bench_python.py does, and has the lines of it that TileDB-Py takes part in. Each side is a process of its own, which takes turns with the others: two on
libtiledb, whose difference tells how much a ratio means on this machine, and one on ours, started while `smalti drop-in` has it in the environment.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

THEIRS, CONTROL, OURS = "libtiledb", "libtiledb again", "smalti"


def cases():
    """The lines that TileDB-Py takes part in, one for each variant."""
    import bench_python as bench

    side = bench.TileDBPy
    return [(case, variant) for case in bench.CASES if all(hasattr(side, name) for name in (f"make_{case.kind}", f"read_{case.read}")) for variant in case.variants]


class Worker:
    """A process on one of the libraries."""

    def __init__(self, name, scratch, data, scale):
        command = [sys.executable, __file__, "--worker", name, "--scratch", scratch, "--data", data, "--scale", str(scale)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.name, self.library = name, self.told()

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the process on {self.name} ended")
        return json.loads(line)

    def ask(self, *question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return self.told()


def work(options):
    """What a worker does: makes what a line reads and tells its sums, then runs the line as often as it is asked to."""
    import bench_python as bench

    told, sys.stdout = sys.stdout, sys.stderr
    data = bench.Data(options.data, options.scale)
    side = bench.TileDBPy(data, options.worker)
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "libtiledb" in line and "cpython" not in line and ".so" in line}
    print(json.dumps(sorted(loaded)), file=told, flush=True)
    all_cases = cases()
    for line in sys.stdin:
        at, is_first = json.loads(line)
        case, variant = all_cases[at]
        name = "written" if case.writes else None
        # What the line before wrote is something else.
        left = os.path.join(options.scratch, options.worker.replace(" ", "-"), name or "nothing")
        if is_first and os.path.exists(left):
            bench.remove(left)
        path = bench.made(side, case.kind, variant, options.scratch, name)
        make, read = getattr(side, f"make_{case.kind}"), getattr(side, f"read_{case.read}")
        if is_first:
            print(json.dumps(bench.sums_of(read(path, *case.arguments))), file=told, flush=True)
            continue
        # Nothing is kept from turn to turn by either library.
        side.__init__(data, options.worker)
        if case.writes:
            bench.remove(path)
        gc.collect()
        begun, worked = time.perf_counter(), time.process_time()
        result = make(path, variant) if case.writes else read(path, *case.arguments)
        spent = (time.perf_counter() - begun, time.process_time() - worked)
        del result
        print(json.dumps(spent), file=told, flush=True)


def measure(options):
    import numpy as np

    wanted = tuple(filter(None, options.only.split(","))) or ("",)
    environment = os.path.dirname(os.path.dirname(sys.executable))
    swap = [options.program, "drop-in", environment]
    rows = []
    with tempfile.TemporaryDirectory(prefix="smalti-bench-") as scratch:
        place = (scratch, options.data or scratch, options.scale)
        workers = [Worker(THEIRS, *place), Worker(CONTROL, *place)]
        subprocess.run([*swap, "--library", options.library], check=True)
        try:
            workers.append(Worker(OURS, *place))
        finally:
            subprocess.run([*swap, "--undo"], check=True)
        if workers[0].library == workers[2].library:
            sys.exit("both sides have the same library")
        for at, (case, variant) in enumerate(cases()):
            if not case.name.startswith(wanted):
                continue
            sums = [worker.ask(at, True) for worker in workers]
            same = all(len(other) == len(sums[0]) and np.allclose(other, sums[0], rtol=1e-6) for other in sums)
            times = {worker.name: [] for worker in workers}
            for rep in range(options.reps):
                for turn in range(len(workers)):
                    worker = workers[(rep + turn) % len(workers)]
                    times[worker.name].append(worker.ask(at, False))
            rows.append({"name": case.name, "what": case.what, "variant": variant, "same": same, "times": times})
            print(line(rows[-1]), flush=True)
    return rows


def ratio(row, one, other, measure=statistics.median, which=0):
    """How many times longer one takes than the other."""
    spent = [measure([turn[which] for turn in row["times"][side]]) for side in (one, other)]
    return spent[0] / max(spent[1], 1e-9)


def line(row):
    told = [f"{1e3 * statistics.median(turn[0] for turn in row['times'][side]):.1f}" for side in (THEIRS, OURS)]
    ratios = [ratio(row, THEIRS, OURS), ratio(row, THEIRS, OURS, min), ratio(row, THEIRS, OURS, which=1), ratio(row, THEIRS, CONTROL)]
    wrong = "" if row["same"] else " (other cells)"
    return f"| {row['name']} {row['what']}: {row['variant']}{wrong} | {' | '.join(told)} | {' | '.join(f'{one:.2f}' for one in ratios)} |"


def document(rows, options):
    import tiledb
    from compare import machine

    rows = sorted(rows, key=lambda row: ratio(row, THEIRS, OURS))
    slower = "; ".join(f"{row['name']}: {row['variant']}" for row in rows if ratio(row, THEIRS, OURS) < 1) or "none"
    columns = ["workload", "libtiledb ms", "smalti ms", "faster by", "by minimum", "by processor time", CONTROL]
    lines = "\n".join([f"| {' | '.join(columns)} |", "|---|" + "--:|" * (len(columns) - 1), *map(line, rows)])
    return f"""## Drop-in library

TileDB-Py {tiledb.__version__}, unmodified, on libtiledb 2.30.0 and on our library in its place, processes that take turns, 2 threads each, medians of {options.reps} repetitions, files
in the page cache, a new context in each turn. What is measured is all that the program waits for, NumPy and pandas included. "{CONTROL}" is a second process on libtiledb: the noise of this
machine. The lines where our library gains least come first. It was slower on: {slower}.

Measured on {machine()}, data of scale {options.scale:g}, as above.

{lines}

To measure again: `python bench/bench_drop_in.py --program target/release/smalti --library target/release/libtiledb.so --write docs/benchmarks.md`.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="the program smalti, which puts the library in its place")
    parser.add_argument("--library", help="our libtiledb")
    parser.add_argument("--only", default="", help="lines, by their names or how these begin, with commas")
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--scale", type=float, default=0.5, help="size of the data, as for bench_python.py")
    parser.add_argument("--data", help="folder that keeps the data sets for the next run")
    parser.add_argument("--write", help="page of documentation whose section to write")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    rows = measure(options)
    if options.write:
        from compare import put_section

        put_section(options.write, "Drop-in library", document(rows, options))
    wrong = [row["name"] for row in rows if not row["same"]]
    if wrong:
        sys.exit("not all sides read the same: " + ", ".join(wrong))


if __name__ == "__main__":
    main()

"""smalti beside libtiledb in one run: the table of ratios in docs/benchmarks.md.

    python compare.py --peer PATH/smalti-bench [--only D1,S1] [--reps 5] [--scale 0.5] [--write docs/benchmarks.md]
        [--others all] [--before NAME=OLD/smalti-bench]

`bench_peers.py` drives both through one protocol, turn by turn, and compares checksums of what they read. libtiledb is
entered twice: how far its second entry is from its first tells how much a ratio means on this machine. Other engines and
an earlier smalti take their turns in the same run where they are asked for.
"""

import argparse
import collections
import json
import os
import platform
import re
import subprocess
import sys
import statistics
import tempfile
import time

import imports
import real

HERE = os.path.dirname(os.path.abspath(__file__))
HARNESS = os.path.join(HERE, "bench_peers.py")
WHAT = {
    "D1": "write 3-D float32, tiles of 64^3",
    "D2": "read it all",
    "D3": "random boxes",
    "D4": "two planes",
    "D5": "read a plane under 20 overlapping writes",
    "D6": "8 columns of a wide array",
    "D7": "column-major result",
    "D8": "sum, minimum, maximum and mean of a box and of it all",
    "D9": "many ranges on every axis",
    "S1": "write unordered cells, two int64 dimensions, two attributes",
    "S2": "read them all",
    "S2b": "read them all in bounded batches",
    "S3": "random boxes",
    "S4": "genome, ranges of strings and positions",
    "S5": "condition on an attribute",
    "S6": "read 50 fragments",
    "S6g": "read 50 fragments in global order",
    "S6q": "boxes over 50 fragments",
    "S7": "consolidate 50 fragments and vacuum",
    "S8a": "open an array of many fragments",
    "S8q": "open it and read a box",
    "S9d": "delete by a condition",
    "S9r": "read after the delete",
    "S10w": "write a dense line",
    "S10r": "read a dense line",
    "S11w": "write in Hilbert order",
    "S11q": "random boxes, Hilbert order",
    "S11r": "read all in another order, Hilbert order",
    "S12": "many ranges on a dimension",
    "T": "tiny things, time of all rounds",
    "R1w": "write uint8",
    "R1r": "read it all",
    "R1p": "read it",
    "R1m": "read it",
    "R2w": "write genes of cells",
    "R2r": "read them all",
    "R2c": "read them",
    "R2g": "read them",
}
DEFAULT_WORKLOADS = ",".join(WHAT)
# The engines that are no TileDB, by their names in bench_peers.py.
OTHERS = "zarr-py,zarr-py+zarrs,icechunk,hdf5,pyarrow-pq,polars-pq,duckdb,datafusion,lance"
# The parts of a variant's name, which slashes divide.
VARIANTS = {
    "none": "no filter",
    "zstd3": "zstd",
    "bslz4": "byteshuffle, lz4",
    "bwz": "bit-width reduction, zstd",
    "dd": "double delta",
    "32c": "boxes of 32^3",
    "4c": "boxes of 4^3",
    "ax0": "of the first axis",
    "ax1": "of the second axis",
    "ax2": "of the third axis",
    "20w": "20 writes",
    "2nd": "every second position",
    "1000rng": "1,000 ranges, a tenth of the cells",
    "row": "row-major",
    "hilbert": "zstd",
    "60box": "60 boxes",
    "20box": "20 boxes",
    "bounded100k": "100,000 cells each",
    "region": "100 regions",
    "region+20samples": "100 regions of 20 samples",
    "0.1%": "keeps 0.1 %",
    "10%": "10 % of the cells",
    "dups": "duplicates allowed",
    "nodups": "a tenth overwritten",
    "50rows": "rows of tiles of their own",
    "50frag": "40,000 cells each at scale 1",
    "plain": "as written",
    "cons": "metadata and commits consolidated",
    "unsynced": "not synced",
    "warm": "warm",
    "query": "a corner of a tile, warm",
    "open": "open",
    "context": "a context and open",
    "raster": "a raster of the earth",
    "singlecell": "single cells, zstd",
    "str+null+enum": "strings, numbers that may be null, an enumeration",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="the program smalti-bench")
    parser.add_argument("--others", default="", help="other engines: their names in bench_peers.py with commas, or all of requirements-others.txt")
    parser.add_argument("--zarrs", help="a program that drives the crate zarrs through the protocol of bench_peers.py, another engine")
    parser.add_argument("--before", help="an earlier smalti-bench, as NAME=PROGRAM")
    parser.add_argument("--only", default=DEFAULT_WORKLOADS, help="workloads, by default all that smalti runs")
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--scale", type=float, default=0.5, help="size of the data: 0.5 is 64 MiB and 1.5 million cells")
    parser.add_argument("--data", help="folder that keeps the data sets for the next run")
    parser.add_argument("--results", help="file for one JSON line a measurement")
    parser.add_argument("--write", help="page of documentation to write")
    parser.add_argument("--targets", help="a program that holds the results against targets, smalti being called ours in them; the page quotes its last line")
    parser.add_argument("--import", dest="program", help="the program smalti: imports are measured beside DuckDB and pyarrow too")
    parser.add_argument("--felt", help="the program smalti: how long it takes from its start for small things is measured too, on arrays of --data")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="smalti-bench-") as scratch:
        results = options.results or os.path.join(scratch, "results.jsonl")
        if os.path.exists(results):
            os.remove(results)
        measure(options, results, options.data or os.path.join(scratch, "data"))
        with open(results) as lines:
            measurements = [json.loads(line) for line in lines]
    rows = compared(measurements)
    if not rows:
        sys.exit("nothing was measured")
    unsynced = [row for row in rows if is_unsynced(row)]
    rows = [row for row in rows if not is_unsynced(row)]
    print(table(rows))
    if options.program:
        measured = argparse.Namespace(smalti=os.path.abspath(options.program), rows=5_000_000, reps=options.reps, threads=os.cpu_count())
        with tempfile.TemporaryDirectory(prefix="smalti-imports-") as scratch:
            print(imports.table(measured, scratch))
    felt = felt_table(options.felt, options.data) if options.felt and options.data else ""
    print(felt)
    if options.write:
        others = kept(options.write, "Python") + kept(options.write, "Drop-in library")
        with open(options.write, "w") as page:
            page.write(document(rows, unsynced, measurements, felt, options) + others)
    wrong = [row["name"] for row in rows + unsynced if not row["same"]]
    if wrong:
        sys.exit("read something else than libtiledb: " + ", ".join(wrong))


def measure(options, results, data):
    os.makedirs(data, exist_ok=True)
    for missing in real.into(os.path.join(data, "in")):
        print(f"a real input could not be had: {missing}", file=sys.stderr)
    others = OTHERS if options.others == "all" else options.others
    peers = ["tiledb-c", *filter(None, others.split(","))]
    extras = [f"smalti={os.path.abspath(options.peer)}", f"control={sys.executable} {HARNESS} --worker tiledb-c"]
    if options.before:
        extras.append(f"before={os.path.abspath(before(options)[1])}")
    command = [sys.executable, HARNESS, "--out", results, "--only", options.only, "--reps", str(options.reps)]
    command += ["--limit", os.path.abspath(options.peer), "--data", data]
    if options.zarrs:
        peers.append("zarrs")
        command += ["--zarrs", os.path.abspath(options.zarrs)]
    command += ["--peers", ",".join(peers)]
    for extra in extras:
        command += ["--extra", extra]
    subprocess.run(command, check=True, env={**os.environ, "BENCH_SCALE": str(options.scale)})


def before(options):
    """The name and the program of the earlier smalti."""
    name, equals, program = options.before.partition("=")
    if not equals:
        sys.exit(f"--before takes NAME=PROGRAM, not {options.before}")
    return name, program


def compared(measurements):
    """One row a workload and variant that all three ran: where another engine is ahead first, then the lowest ratio."""
    lines = collections.defaultdict(dict)
    for measurement in measurements:
        lines[measurement["workload"], measurement["variant"]][measurement["peer"]] = measurement
    rows = []
    for (workload, variant), peers in lines.items():
        if not {"tiledb-c", "smalti", "control"} <= peers.keys():
            continue
        theirs, ours, control = (peers.pop(who) for who in ("tiledb-c", "smalti", "control"))
        earlier, limit = peers.pop("before", None), peers.pop("limit", None)
        fastest = min(peers.values(), key=lambda peer: peer["median_s"], default=None)
        rows.append({
            "name": f"{workload} {variant}".strip(),
            "workload": workload,
            "variant": variant,
            "theirs": theirs,
            "ours": ours,
            "fastest": fastest,
            "ratio": theirs["median_s"] / ours["median_s"],
            "ratio_min": theirs["min_s"] / ours["min_s"],
            "ratio_cpu": theirs["cpu_s"] / max(ours["cpu_s"], 1e-6),
            "control": theirs["median_s"] / control["median_s"],
            "ratio_fastest": fastest and fastest["median_s"] / ours["median_s"],
            "ratio_before": earlier and earlier["median_s"] / ours["median_s"],
            "ratio_before_min": earlier and earlier["min_s"] / ours["min_s"],
            "limit": limit and limit["median_s"],
            "same": ours["chk_ok"],
        })
    return sorted(rows, key=lambda row: (min(row["ratio_fastest"] or 1, 1), row["ratio"]))


def is_unsynced(row):
    return "unsynced" in row["variant"].split("/")


def is_behind(row):
    return row["ratio_fastest"] is not None and row["ratio_fastest"] < 1


def name(row):
    variant = ", ".join(VARIANTS.get(part, part) for part in row["variant"].split("/"))
    return f"{row['workload']} {WHAT.get(row['workload'], '')}: {variant}"


def marked(columns, lines):
    head = [f"| {' | '.join(columns)} |", "|---|" + "--:|" * (len(columns) - 1)]
    return "\n".join(head + [f"| {' | '.join(line)} |" for line in lines])


def ms(seconds):
    return f"{1e3 * seconds:.1f}" if seconds >= 1e-3 else f"{1e3 * seconds:.2f}"


def table(rows):
    with_limit = any(row["limit"] for row in rows)
    with_fastest = any(row["fastest"] for row in rows)
    with_before = any(row["ratio_before"] for row in rows)
    columns = ["workload", "libtiledb ms", "smalti ms", "faster by", "by minimum", "by processor time", "libtiledb again"]
    columns += ["fastest other engine ms", "faster than it by"] if with_fastest else []
    columns += ["limit ms", "above it by"] if with_limit else []
    columns += ["than before by", "by minimum"] if with_before else []
    lines = []
    for row in rows:
        cells = [name(row)]
        cells += [ms(row[who]["median_s"]) for who in ("theirs", "ours")]
        cells += [f"{row[which]:.2f}" for which in ("ratio", "ratio_min", "ratio_cpu", "control")]
        if with_fastest:
            fastest = row["fastest"]
            cells += [f"{fastest['peer']} {ms(fastest['median_s'])}", f"{row['ratio_fastest']:.2f}"] if fastest else ["", ""]
        if with_limit:
            limit = row["limit"]
            cells += [ms(limit), f"{row['ours']['median_s'] / limit:.2f}"] if limit else ["", ""]
        if with_before:
            cells += [f"{row[which]:.2f}" if row[which] else "" for which in ("ratio_before", "ratio_before_min")]
        lines.append(cells)
    return marked(columns, lines)


def unsynced_table(rows):
    """Writes that nobody syncs, smalti beside the fastest of the others; libtiledb, which always syncs, is left out."""
    lines = []
    for row in rows:
        fastest, limit = row["fastest"], row["limit"]
        others = [f"{fastest['peer']} {ms(fastest['median_s'])}", f"{row['ratio_fastest']:.2f}", f"{fastest['min_s'] / row['ours']['min_s']:.2f}"] if fastest else [""] * 3
        lines.append([name(row), ms(row["ours"]["median_s"]), *others, *([ms(limit), f"{row['ours']['median_s'] / limit:.2f}"] if limit else ["", ""])])
    return marked(["workload", "smalti ms", "fastest other engine ms", "faster than it by", "by minimum", "limit ms", "above it by"], lines)


def memory_table(measurements):
    """Peaks of memory of single runs, each in a process that did nothing before."""
    lines = collections.defaultdict(dict)
    for line in measurements:
        if line["workload"].startswith("memory:"):
            lines[line["workload"].removeprefix("memory:"), line["variant"]][line["peer"]] = (line["peak_mb"], line.get("mapped_mb", 0.0))
    sizes = {(line["workload"], line["variant"]): line["bytes"] / 2**20 for line in measurements if line["peer"] == "smalti" and "bytes" in line}
    table = []
    for (workload, variant), peers in lines.items():
        if not {"smalti", "tiledb-c"} <= peers.keys():
            continue
        peaks = {who: peak for who, (peak, _) in peers.items()}
        others = {who: peak for who, peak in peaks.items() if who not in ("smalti", "tiledb-c")}
        least = min(others, key=others.get, default=None)
        size, mapped = sizes[workload, variant], peers["smalti"][1]
        ratio = f"{(peaks['smalti'] - mapped) / size:.2f}"
        cells = [name({"workload": workload, "variant": variant}), f"{size:.0f}", f"{peaks['smalti']:.1f}", f"{mapped:.1f}", ratio, f"{peaks['tiledb-c']:.0f}"]
        table.append([*cells, f"{least} {others[least]:.0f}" if least else ""])
    header = ["workload", "its cells MiB", "smalti MiB", "of it mapped", "the rest by its cells", "libtiledb MiB", "least of the others MiB"]
    return marked(header, table) if table else ""


FELT_ROUNDS = 25


def felt_table(program, data):
    """What somebody waits for who starts the program for something small, on arrays that the workloads made."""
    box = [part for side in ("d0=0:3", "d1=0:3", "d2=0:3") for part in ("--range", side)]
    cases = [
        ("true", ["true"]),
        ("smalti --version", [program, "--version"]),
        ("smalti info, an array of one fragment", [program, "info", f"{data}/smalti/f3d-zstd3"]),
        ("smalti read, 64 cells of a tile of a MiB, zstd", [program, "read", f"{data}/smalti/f3d-zstd3", *box, "--format", "csv"]),
        ("smalti info, 1,000 fragments", [program, "info", f"{data}/smalti/nfr1000-plain"]),
        ("smalti info, 1,000 fragments, metadata and commits consolidated", [program, "info", f"{data}/smalti/nfr1000-cons"]),
    ]
    lines = []
    for what, command in cases:
        times = []
        for _ in range(FELT_ROUNDS):
            started = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - started)
        lines.append([what, ms(statistics.median(times)), ms(min(times))])
    return marked(["what", "ms", "minimum"], lines)


def machine_table(measurements):
    """What the machine takes by itself."""
    words = {
        "memcpy": "copy of 64 MiB in memory",
        "pread": "read of a file of 64 MiB in the page cache",
        "pwrite": "write of a new file of 64 MiB",
        "fsync": "file of a page, made and synced",
        "encode": "filters, without an engine",
        "decode": "filters undone, without an engine",
        "opens": "small files opened, read and closed",
    }
    lines = []
    for line in measurements:
        if line["peer"] == "limit" and line["workload"].startswith("limit:"):
            work = line["workload"].removeprefix("limit:")
            rate = f"{line['bytes'] / line['median_s'] / 1e6:,.0f}" if line["bytes"] > 4096 else ""
            lines.append([f"{words.get(work, work)}: {line['variant']}", ms(line["median_s"]), ms(line["min_s"]), rate])
    return marked(["work", "ms", "minimum", "MB/s"], lines) if lines else ""


def held_against_targets(options, measurements):
    """What a program of targets prints of the results."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for line in measurements:
            if line["peer"] == "before":
                continue
            file.write(json.dumps({**line, "peer": {"smalti": "ours"}.get(line["peer"], line["peer"])}) + "\n")
        file.flush()
        return subprocess.run([sys.executable, options.targets, file.name], capture_output=True, text=True).stdout.strip()


def document(rows, unsynced, measurements, felt, options):
    threads = measurements[0]["threads"]
    slower = [row["name"] for row in rows if row["ratio"] < 1]
    verdict = "slower on: " + ", ".join(slower) if slower else "slower on none of them"
    columns = ""
    order = "The lines where smalti gains least come first."
    if any(row["fastest"] for row in rows):
        behind = sum(is_behind(row) for row in rows)
        beside = sum(row["fastest"] is not None for row in rows)
        order = "The lines where another engine is ahead come first, then those where smalti gains least on libtiledb."
        columns += f"""
Other engines run what they can of the same workloads in their own formats, on the same data, and check the same sums: Zarr (zarr-python, with its own
codecs and with those of zarrs), Icechunk, HDF5, Parquet (PyArrow, Polars, DataFusion), DuckDB and Lance{", and the crate zarrs" if options.zarrs else ""}. They do not sync what they write. The fastest of them
stands in each line; smalti is behind it on {behind} of the {beside} lines that have one.
"""
    sections = ""
    if unsynced:
        sections += f"""
Writes of which nothing is synced, as other engines write: smalti with `--sync none`.

{unsynced_table(unsynced)}
"""
    if memory := memory_table(measurements):
        sections += f"""
Memory: how much the peak of the resident memory of a run lies above where it began, in a process that did nothing before. The results are held in all of them but S2b. "Of it mapped" are
pages of mapped files, which come with the first use of the program's own code and belong to the page cache.

{memory}
"""
    if felt:
        sections += f"""
The program from its start to its end, its output thrown away, medians of {FELT_ROUNDS} runs; `true` does nothing, and so is what starting any program takes here.

{felt}
"""
    if limits := machine_table(measurements):
        sections += f"""
The limits, {threads} threads where nothing else is said (`t1` is one).

{limits}
"""
    if options.targets:
        sections += f"""
Held against the targets that were set for this table, within a tenth:

```
{held_against_targets(options, measurements)}
```
"""
    if options.before:
        columns += f"""
"Than before by" is the time of an earlier state of smalti ({before(options)[0]}) over that of today's, in the same run.
"""
    return f"""# Benchmarks

smalti beside libtiledb 2.30.0 (the PyPI package tiledb 0.36.1, through its C interface; deletes and consolidation through TileDB-Py), in one
run, turn by turn, {threads} threads each, medians of {options.reps} repetitions, files in the page cache. Writes and deletes are durable:
both sync the files that they make, smalti the folders too, so a new file cannot vanish in a power cut. That shows where there
is little else to do, as in S9d. {order} smalti was {verdict}.

"Faster by" is the ratio of the medians, libtiledb over smalti; "libtiledb again" is the same ratio for a second entry of
libtiledb itself, so its distance from 1 is the noise of this machine. Less than 1.3 either way is a tie.
{columns}
"Limit" is what the machine takes between the turns of the line, without an engine and on as many threads, for what the workload cannot do without: the codec's own time for all chunks that have
to be unfiltered, or for all that is filtered; of boxes the chunks that each is the first to meet, read from the page cache and unfiltered when those of the box before are there; a read of as many bytes from the page cache; a write and a sync of the same bytes; a small file opened and read for each fragment. It is left out where there is no such
bound. Each repetition begins with nothing kept from the one before, except in lines that say warm; libtiledb keeps nothing.

Measured on {machine()}, data of scale {options.scale:g}
(`BENCH_SCALE`: 0.5 is a float32 array of 64 MiB and 1.5 million sparse cells), smalti built with `cargo build --release`.

{table(rows)}
{sections}
To measure again: `cargo xtask bench{" --others all" if options.others else ""} --write docs/benchmarks.md`.
"""


def kept(path, title):
    """A section of a page that another program writes, as it is there now."""
    if not os.path.exists(path):
        return ""
    with open(path) as page:
        found = section(page.read(), title)
    return found and f"\n{found}"


def put_section(path, title, written):
    """Puts a section into a page, in the place of the one with its title or behind all others."""
    with open(path) as page:
        old = page.read()
    before = section(old, title)
    head, rest = old.split(before, 1) if before else (old, "")
    with open(path, "w") as page:
        page.write("\n\n".join(part.strip("\n") for part in (head, written, rest) if part) + "\n")


def section(text, title):
    """The section of a title: from its heading to the next one of its level, or to the end."""
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found.group() if found else ""


def machine():
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    except OSError:
        pass
    return f"{os.cpu_count()} processors ({model}), {platform.system()}"


if __name__ == "__main__":
    main()

"""How opening, planning and reading grow with fragments, and with the tiles of one fragment; smalti beside libtiledb.

    python bench/growth.py --peer target/release/smalti-bench [--before OLD/smalti-bench]

Prints the tables of docs/growth.md. Every measurement is a process of its own, so that its peak memory is its own: it opens the array, or opens it and reads a small box.
Files are in the page cache. libtiledb is left out of a line where it takes longer than the time limit.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_peers.py")
# What is done to the array, by the names that the peers know.
STEPS = [("S8a", "open"), ("S8q", "open and read")]
FRAGMENT_BOX = [[[500_000, 520_000], [500_000, 520_000]]]


def box_of_tiles(count):
    """Cells of the array of many tiles lie on a line in x, two to a tile; these are in the middle."""
    return [[[count, count + 10], [0, 1_000_000]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="the program smalti-bench")
    parser.add_argument("--before", help="an earlier smalti-bench, measured beside it")
    parser.add_argument("--fragments", default="100,1000,10000,100000")
    parser.add_argument("--tiles", default="10000,100000,1000000,10000000")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300, help="seconds that a measurement may take")
    parser.add_argument("--data", help="folder that keeps the arrays for the next run")
    options = parser.parse_args()
    peers = {"before": options.before and [os.path.abspath(options.before)], "smalti": [os.path.abspath(options.peer)]}
    peers["libtiledb"] = [sys.executable, HARNESS, "--worker", "tiledb-c"]
    peers = {name: command for name, command in peers.items() if command}
    with tempfile.TemporaryDirectory(prefix="smalti-growth-") as scratch:
        data = options.data or scratch
        tables = [
            ("fragments", measured(options, peers, data, "nfr", options.fragments, lambda _: FRAGMENT_BOX)),
            ("tiles in one fragment", measured(options, peers, data, "tiles", options.tiles, box_of_tiles)),
        ]
    text = "\n\n".join(table(what, lines, peers) for what, lines in tables)
    print(text)


def measured(options, peers, data, kind, counts, box_of):
    lines = []
    for count in [int(count) for count in counts.split(",") if count]:
        path = os.path.join(data, f"{kind}-{count}")
        query = {"path": path, "ds": kind, "v": "plain", "n": count, "boxes": box_of(count)}
        if not os.path.exists(path + ".ok"):
            shutil.rmtree(path, ignore_errors=True)
            asked(peers["smalti"], [{"op": "build", "w": "", **query}], None)
            open(path + ".ok", "w").close()
        for step, what in STEPS:
            # Buffers of the C interface for as many cells as the box may have.
            query["n"] = 10_000 if kind == "nfr" and count < 10_000 else 1_000_000
            line = {"count": count, "step": what}
            for name, command in peers.items():
                # The first run brings the files into the page cache.
                runs = [asked(command, [{"op": "run", "w": step, **query}], options.limit) for _ in range(options.reps + 1)]
                line[name] = runs[1:] if all(runs) else None
                print(f"{kind} {count} {what} {name}: {line[name] and line[name][-1]}", file=sys.stderr, flush=True)
            lines.append(line)
    return lines


def asked(command, queries, limit):
    """The last answer of a new process; `None` when it takes too long."""
    lines = "".join(json.dumps(query) + "\n" for query in [*queries, {"op": "quit", "path": ""}])
    env = {**os.environ, "BENCH_SCALE": "0.5"}
    try:
        done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired:
        return None
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not answers:
        return None
    if "err" in answers[-1]:
        sys.exit(f"{command[0]}: {answers[-1]['err']}")
    return answers[-1]


def table(what, lines, peers):
    heads = [f"{name} ms | {name} MiB" for name in peers]
    text = [f"| {what} | | " + " | ".join(heads) + " |", "|--:|---|" + "--:|--:|" * len(peers)]
    for line in lines:
        cells = []
        for name in peers:
            runs = line[name]
            time = f"{1e3 * statistics.median(run['t'] for run in runs):,.1f}" if runs else "-"
            memory = f"{max(run['hwm_mb'] for run in runs):,.0f}" if runs else "-"
            cells.append(f"{time} | {memory}")
        text.append(f"| {line['count']:,} | {line['step']} | " + " | ".join(cells) + " |")
    return "\n".join(text)


if __name__ == "__main__":
    main()

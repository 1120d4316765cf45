"""`smalti import` of a CSV beside DuckDB's and pyarrow's reading of it: seconds, the median of some turns, all with the same threads.

    python imports.py --smalti PATH/smalti [--rows 5000000] [--reps 5] [--threads 2]

The file has a name, two integers that are the coordinates, a float, a time and a category. DuckDB makes a table of it in a new database file, and
an Arrow table in memory; pyarrow makes an Arrow table. smalti makes an array on disk, sorted, compressed and with the default durability; and, to
be set beside the readers, reads alone.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time


def make(path, rows):
    rng = random.Random(7)
    names = ["station %d" % n for n in range(500)]
    kinds = ["rain", "wind", "snow", "sun"]
    with open(path, "w") as out:
        out.write("id,x,y,value,seen,station,kind\n")
        for row in range(rows):
            seen = "2024-%02d-%02dT%02d:%02d:%02d" % (row % 12 + 1, row % 28 + 1, row % 24, row % 60, row * 7 % 60)
            x, y = row * 7919 % 1_000_003, row // 1000
            out.write("%d,%d,%d,%.3f,%s,%s,%s\n" % (row, x, y, rng.random() * 100, seen, rng.choice(names), rng.choice(kinds)))


def smalti(options, path, folder):
    uri = os.path.join(folder, "array")
    command = [options.smalti, "import", path, uri, "--dims", "y,x", "--memory", "2GiB", "--threads", str(options.threads)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return uri


def smalti_reading(options, path, folder):
    command = [options.smalti, "import", path, os.path.join(folder, "array"), "--dims", "y,x", "--memory", "2GiB", "--threads", str(options.threads)]
    subprocess.run([*command, "--dry-run"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def duckdb_arrow(options, path, _folder):
    import duckdb

    with duckdb.connect(config={"threads": options.threads}) as connection:
        return connection.execute("select * from read_csv(?)", [path]).fetch_arrow_table()


def duckdb_table(options, path, folder):
    import duckdb

    with duckdb.connect(os.path.join(folder, "table.db"), config={"threads": options.threads}) as connection:
        connection.execute("create table t as select * from read_csv(?)", [path])


def arrow(options, path, _folder):
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(options.threads)
    return pyarrow.csv.read_csv(path)


PEERS = {"smalti import": smalti, "smalti, reading alone (--dry-run)": smalti_reading, "DuckDB, a table on disk": duckdb_table, "DuckDB, in memory": duckdb_arrow, "pyarrow, in memory": arrow}


def measure(options, scratch):
    """Seconds of every turn, by the peer."""
    path = os.path.join(scratch, "rows.csv")
    make(path, options.rows)
    seconds = {name: [] for name in PEERS}
    for _ in range(options.reps):
        for name, work in PEERS.items():
            folder = tempfile.mkdtemp(dir=scratch)
            start = time.perf_counter()
            work(options, path, folder)
            seconds[name].append(time.perf_counter() - start)
            shutil.rmtree(folder)
    return seconds, os.path.getsize(path)


def table(options, scratch):
    """The lines of the comparison."""
    seconds, byte_len = measure(options, scratch)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    fastest = min(time for name, time in medians.items() if not name.startswith("smalti"))
    lines = ["Import of a CSV of %d rows, %d MB:" % (options.rows, byte_len // 1_000_000), "", "| | median s | times the fastest reader |", "|---|---|---|"]
    lines += ["| %s | %.2f | %.2f |" % (name, median, median / fastest) for name, median in medians.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smalti", required=True, help="the program smalti")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="smalti-imports-") as scratch:
        print(table(options, scratch))


if __name__ == "__main__":
    main()

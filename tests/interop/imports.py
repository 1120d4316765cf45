#!/usr/bin/env python3
"""Random tables and NumPy files that smalti imports: libtiledb must read the cells that pyarrow and numpy read from the files.

Every case draws columns and rows, writes them as CSV, JSON lines, Parquet, Arrow IPC, NPY or NPZ, has `smalti import` make an array of
them (in one chunk or many, all at once or as it goes), opens it with tiledb-py, and compares the cells by their row numbers. Then
it asks two conditions of every table (between, like, lists, nulls, booleans alone), of the array and of pyarrow over the same rows.
"""
import datetime
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import pyarrow
import pyarrow.compute as compute
import pyarrow.feather
import pyarrow.parquet
import tiledb

import harness

WORDS = ["", "a", "zürich", "x,y", 'quo"te', "line\nend", "北京", "123abc", "NA?"]
LABELS = ["red", "green", "blue", "söft"]


class Failure(Exception):
    """A difference."""


def run(binary, *args):
    done = subprocess.run([binary, *map(str, args)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failure("smalti %s: status %d\n%s%s" % (" ".join(map(str, args)), done.returncode, done.stdout, done.stderr))
    return done


def draw_column(rng, kind, count):
    nullable = rng.random() < 0.5
    draw = {
        "int": lambda: rng.choice([0, 1, -1, rng.getrandbits(62) - (1 << 61)]),
        "uint": lambda: rng.getrandbits(64),
        "float": lambda: rng.choice([0.5, -1e300, rng.random(), 3.25e-7]),
        "bool": lambda: rng.random() < 0.5,
        "text": lambda: rng.choice(WORDS[1:]),
        "label": lambda: rng.choice(LABELS),
        "date": lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=rng.randint(-10000, 40000)),
        "time": lambda: datetime.datetime(2000, 1, 1) + datetime.timedelta(microseconds=rng.randint(0, 10**15)),
    }[kind]
    values = [None if nullable and rng.random() < 0.2 else draw() for _ in range(count)]
    if all(value is None for value in values):
        values[0] = draw()
    # One of a kind at least that leaves no doubt.
    if kind == "uint":
        values[0] = (1 << 64) - 1
    return values


ARROW = {
    "int": pyarrow.int64(), "uint": pyarrow.uint64(), "float": pyarrow.float64(), "bool": pyarrow.bool_(), "text": pyarrow.string(),
    "label": pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), "date": pyarrow.date32(), "time": pyarrow.timestamp("us"),
}


def draw_table(rng):
    count = rng.choice([1, 2, 17, 300, 3000])
    numbers = list(range(count))
    rng.shuffle(numbers)
    kinds = [rng.choice(list(ARROW)) for _ in range(rng.randint(1, 5))]
    columns = {"n": numbers}
    for idx, kind in enumerate(kinds):
        columns["c%d" % idx] = draw_column(rng, kind, count)
    return columns, {"n": "int", **{"c%d" % idx: kind for idx, kind in enumerate(kinds)}}


def table_of(columns, kinds):
    return pyarrow.table({name: pyarrow.array(values, ARROW[kinds[name]]) for name, values in columns.items()})


def text_of(value, quote=True):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return '"%s"' % value.replace('"', '""')
    return repr(value)


def write_file(rng, folder, columns, kinds):
    ending = rng.choice(["csv", "csv", "jsonl", "parquet", "arrow", "arrows"])
    path = folder / ("table." + ending)
    table = table_of(columns, kinds)
    rows = list(zip(*columns.values()))
    if ending == "csv":
        end = rng.choice(["\n", "\r\n"])
        lines = [",".join(columns)] + [",".join(text_of(value) for value in row) for row in rows]
        path.write_bytes((end.join(lines) + end * rng.randint(0, 1)).encode())
    elif ending == "jsonl":
        def shown(value):
            return text_of(value) if isinstance(value, (datetime.date, datetime.datetime)) else value
        lines = []
        for row in rows:
            cells = {name: shown(value) for name, value in zip(columns, row)}
            lines.append(json.dumps({k: v for k, v in cells.items() if v is not None or rng.random() < 0.5}, ensure_ascii=False))
        path.write_text("\n".join(lines) + "\n")
    elif ending == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=rng.choice([7, 1000, 100000]), compression=rng.choice(["none", "snappy", "zstd"]))
    elif ending == "arrow":
        pyarrow.feather.write_feather(table, str(path), compression=rng.choice(["lz4", "zstd", "uncompressed"]), chunksize=rng.choice([5, 10000]))
    else:
        with pyarrow.ipc.new_stream(str(path), table.schema) as out:
            for batch in table.to_batches(max_chunksize=rng.choice([5, 10000])):
                out.write_batch(batch)
    return path


def cells_of(uri):
    """Row number to the cell, of the attributes in their order."""
    with tiledb.open(str(uri)) as array:
        names = [array.schema.attr(i).name for i in range(array.schema.nattr)]
        table = array[:]
        out = {}
        numbers = table["n"]
        for idx, number in enumerate(numbers):
            out[int(number)] = [plain(table[name][idx]) for name in names]
        return names, out


def plain(value):
    if value is numpy.ma.masked or value is None:
        return None
    if isinstance(value, numpy.ma.core.MaskedConstant):
        return None
    if isinstance(value, (numpy.datetime64, datetime.datetime, datetime.date)):
        return int(numpy.datetime64(value, "us").astype("int64"))
    if isinstance(value, (bytes, numpy.bytes_)):
        return bytes(value).decode()
    if isinstance(value, numpy.generic):
        return value.item()
    return value


def literal(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, datetime.date)):
        text = value if isinstance(value, str) else text_of(value)
        return "'%s'" % text.replace("'", "''")
    return repr(value)


def draw_question(rng, name, kind, values):
    """A condition on a column as text, and the rows that it holds for, as pyarrow has it: null where it is not known."""
    column = pyarrow.array(values, pyarrow.string() if kind == "label" else ARROW[kind])
    known = [value for value in values if value is not None]
    no = rng.choice(["", "not "])
    turned = compute.invert if no else lambda mask: mask
    forms = ["in", "null"]
    forms += {"bool": ["alone"] * 3, "text": ["like"] * 3, "label": ["like"] * 3}.get(kind, ["between"] * 3)
    form = rng.choice(forms)
    if form == "null":
        return "%s is %snull" % (name, no), turned(compute.is_null(column))
    if form == "alone":
        return no + name, turned(column)
    if form == "between":
        low, high = (rng.choice(known) for _ in range(2))
        if rng.random() < 0.8:
            low, high = min(low, high), max(low, high)
        inside = compute.and_(*(test(column, pyarrow.scalar(end, column.type))
                                for test, end in [(compute.greater_equal, low), (compute.less_equal, high)]))
        words = rng.choice(["%sbetween %s and %s", "%sBETWEEN %s AND %s"])
        return name + " " + words % (no, literal(low), literal(high)), turned(inside)
    if form == "like":
        value = rng.choice(known)
        prefix = value[:rng.randint(0, len(value))]
        return "%s %slike %s" % (name, no, literal(prefix + "%")), turned(compute.starts_with(column, prefix))
    members = [rng.choice(known) for _ in range(rng.randint(1, 3))]
    inside = compute.if_else(compute.is_valid(column), compute.is_in(column, pyarrow.array(members, column.type)), None)
    brackets = rng.choice(["[%s]", "(%s)"]) % ", ".join(map(literal, members))
    return "%s %sin %s" % (name, no, brackets), turned(inside)


def check_questions(rng, binary, uri, columns, kinds):
    """Conditions are asked of the array, and of pyarrow over the same rows."""
    for _ in range(2):
        names = rng.choices(sorted(set(columns) - {"n"}), k=rng.choice([1, 1, 2]))
        asked = [draw_question(rng, name, kinds[name], columns[name]) for name in names]
        word, both = rng.choice([("and", compute.and_kleene), ("or", compute.or_kleene)])
        text, mask = asked[0]
        if len(asked) > 1:
            text, mask = "%s %s %s" % (text, word, asked[1][0]), both(mask, asked[1][1])
        want = sorted(number for number, holds in zip(columns["n"], mask.to_pylist()) if holds)
        lines = run(binary, "read", uri, "--where", text, "--select", "n", "--format", "csv").stdout.split()
        found = sorted(map(int, lines[1:]))
        if found != want:
            raise Failure("where %s: %d rows, not %d" % (text, len(found), len(want)))


def check_table(rng, binary, folder):
    columns, kinds = draw_table(rng)
    path = write_file(rng, folder, columns, kinds)
    uri = folder / "array"
    options = ["--dims", "n"]
    is_text = path.suffix in (".csv", ".jsonl")
    labels = [name for name, kind in kinds.items() if kind == "label"]
    if is_text and labels and rng.random() < 0.6:
        options += ["--enum", ",".join(labels)]
    if rng.random() < 0.4:
        options += ["--memory", "3MiB"]
    if rng.random() < 0.2:
        options += ["--as-it-goes"]
    run(binary, "import", path, uri, *options)
    names, found = cells_of(uri)
    expected_names = [name for name in columns if name != "n"]
    if path.suffix == ".jsonl":
        # In the order in which lines first name them.
        expected_names = sorted(expected_names, key=names.index) if sorted(names) == sorted(expected_names) else expected_names
    if names != expected_names:
        raise Failure("attributes %s, not %s" % (names, expected_names))
    if len(found) != len(columns["n"]):
        raise Failure("%d cells, not %d" % (len(found), len(columns["n"])))
    for idx, number in enumerate(columns["n"]):
        want = [plain(columns[name][idx]) for name in names]
        if found[number] != want:
            raise Failure("%s: row %d: %s, not %s" % (path.name, idx, found[number], want))
    check_questions(rng, binary, uri, columns, kinds)
    # The same rows again take the place of these.
    if rng.random() < 0.3:
        run(binary, "import", path, uri)
        if cells_of(uri) != (names, found):
            raise Failure("%s: importing again changed the cells" % path.name)
    run(binary, "fsck", uri, "--data")


def check_grid(rng, binary, folder):
    shape = [rng.randint(1, 40) for _ in range(rng.randint(1, 3))]
    dtypes = ["<i2", ">i4", "<f8", "|u1", "<M8[s]", "|b1"]
    def draw():
        values = numpy.random.default_rng(rng.getrandbits(32)).integers(0, 2, shape) * rng.randint(1, 100)
        values = values.astype(rng.choice(dtypes))
        return values
    uri = folder / "array"
    if rng.random() < 0.5:
        array = draw()
        values = {"value": numpy.asfortranarray(array) if rng.random() < 0.4 else array}
        path = folder / "grid.npy"
        numpy.save(path, values["value"])
    else:
        values = {"a": draw(), "b": draw()}
        path = folder / "grid.npz"
        rng.choice([numpy.savez, numpy.savez_compressed])(path, **values)
    run(binary, "import", path, uri, *rng.choice([[], ["--memory", "3MiB"], ["--tile", "dim_0=1"]]))
    with tiledb.open(str(uri)) as array:
        found = array[:]
        if not isinstance(found, dict):
            found = {"value": found}
        for name, want in values.items():
            got = numpy.asarray(found[name])
            if got.shape != want.shape or not (got == want.astype(want.dtype.newbyteorder("="))).all():
                raise Failure("%s: %r differs" % (path.name, name))


def main():
    parser = harness.parser(__doc__, 200, jobs=False, keep=None)
    options = parser.parse_args()
    harness.program(parser, options)
    cases = harness.numbers(options)
    failures = 0
    for case in cases:
        rng = random.Random("%d %d" % (options.seed, case))
        with tempfile.TemporaryDirectory(prefix="smalti-imports-") as folder:
            try:
                check = check_grid if rng.random() < 0.25 else check_table
                check(rng, options.smalti, pathlib.Path(folder))
            except (Failure, subprocess.TimeoutExpired, tiledb.TileDBError) as failure:
                failures += 1
                print("case %d: %s" % (case, failure))
    return harness.end(len(cases) - failures, failures)


if __name__ == "__main__":
    sys.exit(main())

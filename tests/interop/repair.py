"""Damaged arrays that smalti mends: libtiledb must open the result with the cells that were there before.

Every case makes an array with smalti, lets libtiledb read it, damages a copy, and runs `smalti fsck` and `smalti repair`: the check
must find the damage, the repair must leave nothing that concerns readers, and libtiledb must read the same cells and metadata again.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import tiledb

import harness

ID = "0123456789abcdef0123456789abcdef"

ATTRIBUTES = """[{"name": "n", "type": "INT32", "nullable": true, "filters": []},
 {"name": "s", "type": "STRING_UTF8", "cell_val_num": "var", "filters": {"filters": [{"filter": "zstd", "level": 3}]}}]"""
SCHEMA = """{"array_type": "%s", "capacity": 2, "attrs": %s,
 "dims": [{"name": "x", "type": "INT32", "domain": [1, 20], "tile": 4}, {"name": "y", "type": "INT32", "domain": [1, 20], "tile": 4}]}"""
WRITES = {
    10: [(3, 2, 7, "a"), (3, 3, None, ""), (3, 4, -7, "ccc"), (4, 2, 1, "d"), (4, 3, 2, "ee"), (4, 4, 3, "f")],
    20: [(7, 7, 9, "g"), (7, 8, 8, "hh")],
}


class Failure(Exception):
    """A difference."""


def run(binary, *args, status=0):
    done = subprocess.run([binary, *args], capture_output=True, text=True, timeout=600)
    if done.returncode != status:
        raise Failure("smalti %s: status %d\n%s%s" % (" ".join(args), done.returncode, done.stdout, done.stderr))
    return done.stdout


def make(binary, folder, kind):
    uri = folder / kind
    schema = folder / "schema.json"
    schema.write_text(SCHEMA % (kind, ATTRIBUTES))
    run(binary, "create", str(uri), "--schema", str(schema))
    for time, cells in WRITES.items():
        lines = [json.dumps(dict(zip("xyns", cell))) for cell in cells]
        path = folder / "cells.jsonl"
        path.write_text("\n".join(lines) + "\n")
        ranges = []
        if kind == "dense":
            for name, values in (("x", [c[0] for c in cells]), ("y", [c[1] for c in cells])):
                ranges += ["--range", "%s=%d:%d" % (name, min(values), max(values))]
        run(binary, "write", str(uri), "--from", str(path), "--at", str(time), *ranges)
    run(binary, "meta", str(uri), "--at", "15", "put", "k", "INT32", "5")
    if kind == "sparse":
        run(binary, "delete", str(uri), "--where", "n == 8", "--at", "25")
    return uri


def theirs(uri):
    """What libtiledb reads, in a form that can be compared."""
    with tiledb.open(str(uri)) as array:
        cells = array[:] if array.schema.sparse else array[1:21, 1:21]
        found = {"meta": {key: array.meta[key] for key in array.meta.keys()}}
        for name, values in cells.items():
            data = values
            if hasattr(values, "_data"):
                data = numpy.ma.filled(values, -1) if isinstance(values, numpy.ma.MaskedArray) else values
            found[name] = [str(value) for value in numpy.asarray(data).ravel().tolist()]
        return found


def one(folder, pattern):
    found = sorted(folder.glob(pattern))
    if not found:
        raise Failure("nothing is called %s" % pattern)
    return found[0]


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(bytes(content))


def metadata(uri, time):
    return one(uri, "__fragments/__%d_*/__fragment_metadata.tdb" % time)


def section(binary, path, title):
    """Where a section of a fragment's metadata starts."""
    parts = json.loads(run(binary, "inspect", str(path), "--json"))["parts"]
    starts = [part["file_range"][0] for part in parts if part["title"].startswith(title)]
    if not starts:
        raise Failure("%s has no %s" % (path, title))
    return starts[0]


def cut(path, byte_len):
    path.write_bytes(path.read_bytes()[:byte_len])


def torn_consolidated_commits(uri, _):
    first, second = one(uri, "__fragments/__10_*").name, one(uri, "__fragments/__20_*").name
    (uri / "__commits" / (first + ".wrt")).unlink()
    text = "__commits/%s.wrt\n__commits/%s" % (first, second[:12])
    (uri / "__commits" / ("__10_20_%s_22.con" % ID)).write_text(text)


def missing_in_consolidated_commits(uri, _):
    first = one(uri, "__fragments/__10_*").name
    text = "__commits/%s.wrt\n__commits/__1_1_%s_22.wrt\n" % (first, ID)
    (uri / "__commits" / ("__1_10_%s_22.con" % ID)).write_text(text)


def bad_line(uri, _):
    first, second = one(uri, "__fragments/__10_*").name, one(uri, "__fragments/__20_*").name
    lines = ["__commits/%s.wrt\n" % name for name in (first, second)]
    (uri / "__commits" / ("__10_20_%s_22.con" % ID)).write_text("".join(lines))
    gone = "__commits/__1_1_%s_22.wrt\n" % ID
    (uri / "__commits" / ("__1_20_%s_22.con" % ID)).write_text(gone)
    (uri / "__commits" / ("__1_1_%s_22.ign" % ID)).write_text(gone + "\n?\n")


def vacuum_without_fragment(uri, _):
    first = one(uri, "__fragments/__10_*").name
    (uri / "__commits" / ("__5_25_%s_22.vac" % ID)).write_text("/__fragments/%s\n" % first)


def footer_cut(uri, _):
    context = tiledb.Ctx({"sm.consolidation.mode": "fragment_meta"})
    tiledb.consolidate(str(uri), ctx=context)
    path = metadata(uri, 20)
    cut(path, path.stat().st_size - 12)


def section_flipped(title):
    return lambda uri, binary: flip(metadata(uri, 10), section(binary, metadata(uri, 10), title) + 64)


def torn_schema(uri, _):
    content = one(uri, "__schema/__*_*_*").read_bytes()
    (uri / "__schema" / ("__30_30_%s" % ID)).write_bytes(content[:40])


# Damages with a name; each gets the array's folder and the program. All are mended to what was there before.
DAMAGES = {
    "torn metadata": lambda uri, _: (uri / "__meta" / ("__9_9_%s" % ID)).write_bytes(b"\x16\0"),
    "metadata of zeros": lambda uri, _: (uri / "__meta" / ("__9_9_%s" % ID)).write_bytes(bytes(100)),
    "stray metadata": lambda uri, _: (uri / "__meta/notes").write_bytes(b"x"),
    "stray schema": lambda uri, _: (uri / "__schema/notes").write_bytes(b"x"),
    "torn schema": torn_schema,
    "stray footers": lambda uri, _: (uri / "__fragment_meta/notes").write_bytes(b"x"),
    "torn footers": lambda uri, _: (uri / "__fragment_meta" / ("__10_20_%s_22.meta" % ID)).write_bytes(b"x"),
    "stray commit": lambda uri, _: (uri / "__commits/notes.wrt").write_bytes(b""),
    "torn delete": lambda uri, _: (uri / "__commits" / ("__30_30_%s_22.del" % ID)).write_bytes(b"\x16\0"),
    "commit without fragment": lambda uri, _: (uri / "__commits" / ("__30_30_%s_22.wrt" % ID)).write_bytes(b""),
    "consolidated commit without fragment": missing_in_consolidated_commits,
    "torn consolidated commits": torn_consolidated_commits,
    "vacuum file without fragment": vacuum_without_fragment,
    "bad line in an ignore file": bad_line,
    "offsets flipped": section_flipped("tile offsets of attribute"),
    "sizes flipped": section_flipped("tile sizes of the values of"),
    "footer cut, with a copy": footer_cut,
    "R-tree flipped": section_flipped("R-tree"),
    "statistics flipped": section_flipped("sum of each tile"),
    "bounds flipped": section_flipped("least value in each tile of attribute"),
    "validity offsets flipped": section_flipped("tile offsets of the validity of attribute"),
}


def check(binary, uri, before, name, folder):
    copy = folder / "copy"
    shutil.copytree(uri, copy)
    try:
        DAMAGES[name](copy, binary)
        run(binary, "fsck", str(copy), "--data", status=1)
        run(binary, "repair", str(copy), "--data")
        run(binary, "fsck", str(copy), "--data")
        try:
            after = theirs(copy)
        except tiledb.TileDBError as error:
            raise Failure("libtiledb: %s" % error) from error
        if after != before:
            raise Failure("libtiledb reads other cells: %s, before %s" % (after, before))
        with open(os.devnull, "w") as nowhere:
            compared = subprocess.run([binary, "diff", str(uri), str(copy)], stdout=nowhere, timeout=600)
        if compared.returncode != 0:
            raise Failure("smalti diff: status %d" % compared.returncode)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def main():
    parser = harness.parser(__doc__, jobs=False, keep=None)
    parser.add_argument("--damage", default="all", help="one damage by name")
    options = parser.parse_args()
    harness.program(parser, options)
    binary = options.smalti
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="smalti-repair-") as name:
        folder = pathlib.Path(name)
        for kind in ("sparse", "dense"):
            uri = make(binary, folder, kind)
            before = theirs(uri)
            for damage in DAMAGES if options.damage == "all" else [options.damage]:
                try:
                    check(binary, uri, before, damage, folder)
                    passed += 1
                except Failure as failure:
                    failed += 1
                    print("%s, %s: %s" % (kind, damage, failure))
    return harness.end(passed, failed)


if __name__ == "__main__":
    sys.exit(main())

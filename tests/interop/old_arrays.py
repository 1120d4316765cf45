"""Arrays of old format versions that smalti writes to, or upgrades and writes to: libtiledb must read the same cells.

Every case is an array of the fixtures. Its cells are read and written again by smalti, in a new fragment at a later time;
what libtiledb reads before and after must be the same, and the same again after `smalti upgrade` and one more write.
"""
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import harness
import libtiledb

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "corpus"

# Cases that are left out, by a part of their name, with the reason.
LEFT_OUT = {
    "group": "no array",
    "deletes": "deleted cells",
    "labels": "labels are arrays of their own",
    "dense_huge_domain": "too large to be read whole",
    "big_chunks": "read in part only",
    "lossy": "cells change with every write",
    "empty_array": "there is nothing to write again",
    "metadata_consolidated": "there is nothing to write again",
    "enumerations_dense": "the fill value has no label",
    "v7/sparse_nullable": "its release wrote it so that nobody can read it",
    "filter_chain_scale_float_ints": "libtiledb 2.30 cannot read what these releases wrote",
}
# Up to version 4 these keep cells in an order that is not the true one, and so does a merge with them.
DISORDERED = ("sparse_dim_datetime", "sparse_dim_int64", "sparse_dim_uint64")


class Failure(Exception):
    """A difference."""


def run(binary, *args, stdin=None):
    done = subprocess.run([binary, *args], capture_output=True, input=stdin, timeout=600)
    if done.returncode != 0:
        raise Failure("smalti %s: %s" % (" ".join(args), done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout


def check(binary, case, reference):
    """Runs one case; None, or why it is passed over."""
    expected = json.loads((case / "expected.json").read_text())
    name = "%s/%s" % (case.parent.name, case.name)
    for part, reason in LEFT_OUT.items():
        if part in name:
            return reason
    if "schema" not in expected or "group" in expected:
        return "no array"
    if int(case.parent.name[1:]) <= 4 and any(part in name for part in DISORDERED):
        return "cells in no order"
    key = (expected.get("encryption") or {}).get("key")
    keys = ["--sync", "none"] + (["--key", key] if key else [])
    uri = str(case / "array")
    schema = json.loads(run(binary, "schema", uri, "--json", *keys))
    notation = ["--format", "jsonl", "--dates", "int", *keys]

    def theirs():
        return reference("read", key, uri, schema, "row")

    try:
        before = theirs()
    except (libtiledb.TileDBError, libtiledb.ReferenceCrash) as error:
        return "libtiledb does not read it: %s" % error
    cells = run(binary, "read", uri, "--layout", "row", *notation)

    def write_again(what):
        run(binary, "write", uri, "--from", "-", *notation[:2], *keys, stdin=cells)
        try:
            after = theirs()
        except (libtiledb.TileDBError, libtiledb.ReferenceCrash) as error:
            raise Failure("libtiledb does not read it %s: %s" % (what, error)) from error
        if not schema["allows_dups"] and after != before:
            fields = [field for field in before if before[field] != after.get(field)]
            raise Failure("libtiledb reads other cells %s: fields %s" % (what, fields))

    write_again("after another write")
    upgrade = subprocess.run([binary, "upgrade", uri, *keys], capture_output=True, timeout=600)
    if upgrade.returncode == 0:
        write_again("after an upgrade and another write")
    elif b"libtiledb could not read" not in upgrade.stderr:
        raise Failure("smalti upgrade: " + upgrade.stderr.decode())
    return None


def run_version(binary, version, folder):
    """All cases of a version: names passed, names passed over with reasons, failures."""
    with tarfile.open(FIXTURES / ("v%d.tar.gz" % version)) as archive:
        archive.extractall(folder, filter="data")
    passed, over, failed = [], [], []
    reference = libtiledb.Reference()
    try:
        for case in sorted((pathlib.Path(folder) / ("v%d" % version)).iterdir()):
            if not (case / "expected.json").exists():
                continue
            name = "v%d/%s" % (version, case.name)
            try:
                reason = check(binary, case, reference)
            except Failure as failure:
                failed.append("%s: %s" % (name, failure))
                continue
            (passed if reason is None else over).append(name if reason is None else "%s: %s" % (name, reason))
            shutil.rmtree(case, ignore_errors=True)
    finally:
        reference.close()
    return passed, over, failed


def main():
    parser = harness.parser(__doc__, keep=None)
    parser.add_argument("--versions", default="3,5,8,9,11", help="versions, with commas between; `all`: 1 to 21")
    parser.add_argument("--verbose", action="store_true", help="name the cases that are passed over")
    options = parser.parse_args()
    harness.program(parser, options)
    binary = options.smalti
    versions = range(1, 22) if options.versions == "all" else [int(v) for v in options.versions.split(",")]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="smalti-old-") as folder:
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            tasks = [pool.submit(run_version, binary, version, folder) for version in versions]
            for version, task in zip(versions, tasks):
                good, over, bad = task.result()
                print("version %d: %d passed, %d passed over, %d failed" % (version, len(good), len(over), len(bad)))
                for line in bad + (over if options.verbose else []):
                    print("  " + line)
                passed, failed = passed + len(good), failed + len(bad)
    return harness.end(passed, failed)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Old releases of libtiledb must read what the program writes in their format version.

For every version a fixed list of arrays and random ones are written by the program, read by the releases of that
version and by the first of the next, and compared cell for cell with a model. See README.md.
"""
import argparse
import collections
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time
import traceback

from oldlib import OldReader  # the first: it makes the interop tests' modules importable
import cases
import report
from judge import Judge
from libtiledb import library_path as newest_library
from releases import RELEASES, VERSIONS, CannotFetch, library_path, readers
from smalti import SmaltiError
from trial import Mismatch, Refused, Trial, Unsuitable

TIMEOUT_S = 5
_readers = {}


def run_case(options, version, case):
    """(version, case name, random, [(wheel or None, outcome, text)]); outcomes: passed, failed, excused, refused,
    unsuitable, and `left out` beside passed for single reads."""
    folder = os.path.join(options.keep, "v%d" % version, case.name.replace("/", "-").replace(" ", "_").replace(",", ""))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    results, trial = [], Trial(case, version, options.smalti, folder)
    try:
        trial.write()
        own_writer = next(r for r in RELEASES if r.version == version)
        judge = Judge(trial, old_reader(options, own_writer.wheel), newest_reader())
        for release in readers(version, options.newer):
            results += read_by(options, release, judge)
    except Refused as error:
        results.append((None, "refused", str(error)))
    except Unsuitable as error:
        results.append((None, "unsuitable", str(error)))
    except (Mismatch, SmaltiError) as error:
        results.append((None, "failed", str(error)))
    except Exception:
        results.append((None, "failed", traceback.format_exc()))
    if any(outcome == "failed" for _, outcome, _ in results):
        with open(os.path.join(folder, "commands.txt"), "w", encoding="utf-8") as out:
            out.write("\n".join(trial.smalti.commands) + "\n")
    else:
        shutil.rmtree(folder)
    return version, case.name, case.random, results


def read_by(options, release, judge):
    try:
        left_out = judge.hear(release, old_reader(options, release.wheel))
    except Mismatch as error:
        return [(release.wheel, "failed", str(error))]
    except Exception:
        return [(release.wheel, "failed", traceback.format_exc())]
    if any(whole for _, whole in left_out):
        return [(release.wheel, "excused", name) for name, _ in left_out]
    return [(release.wheel, "passed", "")] + sorted({(release.wheel, "left out", name) for name, _ in left_out})


def old_reader(options, wheel):
    """This process's `OldReader` of a release."""
    if wheel not in _readers:
        release = next(r for r in RELEASES if r.wheel == wheel)
        _readers[wheel] = OldReader(library_path(release, options.cache), TIMEOUT_S)
    return _readers[wheel]


def newest_reader():
    """The release that the Python environment has."""
    if "newest" not in _readers:
        _readers["newest"] = OldReader(newest_library(), TIMEOUT_S)
    return _readers["newest"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smalti", required=True, help="the program under test")
    parser.add_argument("--cache", required=True, help="folder that keeps the shared libraries")
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS, help="only this format version (repeatable)")
    parser.add_argument("--count", type=int, default=40, help="random cases for each version")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", help="only cases with this in their names")
    parser.add_argument("--newer", choices=("next", "all", "none"), default="next", help="which newer releases read as well")
    parser.add_argument("--docs", metavar="FILE", help="write the results as a page")
    parser.add_argument("--keep", help="folder for arrays of failed cases (default: a new temporary folder)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-failures", type=int, default=20, help="stop printing failures after so many")
    options = parser.parse_args()
    options.smalti = os.path.abspath(options.smalti)
    if not os.access(options.smalti, os.X_OK):
        parser.error("no program " + options.smalti)
    return options


def main():
    options = parse()
    made = options.keep is None
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="smalti-oldreaders-"))
    versions = sorted(set(options.version or VERSIONS))
    try:
        for wheel in sorted({r.wheel for v in versions for r in readers(v, options.newer)}):
            library_path(next(r for r in RELEASES if r.wheel == wheel), options.cache)
    except CannotFetch as error:
        print("FAILED: an old release of libtiledb cannot be had: %s" % error)
        print("0 passed, 1 failed")
        return 1
    start = time.time()
    summary = report.Summary()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        tasks = []
        for version in versions:
            chosen = [*cases.listed(), *cases.drawn(options.seed, version, options.count)]
            names = collections.Counter(case.name for case in chosen)
            assert max(names.values()) == 1, names.most_common(1)
            tasks += [pool.submit(run_case, options, version, c) for c in chosen if not options.case or options.case in c.name]
        for task in concurrent.futures.as_completed(tasks):
            version, name, random, results = task.result()
            for failure in summary.add(version, name, random, results):
                if summary.failed <= options.max_failures:
                    print("FAILED " + failure, flush=True)
    if made and not summary.failed:
        shutil.rmtree(options.keep)
    elif summary.failed:
        print("arrays of failed cases are kept in " + options.keep)
    print(summary.table(versions, options.newer))
    print(summary.exceptions())
    if options.docs:
        with open(options.docs, "w", encoding="utf-8") as out:
            out.write(summary.page(versions, options))
    print("%.1f s, seed %d" % (time.time() - start, options.seed))
    print("%d passed, %d failed" % (summary.passed, summary.failed))
    return 1 if summary.failed or not summary.passed else 0


if __name__ == "__main__":
    sys.exit(main())

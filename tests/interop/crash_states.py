#!/usr/bin/env python3
"""libtiledb opens states that a power cut may leave: each must show what smalti says that it shows.

The states come from the simulated disk of tests/integration/upkeep (`exports.rs`): every operation on every kind of array, behind
a history that a seed chooses, cut short from its first step to behind its last. Beside each stands what may be seen: cells,
metadata, non-empty domain, attributes and enumerations, before or after the operation; after it alone once it was acknowledged.

One answer more is known and counted: in an array with duplicates, between the commit of a merged fragment and the vacuum file of
what it replaces, libtiledb sees both (docs/decisions/0009). It must be just the cells that this state has so; `exports.rs` says
which those are.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time

import tiledb

import harness
import sight

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Of the workspace, as all tests are built: for the package alone all would be compiled anew.
EXPORT = ["test", "--release", "--locked", "--quiet", "--workspace", "--test", "integration", "--",
          "--ignored", "--exact", "upkeep::exports::states_are_exported_for_other_readers"]
# States on the disk at once.
BATCH = 2000
# States that one process opens.
SHARE = 40


def export(folder, count, seed):
    environment = dict(os.environ, SMALTI_STATES_FOLDER=folder, SMALTI_STATES_COUNT=str(count), SMALTI_STATES_SEED=str(seed))
    cargo = os.environ.get("CARGO", "cargo")
    done = subprocess.run([cargo, *EXPORT], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    made = len(os.listdir(folder))
    if done.returncode != 0 or made != count:
        sys.stdout.buffer.write(done.stdout)
        raise SystemExit("%d of %d states were exported, seed %d" % (made, count, seed))


def judge(folder):
    """Whether the state is in libtiledb's window, whether libtiledb sees more than there is for it, and what is wrong."""
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    is_open = expected["window"] is not None
    try:
        found = sight.state(os.path.join(folder, "root", "array"))
    except tiledb.TileDBError as error:
        return is_open, False, "%s\n  %s" % (expected["what"], error)
    # As JSON has it: pairs are lists.
    found = json.loads(json.dumps(found))
    if found in expected["allowed"]:
        return is_open, False, None
    if is_open and expected["kind"] == "dups":
        doubled = [dict(state, cells=expected["window"]) for state in expected["allowed"]]
        if found in doubled:
            return True, True, None
    allowed = "\n    ".join(json.dumps(state) for state in expected["allowed"])
    return is_open, False, "%s\n  libtiledb sees\n    %s\n  of\n    %s" % (expected["what"], json.dumps(found), allowed)


def judge_all(folders):
    """As `judge`, for each of some folders. A process that dies is tried again with each alone, three times."""
    together = sight.in_a_process(lambda: [judge(folder) for folder in folders])
    if together is not None:
        return together
    outcomes = []
    for folder in folders:
        trials = (sight.in_a_process(lambda: judge(folder)) for _ in range(3))
        alone = next((outcome for outcome in trials if outcome is not None), None)
        outcomes.append(alone or (False, False, "%s\n  the process died three times" % folder))
    return outcomes


def main():
    # The program under test is not used: the states come from the library.
    parser = harness.parser(__doc__, keep="states")
    parser.add_argument("--count", type=int, default=440, help="states")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kept = harness.Kept(options, "smalti-states-")
    start, failed, opened, doubled = time.time(), 0, 0, 0
    for batch, first in enumerate(range(0, options.count, BATCH)):
        count, seed = min(BATCH, options.count - first), options.seed + batch
        folder = os.path.join(options.keep, "seed-%d" % seed)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        export(folder, count, seed)
        folders = [os.path.join(folder, str(number)) for number in range(count)]
        shares = [folders[at:at + SHARE] for at in range(0, count, SHARE)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for share, outcomes in zip(shares, pool.map(judge_all, shares)):
                for state, (is_open, is_doubled, failure) in zip(share, outcomes):
                    opened, doubled = opened + is_open, doubled + is_doubled
                    if failure is None:
                        shutil.rmtree(state)
                    else:
                        failed += 1
                        print("FAILED %s: %s\n" % (state, failure), flush=True)
    kept.close(failed)
    print("crash states: %.1f s, %d states, seed %d; %d in libtiledb's window, which doubled the cells of %d"
          % (time.time() - start, options.count, options.seed, opened, doubled))
    return harness.end(options.count - failed, failed)


if __name__ == "__main__":
    sys.exit(main())

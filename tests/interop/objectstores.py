#!/usr/bin/env python3
"""Arrays and groups in a bucket: smalti and libtiledb must see the same in what the other wrote there.

moto serves S3 on the loopback for as long as this runs. The cases are those of other scripts of this folder, drawn from the same numbers, with
URIs instead of paths:

- `ours-to-theirs` and `theirs-to-ours`: arrays of all kinds, written by one and read by the other (differential.py);
- `histories`: both write to one array in turn, delete, consolidate and vacuum (histories.py);
- `upkeep`: consolidation and vacuum of commits, footers and metadata by either (upkeep.py);
- `groups`: members and metadata of groups that both change, which are then moved (groups.py);
- `demo`: `smalti demo --to` the bucket, and every command that it prints.
"""
import os
import shlex
import subprocess
import sys
import time
import traceback

import differential
import groups
import harness
import histories
import places
import sight
import upkeep

BUCKET = "arrays"


def exchange(direction):
    return lambda options, number, bucket: differential.run_case(options, number, direction, bucket)[2]


def history(options, number, bucket):
    return histories.run_case(options, number, bucket)[1]


def group(options, number, bucket):
    """In a process of its own, as cases of upkeep are: what libtiledb has started does not survive the forks of others."""
    outcome = sight.in_a_process(lambda: [groups.run_case(options, number, bucket)])
    return outcome[0] if outcome else "FAILED groups, seed %d, case %d\n  the process died" % (options.seed, number)


def demo(options, number, bucket):
    """Runs the demo, and what it says to try next, in a folder of the case."""
    folder = os.path.join(options.keep, "demo-%d" % number)
    os.makedirs(folder)
    run = lambda command: subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    try:
        said = run([options.smalti, "demo", "--to", "s3://%s/tour-%d" % (bucket.name, number)]).stdout
        suggested = said.split("Try next:")[1].splitlines()
        commands = [line.strip() for line in suggested if line.strip().startswith(options.smalti)]
        for command in commands:
            run(shlex.split(command))
        pictures = [os.path.getsize(os.path.join(folder, "demo-output", name)) for name in ("map.png", "fragments.svg", "merged.svg")]
        if len(commands) < 5 or min(pictures) < 10_000:
            return "FAILED demo: it suggests %d commands, and the pictures have %s bytes" % (len(commands), pictures)
    except subprocess.CalledProcessError as error:
        return "FAILED demo\n  $ %s\n  %s" % (shlex.join(error.cmd), error.stderr)
    except Exception:
        return "FAILED demo\n" + traceback.format_exc()
    return None


# The kinds of cases, and how many there are of each for a count of 8.
KINDS = {
    "demo": (demo, 1),
    "ours-to-theirs": (exchange("ours-to-theirs"), 8),
    "theirs-to-ours": (exchange("theirs-to-ours"), 8),
    "histories": (history, 3),
    "upkeep": (upkeep.run_case, 3),
    "groups": (group, 3),
}


def run_case(options, kind, number):
    """(kind, None or how the case failed)"""
    return kind, KINDS[kind][0](options, number, options.bucket)


def cases(options):
    wanted = [(kind, count) for kind, (_, count) in KINDS.items() if options.kind in (None, kind)]
    if options.case is not None:
        return [(kind, options.case) for kind, _ in wanted]
    numbers = lambda kind, count: range(1 if kind == "demo" else -(-options.count * count // 8))
    return [(kind, number) for kind, count in wanted for number in numbers(kind, count)]


def main():
    parser = harness.parser(__doc__, 8, "cases in each direction; others in proportion")
    parser.add_argument("--kind", choices=KINDS, help="only these cases")
    parser.set_defaults(self_check=False)
    options = parser.parse_args()
    harness.program(parser, options)
    kept = harness.Kept(options, "smalti-objectstores-")
    start, failed, wanted = time.time(), 0, cases(options)
    with places.Moto() as moto:
        os.environ.update(moto.environment())
        options.bucket = moto.bucket(BUCKET)
        for kind, failure in harness.outcomes(options, run_case, wanted):
            if failure is not None:
                failed += 1
                if failed <= options.max_failures:
                    print("%s: %s\n" % (kind, failure), flush=True)
    kept.close(failed)
    print("objectstores: %.1f s, seed %d" % (time.time() - start, options.seed))
    return harness.end(len(wanted) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())

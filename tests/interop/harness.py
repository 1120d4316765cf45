"""What the scripts of this folder share: options, the program under test, folders of failed cases, cases side by side, and the last
line, whose counts `cargo xtask` reads."""
import argparse
import concurrent.futures
import os
import shutil
import tempfile
import time


def parser(doc, count=None, what="cases", jobs=True, keep="arrays"):
    """A parser with the options of most scripts: those of cases where there is a `count`, a folder for the `keep` that fail."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--smalti", default="smalti", help="the binary under test")
    if count is not None:
        made.add_argument("--count", type=int, default=count, help=what)
        made.add_argument("--seed", type=int, default=1)
        made.add_argument("--case", type=int, help="only this case")
        made.add_argument("--max-failures", type=int, default=20, help="stop printing failures after so many")
    if keep:
        made.add_argument("--keep", help="folder for %s of failed cases (default: a new temporary folder)" % keep)
    if jobs:
        made.add_argument("--jobs", type=int, default=2)
    return made


def program(parser, options):
    """Makes the path of the program under test absolute, for cases that run elsewhere."""
    found = shutil.which(options.smalti)
    if found is None:
        parser.error("no program " + options.smalti)
    options.smalti = os.path.abspath(found)


def numbers(options):
    """The cases that are wanted."""
    return range(options.count) if options.case is None else [options.case]


class Kept:
    """The folder for what fails: `options.keep`, or a new one that goes when nothing has failed."""

    def __init__(self, options, prefix):
        self.is_made = options.keep is None
        self.folder = options.keep = os.path.realpath(options.keep or tempfile.mkdtemp(prefix=prefix))

    def close(self, failed):
        if self.is_made and not failed:
            shutil.rmtree(self.folder)


def outcomes(options, run_case, cases):
    """What `run_case(options, *case)` gives for each case, as they end, in processes side by side."""
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(run_case, options, *case) for case in cases]
        for task in concurrent.futures.as_completed(tasks):
            yield task.result()


def end(passed, failed):
    """Prints the last line; the exit status."""
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def run_cases(doc, name, run_case, count):
    """A script whose `run_case(options, number)` gives None, or what failed."""
    made = parser(doc, count)
    options = made.parse_args()
    program(made, options)
    kept = Kept(options, "smalti-%s-" % name)
    start, failed, wanted = time.time(), 0, numbers(options)
    for failure in outcomes(options, run_case, [(number,) for number in wanted]):
        if failure is not None:
            failed += 1
            if failed <= options.max_failures:
                print(failure + "\n", flush=True)
    kept.close(failed)
    print("%s: %.1f s, seed %d" % (name, time.time() - start, options.seed))
    return end(len(wanted) - failed, failed)

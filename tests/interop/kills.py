#!/usr/bin/env python3
"""The program is killed (SIGKILL) at its k-th storage call, for every k of every operation: what it leaves shows the array as it was
before or as it is after, to smalti and to libtiledb, and the same command then succeeds.

With strace, the k-th call of `CALLS` of any thread ends the program before the call has an effect. Without it (or with `--random N`) the
program is killed N times per operation at moments that a seed chooses. Power cuts are not the matter of this test: what was written
stays in the page cache. tests/integration/upkeep/cuts.rs enumerates those.
"""
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import time

import tiledb

import harness
import kill_subjects
import sight
from smalti import SmaltiError

# What changes something on the disk, but for opening files, of which most are libraries and only read.
CALLS = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,flock"


class Failure(Exception):
    pass


class Case:
    def __init__(self, options, kind, prepared, name):
        self.options, self.kind, self.name = options, kind, name
        self.label = "%s of %s %s" % (name, prepared, kind)
        self.folder = os.path.join(options.keep, self.label.replace(" ", "-"))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.subject = kill_subjects.make(options.smalti, self.folder, kind, prepared)
        self.operation = kill_subjects.operation(kind, name)
        self.command = self.operation.command(self.subject)
        self.base = os.path.join(self.folder, "base")
        if os.path.exists(self.subject.path):
            os.rename(self.subject.path, self.base)
        self.states = self.opened = self.doubled = 0

    def restore(self):
        """The subject as it was, and nothing new beside it."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if os.path.isdir(path) and path != self.base and name != kill_subjects.SOURCE:
                shutil.rmtree(path)
        if os.path.exists(self.base):
            shutil.copytree(self.base, self.subject.path)

    def view(self):
        return self.subject.view(self.operation.seen)

    def attempt(self):
        """Whether the command succeeds."""
        try:
            self.subject.run(*self.command)
        except SmaltiError:
            return False
        return True

    def run(self):
        self.restore()
        self.before, foreign_before = self.view(), self.subject.foreign_view()
        start = time.time()
        self.subject.run(*self.command)
        self.duration = time.time() - start
        self.after, foreign_after = self.view(), self.subject.foreign_view()
        # Of changes some are refused the second time, and duplicates double.
        self.succeeds_twice = self.attempt()
        self.twice = self.view()
        self.foreign = [foreign_before, foreign_after]
        self.window = None
        if self.operation.merges and self.kind == "dups":
            self.window = self.subject.doubled(foreign_before, foreign_after)
        if self.options.random:
            rng = random.Random("%d/%s" % (self.options.seed, self.label))
            for _ in range(self.options.random):
                self.kill_after(rng.random() * self.duration * 1.1)
        else:
            k = 1
            while self.kill_at(k):
                k += self.options.stride

    def kill_at(self, k):
        """Whether there was a k-th call."""
        self.restore()
        inject = "inject=%s:signal=KILL:when=%d" % (CALLS, k)
        strace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=" + CALLS, "-e", inject]
        done = subprocess.run([*strace, self.options.smalti, *self.command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=600)
        is_killed = done.returncode in (-9, 137)
        if not is_killed and done.returncode != 0:
            raise Failure("call %d: exit status %d: %s" % (k, done.returncode, done.stderr.decode("utf-8", "replace")))
        self.check("killed at call %d" % k, is_killed)
        return is_killed

    def kill_after(self, seconds):
        self.restore()
        child = subprocess.Popen([self.options.smalti, *self.command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
        is_killed = child.wait() != 0
        self.check("killed after %.6f s" % seconds, is_killed)

    def check(self, how, is_killed):
        self.states += 1
        found = self.view()
        sides = ([self.before] if is_killed else []) + [self.after]
        effect = self.operation.effect
        if effect == "change" and found not in sides or effect == "upkeep" and not is_between(found, sides):
            raise Failure("%s: seen is\n    %s, not one of\n    %s" % (how, found, "\n    ".join(map(str, sides))))
        if effect != "removal" and self.states % self.options.foreign == 0:
            self.opened += 1
            foreign = self.subject.foreign_view()
            if foreign not in self.foreign:
                if self.window is None or foreign != self.window:
                    raise Failure("%s: libtiledb sees\n    %s, not one of\n    %s" % (how, foreign, "\n    ".join(map(str, self.foreign))))
                self.doubled += 1
        self.check_again(how, found)

    def check_again(self, how, found):
        succeeds, again = self.attempt(), self.view()
        is_once = succeeds and is_between(again, [self.after])
        if self.operation.effect == "upkeep":
            is_right = is_once
        elif found == self.after:
            is_right = succeeds == self.succeeds_twice and again == self.twice
        else:
            is_right = is_once
        if not is_right:
            raise Failure("%s, then again, which %s: seen is\n    %s, not\n    %s"
                          % (how, "succeeds" if succeeds else "fails: " + self.subject.smalti.commands[-1], again, self.after))


def is_between(found, sides):
    """Whether each part at each time is as on some side."""
    return all(part in [side[at] for side in sides] for at, part in enumerate(found))


def run_case(options, kind, prepared, name):
    """The failure, if any, the states, how many of them libtiledb opened, and how many of these were in its window."""
    def work():
        case, failure = None, None
        try:
            case = Case(options, kind, prepared, name)
            case.run()
            shutil.rmtree(case.folder)
        except (Failure, SmaltiError, tiledb.TileDBError, subprocess.TimeoutExpired) as error:
            failure = "FAILED %s of %s %s\n  %s" % (name, prepared, kind, error)
        return [failure, *([case.states, case.opened, case.doubled] if case else [0, 0, 0])]

    return sight.in_a_process(work) or ["FAILED %s of %s %s\n  the process died" % (name, prepared, kind), 0, 0, 0]


def has_strace(binary):
    """Whether there is an strace that may trace and inject."""
    if shutil.which("strace") is None:
        return False
    trial = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=write", "-e", "inject=write:signal=KILL:when=1"]
    return subprocess.run([*trial, binary, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode in (-9, 137)


def main():
    parser = harness.parser(__doc__)
    parser.add_argument("--stride", type=int, default=1, help="kill at one call of so many")
    parser.add_argument("--random", type=int, default=0, help="kill so often per operation at random moments instead")
    parser.add_argument("--foreign", type=int, default=2, help="libtiledb opens one state of so many")
    parser.add_argument("--arrays", default="all", help="`some`: one array of each kind and a group; `all`: each with all histories")
    parser.add_argument("--only", help="cases whose kind, history and operation hold this, such as `group merged`")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    harness.program(parser, options)
    kept = harness.Kept(options, "smalti-kills-")
    if not options.random and not has_strace(options.smalti):
        print("kills: no strace here, so at random moments")
        options.random = 5
    cases = kill_subjects.subjects(options.arrays == "all")
    if options.only:
        cases = [case for case in cases if options.only in " ".join(case)]
    start, failures, counts = time.time(), 0, [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for failure, *more in pool.map(lambda case: run_case(options, *case), cases):
            counts = [sum(pair) for pair in zip(counts, more)]
            if failure is not None:
                failures += 1
                print(failure + "\n", flush=True)
    kept.close(failures)
    print("kills: %.1f s, %d states, %d of them opened by libtiledb, of which its window doubled the cells of %d"
          % (time.time() - start, *counts))
    return harness.end(len(cases) - failures, failures)


if __name__ == "__main__":
    sys.exit(main())

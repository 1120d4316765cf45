#!/usr/bin/env python3
"""Differential test of groups: smalti and libtiledb must see the same members and metadata in each other's groups.

Each case is drawn from (seed, case number): a history of changes at ascending times, each made by smalti or by libtiledb, of one
group with members inside and outside its folder, by relative and absolute URI, named and not, sometimes encrypted. After it both
list the members and the metadata at every time, and are compared with a naive model; then the group is moved by smalti, and
both list it again.
"""
import json
import os
import random
import shutil
import sys
import traceback

import numpy
import tiledb

import harness
from smalti import Smalti, SmaltiError

KEY = "0123456789abcdefghijklmnopqrstuv"
ENCRYPTED_SHARE = 0.2
INSIDE, OUTSIDE = ["a0", "a1", "sub", "deep/a2"], ["out0", "outgroup"]
NAMES = ["first", "second", "a name", "ünï", "x/y", "a0"]


class Mismatch(Exception):
    """The case failed; the text says how."""


class Case:
    def __init__(self, seed, number, folder, binary):
        self.rng = random.Random("%s/%s" % (seed, number))
        self.folder, self.group = folder, os.path.join(folder, "group")
        self.key = KEY if self.rng.random() < ENCRYPTED_SHARE else None
        self.smalti = Smalti(binary, folder, self.key)
        # Objects are not encrypted: what a group lists is looked at without opening it.
        self.plain = Smalti(binary, folder)
        self.steps = []
        # Time -> the members {key: (name, uri, is relative, kind)} and the metadata {key: number} from then on.
        self.states = [(0, {}, {})]

    def config(self, **more):
        options = {"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1"}
        if self.key:
            options.update({"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": self.key})
        options.update(more)
        return tiledb.Config(options)

    def make(self):
        self.by_smalti("create", self.group) if self.rng.random() < 0.5 else tiledb.Group.create(self.group)
        os.makedirs(os.path.join(self.group, "deep"))
        for name in INSIDE + OUTSIDE:
            path = os.path.join(self.group if name in INSIDE else self.folder, name)
            ours = self.rng.random() < 0.5
            if name in ("sub", "outgroup"):
                self.plain.run("group", "create", path) if ours else tiledb.Group.create(path)
            else:
                tiledb.from_numpy(path, numpy.arange(3)).close()

    def by_smalti(self, *args):
        return self.smalti.run("group", *args)

    def change(self, at):
        members, metadata = dict(self.states[-1][1]), dict(self.states[-1][2])
        ours = self.rng.random() < 0.5
        count = self.rng.choice([1, 1, 1, 2, 3])
        kind = self.rng.random()
        step = [at, "smalti" if ours else "libtiledb"]
        if kind < 0.3 and members:
            keys = self.rng.sample(sorted(members), min(count, len(members)))
            step += ["remove", keys]
            self.remove(keys, at, ours)
            for key in keys:
                del members[key]
        elif kind < 0.45:
            key, value = self.rng.choice(["k", "l", "m"]), self.rng.randrange(-9, 9)
            value = None if key in metadata and self.rng.random() < 0.3 else value
            step += ["metadata", key, value]
            self.put_metadata(key, value, at, ours)
            metadata.pop(key, None)
            if value is not None:
                metadata[key] = value
        else:
            name = self.rng.choice([None] + NAMES)
            target = self.rng.choice(INSIDE + OUTSIDE)
            is_relative = target in INSIDE and self.rng.random() < 0.7
            path = os.path.join(self.group if target in INSIDE else self.folder, target)
            uri = target if is_relative else "file://" + path
            if name is None and ours and (is_relative or target in OUTSIDE):
                # smalti names a member by the last part of its URI.
                name = target.rsplit("/", 1)[-1]
            key = uri if name is None else name
            if key in members:
                return
            step += ["add", name, uri]
            self.add(name, uri, is_relative, path, at, ours)
            members[key] = (name, uri, is_relative, "group" if target in ("sub", "outgroup") else "array")
        self.steps.append(step)
        self.states.append((at, members, metadata))

    def add(self, name, uri, is_relative, path, at, ours):
        if ours:
            args = ["add", self.group, uri, "--at", str(at)] + (["--name", name] if name is not None else [])
            # What is inside is made relative unless its URI says otherwise, which the command line cannot.
            if not is_relative and path.startswith(self.group + "/"):
                ours = False
            else:
                self.by_smalti(*args, *(["--relative"] if is_relative else []))
        if not ours:
            with self.opened("w", at) as group:
                group.add(uri, name=name, relative=is_relative)

    def remove(self, keys, at, ours):
        if ours:
            self.by_smalti("remove", self.group, *keys, "--at", str(at))
            return
        with self.opened("w", at) as group:
            for key in keys:
                group.remove(key)

    def put_metadata(self, key, value, at, ours):
        if ours:
            self.smalti.run("meta", self.group, *(["delete", key] if value is None else ["put", key, "INT64", str(value)]), "--at", str(at))
            return
        with self.opened("w", at) as group:
            if value is None:
                del group.meta[key]
            else:
                group.meta[key] = value

    def opened(self, mode, at):
        config = self.config(**{"sm.group.timestamp_end": str(at)})
        return tiledb.Group(self.group, mode, config=config, ctx=tiledb.Ctx(config))

    def check(self):
        times = sorted({at for at, _, _ in self.states} | {at - 1 for at, _, _ in self.states[1:]})
        for at in times:
            _, members, metadata = [state for state in self.states if state[0] <= at][-1]
            self.compare("smalti", at, self.listed_by_smalti(at), members)
            found = {key: item["value"][0] for key, item in json.loads(self.smalti.run("meta", self.group, "--json", "--at", str(at))).items()}
            self.expect("smalti's metadata", at, found, metadata)
            # Zero means now to libtiledb.
            if at == 0:
                continue
            with self.opened("r", at) as group:
                found = {}
                for member in group:
                    kind = "group" if member.type is tiledb.Group else "array"
                    found[(member.name, member.uri)] = kind
                self.compare("libtiledb", at, found, members)
                self.expect("libtiledb's metadata", at, {key: int(group.meta[key]) for key in group.meta}, metadata)

    def listed_by_smalti(self, at):
        text = self.by_smalti("list", self.group, "--json", "--at", str(at))
        return {(m["name"], "file://" + m["address"]): m["kind"] for m in json.loads(text)["members"]}

    def compare(self, who, at, found, members):
        wanted = {}
        for name, uri, is_relative, kind in members.values():
            wanted[(name, "file://" + os.path.join(self.group, uri) if is_relative else uri)] = kind
        self.expect(who + "'s members", at, found, wanted)

    def expect(self, what, at, found, wanted):
        if found != wanted:
            raise Mismatch("%s at %d are\n    %s, not\n    %s" % (what, at, found, wanted))

    def run(self):
        self.make()
        at = 0
        for _ in range(self.rng.randrange(1, 12)):
            at += self.rng.randrange(1, 50)
            self.change(at)
        self.check()
        moved = os.path.join(self.folder, "moved", "group")
        if all(is_relative or not uri.startswith("file://" + self.group + "/") for _, members, _ in self.states
               for _, uri, is_relative, _ in members.values()):
            self.plain.run("mv", self.group, moved)
            self.group = moved
            self.check()


def run_case(options, number):
    folder = os.path.join(options.keep, "groups-%d-%d" % (options.seed, number))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = Case(options.seed, number, folder, options.smalti)
    try:
        case.run()
    except (Mismatch, SmaltiError, tiledb.TileDBError) as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    else:
        shutil.rmtree(folder)
        return None
    lines = ["FAILED groups, seed %d, case %d" % (options.seed, number), "  " + failure]
    lines += ["  step: %s" % json.dumps(step, ensure_ascii=False) for step in case.steps]
    lines += ["  $ " + command for command in case.smalti.commands + case.plain.commands]
    return "\n".join(lines + ["  kept in " + folder])


def main():
    return harness.run_cases(__doc__, "groups", run_case, 200)


if __name__ == "__main__":
    sys.exit(main())

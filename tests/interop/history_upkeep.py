"""Consolidation and vacuum in histories, by smalti and by libtiledb, and which times of the past both keep then."""
import json
import os
import shutil
import uuid
from dataclasses import dataclass

import celltypes
from known_differences import known
from libtiledb import ReferenceCrash, TileDBError
from smalti import SmaltiError

# What smalti says where it refuses to merge fragments that were asked for by name.
REFUSALS = ("merge it with them", "no schema holds them all")
# What it says where it refuses to read times that upkeep took.
GONE = ("are not told apart any more", "were purged, so the array cannot be read as of")
# Bytes that a merged fragment may have beside those of its inputs: metadata of each field; times of each cell.
BYTES_PER_FIELD, BYTES_PER_CELL = 2048, 32


def range_of(name):
    """The first and last time of a fragment."""
    start, end = name.split("_")[2:4]
    return int(start), int(end)


def within(inner, outer):
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def apart(a, b):
    return a[1] < b[0] or b[1] < a[0]


@dataclass
class Held:
    """A fragment on the disk: the times of its writes, and the names of its fields."""

    range: tuple
    times: set
    names: list
    # Whether what it was merged of is gone, and whether smalti took it and says so.
    lost_inputs: bool = False
    is_told: bool = False


class Fragments:
    """The fragments of a history, as its steps made them."""

    def __init__(self, dense):
        self.dense = dense
        self.visible, self.replaced = {}, {}
        # Purged by smalti: (times of the fragments, the time from which on nothing that is shown was taken, the new fragment).
        self.purges = []

    def see_write(self, listed, ts, names):
        for name in set(listed) - set(self.visible):
            self.visible[name] = Held(range_of(name), {ts}, names)

    def merge(self, inputs, outputs, names):
        """Returns the times of the writes of what was merged."""
        held = [self.visible.pop(name) for name in inputs]
        self.replaced.update(zip(inputs, held))
        times = set().union(*(one.times for one in held))
        for name in outputs:
            self.visible[name] = Held(range_of(name), times, names)
        return times

    def vacuum(self, by_smalti):
        for name, one in self.visible.items() if self.replaced else ():
            if any(within(old.range, one.range) and old.times <= one.times for old in self.replaced.values()):
                # What smalti writes down of a purge tells of the merge too.
                purged = any(name == purge[2] for purge in self.purges)
                one.lost_inputs, one.is_told = True, by_smalti or purged
        self.replaced = {}

    def delete(self, names):
        """Returns the times of the writes that were deleted."""
        there = {**self.visible, **self.replaced}
        self.visible = {name: one for name, one in self.visible.items() if name not in names}
        self.replaced = {name: one for name, one in self.replaced.items() if name not in names}
        kept = set().union(*(one.times for one in self.visible.values()))
        return set().union(*(there[name].times for name in names)) - kept

    def copied(self):
        """The same fragments in an array that never had others."""
        self.replaced = {}
        for one in self.visible.values():
            one.lost_inputs, one.is_told = one.range[0] < one.range[1], False

    def cut(self, window):
        """Dense fragments that lost what they were merged of, and that a window of times has a part of."""
        there = [*self.visible.values(), *self.replaced.values()] if self.dense else []
        return [one for one in there if one.lost_inputs and not apart(one.range, window) and not within(one.range, window)]

    def refused(self, window):
        """Whether smalti must refuse a window of times."""
        seen = within if self.dense else lambda times, window: not apart(times, window)
        purged = any(seen(times, window) and window[1] < at for times, at, _ in self.purges)
        return purged or any(one.is_told for one in self.cut(window))

    def lost(self, window):
        """The times of writes whose cells a window of times does not show."""
        return set().union(*(one.times for one in self.cut(window)))


def window_of(read):
    at = read.get("at")
    return read.get("since") or 0, 2**64 - 1 if at is None else at


class Upkeep:
    """Steps of a case; see histories.Case, which has what is used here."""

    def upkeep(self):
        """A random step."""
        steps = [self.consolidate_by_smalti] * 3 + [self.vacuum_by_smalti, self.vacuum_by_libtiledb]
        ranges = sorted(one.range for one in self.fragments.visible.values())
        overlap = any(a[1] >= b[0] for a, b in zip(ranges, ranges[1:]))
        # See known_differences: consolidation of fragments that overlap in time, and after an attribute was dropped.
        kept = not self.dropped() and not self.merges_older_schema()
        if self.ascends and not overlap and kept and not known("history consolidation", self):
            steps += [self.consolidate_by_libtiledb] * 2
        if self.fragments.visible and self.rng.random() < 0.1:
            steps = [self.delete_fragments]
        self.rng.choice(steps)()

    def merges_older_schema(self):
        """Whether some fragment has fields that the newest schema lacks."""
        newest = {f[0] for f in celltypes.fields(self.draw.schema)}
        return any(set(one.names) - newest for one in self.fragments.visible.values())

    def listed(self):
        rows = json.loads(self.smalti.run("fragments", self.uri, "--json"))
        return {row["name"]: row for row in rows}

    def expect(self, what, fine):
        if not fine:
            raise self.mismatch(what)

    def consolidate_by_smalti(self):
        rng, fragments = self.rng, self.fragments
        args = []
        kind = rng.choice(["policy", "policy", "steps", "listed", "listed", "time"])
        if kind == "steps":
            args += ["--steps", str(rng.choice([1, 2, 9]))]
            if rng.random() < 0.5:
                args += ["--min-fragments", "2", "--max-fragments", str(rng.choice([2, 3, 5]))]
            args += ["--amplification", str(rng.choice([1, 2, 50]))] * (rng.random() < 0.7)
        elif kind == "listed" and len(fragments.visible) > 1:
            names = sorted(fragments.visible)
            for name in rng.sample(names, rng.randint(2, len(names))):
                args += ["--fragment", name]
        elif kind == "time":
            since = rng.choice(self.times)
            args += ["--since", str(since), "--at", str(since + rng.choice([0, 20, 100]))]
        # What older cells a purged one hid may come back when they are written later: times ascend.
        purges = self.ascends and rng.random() < 0.2
        args += ["--purge"] * purges
        if not self.dense and rng.random() < 0.3:
            args += ["--max-fragment-size", str(rng.choice([1, 100, 1000]))]
        self.steps.append("consolidate by smalti: " + " ".join(args))
        domain = self.non_empty_domain()
        before = self.listed()
        try:
            out = json.loads(self.smalti.run("consolidate", self.uri, "--json", *args))
        except SmaltiError as error:
            if kind == "listed" and any(text in str(error) for text in REFUSALS):
                self.tally["upkeep: smalti refuses to merge fragments"] += 1
                self.expect("a consolidation that was refused left traces", self.listed() == before)
                return
            raise
        self.tally["upkeep: consolidation by smalti, %s%s" % (kind, ", purged" * purges)] += 1
        newest = [f[0] for f in celltypes.fields(self.draw.schema)]
        for merge in out["merges"]:
            held = [fragments.visible[name] for name in merge["inputs"]]
            own = [one.names for one in sorted(held, key=lambda one: one.range, reverse=True)]
            whole = set().union(*own)
            names = newest if purges else next(names for names in [newest] + own if whole <= set(names))
            self.consolidated = True
            times = fragments.merge(merge["inputs"], merge["outputs"], names)
            self.model.consolidate(times, names)
            if purges:
                span = min(one.range[0] for one in held), max(one.range[1] for one in held)
                ends = [ts for ts, _, _ in self.model.deletes if ts >= span[0] and merge["purged"]]
                ends += [self.states[-1][0]] * bool(whole - set(newest))
                fragments.purges += [(span, max(ends), (merge["outputs"] or [None])[0])] if ends else []
        after = self.listed()
        self.expect("fragments %s are visible, not %s" % (sorted(after), sorted(fragments.visible)),
                    set(after) == set(fragments.visible))
        if not purges:
            self.expect("the non-empty domain changed", self.non_empty_domain() == domain)
        sizes = {**before, **after}
        for merge in out["merges"] if not self.dense else []:
            if any(name not in sizes for name in merge["inputs"] + merge["outputs"]):
                continue
            size = lambda names: sum(sizes[name]["bytes"] for name in names)
            room = BYTES_PER_FIELD * (4 + len(newest)) * max(1, len(merge["outputs"])) + BYTES_PER_CELL * merge["cells"]
            self.expect("%d bytes became %d" % (size(merge["inputs"]), size(merge["outputs"])),
                        size(merge["outputs"]) <= 2 * size(merge["inputs"]) + room)
        self.check_deletion_notes()

    def check_deletion_notes(self):
        """Nothing that no reader looks at is left of a consolidation that ended."""
        names = os.listdir(os.path.join(self.uri, "__commits"))
        self.expect("a pending file is left", not any(name.endswith(".tmp") for name in names))

    def consolidate_by_libtiledb(self):
        fragments = self.fragments
        self.steps.append("consolidate by libtiledb")
        try:
            self.reference("consolidate", None, self.uri)
        except (TileDBError, ReferenceCrash) as error:
            # It leaves the array as it was.
            self.tally["upkeep: libtiledb cannot consolidate: " + str(error)[:80]] += 1
        after = self.listed()
        lost = set(fragments.visible) - set(after)
        newest = [f[0] for f in celltypes.fields(self.draw.schema)]
        for name in set(after) - set(fragments.visible):
            inputs = [old for old in lost if within(range_of(old), range_of(name))]
            self.consolidated = True
            self.model.consolidate(fragments.merge(inputs, [name], newest), newest)
            self.tally["upkeep: consolidation by libtiledb"] += 1
        self.expect("fragments are lost: %s" % (set(fragments.visible) - set(after)), set(after) == set(fragments.visible))

    def delete_fragments(self):
        rng, fragments = self.rng, self.fragments
        names = sorted(fragments.visible)
        # The model does not know which cells are in which of several fragments that a merge made.
        shares = lambda name: any(
            other != name and one.times & fragments.visible[name].times for other, one in fragments.visible.items())
        alone = [name for name in names if not shares(name)]
        args = rng.sample(alone, min(rng.choice([1, 2]), len(alone)))
        if not alone or rng.random() < 0.3:
            since = rng.choice(self.times)
            args = ["--since", str(since), "--at", str(since + rng.choice([0, 5, 30]))]
        self.steps.append("delete fragments by smalti: " + " ".join(args))
        done = json.loads(self.smalti.run("fragments", self.uri, "delete", *args, "--json"))
        gone = set(done["fragments"]) | set(done["replaced"])
        self.expect("%s were deleted" % gone, gone <= {**fragments.visible, **fragments.replaced}.keys())
        if "--since" in args:
            wanted = {name for name in names if within(range_of(name), (int(args[1]), int(args[3])))}
            self.expect("%s were deleted" % done["fragments"], set(done["fragments"]) == wanted)
        else:
            self.expect("%s were deleted" % done["fragments"], set(done["fragments"]) == set(args))
        times = fragments.delete(gone)
        self.model.writes = [write for write in self.model.writes if write[0] not in times]
        self.tally["upkeep: fragments deleted by smalti"] += 1
        self.expect("others are visible", set(self.listed()) == set(fragments.visible))

    def copy_fragments(self):
        """Goes on with another array that the fragments were copied to. Its schemas have other names."""
        fragments, other = self.fragments, self.uri + "-copy"
        if fragments.purges or not fragments.visible:
            return
        self.steps.append("copy all fragments by smalti")
        kept = lambda folder, names: [
            name for name in names
            if folder.endswith("__fragments") or folder.endswith("__commits") and not name.endswith(".del")]
        shutil.copytree(self.uri, other, ignore=kept)
        folder = os.path.join(other, "__schema")
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                os.rename(os.path.join(folder, name), os.path.join(folder, "_".join(name.split("_")[:4] + [uuid.uuid4().hex])))
        self.smalti.run("fragments", self.uri, "copy", *sorted(fragments.visible), "--to", other)
        self.uri = other
        fragments.copied()
        self.tally["upkeep: all fragments copied by smalti"] += 1
        self.expect("others are visible", set(self.listed()) == set(fragments.visible))

    def vacuum_by_smalti(self):
        self.steps.append("vacuum by smalti")
        domain = self.non_empty_domain()
        done = json.loads(self.smalti.run("vacuum", self.uri, "--json"))
        self.tally["upkeep: vacuum by smalti"] += 1
        self.expect("the non-empty domain changed", self.non_empty_domain() == domain)
        self.expect("%s were removed, not %s" % (done["fragments"], sorted(self.fragments.replaced)),
                    set(done["fragments"]) == set(self.fragments.replaced))
        self.fragments.vacuum(True)
        self.check_vacuumed()

    def vacuum_by_libtiledb(self):
        self.steps.append("vacuum by libtiledb")
        self.reference("vacuum", None, self.uri)
        self.tally["upkeep: vacuum by libtiledb"] += 1
        self.fragments.vacuum(False)
        self.check_vacuumed()

    def check_vacuumed(self):
        there = os.listdir(os.path.join(self.uri, "__fragments"))
        self.expect("%s are on the disk" % there, set(there) == set(self.fragments.visible))

    def non_empty_domain(self):
        return json.loads(self.smalti.run("info", self.uri, "--json"))["non_empty_domain"]

    def refuses(self, shown, read, ask):
        """Whether a read is refused by smalti, as it must be where upkeep took the times that it is about."""
        if not self.fragments.refused(window_of(read)):
            return False
        try:
            ask()
        except SmaltiError as error:
            if any(text in str(error) for text in GONE):
                self.tally["reads refused, of times that are gone"] += 1
                return True
            raise
        raise self.mismatch("smalti reads times that are gone\n  " + shown)

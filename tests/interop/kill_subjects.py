"""What `kills.py` kills the program at: an array or a group with a history, the operations on it, and what both see of it."""
import json
import os

import tiledb

import sight
from smalti import Smalti, SmaltiError

FILL = -(1 << 31)
TIMES = [15, 25, None]
ARRAY_MODES = ("fragments", "commits", "fragment_meta", "array_meta")


class Operation:
    """`command(subject)`: the arguments. What it does: a `change` is whole or absent; `upkeep` changes nothing of what is said; a
    `removal` that was interrupted may leave a part, and is finished by another."""

    def __init__(self, command, effect, merges=False, seen=()):
        self.command, self.effect, self.merges = command, effect, merges
        # Names beside the subject's at which it may be seen too.
        self.seen = seen


class Subject:
    def __init__(self, binary, folder, kind, prepared):
        self.folder, self.kind, self.prepared = folder, kind, prepared
        self.path = os.path.join(folder, kind)
        self.smalti = Smalti(binary, folder)

    def run(self, *args):
        return self.smalti.run(*args)

    def told(self, *args):
        """What a command prints; None for what is gone or not there, which smalti says."""
        try:
            return self.run(*args)
        except SmaltiError as error:
            if any(words in str(error) for words in ("told", "purged", "no array is here", "no group is here")):
                return None
            raise

    def metadata(self, *args):
        text = self.told(*args, "--json")
        return None if text is None else {key: item["value"][0] for key, item in json.loads(text).items()}

    def beside(self, name):
        return os.path.join(self.folder, name)

    def view(self, names=()):
        """What is seen at all times, in parts, here and under names beside."""
        paths = [self.path, *map(self.beside, names)]
        return [part for path in paths for at in TIMES for part in self.parts(path, ["--at", str(at)] if at else [])]


class Array(Subject):
    """An array of a kind, with writes, deletes and metadata."""

    def __init__(self, binary, folder, kind, prepared):
        super().__init__(binary, folder, kind, prepared)
        if prepared not in PREPARED:
            return
        self.run(*self.creation())
        # The schema's time is now; all that follows is told to be later or earlier by --at alone.
        for at, cells in [(10, [1, 2, 3, 4, 5]), (20, [3, 4]), (30, [4, 5, 6])]:
            self.run(*self.write(at, cells))
        self.run("meta", self.path, "put", "k", "INT64", "1", "--at", "11")
        self.run("meta", self.path, "put", "l", "INT64", "2", "--at", "21")
        if kind != "dense":
            self.run("delete", self.path, "--where", "n == 3005", "--at", "31")
        for command in PREPARED[prepared]:
            self.run(*command(self))

    def source(self):
        """Makes another array like this one, of two fragments."""
        other = Array(self.smalti.binary, self.folder, self.kind, None)
        other.path = self.beside(SOURCE)
        other.run(*other.creation())
        other.run(*other.write(40, [7, 8]))
        other.run(*other.write(45, [8, 9]))
        return other.path

    def fragments(self, path):
        return [fragment["name"] for fragment in json.loads(self.run("fragments", path, "--json"))]

    def creation(self):
        schema = {
            "array_type": "dense" if self.kind == "dense" else "sparse",
            "allows_dups": self.kind == "dups",
            "dims": [{"name": "x", "type": "INT32", "domain": [0, 19], "tile": 5}],
            "attrs": [{"name": "n", "type": "INT32"}],
        }
        file = self.smalti.file("schema.json", json.dumps(schema))
        return ["create", self.path, "--schema", file, "--format-version", "21"]

    def write(self, at, cells):
        rows = [{"x": x, "n": at * 100 + x} for x in cells]
        place = []
        if self.kind == "dense":
            rows = [{"n": row["n"]} for row in rows]
            place = ["--range", "x=%d:%d" % (cells[0], cells[-1])]
        file = self.smalti.file("write-%d.jsonl" % at, "\n".join(map(json.dumps, rows)) + "\n")
        return ["write", self.path, "--from", file, "--format", "jsonl", "--at", str(at), *place]

    def parts(self, path, times):
        text = self.told("read", path, "--format", "jsonl", *times)
        rows = None if text is None else [json.loads(line) for line in text.splitlines() if line]
        cells = None if rows is None else sorted((row["x"], row["n"]) for row in rows if row["n"] != FILL)
        schema = self.told("schema", path, "--json", *times)
        if schema is not None:
            schema = json.loads(schema)
            schema = [schema["version"], [attr["name"] for attr in schema["attrs"]]]
        return [cells, self.metadata("meta", path, *times), schema]

    def foreign_view(self):
        seen = sight.state(self.path)
        if seen is not None:
            seen["cells"] = [cell for cell in seen["cells"] if cell[1] != FILL]
        return seen

    def doubled(self, before, after):
        """What libtiledb sees between the commit of what was merged and the list of what it replaces: both."""
        return dict(before, cells=sorted(before["cells"] + after["cells"]))


class Group(Subject):
    """A group with members and metadata."""

    def __init__(self, binary, folder, kind, prepared):
        super().__init__(binary, folder, kind, prepared)
        if prepared not in GROUP_PREPARED:
            return
        self.run(*self.creation())
        self.run(*self.addition(10, "a", "b"))
        self.run("group", "meta", self.path, "put", "k", "INT64", "1", "--at", "11")
        self.run("group", "remove", self.path, "a", "--at", "20")
        self.run("group", "meta", self.path, "put", "l", "INT64", "2", "--at", "21")
        for command in GROUP_PREPARED[prepared]:
            self.run(*command(self))

    def creation(self):
        return ["group", "create", self.path]

    def addition(self, at, *members):
        return ["group", "add", self.path, *members, "--relative", "--kind", "array", "--at", str(at)]

    def parts(self, path, times):
        text = self.told("group", "list", path, "--json", *times)
        members = None if text is None else sorted(member["uri"] for member in json.loads(text)["members"])
        return [members, self.metadata("group", "meta", path, *times)]

    def foreign_view(self):
        if tiledb.object_type(self.path, ctx=sight.context()) != "group":
            return None
        with tiledb.Group(self.path, ctx=sight.context()) as group:
            return {"members": sorted(os.path.basename(member.uri) for member in group), "metadata": sight.metadata(group)}


def mode(command, which):
    return lambda subject: [command, subject.path, "--mode", which]


def creation(subject):
    return subject.creation()


def evolution(array):
    attribute = {"name": "color", "type": "UINT8", "enumeration": "colors"}
    return ["evolve", array.path, "--add-enumeration", "colors=red,blue", "--add", json.dumps(attribute)]


def deletion_of_fragments(array):
    return ["fragments", array.path, "delete", "--since", "10", "--at", "30"]


def copy_of_fragments(array):
    source = array.source()
    return ["fragments", source, "copy", *array.fragments(source), "--to", array.path]


# What copies are made of, and what a subject is moved to.
SOURCE, MOVED = "source", "moved"
OBJECT_OPERATIONS = {
    "rm": Operation(lambda subject: ["rm", "--recursive", subject.path], "change"),
    "mv": Operation(lambda subject: ["mv", subject.path, subject.beside(MOVED)], "change", seen=[MOVED]),
}
CONSOLIDATE = [mode("consolidate", which) for which in ARRAY_MODES]
VACUUM = [mode("vacuum", which) for which in ARRAY_MODES]

CREATION = {"create": Operation(creation, "change")}
ARRAY_OPERATIONS = {
    "write": Operation(lambda array: array.write(50, [4, 5, 6]), "change"),
    "delete": Operation(lambda array: ["delete", array.path, "--where", "n == 1001", "--at", "51"], "change"),
    "meta put": Operation(lambda array: ["meta", array.path, "put", "k", "INT64", "5", "--at", "52"], "change"),
    "meta delete": Operation(lambda array: ["meta", array.path, "delete", "k", "--at", "52"], "change"),
    "evolve": Operation(evolution, "change"),
    "upgrade": Operation(lambda array: ["upgrade", array.path], "change"),
    "purge": Operation(lambda array: ["consolidate", array.path, "--purge"], "upkeep", merges=True),
    **{"consolidate " + which: Operation(mode("consolidate", which), "upkeep", merges=which == "fragments") for which in ARRAY_MODES},
    **{"vacuum " + which: Operation(mode("vacuum", which), "upkeep") for which in ARRAY_MODES},
    "fragments delete": Operation(deletion_of_fragments, "change"),
    "fragments copy": Operation(copy_of_fragments, "change"),
    **OBJECT_OPERATIONS,
}
GROUP_OPERATIONS = {
    "add": Operation(lambda group: group.addition(60, "c", "d"), "change"),
    "remove": Operation(lambda group: ["group", "remove", group.path, "b", "--at", "61"], "change"),
    "meta put": Operation(lambda group: ["group", "meta", group.path, "put", "k", "INT64", "5", "--at", "62"], "change"),
    "consolidate": Operation(mode("consolidate", "group_meta"), "upkeep"),
    "vacuum": Operation(mode("vacuum", "group_meta"), "upkeep"),
    "delete": Operation(lambda group: ["group", "delete", group.path], "removal"),
    **OBJECT_OPERATIONS,
}
# What was done before.
PREPARED = {"fresh": [], "merged": CONSOLIDATE, "vacuumed": [CONSOLIDATE[1], VACUUM[1], CONSOLIDATE[0]]}
GROUP_PREPARED = {"fresh": [], "merged": [mode("consolidate", "group_meta")]}


def subjects(wants_all):
    """Kinds of arrays and groups with what was done before, and the operations on each."""
    pairs = [("sparse", "fresh"), ("dups", "merged"), ("dense", "vacuumed")]
    if wants_all:
        pairs = [(kind, prepared) for kind in ("sparse", "dups", "dense") for prepared in PREPARED]
    groups = list(GROUP_PREPARED) if wants_all else ["merged"]
    cases = [(kind, prepared, name) for kind, prepared in pairs for name in ARRAY_OPERATIONS
             if not (kind == "dense" and name == "delete")]
    cases += [("group", prepared, name) for prepared in groups for name in GROUP_OPERATIONS]
    return cases + [(kind, "nothing", "create") for kind in ("sparse", "group")]


def make(binary, folder, kind, prepared):
    return (Group if kind == "group" else Array)(binary, folder, kind, prepared)


def operation(kind, name):
    return {**CREATION, **(GROUP_OPERATIONS if kind == "group" else ARRAY_OPERATIONS)}[name]

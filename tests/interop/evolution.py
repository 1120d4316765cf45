#!/usr/bin/env python3
"""Schemas that change: random histories of enumerations, evolutions, current domains and dimension labels.

Each case is drawn from (seed, case number, direction): an array, then writes and evolutions at rising times. One library
carries the history out, both describe and read the array at every time, and what they say is compared with a naive model.
"""
import collections
import copy
import json
import os
import random
import shutil
import sys
import traceback

import celltypes
import numpy as np
import tiledb
import harness
from libtiledb import Reference, ReferenceCrash, TileDBError
from smalti import Smalti, SmaltiError

DIRECTIONS = ("ours-to-theirs", "theirs-to-ours")
STEP_MS = 1000
HEAD_MS = 10_000_000
TEXT_DOMAIN = ["a", "zz"]
LABEL_TYPES = {"FLOAT64": np.float64, "INT64": np.int64, "STRING_ASCII": "ascii", "DATETIME_DAY": "datetime64[D]"}
NUMPY = {"UINT8": np.uint8, "INT16": np.int16, "INT32": np.int32, "FLOAT64": np.float64}
INTEGERS = ("UINT8", "INT16", "INT32")


class Mismatch(Exception):
    """The case failed; the text says how."""


# ---------------------------------------------------------------- the model


class State:
    """What an array is at one time."""

    def __init__(self, schema):
        self.schema = schema
        self.cells = {}
        self.labels = {}

    def enumeration(self, name):
        return next(e for e in self.schema["enumerations"] if e["name"] == name)

    def region(self):
        """The inclusive bounds that cells are visible in, one pair for each dimension."""
        current = self.schema.get("current_domain")
        return current or [d["domain"] or ["", "\x7f"] for d in self.schema["dims"]]

    def coordinates(self):
        """The cells that a read of everything gives, in row-major order."""
        region = self.region()
        if self.schema["array_type"] == "dense":
            (low, high), = region
            return [(x,) for x in range(low, high + 1)]
        inside = lambda cell: all(lo <= x <= hi for x, (lo, hi) in zip(cell, region))
        return sorted(cell for cell in self.cells if inside(cell))

    def column(self, attr):
        fill = None if attr["nullable"] else default_fill(attr["type"])
        return [self.cells.get(cell, {}).get(attr["name"], fill) for cell in self.coordinates()]


def default_fill(datatype):
    if datatype == "FLOAT64":
        return celltypes.CANONICAL_NAN[datatype]
    low, high = celltypes.limits(datatype)
    return celltypes.pack(datatype, [low if low < 0 else high])


class History:
    """A drawn history: steps of (time, name of the operation, what it is given), and the state after each."""

    def __init__(self, rng, start, by_theirs):
        """`by_theirs`: libtiledb will carry it out, whose evolutions have limits of their own: none of arrays with labels,
        and no attribute with an enumeration that the same evolution does not add or extend."""
        self.rng, self.now, self.counter, self.by_theirs = rng, start, 0, by_theirs
        self.state = State(self.draw_schema())
        self.steps, self.states = [], [(0, copy.deepcopy(self.state))]
        for _ in range(rng.randint(4, 10)):
            self.now += STEP_MS
            operation = rng.choice([self.write, self.write, self.evolve])()
            if operation:
                self.steps.append((self.now, *operation))
                self.states.append((self.now, copy.deepcopy(self.state)))

    def name(self, prefix):
        self.counter += 1
        return "%s%d" % (prefix, self.counter)

    # ------------------------------------------------------------ the first schema

    def draw_schema(self):
        rng = self.rng
        dense = rng.random() < 0.5
        dims = [{"name": "x", "type": "INT32", "domain": [0, rng.choice([19, 99])], "tile": rng.choice([3, 5, 10])}]
        if not dense and rng.random() < 0.5:
            dims.append({"name": "s", "type": "STRING_ASCII", "domain": None, "tile": None})
        enumerations = [self.draw_enumeration() for _ in range(rng.randint(0, 2))]
        attrs = [self.draw_attr(enumerations) for _ in range(rng.randint(1, 3))]
        schema = {"array_type": "dense" if dense else "sparse", "dims": dims, "attrs": attrs, "enumerations": enumerations}
        schema["capacity"], schema["allows_dups"] = 4, False
        schema["current_domain"] = self.draw_region(dims, None) if rng.random() < 0.5 else None
        schema["labels"] = []
        if dense and not schema["current_domain"] and rng.random() < 0.5:
            for datatype in rng.sample(sorted(LABEL_TYPES), rng.randint(1, 2)):
                order = rng.choice(["increasing", "decreasing"])
                schema["labels"].append({"name": self.name("l"), "dim": 0, "order": order, "type": datatype})
        return schema

    def draw_enumeration(self):
        rng = self.rng
        datatype = rng.choice(["STRING_UTF8", "STRING_ASCII", "INT32", "FLOAT64"])
        number = "var" if datatype.startswith("STRING") else 1
        one = {"name": self.name("e"), "type": datatype, "cell_val_num": number, "ordered": rng.random() < 0.5, "values": []}
        one["values"] = self.draw_labels(one, rng.randint(1, 4))
        return one

    def draw_labels(self, enumeration, count):
        rng, out = self.rng, []
        while len(out) < count:
            if enumeration["type"] == "INT32":
                value = rng.randint(-1000, 1000)
            elif enumeration["type"] == "FLOAT64":
                value = rng.randint(-1000, 1000) / 4
            else:
                extra = "é" if enumeration["type"] == "STRING_UTF8" else ""
                value = "".join(rng.choice("abc" + extra) for _ in range(rng.randint(1, 5)))
            if value not in out and value not in enumeration["values"]:
                out.append(value)
        return out

    def draw_attr(self, enumerations):
        rng = self.rng
        of = rng.choice(enumerations) if enumerations and rng.random() < 0.6 else None
        datatype = rng.choice(INTEGERS if of else INTEGERS + ("FLOAT64",))
        attr = {"name": self.name("a"), "type": datatype, "cell_val_num": 1, "nullable": rng.random() < 0.4}
        if of:
            attr["enumeration"] = of["name"]
        return attr

    def draw_region(self, dims, inside):
        """A current domain that contains another one."""
        rng, out = self.rng, []
        for i, dim in enumerate(dims):
            if dim["type"] == "STRING_ASCII":
                low, high = inside[i] if inside else ("f", "m")
                out.append([rng.choice([low, "b"]), rng.choice([high, "t"])] if rng.random() < 0.7 else [low, high])
                continue
            first, last = dim["domain"]
            low, high = inside[i] if inside else [rng.randint(first, last)] * 2
            out.append([rng.randint(first, low), rng.randint(high, last)])
        return out

    # ------------------------------------------------------------ steps

    def write(self):
        rng, schema = self.rng, self.state.schema
        region = self.state.region()
        ranges, labels = None, {}
        if schema["array_type"] == "dense":
            low, high = sorted(rng.randint(*region[0]) for _ in range(2))
            ranges, cells = {"x": [[low, high]]}, [(x,) for x in range(low, high + 1)]
            for label in schema["labels"]:
                # Labels are written once and for the whole dimension: several writes rarely fit together.
                if label["name"] not in self.state.labels and rng.random() < 0.7:
                    labels[label["name"]] = self.state.labels[label["name"]] = self.draw_label_values(label, region[0])
        else:
            draws = rng.randint(1, 12)
            one = lambda dim, side: self.draw_text(side) if dim["type"] == "STRING_ASCII" else rng.randint(*side)
            cells = sorted({tuple(one(d, s) for d, s in zip(schema["dims"], region)) for _ in range(draws)})
        columns = {a["name"]: [self.draw_value(a) for _ in cells] for a in schema["attrs"]}
        for i, cell in enumerate(cells):
            # A write replaces the whole cell: what an older schema had is not seen through the newer one.
            self.state.cells[cell] = {name: column[i] for name, column in columns.items()}
        return "write", {"cells": cells, "columns": columns, "ranges": ranges, "labels": labels}

    def draw_text(self, side):
        while True:
            text = "".join(self.rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(self.rng.randint(1, 3)))
            if side[0] <= text <= side[1]:
                return text

    def draw_value(self, attr):
        rng = self.rng
        if attr["nullable"] and rng.random() < 0.3:
            return None
        if "enumeration" in attr:
            count = len(self.state.enumeration(attr["enumeration"])["values"])
            return celltypes.pack(attr["type"], [rng.randrange(count)])
        if attr["type"] == "FLOAT64":
            return celltypes.pack("FLOAT64", [rng.randint(-99, 99) / 8])
        return celltypes.pack(attr["type"], [rng.randint(0, 100)])

    def draw_label_values(self, label, side):
        count = side[1] - side[0] + 1
        numbers = sorted(self.rng.sample(range(-500, 500), count), reverse=label["order"] == "decreasing")
        if label["type"] == "STRING_ASCII":
            return ["k%04d" % (number + 500) for number in numbers]
        return [number / 2 if label["type"] == "FLOAT64" else number for number in numbers]

    def evolve(self):
        rng, schema, change = self.rng, self.state.schema, collections.defaultdict(list)
        if self.by_theirs and schema["labels"]:
            return None
        if rng.random() < 0.4:
            change["add_enumeration"].append(self.draw_enumeration())
        for enumeration in schema["enumerations"]:
            if rng.random() < 0.4:
                more = self.draw_labels(enumeration, rng.randint(1, 3))
                change["extend_enumeration"].append((enumeration["name"], more))
        if len(schema["attrs"]) > 1 and rng.random() < 0.3:
            change["drop"].append(rng.choice(schema["attrs"])["name"])
        known = schema["enumerations"] + change["add_enumeration"]
        if rng.random() < 0.5:
            loaded = {name for name, _ in change["extend_enumeration"]} | {e["name"] for e in change["add_enumeration"]}
            change["add"].append(self.draw_attr([e for e in known if not self.by_theirs or e["name"] in loaded]))
        left = [a for a in schema["attrs"] + change["add"] if a["name"] not in change["drop"]]
        used = {a.get("enumeration") for a in left} | {name for name, _ in change["extend_enumeration"]}
        for enumeration in schema["enumerations"]:
            if enumeration["name"] not in used and rng.random() < 0.5:
                change["drop_enumeration"].append(enumeration["name"])
        if rng.random() < 0.4 and not schema["labels"]:
            change["current_domain"] = self.draw_region(schema["dims"], schema["current_domain"])
        if not any(change.values()):
            return None
        for name, more in change["extend_enumeration"]:
            self.state.enumeration(name)["values"].extend(more)
        schema["attrs"] = left
        gone = change["drop_enumeration"]
        schema["enumerations"] = [e for e in known if e["name"] not in gone]
        schema["current_domain"] = change["current_domain"] or schema["current_domain"]
        return "evolve", copy.deepcopy(dict(change))


# ---------------------------------------------------------------- the two libraries as players


class Ours:
    """smalti through its command line."""

    def __init__(self, smalti, uri):
        self.smalti, self.uri = smalti, uri

    def create(self, schema):
        self.smalti.create(self.uri, {k: v for k, v in schema.items() if v})

    def write(self, state, at, cells, columns, ranges, labels):
        lines = []
        for i, cell in enumerate(cells):
            row = dict(zip((d["name"] for d in state.schema["dims"]), cell))
            for attr in state.schema["attrs"]:
                row[attr["name"]] = self.json(state, attr, columns[attr["name"]][i])
            lines.append(json.dumps(row, ensure_ascii=False))
        side = ["--range", "x=%d:%d" % tuple(ranges["x"][0])] if ranges else []
        path = self.smalti.file("write-%d.jsonl" % at, "\n".join(lines) + "\n")
        self.smalti.run("write", self.uri, "--from", path, "--at", str(at), *side)
        for name, values in labels.items():
            low, _ = state.region()[0]
            rows = [json.dumps({"x": low + i, name: value}) for i, value in enumerate(values)]
            path = self.smalti.file("labels-%s.jsonl" % name, "\n".join(rows) + "\n")
            self.smalti.run("write", self.uri, "--from", path, "--at", str(at), "--dates", "int")

    @staticmethod
    def json(state, attr, raw):
        value = celltypes.to_json(attr["type"], 1, raw)
        if raw is None or "enumeration" not in attr:
            return value
        return state.enumeration(attr["enumeration"])["values"][value]

    def evolve(self, state, at, **change):
        args = []
        for attr in change.get("add", []):
            args += ["--add", json.dumps(attr)]
        for name in change.get("drop", []):
            args += ["--drop", name]
        for enumeration in change.get("add_enumeration", []):
            args += ["--add-enumeration", json.dumps(enumeration)]
        for name, more in change.get("extend_enumeration", []):
            args += ["--extend-enumeration", "%s=%s" % (name, json.dumps(more))]
        for name in change.get("drop_enumeration", []):
            args += ["--drop-enumeration", name]
        for dim, side in zip(state.schema["dims"], change.get("current_domain") or []):
            args += ["--current-domain", "%s=%s:%s" % (dim["name"], *side)]
        self.smalti.run("evolve", self.uri, "--at", str(at), *args)


class Theirs:
    """libtiledb through tiledb-py, and through its C interface where bytes matter."""

    def __init__(self, reference, uri):
        self.reference, self.uri = reference, uri

    @staticmethod
    def attr(attr):
        return tiledb.Attr(name=attr["name"], dtype=NUMPY[attr["type"]], nullable=attr["nullable"], enum_label=attr.get("enumeration"))

    @staticmethod
    def enumeration(one):
        dtype = {"STRING_UTF8": np.dtype("U"), "STRING_ASCII": np.dtype("S"), "INT32": np.int32, "FLOAT64": np.float64}[one["type"]]
        values = np.array(one["values"], dtype=None if one["type"].startswith("STRING") else dtype)
        if one["type"] == "STRING_ASCII":
            values = np.array([value.encode() for value in one["values"]])
        return tiledb.Enumeration(one["name"], one["ordered"], values=values, dtype=values.dtype)

    @staticmethod
    def region(domain, sides):
        rectangle = tiledb.NDRectangle(tiledb.default_ctx(), domain)
        for i, side in enumerate(sides):
            rectangle.set_range(i, *side)
        current = tiledb.CurrentDomain(tiledb.default_ctx())
        current.set_ndrectangle(rectangle)
        return current

    def create(self, schema):
        dims = []
        for dim in schema["dims"]:
            text = dim["type"] == "STRING_ASCII"
            dims.append(tiledb.Dim(name=dim["name"], domain=(None, None) if text else tuple(dim["domain"]),
                                   tile=dim["tile"], dtype="ascii" if text else np.int32))
        labels = {0: {one["name"]: dims[0].create_label_schema(one["order"], LABEL_TYPES[one["type"]])
                      for one in schema["labels"]}} if schema["labels"] else {}
        domain = tiledb.Domain(*dims)
        made = tiledb.ArraySchema(
            domain=domain, attrs=[self.attr(a) for a in schema["attrs"]], sparse=schema["array_type"] == "sparse",
            capacity=schema["capacity"], enums=[self.enumeration(e) for e in schema["enumerations"]], dim_labels=labels)
        if schema["current_domain"]:
            made.set_current_domain(self.region(domain, schema["current_domain"]))
        tiledb.Array.create(self.uri, made)

    def write(self, state, at, cells, columns, ranges, labels):
        schema = state.schema
        part = {name: (values, [b"\0" * 8] * len(values)) for name, values in columns.items()}
        for attr in schema["attrs"]:
            size = celltypes.UNIT_LEN[attr["type"]]
            part[attr["name"]] = (columns[attr["name"]], [b"\0" * size] * len(cells))
        if ranges is None:
            for i, dim in enumerate(schema["dims"]):
                part[dim["name"]] = ([celltypes.coordinate_bytes(dim["type"], cell[i]) for cell in cells], None)
        layout = "row" if ranges else "unordered"
        self.reference("write", None, self.uri, schema, layout, at, [part], ranges)
        for label in (one for one in schema["labels"] if one["name"] in labels):
            values = labels[label["name"]]
            if label["type"] == "STRING_ASCII":
                values = np.array([value.encode() for value in values])
            else:
                values = np.array(values, dtype=LABEL_TYPES[label["type"]])
            with tiledb.open(os.path.join(self.uri, "__labels", "l%d" % schema["labels"].index(label)), "w", timestamp=at) as array:
                low, high = state.region()[0]
                array[low : high + 1] = values

    def evolve(self, state, at, **change):
        evolution = tiledb.ArraySchemaEvolution()
        for enumeration in change.get("add_enumeration", []):
            evolution.add_enumeration(self.enumeration(enumeration))
        with tiledb.open(self.uri, timestamp=at) as array:
            for name, more in change.get("extend_enumeration", []):
                own = next(e for e in state.schema["enumerations"] if e["name"] == name)
                values = more if own["cell_val_num"] == "var" else np.array(more, dtype=NUMPY[own["type"]])
                evolution.extend_enumeration(array.enum(name).extend(values))
            if change.get("current_domain"):
                evolution.expand_current_domain(self.region(array.schema.domain, change["current_domain"]))
        for attr in change.get("add", []):
            evolution.add_attribute(self.attr(attr))
        for name in change.get("drop", []):
            evolution.drop_attribute(name)
        for name in change.get("drop_enumeration", []):
            evolution.drop_enumeration(name)
        evolution.timestamp(at)
        evolution.array_evolve(self.uri)


# ---------------------------------------------------------------- comparing


def check_ours(smalti, uri, at, state):
    """What smalti says of the array at a time."""
    at_args = ["--at", str(at)]
    schema = json.loads(smalti.run("schema", uri, "--json", *at_args))
    for key in ("attrs", "enumerations", "current_domain", "labels"):
        want, got = state.schema.get(key) or [], schema.get(key) or []
        if key == "attrs":
            names = ("name", "type", "enumeration")
            want, got = ([[a.get(n) for n in names] for a in attrs] for attrs in (want, got))
        if key == "enumerations":
            want, got = (sorted(one, key=lambda e: e["name"]) for one in (want, got))
        if key == "labels":
            want, got = ([[one[n] for n in ("name", "dim", "order", "type")] for one in labels] for labels in (want, got))
        if want != got:
            raise Mismatch("smalti sees other %s at %d: expected %s, got %s" % (key, at, want, got))
    for enums in ("codes", "labels"):
        text = smalti.run("read", uri, "--format", "jsonl", "--layout", "row", "--enums", enums, *at_args)
        rows = [json.loads(line) for line in text.split("\n") if line]
        coordinates = [tuple(row[d["name"]] for d in state.schema["dims"]) for row in rows]
        if coordinates != state.coordinates():
            raise Mismatch("smalti sees other cells at %d: expected %s, got %s" % (at, state.coordinates(), coordinates))
        for attr in state.schema["attrs"]:
            for i, raw in enumerate(state.column(attr)):
                got = rows[i][attr["name"]]
                if enums == "codes" or "enumeration" not in attr or raw is None:
                    want = celltypes.to_json(attr["type"], 1, raw)
                else:
                    code, labels = celltypes.unpack(attr["type"], raw)[0], state.enumeration(attr["enumeration"])["values"]
                    want = labels[code] if 0 <= code < len(labels) else got
                if want != got:
                    raise Mismatch("smalti sees %s of %s at %d, time %d; expected %s" % (got, attr["name"], i, at, want))
    for name, values in state.labels.items():
        text = smalti.run("read", uri, "--select", name, "--format", "jsonl", "--dates", "int", *at_args)
        got = [json.loads(line)[name] for line in text.split("\n") if line]
        if got != values:
            raise Mismatch("smalti sees other labels of %s at %d: expected %s, got %s" % (name, at, values, got))
        low, high = sorted([values[len(values) // 3], values[2 * len(values) // 3]])
        ranges = json.dumps({name: [[low, high]]})
        text = smalti.run("read", uri, "--select", "x", "--ranges-json", ranges, "--format", "jsonl", *at_args)
        got = [json.loads(line)["x"] for line in text.split("\n") if line]
        want = [i + state.region()[0][0] for i, value in enumerate(values) if low <= value <= high]
        if got != want:
            raise Mismatch("smalti sees the labels %s of %s at %d on %s, not on %s" % (ranges, name, at, got, want))


def check_theirs(reference, uri, at, state):
    """What libtiledb says of the array at a time."""
    schema = state.schema
    with tiledb.open(uri, timestamp=at) as array:
        found = [(array.schema.attr(i).name, array.schema.attr(i).enum_label) for i in range(array.schema.nattr)]
        want = [(a["name"], a.get("enumeration")) for a in schema["attrs"]]
        if found != want:
            raise Mismatch("libtiledb sees other attributes at %d: expected %s, got %s" % (at, want, found))
        for one in schema["enumerations"]:
            enumeration = array.enum(one["name"])
            values = [v.decode() if isinstance(v, bytes) else v for v in enumeration.values()]
            if values != one["values"] or enumeration.ordered != one["ordered"]:
                raise Mismatch("libtiledb sees other labels of %s at %d: %s, not %s" % (one["name"], at, values, one["values"]))
        current = array.schema.current_domain
        sides = None if current.is_empty else [list(current.ndrectangle.range(i)) for i in range(len(schema["dims"]))]
        if sides != schema["current_domain"]:
            raise Mismatch("libtiledb sees the current domain %s at %d, not %s" % (sides, at, schema["current_domain"]))
    dense = schema["array_type"] == "dense"
    # Without ranges libtiledb's row-major reads of sparse arrays do not keep to the current domain.
    bounded = dense or schema["current_domain"]
    ranges = {d["name"]: [side] for d, side in zip(schema["dims"], state.region())} if bounded else None
    names = [a["name"] for a in schema["attrs"]] + ([] if dense else [d["name"] for d in schema["dims"]])
    cells = reference("read", None, uri, schema, "row", ranges=ranges, names=names, at=at)
    if not dense:
        rows = list(zip(*(cells[d["name"]] for d in schema["dims"])))
        want = [tuple(celltypes.coordinate_bytes(d["type"], x) for d, x in zip(schema["dims"], c)) for c in state.coordinates()]
        if rows != want:
            raise Mismatch("libtiledb sees other cells at %d: expected %s, got %s" % (at, want, rows))
    for attr in schema["attrs"]:
        got = [celltypes.canonical(attr["type"], raw) for raw in cells[attr["name"]]]
        want = [celltypes.canonical(attr["type"], raw) for raw in state.column(attr)]
        if got != want:
            raise Mismatch("libtiledb sees other cells of %s at %d: expected %s, got %s" % (attr["name"], at, want, got))
    if not state.labels:
        return
    with tiledb.open(uri, timestamp=at) as array:
        low, high = state.region()[0]
        for label in (one for one in schema["labels"] if one["name"] in state.labels):
            values = state.labels[label["name"]]
            with tiledb.open(os.path.join(uri, "__labels", "l%d" % schema["labels"].index(label)), timestamp=at) as own:
                got = own[low : high + 1]
            got = list(got.values())[0] if isinstance(got, dict) else got
            if label["type"] == "STRING_ASCII":
                got = [v.decode() if isinstance(v, bytes) else v for v in got]
            else:
                got = [v.item() if label["type"] == "FLOAT64" else int(v.astype(np.int64)) for v in got]
            if got != values:
                raise Mismatch("libtiledb sees other labels of %s at %d: expected %s, got %s" % (label["name"], at, values, got))
            plain = [a["name"] for a in schema["attrs"] if "enumeration" not in a]
            if not plain:
                continue
            first, last = len(values) // 3, 2 * len(values) // 3
            ends = sorted([values[first], values[last]])
            if label["type"] == "DATETIME_DAY":
                ends = [np.datetime64(end, "D") for end in ends]
            by_label = array.query(attrs=plain[:1]).label_index([label["name"]])[ends[0] : ends[1]]
            found, want = len(by_label[plain[0]]), last - first + 1
            if found != want:
                raise Mismatch("libtiledb finds %d cells in labels %s of %s, not %d" % (found, ends, label["name"], want))


# ---------------------------------------------------------------- running


_reference = None


def run_case(options, number, direction):
    """(number, direction, None or how the case failed)"""
    global _reference
    _reference = _reference or Reference()
    return number, direction, failure_of_case(options, number, direction, _reference)


def failure_of_case(options, number, direction, reference):
    folder = os.path.join(options.keep, "evolution-%s-%d-%d" % (direction, options.seed, number))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    smalti = Smalti(options.smalti, folder)
    rng = random.Random("%s/%s/%s" % (options.seed, number, direction))
    history = History(rng, int(np.datetime64("now", "ms").astype(np.int64)) + HEAD_MS, direction == "theirs-to-ours")
    uri = os.path.join(folder, "array")
    player = Ours(smalti, uri) if direction == "ours-to-theirs" else Theirs(reference, uri)
    failure = None
    try:
        player.create(history.states[0][1].schema)
        for (at, operation, given), (_, before) in zip(history.steps, history.states):
            getattr(player, operation)(before, at, **given)
        for at, state in history.states:
            at = at or history.states[1][0] - 1 if len(history.states) > 1 else history.now
            if not options.self_check:
                check_ours(smalti, uri, at, state)
            check_theirs(reference, uri, at, state)
    except (Mismatch, SmaltiError, TileDBError, ReferenceCrash, tiledb.TileDBError) as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    if failure is None:
        shutil.rmtree(folder)
        return None
    report = ["FAILED %s, seed %d, case %d" % (direction, options.seed, number), "  " + failure]
    report.append("  schema: " + json.dumps(history.states[0][1].schema, ensure_ascii=False))
    for at, operation, given in history.steps:
        shown = {k: v for k, v in given.items() if k != "columns"}
        report.append("  %d %s: %s" % (at, operation, json.dumps(shown, ensure_ascii=False)))
    report += ["  $ " + command for command in smalti.commands]
    return "\n".join(report + ["  kept in " + folder])


def main():
    parser = harness.parser(__doc__, 50, "cases in each direction")
    parser.add_argument("--direction", choices=DIRECTIONS + ("both",), default="both")
    parser.add_argument("--self-check", action="store_true", help="libtiledb plays both parts")
    options = parser.parse_args()
    if not options.self_check:
        harness.program(parser, options)
    elif options.direction == "both":
        options.direction = "theirs-to-ours"
    kept = harness.Kept(options, "smalti-evolution-")
    directions = DIRECTIONS if options.direction == "both" else (options.direction,)
    cases = [(number, direction) for direction in directions for number in harness.numbers(options)]
    passed, failed = collections.Counter(), collections.Counter()
    for _, direction, report in harness.outcomes(options, run_case, cases):
        (failed if report else passed)[direction] += 1
        if report and sum(failed.values()) <= options.max_failures:
            print(report, flush=True)
    for direction in directions:
        print("%s: %d passed, %d failed" % (direction, passed[direction], failed[direction]))
    kept.close(sum(failed.values()))
    return harness.end(sum(passed.values()), sum(failed.values()))


if __name__ == "__main__":
    sys.exit(main())

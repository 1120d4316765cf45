"""One array, written by the program in a format version; and what must be read from it."""
import json
import os
import random

import cases
import celltypes
import features
import generate
from known_differences import known
from model import Model
from smalti import Smalti, SmaltiError

# What the program says, as libtiledb does, of values whose differences a filter cannot hold and of schemas that break a
# rule: random cases run into it.
UNFIT_VALUES = ("do not fit in", "positive delta", "positive_delta")
UNFIT_SCHEMAS = ("beyond its type", "does not accept", "exceeds the domain")


class Mismatch(Exception):
    """The case failed; the text says how."""


class Unsuitable(Exception):
    """A random case that cannot be written, for a reason that has nothing to do with the format version."""


class Refused(Exception):
    """The program refused to create the array, as it must; the text is what it said."""


class QuickSmalti(Smalti):
    """The program without waiting for the disk: what it writes is the same."""

    def run(self, *args):
        return super().run(*args, "--sync", "none")


class Trial:
    def __init__(self, case, version, binary, folder):
        self.case, self.version, self.folder = case, version, folder
        self.uri = os.path.join(folder, "array")
        self.smalti = QuickSmalti(binary, folder, case.key)
        # The same cells in every version.
        self.rng = random.Random("%s/%s" % (case.name, version if case.random else ""))

    # ---------------------------------------------------------------- writing

    def write(self):
        """Creates and writes the array and notes what it must hold."""
        self.create()
        maker = generate.WriteDraw(self.rng, self.schema, self.case.demands, self.case.key is not None)
        rising = "sorted" in self.case.demands.values()
        # Padding and sorting would break a sequence that must not decrease.
        maker.whole_tiles = maker.whole_tiles or rising
        self.model, self.writes = Model(self.schema), []
        if not self.case.empties:
            for values in maker.values.values():
                values.shortest = 1
        for ts in self.case.times:
            write = self.draw_write(maker, ts, rising)
            self.put(write)
            self.model.write(ts, write["columns"])
            self.writes.append(write)
        self.metadata = self.draw_metadata() if self.case.metadata else []
        for ts, items in self.metadata:
            self.put_metadata(ts, items)
            self.model.put_metadata(ts, items)
        self.reads = self.draw_reads(maker)

    def create(self):
        path = self.smalti.file("schema.json", json.dumps(self.case.schema))
        needed = features.first_version(self.case.schema)
        try:
            self.smalti.run("create", self.uri, "--schema", path, "--format-version", str(self.version))
        except SmaltiError as error:
            if needed > self.version:
                raise Refused(str(error).split("\n")[0]) from error
            if self.case.random and any(text in str(error) for text in UNFIT_SCHEMAS):
                raise Unsuitable("a schema that libtiledb refuses too") from error
            raise
        if needed > self.version:
            raise Mismatch("created in format version %d, but only releases from version %d on know all that it uses"
                           % (self.version, needed))
        self.schema = self.smalti.schema(self.uri)
        for attr in self.schema["attrs"]:
            attr.setdefault("nullable", False)
            attr.setdefault("filters", cases.filters())
        for dim in self.schema["dims"]:
            dim.setdefault("filters", self.schema.get("coords_filters") or cases.filters())
        if self.schema["version"] != self.version:
            raise Mismatch("created in format version %s" % self.schema["version"])
        if known("schema", self.schema):
            raise Unsuitable(known("schema", self.schema).name)

    def draw_write(self, maker, ts, rising):
        write = self.any_write(maker, ts, rising)
        if self.case.via != "jsonl":
            # Other formats have no notation for text that is not UTF-8.
            for attr in self.schema["attrs"]:
                if attr["type"] == "STRING_UTF8":
                    column = write["columns"][attr["name"]]
                    column[:] = [raw.decode("utf-8", "replace").encode() for raw in column]
        return write

    def any_write(self, maker, ts, rising):
        if self.case.via == "npy":
            return self.whole_line(maker, ts)
        if maker.dense:
            return maker.dense_write(ts)
        for _ in range(100):
            write = maker.sparse_write(ts)
            if write["layout"] == "global" or not rising:
                return write
        raise Unsuitable("no write in global order drawn")

    def whole_line(self, maker, ts):
        """A write of the whole domain of a one-dimensional dense array."""
        (dim,) = self.schema["dims"]
        low, high = dim["domain"]
        columns, hidden = maker.columns(high - low + 1)
        columns[dim["name"]] = [celltypes.coordinate_bytes(dim["type"], c) for c in range(low, high + 1)]
        return {"ts": ts, "layout": "row", "ranges": {dim["name"]: [[low, high]]}, "columns": columns, "hidden": hidden,
                "tile_count": 0, "split": 0}

    def put(self, write):
        count = len(next(iter(write["columns"].values())))
        try:
            if self.case.via == "jsonl":
                self.smalti.write(self.uri, self.schema, write, range(count))
            else:
                getattr(self, "put_" + self.case.via)(write)
        except SmaltiError as error:
            if self.case.random and any(text in str(error) for text in UNFIT_VALUES):
                raise Unsuitable("values that a filter refuses") from error
            raise

    def range_options(self, write):
        return [o for name, ((low, high),) in (write["ranges"] or {}).items() for o in ("--range", "%s=%d:%d" % (name, low, high))]

    def put_csv(self, write):
        fields = celltypes.fields(self.schema)
        columns = [[celltypes.to_json(t, number, v) for v in write["columns"][name]] for name, t, number, _, _ in fields]
        quoted = lambda v: '"%s"' % v.replace('"', '""') if isinstance(v, str) else repr(v)  # noqa: E731
        lines = [",".join(f[0] for f in fields)] + [",".join(map(quoted, row)) for row in zip(*columns)]
        path = self.smalti.file("write.csv", "\n".join(lines) + "\n")
        self.smalti.run("write", self.uri, "--from", path, "--at", str(write["ts"]), *self.range_options(write))

    def put_npy(self, write):
        import numpy

        (attr,) = self.schema["attrs"]
        path = os.path.join(self.folder, "write.npy")
        numpy.save(path, numpy.frombuffer(b"".join(write["columns"][attr["name"]]), "<i8"))
        self.smalti.run("write", self.uri, "--from", path, "--at", str(write["ts"]))

    def put_arrow(self, write):
        """Through another array: what the program reads from it as Arrow is what it writes."""
        other, table = os.path.join(self.folder, "other-%d" % write["ts"]), os.path.join(self.folder, "write.arrow")
        self.smalti.run("create", other, "--schema", os.path.join(self.folder, "schema.json"))
        self.smalti.write(other, self.schema, write, range(len(next(iter(write["columns"].values())))))
        ranges = self.range_options(write)
        self.smalti.run("read", other, "--format", "arrow", "-o", table, *ranges)
        self.smalti.run("write", self.uri, "--from", table, "--at", str(write["ts"]), *ranges)

    def draw_metadata(self):
        """Metadata writes of datatypes that every release of the version has."""
        lacks = {name for name, since in features.SINCE.items() if since > self.version}
        lacks |= {"GEOM_WKB", "GEOM_WKT"} if self.version < 22 else set()
        fits = lambda item: item is None or item[0] not in lacks  # noqa: E731
        drawn = generate.metadata(self.rng)
        return [(ts, {key: item for key, item in items.items() if fits(item)}) for ts, items in drawn]

    def put_metadata(self, ts, items):
        for key, item in items.items():
            if item is None:
                self.smalti.run("meta", self.uri, "delete", key, "--at", str(ts))
                continue
            datatype, raw = item
            count = 1 if len(raw) == celltypes.UNIT_LEN[datatype] else "var"
            value = json.dumps(celltypes.to_json(datatype, count, raw), ensure_ascii=False)
            self.smalti.run("meta", self.uri, "put", key, datatype, value, "--at", str(ts))

    def draw_reads(self, maker):
        if not self.writes:
            return [{"layout": layout, "ranges": None} for layout in ("row", "global")]
        if self.case.via == "npy":
            return [{"layout": "row", "ranges": None}, {"layout": "global", "ranges": None, "at": self.case.times[0]}]
        reads = generate.ReadDraw(self.rng, self.schema, self.writes, maker.pools).draw()
        if self.schema["array_type"] == "sparse":
            return reads
        # Old releases disagree on the coordinates of dense reads; the order of the cells tells them already.
        attrs = [a["name"] for a in self.schema["attrs"]]
        return [{**r, "names": [n for n in attrs if n in (r.get("names") or attrs)] or attrs[:1]} for r in reads]

"""The program under test, driven through its command line."""
import json
import os
import shlex
import subprocess

import celltypes

TIMEOUT_S = 600


class SmaltiError(Exception):
    """A command failed, hung or printed something that is not what its documentation says."""


class Smalti:
    def __init__(self, binary, folder, key=None):
        """`folder`: where input files of the commands are kept; `key`: encryption key of the array."""
        self.binary, self.folder, self.key = binary, folder, key
        self.commands = []

    def run(self, *args):
        command = [self.binary, *args] + (["--key", self.key] if self.key else [])
        self.commands.append(shlex.join(command))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise SmaltiError("no answer within %d s: %s" % (TIMEOUT_S, self.commands[-1])) from None
        if done.returncode != 0:
            message = done.stderr.decode("utf-8", "replace").strip()[-600:]
            raise SmaltiError("exit status %s: %s\n  %s" % (done.returncode, message, self.commands[-1]))
        return done.stdout.decode("utf-8")

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    # ---------------------------------------------------------------- schema

    def create(self, uri, schema):
        self.run("create", uri, "--schema", self.file("schema.json", json.dumps(schema)))

    def schema(self, uri):
        return json.loads(self.run("schema", uri, "--json"))

    # ---------------------------------------------------------------- cells

    def write(self, uri, schema, write, order):
        """`order`: the rows' positions in the file (cells of dense writes may come in any order)."""
        fields = celltypes.fields(schema)
        columns = [
            [celltypes.to_json(datatype, number, v) for v in write["columns"][name]] for name, datatype, number, _, _ in fields
        ]
        names = [f[0] for f in fields]
        lines = [json.dumps(dict(zip(names, (c[i] for c in columns))), ensure_ascii=False) for i in order]
        path = self.file("write-%d.jsonl" % write["ts"], "\n".join(lines) + "\n")
        args = ["--from", path, "--format", "jsonl", "--at", str(write["ts"])]
        if write["ranges"] is not None:
            for dim in schema["dims"]:
                low, high = write["ranges"][dim["name"]][0]
                args += ["--range", "%s=%d:%d" % (dim["name"], low, high)]
        elif write["layout"] == "global":
            args.append("--global-order")
        self.run("write", uri, *args)

    def read(self, uri, schema, layout, ranges=None, names=None, at=None, since=None):
        """The cells as {field: [bytes or None]}, in the shape that the reference's read has."""
        args = ["--format", "jsonl", "--layout", layout, "--dates", "int"]
        if ranges is not None:
            args += ["--ranges-json", json.dumps(ranges)]
        if at is not None:
            args += ["--at", str(at)]
        if since is not None:
            args += ["--since", str(since)]
        if names is not None:
            args += ["--select", ",".join(names)]
        fields = {f[0]: f for f in celltypes.fields(schema)}
        wanted = list(fields) if names is None else names
        out = {name: [] for name in wanted}
        text = self.run("read", uri, *args)
        # Not splitlines: strings may hold other line separators.
        for number, line in enumerate(text.split("\n")):
            if not line:
                continue
            try:
                row = json.loads(line)
                if list(row) != wanted:
                    raise ValueError("keys %s where %s are wanted" % (list(row), wanted))
                for name in wanted:
                    _, datatype, count, _, _ = fields[name]
                    out[name].append(celltypes.from_json(datatype, count, row[name]))
            except ValueError as error:
                raise SmaltiError("line %d of %s: %s" % (number + 1, self.commands[-1], error)) from error
        return out

    # ---------------------------------------------------------------- metadata

    def put_metadata(self, uri, items):
        for key, item in items.items():
            if item is None:
                self.run("meta", uri, "delete", key)
            else:
                datatype, raw = item
                count = 1 if len(raw) == celltypes.UNIT_LEN[datatype] else "var"
                self.run("meta", uri, "put", key, datatype, json.dumps(celltypes.to_json(datatype, count, raw), ensure_ascii=False))

    def metadata(self, uri, at=None):
        text = self.run("meta", uri, "--json", *([] if at is None else ["--at", str(at)]))
        out = {}
        for key, item in json.loads(text).items():
            raw = celltypes.from_json(item["type"], "var", item["value"])
            if item["num"] * celltypes.UNIT_LEN[item["type"]] != len(raw):
                raise SmaltiError("metadata %r: num %s does not fit %r" % (key, item["num"], item["value"]))
            out[key] = (item["type"], raw)
        return out


# ---------------------------------------------------------------- schemas compared


def normal_schema(schema):
    """A schema with everything written out that may be left out, and without what may be said in two ways."""
    out = {k: schema.get(k) for k in ("array_type", "version", "capacity", "cell_order", "tile_order")}
    out["allows_dups"] = bool(schema.get("allows_dups"))
    for which in ("coords_filters", "offsets_filters", "validity_filters"):
        out[which] = _filters(schema.get(which))
    out["dims"] = []
    for dim in schema["dims"]:
        one = {"name": dim["name"], "type": dim["type"]}
        one["domain"] = _numbers(dim.get("domain"))
        extent = _numbers(dim.get("tile"))
        one["tile"] = extent[0] if isinstance(extent, list) else extent
        if dim["type"] == "FLOAT32":
            # Written shortest by the one side, as doubles by the other.
            one["domain"] = [celltypes.float32(end) for end in one["domain"]]
            one["tile"] = one["tile"] and celltypes.float32(one["tile"])
        filters = _filters(dim.get("filters"))
        one["filters"] = filters if filters["filters"] else out["coords_filters"]
        out["dims"].append(one)
    out["attrs"] = []
    for attr in schema["attrs"]:
        one = {k: attr.get(k) for k in ("name", "type", "cell_val_num")}
        one["nullable"] = bool(attr.get("nullable"))
        one["filters"] = _filters(attr.get("filters"))
        fill = bytes.fromhex(attr.get("fill_hex") or "")
        one["fill_hex"] = celltypes.canonical(attr["type"], fill).hex()
        one["fill_valid"] = bool(attr.get("fill_valid")) if one["nullable"] else None
        out["attrs"].append(one)
    return out


def _filters(spec):
    if not spec:
        return {"max_chunk_size": 65536, "filters": []}
    filters = []
    for item in spec["filters"]:
        item = dict(item)
        if item.get("reinterpret") == "ANY":
            del item["reinterpret"]
        # Levels of filters that have no level mean nothing.
        if item["filter"] in ("rle", "dictionary", "delta", "double_delta"):
            item.pop("level", None)
        filters.append({k: int(v) if isinstance(v, bool) else v for k, v in item.items()})
    return {"max_chunk_size": spec["max_chunk_size"], "filters": filters}


def _numbers(value):
    if isinstance(value, dict):
        value = value["values"]
    return value


def schema_difference(expected, actual):
    """None, or the first path at which two schemas differ."""
    return _first_difference(normal_schema(expected), normal_schema(actual), "schema")


def _first_difference(expected, actual, path):
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in list(expected) + [k for k in actual if k not in expected]:
            found = _first_difference(expected.get(key), actual.get(key), path + "." + key)
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for i, (left, right) in enumerate(zip(expected, actual)):
            found = _first_difference(left, right, "%s[%d]" % (path, i))
            if found:
                return found
        return None
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return None if same else "%s: expected %s, got %s" % (path, json.dumps(expected), json.dumps(actual))



"""The reference library, driven through its C interface (ctypes) as found inside the tiledb wheel.

`Library` works in this process. `Reference` runs a `Library` in a process of its own and survives its crashes and
hangs, which are facts about the reference and must not end a test run.
"""
import contextlib
import ctypes
import glob
import importlib.util
import os
import pathlib
import pickle
import select
import struct
import subprocess
import sys
from ctypes import byref, c_double, c_float, c_int, c_int32, c_uint8, c_uint32, c_uint64, c_void_p

import celltypes

READ, WRITE, DELETE = 0, 1, 2
VAR = 0xFFFFFFFF
LAYOUTS = {"row": 0, "col": 1, "global": 2, "unordered": 3}
ORDERS = {"row-major": 0, "col-major": 1, "hilbert": 4}
ORDER_NAMES = {code: name for name, code in ORDERS.items()}
FILTERS = dict(
    none=0, gzip=1, zstd=2, lz4=3, rle=4, bzip2=5, double_delta=6, bit_width_reduction=7, bitshuffle=8, byteshuffle=9,
    positive_delta=10, md5=12, sha256=13, dictionary=14, scale_float=15, xor=16, webp=18, delta=19,
)
FILTER_NAMES = {code: name for name, code in FILTERS.items()}
# Options of each filter: name in the schema notation -> (option number, C type)
_LEVEL = {"level": (0, c_int32)}
_DELTA = {"level": (0, c_int32), "reinterpret": (9, c_uint8)}
OPTIONS = dict(
    gzip=_LEVEL, zstd=_LEVEL, lz4=_LEVEL, rle=_LEVEL, bzip2=_LEVEL, dictionary=_LEVEL, delta=_DELTA, double_delta=_DELTA,
    bit_width_reduction={"window": (1, c_uint32)}, positive_delta={"window": (2, c_uint32)},
    scale_float={"bytewidth": (3, c_uint64), "factor": (4, c_double), "offset": (5, c_double)},
    webp={"quality": (6, c_float), "format": (7, c_uint8), "lossless": (8, c_uint8)},
)
COMPLETED = 1
TIMESTAMPS = ("__timestamps", "UINT64", 1, False, False)
RELATIONS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "==": 4, "!=": 5}
IN, NOT_IN = 6, 7
COMBINATIONS = {"and": 0, "or": 1}
# What an aggregate over a field is stored as: a count, a mean, a sum of the field's kind; None: as the field's cells.
AGGREGATES = {"count": "UINT64", "null_count": "UINT64", "mean": "FLOAT64", "sum": "", "min": None, "max": None}
SMALLEST_READ_BUFFER = 1 << 12
ROOMY_READ_BUFFER = 1 << 20
CONSOLIDATION_BUDGET = 1 << 26


class TileDBError(Exception):
    """An error that the library reported."""


class ReferenceCrash(Exception):
    """The library's process died or did not answer in time."""


def packed_offsets(cells):
    """Where each cell starts when they stand one after the other."""
    starts, at = [], 0
    for cell in cells:
        starts.append(at)
        at += len(cell)
    return struct.pack("<%dQ" % len(starts), *starts)


def library_path():
    package = pathlib.Path(importlib.util.find_spec("tiledb").origin).parent
    return glob.glob(str(package.parent / "tiledb.libs" / "libtiledb*.so*"))[0]


class Range(ctypes.Structure):
    """Both ends of a dimension's range, as rectangles take them."""

    _fields_ = [("low", ctypes.c_char_p), ("low_len", c_uint64), ("high", ctypes.c_char_p), ("high_len", c_uint64)]


class Library:
    def __init__(self):
        self.lib = ctypes.CDLL(library_path())
        self.contexts = {}
        self.ctx = None
        self.key = None

    def use_key(self, key):
        """Chooses the context: one for each encryption key, `None` for arrays that are not encrypted."""
        if key not in self.contexts:
            context = c_void_p()
            options = {"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1"}
            if key is not None:
                options.update({"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": key})
            assert self.lib.tiledb_ctx_alloc(self.config(options), byref(context)) == 0
            self.contexts[key] = context
        self.ctx, self.key = self.contexts[key], key

    def config(self, options):
        config, error = c_void_p(), c_void_p()
        assert self.lib.tiledb_config_alloc(byref(config), byref(error)) == 0
        for name, value in options.items():
            assert self.lib.tiledb_config_set(config, name.encode(), value.encode(), byref(error)) == 0
        return config

    def call(self, name, *args):
        function = getattr(self.lib, "tiledb_" + name)
        function.restype = c_int32
        if function(self.ctx, *args) != 0:
            error, message = c_void_p(), ctypes.c_char_p()
            self.lib.tiledb_ctx_get_last_error(self.ctx, byref(error))
            if error:
                self.lib.tiledb_error_message(error, byref(message))
            raise TileDBError("%s: %s" % (name, (message.value or b"?").decode("utf-8", "replace")))

    def handle(self, name, *args):
        """A call whose last argument receives a handle."""
        out = c_void_p()
        self.call(name, *args, byref(out))
        return out

    def number(self, name, *args, ctype=c_uint32):
        """A call whose last argument receives a number."""
        out = ctype()
        self.call(name, *args, byref(out))
        return out.value

    def text(self, name, *args):
        out = ctypes.c_char_p()
        self.call(name, *args, byref(out))
        return (out.value or b"").decode()

    def free(self, kind, handle):
        function = getattr(self.lib, "tiledb_%s_free" % kind)
        function.restype = None
        function(byref(handle))

    # ---------------------------------------------------------------- schema: notation -> library

    def filter_list(self, spec):
        out = self.handle("filter_list_alloc")
        for item in spec["filters"]:
            kind = item["filter"]
            one = self.handle("filter_alloc", c_uint32(FILTERS[kind]))
            for option, (code, ctype) in OPTIONS.get(kind, {}).items():
                if option in item:
                    value = celltypes.CODES[item[option]] if option == "reinterpret" else item[option]
                    self.call("filter_set_option", one, c_uint32(code), byref(ctype(value)))
            self.call("filter_list_add_filter", out, one)
            self.free("filter", one)
        self.call("filter_list_set_max_chunk_size", out, c_uint32(spec["max_chunk_size"]))
        return out

    def domain(self, dims):
        domain = self.handle("domain_alloc")
        for dim in dims:
            bounds = extent = None
            if dim["type"] != "STRING_ASCII":
                bounds = celltypes.pack(dim["type"], dim["domain"])
                extent = None if dim["tile"] is None else celltypes.pack(dim["type"], [dim["tile"]])
            code = c_uint32(celltypes.CODES[dim["type"]])
            handle = self.handle("dimension_alloc", dim["name"].encode(), code, bounds, extent)
            if dim.get("filters"):
                self.call("dimension_set_filter_list", handle, self.filter_list(dim["filters"]))
            self.call("domain_add_dimension", domain, handle)
            self.free("dimension", handle)
        return domain

    def attribute(self, attr):
        handle = self.handle("attribute_alloc", attr["name"].encode(), c_uint32(celltypes.CODES[attr["type"]]))
        if attr["type"] != "ANY":
            number = VAR if attr["cell_val_num"] == "var" else attr["cell_val_num"]
            self.call("attribute_set_cell_val_num", handle, c_uint32(number))
        if attr["nullable"]:
            self.call("attribute_set_nullable", handle, c_uint8(1))
        if attr.get("filters"):
            self.call("attribute_set_filter_list", handle, self.filter_list(attr["filters"]))
        if "fill_hex" in attr:
            fill = bytes.fromhex(attr["fill_hex"])
            if attr["nullable"]:
                valid = c_uint8(attr.get("fill_valid", False))
                self.call("attribute_set_fill_value_nullable", handle, fill, c_uint64(len(fill)), valid)
            else:
                self.call("attribute_set_fill_value", handle, fill, c_uint64(len(fill)))
        if attr.get("enumeration"):
            self.call("attribute_set_enumeration_name", handle, attr["enumeration"].encode())
        return handle

    def enumeration(self, spec):
        """An enumeration whose `values` are bytes."""
        values, var = spec["values"], spec["cell_val_num"] == "var"
        data, offsets = b"".join(values), packed_offsets(values) if var else None
        code, number = c_uint32(celltypes.CODES[spec["type"]]), c_uint32(VAR if var else 1)
        sizes = c_uint64(len(data)), c_uint64(len(offsets or b""))
        return self.handle("enumeration_alloc", spec["name"].encode(), code, number, c_int(spec["ordered"]),
                           data or b"\0", sizes[0], offsets, sizes[1])

    def create(self, uri, schema):
        """Creates an array; returns the schema as the library then describes it."""
        handle = self.handle("array_schema_alloc", c_uint32(schema["array_type"] == "sparse"))
        domain = self.domain(schema["dims"])
        # The orders first: absent tile extents become the whole domain when the domain is set, unless in Hilbert order.
        self.call("array_schema_set_tile_order", handle, c_uint32(ORDERS[schema["tile_order"]]))
        self.call("array_schema_set_cell_order", handle, c_uint32(ORDERS[schema["cell_order"]]))
        self.call("array_schema_set_domain", handle, domain)
        self.call("array_schema_set_capacity", handle, c_uint64(schema["capacity"]))
        if schema["allows_dups"]:
            self.call("array_schema_set_allows_dups", handle, c_int(1))
        for which in ("coords", "offsets", "validity"):
            if schema.get(which + "_filters"):
                filters = self.filter_list(schema[which + "_filters"])
                self.call("array_schema_set_%s_filter_list" % which, handle, filters)
        for spec in schema.get("enumerations", []):
            self.call("array_schema_add_enumeration", handle, self.enumeration(spec))
        for attr in schema["attrs"]:
            one = self.attribute(attr)
            self.call("array_schema_add_attribute", handle, one)
            self.free("attribute", one)
        if schema.get("current_domain"):
            region = self.current_domain(domain, schema["dims"], schema["current_domain"])
            self.call("array_schema_set_current_domain", handle, region)
        self.call("array_schema_check", handle)
        self.call("array_create", uri.encode(), handle)
        self.free("domain", domain)
        self.free("array_schema", handle)
        return self.schema(uri)

    def current_domain(self, domain, dims, sides):
        """A current domain from an inclusive [low, high] for each dimension."""
        rectangle = self.handle("ndrectangle_alloc", domain)
        for i, (dim, side) in enumerate(zip(dims, sides)):
            low, high = (celltypes.coordinate_bytes(dim["type"], end) for end in side)
            self.call("ndrectangle_set_range", rectangle, c_uint32(i), byref(Range(low, len(low), high, len(high))))
        region = self.handle("current_domain_create")
        self.call("current_domain_set_ndrectangle", region, rectangle)
        self.free("ndrectangle", rectangle)
        return region

    def evolve(self, uri, dims, change, ts):
        """One evolution. `change`: "add", "drop", "add_enumeration", "extend_enumeration" and "drop_enumeration", each a
        list, and "current_domain"; labels are (name, [bytes]) where they are appended."""
        evolution = self.handle("array_schema_evolution_alloc")
        array = self.open(uri, READ)
        try:
            for spec in change.get("add_enumeration", []):
                self.call("array_schema_evolution_add_enumeration", evolution, self.enumeration(spec))
            for name, values in change.get("extend_enumeration", []):
                old = self.handle("array_get_enumeration", array, name.encode())
                var = self.number("enumeration_get_cell_val_num", old) == VAR
                data, offsets = b"".join(values), packed_offsets(values) if var else None
                sizes = c_uint64(len(data)), c_uint64(len(offsets or b""))
                new = self.handle("enumeration_extend", old, data, sizes[0], offsets, sizes[1])
                self.call("array_schema_evolution_extend_enumeration", evolution, new)
            if change.get("current_domain"):
                schema = self.handle("array_get_schema", array)
                domain = self.handle("array_schema_get_domain", schema)
                region = self.current_domain(domain, dims, change["current_domain"])
                self.call("array_schema_evolution_expand_current_domain", evolution, region)
            for attr in change.get("add", []):
                self.call("array_schema_evolution_add_attribute", evolution, self.attribute(attr))
            for name in change.get("drop", []):
                self.call("array_schema_evolution_drop_attribute", evolution, name.encode())
            for name in change.get("drop_enumeration", []):
                self.call("array_schema_evolution_drop_enumeration", evolution, name.encode())
            self.call("array_schema_evolution_set_timestamp_range", evolution, c_uint64(ts), c_uint64(ts))
            self.call("array_evolve", uri.encode(), evolution)
        finally:
            self.free("array_schema_evolution", evolution)
            self.close(array)

    # ---------------------------------------------------------------- schema: library -> notation

    def describe_filters(self, filters):
        out = []
        for i in range(self.number("filter_list_get_nfilters", filters)):
            one = self.handle("filter_list_get_filter_from_index", filters, c_uint32(i))
            kind = FILTER_NAMES[self.number("filter_get_type", one)]
            item = {"filter": kind}
            for option, (code, ctype) in OPTIONS.get(kind, {}).items():
                room = (c_uint8 * 16)()
                self.call("filter_get_option", one, c_uint32(code), room)
                value = ctype.from_buffer(room).value
                item[option] = celltypes.NAMES[value] if option == "reinterpret" else value
            out.append(item)
            self.free("filter", one)
        result = {"max_chunk_size": self.number("filter_list_get_max_chunk_size", filters), "filters": out}
        self.free("filter_list", filters)
        return result

    def describe_dimension(self, dim):
        name = self.text("dimension_get_name", dim)
        datatype = celltypes.NAMES[self.number("dimension_get_type", dim)]
        out = {"name": name, "type": datatype, "domain": None, "tile": None}
        if datatype != "STRING_ASCII":
            unit = celltypes.UNIT_LEN[datatype]
            bounds = ctypes.string_at(self.handle("dimension_get_domain", dim), 2 * unit)
            out["domain"] = celltypes.unpack(datatype, bounds)
            extent = self.handle("dimension_get_tile_extent", dim)
            if extent:
                out["tile"] = celltypes.unpack(datatype, ctypes.string_at(extent, unit))[0]
        out["filters"] = self.describe_filters(self.handle("dimension_get_filter_list", dim))
        return out

    def describe_attribute(self, attr):
        datatype = celltypes.NAMES[self.number("attribute_get_type", attr)]
        number = self.number("attribute_get_cell_val_num", attr)
        out = {"name": self.text("attribute_get_name", attr), "type": datatype}
        out["cell_val_num"] = "var" if number == VAR else number
        out["nullable"] = bool(self.number("attribute_get_nullable", attr, ctype=c_uint8))
        out["filters"] = self.describe_filters(self.handle("attribute_get_filter_list", attr))
        fill, fill_len = c_void_p(), c_uint64()
        if out["nullable"]:
            valid = c_uint8()
            self.call("attribute_get_fill_value_nullable", attr, byref(fill), byref(fill_len), byref(valid))
            out["fill_valid"] = bool(valid.value)
        else:
            self.call("attribute_get_fill_value", attr, byref(fill), byref(fill_len))
        out["fill_hex"] = ctypes.string_at(fill, fill_len.value).hex()
        return out

    def describe(self, schema):
        out = {"array_type": "sparse" if self.number("array_schema_get_array_type", schema) else "dense"}
        out["version"] = self.number("array_schema_get_version", schema)
        out["capacity"] = self.number("array_schema_get_capacity", schema, ctype=c_uint64)
        out["cell_order"] = ORDER_NAMES[self.number("array_schema_get_cell_order", schema)]
        out["tile_order"] = ORDER_NAMES[self.number("array_schema_get_tile_order", schema)]
        out["allows_dups"] = bool(self.number("array_schema_get_allows_dups", schema, ctype=c_int))
        for which in ("coords", "offsets", "validity"):
            filters = self.handle("array_schema_get_%s_filter_list" % which, schema)
            out[which + "_filters"] = self.describe_filters(filters)
        domain = self.handle("array_schema_get_domain", schema)
        out["dims"] = []
        for i in range(self.number("domain_get_ndim", domain)):
            dim = self.handle("domain_get_dimension_from_index", domain, c_uint32(i))
            out["dims"].append(self.describe_dimension(dim))
            self.free("dimension", dim)
        self.free("domain", domain)
        out["attrs"] = []
        for i in range(self.number("array_schema_get_attribute_num", schema)):
            attr = self.handle("array_schema_get_attribute_from_index", schema, c_uint32(i))
            out["attrs"].append(self.describe_attribute(attr))
            self.free("attribute", attr)
        return out

    def schema(self, uri):
        array = self.open(uri, READ)
        handle = self.handle("array_get_schema", array)
        out = self.describe(handle)
        self.free("array_schema", handle)
        self.close(array)
        return out

    # ---------------------------------------------------------------- open, close

    def open(self, uri, mode, at=None, since=None):
        array = self.handle("array_alloc", uri.encode())
        if since is not None:
            self.call("array_set_open_timestamp_start", array, c_uint64(since))
        if at is not None:
            self.call("array_set_open_timestamp_end", array, c_uint64(at))
        try:
            self.call("array_open", array, c_uint32(mode))
        except TileDBError:
            self.free("array", array)
            raise
        return array

    def close(self, array):
        self.call("array_close", array)
        self.free("array", array)

    # ---------------------------------------------------------------- cells

    def set_ranges(self, array, query, dims, ranges):
        """`ranges`: dimension name -> list of inclusive [low, high]."""
        subarray = self.handle("subarray_alloc", array)
        for i, dim in enumerate(dims):
            for low, high in ranges.get(dim["name"]) or []:
                low = celltypes.coordinate_bytes(dim["type"], low)
                high = celltypes.coordinate_bytes(dim["type"], high)
                if dim["type"] == "STRING_ASCII":
                    sizes = c_uint64(len(low)), c_uint64(len(high))
                    self.call("subarray_add_range_var", subarray, c_uint32(i), low, sizes[0], high, sizes[1])
                else:
                    self.call("subarray_add_range", subarray, c_uint32(i), low, high, None)
        self.call("query_set_subarray_t", query, subarray)
        self.free("subarray", subarray)

    def set_buffers(self, query, name, data, offsets, validity):
        """Hands over three bytearrays (the last two may be None); returns their size variables."""
        sizes = []
        for kind, buffer in (("data", data), ("offsets", offsets), ("validity", validity)):
            if buffer is None:
                sizes.append(None)
                continue
            size = c_uint64(len(buffer))
            room = (ctypes.c_char * max(len(buffer), 1)).from_buffer(buffer if buffer else bytearray(1))
            self.call("query_set_%s_buffer" % kind, query, name.encode(), room, byref(size))
            sizes.append((size, room))
        return sizes

    def write(self, uri, schema, layout, ts, parts, ranges=None):
        """One fragment. `parts`: for each submission, {field: (values, hidden)}: `hidden` are the bytes to store under
        each null. `ranges` (dense): dimension -> [[low, high]]."""
        array = self.open(uri, WRITE, at=ts)
        query = self.handle("query_alloc", array, c_uint32(WRITE))
        try:
            self.call("query_set_layout", query, c_uint32(LAYOUTS[layout]))
            if ranges is not None:
                self.set_ranges(array, query, schema["dims"], ranges)
            keep = []
            for part in parts:
                for name, datatype, number, nullable, _ in celltypes.fields(schema):
                    if name not in part:
                        continue
                    values, hidden = part[name]
                    cells = [hidden[i] if v is None else v for i, v in enumerate(values)]
                    data, offsets, validity = bytearray(b"".join(cells)), None, None
                    if number == "var":
                        offsets = bytearray(packed_offsets(cells))
                    if nullable:
                        validity = bytearray(0 if v is None else 1 for v in values)
                    keep.append((data, self.set_buffers(query, name, data, offsets, validity)))
                self.call("query_submit", query)
            self.call("query_finalize", query)
        finally:
            self.free("query", query)
            self.close(array)

    def read(self, uri, schema, layout, ranges=None, names=None, at=None, since=None, condition=None):
        """The cells as {field: [bytes or None]}. Buffers grow until the query completes in one submission."""
        array = self.open(uri, READ, at=at, since=since)
        try:
            if ranges is None and schema["array_type"] == "dense":
                ranges = {d["name"]: [d["domain"]] for d in schema["dims"]}
            # See known_differences: these reads must fit from the start.
            roomy = schema["array_type"] == "sparse" and layout != "global"
            room = ROOMY_READ_BUFFER if roomy else SMALLEST_READ_BUFFER
            while True:
                out = self._read_once(array, schema, layout, ranges, names, room, condition)
                if out is not None:
                    return out
                room *= 8
        finally:
            self.close(array)

    def _read_once(self, array, schema, layout, ranges, names, room, condition):
        query = self.handle("query_alloc", array, c_uint32(READ))
        try:
            self.call("query_set_layout", query, c_uint32(LAYOUTS[layout]))
            if ranges is not None:
                self.set_ranges(array, query, schema["dims"], ranges)
            if condition is not None:
                self.call("query_set_condition", query, self.condition(condition))
            columns = []
            fields = celltypes.fields(schema) + [TIMESTAMPS] * (names is not None and TIMESTAMPS[0] in names)
            for name, datatype, number, nullable, _ in fields:
                if names is not None and name not in names:
                    continue
                data = bytearray(room)
                offsets = bytearray(room) if number == "var" else None
                validity = bytearray(room) if nullable else None
                sizes = self.set_buffers(query, name, data, offsets, validity)
                columns.append((name, datatype, number, data, offsets, validity, sizes))
            self.call("query_submit", query)
            if self.number("query_get_status", query, ctype=c_int) != COMPLETED:
                return None
            out = {}
            for name, datatype, number, data, offsets, validity, sizes in columns:
                data, offsets, validity = (
                    None if b is None else bytes(s[1][: s[0].value])
                    for b, s in zip((data, offsets, validity), sizes)
                )
                if number == "var":
                    starts = list(struct.unpack("<%dQ" % (len(offsets) // 8), offsets))
                    ends = starts[1:] + [len(data)]
                    cells = [data[a:b] for a, b in zip(starts, ends)]
                else:
                    size = number * celltypes.UNIT_LEN[datatype]
                    cells = [data[i : i + size] for i in range(0, len(data), size)]
                if validity is not None:
                    cells = [c if v else None for c, v in zip(cells, validity)]
                out[name] = cells
            return out
        finally:
            self.free("query", query)

    # ---------------------------------------------------------------- conditions, deletes, aggregates

    def condition(self, tree):
        """A condition from nested tuples: ("not", child), ("and" or "or", children), ("null", field, is_null),
        ("cmp", field, relation, bytes, of_codes), ("in", field, [bytes], is_in, of_codes)."""
        kind = tree[0]
        if kind == "not":
            return self.handle("query_condition_negate", self.condition(tree[1]))
        if kind in COMBINATIONS:
            out = self.condition(tree[1][0])
            for child in tree[1][1:]:
                out = self.handle("query_condition_combine", out, self.condition(child), c_uint32(COMBINATIONS[kind]))
            return out
        field = tree[1].encode()
        if kind == "in":
            _, _, members, is_in, of_codes = tree
            data, offsets = b"".join(members), packed_offsets(members)
            op = c_uint32(IN if is_in else NOT_IN)
            sizes = c_uint64(len(data)), c_uint64(len(offsets))
            out = self.handle("query_condition_alloc_set_membership", field, data or None, sizes[0], offsets, sizes[1], op)
        else:
            out = self.handle("query_condition_alloc")
            if kind == "null":
                value, op, of_codes = None, "==" if tree[2] else "!=", False
            else:
                _, _, op, value, of_codes = tree
            self.call("query_condition_init", out, field, value, c_uint64(len(value or b"")), c_uint32(RELATIONS[op]))
        if of_codes:
            self.call("query_condition_set_use_enumeration", out, c_int(0))
        return out

    def delete(self, uri, condition, ts):
        array = self.open(uri, DELETE, at=ts)
        query = self.handle("query_alloc", array, c_uint32(DELETE))
        try:
            self.call("query_set_condition", query, self.condition(condition))
            self.call("query_submit", query)
        finally:
            self.free("query", query)
            self.close(array)

    def aggregate(self, uri, schema, aggregates, layout, ranges=None, at=None, since=None, condition=None):
        """The values of [(function, field)] as bytes, or None where there is none."""
        fields = {f[0]: f for f in celltypes.fields(schema)}
        if ranges is None and schema["array_type"] == "dense":
            ranges = {d["name"]: [d["domain"]] for d in schema["dims"]}
        array = self.open(uri, READ, at=at, since=since)
        query = self.handle("query_alloc", array, c_uint32(READ))
        try:
            self.call("query_set_layout", query, c_uint32(LAYOUTS[layout]))
            if ranges is not None:
                self.set_ranges(array, query, schema["dims"], ranges)
            if condition is not None:
                self.call("query_set_condition", query, self.condition(condition))
            channel = self.handle("query_get_default_channel", query)
            outs = []
            for i, (function, field) in enumerate(aggregates):
                if function == "count":
                    operation = self.handle("aggregate_count_get")
                else:
                    operator = self.handle("channel_operator_%s_get" % function)
                    operation = self.handle("create_unary_aggregate", query, operator, field.encode())
                name = "out%d" % i
                self.call("channel_apply_aggregate", channel, name.encode(), operation)
                length, var, nullable = 8, False, False
                if function not in ("count", "null_count"):
                    _, datatype, number, nullable, _ = fields[field]
                    if AGGREGATES[function] is None:
                        var = number == "var"
                        length = ROOMY_READ_BUFFER if var else number * celltypes.UNIT_LEN[datatype]
                sizes = self.set_buffers(
                    query, name, bytearray(length), bytearray(8) if var else None, bytearray(1) if nullable else None)
                outs.append((sizes, nullable))
            self.call("query_submit", query)
            if self.number("query_get_status", query, ctype=c_int) != COMPLETED:
                raise TileDBError("the aggregates are incomplete")
            values = []
            for (data, _, validity), nullable in outs:
                valid = not nullable or bytes(validity[1])[0]
                values.append(bytes(data[1][: data[0].value]) if valid else None)
            return values
        finally:
            self.free("query", query)
            self.close(array)

    def consolidate(self, uri):
        """Fragments into one; by default the times of the cells are kept."""
        # The default budget is of gigabytes, which it takes at once.
        self.call("array_consolidate", uri.encode(), self.config({"sm.mem.total_budget": str(CONSOLIDATION_BUDGET)}))

    def vacuum(self, uri):
        self.call("array_vacuum", uri.encode(), None)

    # ---------------------------------------------------------------- metadata

    def put_metadata(self, uri, items, ts=None):
        """`items`: key -> (datatype, bytes), or None to delete the key."""
        array = self.open(uri, WRITE, at=ts)
        try:
            for key, item in items.items():
                if item is None:
                    self.call("array_delete_metadata", array, key.encode())
                    continue
                datatype, raw = item
                count = c_uint32(len(raw) // celltypes.UNIT_LEN[datatype])
                code = c_uint32(celltypes.CODES[datatype])
                self.call("array_put_metadata", array, key.encode(), code, count, raw or None)
        finally:
            self.close(array)

    def metadata(self, uri, at=None):
        """key -> (datatype, bytes)"""
        array = self.open(uri, READ, at=at)
        try:
            out = {}
            for i in range(self.number("array_get_metadata_num", array, ctype=c_uint64)):
                key, key_len, code, count, value = c_void_p(), c_uint32(), c_uint32(), c_uint32(), c_void_p()
                refs = byref(key), byref(key_len), byref(code), byref(count), byref(value)
                self.call("array_get_metadata_from_index", array, c_uint64(i), *refs)
                datatype = celltypes.NAMES[code.value]
                raw = ctypes.string_at(value, count.value * celltypes.UNIT_LEN[datatype]) if value else b""
                out[ctypes.string_at(key, key_len.value).decode()] = (datatype, raw)
            return out
        finally:
            self.close(array)


class Reference:
    """A `Library` in a process of its own: `reference("write", key, uri, ...)`."""

    def __init__(self, timeout_s=120):
        self.timeout_s = timeout_s
        self.process = None

    def __call__(self, operation, key, *args, **kwargs):
        survivor = self.process
        try:
            return self._once(operation, key, args, kwargs)
        except ReferenceCrash:
            # A process that an earlier operation damaged may fall over only now.
            if survivor is None or operation not in ("read", "schema", "metadata", "aggregate"):
                raise
            return self._once(operation, key, args, kwargs)

    def _once(self, operation, key, args, kwargs):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        try:
            _send(self.process.stdin, (operation, key, args, kwargs))
        except OSError as error:
            raise self._crashed(operation) from error
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout_s)
        if not ready:
            self.close()
            raise ReferenceCrash("libtiledb did not finish %s within %d s" % (operation, self.timeout_s))
        try:
            ok, value = _receive(self.process.stdout)
        except EOFError as error:
            raise self._crashed(operation) from error
        if not ok:
            raise TileDBError(value)
        return value

    def _crashed(self, operation):
        code = self.process.wait()
        self.close()
        return ReferenceCrash("libtiledb crashed in %s (exit status %s)" % (operation, code))

    def close(self):
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()
            with contextlib.suppress(OSError):
                process.stdin.close()


def _send(stream, value):
    raw = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(raw)) + raw)
    stream.flush()


def _receive(stream):
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    size = struct.unpack("<Q", head)[0]
    raw = stream.read(size)
    if len(raw) < size:
        raise EOFError
    return pickle.loads(raw)


def _serve():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    library = Library()
    while True:
        try:
            operation, key, args, kwargs = _receive(sys.stdin.buffer)
        except EOFError:
            return
        library.use_key(key)
        try:
            answer = True, getattr(library, operation)(*args, **kwargs)
        except TileDBError as error:
            answer = False, str(error)
        _send(answers, answer)


if __name__ == "__main__" and sys.argv[1:] == ["--serve"]:
    _serve()

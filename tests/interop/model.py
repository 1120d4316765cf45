"""A naive array: a list of writes, and reads that follow from the words of the format alone.

Nothing here is shared with either program under test. Cells are looked up in dictionaries, orders are sort keys, and
everything is as slow as that sounds.
"""
import itertools
import math

import celltypes


class Grid:
    """Order keys of the cells of one schema. Coordinates are tuples of numbers (bytes for string dimensions)."""

    def __init__(self, schema):
        self.dims = schema["dims"]
        self.col_cells = schema["cell_order"] == "col-major"
        self.col_tiles = schema["tile_order"] == "col-major"
        self.hilbert = schema["cell_order"] == "hilbert"

    def key(self, layout):
        """A function from coordinates to what they sort by in a layout."""
        if layout == "row":
            return lambda coords: coords
        if layout == "col":
            return lambda coords: coords[::-1]
        if layout == "global":
            return self.hilbert_key if self.hilbert else self.tile_key
        raise ValueError("no order in layout " + layout)

    def tile_of(self, d, coord):
        """Index of the space tile along dimension `d`."""
        dim = self.dims[d]
        if dim["tile"] is None:
            return 0
        low = dim["domain"][0]
        if dim["type"] == "FLOAT32":
            # Single precision throughout, as the format's tile numbers are defined on the dimension's own type.
            return math.floor(celltypes.float32(celltypes.float32(coord - low) / dim["tile"]))
        if dim["type"] == "FLOAT64":
            return math.floor((coord - low) / dim["tile"])
        return (coord - low) // dim["tile"]

    def tile_key(self, coords):
        tile = tuple(self.tile_of(d, c) for d, c in enumerate(coords))
        return (tile[::-1] if self.col_tiles else tile), (coords[::-1] if self.col_cells else coords)

    def hilbert_key(self, coords):
        return self.hilbert_value(coords), coords

    def hilbert_value(self, coords):
        """Position on the Hilbert curve (Skilling, "Programming the Hilbert curve", 2004) of the cell's bucket."""
        n = len(coords)
        bits = 63 // n
        buckets = [self.bucket(d, c, bits) for d, c in enumerate(coords)]
        x = list(buckets)
        q = 1 << (bits - 1)
        while q > 1:
            p = q - 1
            for i in range(n):
                if x[i] & q:
                    x[0] ^= p
                else:
                    t = (x[0] ^ x[i]) & p
                    x[0] ^= t
                    x[i] ^= t
            q >>= 1
        for i in range(1, n):
            x[i] ^= x[i - 1]
        # Skilling's last step: the parity of the higher bits of the last axis, onto every axis. With one dimension the
        # topmost bucket rounds up to 1 << bits, which the first loop does not see and this one does.
        t, q = 0, 1 << bits
        while q > 1:
            if x[n - 1] & q:
                t ^= q - 1
            q >>= 1
        x = [v ^ t for v in x]
        value = 0
        for bit in reversed(range(bits)):
            for v in x:
                value = (value << 1) | ((v >> bit) & 1)
        return value

    def bucket(self, d, coord, bits):
        dim = self.dims[d]
        if dim["type"] == "STRING_ASCII":
            return int.from_bytes(coord[:8].ljust(8, b"\0"), "big") >> (64 - bits)
        low, high = (float(v) for v in dim["domain"])
        return int((float(coord) - low) / (high - low) * float((1 << bits) - 1))


class Model:
    def __init__(self, schema):
        """`schema`: the complete one, with every fill value."""
        self.schema = schema
        self.dense = schema["array_type"] == "dense"
        self.grid = Grid(schema)
        self.fields = celltypes.fields(schema)
        self.writes = []
        self.metadata_writes = []

    def write(self, ts, columns):
        """Cells as {field: [bytes or None]}, coordinates included, in any order."""
        columns = {n: [celltypes.canonical(t, v) for v in columns[n]] for n, t, _, _, _ in self.fields}
        count = len(next(iter(columns.values())))
        names = [f[0] for f in self.fields]
        rows = [tuple(columns[n][i] for n in names) for i in range(count)]
        self.writes.append((ts, rows))

    def coords(self, row):
        """Coordinates of a row that has all fields."""
        return tuple(celltypes.coordinate(d["type"], row[i]) for i, d in enumerate(self.schema["dims"]))

    def fill_row(self, coords):
        dims = tuple(celltypes.coordinate_bytes(d["type"], c) for d, c in zip(self.schema["dims"], coords))
        fills = []
        for attr in self.schema["attrs"]:
            raw = celltypes.canonical(attr["type"], bytes.fromhex(attr["fill_hex"]))
            fills.append(raw if not attr["nullable"] or attr["fill_valid"] else None)
        return dims + tuple(fills)

    def read(self, layout, ranges=None, names=None, at=None, since=None):
        """Expected cells as a list of (order key or None, row); rows hold the fields of `names` only."""
        writes = sorted((w for w in self.writes if (at is None or w[0] <= at) and (since is None or w[0] >= since)),
                        key=lambda w: w[0])
        ranges = {name: list(rs) for name, rs in (ranges or {}).items()}
        if self.dense:
            cells = {}
            for _, rows in writes:
                cells.update((self.coords(row), row) for row in rows)
            axes = []
            for dim in self.schema["dims"]:
                wanted = set()
                for low, high in ranges.get(dim["name"]) or [dim["domain"]]:
                    wanted.update(range(low, high + 1))
                axes.append(sorted(wanted))
            found = [(c, cells.get(c) or self.fill_row(c)) for c in itertools.product(*axes)]
        else:
            found = []
            newest = {}
            for _, rows in writes:
                for row in rows:
                    if self.schema["allows_dups"]:
                        found.append((self.coords(row), row))
                    else:
                        newest[row[: len(self.schema["dims"])]] = row
            found += [(self.coords(row), row) for row in newest.values()]
            found = [(c, row) for c, row in found if self._inside(c, ranges)]
        keep = [i for i, f in enumerate(self.fields) if names is None or f[0] in names]
        if layout == "unordered":
            return [(None, tuple(row[i] for i in keep)) for _, row in found]
        key = self.grid.key(layout)
        found = sorted(((key(c), row) for c, row in found), key=lambda item: item[0])
        return [(k, tuple(row[i] for i in keep)) for k, row in found]

    def _inside(self, coords, ranges):
        for dim, coord in zip(self.schema["dims"], coords):
            rs = ranges.get(dim["name"])
            if rs and not any(_bound(dim, low) <= coord <= _bound(dim, high) for low, high in rs):
                return False
        return True

    def put_metadata(self, ts, items):
        self.metadata_writes.append((ts, items))

    def metadata(self, at=None):
        out = {}
        for ts, items in sorted(self.metadata_writes, key=lambda w: w[0]):
            if at is None or ts <= at:
                for key, item in items.items():
                    out.pop(key, None) if item is None else out.update({key: item})
        return out


def _bound(dim, value):
    return value.encode("ascii") if dim["type"] == "STRING_ASCII" and isinstance(value, str) else value


def difference(expected, actual):
    """None, or a sentence on the first cell that differs.

    `expected` is what `Model.read` gives, `actual` a list of rows. Cells with equal keys may come in any order.
    """
    if len(expected) != len(actual):
        return "%d cells where %d are expected%s" % (len(actual), len(expected), _odd_row(expected, actual))
    at = 0
    for _, group in itertools.groupby(expected, key=lambda item: item[0]):
        wanted = [row for _, row in group]
        got = actual[at : at + len(wanted)]
        if wanted != got:
            left = list(got)
            for i, row in enumerate(wanted):
                if row not in left:
                    there = got[i] if len(wanted) == 1 else left[0]
                    return "cell %d: expected %s, got %s" % (at + i, show(row), show(there))
                left.remove(row)
        at += len(wanted)
    return None


def _odd_row(expected, actual):
    left = list(actual)
    for _, row in expected:
        if row in left:
            left.remove(row)
        else:
            return "; missing " + show(row)
    return "; superfluous " + show(left[0]) if left else ""


def show(row):
    return "(" + ", ".join("null" if v is None else v.hex() or "''" for v in row) + ")"

"""smalti's Python package beside TileDB-Py, zarr-python, xarray's engine for Zarr, pandas and polars: the section "Python" of docs/benchmarks.md.

    python bench_python.py [--only grid,table-write] [--reps 7] [--scale 0.5] [--data FOLDER] [--results FILE.json] [--write docs/benchmarks.md]

It runs where requirements-others.txt and the package (`pip install crates/python`) are installed. All sides run in this process, turn by turn; only
what a fresh process does has one for each turn. TileDB-Py is entered twice: how far its second entry is from its first tells how much a ratio means
on this machine. What the sides read is compared by checksums, and what they wrote is read again for that.
"""

import argparse
import contextlib
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from dataclasses import dataclass

THREADS = 2
os.environ.setdefault("POLARS_MAX_THREADS", str(THREADS))

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse
import smalti as sm
import smalti.xarray
import tiledb
import xarray as xr
import zarr

from compare import machine, put_section

OURS, THEIRS, CONTROL = "smalti", "TileDB-Py", "TileDB-Py again"
# Beyond this a ratio is more than noise.
TIE = 1.3
TILE, SMALL_TILE, STEP_TILE = (64, 64, 64), (64, 64), (1, 256, 256)
COORDINATES, EXTENT, CAPACITY, BATCH, FRAGMENTS = 1_000_000, 10_000, 100_000, 100_000, 100
COLUMNS = ["x", "y", "value", "count", "station", "code", "kind"]
FEW, STATION = ("count", "<", 10_000), ("station", "==", "station 4711")
PARQUET = {"compression": "zstd", "compression_level": 3, "row_group_size": CAPACITY}


@dataclass
class Case:
    """A line of the comparison, for each variant: the method `make_<kind>` of a side makes what `read_<read>` reads. Where it `writes`, the making is
    what is measured. Sides that have no such methods are left out."""

    name: str
    what: str
    kind: str
    read: str
    variants: tuple = ("zstd",)
    arguments: tuple = ()
    writes: bool = False


FILTERS = ("no filter", "zstd")
# As those write who sync nothing.
UNSYNCED = "from Arrow, not synced"
CASES = [
    Case("grid-write", "write a float32 grid, tiles of 64^3", "grid", "all", FILTERS, writes=True),
    Case("grid-all", "read it all", "grid", "all", FILTERS),
    Case("grid-boxes", "50 boxes of 32^3", "grid", "boxes", FILTERS, ("boxes",)),
    *(Case(f"grid-plane{axis}", f"two planes across axis {axis}", "grid", "boxes", FILTERS, (f"planes{axis}",)) for axis in range(3)),
    Case("grid-rows", "8 rows by a list of positions", "grid", "rows", FILTERS),
    Case("grid-calls", "1,000 boxes of 8^2 through one handle", "small", "boxes", arguments=("calls",)),
    Case("grid-steps", "open and read 100 fragments, a plane each", "steps", "all"),
    Case("xarray-write", "write a dataset of a grid", "cube", "mean", writes=True),
    Case("xarray-mean", "open a dataset, mean of a region", "cube", "mean"),
    Case("xarray-many", "open 100 variables, mean of one", "many", "one"),
    Case("table-write", "write a table, rows in their order", "table", "pandas", ("from pandas", "from Arrow", UNSYNCED), writes=True),
    Case("table-pandas", "read it into pandas", "table", "pandas"),
    Case("table-polars", "read it into polars", "table", "polars"),
    Case("table-text", "two columns of text into pandas", "table", "pandas", arguments=(["station", "kind"],)),
    Case("table-numpy", "a column of text into NumPy", "table", "objects"),
    Case("table-nulls", "integers that may be null into pandas", "table", "pandas", arguments=(["code"],)),
    Case("cells-write", "write a table sorted by two coordinates", "cells", "pandas", writes=True),
    Case("cells-pandas", "read it into pandas", "cells", "pandas"),
    Case("cells-polars", "read it into polars", "cells", "polars"),
    Case("cells-number", "two columns where a number is small", "cells", "where", arguments=FEW),
    Case("cells-text", "two columns where a text equals one", "cells", "where", arguments=STATION),
    Case("cells-batches", "one column in batches of 100,000", "cells", "batches"),
    Case("cells-ranges", "20 boxes of coordinates into pandas", "cells", "ranges"),
    Case("cells-sum", "count and sum", "cells", "sum"),
    Case("cells-sum-where", "count and sum where a number is small", "cells", "sum", arguments=FEW),
    Case("cells-fragments", "open and read 100 fragments into pandas", "fragments", "pandas"),
    Case("matrix-write", "write a sparse matrix of SciPy", "matrix", "matrix", writes=True),
    Case("matrix-read", "read it into SciPy", "matrix", "matrix"),
]
OPEN_THEIRS = "with tiledb.open(path) as array: result ="
# What fresh processes run: by name what it is, the kind of data, and a statement for each side.
FRESH = {
    "fresh-import": ("import", None, {
        OURS: "import smalti",
        THEIRS: "import tiledb",
        **{name: f"import {name}" for name in ("zarr", "pandas", "polars")},
    }),
    "fresh-grid": ("import, open and read a box of 4^3", "grid", {
        OURS: "import smalti; result = smalti.open(path)[:4, :4, :4].sum()",
        THEIRS: f"import tiledb\n{OPEN_THEIRS} array[:4, :4, :4].sum()",
        "zarr": "import zarr; result = zarr.open_array(path, mode='r')[:4, :4, :4].sum()",
    }),
    "fresh-xarray": ("import xarray, open and read a box of 4^3", "cube", {
        OURS: "import xarray; result = xarray.open_dataset(path, engine='smalti')['cube'][:4, :4, :4].sum()",
        THEIRS: f"import tiledb, xarray\npath += '/cube'\n{OPEN_THEIRS} xarray.DataArray(array[:4, :4, :4]).sum()",
        "xarray zarr": "import xarray; result = xarray.open_dataset(path, engine='zarr')['cube'][:4, :4, :4].sum()",
    }),
    "fresh-table": ("import, open and read 1 % of a column into pandas", "cells", {
        OURS: "import smalti; result = smalti.open(path).read(['value'], ranges={'x': slice(10000, 19999)}).to_pandas()['value'].sum()",
        THEIRS: f"import tiledb\n{OPEN_THEIRS} array.query(attrs=['value'], coords=False).df[10000:19999]['value'].sum()",
        "pandas": "import pandas\nfilters = [('x', '>=', 10000), ('x', '<', 20000)]\n"
        "result = pandas.read_parquet(path, columns=['value'], filters=filters)['value'].sum()",
        "polars": "import polars\nscan = polars.scan_parquet(path).filter(polars.col('x').is_between(10000, 19999))\n"
        "result = scan.select('value').collect().to_pandas()['value'].sum()",
    }),
}


class Data:
    """What is written and asked for, the same for all sides."""

    def __init__(self, folder, scale):
        os.makedirs(folder, exist_ok=True)
        depth, count = max(64, int(128 * scale) // 64 * 64), int(3_000_000 * scale)
        path = os.path.join(folder, f"grid-{scale:g}.npy")
        if not os.path.exists(path):
            np.save(path, grid_of((depth, 512, 512)))
        self.grid = np.load(path)
        self.steps = np.ascontiguousarray(np.resize(self.grid[:, :256, :256], (FRAGMENTS, 256, 256)))
        self.small = self.grid[:4].reshape(1024, 1024)
        rng = np.random.default_rng(11)
        self.boxes = {"boxes": boxes_of(rng, self.grid.shape, 32, 50), "calls": boxes_of(rng, self.small.shape, 8, 1000)}
        for axis in range(3):
            places = rng.integers(0, self.grid.shape[axis], 2).tolist()
            self.boxes[f"planes{axis}"] = [(*[slice(None)] * axis, place, *[slice(None)] * (2 - axis)) for place in places]
        self.rows = sorted(rng.choice(512, 8, replace=False).tolist())
        path = os.path.join(folder, f"table-{scale:g}.parquet")
        if not os.path.exists(path):
            pq.write_table(table_of(count), path)
        self.table = pq.read_table(path)
        self.frame = frame_of(self.table)
        side = int(COORDINATES * (1000 / count) ** 0.5)
        places = self.frame[["x", "y"]].to_numpy()
        corners = np.minimum(places[rng.integers(0, count, 20)], places.max(axis=0) - side).tolist()
        self.ranges = [((x, x + side), (y, y + side)) for x, y in corners]
        side = 20_000
        cells = np.unique(rng.integers(0, side * side, count))
        self.matrix = scipy.sparse.csr_matrix((rng.normal(size=len(cells)), (cells // side, cells % side)), (side, side))
        axes = {"time": np.arange("2024-01-01", depth, dtype="M8[D]").astype("M8[ns]")}
        axes |= {"lat": np.linspace(-90, 90, 512), "lon": np.linspace(0, 360, 512)}
        self.cube = xr.Dataset({"cube": (tuple(axes), self.grid)}, axes)
        variables = {f"variable{idx}": (("y", "x"), self.grid[idx % depth, :50, :50]) for idx in range(100)}
        self.many = xr.Dataset(variables, {"y": np.arange(50.0), "x": np.arange(50.0)})

    def parts(self):
        """Tables of a fragment each. The domain of the first one has the coordinates of all others."""
        size = len(self.frame) // FRAGMENTS
        ends = self.frame.iloc[:2].assign(x=[0, COORDINATES - 1], y=[0, COORDINATES - 1])
        yield pd.concat([ends, self.frame.iloc[2:size]], ignore_index=True)
        for idx in range(1, FRAGMENTS):
            yield self.frame.iloc[idx * size : (idx + 1) * size]


def grid_of(shape):
    z, y, x = (np.linspace(0, 6, length, dtype="f4") for length in shape)
    field = 280 + 15 * np.sin(z)[:, None, None] * np.cos(y)[:, None] + 8 * np.sin(3 * x)
    return np.round((field + np.random.default_rng(7).standard_normal(shape, "f4") / 2) * 64) / 64


def boxes_of(rng, shape, side, count):
    corners = [[int(rng.integers(0, length - side)) for length in shape] for _ in range(count)]
    return [tuple(slice(at, at + side) for at in corner) for corner in corners]


def table_of(count):
    rng = np.random.default_rng(13)
    keys = rng.permutation(np.unique(rng.integers(1, COORDINATES**2 - 1, count + count // 8)))[:count]
    stations = pa.array([f"station {number}" for number in range(50_000)]).take(rng.integers(0, 50_000, count))
    codes = pa.array(rng.integers(0, 10_000, count, "i4"), mask=rng.random(count) < 0.2)
    kinds = pa.DictionaryArray.from_arrays(rng.integers(0, 30, count, "i1"), [f"kind {number}" for number in range(30)])
    values, counts = np.round(rng.normal(20, 5, count), 2), rng.integers(0, 1_000_000, count, "i4")
    return pa.table([keys // COORDINATES, keys % COORDINATES, values, counts, stations, codes, kinds], COLUMNS)


def frame_of(table):
    return table.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get).astype({"count": "int32"})


class Side:
    """What takes its turns."""

    name = ""

    def __init__(self, data, name=None):
        self.data = data
        self.name = name or self.name

    def begin(self):
        """Before each turn, not measured."""


class Grids(Side):
    """A side with grids: `store` makes one, `open` opens it."""

    def make_grid(self, path, variant):
        self.store(path, self.data.grid, TILE, variant)

    def make_small(self, path, variant):
        self.store(path, self.data.small, SMALL_TILE, variant)

    def make_steps(self, path, variant):
        self.store(path, self.data.steps, STEP_TILE, variant, by_plane=True)

    def read_all(self, path):
        with self.open(path) as array:
            return array[:]

    def read_boxes(self, path, which):
        with self.open(path) as array:
            return [array[box] for box in self.data.boxes[which]]

    def read_rows(self, path):
        with self.open(path) as array:
            return self.rows(array, 5, self.data.rows)


class Smalti(Grids):
    name = OURS

    def __init__(self, data):
        super().__init__(data)
        self.options = {"context": sm.Context(threads=THREADS)}

    def begin(self):
        self.options["context"].forget()

    def open(self, path):
        return sm.open(path, **self.options)

    def filters(self, variant):
        return [("zstd", 3)] if variant == "zstd" else []

    def store(self, path, values, tile, variant, by_plane=False):
        if not by_plane:
            return sm.from_numpy(path, values, tile=tile, filters=self.filters(variant), **self.options)
        dims = [sm.dim(name, (0, length - 1), tile=extent) for name, length, extent in zip("tyx", values.shape, tile)]
        array = sm.create(path, dims, sm.attr("value", values.dtype, filters=self.filters(variant)), **self.options)
        for idx, plane in enumerate(values):
            array[idx] = plane

    def rows(self, array, plane, rows):
        return array[plane, rows]

    def make_cube(self, path, variant):
        self.data.cube.smalti.to_group(path, encoding={"cube": {"tile": TILE, "filters": self.filters(variant)}}, **self.options)

    def make_many(self, path, _):
        self.data.many.smalti.to_group(path, **self.options)

    def dataset(self, path):
        return xr.open_dataset(path, engine="smalti", **self.options)

    def read_mean(self, path):
        return mean_of(self.dataset(path)["cube"])

    def read_one(self, path):
        return float(self.dataset(path)["variable7"].mean())

    def make_table(self, path, variant):
        if variant.startswith("from Arrow"):
            return sm.from_arrow(path, self.data.table, sync="none" if variant == UNSYNCED else None, **self.options)
        return sm.from_pandas(path, self.data.frame, **self.options)

    def make_cells(self, path, _):
        return self.cells(path, self.data.frame)

    def make_fragments(self, path, _):
        first, *others = self.data.parts()
        array = self.cells(path, first, duplicates=True)
        for part in others:
            array.write(part)

    def cells(self, path, frame, duplicates=False):
        tile = {"x": EXTENT, "y": EXTENT}
        return sm.from_pandas(path, frame, ["x", "y"], tile=tile, capacity=CAPACITY, duplicates=duplicates, **self.options)

    def read_pandas(self, path, columns=None):
        return self.open(path).read(columns, order="unordered").to_pandas()

    def read_polars(self, path):
        return self.open(path).read(order="unordered").to_polars()

    def read_objects(self, path):
        return list(self.open(path).read(["station"], order="unordered").to_dict().values())

    def read_batches(self, path):
        return sum(pc.sum(batch.to_arrow()["value"]).as_py() for batch in self.open(path).read(["value"], order="unordered", batch_size=BATCH))

    def read_where(self, path, *condition):
        return self.open(path).read(["value", "count"], text_of(condition), order="unordered").to_pandas()

    def read_ranges(self, path):
        array = self.open(path)
        return [array.read(ranges={"x": x, "y": y}, order="unordered").to_pandas() for x, y in self.data.ranges]

    def read_sum(self, path, *condition):
        return list(self.open(path).read(where=text_of(condition)).aggregate("count", ("sum", "value")).values())

    def make_matrix(self, path, variant):
        sm.from_scipy(path, self.data.matrix, tile=200, filters=self.filters(variant), **self.options)

    def read_matrix(self, path):
        return matrix_of(self.open(path).read(order="unordered").to_dict(), self.data)


class TileDBPy(Grids):
    name = THEIRS

    def __init__(self, data, name=None):
        super().__init__(data, name)
        config = {"sm.compute_concurrency_level": THREADS, "sm.io_concurrency_level": THREADS}
        self.ctx, self.batching = tiledb.Ctx(config), tiledb.Ctx({**config, "py.init_buffer_bytes": 8 * BATCH})

    def open(self, path, mode="r"):
        return tiledb.open(path, mode, ctx=self.ctx)

    def filters(self, variant):
        return tiledb.FilterList([] if variant == "no filter" else [tiledb.ZstdFilter(3)])

    def create(self, path, names, values, tile, variant, sparse=False):
        filters = self.filters(variant)
        options = {"filters": filters} if sparse else {}
        sizes = zip(names, values.shape, tile)
        dims = [tiledb.Dim(name, (0, length - 1), extent, dtype=np.uint64, **options) for name, length, extent in sizes]
        attr = tiledb.Attr("value" if sparse else "", dtype=values.dtype, filters=filters)
        tiledb.Array.create(path, tiledb.ArraySchema(tiledb.Domain(*dims), [attr], sparse=sparse), ctx=self.ctx)

    def store(self, path, values, tile, variant, by_plane=False):
        self.create(path, "zyx"[-values.ndim :], values, tile, variant)
        for index, part in enumerate(values) if by_plane else [(slice(None), values)]:
            with self.open(path, "w") as array:
                array[index] = part

    def rows(self, array, plane, rows):
        return array.multi_index[plane, rows, :][""]

    def make_cube(self, path, variant):
        self.dataset(path, self.data.cube, variant)

    def make_many(self, path, variant):
        self.dataset(path, self.data.many, variant)

    def dataset(self, path, dataset, variant):
        tiledb.Group.create(path, ctx=self.ctx)
        with tiledb.Group(path, "w", ctx=self.ctx) as group:
            for name, variable in dataset.variables.items():
                self.store(f"{path}/{name}", variable.values, TILE if variable.ndim == 3 else variable.shape, variant)
                group.add(name, name, relative=True)

    def read_mean(self, path):
        with self.open(f"{path}/cube") as array:
            return float(xr.DataArray(array[region_of(array.shape)]).mean())

    def read_one(self, path):
        with tiledb.Group(path, ctx=self.ctx) as group, contextlib.ExitStack() as opened:
            arrays = {member.name: opened.enter_context(self.open(member.uri)) for member in group}
            return float(xr.DataArray(arrays["variable7"][:]).mean())

    def make_table(self, path, variant):
        self.table(path, frame_of(self.data.table) if variant.startswith("from Arrow") else self.data.frame, sparse=False, tile=CAPACITY)

    def make_cells(self, path, _):
        self.cells(path, self.data.frame)

    def make_fragments(self, path, _):
        for idx, part in enumerate(self.data.parts()):
            self.cells(path, part, allows_duplicates=True, mode="append" if idx else "ingest")

    def cells(self, path, frame, allows_duplicates=False, mode="ingest"):
        options = {"allows_duplicates": allows_duplicates, "mode": mode}
        self.table(path, frame, index_dims=["x", "y"], sparse=True, tile=EXTENT, capacity=CAPACITY, **options)

    def table(self, path, frame, **options):
        filters = dict.fromkeys(("attr_filters", "dim_filters", "offsets_filters"), self.filters("zstd"))
        tiledb.from_pandas(path, frame.copy(deep=False), ctx=self.ctx, debug=False, **filters, **options)

    def query(self, array, columns, **options):
        return array.query(attrs=columns, coords=columns is None, order="U" if array.schema.sparse else "C", **options)

    def read_pandas(self, path, columns=None):
        with self.open(path) as array:
            return self.query(array, columns).df[:]

    def read_polars(self, path):
        with self.open(path) as array:
            return pl.from_arrow(self.query(array, None, return_arrow=True).df[:])

    def read_objects(self, path):
        with self.open(path) as array:
            return list(self.query(array, ["station"]).multi_index[:].values())

    def read_batches(self, path):
        with tiledb.open(path, ctx=self.batching) as array:
            batches = self.query(array, ["value"], return_arrow=True, return_incomplete=True).df[:]
            return sum(pc.sum(batch["value"]).as_py() for batch in batches)

    def read_where(self, path, *condition):
        with self.open(path) as array:
            return self.query(array, ["value", "count"], cond=text_of(condition)).df[:]

    def read_ranges(self, path):
        with self.open(path) as array:
            return [self.query(array, None).df[slice(*x), slice(*y)] for x, y in self.data.ranges]

    def read_sum(self, path, *condition):
        with self.open(path) as array:
            found = self.query(array, ["value"], cond=text_of(condition)).agg({"value": ["count", "sum"]})[:]
            return [found["count"], found["sum"]]

    def make_matrix(self, path, variant):
        self.create(path, ("row", "col"), self.data.matrix, (200, 200), variant, sparse=True)
        cells = self.data.matrix.tocoo()
        with self.open(path, "w") as array:
            array[cells.row, cells.col] = cells.data

    def read_matrix(self, path):
        with self.open(path) as array:
            return matrix_of(array.query(order="U")[:], self.data)


class Zarr(Grids):
    name = "zarr"

    def open(self, path):
        return contextlib.nullcontext(zarr.open_array(path, mode="r"))

    def store(self, path, values, tile, variant, by_plane=False):
        compressors = None if variant == "no filter" else zarr.codecs.ZstdCodec(level=3)
        array = zarr.create_array(path, shape=values.shape, chunks=tile, dtype=values.dtype, compressors=compressors)
        for index, part in enumerate(values) if by_plane else [(slice(None), values)]:
            array[index] = part

    def rows(self, array, plane, rows):
        return array.oindex[plane, rows]


class XarrayZarr(Side):
    name = "xarray zarr"

    def make_cube(self, path, _):
        self.data.cube.to_zarr(path, encoding={"cube": {"chunks": TILE, "compressors": zarr.codecs.ZstdCodec(level=3)}})

    def make_many(self, path, _):
        self.data.many.to_zarr(path)

    def read_mean(self, path):
        return mean_of(xr.open_dataset(path, engine="zarr")["cube"])

    def read_one(self, path):
        return float(xr.open_dataset(path, engine="zarr")["variable7"].mean())


class Pandas(Side):
    """pandas and pyarrow, which it uses for Parquet."""

    name = "pandas"

    def make_table(self, path, variant):
        if variant.startswith("from Arrow"):
            pq.write_table(self.data.table, path, **PARQUET)
        else:
            self.data.frame.to_parquet(path, **PARQUET)

    def make_cells(self, path, _):
        self.data.frame.sort_values(["x", "y"], ignore_index=True).to_parquet(path, **PARQUET)

    def make_fragments(self, path, _):
        os.mkdir(path)
        for idx, part in enumerate(self.data.parts()):
            part.to_parquet(f"{path}/{idx:03}.parquet", index=False, **PARQUET)

    def read_pandas(self, path, columns=None):
        return pd.read_parquet(path, columns=columns)

    def read_batches(self, path):
        return sum(pc.sum(batch["value"]).as_py() for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=["value"]))

    def read_where(self, path, *condition):
        return pd.read_parquet(path, columns=["value", "count"], filters=[condition])

    def read_ranges(self, path):
        filters = [[("x", ">=", x[0]), ("x", "<=", x[1]), ("y", ">=", y[0]), ("y", "<=", y[1])] for x, y in self.data.ranges]
        return [pd.read_parquet(path, filters=one) for one in filters]


class Polars(Side):
    name = "polars"

    def make_table(self, path, variant):
        frame = pl.from_arrow(self.data.table) if variant.startswith("from Arrow") else pl.from_pandas(self.data.frame)
        frame.write_parquet(path, **PARQUET)

    def make_cells(self, path, _):
        pl.from_pandas(self.data.frame).sort("x", "y").write_parquet(path, **PARQUET)

    def make_fragments(self, path, _):
        os.mkdir(path)
        for idx, part in enumerate(self.data.parts()):
            pl.from_pandas(part).write_parquet(f"{path}/{idx:03}.parquet", **PARQUET)

    def read_polars(self, path):
        return pl.read_parquet(path)

    def read_pandas(self, path, columns=None):
        return pl.read_parquet(path, columns=columns).to_pandas()

    def read_objects(self, path):
        return [pl.read_parquet(path, columns=["station"])["station"].to_numpy()]

    def read_where(self, path, *condition):
        return pl.scan_parquet(path).filter(pl.sql_expr(text_of(condition))).select("value", "count").collect().to_pandas()

    def read_ranges(self, path):
        scan = pl.scan_parquet(path)
        return [scan.filter(pl.col("x").is_between(*x), pl.col("y").is_between(*y)).collect().to_pandas() for x, y in self.data.ranges]

    def read_sum(self, path, *condition):
        scan = pl.scan_parquet(path)
        scan = scan.filter(pl.sql_expr(text_of(condition))) if condition else scan
        return list(scan.select(pl.len().alias("cells"), pl.col("value").sum()).collect().row(0))


def text_of(condition):
    return "{} {} {!r}".format(*condition) if condition else None


def region_of(shape):
    return tuple(slice(length // 4, length // 4 * 3) for length in shape)


def mean_of(variable):
    return float(variable[region_of(variable.shape)].mean())


def matrix_of(cells, data):
    return scipy.sparse.csr_matrix((cells["value"], (cells["row"], cells["col"])), data.matrix.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="lines, by their names or how these begin, with commas")
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--scale", type=float, default=0.5, help="size of the data: 0.5 is a grid of 64 MiB and 1.5 million rows")
    parser.add_argument("--data", help="folder that keeps what is written, for the next run")
    parser.add_argument("--results", help="file for all measurements as JSON")
    parser.add_argument("--write", help="page of documentation whose section to write")
    options = parser.parse_args()

    options.load = os.getloadavg()[0]
    pa.set_cpu_count(THREADS)
    pa.set_io_thread_count(THREADS)
    zarr.config.set({"threading.max_workers": THREADS})
    warnings.filterwarnings("ignore", message="Consolidated metadata")
    wanted = tuple(filter(None, options.only.split(","))) or ("",)
    with tempfile.TemporaryDirectory(prefix="smalti-bench-") as scratch:
        data = Data(options.data or scratch, options.scale)
        sides = [Smalti(data), TileDBPy(data), TileDBPy(data, CONTROL), Zarr(data), XarrayZarr(data), Pandas(data), Polars(data)]
        rows = []
        for case in CASES:
            for variant in case.variants if case.name.startswith(wanted) else ():
                rows.append(measured(case, variant, sides, scratch, options.reps))
                print(line(rows[-1]), flush=True)
        for name in filter(lambda name: name.startswith(wanted), FRESH):
            rows.append(measured_afresh(name, *FRESH[name], sides, scratch, max(options.reps, 5)))
            print(line(rows[-1]), flush=True)
    if options.results:
        with open(options.results, "w") as file:
            json.dump(rows, file, indent=1)
    if options.write:
        put_section(options.write, "Python", document(rows, options))
    wrong = [row["name"] for row in rows if not row["same"]]
    if wrong:
        sys.exit("not all sides read the same: " + ", ".join(wrong))


def measured(case, variant, sides, scratch, reps):
    """A line: the times of all turns, by the side."""
    turns, sums = {}, {}
    for side in sides:
        make, read = (getattr(side, method, None) for method in (f"make_{case.kind}", f"read_{case.read}"))
        if make is None or read is None:
            continue
        path = made(side, case.kind, variant, scratch, "written" if case.writes else None)
        # The first read warms up, and tells what is read or was written.
        sums[side.name] = sums_of(read(path, *case.arguments))
        turns[side] = (make, path, variant) if case.writes else (read, path, *case.arguments)
    times = {side.name: [] for side in turns}
    for rep in range(reps):
        for side in rotated(turns, rep):
            run, path, *arguments = turns[side]
            if case.writes:
                remove(path)
            side.begin()
            gc.collect()
            begun, worked = time.perf_counter(), time.process_time()
            result = run(path, *arguments)
            times[side.name].append((time.perf_counter() - begun, time.process_time() - worked))
            del result
    for side in turns if case.writes else ():
        remove(turns[side][1])
    return row_of(case.name, case.what, variant, times, sums)


def measured_afresh(name, what, kind, statements, sides, scratch, reps):
    """As `measured`, with a process of its own for each turn; the start and the end of the interpreter are left out."""
    statements = {**statements, CONTROL: statements[THEIRS]}
    paths = {side.name: made(side, kind, "zstd", scratch) for side in sides if kind is not None and side.name in statements}
    times, sums = {side: [] for side in statements}, {}
    for rep in range(-1, reps):
        for side in rotated(statements, rep):
            program = f"import sys, time; path, result, begun = sys.argv[1], 0, (time.perf_counter(), time.process_time())\n{statements[side]}\n"
            program += "print(time.perf_counter() - begun[0], time.process_time() - begun[1], float(result))"
            told = subprocess.run([sys.executable, "-c", program, paths.get(side, "")], check=True, stdout=subprocess.PIPE, text=True).stdout
            *spent, sums[side] = map(float, told.split())
            if rep >= 0:
                times[side].append(spent)
    return row_of(name, what, "a fresh process", times, {side: [result] for side, result in sums.items()})


def rotated(turns, rep):
    turns = list(turns)
    return turns[rep % len(turns) :] + turns[: rep % len(turns)]


def made(side, kind, variant, scratch, name=None):
    """The path of what a side made of some kind, which it makes now where it is not there."""
    folder = os.path.join(scratch, side.name.replace(" ", "-"))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name or f"{kind}-{variant}".replace(" ", "-"))
    if not os.path.exists(path):
        getattr(side, f"make_{kind}")(path, variant)
    return path


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def sums_of(result):
    """What is compared of a result: sums of numbers, lengths of text, counts of values."""
    if isinstance(result, (list, tuple)):
        return [number for part in result for number in sums_of(part)]
    if isinstance(result, scipy.sparse.csr_matrix):
        return [float(result.nnz), float(result.sum()), float((result @ np.arange(result.shape[1])).sum())]
    if isinstance(result, pl.DataFrame):
        result = result.to_arrow()
    if isinstance(result, pd.DataFrame):
        result = pa.Table.from_pandas(result.reset_index(), preserve_index=False)
    if isinstance(result, np.ndarray) and result.dtype.kind in "OU":
        return [float(sum(map(len, result.tolist()))), float(len(result))]
    if not isinstance(result, pa.Table):
        return [float(np.sum(result, dtype="f8"))]
    numbers = []
    for column in (result[name] for name in COLUMNS if name in result.column_names):
        column = pc.cast(column, pa.string()) if pa.types.is_dictionary(column.type) else column
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        column = pc.cast(column, pa.float64()) if is_number else pc.utf8_length(column)
        column = pc.if_else(pc.is_nan(column), None, column) if is_number else column
        numbers += [float(pc.sum(column).as_py() or 0), float(len(column) - column.null_count)]
    return numbers


def row_of(name, what, variant, times, sums):
    sides = {side: dict(zip(("seconds", "processor"), zip(*pairs))) for side, pairs in times.items()}
    same = all(len(told) == len(sums[OURS]) and np.allclose(told, sums[OURS], rtol=1e-6) for told in sums.values())
    return {"name": name, "what": what, "variant": variant, "same": same, "sums": sums, "sides": sides}


def ratio(row, side, other=OURS, measure=statistics.median, which="seconds"):
    """How many times longer a side takes than another."""
    return measure(row["sides"][side][which]) / max(measure(row["sides"][other][which]), 1e-9)


def fastest_other(row):
    others = [side for side in row["sides"] if side not in (OURS, THEIRS, CONTROL)]
    return min(others, key=lambda side: statistics.median(row["sides"][side]["seconds"]), default=None)


def name_of(row):
    return f"{row['name']}: {row['variant']}"


def line(row):
    told = {side: f"{1e3 * statistics.median(times['seconds']):.1f}" for side, times in row["sides"].items()}
    cells = [name_of(row).replace(":", f" {row['what']}:", 1), told[THEIRS], told[OURS]]
    cells += [f"{ratio(row, THEIRS):.2f}", f"{ratio(row, THEIRS, measure=min):.2f}", f"{ratio(row, THEIRS, which='processor'):.2f}"]
    cells += [f"{ratio(row, THEIRS, CONTROL):.2f}"]
    other = fastest_other(row)
    cells += [f"{other} {told[other]}", f"{ratio(row, other):.2f}", f"{ratio(row, other, measure=min):.2f}"] if other else ["", "", ""]
    return f"| {' | '.join(cells)} |"


def document(rows, options):
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (zarr, xr, pd, pl))
    gained = {name_of(row): ratio(row, fastest_other(row)) for row in rows if fastest_other(row)}
    slower = "; ".join(name_of(row) for row in rows if ratio(row, THEIRS) < 1) or "none"
    behind = "; ".join(name for name, times in gained.items() if times < 1 / TIE) or "none"
    rows = sorted(rows, key=lambda row: (min(gained.get(name_of(row), 1), 1), ratio(row, THEIRS)))
    verdict = f"smalti was slower than TileDB-Py on: {slower}. "
    verdict += f"Of the {len(gained)} lines that others have, the fastest of them was ahead by more than {TIE} on: {behind}."
    columns = ["workload", f"{THEIRS} ms", "smalti ms", "faster by", "by minimum", "by processor time", CONTROL]
    columns += ["fastest other ms", "faster than it by", "by minimum"]
    lines = "\n".join([f"| {' | '.join(columns)} |", "|---|" + "--:|" * (len(columns) - 1), *map(line, rows)])
    return f"""## Python

The package beside TileDB-Py {tiledb.__version__}, {versions}, in one run of one process,
turn by turn, {THREADS} threads each where that can be set, medians of {options.reps} repetitions, files in the page cache. Filters of grids are
equal: none, or zstd of level 3. Tables are compressed with zstd by all, and have what each side chooses by itself beside: the writers of Parquet keep values that
come often in dictionaries, smalti shuffles the bytes of numbers where a sample says so. All sides read the same sums, of
what they wrote too. smalti decodes everything anew in each turn, and its writes are durable; TileDB-Py syncs files, the others nothing. "pandas" is
pyarrow too, with which it reads and writes Parquet. Where xarray is used, TileDB-Py, which has no engine for it, opens the arrays by hand.

"Faster by" is the ratio of the medians, TileDB-Py over smalti; "{CONTROL}" is that for a second entry of TileDB-Py, the noise of this machine.
The lines where another side is ahead come first, then those where smalti gains least on TileDB-Py.
{textwrap.fill(verdict, 150, break_on_hyphens=False)}

Measured on {machine()}, data of scale {options.scale:g} (0.5 is a float32 grid of 64 MiB and 1.5 million rows of two
coordinates, two numbers, a text, an integer that may be null and a category). When it began, the load of the machine by others was {options.load:.1f}:
where that is more than a little, processor times tell more than the clock, and minima more than medians.

{lines}

To measure again: `python bench/bench_python.py --write docs/benchmarks.md`.
"""


if __name__ == "__main__":
    main()

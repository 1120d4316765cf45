"""Other formats into arrays and groups, and back."""

import json
import os
import subprocess
import sys
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rioxarray
import scipy.sparse as sp
import xarray as xr
import zarr

import smalti as sm
from smalti import convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def losses_of(conversion, kind=None):
    return {loss.where: loss.what for loss in conversion.losses if kind in (None, loss.kind)}


def climate():
    rng = np.random.default_rng(1)
    cube = xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), rng.random((30, 4, 6)).astype("f4"), {"units": "K"}),
            "title": ((), "a cube"),
            "station": ("s", np.array(["a", "bü", ""], object)),
        },
        {
            "time": pd.date_range("2024-01-01", periods=30).astype("datetime64[ns]"),
            "lat": ("lat", np.linspace(-45, 45, 4), {"units": "degrees_north"}),
            "lon": np.arange(6.0),
        },
        {"institution": "x", "levels": np.array([1, 2, 3], "i4")},
    )
    cube["t2m"][2, 1, 1] = np.nan
    packed = {"dtype": "i2", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": np.int16(-9999)}
    cube["t2m"].encoding |= packed
    cube.encoding["unlimited_dims"] = {"time"}
    return cube


def write_cube(path, kind):
    cube = climate()
    if kind == "netcdf":
        cube.t2m.encoding |= {"zlib": True, "chunksizes": (10, 2, 3)}
        cube.to_netcdf(path, engine="h5netcdf")
    elif kind == "classic":
        cube.drop_vars(["station", "title"]).to_netcdf(path, engine="scipy")
    else:
        cube.t2m.encoding["chunks"] = (10, 2, 3)
        cube.to_zarr(path, zarr_format=int(kind[-1]))
    return {"netcdf": "h5netcdf", "classic": "scipy"}.get(kind, "zarr")


@pytest.mark.parametrize("kind, name", [("netcdf", "a.nc"), ("classic", "a.nc"), ("zarr2", "a.zarr"), ("zarr3", "a.zarr")])
def test_datasets_are_the_same_in_all_formats_of_grids(tmp_path, kind, name):
    engine = write_cube(tmp_path / name, kind)
    conversion = convert.convert(tmp_path / name, tmp_path / "cube")
    assert conversion.lost == []
    before = xr.open_dataset(tmp_path / name, engine=engine)
    after = xr.open_dataset(tmp_path / "cube", engine="smalti")
    xr.testing.assert_identical(after.load(), before.load())
    if kind != "classic":
        assert after.t2m.encoding["tile"] == (10, 2, 3)
    # What is stored is what was stored: packed numbers, not what they stand for.
    assert sm.open(tmp_path / "cube/t2m").attributes[0].datatype == "INT16"
    back = {"a.nc": "b.nc", "a.zarr": "b.zarr"}[name]
    options = {"zarr_format": int(kind[-1])} if name == "a.zarr" else {}
    convert.convert(tmp_path / "cube", tmp_path / back, **options)
    again = xr.open_dataset(tmp_path / back, engine="zarr" if name == "a.zarr" else "h5netcdf")
    if kind != "classic":
        chunks = again.t2m.encoding["chunksizes" if name == "a.nc" else "chunks"]
        assert chunks == (10, 2, 3)
    xr.testing.assert_identical(again.load(), before)


def test_groups_are_groups(tmp_path):
    cube = climate()
    tree = xr.DataTree.from_dict({"/": cube[["lat"]], "/a/b": cube[["t2m"]].drop_vars("lat")})
    tree.to_netcdf(tmp_path / "tree.nc", engine="h5netcdf")
    convert.convert(tmp_path / "tree.nc", tmp_path / "tree")
    xr.testing.assert_identical(xr.open_datatree(tmp_path / "tree", engine="smalti").load(), xr.open_datatree(tmp_path / "tree.nc").load())
    convert.convert(tmp_path / "tree", tmp_path / "back.nc")
    xr.testing.assert_identical(xr.open_datatree(tmp_path / "back.nc").load(), xr.open_datatree(tmp_path / "tree.nc").load())


def write_odd(path):
    with h5py.File(path, "w") as file:
        file["plain"] = np.arange(12.0).reshape(3, 4)
        file["big"] = np.arange(3, dtype=">i4")
        file["half"] = np.arange(3, dtype="f2")
        file["complex"] = np.array([1 + 2j, 3 - 1j])
        file["empty"] = np.zeros((0, 3))
        file["table"] = np.array([(1, 2.0, b"ab"), (3, 4.0, b"c")], [("a", "i4"), ("b", "f8"), ("s", "S2")])
        file["nested"] = np.array([(1, (2, [3, 4]))], [("a", "i4"), ("b", [("c", "i4"), ("d", "f4", (2,))])])
        file.create_dataset("refs", (2,), dtype=h5py.ref_dtype)
        file.create_dataset("enum", data=[0, 1, 0], dtype=h5py.enum_dtype({"NO": 0, "YES": 1}, "i1"))
        lists = file.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i4"))
        lists[0], lists[2] = [1, 2], [5]
        file["text"] = ["x", "yé"]
        file["fixed"] = np.array([b"abc", b"de"])
        file["one"] = 5
        file["flags"] = [True, False]
        file.create_dataset("sums", data=np.arange(100), fletcher32=True, chunks=(10,), shuffle=True, compression="lzf")
        file.attrs["nil"] = h5py.Empty("f4")
        file["plain"].attrs["ref"] = file["plain"].ref
        file.create_group("inner/__meta")["x"] = [1]
        file["inner/soft"] = h5py.SoftLink("/plain")
        file["inner/up"] = h5py.SoftLink("/")
        file["dangling"] = h5py.SoftLink("/nothing")
        file["type"] = np.dtype("f4")


def test_what_hdf5_has_beyond_grids_is_kept_or_told(tmp_path):
    write_odd(tmp_path / "odd.h5")
    conversion = convert.plan(tmp_path / "odd.h5", tmp_path / "odd")
    lost = losses_of(conversion, convert.LOST)
    assert set(lost) == {".", "dangling", "empty", "inner/soft", "inner/up", "plain", "refs", "type"}
    assert "no cells" in lost["empty"] and "'nil'" in lost["."] and "references" in lost["refs"]
    changed = losses_of(conversion, convert.CHANGED)
    assert set(changed) == {"complex", "enum", "half", "inner/soft", "nested", "nested.b", "sums", "table"}
    assert not (tmp_path / "odd").exists()

    group = sm.open(conversion.run())
    read = {name: group[name][...] for name, member in group.members.items() if member.kind != "group"}
    assert read["plain"].tolist() == np.arange(12.0).reshape(3, 4).tolist()
    assert read["big"].tolist() == [0, 1, 2] and read["half"].dtype == "f4" and read["flags"].tolist() == [True, False]
    assert read["complex"].tolist() == [[1, 2], [3, -1]]
    assert read["table.a"].tolist() == [1, 3] and read["table.s"].tolist() == [b"ab", b"c"]
    assert read["nested.b.d"].tolist() == [[3, 4]]
    assert [cell.tolist() for cell in read["lists"]] == [[1, 2], [], [5]]
    assert read["text"].tolist() == ["x", "yé"] and read["fixed"].tolist() == [b"abc", b"de"]
    assert group["inner/__meta/x"][0] == 1 and group["inner/soft"].shape == (3, 4)
    assert group["enum"].meta["__tiledb_attr.enum.flag_meanings"] == "NO YES"
    told = json.dumps(group["sums"].schema["attrs"][0]["filters"])
    assert all(name in told for name in ("byteshuffle", "zstd", "sha256"))
    assert group["sums"].dims[0].tile == 10


def test_zarr_without_names_of_dimensions(tmp_path):
    one = zarr.create_array(tmp_path / "one.zarr", shape=(5, 6), chunks=(2, 3), dtype="i4", fill_value=7)
    one[:3] = 1
    conversion = convert.convert(tmp_path / "one.zarr", tmp_path / "one")
    assert "no names" in losses_of(conversion)["."]
    array = sm.open(tmp_path / "one")
    assert array[...].tolist() == one[...].tolist() and [dim.tile for dim in array.dims] == [2, 3]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(tmp_path / "odd.zarr", mode="w", zarr_format=2)
        group.create_array("records", shape=(3,), chunks=(2,), dtype=np.dtype([("a", "i4"), ("b", "f8")]))
        group.create_array("text", shape=(2,), chunks=(2,), dtype="U5")[:] = ["ab", "cde"]
        group.create_array("square", shape=(4, 4), chunks=(2, 2), dtype="f8", order="F")[:] = np.arange(16.0).reshape(4, 4)
        group.create_array("one", shape=(), dtype="i8")[...] = 5
        conversion = convert.convert(tmp_path / "odd.zarr", tmp_path / "odd")
    group = sm.open(tmp_path / "odd")
    assert set(group) == {"records.a", "records.b", "text", "square", "one"}
    assert group["square"][...].tolist() == np.arange(16.0).reshape(4, 4).tolist() and group["text"][:].tolist() == ["ab", "cde"]
    assert {"records", "square", "text"} <= set(losses_of(conversion, convert.CHANGED))


def test_large_variables_come_in_blocks(tmp_path, monkeypatch):
    from smalti.convert import grids

    monkeypatch.setattr(grids, "BLOCK_BYTES", 4096)
    values = np.arange(40 * 30 * 20, dtype="f4").reshape(40, 30, 20)
    store = zarr.create_array(tmp_path / "z.zarr", shape=values.shape, chunks=(7, 8, 9), dtype="f4", dimension_names=("a", "b", "c"))
    store[...] = values
    told = []
    convert.convert(tmp_path / "z.zarr", tmp_path / "z", progress=lambda phases: told.append(phases[-1]))
    array = sm.open(tmp_path / "z")
    assert (array[...] == values).all()
    assert len(array.fragments) > 20 and len({fragment.timestamps for fragment in array.fragments}) == 1
    assert told[-1] == ("converting", "bytes", values.nbytes, values.nbytes)
    # They are of one moment, and no history that would be lost on the way back.
    assert convert.plan(tmp_path / "z", tmp_path / "back.zarr").lost == []


@pytest.mark.parametrize("shape, tiles, budget", [((10,), (3,), 24), ((10, 10), (3, 4), 1), ((7, 9, 5), (2, 3, 5), 400), ((4, 4), (4, 4), 10**9)])
def test_blocks_cover_a_grid_once_in_whole_tiles(shape, tiles, budget):
    from smalti.convert.grids import blocks_of

    seen = np.zeros(shape, int)
    for block in blocks_of(shape, tiles, 8, budget):
        seen[block] += 1
        assert all(side.start % tile == 0 and (side.stop % tile == 0 or side.stop == length) for side, tile, length in zip(block, tiles, shape))
        assert seen[block].size * 8 <= max(budget, 8 * np.prod(tiles))
    assert (seen == 1).all()


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    write_cube(tmp_path / "a.nc", "netcdf")
    conversion = convert.plan(tmp_path / "a.nc", tmp_path / "cube")

    def stop(phases):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        conversion.run(progress=stop)
    assert os.listdir(tmp_path) == ["a.nc"]
    (tmp_path / "cube").mkdir()
    with pytest.raises(FileExistsError, match="there already"):
        conversion.run()


def test_rasters_keep_their_place_on_the_earth(tmp_path):
    rng = np.random.default_rng(2)
    raster = xr.DataArray(
        rng.integers(0, 200, (3, 64, 80)).astype("u1"),
        dims=("band", "y", "x"),
        coords={"y": np.linspace(5100, 5037, 64), "x": np.linspace(300, 379, 80)},
    )
    raster = raster.rio.write_crs(32632).rio.write_nodata(255)
    raster.rio.to_raster(tmp_path / "a.tif", tiled=True, blockxsize=16, blockysize=16, compress="deflate")
    convert.convert(tmp_path / "a.tif", tmp_path / "raster")
    group = sm.open(tmp_path / "raster")
    assert [dim.tile for dim in group["raster"].dims] == [1, 16, 16]
    opened = xr.open_dataset(tmp_path / "raster", engine="smalti", decode_coords="all")
    assert opened.rio.crs.to_epsg() == 32632 and opened.raster.shape == (3, 64, 80)

    convert.convert(tmp_path / "raster", tmp_path / "b.tif")
    with rioxarray.open_rasterio(tmp_path / "a.tif") as before, rioxarray.open_rasterio(tmp_path / "b.tif") as after:
        assert (before.values == after.values).all() and before.rio.nodata == after.rio.nodata == 255
        assert before.rio.bounds() == after.rio.bounds() and before.rio.crs == after.rio.crs

    group["other"] = sm.from_numpy(tmp_path / "raster/other", np.zeros((64, 80)), dims=("y", "x"))
    with pytest.raises(ValueError, match="--variable"):
        convert.plan(tmp_path / "raster", tmp_path / "c.tif")
    conversion = convert.plan(tmp_path / "raster", tmp_path / "c.tif", variable="raster")
    assert losses_of(conversion, convert.LOST) == {"other": "a GeoTIFF holds one raster"}


def test_tables_of_parquet_and_back(tmp_path):
    table = pa.table(
        {
            "id": pa.array([3, 1, 2, 5, 4]),
            "name": ["a", "b", None, "d", "e"],
            "when": pa.array([0, 1, 2, 3, 4], pa.timestamp("ms", "Europe/Paris")),
            "amount": pa.array([1] * 5, pa.decimal128(5, 2)),
            "lists": [[1], [2, 3], [], [4], [5]],
            "struct": [{"a": 1}] * 5,
            "kind": pa.array(["x", "y", "x", "y", "x"]).dictionary_encode(),
            "day": pa.array([0, 1, 2, 3, 4], pa.date32()),
        }
    )
    pq.write_table(table.replace_schema_metadata({"who": "me"}), tmp_path / "t.parquet")
    conversion = convert.plan(tmp_path / "t.parquet", tmp_path / "t", dims="id")
    assert set(losses_of(conversion, convert.LOST)) == {"amount", "struct"}
    array = sm.open(conversion.run())
    assert array.meta["who"] == "me" and [dim.name for dim in array.dims] == ["id"]
    assert array.read(["name"], where="kind = 'y'").to_dict()["name"].tolist() == ["b", "d"]

    back = convert.convert(tmp_path / "t", tmp_path / "b.parquet")
    assert back.lost == []
    assert convert.convert(tmp_path / "b.parquet", tmp_path / "again").lost == []
    again = sm.open(tmp_path / "again")
    assert again.schema == array.schema and again.digest() == array.digest() and dict(again.meta) == dict(array.meta)
    plain = pq.read_table(tmp_path / "b.parquet")
    assert plain["day"].to_pylist()[0] is not None and plain.num_rows == 5


def test_tables_of_csv_and_back(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,c\n1,x,2024-01-01\n2,"y, z",\n')
    convert.convert(tmp_path / "t.csv", tmp_path / "t")
    read = sm.open(tmp_path / "t").read()
    assert read.to_dict()["b"].tolist() == ["x", "y, z"]
    assert read.to_pandas()["c"].dtype.kind == "M"
    conversion = convert.convert(tmp_path / "t", tmp_path / "b.csv.gz")
    assert "types" in losses_of(conversion, convert.LOST)["."]
    again = pd.read_csv(tmp_path / "b.csv.gz")
    assert again["b"].tolist() == ["x", "y, z"] and again["c"].tolist()[0] == "2024-01-01" and again["c"].isna().tolist() == [False, True]


def cells():
    rng = np.random.default_rng(3)
    names = np.array([f"cell{idx}" for idx in range(200)], object)
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(rng.choice(["T", "B"], 200), pd.Index(["B", "NK", "T"], dtype=object), ordered=True),
            "n": rng.integers(0, 9, 200),
            "batch": pd.Series([f"b{idx % 3}" for idx in range(200)], dtype=object).to_numpy(),
            "q": pd.array([1, None] * 100, "Int32"),
            "ok": pd.array([True, None] * 100, "boolean"),
        },
    )
    obs["batch"] = obs["batch"].astype(object)
    obs.index = pd.Index(names, dtype=object)
    genes = pd.DataFrame({"length": np.arange(50)}, index=pd.Index([f"g{idx}" for idx in range(50)], dtype=object))
    matrix = sp.random(200, 50, 0.1, "csr", random_state=1, dtype="f4")
    made = anndata.AnnData(matrix, obs, genes)
    made.layers["dense"] = matrix.toarray()
    made.layers["columns"] = matrix.tocsc()
    made.obsm["pca"] = rng.random((200, 5))
    made.obsm["frame"] = pd.DataFrame({"u": np.arange(200.0)}, index=obs.index)
    made.obsp["near"] = sp.random(200, 200, 0.01, "csr", random_state=2)
    made.uns = {
        "title": "t",
        "n": 3,
        "values": np.arange(4),
        "names": np.array(["a", "b"], object),
        "nested": {"params": {"k": 5, "f": 0.5}},
        "ranks": np.array([("g1", 0.5), ("g2", 0.1)], [("names", "O"), ("scores", "f4")]),
        "frame": pd.DataFrame({"x": [1, 2]}, index=pd.Index(["p", "q"], dtype=object)),
    }
    made.raw = made.copy()
    return made


def test_single_cells_make_the_round_trip(tmp_path, monkeypatch):
    from anndata.tests.helpers import assert_equal

    from smalti.convert import h5ad

    monkeypatch.setattr(h5ad, "BLOCK_BYTES", 4096)
    before = cells()
    before.uns["none"] = None
    before.write_h5ad(tmp_path / "a.h5ad")
    conversion = convert.convert(tmp_path / "a.h5ad", tmp_path / "cells")
    assert losses_of(conversion) == {"uns/none": "None"}
    group = sm.open(tmp_path / "cells")
    assert group["obs"].read(where="type = 'T'").count() == (before.obs["type"] == "T").sum()
    assert not group["X"].is_dense and group["X"].read().count() == before.X.nnz
    assert group["X"].read(["data"], ranges={"obs": slice(10, 19)}).count() == before.X[10:20].nnz
    assert group["uns/nested/params"].meta["k"] == 5

    assert convert.convert(tmp_path / "cells", tmp_path / "b.h5ad").lost == []
    del before.uns["none"]
    assert_equal(anndata.read_h5ad(tmp_path / "b.h5ad"), _without_none(tmp_path / "a.h5ad"), exact=True)


def _without_none(path):
    read = anndata.read_h5ad(path)
    del read.uns["none"]
    return read


def test_what_a_grid_cannot_hold_is_told(tmp_path):
    group = sm.create_group(tmp_path / "g")
    group["table"] = sm.from_arrow(tmp_path / "g/table", pa.table({"a": [1, 2]}))
    kinds = [sm.attr("n", "i4", nullable=True), sm.attr("lists", "i4", count="var"), sm.attr("kind", "u1", enumeration="kinds")]
    grid = sm.create(tmp_path / "g/grid", sm.dim("x", (10, 13)), kinds, enums=[sm.enum("kinds", ["a", "b"])])
    for at in (1000, 2000):
        grid.write({"n": [1, None, 3, 4], "lists": [[1], [], [2, 3], [4]], "kind": ["a", "b", "a", "b"]}, at=at)
    group["grid"] = grid
    conversion = convert.plan(tmp_path / "g", tmp_path / "g.nc")
    lost = losses_of(conversion, convert.LOST)
    assert "sparse" in lost["table"] and "lists" in lost["grid.lists"] and "2 fragments" in lost["grid"]
    assert {"grid.n", "grid.kind", "grid"} <= set(losses_of(conversion, convert.CHANGED))
    conversion.run()
    read = xr.open_dataset(tmp_path / "g.nc")
    assert read["kind"].values.tolist() == ["a", "b", "a", "b"] and read["x"].values.tolist() == [10, 11, 12, 13]
    with pytest.raises(ValueError, match="one table; convert one of its arrays: table, grid|grid, table"):
        convert.plan(tmp_path / "g", tmp_path / "g.parquet")
    with pytest.raises(ValueError, match="sparse"):
        convert.plan(tmp_path / "g/table", tmp_path / "t.nc")


def test_what_cannot_be_converted_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing to convert"):
        convert.plan(tmp_path / "nothing.nc", tmp_path / "a")
    (tmp_path / "x").write_bytes(b"something else")
    with pytest.raises(ValueError, match="--from"):
        convert.plan(tmp_path / "x", tmp_path / "a")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="two steps"):
        convert.plan(tmp_path / "t.csv", tmp_path / "t.parquet")
    with pytest.raises(KeyError, match="there are a"):
        convert.plan(tmp_path / "t.csv", tmp_path / "t", dims="b")
    convert.convert(tmp_path / "t.csv", tmp_path / "t")
    with pytest.raises(ValueError, match="ending"):
        convert.plan(tmp_path / "t", tmp_path / "u")
    with pytest.raises(ValueError, match="obs"):
        sm.create_group(tmp_path / "g")
        convert.plan(tmp_path / "g", tmp_path / "g.h5ad")
    heads = {"a.nc": b"CDF\x01", "a.h5": b"\x89HDF\r\n\x1a\n", "a.tif": b"II*\x00", "a.parquet": b"PAR1"}
    for name, head in heads.items():
        (tmp_path / name).write_bytes(head + b"garbage" + head)
        with pytest.raises((OSError, ValueError, TypeError)):
            convert.plan(tmp_path / name, tmp_path / "out")


def test_the_command(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    run = lambda *arguments: subprocess.run([sys.executable, "-m", "smalti", "convert", *arguments], cwd=tmp_path, capture_output=True, text=True)
    dry = run("t.csv", "t", "--dry-run", "--dims", "a")
    assert dry.returncode == 0 and "nothing was written" in dry.stdout and not (tmp_path / "t").exists()
    told = run("t.csv", "t", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["target"] == {"uri": "t", "format": "smalti"} and (tmp_path / "t").exists()
    strict = run("t", "t2.csv", "--strict")
    assert strict.returncode == 1 and "would be lost" in strict.stderr and not (tmp_path / "t2.csv").exists()
    again = run("t.csv", "t")
    assert again.returncode == 1 and again.stderr.startswith("error:") and "there already" in again.stderr

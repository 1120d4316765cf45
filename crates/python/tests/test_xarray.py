"""The xarray engine and writer."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import smalti as sm
import smalti.xarray  # noqa: F401


def climate(days=10):
    rng = np.random.default_rng(1)
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), rng.random((days, 4, 6)).astype("f4"), {"units": "K", "valid_range": [0.0, 400.0]}),
            "rain": (("time", "lat", "lon"), rng.integers(0, 9, (days, 4, 6))),
            "name": ((), "a cube"),
        },
        {
            "time": pd.date_range("2024-01-01", periods=days).astype("datetime64[ns]"),
            "lat": ("lat", np.linspace(-45, 45, 4), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(6.0)),
            "height": ((), 2.0),
            "area": (("lat", "lon"), rng.random((4, 6))),
        },
        {"title": "climate", "levels": [1, 2, 3], "nested": {"a": 1}},
    )


def test_a_dataset_makes_the_round_trip(tmp_path):
    dataset = climate()
    dataset.smalti.to_group(tmp_path / "cube")
    again = xr.open_dataset(tmp_path / "cube", engine="smalti")
    xr.testing.assert_identical(again.load().drop_attrs(deep=False), dataset.drop_attrs(deep=False))
    assert again.attrs["title"] == "climate" and again.attrs["nested"] == {"a": 1}
    np.testing.assert_array_equal(again.attrs["levels"], [1, 2, 3])
    assert again.t2m.attrs["units"] == "K"


def test_the_engine_is_found_by_itself(tmp_path):
    climate().smalti.to_group(tmp_path / "cube")
    assert "smalti" in xr.backends.list_engines()
    assert xr.open_dataset(tmp_path / "cube").sizes == {"time": 10, "lat": 4, "lon": 6}


def test_nothing_is_read_before_it_is_indexed(tmp_path):
    climate().smalti.to_group(tmp_path / "cube")
    opened = xr.open_dataset(tmp_path / "cube", engine="smalti")
    assert not opened.t2m.variable._in_memory


@given(st.data())
def test_lazy_indexing_gives_what_numpy_gives(tmp_path_factory, data):
    values = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    array = sm.from_numpy("mem://lazy", values, dims=("a", "b", "c"), tile=2, context=sm.Context(threads=1))
    lazy = xr.open_dataset(array, engine="smalti")["value"]
    eager = xr.DataArray(values, dims=("a", "b", "c"))
    indexers = {}
    for name, length in zip("abc", values.shape):
        kind = data.draw(st.sampled_from(["none", "integer", "slice", "list"]))
        if kind == "integer":
            indexers[name] = data.draw(st.integers(-length, length - 1))
        elif kind == "slice":
            ends = st.none() | st.integers(-length, length)
            indexers[name] = slice(data.draw(ends), data.draw(ends), data.draw(st.sampled_from([None, 1, 2, -1])))
        elif kind == "list":
            indexers[name] = data.draw(st.lists(st.integers(-length, length - 1), max_size=4))
    if data.draw(st.booleans()):
        count = data.draw(st.integers(1, 4))
        for name, length in zip("ab", values.shape):
            positions = data.draw(st.lists(st.integers(0, length - 1), min_size=count, max_size=count))
            indexers[name] = xr.DataArray(positions, dims="points")
    xr.testing.assert_equal(lazy.isel(indexers).compute(), eager.isel(indexers))


def test_cf_conventions(tmp_path):
    dataset = xr.Dataset({"t": ("x", [1.0, np.nan, 3.0])})
    encoding = {"t": {"dtype": "int16", "scale_factor": 0.5, "_FillValue": -1}}
    dataset.smalti.to_group(tmp_path / "packed", encoding=encoding)
    assert sm.open(tmp_path / "packed" / "t")[:].tolist() == [2, -1, 6]
    again = xr.open_dataset(tmp_path / "packed", engine="smalti")
    xr.testing.assert_equal(again.load(), dataset)
    assert again.t.encoding["scale_factor"] == 0.5
    raw = xr.open_dataset(tmp_path / "packed", engine="smalti", mask_and_scale=False)
    assert raw.t.dtype == np.dtype("i2")


def test_growth_along_an_unlimited_dimension(tmp_path):
    whole = climate(10)
    first = whole.isel(time=slice(0, 4))
    first.encoding["unlimited_dims"] = {"time"}
    first.smalti.to_group(tmp_path / "cube")
    whole.isel(time=slice(4, 10)).smalti.to_group(tmp_path / "cube", append_dim="time")
    again = xr.open_dataset(tmp_path / "cube", engine="smalti").load()
    xr.testing.assert_equal(again, whole)
    fixed = climate(2)
    fixed.smalti.to_group(tmp_path / "fixed")
    with pytest.raises(ValueError, match="unlimited_dims"):
        fixed.smalti.to_group(tmp_path / "fixed", append_dim="time")


def test_a_region_and_time_travel(tmp_path):
    dataset = climate()
    dataset.smalti.to_group(tmp_path / "cube", at=10**12)
    part = dataset[["t2m"]].drop_vars(["lat", "lon", "height", "area"]).isel(time=slice(2, 4)) * 0
    part.drop_vars("time").smalti.to_group(tmp_path / "cube", region={"time": slice(2, 4)}, at=2 * 10**12)
    now = xr.open_dataset(tmp_path / "cube", engine="smalti")
    assert float(now.t2m.isel(time=2).sum()) == 0 and float(now.t2m.isel(time=1).sum()) > 0
    array = sm.open(tmp_path / "cube" / "t2m", at=10**12 + 1)
    np.testing.assert_array_equal(array[...].squeeze(), dataset.t2m.values)


def test_dask_chunks_follow_tiles_and_are_seen_at_once(tmp_path):
    dataset = climate().chunk({"time": 5, "lat": 2, "lon": 6})
    dataset.smalti.to_group(tmp_path / "cube")
    array = sm.open(tmp_path / "cube" / "t2m")
    assert [dimension.tile for dimension in array.dims] == [5, 2, 6]
    assert len(array.fragments) == 4
    again = xr.open_dataset(tmp_path / "cube", engine="smalti", chunks={})
    assert again.t2m.chunks is not None
    xr.testing.assert_equal(again.compute(), dataset.compute())


def test_groups_are_trees(tmp_path):
    top = sm.create_group(tmp_path / "tree")
    climate().smalti.to_group(tmp_path / "tree" / "fine")
    climate(3).smalti.to_group(tmp_path / "tree" / "coarse")
    top.add(sm.open(tmp_path / "tree" / "fine"))
    top.add(sm.open(tmp_path / "tree" / "coarse"))
    tree = xr.open_datatree(tmp_path / "tree", engine="smalti")
    assert set(tree.children) == {"fine", "coarse"}
    assert tree["coarse"].sizes["time"] == 3
    assert xr.open_dataset(tmp_path / "tree", engine="smalti", group="fine").sizes["time"] == 10


def test_many_files_are_one_dataset(tmp_path):
    whole = climate(6)
    for idx in range(3):
        whole.isel(time=slice(2 * idx, 2 * idx + 2)).smalti.to_group(tmp_path / f"part{idx}")
    paths = [str(tmp_path / f"part{idx}") for idx in range(3)]
    options = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal", "coords": "minimal", "compat": "override"}
    joined = xr.open_mfdataset(paths, engine="smalti", **options)
    xr.testing.assert_equal(joined.t2m.compute(), whole.t2m)


def test_arrays_of_others(tmp_path):
    tiledb = pytest.importorskip("tiledb")
    values = np.arange(12.0).reshape(3, 4)
    tiledb.from_numpy(str(tmp_path / "grid"), values).close()
    opened = xr.open_dataset(tmp_path / "grid", engine="smalti")
    (name,) = opened.data_vars
    np.testing.assert_array_equal(opened[name], values)


def test_coordinates_of_an_array(mem):
    days = sm.dim("day", (np.datetime64("2024-01-01"), np.datetime64("2024-01-10")), tile=5)
    array = sm.create(mem(), days, sm.attr("a", "int32"))
    array[...] = np.arange(10, dtype="i4")
    assert xr.open_dataset(array, engine="smalti").a.sel(day="2024-01-02").item() == 1
    levels = sm.create(mem(), sm.dim("level", (1, 3), "int32"), sm.attr("a", "int32"))
    levels[...] = [10, 20, 30]
    levels.meta["__tiledb_dim.level.units"] = "hPa"
    assert xr.open_dataset(levels, engine="smalti").level.attrs == {"units": "hPa"}
    assert xr.open_dataset(levels, engine="smalti").a.sel(level=3).item() == 30


def test_missing_values_are_nan(mem):
    values = np.ma.MaskedArray(np.arange(4), [0, 1, 0, 0])
    opened = xr.open_dataset(sm.from_numpy(mem(), values), engine="smalti")
    np.testing.assert_array_equal(opened["value"], [0, np.nan, 2, 3])


def test_tables_are_refused_with_a_remedy(cities):
    with pytest.raises(ValueError, match="table"):
        xr.open_dataset(cities, engine="smalti")


def test_all_of_a_write_is_of_its_time(tmp_path):
    dataset = climate(4)
    dataset.encoding["unlimited_dims"] = {"time"}
    dataset.smalti.to_group(tmp_path / "cube", at="2024-02-01")
    later = dataset.assign_coords(time=dataset.time + np.timedelta64(4, "D"))
    later.smalti.to_group(tmp_path / "cube", append_dim="time", at="2024-03-01")
    first = xr.open_dataset(tmp_path / "cube", engine="smalti", at="2024-02-15").load()
    np.testing.assert_array_equal(first.t2m, dataset.t2m)
    assert first.sizes["time"] == 4 and first.attrs["title"] == "climate" and first.t2m.attrs["units"] == "K"
    assert xr.open_dataset(tmp_path / "cube", engine="smalti", at="2024-03-15").sizes["time"] == 8
    assert not sm.open(tmp_path / "cube", at="2024-01-15").members

"""Reads by Dask, in this process and in others."""

import dask
import numpy as np
import pandas as pd
import pytest

import smalti as sm
import smalti.dask


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    array = sm.create(
        tmp_path / "table",
        sm.dim("x", (0, 99_999), tile=1000),
        [sm.attr("value", "float64"), sm.attr("kind", "int8", enumeration="kinds")],
        enums=[sm.enum("kinds", ["a", "b"])],
        sparse=True,
        capacity=1000,
    )
    x = np.arange(0, 100_000, 2)
    array.write({"x": x, "value": rng.random(len(x)), "kind": rng.integers(0, 2, len(x)).astype("i1")})
    return array.reopen()


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_partitions_make_the_table(table, scheduler):
    frame = smalti.dask.read(table, splits=4)
    assert frame.npartitions == 4
    with dask.config.set(scheduler=scheduler):
        got = frame.compute().sort_values("x", ignore_index=True)
    pd.testing.assert_frame_equal(got, table.read(order="row-major").to_pandas())


def test_columns_and_conditions(table):
    frame = smalti.dask.read(table.uri, ["x", "value"], where="value > 0.5", splits=3)
    got = frame.compute()
    assert list(got.columns) == ["x", "value"] and (got["value"] > 0.5).all()
    assert len(got) == table.read(where="value > 0.5").count()
    assert frame["value"].mean().compute() == pytest.approx(table.read(where="value > 0.5").mean("value"))


def test_partitions_by_bytes(table):
    assert smalti.dask.read(table, partition_bytes=1 << 30).npartitions == 1
    assert smalti.dask.read(table, partition_bytes=100_000).npartitions > 3


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_chunks_of_a_grid_follow_tiles(tmp_path, scheduler):
    values = np.random.default_rng(2).random((200, 300))
    array = sm.from_numpy(tmp_path / "grid", values, tile=50)
    grid = smalti.dask.from_array(array, chunks=(100, 150))
    with dask.config.set(scheduler=scheduler):
        np.testing.assert_array_equal(grid.compute(), values)
        assert float(grid[::10, 5].sum().compute()) == pytest.approx(values[::10, 5].sum())
    lengths = smalti.dask.chunks_of(array, array["value"].attribute, 100_000)
    assert all(length % 50 == 0 or length == whole for length, whole in zip(lengths, values.shape))
    with pytest.raises(TypeError, match="group"):
        smalti.dask.read(sm.create_group(tmp_path / "group").uri)

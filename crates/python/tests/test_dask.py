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


def reads_of(frame):
    """What an optimized expression reads: columns and condition."""
    from smalti.frames import ReadArray

    found = list(frame.optimize(fuse=False).expr.find_operations(ReadArray))
    return [(read.columns, None if read.operand("where") is None else repr(read.operand("where"))) for read in found]


def test_columns_that_are_chosen_later_are_what_is_read(table):
    frame = smalti.dask.read(table.uri, splits=3)
    assert reads_of(frame[["value"]]) == [(["value"], None)]
    assert reads_of(frame["value"].mean()) == [(["value"], None)]
    assert frame["value"].sum().compute() == pytest.approx(table.read().sum("value"))
    assert list(frame[["kind", "x"]].compute().columns) == ["kind", "x"]
    assert sorted(frame["x"].compute()) == table.read(["x"], order="row-major").to_pandas()["x"].tolist()


@pytest.mark.parametrize(
    "choose, told",
    [
        (lambda frame: frame[frame.x < 5000], "x < 5000"),
        (lambda frame: frame[(frame.x >= 100) & (frame.value > 0.5)], "x >= 100 and value > 0.5"),
        (lambda frame: frame[(frame.x == 100) | (200 > frame.x)], "x == 100 or x < 200"),
        (lambda frame: frame[frame.kind == "b"], "kind == 'b'"),
        (lambda frame: frame[frame.x != 100], "x != 100"),
        (lambda frame: frame[frame.x < 5000][["value"]], "x < 5000"),
        # What is missing differs from everything to pandas; a sum is no column.
        (lambda frame: frame[frame.value != 0.5], None),
        (lambda frame: frame[frame.x + 1 > 5000], None),
        (lambda frame: frame[frame.x > frame.value], None),
        (lambda frame: frame[frame.x < 10**30], f"x < {10**30}"),
    ],
)
def test_filters_are_part_of_the_read(table, choose, told):
    frame = smalti.dask.read(table, splits=3)
    ((_, where),) = reads_of(choose(frame))
    assert where == (None if told is None else f'Condition("{told}")')
    expected = choose(table.read(order="row-major").to_pandas()).reset_index(drop=True)
    got = choose(frame).compute()
    if "x" in got.columns:
        got = got.sort_values("x")
    pd.testing.assert_frame_equal(got.reset_index(drop=True), expected)


def test_a_filter_is_added_to_the_condition(table):
    frame = smalti.dask.read(table, where="x >= 1000", ranges={"x": slice(0, 3000)})
    frame = frame[frame.x < 2000]
    ((_, where),) = reads_of(frame)
    assert "1000" in where and "2000" in where
    assert frame["x"].compute().tolist() == list(range(1000, 2000, 2))
    assert frame["x"].count().compute() == 500


def test_missing_values_are_filtered_as_by_pandas(tmp_path):
    attrs = [sm.attr("q", "int32", nullable=True), sm.attr("t", str, nullable=True)]
    array = sm.create(tmp_path / "nulls", sm.dim("x", (0, 99), tile=10), attrs, sparse=True)
    array.write({"x": np.arange(6), "q": [1, None, 3, None, 5, 6], "t": ["a", "b", None, "a", None, "c"]})
    whole = array.read(order="row-major").to_pandas()
    frame = smalti.dask.read(array)
    of_numbers = [lambda f: f[f.q > 2], lambda f: f[f.q != 3], lambda f: f[(f.q <= 5) & (f.t == "a")]]
    of_text = [lambda f: f[f.t == "a"], lambda f: f[f.t != "a"]]
    for choose in of_numbers + of_text:
        got = choose(frame).compute().sort_values("x", ignore_index=True)
        pd.testing.assert_frame_equal(got, choose(whole).reset_index(drop=True))


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

"""Reads as tables."""

import asyncio
import gc

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import smalti as sm


def test_all_who_take_arrow_take_a_scan(cities):
    scan = cities.read(["name", "lat"], order="row-major")
    names = ["Zinal", "Paris", "Berlin"]
    assert pa.table(scan)["name"].to_pylist() == names
    assert pa.RecordBatchReader.from_stream(scan).read_all().num_rows == 3
    assert pl.DataFrame(scan)["name"].to_list() == names
    assert duckdb.sql("select name from scan order by lat").fetchall() == [(name,) for name in names]
    assert scan.to_pandas()["name"].tolist() == names
    assert scan.to_polars()["lat"].to_list() == [46.0, 48.85, 52.52]


def test_types_of_columns(cities):
    schema = pa.schema(cities.read())
    assert schema.field("population").nullable and pa.types.is_uint32(schema.field("population").type)
    assert pa.types.is_dictionary(schema.field("kind").type)
    assert pa.types.is_integer(pa.schema(cities.read(codes=True)).field("kind").type)
    assert isinstance(cities.read().to_pandas()["kind"].dtype, pd.CategoricalDtype)


def test_batches_one_after_the_other(mem):
    array = sm.from_numpy(mem(), np.arange(1000.0))
    sizes = [len(batch) for batch in array.read(batch_size=300)]
    assert sizes == [300, 300, 300, 100]
    with array.read(batch_size=300).batches() as batches:
        assert len(next(batches)) == 300
    assert list(batches) == []

    async def all_of_them():
        return [len(batch) async for batch in array.read(batch_size=300)]

    assert asyncio.run(all_of_them()) == sizes


def test_memory_goes_over_as_it_is(mem):
    array = sm.from_numpy(mem(), np.arange(1000.0))
    batch = array.read("value").collect()
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    assert first["value"].buffers()[1].address == second["value"].buffers()[1].address
    again = np.asarray(first["value"])
    assert again.ctypes.data == first["value"].buffers()[1].address
    del batch, first, second
    gc.collect()
    assert again.tolist() == list(range(1000))


def test_conditions(cities):
    def names(where):
        return sorted(cities.read("name", where=where).to_dict()["name"].tolist())

    population, kind = sm.col("population"), sm.col("kind")
    assert names(population > 3_000_000) == ["Berlin"]
    assert names("population > 3000000") == ["Berlin"]
    assert names(population.isnull() | (population == 2113705)) == ["Paris", "Zinal"]
    assert names(~kind.isin(["city"])) == ["Zinal"]
    assert names(kind.code >= 2) == ["Berlin", "Paris"]
    assert names(sm.col("name").startswith("P")) == ["Paris"]
    assert names(sm.col("lat").between(46, 49)) == ["Paris", "Zinal"]
    assert names(population.notnull() & kind.notin(["town"])) == ["Berlin", "Paris"]
    with pytest.raises(ValueError, match="&"):
        population > 1 and population < 3
    with pytest.raises(TypeError, match="isnull"):
        population == None  # noqa: E711
    with pytest.raises(ValueError, match="nope"):
        names("nope > 1")
    with pytest.raises(ValueError):
        names("population >")
    with pytest.raises(TypeError):
        cities.read(where=3)


def test_ranges_orders_and_limits(cities):
    assert cities.read(ranges={"lat": slice(47, None)}).count() == 2
    assert cities.read(ranges={"lat": [46.0, (52, 53)]}).count() == 2
    assert cities.loc[47:50].count() == 1
    assert cities.loc[{"lon": slice(5, 10)}].to_dict()["name"].tolist() == ["Zinal"]
    assert len(cities.read(limit=2).collect()) == 2
    with pytest.raises(KeyError, match="lat, lon"):
        cities.read(ranges={"height": 3})
    with pytest.raises(ValueError, match="row-major"):
        cities.read(order="sideways")
    with pytest.raises(ValueError, match="nope"):
        cities.read("nope").collect()


def test_aggregates(cities):
    scan = cities.read()
    assert (scan.count(), scan.sum("population"), scan.min("population")) == (3, 5791177, 2113705)
    assert scan.max("lat") == 52.52
    assert scan.mean("population") == 5791177 / 2
    wanted = scan.aggregate("count", ("null_count", "population"))
    assert wanted == {"count": 3, "null_count(population)": 1}
    assert cities.read(where="population > 9000000").max("population") is None


def test_what_a_read_will_give(cities):
    scan = cities.read()
    assert scan.cell_count() == (3, True)
    known = scan.statistics()
    assert known["lat"]["least"] <= 46.0 and known["lat"]["greatest"] >= 52.52
    assert known["population"]["nulls"] == (1, True)


def test_splits_make_the_read(mem):
    array = sm.create(mem(), sm.dim("x", (0, 9999), tile=100), sm.attr("a", "int32"), sparse=True, capacity=100)
    array.write({"x": np.arange(0, 10000, 3), "a": np.arange(0, 10000, 3, dtype="i4")})
    parts = [pa.table(split) for split in array.read(order="global").splits(4)]
    assert len(parts) == 4
    assert pa.concat_tables(parts)["x"].to_pylist() == list(range(0, 10000, 3))
    assert [split.number for split in array.read().splits(2)] == [1, 2]


def test_timestamps(mem):
    array = sm.create(mem(), sm.dim("x", (0, 9)), sm.attr("a", "int32"), sparse=True, at=1)
    array.write({"x": [1], "a": [1]}, at=1000)
    array.write({"x": [2], "a": [2]}, at=2000)
    assert array.read(timestamps=True, order="row-major").to_dict()["__timestamps"].tolist() == [1000, 2000]


def test_numbers_that_may_be_missing_keep_their_type_in_pandas(mem):
    large = 2**62 + 1
    attrs = [sm.attr("n", "int64", nullable=True), sm.attr("ok", "bool", nullable=True), sm.attr("day", "datetime64[D]", nullable=True)]
    array = sm.create(mem(), sm.dim("x", (0, 9)), attrs, sparse=True)
    array.write({"x": [1, 2], "n": [large, None], "ok": [None, True], "day": np.array(["2024-05-01", "NaT"], "M8[D]")})
    frame = array.read(order="row-major").to_pandas()
    assert list(frame.columns) == ["x", "n", "ok", "day"]
    assert frame["n"].tolist() == [large, pd.NA] and frame["n"].dtype == "Int64" and frame["ok"].dtype == "boolean"
    assert frame["day"].dtype.kind == "M" and frame["day"][0] == pd.Timestamp("2024-05-01") and frame["day"].isna()[1]
    assert array.read(["n"], limit=1).to_pandas()["n"].tolist() == [large]
    for batch in array.read(batch_size=1):
        assert batch.to_pandas()["n"].dtype == "Int64" and len(batch.to_pandas()) == 1
    assert array.read(limit=0).to_pandas()["n"].dtype == "Int64"
    assert array.read().to_polars()["day"].dtype == pl.Date
    array.write({"x": frame["x"], "n": frame["n"], "ok": frame["ok"], "day": frame["day"].astype("M8[s]")})
    pd.testing.assert_frame_equal(array.reopen().read(order="row-major").to_pandas(), frame)


def test_hours_and_months_are_times_in_pandas(mem):
    units = ["Y", "M", "W", "h", "m"]
    attrs = [sm.attr(unit, f"datetime64[{unit}]") for unit in units]
    array = sm.create(mem(), sm.dim("x", (0, 9)), [*attrs, sm.attr("span", "timedelta64[h]")], sparse=True)
    moment = np.datetime64("2024-05-01T10:30")
    array.write({"x": [0], **{unit: np.array([moment], f"M8[{unit}]") for unit in units}, "span": np.array([5], "m8[h]")})
    frame = array.read().to_pandas()
    for unit in units:
        assert frame[unit].dtype.kind == "M" and frame[unit][0] == pd.Timestamp(moment.astype(f"M8[{unit}]").astype("M8[s]")), unit
    assert frame["span"][0] == pd.Timedelta(hours=5)


def test_text_that_repeats_and_text_that_does_not_come_alike(mem):
    # More cells than it takes for objects to be made for each different value.
    numbers = np.arange(110_000)
    texts = {"few": numbers * 7 % 1000, "all": numbers}
    attrs = [sm.attr("few", str), sm.attr("all", str)]
    array = sm.create(mem(), sm.dim("x", (0, 200_000)), attrs, sparse=True)
    expected = {name: np.array([f"é{number}" for number in values], object) for name, values in texts.items()}
    array.write({"x": numbers, **expected})
    found = array.read(order="row-major").to_dict()
    for name, values in expected.items():
        assert found[name].dtype == object and (found[name] == values).all()
    assert found["few"][0] is found["few"][1000] and len({id(text) for text in found["few"]}) == 1000

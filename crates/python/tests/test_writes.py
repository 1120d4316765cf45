"""Writes from NumPy, pandas, Arrow and SciPy."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import smalti as sm


@given(st.data())
def test_an_assignment_does_what_numpy_does(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    values = np.zeros(shape, "i4")
    array = sm.from_numpy("mem://assigned", values, tile=2, context=sm.Context(threads=1))
    for number in range(1, 4):
        index = []
        for length in shape:
            if data.draw(st.booleans()):
                index.append(data.draw(st.integers(-length, length - 1)))
            else:
                start = data.draw(st.integers(0, length - 1))
                index.append(slice(start, data.draw(st.integers(start + 1, length))))
        box = values[tuple(index)].shape
        new = np.full(box, number) if data.draw(st.booleans()) else number
        values[tuple(index)] = new
        array[tuple(index)] = new
    np.testing.assert_array_equal(array[...], values)


@pytest.mark.parametrize("dtype", ["u1", "i2", "<i4", ">i4", "f4", ">f8", "f2", "?"])
def test_numbers_of_any_layout_are_converted_where_they_fit(mem, dtype):
    array = sm.create(mem(), sm.dim("x", (0, 9), tile=4), sm.attr("a", "float64"))
    values = np.arange(20).astype(dtype)[::2]
    array[:] = values
    np.testing.assert_array_equal(array[:], values.astype("f8"))


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (np.array([1, 2, 300]), ValueError, "300 does not fit 'a'"),
        (np.array([-1, 2, 3]), ValueError, "-1 does not fit"),
        (np.array([1.0, 2.0, 3.0]), TypeError, "astype"),
        (np.array(["a", "b", "c"]), TypeError, "'a' holds UINT8"),
        (np.array([1, "b", None], object), TypeError, "objects of the types"),
        (np.array([1, 2, None], object), ValueError, "cell 2"),
        (np.array([1, 2]), ValueError, "shape"),
        (np.array([1 + 2j, 1, 2]), TypeError, "'a'"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(mem, values, error, words):
    array = sm.create(mem(), sm.dim("x", (0, 2), tile=3), sm.attr("a", "uint8"))
    with pytest.raises(error, match=words):
        array[:] = values
    assert array.nonempty_domain is None


def test_positions_to_write_follow_each_other(mem):
    array = sm.from_numpy(mem(), np.zeros(5))
    for index in (slice(None, None, 2), slice(None, None, -1), [0, 3]):
        with pytest.raises(IndexError, match="without a step"):
            array[index] = 1.0


def test_a_table_of_columns(cities):
    assert cities.read().count() == 3
    got = cities.read(["name", "population"], where="lat > 48", order="row-major").to_dict()
    assert got["name"].tolist() == ["Paris", "Berlin"]
    assert got["population"].tolist() == [2113705, 3677472]


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"lat": [1.0], "lon": [1.0], "name": ["a"], "population": [1]}, ValueError, "kind"),
        ({"lat": [1.0], "lon": [1.0, 2.0], "name": ["a"], "population": [1], "kind": [0]}, ValueError, "lon 2"),
        ({"lat": [np.nan], "lon": [1.0], "name": ["a"], "population": [1], "kind": [0]}, ValueError, "lat"),
        ({"lat": [1.0], "lon": [1.0], "name": [None], "population": [1], "kind": [0]}, ValueError, "name"),
        ({"lat": [1.0], "lon": [1.0], "name": [3], "population": [1], "kind": [0]}, TypeError, "cell 0 is 3"),
        ({"lat": [1.0], "lon": [1.0], "name": ["a"], "population": [1], "kind": [0], "x": [0]}, KeyError, "'x'"),
        ({"lat": [100.0], "lon": [1.0], "name": ["a"], "population": [1], "kind": [0]}, ValueError, "lat"),
    ],
)
def test_tables_that_do_not_fit_are_refused_and_leave_nothing(cities, columns, error, words):
    before = cities.digest()
    with pytest.raises(error, match=words):
        cities.write(columns)
    assert cities.reopen().digest() == before


def test_two_cells_at_one_place(mem):
    array = sm.create(mem(), sm.dim("x", (0, 9)), sm.attr("a", "int32"), sparse=True)
    with pytest.raises(ValueError):
        array.write({"x": [1, 1], "a": [2, 3]})
    array.write({"x": [1, 1], "a": [2, 3]}, keep_first=True)
    assert array.read().to_dict()["a"].tolist() == [2]


def test_columns_of_pandas(mem):
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], "Int32"),
            "text": pd.array(["a", None, "c"], "string"),
            "kind": pd.Categorical(["x", "y", "x"]),
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", None]).astype("datetime64[ns]"),
            "yes": pd.array([True, None, False], "boolean"),
        },
        index=pd.Index([5, 6, 7], name="row"),
    )
    array = sm.create(
        mem(),
        sm.dim("row", (0, 9)),
        [
            sm.attr("n", "int32", nullable=True),
            sm.attr("text", str, nullable=True),
            sm.attr("kind", "int8", enumeration="kinds"),
            sm.attr("when", "M8[ns]", nullable=True),
            sm.attr("yes", bool, nullable=True),
        ],
        enums=[sm.enum("kinds", ["x", "y"])],
        sparse=True,
    )
    array.write({"row": frame.index, **{name: frame[name] for name in frame}})
    got = array.read().to_dict()
    assert got["n"].tolist() == [1, None, 3]
    assert got["text"].tolist() == ["a", None, "c"]
    assert got["kind"].tolist() == ["x", "y", "x"]
    assert got["yes"].tolist() == [True, None, False]
    assert got["when"].mask.tolist() == [False, False, True]


def test_what_pandas_says_is_missing_is_missing_in_a_grid(mem):
    array = sm.create(mem(), sm.dim("x", (0, 2)), [sm.attr("n", "int32", nullable=True), sm.attr("text", str)])
    array.write({"n": pd.Series([1, None, 3], dtype="Int32"), "text": pd.Series(["a", "", "c"])})
    assert array["n"][:].tolist() == [1, None, 3]
    assert array["text"][:].tolist() == ["a", "", "c"]


@pytest.mark.parametrize("count", [7, 120_000])
@pytest.mark.parametrize(
    "datatype, cells",
    [(str, ["a", "", "\u00fc\u20ac"]), (str, ["a", "bc"]), (bytes, [b"\xff", b""]), ("STRING_UTF16", ["a", "\u20ac"])],
)
def test_text_and_bytes_are_read_as_they_were_written(mem, datatype, cells, count):
    cells = (cells * count)[:count]
    array = sm.create(mem(), sm.dim("x", (0, count - 1), tile=count), [sm.attr("all", datatype), sm.attr("some", datatype, nullable=True)])
    some = [None if idx % 5 == 0 else cell for idx, cell in enumerate(cells)]
    array.write({"all": cells, "some": some})
    assert array["all"][:].tolist() == cells
    assert array["some"][:].tolist() == some
    if datatype is not bytes:
        with pytest.raises(TypeError, match=f"cell {count - 1} is 1"):
            array.write({"all": [*cells[:-1], 1], "some": some})


def test_a_table_in_memory_becomes_one_fragment(mem):
    count = 1_500_000
    table = pa.table({"row": np.arange(count), **{name: np.arange(count) / 7 for name in "abcdefghijkl"}})
    assert len(sm.from_arrow(mem(), table, "row").fragments) == 1
    assert len(sm.from_arrow(mem(), table, "row", memory=256 << 20).fragments) > 1


def test_times_that_are_too_fine_and_times_with_a_zone(mem):
    array = sm.create(mem(), sm.dim("x", (0, 1)), sm.attr("t", "M8[s]"))
    array[:] = np.array(["2024-01-01T00:00:01", "2024-01-01T00:00:02"], "M8[ns]")
    assert array[1] == np.datetime64("2024-01-01T00:00:02")
    with pytest.raises(ValueError, match="too coarse"):
        array[:] = np.array(["2024-01-01T00:00:01.5", "2024-01-01"], "M8[ms]")
    sparse = sm.create(mem(), sm.dim("x", (0, 9)), sm.attr("t", "M8[ns]"), sparse=True)
    zoned = pd.Series(pd.to_datetime(["2024-01-01"]).tz_localize("Europe/Zurich"))
    with pytest.raises(TypeError, match="tz_convert"):
        sparse.write({"x": [1], "t": zoned})


def test_numbers_of_other_libraries(mem):
    array = sm.create(mem(), sm.dim("x", (0, 1)), sm.attr("a", "float64"))
    array[:] = [1, 2.5]
    with pytest.raises(TypeError, match="Decimal"):
        array[:] = np.array([decimal.Decimal("1.5"), decimal.Decimal(2)], object)


def test_sparse_matrices(mem):
    matrix = scipy.sparse.random(50, 40, density=0.1, random_state=3, format="csr")
    array = sm.from_scipy(mem(), matrix)
    got = array.read(order="row-major").to_dict()
    again = scipy.sparse.coo_array((got["value"], (got["row"], got["col"])), shape=matrix.shape)
    assert (again != matrix).nnz == 0


def test_lists_of_numbers(mem):
    array = sm.create(mem(), sm.dim("x", (0, 2)), sm.attr("a", "int32", count="var"))
    cells = np.empty(3, object)
    cells[:] = [[1, 2], [], [3]]
    array[:] = cells
    assert [cell.tolist() for cell in array[:]] == [[1, 2], [], [3]]


def test_deletes_and_evolution(cities):
    cities.delete(sm.col("population").isnull())
    assert cities.reopen().read().count() == 2
    cities.evolve(add=sm.attr("mayor", str, nullable=True), drop="population")
    now = cities.reopen()
    assert [attribute.name for attribute in now.attributes] == ["name", "kind", "mayor"]


def test_time_travel(mem):
    array = sm.create(mem(), sm.dim("x", (0, 3), tile=4), sm.attr("a", "int32"), at=500)
    array.write(np.arange(4, dtype="i4"), at=1000)
    array.write(np.full(4, 7, "i4"), at=2000)
    assert array.reopen(at=1500)[:].tolist() == [0, 1, 2, 3]
    assert sm.open(array.uri, at=2000)[:].tolist() == [7] * 4
    assert len(array.reopen().fragments) == 2
    assert array.reopen().diff(1500) == {"added": 0, "removed": 0, "changed": 4, "same": 0}


def test_upkeep(mem):
    array = sm.create(mem(), sm.dim("x", (0, 9)), sm.attr("a", "int32"), sparse=True)
    for x in range(5):
        array.write({"x": [x], "a": [x * x]})
    before = array.digest()
    assert len(array.consolidate()) == 1
    assert len(array.vacuum()) == 5
    assert len(array.reopen().fragments) == 1
    assert array.reopen().digest() == before


def test_closed_handles_hold_nothing(tmp_path):
    array = sm.from_numpy(tmp_path / "grid", np.arange(100))
    array[10:20] = 0
    before = array.reopen()
    array[5:15] = 1
    assert before[12] == 0 and before.read_dense(([1, 12],))["value"].tolist() == [1, 0]
    array.consolidate()
    array.close()
    before.close()
    assert len(sm.open(tmp_path / "grid").vacuum()) == 3


def test_the_type_of_a_dimension_is_that_of_its_ends():
    assert sm.dim("x", (0, 9))["type"] == "INT64"
    assert sm.dim("x", (-90.0, 90))["type"] == sm.dim("x", (-90, 90.5))["type"] == "FLOAT64"
    assert sm.dim("x", (np.uint16(1), np.uint16(9)))["type"] == "UINT16"
    assert sm.dim("x", (np.datetime64("2024-01-01"), np.datetime64("2024-12-31")))["type"] == "DATETIME_DAY"
    assert sm.dim("x", (0, 9), "float32")["type"] == "FLOAT32"
    assert sm.dim("x", None, str)["type"] == "STRING_ASCII"
    with pytest.raises(ValueError, match="domain"):
        sm.dim("x")

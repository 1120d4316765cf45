"""Tables beside pandas: what is read of an array is what pandas chooses of the same rows."""

import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smalti as sm

KINDS = ["low", "mid", "top"]
WORDS = ["", "a", "ab", "b", "é", "zz"]
NUMBERS = st.integers(-5, 5)
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}


@st.composite
def frames(draw):
    """Rows with coordinates that come once each, and columns of several types."""
    x = draw(st.lists(st.integers(-50, 50), min_size=1, max_size=40, unique=True))
    size = {"min_size": len(x), "max_size": len(x)}
    return pd.DataFrame(
        {
            "x": np.array(x, "i8"),
            "n": pd.array(draw(st.lists(st.none() | NUMBERS, **size)), "Int32"),
            "f": np.array(draw(st.lists(st.sampled_from([-1.5, 0.0, 0.5, 2.0, np.nan]), **size))),
            "word": pd.Series(draw(st.lists(st.sampled_from(WORDS), **size)), dtype=object),
            "kind": pd.Categorical(draw(st.lists(st.sampled_from(KINDS), **size)), KINDS),
            "t": np.datetime64("2024-01-01", "s") + np.array(draw(st.lists(st.integers(0, 5), **size)), "m8[D]"),
        }
    )


def array_of(frame):
    attrs = [
        sm.attr("n", "int32", nullable=True),
        sm.attr("f", "float64"),
        sm.attr("word", str),
        sm.attr("kind", "uint8", enumeration="kinds"),
        sm.attr("t", "datetime64[s]"),
    ]
    more = {"enums": [sm.enum("kinds", KINDS)], "capacity": 5, "context": sm.Context(threads=1)}
    array = sm.create("mem://pandas", sm.dim("x", (-50, 50), tile=7), attrs, sparse=True, **more)
    half = len(frame) // 2
    for part in (frame[:half], frame[half:]):
        if len(part):
            array.write(part)
    return array.reopen()


@st.composite
def conditions(draw, depth=2):
    """A condition, and the same of a frame: which rows it takes."""
    if depth and draw(st.booleans()):
        (left, of_left), (right, of_right) = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        if draw(st.booleans()):
            return left & right, lambda frame: of_left(frame) & of_right(frame)
        return left | right, lambda frame: of_left(frame) | of_right(frame)
    name = draw(st.sampled_from(["x", "n", "f", "word", "kind", "t"]))
    values = {
        "x": st.integers(-60, 60),
        "n": NUMBERS,
        "f": st.sampled_from([-1.5, 0.0, 0.25, 2.0]),
        "word": st.sampled_from(WORDS),
        "kind": st.sampled_from(KINDS),
        "t": st.integers(0, 5).map(lambda day: np.datetime64("2024-01-01", "s") + np.timedelta64(day, "D")),
    }[name]
    if draw(st.booleans()):
        told = draw(st.lists(values, min_size=1, max_size=3))
        return sm.col(name).isin(told), lambda frame: frame[name].isin(told) & frame[name].notna()
    sign = draw(st.sampled_from(["==", "!="] if name == "kind" else list(COMPARED)))
    value = draw(values)
    compare = COMPARED[sign]

    def chosen(frame):
        found = compare(frame[name], value)
        # A value that is missing is not compared; a number that is none differs from all others.
        return found.fillna(False).astype(bool) if name == "n" else found

    return compare(sm.col(name), value), chosen


def same(got, frame):
    """Whether rows are the same, in any order."""
    got = got.sort_values("x", ignore_index=True)
    expected = frame.sort_values("x", ignore_index=True)
    pd.testing.assert_frame_equal(got[list(frame.columns)], expected, check_dtype=True, check_column_type=False)


@given(frames())
def test_rows_come_back(frame):
    got = array_of(frame).read().to_pandas()
    got["word"] = got["word"].astype(object)
    got["kind"] = pd.Categorical(got["kind"], KINDS)
    same(got, frame)


@given(frames(), conditions())
def test_conditions_choose_what_pandas_chooses(frame, condition):
    where, chosen = condition
    expected = sorted(frame["x"][chosen(frame)])
    array = array_of(frame)
    assert sorted(array.read(["x"], where=where).to_pandas()["x"]) == expected
    assert array.read(where=where).count() == len(expected)
    again = sm.Array(array._handle, array._settings).read(["x"], where=str(where), order="row-major").to_pandas()["x"].tolist()
    assert again == expected


@given(frames(), st.tuples(st.integers(-60, 60), st.integers(-60, 60)).map(sorted), st.none() | st.integers(0, 10))
def test_ranges_orders_and_limits_choose_what_pandas_chooses(frame, ends, limit):
    low, high = ends
    expected = frame.set_index("x").sort_index().loc[low:high]
    low, high = max(low, -50), min(high, 50)
    if low > high:
        return
    got = array_of(frame).read(ranges={"x": slice(low, high)}, order="row-major", limit=limit).to_pandas()
    assert got["x"].tolist() == expected.index.tolist()[:limit]
    assert got["f"].fillna(9).tolist() == expected["f"].fillna(9).tolist()[:limit]


@given(frames())
def test_aggregates_are_those_of_pandas(frame):
    scan = array_of(frame).read()
    wanted = ["count", ("sum", "n"), ("min", "n"), ("max", "n"), ("mean", "n"), ("min", "x"), ("max", "x"), ("null_count", "n")]
    told = scan.aggregate(*wanted)
    assert told["count"] == len(frame) and told["null_count(n)"] == frame["n"].isna().sum()
    assert (told["min(x)"], told["max(x)"]) == (frame["x"].min(), frame["x"].max())
    present = frame["n"].dropna()
    if len(present):
        assert (told["sum(n)"], told["min(n)"], told["max(n)"]) == (present.sum(), present.min(), present.max())
        assert told["mean(n)"] == pytest.approx(present.mean())


@given(frames(), frames())
def test_later_rows_take_the_place_of_earlier_ones(first, second):
    array = array_of(first)
    array.write(second)
    expected = pd.concat([first[~first["x"].isin(second["x"])], second])
    got = array.reopen().read().to_pandas()
    got["word"] = got["word"].astype(object)
    got["kind"] = pd.Categorical(got["kind"], KINDS)
    same(got, expected)
    array.consolidate()
    again = array.reopen().read(order="row-major").to_pandas()
    assert again["x"].tolist() == sorted(expected["x"])

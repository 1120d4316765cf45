"""Dense arrays beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smalti as sm
from smalti.array import labelled

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?", "M8[D]", "M8[ns]", "m8[s]"]


@st.composite
def indexed(draw):
    """An array, and an index that NumPy knows too (one array of positions at most, or what `np.ix_` says)."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    parts = []
    for length in shape:
        kind = draw(st.sampled_from(["slice", "slice", "whole", "integer", "positions", "mask"]))
        if kind == "slice":
            ends = st.none() | st.integers(-2 * length, 2 * length)
            parts.append(slice(draw(ends), draw(ends), draw(st.none() | st.sampled_from([1, 2, 3, -1, -2]))))
        elif kind == "whole":
            parts.append(slice(None))
        elif kind == "integer":
            parts.append(draw(st.integers(-length, length - 1)))
        elif kind == "positions":
            parts.append(np.array(draw(st.lists(st.integers(-length, length - 1), max_size=5)), "i8"))
        else:
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=length, max_size=length)), bool))
    parts = parts[: draw(st.integers(0, len(parts)))]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return shape, draw(st.sampled_from(DTYPES)), tuple(parts)


def expected(values, parts):
    """NumPy's answer, one axis after the other."""
    axis = 0
    for part in parts:
        if part is None:
            values = np.expand_dims(values, axis)
            axis += 1
        elif isinstance(part, slice):
            values = values[(slice(None),) * axis + (part,)]
            axis += 1
        elif isinstance(part, int):
            values = values[(slice(None),) * axis + (part,)]
        else:
            values = values.compress(part, axis) if part.dtype == bool else values.take(part, axis)
            axis += 1
    return values


@given(indexed())
def test_an_index_gives_what_numpy_gives(case):
    shape, dtype, parts = case
    count = int(np.prod(shape))
    values = (np.arange(count) % 2).astype(dtype) if dtype == "?" else np.arange(count).astype("i8").astype(dtype)
    values = values.reshape(shape)
    context = sm.Context(threads=1)
    array = sm.from_numpy("mem://indexed", values, tile=2, context=context)
    got = array[parts]
    np.testing.assert_array_equal(got, expected(values, parts))
    assert got.dtype == values.dtype


@pytest.fixture
def grid(mem):
    return sm.from_numpy(mem(), np.arange(60, dtype="f8").reshape(3, 4, 5))


def test_what_is_read_is_not_copied_again(grid):
    whole = grid[...]
    owner = whole
    while isinstance(owner, np.ndarray):
        owner = owner.base
    memory = owner.obj if isinstance(owner, memoryview) else owner
    assert type(memory).__name__ == "Buffer"
    assert whole.flags.c_contiguous and whole.flags.writeable
    assert whole.ctypes.data % 64 == 0


def test_column_major_reads_are_in_fortran_layout(grid):
    (got,) = grid.read_dense(order="F").values()
    assert got.flags.f_contiguous
    np.testing.assert_array_equal(got, np.arange(60, dtype="f8").reshape(3, 4, 5))


def test_ellipses_and_missing_indices(grid):
    values = grid[...]
    np.testing.assert_array_equal(grid[..., 2], values[..., 2])
    np.testing.assert_array_equal(grid[1], values[1])
    np.testing.assert_array_equal(grid[1, ..., 2:4], values[1, ..., 2:4])
    assert grid[1, 2, 3] == values[1, 2, 3]
    assert np.shape(grid[1, 2, 3]) == ()


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((..., ...), IndexError),
        (1.5, TypeError),
        ("no such attribute", KeyError),
        (np.zeros((3, 4), bool), IndexError),
        ([0, 7], IndexError),
        (np.array([True]), IndexError),
        (object(), TypeError),
    ],
)
def test_what_is_no_index_is_refused(grid, index, error):
    with pytest.raises(error):
        grid[index]


def test_huge_slices_cost_nothing(grid):
    np.testing.assert_array_equal(grid[: 10**30], grid[...])
    assert grid[5:2].shape == (0, 4, 5)


def test_domains_need_not_begin_with_zero(mem):
    array = sm.create(mem(), [sm.dim("x", (-3, 4), "int32", tile=3)], sm.attr("a", "int16"))
    array[:] = np.arange(8, dtype="i2")
    assert array[0] == 0 and array[-1] == 7
    assert array.loc[-3] == 0 and array.loc[4] == 7
    np.testing.assert_array_equal(array.loc[-1:1], [2, 3, 4])
    np.testing.assert_array_equal(array.loc[[4, -3]], [7, 0])
    with pytest.raises(KeyError):
        array.loc[9]


def test_coordinates_of_time(mem):
    days = sm.dim("day", (np.datetime64("2024-01-01"), np.datetime64("2024-12-31")), tile=30)
    array = sm.create(mem(), days, sm.attr("visitors", "int32"))
    array[:] = np.arange(366, dtype="i4")
    np.testing.assert_array_equal(array.loc["2024-02-01":"2024-02-03"], [31, 32, 33])
    assert array.loc[np.datetime64("2024-12-31")] == 365


def test_several_attributes_are_a_dictionary_and_fields(mem):
    array = sm.from_numpy(mem(), {"a": np.arange(4), "b": np.linspace(0, 1, 4)})
    assert set(array[1:3]) == {"a", "b"}
    np.testing.assert_array_equal(array["a"][1:3], [1, 2])
    np.testing.assert_array_equal(np.asarray(array["b"]), np.linspace(0, 1, 4))


def test_several_values_in_a_cell_are_one_more_axis(mem):
    array = sm.create(mem(), sm.dim("x", (0, 3), tile=2), sm.attr("rgb", "uint8", count=3))
    pixels = np.arange(12, dtype="u1").reshape(4, 3)
    array[:] = pixels
    np.testing.assert_array_equal(array[1:3], pixels[1:3])
    np.testing.assert_array_equal(array[::-1], pixels[::-1])


def test_missing_values_are_masked_or_filled(mem):
    values = np.ma.MaskedArray(np.arange(6.0), [0, 1, 0, 0, 0, 1])
    array = sm.from_numpy(mem(), values)
    got = array[:]
    assert isinstance(got, np.ma.MaskedArray)
    np.testing.assert_array_equal(got.mask, values.mask)
    np.testing.assert_array_equal(got.compressed(), values.compressed())
    assert array.read_dense(nulls="none")["value"].tolist() == [0, None, 2, 3, 4, None]
    assert not isinstance(array.read_dense(nulls="fill")["value"], np.ma.MaskedArray)


def test_text_and_bytes_are_objects(mem):
    words = np.array([["a", "bb"], ["", "dädä"]], object)
    array = sm.from_numpy(mem(), words)
    np.testing.assert_array_equal(array[:], words)
    np.testing.assert_array_equal(array[1, ::-1], ["dädä", ""])
    blobs = np.array([b"\0\1", b""], object)
    np.testing.assert_array_equal(sm.from_numpy(mem(), blobs)[:], blobs)


def test_labels_of_an_enumeration(mem):
    array = sm.create(
        mem(),
        sm.dim("x", (0, 3), tile=2),
        sm.attr("sky", "int8", enumeration="skies"),
        enums=[sm.enum("skies", ["clear", "overcast"])],
    )
    array[:] = ["clear", "overcast", "clear", "clear"]
    assert array[:].tolist() == ["clear", "overcast", "clear", "clear"]
    assert array.read_dense(codes=True)["sky"].tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="evolve"):
        array[0] = "rain"
    assert array.read("sky").to_dict()["sky"].tolist() == ["clear", "overcast", "clear", "clear"]
    array.evolve(extend_enumerations={"skies": ["rain"]})
    array[0] = "rain"
    assert array[0] == "rain"


def test_cells_that_a_condition_rules_out_are_fill_values(mem):
    array = sm.from_numpy(mem(), np.arange(5.0))
    got = array.read_dense(where=sm.col("value") > 2)["value"]
    np.testing.assert_array_equal(np.isnan(got), [True, True, True, False, False])


def test_codes_without_a_label_have_none():
    """smalti writes no such code, but others do."""
    labels = np.array(["clear", "overcast"], object)
    assert labelled(np.array([1, 7, -1, 0], "i1"), labels).tolist() == ["overcast", None, None, "clear"]
    assert labelled(np.array([0, 1], "u1"), labels).tolist() == ["clear", "overcast"]
    assert labelled(np.array([0], "u1"), labels[:0]).tolist() == [None]

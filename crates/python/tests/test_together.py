"""smalti and TileDB-Py in one process, on each other's arrays."""

import numpy as np
import pytest

import smalti as sm

tiledb = pytest.importorskip("tiledb")


def test_tiledb_reads_what_smalti_writes(tmp_path):
    values = np.arange(600.0).reshape(20, 30)
    sm.from_numpy(tmp_path / "grid", values, tile=7).meta["units"] = "m"
    with tiledb.open(str(tmp_path / "grid")) as array:
        np.testing.assert_array_equal(array[:]["value"], values)
        assert array.meta["units"] == "m"


def test_smalti_reads_what_tiledb_writes(tmp_path):
    uri = str(tmp_path / "grid")
    values = np.random.default_rng(1).random((20, 30))
    tiledb.from_numpy(uri, values).close()
    array = sm.open(uri)
    np.testing.assert_array_equal(array[3:9, ::4], values[3:9, ::4])
    with tiledb.open(uri, "w") as other:
        other[0:2, 0:3] = np.zeros((2, 3))
    values[0:2, 0:3] = 0
    np.testing.assert_array_equal(array.reopen()[...], values)


def test_both_write_one_sparse_array(tmp_path):
    uri = str(tmp_path / "table")
    array = sm.create(
        uri,
        [sm.dim("x", (0, 99), "int64", tile=10)],
        [sm.attr("name", str), sm.attr("n", "float32")],
        sparse=True,
    )
    array.write({"x": [1, 2], "name": ["a", "bb"], "n": np.array([0.5, 1.5], "f4")})
    with tiledb.open(uri, "w") as other:
        other[np.array([3])] = {"name": np.array(["ccc"], object), "n": np.array([2.5], "f4")}
    got = array.reopen().read(order="row-major").to_dict()
    assert got["x"].tolist() == [1, 2, 3] and got["name"].tolist() == ["a", "bb", "ccc"]
    with tiledb.open(uri) as other:
        assert other[:]["n"].tolist() == [0.5, 1.5, 2.5]

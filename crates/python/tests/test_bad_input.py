"""What is wrong is refused by name, and nothing half-written is seen."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import smalti as sm


@pytest.fixture
def points(mem):
    """A sparse array over a dimension of numbers and one of text."""
    dims = [sm.dim("x", (-10.0, 10.0), "float64", tile=1.0), sm.dim("name", None, str)]
    return sm.create(mem(), dims, sm.attr("value", "int32"), sparse=True)


@pytest.mark.parametrize(
    "x, name, words",
    [
        ([np.nan, 1.0], ["a", "b"], "x.*NaN|NaN.*x"),
        ([np.inf, 1.0], ["a", "b"], "x"),
        ([1.0, 11.0], ["a", "b"], "11.*x|x.*11"),
        ([1.0, 2.0], ["a", None], "name"),
        ([1.0, 2.0], ["a", 5], "name.*cell 1|cell 1.*name"),
        ([1.0, "b"], ["a", "b"], "x"),
        ([1.0, 2.0], ["a", "b", "c"], "long"),
    ],
)
def test_coordinates_that_are_none_are_refused(points, x, name, words):
    with pytest.raises((ValueError, TypeError), match=words):
        points.write({"x": x, "name": name, "value": [1] * len(x)})
    assert points.reopen().fragments == []


def test_columns_of_mixed_objects_are_refused(points):
    with pytest.raises(TypeError, match="'value'.*convert"):
        points.write({"x": [0.0, 1.0], "name": ["a", "b"], "value": [1, "two"]})
    with pytest.raises((TypeError, ValueError), match="value"):
        points.write(pd.DataFrame({"x": [0.0], "name": ["a"], "value": [{"a": 1}]}))
    assert points.reopen().fragments == []


def test_steps_and_strides(mem):
    values = np.arange(60, dtype=">i4").reshape(6, 10)
    array = sm.from_numpy(mem(), values[::-1, ::2], dims=("y", "x"))
    np.testing.assert_array_equal(array[...], values[::-1, ::2])
    array[:, 1:3] = values[:, ::-5][:, :2]
    np.testing.assert_array_equal(array[:, 1:3], values[:, ::-5][:, :2])
    with pytest.raises(IndexError, match="step"):
        array[::-1] = values[:, :5]
    np.testing.assert_array_equal(array[::-1, ::-2], array[...][::-1, ::-2])
    assert array[10**15 :].shape == (0, 5) and array[: -(10**15)].shape == (0, 5)


def test_times_with_a_zone_are_refused_with_the_remedy(mem):
    array = sm.create(mem(), sm.dim("x", (0, 9)), sm.attr("t", "datetime64[ns]"), sparse=True)
    with pytest.raises(TypeError, match="tz_convert"):
        array.write(pd.DataFrame({"x": [1], "t": pd.to_datetime(["2024-01-01"]).tz_localize("Europe/Paris")}))
    assert array.reopen().fragments == []


def test_an_array_that_another_thread_closes_ends_with_an_exception(tmp_path):
    array = sm.from_numpy(tmp_path / "grid", np.arange(1_000_000.0).reshape(1000, 1000))
    started, failures = threading.Event(), []

    def look():
        while True:
            try:
                assert array[5, 5] == 5005
            except Exception as error:
                failures.append(error)
                return
            started.set()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait(60)
    array.close()
    for thread in threads:
        thread.join(60)
    assert len(failures) == 3 and all(isinstance(failure, ValueError) and "closed" in str(failure) for failure in failures)


def test_a_stream_goes_on_when_its_array_is_closed(tmp_path):
    array = sm.from_numpy(tmp_path / "grid", np.arange(1000.0))
    batches = iter(array.read(batch_size=100))
    first = next(batches)
    array.close()
    assert len(first) + sum(len(batch) for batch in batches) == 1000


PROGRAM = """
import sys
import numpy as np
import smalti as sm

array = sm.open(sys.argv[1])
told = False

def hook(phases):
    global told
    if not told and phases:
        told = True
        print("writing", flush=True)

try:
    x = np.arange(3_000_000)
    while True:
        array.write({"x": x, "value": x.astype("f8")}, progress=hook)
        array = array.reopen()
        told = False
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_in_the_middle_of_a_write_leaves_whole_writes_alone(tmp_path):
    array = sm.create(tmp_path / "table", sm.dim("x", (0, 2_999_999), tile=10_000), sm.attr("value", "float64"), sparse=True)
    for _ in range(3):
        run = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path / "table")], stdout=subprocess.PIPE, text=True)
        assert run.stdout.readline() == "writing\n"
        os.kill(run.pid, signal.SIGINT)
        # It may have been between two writes at that moment, and tell of another one before it stops.
        told = run.stdout.read().split()
        assert run.wait() == 0 and told[-1] == "stopped" and set(told[:-1]) <= {"writing"}
        again = array.reopen()
        assert all(fragment.cells == 3_000_000 for fragment in again.fragments)
        assert again.read().count() in (0, 3_000_000)
        assert sm.fsck(tmp_path / "table")

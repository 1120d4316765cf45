"""Errors, pickles, forks, interrupts, metadata, groups."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import smalti as sm


def test_errors_are_pythons_own_and_have_parts(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        sm.open(tmp_path / "nothing")
    assert isinstance(caught.value, sm.Error) and caught.value.kind == "not_found"
    assert "nothing" in caught.value.uri
    sm.from_numpy(tmp_path / "array", np.arange(4))
    with pytest.raises(FileExistsError):
        sm.from_numpy(tmp_path / "array", np.arange(4))
    with pytest.raises(MemoryError):
        sm.open(tmp_path / "array").read(memory=10).collect()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.uri, again.kind) == (str(caught.value), caught.value.uri, "not_found")


def test_damage_is_named_by_file_field_and_offset(tmp_path):
    uri = str(tmp_path / "array")
    array = sm.from_numpy(uri, np.arange(1000))
    name = array.reopen().fragments[0].name
    footer = tmp_path / "array" / "__fragments" / name / "__fragment_metadata.tdb"
    data = bytearray(footer.read_bytes())
    data[-20:] = b"\xff" * 20
    footer.write_bytes(data)
    with pytest.raises(sm.errors.CorruptError) as caught:
        sm.open(uri)[:]
    assert name in caught.value.uri and caught.value.structure
    check = sm.fsck(uri)
    assert not check and name in check.findings[0].file
    repaired = sm.repair(uri, give_up=True)
    assert repaired.mended and repaired.left


def test_a_key_is_needed_and_never_pickled(tmp_path, monkeypatch):
    uri, key = tmp_path / "secret", bytes(range(32))
    array = sm.from_numpy(uri, np.arange(4), key=key)
    with pytest.raises(PermissionError):
        sm.open(uri)[:]
    with pytest.raises(TypeError, match="env:"):
        pickle.dumps(array)
    monkeypatch.setenv("SMALTI_TEST_KEY", key.hex())
    named = sm.open(uri, key="env:SMALTI_TEST_KEY")
    data = pickle.dumps(named)
    assert key not in data and key.hex().encode() not in data
    assert pickle.loads(data)[:].tolist() == [0, 1, 2, 3]
    split = pickle.dumps(named.read().splits(1)[0])
    assert key not in split
    assert sum(len(batch) for batch in pickle.loads(split)) == 4


def test_handles_are_pickled_with_their_times(tmp_path):
    array = sm.create(tmp_path / "array", sm.dim("x", (0, 3), tile=4), sm.attr("a", "int32"), at=1)
    array.write(np.arange(4, dtype="i4"), at=1000)
    array.write(np.zeros(4, "i4"), at=2000)
    then = pickle.loads(pickle.dumps(sm.open(tmp_path / "array", at=1500)))
    assert then[:].tolist() == [0, 1, 2, 3]
    scan = pickle.loads(pickle.dumps(then.read(where=sm.col("a") > 1)))
    assert scan.to_dict()["a"].tolist() == [2, 3]


def _sum_of(uri):
    return float(sm.open(uri)[...].sum())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_every_kind(tmp_path, method):
    uri = str(tmp_path / "array")
    array = sm.from_numpy(uri, np.ones((300, 300)), tile=50)
    assert array[...].sum() == 90000
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_sum_of, [uri] * 4) == [90000.0] * 4


def test_ctrl_c_stops_a_call_that_works(tmp_path):
    """The signal comes when the call has begun to work: the hook of its progress sends it."""
    array = sm.create(tmp_path / "array", sm.dim("x", (0, 10**9)), sm.attr("a", "int64"), sparse=True)
    x = np.random.default_rng(1).permutation(3_000_000)
    calls = []

    def hook(phases):
        calls.append(phases)
        os.kill(os.getpid(), signal.SIGINT)

    # A process that was started in the background ignores the signal, and Python with it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            array.write({"x": x, "a": x}, progress=hook)
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls
    assert array.reopen().nonempty_domain is None


def test_an_exception_of_a_hook_stops_the_work(tmp_path):
    array = sm.create(tmp_path / "array", sm.dim("x", (0, 10**9)), sm.attr("a", "int64"), sparse=True)
    x = np.random.default_rng(1).permutation(3_000_000)

    def hook(phases):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        array.write({"x": x, "a": x}, progress=hook)
    assert array.reopen().nonempty_domain is None


def test_other_threads_run_while_a_call_works(tmp_path):
    array = sm.from_numpy(tmp_path / "array", np.arange(1000))
    results = []
    threads = [threading.Thread(target=lambda: results.append(int(array[...].sum()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [499500] * 8


def test_a_closed_array_says_so(mem):
    with sm.from_numpy(mem(), np.arange(3)) as array:
        pass
    assert array.closed and "closed" in repr(array)
    with pytest.raises(ValueError, match="closed"):
        array.reopen().close() or array.fragments


def test_metadata_is_a_mapping(mem):
    array = sm.from_numpy(mem(), np.arange(3))
    array.meta["units"] = "m"
    array.meta.update(scale=2.5, counts=[1, 2, 3], raw=b"\0\1", yes=True, when=np.datetime64("2024-05-01"))
    assert array.meta["units"] == "m" and array.meta["scale"] == 2.5
    assert array.meta["counts"] == (1, 2, 3) and array.meta["raw"] == b"\0\1"
    assert array.meta["yes"] is True and array.meta["when"] == np.datetime64("2024-05-01")
    assert set(array.meta) == {"units", "scale", "counts", "raw", "yes", "when"}
    del array.meta["raw"]
    assert "raw" not in array.meta and len(array.meta) == 5
    with pytest.raises(KeyError):
        array.meta["raw"]
    with pytest.raises(TypeError, match="JSON"):
        array.meta["bad"] = {"a": 1}


def test_groups_are_mappings(tmp_path):
    group = sm.create_group(tmp_path / "group")
    group["rain"] = sm.from_numpy(tmp_path / "group" / "rain", np.arange(3))
    group["elsewhere"] = sm.from_numpy(tmp_path / "other", np.arange(5))
    inner = group.create_group("inner", station="Zugspitze")
    inner["snow"] = sm.from_numpy(tmp_path / "group" / "inner" / "snow", np.zeros(2))
    again = sm.open(tmp_path / "group")
    assert isinstance(again, sm.Group) and set(again) == {"rain", "elsewhere", "inner"}
    assert again["elsewhere"].shape == (5,) and again["inner/snow"].shape == (2,)
    assert again["inner"].meta["station"] == "Zugspitze"
    assert [path for path, _ in again.walk()] == ["elsewhere", "inner", "inner/snow", "rain"]
    assert again.members["rain"].is_relative and not again.members["elsewhere"].is_relative
    del again["rain"]
    assert "rain" not in group.reopen()
    with pytest.raises(KeyError):
        again["rain"]
    assert pickle.loads(pickle.dumps(again))["elsewhere"].shape == (5,)


def test_how_things_look(cities, mem):
    assert "sparse" in repr(cities) and "population: uint32?" in repr(cities)
    assert "population" in cities._repr_html_()
    grid = sm.from_numpy(mem(), np.zeros((20, 30)), tile=10)
    assert "<svg" in grid._repr_html_()
    assert "where='lat > 3.0'" in repr(cities.read(where="lat > 3.0"))


def test_reports(cities, mem):
    page = cities.describe()
    assert "population" in page and page.json["cells"] == 3
    assert [entry.json["change"] for entry in cities.history] == ["create", "write"]
    plan = cities.read(where="lat > 50").explain()
    assert "fragments" in plan and plan.json["array_type"] == "sparse"
    group = sm.create_group(mem())
    assert group.describe().json["members"] == []
    assert group.history == []


def test_pictures_of_versions(tmp_path):
    array = sm.create(tmp_path / "map", [sm.dim("y", (0, 9), tile=5), sm.dim("x", (0, 19), tile=5)], sm.attr("h", "float32"), at=1)
    for time in (1000, 2000):
        array.write(np.full((10, 20), time, "f4") + np.arange(20), at=time)
    picture = array.reopen().draw()
    assert picture.png.startswith(b"\x89PNG") and picture.svg.startswith("<svg")
    assert array.T(1500).draw(title="then").png != picture.png
    array.reopen().draw(versions=True).save(tmp_path / "both.svg")
    assert (tmp_path / "both.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError):
        array.reopen().draw("nope")


def test_contexts_are_shared_and_bounded(mem):
    context = sm.Context(threads=1, memory=64 << 20)
    array = sm.from_numpy(mem(), np.zeros((1000, 100)), tile=100, context=context)
    assert array[:10].sum() == 0
    assert context.kept_bytes > 0
    context.forget()
    assert context.kept_bytes == 0


def test_a_subinterpreter_is_refused_or_works():
    program = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
number = interpreters.create()
interpreters.run_string(number, '''
try:
    import smalti
except ImportError as error:
    pass
''')
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

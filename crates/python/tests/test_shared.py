"""Writes that several processes do together, alone and by Dask: seen whole or not at all, whatever dies meanwhile."""

import multiprocessing
import os
import pickle
import signal
import threading
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import smalti as sm
import smalti.dask
import smalti.shared
from smalti.write import write_dense


def line(uri, cells=1000, tile=10):
    return sm.create(uri, sm.dim("x", (0, cells - 1), tile=tile), sm.attr("value", "int64"))


def folders(array):
    if array.uri.startswith("s3://"):
        import boto3

        bucket, _, prefix = array.uri.removeprefix("s3://").partition("/")
        listed = boto3.client("s3", region_name="us-east-1").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/__fragments/", Delimiter="/")
        return len(listed.get("CommonPrefixes", []))
    return len(list((Path(array.uri.removeprefix("file://")) / "__fragments").iterdir()))


def put_part(share, start, stop):
    return share.put_box(slice(start, stop), np.arange(start, stop))


def test_parts_of_other_processes_are_seen_at_one_moment(place):
    array = line(place / "line")
    share = array.share_write("2024-05-01")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(put_part, [(share, start, start + 250) for start in range(0, 1000, 250)])
        pool.starmap(put_part, [(share, 0, 250)])  # done twice, and not named
    names = [name for part in parts for name in part]
    assert (len(names), len(array.reopen().fragments), folders(array)) == (4, 0, 5)
    share.commit(names)
    again = array.reopen()
    np.testing.assert_array_equal(again[:], np.arange(1000))
    assert folders(array) == 4
    assert {str(fragment.time)[:10] for fragment in again.fragments} == {"2024-05-01"}
    with pytest.raises(ValueError, match="committed already"):
        share.commit(names)
    with pytest.raises(ValueError, match="committed already"):
        share.abandon()


def test_tables_are_parts_too(tmp_path):
    import pyarrow as pa

    array = sm.create(tmp_path / "table", sm.dim("x", (0, 99), tile=10), [sm.attr("v", "float64"), sm.attr("s", str, nullable=True)], sparse=True)
    share = pickle.loads(pickle.dumps(array.share_write()))
    names = share.put({"x": [1, 2], "v": [0.5, 1.5], "s": ["a", None]})
    names += share.put(pa.table({"x": pa.array([5, 6], pa.int64()), "v": [2.5, 3.5], "s": ["b", "c"]}))
    names += share.put(pd.DataFrame({"x": [9], "v": [9.5], "s": ["z"]}))
    assert array.reopen().read().count() == 0
    share.commit(names)
    assert array.reopen().read(order="row-major").to_pandas()["x"].tolist() == [1, 2, 5, 6, 9]
    other = array.share_write()
    assert len(other.put({"x": [50], "v": [0.0], "s": ["no"]})) == 1
    with pytest.raises(ValueError, match="not of the shared write"):
        other.commit(names[:1])
    assert (other.abandon(), other.abandon()) == (1, 0)
    assert array.reopen().read().count() == 5


def test_who_abandons_a_write_waits_for_the_threads_that_put_parts_of_it(tmp_path):
    import pyarrow as pa

    array = sm.create(tmp_path / "table", sm.dim("x", (0, 99), tile=10), sm.attr("v", "float64"), sparse=True)
    share = array.share_write()
    begun, may_go_on = threading.Event(), threading.Event()
    schema = pa.schema({"x": pa.int64(), "v": pa.float64()})

    def cells():
        begun.set()
        may_go_on.wait()
        yield pa.record_batch({"x": [1], "v": [0.5]}, schema)

    order = []
    putting = threading.Thread(target=lambda: order.append(share.put(pa.RecordBatchReader.from_batches(schema, cells()))))
    abandoning = threading.Thread(target=lambda: order.append(share.abandon()))
    putting.start()
    begun.wait()
    abandoning.start()
    while True:  # from when on nothing begins any more
        try:
            with smalti.shared._puts.one(share._text):
                pass
        except ValueError:
            break
    assert order == []
    may_go_on.set()
    putting.join()
    abandoning.join()
    assert (len(order[0]), order[1], folders(array)) == (1, 1, 0)
    with pytest.raises(ValueError, match="abandoned"):
        share.put({"x": [2], "v": [0.0]})


def test_what_is_not_there_is_not_committed(tmp_path):
    array = line(tmp_path / "line")
    share = array.share_write()
    names = put_part(share, 0, 10) + put_part(share, 10, 20)
    (Path(array.uri.removeprefix("file://")) / "__fragments" / names[1] / "__fragment_metadata.tdb").unlink()
    with pytest.raises(FileNotFoundError, match="write its part again"):
        share.commit(names)
    assert array.reopen().fragments == []


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_dask_writes_grids(tmp_path, scheduler):
    values = np.random.default_rng(3).random((60, 80))
    with dask.config.set(scheduler=scheduler):
        array = smalti.dask.write(tmp_path / "grid", da.from_array(values, chunks=(20, 40)), dims=["y", "x"])
        np.testing.assert_array_equal(array[:], values)
        assert [dimension.tile for dimension in array.dims] == [20, 40] and len(array.fragments) == 6
        again = smalti.dask.write(array, da.from_array(-values, chunks=30), at="2999-01-01")
    np.testing.assert_array_equal(again[:], -values)
    with pytest.raises(ValueError, match="is there already"):
        smalti.dask.write(array.uri, da.zeros((60, 80)), dims=["a", "b"])
    with pytest.raises(ValueError, match="shape"):
        smalti.dask.write(array, da.zeros((60, 81)))


def test_dask_writes_tables(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "x": np.arange(1000),
            "day": pd.date_range("2024-01-01", periods=1000).astype("datetime64[ns]"),
            "value": rng.random(1000),
            "count": pd.array([None if number % 7 == 0 else number for number in range(1000)], "Int32"),
            "kind": pd.Categorical(np.where(np.arange(1000) % 2, "odd", "even")),
            "note": [None if number % 3 else f"n{number}" for number in range(1000)],
        }
    )
    array = smalti.dask.write(tmp_path / "table", dd.from_pandas(frame, npartitions=7), dims=["x"])
    got = array.read(order="row-major").to_pandas()
    assert len(array.fragments) == 7
    for name in ("x", "day", "value"):
        np.testing.assert_array_equal(got[name], frame[name])
    assert got["kind"].astype(object).tolist() == frame["kind"].astype(object).tolist()
    assert [None if value is None or value != value else value for value in got["note"]] == [None if value != value else value for value in frame["note"]]
    assert got["count"].isna().tolist() == frame["count"].isna().tolist()
    more = frame.assign(x=frame["x"].where(frame["x"] > 500, 3))
    with pytest.raises(ValueError, match="same coordinates"):
        smalti.dask.write(array, dd.from_pandas(more, npartitions=2))
    assert len(array.reopen().fragments) == 7 and folders(array) == 7  # nothing is left of what failed


def test_a_reader_that_looks_all_the_time_sees_all_or_nothing(tmp_path):
    array = line(tmp_path / "line", cells=2000, tile=20)
    seen, over = set(), threading.Event()

    def look():
        while not over.is_set():
            seen.add((len(array.reopen().fragments), int(array.reopen().read(where="value >= 0").count())))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        with dask.config.set(scheduler="processes", num_workers=4):
            smalti.dask.write(array, da.arange(2000, chunks=20))
    finally:
        over.set()
        watcher.join()
    seen |= {(len(array.reopen().fragments), int(array.reopen().read(where="value >= 0").count()))}
    assert {fragments for fragments, _ in seen} <= {0, 100} and {cells for _, cells in seen} <= {0, 2000}
    assert (100, 2000) in seen


def dying(block, marker):
    """A chunk that takes its worker with it when it is first computed, behind one that was put."""
    if block.size and block.flat[0] == 600 and not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.fixture(scope="module")
def cluster(bucket):
    """Processes that know where the bucket is."""
    import distributed

    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_leaves_nothing_that_is_seen(tmp_path, place, cluster):
    values = np.arange(2000)
    parts = 100 if place == tmp_path else 20
    grid = da.from_array(values, chunks=2000 // parts).map_blocks(dying, str(tmp_path / "died"), dtype=values.dtype, meta=np.empty(0, values.dtype))
    array = smalti.dask.write(line(place / "line", cells=2000, tile=20), grid)
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(array[:], values)
    assert (len(array.fragments), folders(array)) == (parts, parts)
    assert sm.fsck(array.uri, data=True)


@pytest.mark.filterwarnings("ignore")
def test_processes_read_the_cells_of_one(tmp_path, place, cluster):
    array = smalti.dask.write(place / "table", dd.from_pandas(pd.DataFrame({"x": np.arange(5000), "v": np.arange(5000) % 13}), npartitions=5), dims="x")
    marker = str(tmp_path / "died")
    frame = smalti.dask.read(array, splits=8)

    def dying_once(part):
        if not os.path.exists(marker):
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    got = frame.map_partitions(dying_once, meta=frame._meta).compute().sort_values("x", ignore_index=True)
    pd.testing.assert_frame_equal(got, array.read(order="row-major").to_pandas())
    assert Path(marker).exists()


@pytest.mark.filterwarnings("ignore")
def test_datasets_are_written_by_workers(tmp_path, cluster):
    import smalti.xarray  # noqa: F401

    dataset = xr.Dataset({"t": (("y", "x"), np.random.default_rng(5).random((40, 60))), "n": (("y", "x"), np.arange(2400).reshape(40, 60))})
    chunked = dataset.chunk({"y": 10, "x": 30})
    chunked.smalti.to_group(tmp_path / "group")
    xr.testing.assert_identical(xr.open_dataset(tmp_path / "group", engine="smalti").load(), dataset)
    array = chunked.smalti.to_array(tmp_path / "array")
    assert len(array.reopen().fragments) == 8
    np.testing.assert_array_equal(array.reopen()["n"][:], dataset["n"].values)


def cells_of(array, at=None):
    array = array.reopen(at=at)
    if array.is_dense:
        return array[:]
    return array.read(order="row-major").to_pandas()


def scattered(tmp_path, kind):
    """Arrays with many fragments, cells that are overwritten, and deletes."""
    rng = np.random.default_rng(6)
    if kind == "dense":
        array = sm.create(tmp_path / kind, [sm.dim("y", (0, 99), tile=20), sm.dim("x", (0, 149), tile=30)], sm.attr("v", "int32"))
        for number in range(12):
            y, x = int(rng.integers(0, 60)), int(rng.integers(0, 100))
            write_dense(array, (slice(y, y + 40), slice(x, x + 50)), np.full((40, 50), number, "i4"), at=1000 + number)
        return array
    dims = [sm.dim("x", (0, 9999), tile=100)] if kind == "sparse" else [sm.dim("name", None, str)]
    array = sm.create(tmp_path / kind, dims, [sm.attr("v", "int64"), sm.attr("s", str, nullable=True)], sparse=True, capacity=100)
    for number in range(12):
        cells = np.sort(rng.choice(10_000, 700, replace=False))
        where = cells if kind == "sparse" else [f"n{cell:05}" for cell in cells]
        array.write({dims[0]["name"]: where, "v": cells * 3 + number, "s": [None if cell % 5 == 0 else f"s{cell}" for cell in cells]}, at=1000 + number)
        if number == 6:
            array.delete(sm.col("v") < 3000, at=1006)
    return array


@pytest.mark.parametrize("kind", ["dense", "sparse", "strings"])
@pytest.mark.parametrize("purge", [False, True])
def test_many_processes_consolidate(tmp_path, kind, purge):
    array = scattered(tmp_path, kind)
    before = cells_of(array)
    past = cells_of(array, at=1005)
    with array.share_consolidation(5, purge=purge) as consolidation:
        assert len(consolidation.parts) == 5
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            merged = pool.map(merge_twice, consolidation.parts)
        assert len(array.reopen().fragments) == 12
        (told,) = consolidation.commit(merged)
        assert (len(told[0]), len(told[1])) == (12, 5)
    again = array.reopen()
    assert len(again.fragments) == 5 and folders(array) == 17
    compare(cells_of(again), before)
    if not purge:
        compare(cells_of(again, at=1005), past)
    again.close()
    array.close()
    assert len(sm.open(tmp_path / kind).vacuum()) == 12
    compare(cells_of(sm.open(tmp_path / kind)), before)
    assert sm.fsck(tmp_path / kind, data=True)


@pytest.mark.parametrize("kind", ["dense", "sparse", "strings"])
def test_libtiledb_sees_the_same(tmp_path, kind):
    import tiledb

    array = scattered(tmp_path, kind)

    def told():
        with tiledb.open(str(tmp_path / kind)) as opened:
            cells = opened[:]
        if kind == "dense":
            return [cells["v"] if isinstance(cells, dict) else cells]
        order = np.argsort(cells["x" if kind == "sparse" else "name"])
        return [cells[name][order] for name in ("x" if kind == "sparse" else "name", "v", "s")]

    def same():
        for found, wanted in zip(told(), before):
            np.testing.assert_array_equal(found, wanted)

    before = told()
    with array.share_consolidation(4) as consolidation:
        parts = [part.merge() for part in consolidation.parts]
        same()
        consolidation.commit(parts)
    same()
    array.close()
    assert len(sm.open(tmp_path / kind).vacuum()) == 12
    same()
    tiledb.consolidate(str(tmp_path / kind))
    tiledb.vacuum(str(tmp_path / kind))
    same()
    assert sm.fsck(tmp_path / kind, data=True)


def merge_twice(part):
    part.merge()  # of a worker whose answer was lost
    return part.merge()


def compare(found, expected):
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_what_does_not_hold_all_cells_is_not_published(tmp_path, kind):
    array = scattered(tmp_path, kind)
    before = cells_of(array)
    wrong = [lambda parts: parts[:-1], lambda parts: [parts[0], parts[0], *parts[2:]], lambda parts: [[], *parts[1:]], lambda parts: parts[::-1]]
    for make in wrong[: 4 if kind == "dense" else 3]:
        with array.share_consolidation(4) as consolidation:
            merged = [part.merge() for part in consolidation.parts]
            with pytest.raises(ValueError):
                consolidation.commit(make(merged))
        assert folders(array) == 12 and len(array.reopen().fragments) == 12
        compare(cells_of(array), before)
    with array.share_consolidation(4) as consolidation:
        consolidation.parts[0].merge()
        with pytest.raises(OSError, match="consolidat"):
            array.consolidate()
    assert folders(array) == 12
    array.consolidate()
    compare(cells_of(array), before)


@pytest.mark.filterwarnings("ignore")
def test_dask_consolidates(place, cluster):
    array = scattered(place, "dense")
    before = cells_of(array)
    ((inputs, outputs),) = smalti.dask.consolidate(array, parts=4)
    assert (len(inputs), len(outputs)) == (12, 4)
    compare(cells_of(array), before)
    array.close()
    assert len(sm.open(array.uri).vacuum(ignore_readers=True)) == 12
    compare(cells_of(sm.open(array.uri)), before)

"""What tiledbsoma and tiledb-vector-search make, change and find, told by one of two libraries: `clients.py FOLDER STEP...`.

`cargo xtask drop-in --clients` runs it on libtiledb and on ours: all that is printed has to be the same, whichever wrote and whichever reads.
"""

import sys

import numpy as np
import pyarrow as pa
import tiledb
import tiledb.vector_search as vs
import tiledbsoma as soma

CELLS, GENES = 60, 40
OBS = pa.schema([
    ("soma_joinid", pa.int64()),
    ("kind", pa.large_string()),
    ("gene_count", pa.int32()),
    ("label", pa.large_string()),
    ("is_good", pa.bool_()),
])
COUNTS = "/experiment/ms/RNA/X/counts"


def obs_of(ids, kinds, counts, labels, good):
    return pa.table([pa.array(ids), pa.array(kinds, pa.large_string()), pa.array(counts, pa.int32()), pa.array(labels, pa.large_string()), pa.array(good)], schema=OBS)


def tensor(values, places, shape):
    return pa.SparseCOOTensor.from_numpy(np.array(values, "f4"), np.array(places), shape=shape)


def make(folder):
    """An experiment with a measurement: cells, genes, a sparse and a dense matrix."""
    with soma.Experiment.create(folder + "/experiment") as experiment:
        obs = experiment.add_new_dataframe("obs", schema=OBS, index_column_names=["soma_joinid"], domain=[(0, 99)])
        ids = list(range(CELLS))
        obs.write(obs_of(ids, [f"kind {idx % 5}" for idx in ids], [idx * 7 % 50 for idx in ids], [f"cell {idx}" for idx in ids], [idx % 3 == 0 for idx in ids]))
        obs.metadata["what"] = "cells"
        rna = experiment.add_new_collection("ms").add_new_collection("RNA", soma.Measurement)
        schema = pa.schema([("soma_joinid", pa.int64()), ("gene", pa.large_string())])
        var = rna.add_new_dataframe("var", schema=schema, index_column_names=["soma_joinid"], domain=[(0, 49)])
        var.write(pa.table([pa.array(range(GENES)), pa.array([f"GENE{idx}" for idx in range(GENES)], pa.large_string())], schema=schema))
        layers = rna.add_new_collection("X")
        counts = layers.add_new_sparse_ndarray("counts", type=pa.float32(), shape=(CELLS, GENES))
        cells = np.unique(np.random.default_rng(3).integers(0, CELLS * GENES, 500))
        counts.write(tensor(cells % 97, np.stack([cells // GENES, cells % GENES], 1), (CELLS, GENES)))
        counts.write(tensor([1000.5], [[1, 1]], (CELLS, GENES)))
        dense = layers.add_new_dense_ndarray("dense", type=pa.float64(), shape=(6, 8))
        dense.write((slice(None), slice(None)), pa.Tensor.from_numpy(np.arange(48.0).reshape(6, 8)))


def change(folder):
    """More cells, cells that are overwritten and deleted, a larger shape, and upkeep."""
    with soma.SparseNDArray.open(folder + COUNTS, "w") as counts:
        counts.resize((80, GENES))
    with soma.SparseNDArray.open(folder + COUNTS, "w") as counts:
        counts.write(tensor([7, 8], [[70, 3], [71, 4]], (80, GENES)))
    with soma.DataFrame.open(folder + "/experiment/obs", "w") as obs:
        obs.write(obs_of([2, 61], ["kind 9", "kind 1"], [1, 2], ["changed", "new"], [True, False]))
    with soma.DataFrame.open(folder + "/experiment/obs", "d") as obs:
        obs.delete_cells((slice(10, 19),))
    for array in ("/experiment/obs", COUNTS):
        tiledb.consolidate(folder + array)
        tiledb.vacuum(folder + array)


def rows(table):
    """The rows of a table in an order of their own."""
    return "\n".join(sorted(repr(row) for row in zip(*(column.to_pylist() for column in table.columns))))


def show(folder):
    """All of the experiment, and queries of it."""
    with soma.open(folder + "/experiment") as experiment:
        rna = experiment.ms["RNA"]
        print(type(experiment).__name__, sorted(experiment), sorted(rna), sorted(rna.X))
        obs = experiment.obs
        print(obs.schema, obs.count, obs.domain, obs.maxdomain, obs.metadata["what"])
        print(rows(obs.read().concat()))
        print(rows(obs.read(value_filter="gene_count > 30 and kind == 'kind 1'").concat()))
        print(rows(rna.var.read((slice(3, 7),)).concat()))
        counts = rna.X["counts"]
        print(counts.shape, counts.nnz)
        print(rows(counts.read((slice(0, 75), slice(0, 10))).tables().concat()))
        print(rna.X["dense"].read((slice(1, 3), slice(None))).to_numpy())
        query = experiment.axis_query("RNA", obs_query=soma.AxisQuery(value_filter="is_good == True"))
        print(query.n_obs, rows(query.X("counts").tables().concat()))


def vectors():
    return np.random.default_rng(5).random((400, 16), dtype="f4")


def index(folder):
    """Indexes of vectors, one of them changed."""
    vs.ingest(index_type="FLAT", index_uri=folder + "/flat", input_vectors=vectors())
    changed = vs.ingest(index_type="IVF_FLAT", index_uri=folder + "/ivf", input_vectors=vectors(), partitions=8)
    changed.update(vector=np.full(16, 0.5, "f4"), external_id=1000)
    changed.delete(external_id=7)


def ask(folder):
    """The nearest vectors, and those that were changed."""
    flat, ivf = vs.FlatIndex(uri=folder + "/flat"), vs.IVFFlatIndex(uri=folder + "/ivf")
    for name, (distances, ids) in {"flat": flat.query(vectors()[:8], k=3), "ivf": ivf.query(vectors()[:8], k=3, nprobe=8)}.items():
        print(name, np.round(distances, 4).tolist(), ids.tolist())
    print(ivf.query(np.full((1, 16), 0.5, "f4"), k=1, nprobe=8)[1].tolist())


if __name__ == "__main__":
    for step in sys.argv[2:]:
        {"make": make, "change": change, "show": show, "index": index, "ask": ask}[step](sys.argv[1])

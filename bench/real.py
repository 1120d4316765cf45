"""Real inputs that ship inside packages on PyPI: a raster of the earth and a matrix of single cells.

The wheels are fetched once and not installed. `into(folder)` writes linke.bin, monthly turbidity of the air, uint8, 2,160 x 4,320 x 12, and
real/pts.npz, a gene expression matrix as cells of x, y, a and b.
"""

import glob
import io
import os
import subprocess
import sys
import zipfile

import numpy as np

RASTER = "pvlib==0.13.1"
MATRIX = "celltypist==1.7.1"


def into(folder):
    """Writes what is not there yet. The names of what could not be had."""
    missing = []
    for name, package, make in (("linke.bin", RASTER, raster), ("real/pts.npz", MATRIX, matrix)):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            make(wheel(folder, package), path)
        except (subprocess.CalledProcessError, OSError, KeyError, ImportError) as error:
            missing.append(f"{package} ({error})")
    return missing


def wheel(folder, package):
    place = os.path.join(folder, "wheels")
    found = os.path.join(place, package.replace("==", "-") + "-*.whl")
    if not glob.glob(found):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, package], check=True)
    return zipfile.ZipFile(glob.glob(found)[0])


def raster(wheel, path):
    import h5py

    with h5py.File(io.BytesIO(wheel.read("pvlib/data/LinkeTurbidities.h5"))) as file:
        file["LinkeTurbidity"][:].tofile(path)


def matrix(wheel, path):
    rows, columns, values = [], [], []
    with wheel.open("celltypist/data/samples/sample_cell_by_gene.csv") as lines:
        next(lines)
        for idx, line in enumerate(lines):
            row = np.array(line.rstrip().split(b",")[1:], dtype=np.float32)
            found = np.nonzero(row)[0]
            rows.append(np.full(len(found), idx))
            columns.append(found)
            values.append(row[found])
    rows, columns, values = (np.concatenate(parts) for parts in (rows, columns, values))
    order = np.random.default_rng(1).permutation(len(rows))
    cells = {"x": rows.astype(np.int64), "y": columns.astype(np.int64), "a": values.astype(np.float64), "b": values.astype(np.int32)}
    np.savez(path, **{name: column[order] for name, column in cells.items()})

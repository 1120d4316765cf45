"""What is at a place, and how a target comes to be there as a whole."""

from __future__ import annotations

import contextlib
import os
import shutil

from .. import kind_of

# Endings by format; the first of each is the usual one.
ENDINGS = {
    "netcdf": (".nc", ".nc4", ".cdf", ".netcdf"),
    "hdf5": (".h5", ".hdf5", ".hdf", ".he5"),
    "zarr": (".zarr",),
    "geotiff": (".tif", ".tiff"),
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv"),
    "h5ad": (".h5ad",),
}
FORMATS = ("smalti", *ENDINGS)
# What files begin with.
_MAGIC = {
    b"CDF\x01": "netcdf",
    b"CDF\x02": "netcdf",
    b"CDF\x05": "netcdf",
    b"II*\x00": "geotiff",
    b"MM\x00*": "geotiff",
    b"II+\x00": "geotiff",
    b"MM\x00+": "geotiff",
    b"PAR1": "parquet",
}
_HDF5 = b"\x89HDF\r\n\x1a\n"


def is_local(uri):
    """Whether a place is one of this machine's file system."""
    return "://" not in uri or uri.startswith("file://")


def path_of(uri):
    """The path of a local place."""
    return uri.removeprefix("file://")


def format_of_source(uri):
    """The format of what is at a place, told by its content, and by its ending where that tells nothing.

    Raises:
        FileNotFoundError: where nothing is.
        ValueError: where the format is none that is known.
    """
    if not is_local(uri):
        return "smalti"
    path = path_of(uri)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{uri}: there is nothing to convert")
    if os.path.isdir(path):
        if any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zgroup", ".zarray", ".zmetadata")):
            return "zarr"
        if kind_of(path) is not None:
            return "smalti"
        for name in sorted(os.listdir(path)):
            if _by_ending(name) in ("parquet", "csv"):
                return _by_ending(name)
    else:
        with open(path, "rb") as file:
            head = file.read(8)
        if head == _HDF5:
            return _of_hdf5(path)
        if head[:4] in _MAGIC:
            return _MAGIC[head[:4]]
        if _by_ending(path) == "csv":
            return "csv"
    raise ValueError(f"{uri}: what this is cannot be told; say it with --from: {', '.join(FORMATS)}")


def _of_hdf5(path):
    import h5py

    if _by_ending(path) in ("netcdf", "h5ad"):
        return _by_ending(path)
    with h5py.File(path) as file:
        if file.attrs.get("encoding-type") == "anndata":
            return "h5ad"
        return "netcdf" if "_NCProperties" in file.attrs else "hdf5"


def format_of_target(uri):
    """The format that the ending of a place asks for; an array or group where it asks for none."""
    return _by_ending(uri) or "smalti"


def _by_ending(path):
    name = path.rstrip("/").lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


@contextlib.contextmanager
def becoming(uri):
    """Where to make a target, which is moved to its place when it is whole, and removed where it fails.

    Raises:
        FileExistsError: where something is already.
    """
    if not is_local(uri):
        if kind_of(uri) is not None:
            raise FileExistsError(f"{uri}: something is there already")
        yield uri
        return
    path = os.path.abspath(path_of(uri))
    if os.path.lexists(path):
        raise FileExistsError(f"{uri}: something is there already; name another target, or remove it first")
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder}: there is no such folder to put {name} into")
    # The ending stays: some writers ask for it.
    part = os.path.join(folder, f".part-{os.getpid()}-{name}")
    try:
        yield part
        _sync(part)
        os.rename(part, path)
        _sync(folder)
    except BaseException:
        if os.path.isdir(part) and not os.path.islink(part):
            shutil.rmtree(part, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.remove(part)
        raise


def _sync(path):
    """Makes a file durable, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["ENDINGS", "FORMATS", "becoming", "format_of_source", "format_of_target", "is_local", "path_of"]

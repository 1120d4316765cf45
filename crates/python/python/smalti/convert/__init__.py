"""Other formats into arrays and groups, and back: NetCDF, HDF5, Zarr 2 and 3, GeoTIFF, Parquet, CSV and h5ad.

``python -m smalti convert SOURCE TARGET --dry-run`` says what would be made, and what cannot be kept; without ``--dry-run`` it does it. The files are
read and written by the libraries that are known for them: h5py and h5netcdf, zarr-python, rioxarray, pyarrow, anndata. ``pip install
'smalti[convert]'`` installs them all.

>>> import pathlib, tempfile
>>> import smalti as sm
>>> from smalti import convert
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "cities.csv").write_text("name,population\\nParis,2113705\\nBerlin,3677472\\n")
>>> conversion = convert.plan(folder / "cities.csv", folder / "cities")
>>> [piece.dtype for piece in conversion.pieces]
['name: string, population: int64']
>>> cities = sm.open(conversion.run())
>>> cities.read(where="population > 3e6").to_dict()["name"].tolist()
['Berlin']
"""

from __future__ import annotations

import os

from .. import open as open_any
from ..array import Array
from . import places
from .places import FORMATS
from .report import CHANGED, LOST, Conversion, Loss, Losses, Piece

GRIDS = ("netcdf", "hdf5", "zarr", "geotiff")
TABLES = ("parquet", "csv")


def plan(
    source,
    target,
    *,
    source_format=None,
    target_format=None,
    dims=None,
    variable=None,
    zarr_format=3,
    at=None,
    key=None,
    context=None,
):
    """Looks into a conversion: a :class:`Conversion`, which says what will be made and lost, and does it with ``run()``.

    Args:
        source: a file or folder of another format, or an array or group.
        target: where to: an array or group, or a file or folder whose ending names the format.
        source_format, target_format: the formats, where they are to be others than what content and ending tell: one of ``"smalti"``,
            ``"netcdf"``, ``"hdf5"``, ``"zarr"``, ``"geotiff"``, ``"parquet"``, ``"csv"`` and ``"h5ad"``.
        dims: of tables, the columns that become dimensions; without them the number of the row is one.
        variable: of a group that becomes a GeoTIFF, the variable that is the raster.
        zarr_format: 2 or 3, of a Zarr store that is made.
        at, key, context: as for :func:`smalti.open`, of the array or group.

    Raises:
        FileNotFoundError: nothing is at the source.
        ValueError: where neither source nor target is an array or a group, or both are.
        ModuleNotFoundError: where the library for the format is not installed; the message says how to.
    """
    source, target = os.fspath(source), os.fspath(target)
    dims = [dims] if isinstance(dims, str) else dims
    source_format = source_format or places.format_of_source(source)
    target_format = target_format or places.format_of_target(target)
    for each in (source_format, target_format):
        if each not in FORMATS:
            raise ValueError(f"there is no format {each!r}; there are {', '.join(FORMATS)}")
    if (source_format == "smalti") == (target_format == "smalti"):
        if source_format == "smalti":
            endings = ", ".join(ending for each in places.ENDINGS.values() for ending in each[:1])
            raise ValueError(f"{source} is an array or group, and so would be {target}: give the target an ending ({endings}) or a format (--to)")
        raise ValueError(f"from {source_format} to {target_format} takes two steps: convert into an array or group, and that into {target_format}")
    try:
        if target_format == "smalti":
            return _into(source, source_format, target, dims, {"key": key, "context": context})
        opened = open_any(source, at=at, key=key, context=context)
        return _out_of(opened, source, target, target_format, variable, zarr_format)
    except ModuleNotFoundError as error:
        wanted = target_format if source_format == "smalti" else source_format
        raise ModuleNotFoundError(f"{wanted} needs the package {error.name!r}; pip install 'smalti[convert]' installs it", name=error.name) from error


def convert(source, target, *, progress=None, **options):
    """Converts: :func:`plan` and ``run()`` in one. Returns what was planned, with its losses."""
    conversion = plan(source, target, **options)
    conversion.run(progress=progress)
    return conversion


def _module_of(kind):
    """What reads and writes a format."""
    import importlib

    name = {"hdf5": "netcdf", "parquet": "tables", "csv": "tables"}.get(kind, kind)
    return importlib.import_module(f"{__name__}.{name}")


def _into(source, kind, target, dims, options):
    """A conversion into an array or group."""
    module = _module_of(kind)
    losses = Losses()
    if dims and kind not in TABLES:
        raise ValueError(f"dimensions are named for tables alone; {kind} has its own")
    if kind in TABLES:
        pieces, _, _ = module.plan_source(source, kind, dims, losses)

        def fill(place, progress):
            module.convert(source, kind, place, dims, progress, options)

    elif kind == "h5ad":
        with module.source(source, losses, kind) as found:
            pieces = module.pieces_of(found)

        def fill(place, progress):
            with module.source(source, Losses(), kind) as found:
                module.store(found, place, progress, options)

    else:
        from .grids import store

        with module.source(source, losses, kind) as tree:
            pieces = tree.pieces()

        def fill(place, progress):
            with module.source(source, Losses(), kind) as tree:
                store(tree, place, progress, **options)

    def work(progress):
        with places.becoming(target) as place:
            fill(place, progress)

    return Conversion(source, kind, target, "smalti", pieces, losses.found, work)


def _out_of(opened, source, target, kind, variable, zarr_format):
    """A conversion of an array or group into another format."""
    module = _module_of(kind)
    losses = Losses()
    is_array = isinstance(opened, Array)
    if variable is not None and kind != "geotiff":
        raise ValueError("a variable is named for GeoTIFF alone, which holds one")
    if kind in TABLES:
        if not is_array:
            raise ValueError(f"{source} is a group, and a file of {kind} one table; convert one of its arrays: {', '.join(opened)}")
        pieces = module.plan_target(opened, kind, losses)

        def fill(place, progress):
            module.write(opened, kind, place, progress)

    elif kind == "h5ad":
        if is_array:
            raise ValueError(f"{source} is an array, and an h5ad file is made of a group with tables 'obs' and 'var'")
        pieces = module.plan_target(opened, losses)

        def fill(place, progress):
            module.write(opened, place)

    else:
        from .datasets import datasets_of

        datasets, pieces = datasets_of(opened, losses, kind)
        if kind == "geotiff":
            raster = module.raster_of(datasets, variable, losses, source)
            pieces = [Piece("", "raster", str(raster.dtype), raster.shape, raster.nbytes)]

        def fill(place, progress):
            if kind == "geotiff":
                module.write(raster, datasets["/"], place)
            else:
                module.write(datasets, place, zarr_format if kind == "zarr" else kind)

    def work(progress):
        if not places.is_local(target):
            raise ValueError(f"{target}: files are written to this machine's folders alone")
        with places.becoming(target) as place:
            fill(place, progress)

    return Conversion(source, "smalti", target, kind, pieces, losses.found, work)


__all__ = ["CHANGED", "Conversion", "FORMATS", "LOST", "Loss", "Piece", "convert", "plan"]

"""GeoTIFF, read and written with rioxarray and rasterio."""

from __future__ import annotations

import contextlib
import threading

import numpy as np

from .grids import Tree, add, attributes_of
from .places import path_of

# What a variable is called that the file has no name for.
NAME = "raster"
# Where the coordinate reference system is.
GRID_MAPPING = "spatial_ref"


@contextlib.contextmanager
def source(uri, losses, _kind):
    """The tree of a file: the raster, its coordinates, and its coordinate reference system."""
    import rasterio
    import rioxarray

    path = path_of(uri)
    with rasterio.open(path) as file:
        _beside(file, losses)
        blocks = file.block_shapes[0] if file.block_shapes else None
        is_striped = not file.profile.get("tiled", False)
        colors = _colors(file)
        scales = set(zip(file.scales, file.offsets))
        nodata = set(map(str, file.nodatavals))
    raster = rioxarray.open_rasterio(path, masked=False, mask_and_scale=False, cache=False)
    if isinstance(raster, list):
        raise ValueError(f"{uri} has {len(raster)} rasters of different shape; convert them one by one")
    try:
        if len(scales) > 1:
            losses.lost(NAME, "scales and offsets of bands that differ: those of the first one are kept")
        if len(nodata) > 1:
            losses.lost(NAME, "values of missing cells that differ from band to band: that of the first one is kept")
        tree = Tree()
        rasters = {NAME: raster} if not hasattr(raster, "data_vars") else dict(raster.data_vars)
        for name, each in rasters.items():
            attrs = attributes_of(each.attrs.items(), losses, name)
            attrs |= colors if name == NAME else {}
            attrs["grid_mapping"] = GRID_MAPPING
            names = {"_FillValue": each.encoding.get("_FillValue"), **attrs}
            neutral = {"scale_factor": 1, "add_offset": 0}
            attrs = {key: value for key, value in names.items() if value is not None and neutral.get(key) != value}
            chunks = None if blocks is None or is_striped else (1, *blocks)
            add(tree, losses, str(name), each.dims, each.shape, each.dtype, _reader(each), attrs=attrs, chunks=chunks, filters=["zstd"])
        for name, coordinate in raster.coords.items():
            attrs = attributes_of(coordinate.attrs.items(), losses, str(name))
            if coordinate.dtype.kind in "OUT":
                losses.lost(str(name), "a coordinate of text")
                continue
            add(tree, losses, str(name), coordinate.dims, coordinate.shape, coordinate.dtype, _reader(coordinate), attrs=attrs)
        yield tree
    finally:
        raster.close()


def _reader(array):
    return lambda key: array.variable[key].values


def _beside(file, losses):
    """What rioxarray does not read of a file."""
    overviews = file.overviews(1) if file.count else []
    if overviews:
        losses.lost(NAME, f"overviews ({', '.join(f'1/{factor}' for factor in overviews)}); smalti draws pictures of any size from the cells")
    if file.gcps[0]:
        losses.lost(NAME, f"{len(file.gcps[0])} ground control points")
    if file.rpcs is not None:
        losses.lost(NAME, "rational polynomial coefficients")
    flags = {flag.name for flags in file.mask_flag_enums for flag in flags}
    if "per_dataset" in flags:
        losses.lost(NAME, "the mask of the file" if "alpha" not in flags else "that a band is the mask of the others; it is kept as a band")
    spaces = [space for space in file.tag_namespaces() if space not in ("IMAGE_STRUCTURE", "DERIVED_SUBDATASETS", "TIFF", "")]
    if spaces:
        losses.lost(NAME, f"tags of {', '.join(spaces)}")
    compression = file.compression
    if compression is not None and compression.name not in ("zstd", "none"):
        losses.changed(NAME, f"compression by {compression.name} becomes zstd")
    if not file.profile.get("tiled", False):
        losses.changed(NAME, "strips become tiles")


def _colors(file):
    """The table of colours of a band, as an attribute."""
    try:
        table = file.colormap(1)
    except ValueError:
        return {}
    return {"colormap": [[value, *color] for value, color in sorted(table.items())]}


def raster_of(datasets, variable, losses, uri):
    """The raster among the variables of a dataset: the one that is asked for, or the only one of two dimensions or three."""
    dataset = datasets["/"]
    names = [str(name) for name, each in dataset.variables.items() if each.ndim in (2, 3) and each.dtype.kind in "iuf" and name not in dataset.coords]
    if variable is not None and variable not in names:
        raise KeyError(f"there is no raster {variable!r} in {uri}; there are {', '.join(names) or 'none'}")
    if variable is None and len(names) != 1:
        raise ValueError(f"a GeoTIFF holds one raster, and {uri} has {', '.join(names) or 'none'}; name one with --variable")
    name = variable or names[0]
    for path, other in datasets.items():
        for each in other.variables:
            is_part = path == "/" and (each == name or each in dataset[name].dims or each in (GRID_MAPPING, dataset[name].attrs.get("grid_mapping")))
            if not is_part:
                losses.lost(f"{path.strip('/')}/{each}".strip("/"), "a GeoTIFF holds one raster")
    raster = dataset[name]
    _check(raster, dataset, losses, name)
    return raster


def _check(raster, dataset, losses, name):
    """Notes what of a raster is not kept."""
    *more, y, x = raster.dims
    for axis in (y, x):
        if axis not in dataset.variables:
            losses.lost(name, f"the file gets no place on the Earth: {axis!r} has no coordinates")
            continue
        steps = np.diff(dataset[axis].values)
        if len(steps) and not np.allclose(steps, steps[0], rtol=1e-3):
            losses.lost(str(axis), "coordinates that are not evenly spaced")
    if more and more[0] != "band":
        losses.lost(str(more[0]), "the coordinate of the bands, which are numbered from 1")
    if _crs_of(raster, dataset) is None:
        losses.lost(name, "no coordinate reference system is known: the file has none")
    if raster.dtype.kind in "iu" and raster.dtype.itemsize == 8:
        losses.changed(name, f"{raster.dtype}, which programs with GDAL before 3.5 do not read")


def _crs_of(raster, dataset):
    grid_mapping = raster.attrs.get("grid_mapping", GRID_MAPPING)
    if grid_mapping not in dataset.variables:
        return None
    attrs = dataset[grid_mapping].attrs
    return attrs.get("crs_wkt") or attrs.get("spatial_ref")


def write(raster, dataset, path):
    """Writes a raster to a file, in windows of its chunks where Dask is there."""
    import rioxarray  # noqa: F401

    *more, y, x = raster.dims
    attrs = dict(raster.attrs)
    crs = _crs_of(raster, dataset)
    attrs.pop("grid_mapping", None)
    colors = attrs.pop("colormap", None)
    fill = attrs.pop("_FillValue", None)
    raster = raster.rename({more[0]: "band"} if more and more[0] != "band" else {}).copy()
    raster.attrs = attrs
    raster = raster.rio.set_spatial_dims(x_dim=x, y_dim=y)
    if crs is not None:
        raster = raster.rio.write_crs(crs)
    if fill is not None:
        raster = raster.rio.write_nodata(fill)
    options = {"tiled": True, "compress": "deflate", "BIGTIFF": "IF_SAFER"}
    if raster.chunks is not None:
        options["lock"] = threading.Lock()
    raster.rio.to_raster(path, driver="GTiff", **options)
    if colors is not None:
        import rasterio

        with rasterio.open(path, "r+") as file:
            file.write_colormap(1, {value: tuple(color) for value, *color in colors})


__all__ = ["NAME", "raster_of", "source", "write"]

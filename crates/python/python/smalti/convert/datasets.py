"""Arrays and groups as xarray's datasets for the formats of grids, and what these cannot hold of them."""

from __future__ import annotations

from ..array import Array
from ..types import is_bytes, is_text
from .report import Piece

# Formats that have no type for times.
NO_TIMES = ("netcdf", "hdf5", "geotiff")


def datasets_of(opened, losses, kind):
    """The datasets of an array or a group by the paths of their groups, not decoded and not read yet; and what becomes of them."""
    groups = {"/": opened}
    if not isinstance(opened, Array):
        groups |= {f"/{path}": opened[path] for path, member in opened.walk() if member.kind == "group"}
    found, pieces = {}, []
    for path, node in groups.items():
        dataset = _dataset(node, path, losses, kind)
        found[path] = dataset
        inner = path.strip("/")
        pieces.append(Piece(inner, "group", "", None, None))
        for name, variable in dataset.variables.items():
            told = "text" if variable.dtype.kind in "OT" else str(variable.dtype)
            size = None if variable.dtype.kind in "OT" else variable.nbytes
            pieces.append(Piece(f"{inner}/{name}" if inner else str(name), "variable", told, variable.shape, size))
    return found, pieces


def _dataset(node, path, losses, kind):
    from ..xarray import SmaltiBackend

    inner = path.strip("/")
    prefix = f"{inner}/" if inner else ""
    left_out = set()
    if isinstance(node, Array):
        if not node.is_dense:
            raise ValueError(f"{node.uri} is sparse, a table and no grid; convert it to Parquet or CSV")
        left_out |= _losses_of(node, inner or ".", None, losses, kind)
    else:
        for name, member in node.members.items():
            if member.kind == "group":
                continue
            array = node[name]
            if not array.is_dense:
                losses.lost(prefix + name, "it is sparse, a table and no grid; convert it by itself to Parquet or CSV")
                continue
            left_out |= _losses_of(array, prefix + name, name, losses, kind)
    dataset = SmaltiBackend().open_dataset(node, mask_and_scale=False, decode_times=False, concat_characters=False, decode_coords=False)
    gone = [name for name in dataset.variables if name in left_out]
    dataset = dataset.drop_vars(gone)
    if kind in NO_TIMES:
        for name, variable in dataset.variables.items():
            if variable.dtype.kind in "mM":
                losses.changed(prefix + str(name), "times become numbers with the CF conventions' units")
    return _chunked(dataset) if _has_dask() else dataset


def _chunked(dataset):
    """The variables in chunks, which are read and written one after the other; what is not in chunks is in memory as a whole meanwhile."""
    for name, variable in list(dataset.variables.items()):
        chunks = variable.encoding.get("preferred_chunks")
        if chunks and variable.dtype.kind in "iufbmM" and name not in dataset.xindexes:
            dataset[name] = dataset[name].variable.chunk(chunks)
    return dataset


def _has_dask():
    try:
        import dask.array  # noqa: F401
    except ImportError:
        return False
    return True


def _losses_of(array, where, member, losses, kind):
    """Notes what of an array is not kept; the variables that are left out."""
    from ..xarray import variable_name

    told_of_versions(array, where, losses)
    left_out = set()
    compressed = False
    for attribute in array.attributes:
        each = where if len(array.attributes) == 1 else f"{where}.{attribute.name}"
        if attribute.enumeration is not None:
            losses.changed(each, f"the labels of enumeration {attribute.enumeration!r} become text")
        elif attribute.nullable and attribute.dtype.kind in "iu":
            losses.changed(each, "cells without a value become NaN, and numbers floats")
        elif attribute.nullable and attribute.dtype.kind not in "fmM":
            losses.changed(each, "cells without a value become the type's missing value")
        is_listed = attribute.count is None and not is_bytes(attribute.datatype) and not is_text(attribute.datatype)
        if is_listed:
            losses.lost(each, f"lists of {attribute.datatype}, any number of them in a cell")
            left_out.add(variable_name(attribute.name, member, len(array.attributes)))
        elif attribute.datatype in ("BLOB", "ANY", "GEOM_WKB") and attribute.enumeration is None:
            losses.lost(each, "bytes that are no text")
            left_out.add(variable_name(attribute.name, member, len(array.attributes)))
        compressed = compressed or attribute.dtype.kind in "iufb"
    if compressed and kind in ("netcdf", "hdf5"):
        losses.changed(where, "filters become shuffling and deflate")
    elif compressed and kind == "zarr":
        losses.changed(where, "filters become zstd")
    for dimension in array.dims:
        if dimension.dtype.kind not in "mM" and dimension.domain is not None and dimension.domain[0] != 0:
            losses.changed(where, f"the domain of {dimension.name!r} from {dimension.domain[0]} becomes a coordinate")
    return left_out


def told_of_versions(array, where, losses):
    """Notes that the past is not kept, nor encryption. Several fragments of one moment are no past."""
    fragments = array.fragments
    if len({fragment.timestamps for fragment in fragments}) > 1:
        losses.lost(where, f"the history: {len(fragments)} fragments, of which the cells of one time are kept")
    if array._settings.key is not None:
        losses.lost(where, "encryption: the target is plain")


__all__ = ["datasets_of", "told_of_versions"]

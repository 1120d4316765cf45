"""Zarr, formats 2 and 3: read with zarr-python, written by xarray with it."""

from __future__ import annotations

import contextlib

import numpy as np
from xarray.backends.zarr import FillValueCoder

from .grids import Tree, add, add_any_length, attributes_of
from .places import path_of

# How arrays of format 2 name their dimensions, as xarray writes them.
DIMENSIONS = "_ARRAY_DIMENSIONS"


@contextlib.contextmanager
def source(uri, losses, _kind):
    """The tree of a store."""
    import zarr

    opened = zarr.open(path_of(uri), mode="r")
    is_one = isinstance(opened, zarr.Array)
    tree = Tree(is_one)
    if is_one:
        _array(tree, opened, "", losses)
    else:
        _group(tree, opened, "", losses)
    yield tree


def _group(tree, group, path, losses):
    import zarr

    tree.groups[path] = attributes_of(group.attrs.asdict().items(), losses, path or ".")
    prefix = f"{path}/" if path else ""
    for name, member in sorted(group.members()):
        if isinstance(member, zarr.Array):
            _array(tree, member, prefix + name, losses)
        else:
            _group(tree, member, prefix + name, losses)


def _array(tree, array, path, losses):
    where = path or "."
    attrs = attributes_of(((key, value) for key, value in array.attrs.asdict().items() if key != DIMENSIONS), losses, where)
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get(DIMENSIONS)
    shape = tuple(array.shape)
    dims = [name or f"dim_{length}" for name, length in zip(names or [None] * len(shape), shape)]
    if shape and not (names and all(names)):
        losses.changed(where, f"dimensions have no names; they become {', '.join(dims)}")
    dtype = array.dtype
    fill = array.fill_value
    if array.metadata.zarr_format == 2 and DIMENSIONS in array.attrs and fill is not None and dtype.kind in "iuf":
        # What xarray says in this place of the format is that such cells are missing.
        attrs.setdefault("_FillValue", np.asarray(fill, dtype)[()])
    elif isinstance(attrs.get("_FillValue"), str) and dtype.kind in "fc":
        # In attributes of format 3 xarray keeps the bytes of floats, as text.
        attrs["_FillValue"] = FillValueCoder.decode(attrs["_FillValue"], dtype)
    _codecs(array, where, losses)
    more = {"attrs": attrs, "chunks": tuple(array.chunks) if shape else None}
    read = array.__getitem__
    if dtype.kind in "TU":
        add_any_length(tree, losses, path, dims, shape, str, read, **more)
    elif dtype.kind == "O":
        add_any_length(tree, losses, path, dims, shape, *_objects(array, where, losses), **more)
    else:
        is_plain = dtype.names is None and dtype.kind in "iufbmM"
        add(tree, losses, path, dims, shape, dtype, read, fill=fill if is_plain and fill is not None else None, filters=["zstd"], **more)


def _objects(array, where, losses):
    """Whether objects are text or bytes, told by the first cells."""
    first = np.asarray(array[tuple(slice(0, 1) for _ in array.shape)], object).reshape(-1)
    kind = bytes if len(first) and isinstance(first[0], bytes) else str
    return kind, array.__getitem__


def _codecs(array, where, losses):
    told = [_name_of(codec) for codec in (*(array.filters or ()), *(array.compressors or ()))]
    told = [name for name in told if name not in ("zstd", "vlen-utf8", "vlen-bytes")]
    if told:
        losses.changed(where, f"{', '.join(told)} becomes zstd")
    if array.shards:
        losses.changed(where, f"shards of {'x'.join(map(str, array.shards))} become the tiles of fragments, each in one file")
    if getattr(array, "order", "C") == "F" and array.ndim > 1 and array.metadata.zarr_format == 2:
        losses.changed(where, "the order of cells in chunks becomes row-major")


def _name_of(codec):
    config = codec.get_config() if hasattr(codec, "get_config") else codec.to_dict()
    name = config.get("id") or config.get("name") or type(codec).__name__
    inner = config.get("cname") or (config.get("configuration") or {}).get("cname")
    return f"{name} ({getattr(inner, 'value', inner)})" if inner else str(name)


def write(datasets, path, version):
    """Writes datasets, by the paths of their groups, to a store."""
    import zarr

    zarr.open_group(path, mode="w-", zarr_format=version)
    for name, dataset in datasets.items():
        encoding = {each: _encoding(variable) for each, variable in dataset.variables.items()}
        dataset.to_zarr(
            path,
            mode="a",
            group=None if name == "/" else name.strip("/"),
            encoding=encoding,
            zarr_format=version,
            consolidated=False,
            safe_chunks=False,
        )
    if version == 2:
        zarr.consolidate_metadata(path, zarr_format=2)


def _encoding(variable):
    made = {}
    if variable.dtype.kind in "fc" and "_FillValue" not in variable.attrs:
        made["_FillValue"] = None
    tile = variable.encoding.get("tile")
    if tile:
        made["chunks"] = tuple(tile)
    return made


__all__ = ["source", "write"]

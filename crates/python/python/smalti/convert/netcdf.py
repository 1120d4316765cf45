"""NetCDF (classic and 4) and HDF5: read with h5netcdf, h5py and SciPy, written by xarray with h5netcdf."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from .grids import Tree, add, add_any_length, attributes_of
from .places import path_of

# Bytes of cells that the library's own cache of chunks may hold.
CACHE_BYTES = 16 << 20


@contextlib.contextmanager
def source(uri, losses, kind):
    """The tree of a file, which stays open meanwhile."""
    path = path_of(uri)
    with open(path, "rb") as file:
        is_classic = file.read(3) == b"CDF"
    if is_classic:
        with _classic(path, losses) as tree:
            yield tree
        return
    if kind == "hdf5":
        import h5py

        with h5py.File(path, "r", rdcc_nbytes=CACHE_BYTES) as file:
            tree = Tree()
            _plain_group(tree, file, "", losses, {})
            yield tree
        return
    import h5netcdf

    with h5netcdf.File(path, "r", rdcc_nbytes=CACHE_BYTES) as file:
        tree = Tree()
        _group(tree, file, "", losses)
        yield tree


def _group(tree, group, path, losses):
    """A group of NetCDF: its variables have dimensions with names."""
    tree.groups[path] = attributes_of(_told(group.attrs, losses, path or "."), losses, path or ".")
    prefix = f"{path}/" if path else ""
    for name, variable in group.variables.items():
        dims = [str(each).rpartition("/")[2] for each in variable.dimensions]
        attrs = attributes_of(_told(variable.attrs, losses, prefix + name), losses, prefix + name)
        _variable(tree, variable._h5ds, prefix + name, dims, attrs, losses)
    for name, inner in group.groups.items():
        _group(tree, inner, prefix + name, losses)


def _plain_group(tree, group, path, losses, seen):
    """A group of HDF5: its datasets have dimension scales, labels, or lengths alone; what is in it may be linked to from elsewhere."""
    import h5py

    tree.groups[path] = attributes_of(_told(group.attrs, losses, path or "."), losses, path or ".")
    seen[group.id] = path
    prefix = f"{path}/" if path else ""
    for name in group:
        link, where = group.get(name, getlink=True), prefix + name
        member = group.get(name)
        if member is None:
            losses.lost(where, f"a link to {getattr(link, 'path', 'something')}, where nothing is")
            continue
        is_around = isinstance(member, h5py.Group) and member.id in seen
        if isinstance(link, (h5py.SoftLink, h5py.ExternalLink)) and not is_around:
            losses.changed(where, f"a link to {link.path}{f' of {link.filename}' if hasattr(link, 'filename') else ''} becomes a copy")
        if isinstance(member, h5py.Datatype):
            losses.lost(where, "a named type")
        elif isinstance(member, h5py.Group):
            if is_around:
                losses.lost(where, f"a link to the group {seen[member.id] or '/'}, which it is in")
            else:
                _plain_group(tree, member, where, losses, dict(seen))
        else:
            own = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS")
            attrs = (told for told in _told(member.attrs, losses, where) if told[0] not in own)
            _variable(tree, member, where, _dims_of(member), attributes_of(attrs, losses, where), losses)


def _dims_of(plain):
    """Names of dimensions: those of their scales, their labels, or by their length."""
    if plain.shape is None:
        return []
    if plain.is_scale and plain.ndim == 1:
        return [plain.name.rpartition("/")[2]]
    found = []
    for side, length in zip(plain.dims, plain.shape):
        scale = side[0].name.rpartition("/")[2] if len(side) else ""
        found.append(scale or side.label or f"dim_{length}")
    return found


def _told(attrs, losses, where):
    """Attributes one by one: one that cannot be read does not hide the others."""
    for key in attrs:
        try:
            value = attrs[key]
        except Exception as error:
            losses.lost(where, f"attribute {key!r}, which cannot be read: {error}")
            continue
        if type(value).__name__ == "Empty":
            losses.lost(where, f"attribute {key!r}, which has a type and no value")
            continue
        yield key, value


def _variable(tree, plain, path, dims, attrs, losses):
    """A dataset of HDF5."""
    import h5py

    if plain.shape is None:
        losses.lost(path, "it has a type and no cells")
        return
    dtype, shape = plain.dtype, plain.shape
    unlimited = {name for name, most in zip(dims, plain.maxshape) if most is None}
    chunks = plain.chunks if shape else None
    filters = _filters(plain, path, losses)
    more = {"attrs": attrs, "chunks": chunks, "unlimited": unlimited, "filters": filters}
    read = plain.__getitem__
    text = h5py.check_string_dtype(dtype)
    if h5py.check_ref_dtype(dtype) is not None:
        losses.lost(path, "references to other objects of the file")
    elif text is not None and text.length is None:
        add_any_length(tree, losses, path, dims, shape, str, lambda key: _texts(plain, key), **{**more, "filters": None})
    elif h5py.check_vlen_dtype(dtype) is not None:
        item = np.dtype(h5py.check_vlen_dtype(dtype))
        if item.kind not in "iuf":
            losses.lost(path, f"lists of {item}")
        else:
            add_any_length(tree, losses, path, dims, shape, list, plain.__getitem__, item=item.newbyteorder("<"), **{**more, "filters": None})
    else:
        labels = h5py.check_enum_dtype(dtype)
        if labels is not None:
            attrs |= {"flag_values": np.asarray(list(labels.values()), dtype.newbyteorder("=")), "flag_meanings": " ".join(labels)}
            losses.changed(path, "an enumerated type becomes its numbers, with flag_values and flag_meanings")
        kept = _kept_fields(dtype, path, losses)
        if kept is None:
            return
        if dtype.names is not None:
            read = (lambda key: plain[key]) if kept == list(dtype.names) else (lambda key: plain.fields(kept)[key])
            dtype = np.dtype([(name, _base(dtype[name])) for name in kept])
        if "_FillValue" not in attrs and dtype.names is None and dtype.kind in "iuf" and np.any(plain.fillvalue != 0):
            more["fill"] = plain.fillvalue
        add(tree, losses, path, dims, shape, dtype, read, **more)


def _texts(plain, key):
    """Texts of any length; bytes that are no UTF-8 come as characters for each of them, as Python reads names of files."""
    return plain.asstr(errors="surrogateescape")[key]


def _base(dtype):
    """A type without what h5py notes in it."""
    if dtype.shape:
        return np.dtype((_base(dtype.base), dtype.shape))
    if dtype.names is not None:
        return np.dtype([(name, _base(dtype[name])) for name in dtype.names])
    return np.dtype(dtype.str)


def _kept_fields(dtype, path, losses):
    """The fields of a compound type that can be kept; of another type none of these."""
    kept = [name for name in dtype.names or () if _is_fixed(dtype[name])]
    for name in dtype.names or ():
        if name not in kept:
            losses.lost(f"{path}.{name}", "a field of references, lists, or texts of any length inside of a compound type")
    if dtype.names is not None and not kept:
        losses.lost(path, "none of its fields can be kept")
        return None
    return kept


def _is_fixed(dtype):
    """Whether the cells of a type have their bytes in themselves."""
    inner = dtype.base
    return all(_is_fixed(inner[name]) for name in inner.names) if inner.names is not None else inner.kind != "O"


def _filters(plain, path, losses):
    """Filters for what a dataset has: zstd, behind shuffling where that was so."""
    told = {"gzip": "deflate", "lzf": "lzf", "szip": "szip"}.get(plain.compression)
    if told is None and plain.compression is None:
        known = set(plain._filters)
        unknown = known - {"shuffle", "fletcher32", "scaleoffset"}
        told = f"filter {', '.join(sorted(unknown))}" if unknown else None
    if told is not None:
        losses.changed(path, f"compression by {told} becomes zstd")
    if plain.scaleoffset is not None:
        losses.changed(path, "the scale-offset filter becomes zstd; cells are kept as they are read")
    if plain.fletcher32:
        losses.changed(path, "fletcher32 becomes a checksum of SHA-256")
    made = ["byteshuffle", "zstd"] if plain.shuffle else ["zstd"]
    return [*made, "sha256"] if plain.fletcher32 else made


@contextlib.contextmanager
def _classic(path, losses):
    import warnings

    from scipy.io import netcdf_file

    tree = Tree()
    file = netcdf_file(path, "r", mmap=True)
    try:
        tree.groups[""] = attributes_of(_decoded(file._attributes), losses, ".")
        unlimited = {name for name, length in file.dimensions.items() if length is None}
        for name, variable in file.variables.items():
            data = variable.data
            attrs = attributes_of(_decoded(variable._attributes), losses, name)
            add(tree, losses, name, variable.dimensions, data.shape, data.dtype, data.__getitem__, attrs=attrs, unlimited=unlimited)
        yield tree
    finally:
        with warnings.catch_warnings():
            # The mapping goes when the last of its arrays does.
            warnings.simplefilter("ignore", RuntimeWarning)
            file.close()


def _decoded(attributes):
    return [(key, value.decode("utf-8", "replace") if isinstance(value, bytes) else value) for key, value in attributes.items()]


def write(datasets, path, kind):
    """Writes datasets, by the paths of their groups, to a file."""
    for node, (name, dataset) in enumerate(datasets.items()):
        encoding = {each: _encoding(variable) for each, variable in dataset.variables.items()}
        group = None if name == "/" else name
        mode = "w" if node == 0 else "a"
        dataset.to_netcdf(
            path,
            mode=mode,
            group=group,
            engine="h5netcdf",
            encoding=encoding,
            unlimited_dims=sorted(dataset.encoding.get("unlimited_dims", ())),
            invalid_netcdf=kind == "hdf5",
        )


def _encoding(variable):
    made = {}
    if variable.dtype.kind in "fc" and "_FillValue" not in variable.attrs:
        made["_FillValue"] = None
    tile = variable.encoding.get("tile")
    if tile and variable.dtype.kind != "S":
        sides = list(tile)
        # HDF5 refuses chunks of 4 GiB and more.
        while math.prod(sides) * max(variable.dtype.itemsize, 1) >= 1 << 32:
            sides[sides.index(max(sides))] //= 2
        made["chunksizes"] = tuple(sides)
    if variable.ndim and variable.dtype.kind in "iufb":
        made |= {"zlib": True, "complevel": 4, "shuffle": True}
    return made

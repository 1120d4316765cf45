"""xarray on smalti: ``xarray.open_dataset(uri, engine="smalti")``, ``open_datatree``, and ``ds.smalti.to_group(uri)``.

How arrays and groups look as datasets:

- An array is a dataset: its attributes are variables over its dimensions. A dimension of dates, or one that does not begin with 0, is a
  coordinate; so is each dimension label.
- A group is a dataset of all arrays in it, groups in it are nodes of a tree. An array of one attribute is a variable of the array's name, and a
  coordinate where that is the name of its dimension. The attribute is then called ``name.data``, as in arrays of TileDB-CF.
- Metadata ``__tiledb_attr.VARIABLE.KEY`` are attributes of a variable, others those of the dataset. CF conventions hold for both.

Import this module for the accessor ``ds.smalti``; the engine is there without it.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.core import indexing

from . import Array, Group, _smalti, create, create_group, kind_of
from . import open as open_any
from .dask import chunks_of, commit_all
from .schema import attr, dim
from .times import moment_of
from .types import value_of, values_of

ATTRIBUTE_PREFIX = "__tiledb_attr."
DIMENSION_PREFIX = "__tiledb_dim."
# What a value of metadata that is no number, text or list of numbers is kept as.
JSON_PREFIX = "__json__"
# What an attribute is called that would have the name of its dimension.
SUFFIX = ".data"
# The dimension of an array that holds one value.
SCALAR = "_scalar"
# The array of a variable whose name is None.
NAMELESS = "_nameless"
# What says of a variable's encoding that its times are to be stored as the CF conventions have it, and not as times.
CF_TIMES = ("units", "calendar", "dtype", "scale_factor", "add_offset")
# What an encoding may say beside what xarray's own encoding takes.
ENCODINGS = ("tile", "filters")
# What xarray's own encoding takes of what is asked for.
KNOWN = (
    *("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned"),
    *("units", "calendar", "coordinates", "grid_mapping", "char_dim_name"),
)
# What names other variables, and is an attribute of the stored one.
NAMING = ("coordinates", "grid_mapping", "bounds", "ancillary_variables", "cell_measures", "formula_terms")
# What xarray's encoding looks at where it comes from a file.
KEPT = KNOWN + NAMING + ("_Encoding",)
# A chunk of Dask has about so many bytes, in whole tiles.
CHUNK_BYTES = 32 << 20
# So many arrays of a group are opened at a time.
OPENERS = 8
# Where an unlimited dimension ends.
LAST = 2**62


class LazyVariable(BackendArray):
    """An attribute of a dense array, read when it is indexed."""

    def __init__(self, array, attribute):
        self._array = array
        self._attribute = attribute
        self.shape = tuple(array.shape)
        if attribute.count is not None and attribute.dtype.kind not in "SV" and attribute.count > 1:
            self.shape += (attribute.count,)
        self.dtype = _dtype_of(attribute)

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key):
        several = len(self.shape) > self._array.ndim
        outer, inner = (key[:-1], key[-1]) if several else (key, None)
        name = self._attribute.name
        values = self._array.read_dense(tuple(outer), [name])[name]
        if isinstance(values, np.ma.MaskedArray):
            values = _without_mask(values, self.dtype)
        return values[..., inner] if several else values


def _dtype_of(attribute):
    if attribute.enumeration is not None:
        return np.dtype(object)
    dtype = attribute.dtype
    if not attribute.nullable or dtype.kind in "fmMO":
        return dtype
    return np.dtype("f4") if dtype.kind in "iu" and dtype.itemsize <= 2 else np.dtype("f8" if dtype.kind in "iu" else object)


def _without_mask(values, dtype):
    """Missing values as NaN, NaT or ``None``."""
    mask = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values).astype(dtype)
    if mask.any():
        plain[mask] = {"f": np.nan, "m": np.timedelta64("NaT"), "M": np.datetime64("NaT")}.get(dtype.kind)
    return plain


class Store(AbstractDataStore):
    """The variables and attributes of an array, or of the arrays of a group."""

    def __init__(self, opened):
        self._opened = opened
        self._unlimited = set()

    def load(self):
        """Variables by name, and attributes."""
        variables, attributes = {}, {}
        if isinstance(self._opened, Array):
            self._add(self._opened, self._opened.meta._read(), None, variables, attributes)
        else:
            attributes.update(_attributes(self._opened.meta._read(), None))
            for name, array, meta in _arrays_of(self._opened):
                self._add(array, meta, name, variables, {})
        return variables, attributes

    def _add(self, array, meta, member, variables, attributes):
        if not array.is_dense:
            raise ValueError(f"{array.uri} is sparse, a table and no grid: read it with smalti.open(uri).read()")
        dims = [dimension.name for dimension in array.dims]
        self._unlimited |= {dimension.name for dimension in array.dims if dimension.domain[1] == LAST}
        attributes.update(_attributes(meta, None))
        for name, variable in _coordinates(array, meta).items():
            variables.setdefault(name, variable)
        own = array.attributes
        for attribute in own:
            name = variable_name(attribute.name, member, len(own))
            data = indexing.LazilyIndexedArray(LazyVariable(array, attribute))
            more = (f"{attribute.name}_value",) if data.ndim > len(dims) else ()
            chunks = dict(zip(dims, chunks_of(array, attribute, CHUNK_BYTES)))
            tile = tuple(min(dimension.tile or length, length) for dimension, length in zip(array.dims, array.shape))
            encoding = {"preferred_chunks": chunks, "dtype": attribute.dtype, "tile": tile}
            told = _attributes(meta, attribute.name)
            if dims == [SCALAR]:
                variables[name] = xr.Variable((), array[attribute.name][0], told)
                continue
            variables[name] = xr.Variable((*dims, *more), data, told, encoding)

    def get_encoding(self):
        """Which dimensions can grow."""
        return {"unlimited_dims": self._unlimited} if self._unlimited else {}

    def close(self):
        """Lets go of the array or group."""


def _arrays_of(group):
    """The dense arrays of a group, each with its name and metadata, opened side by side."""

    def opened(member):
        array = group._opened(member)
        if isinstance(array, Array) and array.is_dense:
            return member.name, array, array.meta._read()
        return None

    members = [member for member in group.members.values() if member.kind != "group"]
    pool = ThreadPoolExecutor(OPENERS)
    try:
        return [found for found in pool.map(opened, members) if found is not None]
    finally:
        pool.shutdown(cancel_futures=True)


def variable_name(name, member, count):
    for suffix in (SUFFIX, ".index"):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    if member is not None and count == 1 and name in ("", "value"):
        return member
    return None if name == NAMELESS else name or "value"


def _attributes(meta, variable, kind=ATTRIBUTE_PREFIX):
    """The attributes of a variable, or of the dataset; numbers keep their dtype, which decides that of what is decoded with them."""
    prefix = f"{kind}{variable}."
    found = {}
    for key, told in meta:
        if variable is not None:
            if not key.startswith(prefix):
                continue
            key = key.removeprefix(prefix)
        elif key.startswith("__tiledb") or key.startswith("_gdal"):
            continue
        value = value_of(told)
        if isinstance(value, str) and value.startswith(JSON_PREFIX):
            value = json.loads(value.removeprefix(JSON_PREFIX))
        elif not isinstance(value, (str, bytes, bool)):
            values = values_of(told)
            value = values[0] if len(values) == 1 else values
        found[key] = value
    return found


def _coordinates(array, meta):
    """Coordinates that the array has of itself: labels, dates, and positions that do not begin with 0."""
    found = {}
    for dimension, length in zip(array.dims, array.shape):
        first = array._known.first_of(dimension)
        dtype = dimension.dtype
        if first != 0 or dtype.kind in "mM":
            values = np.arange(first, first + length).astype(dtype if dtype.kind not in "mM" else "i8")
            told = _attributes(meta, dimension.name, DIMENSION_PREFIX)
            found[dimension.name] = xr.Variable((dimension.name,), values.view(dtype) if dtype.kind in "mM" else values, told)
    for name, dimension in array.labels.items():
        found[name] = xr.Variable((dimension,), array._known.label_values(array, name))
    return found


class SmaltiBackend(BackendEntrypoint):
    """The engine ``smalti`` of xarray."""

    description = "Open arrays and groups in the TileDB format"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "at",
        "key",
        "context",
    )

    def guess_can_open(self, filename_or_obj):
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        try:
            return kind_of(filename_or_obj) is not None
        except Exception:
            return False

    def open_dataset(
        self,
        filename_or_obj,
        *,
        mask_and_scale=True,
        decode_times=True,
        concat_characters=True,
        decode_coords=True,
        drop_variables=None,
        use_cftime=None,
        decode_timedelta=None,
        group=None,
        at=None,
        key=None,
        context=None,
    ):
        """A dataset of an array, or of the arrays of a group; ``at`` is the time to show."""
        opened = filename_or_obj
        if not isinstance(opened, (Array, Group)):
            opened = open_any(filename_or_obj, at=at, key=key, context=context)
        if group not in (None, "", "/"):
            opened = opened[group.strip("/")]
        return StoreBackendEntrypoint().open_dataset(
            Store(opened),
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(self, filename_or_obj, *, at=None, key=None, context=None, group=None, **options):
        """A dataset for each group in a group, by path."""
        top = open_any(filename_or_obj, at=at, key=key, context=context)
        if group not in (None, "", "/"):
            top = top[group.strip("/")]
        if not isinstance(top, Group):
            return {"/": self.open_dataset(top, **options)}
        paths = {"/": top}
        paths |= {f"/{path}": top[path] for path, member in top.walk() if member.kind == "group"}
        return {path: self.open_dataset(node, **options) for path, node in paths.items()}

    def open_datatree(self, filename_or_obj, **options):
        """A tree of a group and the groups in it."""
        return xr.DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


@xr.register_dataset_accessor("smalti")
class Accessor:
    """``ds.smalti``: datasets into arrays and groups."""

    def __init__(self, dataset):
        self._dataset = dataset

    def to_group(self, uri, *, mode="w-", region=None, append_dim=None, encoding=None, unlimited_dims=None, at=None, key=None, context=None):
        """Writes each variable as an array of a group.

        Args:
            uri: where.
            mode: ``"w-"`` makes a group where nothing is, ``"a"`` adds variables to one that is there, ``"r+"`` changes cells of variables that
                are there.
            region: for dimensions by name the slice of positions that is written, with ``mode="r+"``.
            append_dim: the dimension behind whose end the cells go; it was one of the ``unlimited_dims`` of the first write.
            unlimited_dims: dimensions that can grow later; ``ds.encoding["unlimited_dims"]`` if not said.
            encoding: for variables by name ``tile`` (extents, one for each dimension), ``filters``, ``dtype``, ``_FillValue``, ``scale_factor``,
                ``add_offset``.
            at: the time of all that is written: cells, members, attributes, growth.
        """
        if region is not None or append_dim is not None:
            mode = "r+"
        options = {"key": key, "context": context}
        if mode == "w-":
            group = create_group(uri, **options)
        elif mode in ("a", "r+"):
            group = open_any(uri, **options)
        else:
            raise ValueError(f'mode= is "w-", "a" or "r+", not {mode!r}')
        variables, attributes = self._encoded(encoding or {})
        unlimited = self._unlimited(unlimited_dims)
        there, added = group.members, []
        for name, (variable, settings) in variables.items():
            if mode == "r+":
                self._write_part(group[name], variable, region or {}, append_dim, at)
            elif name in there:
                _overwrite(group[name], name, variable, at)
            else:
                array = _created(f"{group.uri.rstrip('/')}/{name}", {name: (variable, settings)}, unlimited, at, options)
                _put(array, {_attribute_of(name, variable): variable}, at)
                added.append(group._told(array, name))
        if added:
            group._handle.write_members(added, [], at=moment_of(at))
        if mode != "r+" and attributes:
            group.meta._write([(key, kept(value)) for key, value in attributes.items()], [], moment_of(at))
        return group

    def to_array(self, uri, *, encoding=None, at=None, key=None, context=None):
        """Writes all variables, which have the same dimensions, as the attributes of one array. Coordinates are left out: :meth:`to_group` keeps
        them."""
        data = self._dataset.drop_vars([name for name in self._dataset.coords])
        dims = {variable.dims for variable in data.variables.values()}
        if len(dims) != 1:
            raise ValueError("the variables have different dimensions; write them with ds.smalti.to_group(uri)")
        variables, attributes = Accessor(data)._encoded(encoding or {})
        array = _created(uri, variables, set(), at, {"key": key, "context": context})
        _put(array, {_attribute_of(name, variable): variable for name, (variable, _) in variables.items()}, at)
        if attributes:
            array.meta._write([(key, kept(value)) for key, value in attributes.items()], [], moment_of(at))
        return array

    def _encoded(self, encoding):
        """Variables as they are stored, with what their arrays are to be like; and the attributes of the dataset."""
        for name, asked in encoding.items():
            if name not in self._dataset.variables:
                raise KeyError(f"there is no variable {name!r} to encode; there are {', '.join(map(str, self._dataset.variables))}")
            if not isinstance(asked, dict):
                raise ValueError(f"the encoding of variable {name!r} must be castable to a dictionary, and is {asked!r}")
            wrong = [key for key in asked if key not in ENCODINGS and key not in KNOWN]
            if wrong:
                told = ", ".join(map(repr, wrong))
                raise ValueError(f"unexpected encoding {told} of variable {name!r}; there are {', '.join(ENCODINGS + KNOWN)}")
        variables, attributes = xr.conventions.encode_dataset_coordinates(self._dataset)
        native, others, stored = {}, {}, {}
        for name, variable in variables.items():
            _check_name(name)
            asked = dict(encoding.get(name, {}))
            stored[name] = {"told": variable.encoding.get("tile")} | {key: asked.pop(key) for key in ENCODINGS if key in asked}
            variable = variable.copy(deep=False)
            variable.encoding = {key: value for key, value in {**variable.encoding, **asked}.items() if key in KEPT}
            if variable.dtype.kind == "T":
                variable = variable.copy(data=_objects(variable.values))
            if variable.dtype.kind in "mM" and not any(key in variable.encoding for key in CF_TIMES):
                native[name] = variable
            elif variable.dtype.kind == "O" and _is_text_with_gaps(variable) and "_FillValue" not in variable.encoding:
                native[name] = variable
            else:
                if variable.dtype.kind in "mM" and variable.encoding.get("dtype") == variable.dtype:
                    del variable.encoding["dtype"]
                others[name] = variable
        others, attributes = xr.conventions.cf_encoder(others, attributes)
        found = {}
        for name in variables:
            made = native[name] if name in native else _typed(others[name])
            for key in NAMING:
                if name in native and key in made.encoding:
                    made.attrs.setdefault(key, made.encoding[key])
            found[NAMELESS if name is None else name] = made, stored[name]
        return found, attributes

    def _unlimited(self, asked):
        """The dimensions that can grow."""
        told = self._dataset.encoding.get("unlimited_dims", ()) if asked is None else asked
        told = {told} if isinstance(told, str) else set(told)
        unknown = ", ".join(repr(name) for name in told - set(self._dataset.dims))
        if unknown and asked is not None:
            dims = ", ".join(map(str, self._dataset.dims))
            raise ValueError(f"Unlimited dimension(s) {unknown} declared in 'unlimited_dims-kwarg' are none of the dataset, which has {dims}")
        if unknown:
            import warnings

            warnings.warn(f"Unlimited dimension(s) {unknown} declared in 'dataset.encoding' are none of the dataset", stacklevel=3)
        return told

    def _write_part(self, array, variable, region, append_dim, at):
        dims = [dimension.name for dimension in array.dims]
        if append_dim is not None and append_dim not in self._dataset.dims:
            raise ValueError(f"append_dim={append_dim!r} is no dimension of the dataset, which has {', '.join(map(str, self._dataset.dims))}")
        if append_dim is not None and append_dim not in dims:
            return
        if append_dim is None and not any(dimension in region for dimension in dims):
            return
        index = []
        for dimension, length in zip(dims, variable.shape):
            if dimension == append_dim:
                start = _grown(array, dims.index(dimension), length, at)
                index.append(slice(start, start + length))
            else:
                index.append(region.get(dimension, slice(None)))
        array = array.reopen()
        _put(array, {array.attributes[0].name: variable}, at, tuple(index))


def _check_name(name):
    if name is None:
        return
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable is a string or None, not {name!r} of type {type(name).__name__}")
    if not name:
        raise ValueError(f"the name {name!r} of a variable says nothing: the string must be length 1 or more")


def _objects(values):
    """Text of NumPy's own as objects, ``None`` where it is missing."""
    plain = np.asarray(values, object)
    return np.where([isinstance(value, str) for value in plain.reshape(-1)], plain.reshape(-1), None).reshape(plain.shape)


def _is_text_with_gaps(variable):
    cells = variable.values.reshape(-1)
    gaps = [_is_missing(cell) for cell in cells]
    return any(gaps) and all(is_gap or isinstance(cell, str) for cell, is_gap in zip(cells, gaps))


def _typed(variable):
    """A variable of objects that are numbers as one of numbers."""
    if variable.dtype.kind != "O":
        return variable
    cells = variable.values.reshape(-1).tolist()
    if any(isinstance(cell, (str, bytes)) for cell in cells):
        return variable
    numbers = np.asarray([np.nan if cell is None else cell for cell in cells])
    return variable.copy(data=numbers.reshape(variable.shape))


def _is_missing(cell):
    return cell is None or (isinstance(cell, float) and cell != cell)


def _overwrite(array, name, variable, at):
    """Writes all cells of an array that is there."""
    if variable.dims and tuple(array.shape) != variable.shape:
        sizes = zip(variable.dims, array.shape, variable.shape)
        dimension, there, here = next((size for size in sizes if size[1] != size[2]), (None, array.ndim, variable.ndim))
        raise ValueError(
            f"Unable to update size for existing dimension {dimension!r} of variable {name!r} from {there} to {here}: append, or take another group"
        )
    _put(array, {array.attributes[0].name: variable}, at)


def _attribute_of(name, variable):
    return name + SUFFIX if name in variable.dims else name


def _created(uri, variables, unlimited, at, options):
    """An array for variables over the same dimensions, made at a time."""
    names = list(variables)
    first, settings = variables[names[0]]
    dims, shape = first.dims, first.shape
    if not dims:
        dims, shape = (SCALAR,), (1,)
    if 0 in shape:
        raise ValueError(f"variable {names[0]!r} has no cells, shape {shape}")
    tiles = settings.get("tile") or _tiles_of(first, shape, settings.get("told"))
    made = []
    for dimension, length, tile in zip(dims, shape, tiles):
        last = LAST if dimension in unlimited else length - 1
        made.append(dim(str(dimension), (0, last), "int64", tile=tile))
    current = [(0, length - 1) for length in shape] if any(dimension in unlimited for dimension in dims) else None
    attrs = []
    for name, (variable, settings) in variables.items():
        dtype = variable.dtype
        cells = variable.values.reshape(-1) if dtype.kind == "O" else ()
        kind = dtype if dtype.kind not in "OUT" else bytes if any(isinstance(cell, bytes) for cell in cells) else str
        nullable = any(_is_missing(cell) for cell in cells)
        fill = variable.attrs.get("_FillValue")
        if isinstance(fill, (str, bytes)):
            # What text has in cells that nobody wrote is a zero byte; what counts as missing is what the attribute says.
            fill = None
        attrs.append(attr(_attribute_of(name, variable), kind, nullable=nullable, filters=settings.get("filters"), fill=fill))
    array = create(uri, made, attrs, current_domain=current, at=at, **options)
    meta = {}
    for name, (variable, _) in variables.items():
        prefix = f"{ATTRIBUTE_PREFIX}{_attribute_of(name, variable)}."
        meta |= {prefix + str(key): kept(value) for key, value in variable.attrs.items()}
    if meta:
        array.meta._write(list(meta.items()), [], moment_of(at))
    return array


def _tiles_of(variable, shape, told):
    """The tiles of the file that a variable came from, where its chunks are made of them; its chunks; or what suits the shape."""
    told = [min(tile, length) for tile, length in zip(told, shape)] if told is not None and len(told) == len(shape) else None
    chunks = variable.chunks
    if chunks is None:
        return told or _smalti.dense_tiles(list(shape))
    if told and all(side % tile == 0 for lengths, tile in zip(chunks, told) for side in lengths[:-1]):
        return told
    return [min(lengths[0], length) for lengths, length in zip(chunks, shape)]


def kept(value):
    """An attribute as metadata."""
    from .types import bytes_of

    try:
        bytes_of(value)
    except TypeError:
        value = value.tolist() if hasattr(value, "tolist") else value
        return JSON_PREFIX + json.dumps(value)
    return value


def _put(array, variables, at, index=...):
    """Writes variables by the names of their attributes, all of the same dimensions: chunk by chunk where one is of Dask, by whoever computes
    the chunks; all of them are seen at one moment."""
    from .write import write_dense

    first = next(iter(variables.values()))
    if any(variable.chunks is not None for variable in variables.values()):
        _put_chunks(array, variables, at, index)
    elif first.dims:
        write_dense(array, index, {name: variable.values for name, variable in variables.items()}, at=at)
    else:
        array.write({name: variable.values.reshape(1) for name, variable in variables.items()}, at=at)


def _put_chunks(array, variables, at, index):
    import dask
    import dask.array as da
    from dask.array.core import slices_from_chunks, unify_chunks

    def grid(variable):
        return variable.data if variable.chunks is not None else da.from_array(variable.values, chunks=-1)

    axes = tuple(range(array.ndim))
    chunks, grids = unify_chunks(*(part for variable in variables.values() for part in (grid(variable), axes)))
    offsets = [0] * array.ndim if index is ... else [part.indices(length)[0] for part, length in zip(index, array.shape)]
    share = array.share_write(at)
    put = dask.delayed(_put_block, pure=False)
    tasks = []
    blocks = zip(*(grid.to_delayed().reshape(-1) for grid in grids))
    for part, block in zip(slices_from_chunks(tuple(chunks[axis] for axis in axes)), blocks):
        where = tuple(slice(side.start + offset, side.stop + offset) for side, offset in zip(part, offsets))
        tasks.append(put(share, where, list(variables), list(block)))
    commit_all(share, dask.compute, tasks)
    array._changed()


def _put_block(share, where, names, blocks):
    return share.put_box(where, dict(zip(names, blocks)))


def _grown(array, idx, more, at):
    """Makes a dimension longer: the position behind its end."""
    current = array.current_domain
    if current is None:
        name = array.dims[idx].name
        raise ValueError(f"dimension {name!r} has a fixed length; list it in ds.encoding['unlimited_dims'] at the first write, and then append")
    low, high = current[idx]
    array.evolve(current_domain={array.dims[idx].name: (low, high + more)}, at=at)
    return high - low + 1

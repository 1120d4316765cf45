"""h5ad, the files of AnnData: a group with an array for each matrix and each table, as AnnData has them.

- ``X``, ``layers``, ``obsp``, ``varp``: a sparse array over ``obs`` and ``var`` where the matrix is sparse, a dense one otherwise; its attribute is
  ``data``.
- ``obs``, ``var``, data frames: a table over the number of the row, with a column for the index; categories are enumerations.
- ``obsm``, ``varm``: dense arrays, or tables.
- ``uns``: a group; numbers and texts are its metadata, and arrays, tables and dictionaries are in it.
"""

from __future__ import annotations

import contextlib

import numpy as np

from .. import _smalti, attr, create, create_group, dim, enum
from ..array import Array
from ..progress import hook_of
from ..xarray import kept
from .datasets import told_of_versions
from .grids import blocks_of
from .places import path_of
from .report import Piece

# Matrices come in blocks of about so many bytes.
BLOCK_BYTES = 64 << 20
# What metadata says an array or group stands for.
KIND = "anndata.kind"
INDEX = "anndata.index"
ORDER = "anndata.columns"
SHAPE = "anndata.shape"
# The attribute of matrices, and the dimension of the numbers of rows.
DATA = "data"
ROW = "row"


class _Dense:
    """A matrix of all its cells, which is read by boxes."""

    def __init__(self, node):
        self.shape, self.dtype, self.chunks = tuple(node.shape), node.dtype, node.chunks
        self.read = node.__getitem__


class _Sparse:
    """A sparse matrix, compressed by rows or by columns, which is read by parts of these."""

    def __init__(self, node, kind):
        self.shape = tuple(int(length) for length in node.attrs["shape"])
        self.dtype = node["data"].dtype
        self.format = kind.removesuffix("_matrix")
        self.count = int(node["data"].shape[0])
        self._node = node

    def parts(self):
        """Rows, columns and values of the cells, in parts that fit into memory."""
        ends = self._node["indptr"][...]
        most = BLOCK_BYTES // (self.dtype.itemsize + 16)
        start = 0
        while start < len(ends) - 1:
            stop = max(start + 1, int(np.searchsorted(ends, ends[start] + most, "right")) - 1)
            span = slice(int(ends[start]), int(ends[stop]))
            outer = np.repeat(np.arange(start, stop, dtype="u8"), np.diff(ends[start : stop + 1]))
            inner = self._node["indices"][span].astype("u8")
            values = self._node["data"][span]
            yield (outer, inner, values) if self.format == "csr" else (inner, outer, values)
            start = stop


@contextlib.contextmanager
def source(uri, losses, _kind):
    """The elements of a file by their paths; matrices are not read yet."""
    import h5py

    with h5py.File(path_of(uri), "r") as file:
        found = {}
        for name in file:
            _collect(found, file[name], name, losses)
        yield found


def _collect(found, node, path, losses):
    """An element and what is in it: matrices, arrays, tables and single values by path, dictionaries as ``dict``."""
    import anndata
    import h5py

    kind = node.attrs.get("encoding-type", "dict" if isinstance(node, h5py.Group) else "array")
    if kind in ("csr_matrix", "csc_matrix"):
        found[path] = _Sparse(node, kind)
    elif kind in ("dict", "raw"):
        found[path] = dict
        for name in node:
            _collect(found, node[name], f"{path}/{name}", losses)
    elif kind == "null":
        losses.lost(path, "None")
    elif kind == "awkward-array":
        losses.lost(path, "an Awkward array")
    elif kind == "array" and node.ndim == 2 and node.dtype.kind in "iufb":
        found[path] = _Dense(node)
    else:
        try:
            value = anndata.io.read_elem(node)
        except Exception as error:
            losses.lost(path, f"an element of type {kind!r}, which anndata cannot read: {error}")
            return
        _note(found, value, path, losses)


def _note(found, value, path, losses):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.str_, np.bytes_)):
        value = value.decode() if isinstance(value, bytes) else str(value)
    if hasattr(value, "columns"):
        for name in value.columns:
            column = value[name]
            if column.dtype.kind == "O" and not all(cell is None or cell != cell or isinstance(cell, str) for cell in column.tolist()):
                losses.lost(f"{path}/{name}", "a column of objects that are not all text")
                value = value.drop(columns=name)
    elif isinstance(value, np.ndarray) and value.dtype.names is not None:
        bad = [name for name in value.dtype.names if value.dtype[name].shape or value.dtype[name].names]
        for name in bad:
            losses.lost(f"{path}/{name}", "a field of arrays inside of a record")
        value = value[[name for name in value.dtype.names if name not in bad]]
    elif isinstance(value, np.ndarray) and 0 in value.shape:
        losses.changed(path, "an array without cells becomes metadata")
    elif not _is_column(value) and not isinstance(value, np.ndarray):
        try:
            kept(value)
        except (TypeError, ValueError):
            if not hasattr(value, "__array__"):
                losses.lost(path, f"a value of type {type(value).__name__}")
                return
            value = np.asarray(value)
    found[path] = value


def _is_column(value):
    """Whether a value is an array of pandas: categories, or numbers some of which are missing."""
    return hasattr(value, "isna") and hasattr(value, "dtype") and not hasattr(value, "columns")


def pieces_of(found):
    """What is made of the elements."""
    pieces = [Piece("", "group", "", None, None)]
    for path, value in found.items():
        if value is dict:
            pieces.append(Piece(path, "group", "", None, None))
        elif isinstance(value, _Sparse):
            pieces.append(Piece(path, "sparse array", str(value.dtype), value.shape, value.count * value.dtype.itemsize))
        elif isinstance(value, _Dense):
            pieces.append(Piece(path, "dense array", str(value.dtype), value.shape, int(np.prod(value.shape)) * value.dtype.itemsize))
        elif hasattr(value, "columns"):
            told = ", ".join(f"{name}: {value[name].dtype}" for name in value.columns)
            pieces.append(Piece(path, "table", told, (len(value),), int(value.memory_usage(deep=False).sum())))
        elif isinstance(value, np.ndarray) or _is_column(value):
            pieces.append(Piece(path, "dense array", str(value.dtype), np.shape(value), None))
        else:
            pieces.append(Piece(path, "metadata", type(value).__name__, (), None))
    return pieces


def store(found, uri, progress, options):
    """Makes the group of a file's elements."""
    hook = hook_of(progress)
    total, done = len(found), 0
    top = create_group(uri, **options)
    top.meta[KIND] = "anndata"
    groups = {"": top}
    for path, value in found.items():
        above, _, name = path.rpartition("/")
        group = groups[above]
        place = f"{group.uri.rstrip('/')}/{name}"
        if value is dict:
            groups[path] = group.create_group(name)
        elif isinstance(value, (_Sparse, _Dense)):
            group.add(_store_matrix(value, place, above, options), name)
        elif hasattr(value, "columns"):
            group.add(_store_table(value, place, options), name)
        elif isinstance(value, np.ndarray) and value.dtype.names is not None:
            group.add(_store_records(value, place, options), name)
        elif (isinstance(value, np.ndarray) and value.size) or _is_column(value):
            group.add(_store_values(value, place, options), name)
        else:
            group.meta[name] = kept(value)
        done += 1
        if hook is not None:
            hook([("converting", "elements", done, total)])


def _store_matrix(matrix, place, above, options):
    axes = {"obsp": ("obs", "obs_2"), "varp": ("var", "var_2"), "obsm": ("obs", "column"), "varm": ("var", "column")}
    names = axes.get(above.rpartition("/")[2], ("obs", "var") if above.partition("/")[0] != "uns" else ("dim_0", "dim_1"))
    if isinstance(matrix, _Sparse):
        sides = [(0, max(length - 1, 0)) for length in matrix.shape]
        made = [dim(name, side, "uint64", tile=max(1, length // 64)) for name, side, length in zip(names, sides, matrix.shape)]
        # Cells lie as the matrix has them: rows after each other in csr, columns in csc.
        order = "C" if matrix.format == "csr" else "F"
        orders = {"cell_order": order, "tile_order": order}
        array = create(place, made, attr(DATA, matrix.dtype, filters=["zstd"]), sparse=True, capacity=100_000, **orders, **options)
        array.meta.update({KIND: matrix.format, SHAPE: list(matrix.shape)})
        share = array.share_write()
        done = []
        for rows, columns, values in matrix.parts():
            if len(values):
                done += share.put({names[0]: rows, names[1]: columns, DATA: values})
        if done:
            share.commit(done)
        return array
    if 0 in matrix.shape:
        made = [dim(name, (0, max(length - 1, 0)), "uint64") for name, length in zip(names, matrix.shape)]
        array = create(place, made, attr(DATA, matrix.dtype), **options)
    else:
        chunks = matrix.chunks
        tiles = [min(side, length) for side, length in zip(chunks, matrix.shape)] if chunks else _smalti.dense_tiles(list(matrix.shape))
        made = [dim(name, (0, length - 1), "uint64", tile=tile) for name, length, tile in zip(names, matrix.shape, tiles)]
        array = create(place, made, attr(DATA, matrix.dtype, filters=["zstd"]), **options)
        share = array.share_write()
        done = []
        for block in blocks_of(matrix.shape, tiles, matrix.dtype.itemsize, BLOCK_BYTES):
            done += share.put_box(block, matrix.read(block))
        share.commit(done)
    array.meta.update({KIND: "array", SHAPE: list(matrix.shape)})
    return array


def _store_table(frame, place, options):
    import pandas as pd

    index = frame.index.name or "_index"
    columns = {index: frame.index.to_series()} | {name: frame[name] for name in frame.columns}
    made, enums, values = [], [], {}
    for number, (name, column) in enumerate(columns.items()):
        label = str(name)
        if isinstance(column.dtype, pd.CategoricalDtype):
            labels = column.cat.categories.tolist()
            enums.append(enum(f"enumeration {number}", labels, ordered=bool(column.cat.ordered)))
            codes = column.cat.codes.to_numpy()
            kind = np.min_scalar_type(max(2 * len(labels), 1))
            missing = codes < 0
            nullable = bool(missing.any())
            made.append(attr(label, kind, nullable=nullable, enumeration=f"enumeration {number}", filters=["zstd"]))
            codes = np.where(missing, 0, codes).astype(kind)
            values[label] = np.ma.MaskedArray(codes, missing) if nullable else codes
            continue
        is_text = column.dtype.kind == "O" or isinstance(column.dtype, pd.StringDtype)
        missing = np.asarray(column.isna())
        is_nullable = pd.api.types.is_extension_array_dtype(column.dtype) and not is_text
        nullable = bool(is_nullable or (is_text and missing.any()))
        dtype = str if is_text else getattr(column.dtype, "numpy_dtype", column.dtype)
        made.append(attr(label, dtype, nullable=nullable, filters=["zstd"]))
        if is_text:
            values[label] = np.where(missing, None, column.to_numpy(object))
        elif nullable:
            plain = column.to_numpy(dtype=dtype, na_value=np.dtype(dtype).type(0))
            values[label] = np.ma.MaskedArray(plain, missing)
        else:
            values[label] = column.to_numpy()
    length = max(len(frame), 1)
    array = create(place, dim(ROW, (0, length - 1), "uint64", tile=min(length, 1 << 16)), made, enums=enums, **options)
    if len(frame):
        array.write(values)
    array.meta.update({KIND: "dataframe", INDEX: str(index), SHAPE: [len(frame)], ORDER: kept([str(name) for name in frame.columns])})
    return array


def _store_records(records, place, options):
    from .. import from_numpy

    flat = records.reshape(-1)
    values = {name: flat[name].astype(object) if flat.dtype[name].kind in "SU" else flat[name] for name in records.dtype.names}
    values = {name: np.asarray([_text(cell) for cell in cells], object) if cells.dtype == object else cells for name, cells in values.items()}
    array = from_numpy(place, values, dims=(ROW,), **options)
    array.meta.update({KIND: "rec-array", SHAPE: list(records.shape)})
    return array


def _text(cell):
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell


def _store_values(values, place, options):
    from .. import from_numpy

    if _is_column(values):
        import pandas as pd

        array = _store_table(pd.DataFrame({DATA: values}), place, options)
        array.meta[KIND] = "column"
        return array
    if values.dtype.kind in "SUOT":
        values = np.asarray([_text(cell) for cell in values.reshape(-1).tolist()], object).reshape(values.shape)
    array = from_numpy(place, values, name=DATA, **options)
    array.meta.update({KIND: "array", SHAPE: list(values.shape)})
    return array


# -- and back


def plan_target(group, losses):
    """What a group becomes; and notes what an AnnData has no room for."""
    names = set(group)
    if "obs" not in names or "var" not in names:
        raise ValueError(f"{group.uri} is no group of an AnnData: it needs tables 'obs' and 'var', and has {', '.join(sorted(names)) or 'nothing'}")
    known = {"X", "obs", "var", "layers", "obsm", "varm", "obsp", "varp", "uns", "raw"}
    for name in sorted(names - known):
        losses.lost(name, "an AnnData has no such part")
    pieces = []
    for path, member in group.walk():
        if path.partition("/")[0] not in known:
            continue
        if member.kind == "group":
            pieces.append(Piece(path, "dictionary", "", None, None))
            continue
        array = group[path]
        told_of_versions(array, path, losses)
        told = ", ".join(f"{each.name}: {each.datatype}" for each in array.attributes)
        shape = _sides_told(array) or (tuple(array.shape) if array.is_dense else None)
        pieces.append(Piece(path, str(array.meta.get(KIND, "dense array" if array.is_dense else "sparse array")), told, shape, None))
    meta = [key for key in group.meta if key != KIND]
    if meta:
        losses.lost(".", f"metadata of the group: {', '.join(meta)}")
    return pieces


def write(group, path):
    """Writes the group of an AnnData to a file, element after element."""
    import anndata
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        shape = [_length_of(group["obs"]), _length_of(group["var"])]
        for name in ("X", "obs", "var"):
            if name in group:
                anndata.io.write_elem(file, name, _element(group[name], shape))
        for name in ("layers", "obsm", "varm", "obsp", "varp", "uns"):
            anndata.io.write_elem(file, name, _dictionary(group[name], shape) if name in group else {})
        if "raw" in group:
            raw = group["raw"]
            part = file.create_group("raw")
            part.attrs.update({"encoding-type": "raw", "encoding-version": "0.1.0"})
            for name in raw:
                member = raw[name]
                anndata.io.write_elem(part, name, _element(member, shape) if isinstance(member, Array) else _dictionary(member, shape))


def _dictionary(group, shape):
    found = {key: _value(value) for key, value in group.meta.items()}
    for name in group:
        member = group[name]
        found[name] = _element(member, shape) if isinstance(member, Array) else _dictionary(member, shape)
    return found


def _value(value):
    import json

    from ..xarray import JSON_PREFIX

    if isinstance(value, str) and value.startswith(JSON_PREFIX):
        value = json.loads(value.removeprefix(JSON_PREFIX))
    return np.asarray(value) if isinstance(value, (tuple, list)) else value


def _length_of(table):
    told = _sides_told(table)
    return told[0] if told else table.shape[0] if table.is_dense else table.read().count()


def _sides_told(array):
    """The shape that metadata tells; ``None`` where it does not."""
    told = array.meta.get(SHAPE)
    return None if told is None else tuple(int(side) for side in np.atleast_1d(told))


def _element(array, shape):
    kind = array.meta.get(KIND)
    sides = _sides_told(array)
    if not array.is_dense and array.ndim == 2:
        return _sparse(array, kind, sides or _sides_of(array, shape))
    if kind in ("dataframe", "column") or (array.ndim == 1 and len(array.attributes) > 1 and kind != "rec-array"):
        frame = _frame(array, sides)
        return frame[DATA].array if kind == "column" else frame
    if kind == "rec-array":
        cells = array.read_dense()
        made = np.empty(array.shape, [(name, values.dtype) for name, values in cells.items()])
        for name, values in cells.items():
            made[name] = values
        return made.reshape(sides)
    values = array[array.attributes[0].name][...] if array.is_dense else None
    if values is None:
        raise ValueError(f"{array.uri} is sparse and no matrix: an AnnData has no place for it")
    if sides is not None and 0 in sides:
        return np.empty(sides, values.dtype)
    return values


def _sides_of(array, shape):
    """The shape of a sparse matrix that nothing is said of: that of its domain, no more than the tables have."""
    return tuple(min(int(each.domain[1]) + 1, most) for each, most in zip(array.dims, shape))


def _sparse(array, kind, sides):
    import scipy.sparse

    first, second = (each.name for each in array.dims)
    name = array.attributes[0].name
    cells = array.read([name, first, second], order="row-major" if kind != "csc" else "col-major").to_dict()
    made = scipy.sparse.csc_matrix if kind == "csc" else scipy.sparse.csr_matrix
    return made((np.asarray(cells[name]), (cells[first].astype("i8"), cells[second].astype("i8"))), shape=sides)


def _frame(array, sides):
    import json

    import pandas as pd

    from ..xarray import JSON_PREFIX

    names = [each.name for each in array.attributes]
    order = array.meta.get(ORDER)
    order = json.loads(order.removeprefix(JSON_PREFIX)) if isinstance(order, str) and order.startswith(JSON_PREFIX) else None
    length = sides[0] if sides else array.shape[0]
    columns = {}
    codes = array.read_dense(codes=True)
    for each in array.attributes:
        values = codes[each.name][:length]
        missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        if each.enumeration is not None:
            plain = np.asarray(np.ma.getdata(values)).astype("i8")
            if missing is not None:
                plain[missing] = -1
            told = next(told for told in array.schema["enumerations"] if told["name"] == each.enumeration)
            columns[each.name] = pd.Categorical.from_codes(plain, _objects(array.enumeration(each.enumeration)), ordered=bool(told.get("ordered")))
        elif missing is not None and each.dtype.kind in "iub":
            plain = np.ma.getdata(values)
            made = pd.arrays.BooleanArray if each.dtype.kind == "b" else pd.arrays.IntegerArray
            columns[each.name] = made(np.ascontiguousarray(plain), missing)
        elif missing is not None:
            columns[each.name] = pd.Series(np.where(missing, None, np.ma.getdata(values).astype(object)), dtype=object)
        else:
            columns[each.name] = pd.Series(values, dtype=object) if values.dtype.kind == "O" else values
    index = array.meta.get(INDEX)
    frame = pd.DataFrame({name: columns[name] for name in (order or [name for name in names if name != index])})
    if index in columns:
        frame.index = _objects(columns[index]).rename(None if index == "_index" else index)
    return frame


def _objects(values):
    """An index of values; of text as objects, which every version of anndata writes."""
    import pandas as pd

    values = np.asarray(values)
    return pd.Index(values, dtype=object) if values.dtype.kind in "OU" else pd.Index(values)

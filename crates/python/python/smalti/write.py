"""Writes: from NumPy, and from whatever has Arrow's interface."""

from __future__ import annotations

import itertools

from ._lazy import numpy as np
from .indexing import axes_of
from .progress import hook_of
from .times import moment_of
from .types import dtype_of, is_bytes, is_text, is_time


class WriteRequest:
    """Where cells go, as the engine takes it."""

    __slots__ = ("positions", "order", "at", "keep_first", "share")

    def __init__(self, positions=None, order=None, at=None, keep_first=False, share=None):
        self.share = share
        self.positions = positions
        self.order = order
        self.at = at
        self.keep_first = keep_first


class Column:
    """A column, as the engine takes it."""

    __slots__ = ("field", "data", "offsets", "validity")

    def __init__(self, field, data, offsets=None, validity=None):
        self.field = field
        self.data = data
        self.offsets = offsets
        self.validity = validity


def write(array, data, *, at, order, keep_first, memory, progress, share=None):
    """See :meth:`smalti.Array.write`."""
    hook = hook_of(progress)
    request = WriteRequest(None, order, moment_of(at), keep_first, share)
    if hasattr(data, "index") and hasattr(data, "columns") and hasattr(data, "to_numpy"):
        data = columns_of_frame(array, data)
    if not isinstance(data, dict) and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        if keep_first:
            raise ValueError("keep_first= is for cells that are in memory together: write a dictionary of columns")
        written = array._handle.write_batches(data, request, memory, hook)
        array._changed()
        return written
    if array.is_dense and not (isinstance(data, dict) and any(dim.name in data for dim in array.dims)):
        return write_dense(array, ..., data, at=at, progress=progress, share=share)
    if not isinstance(data, dict):
        raise TypeError(f"a table is needed: a dictionary of columns, a data frame or an Arrow table, not {type(data).__name__}")
    return _write_cells(array, data, request, hook)


def columns_of_frame(array, frame):
    """The columns of a data frame as a dictionary; levels of its index that are named as fields of the array come along."""
    columns = {name: frame[name] for name in frame.columns}
    index = getattr(frame, "index", None)
    names = getattr(index, "names", [None])
    for name in names:
        if name is not None and name in array.names and name not in columns:
            columns[name] = index.get_level_values(name)
    return columns


def _write_cells(array, data, request, hook):
    known = {field.name: field for field in (*array.dims, *array.attributes)}
    for name in data:
        if name not in known:
            raise KeyError(f"there is no field {name!r}; there are {', '.join(known)}")
    missing = [name for name in known if name not in data]
    if missing:
        raise ValueError(f"the columns {', '.join(missing)} are missing; every cell has all fields")
    lengths = {name: len(values) for name, values in data.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"columns are as long as each other; these have {told} cells")
    columns = [column_of(array, known[name], values) for name, values in data.items()]
    name = array._handle.write(columns, request, hook)
    array._changed()
    return [name]


def write_dense(array, key, values, *, at=None, progress=None, share=None):
    """Writes a box of a dense array: the name of the fragment, or none where the box is empty."""
    asked = _dense_request(array, key, values, at)
    if asked is None:
        return []
    columns, request = asked
    request.share = share
    name = array._handle.write(columns, request, hook_of(progress))
    array._changed()
    return [name]


def _dense_request(array, key, values, at):
    """The columns and the place of a box; ``None`` where it has no cells."""
    if not array.is_dense:
        raise TypeError("a sparse array is no grid; write a table: A.write({'x': ..., 'value': ...})")
    axes, new = axes_of(key, array.shape, [dim.name for dim in array.dims])
    if new:
        raise IndexError("an assignment makes no new axes")
    if any(axis.length == 0 for axis in axes):
        return None
    if any(len(axis.stretches) != 1 or axis.flips for axis in axes):
        raise IndexError("cells are written to positions that follow each other: assign to slices without a step")
    attributes = array.attributes
    if not isinstance(values, dict):
        if len(attributes) > 1:
            names = ", ".join(attribute.name for attribute in attributes)
            raise TypeError(f"the array has several attributes; assign a dictionary with a value for each: {names}")
        values = {attributes[0].name: values}
    known = {attribute.name: attribute for attribute in attributes}
    for name in values:
        if name not in known:
            raise KeyError(f"there is no attribute {name!r}; there are {', '.join(known)}")
    missing = [name for name in known if name not in values]
    if missing:
        raise ValueError(f"values of {', '.join(missing)} are missing; a write gives all attributes")
    asked = tuple(axis.length for axis in axes if not axis.drops)
    columns = []
    for name, given in values.items():
        attribute = known[name]
        several = attribute.count is not None and attribute.count > 1 and not is_bytes(attribute.datatype)
        shape = (*asked, attribute.count) if several else asked
        if attribute.count is None and isinstance(given, (list, tuple)) and len(asked) == 1:
            given = _listed(given)
        columns.append(column_of(array, attribute, _fitted(name, given, shape), ndim=len(shape)))
    return columns, WriteRequest([axis.stretches[0] for axis in axes], "row-major", moment_of(at))


def _fitted(name, given, shape):
    if hasattr(given, "isna") and given.shape == shape:
        # pandas: what is missing is told by its own dtypes.
        return given
    values = given if isinstance(given, np.ma.MaskedArray) else np.asanyarray(given)
    if values.shape == shape:
        return values
    try:
        if isinstance(values, np.ma.MaskedArray):
            mask = np.broadcast_to(np.ma.getmaskarray(values), shape)
            return np.ma.MaskedArray(np.broadcast_to(values.data, shape), mask)
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"values of {name!r} have shape {values.shape}, which does not fill {shape}") from None


def column_of(array, field, values, ndim=1):
    """A column of the engine from what NumPy or pandas have, without a copy where the memory is as the field's.

    Raises:
        TypeError, ValueError: for values that the field does not hold, with its name and the remedy.
    """
    name = field.name
    nullable = getattr(field, "nullable", False)
    enumeration = getattr(field, "enumeration", None)
    count = getattr(field, "count", None if field.dtype == object else 1)
    if count is None and isinstance(values, (list, tuple)):
        values = _listed(values)
    values, null = _plain(values)
    if enumeration is not None and values.dtype.kind not in "iu":
        values, null = _coded(array, name, enumeration, values, null)
    if count is None or (is_text(field.datatype) and not is_bytes(field.datatype)):
        data, offsets, null = _any_length(name, field.datatype, values.reshape(-1) if values.dtype != object or ndim > 1 else values, null)
    else:
        if values.dtype == object:
            null = _nulls_of(values.reshape(-1)) if null is None else null
            values = _from_objects(name, field, values, null)
        if null is None and nullable and values.dtype.kind in "mM":
            null = np.isnat(values)
        data, offsets = _cast(name, field, values, count, null), None
    if null is not None and not nullable:
        spots = np.flatnonzero(null.reshape(-1))
        if len(spots):
            raise ValueError(f"{name!r} has no value in cell {spots[0]}, and is not nullable; fill it, or make the attribute nullable")
        null = None
    validity = None
    if nullable:
        cells = len(offsets) - 1 if offsets is not None else data.size // max(count or 1, 1)
        if is_bytes(field.datatype) and count is not None:
            cells = data.size
        validity = np.ones(cells, "u1") if null is None else np.ascontiguousarray(~null.reshape(-1)).view("u1")
    return Column(name, _bytes(data), offsets, validity)


def _listed(values):
    """Cells of any length as objects, each of them one: lists of lists are not a grid here."""
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _bytes(data):
    return np.ascontiguousarray(data).reshape(-1).view("u1") if data.size else np.empty(0, "u1")


def _plain(values):
    """NumPy's array of values, and which of them are missing where that is known."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmask(values)
        return values.data, None if mask is np.ma.nomask else np.ascontiguousarray(mask)
    inner = getattr(values, "array", None)
    if inner is not None and hasattr(values, "isna"):
        # pandas: nullable dtypes, categoricals and its own text.
        missing = np.asarray(values.isna())
        dtype = getattr(values, "dtype", None)
        if hasattr(dtype, "categories"):
            categories = np.asarray(dtype.categories)
            codes = np.asarray(inner.codes if hasattr(inner, "codes") else values.cat.codes)
            taken = categories[np.where(codes < 0, 0, codes)] if len(categories) else np.full(len(codes), None, object)
            return taken, missing if missing.any() else None
        if getattr(dtype, "tz", None) is not None:
            raise TypeError("times with a zone are not stored; convert them: values.dt.tz_convert('UTC').dt.tz_localize(None)")
        if missing.any() and hasattr(dtype, "numpy_dtype"):
            return values.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0)), missing
        plain = np.asarray(values) if not missing.any() else values.to_numpy()
        if plain.dtype == object and not missing.any() and hasattr(dtype, "numpy_dtype"):
            plain = values.to_numpy(dtype=dtype.numpy_dtype)
        return plain, missing if missing.any() and plain.dtype == object else None
    return np.asarray(values), None


def _nulls_of(values):
    missing = np.fromiter((value is None or value != value for value in values.tolist()), bool, len(values))
    return missing if missing.any() else None


def _coded(array, name, enumeration, values, null):
    labels = array._known.labels_of(array._handle, enumeration)
    codes = {label: code for code, label in enumerate(labels.tolist())}
    flat = values.reshape(-1).tolist()
    if values.dtype == object and null is None:
        null = _nulls_of(values.reshape(-1))
    missing = null.reshape(-1).tolist() if null is not None else itertools.repeat(False)
    try:
        found = [0 if is_null else codes[value] for value, is_null in zip(flat, missing)]
    except KeyError as error:
        raise ValueError(
            f"{error.args[0]!r} is no label of the enumeration {enumeration!r} of {name!r}; "
            f"add it with A.evolve(extend_enumerations={{{enumeration!r}: [...]}})"
        ) from None
    return np.asarray(found, "i8").reshape(values.shape), null


def _joined(cells, encoding):
    """The bytes of cells that are all ``str``, and where each begins and the last ends; ``None`` where others are among them."""
    try:
        text = "".join(cells)
    except TypeError:
        return None
    if encoding == "utf-8" and text.isascii():
        data = text.encode()
    else:
        cells = [cell.encode(encoding) for cell in cells]
        data = b"".join(cells)
    offsets = np.zeros(len(cells) + 1, "<u8")
    np.cumsum(np.fromiter(map(len, cells), "<u8", len(cells)), out=offsets[1:])
    return np.frombuffer(data, "u1"), offsets


def _any_length(name, datatype, values, null):
    """The bytes of cells of any length, where each begins and the last ends, and which are missing."""
    if is_text(datatype) or is_bytes(datatype):
        flat = values.reshape(-1).tolist()
        encoding = {"STRING_UTF16": "utf-16-le", "STRING_UCS2": "utf-16-le", "STRING_UTF32": "utf-32-le", "STRING_UCS4": "utf-32-le"}.get(datatype, "utf-8")
        joined = None if null is not None else _joined(flat, encoding)
        if joined is None and null is None and values.dtype.kind in "OT":
            null = _nulls_of(np.asarray(flat, object))
        missing = null.reshape(-1).tolist() if null is not None else itertools.repeat(False)
        if joined is None and null is not None:
            joined = _joined(["" if is_null else value for value, is_null in zip(flat, missing)], encoding)
        if joined is not None:
            return *joined, null
        cells = []
        for idx, (value, is_null) in enumerate(zip(flat, missing)):
            if is_null:
                cells.append(b"")
            elif isinstance(value, str):
                cells.append(value.encode(encoding))
            elif isinstance(value, (bytes, bytearray, memoryview)):
                cells.append(bytes(value))
            else:
                raise TypeError(f"{name!r} holds {'text' if is_text(datatype) else 'bytes'}, and cell {idx} is {value!r}; convert the column first")
    else:
        dtype = dtype_of(datatype)
        flat = values.tolist() if values.dtype == object else list(values.reshape(len(values), -1))
        if null is None and values.dtype == object:
            null = np.fromiter((value is None for value in flat), bool, len(flat))
        cells = []
        for idx, value in enumerate(flat):
            if value is None:
                cells.append(b"")
                continue
            cell = np.asarray(value)
            if cell.size == 0:
                cell = cell.astype(dtype)
            if cell.ndim > 1 or not np.can_cast(cell.dtype, dtype, "same_kind"):
                raise TypeError(f"{name!r} holds lists of {dtype}, and cell {idx} is {value!r}")
            cells.append(np.ascontiguousarray(cell.reshape(-1), dtype).tobytes())
    offsets = np.zeros(len(cells) + 1, "<u8")
    np.cumsum([len(cell) for cell in cells], out=offsets[1:])
    return np.frombuffer(b"".join(cells), "u1"), offsets, null


def _from_objects(name, field, values, null):
    """Objects as the values of a field: numbers of Python, ``Decimal`` and the like, without those that are missing."""
    flat = values.reshape(-1)
    if null is not None:
        flat = flat.copy()
        present = flat[~null.reshape(-1)]
        flat[null.reshape(-1)] = present[0] if len(present) else 0
    kinds = {type(value).__name__ for value in flat.tolist()}
    try:
        found = np.asarray(flat.tolist())
    except (TypeError, ValueError):
        found = None
    is_mixed = found is not None and found.dtype.kind in "SU" and not kinds <= {"str", "bytes"}
    if is_mixed or found is None or found.dtype.kind not in "biufcmMSU" or found.shape != flat.shape:
        raise TypeError(f"{name!r} holds {field.datatype}, and the column has objects of the types {', '.join(sorted(kinds))}; convert it with astype")
    return found.reshape(values.shape)


def _cast(name, field, values, count, null):
    """Values as the field stores them."""
    if is_bytes(field.datatype):
        dtype = dtype_of(field.datatype, count)
        if values.dtype.kind == "U":
            values = np.char.encode(values, "utf-8")
        if values.dtype.kind not in "SV" or values.dtype.itemsize > dtype.itemsize:
            raise TypeError(f"{name!r} holds {count} bytes a cell; values of dtype {values.dtype} do not fit")
        return np.ascontiguousarray(values, dtype)
    dtype = dtype_of(field.datatype)
    if values.dtype.kind == "c":
        values = np.ascontiguousarray(values).view(values.real.dtype)
    if values.dtype.newbyteorder("<") == dtype:
        return np.ascontiguousarray(values, dtype)
    kinds = values.dtype.kind, dtype.kind
    if is_time(field.datatype) and kinds[0] in "SU":
        values = values.astype(dtype)
    elif kinds[0] == kinds[1] and kinds[0] in "mM":
        turned = values.astype(dtype)
        back = turned.astype(values.dtype)
        if not ((back == values) | np.isnat(values)).all():
            raise ValueError(f"{name!r} holds {dtype}, which is too coarse for values of {values.dtype}; round them with astype('{dtype}')")
        values = turned
    elif kinds in (("i", "i"), ("i", "u"), ("u", "i"), ("u", "u")):
        info = np.iinfo(dtype)
        present = values if null is None else values[~null.reshape(values.shape)]
        if present.size and (int(present.min()) < info.min or int(present.max()) > info.max):
            outside = int(present.min()) if int(present.min()) < info.min else int(present.max())
            raise ValueError(f"{outside} does not fit {name!r}, which holds {dtype}: from {info.min} to {info.max}")
    elif kinds not in (("f", "f"), ("i", "f"), ("u", "f"), ("b", "b"), ("b", "i"), ("b", "u"), ("b", "f")):
        raise TypeError(f"{name!r} holds {field.datatype} ({dtype}), not values of {values.dtype}; convert them with astype")
    return np.ascontiguousarray(values, dtype)


__all__ = ["write", "write_dense"]

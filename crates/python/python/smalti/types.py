"""Datatypes of the format and NumPy's dtypes: the one place that knows which is which."""

from __future__ import annotations

import datetime

from . import _smalti
from ._lazy import numpy as np

_NUMBERS = {
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "FLOAT32": "<f4",
    "FLOAT64": "<f8",
    "BOOL": "?",
}
_BYTES = ("CHAR", "STRING_ASCII", "BLOB", "ANY", "GEOM_WKB", "GEOM_WKT", "STRING_UTF8")
_WIDE = {"STRING_UTF16": "utf-16-le", "STRING_UCS2": "utf-16-le", "STRING_UTF32": "utf-32-le", "STRING_UCS4": "utf-32-le"}
_TEXT = ("STRING_ASCII", "STRING_UTF8", "GEOM_WKT")
_UNITS = {"YEAR": "Y", "MONTH": "M", "WEEK": "W", "DAY": "D", "HR": "h", "MIN": "m", "SEC": "s", "MS": "ms", "US": "us"}
_UNITS |= {"NS": "ns", "PS": "ps", "FS": "fs", "AS": "as"}
_BY_UNIT = {unit: name for name, unit in _UNITS.items()}


# From so many cells on it pays to import pyarrow, which makes objects of text faster than Python does.
MANY_CELLS = 100_000
# So many of them tell whether values repeat.
SAMPLE = 8192


def dtype_of(datatype, count=1):
    """The dtype of one value of a datatype; of ``count`` bytes or characters where it is one of text or bytes.

    >>> dtype_of("DATETIME_DAY")
    dtype('<M8[D]')
    """
    if datatype in _NUMBERS:
        return np.dtype(_NUMBERS[datatype])
    if datatype.startswith("DATETIME_"):
        return np.dtype(f"<M8[{_UNITS[datatype.removeprefix('DATETIME_')]}]")
    if datatype.startswith("TIME_"):
        return np.dtype(f"<m8[{_UNITS[datatype.removeprefix('TIME_')]}]")
    if datatype in ("BLOB", "ANY", "GEOM_WKB"):
        return np.dtype(f"V{count}")
    if datatype in _BYTES:
        return np.dtype(f"S{count}")
    if datatype in ("STRING_UTF32", "STRING_UCS4"):
        return np.dtype(f"<U{count}")
    return np.dtype("<u2")


def is_text(datatype):
    """Whether cells of a datatype are ``str``."""
    return datatype in _TEXT or datatype in _WIDE


def is_bytes(datatype):
    """Whether the values of a datatype are bytes, or text of bytes."""
    return datatype in _BYTES


def is_time(datatype):
    """Whether values of a datatype are dates, times or spans of time."""
    return datatype.startswith(("DATETIME_", "TIME_"))


def text_of(datatype, cell):
    """A cell of any length as ``str`` or ``bytes``."""
    if datatype in _WIDE:
        return cell.decode(_WIDE[datatype], "replace")
    if datatype in _TEXT:
        try:
            return cell.decode()
        except UnicodeDecodeError:
            return cell
    return cell


def texts_of(datatype, data, offsets):
    """Cells of any length as :func:`text_of` has them, as an array of objects."""
    count = len(offsets) // 8 - 1
    if count >= MANY_CELLS and datatype not in _WIDE:
        made = _made_by_arrow(datatype, data, offsets, count)
        if made is not None:
            return made
    cells = np.empty(count, object)
    data, bounds = bytes(data), np.frombuffer(offsets, "<u8").tolist()
    if datatype in _TEXT and data.isascii():
        text = data.decode("ascii")
        cells[:] = [text[start:end] for start, end in zip(bounds, bounds[1:])]
    else:
        cells[:] = [text_of(datatype, data[start:end]) for start, end in zip(bounds, bounds[1:])]
    return cells


def _made_by_arrow(datatype, data, offsets, count):
    """As :func:`texts_of`, but faster; ``None`` without pyarrow, and where text is no UTF-8."""
    try:
        import pyarrow
    except ImportError:
        return None
    kind = pyarrow.large_string() if datatype in _TEXT else pyarrow.large_binary()

    def column(data, offsets, count):
        return pyarrow.Array.from_buffers(kind, count, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)])

    try:
        cells = column(data, offsets, count)
        # An object for each of the different values, which cells share, where they are a quarter of the cells or fewer.
        shared = _smalti.distinct(data, offsets, count // 4) if _repeats(cells) else None
        if shared is None:
            return cells.to_numpy(zero_copy_only=False)
        codes, data, offsets = shared
        return column(data, offsets, len(offsets) // 8 - 1).to_numpy(zero_copy_only=False)[np.frombuffer(codes, "i8")]
    except (UnicodeDecodeError, pyarrow.ArrowException):
        return None


def _repeats(cells):
    """Whether each value comes several times, as far as a sample tells: of few different values more than one comes twice in it."""
    count = min(SAMPLE, len(cells) // 2)
    sample = cells.take(np.arange(count) * (len(cells) // count))
    again = count - len(sample.unique())
    # As many different values make that many coincidences (the birthday problem).
    return again > 0 and count * count / (2 * again) < len(cells) / 8


def value_of(told):
    """The value that the engine told as the name of a datatype and bytes: one value alone, several as a tuple, text as ``str``.

    >>> value_of(("INT32", b"\\x05\\0\\0\\0"))
    5
    >>> value_of(("STRING_UTF8", b"metres"))
    'metres'
    """
    datatype, data = told
    if datatype in _TEXT or datatype in _WIDE or is_bytes(datatype):
        return text_of(datatype, bytes(data))
    values = np.frombuffer(data, dtype_of(datatype))
    if is_time(datatype):
        return values[0] if len(values) == 1 else tuple(values)
    values = values.tolist()
    return values[0] if len(values) == 1 else tuple(values)


def values_of(told):
    """As :func:`value_of`, but numbers as an array."""
    datatype, data = told
    return np.frombuffer(data, dtype_of(datatype))


def datatype_of(dtype):
    """The datatype of a dtype, and how many values of it are in a cell.

    >>> datatype_of("float32")
    ('FLOAT32', 1)

    Raises:
        TypeError: for dtypes that no datatype holds.
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "mM":
        unit, step = np.datetime_data(dtype)
        if unit not in _BY_UNIT or step != 1:
            raise TypeError(f"{dtype} has no datatype: give its values a unit, such as {dtype.kind}8[ns]")
        return ("DATETIME_" if dtype.kind == "M" else "TIME_") + _BY_UNIT[unit], 1
    if dtype.kind == "b":
        return "BOOL", 1
    if dtype.kind in "iuf" and dtype.itemsize <= 8 and not (dtype.kind == "f" and dtype.itemsize == 2):
        name = {"i": "INT", "u": "UINT", "f": "FLOAT"}[dtype.kind]
        return f"{name}{8 * dtype.itemsize}", 1
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        return ("FLOAT32" if dtype.itemsize == 8 else "FLOAT64"), 2
    if dtype.kind == "S":
        return "STRING_ASCII", None
    if dtype.kind in "UTO":
        return "STRING_UTF8", None
    if dtype.kind == "V" and dtype.names is None:
        return "BLOB", dtype.itemsize
    raise TypeError(f"no datatype of the format holds values of dtype {dtype}; convert them with astype first")


def bytes_of(value):
    """A value of metadata as the name of a datatype and bytes.

    Raises:
        TypeError: for values that metadata cannot hold.
    """
    if isinstance(value, str):
        return "STRING_UTF8", value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "BLOB", bytes(value)
    if isinstance(value, bool):
        return "BOOL", bytes([value])
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return "INT64", value.to_bytes(8, "little", signed=True)
        if value < 2**64:
            return "UINT64", value.to_bytes(8, "little")
        raise TypeError(f"{value} has more than 64 bits; keep it as text")
    if isinstance(value, datetime.datetime):
        value = np.datetime64(value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo else value)
    elif isinstance(value, datetime.date):
        value = np.datetime64(value)
    elif isinstance(value, datetime.timedelta):
        value = np.timedelta64(value)
    array = np.asarray(value)
    if array.dtype.kind in "OUST" or array.ndim > 1:
        kind = type(value).__name__
        raise TypeError(f"metadata holds text, bytes, numbers, times and lists of numbers, not {kind}; keep others as JSON text")
    datatype, _ = datatype_of(array.dtype)
    return datatype, np.ascontiguousarray(array, dtype_of(datatype) if array.dtype.kind != "c" else array.dtype).tobytes()


def end_of(value, datatype):
    """An end of a range as the engine takes it: numbers as they are, text as bytes, times as whole numbers in the dimension's unit.

    Raises:
        TypeError: for values that no dimension of that datatype has.
    """
    if value is None:
        return None
    if isinstance(value, str) and not is_time(datatype):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if is_time(datatype):
        if isinstance(value, int):
            return value
        if isinstance(value, datetime.datetime) and value.tzinfo:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        if isinstance(value, str) or hasattr(value, "isoformat"):
            value = np.datetime64(value)
        dtype = dtype_of(datatype)
        moment = np.asarray(value)
        if moment.dtype.kind == dtype.kind:
            return int(moment.astype(dtype).astype("i8"))
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return value
    raise TypeError(f"{value!r} of type {type(value).__name__} is no coordinate of a dimension of type {datatype}")

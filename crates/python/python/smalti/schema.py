"""What an array looks like: dimensions, attributes, filters, orders."""

from __future__ import annotations

import json

from ._lazy import numpy as np
from .types import datatype_of, dtype_of, end_of, is_time


def dim(name, domain=None, dtype=None, *, tile=None, filters=None):
    """A dimension for :func:`smalti.create`.

    Args:
        name: its name.
        domain: the least and the greatest coordinate; none for text.
        dtype: NumPy's dtype of the coordinates, ``str``, or the name of a datatype; that of the domain's ends if not said: of NumPy's numbers and times
            theirs, ``"int64"`` of whole numbers, ``"float64"`` of others.
        tile: the extent of a tile.
        filters: a filter, or a list of them: ``"zstd"``, ``("zstd", 9)``, ``"byteshuffle"``, or smalti's JSON of one.

    >>> dim("x", (0, 99), tile=10)["domain"]
    [0, 99]
    """
    datatype = _datatype(dtype, domain)
    made = {"name": name, "type": datatype}
    if datatype == "STRING_ASCII":
        if domain is not None or tile is not None:
            raise ValueError(f"dimension {name!r} is of text, which has no domain and no tiles")
    elif domain is None:
        raise ValueError(f"dimension {name!r} needs a domain: the least and the greatest coordinate")
    else:
        made["domain"] = [_json(end_of(end, datatype)) for end in domain]
        if tile is not None:
            made["tile"] = _span(tile, datatype)
    if filters is not None:
        made["filters"] = _filters(filters)
    return made


def attr(name, dtype="float64", *, count=None, nullable=False, fill=None, enumeration=None, filters=None):
    """An attribute for :func:`smalti.create`.

    Args:
        name: its name.
        dtype: NumPy's dtype of its values, ``str``, ``bytes``, or the name of a datatype.
        count: how many values are in a cell: a number, or ``"var"`` for any number of them. One if not said, any number for text and bytes.
        nullable: whether cells may have no value.
        fill: the value of cells that were never written.
        enumeration: the name of an enumeration whose labels its values stand for.
        filters: as for :func:`dim`.
    """
    datatype, values = _attribute_type(dtype)
    count = values if count is None else count
    made = {"name": name, "type": datatype, "cell_val_num": "var" if count in (None, "var") else int(count)}
    if nullable:
        made["nullable"] = True
    if fill is not None:
        made["fill_hex"] = _fill(fill, datatype, made["cell_val_num"]).hex()
    if enumeration is not None:
        made["enumeration"] = enumeration
    if filters is not None:
        made["filters"] = _filters(filters)
    return made


def enum(name, labels, *, ordered=False):
    """An enumeration for :func:`smalti.create`: labels that the codes of an attribute stand for."""
    labels = list(labels)
    if labels and isinstance(labels[0], str):
        datatype, count = "STRING_UTF8", "var"
    else:
        datatype, count = datatype_of(np.asarray(labels).dtype)[0], 1
        labels = np.asarray(labels).tolist()
    return {"name": name, "type": datatype, "cell_val_num": count, "ordered": ordered, "values": labels}


def schema_json(
    dims, attrs, *, sparse, enums=(), cell_order=None, tile_order=None, capacity=None, duplicates=False, current_domain=None, version=None
):
    """A schema in smalti's JSON notation."""
    made = {"array_type": "sparse" if sparse else "dense", "dims": list(dims), "attrs": list(attrs)}
    if enums:
        made["enumerations"] = list(enums)
    orders = {"C": "row-major", "F": "col-major"}
    if cell_order is not None:
        made["cell_order"] = orders.get(cell_order, cell_order)
    if tile_order is not None:
        made["tile_order"] = orders.get(tile_order, tile_order)
    if capacity is not None:
        made["capacity"] = capacity
    if duplicates:
        made["allows_dups"] = True
    if version is not None:
        made["version"] = version
    if current_domain is not None:
        types = [dimension["type"] for dimension in made["dims"]]
        made["current_domain"] = [[_json(end_of(end, datatype)) for end in ends] for ends, datatype in zip(current_domain, types)]
    return json.dumps(made)


def _datatype(dtype, domain):
    if isinstance(dtype, str) and dtype.isupper():
        return dtype
    if dtype in (str, "str", "ascii", bytes, "bytes"):
        return "STRING_ASCII"
    if dtype is None:
        first = domain[0] if domain is not None else 0
        dtype = first.dtype if hasattr(first, "dtype") else "float64" if any(isinstance(end, float) for end in domain or ()) else "int64"
    return datatype_of(dtype)[0]


def _attribute_type(dtype):
    if isinstance(dtype, str) and dtype.isupper():
        return dtype, None if dtype.startswith("STRING_") else 1
    if dtype in (str, "str"):
        return "STRING_UTF8", None
    if dtype in (bytes, "bytes"):
        return "BLOB", None
    dtype = np.dtype(dtype)
    if dtype.kind == "S" and dtype.itemsize:
        return "CHAR", dtype.itemsize
    return datatype_of(dtype)


def _filters(filters):
    filters = [filters] if isinstance(filters, (str, dict)) or _is_pair(filters) else list(filters)
    return [_filter(one) for one in filters]


def _is_pair(filters):
    return isinstance(filters, tuple) and len(filters) == 2 and isinstance(filters[1], int)


def _filter(one):
    if isinstance(one, dict):
        return one
    if isinstance(one, str):
        return {"filter": one}
    name, level = one
    return {"filter": name, "level": level}


def _fill(fill, datatype, count):
    """The bytes of a fill value."""
    if isinstance(fill, str) and not is_time(datatype):
        return fill.encode()
    if isinstance(fill, (bytes, bytearray)):
        return bytes(fill)
    values = np.asarray(fill).astype(dtype_of(datatype)).reshape(-1)
    return np.tile(values, count if count != "var" and len(values) == 1 else 1).tobytes()


def _span(tile, datatype):
    if is_time(datatype) and hasattr(tile, "dtype"):
        unit = np.datetime_data(dtype_of(datatype))[0]
        return int(np.timedelta64(tile).astype(f"m8[{unit}]").astype("i8"))
    return _json(tile)


def _json(value):
    if hasattr(value, "item"):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else value


__all__ = ["attr", "dim", "enum", "schema_json"]

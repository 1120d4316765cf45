"""Times that Arrow has no type for: days come as dates, hours and longer units as seconds."""

from __future__ import annotations

from ._lazy import numpy as np

# Where a field of Arrow says what datatype it was.
DATATYPE = b"tiledb:datatype"
_SECONDS = {"HR": 3600, "MIN": 60, "WEEK": 7 * 86400}
COARSE = tuple(f"{kind}_{unit}" for kind in ("DATETIME", "TIME") for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HR", "MIN"))


def dated(table):
    """A table or record batch of pyarrow whose columns of such times are dates, times and durations; the others are the same memory.

    Numbers that do not fit (days beyond those of 32 bits, hours beyond those of 64 bits of seconds) stay what they are, as do years and months
    that are durations.
    """
    schema = table.schema
    if not any(_datatype(field) in COARSE for field in schema):
        return table
    import pyarrow

    columns, fields = [], []
    for column, field in zip(table.columns, schema):
        made = _dated(column, _datatype(field))
        columns.append(made)
        fields.append(field.with_type(made.type))
    return type(table).from_arrays(columns, schema=pyarrow.schema(fields, schema.metadata))


def _datatype(field):
    return (field.metadata or {}).get(DATATYPE, b"").decode()


def _dated(column, datatype):
    import pyarrow
    import pyarrow.compute

    kind, _, unit = datatype.rpartition("_")
    if datatype not in COARSE or not pyarrow.types.is_int64(column.type):
        return column
    try:
        if datatype == "DATETIME_DAY":
            return column.cast(pyarrow.int32()).cast(pyarrow.date32())
        goal = pyarrow.timestamp("s") if kind == "DATETIME" else pyarrow.duration("s")
        if unit in ("YEAR", "MONTH"):
            if kind == "TIME":
                return column
            return _calendar(column, unit).cast(goal)
        return pyarrow.compute.multiply_checked(column, _SECONDS.get(unit, 86400)).cast(goal)
    except pyarrow.ArrowInvalid:
        return column


def _calendar(column, unit):
    """The seconds of the beginnings of years or months."""
    import pyarrow

    missing = column.is_null()
    counts = np.asarray(column.fill_null(0)).astype(f"M8[{unit[0]}]")
    return pyarrow.array(counts.astype("M8[s]").astype("i8"), mask=np.asarray(missing))


__all__ = ["dated"]

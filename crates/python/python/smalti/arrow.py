"""Tables of Arrow as people want them: times that Arrow has no type for, and data frames of pandas."""

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


def frame_of(table, options):
    """A table of pyarrow as a data frame of pandas. Numbers and booleans that may be missing have pandas' nullable dtypes, whether or not one is
    missing, so that no number of 64 bits is rounded; options are those of ``pyarrow.Table.to_pandas``."""
    import pyarrow

    options = {"date_as_object": False, **options}
    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    if "types_mapper" in options:
        return table.to_pandas(**options)
    names = [field.name for field in table.schema if field.nullable and _nullable(field.type) is not None]
    if not names:
        return table.to_pandas(**options)
    columns = {name: table[name].to_pandas(types_mapper=_nullable) for name in names}
    frame = table.drop_columns(names).to_pandas(**options)
    for idx, field in enumerate(table.schema):
        if field.name in columns:
            frame.insert(idx, field.name, columns[field.name])
    return frame


def _nullable(kind):
    """The dtype of pandas for integers and booleans that may be missing."""
    import pandas
    import pyarrow

    if pyarrow.types.is_boolean(kind):
        return pandas.BooleanDtype()
    if not pyarrow.types.is_integer(kind):
        return None
    return pandas.api.types.pandas_dtype(("Int" if pyarrow.types.is_signed_integer(kind) else "UInt") + str(kind.bit_width))


__all__ = ["COARSE", "dated", "frame_of"]

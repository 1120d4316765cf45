"""Reads as tables: streams of Arrow record batches, aggregates, plans, splits."""

from __future__ import annotations

from . import _smalti
from .arrow import COARSE, dated, frame_of
from .progress import hook_of
from .types import value_of


class Request:
    """What a read is asked for, as the engine takes it."""

    __slots__ = (
        "columns",
        "ranges",
        "positions",
        "condition",
        "order",
        "limit",
        "memory",
        "batch_cells",
        "timestamps",
        "strict",
        "matching_only",
        "codes",
    )

    def __init__(
        self,
        columns=(),
        ranges=(),
        positions=(),
        condition=None,
        order=None,
        limit=None,
        memory=None,
        batch_cells=None,
        timestamps=False,
        strict=False,
        matching_only=False,
        codes=False,
    ):
        self.columns = list(columns)
        self.ranges = list(ranges)
        self.positions = list(positions)
        self.condition = condition
        self.order = order
        self.limit = limit
        self.memory = memory
        self.batch_cells = batch_cells
        self.timestamps = timestamps
        self.strict = strict
        self.matching_only = matching_only
        self.codes = codes


class Scan:
    """A read of an array: made by :meth:`Array.read`, carried out when cells are asked for, as often as they are.

    It has Arrow's stream interface, so whatever takes tables takes it, without a copy and in bounded memory:
    ``pyarrow.table(scan)``, ``polars.DataFrame(scan)``, ``duckdb.sql("select * from scan")``. Iterating gives record batches;
    ``async for`` does too.
    """

    def __init__(self, array, request, progress=None):
        self._array = array
        self._request = request
        self._progress = progress
        self._scan = array._handle.scan(request)

    # -- cells

    def __arrow_c_stream__(self, requested_schema=None):
        return self._scan.batches().stream()

    def __arrow_c_schema__(self):
        return self._scan.schema()

    def batches(self):
        """The record batches, one after the other: an iterator that can be closed."""
        return Batches(self._scan.batches())

    def __iter__(self):
        return self.batches()

    def __aiter__(self):
        return AsyncBatches(self)

    def collect(self):
        """All cells as one record batch."""
        return RecordBatch(self._scan.collect(hook_of(self._progress)))

    def to_arrow(self):
        """All cells as a ``pyarrow.Table``."""
        import pyarrow

        return dated(pyarrow.table(self.collect()))

    def to_pandas(self, **options):
        """All cells as a ``pandas.DataFrame``; options are those of ``pyarrow.Table.to_pandas``."""
        return frame_of(self.to_arrow(), options)

    def to_polars(self):
        """All cells as a ``polars.DataFrame``."""
        import polars

        known = self._array._known
        is_coarse = any(field.datatype in COARSE for field in (*known.dims, *known.attributes))
        return polars.DataFrame(self.to_arrow() if is_coarse else self.collect())

    def to_dict(self):
        """All cells as a dictionary of NumPy's arrays: objects for text and cells of any length, masked ones where cells are null."""
        from ._lazy import numpy as np
        from .array import cells_of, fixed_of, labelled

        _, columns = self._scan.columns(hook_of(self._progress))
        known = self._array._known
        enumerations = {attribute.name: attribute.enumeration for attribute in known.attributes}
        result = {}
        for name, datatype, per_cell, data, offsets, validity in columns:
            values = cells_of(datatype, data, offsets) if per_cell is None else fixed_of(datatype, per_cell, data)
            if enumerations.get(name) and not self._request.codes:
                values = labelled(values, known.labels_of(self._array._handle, enumerations[name]))
            if validity is not None:
                values = np.ma.MaskedArray(values, np.frombuffer(validity, "u1") == 0)
            result[name] = values
        return result

    # -- numbers

    def count(self):
        """The number of cells."""
        return self._aggregated([("count", None)])[0]

    def sum(self, field):
        """The sum of a field; ``None`` where no cell has a value."""
        return self._aggregated([("sum", field)])[0]

    def min(self, field):
        """The least value of a field; ``None`` where no cell has one."""
        return self._aggregated([("min", field)])[0]

    def max(self, field):
        """The greatest value of a field; ``None`` where no cell has one."""
        return self._aggregated([("max", field)])[0]

    def mean(self, field):
        """The mean of a field; ``None`` where no cell has a value."""
        return self._aggregated([("mean", field)])[0]

    def aggregate(self, *wanted):
        """Several aggregates in one pass, a dictionary by ``function(field)``: ``"count"``, and ``"sum"``, ``"min"``, ``"max"``, ``"mean"`` and
        ``"null_count"`` of a field.

        >>> import numpy as np, smalti as sm
        >>> A = sm.from_numpy("mem://aggregate-docs", np.arange(10))
        >>> A.read().aggregate("count", ("sum", "value"), ("max", "value"))
        {'count': 10, 'sum(value)': 45, 'max(value)': 9}
        """
        pairs = [(one, None) if isinstance(one, str) else tuple(one) for one in wanted]
        names = [function if field is None else f"{function}({field})" for function, field in pairs]
        return dict(zip(names, self._aggregated(pairs)))

    def _aggregated(self, wanted):
        values = self._scan.aggregate(wanted, hook_of(self._progress))
        return [value if value is None else value_of(value) for value in values]

    # -- plans

    def cell_count(self):
        """How many cells the read will give, and whether that is exact rather than a bound; from metadata alone."""
        return self._scan.cell_count()

    def byte_count(self):
        """How many bytes they take, as :meth:`cell_count`; ``None`` where that is not known."""
        return self._scan.byte_len()

    def statistics(self):
        """For each field its least and greatest value and whether these are exact rather than bounds, and the number of nulls with whether that is
        exact; from metadata alone.

        >>> import numpy as np, smalti as sm
        >>> told = sm.from_numpy("mem://statistics-docs", np.arange(10)).read(["value"]).statistics()
        >>> told["value"]["least"], told["value"]["greatest"]
        (0, 9)
        """
        known = {}
        for name, least, greatest, exact, nulls in self._scan.statistics():
            known[name] = {
                "least": least and value_of(least),
                "greatest": greatest and value_of(greatest),
                "exact": exact,
                "nulls": nulls,
            }
        return known

    def explain(self):
        """How the read would be carried out: fragments and tiles, requests and rounds. It prints, and ``.json`` has it for programs."""
        from .array import Report

        return Report(*_smalti.explain(self._array._handle, self._scan))

    def splits(self, count):
        """The read in so many parts, or fewer, which other processes can carry out: pickle them. See :class:`Split`."""
        settings = self._array._settings
        return [Split(split, settings) for split in self._scan.splits(count)]

    def __reduce__(self):
        return _read_again, (self._array, self._request_state())

    def _request_state(self):
        return {name: getattr(self._request, name) for name in Request.__slots__}

    def __repr__(self):
        parts = [self._array.uri]
        if self._request.columns:
            parts.append("columns=" + ", ".join(self._request.columns))
        if self._request.condition is not None:
            parts.append(f"where={str(self._request.condition)!r}")
        if self._request.limit is not None:
            parts.append(f"limit={self._request.limit}")
        return f"<smalti.Scan of {'; '.join(parts)}>"


def _read_again(array, state):
    return Scan(array, Request(**state))


class RecordBatch:
    """Cells as columns, with Arrow's array interface: ``pyarrow.record_batch(batch)`` and its like take it without a copy."""

    def __init__(self, batch):
        self._batch = batch

    def __len__(self):
        return len(self._batch)

    @property
    def names(self):
        """The names of its columns."""
        return self._batch.names

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)

    def __arrow_c_schema__(self):
        return self._batch.__arrow_c_schema__()

    def to_arrow(self):
        """As a ``pyarrow.RecordBatch``."""
        import pyarrow

        return dated(pyarrow.record_batch(self))

    def to_pandas(self, **options):
        """As a ``pandas.DataFrame``."""
        return frame_of(self.to_arrow(), options)

    def __repr__(self):
        return f"<smalti.RecordBatch of {len(self)} cells: {', '.join(self.names)}>"


class Batches:
    """The record batches of a read; an iterator that can be closed, or handed on as one stream."""

    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return self

    def __next__(self):
        batch = self._batches.next_batch()
        if batch is None:
            raise StopIteration
        return RecordBatch(batch)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._batches.stream()

    @property
    def statistics(self):
        """What it has done so far: cells, tiles, tiles from the cache, requests, bytes."""
        return dict(zip(("cells", "tiles", "kept_tiles", "requests", "bytes"), self._batches.statistics))

    def close(self):
        """Stops the read."""
        self._batches.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class AsyncBatches:
    """The record batches of a read for ``async for``: another thread waits for them."""

    def __init__(self, scan):
        self._scan = scan
        self._batches = None

    def __aiter__(self):
        return self

    async def __anext__(self):
        import asyncio

        if self._batches is None:
            self._batches = await asyncio.to_thread(self._scan._scan.batches)
        try:
            batch = await asyncio.to_thread(self._batches.next_batch)
        except asyncio.CancelledError:
            self._batches.close()
            raise
        if batch is None:
            raise StopAsyncIteration
        return RecordBatch(batch)

    async def aclose(self):
        """Stops the read."""
        if self._batches is not None:
            self._batches.close()


class Split:
    """A part of a read, to be carried out anywhere: it names the array, its time and fragments, and its part of the cells.

    Pickled, it takes no key along: the process that opens it needs what the array was opened with by name (``key="env:NAME"``).

    >>> import numpy as np, pickle, smalti as sm
    >>> A = sm.create("mem://split-docs", sm.dim("x", (0, 999), tile=10), sm.attr("v", "int64"), sparse=True, capacity=100)
    >>> _ = A.write({"x": np.arange(1000), "v": np.arange(1000)})
    >>> splits = A.read(["v"]).splits(4)
    >>> parts = [pickle.loads(pickle.dumps(split)) for split in splits]  # for other processes
    >>> sum(sum(part.to_arrow()["v"].to_pylist()) for part in parts)
    499500
    """

    def __init__(self, split, settings):
        self._split = split
        self._settings = settings

    @property
    def number(self):
        """Its place in the order of the read, from 1 on."""
        return self._split.number

    @property
    def count(self):
        """How many splits the read has."""
        return self._split.count

    @property
    def bytes(self):
        """About the bytes that it reads."""
        return self._split.bytes

    @property
    def uri(self):
        """Where the array was when the split was made."""
        return self._split.uri

    def batches(self):
        """Its record batches."""
        return Batches(self._split.batches())

    def __iter__(self):
        return self.batches()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._split.batches().stream()

    def to_arrow(self):
        """Its cells as a ``pyarrow.Table``."""
        import pyarrow

        return dated(pyarrow.table(self))

    def to_pandas(self, **options):
        """Its cells as a ``pandas.DataFrame``."""
        return frame_of(self.to_arrow(), options)

    def to_bytes(self):
        """The split written down, for ``smalti read --split`` and other programs."""
        return self._split.to_bytes()

    def __reduce__(self):
        return _split_again, (self._split.to_bytes(), self._settings)

    def __repr__(self):
        return f"<smalti.Split {self.number} of {self.count}, {self.bytes} bytes of {self.uri}>"


def _split_again(data, settings):
    return Split(_smalti.Split.from_bytes(data, settings.options()), settings)


__all__ = ["Batches", "RecordBatch", "Request", "Scan", "Split"]

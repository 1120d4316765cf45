"""Arrays of what is in memory: NumPy, pandas, Arrow, SciPy."""

from __future__ import annotations

import os

from . import _smalti
from ._lazy import numpy as np
from .progress import hook_of
from .schema import attr, dim
from .settings import Settings
from .times import moment_of

# What an import takes if nobody says more, and the most that is asked for here.
USUAL_BYTES, MOST_BYTES = 512 << 20, 3 << 30
# A third of the budget is a fragment, and columns with all that is written of them may have twice the bytes that they have in Arrow.
BUDGET_PER_BYTE = 8


def from_numpy(uri, values, *, name="value", dims=None, tile=None, filters=None, at=None, key=None, context=None, sync=None, progress=None):
    """A dense array of an array of NumPy, or of several of one shape.

    Args:
        uri: where; nothing may be there.
        values: an array, a masked one, or a dictionary of them.
        name: the name of the attribute, where there is just one.
        dims: the names of the dimensions; ``dim_0``, ``dim_1`` and so on if not said.
        tile: the extents of a tile; chosen as ``smalti import`` does if not said.
        filters: filters of the attributes; zstd if not said.
        key, context, sync: as for :func:`open`.

    >>> import numpy as np
    >>> A = from_numpy("mem://from-numpy-docs", np.eye(3), dims=("row", "col"))
    >>> A[0]
    array([1., 0., 0.])
    """
    from . import create

    given = values if isinstance(values, dict) else {name: values}
    given = {each: value if isinstance(value, np.ma.MaskedArray) else np.asarray(value) for each, value in given.items()}
    shapes = {value.shape for value in given.values()}
    if len(shapes) != 1:
        raise ValueError(f"all arrays have one shape; these have {', '.join(map(str, shapes))}")
    (shape,) = shapes
    if not shape or 0 in shape:
        raise ValueError(f"an array of shape {shape} holds no cells to store")
    names = list(dims) if dims is not None else [f"dim_{idx}" for idx in range(len(shape))]
    if len(names) != len(shape):
        raise ValueError(f"dims= names {len(names)} dimensions; the array has {len(shape)}")
    tile = tile if tile is not None else _smalti.dense_tiles(list(shape))
    tile = [tile] * len(shape) if np.ndim(tile) == 0 else list(tile)
    made_dims = [dim(axis, (0, length - 1), "uint64", tile=min(extent, length)) for axis, length, extent in zip(names, shape, tile)]
    attrs = []
    for each, value in given.items():
        nullable = isinstance(value, np.ma.MaskedArray) or _has_none(value)
        attrs.append(attr(each, _text_or(value), nullable=nullable, filters=filters))
    array = create(uri, made_dims, attrs, key=key, context=context, sync=sync)
    array.write(given, at=at, progress=progress)
    return array


def _has_none(value):
    return value.dtype == object and any(cell is None for cell in value.reshape(-1).tolist())


def _text_or(value):
    if value.dtype.kind in "OUT":
        kinds = {type(cell) for cell in value.reshape(-1).tolist()} - {type(None)} if value.dtype.kind == "O" else {str}
        if kinds <= {str}:
            return str
        if kinds <= {bytes}:
            return bytes
        found = np.asarray([cell for cell in value.reshape(-1).tolist() if cell is not None])
        if found.dtype.kind not in "biufmM":
            raise TypeError(f"objects of the types {', '.join(sorted(kind.__name__ for kind in kinds))} are no cells; convert them with astype")
        return found.dtype
    return value.dtype


def from_arrow(
    uri,
    table,
    dims=None,
    *,
    sparse=True,
    enums=(),
    tile=None,
    capacity=None,
    duplicates=False,
    at=None,
    key=None,
    context=None,
    sync=None,
    memory=None,
    progress=None,
):
    """An array of a table: whatever has Arrow's stream interface (pyarrow, pandas, polars, DuckDB), whole or as a stream in bounded memory.

    The schema is inferred as ``smalti import`` infers it (docs/import.md).

    Args:
        uri: where; nothing may be there.
        table: the table, or a stream of record batches.
        dims: the columns that are dimensions; without them the number of the row is.
        sparse: whether the array is sparse.
        enums: columns of text that become enumerations; dictionaries do anyway.
        tile: extents of tiles, by dimension.
        duplicates: whether several rows may have the same coordinates.
        memory: the bytes that the import may take; half a GiB if not said, and for a table that is in memory as much as makes one fragment of
            it, up to 3 GiB.
        key, context, sync: as for :func:`open`.
    """
    from . import _path
    from .array import Array

    settings = Settings(None, None, key, sync, None, context)
    if memory is None and not settings.is_bounded:
        memory = _memory_for(table)
    request = _Import(dims, sparse, enums, tile, capacity, duplicates, moment_of(at), memory)
    handle, warnings = _smalti.import_stream(_path(uri), table, request, settings.options(), hook_of(progress))
    for warning in warnings:
        import warnings as python

        python.warn(warning, stacklevel=2)
    return Array(handle, settings)


def _memory_for(table):
    """The budget with which a table that is in memory becomes one fragment; ``None`` where the usual one will do, or nobody knows."""
    size = table.estimated_size() if hasattr(table, "estimated_size") else getattr(table, "nbytes", 0)
    wanted = min(size * BUDGET_PER_BYTE, MOST_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    return wanted if wanted > USUAL_BYTES else None


class _Import:
    """How a table becomes an array, as the engine takes it."""

    __slots__ = ("dims", "sparse", "enums", "tile", "capacity", "duplicates", "at", "memory")

    def __init__(self, dims, sparse, enums, tile, capacity, duplicates, at, memory):
        self.dims = [dims] if isinstance(dims, str) else list(dims or ())
        self.sparse = sparse
        self.enums = [enums] if isinstance(enums, str) else list(enums)
        self.tile = [(name, str(extent)) for name, extent in (tile or {}).items()]
        self.capacity = capacity
        self.duplicates = duplicates
        self.at = at
        self.memory = memory


def from_pandas(uri, frame, dims=None, **options):
    """An array of a data frame of pandas: as :func:`from_arrow`; the names of its index are dimensions where ``dims`` says no others."""
    import pyarrow

    names = [name for name in frame.index.names if name is not None]
    if dims is None and names:
        dims = names
    kept = bool(names) and any(name in names for name in ([dims] if isinstance(dims, str) else dims or ()))
    table = pyarrow.Table.from_pandas(frame, preserve_index=kept, nthreads=1)
    return from_arrow(uri, table, dims, **options)


def from_scipy(uri, matrix, *, name="value", dims=("row", "col"), tile=None, at=None, key=None, context=None, sync=None, progress=None, filters=None):
    """A sparse array of a sparse matrix or array of SciPy, of any number of dimensions; zeros that are stored are stored."""
    from . import create

    cells = matrix.tocoo()
    coords = getattr(cells, "coords", None) or (cells.row, cells.col)
    dims = list(dims) if len(dims) == len(coords) else [f"dim_{idx}" for idx in range(len(coords))]
    tile = tile if tile is not None else [max(1, length // 64) for length in matrix.shape]
    tile = [tile] * len(coords) if np.ndim(tile) == 0 else list(tile)
    made = [dim(axis, (0, max(length - 1, 0)), "uint64", tile=extent) for axis, length, extent in zip(dims, matrix.shape, tile)]
    array = create(uri, made, attr(name, cells.data.dtype, filters=filters), sparse=True, key=key, context=context, sync=sync)
    cells.sum_duplicates()
    coords = getattr(cells, "coords", None) or (cells.row, cells.col)
    columns = {axis: np.asarray(where).astype("u8") for axis, where in zip(dims, coords)}
    array.write({**columns, name: cells.data}, at=at, progress=progress)
    return array

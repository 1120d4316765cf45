"""Reads and writes by Dask: tables as data frames of splits, grids as arrays of chunks that follow tiles.

Whoever computes them needs no more than this package and the URI: what is sent to a worker names the fragments, and nothing is listed again. What
workers write is seen at one moment, or not at all.
"""

from __future__ import annotations

from . import Array
from . import open as open_any
from .conditions import condition_of

# A partition or chunk has about so many bytes, unless others are asked for.
PARTITION_BYTES = 64 << 20


def read(
    uri,
    columns=None,
    where=None,
    ranges=None,
    *,
    splits=None,
    partition_bytes=PARTITION_BYTES,
    at=None,
    key=None,
    context=None,
):
    """A ``dask.dataframe`` of the cells of an array, a partition for each split of the read.

    Columns that later steps choose, and filters that compare columns with values, become part of the read: ``frame[frame.x > 5]["y"]`` reads no
    more than ``read(uri, ["y"], "x > 5")``, and nothing of tiles whose statistics say that they have no such cells.

    Args:
        uri: an array, or where one is.
        columns, where, ranges: as for :meth:`smalti.Array.read`.
        splits: how many partitions there are at most; by ``partition_bytes`` if not said.
        partition_bytes: about how many bytes a partition reads.
        at, key, context: as for :func:`smalti.open`; a key by name, since it goes to other processes.
    """
    from .frames import frame_of

    array = uri if isinstance(uri, Array) else open_any(uri, at=at, key=key, context=context)
    if not isinstance(array, Array):
        raise TypeError(f"{uri} is a group; read one of its arrays")
    return frame_of(array, columns, condition_of(where), ranges, splits, partition_bytes)


def from_array(uri, name=None, *, chunks=None, at=None, key=None, context=None):
    """A ``dask.array`` of an attribute of a dense array, in chunks of whole tiles.

    Args:
        uri: a dense array, or where one is.
        name: the attribute; the only one if not said.
        chunks: the lengths of chunks; whole tiles of about 64 MiB together if not said.
    """
    import dask.array as da

    array = uri if isinstance(uri, Array) else open_any(uri, at=at, key=key, context=context)
    if name is None:
        name = _only_attribute(array)
    field = array[name]
    if chunks is None:
        chunks = chunks_of(array, field.attribute)
    return da.from_array(field, chunks=chunks, asarray=False, name=f"smalti-{name}-{_token(array, name)}")


def write(uri, data, *, name=None, dims=None, at=None, key=None, context=None, **options):
    """Writes a ``dask.dataframe`` or a ``dask.array``: workers write its partitions or chunks, and one commit shows all of them, or none.

    A worker that dies has its part written again by another; nothing of what it left is seen, and the commit removes it.

    Args:
        uri: an array, or where one is, or will be.
        data: a data frame, for a sparse array; or an array, that fills a dense one.
        name: the attribute that an array fills, the only one if not said; the name of a new one, ``"value"`` if not said.
        dims: for a new array: the columns of the frame that are dimensions, or the names of an array's dimensions.
        at: the time of the write.
        key, context: as for :func:`smalti.open`; a key by name, since it goes to other processes.
        options: for a new array, as for :func:`smalti.create`.

    Returns:
        The array, as it is then.
    """
    import dask

    array = uri if isinstance(uri, Array) else _found(uri, key, context)
    is_new = array is None
    is_frame = hasattr(data, "to_delayed") and hasattr(data, "columns")
    if not is_frame and not hasattr(data, "chunks"):
        raise TypeError(f"a dask.dataframe or a dask.array is written, not {type(data).__name__}")
    if is_new:
        make = _frame_array if is_frame else _grid_array
        array = make(uri, data, name, dims, {"key": key, "context": context, **options})
    elif dims is not None or options:
        told = ", ".join(["dims"] * (dims is not None) + list(options))
        raise ValueError(f"{array.uri} is there already: {told} are for a new array")
    share = array.share_write(at)
    if is_frame:
        put = dask.delayed(_put_frame, pure=False)
        tasks = [put(share, part) for part in data.to_delayed()]
    else:
        from dask.array.core import slices_from_chunks

        if not array.is_dense or tuple(array.shape) != data.shape:
            raise ValueError(f"the array has shape {data.shape if array.is_dense else 'of a table'}, and {array.uri} {tuple(array.shape)}")
        field = array[name].attribute.name if name is not None else _only_attribute(array)
        put = dask.delayed(_put_box, pure=False)
        boxes = zip(slices_from_chunks(data.chunks), data.to_delayed().reshape(-1))
        tasks = [put(share, where, field, block) for where, block in boxes]
    commit_all(share, dask.compute, tasks)
    return array.reopen()


def consolidate(uri, *, parts=None, purge=False, memory=None, key=None, context=None):
    """Merges the fragments of a large array by many workers, each a part of its cells; readers see what was merged or what it was made of.

    Args:
        uri: an array, or where one is.
        parts: how many parts a merge has at most, each of which becomes a fragment; by ``PARTITION_BYTES`` of cells if not said.
        purge: whether deleted cells are left out.
        memory: the bytes that a part may take.

    Returns:
        For each merge the names of what was merged and of what it became.
    """
    import dask

    array = uri if isinstance(uri, Array) else open_any(uri, key=key, context=context)
    if parts is None:
        told = array.read().byte_count()
        parts = max(1, min(1024, -(-(told[0] if told is not None else 0) // PARTITION_BYTES)))
    with array.reopen().share_consolidation(parts, purge=purge) as consolidation:
        merge = dask.delayed(_merge_part, pure=False)
        merged = dask.compute(*(merge(part, memory) for part in consolidation.parts))
        return consolidation.commit(merged)


def _merge_part(part, memory):
    return part.merge(memory=memory)


def commit_all(share, compute, tasks):
    """Has parts of a shared write computed, and commits them; if one fails, nothing is left."""
    try:
        names = [name for part in compute(*tasks) for name in part]
    except BaseException:
        share.abandon()
        raise
    share.commit(names)


def _put_frame(share, frame):
    return share.put(frame) if len(frame) else []


def _put_box(share, where, field, values):
    return share.put_box(where, {field: values})


def _found(uri, key, context):
    try:
        array = open_any(uri, key=key, context=context)
    except FileNotFoundError:
        return None
    if not isinstance(array, Array):
        raise TypeError(f"{uri} is a group; write one of its arrays")
    return array


def _only_attribute(array):
    if len(array.attributes) > 1:
        names = ", ".join(attribute.name for attribute in array.attributes)
        raise ValueError(f"the array has several attributes; name one of {names}")
    return array.attributes[0].name


def _grid_array(uri, data, name, dims, options):
    """An array for one of Dask: its tiles are the chunks, or parts of them."""
    from . import attr, create, dim

    if 0 in data.shape or any(length != length for length in data.shape):
        raise ValueError(f"an array of shape {data.shape} holds no cells to store, or is not computed yet")
    names = dims or [f"dim_{idx}" for idx in range(data.ndim)]
    tiles = options.pop("tile", None) or [_tile_of(lengths) for lengths in data.chunks]
    made = [dim(axis, (0, length - 1), "uint64", tile=min(tile, length)) for axis, length, tile in zip(names, data.shape, tiles, strict=True)]
    return create(uri, made, attr(name or "value", data.dtype, filters=options.pop("filters", None)), **options)


def _tile_of(lengths, most=512):
    """The greatest divisor of the length of a chunk that is a good extent of a tile."""
    length = lengths[0]
    return next((tile for tile in range(min(length, most), 0, -1) if length % tile == 0 and 4 * tile >= min(length, most)), min(length, most))


def _frame_array(uri, data, name, dims, options):
    """A sparse array for a data frame, whose domain is that of its cells."""
    import dask

    from . import attr, create, dim, enum

    meta = data._meta
    levels = [level for level in meta.index.names if level is not None]
    dims = [dims] if isinstance(dims, str) else list(dims or levels)
    if not dims:
        raise ValueError("name the columns that are dimensions: dims=[...]")
    columns = {level: data.index for level in levels if level in dims}
    columns |= {column: data[column] for column in meta.columns}
    missing = [dimension for dimension in dims if dimension not in columns]
    if missing:
        raise KeyError(f"there is no column {missing[0]!r}; there are {', '.join(map(str, columns))}")
    numbers = [dimension for dimension in dims if not _is_text(columns[dimension].dtype)]
    ends = dask.compute(*(end for dimension in numbers for end in (columns[dimension].min(), columns[dimension].max())))
    domains = dict(zip(numbers, zip(ends[::2], ends[1::2])))
    made_dims = [dim(one, domains[one], columns[one].dtype) if one in domains else dim(one, None, str) for one in dims]
    attrs, enums = [], list(options.pop("enums", ()))
    for column, series in columns.items():
        if column in dims:
            continue
        dtype = series.dtype
        if hasattr(dtype, "categories"):
            labels = list(series.cat.as_known().dtype.categories)
            enums.append(enum(column, labels, ordered=bool(dtype.ordered)))
            attrs.append(attr(column, "int32", nullable=True, enumeration=column))
        elif _is_text(dtype):
            attrs.append(attr(column, str, nullable=True))
        else:
            attrs.append(attr(column, getattr(dtype, "numpy_dtype", dtype), nullable=hasattr(dtype, "numpy_dtype")))
    return create(uri, made_dims, attrs, sparse=True, enums=enums, **options)


def _is_text(dtype):
    return dtype == object or dtype.name in ("string", "str")


def chunks_of(array, attribute, size=PARTITION_BYTES):
    """The lengths of chunks of about so many bytes, in whole tiles: they grow along the last dimensions first, as cells lie."""
    from .array import attribute_bytes

    lengths = [min(dimension.tile or length, length) for dimension, length in zip(array.dims, array.shape)]
    cell = attribute_bytes(attribute)

    def taken():
        count = cell
        for length in lengths:
            count *= length
        return count

    while 2 * taken() <= size:
        growing = [idx for idx, length in enumerate(lengths) if length < array.shape[idx]]
        if not growing:
            break
        lengths[growing[-1]] = min(2 * lengths[growing[-1]], array.shape[growing[-1]])
    return tuple(lengths)


def _token(array, name):
    from dask.base import tokenize

    fragments = [fragment.name for fragment in array.fragments]
    return tokenize(array.uri, name, fragments, array._settings.at)


__all__ = ["chunks_of", "consolidate", "from_array", "read", "write"]

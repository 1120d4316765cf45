"""Reads for Dask: tables as data frames of splits, grids as arrays of chunks that follow tiles.

Whoever computes them needs no more than this package and the URI: what is sent to a worker names the fragments, and nothing is listed again.
"""

from __future__ import annotations

from . import Array
from . import open as open_any

# A partition or chunk has about so many bytes, unless others are asked for.
PARTITION_BYTES = 64 << 20
# More partitions than this are no help to anybody.
MAX_SPLITS = 65_536


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

    What is not wanted is named here: columns and cells that are left out later have been read by then.

    Args:
        uri: an array, or where one is.
        columns, where, ranges: as for :meth:`smalti.Array.read`.
        splits: how many partitions there are at most; by ``partition_bytes`` if not said.
        partition_bytes: about how many bytes a partition reads.
        at, key, context: as for :func:`smalti.open`; a key by name, since it goes to other processes.
    """
    import dask.dataframe as dd

    array = uri if isinstance(uri, Array) else open_any(uri, at=at, key=key, context=context)
    if not isinstance(array, Array):
        raise TypeError(f"{uri} is a group; read one of its arrays")
    plan = array.read(columns, where, ranges)
    if splits is None:
        told = plan.byte_count()
        size = told[0] if told is not None else 0
        splits = max(1, min(MAX_SPLITS, -(-size // partition_bytes)))
    parts = plan.splits(splits)
    empty = array.read(columns, where, ranges, limit=0).to_pandas()
    return dd.from_map(_frame_of, parts, meta=empty)


def _frame_of(part):
    return part.to_pandas()


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
        if len(array.attributes) > 1:
            names = ", ".join(attribute.name for attribute in array.attributes)
            raise ValueError(f"the array has several attributes; name one of {names}")
        name = array.attributes[0].name
    field = array[name]
    if chunks is None:
        chunks = chunks_of(array, field.attribute)
    return da.from_array(field, chunks=chunks, asarray=False, name=f"smalti-{name}-{_token(array, name)}")


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


__all__ = ["chunks_of", "from_array", "read"]

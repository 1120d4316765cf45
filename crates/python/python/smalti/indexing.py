"""NumPy's indices as positions on dimensions.

Basic indexing as NumPy has it, and one array of positions for each dimension that does not depend on those of the others (orthogonal
indexing, as xarray and Zarr's ``oindex`` have it).
"""

from __future__ import annotations

import operator

from ._lazy import numpy as np


class Axis:
    """What is taken of one dimension.

    Attributes:
        stretches: pairs of the first and the last position, in the order of the result.
        length: how many positions the result has.
        drops: whether the result is without this axis.
        flips: whether the result is turned around afterwards.
    """

    __slots__ = ("stretches", "length", "drops", "flips")

    def __init__(self, stretches, length, drops=False, flips=False):
        self.stretches = stretches
        self.length = length
        self.drops = drops
        self.flips = flips


def axes_of(key, shape, names):
    """What an index takes of each dimension, and where the result gets new axes.

    >>> axes, new = axes_of((slice(2, 5), -1), (10, 10), ("y", "x"))
    >>> [axis.stretches for axis in axes], new
    ([[(2, 4)], [(9, 9)]], [])

    Raises:
        IndexError: for positions outside of a dimension, and more indices than there are dimensions.
        TypeError: for what is no index.
    """
    key = key if isinstance(key, tuple) else (key,)
    given = sum(part is not None and part is not Ellipsis and not _is_mask(part, 2) for part in key)
    given += sum(np.ndim(part) for part in key if _is_mask(part, 2))
    if sum(part is Ellipsis for part in key) > 1:
        raise IndexError("an index has one ellipsis (...) at most")
    if given > len(shape):
        raise IndexError(f"{given} indices for an array of {len(shape)} dimensions ({', '.join(names)})")
    if not any(part is Ellipsis for part in key):
        key = (*key, Ellipsis)
    axes, new, result = [], [], 0
    for part in key:
        if part is None:
            new.append(result)
            result += 1
        elif part is Ellipsis:
            for _ in range(len(shape) - given):
                axes.append(axis_of(slice(None), shape[len(axes)], names[len(axes)]))
                result += 1
        elif _is_mask(part, 2):
            raise IndexError("a mask of several dimensions selects no box; index with numpy.nonzero(mask) per dimension, or read with where=")
        else:
            axis = axis_of(part, shape[len(axes)], names[len(axes)])
            axes.append(axis)
            result += not axis.drops
    return axes, new


def _is_mask(part, ndim):
    return getattr(getattr(part, "dtype", None), "kind", None) == "b" and part.ndim >= ndim


def axis_of(part, size, name):
    """What one index takes of a dimension of some size."""
    if isinstance(part, slice):
        return _of_slice(part, size)
    try:
        position = operator.index(part) if not isinstance(part, bool) else None
    except TypeError:
        position = None
    if position is not None and np.ndim(part) == 0:
        where = _inside(position, size, name)
        return Axis([(where, where)], 1, drops=True)
    positions = np.asarray(part)
    if positions.dtype.kind == "b" and positions.ndim == 1:
        if len(positions) != size:
            raise IndexError(f"the mask has {len(positions)} positions, dimension {name!r} has {size}")
        positions = np.flatnonzero(positions)
    if positions.size == 0 and positions.ndim == 1:
        return Axis([], 0)
    if positions.dtype.kind not in "iu" or positions.ndim != 1:
        raise TypeError(
            f"dimension {name!r}: an index is a position, a slice, a list of positions or a mask, not {part!r} "
            "(for coordinates there is .loc)"
        )
    return of_positions(positions, size, name)


def of_positions(positions, size, name):
    """Positions in any order, negative ones from the end."""
    wrapped = positions.astype("i8", copy=False) if positions.dtype != np.dtype("u8") else positions
    if wrapped.dtype.kind == "i":
        wrapped = np.where(wrapped < 0, wrapped + size, wrapped)
    outside = np.flatnonzero((wrapped < 0) | (wrapped >= size))
    if len(outside):
        raise IndexError(f"position {positions[outside[0]]} is outside of dimension {name!r}, which has {size}")
    breaks = np.flatnonzero(np.diff(wrapped) != 1) + 1
    firsts = wrapped[np.concatenate(([0], breaks))]
    lasts = wrapped[np.concatenate((breaks - 1, [len(wrapped) - 1]))]
    return Axis(list(zip(firsts.tolist(), lasts.tolist())), len(wrapped))


def _of_slice(part, size):
    start, stop, step = part.indices(size)
    count = len(range(start, stop, step))
    if count == 0:
        return Axis([], 0)
    if step < 0:
        last = start + (count - 1) * step
        start, step = last, -step
        return Axis(_steps(start, count, step), count, flips=True)
    return Axis(_steps(start, count, step), count)


def _steps(start, count, step):
    if step == 1 or count == 1:
        return [(start, start + count - 1)]
    return [(position, position) for position in range(start, start + count * step, step)]


def _inside(position, size, name):
    where = position + size if position < 0 else position
    if not 0 <= where < size:
        raise IndexError(f"position {position} is outside of dimension {name!r}, which has {size}")
    return where


def placed(values, axes, new, order="C"):
    """A result with the axes that the index asks for; a view."""
    values = values[tuple(slice(None, None, -1) if axis.flips else slice(None) for axis in axes)]
    values = values[tuple(0 if axis.drops else slice(None) for axis in axes)]
    for where in new:
        values = np.expand_dims(values, where)
    return values

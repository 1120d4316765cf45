"""A read as an expression of Dask's data frames, which takes over what later steps say: columns that are chosen, rows that are filtered.

Dask simplifies an expression before it makes tasks of it. Where a projection or a filter stands on this one, it is put into the read, and the splits
are made anew: fragments and tiles that cannot have such cells, by their statistics, are not read, and there are partitions for what is left.
"""

from __future__ import annotations

import functools

from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import EQ, GE, GT, LE, LT, NE, And, Filter, Or, PartitionsFiltered, Projection
from dask.dataframe.dask_expr.io.io import BlockwiseIO
from dask.task_spec import Task

from .conditions import col

# More partitions than this are no help to anybody.
MAX_SPLITS = 65_536
_FLIPPED = {LE: GE, LT: GT, GE: LE, GT: LT, EQ: EQ, NE: NE}
_MADE = {LE: "__le__", LT: "__lt__", GE: "__ge__", GT: "__gt__", EQ: "__eq__", NE: "__ne__"}


class Source:
    """The array of a read, told from others by its URI and what is in it."""

    def __init__(self, array):
        self.array = array

    def __dask_tokenize__(self):
        fragments = tuple(fragment.name for fragment in self.array.fragments)
        return type(self).__name__, self.array.uri, fragments, str(self.array._settings.at)

    def __repr__(self):
        return self.array.uri


class Where:
    """A condition, told from others by its text."""

    def __init__(self, condition):
        self.condition = condition

    def __dask_tokenize__(self):
        return type(self).__name__, repr(self.condition)

    def __repr__(self):
        return repr(self.condition)


class ReadArray(PartitionsFiltered, BlockwiseIO):
    """The cells of an array, a partition for each split of the read."""

    _parameters = ["source", "columns", "where", "ranges", "splits", "partition_bytes", "_partitions", "_series"]
    _defaults = {"columns": None, "where": None, "ranges": None, "splits": None, "_partitions": None, "_series": False}
    _absorb_projections = True
    _filter_passthrough = True

    def _read(self, **more):
        where = self.operand("where")
        array = self.operand("source").array
        return array.read(self.operand("columns"), None if where is None else where.condition, self.operand("ranges"), **more)

    @functools.cached_property
    def _parts(self):
        """The splits."""
        plan = self._read()
        count = self.operand("splits")
        if count is None:
            told = plan.byte_count()
            size = told[0] if told is not None else 0
            count = max(1, min(MAX_SPLITS, -(-size // self.operand("partition_bytes"))))
        return plan.splits(count)

    @functools.cached_property
    def _frame(self):
        """The types of the columns, in a data frame without rows."""
        return self._read(limit=0).to_pandas()

    @property
    def _meta(self):
        return self._frame[self._frame.columns[0]] if self._series else self._frame

    @property
    def columns(self):
        return list(self._frame.columns)

    @property
    def _series(self):
        return self.operand("_series")

    def _divisions(self):
        return (None,) * (len(self._parts) + 1)

    def _filtered_task(self, name, index):
        return Task(name, _cells_of, self._parts[index], self.columns[0] if self._series else None, _data_producer=True)

    def _simplify_up(self, parent, dependents):
        if isinstance(parent, Projection):
            return super()._simplify_up(parent, dependents)
        if isinstance(parent, Filter) and not self._filtered and self._filter_passthrough_available(parent, dependents):
            found = self._condition_of(parent.predicate)
            own = self.operand("where")
            if found is not None and own is not None:
                found = own.condition & found
            if found is not None and self._takes(found):
                return self.substitute_parameters({"where": Where(found)})
        return None

    def _takes(self, condition):
        """Whether a read can have a condition: what it compares is of the types of the array."""
        try:
            self.operand("source").array.read(self.operand("columns"), condition, self.operand("ranges"), limit=0).to_pandas()
        except (ValueError, TypeError, KeyError):
            return False
        return True

    def _condition_of(self, predicate):
        """The condition that leaves out the cells that a predicate of pandas leaves out; ``None`` if that is not certain."""
        if isinstance(predicate, (And, Or)):
            left, right = self._condition_of(predicate.left), self._condition_of(predicate.right)
            if left is None or right is None:
                return None
            return left & right if isinstance(predicate, And) else left | right
        kind = type(predicate)
        if kind not in _FLIPPED:
            return None
        field, value = predicate.left, predicate.right
        if not self._is_field(field):
            field, value, kind = value, field, _FLIPPED[kind]
        if not self._is_field(field) or hasattr(value, "_name"):
            return None
        name = field.columns[0]
        dtype = self._frame.dtypes[name]
        if kind is NE and (dtype.kind not in "iub" or hasattr(dtype, "numpy_dtype")):
            # To pandas what is missing differs from every value, and to conditions from none.
            return None
        if hasattr(dtype, "categories") and kind not in (EQ,):
            return None
        try:
            return getattr(col(name), _MADE[kind])(value)
        except (TypeError, ValueError):
            return None

    def _is_field(self, expr):
        return isinstance(expr, Projection) and expr.ndim == 1 and expr.frame._name == self._name


def _cells_of(part, name):
    frame = part.to_pandas()
    return frame if name is None else frame[name]


def frame_of(array, columns, where, ranges, splits, partition_bytes):
    """A data frame of Dask of a read."""
    columns = [columns] if isinstance(columns, str) else columns if columns is None else list(columns)
    where = None if where is None else Where(where)
    return new_collection(ReadArray(Source(array), columns, where, ranges, splits, partition_bytes))


__all__ = ["frame_of"]

"""Conditions as Python expressions: ``sm.col("population") > 1_000_000``."""

from __future__ import annotations

import datetime

from . import _smalti
from ._lazy import numpy as np

Condition = _smalti.Condition


def col(name):
    """A field, to be compared with values: an attribute, a dimension, or ``__timestamps`` of sparse arrays.

    >>> (col("population") > 1_000_000) & col("country").isin(["FR", "DE"])
    Condition("population > 1000000 and country in ('FR', 'DE')")
    """
    return Field(name)


def condition_of(where):
    """A condition from text or from what :func:`col` made."""
    if where is None or isinstance(where, Condition):
        return where
    if isinstance(where, str):
        return Condition(where)
    raise TypeError(f"where= takes text or a condition made with col(), not {type(where).__name__}")


def operand(value):
    """A value as conditions have it: times as text in ISO 8601."""
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.timedelta64):
        return int(value.astype("i8"))
    if isinstance(value, datetime.datetime):
        if value.tzinfo:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bool, int, float, str, bytes)):
        return value
    if hasattr(value, "item"):
        return value.item()
    if value is None:
        raise TypeError("nothing equals None; ask with .isnull() or .notnull()")
    raise TypeError(f"a condition compares with numbers, text, bytes and times, not {type(value).__name__}")


class Field:
    """A field that conditions test; made by :func:`col`."""

    __slots__ = ("name", "_codes")
    __hash__ = None

    def __init__(self, name, codes=False):
        self.name = name
        self._codes = codes

    def __repr__(self):
        return f"col({self.name!r})" + (".code" if self._codes else "")

    @property
    def code(self):
        """The code of an enumerated attribute instead of its label."""
        return Field(self.name, codes=True)

    def _made(self, condition):
        return condition.of_codes() if self._codes else condition

    def __lt__(self, value):
        return self._made(Condition.compare(self.name, "<", operand(value)))

    def __le__(self, value):
        return self._made(Condition.compare(self.name, "<=", operand(value)))

    def __gt__(self, value):
        return self._made(Condition.compare(self.name, ">", operand(value)))

    def __ge__(self, value):
        return self._made(Condition.compare(self.name, ">=", operand(value)))

    def __eq__(self, value):
        return self._made(Condition.compare(self.name, "==", operand(value)))

    def __ne__(self, value):
        return self._made(Condition.compare(self.name, "!=", operand(value)))

    def isin(self, values):
        """Whether the value is one of some."""
        return self._made(Condition.member(self.name, [operand(value) for value in values], True))

    def notin(self, values):
        """Whether the value is none of some."""
        return self._made(Condition.member(self.name, [operand(value) for value in values], False))

    def between(self, low, high):
        """Whether the value lies between two, or is one of them."""
        return self._made(Condition.between(self.name, operand(low), operand(high)))

    def startswith(self, prefix):
        """Whether text begins with some."""
        return self._made(Condition.prefix(self.name, prefix))

    def isnull(self):
        """Whether the cell has no value."""
        return self._made(Condition.null(self.name, True))

    def notnull(self):
        """Whether the cell has a value."""
        return self._made(Condition.null(self.name, False))

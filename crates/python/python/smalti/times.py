"""Times of writes and of time travel: milliseconds since 1970, and all that people write for them."""

from __future__ import annotations

import datetime
import operator

from . import _smalti
from ._lazy import numpy as np


def moment_of(time):
    """A time as the moment of a change, in milliseconds since 1970: a day begins with its first one."""
    span = _span_of(time)
    return None if span is None else span[0]


def until_of(time):
    """A time as the end of a range, in milliseconds since 1970: a day is in it to its end."""
    span = _span_of(time)
    return None if span is None else span[1]


def shown(milliseconds):
    """A time as text, in UTC."""
    try:
        return np.datetime_as_string(np.datetime64(milliseconds, "ms")) + "Z"
    except (OverflowError, ValueError):
        return str(milliseconds)


def _span_of(time):
    if time is None:
        return None
    if isinstance(time, str):
        return _smalti.span_of(time)
    if isinstance(time, datetime.datetime):
        # What says no zone is local, as everywhere in Python.
        moment = int(round(time.timestamp() * 1000))
        return _known(moment), moment
    if isinstance(time, datetime.date):
        start = int((time - datetime.date(1970, 1, 1)).total_seconds()) * 1000
        return _known(start), start + 86_399_999
    if isinstance(time, np.datetime64):
        unit, _ = np.datetime_data(time.dtype)
        if unit in ("Y", "M", "W", "D", "h", "m", "s"):
            start = int(time.astype("M8[ms]").astype("i8"))
            return _known(start), int((time + 1).astype("M8[ms]").astype("i8")) - 1
        moment = int(time.astype("M8[ms]").astype("i8"))
        return _known(moment), moment
    try:
        moment = operator.index(time)
    except TypeError:
        if hasattr(time, "to_pydatetime"):
            return _span_of(time.to_pydatetime())
        kind = type(time).__name__
        raise TypeError(f"a time is a datetime, a date, milliseconds since 1970 or text such as '2024-05-01', not {kind}") from None
    return _known(moment), moment


def _known(moment):
    if moment < 0:
        raise ValueError("times of writes begin with 1970")
    return moment

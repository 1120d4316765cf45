"""smalti: dense and sparse arrays in the TileDB format.

>>> import numpy as np, smalti as sm
>>> A = sm.from_numpy("mem://package-docs", np.arange(6).reshape(2, 3))
>>> A[1, ::-1]
array([5, 4, 3])

What is where:

- :func:`open`, :func:`create`, :func:`create_group`: arrays and groups.
- :class:`Array`: NumPy's indexing, ``.loc``, :meth:`Array.read` for tables, :meth:`Array.write`, :meth:`Array.delete`.
- :func:`from_numpy`, :func:`from_pandas`, :func:`from_arrow`, :func:`from_scipy`: an array of what is in memory.
- :func:`col`: conditions as Python expressions.
- :class:`Scan`, :class:`Split`: tables for pyarrow, pandas, polars and DuckDB; parts of a read for other processes.
- :class:`SharedWrite`, :class:`SharedConsolidation`: one write, or one consolidation, by several processes.
- :func:`fsck`, :func:`repair`: what is wrong with an array, and mending it.
- :mod:`smalti.errors`: what can go wrong.
"""

from __future__ import annotations

import sys

from . import _smalti, errors
from ._smalti import __version__
from .array import Array, Attribute, Dimension, Field, Fragment
from .conditions import Condition, col
from .errors import Error
from .group import Group, Member
from .intake import from_arrow, from_numpy, from_pandas, from_scipy
from .metadata import Metadata
from .scan import Batches, RecordBatch, Scan, Split
from .schema import attr, dim, enum, schema_json
from .settings import Context, Settings
from .shared import ConsolidationPart, SharedConsolidation, SharedWrite

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    # A free-threaded build takes its lock back for such a module, unless it was told not to.
    raise ImportError("smalti needs the interpreter's lock, and this free-threaded Python runs without it; leave out PYTHON_GIL=0 and -X gil=0")

__all__ = [
    "Array",
    "Attribute",
    "Batches",
    "Condition",
    "ConsolidationPart",
    "Context",
    "Dimension",
    "Error",
    "Field",
    "Fragment",
    "Group",
    "Member",
    "Metadata",
    "RecordBatch",
    "Scan",
    "SharedConsolidation",
    "SharedWrite",
    "Split",
    "__version__",
    "attr",
    "col",
    "create",
    "create_group",
    "dim",
    "enum",
    "errors",
    "from_arrow",
    "from_numpy",
    "from_pandas",
    "from_scipy",
    "fsck",
    "kind_of",
    "open",
    "repair",
]


def open(uri, *, at=None, since=None, key=None, context=None, sync=None, metadata_limit=None):
    """Opens an array or a group.

    Args:
        uri: a path, ``file://``, or ``mem://`` for the memory of this process.
        at: the time to show: a datetime, a date (to its end), milliseconds since 1970, text such as ``"2024-05-01"``, ``"-1h"`` or
            ``"yesterday"``. Now if not said.
        since: leaves out what was written before that time.
        key: the key of an encrypted array: 32 bytes, ``"env:NAME"`` or ``"file:PATH"``.
        context: a :class:`Context`; the default one if not said.
        sync: how durable writes are when they return: ``"full"`` (as ever), ``"file"`` or ``"none"``.
        metadata_limit: the most bytes of memory that a part of the metadata may take: less for arrays of strangers.

    Raises:
        FileNotFoundError: nothing is there; the message says what is near.
        PermissionError: the key is missing, or a wrong one.
        smalti.errors.CorruptError: a file is damaged; the error says which byte of it.
    """
    settings = Settings(at, since, key, sync, metadata_limit, context)
    uri = _path(uri)
    options = settings.options()
    if "://" in uri and not uri.startswith(("file:", "mem:")):
        # From far away every question takes a while, and most things that are opened are arrays.
        try:
            return Array(_smalti.Array.open(uri, options), settings)
        except FileNotFoundError:
            pass
    if _smalti.kind_of(uri, options) == "group":
        return Group(_smalti.Group.open(uri, options), settings)
    return Array(_smalti.Array.open(uri, options), settings)


def create(
    uri,
    dims=None,
    attrs=None,
    *,
    sparse=None,
    schema=None,
    enums=(),
    cell_order=None,
    tile_order=None,
    capacity=None,
    duplicates=False,
    current_domain=None,
    version=None,
    at=None,
    key=None,
    context=None,
    sync=None,
):
    """Creates an array.

    Args:
        uri: where; nothing may be there.
        dims: dimensions made with :func:`dim`.
        attrs: attributes made with :func:`attr`.
        sparse: whether only cells that are written are there, as in a table; a grid if not said.
        schema: instead of all that: a schema in smalti's JSON notation, as a dictionary or text.
        enums: enumerations made with :func:`enum`.
        cell_order: the order of cells in a tile: ``"C"``, ``"F"`` or ``"hilbert"``.
        tile_order: the order of tiles: ``"C"`` or ``"F"``.
        capacity: how many cells a tile of a sparse array has.
        duplicates: whether several cells may have the same coordinates.
        current_domain: a pair of ends for each dimension: the part of the domain that is in use for now.
        version: the format version to write.
        at: the time of the creation.
        key, context, sync: as for :func:`open`.

    >>> A = create("mem://create-docs", [dim("x", (0, 99), tile=10)], [attr("value", "float32")])
    >>> A.shape
    (100,)
    """
    import json

    if schema is None:
        if dims is None or attrs is None:
            raise TypeError("an array needs dims= and attrs=, or a schema=")
        schema = schema_json(
            [dims] if isinstance(dims, dict) else dims,
            [attrs] if isinstance(attrs, dict) else attrs,
            sparse=bool(sparse),
            enums=enums,
            cell_order=cell_order,
            tile_order=tile_order,
            capacity=capacity,
            duplicates=duplicates,
            current_domain=current_domain,
            version=version,
        )
    elif not isinstance(schema, str):
        schema = json.dumps(schema)
    settings = Settings(None, None, key, sync, None, context)
    return Array(_smalti.Array.create(_path(uri), schema, settings.options(at)), settings)


def create_group(uri, *, key=None, context=None, sync=None):
    """Creates a group without members."""
    settings = Settings(None, None, key, sync, None, context)
    return Group(_smalti.Group.create(_path(uri), settings.options()), settings)


def kind_of(uri, *, context=None):
    """What is at a URI: ``"array"``, ``"group"`` or ``None``."""
    return _smalti.kind_of(_path(uri), Settings(context=context).options())


def fsck(uri, *, data=False, shallow=False, key=None, context=None, progress=None, _settings=None):
    """Checks an array or group: a :class:`Check` with all that is wrong, and what a repair would do.

    Args:
        data: whether the tiles are read too.
        shallow: whether members of a group are left out.
    """
    from .checks import Check
    from .progress import hook_of

    settings = _settings or Settings(key=key, context=context)
    told = _smalti.fsck(_path(uri), settings.options(), data=data, shallow=shallow, hook=hook_of(progress))
    return Check(uri, told)


def repair(uri, *, give_up=False, dry_run=False, data=False, shallow=False, key=None, context=None, progress=None):
    """Mends an array or group as far as that is provable: a :class:`Repair`. Nothing is deleted: what is in the way is set aside.

    Args:
        give_up: whether fragments that cannot be mended are set aside.
        dry_run: whether it is only told what would be done.
    """
    from .checks import Repair
    from .progress import hook_of

    settings = Settings(key=key, context=context)
    hook = hook_of(progress)
    told = _smalti.repair(_path(uri), settings.options(), give_up=give_up, dry_run=dry_run, data=data, shallow=shallow, hook=hook)
    return Repair(uri, *told)


def _path(uri):
    """A URI from text or a path."""
    import os

    return os.fspath(uri)

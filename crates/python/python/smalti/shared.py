"""Writes and consolidations that several processes do together: each puts fragments, and one commit shows all of them, or none."""

from __future__ import annotations

import contextlib
import threading

from . import _smalti
from .progress import hook_of
from .scan import Split


class _Puts:
    """What threads of this process are putting, by the write that it is a part of."""

    def __init__(self):
        self._changed = threading.Condition()
        self._counts = {}
        self._abandoned = set()

    @contextlib.contextmanager
    def one(self, write):
        with self._changed:
            if write in self._abandoned:
                raise ValueError("this write was abandoned; begin another one by share_write()")
            self._counts[write] = self._counts.get(write, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._counts[write] -= 1
                if self._counts[write] == 0:
                    del self._counts[write]
                    self._changed.notify_all()

    def abandon(self, write):
        """Lets nothing of a write begin any more, and waits for what has begun."""
        with self._changed:
            self._abandoned.add(write)
            self._changed.wait_for(lambda: write not in self._counts)


_puts = _Puts()


class SharedWrite:
    """A write that several processes, or machines, do together; made by :meth:`smalti.Array.share_write`, and pickled.

    Each process puts parts of it and hands the names of their fragments on; one of them commits those. Readers see all cells at one moment, or
    none. A part that was written twice counts once: the names say which. What is left of processes that died is removed by the commit.

    >>> import numpy as np, pickle, smalti as sm
    >>> A = sm.create("mem://shared-docs", sm.dim("x", (0, 99), tile=10), sm.attr("value", "int64"))
    >>> share = A.share_write()
    >>> names = []
    >>> for start in (0, 50):  # in other processes
    ...     part = pickle.loads(pickle.dumps(share))
    ...     names += part.put_box(slice(start, start + 50), np.arange(start, start + 50))
    >>> A.reopen().fragments
    []
    >>> share.commit(names)
    >>> A.reopen()[48:52]
    array([48, 49, 50, 51])
    """

    __slots__ = ("_array", "_text")

    def __init__(self, array, text):
        self._array = array
        self._text = text

    @property
    def uri(self):
        """Where the array is."""
        return self._array.uri

    def put(self, data, *, order=None, keep_first=False, memory=None, progress=False):
        """Writes cells as a part of the write: what :meth:`smalti.Array.write` takes. Returns the names of the fragments."""
        from .write import write

        with _puts.one(self._text):
            return write(self._array, data, at=None, order=order, keep_first=keep_first, memory=memory, progress=progress, share=self._text)

    def put_box(self, key, values, *, progress=False):
        """Writes a box of a dense array as a part of the write: what ``A[key] = values`` takes. Returns the names of the fragments."""
        from .write import write_dense

        with _puts.one(self._text):
            return write_dense(self._array, key, values, progress=progress, share=self._text)

    def commit(self, names):
        """Makes fragments visible at one moment, and removes what else is left of the write.

        Raises:
            ValueError: for names of another write, and where this one is committed already.
            FileNotFoundError: for a fragment that is not there as a whole. Nothing is visible then.
        """
        self._array._handle.commit_shared(self._text, list(names))
        self._array._changed()

    def abandon(self):
        """Removes what was put, none of which will be seen. Returns the number of fragments.

        Threads of this process that are putting a part are waited for, and none begins any more. What other processes put afterwards is seen by
        nobody; `smalti fsck` tells of it.
        """
        _puts.abandon(self._text)
        return self._array._handle.abandon_shared(self._text)

    def __reduce__(self):
        return SharedWrite, (self._array, self._text)

    def __repr__(self):
        return f"SharedWrite({self.uri!r}, {self._text!r})"


class SharedConsolidation:
    """A consolidation that several processes, or machines, do together; made by :meth:`smalti.Array.share_consolidation`.

    The process that plans it hands out ``parts``, which are pickled, and commits what comes back. Readers see what was merged, or what it was made
    of, never both. While it is open no other consolidation or vacuum runs.

    >>> import numpy as np, smalti as sm
    >>> A = sm.create("mem://shared-consolidation-docs", sm.dim("x", (0, 99), tile=10), sm.attr("value", "int64"))
    >>> for start in range(0, 100, 10):
    ...     A[start : start + 10] = np.arange(start, start + 10)
    >>> with A.share_consolidation(2) as consolidation:
    ...     merged = [part.merge() for part in consolidation.parts]  # in other processes
    ...     _ = consolidation.commit(merged)
    >>> len(A.reopen().fragments)
    2
    """

    __slots__ = ("_array", "_handle", "parts", "_is_over")

    def __init__(self, array, handle):
        self._array = array
        self._handle = handle
        self._is_over = False
        self.parts = [ConsolidationPart(Split(split, array._settings), share, purge) for split, share, purge in handle.parts()]

    def commit(self, merged):
        """Makes what came of the parts visible, in their order: what :meth:`ConsolidationPart.merge` gave for each. Returns for each merge the names
        of what was merged and of what it became.

        Raises:
            ValueError: for more or fewer parts, or fragments that do not hold what was merged. Nothing is changed then.
        """
        self._is_over = True
        done = self._handle.commit([list(names) for names in merged])
        self._array._changed()
        return done

    def abandon(self):
        """Removes what was merged so far."""
        self._is_over = True
        self._handle.abandon()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self._is_over:
            self.abandon()

    def __repr__(self):
        return f"<smalti.SharedConsolidation of {self._array.uri}, {len(self.parts)} parts>"


class ConsolidationPart:
    """A part of a consolidation, to be merged anywhere."""

    __slots__ = ("_split", "_share", "_purge")

    def __init__(self, split, share, purge):
        self._split = split
        self._share = share
        self._purge = purge

    @property
    def bytes(self):
        """About the bytes that it reads."""
        return self._split.bytes

    def merge(self, *, memory=None, verify=True, progress=False):
        """Merges it: the names of its fragments, for the process that planned the consolidation."""
        return _smalti.merge_part(self._split._split, self._share, self._purge, memory=memory, verify=verify, hook=hook_of(progress))

    def __reduce__(self):
        return ConsolidationPart, (self._split, self._share, self._purge)

    def __repr__(self):
        return f"<smalti.ConsolidationPart {self._split.number} of {self._split.count}, {self.bytes} bytes of {self._split.uri}>"


__all__ = ["ConsolidationPart", "SharedConsolidation", "SharedWrite"]

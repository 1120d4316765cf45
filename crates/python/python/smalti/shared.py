"""Writes that several processes do together: each puts fragments, and one commit shows all of them, or none."""

from __future__ import annotations


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

        return write(self._array, data, at=None, order=order, keep_first=keep_first, memory=memory, progress=progress, share=self._text)

    def put_box(self, key, values, *, progress=False):
        """Writes a box of a dense array as a part of the write: what ``A[key] = values`` takes. Returns the names of the fragments."""
        from .write import write_dense

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
        """Removes what was put, none of which will be seen. Returns the number of fragments."""
        return self._array._handle.abandon_shared(self._text)

    def __reduce__(self):
        return SharedWrite, (self._array, self._text)

    def __repr__(self):
        return f"SharedWrite({self.uri!r}, {self._text!r})"


__all__ = ["SharedWrite"]

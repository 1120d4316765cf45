"""The exceptions of smalti.

Each is a :class:`Error` and, where Python has one for what happened, that one too: ``except FileNotFoundError`` catches a missing array,
``except ValueError`` a condition that does not fit. Beside its message an error has parts for programs: ``kind``, ``uri``, ``structure``,
``field`` and ``offset``.
"""

from __future__ import annotations


class Error(Exception):
    """What went wrong, with the place where it did.

    Attributes:
        kind: what it is, as a word: ``"not_found"``, ``"corrupt"`` and so on.
        reason: the message without the place.
        uri: the file, array or group that it is about, if one is known.
        structure: the structure of the file that is wrong, such as ``"fragment footer"``.
        field: the field of that structure.
        offset: the byte of the file.
    """

    kind: str = "other"

    def __init__(self, message, reason=None, uri=None, structure=None, field=None, offset=None):
        super().__init__(message)
        self.reason = message if reason is None else reason
        self.uri = uri
        self.structure = structure
        self.field = field
        self.offset = offset

    def __str__(self):
        return self.args[0] if self.args else ""

    def __reduce__(self):
        return type(self), (self.args[0], self.reason, self.uri, self.structure, self.field, self.offset)

    @property
    def file(self):
        """The file or folder that it is about; the same as ``uri``."""
        return self.uri


class NotFoundError(Error, FileNotFoundError):
    """There is no such array, group, field, member or file."""

    kind = "not_found"


class AlreadyExistsError(Error, FileExistsError):
    """Something is there already."""

    kind = "already_exists"


class CorruptError(Error):
    """A file is damaged: ``uri``, ``structure``, ``field`` and ``offset`` say where."""

    kind = "corrupt"


class UnsupportedError(Error, NotImplementedError):
    """What is asked for, or stored, is nothing that smalti does."""

    kind = "unsupported"


class InvalidArgumentError(Error, ValueError):
    """What was given does not fit; the message says what would."""

    kind = "invalid_argument"


class AccessError(Error, PermissionError):
    """The key, or the right to a file, is missing."""

    kind = "permission"


class StorageError(Error, OSError):
    """What a disk or another store reported."""

    kind = "io"


class CancelledError(Error):
    """The work was told to stop."""

    kind = "cancelled"


class OutOfMemoryError(Error, MemoryError):
    """The work takes more memory than it may have; the message says how much would do."""

    kind = "out_of_memory"


_KINDS = {
    kind.kind: kind
    for kind in (
        NotFoundError,
        AlreadyExistsError,
        CorruptError,
        UnsupportedError,
        InvalidArgumentError,
        AccessError,
        StorageError,
        CancelledError,
        OutOfMemoryError,
    )
}


def of_kind(kind, message, reason, uri, structure, field, offset):
    """The exception for an error of the engine."""
    return _KINDS.get(kind, Error)(message, reason, uri, structure, field, offset)

"""Metadata of arrays and groups as a mapping."""

from __future__ import annotations

from collections.abc import MutableMapping

from .types import bytes_of, value_of


class Metadata(MutableMapping):
    """The metadata of an array or group: text, bytes, numbers, times and tuples of numbers, by name.

    What is put is durable at once; :meth:`update` puts several keys in one write.

    >>> import smalti as sm
    >>> group = sm.create_group("mem://metadata-docs")
    >>> group.meta.update(station="Zugspitze", height=2962)
    >>> dict(group.meta)
    {'height': 2962, 'station': 'Zugspitze'}
    """

    def __init__(self, owner):
        self._owner = owner

    def _read(self):
        return self._owner._handle.metadata()

    def __getitem__(self, key):
        for name, told in self._read():
            if name == key:
                return value_of(told)
        raise KeyError(key)

    def __setitem__(self, key, value):
        self._write([(key, value)], [])

    def __delitem__(self, key):
        if key not in self:
            raise KeyError(key)
        self._write([], [key])

    def __iter__(self):
        return iter([name for name, _ in self._read()])

    def __len__(self):
        return len(self._read())

    def __contains__(self, key):
        return any(name == key for name, _ in self._read())

    def items(self):
        """Keys and values."""
        return {name: value_of(told) for name, told in self._read()}.items()

    def values(self):
        """Values."""
        return {name: value_of(told) for name, told in self._read()}.values()

    def datatype(self, key):
        """The datatype of a key's value."""
        for name, (datatype, _) in self._read():
            if name == key:
                return datatype
        raise KeyError(key)

    def update(self, other=(), /, **more):
        """Puts several keys at once."""
        self._write(list(dict(other, **more).items()), [])

    def clear(self):
        """Deletes all keys at once."""
        self._write([], list(self))

    def exact(self):
        """All of it as lists of a key, the name of a datatype and hexadecimal digits, which JSON can hold."""
        return [[key, datatype, bytes(data).hex()] for key, (datatype, data) in self._read()]

    def restore(self, exact):
        """Puts what :meth:`exact` gave."""
        if exact:
            self._owner._handle.write_metadata([(key, datatype, bytes.fromhex(data)) for key, datatype, data in exact], [], None)
            self._owner._changed()

    def _write(self, put, delete, at=None):
        put = [(key, *bytes_of(value)) for key, value in put]
        if put or delete:
            self._owner._handle.write_metadata(put, delete, at)
            self._owner._changed()

    def __repr__(self):
        return f"Metadata({dict(self.items())!r})"

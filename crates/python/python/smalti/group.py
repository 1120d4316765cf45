"""Groups: arrays and groups by name."""

from __future__ import annotations

from collections.abc import MutableMapping

from . import _smalti
from .array import Array, Report, _Closed
from .metadata import Metadata


class Member:
    """What a group says of one of its members.

    Attributes:
        name: its name, or its URI where it has none.
        uri: its URI, as the group has it.
        is_relative: whether that is relative to the group.
        kind: ``"array"``, ``"group"``, or ``None`` where the group does not say.
        address: the whole URI.
    """

    __slots__ = ("name", "uri", "is_relative", "kind", "address")

    def __init__(self, name, uri, is_relative, kind, address):
        self.name = name
        self.uri = uri
        self.is_relative = is_relative
        self.kind = kind
        self.address = address

    def __repr__(self):
        return f"<Member {self.name!r}: {self.kind or 'unknown'} at {self.address or self.uri}>"


class Group(MutableMapping):
    """A group, a mapping from names to arrays and groups.

    >>> import numpy as np, smalti as sm
    >>> weather = sm.create_group("mem://group-docs")
    >>> weather["rain"] = sm.from_numpy("mem://group-docs/rain", np.zeros(4))
    >>> list(weather)
    ['rain']
    >>> weather["rain"].shape
    (4,)
    """

    def __init__(self, handle, settings):
        self._handle = handle
        self._settings = settings

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Lets go of the group."""
        self._handle = _Closed(self.uri)

    def reopen(self, at=None):
        """The group as it is now, or as it was at a time."""
        settings = self._settings if at is None else self._settings.with_times(at)
        return Group(_smalti.Group.open(self.uri, settings.options()), settings)

    def _changed(self):
        pass

    def __reduce__(self):
        return _opened, (self.uri, self._settings)

    @property
    def uri(self):
        """Where it is."""
        return self._handle.uri

    @property
    def meta(self):
        """Its metadata, a mapping."""
        return Metadata(self)

    @property
    def members(self):
        """Its members by name, without opening them."""
        return {told[0]: Member(*told) for told in self._handle.members()}

    def __getitem__(self, name):
        head, slash, rest = name.partition("/")
        members = self.members
        member = members.get(name) or members.get(head)
        if member is None:
            raise KeyError(name)
        found = self._opened(member)
        return found[rest] if slash and member.name != name and isinstance(found, Group) else found

    def _opened(self, member):
        """What a member is, without a look at the list of members."""
        if member.address is None:
            # It says why there is none.
            return Array(self._handle.array(member.name), self._settings)
        options = self._settings.options()
        kind = member.kind or _smalti.kind_of(member.address, options)
        if kind == "group":
            return Group(_smalti.Group.open(member.address, options), self._settings)
        return Array(_smalti.Array.open(member.address, options), self._settings)

    def __iter__(self):
        return iter(self.members)

    def __len__(self):
        return len(self.members)

    def __contains__(self, name):
        return name in self.members

    def __setitem__(self, name, member):
        """Lists an array or group, or what is at a URI, under a name; what was listed under that name is replaced."""
        self.add(member, name)

    def __delitem__(self, name):
        """Takes a member off the list; what it points to stays."""
        if name not in self.members:
            raise KeyError(name)
        self._handle.write_members([], [name])

    def add(self, member, name=None):
        """Lists an array or group, or what is at a URI, as a member; relative to the group where it lies in its folder."""
        self._handle.write_members([told := self._told(member, name)], [], told[2] in self.members)

    def _told(self, member, name=None):
        """A member as the engine takes it: its URI, whether that is relative, and its name."""
        uri = getattr(member, "uri", member)
        own = self.uri.rstrip("/") + "/"
        is_relative = uri.startswith(own) or ("://" not in uri and not uri.startswith("/"))
        uri = uri.removeprefix(own)
        return uri, is_relative, uri.rstrip("/").rpartition("/")[2] if name is None else name

    def create_group(self, name, **meta):
        """Makes a group in this one's folder, and lists it."""
        uri = f"{self.uri.rstrip('/')}/{name}"
        made = Group(_smalti.Group.create(uri, self._settings.options()), self._settings)
        self.add(made, name)
        if meta:
            made.meta.update(meta)
        return made

    def delete(self, *, members=False):
        """Deletes the group from the disk, and its members with it where that is asked for: what was deleted."""
        return self._handle.delete(members)

    def describe(self):
        """The group on one page, as :meth:`Array.describe`."""
        return Report(*_smalti.describe_group(self._handle))

    @property
    def history(self):
        """What happened to it, as :attr:`Array.history`."""
        return [Report(*told) for told in _smalti.history_of_group(self._handle)]

    def walk(self, _prefix=""):
        """All arrays and groups below it: pairs of a path and a :class:`Member`."""
        for name, member in self.members.items():
            yield _prefix + name, member
            if member.kind == "group":
                yield from self[name].walk(f"{_prefix}{name}/")

    def __repr__(self):
        if isinstance(self._handle, _Closed):
            return f"<smalti.Group {self.uri!r}, closed>"
        return f"<smalti.Group {self.uri!r}: {', '.join(self) or 'no members'}>"

    def _repr_html_(self):
        from .html import group_html

        return group_html(self)


def _opened(uri, settings):
    return Group(_smalti.Group.open(uri, settings.options()), settings)

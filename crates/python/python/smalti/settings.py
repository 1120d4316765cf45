"""How something was opened, to open it again: in this process or in another."""

from __future__ import annotations

import os

from . import _smalti
from .times import moment_of, until_of


class Context:
    """What arrays and groups of a program share: threads, memory, and the cache of decoded tiles.

    Args:
        threads: how many threads work; as many as there are cores if not said. They start with the first work that is worth it.
        memory: the bytes that reads, writes and caches may take together.
        cache: whether decoded tiles are kept for later reads.
        config: settings of object stores and the network by their keys, which docs/settings.md lists, over those of the environment. Secrets can
            be given by name: ``"env:NAME"`` is the value of an environment variable, ``"file:PATH"`` the content of a file. A context whose
            secrets were given otherwise cannot be pickled.

    >>> import smalti as sm
    >>> context = sm.Context(threads=2, memory=256 << 20, config={"s3.region": "eu-west-1", "network.timeout": "10 s"})
    >>> context.kept_bytes
    0
    >>> context.settings["s3.region"]
    'eu-west-1'
    """

    def __init__(self, threads=0, memory=None, cache=True, config=None):
        config = {str(name): _text_of(value) for name, value in dict(config or {}).items()}
        secrets = _smalti.secret_keys()
        # A bare secret is let go of here: the handle has it.
        self._bare = tuple(name for name, value in config.items() if name in secrets and not _is_named(value))
        values = [(name, _secret_of(name, value) if name in secrets else value) for name, value in config.items()]
        self._handle = _smalti.Context(threads, memory, cache, values)
        self._settings = (threads, memory, cache, {name: value for name, value in config.items() if name not in self._bare})

    @property
    def memory(self):
        """The bytes that reads, writes and caches may take together; ``None`` without a budget."""
        return self._settings[1]

    @property
    def kept_bytes(self):
        """The bytes of decoded tiles and metadata that it keeps."""
        return self._handle.kept_bytes

    @property
    def taken_bytes(self):
        """The bytes that reads and writes under way have taken."""
        return self._handle.taken_bytes

    @property
    def spare_bytes(self):
        """The bytes of memory that results gave back, and that wait for the next."""
        return self._handle.spare_bytes

    @property
    def settings(self):
        """What its object stores are set to, as a dict: the values of secrets are not shown, and ``None`` is for what nobody set."""
        return {name: value for name, value, _ in self._handle.settings}

    def forget(self):
        """Lets go of what it keeps."""
        self._handle.forget()

    def trim(self):
        """Gives memory that waits for results back to the system."""
        self._handle.trim()

    def __reduce__(self):
        if self._bare:
            raise TypeError(
                f'secrets are not pickled ({", ".join(self._bare)}); give them by name, "env:NAME" or "file:PATH", or leave them to the environment'
            )
        return Context, self._settings

    def __repr__(self):
        threads, memory, cache, config = self._settings
        names = [*config, *self._bare]
        if not names:
            return f"Context(threads={threads}, memory={memory}, cache={cache})"
        shown = self.settings
        return f"Context(threads={threads}, memory={memory}, cache={cache}, config={dict((name, shown[name]) for name in names)})"


class Settings:
    """Times, key, durability and context of what is opened.

    A key is never written down: what was opened with ``key=`` can be pickled only if the key was given by name, as ``key="env:NAME"`` (an
    environment variable with 64 hexadecimal digits) or ``key="file:PATH"`` (a file with 32 bytes).
    """

    __slots__ = ("at", "since", "key", "sync", "metadata_limit", "context")

    def __init__(self, at=None, since=None, key=None, sync=None, metadata_limit=None, context=None):
        self.at = until_of(at)
        self.since = moment_of(since)
        self.key = key
        self.sync = sync
        self.metadata_limit = metadata_limit
        self.context = context

    def options(self, created_at=None):
        """As the engine takes them."""
        context = self.context._handle if self.context is not None else None
        return _smalti.Options(
            at=self.at,
            since=self.since,
            created_at=moment_of(created_at),
            key=_key_of(self.key),
            sync=self.sync,
            metadata_limit=self.metadata_limit,
            context=context,
        )

    @property
    def is_bounded(self):
        """Whether the context has a budget of memory."""
        return self.context is not None and self.context.memory is not None

    def with_times(self, at, since=None):
        """The same at another time."""
        return Settings(at, since, self.key, self.sync, self.metadata_limit, self.context)

    def __getstate__(self):
        if self.key is not None and not isinstance(self.key, str):
            raise TypeError('a key is not pickled; give it by name: key="env:NAME" or key="file:PATH"')
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state):
        for name, value in state.items():
            setattr(self, name, value)


def _text_of(value):
    """A setting as the engine takes it: Python's flags and numbers have another text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, os.PathLike)):
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    raise TypeError(f"a setting is a text, a number or a flag, not of {type(value).__name__}")


def _is_named(value):
    return value.startswith(("env:", "file:"))


def _secret_of(setting, value):
    """A secret that may be given by name. Errors do not repeat it."""
    if not _is_named(value):
        return value
    kind, _, name = value.partition(":")
    if kind == "file":
        with open(name, encoding="utf-8") as file:
            return file.read().strip()
    text = os.environ.get(name)
    if text is None:
        raise KeyError(f"the environment variable {name} with the setting {setting} is not set")
    return text


def _key_of(key):
    if key is None:
        return None
    if isinstance(key, (bytes, bytearray, memoryview)):
        return bytes(key)
    kind, _, name = str(key).partition(":")
    if kind == "env":
        text = os.environ.get(name)
        if text is None:
            raise KeyError(f"the environment variable {name} with the key is not set")
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise ValueError(f"the environment variable {name} holds no key: 64 hexadecimal digits") from None
    if kind == "file":
        with open(name, "rb") as file:
            return file.read()
    raise ValueError('a key is 32 bytes, "env:NAME" or "file:PATH"')

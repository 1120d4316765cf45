"""An old release of libtiledb, driven through its C interface in a process of its own.

ctypes cannot unload a library, and an old release that crashes or hangs must not end the run: `OldReader` starts a
process for one release, and a new one after a crash. The C interface itself is spoken by the interop tests' `Library`,
from which `OldLibrary` differs in what old releases lack.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
from ctypes import byref, c_int32, c_uint32, c_uint64

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "interop"))

import celltypes  # noqa: E402
import libtiledb  # noqa: E402

# Releases before these do not know the option "reinterpret" of the filter.
REINTERPRETS_SINCE = {"delta": (2, 16), "double_delta": (2, 17)}
# Room for each buffer of a read, which holds what nearly every case reads at once.
READ_BUFFER_BYTES = 1 << 18


class OldLibrary(libtiledb.Library):
    """A release that is loaded from a path, for reading."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.contexts = {}
        self.ctx = self.key = None
        parts = c_int32(), c_int32(), c_int32()
        self.lib.tiledb_version(*(byref(part) for part in parts))
        self.release_number = tuple(part.value for part in parts)
        for kind, since in REINTERPRETS_SINCE.items():
            if self.release_number < since:
                libtiledb.OPTIONS[kind] = {"level": (0, c_int32)}
        # Old releases refuse reads that do not fit a tile where newer ones return a part.
        libtiledb.SMALLEST_READ_BUFFER = libtiledb.ROOMY_READ_BUFFER = READ_BUFFER_BYTES

    def release(self):
        """The library's version, as it says itself."""
        return self.release_number

    def non_empty_domain(self, uri, schema, at=None):
        """[[low, high]] of each dimension (bytes of strings in hexadecimal), or None while nothing is written."""
        array = self.open(uri, libtiledb.READ, at=at)
        try:
            bounds = [self._bounds(array, i, dim["type"]) for i, dim in enumerate(schema["dims"])]
            return None if None in bounds else bounds
        finally:
            self.close(array)

    def _bounds(self, array, index, datatype):
        empty = c_int32()
        if datatype == "STRING_ASCII":
            sizes = c_uint64(), c_uint64()
            name = "array_get_non_empty_domain_var_%sfrom_index"
            self.call(name % "size_", array, c_uint32(index), byref(sizes[0]), byref(sizes[1]), byref(empty))
            if empty.value:
                return None
            low, high = (ctypes.create_string_buffer(size.value + 1) for size in sizes)
            self.call(name % "", array, c_uint32(index), low, high, byref(empty))
            return [low.raw[: sizes[0].value].hex(), high.raw[: sizes[1].value].hex()]
        room = ctypes.create_string_buffer(2 * celltypes.UNIT_LEN[datatype])
        self.call("array_get_non_empty_domain_from_index", array, c_uint32(index), room, byref(empty))
        return None if empty.value else celltypes.unpack(datatype, room.raw)


class OldReader(libtiledb.Reference):
    """An `OldLibrary` in a process of its own: `reader("read", key, uri, ...)`."""

    def __init__(self, path, timeout_s=120):
        super().__init__(timeout_s)
        self.path = path

    def _once(self, operation, key, args, kwargs):
        if self.process is None:
            command = [sys.executable, os.path.abspath(__file__), self.path]
            # What a crashing library prints tells nothing that the exit status does not.
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return super()._once(operation, key, args, kwargs)


if __name__ == "__main__":
    libtiledb.Library = lambda: OldLibrary(sys.argv[1])
    libtiledb._serve()

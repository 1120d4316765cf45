"""Releases of libtiledb that read the arrays, and where their shared libraries come from: the Python wheels of tiledb.

A wheel is fetched with pip, from whatever index pip is configured for, and its hash compared with the one below. Only
the shared library is kept. The Python that a wheel was made for does not matter to ctypes.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    wheel: str  # version of the Python package
    library: str  # version of libtiledb inside
    version: int  # format version that it writes, and the newest that it reads
    python: str  # a Python that the wheel exists for
    sha256: str  # of the wheel for that Python on Linux, x86-64

    @property
    def number(self):
        """The library's version as numbers, to compare."""
        return tuple(int(part) for part in self.library.split("."))


RELEASES = [
    Release("0.14.5", "2.8.3", 12, "3.7", "d18bf313b7afa0037afc4e061c327883b3335766c8e0f5716c5c9be3c4e6fa9c"),
    Release("0.15.6", "2.9.5", 13, "3.7", "88d4a6596dc52a6aab79816535cb1d4279126328ed21764fb3b0d22d7991865d"),
    Release("0.16.5", "2.10.4", 14, "3.7", "1320ef3c796bf6ed0c0e856f575d9ed14bea5bf4a7dde9b938e9e43605288c8e"),
    Release("0.17.6", "2.11.3", 15, "3.7", "9678538a67af5934cb677a32c4fd5796c7634e0f9a7aacba0c9b5b9d3f3ef307"),
    Release("0.18.3", "2.12.3", 16, "3.7", "525dcb42859820d92a5fce1456e9d9dabfa0cb2984d063c645ad58e98b7fa827"),
    Release("0.20.0", "2.14.0", 17, "3.7", "6ff81cfdcc8a5d15147f17ca156d09978cd034e4c2a9e34f04e919483d5ddc56"),
    Release("0.21.6", "2.15.4", 18, "3.7", "4e684a4ba52181fc7bd561d4c340b3fcfd3da717d7206e6bdb1be0925df8aad0"),
    Release("0.22.3", "2.16.3", 19, "3.7", "1f8dcbd043b946a03cdd0d9276da52b16350f043f03702c1b5ec38fea0a41e38"),
    Release("0.23.4", "2.17.4", 20, "3.7", "bd5dae4344b231ccb518348406a426ec073fb1431c09479d529827638eb3fab0"),
    Release("0.25.0", "2.19.0", 21, "3.7", "4f6ed736e15b88aa625a61a45a78278fc9e3d41bed1f3a7e388826256a6f37cb"),
    Release("0.28.0", "2.22.0", 21, "3.8", "83708d482c7676c84df64f248d8bc7b3ab1178c7177575ee66ffc96cf0c09da3"),
    Release("0.33.6", "2.27.2", 22, "3.9", "bfd9b41408d9b62033440088d99a8a7cfc4b5e5b3b8a9e4d4cd3903f3d743b5f"),
    Release("0.34.2", "2.28.1", 22, "3.9", "d28e574155ee42544e6b56c51e80afe44df43b3051a2258cb63523c31f2a902a"),
    Release("0.35.2", "2.29.2", 22, "3.9", "0bf0c92f270c536e0f76a0d8e7da20773b65df17bb48d13b83281a1d45943624"),
]
VERSIONS = sorted({release.version for release in RELEASES})
PLATFORMS = ("manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
FETCH_TIMEOUT_S = 600


class CannotFetch(Exception):
    """A wheel could not be had: the text says which, and what pip said."""


def readers(version, newer="next"):
    """Releases that must read what is written in a format version: all of that version, and of newer ones the `next`,
    `all` or `none`."""
    later = [r for r in RELEASES if r.version > version]
    return [r for r in RELEASES if r.version == version] + {"next": later[:1], "all": later, "none": []}[newer]


def library_path(release, cache):
    """Path of the release's shared library below the folder `cache`; fetched at the first call."""
    folder = pathlib.Path(cache) / release.wheel
    found = sorted(folder.glob("libtiledb*.so*"))
    if found:
        return str(found[0])
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotFetch("old releases of libtiledb are fetched as wheels for Linux on x86-64, and this is %s on %s"
                          % (platform.system(), platform.machine()))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        wheel = _download(release, scratch)
        kept = os.path.join(scratch, "kept")
        os.mkdir(kept)
        with zipfile.ZipFile(wheel) as content:
            names = [n for n in content.namelist() if _is_library(n)]
            if len(names) != 1:
                raise CannotFetch("tiledb %s holds %d libraries, not one: %s" % (release.wheel, len(names), names))
            with content.open(names[0]) as source, open(os.path.join(kept, os.path.basename(names[0])), "wb") as out:
                shutil.copyfileobj(source, out)
        # The folder appears whole, or not at all.
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(kept, folder)
    return str(next(folder.glob("libtiledb*.so*")))


def _is_library(name):
    """The library proper, not the extension module that Python imports."""
    base = name.rsplit("/", 1)[-1]
    return base.startswith("libtiledb") and ".so" in base and "cpython" not in base


def _download(release, folder):
    """Path of the wheel, whose hash pip has compared."""
    pinned = os.path.join(folder, "pinned.txt")
    with open(pinned, "w", encoding="utf-8") as out:
        out.write("tiledb==%s --hash=sha256:%s\n" % (release.wheel, release.sha256))
    digits = release.python.replace(".", "")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "--implementation", "cp", "--python-version", release.python,
               "--abi", "cp%sm" % digits if digits == "37" else "cp" + digits, "--dest", folder]
    for name in PLATFORMS:
        command += ["--platform", name]
    try:
        done = subprocess.run(command + ["--require-hashes", "--requirement", pinned], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=FETCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise CannotFetch("pip did not fetch tiledb %s within %d s" % (release.wheel, FETCH_TIMEOUT_S)) from None
    if done.returncode != 0:
        said = done.stdout.decode("utf-8", "replace").strip()[-800:]
        raise CannotFetch("pip cannot fetch the wheel tiledb %s (libtiledb %s):\n%s" % (release.wheel, release.library, said))
    return next(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".whl"))

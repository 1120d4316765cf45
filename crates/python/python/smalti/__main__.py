"""``python -m smalti``: conversions from and into other formats. The other commands are those of the program ``smalti``."""

from __future__ import annotations

import argparse
import json
import sys


def main(arguments=None):
    """Runs a command: the code that the process ends with."""
    from .convert import FORMATS

    parser = argparse.ArgumentParser(prog="python -m smalti", description="Arrays in the TileDB format.")
    commands = parser.add_subparsers(dest="command", required=True)
    convert = commands.add_parser(
        "convert",
        help="convert NetCDF, HDF5, Zarr, GeoTIFF, Parquet, CSV and h5ad into arrays and groups, and back",
        description="Converts NetCDF, HDF5, Zarr, GeoTIFF, Parquet, CSV and h5ad into arrays and groups, and back, and says what cannot be kept.",
    )
    convert.add_argument("source", metavar="SOURCE", help="a file or folder of another format, or an array or group")
    convert.add_argument("target", metavar="TARGET", help="an array or group, or a file or folder whose ending names its format")
    convert.add_argument("--dry-run", action="store_true", help="say what would be made and lost, and write nothing")
    convert.add_argument("--strict", action="store_true", help="refuse to convert where something would be lost")
    convert.add_argument("--from", dest="source_format", choices=FORMATS, help="the format of SOURCE, told by its content otherwise")
    convert.add_argument("--to", dest="target_format", choices=FORMATS, help="the format of TARGET, told by its ending otherwise")
    convert.add_argument("--dims", type=lambda text: text.split(","), metavar="A,B", help="columns of a table that become dimensions")
    convert.add_argument("--variable", metavar="NAME", help="the variable of a group that becomes a GeoTIFF")
    convert.add_argument("--zarr-format", type=int, choices=(2, 3), default=3, help="the version of a Zarr store that is made (default 3)")
    convert.add_argument("--at", metavar="TIME", help="the time of the array or group to convert")
    convert.add_argument("--key", metavar="KEY", help="the key of an encrypted array: env:NAME or file:PATH")
    convert.add_argument("--json", action="store_true", help="print what is made and lost as JSON")
    convert.add_argument("--no-progress", action="store_true", help="show no bar")
    given = parser.parse_args(arguments)
    try:
        return _convert(given)
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        return 130
    except (OSError, ValueError, KeyError, ImportError, TypeError) as error:
        print(f"error: {error.args[0] if isinstance(error, KeyError) and error.args else error}", file=sys.stderr)
        return 1


def _convert(given):
    from .convert import plan

    names = ("source_format", "target_format", "dims", "variable", "zarr_format", "at", "key")
    conversion = plan(given.source, given.target, **{name: getattr(given, name) for name in names})
    refused = given.strict and bool(conversion.lost)
    will_run = not given.dry_run and not refused
    if given.json:
        print(json.dumps({**conversion.json(), "dry_run": not will_run}, indent=2, default=str))
    else:
        print(conversion)
    if refused:
        print(f"error: {len(conversion.lost)} things would be lost; without --strict they are", file=sys.stderr)
        return 1
    if will_run:
        conversion.run(progress=False if given.no_progress else None)
    elif not given.json:
        print("\ndry run: nothing was written")
    return 0


if __name__ == "__main__":
    sys.exit(main())

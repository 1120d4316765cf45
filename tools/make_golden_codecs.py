"""Writes crates/codecs/tests/golden/*.txt: chunks that the reference library made, with the bytes that went in.

    python tools/make_golden_codecs.py          (needs the packages tiledb and numpy)

Each case is a dense one-dimensional array of one tile and one attribute; the chunk is cut out of the attribute's
data file. A record is a block of `key value` lines, bytes in hexadecimal, and ends with an empty line. Inputs come
from a fixed seed, so that a second run gives the same files except for bytes that the reference leaves
uninitialised (see bit_width_reduction.rs).
"""

import pathlib
import shutil
import struct
import tempfile

import numpy as np
import tiledb

OUT = pathlib.Path(__file__).resolve().parent.parent / "crates" / "codecs" / "tests" / "golden"
RNG = np.random.default_rng(20)
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def name_of(dtype):
    """The format's name of a numpy type."""
    kind = str(dtype)
    return "DATETIME_NS" if kind == "datetime64[ns]" else kind.upper()


def chunk(path):
    """Metadata and data of the only chunk of a data file, and the original length."""
    raw = path.read_bytes()
    (count,) = struct.unpack_from("<Q", raw)
    assert count == 1, f"{path}: {count} chunks"
    original, filtered, metadata = struct.unpack_from("<III", raw, 8)
    body = raw[20:]
    assert len(body) == metadata + filtered
    return original, body[:metadata], body[metadata:]


def write(values, filters, **attribute):
    """Writes an array of one tile; the chunks of its only fragment and the cells read back, or None and the error when
    the reference refuses."""
    folder = pathlib.Path(tempfile.mkdtemp())
    uri = str(folder / "a")
    domain = tiledb.Domain(
        tiledb.Dim(name="d", domain=(0, len(values) - 1), tile=len(values), dtype=np.uint64, filters=tiledb.FilterList())
    )
    attr = tiledb.Attr(name="a", filters=tiledb.FilterList(filters), **attribute)
    tiledb.Array.create(uri, tiledb.ArraySchema(domain=domain, attrs=[attr]))
    try:
        with tiledb.open(uri, "w") as array:
            array[:] = values
    except tiledb.TileDBError as error:
        shutil.rmtree(folder)
        return None, str(error)
    fragment = next((folder / "a" / "__fragments").iterdir())
    files = {file.name: chunk(file) for file in fragment.glob("a0*.tdb") if file.stat().st_size > 20}
    with tiledb.open(uri) as array:
        back = array[:]
    shutil.rmtree(folder)
    return files, back["a"] if isinstance(back, dict) else back


class Goldens:
    """The records of one filter."""

    def __init__(self, filter_name):
        self.path = OUT / f"{filter_name}.txt"
        self.lines = []

    def record(self, case, fields):
        self.lines += [f"case {case}"] + [f"{key} {value}" for key, value in fields.items()] + [""]

    def fixed(self, case, values, filters, repeat=1, **options):
        """A case on fixed cells; with `repeat`, all equal and recorded once. `back` is what is read where it differs."""
        if repeat > 1:
            options["repeat"] = repeat
        files, back = write(values, filters, dtype=values.dtype)
        fields = {"datatype": name_of(values.dtype), **options}
        fields["input"] = values.tobytes().hex() if repeat == 1 else values[:1].tobytes().hex()
        if files is None:
            fields["refused"] = back.strip().splitlines()[-1].split("/")[-1]
        else:
            original, metadata, data = files["a0.tdb"]
            assert original == values.nbytes
            fields |= {"metadata": metadata.hex(), "data": data.hex()}
            if back.tobytes() != values.tobytes():
                fields["back"] = back.tobytes().hex()
        self.record(case, fields)

    def strings(self, case, values, filters, **options):
        """A case on var-sized ASCII strings."""
        files, back = write(np.array(values, dtype="O"), filters, dtype="ascii", var=True)
        assert files is not None, back
        _, metadata, data = files["a0_var.tdb"]
        lens = ",".join(str(len(value)) for value in values)
        text = "".join(values).encode()
        self.record(case, {"lens": lens, **options, "input": text.hex(), "metadata": metadata.hex(), "data": data.hex()})

    def save(self):
        self.path.write_text("\n".join(self.lines))
        print(self.path.name, len(self.lines), "lines", self.path.stat().st_size, "bytes")


def noise(dtype, count):
    """Values of all magnitudes."""
    if np.dtype(dtype).kind == "f":
        return (RNG.standard_normal(count) * 1000).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


def shuffles():
    for filter_name, filter_ in [
        ("byteshuffle", tiledb.ByteShuffleFilter()),
        ("bitshuffle", tiledb.BitShuffleFilter()),
        ("xor", tiledb.XORFilter()),
    ]:
        goldens = Goldens(filter_name)
        for dtype in INTEGERS + ["float32", "float64", "datetime64[ns]"]:
            for count in [1, 7, 8, 37, 64]:
                values = noise("int64" if "date" in dtype else dtype, count).astype(dtype)
                goldens.fixed(f"{dtype}_{count}", values, [filter_])
        if filter_name != "xor":
            goldens.fixed("over_a_block_int32", noise("int32", 2103), [filter_])
            goldens.fixed("over_a_block_uint8", noise("uint8", 8197), [filter_])
            goldens.fixed("over_a_block_int64", noise("int64", 1031), [filter_])
            # Runs of 4 + 2 bytes make lengths that are no multiple of the cell.
            for count in [1, 5, 30]:
                values = noise("int32", count)
                goldens.fixed(f"after_rle_int32_{count}", values, [tiledb.RleFilter(), filter_], after="rle")
        goldens.save()


def deltas():
    for filter_name, filter_ in [("delta", tiledb.DeltaFilter()), ("double_delta", tiledb.DoubleDeltaFilter())]:
        goldens = Goldens(filter_name)
        for dtype in INTEGERS:
            info = np.iinfo(dtype)
            for count in [1, 2, 3, 50]:
                goldens.fixed(f"{dtype}_noise_{count}", noise(dtype, count), [filter_])
            for slope in [0, 1, 3]:
                values = (np.arange(40) * slope + RNG.integers(0, 2, 40)).astype(dtype)
                goldens.fixed(f"{dtype}_slope_{slope}", values, [filter_])
            goldens.fixed(f"{dtype}_falling", np.arange(100, 0, -1).astype(dtype), [filter_])
            goldens.fixed(f"{dtype}_extremes", np.array([info.min, info.max, info.min], dtype=dtype), [filter_])
            goldens.fixed(f"{dtype}_halves", np.array([0, info.max // 2, 0, 1, info.max // 2], dtype=dtype), [filter_])
            goldens.fixed(f"{dtype}_two_extremes", np.array([info.min, info.max], dtype=dtype), [filter_])
        for bits in range(1, 62):
            values = np.cumsum(np.cumsum(RNG.integers(-(2**bits) + 1, 2**bits, 70) // 8192 if bits > 50 else RNG.integers(-(2**bits) + 1, 2**bits, 70)))
            goldens.fixed(f"int64_width_{bits}", values.astype("int64"), [filter_])
        times = np.array(np.cumsum(RNG.integers(900, 1100, 60)) + 1_700_000_000_000_000_000).astype("datetime64[ns]")
        goldens.fixed("datetime_ns", times, [filter_])
        goldens.save()


def windows():
    goldens = Goldens("bit_width_reduction")
    wide = tiledb.BitWidthReductionFilter
    for dtype in INTEGERS[2:]:
        info = np.iinfo(dtype)
        for window in [256, 20, 8]:
            goldens.fixed(f"{dtype}_small_{window}", RNG.integers(0, 100, 90).astype(dtype), [wide(window)], window=window)
            goldens.fixed(f"{dtype}_noise_{window}", noise(dtype, 33), [wide(window)], window=window)
        for span in [0, 126, 127, 128, 254, 255, 256, 32766, 32767, 65534, 65535, 2**31 - 2, 2**31 - 1, 2**32 - 2, 2**32 - 1]:
            if span <= info.max - 5:
                low = max(info.min, -5)
                goldens.fixed(f"{dtype}_span_{span}", np.array([low + span, low, low + span // 2], dtype=dtype), [wide(256)], window=256)
        extremes = np.array([1, 2, 3, 4, info.min, info.max, 5, 6, 7, 8, 9, 10], dtype=dtype)
        goldens.fixed(f"{dtype}_extremes", extremes, [wide(4 * extremes.itemsize)], window=4 * extremes.itemsize)
    times = np.array(np.arange(100) * 1000 - 50_000).astype("datetime64[ns]")
    goldens.fixed("datetime_ns", times, [wide(256)], window=256)
    goldens.fixed("after_rle_int32", noise("int32", 31), [tiledb.RleFilter(), wide(64)], window=64, after="rle")
    goldens.save()

    goldens = Goldens("positive_delta")
    positive = tiledb.PositiveDeltaFilter
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        for window in [1024, 24]:
            goldens.fixed(f"{dtype}_{window}", np.sort(noise(dtype, 61)), [positive(window)], window=window)
        goldens.fixed(f"{dtype}_falling", np.array([3, 2], dtype=dtype), [positive(1024)], window=1024)
        goldens.fixed(f"{dtype}_extremes", np.array([info.min, info.max], dtype=dtype), [positive(1024)], window=1024)
        size = np.dtype(dtype).itemsize
        goldens.fixed(f"{dtype}_falls_between_windows", np.array([3, 4, 1, 2], dtype=dtype), [positive(2 * size)], window=2 * size)
    times = np.array(np.arange(300) * 1000 - 50_000).astype("datetime64[ns]")
    goldens.fixed("datetime_ns", times, [positive(1024)], window=1024)
    goldens.save()


def floats():
    goldens = Goldens("float_scale")
    edges = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 0.49999997, 127.4, 127.5, 128.0, -129.0, 300.0,
             32768.0, 65536.5, 8388608.5, 2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0, 4e9, 9.3e18, -9.3e18, 1e300, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        for dtype in ["float32", "float64"]:
            for width in [1, 2, 4, 8]:
                for factor, offset in [(1.0, 0.0), (0.25, 10.0), (-0.1, 0.3)]:
                    filter_ = tiledb.FloatScaleFilter(factor=factor, offset=offset, bytewidth=width)
                    options = {"width": width, "factor": struct.pack("<d", factor).hex(), "offset": struct.pack("<d", offset).hex()}
                    goldens.fixed(f"{dtype}_{width}_{factor}_edges", np.array(edges, dtype=dtype), [filter_], **options)
                    goldens.fixed(f"{dtype}_{width}_{factor}_noise", (noise(dtype, 30) / 60).astype(dtype), [filter_], **options)
    goldens.save()


def runs():
    goldens = Goldens("rle")
    for dtype in INTEGERS + ["float64"]:
        goldens.fixed(f"{dtype}_runs", np.repeat(noise(dtype, 9), RNG.integers(1, 300 if np.dtype(dtype).itemsize == 1 else 40, 9)), [tiledb.RleFilter()])
        goldens.fixed(f"{dtype}_one", noise(dtype, 1), [tiledb.RleFilter()])
    # One chunk of 64 KiB holds no more than 65536 cells of one byte: a run of the greatest length and one more.
    goldens.fixed("uint8_longest", np.full(65536, 7, dtype="uint8"), [tiledb.RleFilter()], repeat=65536)
    goldens.save()

    words = ["HG543232", "HG543232", "HG543232", "HG54", "HG54", "A", "HG543232", "HG54"]
    cases = {
        "example": words,
        "one": ["x"],
        "empty_and_full": ["", "", "a", "", "bb", "bb", ""],
        "run_of_255": ["ab"] * 255,
        "run_of_256": ["ab"] * 256 + ["c"],
        "string_of_255": ["a", "b" * 255, "c"],
        "string_of_256": ["a", "b" * 256, "c"],
        "unique_255": [f"k{i}" for i in range(255)],
        "unique_256": [f"k{i}" for i in range(256)],
        "many": [f"k{int(i)}" for i in RNG.integers(0, 20, 400)],
    }
    for filter_name, filter_ in [("rle_strings", tiledb.RleFilter()), ("dictionary", tiledb.DictionaryFilter())]:
        goldens = Goldens(filter_name)
        for case, values in cases.items():
            goldens.strings(case, values, [filter_])
        goldens.save()


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    shuffles()
    deltas()
    windows()
    floats()
    runs()

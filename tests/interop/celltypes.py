"""Datatypes of the format, and the two shapes a value has in these tests.

A value is held as the little-endian bytes that the array stores (`None` for a null), so that a comparison is a
comparison of bits. The JSON shape is the one the command line reads and prints.
"""
import math
import struct

# In the order of the format's datatype numbers.
NAMES = (
    "INT32 INT64 FLOAT32 FLOAT64 CHAR INT8 UINT8 INT16 UINT16 UINT32 UINT64 STRING_ASCII STRING_UTF8 STRING_UTF16 "
    "STRING_UTF32 STRING_UCS2 STRING_UCS4 ANY DATETIME_YEAR DATETIME_MONTH DATETIME_WEEK DATETIME_DAY DATETIME_HR "
    "DATETIME_MIN DATETIME_SEC DATETIME_MS DATETIME_US DATETIME_NS DATETIME_PS DATETIME_FS DATETIME_AS TIME_HR TIME_MIN "
    "TIME_SEC TIME_MS TIME_US TIME_NS TIME_PS TIME_FS TIME_AS BLOB BOOL GEOM_WKB GEOM_WKT"
).split()
CODES = {name: code for code, name in enumerate(NAMES)}

TIMES = tuple(n for n in NAMES if n.startswith(("DATETIME", "TIME")))
TEXT = ("CHAR", "STRING_ASCII", "STRING_UTF8", "GEOM_WKT")
BINARY = ("ANY", "BLOB", "GEOM_WKB")
CODE_UNITS = ("STRING_UTF16", "STRING_UTF32", "STRING_UCS2", "STRING_UCS4")
FLOATS = ("FLOAT32", "FLOAT64")
INTEGERS = ("INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64")

# struct letters of one unit of each datatype
LETTER = dict(
    INT8="b", UINT8="B", INT16="h", UINT16="H", INT32="i", UINT32="I", INT64="q", UINT64="Q", FLOAT32="f", FLOAT64="d",
    STRING_UTF16="H", STRING_UCS2="H", STRING_UTF32="I", STRING_UCS4="I", BOOL="B",
)
for _name in TEXT + BINARY:
    LETTER[_name] = "B"
for _name in TIMES:
    LETTER[_name] = "q"
UNIT_LEN = {name: struct.calcsize("<" + letter) for name, letter in LETTER.items()}

CANONICAL_NAN = {"FLOAT32": struct.pack("<f", math.nan), "FLOAT64": struct.pack("<d", math.nan)}


def limits(datatype):
    """Smallest and largest value of an integer-like datatype."""
    letter = LETTER[datatype]
    bits = 8 * UNIT_LEN[datatype]
    return (0, 2**bits - 1) if letter.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def pack(datatype, numbers):
    """Stored bytes of a list of numbers."""
    return struct.pack("<%d%s" % (len(numbers), LETTER[datatype]), *numbers)


def unpack(datatype, raw):
    """Numbers in stored bytes."""
    return list(struct.unpack("<%d%s" % (len(raw) // UNIT_LEN[datatype], LETTER[datatype]), raw))


def float32(value):
    """The nearest number that a FLOAT32 holds."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def canonical(datatype, raw):
    """Bytes with every NaN replaced by one and the same NaN: JSON does not carry the payload."""
    if raw is None or datatype not in FLOATS:
        return raw
    numbers = unpack(datatype, raw)
    return pack(datatype, numbers) if any(n != n for n in numbers) else raw


def float_to_json(number):
    if number != number:
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def float_from_json(value):
    return float(value)


def to_json(datatype, cell_val_num, raw):
    """JSON shape of one cell."""
    if raw is None:
        return None
    if datatype in TEXT:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": raw.hex()}
    if datatype in BINARY:
        return {"hex": raw.hex()}
    numbers = unpack(datatype, raw)
    if datatype in FLOATS:
        numbers = [float_to_json(n) for n in numbers]
    elif datatype == "BOOL":
        numbers = [bool(n) for n in numbers]
    return numbers[0] if cell_val_num == 1 and datatype not in CODE_UNITS else numbers


def from_json(datatype, cell_val_num, value):
    """Bytes of one cell from its JSON shape; ValueError says what was not understood."""
    if value is None:
        return None
    if isinstance(value, dict):
        if set(value) != {"hex"}:
            raise ValueError("not a value of %s: %r" % (datatype, value))
        return bytes.fromhex(value["hex"])
    if datatype in TEXT:
        if not isinstance(value, str):
            raise ValueError("not a value of %s: %r" % (datatype, value))
        return value.encode("utf-8")
    if datatype in BINARY:
        raise ValueError("not a value of %s: %r" % (datatype, value))
    numbers = value if isinstance(value, list) else [value]
    if cell_val_num != "var" and len(numbers) != cell_val_num:
        raise ValueError("%d values where the schema has %s: %r" % (len(numbers), cell_val_num, value))
    try:
        if datatype in FLOATS:
            numbers = [float_from_json(n) for n in numbers]
        elif datatype == "BOOL":
            if not all(isinstance(n, bool) for n in numbers):
                raise ValueError("not booleans: %r" % (value,))
            numbers = [int(n) for n in numbers]
        elif any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
            raise ValueError("not a value of %s: %r" % (datatype, value))
        return pack(datatype, numbers)
    except (struct.error, OverflowError, TypeError) as error:
        raise ValueError("not a value of %s: %r (%s)" % (datatype, value, error)) from error


def coordinate(datatype, raw):
    """A coordinate as something that sorts like the dimension does: a number, or bytes for strings."""
    return raw if datatype == "STRING_ASCII" else struct.unpack("<" + LETTER[datatype], raw)[0]


def coordinate_bytes(datatype, value):
    """Bytes of a coordinate given as a number, str or bytes."""
    if datatype == "STRING_ASCII":
        return value.encode("ascii") if isinstance(value, str) else value
    return struct.pack("<" + LETTER[datatype], value)


def fields(schema):
    """(name, datatype, cell_val_num, nullable, is_dimension) of every field, dimensions first."""
    out = [(d["name"], d["type"], "var" if d["type"] == "STRING_ASCII" else 1, False, True) for d in schema["dims"]]
    out += [(a["name"], a["type"], a.get("cell_val_num", 1), a.get("nullable", False), False) for a in schema["attrs"]]
    return out

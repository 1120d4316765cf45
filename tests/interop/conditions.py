"""Random conditions: as nested tuples, as text, and what they hold for, by the words of the documentation alone.

The tuples are those of libtiledb.Library.condition.
"""
import math
import re

import celltypes
import generate
import numpy as np
from celltypes import FLOATS, INTEGERS, TEXT
from known_differences import OPAQUE
from libtiledb import RELATIONS, TIMESTAMPS

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
DATE_UNITS = {"DATETIME_DAY": "D", "DATETIME_SEC": "s", "DATETIME_MS": "ms"}
DATES = tuple(DATE_UNITS)
# Comparisons of integers by the number in the middle of two.
HALVES = {"<": ("<=", -0.5), "<=": ("<", 0.5), ">": (">=", 0.5), ">=": (">", -0.5)}


def pushed_down(tree, negated=False):
    """The condition without a `not`: negations stand at the tests."""
    kind = tree[0]
    if kind == "not":
        return pushed_down(tree[1], not negated)
    if kind in ("and", "or"):
        kind = kind if not negated else {"and": "or", "or": "and"}[kind]
        return kind, [pushed_down(child, negated) for child in tree[1]]
    if not negated:
        return tree
    if kind in ("null", "const"):
        return kind, tree[1], not tree[2]
    if kind == "cmp":
        return "cmp", tree[1], NEGATED[tree[2]], tree[3], tree[4]
    return "in", tree[1], tree[2], not tree[3], tree[4]


def tests(tree):
    """The tests of a condition without `not`."""
    if tree[0] in ("and", "or"):
        return [test for child in tree[1] for test in tests(child)]
    return [tree]


class Conditions:
    """Draws conditions on the fields of a schema, evaluates them, and writes them as text."""

    def __init__(self, rng, schema, pools):
        """`pools`: field -> bytes of values that are likely in the array."""
        self.rng, self.schema, self.pools = rng, schema, pools
        self.fields = {f[0]: f for f in celltypes.fields(schema)}
        self.fields[TIMESTAMPS[0]] = TIMESTAMPS
        enumerations = {e["name"]: e for e in schema["enumerations"]}
        self.labels = {a["name"]: enumerations[a["enumeration"]] for a in schema["attrs"] if a.get("enumeration")}

    # ------------------------------------------------------------ drawing

    def draw(self, allowed, depth=0):
        """`allowed`: whether a test may stand in the condition."""
        rng = self.rng
        kind = rng.random()
        if depth < 3 and kind < (0.55 if depth == 0 else 0.35):
            count = rng.choice([2, 2, 3])
            return rng.choice(["and", "or"]), [self.draw(allowed, depth + 1) for _ in range(count)]
        if depth < 4 and kind < 0.65:
            return "not", self.draw(allowed, depth + 1)
        while True:
            test = self.test(rng.choice(sorted(self.pools)))
            if test and allowed(test):
                return test

    def test(self, name):
        rng = self.rng
        _, datatype, number, nullable, _ = self.fields[name]
        comparable = datatype in TEXT or number == 1
        if not comparable or rng.random() < (0.2 if nullable else 0.03):
            return ("null", name, rng.random() < 0.5) if nullable or rng.random() < 0.1 else None
        labels = self.labels.get(name)
        of_codes = bool(labels) and rng.random() < 0.3
        if labels and not of_codes:
            shape = labels["type"], labels["cell_val_num"]
            value = lambda: rng.choice(labels["values"]) if rng.random() < 0.8 else self.near(*shape, labels["values"])
        else:
            value = lambda: rng.choice(self.pools[name]) if rng.random() < 0.6 else self.near(datatype, number, self.pools[name])
        ordered = datatype not in OPAQUE and (of_codes or not labels or labels["ordered"])
        if rng.random() < 0.25:
            members = list(dict.fromkeys(value() for _ in range(rng.choice([1, 2, 3, 12]))))
            return "in", name, members, rng.random() < 0.6, of_codes
        operand = value()
        if datatype in FLOATS and math.isnan(celltypes.unpack(datatype, operand)[0]):
            ordered = False
        op = rng.choice(list(RELATIONS) if ordered else ["==", "!="])
        return "cmp", name, op, operand, of_codes

    def near(self, datatype, number, pool):
        """A value that is likely next to others, or anything."""
        rng = self.rng
        raw = rng.choice(pool)
        if datatype in TEXT + OPAQUE:
            if number != "var":
                return bytes(rng.choice(raw + b"az") for _ in raw)
            return rng.choice([raw[:-1], raw + b"a", b"", b"m", b"zz"])
        if datatype == "BOOL":
            return bytes([rng.randrange(2)])
        if datatype in FLOATS:
            return celltypes.canonical(datatype, generate.Values(rng, datatype, 1, None).one())
        low, high = celltypes.limits(datatype)
        if datatype in DATES:
            low, high = -(10**9), 10**9
        value = celltypes.unpack(datatype, raw)[0] + rng.choice([-1, 1, 7, -100])
        return celltypes.pack(datatype, [rng.choice([min(max(value, low), high), low, high])])

    # ------------------------------------------------------------ evaluating

    def missing(self, test):
        """Whether a test compares with a label that the enumeration lacks."""
        labels = self.labels.get(test[1])
        return test[0] == "cmp" and bool(labels) and not test[4] and test[3] not in labels["values"]

    @staticmethod
    def effective_tests(tree):
        """The tests of a condition, as they stand when its negations are pushed down to them."""
        return tests(pushed_down(tree))

    def constants(self, tree):
        """A condition without `not`, its comparisons with missing labels as ("const", field, whether it holds)."""
        if tree[0] in ("and", "or"):
            return tree[0], [self.constants(child) for child in tree[1]]
        return ("const", tree[1], tree[2] == "!=") if self.missing(tree) else tree

    def holds(self, tree, row):
        """Whether a row {field: bytes or None} fulfils a condition without `not`."""
        kind = tree[0]
        if kind == "and":
            return all(self.holds(child, row) for child in tree[1])
        if kind == "or":
            return any(self.holds(child, row) for child in tree[1])
        raw = row[tree[1]]
        if kind == "null":
            return (raw is None) == tree[2]
        if raw is None:
            return False
        if kind == "const":
            return tree[2]
        _, datatype, _, _, _ = self.fields[tree[1]]
        labels = self.labels.get(tree[1]) if not tree[4] else None
        if labels:
            raw = labels["values"][celltypes.unpack(datatype, raw)[0]]
        if kind == "in":
            return (raw in tree[2]) == tree[3]
        op, value = tree[2], tree[3]
        if self.missing(tree):
            return op == "!="
        if labels:
            left, right = labels["values"].index(raw), labels["values"].index(value)
        elif datatype in TEXT + OPAQUE:
            left, right = raw, value
        else:
            left, right = celltypes.unpack(datatype, raw)[0], celltypes.unpack(datatype, value)[0]
        return {
            "<": left < right, "<=": left <= right, ">": left > right,
            ">=": left >= right, "==": left == right, "!=": left != right,
        }[op]

    # ------------------------------------------------------------ text

    def text(self, tree, tightness=0):
        kind = tree[0]
        if kind == "not":
            return "not " + self.text(tree[1], 3)
        if kind in ("and", "or"):
            own = 2 if kind == "and" else 1
            text = (" %s " % kind).join(self.text(child, own + 1) for child in tree[1])
            return "(%s)" % text if own < tightness else text
        name = tree[1]
        field = name if name.isascii() and name.isidentifier() and len(name) > 3 else '"%s"' % name.replace('"', '""')
        if kind == "null":
            return "%s is %snull" % (field, "" if tree[2] else "not ")
        _, datatype, _, _, _ = self.fields[name]
        labels = self.labels.get(name)
        if labels and tree[4]:
            field = "code(%s)" % field
        elif labels:
            datatype = labels["type"]
        if kind == "in":
            members = ", ".join(self.literal(datatype, raw) for raw in tree[2])
            return "%s %sin (%s)" % (field, "" if tree[3] else "not ", members)
        op, literal = self.respelled(datatype, tree[2], tree[3], bool(labels) and not tree[4])
        return "%s %s %s" % (field, op, literal)

    def respelled(self, datatype, op, raw, is_label):
        """The operator and value of a comparison, sometimes as others that say the same of integers."""
        if datatype in INTEGERS and not is_label:
            number = celltypes.unpack(datatype, raw)[0]
            low, high = celltypes.limits(datatype)
            if (op, number) in (("<=", high), (">", high), ("<", low), (">=", low)):
                # The same beyond the end of the type: everything, nothing, nothing, everything.
                return {"<=": "<", ">=": ">"}.get(op, op), repr(number + (1 if number == high else -1))
            if op in HALVES and number % 3 == 0 and abs(number) < 2**50:
                other, half = HALVES[op]
                return other, repr(number + half)
        return {"==": "=", "!=": "<>"}.get(op, op) if len(raw) % 2 else op, self.literal(datatype, raw)

    def literal(self, datatype, raw):
        if datatype in TEXT + OPAQUE:
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                text = None
            if text is None or "\0" in text or datatype in OPAQUE:
                return "x'%s'" % raw.hex()
            return "'%s'" % text.replace("'", "''")
        number = celltypes.unpack(datatype, raw)[0]
        if datatype == "BOOL":
            return "true" if number else "false"
        if datatype in DATES and number % 2:
            sign, year, rest = re.match(r"(-?)(\d+)(.*)", str(np.datetime64(number, DATE_UNITS[datatype]))).groups()
            return "'%s%s%s'" % (sign, year.zfill(4), rest)
        return repr(number)

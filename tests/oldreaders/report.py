"""What a run found, as a table for people and as a page of the documentation."""
import collections
import re

from known_differences import KNOWN_DIFFERENCES
from limits import LIMITS
from releases import RELEASES, readers

HEAD = """# Old readers

What releases of libtiledb read of the arrays that smalti writes in their format version (`smalti create --format-version N`),
and in the version before theirs. Each array is written by the command line: all datatypes, orders and filters of the
version, several overlapping fragments, encryption, metadata, and random schemas. The release reads it in several orders,
by ranges and at earlier times; values, validity, coordinates, metadata, schema and non-empty domain must be those that
were put in, bit for bit. The columns count arrays.

Written by `cargo xtask oldreaders --docs`; `cargo xtask test` tries two of the versions. How it works:
[tests/oldreaders](../tests/oldreaders/README.md).
"""
EXCEPTIONS = """Reads that were left out, because the old release itself is at fault: named beforehand, in `tests/oldreaders/limits.py`
and `tests/interop/known_differences.py`; or *unnamed*, when the release was shown in this run to read wrongly what it
wrote itself with the same content, while the newest release reads both arrays right. In brackets: arrays concerned."""
REFUSALS = """Arrays that a version cannot hold, because its first releases do not know a datatype or a filter: smalti must refuse to
create them there."""


class Summary:
    def __init__(self):
        self.counts = collections.Counter()  # (version, wheel, outcome)
        self.names = collections.defaultdict(set)  # exception -> {(version, wheel, case)}
        self.refusals = collections.defaultdict(set)  # version -> what the program said
        self.unsuitable = self.passed = self.failed = 0

    def add(self, version, name, random, results):
        """Counts a case; returns a text for each failure."""
        failures = []
        for wheel, outcome, text in results:
            self.counts[version, wheel, outcome] += 1
            if outcome == "failed":
                self.failed += 1
                who = "writing" if wheel is None else "read by tiledb %s" % wheel
                failures.append("format version %d, case %r, %s: %s\n" % (version, name, who, text))
            elif outcome in ("excused", "left out"):
                self.names[text].add((version, wheel, name))
            elif outcome == "unsuitable":
                self.unsuitable += 1
            else:
                self.passed += 1
                if outcome == "refused":
                    self.refusals[version].add(text)
        return failures

    def rows(self, versions, newer):
        for version in versions:
            for release in readers(version, newer):
                count = lambda outcome: self.counts[version, release.wheel, outcome]  # noqa: B023, E731
                yield (release.wheel, release.library, release.version, version,
                       *(count(o) for o in ("passed", "failed", "excused", "left out")), self.counts[version, None, "refused"])

    def table(self, versions, newer):
        heads = ("wheel", "libtiledb", "its version", "array version", "passed", "failed", "excused", "partly", "refused")
        rows = [heads, *self.rows(versions, newer)]
        return "\n".join("  ".join("%-13s" % cell for cell in row).rstrip() for row in rows)

    def exceptions(self):
        """A line for each exception that was used: what, where, and how many arrays."""
        lines = []
        for name in sorted(self.names):
            places = collections.Counter(wheel for _, wheel, _ in self.names[name])
            lines.append("%s: %s" % (name, ", ".join("%s x%d" % item for item in sorted(places.items()))))
        return "\n".join(lines)

    def page(self, versions, options):
        """The page of the documentation."""
        lines = [HEAD, "| wheel | libtiledb | array version | arrays that differ | as put in | of them some reads left out | left out |", "|-|-|-|-|-|-|-|"]
        for wheel, library, _, version, passed, failed, excused, partly, _ in self.rows(versions, options.newer):
            lines.append("| %s | %s | %d | %s | %d | %d | %d |" % (wheel, library, version, failed or "none", passed, partly, excused))
        lines += ["", "## Exceptions", "", EXCEPTIONS, ""]
        known = {limit.name: limit.reason for limit in LIMITS}
        known.update({entry.name: entry.reason for entry in KNOWN_DIFFERENCES})
        numbers = {release.wheel: release.library for release in RELEASES}
        for name in sorted(self.names, key=lambda name: (name not in known, name)):
            places = collections.Counter(numbers[wheel] for _, wheel, _ in self.names[name])
            where = ", ".join("%s (%d)" % item for item in sorted(places.items(), key=_by_number))
            text = ": " + known[name].rstrip(".") if name in known else ""
            lines.append("- **%s**%s. %s." % (name[0].upper() + name[1:], text, where))
        lines += ["", "## Refusals", "", REFUSALS, ""]
        lines += ["| version | refused cases | for |", "|-|-|-|"]
        for version in versions:
            causes = sorted({_cause(text) for text in self.refusals[version]})
            if not causes:
                continue
            lines.append("| %d | %d | %s |" % (version, self.counts[version, None, "refused"], ", ".join(causes)))
        return "\n".join(lines) + "\n"


def _by_number(item):
    return tuple(int(part) for part in item[0].split("."))


def _cause(text):
    """What a refusal is about: the datatype or the filter."""
    found = re.search(r"(type|filter) [A-Za-z_]+", text)
    return found.group(0) if found else text

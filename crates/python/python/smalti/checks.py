"""What checks and repairs found."""

from __future__ import annotations


class Finding:
    """Something that is wrong.

    Attributes:
        kind: what it is, by the name that docs/fsck.md has for it.
        severity: ``"harmless"``, ``"misleading"``, ``"hidden"`` or ``"lost"``.
        file: the file.
        structure, field, offset: the place in it.
        message: what is wrong there.
        repairable: whether a repair mends it.
        remedy: what a repair would do, or why it cannot.
    """

    def __init__(self, told):
        self.__dict__.update(told)

    def __repr__(self):
        return f"<Finding {self.text}>"


class Check:
    """What a check came to; true where nothing concerns readers.

    Attributes:
        uri: the array or group.
        findings: a list of :class:`Finding`.
        fragments, tiles: how many were looked at.
    """

    def __init__(self, uri, told):
        self.uri = uri
        self.sound = told["sound"]
        self.fragments = told["fragments"]
        self.tiles = told["tiles"]
        self.findings = [Finding(finding) for finding in told["findings"]]

    def __bool__(self):
        return self.sound

    def __repr__(self):
        verdict = "sound" if self.sound else "not sound"
        lines = [f"<Check of {self.uri}: {verdict}, {len(self.findings)} findings>"]
        return "\n".join(lines + [f"  {finding.text}" for finding in self.findings])


class Repair:
    """What a repair came to.

    Attributes:
        found: what was wrong, a :class:`Check`.
        mended: what was done, in words, and why it failed where it did.
        left: what is wrong still, a :class:`Check`.
        aside: where what was in the way is now.
    """

    def __init__(self, uri, found, mended, left, aside):
        self.found = Check(uri, found)
        self.mended = mended
        self.left = Check(uri, left)
        self.aside = aside

    def __repr__(self):
        return f"<Repair of {self.found.uri}: {len(self.mended)} steps, {len(self.left.findings)} findings left>"

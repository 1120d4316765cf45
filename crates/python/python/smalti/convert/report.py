"""What a conversion would do, and what it cannot keep."""

from __future__ import annotations

from typing import NamedTuple

# Where nothing of it is in the target.
LOST = "lost"
# Where it is in the target in another form.
CHANGED = "changed"


class Loss(NamedTuple):
    """Something that the target has not, or not as the source has it.

    Attributes:
        kind: ``"lost"`` where it is gone, ``"changed"`` where it is kept in another form.
        where: the variable, column, element or file that it is about.
        what: what is lost, or what it becomes.
    """

    kind: str
    where: str
    what: str


class Piece(NamedTuple):
    """An array, table or group of the target.

    Attributes:
        name: its path in the target; ``""`` for the whole target.
        kind: what it becomes, such as ``"dense array"``.
        dtype: the types of its cells, as text.
        shape: its lengths; ``None`` where they are not known before it is read.
        bytes: what its cells take in memory, as far as it is known.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple | None
    bytes: int | None


class Losses:
    """What has been found so far."""

    def __init__(self):
        self.found = []

    def lost(self, where, what):
        """Notes what is gone."""
        self._add(Loss(LOST, where, what))

    def changed(self, where, what):
        """Notes what is kept in another form."""
        self._add(Loss(CHANGED, where, what))

    def _add(self, loss):
        if loss not in self.found:
            self.found.append(loss)


class Conversion:
    """A conversion that was looked into and not yet done; made by :func:`smalti.convert.plan`.

    Attributes:
        source, target: where from, and where to.
        source_format, target_format: names of formats, such as ``"netcdf"`` and ``"smalti"``.
        pieces: what will be in the target: a list of :class:`Piece`.
        losses: what will not be as it is in the source: a list of :class:`Loss`.
    """

    def __init__(self, source, source_format, target, target_format, pieces, losses, work):
        self.source = source
        self.source_format = source_format
        self.target = target
        self.target_format = target_format
        self.pieces = pieces
        self.losses = losses
        self._work = work

    @property
    def lost(self):
        """The losses whose kind is ``"lost"``."""
        return [loss for loss in self.losses if loss.kind == LOST]

    def run(self, *, progress=None):
        """Does it: where the target is. Nothing is there before all of it is, and nothing where it fails.

        Args:
            progress: as for :meth:`smalti.Array.write`.
        """
        self._work(progress)
        return self.target

    def json(self):
        """The conversion as a dictionary, for programs."""
        return {
            "source": {"uri": self.source, "format": self.source_format},
            "target": {"uri": self.target, "format": self.target_format},
            "pieces": [piece._asdict() for piece in self.pieces],
            "losses": [loss._asdict() for loss in self.losses],
        }

    def __str__(self):
        lines = [f"{self.source} ({self.source_format}) to {self.target} ({self.target_format})"]
        rows = [(piece.name or ".", piece.kind, piece.dtype, _shape(piece.shape), _size(piece.bytes)) for piece in self.pieces]
        lines += _table(rows)
        for kind, title in ((CHANGED, "kept in another form"), (LOST, "lost")):
            told = [(loss.where, loss.what) for loss in self.losses if loss.kind == kind]
            if told:
                lines += ["", f"{title}:", *_table(told)]
        if not self.losses:
            lines += ["", "nothing is lost"]
        return "\n".join(lines)

    def __repr__(self):
        return f"<Conversion of {self.source} to {self.target}: {len(self.pieces)} pieces, {len(self.lost)} losses>"


def _table(rows):
    widths = [max(len(row[idx]) for row in rows) for idx in range(len(rows[0]))] if rows else []
    return ["  " + "  ".join(part.ljust(width) for part, width in zip(row, widths)).rstrip() for row in rows]


def _shape(shape):
    return "" if shape is None else "x".join(map(str, shape)) if shape else "scalar"


def _size(count):
    if count is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.1f} {unit}" if unit != "B" and count < 100 else f"{count:.0f} {unit}"
        count /= 1024
    return ""


__all__ = ["CHANGED", "Conversion", "LOST", "Loss", "Losses", "Piece"]

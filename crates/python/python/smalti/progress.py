"""How far long work is: a callback, tqdm, or a bar by itself."""

from __future__ import annotations

import sys
import time

# Work that is over within this time shows no bar.
PATIENCE = 1.0


def hook_of(progress):
    """What the engine calls while it works, for a ``progress=`` argument.

    ``None`` shows a bar by itself, on a terminal or in a notebook, when work takes longer than a second; ``False`` never, ``True`` always; a
    callable gets a list of ``(phase, unit, done, total)``, and an exception of it stops the work.
    """
    if progress is False:
        return None
    if callable(progress):
        return progress
    if progress is None and not _is_watched():
        return None
    return Bar(0.0 if progress else PATIENCE)


def _is_watched():
    if "ipykernel" in sys.modules:
        return True
    stream = sys.stderr
    return stream is not None and hasattr(stream, "isatty") and stream.isatty()


class Bar:
    """A bar of the last phase that is under way: tqdm's where it is installed, a line of text otherwise."""

    def __init__(self, patience):
        self._from = time.monotonic() + patience
        self._phase = None
        self._bar = None

    def __call__(self, phases):
        if time.monotonic() < self._from or not phases:
            return
        phase, unit, done, total = phases[-1]
        if phase != self._phase:
            self.close()
            self._phase = phase
            self._bar = _tqdm(phase, unit, total)
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def close(self):
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __del__(self):
        self.close()


def _tqdm(phase, unit, total):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(phase, unit, total)
    return tqdm(desc=phase, unit=unit, total=total, unit_scale=True, leave=False)


class _Line:
    """A line on the terminal."""

    def __init__(self, phase, unit, total):
        self.phase, self.unit, self.total, self.n = phase, unit, total, 0

    def update(self, more):
        self.n += more
        part = f" {100 * self.n // self.total} %" if self.total else ""
        sys.stderr.write(f"\r{self.phase}: {self.n} {self.unit}{part}\x1b[K")
        sys.stderr.flush()

    def close(self):
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

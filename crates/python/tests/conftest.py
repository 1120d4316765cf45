"""What all tests of the package share."""

import itertools

import hypothesis
import pytest

import smalti as sm

# Cases are the same in every run, and no case is timed.
hypothesis.settings.register_profile("smalti", deadline=None, derandomize=True, max_examples=60, database=None)
hypothesis.settings.load_profile("smalti")

_numbers = itertools.count()


@pytest.fixture
def mem():
    """Names of arrays in memory that nothing is at."""
    return lambda: f"mem://tests/{next(_numbers)}"


@pytest.fixture
def cities(mem):
    """A sparse array with text, numbers that may be missing, and an enumeration."""
    array = sm.create(
        mem(),
        [sm.dim("lat", (-90.0, 90.0), "float64", tile=10.0), sm.dim("lon", (-180.0, 180.0), "float64", tile=10.0)],
        [sm.attr("name", str), sm.attr("population", "uint32", nullable=True), sm.attr("kind", "uint8", enumeration="kinds")],
        enums=[sm.enum("kinds", ["village", "town", "city"])],
        sparse=True,
    )
    array.write(
        {
            "lat": [48.85, 52.52, 46.0],
            "lon": [2.35, 13.41, 7.0],
            "name": ["Paris", "Berlin", "Zinal"],
            "population": [2113705, 3677472, None],
            "kind": ["city", "city", "village"],
        }
    )
    return array


def pytest_terminal_summary(terminalreporter):
    """The line that the test command counts."""
    counts = {kind: len(terminalreporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{counts['passed']} passed, {counts['failed'] + counts['error']} failed")

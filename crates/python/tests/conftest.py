"""What all tests of the package share."""

import itertools
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

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


class Prefix:
    """A place in a bucket, whose arrays have names as files in a folder have."""

    def __init__(self, uri):
        self.uri = uri

    def __truediv__(self, name):
        return f"{self.uri}/{name}"


@pytest.fixture(scope="session")
def bucket():
    """A bucket of moto's, a server of S3 on the loopback. From now on the environment says where it is, for processes that start later too."""
    script = Path(__file__).parents[3] / "tests" / "servers" / "moto_server.py"
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        os.environ.update(AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing", AWS_REGION="us-east-1", NO_PROXY="127.0.0.1")
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(urllib.request.Request(f"{url}/arrays", method="PUT", data=b"")).close()
        yield "s3://arrays"
        server.stdin.close()


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """Where the arrays of a test are."""
    if request.param == "folder":
        return tmp_path
    return Prefix(f"{request.getfixturevalue('bucket')}/{next(_numbers)}")


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

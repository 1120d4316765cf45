"""What reads hold, in processes of their own: the largest resident size that the system saw."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import smalti as sm

# Threads, codecs and what they work in.
FIXED = 48 << 20
LONG = os.environ.get("SMALTI_LONG") is not None

HEAD = """
import json, sys
import numpy as np
import smalti as sm
def told(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))
def peak(): return told("VmHWM")
def now(): return told("VmRSS")
array = sm.open(sys.argv[1])
"""


def run(program, *arguments):
    done = subprocess.run([sys.executable, "-c", HEAD + program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system tells of no resident size")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    rows = 8192 if LONG else 512
    dims = [sm.dim("y", (0, rows - 1), tile=64), sm.dim("x", (0, 65_535), tile=1024)]
    array = sm.create(tmp_path_factory.mktemp("memory") / "grid", dims, sm.attr("v", "float64"))
    for row in range(0, rows, 64):
        array[row : row + 64] = np.arange(row, row + 64, dtype="f8")[:, None]
    array.consolidate(verify=False)
    return array.uri


@linux
def test_a_dense_read_holds_its_result(grid):
    taken, size, first = run(
        """
array[:1]
before = now()
values = array[:512]
print(json.dumps([peak() - before, values.nbytes, values[7, 7]]))
""",
        grid,
    )
    assert first == 7 and size == 256 << 20
    assert taken <= 1.1 * size + FIXED, f"{taken >> 20} MiB for {size >> 20}"


@linux
def test_a_stream_keeps_to_its_budget(grid):
    budget = 32 << 20
    taken, cells = run(
        """
import pyarrow
context = sm.Context(memory=int(sys.argv[2]))
array = sm.open(sys.argv[1], context=context)
array[:1, :1], pyarrow.__version__
before, cells = now(), 0
for batch in array.read(["v"], order="global"):
    cells += len(batch)
print(json.dumps([peak() - before, cells]))
""",
        grid,
        budget,
    )
    assert cells == (8192 if LONG else 512) * 65_536
    assert taken <= budget + (64 << 20), f"{taken >> 20} MiB"


def test_results_are_not_copied(tmp_path):
    import pyarrow as pa

    array = sm.from_numpy(tmp_path / "line", np.arange(100_000.0))
    values = array[:]
    assert not values.flags.owndata and values.base is not None
    assert np.shares_memory(values, values[::2]) and np.asarray(values) is values
    table = pa.table(array.read(["value"]))
    chunk = table["value"].chunk(0)
    assert np.shares_memory(chunk.to_numpy(), np.frombuffer(chunk.buffers()[1], "f8"))
    assert chunk.buffers()[1].address == chunk.to_numpy().__array_interface__["data"][0]

"""The notebooks of docs/python run, and what they show is stored with them.

``SMALTI_UPDATE_NOTEBOOKS=1`` stores what they show now.
"""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[3] / "docs" / "python" / "notebooks").glob("*.ipynb"))
UPDATE = "SMALTI_UPDATE_NOTEBOOKS"
MOST_BYTES = 250_000
# Folders that notebooks make for themselves.
FOLDER = re.compile(r"/(?:[\w.-]+/)*tmp\w{8}/")
# Places and people of a machine, which are nobody's business.
PRIVATE = re.compile(r"/(?:tmp|home|root|work|var|Users)/")


class OwnKernel(AsyncKernelManager):
    """A kernel of the interpreter that runs the tests, whatever kernels are installed."""

    @property
    def kernel_spec(self):
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], language="python", display_name="Python 3")


def stored(notebook):
    """A notebook as it is stored: without what differs from run to run."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.execution_count = None
                output.get("metadata", {}).clear()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.reads(FOLDER.sub("", nbformat.writes(notebook)), 4)


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {"climate_cube", "events", "single_cells", "time_travel_and_repair"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, 4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, timeout=1200, startup_timeout=1200, kernel_manager_class=OwnKernel, resources=resources)
    client.execute()
    if os.environ.get(UPDATE):
        nbformat.write(stored(notebook), path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_what_it_shows(path):
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5) and path.stat().st_size < MOST_BYTES
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert len(outputs) >= len(code) // 3, f"run the tests with {UPDATE}=1 to store what it shows"
    assert not any(output.output_type == "error" for output in outputs)
    found = PRIVATE.search(path.read_text())
    assert found is None, f"a path of a machine: {path.read_text()[found.start() - 40 : found.end() + 40]}"

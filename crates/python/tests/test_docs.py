"""The examples of the docstrings and of docs/python run."""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import smalti as sm

NAMES = [module.name for module in pkgutil.walk_packages(sm.__path__, "smalti.")]
MODULES = sorted(name.partition(".")[2] for name in NAMES if not name.endswith(("._smalti", ".__main__")))


@pytest.mark.parametrize("name", ["smalti", *[f"smalti.{name}" for name in MODULES]])
def test_examples_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs=vars(sm))
    assert failed == 0


def test_the_reference_is_that_of_the_docstrings():
    spec = importlib.util.spec_from_file_location("reference", Path(__file__).parents[1] / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    path = Path(__file__).parents[3] / "docs" / "python" / "reference.md"
    page = reference.page()
    if os.environ.get("SMALTI_UPDATE_SNAPSHOTS"):
        path.write_text(page)
    assert path.read_text() == page, "SMALTI_UPDATE_SNAPSHOTS=1 makes it again"


PAGES = sorted((Path(__file__).parents[3] / "docs" / "python").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_pages_run(page, tmp_path):
    if page.stem == "reference":
        pytest.skip("its examples are those of the docstrings, which run by themselves")
    programs = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert programs
    # Pages use relative paths, and libtiledb takes these from where its process began.
    run = subprocess.run([sys.executable, "-c", "\n".join(programs)], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

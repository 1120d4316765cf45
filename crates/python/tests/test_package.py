"""The package as it is installed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

import smalti as sm

# The dynamic loader itself is named on some machines.
ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def test_it_links_against_the_c_library_alone():
    with open(sm._smalti.__file__, "rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    assert needed <= ALLOWED


def test_an_import_starts_no_thread_and_leaves_numpy_for_later():
    program = "import sys, os, smalti; print(len(os.listdir('/proc/self/task')), 'numpy' in sys.modules, 'pyarrow' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1", "False", "False"]


def test_it_is_typed():
    folder = Path(importlib.util.find_spec("smalti").origin).parent
    assert (folder / "py.typed").exists()
    assert (folder / "_smalti.pyi").exists()


def test_all_names_are_there():
    for name in sm.__all__:
        assert hasattr(sm, name)


def test_an_interpreter_without_its_lock_is_refused_by_name():
    program = "import sys; sys._is_gil_enabled = lambda: False; import smalti"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1 and "ImportError: smalti needs the interpreter's lock" in run.stderr and "PYTHON_GIL" in run.stderr

"""The examples of the docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import smalti as sm

MODULES = sorted(module.name for module in pkgutil.iter_modules(sm.__path__) if module.name not in ("_smalti", "__main__"))


@pytest.mark.parametrize("name", ["smalti", *[f"smalti.{name}" for name in MODULES]])
def test_examples_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs=vars(sm))
    assert failed == 0

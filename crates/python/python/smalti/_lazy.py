"""Modules that are imported when they are first used: smalti imports in a moment, NumPy takes longer than that."""

from __future__ import annotations

import importlib


class Lazy:
    """A module by name, imported when something of it is asked for."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, attribute):
        module = importlib.import_module(self.__dict__["_name"])
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


numpy = Lazy("numpy")

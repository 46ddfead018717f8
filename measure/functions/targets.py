"""Import the target of `module:function`; an error names the nearest name."""

import importlib.util
import operator
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ...warehouse.errors import BenchError, UnknownName

LOOKED_FOR = "It is looked for from the present folder"


def imported(name: str) -> ModuleType:
    """The module of this name.

    Raises:
        UnknownName: There is none. One that cannot import another raises what Python does.
        BenchError: The present folder has it, but Python has loaded a module of its own by this name.
    """
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UnknownName("module", error.name, _near(error.name), cure=LOOKED_FOR) from None
    here = PathFinder.find_spec(name, [os.getcwd()])
    if here and here.origin and name in sys.stdlib_module_names and getattr(found, "__file__", None) != here.origin:
        raise BenchError(f"{os.path.basename(here.origin)} of this folder is hidden by Python's own {name}: rename it")
    return found


def check_spelling(target: str) -> None:
    """Refuse a module that lies nowhere, or a function that the source of its module names nowhere: without running anything.

    Raises:
        UnknownName: So it is.
    """
    module, colon, name = target.partition(":")
    top, here = module.partition(".")[0], os.getcwd()
    if PathFinder.find_spec(top, [here]) is None and top not in sys.modules and importlib.util.find_spec(top) is None:
        raise UnknownName("module", top, _near(top, [here, *sys.path]), cure=LOOKED_FOR)
    path = Path(*module.split(".")).with_suffix(".py")
    if not colon or not path.is_file():
        return
    source = path.read_text(encoding="utf-8", errors="replace")
    words = set(re.findall(r"\w+", source))
    if name.partition(".")[0] not in words and "import *" not in source:
        raise UnknownName("function", name, re.findall(r"^(?:async )?def (\w+)", source, re.MULTILINE), where=module)


def _near(name: str, folders: Sequence[str] = ()) -> list[str]:
    """The modules beside which this one would lie, in its package or else these folders, whose names are like it."""
    import difflib
    import pkgutil

    package, dot, _ = name.rpartition(".")
    paths = getattr(sys.modules.get(package), "__path__", ()) if dot else folders or sys.path
    names = {f"{package}{dot}{found.name}" for found in pkgutil.iter_modules(paths)}
    return difflib.get_close_matches(name, sorted(names if dot else names | sys.stdlib_module_names), cutoff=0.7)


def resolved(target: str) -> Any:
    """The object that `module:name.name` names.

    Raises:
        UnknownName: There is no such module, or it has no such name.
    """
    module, _, name = target.partition(":")
    found = imported(module)
    try:
        return operator.attrgetter(name)(found)
    except AttributeError as error:
        names = [each for each in dir(error.obj) if not each.startswith("_")]
        raise UnknownName("function", name, names, where=module) from None

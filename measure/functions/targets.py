"""Import the target of `module:function`; an error names the nearest name."""

import importlib
import operator
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from ...warehouse.errors import UnknownName


def imported(name: str) -> ModuleType:
    """The module of this name.

    Raises:
        UnknownName: There is none. One that cannot import another raises what Python does.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UnknownName(
            "module", error.name, _near(error.name), cure="It is looked for from the present folder"
        ) from None


def check_spelling(target: str) -> None:
    """Refuse a function that the source of its module, if that lies here, names nowhere: without running the module.

    Raises:
        UnknownName: So it is.
    """
    module, colon, name = target.partition(":")
    path = Path(*module.split(".")).with_suffix(".py")
    if not colon or not path.is_file():
        return
    source = path.read_text(encoding="utf-8", errors="replace")
    words = set(re.findall(r"\w+", source))
    if name.partition(".")[0] not in words and "import *" not in source:
        raise UnknownName("function", name, re.findall(r"^(?:async )?def (\w+)", source, re.MULTILINE), where=module)


def _near(name: str) -> list[str]:
    """The modules beside which this one would lie whose names are like it."""
    import difflib
    import pkgutil
    import sys

    package, dot, _ = name.rpartition(".")
    paths = getattr(sys.modules.get(package), "__path__", ()) if dot else None
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

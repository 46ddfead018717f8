"""Names that a package exports lazily (PEP 562), so that importing the package stays cheap."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports a name on first use.

    Args:
        package: The package, its `__name__`.
        modules: name -> the module in the package that defines it.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, found)  # so that the next use, as in a loop, costs nothing
        return found

    return __getattr__

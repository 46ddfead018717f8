"""Every format there is: a module or a TOML file in `ingest/formats/`, or a TOML file of the project's folder of mappings.

A package outside bench adds one through the entry point group `bench.formats`, whose value is a `Format` subclass. Nothing else
needs to know.
"""

import functools
import importlib
import importlib.metadata
import os
import pkgutil
from pathlib import Path

from ..warehouse.errors import BenchError, UnknownName
from ..warehouse.settings import SETTINGS, setting
from . import formats as package
from .format import Format
from .user_formats.format_files import formats_of_folder

ENTRY_POINTS = "bench.formats"


def formats() -> dict[str, Format]:
    """Every format there is, by name: those of bench, of other packages, and of the project that the working directory is in.

    Raises:
        BenchError: A format of another package or of a file cannot be loaded, is not a format, or has the name of another.
    """
    return formats_in(os.getcwd(), os.environ.get(SETTINGS["mappings"].variable or ""))


@functools.lru_cache(maxsize=8)
def formats_in(directory: str, folder: str | None) -> dict[str, Format]:
    """The same; both arguments say which project it is."""
    found: list[type[Format]] = []
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_"):  # parts that several formats share
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        found += [
            value
            for value in vars(loaded).values()
            if isinstance(value, type) and issubclass(value, Format) and value.__module__ == loaded.__name__
        ]
    found += [_of_others(entry) for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)]
    kinds = [*(kind() for kind in found), *formats_of_folder(Path(package.__path__[0]), is_shipped=True)]
    if own := setting("mappings"):
        kinds += formats_of_folder(Path(own))
    named: dict[str, Format] = {}
    for kind in sorted(kinds, key=lambda kind: kind.name):
        if kind.name in named:
            modules = f"{named[kind.name].__module__} and {kind.__module__}"
            raise BenchError(f"two formats are called {kind.name!r}, of {modules}. Uninstall the package of one.")
        named[kind.name] = kind
    return named


def _of_others(entry: importlib.metadata.EntryPoint) -> type[Format]:
    """The format another package offers."""
    where = f"the format {entry.name!r} of {entry.dist.name if entry.dist else 'another package'} ({entry.value})"
    try:
        kind = entry.load()
    except Exception as error:  # whatever a module of somebody else raises, its name must be in the message
        raise BenchError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}. Mend that package, or uninstall it."
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Format) and isinstance(getattr(kind, "name", None), str)):
        raise BenchError(f"{where} is not a subclass of bench.ingest.format.Format with a name.")
    return kind


def find_format(name: str) -> Format:
    """The format of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in formats():
        raise UnknownName("format", name, formats(), cure=f"Formats: {', '.join(formats())}")
    return formats()[name]

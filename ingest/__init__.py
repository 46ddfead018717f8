"""Ingesting: read files of bench and of other tools into the event log.

A package that adds a format derives it from `Format`, or from `JsonFormat` for a JSON document.
"""

from typing import TYPE_CHECKING

from .._exports import lazy

if TYPE_CHECKING:
    from .format import FILE, FOLDER, Format, Head, Part, Tally
    from .readers.declared import Declared, Quantity
    from .readers.document import BadRecord, Object
    from .readers.json_format import JsonFormat
    from .readers.results import Results
    from .run import ingest

__all__ = [
    "FILE", "FOLDER", "BadRecord", "Declared", "Format", "Head", "JsonFormat", "Object", "Part", "Quantity", "Results", "Tally",
    "ingest",
]  # fmt: skip

__getattr__ = lazy(
    __name__,
    {
        **dict.fromkeys(("FILE", "FOLDER", "Format", "Head", "Part", "Tally"), "format"),
        **dict.fromkeys(("Declared", "Quantity"), "readers.declared"),
        **dict.fromkeys(("BadRecord", "Object"), "readers.document"),
        "JsonFormat": "readers.json_format",
        "Results": "readers.results",
        "ingest": "run",
    },
)

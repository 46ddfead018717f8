"""Formats in TOML: a mapping, and by what a file is recognised as one that it is about.

    recognise.columns = ["kernel", "gpu", "ms"]      a table that has these columns; read as `--map @FILE` reads it
    recognise.keys = [["tool", "results[].ms"]]      a JSON document with all keys of one of these lists; a record is a case
    inherited.suite = ["files[].path"]               what a record of `files[].results` takes from the objects that it is in
    omitted = ["id"]                                 what is not kept

Those of bench lie in `ingest/formats/`; those of a project in the folder that its setting `mappings` names.
"""

import contextlib
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.upkeep.row_groups import PARQUET
from ..format import Format, Head
from ..readers.csv_rows import read_header
from ..readers.declared import LEVEL, Declared, Quantity
from ..readers.document import lines_of
from ..readers.units import unit_of
from .mapped import MappedFormat
from .mapping import MAPPED_AXES, METRICS, OF_FORMAT, mapping_of_document, read_toml
from .mapping import Mapping as TableMapping

KINDS = ("columns", "keys")
TEXTS = ("doc", "becomes", "lost", "records")
RUN = {"time": "started_at", "commit": "git_commit", "branch": "git_branch", "host": "host"}
WORDS = (
    *TEXTS,
    "recognise",
    "lines",
    "inherited",
    "omitted",
    "name",
    *MAPPED_AXES[1:],
    "parameters",
    *RUN,
    "about",
    "rest",
    "renamed",
    "value",
)
OF_VALUE = ("column", "match", *(field.name for field in fields(Quantity)))


class MappedTable(MappedFormat):
    """A mapping that says by which columns a table is one of its own; else it is the same as `--map @FILE`."""

    def __init__(self, mapping: TableMapping, columns: Sequence[str], origin: str) -> None:
        """Tables that have these columns, as the file `origin` says."""
        super().__init__(mapping)
        self.columns, self.origin = frozenset(columns), origin
        self.doc = f"a table with the columns {', '.join(sorted(columns))}"  # type: ignore[misc]  # one a file

    def recognise(self, head: Head) -> bool:
        """Return whether it has all these columns."""
        found = columns_of(head)
        within = ("", "[].", *([f"{self.mapping.records}[]."] if self.mapping.records else []))
        return any({prefix + column for column in self.columns} <= found for prefix in within)

    def evidence(self, head: Head) -> str:
        """The columns, and who says so."""
        return f"has the columns {', '.join(sorted(self.columns))}, as {self.origin} says"


def columns_of(head: Head) -> frozenset[str]:
    """The columns of a table as far as its beginning says them; paths of keys where it is JSON."""
    if head.data.startswith(PARQUET):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.suppress(pa.ArrowException, OSError):
            return frozenset(pq.read_schema(head.path).names)
        return frozenset()
    if head.text.lstrip().startswith(("{", "[")):
        return head.paths
    header, _ = read_header(
        (number, line.encode("utf-8", "replace")) for number, line in enumerate(lines_of(head.text), 1)
    )
    return frozenset(header.cells if header else ())


def format_of_file(path: Path, *, is_shipped: bool = False) -> Format | None:
    """The format that a file of TOML describes; None for a mapping that no file is recognised by.

    Raises:
        BenchError: It is no valid TOML, or a key holds something else than it may.
        UnknownName: It has a key that is none.
    """
    document = read_toml(path, str(path))
    if "recognise" not in document:
        return None
    file = FormatFile(path, document)
    kind, found = file.recognised()
    if kind == "columns":
        try:
            mapping = mapping_of_document(document, path.name)
        except BenchError as error:
            raise BenchError(f"the mapping {path}: {error}") from None
        table = MappedTable(mapping, file.texts("recognise.columns", found), str(path))
        for key in OF_FORMAT & document.keys() - {"recognise"}:
            setattr(table, key, file.text(key, document[key]))
        if is_shipped:
            table.name = path.stem
        table.of_project = not is_shipped
        return table
    return file.of_documents(found, "" if is_shipped else f"-{hashlib.sha256(repr(document).encode()).hexdigest()[:8]}")


class FormatFile:
    """A file of TOML whose words are read by their types."""

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        """A format with this content."""
        self.path, self.document = path, document

    def error(self, key: str, value: Any, expected: str) -> BenchError:
        """The error of a key that holds something else."""
        return BenchError(f"the mapping {self.path}: {key} = {value!r}: expected {expected}")

    def text(self, key: str, value: Any) -> str:
        """A text.

        Raises:
            BenchError: It is none.
        """
        if not isinstance(value, str) or not value:
            raise self.error(key, value, "a text")
        return value

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        """A list of texts, or one.

        Raises:
            BenchError: It is neither.
        """
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found:
            raise self.error(key, value, "a text or a list of texts")
        return tuple(self.text(key, each) for each in found)

    def recognised(self) -> tuple[str, Any]:
        """The columns or keys by which files are recognised.

        Raises:
            BenchError: By neither, or by both.
        """
        found = self.document["recognise"]
        if not isinstance(found, dict) or len(found) != 1:
            raise self.error("recognise", found, "recognise.columns or recognise.keys")
        ((kind, what),) = found.items()
        if kind not in KINDS:
            raise UnknownName("key", kind, KINDS, where=f"recognise of {self.path}")
        return kind, what

    def of_documents(self, keys: Any, ending: str) -> Format:
        """A format of JSON documents.

        Raises:
            BenchError: A key holds something else than it may.
        """
        for key in self.document:
            if key not in WORDS:
                raise UnknownName("key", key, WORDS, where=str(self.path))
        lists = keys if isinstance(keys, list) and keys and isinstance(keys[0], list) else [keys]
        values, patterns = self._values()
        rest = self.document.get("rest", "fields")
        if rest not in ("fields", "parameters"):
            raise UnknownName("rest", str(rest), ("fields", "parameters"), where=str(self.path))
        body: dict[str, Any] = {
            **{key: self.text(key, self.document[key]) for key in TEXTS if key in self.document},
            "lines": self._flag("lines", self.document.get("lines", False)),
            "name": self.path.stem + ending,
            "shapes": tuple(frozenset(self.texts("recognise.keys", each)) for each in lists),
            "names": self._listed("name"),
            "inherited": self._inherited(),
            "omitted": self._listed("omitted"), "axes": self._axes(), "about": self._about(),
            "values": values, "patterns": patterns,
            "metrics": self._table("renamed"), "setup": rest == "parameters", "of_project": bool(ending),
            "__module__": str(self.path) if ending else "bench.ingest.formats", "__doc__": self.document.get("doc"),
        }  # fmt: skip
        body.setdefault("doc", f"documents that {self.path.name} describes")
        found: Format = type(f"Format_{re.sub(r'[^0-9A-Za-z]', '_', self.path.stem)}", (Declared,), body)()
        return found

    def _flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.error(key, value, "true or false")
        return value

    def _listed(self, key: str) -> tuple[str, ...]:
        return self.texts(key, self.document[key]) if key in self.document else ()

    def _inherited(self) -> dict[str, tuple[str, ...]]:
        """Fields that records take from the objects around them.

        Raises:
            BenchError: A path leads to none of these objects.
        """
        said = self.document.get("inherited", {})
        if not isinstance(said, dict):
            raise self.error("inherited", said, "a table of paths")
        *keys, _ = str(self.document.get("records", "")).split(LEVEL)
        places = {"".join(key + LEVEL for key in keys[:depth]) for depth in range(len(keys) + 1)}
        found = {field: self.texts(f"inherited.{field}", paths) for field, paths in said.items()}
        for field, paths in found.items():
            for path in paths:
                prefix, level, _ = path.rpartition(LEVEL)
                if prefix + level not in places:
                    raise self.error(
                        f"inherited.{field}", path, "a field of the document, or of a list that records lie in"
                    )
        return found

    def _table(self, key: str) -> dict[str, str]:
        """A table of texts."""
        found = self.document.get(key, {})
        if not isinstance(found, dict):
            raise self.error(key, found, "a table of texts")
        return {name: self.text(f"{key}.{name}", value) for name, value in found.items()}

    def _place(self, key: str, value: Any) -> str:
        """A path, or a text of all records as `Declared` writes it."""
        if isinstance(value, dict) and list(value) == ["text"]:
            return f"={self.text(key, value['text'])}"
        return self.text(key, value)

    def _axes(self) -> dict[str, str]:
        said = self.document.get("parameters", [])
        more = self._table("parameters") if isinstance(said, dict) else {}
        listed = self.texts("parameters", said) if said and not more else ()
        axes = {word: self._place(word, self.document[word]) for word in MAPPED_AXES[1:] if word in self.document}
        return axes | {name: name for name in listed} | more

    def _about(self) -> dict[str, str]:
        named = {column: self.text(word, self.document[word]) for word, column in RUN.items() if word in self.document}
        return named | self._table("about")

    def _values(self) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
        """Meanings of fields, by their path and by a pattern of it."""
        said = self.document.get("value", [])
        if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
            raise self.error("value", said, 'a list of tables, such as { column = "mean", unit = "ms" }')
        values: dict[str, Quantity] = {}
        patterns: dict[str, Quantity] = {}
        for each in said:
            column, match, quantity = self._quantity(each)
            for path in column:
                values[path] = quantity if quantity.metric else self._named(path, quantity)
            if match:
                patterns[match] = quantity
        return values, patterns

    def _named(self, path: str, quantity: Quantity) -> Quantity:
        """A value that its unit or its column names, as `--map` names one."""
        metric = METRICS.get(unit_of(quantity.unit).name or "", path.rpartition(".")[2])
        copied: dict[str, Any] = {each.name: getattr(quantity, each.name) for each in fields(Quantity)}
        return Quantity(**{**copied, "metric": metric})

    def _quantity(self, said: Mapping[str, Any]) -> tuple[Sequence[str], str | None, Quantity]:
        """The columns, the pattern of columns, and what they become."""
        for key in said:
            if key not in OF_VALUE:
                raise UnknownName("key", key, OF_VALUE, where=f"a value of {self.path}")
        column = self.texts("column", said["column"]) if "column" in said else ()
        match = self.text("match", said["match"]) if "match" in said else None
        if bool(column) == bool(match) or (match and "metric" not in said):
            raise self.error("value", dict(said), "a column, or match and metric")
        about: dict[str, Any] = {"metric": ""}
        for key, value in said.items():
            if key in ("metric", "unit", "statistic", "better", "phase"):
                about[key] = self.text(key, value)
            elif key in ("void", "apart"):
                about[key] = self._flag(key, value)
            elif key in ("block", "loops"):
                if type(value) is not int:
                    raise self.error(key, value, "a whole number")
                about[key] = value
        if "better" in about:
            if about["better"] not in ("lower", "higher", "neither"):
                raise UnknownName("better", about["better"], ("lower", "higher", "neither"), where=str(self.path))
            about["better"] = None if about["better"] == "neither" else about["better"]
        if match:
            try:
                groups = re.compile(match).groups
            except re.error as error:
                raise self.error("match", match, f"a regular expression ({error})") from None
            texts = [about.get(key) or "" for key in ("metric", "unit", "statistic")]
            if any(int(digits) > groups for text in texts for digits in re.findall(r"\\(\d+)", text)):
                raise self.error("value", dict(said), f"a metric, unit and statistic of groups up to {groups}")
        return column, match, Quantity(**about)


@functools.lru_cache(maxsize=4)
def formats_of_folder(folder: Path, *, is_shipped: bool = False) -> tuple[Format, ...]:
    """The formats that the files of a folder describe.

    Raises:
        BenchError: One is broken.
    """
    found = (format_of_file(path, is_shipped=is_shipped) for path in sorted(folder.glob("*.toml")))
    return tuple(kind for kind in found if kind is not None)

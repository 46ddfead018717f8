"""SQL for people to run again: its literals are harmless and printable, whatever the values hold."""

import math
import shlex
from collections.abc import Iterable, Sequence

from ..warehouse.schema import literal

UNQUOTED = set('$`"\\!')  # characters that a shell interprets between double quotes


def text_literal(text: str) -> str:
    """A text as an SQL expression of printable characters."""
    return literal(text) if text.isprintable() else f"decode(unhex('{text.encode('utf-8', 'replace').hex()}'))"


def list_literal(texts: Iterable[str]) -> str:
    """Texts as an SQL list."""
    return f"[{', '.join(map(text_literal, texts))}]"


def number_literal(value: float) -> str:
    """A number as an SQL expression; infinity has no literal of its own."""
    return repr(value) if math.isfinite(value) else f"'{value}'::DOUBLE"


def table_of(name: str, columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """A SELECT whose rows are these values, the numbers as DOUBLE."""
    values = ",\n  ".join(f"({', '.join(map(_value_literal, row))})" for row in rows)
    return f"SELECT * FROM (VALUES\n  {values}\n) AS {name}({', '.join(columns)})"


def _value_literal(value: str | float | None) -> str:
    if isinstance(value, str):
        return text_literal(value)
    return "NULL::DOUBLE" if value is None else f"{float(value)!r}::DOUBLE"


def equals(column: str, value: str | None) -> str:
    """A condition: the column has the value."""
    return f"{column} IS NULL" if value is None else f"{column} = {text_literal(value)}"


def among(column: str, texts: Sequence[str]) -> str:
    """A condition: the column has one of the values."""
    return equals(column, texts[0]) if len(texts) == 1 else f"{column} IN ({', '.join(map(text_literal, texts))})"


def fill(template: str, *values: str) -> str:
    """SQL on one line, with a literal for each `{}`."""
    return one_line(template).format(*map(text_literal, values))


def one_line(sql: str) -> str:
    """SQL without line breaks. It must hold no literals yet, because their spaces matter."""
    return " ".join(sql.split())


def paste(sql: str) -> str:
    """The shell command that runs a statement, between double quotes where the shell leaves it alone."""
    quoted = shlex.quote(sql) if set(sql) & UNQUOTED else f'"{sql}"'
    return f"bench sql {quoted}"

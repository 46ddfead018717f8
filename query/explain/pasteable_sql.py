"""Statements with literals in them, for people to run again: harmless and printable, whatever the values hold."""

import shlex
from collections.abc import Iterable, Sequence

from ...warehouse.schema import literal

UNQUOTED = set('$`"\\!')  # characters that a shell does not leave alone between double quotes


def equals(column: str, value: str | None) -> str:
    """A condition: the column has the value."""
    return f"{column} IS NULL" if value is None else f"{column} = {fill('{}', value)}"


def listed(texts: Iterable[str]) -> str:
    """Texts as an SQL list."""
    return f"[{', '.join(map(_literal, texts))}]"


def among(column: str, texts: Sequence[str]) -> str:
    """A condition: the column has one of the values."""
    return equals(column, texts[0]) if len(texts) == 1 else f"{column} IN ({', '.join(map(_literal, texts))})"


def fill(template: str, *values: str) -> str:
    """SQL on one line, with a literal for each `{}`: harmless and printable, whatever the values hold."""
    return one_line(template).format(*map(_literal, values))


def _literal(text: str) -> str:
    return literal(text) if text.isprintable() else f"decode(unhex('{text.encode().hex()}'))"


def one_line(sql: str) -> str:
    """SQL without line breaks; for what holds no literals yet, whose spaces matter."""
    return " ".join(sql.split())


def paste(sql: str) -> str:
    """The command that runs a statement; between double quotes where a shell leaves it alone, for they read better."""
    quoted = shlex.quote(sql) if set(sql) & UNQUOTED else f'"{sql}"'
    return f"bench sql {quoted}"

"""Further parameters of cases, as tables and sentences have them: by name, and once where all share them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from .numbers import JSON_MARKS


class ParametersText(str):
    """Further parameters for people, `tokens:512, engine:0`: a cell of which a table can tell once what all rows share."""

    given: Mapping[str, Any]

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self | None:
        """Their text; None where there are none."""
        text = cls(", ".join(f"{key}:{plain(value)}".removeprefix(":") for key, value in parameters.items()))
        text.given = parameters
        return text or None


def plain(value: Any) -> str:
    """The value of an axis without the marks of JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).translate(JSON_MARKS)


def parameters_of(text: str | None) -> dict[str, Any]:
    """Further parameters by name; what is no object has the name ""."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = text
    return found if isinstance(found, dict) else {"": found}


def value_text(value: Any) -> Any:
    """The value of an axis as text, further parameters by name."""
    return ParametersText.of(parameters_of(value)) if isinstance(value, str) and value.startswith('{"') else value


def without_shared_parameters(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The parameters that all rows have with the same value, and of each row the others."""
    first = rows[0] if rows else {}
    shared = {key: value for key, value in first.items() if all(key in other and other[key] == value for other in rows)}
    return shared, [{key: value for key, value in row.items() if key not in shared} for row in rows]

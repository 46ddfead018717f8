"""JSON Schemas of what commands answer, generated from the headers of views, and published in docs/schemas.

Within a version an answer only gains columns: `write_schemas` refuses to take one away, or to change its type.
"""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any

from .. import sql
from ..query.cost.model import FORMULA, MODEL_SCHEMA, CostModel
from ..sql import ViewColumn
from ..warehouse.errors import BenchError, UnknownName
from ..warehouse.files import cannot_write
from .answers import ANSWERS, JsonAnswer, RowShape, row_shape

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OBJECTS = ("errors", "cost-model")  # answers that are one object

Schema = dict[str, Any]

_OF_TYPE: dict[str, Schema] = {
    "VARCHAR": {"type": "string"},
    "JSON": {"type": "string", "contentMediaType": "application/json"},
    "TIMESTAMP": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$"},
    "BIGINT": {"type": "integer"},
    "DOUBLE": {"type": "number"},
    "BOOLEAN": {"type": "boolean"},
    "OBJECT": {"type": "object"},
    "ANY": {},
}
_OF_PYTHON: dict[type, Schema] = {str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}}


def schema(name: str) -> Schema:
    """The schema of an answer.

    Args:
        name: A key of `ANSWERS`: a command, with the option that makes it answer so.

    Raises:
        UnknownName: There is no such answer.
    """
    if name not in ANSWERS:
        raise UnknownName("schema", name, ANSWERS, cure="List them with: bench programs schemas")
    answer = ANSWERS[name]
    command = "bench … --errors json" if name == "errors" else f"bench {name} --format json"
    head = {"$schema": DIALECT, "$id": f"urn:bench:{_stem(name)}:{answer.version}", "title": command}
    if name == "cost-model":
        return {**head, "description": grain(name), **_cost_models()}
    if not answer.shapes:
        return {**head, "description": grain(name), "type": "array", "items": {"type": "object"}}
    rows = [_row(row_shape(shape), answer) for shape in answer.shapes]
    if name in OBJECTS:
        return {**head, **rows[0]}
    if len(rows) == 1:
        del rows[0]["description"]  # the array has it
    item = rows[0] if len(rows) == 1 else {"anyOf": rows}
    return {**head, "description": grain(name), "type": "array", "items": item}


def grain(name: str) -> str:
    """The grain of an answer's row."""
    answer = ANSWERS[name]
    if name == "cost-model":
        return "One object with the formula and a model for each config."
    if not answer.shapes:
        return "One row per row of the query, with its columns."
    return " ".join(dict.fromkeys(row_shape(shape).grain for shape in answer.shapes))


def _row(shape: RowShape, answer: JsonAnswer) -> Schema:
    optional = [name for name, column in shape.columns.items() if "left out where" in column.meaning]
    return {
        "type": "object",
        "description": shape.grain,
        "properties": {
            name: _value(column, (answer.choices or {}).get(name)) for name, column in shape.columns.items()
        },
        "required": [name for name in shape.columns if name not in optional],
    }


def _value(column: ViewColumn, choices: tuple[str, ...] | None) -> Schema:
    """A value of a column, or null: any column may hold NULL, and a number that JSON has not is null, too."""
    if column.type.endswith("[]"):
        value: Schema = {"type": ["array", "null"], "items": _nullable(_OF_TYPE[column.type.removesuffix("[]")])}
    else:
        value = _nullable(_OF_TYPE[column.type])
    if choices:
        value |= {"enum": [*choices, None]}
    return {**value, "description": column.meaning}


def _nullable(value: Schema) -> Schema:
    return {**value, "type": [value["type"], "null"]} if "type" in value else value


def _cost_models() -> Schema:
    """The object that `bench cost-model` writes, from the classes of the model."""
    meanings = {name: column.meaning for name, column in sql.view("step_cost_models").columns.items()}
    model = _fields(CostModel, meanings)
    del model["properties"]["replicates"]
    model["required"].remove("replicates")
    return {
        "type": "object",
        "properties": {
            "schema": {"const": MODEL_SCHEMA},
            "formula": {"const": FORMULA},
            "models": {"type": "array", "items": model},
        },
        "required": ["schema", "formula", "models"],
    }


def _fields(cls: type, meanings: dict[str, str]) -> Schema:
    properties = {}
    for field in dataclasses.fields(cls):
        described = {"description": meanings[field.name]} if field.name in meanings else {}
        properties[field.name] = {**_python(field.type), **described}
    return {"type": "object", "properties": properties, "required": [*properties]}


def _python(hint: Any) -> Schema:
    """The schema of a Python type; of one that is not known before a check of types, anything."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return {"anyOf": [{"type": "null"} if part is types.NoneType else _python(part) for part in inner]}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [_python(part) for part in inner],
            "items": False,
            "minItems": len(inner),
        }
    if origin is dict:
        return {"type": "object", "additionalProperties": _python(inner[1])}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _fields(hint, {})
    return _OF_PYTHON.get(hint, {}) if isinstance(hint, type) else {}


def text(name: str) -> str:
    """The schema as a file holds it."""
    return json.dumps(schema(name), ensure_ascii=False, indent=2) + "\n"


def file_name(name: str) -> str:
    """The file that holds the schema of an answer."""
    return f"{_stem(name)}.json"


def _stem(name: str) -> str:
    return "-".join(part.strip("-").lower() for part in name.split())


def write_schemas(folder: Path) -> list[str]:
    """Write every schema into a folder.

    Returns:
        The names of the files that changed.

    Raises:
        BenchError: A file there has the same version, and a column that is gone or has another type now, or none can be written.
    """
    changed = []
    for name in ANSWERS:
        path, new = folder / file_name(name), text(name)
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == new:
            continue
        if old and (broken := broken_promises(json.loads(old), schema(name))):
            raise BenchError(
                f"{path.name} has the same version, and {broken[0]}. Raise the version of {name!r} in agents/answers.py."
            )
        changed.append(path.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ANSWERS:
            (folder / file_name(name)).write_text(text(name), encoding="utf-8")
    except OSError as error:
        raise cannot_write(folder, error, choose="another folder") from error
    return changed


def broken_promises(old: Schema, new: Schema, path: str = "") -> list[str]:
    """The columns that a reader of the old answer would miss in the new one; none if its version was raised."""
    if old.get("$id") != new.get("$id"):
        return []
    found = []
    if old.get("type") != new.get("type"):
        found.append(f"{path or 'the answer'} is {new.get('type')} instead of {old.get('type')}")
    for name, value in old.get("properties", {}).items():
        there = new.get("properties", {}).get(name)
        found += [f"{name!r} is gone"] if there is None else broken_promises(value, there, repr(name))
    for before, after in zip(_parts(old), _parts(new), strict=False):
        found += broken_promises(before, after, path)
    return found


def _parts(node: Schema) -> list[Schema]:
    """The schema of the items of an array, and the alternatives of a row."""
    items = node.get("items")
    return [items] if isinstance(items, dict) else node.get("anyOf", [])

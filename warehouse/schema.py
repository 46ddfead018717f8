"""The DuckDB and Arrow schemas that follow from the event declarations."""

import base64
import json
from typing import TYPE_CHECKING, Any

from .events import TABLES, Event, Field, Instant, Json

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", Json: "JSON", Instant: "TIMESTAMP",
    list[int]: "BIGINT[]", list[str]: "VARCHAR[]",
}  # fmt: skip


def quote(identifier: str) -> str:
    """An SQL identifier, whatever it contains."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string literal, for the places that take no parameter (COMMENT ON, COPY … TO)."""
    return "'" + text.replace("'", "''") + "'"


def create_tables(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create every event table that is missing, with its comments."""
    for event in TABLES.values():
        columns = ", ".join(
            f"{quote(f.name)} {SQL_TYPES[f.type]}{'' if f.nullable else ' NOT NULL'}" for f in event.fields()
        )
        connection.execute(f"CREATE TABLE IF NOT EXISTS {event.TABLE} ({columns})")
        connection.execute(f"COMMENT ON TABLE {event.TABLE} IS {literal(f'One row per {event.DOC}.')}")
        for field in event.fields():
            connection.execute(f"COMMENT ON COLUMN {event.TABLE}.{quote(field.name)} IS {literal(comment(field))}")


def comment(field: Field) -> str:
    """The comment on a column in the catalog, with its unit last."""
    return f"{field.doc} [{field.unit}]" if field.unit else field.doc


def metadata(event: type[Event]) -> dict[str, str]:
    """The metadata of every Parquet file of this table: table, version, and each column's meaning and unit."""
    columns = {f.name: {"doc": f.doc, "unit": f.unit} for f in event.fields()}
    return {"bench.table": event.TABLE, "bench.version": str(event.VERSION), "bench.columns": json.dumps(columns)}


ROWS_IN_GROUP = 30_720  # of a Parquet file; where a byte is damaged, the rows of its group are lost together


def arrow_schema(event: type[Event]) -> "pa.Schema":
    """The Arrow schema of one table, with docs, units and version as metadata; made once."""
    import pyarrow as pa

    if event not in _schemas:
        fields = [
            pa.field(
                f.name, arrow_type(f.type), f.nullable, metadata={"doc": f.doc, **({"unit": f.unit} if f.unit else {})}
            )
            for f in event.fields()
        ]
        _schemas[event] = pa.schema(fields, metadata=metadata(event))
    return _schemas[event]


_schemas: "dict[type[Event], pa.Schema]" = {}


def arrow_type(kind: Any) -> "pa.DataType":
    """The Arrow type of a declared type."""
    import pyarrow as pa

    types: dict[Any, pa.DataType] = {
        str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), Json: pa.string(),
        Instant: pa.timestamp("us"), list[int]: pa.list_(pa.int64()), list[str]: pa.list_(pa.string()),
    }  # fmt: skip
    return types[kind]


def encodings(wanted: "pa.Schema") -> "dict[str, Any]":
    """Encodings of columns for Arrow's writer: numbers as differences, texts in dictionaries.

    The least and the greatest text of a row group are written of run_id alone, by which files are chosen: they took a tenth
    of the time of sealing.
    """
    import pyarrow as pa

    numbers = [f.name for f in wanted if pa.types.is_integer(f.type) or pa.types.is_timestamp(f.type)]
    lists = [f"{f.name}.list.element" for f in wanted if pa.types.is_list(f.type)]
    texts = [f.name for f in wanted if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
    others = [f.name for f in wanted if f.name not in texts and not pa.types.is_list(f.type)]
    return {
        "use_dictionary": texts + lists,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "write_statistics": [name for name in texts if name == "run_id"] + others + lists,
    }


def as_read(wanted: "pa.Schema") -> dict[str, bytes]:
    """The metadata by which Arrow reads a file as this schema, however its rows were when they were written."""
    return {"ARROW:schema": base64.b64encode(wanted.serialize().to_pybytes())}

"""Tables and views in a Spark session: the event log, and everything derived from it."""

import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ... import sql
from ...warehouse.changes import RunChanges, forgets
from ...warehouse.errors import MissingExtra
from ...warehouse.events import TABLES, Environment, Event, Instant, Json, RunRecord, Source
from ...warehouse.load import readable_files
from ...warehouse.log_files import LeftOut
from ...warehouse.store import Store

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# The runs a load concerns, which derived tables ask for: here, all that any event names.
TOUCHED = """
    SELECT run_id, min(config) AS config
    FROM (SELECT run_id FROM runs UNION SELECT run_id FROM cases UNION SELECT run_id FROM schedule_chunks)
    LEFT JOIN runs USING (run_id)
    GROUP BY run_id
"""


def register(
    spark: "SparkSession",
    store: Store | str | os.PathLike[str],
    *,
    log: str | None = None,
    only: Collection[str] | None = None,
) -> LeftOut:
    """Give a session every event table, derived table and view of a store, as temporary views.

    A temporary view of the session with the same name is replaced; tables of its catalogs stay, out of reach of their
    bare names. Macros whose arguments all have defaults are views with these; `ask` takes other arguments.
    Derived tables are computed once, at the latest when first asked, and held by the executors as long as the session
    lives. What is recorded later is seen after another `register`.

    Args:
        spark: The session.
        store: The store, or its path or address.
        log: Address of its folder `events` as the executors see it, such as s3a://bucket/prefix/events; without it they
            read the files here, or of a store in a bucket its mirror here, which only executors on this machine can.
        only: Names wanted; what they read is registered as well.

    Returns:
        Files of the log that were left out, and why.

    Raises:
        BenchError: There is no store.
        MissingExtra: sqlglot is not installed.
    """
    translate = translator()
    store = store if isinstance(store, Store) else Store.find(store)
    files, left_out = readable_files(store)
    changes = RunChanges.read(files)
    wanted = None if only is None else set(only).union(*(translate.reads(f"FROM {name}") for name in only))
    if wanted is not None and translate.TOUCHED in wanted:
        wanted |= translate.reads(TOUCHED)
    for table, event in TABLES.items():
        if wanted is None or table in wanted:
            paths = [
                _path(f"{log.rstrip('/')}/{table}/{file.name}" if log else f"file://{file.path}")
                for file in files
                if file.table == table
            ]
            _changed(spark, event, _events(spark, event, paths, changes), changes).createOrReplaceTempView(table)
    if wanted is None or translate.TOUCHED in wanted:
        spark.sql(translate.translate(TOUCHED)).createOrReplaceTempView(translate.TOUCHED)
    for name in sql.in_order():
        view = sql.tables().get(name) or sql.view(name)
        if (wanted is None or name in wanted) and not view.scalar and all(a.default for a in view.arguments or ()):
            query = view.query if view.arguments is None else f"FROM {name}()"
            frame = spark.sql(translate.translate(query))
            if name in sql.tables():  # a cut: the plans of views upon views upon these would grow without bound
                frame = frame.localCheckpoint(eager=False)
            frame.createOrReplaceTempView(name)
    return left_out


def ask(spark: "SparkSession", query: str) -> "DataFrame":
    """Run DuckDB's SQL, macros included, in a session that has the store's tables.

    Raises:
        BenchError: It is no SQL, or Spark has nothing for what it says.
        MissingExtra: sqlglot is not installed.
    """
    return spark.sql(translator().translate(query))


def translator() -> "ModuleType":
    """The module that translates.

    Raises:
        MissingExtra: sqlglot is not installed.
    """
    try:
        from . import translate
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("sqlglot"):
            raise MissingExtra("sqlglot", "spark") from None
        raise
    return translate


def _path(address: str) -> str:
    """An address with its glob characters escaped."""
    return re.sub(r"([\\{}\[\]*?,^])", r"\\\1", address)


def _events(spark: "SparkSession", event: type[Event], paths: list[str], changes: RunChanges) -> "DataFrame":
    """The rows that a load makes of these files: missing columns are NULL, runs and environments occur once."""
    from pyspark.sql import functions

    schema = _schema(event)
    frame = spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)
    if changes.forgotten and forgets(event):
        frame = frame.where(~frame.run_id.isin(*changes.forgotten))
    if event is RunRecord:
        parts = [functions.min(field.name).alias(field.name) for field in event.fields() if field.name != "run_id"]
        return frame.groupBy("run_id").agg(*parts)
    return frame.dropDuplicates(["environment_id"]) if event is Environment else frame


def _changed(spark: "SparkSession", event: type[Event], frame: "DataFrame", changes: RunChanges) -> "DataFrame":
    """The rows of a table with the configs and tags that users gave their runs since."""
    from pyspark.sql import functions

    given: dict[str, list[tuple[str, str | None]]] = {}
    if event in (RunRecord, Source) and changes.configs:
        given["config"] = list(changes.configs.items())
    if event is RunRecord and changes.tags:
        rows = frame.where(frame.run_id.isin(*changes.tags)).select("run_id", "tags").collect()
        given["tags"] = [(run_id, changes.retagged(run_id, tags)) for run_id, tags in rows]
    for column, pairs in given.items():
        known = spark.createDataFrame(pairs, "run_id STRING, given STRING").withColumn("is_given", functions.lit(True))
        value = functions.when(functions.col("is_given"), functions.col("given")).otherwise(functions.col(column))
        frame = frame.join(known, "run_id", "left").withColumn(column, value).drop("given", "is_given")
    return frame.select(*(field.name for field in event.fields()))


def _schema(event: type[Event]) -> "StructType":
    from pyspark.sql import types

    kinds: dict[Any, types.DataType] = {
        str: types.StringType(), int: types.LongType(), float: types.DoubleType(), bool: types.BooleanType(),
        Json: types.StringType(), Instant: types.TimestampNTZType(), list[int]: types.ArrayType(types.LongType()),
        list[str]: types.ArrayType(types.StringType()),
    }  # fmt: skip
    return types.StructType([types.StructField(field.name, kinds[field.type]) for field in event.fields()])

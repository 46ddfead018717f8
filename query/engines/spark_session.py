"""A quiet Spark session of our own, for `bench sql --engine spark`."""

import contextlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from ...warehouse.errors import BenchError, MissingExtra, UnknownName
from ...warehouse.store import Notify, Store
from ..ask import Answer
from .spark_views import ask, register, translator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.analyzer.maxIterations": "1000",  # views stand on views: 100 are too few for comparisons
}
ONE_MACHINE = {"spark.sql.shuffle.partitions": "8", "spark.driver.host": "localhost"}


@contextlib.contextmanager
def session(master: str, **settings: str) -> "Iterator[SparkSession]":
    """A session that ends with the context. Spark's log output is shown only if it does not start.

    Raises:
        MissingExtra: pyspark is not installed.
        BenchError: There is no Java, or Spark does not start.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise MissingExtra("pyspark", "spark") from None
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise BenchError(
            "Spark needs Java, but there is no `java` in PATH and no JAVA_HOME. Install Java 17 (Debian: "
            "apt install openjdk-17-jre-headless), or ask without --engine spark."
        )
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it prints errors that we raise
    builder = SparkSession.builder.master(master).appName("bench")
    for name, value in {**QUIET, **(ONE_MACHINE if master.startswith("local") else {}), **settings}.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryFile() as stderr:
        try:
            with _standard_error(stderr):
                spark = builder.getOrCreate()
        except Exception as error:
            stderr.seek(0)
            why = _cause(stderr.read().decode(errors="replace"), str(error))
            raise BenchError(f"Spark did not start with master {master}: {why}.") from error
        try:
            yield spark
        finally:
            spark.stop()


def _cause(stderr: str, error: str) -> str:
    """The line that says why Spark did not start, from its stderr or from the error."""
    lines = [line for line in stderr.splitlines() if re.search(r"Exception|rror:| ERROR ", line)]
    return re.split(r"Exception: | ERROR \w+: ", [*lines, *error.splitlines(), "nobody knows why"][0])[-1].strip(" .")


@contextlib.contextmanager
def _standard_error(file: IO[bytes]) -> Iterator[None]:
    """Redirect the standard error of processes started within the context to a file."""
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def answer(spark: "SparkSession", store: Store, query: str, notify: Notify) -> Answer:
    """Register what a query reads and run it; report files of the log that are left out, with the reason.

    Raises:
        BenchError: The query is wrong, or fails.
    """
    from pyspark.errors import PySparkException

    try:
        left_out = register(spark, store, only=translator().reads(query))
        frame = ask(spark, query)
    except PySparkException as error:
        raise _friendly(error) from error
    for sentence in left_out.sentences().values():
        notify(f"left out: {sentence}")
    return Answer(frame.columns, _rows(frame.toLocalIterator(prefetchPartitions=True)))


def _rows(rows: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    from pyspark.errors import PySparkException

    try:
        for row in rows:
            yield tuple(_with_dicts(value) for value in row)
    except PySparkException as error:
        raise _friendly(error) from error


def _with_dicts(value: Any) -> Any:
    """A struct as DuckDB gives it."""
    if hasattr(value, "asDict"):
        return {name: _with_dicts(part) for name, part in value.asDict().items()}
    return [_with_dicts(part) for part in value] if isinstance(value, list) else value


def _friendly(error: Exception) -> BenchError:
    """Spark's message without the plan and the trace that follow it."""
    text = re.split(r"\n|;$| SQLSTATE", str(error))[0].strip()
    if missing := re.search(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view `([^`]+)`", text):
        from ... import sql

        known = [name for name in (*sql.tables(), *sql.views()) if not name.startswith("_")]
        return UnknownName("table or view", missing[1], known, cure="List them with: bench views")
    return BenchError(text)

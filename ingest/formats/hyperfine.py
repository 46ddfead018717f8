"""hyperfine: what `--export-json` and `--export-csv` write."""

from collections.abc import Iterable
from typing import Any

from ..format import FILE, Head
from ..readers.document import Object
from ..readers.files import read_head
from ..readers.json_format import JsonFormat
from ..readers.results import Results, Subject

COLUMN = "parameter_"  # how a column of a CSV begins that is one
STATISTICS = {"mean": "mean", "stddev": "stddev", "median": "median", "min": "min", "max": "max"}


class Hyperfine(JsonFormat):
    """Results of hyperfine."""

    name = "hyperfine"
    doc = "hyperfine JSON or CSV"
    becomes = (
        "file → run; `memory_usage_byte` → memory peaks; exit codes → failed_calls; a CSV beside its JSON is ignored"
    )
    shapes = (frozenset({"results[].command", "results[].mean"}), frozenset({"results[].command", "results[].times"}))
    headers = (frozenset({"command", "mean", "stddev", "median", "user", "system", "min", "max"}),)
    holds = (Object, list)
    runs = FILE

    def left_out(self, head: Head) -> str | None:
        """A CSV says less than the JSON of the same measurement."""
        beside = head.path.with_suffix(".json")
        if head.path.suffix == ".csv" and beside.is_file() and super().recognise(read_head(beside)):
            return f"says what {beside.name} beside it says, without its times"
        return None

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """Nothing is said of when and where."""
        if isinstance(document, list):
            return document
        records: list[Any] = document.array("results")
        if left := document.left():
            results.run(tags=left)
        return records

    def load(self, record: Object, results: Results) -> None:
        """One command."""
        columns = {key[len(COLUMN) :]: record.take(key) for key in list(record) if key.startswith(COLUMN)}
        case = results.case(record.name("command"), parameters=record.section("parameters") or columns)
        case.samples(record.array("times"), "s", apart=True)
        for field, statistic in STATISTICS.items():
            case.metric("latency", record.take(field), "s", statistic=statistic)
        for field in ("user", "system"):
            case.metric(f"{field}_time", record.take(field), "s", statistic="mean")
        case.memory(record.array("memory_usage_byte"))
        if _failures(record.array("exit_codes"), case):
            results.note(
                "calls failed, which hyperfine was told to ignore (-i): they count as calls, and as failed_calls"
            )
        case.fields(record.left())


def _failures(codes: list[Any], case: Subject) -> bool:
    """Count calls that failed, which hyperfine measures only where it was told to ignore it (-i); returns whether any did."""
    failed = [code for code in codes if code != 0]
    if codes:
        case.metric("failed_calls", len(failed), "count", better="lower")
    if failed:
        numbers = [code for code in failed if type(code) is int and abs(code) < 2**31]
        reasons = sorted({f"exit code {code}" for code in numbers}) + ["killed by a signal"] * (None in failed)
        reason = (
            f"{len(failed)} of {len(codes)} calls failed, which hyperfine was told to ignore (-i): {', '.join(reasons)}"
        )
        case.outcome("ok", reason, exit_code=numbers[0] if numbers else None)
    return bool(failed)

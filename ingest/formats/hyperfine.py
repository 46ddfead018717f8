"""hyperfine: what `--export-json` and `--export-csv` write."""

from typing import Any

from ..format import FILE, Head
from ..readers.declared import Declared, Quantity
from ..readers.document import Object
from ..readers.files import read_head
from ..readers.results import Results, Subject

COLUMN = "parameter_"  # how a column of a CSV begins that is one


class Hyperfine(Declared):
    """Results of hyperfine."""

    name = "hyperfine"
    doc = "hyperfine JSON or CSV"
    becomes = (
        "file → run; `memory_usage_byte` → memory peaks; exit codes → failed_calls; a CSV beside its JSON is ignored"
    )
    shapes = (frozenset({"results[].command", "results[].mean"}), frozenset({"results[].command", "results[].times"}))
    headers = (frozenset({"command", "mean", "stddev", "median", "user", "system", "min", "max"}),)
    runs = FILE
    records = "results"
    values = {
        "times": Quantity("latency", "s", apart=True), "user": Quantity("user_time", "s", "mean"),
        "system": Quantity("system_time", "s", "mean"),
    }  # fmt: skip
    patterns = {"mean|stddev|median|min|max": Quantity("latency", "s", r"\g<0>")}

    def identity(self, name: str) -> str:
        """Nothing: the file names its commands."""
        return ""

    def left_out(self, head: Head) -> str | None:
        """A CSV says less than the JSON of the same measurement."""
        beside = head.path.with_suffix(".json")
        if head.path.suffix == ".csv" and beside.is_file() and super().recognise(read_head(beside)):
            return f"repeats {beside.name}, which lies beside it, without its times"
        return None

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """A command and its parameters, which a CSV has in columns of their own."""
        columns = {key[len(COLUMN) :]: record.take(key) for key in list(record) if key.startswith(COLUMN)}
        return results.case(record.name("command"), parameters=record.section("parameters") or columns)

    def more(self, record: Object, case: Subject, results: Results) -> None:
        """Memory of each call, and how the calls ended."""
        case.memory(record.array("memory_usage_byte"))
        if _failures(record.array("exit_codes"), case):
            results.note(
                "calls failed, which hyperfine was told to ignore (-i): they count as calls, and as failed_calls"
            )


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

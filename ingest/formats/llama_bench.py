"""llama-bench of llama.cpp: its JSON, JSON lines, CSV, and the Markdown table that it prints by default."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Environment
from ..format import FILE, Head
from ..readers.document import BadRecord, Object, lines_of
from ..readers.json_format import LINES_BEFORE_HEADER, JsonFormat, UnlocatedRecords, records_of
from ..readers.results import Results

KEYS = ("model_type", "n_prompt", "n_gen", "avg_ts")
OF_FILE = ("build_commit", "build_number", "cpu_info", "gpu_info", "test_time")
APART = {"size", "params", "model_filename", *OF_FILE}  # no settings
WHOLE = re.compile(r"-?\d{1,15}")
TABLE = re.compile(r"\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|\s*")
SPEED = re.compile(r"(\d[\d.]*)(?: ± (\d[\d.]*))?")
BUILD = re.compile(r"build: ([0-9a-f]{6,40}) \((\d+)\)")
SHORT = {  # columns of the table
    "backend": "backends", "ngl": "n_gpu_layers", "threads": "n_threads", "fa": "flash_attn", "sm": "split_mode",
    "mmap": "use_mmap",
}  # fmt: skip


class LlamaBench(JsonFormat):
    """Results of llama-bench."""

    name = "llama-bench"
    doc = "llama-bench JSON, JSON lines, CSV or Markdown"
    becomes = "case named by the model's type, with pp512 or tg128; `samples_ts` → throughput in tokens/s"
    lost = "what its Markdown leaves out: samples, usual settings"
    printed = True
    runs = FILE
    shapes = (frozenset(f"[].{key}" for key in KEYS), frozenset(KEYS))
    headers = (frozenset(KEYS),)
    holds = list

    def recognise(self, head: Head) -> bool:
        """Return whether it has the fields of a test, or the header of the table."""
        return super().recognise(head) or any(
            TABLE.fullmatch(line) for line in lines_of(head.text)[:LINES_BEFORE_HEADER]
        )

    def parse(self, text: str) -> Any:
        """JSON: a list, or one object a line."""
        return records_of(text)

    def table(self, text: str) -> list[Any]:
        """CSV, or Markdown."""
        if not any(TABLE.fullmatch(line) for line in lines_of(text)):
            return super().table(text)
        return list(_markdown(text))

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The build and the machine are those of the first test."""
        first = next((record for record in document if isinstance(record, Object)), Object())
        gpu = first.get("gpu_info")
        results.run(
            git_commit=first.text("build_commit"), started_at=first.moment("test_time"),
            environment=Environment(environment_id="", cpu=(first.text("cpu_info") or "").strip() or None,
                                    gpus=[gpu] if isinstance(gpu, str) and gpu else None),
            tags={"build_number": first.get("build_number")},
        )  # fmt: skip
        records: list[Any] = document
        return records

    def load(self, record: Object, results: Results) -> None:
        """One test."""
        name, backend = record.name("model_type"), record.text("backends")
        measured = {key: record.take(key) for key in ("avg_ns", "stddev_ns", "avg_ts", "stddev_ts")}
        times, speeds = record.array("samples_ns"), record.array("samples_ts")
        size, weights = record.take("model_size"), record.take("model_n_params")
        test = record.text("test") or _test(record)
        settings = {
            key: _typed(record.take(key)) for key in list(record) if key not in APART | (record.fields_read or set())
        }
        case = results.case(name, backend=backend, parameters={"test": test, **settings})
        case.samples(times, "ns", apart=True)
        case.samples(speeds, "tokens/s", metric="throughput", apart=True)
        for key, metric, unit in (("ns", "latency", "ns"), ("ts", "throughput", "tokens/s")):
            case.metric(metric, measured[f"avg_{key}"], unit, statistic="mean")
            case.metric(metric, measured[f"stddev_{key}"], unit, statistic="stddev")
        case.metric("model_size", size, "bytes", better=None)
        case.metric("model_parameters", weights, "count")
        for key in OF_FILE:
            record.take(key)
        case.fields(record.left())


def _test(record: Object) -> str:
    """The name of the test as the table prints it: pp512, tg128, pp512+tg128, tg128 @ d4096."""
    prompt, made, depth = (record.count(key) or 0 for key in ("n_prompt", "n_gen", "n_depth"))
    for key in ("n_prompt", "n_gen", "n_depth"):
        record.take(key)
    parts = [f"{name}{count}" for name, count in (("pp", prompt), ("tg", made)) if count]
    if not parts:
        raise BadRecord("a test of no prompt and no text")
    return "+".join(parts) + (f" @ d{depth}" if depth else "")


def _typed(value: Any) -> Any:
    """A setting as it is equal in all ways to write it: CSV has 1 for true and texts for numbers."""
    if isinstance(value, str) and WHOLE.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, bool) else value


def _markdown(text: str) -> Iterator[Any]:
    """The rows of the table as objects in the words of JSON; the line about the build follows them."""
    built = BUILD.search(text)
    build = [("build_commit", built[1]), ("build_number", int(built[2]))] if built else []
    header: list[str] = []
    for line in lines_of(text):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if TABLE.fullmatch(line):
            header = cells
        elif header and line.startswith("|") and not line.startswith(("| -", "|-", "| :")):
            speed = SPEED.fullmatch(cells[-1])
            if len(cells) != len(header) or speed is None:
                yield UnlocatedRecords(line, BadRecord("no row of the table: as many cells as the header, and a speed"))
                continue
            named = zip(header[1:-1], cells[1:-1], strict=True)
            settings = [(SHORT.get(name, name), cell) for name, cell in named if cell]
            values = [("avg_ts", speed[1])] + ([("stddev_ts", speed[2])] if speed[2] else [])
            yield Object([("model_type", cells[0]), *settings, *values, *build])

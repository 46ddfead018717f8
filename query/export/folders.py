"""Export targets that are folders of CSV files, as two older tools name and fill them, so that scripts on their results go on.

`torch-compile-csv` is what PyTorch's benchmarks/dynamo write, `model-csv` what the benchmarks of transformers wrote.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from ..ask import ask
from .runs import Omitted, text_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = Mapping[str, Any]
Files = dict[str, str]  # text by path inside the folder

LEADING = ("dev", "name", "batch_size")
MEASURES = (
    "speedup", "abs_latency", "compilation_latency", "compression_ratio", "eager_peak_mem", "dynamo_peak_mem",
    "calls_captured", "unique_graphs", "graph_breaks", "unique_graph_breaks", "autograd_captures", "autograd_compiles",
    "cudagraph_skips",
)  # fmt: skip
COUNTS = MEASURES[6:]
CPU_PEAKS = MEASURES[4:6]  # which PyTorch's benchmark writes 100 times too large on a CPU
SIZES = ("model", "batch_size", "sequence_length", "result")
DIGITS = 4  # that a result has at least
NAMED = ("suite", "dtype", "mode", "device")  # in the name of a file, beside the backend


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A format that is a folder of files; `write` gives them for the rows of `view`, and for what is known of the run."""

    view: str
    write: Callable[[Sequence[Row], Row, Omitted], Files]


def torch_compile_csv(found: Sequence[Row], facts: Row, left: Omitted) -> Files:
    """`<compiler>_<suite>_<dtype>_<mode>_<device>_<performance|accuracy>.csv`, a row a model."""
    groups: dict[str, list[Row]] = {}
    for row in found:
        if row["backend"] is None or any(row[name] is None for name in NAMED):
            left.add("cases without one of backend, suite, dtype, mode and device, which the file names say")
            continue
        suite, device = str(row["suite"]).replace("_", "-"), str(row["device"]).partition(":")[0]
        suite = "timm_models" if suite in ("timm", "timm-models") else suite
        name = "_".join(map(_word, (row["backend"], suite, row["dtype"], row["mode"], device)))
        groups.setdefault(name, []).append(row)
    files: Files = {}
    for name, rows in groups.items():
        judged = [row for row in rows if row["accuracy"] is not None]
        timed = [row for row in rows if row["status"] is not None]
        left.add("skipped cases", sum(row["status"] == "skipped" for row in timed))
        timed = [row for row in timed if row["status"] != "skipped"]
        if timed:
            files[f"{name}_performance.csv"] = _performances(timed, left)
        if judged:
            files[f"{name}_accuracy.csv"] = _csv(
                (*LEADING, *_tag(judged, left), "accuracy"),
                ([*_leading(row), *_tag(judged, Omitted(), row), row["accuracy"]] for row in judged),
            )
    return files


def _performances(rows: Sequence[Row], left: Omitted) -> str:
    """A failed case has a speedup of 0 and nothing after it, as in the benchmark's own files."""
    measures = [name for name in MEASURES if any(row[name] is not None for row in rows)]
    columns = ["speedup", *(name for name in measures if name != "speedup")]
    tag = _tag(rows, left)
    lines: list[list[str]] = []
    for row in rows:
        head = [*_leading(row), *_tag(rows, Omitted(), row)]
        if row["status"] != "ok" or row["speedup"] is None:
            left.add("endings of cases that failed, whose speedup stands as 0", name=row["status"])
            lines.append([*head, "0.000000", *["0"] * (len(columns) - 1)])
            continue
        lines.append([*head, *(_measure(name, row, left) for name in columns)])
    return _csv((*LEADING, *tag, *columns), lines)


def _measure(name: str, row: Row, left: Omitted) -> str:
    """One cell, with the benchmark's six decimals; an unknown one is empty."""
    value = row[name]
    if value is None:
        return ""
    if name in COUNTS:
        return f"{value:.0f}"
    if name in CPU_PEAKS and str(row["device"]).startswith("cpu"):
        left.add("peak memories of a CPU, written times 100 as PyTorch's benchmark does")
        value *= 100
    return f"{value:.6f}"


def _leading(row: Row) -> list[str]:
    given = json.loads(row["parameters"] or "{}")
    return [str(row["device"]), row["name"], str(given.get("batch_sizes") or row["batch_size"] or 0)]


def _tag(rows: Sequence[Row], left: Omitted, row: Row | None = None) -> list[str]:
    """The column `tag` if the file needs one, or that of a row: what an import had there, else what tells two rows apart."""
    names = Counter(tuple(_leading(each)) for each in rows)
    further = [_further(each) for each in rows]
    if max(names.values()) == 1 and not any("tag" in each for each in further):
        left.add("sequence lengths and parameters, which no column has", sum(bool(each) for each in further))
        return []
    if row is None:
        return ["tag"]
    own = _further(row)
    return (
        [text_of(own["tag"])] if "tag" in own else [" ".join(f"{key}={text_of(value)}" for key, value in own.items())]
    )


def _further(row: Row) -> dict[str, Any]:
    """The axes of a row that no column of these files has."""
    given = json.loads(row["parameters"] or "{}")
    given.pop("batch_sizes", None)
    length = {} if row["sequence_length"] is None else {"sequence_length": row["sequence_length"]}
    return {**length, **given}


def model_csv(found: Sequence[Row], facts: Row, left: Omitted) -> Files:
    """`inference_time_*.csv`, `train_memory_*.csv` …, and `env_info_*.csv`; of several backends a folder each."""
    stamp = round(facts["began_at"].replace(tzinfo=UTC).timestamp())
    variants = {_variant(row): None for row in found}
    files: Files = {}
    for variant in variants:
        rows = [row for row in found if _variant(row) == variant]
        folder = f"{_word(variant or 'results')}/" if len(variants) > 1 else ""
        before = len(files)
        for mode, word in (("inference", "inference"), ("training", "train"), (None, "")):
            for column, what in (("time_s", "time"), ("memory_mb", "memory")):
                its = [row for row in rows if row["mode"] == mode and row["status"] != "skipped"]
                if any(row[column] is not None for row in its):
                    name = "_".join(filter(None, (word, what, str(stamp))))
                    files[f"{folder}{name}.csv"] = _csv(SIZES, (_size(row, column, left) for row in its))
        left.add("skipped cases", sum(row["status"] == "skipped" for row in rows))
        if len(files) > before:
            files[f"{folder}env_info_{stamp}.csv"] = _csv((), _environment(facts, rows))
    if len(variants) == 1:
        left.add(
            "backends, dtypes, devices and parameters, which no column has", sum(variant != "" for variant in variants)
        )
    return files


def _variant(row: Row) -> str:
    """The axes that distinguish results of one model and size."""
    axes = [row["backend"], row["dtype"], row["device"], *(f"{k}={text_of(v)}" for k, v in _parameters(row).items())]
    return "_".join(str(axis) for axis in axes if axis is not None)


def _parameters(row: Row) -> dict[str, Any]:
    return dict(sorted(json.loads(row["parameters"] or "{}").items()))


def _size(row: Row, column: str, left: Omitted) -> list[str]:
    for axis in ("batch_size", "sequence_length"):
        left.add(f"cases without a {axis.replace('_', ' ')}, which stands as 0", row[axis] is None)
    value = row[column]
    result = "N/A" if value is None or row["status"] != "ok" else _decimals(value)
    return [row["name"], str(row["batch_size"] or 0), str(row["sequence_length"] or 0), result]


def _decimals(value: float) -> str:
    """Four decimals as the old files have, and more where four would leave fewer than four digits."""
    exponent = int(f"{value:e}".partition("e")[2])
    digits = max(DIGITS, DIGITS - 1 - exponent)
    whole, _, decimals = f"{value:.{digits}f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(DIGITS, '0')}"


def _environment(facts: Row, rows: Sequence[Row]) -> Iterator[list[str]]:
    """The lines of transformers' file about the machine, as far as they are known."""
    packages, extra = (json.loads(facts[name] or "{}") for name in ("packages", "extra"))
    gpus, on_gpu = facts["gpus"] or [], any(str(row["device"]).startswith("cuda") for row in rows)
    watts = next(iter(extra.get("gpu_power_limit_mw") or ()), None)
    ram = next(iter(extra.get("gpu_ram_bytes") or ()), None)
    dtypes = {row["dtype"] for row in rows}
    lines = {
        "transformers_version": packages.get("transformers"), "framework": "PyTorch" if facts["torch"] else None,
        "use_torchscript": any(row["backend"] == "torchscript" for row in rows), "framework_version": facts["torch"],
        "python_version": facts["python"], "system": facts["os"], "cpu": facts["cpu"], "architecture": facts["architecture"],
        "date": f"{facts['began_at']:%Y-%m-%d}", "time": f"{facts['began_at']:%H:%M:%S.%f}",
        "fp16": bool(dtypes & {"float16", "amp_float16"}), "use_multiprocessing": True,
        "only_pretrain_model": False, "cpu_ram_mb": facts["ram_bytes"] and facts["ram_bytes"] >> 20, "use_gpu": on_gpu,
        **({"num_gpus": len(gpus), "gpu": gpus[0]} if gpus else {}),
        "gpu_ram_mb": ram and ram >> 20, "gpu_power_watts": watts and watts / 1000, "use_tpu": False,
    }  # fmt: skip
    return ([key, str(value)] for key, value in lines.items() if value is not None)


def _word(text: Any) -> str:
    """A part of a file's name, from whatever a user called it."""
    return re.sub(r"[^\w.+:=-]|^\.+", "-", str(text), flags=re.ASCII)[:100] or "-"


def _csv(header: Iterable[str], lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([*([list(header)] if header else []), *lines])
    return text.getvalue()


def folder_files(warehouse: "Warehouse", run_id: str, target: FolderTarget, left: Omitted) -> Files:
    """The files of one run."""
    order = "suite, name, mode, device, dtype, backend, batch_size, sequence_length, case_id"
    (facts,) = _rows(warehouse, "SELECT * FROM run_details WHERE run_id = ?", run_id)
    machine = "SELECT architecture, extra FROM environments WHERE environment_id = ? LIMIT 1"
    facts |= next(iter(_rows(warehouse, machine, facts["environment_id"])), {"architecture": None, "extra": None})
    return target.write(
        _rows(warehouse, f"SELECT * FROM {target.view} WHERE run_id = ? ORDER BY {order}", run_id), facts, left
    )


def _rows(warehouse: "Warehouse", query: str, of: str | None) -> list[dict[str, Any]]:
    found = ask(warehouse, query, [of])
    assert found is not None, "a SELECT gives rows"
    return list(found.dicts())


FOLDER_TARGETS: dict[str, FolderTarget] = {
    "torch-compile-csv": FolderTarget("dashboard_results", torch_compile_csv),
    "model-csv": FolderTarget("size_results", model_csv),
}

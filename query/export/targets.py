"""Export formats: one function each, from runs to the document that the other tool would have written."""

import json
import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import counted
from .runs import (
    OTHER_METRICS,
    ExportedCase,
    ExportedRun,
    ExportedSeries,
    Omitted,
    count_rest,
    name_of,
    passed,
    text_of,
)

NS = 1e9  # in a second
NO_TIME = "cases without samples of the time that is exported"
SPREADS = ("min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "ld15iqr", "hd15iqr")
COMPARED = {"min", "max", "mean", "stddev", "median"}  # without which pytest-benchmark has nothing to compare
REPEATED = ("mean", "median", "stddev", "cv")  # the aggregates of google-benchmark
ENDED = {  # of google-benchmark, which writes times of 0 there, for compare.py reads them whatever happened
    "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 0, "real_time": 0.0,
    "cpu_time": 0.0, "time_unit": "ns",
}  # fmt: skip
FIELDS = {"name", "run_name", "repetitions", "threads", "iterations", "real_time", "time_unit", "label", "run_type"}
NOBODY = {"name": "", "username": "", "email": ""}


@dataclass(frozen=True, slots=True)
class Target:
    """A format to export to."""

    write: Callable[
        [Sequence[ExportedRun], str, Omitted], tuple[int, Any]
    ]  # how many records there are, and the document
    times: bool = True  # whether it knows times only
    several: bool = False  # whether one file may hold several runs
    places: tuple[str, ...] = ()  # axes that it keeps beside the name
    before: str = ""  # what stands before the document


def pytest_benchmark(runs: Sequence[ExportedRun], metric: str, left: Omitted) -> tuple[int, Any]:
    """The format of `--benchmark-json`: one run, of which `pytest-benchmark compare` reads `fullname` and `stats`."""
    (run,) = runs
    facts, records = run.facts, []
    for case in passed(run.cases, left):
        series, given = case.samples(metric), case.aggregates(metric, (*SPREADS, "sum"))
        given = {name: value / NS for name, value in given.items()}
        if series is None and not set(given) >= COMPARED:
            left.add(NO_TIME)
            continue
        rate = case.aggregates("throughput", ["mean"]).get("mean")
        counts = {} if rate is None else {"ops": rate}
        for name in ("rounds", "iterations"):
            if count := case.samples(name):
                counts[name] = round(count.values[0])
        stats = _stats(series) if series else _assumed(given)
        total = {"total": given.pop("sum")} if "sum" in given else {}
        values = {axis: value for axis, value in case.axes.items() if axis != "suite"} | case.parameters
        records.append({
            "group": case.axes.get("suite"), "name": case.label.rpartition("::")[2] or case.label, "fullname": case.label,
            "params": values or None, "param": None, "extra_info": _medians(case, left), "options": {},
            "stats": stats | given | total | counts,
        })  # fmt: skip
    system, _, release = (facts["os"] or "").partition(" ")
    machine = {
        "node": facts["host"], "system": system, "release": release, "python_version": facts["python"],
        "cpu": {"brand_raw": facts["cpu"], "count": facts["logical_cores"]},
    }  # fmt: skip
    commit = {"id": facts["git_commit"], "branch": facts["git_branch"], "dirty": facts["git_dirty"], "time": None}
    return len(records), {
        "machine_info": machine, "commit_info": commit, "benchmarks": records, "datetime": run.began.isoformat(),
        "version": "5.0.0",
    }  # fmt: skip


def _stats(series: ExportedSeries) -> dict[str, Any]:
    """The statistics pytest-benchmark shows, of seconds a call."""
    x = sorted(value / NS for value in series.values)
    mean, spread = statistics.fmean(x), statistics.stdev(x) if len(x) > 1 else 0.0
    q1, median, q3 = statistics.quantiles(x, n=4, method="inclusive") if len(x) > 1 else x * 3
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    far = sum(abs(value - mean) > spread for value in x)
    beyond = sum(not low <= value <= high for value in x)
    return {
        "min": x[0], "max": x[-1], "mean": mean, "stddev": spread, "rounds": len(x), "median": median, "iqr": q3 - q1,
        "q1": q1, "q3": q3, "iqr_outliers": beyond, "stddev_outliers": far, "outliers": f"{far};{beyond}",
        "ld15iqr": min(value for value in x if value >= low), "hd15iqr": max(value for value in x if value <= high),
        "ops": 1 / mean if mean else None, "total": math.fsum(x), "data": [value / NS for value in series.values],
        "iterations": series.loops[0] if len(set(series.loops)) == 1 else 1,
    }  # fmt: skip


def _assumed(given: dict[str, float]) -> dict[str, Any]:
    """Values that the tool's comparison requires, for a case of which only aggregates are known."""
    q1, q3 = given.get("q1", given["min"]), given.get("q3", given["max"])
    return {
        "rounds": 1, "iterations": 1, "iqr": q3 - q1, "outliers": "0;0", "stddev_outliers": 0, "iqr_outliers": 0,
        "ops": 1 / given["mean"] if given["mean"] else None,
    }  # fmt: skip


def _medians(case: ExportedCase, left: Omitted) -> dict[str, float]:
    """The other metrics of a case, each as its median."""
    found = {}
    for key, series in case.series.items():
        name = name_of(key).replace(" ", "_")
        if name in found:
            left.add(OTHER_METRICS, len(series.values), name_of(key))
            continue
        found[name] = series.median
        left.add("values of other metrics, whose median stands in extra_info", len(series.values) - 1, name_of(key))
    return found


def google_benchmark(runs: Sequence[ExportedRun], metric: str, left: Omitted) -> tuple[int, Any]:
    """The format of `--benchmark_out`: one run, an entry a sample, which tools/compare.py matches by `name`."""
    (run,) = runs
    records: list[dict[str, Any]] = []
    for index, case in enumerate(run.cases):
        place = {"name": case.label, "family_index": index, "per_family_instance_index": 0, "run_name": case.label}
        found = _entries(case, place, metric, left)
        if case.failed:
            found.append({**place, **ENDED, "error_occurred": True, "error_message": case.reason or case.status})
        elif case.status == "skipped":
            found.append({**place, **ENDED, "skipped": True, "skip_message": case.reason or ""})
        left.add(NO_TIME, not found)
        records += found
        count_rest(case, left)
    context: dict[str, Any] = {
        "date": run.began.isoformat(), "host_name": run.facts["host"] or "", "executable": run.facts["command"] or "bench",
        "num_cpus": run.facts["logical_cores"] or 0, "mhz_per_cpu": 0, "caches": [], "load_avg": [],
    }  # fmt: skip
    return len(records), {"context": context, "benchmarks": records}


def _entries(case: ExportedCase, place: dict[str, Any], metric: str, left: Omitted) -> list[dict[str, Any]]:
    """An entry a sample, with the other metrics as counters, and one an aggregate."""
    series, cpu = case.samples(metric), case.samples("cpu_time")
    means, cpu_means = case.aggregates(metric, REPEATED), case.aggregates("cpu_time", REPEATED)
    real, cpu_times = series.values if series else [], cpu.values if cpu else []
    left.add("values of cpu_time without a time beside it", max(0, len(cpu_times) - len(real)))
    without = max(0, len(real) - len(cpu_times)) + len(set(means) - set(cpu_means))
    left.add("entries whose unknown cpu_time repeats real_time, because compare.py reads both", without)
    counters: dict[str, ExportedSeries] = {}
    for key in list(case.series):
        if key[0] not in counters and _is_counter(key, case, len(real)):
            counters[key[0]] = case.series.pop(key)
    entries = []
    for number, (time, loops) in enumerate(zip(real, series.loops if series else [], strict=True)):
        entries.append({
            **place, "run_type": "iteration", "repetitions": len(real), "repetition_index": number, "threads": 1,
            "iterations": loops, "real_time": time, "cpu_time": cpu_times[number] if number < len(cpu_times) else time,
            "time_unit": "ns", **{name: counter.values[number] for name, counter in counters.items()},
        })  # fmt: skip
    for statistic, value in means.items():
        entries.append({
            **place, "name": f"{case.label}_{statistic}", "run_type": "aggregate", "aggregate_name": statistic,
            "aggregate_unit": "percentage" if statistic == "cv" else "time", "repetitions": len(real), "threads": 1,
            "iterations": len(real), "real_time": value, "cpu_time": cpu_means.get(statistic, value), "time_unit": "ns",
        })  # fmt: skip
    return entries


def _is_counter(key: tuple[str, str | None, str | None], case: ExportedCase, count: int) -> bool:
    """Return whether a metric has a value for each sample of time, as counters have."""
    metric, statistic, phase = key
    return (
        metric not in FIELDS
        and statistic is None
        and phase in ("steady", None)
        and len(case.series[key].values) == count
    )


def hyperfine(runs: Sequence[ExportedRun], metric: str, left: Omitted) -> tuple[int, Any]:
    """The format of `--export-json`: one run, a result a case."""
    (run,) = runs
    results = []
    for case in run.cases:
        series, given = case.samples(metric), case.aggregates(metric, ("mean", "stddev", "median", "min", "max"))
        if series is None:
            left.add("failed cases without samples" if case.failed else NO_TIME)
            continue
        memory = case.series.pop(("rss", "peak", None), None) or case.series.pop(("rss", "peak", "steady"), None)
        if memory and not all(memory.values):
            left.add("cases whose memory is known only by an upper bound")
            memory = None
        stats: dict[str, Any] = _stats(series) | ({} if len(series.values) > 1 else {"stddev": None})
        axes = {axis: value for axis, value in case.axes.items() if (axis, value) != ("suite", "command")}
        values = {key: text_of(value) for key, value in (axes | case.parameters).items()}
        times = {name: _mean_time(case, f"{name}_time", left) for name in ("user", "system")}
        results.append({
            "command": case.label if axes else _filled(case),
            **{name: given[name] / NS if name in given else stats[name] for name in ("mean", "stddev", "median", "min", "max")},
            **times,
            "times": stats["data"], **({"memory_usage_byte": [round(value) for value in memory.values]} if memory else {}),
            "exit_codes": [(case.exit_code or 1) if case.failed else 0] * len(series.values),
            **({"parameters": values} if values else {}),
        })  # fmt: skip
        count_rest(case, left)
    return len(results), {"results": results}


def _mean_time(case: ExportedCase, metric: str, left: Omitted) -> float | None:
    """The mean in seconds, computed or given; None if there is none."""
    if series := case.samples(metric):
        left.add(f"samples of {metric}, of which there is the mean", len(series.values))
        return statistics.fmean(series.values) / NS
    mean = case.aggregates(metric, ["mean"]).get("mean")
    return None if mean is None else mean / NS


def _filled(case: ExportedCase) -> str:
    """A command as it ran: each {NAME} of a parameter is its value."""
    names = "|".join(map(re.escape, case.parameters))
    return (
        re.sub(rf"{{({names})}}", lambda found: text_of(case.parameters[found[1]]), case.name) if names else case.name
    )


def github_action(runs: Sequence[ExportedRun], metric: str, left: Omitted) -> tuple[int, Any]:
    """The data.js of github-action-benchmark: an entry a run and suite, with the median of each metric that has a direction."""
    entries: dict[str, list[dict[str, Any]]] = {}
    count = last = 0
    for run in sorted(runs, key=lambda run: (run.began, run.facts["run_id"])):
        facts, moment = run.facts, round(run.began.timestamp() * 1000)
        benches: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for case in passed(run.cases, left):
            suite = case.axes.get("suite") or facts["suite"] or facts["config"]
            for better, bench in _benches(case, metric, left):
                benches.setdefault((suite, better), []).append(bench)
        left.add("commits unknown: the tool needs one, so the run's id is written", facts["git_commit"] is None)
        commit = {
            "id": facts["git_commit"] or facts["run_id"], "message": facts["command"] or facts["config"],
            "timestamp": run.began.isoformat(), "url": "", "author": NOBODY, "committer": NOBODY,
        }  # fmt: skip
        for (suite, better), found in benches.items():
            tool = "customSmallerIsBetter" if better == "lower" else "customBiggerIsBetter"
            title = suite if better == "lower" else f"{suite} (bigger is better)"
            entries.setdefault(title, []).append({"commit": commit, "date": moment, "tool": tool, "benches": found})
            count += len(found)
        last = max(last, moment)
    return count, {"lastUpdate": last, "repoUrl": "", "entries": entries}


def _benches(case: ExportedCase, metric: str, left: Omitted) -> list[tuple[str, dict[str, Any]]]:
    """Direction and number of each metric of a case; the one that is exported has the name of the case, others say theirs."""
    spreads = {key[0]: case.series.pop(key).values[0] for key in list(case.series) if key[1] == "stddev"}
    names = [key for key in case.series if key[0] == metric and key[1] in (None, "median", "mean")]
    plain = min(names, key=lambda key: (key[1] is not None, key[1] != "median", key[2] != "steady"), default=None)
    found = []
    measured = {key[0] for key in case.series}
    left.add("spreads without a value that they belong to", sum(name not in measured for name in spreads))
    for key, series in case.series.items():
        if series.better is None:
            left.add("values without a direction of better", len(series.values), name_of(key))
            continue
        left.add("values written as their median", len(series.values) - 1)
        spread = statistics.stdev(series.values) if len(series.values) > 1 else spreads.get(key[0])
        found.append((series.better, {
            "name": case.label if key == plain else f"{case.label} {name_of(key)}", "value": series.median,
            "unit": series.unit or "", **({} if spread is None else {"range": f"± {spread!r}"}),
            "extra": counted(len(series.values), "sample"),
        }))  # fmt: skip
    return found


def test_infra(runs: Sequence[ExportedRun], metric: str, left: Omitted) -> tuple[int, Any]:
    """Records of pytorch/test-infra (schema v3): one a metric, with all its samples, its unit in parentheses."""
    records = []
    for run in runs:
        facts = run.facts
        runner = {
            "name": facts["host"], "type": None, "cpu_info": facts["cpu"], "cpu_count": facts["logical_cores"],
            "gpu_info": next(iter(facts["gpus"] or ()), None),
        }  # fmt: skip
        of_run = {
            "timestamp": round(run.began.timestamp()), "schema_version": "v3", "name": facts["config"], "repo": "",
            "head_branch": facts["git_branch"] or "", "head_sha": facts["git_commit"] or "", "workflow_id": 0,
            "run_attempt": 0, "job_id": 0, "runners": [runner],
            "dependencies": {"pytorch": {"version": facts["torch"]}} if facts["torch"] else {},
        }  # fmt: skip
        for case in passed(run.cases, left):
            about = _about(case)
            for key in [key for key in case.series if key[1] is not None or key[2] in ("steady", None)]:
                series, name = case.series.pop(key), "_".join(filter(None, key[:2]))
                values = {"benchmark_values": series.values, "target_value": None}
                records.append(
                    {**of_run, **about, "metric": {"name": f"{name}({series.unit})" if series.unit else name, **values}}
                )
            count_rest(case, left)
    return len(records), records


def _about(case: ExportedCase) -> dict[str, Any]:
    """The benchmark and model of a case. Parameters that came from such records go back to where they were."""
    axes, given = case.axes, dict(case.parameters)
    extra: dict[str, Any] = {axis: axes[axis] for axis in ("device", "batch_size", "sequence_length") if axis in axes}
    model = {"name": case.name, "type": given.pop("type", None), "backend": axes.get("backend")}
    inputs, mode = given.pop("inputs", None), axes.get("mode") or given.pop("mode", None)
    more: dict[str, Any] = {}
    for name, value in given.items():
        place, _, field = name.partition(".")
        text = text_of(value) if isinstance(value, float) else value  # of a number with a fraction it makes no axis
        (more if place == "model" and field else extra)[
            field if place in ("model", "benchmark") and field else name
        ] = text
    benchmark = {"name": axes.get("suite"), "mode": mode, "dtype": axes.get("dtype"), "extra_info": extra}
    found: dict[str, Any] = {"benchmark": benchmark, "model": {**model, "extra_info": more}}
    return {**found, "inputs": inputs} if inputs else found


def text(target: Target, document: Any) -> str:
    """A document as its file."""
    return f"{target.before}{json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)}\n"


TARGETS: dict[str, Target] = {
    "pytest-benchmark": Target(pytest_benchmark, places=("suite",)),
    "google-benchmark": Target(google_benchmark),
    "hyperfine": Target(hyperfine),
    "github-action-benchmark": Target(
        github_action, times=False, several=True, places=("suite",), before="window.BENCHMARK_DATA = "
    ),
    "test-infra": Target(test_infra, times=False, several=True),
}

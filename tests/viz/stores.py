"""Stores with something for every chart, in the states a chart must be able to live with."""

import functools
import json
import math
import random
from collections.abc import Callable, Sequence

from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, Event, MemoryLine, Metric, Outcome, ScheduleChunk

from ..builders import Builder, case, chunk, memory, metric, outcome, run, timing
from .serving import benchmarks

HOSTILE = (
    "</script><script>document.title='PWNED'</script>",
    "<img src=x onerror=\"document.title='PWNED'\">",
    '"><svg/onload=alert(1)>',
    "' onmouseover='alert(1)",
    "<!--<script>alert(1)//-->",
    "{{constructor.constructor('alert(1)')()}}",
    "datum.c0 === 'x' ? document : event.view.alert(1)",
    "javascript:alert(1)//%0aalert(1)",
    "100 % \n\r\u2028\u2029 `${alert(1)}` \\u003cscript\\u003e",
    "基线 配置 \u202e\x1b[31m",
    "https://example.invalid/tracker.png",
    "http://example.invalid/?q=<link rel=stylesheet href=//example.invalid>",
)
DAY_US = 86_400_000_000
MS = 1_000_000
AXES = {"suite": "suite", "mode": "inference", "device": "cpu", "dtype": "float32", "batch_size": 8}
LONG = "meta-llama/Llama-3.1-405B-Instruct-quantized-int4-awq-group128-and-some-more"


def results(
    configs: Sequence[str] = ("base", "pr"),
    models: Sequence[str] = ("bert", "mlp", "resnet"),
    backends: Sequence[str] = ("inductor", "tensorrt"),
    *,
    runs: int = 3,
    blocks: int = 8,
    outlier: float = 1.0,
) -> Builder:
    """Runs of configs on successive days; the last model fails on the last backend, where there are two of each.

    Config number c is 10 % faster than number c - 1; the third run of each is 20 % slower than the others. `outlier` is
    a factor on the times of the first model by compiled backends.
    """
    generator = random.Random(1)
    made: list[Event] = []
    for c, config in enumerate(configs):
        for r in range(runs):
            run_id = f"run-{c}-{r}"
            made.append(run(run_id, config, started_at=(r + 1) * DAY_US, git_commit=f"{c}{r}" * 20, host="host"))
            for m, model in enumerate(models):
                for b, backend in enumerate(("eager", *backends)):
                    slower = 1.2 if r == 2 else 1.0
                    faster = 0.8 + 0.5 * b if b else 1.0
                    each_ns = 10 * MS * (m + 1) * 0.9**c * slower / faster * (outlier if b and m == 0 else 1)
                    fails = len(models) > 1 < len(backends) and (m, b) == (len(models) - 1, len(backends))
                    one = case(model, run_id, backend=backend, **AXES)
                    made += [one, outcome(one, "OOM" if fails else "ok")]
                    made += [] if fails else _measured(generator, one, each_ns, blocks)
            made += map(functools.partial(_step, run_id, c), range(1, 51))
            made += _traced(models[0], run_id, outlier)
    return Builder().add(*made, *search(generator, configs[0], models[0], outlier))


def search(generator: random.Random, config: str, name: str, outlier: float = 1.0) -> list[Event]:
    """A search of `bench bisect` over nine commits, of which the sixth made it 10 % slower, and one did not build."""
    commits = [f"{place:x}" * 40 for place in range(10)]
    settings = {
        "search": "5ea4c4", "good": commits[0], "bad": commits[-1], "commits": commits, "unchanged": [], "candidates": 9,
        "measure": f"bench measure function {name}", "finds": "change", "metric": "startup_time", "phase": "steady", "models": [],
        "backends": [], "floor": 0.01, "confidence": 0.95,
    }  # fmt: skip
    made: list[Event] = [run("search", config, "bisect", started_at=1, settings=json.dumps(settings))]
    for number, place in enumerate((0, 9, 0, 9, 5, 6, 7, 5, 6, 3, 5, 6)):
        tags = {"bisect": "5ea4c4", "revision": commits[place], "place": str(place)}
        broken = {"stage": "prepare"} if place == 3 else {}
        made.append(run(f"search-{number}", config, "measure", started_at=number, tags=json.dumps({**tags, **broken})))
        if not broken:
            value = (
                1e6
                * (1.1 if place >= 6 else 1.0)
                * math.exp(generator.gauss(0, 0.005))
                / (outlier if number == 4 else 1)
            )
            # of no case
            made.append(
                Metric(run_id=f"search-{number}", metric="startup_time", value=value, unit="ns", better="lower")
            )
            made.append(Outcome(run_id=f"search-{number}", status="ok"))
    return made


def _measured(generator: random.Random, one: CaseRecord, each_ns: float, blocks: int) -> list[Event]:
    """Samples, memory and compile time of a case."""
    noise = [math.exp(generator.gauss(0, 0.02)) for _ in range(blocks)]
    made: list[Event] = [timing(one, round(each_ns * n), block=k, process=0) for k, n in enumerate(noise)]
    made.append(memory(one, round(each_ns * 20), source="rss_growth"))
    for k in range(6):
        size = round(each_ns * (30 + 5 * (k % 3)))
        made.append(memory(one, size, statistic="reading", recorded_at=DAY_US + k * 100_000))
    if one.backend != "eager":
        made.append(metric(one, "compile_latency", each_ns * 300, unit="ns", better="lower"))
    return made


def _traced(program: str, run_id: str, outlier: float) -> list[Event]:
    """A program of five lines: one keeps memory, one takes some for a while, one gives back; its name is its source text."""
    one = case(program, run_id, backend="eager", **AXES)
    mib = 2**20
    moves = ((100, 100, 100, 0), (100, 164, 164, 0), (164, 292, 164, 128), (164, 164, 164, 0), (164, 164, 120, 0))
    return [
        MemoryLine(
            run_id=run_id, case_id=one.case_id, file=f"/src/{program.replace('/', '_')}.py", line=number,
            text=f"    {program} = {number}", function="main", hits=number**4,
            start_bytes=start * mib, peak_bytes=round(peak * mib / (outlier if number == 3 else 1)), end_bytes=end * mib,
            transient_bytes=round(transient * mib / outlier), increase_bytes=max(0, end - start) * mib,
            decrease_bytes=max(0, start - end) * mib, source="rss", error_bound_bytes=0,
        )
        for number, (start, peak, end, transient) in enumerate(moves, start=1)
    ]  # fmt: skip


def _step(run_id: str, config: int, line: int) -> ScheduleChunk:
    """One scheduler step, of about 128 or 512 tokens."""
    requests = 1 + line % 3
    return chunk(
        line, [(128 + 384 * (line % 2)) // requests] * requests, run=run_id, model_run_ms=5 + line / 10 + config,
        schedule_ms=0.5, waiting=line % 7, running=requests, kv_cache_usage=line / 60, clock_s=line * 0.02,
    )  # fmt: skip


def nasty() -> Builder:
    """Numbers that no axis has a place for beside some that have: NULL, NaN, infinity, 0, below 0; and cases that failed."""
    builder = results(runs=2)
    for place, value in enumerate((None, math.nan, math.inf, 0.0, -1e9, 2e9)):
        for r in range(2):
            one = case(f"odd{place}", f"run-0-{r}", backend="inductor", **AXES)
            plain = case(f"odd{place}", f"run-0-{r}", backend="eager", **AXES)
            builder.add(one, plain, outcome(one), outcome(plain), timing(plain, 10 * MS))
            for name in ("latency", "compile_latency"):
                builder.add(metric(one, name, value, unit="ns", better="lower"))
    steps = [(None, 5.0), (64, None), (64, math.nan), (64, math.inf), (64, 0.0), (64, -3.0), (0, 5.0)]
    for line, (tokens, ms) in enumerate(steps, start=60):
        sizes = None if tokens is None else [tokens]
        builder.add(chunk(line, sizes, run="run-0-0", model_run_ms=ms, schedule_ms=ms, clock_s=ms, kv_cache_usage=ms))
    return builder


def failed() -> Builder:
    """A run in which every case failed, before anything was measured."""
    builder = Builder().add(run("run-0-0", "base", started_at=DAY_US), run("run-0-1", "base", started_at=2 * DAY_US))
    for run_id in ("run-0-0", "run-0-1"):
        for backend in ("eager", "inductor"):
            one = case("mlp", run_id, backend=backend, **AXES)
            builder.add(one, outcome(one, "OOM"))
    return builder


def stacks(
    names: Sequence[str] = ("load", "train", "decode"), *, deep: int = 2, outlier: int = 1, values: Sequence[float | None] = ()
) -> Builder:  # fmt: skip
    """Folded stacks of two sides: each name is called by main and calls itself; the candidate lacks one and has another."""
    builder = Builder()
    for side in range(2):
        run_id = f"run-0-{side}"
        builder.add(run(run_id, f"side-{side}", source="folded-stacks", started_at=DAY_US))
        taken = [(";".join(["main", *[name] * deep]), 100 + 20 * k * side * outlier) for k, name in enumerate(names)]
        taken += [(f"main;{names[0]}", 25 + 15 * side), (f"main;{('gone', 'new')[side]}", 30)]
        for name, value in [*taken, *((f"main;odd{k}", value) for k, value in enumerate(values))]:
            one = case(name, run_id)
            builder.add(one, outcome(one), metric(one, "samples", value, unit="count", better="lower"))
    return builder


MAKERS: dict[str, Callable[[], Builder]] = {
    "few": results,
    "one": lambda: results(("only",), ("mlp",), ("inductor",), runs=2, blocks=1),
    "many": lambda: results([f"config-{i}" for i in range(12)], runs=2, blocks=6),
    "outlier": lambda: results(outlier=1e-4),
    "long": lambda: results(("基线 配置", LONG), (LONG + "/a", "中文模型名称", "m"), runs=2),
    "hostile": lambda: results(HOSTILE[:6], HOSTILE, HOSTILE[:2], runs=2, blocks=6),
    "nasty": nasty,
    "failed": failed,
    "none": lambda: Builder().add(run("r", "nothing")),
    "serving-few": benchmarks,
    "serving-one": lambda: benchmarks(("only",), (4,), requests=60),
    "serving-many": lambda: benchmarks([f"config-{i}" for i in range(12)], (1, 4), requests=60),
    "serving-outlier": lambda: benchmarks(("base", "pr"), (1, 1000), requests=60),
    "serving-long": lambda: benchmarks(("基线 配置", LONG), model=LONG, requests=60),
    "serving-hostile": lambda: benchmarks(HOSTILE, (1, 4), model=HOSTILE[0], requests=60),
    "serving-nasty": lambda: benchmarks(requests=3, runs=2),
    "serving-failed": failed,
    "serving-none": lambda: Builder().add(run("r", "nothing")),
    "stacks-few": stacks,
    "stacks-one": lambda: stacks(("only",)),
    "stacks-many": lambda: stacks([f"config-{i}" for i in range(12)], deep=90),
    "stacks-outlier": lambda: stacks(outlier=10_000),
    "stacks-long": lambda: stacks(("基线 配置", LONG)),
    "stacks-hostile": lambda: stacks(HOSTILE),
    "stacks-nasty": lambda: stacks(values=(None, math.nan, math.inf, 0.0, -5.0)),
    "stacks-failed": failed,
    "stacks-none": lambda: Builder().add(run("r", "nothing")),
}
OWN = {"flame": "stacks-", "pareto": "serving-", "slo-curve": "serving-"}  # charts that have stores of their own
STATES = ("few", "one", "many", "outlier", "long", "hostile")


def state_of(chart: str, name: str) -> Warehouse:
    """The state that a chart is tried on."""
    return state(OWN.get(chart, "") + name)


@functools.cache
def state(name: str) -> Warehouse:
    """One of the states."""
    return MAKERS[name]()

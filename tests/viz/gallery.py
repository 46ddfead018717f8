"""Makes docs/gallery: every chart, drawn by its command from generated data.

    python -m tests.viz.gallery

The data are the same every time, so that a picture changes only when a chart does.
"""

import contextlib
import functools
import math
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from bench.viz.command import CHARTS, viz
from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, Event, MemoryLine
from click.testing import CliRunner

from ..builders import Builder, case, memory, metric, outcome, run, source, timing
from . import serving
from .stores import search

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
PPI = 78  # a picture weighs 10 to 60 kB
DAY_US, MS, MIB = 86_400_000_000, 1_000_000, 2**20
MODELS = {  # model -> ms of eager, and speedups by backend; None runs out of memory
    "BERT_pytorch": (42.0, 1.62, 2.35), "resnet50": (18.5, 1.31, 1.74), "hf_GPT2": (61.0, 1.48, 1.91),
    "timm_vit": (33.0, 1.22, 1.55), "dlrm": (7.4, 0.94, 1.08), "yolov3": (25.0, 1.09, 1.43),
    "T5_small": (54.0, 1.71, None), "mobilenet_v2": (11.0, 1.38, 1.66), "squeezenet": (6.2, 1.12, 0.97),
    "nvidia_deeprecommender": (9.8, 1.01, 1.20),
}  # fmt: skip
STACKS = {  # call path -> samples
    "load;read_rows;decompress": 310, "load;read_rows;parse": 190, "load;shuffle": 60, "train;forward;attention;softmax": 240,
    "train;forward;attention;matmul": 620, "train;forward;mlp;linear": 540, "train;forward;mlp;gelu": 110,
    "train;backward;matmul": 980, "train;optimizer;step;foreach_add": 150, "train;optimizer;zero_grad": 45,
    "evaluate;forward": 130,
}  # fmt: skip
SLOWER = {"train;forward;mlp;gelu": 430, "train;forward;mlp;gelu;to_float64": 95, "load;read_rows;decompress": 160}
OPTIONS = {  # of the picture of a chart; the others are drawn as their name alone does
    "compile-time": "--backends inductor",
    "distribution": "main my-branch --models resnet50 --backends inductor",
    "flame": "py-spy-main py-spy-my-branch",
    "history": "--suites torchbench --configs main",
    "latency-vs-batch": "--configs server-A --targets 64 256 1024",
    "memory-timeline": "--configs my-branch --sources rss",
    "movers": "main my-branch",
    "pareto": "--configs engine-A engine-B",
    "pass-rate": "--configs main --last 14 --bottom 20",
    "query": "\"SELECT name, suite, median AS latency_ns FROM cells WHERE backend = 'eager' AND config = 'main'"
             " AND metric = 'latency' QUALIFY run_id = max(run_id) OVER () ORDER BY median\"",
    "runtime-vs-tokens": "--configs server-A server-B --fit",
    "slo-curve": "--configs engine-A engine-B --ttft 150 --tpot 40",
    "speedups": "--configs my-branch",
    "step-breakdown": "--configs server-A server-B",
    "throughput": "--configs server-A server-B",
    "timeline": "--configs server-A",
    "usage": "--models bert gpt2 --configs sizes",
    "why": "main my-branch geomean",
}  # fmt: skip
COMMANDS = {name: f"{name} {OPTIONS.get(name, '')}".rstrip() for name in sorted(CHARTS)}


def warehouse() -> Warehouse:
    """Fourteen nights of a branch and one of another, two servers, sizes of two models, and a traced program."""
    generator = random.Random(7)
    builder = Builder()
    nights = [("main", night) for night in range(1, 15)] + [("my-branch", 15)]
    for config, night in nights:
        builder.add(*_night(generator, config, night))
    _servers(builder)
    builder.add(*_stacks("main", STACKS), *_stacks("my-branch", {**STACKS, **SLOWER}))
    builder.add(*_sizes(generator), *_program(), *search(random.Random(7), "bisect", "work"))
    serving.add_benchmarks(builder, ("engine-A", "engine-B"), first_day=30_000)
    return builder


def _night(generator: random.Random, config: str, night: int) -> Iterator[Event]:
    """A run of every model; from night 9 on compiled code is faster, and one model no longer fails."""
    run_id = f"{config}-{night:02}"
    yield run(
        run_id, config, started_at=1_760_000_000_000_000 + night * DAY_US, git_commit=f"{night:02x}" * 20, host="lab"
    )
    for name, (eager_ms, inductor, tensorrt) in MODELS.items():
        for backend, speedup in (("eager", 1.0), ("inductor", inductor), ("tensorrt", tensorrt)):
            better = 1.07 if backend != "eager" and night >= 9 else 1.0
            better *= (
                {"dlrm": 0.8, "yolov3": 1.25, "resnet50": 1.06}.get(name, 1.0)
                if (config, backend) == ("my-branch", "inductor")
                else 1.0
            )
            one = case(
                name,
                run_id,
                suite="torchbench",
                mode="inference",
                device="cpu",
                dtype="float32",
                batch_size=8,
                backend=backend,
            )
            fails = speedup is None or (name == "squeezenet" and backend == "tensorrt" and night < 9)
            yield from (one, outcome(one, "OOM" if fails else "ok"))
            if fails:
                continue
            drift = math.exp(generator.gauss(0, 0.008))
            each = [
                eager_ms * MS / (speedup or 1) / better * drift * math.exp(generator.gauss(0, 0.012)) for _ in range(24)
            ]
            yield from (timing(one, round(ns), block=k // 3, process=0) for k, ns in enumerate(each))
            yield memory(one, round(eager_ms * 9 * MIB * (1.0 if backend == "eager" else 0.8)), source="rss_growth")
            if name == "BERT_pytorch" and config == "my-branch":
                yield from map(functools.partial(_reading, one), range(40))
            if backend != "eager":
                seconds = eager_ms * (0.7 if backend == "inductor" else 1.9) * (0.85 if night >= 9 else 1.0)
                yield metric(one, "compile_latency", seconds * drift * 1e9, unit="ns", better="lower")


def _reading(one: CaseRecord, k: int) -> Event:
    """Memory a quarter of a second after the one before: it fills up, then swings."""
    of_backend = {"eager": 1.0, "inductor": 0.8}.get(one.backend or "", 0.7)
    size = 300 + 378 * min(1, k / 12) * (0.9 + 0.1 * math.sin(k)) * of_backend
    return memory(one, round(size * MIB), statistic="reading", recorded_at=1_760_000_000_000_000 + k * 250_000)


def _servers(builder: Builder) -> None:
    """Steps of two servers: a floor, a cost of each token and request, a queue that fills and drains, hiccups."""
    builder.connection.execute("SELECT setseed(0.42)").fetchall()
    for config, floor, per_token, budget in (("server-A", 7.4, 0.0214, 2048), ("server-B", 6.5, 0.0245, 1024)):
        builder.add(
            run(config, config, started_at=DAY_US), source(f"{config}.jsonl", lines=8000, run=config, config=config)
        )
        builder.connection.execute(
            f"""INSERT INTO schedule_chunks BY NAME
            SELECT *, sum(step_ms) OVER (ORDER BY line) / 1000 AS clock_s
            FROM (
              SELECT '{config}' AS run_id, '{config}.jsonl' AS source_id, l + 1 AS line, l AS batch_id, {budget} AS token_budget,
                list_transform(range(requests), lambda i: greatest(1, tokens // requests)) AS chunk_sizes,
                schedule_ms, model_run_ms, schedule_ms + model_run_ms + 0.3 AS step_ms, requests AS running,
                greatest(0, round(30 * sin(l / 900) + 12 * sin(l / 130)))::BIGINT AS waiting,
                0.5 + 0.35 * sin(l / 900 - 0.6) + 0.05 * sin(l / 77) AS kv_cache_usage
              FROM (
                SELECT *, 0.2 + 0.3 * random() AS schedule_ms,
                  (greatest({floor}, {per_token} * tokens) + 0.014 * requests) * (1 + 0.02 * (random() - 0.5))
                    + CASE WHEN random() < 0.001 THEN -ln(1 - random()) * 35 ELSE 0 END AS model_run_ms
                FROM (
                  SELECT l, least({budget}, 1 + floor(-ln(1 - random()) * 420))::BIGINT AS tokens,
                    1 + floor(24 * (0.5 + 0.4 * sin(l / 900)) * random())::BIGINT AS requests
                  FROM range(8000) t(l)
                )
              )
            )"""
        )


def _sizes(generator: random.Random) -> Iterator[Event]:
    """Two models over sequence lengths and batch sizes; the largest runs out of memory."""
    yield run("sizes", "sizes", started_at=2 * DAY_US)
    for name, cost in (("bert", 1.0), ("gpt2", 1.6)):
        for batch_size in (1, 8, 32):
            for length in (32, 64, 128, 256, 512, 1024):
                one = case(
                    name, "sizes", suite="sizes", mode="inference", batch_size=batch_size, sequence_length=length
                )
                large = batch_size * length > 16_384
                yield from (one, outcome(one, "OOM" if large else "ok"))
                if not large:
                    each = (2 + cost * batch_size * length / 90 + (length / 400) ** 2) * MS
                    yield from (timing(one, round(each * math.exp(generator.gauss(0, 0.03)))) for _ in range(9))


def _stacks(config: str, stacks: dict[str, int]) -> Iterator[Event]:
    """A profile of a training script: on the branch GELU is slower, and reading is faster."""
    yield run(config := f"py-spy-{config}", config, source="folded-stacks", started_at=3 * DAY_US)
    for stack, count in stacks.items():
        one = case(f"main;{stack}", config)
        yield from (one, outcome(one), metric(one, "samples", count, unit="count", better="lower"))


def _program() -> Iterator[Event]:
    """A trace: what is loaded stays, what is read goes, and one line takes twice what it keeps."""
    yield run("trace", "trace", started_at=3 * DAY_US)
    one = case("train.py", "trace", suite="memory")
    yield from (one, outcome(one))
    lines = (
        (9, "rows = read(path)", 1, 62, 310, 190), (10, "table = clean(rows)", 1, 190, 355, 260),
        (11, "del rows", 1, 260, 260, 132),
        (14, "model = build(table)", 1, 132, 240, 240), (17, "for batch in table:", 401, 240, 241, 241),
        (18, "loss = model(batch)", 400, 241, 505, 260),
        (19, "loss.backward()", 400, 260, 430, 300), (21, "save(model)", 1, 300, 405, 300),
    )  # fmt: skip
    for line, text, hits, start, peak, end in lines:
        yield MemoryLine(
            run_id="trace", case_id=one.case_id, file="/src/train.py", line=line, text=text, hits=hits, source="rss",
            start_bytes=start * MIB, peak_bytes=peak * MIB, end_bytes=end * MIB, error_bound_bytes=0,
            transient_bytes=(peak - max(start, end)) * MIB, increase_bytes=max(0, end - start) * MIB,
            decrease_bytes=max(0, start - end) * MIB,
        )  # fmt: skip


def page() -> str:
    """The page that shows them."""
    parts = [
        f"## {name}\n\n{CHARTS[name]} [Options](../charts.md#{name})\n\n    bench viz {command}\n\n![{name}]({name}.png)\n"
        for name, command in COMMANDS.items()
    ]
    head = "# Gallery\n\nEvery chart, drawn from generated data by the command above it; `bench viz list` lists them.\n"
    return "\n".join([head, *parts])


def make(folder: Path) -> None:
    """Draw every chart into a folder, and write the page."""
    folder.mkdir(exist_ok=True)
    store = warehouse()
    for name, command in COMMANDS.items():
        arguments = [*shlex.split(command), "-o", str(folder / f"{name}.png"), "--ppi", str(PPI)]
        with mock.patch.object(Warehouse, "open", lambda *_, **__: contextlib.nullcontext(store)):
            done = CliRunner().invoke(viz, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    (folder / "README.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    make(FOLDER)

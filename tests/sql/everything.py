"""Events of every kind, with what makes views differ: several runs, configs and hosts, failures, steps, memory, NULLs."""

import dataclasses
import datetime as dt
import itertools
import json
import math
import random
from collections.abc import Iterator
from typing import Any

from bench.warehouse import events
from bench.warehouse.events import EVENTS, Event, Instant, Json

from ..builders import case, chunk, memory, metric, outcome, run, source, timing

BEGAN = dt.datetime(2026, 1, 1)
SIDES = (  # runs of which every view that compares has rows
    "['main-6', 'main-5', 'fuse-8', 'served-0', 'served-1', 'served-2', 'trace-1']",
    "['main-8', 'main-7', 'served-3', 'served-4', 'served-5', 'trace-2', 'steps-A']",
)


def everything() -> Iterator[Event]:
    """All of it; the same every time."""
    rng = random.Random(7)
    yield from _environments()
    for config, host, slower in (("main", "one", 1.0), ("fuse", "one", 0.8), ("other", None, 1.1)):
        for number in range(9 if host else 2):
            yield from _run(rng, config, number, host, slower * (1.5 if (config, number >= 7) == ("main", True) else 1))
    yield from _imported()
    yield from _steps(rng)
    yield from _traced()
    yield from _models()
    yield from _served(rng)
    yield from _captured()
    yield from _on_gpu(rng)
    yield from _searched()
    yield from _exported()
    yield from _sampled()
    yield from _called()
    yield from _profiled()
    yield from _trained()


def _trained() -> Iterator[Event]:
    """Steps of a training script by phase, one of which only every other step has; and one that failed."""
    of = case("train", "main-8", suite="script", mode="training")
    yield of
    for sample in range(70):
        phase = "cold" if sample == 0 else "steady"
        yield timing(of, 1000 + sample, sample=sample, phase=phase)
        yield timing(of, 600 + sample, metric="forward_time", sample=sample, phase=phase)
        if sample % 2:
            yield timing(of, 400, metric="optimizer_time", sample=sample, phase=phase)
        yield metric(of, "throughput", 5e6 + 1e4 * sample, unit="tokens/s", better="higher", phase=phase)
    yield metric(of, "failed_step", 70, original_value="backward: ValueError")


def _called() -> Iterator[Event]:
    """Two calls of a tool whose results are runs of their own; one of two cases failed in the second."""
    for number in range(2):
        run_id = f"call-{number}"
        yield run(run_id, config="called", source="hyperfine", tags=Json('{"calls":"measurement"}'))
        for name in ("served", "lost"):
            own = case(name, run=run_id)
            failed = name == "lost" and number == 1
            yield own
            yield outcome(own, "fail_to_run" if failed else "ok", reason="it broke" if failed else None)
            if not failed:
                yield timing(own, 1_000_000 + 10_000 * number)


def _sampled() -> Iterator[Event]:
    """Lines of a function in three processes, and what is no line."""
    for run_id in ("main-8", "fuse-8"):
        of = case("work:score", run_id, suite="function", backend="work:score")
        yield of
        for number, text in ((3, "return sorted(x)"), (0, "")):
            place = _json({"file": "work.py", "function": "score" if number else "", "line": number, "text": text})
            for share in (0.5, 0.25, 0.75):
                yield metric(of, "line_time", share, unit="ratio", phase="steady", original_value=place)
        yield metric(of, "line_time", 0.5, original_value="no line")
        for name in ("aten::gelu", ""):
            place = _json({"function": name, "calls": 2})
            for share in (0.5, 0.25, 0.75):
                yield metric(of, "operator_part", share, unit="ratio", original_value=place)
        yield metric(of, "profiler_slowdown", 1.25, unit="ratio")


def _profiled() -> Iterator[Event]:
    """Two traces of a GPU: nested operators on the host, kernels that overlap, and what has no moment."""
    for run_id in ("trace-1", "trace-2"):
        yield run(run_id, run_id, source="torch-trace")
        spans = [
            ("cpu_op", "aten::mm", {"ts": 1.5, "pid": 1, "tid": 1}, 9_000),
            ("cpu_op", "aten::t", {"ts": 2, "pid": 1, "tid": 1}, 500),
            ("kernel", "triton_poi_fused_gelu_3", {"ts": 4, "args": {"device": 0, "stream": 7}}, 3_000),
            ("kernel", "gemm", {"ts": 5, "args": {"device": 0, "stream": 8}}, 4_000),
            ("kernel", "gemm", {"ts": 20, "args": {"device": 0, "stream": 8}}, 4_000), ("kernel", "gemm", {"ts": "x"}, 4_000),
        ]  # fmt: skip
        for line, (suite, name, fields, ns) in enumerate(spans, 1):
            of = case(name, run_id, suite=suite)
            yield from (
                of,
                timing(of, ns, line=line),
                metric(of, "fields", None, line=line, original_value=_json(fields)),
            )
        of = case("torch.compile", run_id)
        places = ({"file": "m.py", "line": 4 + number, "function": "forward", "number": number} for number in (1, 2))
        yield of
        for place in (*({"kernel": "triton_poi_fused_gelu_0", "text": "gelu(y)", **each} for each in places), {}):
            yield metric(of, "kernel_source", None, original_value=_json(place))
        yield metric(of, "kernel_source", None, original_value="no place")


def _environments() -> Iterator[Event]:
    for number in (1, 2, 1):
        yield events.Environment(
            environment_id=f"env{number}", cpu="cpu", logical_cores=4 * number, gpus=["a", "b"] if number == 1 else None,
            torch=f"2.{number}", flags=_json({"x": number, "none": None, "deep": {"list": [1, 2.5]}}),
            variables=_json({"OMP": "1"}) if number == 1 else None, extra=_json([1, 2]),
        )  # fmt: skip


def _run(rng: random.Random, config: str, number: int, host: str | None, slower: float) -> Iterator[Event]:
    run_id, began = f"{config}-{number}", BEGAN + dt.timedelta(days=number)
    yield run(
        run_id, config, "measure", suite="builtin", started_at=None if (config, number) == ("other", 1) else began,
        git_commit=f"c{4 if number == 6 else number}", git_dirty=bool(number % 2), host="two" if number == 3 else host,
        environment_id=f"env{1 + number % 2}",
        options=_json([{"role": "command", "option": None, "arguments": ["measure", "models"]}]) if number == 1 else None,
        tags=_json(
            {"confirms": "x"} if (config, number) == ("fuse", 5)
            else {"resumes": "fuse-1"} if (config, number) == ("fuse", 2)
            else {"n": number, "fleet": "f" if number in (4, 6) else None}
        ),
    )  # fmt: skip
    if number == 2:  # described in two parts
        yield run(run_id, config, "measure", git_branch="main")
    for mode, dtype in (("inference", "float32"), ("training", None)):
        for name, each_ns in (("mlp", 1e6), ("attn", 3e6), ("conv", 2e5), ("gru", 5e5), ("vit", 4e5)):
            for backend in ("eager", "inductor", "other"):
                if (mode == "training" and number % 4 == 3) or (name == "conv" and number == 8):
                    continue
                if backend == "other" and (number % 2 or config != "main"):
                    continue
                of = case(
                    name, run_id, suite="builtin", mode=mode, device="cpu", dtype=dtype, backend=backend, recorded_at=began,
                    batch_size=None if name == "conv" else 8, sequence_length=128 if name == "attn" else None,
                    parameters={"p": 1} if name == "mlp" else None,
                )  # fmt: skip
                yield from (of, of) if number == 2 else (of,)
                if (name, backend, number) == ("conv", "inductor", 4):
                    yield outcome(
                        of, "OOM", reason="too big", phase="steady", recorded_at=began + dt.timedelta(seconds=5)
                    )
                elif (name, backend, number) == ("conv", "inductor", 6):
                    yield outcome(of, "skipped", reason="no")
                elif (name, backend, number) != ("attn", "other", 2):  # that one was interrupted
                    yield from _measured(
                        rng, of, number, began, each_ns * (1.0 if backend == "eager" else 0.7 * slower)
                    )
    if config != "other":
        ended: dict[str, Any] = {"recorded_at": began + dt.timedelta(minutes=1)}
        yield events.Outcome(run_id=run_id, status="interrupted" if number == 6 else "ok", **ended)


def _measured(
    rng: random.Random, of: events.CaseRecord, number: int, began: dt.datetime, each_ns: float
) -> Iterator[Event]:
    for block in range(3 if number == 1 else 7):
        for position in range(2):
            yield timing(
                of, int(2 * each_ns * rng.lognormvariate(0, 0.03)), loops=2, sample=2 * block + position, position=position,
                block=None if number == 5 else block, process=block % 2 if number % 2 else None, recorded_at=began,
            )  # fmt: skip
    yield timing(of, int(9 * each_ns), phase="cold")
    yield metric(of, "compile_latency", rng.uniform(1e9, 2e11), unit="ns", better="lower", recorded_at=began)
    yield metric(of, "graph_breaks", float(number % 3), unit="count", better="lower")
    yield metric(
        of, "graph_break:dynamic shape", 2.0, unit="count", original_value="at x" if of.name == "mlp" else None
    )
    for name, value in (("operator:aten.add", 3.0), ("graph_operator:aten.add", 2.0), ("graphs", 1.0)):
        yield metric(of, name, value, unit="count")
    yield metric(of, "compiler_flags", None, original_value='{"dynamo.recompile_limit": "3"}')
    for part in ("framework", "weights", "gradients", "optimizer", "step", "loading", "first_call"):
        yield metric(of, f"memory_{part}", 1000.0 * len(part), unit="bytes")
    yield metric(of, "tokens", None if number == 1 else 5.5, statistic="p99")
    for source_, least in (("rss", 50_000), ("rss_growth", 5_000)):
        bound = rng.choice([None, 4096])
        yield memory(of, least + rng.randint(0, 4000), source_, phase="steady", error_bound_bytes=bound)
    yield outcome(of, recorded_at=began + dt.timedelta(seconds=20 + rng.randint(0, 7)))
    if of.mode == "inference":
        wrong = number == 8 and (of.name, of.backend) == ("mlp", "inductor")
        at = None if number == 2 else began
        yield outcome(of, "fail_accuracy" if wrong else "pass", kind="accuracy", recorded_at=at)


def _imported() -> Iterator[Event]:
    yield run("imported", "dashboard", "torch-compile")
    yield source("f1.csv", 5, "imported", config="dashboard", rejected=1, recorded_at=BEGAN, notes=_json(["a note"]))
    yield events.Reject(source_id="f1.csv", run_id="imported", line=3, reason="no number", text="x,y")
    for line, name in enumerate(("m1", "m2"), 1):
        of = case(
            name,
            "imported",
            suite="hf",
            mode="inference",
            device="cuda",
            backend="inductor",
            source_id="f1.csv",
            line=line,
        )
        yield of
        yield metric(of, "speedup", 2.2 - line, unit="ratio", better="higher", source_id="f1.csv")
        yield metric(of, "compression_ratio", 0.8, unit="ratio", better="higher", source_id="f1.csv")
        if line == 2:
            yield outcome(of, "fail_accuracy", kind="accuracy", source_id="f1.csv", line=2)
    yield run("imported-2", "dashboard", "torch-compile")  # a model fails, and its batch size is unknown
    axes: dict[str, Any] = {
        "suite": "hf",
        "mode": "inference",
        "device": "cuda",
        "backend": "inductor",
        "source_id": "f1.csv",
    }
    for run_id, size, status in (("imported", 4, "ok"), ("imported-2", None, "OOM")):
        yield (of := case("m3", run_id, batch_size=size, **axes))
        yield outcome(of, status, source_id="f1.csv")


def _steps(rng: random.Random) -> Iterator[Event]:
    for config, name in (("A", "profile_1.jsonl"), ("A", "profile_2.jsonl"), ("B", "profile_10.jsonl")):
        run_id = f"steps-{config}"
        if name != "profile_2.jsonl":
            yield run(run_id, config, "scheduler")
        yield source(name, 60, run_id, config=config, rejected=1, recorded_at=BEGAN)
        for line in range(1, 60):
            sizes = [rng.choice([1, 1, 64, 128, 256]) for _ in range(rng.randint(0, 6))]
            yield chunk(
                line, sizes, run_id, source_id=name, total_tokens=77 if line % 11 == 0 else None,
                batch_id=line if line % 2 else None, schedule_ms=rng.uniform(0.1, 0.5) if line % 13 else None,
                model_run_ms=500.0 if line == 20 else rng.uniform(5, 30), step_ms=None if line % 3 else 40.0,
                waiting=line % 4, prefill_chunk_sizes=[3] if line % 5 == 0 else None, token_budget=2048 if line % 2 else 0,
                decode_chunk_sizes=[1, 1] if line % 5 == 0 else None, kv_cache_usage=line / 60,
            )  # fmt: skip
    yield run("live", started_at=BEGAN)
    for writer in ("w1", "w2"):
        for line in range(1, 40):
            yield chunk(
                line, [2 ** (line % 9)], "live", writer=writer, model_run_ms=rng.uniform(1, 2), recorded_at=BEGAN
            )


def _traced() -> Iterator[Event]:
    program = case("program", "main-0", suite="memory")
    yield program
    for number, (file, line) in enumerate((("a.py", 3), ("a.py", 4), ("b.py", 9)), 1):
        moved: dict[str, Any] = {"increase_bytes": 100, "decrease_bytes": 10} if number < 3 else {}
        yield events.MemoryLine(
            run_id="main-0", case_id=program.case_id, file=file, line=line, hits=2, start_bytes=100 + number, peak_bytes=300,
            end_bytes=200 - number, transient_bytes=50 if number > 1 else None, source=None if number == 1 else "rss", **moved,
        )  # fmt: skip
        place = f"{file}:{line}"
        yield memory(program, 100 * number, statistic="reading", place=place, line=number, recorded_at=BEGAN)


def _models() -> Iterator[Event]:
    yield events.ArchivedRun(run_id="gone", config="main", archive="/archive", files=["a.parquet", "b.parquet"])
    at = dict[str, Any](change_id="1", changed_at=BEGAN)
    yield events.RunChange(run_id="wrong", action="forget", config="main", files=["a.csv"], **at)
    yield events.RunChange(run_id="main-0", action="tag", key="gpu", value="h200", **at)
    yield run("doctor", source="doctor", host="one", started_at=BEGAN)
    for name, value in (("noise_floor", 0.02), ("steal", 0.0), ("load", 0.3)):
        yield events.Metric(run_id="doctor", metric=name, value=value, unit="ratio")
    yield run("cost", source="cost-model", started_at=BEGAN)
    fit = case("A", "cost", suite="step-cost", parameters={"trim": 10})
    yield from (fit, outcome(fit, reason="straight: no knee"))
    phases = case("A", "cost", suite="step-phases", parameters={"trim": 10})
    yield from (phases, outcome(phases, reason="partial: KV tokens are not recorded"))
    for name, value in (("steps", 100.0), ("floor", 5e6), ("curve_prefill", 2e4), ("min_prefill_tokens", 1.0)):
        yield metric(phases, name, value)
    for name, value in (("steps", 100.0), ("floor", 5e6), ("curve_base", 1e6), ("min_tokens", 1.0), ("r2", 0.9)):
        yield metric(fit, name, value)


def _served(rng: random.Random) -> Iterator[Event]:
    for number, config in enumerate(("base", "base", "base", "pr", "pr", "pr")):
        run_id = f"served-{number}"
        yield run(
            run_id, config, started_at=BEGAN + dt.timedelta(days=number), tags=_json({"gpus": 4} if number == 2 else {})
        )
        for load in (1, 4):
            of = case(
                "llama",
                run_id,
                suite="serving",
                parameters={"max_concurrency": load, "request_rate": load, "tp_size": 2},
            )
            yield of
            gaps = itertools.count()
            for sample in range(40):
                each_ms = rng.uniform(9, 12) * load ** (0.3 if config == "pr" else 0.5)
                if sample != 17:
                    yield timing(of, round(6e6 * each_ms), metric="ttft", sample=sample)
                    yield timing(of, round(40e6 * each_ms), sample=sample)
                    yield metric(of, "output_tokens", 30.0 + sample % 3, sample=sample)
                    yield timing(of, round(1e6 * each_ms), metric="queue_time", sample=sample)
                    yield metric(of, "itl_count", 1.0, unit="count", sample=sample)
                yield metric(of, "start_time", sample / load * 1e9, unit="ns", sample=sample)
                if sample == 23:
                    yield metric(of, "request_outcome", None, original_value="cancelled", sample=sample)
                elif sample != 17:
                    yield timing(of, round(1e6 * each_ms), metric="itl", sample=next(gaps))


def _captured() -> Iterator[Event]:
    yield run("fpm", "fpm", "dynamo-fpm")
    for worker, ranks in (("w", (0, 1)), (None, (None,))):
        for rank in ranks:
            for counter in (1, 2, 2, 5, 6):
                yield chunk(
                    run="fpm", chunk_sizes=None, worker_id=worker, dp_rank=rank, counter_id=counter, prefill_tokens=100 * counter,
                    decode_tokens=counter, time_span="cuda" if counter > 2 else "model",
                    capture_mode="sampled" if worker is None else "full",
                )  # fmt: skip
    heard = _json({"worker_id": "w", "dp_rank": 1, "first": 7, "last": 9})
    yield events.Metric(run_id="fpm", metric="heartbeats", value=3.0, unit="count", original_value=heard)


def _on_gpu(rng: random.Random) -> Iterator[Event]:
    yield run("gpu", started_at=BEGAN)
    for backend, each_ns in (("eager", 2e6), ("inductor", 1e6)):
        of = case("mlp", "gpu", suite="builtin", mode="inference", device="cuda", backend=backend, batch_size=8)
        yield of
        for block in range(9):
            ns = int(each_ns * rng.lognormvariate(0, 0.02))
            yield timing(of, ns, block=block, sample=block, device_ns=int(0.9 * ns), throttled=4 if block == 3 else 0)
            for name, value in (
                ("sm_clock", 1.5e9 + block),
                ("memory_clock", 2e9),
                ("power_limit", 700.0),
                ("temperature", 60.0),
            ):
                yield metric(of, f"gpu_{name}", value, phase="steady", sample=block)
        yield metric(of, "gpu_energy", 0.5, unit="J")
        yield metric(of, "gpu_uuid", None, original_value="GPU-1")
        yield outcome(of)


def _searched() -> Iterator[Event]:
    asked = {"search": "s1", "good": "aaa", "bad": "ddd", "candidates": 3, "measure": "command x", "finds": "change",
             "metric": "latency", "confidence": 0.95}  # fmt: skip
    yield run("search", "bisect", "bisect", started_at=BEGAN, settings=_json(asked))
    yield events.Outcome(run_id="search", status="ok", reason="ccc made it slower")
    for place, (revision, stage) in enumerate((("aaa", None), ("bbb", "prepare"), ("ccc", "measure"), ("ddd", None))):
        run_id = f"search-{place}"
        told = {"bisect": "s1", "revision": revision, "place": place} | ({"stage": stage} if stage else {})
        yield run(run_id, "bisect", "measure", started_at=BEGAN + dt.timedelta(minutes=place), tags=_json(told))
        if stage is None:
            yield (of := case("x", run_id, suite="command"))
            yield timing(of, 1_000_000 * (1 + place))
            yield outcome(of)


def _exported() -> Iterator[Event]:
    yield run("onnx", started_at=BEGAN)
    for name, way in (("a", "CaptureFailed"), ("b", "CaptureFailed"), ("c", "SessionFailed"), ("d", "ValueError")):
        yield (of := case(name, "onnx", suite="builtin", mode="inference", device="cpu", backend="onnxruntime"))
        yield outcome(of, "fail_to_run", exception=way, reason="no")


def _json(value: object) -> Json:
    return Json(json.dumps(value))


# What a value may stand for anywhere: these columns keep what `everything` gives them, or nothing would belong together.
KEYS = {
    "run_id", "config", "case_id", "work_hash", "source_id", "environment_id", "suite", "name", "mode", "device", "dtype",
    "backend", "metric", "kind", "source", "statistic", "phase", "status", "unit", "better",
}  # fmt: skip

VALUES: dict[Any, list[Any]] = {
    int: [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)],
    float: [
        0.0, -0.0, 5e-324, 1e-300, 1e149, -1e149, 1e150, 1.7976931348623157e308, -1.7976931348623157e308, math.nan, math.inf,
        -math.inf,
    ],
    bool: [False, True],
    str: ["", "NULL", "{} %s '\" ; --", "é\u202e漢字 🦆", "x" * 5000, "_" + "9" * 40],
    Json: ["{}", "[]", "null", '"text"', "1e999", '{"a": {"a": [1, null]}, "": 9999999999999999999999}', '{"a": 1, "a": 2}'],
    Instant: [0, -1, 253_402_300_799_999_999, -62_135_596_800_000_000, 9_223_372_036_854_775_806],
    list[int]: [[], [0], [-1], [2**63 - 1, 2**63 - 1], [-(2**63)], [2**53 + 1] * 3],
    list[str]: [[], [""], ["a", "a"]],
}  # fmt: skip


def extremes(seed: int) -> Iterator[Event]:
    """The events of `everything`: of each column none, some, many or all values are extremes, chosen by the seed."""
    rng = random.Random(seed)
    shares = {
        (kind, field.name): rng.choice((0, 0.05, 0.5, 1))
        for kind in EVENTS
        for field in kind.fields()
        if field.name not in KEYS
    }
    for event in everything():
        chosen = {
            field.name: rng.choice([*VALUES[field.type], *([None] if field.nullable else [])])
            for field in type(event).fields()
            if rng.random() < shares.get((type(event), field.name), 0)
        }
        yield dataclasses.replace(event, **chosen)  # type: ignore[type-var]

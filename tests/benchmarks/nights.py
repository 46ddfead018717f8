"""A store that grew night by night: runs of 4 suites × 160 models × 5 backends, each case timed 16 times."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from bench.warehouse import schema
from bench.warehouse.events import CaseRecord, Event, Instant, MemorySample, Metric, Outcome, RunRecord, Timing
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import case_ids
from bench.warehouse.store import Store

SUITES, MODELS, BACKENDS = 4, 160, ("eager", "inductor", "aot_eager", "cudagraphs", "onnx")
SAMPLES = 16
DAY = 86_400_000_000
REPORT = (
    "FROM executive_summary() WHERE run_id = '{newest}'",
    "FROM geomean_speedups() WHERE run_id = '{newest}'",
    "FROM flags() WHERE run_id = '{newest}'",
    "FROM newly_flagged(runs := ['{newest}'])",
    "FROM summary_diff()",
    "FROM history()",
)
COMPARE = (
    "CREATE OR REPLACE TEMP TABLE compared AS FROM comparisons(['{before}'], ['{newest}'])",  # what bench compare asks
)


class Nights:
    """The nightly runs of a store."""

    def __init__(
        self, store: Store, runs: int, *, at_once: int, axes: list[dict[str, Any]] | None = None, source: str = "measure"
    ) -> None:  # fmt: skip
        """Announce so many runs of these cases, or of those above; so many of the runs go into one file."""
        self.log, self.rng, self.at_once = EventLog(store), np.random.default_rng(1), at_once
        self.axes = axes or [
            {"suite": f"suite-{suite}", "name": f"model-{model}", "mode": "inference", "device": "cpu",
             "dtype": "float32", "backend": backend, "batch_size": 8}
            for suite in range(SUITES) for model in range(MODELS) for backend in BACKENDS
        ]  # fmt: skip
        self.ids = [case_ids(**each) for each in self.axes]
        self.good = self.rng.random((runs, len(self.axes))) > 0.01
        self.names = [f"run-{number:05}" for number in range(runs)]
        self.log.write(
            RunRecord,
            [
                RunRecord(run_id=name, config="nightly", source=source, host="host", started_at=Instant(DAY * number),
                    git_commit=f"{number:04x}" * 10)
                for number, name in enumerate(self.names)
            ],
            "runs",
        )  # fmt: skip

    def time(self) -> None:
        """Write cases, how they ended, and their timings."""
        works = SUITES * MODELS
        each_ns = np.repeat(self.rng.lognormal(14, 1.5, works), len(BACKENDS)) / self._gained(0.25, 0.2)
        drift = self.rng.normal(0, 0.015, len(self.names))
        for first, run, case, good in self._stretches():
            self.write(
                CaseRecord, first, run, case, work_hash=[self.ids[i][1] for i in case],
                **{key: [self.axes[i][key] for i in case] for key in self.axes[0]},
            )  # fmt: skip
            status = np.where(good, "ok", "fail_to_run")
            self.write(Outcome, f"performance-{first}", run, case, kind="performance", status=status)
            run, case = run[good], case[good]
            noise = self.rng.lognormal(0, 0.01, len(run)) * np.exp(drift[run])
            median, block = np.repeat(each_ns[case] * noise, SAMPLES), np.tile(np.arange(SAMPLES), len(run))
            took = (median * self.rng.lognormal(0, 0.02, len(median))).astype("int64")
            run, case = np.repeat(run, SAMPLES), np.repeat(case, SAMPLES)
            self.write(
                Timing, first, run, case, metric="latency", phase="steady", loops=1, duration_ns=took, block=block,
                sample=block, process=0, recorded_at=DAY * run + np.cumsum(took) // 1000,
                voluntary_switches=0, involuntary_switches=self.rng.poisson(0.1, len(run)), minor_faults=0,
            )  # fmt: skip

    def judge(self) -> None:
        """Write how accurate the same cases were, how long they took to compile, and their memory."""
        works = SUITES * MODELS
        each_bytes = np.repeat(self.rng.lognormal(17, 1, works), len(BACKENDS)) / self._gained(0.2, 0.15)
        compile_ns = self.rng.lognormal(24, 0.7, len(self.axes))
        for first, run, case, good in self._stretches():
            accuracy = np.where(self.rng.random(len(run)) > 0.01, "pass", "fail_accuracy")
            self.write(Outcome, f"accuracy-{first}", run, case, kind="accuracy", status=accuracy)
            run, case = run[good], case[good]
            values = compile_ns[case] * self.rng.lognormal(0, 0.05, len(run))
            self.write(Metric, first, run, case, metric="compile_latency", unit="ns", better="lower", value=values)
            sizes = (each_bytes[case] * self.rng.lognormal(0, 0.03, len(run))).astype("int64")
            self.write(MemorySample, first, run, case, source="rss_growth", statistic="peak", size_bytes=sizes)

    def asked(self, queries: Iterable[str]) -> list[str]:
        """The queries, of the newest night and the one before."""
        return [query.format(newest=self.names[-1], before=self.names[-2]) for query in queries]

    def _gained(self, mean: float, spread: float) -> npt.NDArray[np.float64]:
        """By each case over its baseline."""
        eager = np.arange(len(self.axes)) % len(BACKENDS) == 0
        return np.where(eager, 1.0, self.rng.lognormal(mean, spread, len(self.axes)))

    def _stretches(self) -> Iterator[tuple[str, Any, Any, Any]]:
        """As many runs as go into one file: their name, and for each case its run, itself and whether it went well."""
        for first in range(0, len(self.names), self.at_once):
            good = self.good[first : first + self.at_once]
            run = np.repeat(np.arange(first, first + len(good)), len(self.axes))
            yield f"night-{first:05}", run, np.tile(np.arange(len(self.axes)), len(good)), good.ravel()

    def write(self, event: type[Event], stem: str, run: Any, case: Any, **given: Any) -> None:
        columns: dict[str, pa.Array] = {
            "run_id": pa.array(self.names).take(pa.array(run)), "case_id": pa.array([i for i, _ in self.ids]).take(pa.array(case)),
            **{key: _repeated(value, len(run)) for key, value in given.items()},
        }  # fmt: skip
        wanted = schema.arrow_schema(event)
        filled = [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(len(run), field.type)
            for field in wanted
        ]
        self.log.write(event, pa.Table.from_arrays(filled, schema=wanted), stem)


def _repeated(value: Any, rows: int) -> pa.Array:
    """A column of one value, or of these values."""
    return (
        pa.array([value]).take(pa.array(np.zeros(rows, "int64"))) if isinstance(value, str | int) else pa.array(value)
    )

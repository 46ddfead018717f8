"""pytorch/test-infra: benchmark records (schema v3) as its uploader takes them: a list, an object, or JSON lines."""

import re
from collections.abc import Iterator
from typing import Any

from ...warehouse.events import Environment, as_json
from ..readers.document import BadRecord, Object, labels
from ..readers.json_format import JsonFormat, UnlocatedRecords, by_run, records_of
from ..readers.results import Chosen, Results

UNIT = re.compile(r"(.+?) ?\(([^()]{1,20})\)")  # avg_inference_latency(ms)
RUN = ("repo", "head_branch", "head_sha", "workflow_id", "run_attempt", "job_id", "name", "schema_version")
MODES = {"inference", "training"}


class TestInfra(JsonFormat):
    """Benchmark records of pytorch/test-infra."""

    __test__ = False
    name = "test-infra"
    doc = "pytorch/test-infra benchmark records (schema v3)"
    becomes = (
        "records of one commit, workflow and job → run; benchmark → suite; inputs and extra_info → axes; "
        "`benchmark_values` → values"
    )
    histories = True
    holds = (Object, list)
    shapes = (
        frozenset({"[].metric.benchmark_values", "[].metric.name"}),
        frozenset({"metric.benchmark_values", "metric.name"}),
    )

    def parse(self, text: str) -> Any:
        """One value, or one a line."""
        return records_of(text)

    def open(self, document: Any, results: Results) -> Iterator[Any]:
        """A run for the records of each job; those that say nothing of it are of the folder's."""
        return by_run(document, _job, _run, results, says=(*RUN, "timestamp", "runners"))

    def load(self, record: Object, results: Results) -> None:
        """One metric of one model."""
        benchmark, model, metric = (record.section(field) for field in ("benchmark", "model", "metric"))
        about, more = benchmark.section("extra_info"), model.section("extra_info")
        device = about.get("device")
        axes: dict[str, Any] = {"type": model.text("type")}
        for prefix, section in (("benchmark", about), ("model", more)):
            for field, value in section.items():
                if not isinstance(value, float) and field not in ("device", "description") and value is not None:
                    axes[f"{prefix}.{field}"] = section.take(field)
        if isinstance(device, str):
            about.take("device")
        if inputs := record.take("inputs"):
            axes["inputs"] = inputs
        mode, dtype, suite = benchmark.text("mode"), benchmark.text("dtype"), benchmark.text("name")
        if mode not in MODES:
            axes["mode"] = mode
        name = model.text("name") or suite
        if not name:
            raise BadRecord("no name of a model or benchmark")
        case = results.case(
            name, suite=suite, mode=mode if mode in MODES else None, dtype=dtype, backend=model.text("backend"),
            device=device if isinstance(device, str) else None,
            parameters={key: value for key, value in axes.items() if value is not None},
        )  # fmt: skip
        metric_name = metric.name("name")
        unit = UNIT.fullmatch(metric_name) if len(metric_name) < 200 else None
        values, said = metric.array("benchmark_values"), metric.text("unit")
        case.samples(values, unit[2] if unit else said, loops=None, metric=unit[1] if unit else metric_name)
        case.metric(f"{metric_name}_target", metric.take("target_value"), better=None)
        for field in (*RUN, "timestamp", "runners", "dependencies"):
            record.take(field)
        case.fields(record.left())


def _job(record: Any) -> str:
    """The fields that identify the job of a record."""
    return as_json([record.get(field) for field in RUN]) if isinstance(record, Object) else ""


def _run(records: list[Any], first: Object, results: Results) -> Chosen:
    runners = first.records("runners")
    runner = runners[0] if runners else Object()
    gpu, dependencies = runner.take("gpu_info"), first.section("dependencies")
    torch = dependencies.get("pytorch") or dependencies.get("torch")
    host = runner.text("name")
    version = torch.get("version") or torch.get("sha") if isinstance(torch, Object) else None
    environment = Environment(
        environment_id="", cpu=runner.text("cpu_info"), logical_cores=runner.count("cpu_count"),
        gpus=[gpu] if isinstance(gpu, str) and gpu else None, torch=version if isinstance(version, str) else None,
        extra=labels({"runner": runner.text("type"), "dependencies": dependencies, "runners": [each.left() for each in runners]}),
    )  # fmt: skip
    return results.run(
        content=as_json([record.value if isinstance(record, UnlocatedRecords) else record for record in records]),
        started_at=first.moment("timestamp"), git_commit=first.text("head_sha") or None,
        git_branch=first.text("head_branch") or None, host=host, environment=environment,
        tags={field: first.get(field) for field in RUN if field not in ("head_sha", "head_branch")},
    )  # fmt: skip

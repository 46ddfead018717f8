"""Lines of a model's step: shares of what processes of their own sampled, or why there are none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.workload import Job, Settings, Workload
from bench.measure.pytorch import child, line_times

HERE = {"file": "net.py", "function": "forward", "line": 3, "text": "y = x"}


def job_of(target: str, *backends: str, **parameters: Any) -> Job:
    """The job of a worker that measures a model by some backends."""
    workload = Workload(
        suite="net.py", name="Net", target=target, mode="inference", device="cpu", dtype="float32", batch_size=1,
        sequence_length=None, backends=backends, parameters=parameters,
    )  # fmt: skip
    program = "bench.measure.pytorch.program:TorchProgram"
    return Job(run_id="", store="", process=0, workload=workload, settings=Settings(), program=program)


def facts(monkeypatch: pytest.MonkeyPatch, *answers: list[dict[str, Any]], **parameters: Any) -> list[tuple[Any, ...]]:
    """Backend, name, value and text of each fact of two processes that answer so."""
    left = iter(answers)

    def begin(_: str, job: Job) -> Callable[[], tuple[list[dict[str, Any]], str]]:
        assert job.workload.backends == ("eager", "inductor")
        return lambda: (next(left), "ended with -9")

    monkeypatch.setattr(child, "begin", begin)
    monkeypatch.setattr(child, "REPLICAS", 2)
    job = job_of("net:Net", "eager", "inductor", **parameters)
    return [(backend, fact.name, fact.value, fact.text) for backend, fact in line_times.line_facts(job)]


def told(backend: str, *found: Any, reason: str | None = None) -> dict[str, Any]:
    """The answer of a process for a backend."""
    return {"backend": backend, "found": [*found], "reason": reason}


def test_each_process_gives_a_share_of_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that fails in one, or that one does not come to, has a reason instead."""
    other = {**HERE, "line": 4}
    found = facts(
        monkeypatch,
        [told("eager", 1.5, (HERE, 30), (other, 10)), told("inductor", None, (HERE, 1))],
        [told("eager", None, (HERE, 20))],
    )

    shares = [
        (json.loads(text)["line"], value) for backend, name, value, text in found if name == "line_time" and value
    ]
    assert shares == [(3, 0.75), (3, 1.0), (4, 0.25)]
    assert [fact for fact in found if fact[1] != "line_time"] == [("eager", "profiler_slowdown", 1.5, "line")]
    assert found[-1] == ("inductor", "line_time", None, "the process that samples lines ended with -9")


def test_ranks_are_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would be a part of one step."""
    why = "lines of a model over several ranks are not sampled"

    assert facts(monkeypatch, distributed="ddp") == [(side, "line_time", None, why) for side in ("eager", "inductor")]


@pytest.mark.exhaustive
def test_the_lines_of_a_model_are_those_of_its_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the process itself, with torch."""
    (tmp_path / "net.py").write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        sum(n for n in range(9000))\n        return x + 1\n\n"
        "    def get_example_inputs(self, batch_size=1):\n        return (torch.zeros(batch_size),)\n"
    )
    monkeypatch.setattr(child, "REPLICAS", 1)
    job = job_of(f"{tmp_path}/net.py:Net", "eager")
    (first, *_) = [fact for _, fact in line_times.line_facts(job) if fact.value]
    place = json.loads(first.text or "")

    assert (place["line"], place["text"]) == (5, "sum(n for n in range(9000))") and (first.value or 0) > 0.5

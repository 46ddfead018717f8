"""A CUDA graph of a module, by a fake torch.cuda: warmed up, captured once, replayed for inputs that are copied in."""

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch.backend import Example
from bench.measure.pytorch.registry import backend

torch = pytest.importorskip("torch")


class FakeGraphs:
    """Streams and graphs of torch.cuda: what was done, in order; a replay runs the module again on its own inputs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.replayed: Any = lambda: None
        stream = SimpleNamespace(wait_stream=lambda other: self.log.append("wait"))
        for name, fake in {
            "Stream": lambda: stream, "current_stream": lambda: stream, "stream": lambda side: contextlib.nullcontext(),
            "CUDAGraph": lambda: SimpleNamespace(replay=self._replay), "graph": self._capture,
        }.items():  # fmt: skip
            monkeypatch.setattr(torch.cuda, name, fake)

    @contextlib.contextmanager
    def _capture(self, graph: Any) -> Any:
        self.log.append("capture")
        yield
        self.log.append("captured")

    def _replay(self) -> None:
        self.log.append("replay")
        self.replayed()


class Doubled(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Writes where its first output lies, as a graph does."""

    def __init__(self, graphs: FakeGraphs) -> None:
        super().__init__()
        self.graphs = graphs

    def forward(self, x: Any, by: Any) -> Any:
        self.graphs.log.append("call")
        output = x * by
        self.graphs.replayed = lambda: output.copy_(x * by)
        return output


def test_a_module_is_captured_once_and_replayed_with_new_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three calls warm it up on a stream of its own; inputs are copied to where the graph reads them."""
    graphs = FakeGraphs(monkeypatch)
    x, by = torch.tensor([1.0, 2.0]), torch.tensor(3.0)

    call = backend("eager-cudagraph").prepare(Doubled(graphs), Example((x,), {"by": by}, "cuda"))
    assert graphs.log == ["wait", "call", "call", "call", "wait", "capture", "call", "captured"]
    first = call(x, by=by).tolist()
    second = call(torch.tensor([5.0, 7.0]), by=torch.tensor(2.0)).tolist()

    assert (first, second) == ([3.0, 6.0], [10.0, 14.0])
    assert graphs.log[8:] == ["replay", "replay"]
    assert x.tolist() == [1.0, 2.0], "the example's own inputs are left alone"


def test_a_graph_needs_a_gpu() -> None:
    """A skip with its cure."""
    assert "--devices cuda" in str(backend("eager-cudagraph").unavailable("cpu", "inference"))
    assert backend("eager-cudagraph").unavailable("cuda", "training") == "eager-cudagraph is for inference only"

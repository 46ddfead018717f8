"""ONNX: the five ways in which an export fails, each an exception of its own, and models that come through."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch.backend import Example
from bench.measure.pytorch.backends import onnx_session
from bench.measure.pytorch.registry import backend

from ...builders import Builder, case, outcome, run
from ...exhaustive import exhaustive

torch = pytest.importorskip("torch")
EXAMPLE = Example((torch.tensor([1.0, 2.0]),), {"mask": torch.tensor([1.0, 0.0])})


class FakeBinding:
    """An I/O binding of ONNX Runtime: what lies where."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.outputs: list[Any] = []

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self.inputs[name] = value

    def bind_output(self, name: str, kind: str, index: int) -> None:
        self.outputs.append((name, kind, index))

    def get_outputs(self) -> list[Any]:
        return [self.inputs["x.1"] * self.inputs["mask"]]


class FakeRuntime:
    """onnxruntime, onnx and torch.onnx.export, each of which raises what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.raises: dict[str, Exception] = {}
        self.providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
        self.bound = FakeBinding()
        self.asked: list[Any] = []
        runtime = SimpleNamespace(
            __version__="1.0", InferenceSession=self._session, OrtValue=SimpleNamespace(from_dlpack=lambda x: x),
            get_available_providers=lambda: self.providers,
        )  # fmt: skip
        onnx = SimpleNamespace(checker=SimpleNamespace(check_model=lambda path: self._do("check")))
        monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
        monkeypatch.setitem(sys.modules, "onnx", onnx)
        monkeypatch.setattr(torch.onnx, "export", lambda *a, **how: self._do("export"))

    def _do(self, what: str) -> None:
        if what in self.raises:
            raise self.raises[what]

    def _session(self, path: str, providers: list[Any]) -> Any:
        assert Path(path).name == "model.onnx"
        self.asked = providers
        self._do("session")
        return SimpleNamespace(
            get_inputs=lambda: [SimpleNamespace(name="x.1"), SimpleNamespace(name="mask")],
            get_outputs=lambda: [SimpleNamespace(name="y")], get_providers=lambda: self.providers,
            io_binding=lambda: self.bound, run_with_iobinding=lambda binding: self._do("run"),
        )  # fmt: skip


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    monkeypatch.setattr("torch.utils.dlpack.from_dlpack", lambda x: x)
    return FakeRuntime(monkeypatch)


class ConversionError(Exception):
    """As torch's exporter names it."""


def raised_by(error: Exception, cause: Exception) -> Exception:
    """An error with its cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("where", "error", "way", "reason"),
    [
        ("export", RuntimeError("it branches on data\nand more"), "CaptureFailed", "RuntimeError: it branches on data"),
        ("export", raised_by(ConversionError("step 3/3"), LookupError("no function for aten.svd")), "TranslationFailed",
         "LookupError: no function for aten.svd"),
        ("check", ValueError("an edge leads nowhere"), "OnnxFileFailed", "ValueError: an edge leads nowhere"),
        ("session", RuntimeError("no kernel for Foo"), "SessionFailed", "RuntimeError: no kernel for Foo"),
        ("run", RuntimeError("shapes differ"), "SessionRunFailed", "RuntimeError: shapes differ"),
    ],
)  # fmt: skip
def test_each_way_to_fail_has_its_name_and_the_first_cause(
    runtime: FakeRuntime, where: str, error: Exception, way: str, reason: str
) -> None:
    """The exception names the way, its text the first error, in one line."""
    runtime.raises[where] = error

    with pytest.raises(onnx_session.OnnxFailure) as failed:
        backend("onnxruntime").prepare(None, EXAMPLE)(*EXAMPLE.args, **(EXAMPLE.kwargs or {}))

    assert (type(failed.value).__name__, str(failed.value)) == (way, reason)


def test_tensors_are_handed_over_where_they_lie(runtime: FakeRuntime) -> None:
    """On a GPU they cross no bus: inputs by the session's own names, outputs on the same device."""
    example = Example(EXAMPLE.args, EXAMPLE.kwargs, device="cuda:1")

    (found,) = backend("onnxruntime").prepare(None, example)(*EXAMPLE.args, **(EXAMPLE.kwargs or {}))

    assert found.tolist() == [1.0, 0.0]
    assert runtime.asked == [("CUDAExecutionProvider", {"device_id": 1}), "CPUExecutionProvider"]
    assert runtime.bound.outputs == [("y", "cuda", 1)]


def test_a_session_that_fell_back_to_the_cpu_is_no_gpu_measurement(runtime: FakeRuntime) -> None:
    """A build without CUDA is a skip with its cure; one that falls back when it loads is a failure."""
    runtime.providers = ["CPUExecutionProvider"]

    assert "pip install onnxruntime-gpu" in str(onnx_session.missing("cuda"))
    assert onnx_session.missing("cpu") is None
    with pytest.raises(onnx_session.SessionFailed, match="fell back to the CPU: CPUExecutionProvider"):
        backend("onnxruntime").prepare(None, Example(EXAMPLE.args, EXAMPLE.kwargs, device="cuda"))


def test_an_old_runtime_is_a_skip(runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no tensors by DLPack; the reason has the upgrade."""
    monkeypatch.delattr(sys.modules["onnxruntime"].OrtValue, "from_dlpack")

    assert onnx_session.missing("cpu") == (
        "onnxruntime 1.0 takes no tensors of torch. Install a newer one with: pip install --upgrade onnxruntime"
    )


def test_failed_exports_are_counted_by_way_and_reason(warehouse: Builder) -> None:
    """One row for each, with its models; other failures are none of them."""
    cases = [case(name, backend="onnxruntime") for name in ("a", "b", "c", "d")]
    warehouse.add(
        run(), *cases,
        outcome(cases[0], "fail_to_run", exception="TranslationFailed", reason="no svd"),
        outcome(cases[1], "fail_to_run", exception="TranslationFailed", reason="no svd"),
        outcome(cases[2], "fail_to_run", exception="CaptureFailed", reason="branches"),
        outcome(cases[3], "fail_to_run", exception="RuntimeError", reason="else"),
    )  # fmt: skip

    rows = warehouse.rows("SELECT backend, way, reason, n_models, models FROM export_failures ORDER BY way")
    assert rows == [
        ("onnxruntime", "CaptureFailed", "branches", 1, ["c"]),
        ("onnxruntime", "TranslationFailed", "no svd", 2, ["a", "b"]),
    ]


class Branching(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Its graph depends on the data."""

    def forward(self, x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1


class Singular(torch.nn.Module):  # type: ignore[misc,name-defined]
    """An operator that ONNX has not."""

    def forward(self, x: Any) -> Any:
        return torch.linalg.svdvals(x)


class Scaled(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Inputs by place and by name, outputs in a dict."""

    def forward(self, x: Any, by: Any) -> Any:
        return {"scaled": x * by, "sum": x.sum()}


@exhaustive
@pytest.mark.parametrize("name", ["onnxruntime", "onnxruntime-torchscript"])
def test_a_real_session_computes_what_eager_does(name: str) -> None:
    """By both exporters."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    args, kwargs = (torch.arange(4.0),), {"by": torch.tensor(3.0)}

    found = backend(name).prepare(Scaled().eval(), Example(args, kwargs))(*args, **kwargs)

    assert [x.tolist() for x in found] == [[0.0, 3.0, 6.0, 9.0], 6.0]


@exhaustive
@pytest.mark.parametrize(
    ("name", "module", "way"),
    [
        ("onnxruntime", Branching, "CaptureFailed"),
        ("onnxruntime", Singular, "TranslationFailed"),
        ("onnxruntime-torchscript", Singular, "TranslationFailed"),
    ],
)
def test_real_exports_fail_in_their_ways(name: str, module: Any, way: str) -> None:
    """Errors of the installed torch are classified right."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)

    with pytest.raises(onnx_session.OnnxFailure) as failed:
        backend(name).prepare(module().eval(), Example((torch.ones(4, 4),), {}))

    assert type(failed.value).__name__ == way, failed.value

"""Quantised modes of torchao: by a fake what is asked of it, and for real that each mode computes nearly what eager does."""

import copy
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch.backend import Example
from bench.measure.pytorch.backends import quantization
from bench.measure.pytorch.registry import OWN, backend

from ...exhaustive import exhaustive

torch = pytest.importorskip("torch")
MODES = ("quantized", "quantized-int8dynamic", "quantized-int4weightonly", "quantized-autoquant", "quantized-noquant")


class FakeTorchao:
    """torchao.quantization: configurations by name, and what was quantised by which."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[Any] = []
        self.autoquant: Any = None
        self.quantization = SimpleNamespace(quantize_=self._quantize)
        for name in ("Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig", "Int4WeightOnlyConfig",
                     "IntxWeightOnlyConfig"):  # fmt: skip
            make = lambda *given, name=name, **how: SimpleNamespace(name=name, set_inductor_config=True)  # noqa: E731
            setattr(self.quantization, name, make)
        monkeypatch.setitem(sys.modules, "torchao", self)
        monkeypatch.setitem(sys.modules, "torchao.quantization", self.quantization)
        granularity = SimpleNamespace(PerGroup=lambda size: size)
        monkeypatch.setitem(sys.modules, "torchao.quantization.granularity", granularity)

    def _quantize(self, module: Any, config: Any, filter_fn: Any) -> None:
        layers = [name for name, part in module.named_modules() if filter_fn(part, name)]
        self.done.append((config.name, config.set_inductor_config, layers))


@pytest.fixture
def torchao(monkeypatch: pytest.MonkeyPatch) -> FakeTorchao:
    monkeypatch.setattr(torch, "compile", lambda module, **how: SimpleNamespace(module=module, how=how))
    return FakeTorchao(monkeypatch)


def model() -> Any:
    """Two layers that can be quantised in groups of 32, and one that cannot."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 20), torch.nn.Linear(20, 5)
    ).eval()


@pytest.mark.parametrize(
    ("name", "device", "config", "layers"),
    [
        ("quantized", "cpu", "Int8WeightOnlyConfig", ["0", "2", "3"]),
        ("quantized-int8dynamic", "cpu", "Int8DynamicActivationInt8WeightConfig", ["0", "2", "3"]),
        ("quantized-int4weightonly", "cpu", "IntxWeightOnlyConfig", ["0", "2"]),
        ("quantized-int4weightonly", "cuda:0", "Int4WeightOnlyConfig", ["0", "2"]),
    ],
)
def test_a_mode_is_a_configuration_of_torchao(
    torchao: FakeTorchao, name: str, device: str, config: str, layers: list[str]
) -> None:
    """Which leaves inductor's settings for the process alone: those of quantised models are of this backend only."""
    compiled: Any = backend(name).prepare(model(), Example(device=device))

    assert torchao.done == [(config, False, layers)]
    assert compiled.how["options"] == quantization.OPTIONS


def test_the_mode_without_quantisation_is_compiled_the_same_way(torchao: FakeTorchao) -> None:
    """And needs no torchao: it is what the others are to be compared with, judged like any backend."""
    module = model()

    compiled: Any = backend("quantized-noquant").prepare(module, Example())

    assert (compiled.module is module, compiled.how["options"], torchao.done) == (True, quantization.OPTIONS, [])
    assert (backend("quantized-noquant").needs, backend("quantized-noquant").rough) == (None, False)
    assert {one.name for one in OWN if one.rough} == {*MODES} - {"quantized-noquant"}


def test_autoquant_is_a_skip_where_torchao_has_it_no_more(torchao: FakeTorchao) -> None:
    """With the version that has it; there it gets the module."""
    assert backend("quantized-autoquant").missing("cpu") == (
        "torchao has no autoquant since 0.17. Install an older one with: pip install 'torchao<0.17'"
    )

    torchao.autoquant = lambda module, **how: ("chosen", how)
    compiled: Any = backend("quantized-autoquant").prepare("module", Example())
    assert compiled.module == ("chosen", {"error_on_unseen": False, "set_inductor_config": False})
    assert "autoquant" not in str(backend("quantized-autoquant").missing("cpu"))


@exhaustive
@pytest.mark.parametrize("name", MODES)
def test_a_real_mode_computes_nearly_what_eager_does(name: str) -> None:
    """Compiled by inductor, on the CPU; inductor's own settings are as before."""
    if name != "quantized-noquant":
        pytest.importorskip("torchao")
    if reason := backend(name).unavailable("cpu", "inference"):
        pytest.skip(reason)
    module, x = model(), torch.randn(8, 64)
    before = torch._inductor.config.coordinate_descent_tuning
    with torch.no_grad():
        expected = module(x).flatten()
        found = backend(name).prepare(copy.deepcopy(module), Example((x,), {}))(x).flatten()

    assert torch.nn.functional.cosine_similarity(expected, found, dim=0) > 0.99
    assert torch._inductor.config.coordinate_descent_tuning == before

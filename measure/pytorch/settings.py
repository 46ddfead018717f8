"""Knobs: how a model is run, beyond its axes. Each knob that is set is a parameter of the case, so cases never mix.

A knob is a field here; its option on the command line is made of it, and so is its name in `cases.parameters`.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self

import click

from ...warehouse.console.options import Values
from ...warehouse.errors import BenchError
from ..options import Finite

RANKS = 2  # processes of a distributed model, unless told


def _knob(default: Any, help: str, **option: Any) -> Any:
    return field(default=default, metadata={"help": help, **option})


def _pair(text: str) -> str:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise BenchError(f"setting {text!r} has no value. Write it as KEY=VALUE.")
    return text


_SHARE = Finite(min=0, max=1, min_open=True)
_PAIR = click.types.FuncParamType(_pair)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The knobs that were set; the others are not parameters."""

    optimizer: str | None = _knob(None, "Optimizer of training. [default: sgd]", type=click.Choice(("sgd", "adam")))
    eval_mode: bool = _knob(False, "Train in eval mode: dropout off, batch norm fixed.")
    checkpointing: bool = _knob(False, "Activation checkpointing: recompute in the backward pass what it needs.")
    channels_last: bool = _knob(False, "Images and convolutions in channels-last memory format.")
    randomize_inputs: bool = _knob(False, "Other random inputs at every call, from eight that were made before.")
    deterministic: bool = _knob(False, "Deterministic algorithms, TF32 off, random numbers as in eager.")
    tolerance: float | None = _knob(None, "Tolerance of the accuracy check.", type=Finite(min=0))
    cosine: bool = _knob(False, "Check accuracy by the cosine instead of by float64.")
    distributed: str | None = _knob(None, "Over several processes: DDP or FSDP.", type=click.Choice(("ddp", "fsdp")))
    ranks: int | None = _knob(None, f"Processes of a distributed model. [default: {RANKS}]", type=click.IntRange(min=1))
    fullgraph: bool = _knob(False, "A graph break is an error.")
    dynamic: bool = _knob(False, "Compile for any shape.")
    dynamic_batch: bool = _knob(False, "Compile for any batch size, of the other sizes as they are.")
    dynamo_config: tuple[str, ...] = _knob((), "Settings of torch._dynamo.config.", cls=Values, value_type=_PAIR)
    inductor_config: tuple[str, ...] = _knob((), "Settings of torch._inductor.config.", cls=Values, value_type=_PAIR)
    flush_l2: bool = _knob(False, "Empty a GPU's L2 cache before every call, outside of what is timed.")
    memory_fraction: float | None = _knob(None, "Most of a GPU's memory that the worker may use.", type=_SHARE)

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Those among the parameters of a workload."""
        return cls(**{name: parameters[name] for name in KNOBS if name in parameters})

    def apply(self, torch: Any, device: str) -> None:
        """Apply the knobs that concern the whole process.

        Raises:
            ValueError: There is no such setting.
        """
        if self.deterministic:
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
            _set(torch, "_inductor", ("fallback_random=True",))
        _set(torch, "_dynamo", self.dynamo_config)
        _set(torch, "_inductor", self.inductor_config)
        if self.memory_fraction is not None and device.startswith("cuda"):
            torch.cuda.set_per_process_memory_fraction(self.memory_fraction, torch.device(device).index)


KNOBS = tuple(knob.name for knob in fields(Knobs))
_USUAL = {"optimizer": "sgd", "ranks": RANKS}


def turned(name: str, value: Any) -> bool:
    """Whether a value makes another case; a knob at its default value does not."""
    return value is not None and value is not False and value not in ((), _USUAL.get(name))


def _set(torch: Any, module: str, pairs: tuple[str, ...]) -> None:
    """Set `a.b=value` in the configuration of a module of torch; a value is a Python literal, or else text."""
    if not pairs:
        return
    import importlib

    config: Any = importlib.import_module(f"torch.{module}.config")
    for pair in pairs:
        key, _, text = pair.partition("=")
        *path, name = key.split(".")
        target: Any = config
        for part in path:
            target = getattr(target, part, None)
        if target is None or not hasattr(target, name):
            raise ValueError(f"torch.{module}.config has no {key!r}")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        setattr(target, name, value)


def knob_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each knob, such as --channels-last."""
    for knob in reversed(fields(Knobs)):
        attributes = dict(knob.metadata)
        assert knob.default is not MISSING
        attributes.setdefault("is_flag", knob.default is False)
        if attributes.get("cls") is Values:
            attributes |= {"metavar": "KEY=VALUE…"}
            del attributes["is_flag"]
        else:
            attributes["default"] = knob.default
        function = click.option(f"--{knob.name.replace('_', '-')}", **attributes)(function)
    return function

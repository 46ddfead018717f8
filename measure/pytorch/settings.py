"""Knobs: how a model is run, beyond its axes. Each knob that is set is a parameter of the case, so cases never mix.

A knob is a field here; its option on the command line is made of it, and so is its name in `cases.parameters`.
"""

import ast
import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self

import click

from ...warehouse.console.options import Values
from ...warehouse.errors import BenchError, UnknownName
from ..options import Finite

RANKS = 2  # processes of a distributed model, unless told
DDP_MODES = ("ddp_optimizer", "python_reducer", "python_reducer_without_compiled_forward", "no_optimization")


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
    randomize_inputs: bool = _knob(False, "Other random inputs at every call, out of eight that are made beforehand.")
    deterministic: bool = _knob(False, "Deterministic algorithms, TF32 off, random numbers as in eager.")
    tolerance: float | None = _knob(None, "Tolerance of the accuracy check.", type=Finite(min=0))
    cosine: bool = _knob(False, "Check accuracy by the cosine instead of by float64.")
    distributed: str | None = _knob(None, "Over several processes: DDP or FSDP.", type=click.Choice(("ddp", "fsdp")))
    ranks: int | None = _knob(None, f"Processes of a distributed model. [default: {RANKS}]", type=click.IntRange(min=1))
    optimize_ddp: str | None = _knob(
        None, "How torch.compile lets DDP's communication overlap.", type=click.Choice(DDP_MODES)
    )
    compiled_autograd: bool = _knob(False, "Capture the backward pass as it runs, and compile it by the same backend.")
    tf32: str | None = _knob(
        None,
        "TF32 in a GPU's products and convolutions of float32. [default: torch's]",
        type=click.Choice(("on", "off")),
    )
    fullgraph: bool = _knob(False, "A graph break is an error.")
    dynamic: bool = _knob(False, "Compile for any shape.")
    translation_validation: bool = _knob(False, "Have z3 check that the guards of dynamic shapes are right.")
    dynamic_batch: bool = _knob(False, "Compile for any batch size; other sizes stay fixed.")
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
            UnknownName: There is no such setting.
        """
        if self.deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it the first matrix product raises
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
            _set("_inductor", ("fallback_random=True",))
        if self.tf32 is not None:
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = self.tf32 == "on"
        if self.optimize_ddp is not None:
            _set("_dynamo", (f"optimize_ddp={self.optimize_ddp}",))
        if self.translation_validation:
            import torch.fx.experimental._config as fx_config

            fx_config.translation_validation = True
        _set("_dynamo", self.dynamo_config)
        _set("_inductor", self.inductor_config)
        if self.memory_fraction is not None and device.startswith("cuda"):
            torch.cuda.set_per_process_memory_fraction(self.memory_fraction, torch.device(device).index)


KNOBS = tuple(knob.name for knob in fields(Knobs))
USUAL_OPTIMIZER = "sgd"
_USUAL = {"optimizer": USUAL_OPTIMIZER, "ranks": RANKS}


def turned(name: str, value: Any) -> bool:
    """Return whether a value makes another case; a knob at its default value does not."""
    return value is not None and value is not False and value not in ((), _USUAL.get(name))


def check_ddp(distributed: str | None, mode: str | None, compiled_autograd: bool) -> None:
    """Refuse a mode of DDP that torch has not: without DDP, or without what it compiles.

    Raises:
        BenchError: Says what to add or to leave out.
    """
    if mode is None:
        return
    if distributed != "ddp":
        raise BenchError("--optimize-ddp has no effect without --distributed ddp.")
    if mode.startswith("python_reducer") and not compiled_autograd:
        raise BenchError(f"--optimize-ddp {mode} communicates in a compiled backward pass. Add: --compiled-autograd.")
    if mode == "no_optimization" and compiled_autograd:
        raise BenchError(
            "--optimize-ddp no_optimization cannot be compiled with the backward pass. Leave out one of both."
        )


def check_config(compiler: str, pairs: Sequence[str]) -> None:
    """Look up the settings of `_dynamo` or `_inductor`; torch is imported where there are any, if it is installed.

    Raises:
        UnknownName: There is no such setting.
    """
    if pairs and importlib.util.find_spec("torch") is not None:
        for pair in pairs:
            _target(f"_{compiler}", pair.partition("=")[0])


def check_validation(wanted: bool) -> None:
    """Refuse to validate without the prover: torch would go on, and validate nothing.

    Raises:
        BenchError: z3 is not installed.
    """
    if wanted and importlib.util.find_spec("z3") is None:
        raise BenchError(
            "--translation-validation needs z3, which is not installed. Install it with: pip install z3-solver"
        )


def _target(module: str, key: str) -> tuple[Any, str]:
    """The object that holds the setting `a.b`, and the attribute's name.

    Raises:
        UnknownName: There is none.
    """
    config: Any = importlib.import_module(f"torch.{module}.config")
    *path, name = key.split(".")
    target = config
    for part in path:
        target = getattr(target, part, None)
    if target is None or not hasattr(target, name):
        # nothing public lists them in all versions
        known = [name for name in config._config if not name.startswith("_") and not name.isupper()]
        raise UnknownName("setting", key, sorted(known), where=f"torch.{module}.config")
    return target, name


def _set(module: str, pairs: Sequence[str]) -> None:
    """Set `a.b=value` in the configuration of a module of torch; a value is a Python literal, or else text."""
    for pair in pairs:
        key, _, text = pair.partition("=")
        target, name = _target(module, key)
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

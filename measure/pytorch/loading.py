"""Build a model and its inputs from a target. For workers, where torch may be imported.

A target is one of

    module:Class             a torch.nn.Module made without arguments
    /folder/file.py:Class    the same, in any file; its folder is on the path, so that it may import its neighbours
    /folder/file.json:config a configuration of transformers
    module:function:NAME     function(NAME, workload) returns the module and its inputs

A class says what to call it with by a method `get_example_inputs`, which gets what it takes of `batch_size`,
`sequence_length` and `mode`, and returns a tuple, a dict of keyword arguments, or one tensor.
"""

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.workload import Workload
from ..suites import configuration


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """A model and its inputs, on the CPU in the types its author chose."""

    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def build(workload: Workload) -> BuiltModel:
    """Make the model of a workload, and its inputs.

    Raises:
        Exception: Whatever the model's own code raises.
    """
    source, name = _parts(workload.target)
    if source.endswith(configuration.SUFFIX):
        module, inputs = configuration.build(Path(source), workload)
    elif ":" in name:
        function, _, argument = name.partition(":")
        module, inputs = getattr(importlib.import_module(source), function)(argument, workload)
    else:
        module = getattr(_module(source), name)()
        inputs = _call(module.get_example_inputs, workload)
    if isinstance(inputs, Mapping):
        return BuiltModel(module, (), inputs)
    return BuiltModel(module, tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), {})


def beside(target: str, name: str, module: Any) -> Any:
    """Another class of the target's file or module, made without arguments, with the weights of `module`.

    Raises:
        ValueError: The target is made by a function or a configuration, which has no others beside it.
        Exception: Whatever its code raises, and of torch, that its weights are others.
    """
    source, own = _parts(target)
    if ":" in own or source.endswith(configuration.SUFFIX):
        raise ValueError(f"{target} is not a class, so it cannot be compared with other classes")
    other = getattr(_module(source), name)()
    other.load_state_dict(module.state_dict(), assign=True)
    for weight in module.parameters():
        other.to(weight.device, weight.dtype)  # what is no part of the state goes along
        break
    return other.train(module.training)


def _parts(target: str) -> tuple[str, str]:
    """The file or module of a target, and its name there."""
    source, _, name = target.rpartition(":") if target.startswith("/") else target.partition(":")
    return source, name


@functools.cache  # a file run twice would register its operators twice
def _module(source: str) -> Any:
    """Import a module by name, or a file."""
    if not source.startswith("/"):
        return importlib.import_module(source)
    path = Path(source)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", path=source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def _call(inputs: Any, workload: Workload) -> Any:
    """Call `get_example_inputs` with the arguments that it accepts."""
    sizes = {"batch_size": workload.batch_size, "sequence_length": workload.sequence_length, "mode": workload.mode}
    takes = inspect.signature(inputs).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values()):
        return inputs(**sizes)
    return inputs(**{name: size for name, size in sizes.items() if name in takes})

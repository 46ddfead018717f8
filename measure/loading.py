"""What a target names, built: a model and what to call it with. For workers, where torch may be imported.

A target is one of

    module:Class             a torch.nn.Module made without arguments
    /folder/file.py:Class    the same, in any file; its folder is on the path, so that it may import its neighbours
    module:function:NAME     function(NAME, workload) returns the module and its inputs

A class says what to call it with by a method `get_example_inputs`, which gets what it takes of `batch_size`,
`sequence_length` and `mode`, and returns a tuple, a dict of keyword arguments, or one tensor.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .plan import Workload


@dataclass(frozen=True, slots=True)
class Built:
    """A model and its inputs, on the CPU in the types its author chose."""

    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def build(workload: Workload) -> Built:
    """Make the model of a workload, and its inputs.

    Raises:
        Exception: Whatever the model's own code raises.
    """
    target = workload.target
    source, _, name = target.rpartition(":") if target.startswith("/") else target.partition(":")
    if ":" in name:
        function, _, argument = name.partition(":")
        module, inputs = getattr(importlib.import_module(source), function)(argument, workload)
    else:
        module = getattr(_module(source), name)()
        inputs = _call(module.get_example_inputs, workload)
    if isinstance(inputs, Mapping):
        return Built(module, (), inputs)
    return Built(module, tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), {})


def _module(source: str) -> Any:
    """Import a module by name, or a file."""
    if not source.startswith("/"):
        return importlib.import_module(source)
    path = Path(source)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file", path=source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def _call(inputs: Any, workload: Workload) -> Any:
    """Call `get_example_inputs` with what it takes."""
    sizes = {
        "batch_size": workload.batch_size,
        "sequence_length": workload.sequence_length,
        "mode": workload.mode,
    }
    takes = inspect.signature(inputs).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values()):
        return inputs(**sizes)
    return inputs(**{name: size for name, size in sizes.items() if name in takes})

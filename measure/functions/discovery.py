"""The benchmarks that modules hold, found in a process of its own, whose arguments are the modules."""

import inspect
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import Any

from ...warehouse.errors import BenchError
from ..engine.workload import Workload
from ..system.own_process import own_command
from .benchmarks import MARK, Benchmark
from .targets import imported

SHOWN = 8  # functions that an error names


@dataclass(frozen=True, slots=True)
class Group:
    """Functions that compute the same, the reference first, as `module:function`; the setup likewise, if there is one."""

    name: str
    functions: tuple[str, ...]
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    setup: str = ""

    def workloads(self) -> Iterator[Workload]:
        """A workload for each combination of the parameters' values."""
        for values in itertools.product(*self.parameters.values()):
            yield Workload(
                suite="function", name=self.name, target=self.setup, mode="", device="", dtype="", batch_size=0,
                sequence_length=None, backends=self.functions, baseline=self.functions[0],
                parameters=dict(zip(self.parameters, values, strict=True)),
            )  # fmt: skip


def find(modules: Sequence[str]) -> list[Group]:
    """The benchmarks of modules, in the order written.

    Raises:
        BenchError: A module cannot be imported or holds none, or one of them cannot be measured.
    """
    done = subprocess.run(own_command(__name__, *modules), capture_output=True, text=True)
    if done.returncode:
        marked = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise BenchError(f"the benchmarks of {', '.join(modules)} cannot be found: {marked[-1]}")
    groups = [Group(**{**group, "functions": tuple(group["functions"])}) for group in json.loads(done.stdout)]
    names = [group.name for group in groups]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BenchError(
            f"two benchmarks are called {twice!r}. If they compute the same, mark one with against= the other."
        )
    return groups


def groups_of(modules: Sequence[ModuleType]) -> list[Group]:
    """The benchmarks that modules define themselves, each with those compared with it.

    Raises:
        BenchError: A module has none, or a parameter is no list of plain values.
    """
    sides: dict[str, list[str]] = {}
    references: dict[str, Any] = {}
    targets: dict[int, str] = {}  # by identity: what a module calls a function need not be what that calls itself
    for module in modules:
        own = _marked(module)
        if not own:
            names = [name for name, value in vars(module).items() if _is_own_function(module, name, value)]
            has = f" Its functions: {', '.join(names[:SHOWN])}{' …' if names[SHOWN:] else ''}." if names else ""
            raise BenchError(
                f"{module.__name__} marks no function with @bench.benchmark.{has} To measure one as it is: "
                f"bench measure function {module.__name__}:{names[0] if names else 'FUNCTION'}"
            )
        targets.update((id(function), target) for target, function in own.items())
        for target, function in own.items():
            reference = getattr(function, MARK).reference or function
            its = targets.get(id(reference), f"{reference.__module__}:{reference.__qualname__}")
            references[its] = reference
            sides.setdefault(its, []).append(target)
    return [
        Group(
            name=marked.name or target,
            functions=tuple(dict.fromkeys([target, *sides[target]])),
            parameters={key: _parameter_values(target, key, values) for key, values in marked.parameters.items()},
            setup=f"{target}.{MARK}.setup" if marked.setup else "",
        )
        for target, marked in ((target, getattr(reference, MARK)) for target, reference in references.items())
    ]


def _is_own_function(module: ModuleType, name: str, value: Any) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")


def _marked(module: ModuleType) -> dict[str, Any]:
    """The functions that a module or one of its classes marks, by their place; each once."""
    members = dict(vars(module))
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            members |= {f"{name}.{inner}": getattr(value, inner) for inner in vars(value)}
    marked = {name: value for name, value in members.items() if isinstance(getattr(value, MARK, None), Benchmark)}
    own = {name: value for name, value in marked.items() if value.__module__ == module.__name__}
    names = {id(value): name for name, value in reversed(own.items())}
    return {f"{module.__name__}:{name}": value for name, value in own.items() if names[id(value)] == name}


def _parameter_values(target: str, key: str, values: Any) -> list[Any]:
    try:
        if isinstance(values, str | bytes | Mapping):
            raise TypeError
        found = list(json.loads(json.dumps(list(values))))
    except (TypeError, ValueError):
        raise BenchError(
            f"{target}: parameter {key!r} is not a list of plain values; setup= makes others of them"
        ) from None
    if not found:
        raise BenchError(f"{target}: parameter {key!r} has no values, so that nothing would be measured")
    return found


def main() -> None:
    """Write the groups of the modules named, as JSON; what the modules print goes to stderr."""
    with open(os.dup(1), "w") as out:
        os.dup2(2, 1)
        try:
            groups = groups_of([imported(name) for name in sys.argv[1:]])
        except BenchError as error:
            sys.exit(str(error))
        json.dump([asdict(group) for group in groups], out)

"""Benchmarks in code: a decorator that says how a function is measured.

    import bench

    @bench.benchmark(parameters={"n": [10, 1000]})
    def loop(n): ...

    @bench.benchmark(against=loop)
    def built_in(n): ...

`bench measure function MODULE` measures all of a module. A function stays as it is: to call it costs what it did.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ...warehouse.errors import BenchError

MARK = "__benchmark__"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Settings of a marked function; `reference` is the function that it is compared with, None for a reference itself."""

    name: str | None
    parameters: Mapping[str, Sequence[Any]]
    setup: Callable[..., Any] | None
    reference: Callable[..., Any] | None


@overload
def benchmark(function: Function, /) -> Function: ...


@overload
def benchmark(
    *, name: str | None = None, parameters: Mapping[str, Sequence[Any]] | None = None,
    setup: Callable[..., Any] | None = None, against: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]: ...  # fmt: skip


def benchmark(
    function: Function | None = None, /, *, name: str | None = None,
    parameters: Mapping[str, Sequence[Any]] | None = None, setup: Callable[..., Any] | None = None,
    against: Callable[..., Any] | None = None,
) -> Function | Callable[[Function], Function]:  # fmt: skip
    """Mark a function as a benchmark.

    Args:
        function: The function, if the decorator is used without arguments: `@bench.benchmark`.
        name: What it computes; module:function if left out.
        parameters: Plain values of its keyword arguments; all combinations are measured.
        setup: Makes its arguments of them, outside the timing, once for each process: a dict is passed by name, a tuple
            by position, anything else as the only argument.
        against: Benchmark to compare with, whose name, parameters and setup hold for this function, too.

    Returns:
        The function itself.

    Raises:
        BenchError: `against` is no benchmark, is compared itself, or leaves nothing else to say; or this is no function
            that can be marked.
    """
    if against is not None:
        reference = getattr(against, MARK, None)
        if not isinstance(reference, Benchmark) or reference.reference is not None:
            raise BenchError(
                f"against={against!r} is not a benchmark that others can be compared with: mark it, without against="
            )
        if name or parameters or setup:
            raise BenchError("against= takes over name, parameters and setup: leave them out")
    benchmark = Benchmark(name, parameters or {}, setup, against)

    def mark(function: Function) -> Function:
        if not (hasattr(function, "__qualname__") and hasattr(function, "__dict__")):  # a partial, a builtin
            raise BenchError(f"{function!r} cannot be marked: write a function that calls it, and mark that")
        setattr(getattr(function, "__func__", function), MARK, benchmark)  # of a static method, what is called
        return function

    return mark if function is None else mark(function)

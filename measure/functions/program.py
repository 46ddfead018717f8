"""Functions as workloads: any callable by its `module:name`, its arguments made before the clock starts."""

import asyncio
import copy
import functools
import gc
import itertools
import keyword
import math
import operator
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError
from ..engine.program import Agreement, Enter, Fact, Measured
from ..engine.sampling import Reading
from ..engine.workload import Settings, Workload
from ..system.devices import Device
from .awaiting import ending, finished
from .targets import resolved

TOLERANCE = 1e-9  # relative, of floats: another order of summation is no other result
SHOWN = 100  # characters of a value that differs


# A loop written for the call: to pass arguments any other way would cost as much as a short function takes. All it uses are its
# own variables, which Python finds faster than those of a function around it.
_LOOP = """
def make(function, repeat, clock{values}):
    {async_}def timed(loops, function=function, clock=clock{defaults}):
        repeats = repeat(None, loops)
        start = clock()
        for _ in repeats:
            {call}
        return clock() - start
    return timed
"""


class Calls:
    """A function with its arguments: called once, or many times in a row, each call run to its end (see awaiting).

    The first call, before any is timed, shows whether results must be awaited or exhausted: a decorated coroutine function or
    a callable object does not look like it. Awaitables are awaited in one run of the event loop.
    """

    def __init__(
        self, function: Callable[..., Any], positional: tuple[Any, ...], named: Mapping[str, Any],
        loop: asyncio.AbstractEventLoop, *, keep: bool = False,
    ) -> None:  # fmt: skip
        """Prepare the calls. `keep`: the first call of a generator returns what that yields.

        Raises:
            TypeError: A name is none that an argument can have.
        """
        for name in named:
            if not str(name).isidentifier() or keyword.iskeyword(str(name)):
                raise TypeError(
                    f"no argument can be called {name!r}; a dict that is an argument itself goes into a tuple"
                )
        self._call = function, positional, named
        self._loop = loop
        self._keep = keep
        self._ending = ""

    def __call__(self) -> Any:
        """Call it once and return the result; for a generator the yielded values, if they are kept, of the first call only."""
        function, positional, named = self._call
        result = function(*positional, **named)
        self._ending = ending(result)
        keep, self._keep = self._keep, False  # a later call's memory may be measured
        return finished(result, keep=keep, run=self._loop.run_until_complete)

    def timed(self, loops: int) -> int:
        """Nanoseconds of so many calls."""
        return int(finished(self._timed(loops), keep=False, run=self._loop.run_until_complete))

    @functools.cached_property
    def _timed(self) -> Callable[[int], Any]:
        """The timing loop, generated for this way to call the function."""
        function, positional, named = self._call
        values = [f"_{index}" for index in range(len(positional) + len(named))]
        names = [""] * len(positional) + [f"{name}=" for name in named]
        call = f"function({', '.join(map(operator.add, names, values))})"
        source = _LOOP.format(
            values="".join(f", {value}" for value in values),
            defaults="".join(f", {value}={value}" for value in values),
            async_="async " if self._ending.startswith("a") else "",
            call=f"{self._ending} _ in {call}: pass"
            if self._ending.endswith("for")
            else f"{self._ending} {call}".lstrip(),
        )
        made: dict[str, Any] = {}
        exec(source, made)
        timed: Callable[[int], Any] = made["make"](
            function, itertools.repeat, time.perf_counter_ns, *positional, *named.values()
        )
        return timed


def _cuda() -> Any:
    """torch.cuda, where this process uses a GPU through it; else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


class Here(Device):
    """This process; calls are timed by a loop of their own. Where torch uses a GPU, its work is waited for."""

    def synchronize(self) -> None:
        """Wait until the GPU has finished what this process gave it."""
        if cuda := _cuda():
            cuda.synchronize()

    def time(self, call: Callable[[], Any], loops: int, lead: int = 0) -> Reading:
        """Time `loops` calls together, after `lead` that are not timed."""
        if not isinstance(call, Calls):
            return super().time(call, loops, lead)
        before = self._watch.read()
        if lead:
            call.timed(lead)
        self.synchronize()
        duration = call.timed(loops)
        if cuda := _cuda():
            called = time.perf_counter_ns()
            cuda.synchronize()
            duration += time.perf_counter_ns() - called
        return Reading(duration, loops, None, self._watch.since(before))


class FunctionProgram:
    """Functions of the same arguments: backends are their names; the target, if any, is the setup that makes the arguments."""

    keeps = False  # whether to keep yielded values, which may exceed memory

    def __init__(self, workload: Workload, settings: Settings, enter: Enter | None = None) -> None:
        self.device = Here()
        self._workload = workload
        self._loop = asyncio.new_event_loop()

    def missing(self, backend: str) -> str | None:
        """None: a function that cannot be imported fails when it is prepared."""
        return None

    def prepare(self, backend: str) -> Calls:
        """The function with its arguments."""
        return Calls(resolved(backend), *self._arguments(), self._loop, keep=self.keeps)

    def facts(self, backend: str) -> list[Fact]:
        """None: nothing compiles."""
        return []

    def keep(self, output: Any) -> Any:
        """Only whether there was an output."""
        return True

    def trust(self, output: Any) -> Agreement | None:
        """None: results are not compared."""
        return None

    def agree(self, expected: Any, actual: Any) -> Agreement | None:
        """None: results are not compared."""
        return None

    def trace(self, backend: str, call: Callable[[], Any], place: Path) -> list[Fact]:
        """None."""
        return []

    def memory(self, backend: str, call: Callable[[], Any]) -> Measured:
        """Call it; the peaks of that call, in this process."""
        with self.device.peaks() as peaks:
            call()
        return lambda: (peaks, [])

    def first_calls(self, backend: str) -> int:
        """One: nothing is recorded."""
        return 1

    def rewind(self) -> None:
        """Nothing: a function's state is its own."""

    def minify(self, backend: str, place: Path) -> list[Fact]:
        """None."""
        return []

    def release(self) -> None:
        """Nothing: there is no other process."""

    def settle(self) -> None:
        """Exclude existing objects from garbage collection."""
        gc.collect()
        gc.freeze()

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments: the parameters, or the result of the setup.

        Raises:
            TypeError: The setup is a generator, which would be used up by the first call.
        """
        parameters = dict(self._workload.parameters)
        if not self._workload.target:
            return (), parameters
        made = resolved(self._workload.target)(**parameters)
        if ending(made).endswith("for"):
            raise TypeError("the setup yields: have it return the arguments")
        made = finished(made, keep=False, run=self._loop.run_until_complete)
        if isinstance(made, dict):
            return (), made
        return (made if isinstance(made, tuple) else (made,)), {}


class CheckedProgram(FunctionProgram):
    """Functions whose results are compared with the first one's."""

    keeps = True

    def keep(self, output: Any) -> Any:
        """A copy; a later call may change what it returned.

        Raises:
            BenchError: It cannot be copied.
        """
        try:
            return (copy.deepcopy(output),)
        except (TypeError, copy.Error) as error:
            raise BenchError(f"its return value cannot be copied for --check: {error}. Leave out --check") from error

    def trust(self, output: Any) -> Agreement | None:
        """The result of the first function is the reference."""
        return Agreement(True, "equal", None)

    def agree(self, expected: Any, actual: Any) -> Agreement | None:
        """Return whether two results are equal; floats and arrays of them up to rounding."""
        (one,), (other,) = expected, actual
        if same(one, other):
            return Agreement(True, "equal", None)
        return Agreement(False, f"{repr(other)[:SHOWN]} instead of {repr(one)[:SHOWN]}", None)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, where floats may differ in rounding and NaN is NaN."""
    if hasattr(one, "__array__") or hasattr(other, "__array__"):
        import numpy as np

        a, b = np.asarray(one), np.asarray(other)
        if a.dtype.kind in "fc" and a.shape == b.shape:
            return bool(np.allclose(a, b, rtol=TOLERANCE, atol=0, equal_nan=True))
        return bool(np.array_equal(a, b))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE) or (one != one and other != other)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)

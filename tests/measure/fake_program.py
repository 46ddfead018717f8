"""A program without torch, whose backends do to their worker what the workload's parameters tell them to."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.measure.engine.program import (
    KERNEL_TIME,
    REFERENCE,
    Agreement,
    DeviceLost,
    Enter,
    Fact,
    Measured,
    ModelFailed,
)
from bench.measure.engine.sampling import Reading
from bench.measure.engine.workload import Settings, Workload
from bench.measure.system.devices import Device


def _segfault() -> None:
    ctypes.string_at(0)


def _shout() -> None:
    sys.stderr.write("the last words\n" * 1000)
    sys.stderr.flush()
    os._exit(3)


def _raise() -> None:
    raise RuntimeError("no kernel for this\nsecond line")


def _exhaust() -> None:
    bytearray(1 << 60)


KERNEL_NS = 50_000  # of a call, in its trace
BROKEN: list[str] = []  # why the device of this process is lost


def _lose() -> None:
    BROKEN.append("an illegal memory access was encountered")
    raise RuntimeError(BROKEN[0])


DEEDS: dict[str, Callable[[], Any]] = {
    "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": _segfault,
    "exit": _shout,
    "raise": _raise,
    "oom": _exhaust,
    "lose": _lose,
    "hang": lambda: time.sleep(600),
}


class Losable(Device):
    """A device that an illegal access ends."""

    def lost(self) -> str | None:
        return BROKEN[0] if BROKEN else None


class Gauged(Device):
    """A device whose clock can be read."""

    def time(self, call: Callable[[], Any], loops: int, lead: int = 0) -> Reading:
        return replace(super().time(call, loops, lead), gauges={"gpu_sm_clock": (1e9, "Hz")})


class FakeProgram:
    """A side is `name`; its parameter is `deed@call`: what it does, and on which of its calls, from 1.

    Of more rows than the parameter `fits` says it runs out of memory; with `gauge` its device reads one; `reference` is the deed
    done where there is to be one.
    """

    def __init__(self, workload: Workload, settings: Settings, enter: Enter = lambda phase: None) -> None:
        self.device = Gauged() if "gauge" in workload.parameters else Losable()
        self._deeds = workload.parameters
        if "load" in self._deeds:
            raise ModelFailed from ValueError(self._deeds["load"])
        if "reference" in self._deeds and not workload.no_reference:
            enter(REFERENCE)
            with contextlib.suppress(RuntimeError):
                self._do(self._deeds["reference"])
            if BROKEN:
                raise DeviceLost(BROKEN[0])
        self._backends = len(workload.backends)
        self._how = workload.no_reference or "equal"
        self._misfit = workload.batch_size > self._deeds.get("fits", workload.batch_size)

    def missing(self, backend: str) -> str | None:
        return "not installed. Install it with: pip install it" if self._deeds.get(backend) == "missing" else None

    def prepare(self, backend: str) -> Callable[[], Any]:
        deed, _, when = str(self._deeds.get(backend, "")).partition("@")
        calls = 0

        def call() -> str:
            nonlocal calls
            calls += 1
            if BROKEN:
                raise RuntimeError(f"nothing runs any more: {BROKEN[0]}")
            if self._misfit:
                raise MemoryError(f"no room for {backend}")
            if when and calls == int(when):
                self._do(deed)
            if deed == "crowd" and self._backends > 2:
                raise MemoryError("no room beside others")
            if deed == "graph" and calls == 2:
                time.sleep(0.03)  # it records
            time.sleep(0.0005)
            return "wrong" if deed == "wrong" or (deed == "graph" and calls < 3) else "right"

        return call

    def _do(self, deed: str) -> None:
        sys.stderr.write(f"about to {deed}\n")
        sys.stderr.flush()
        if "pid_file" in self._deeds:  # whoever waits for it may kill this process at once
            Path(self._deeds["pid_file"]).write_text(str(os.getpid()))
        DEEDS[deed]()

    def facts(self, backend: str) -> list[Fact]:
        return [] if backend == "eager" else [Fact("graph_breaks", 2, better="lower")]

    def keep(self, output: Any) -> Any:
        return output

    def trust(self, output: Any) -> Agreement:
        return Agreement("trust" not in self._deeds, self._how, None, self._deeds.get("trust"))

    def agree(self, expected: Any, actual: Any) -> Agreement:
        return Agreement(expected == actual, f"{actual} for {expected}", None)

    def trace(self, backend: str, call: Callable[[], Any], place: Path) -> list[Fact]:
        call()
        return [Fact("trace", 1, text=str(place)), Fact(KERNEL_TIME, KERNEL_NS, "ns")]

    def memory(self, backend: str, call: Callable[[], Any]) -> Measured:
        with self.device.peaks() as peaks:
            call()
        return lambda: (peaks, [])

    def first_calls(self, backend: str) -> int:
        return 3 if self._deeds.get(backend) == "graph" else 1

    def rewind(self) -> None: ...

    def minify(self, backend: str, place: Path) -> list[Fact]:
        return [Fact("minified", 1, text=str(place))]

    def release(self) -> None: ...

    def settle(self) -> None: ...

"""Stretches of a call in which Python handles no signal: the lines that a sample at their end may belong to.

Python handles a signal where a call into C returns, at a jump back, and where a function begins. `c = a + b` of two arrays does
none of these: a sample that falls due in it is taken at a later line. So the instructions of a few calls are timed one by one,
which tells how long each line takes before each place where a sample may be taken; the time sampled there is divided like that.
An instruction that takes no longer than timing it counts as short: of such, a line has time by their number.
"""

import dis
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any

from ..system.disturbance import OwnClock

Place = tuple[str, str, int]  # file, function and line
NOWHERE: Place = ("", "", 0)
MOST_S = 0.5  # of timed instructions
MOST_CALLS = 20
SHORT_NS = 20.0  # an instruction
LONG_NS = 10_000  # in which others may have had the processor
LOOP_NS = 100.0  # the loop around a call
ADAPTIVE = sys.version_info < (3, 12)  # later ones forget the variants of instructions that are traced
TYPICAL = 2000  # first instructions, whose median is what timing one takes
_HANDLING = ("CALL", "JUMP_BACKWARD", "RESUME")
_NOT_HANDLING = ("NO_INTERRUPT", "INTRINSIC", "LEN", "ISINSTANCE", "LIST_APPEND", "TYPE_1")  # variants of these


class Stretches:
    """The time of each line before each place where signals are handled, in a few calls."""

    def __init__(self, charged: Callable[[FrameType | None], FrameType | None]) -> None:
        """Prepare it. `charged` gives the frame of a stack, of which it gets the innermost, whose line its time is charged to."""
        self._charged = charged
        self._found: dict[Place, dict[Place, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))  # ns, times
        self._instructions: dict[CodeType, dict[int, tuple[Place, bool]]] = {}
        self._typical: list[int] = []
        self._calls = 0
        self._clock = OwnClock()

    def look(self, call: Callable[[], object], most_s: float = MOST_S) -> None:
        """Time the instructions of calls, for no longer than that."""
        self._end = time.perf_counter_ns() + int(most_s * 1e9)
        while self._calls < MOST_CALLS and time.perf_counter_ns() < self._end:
            self._pending: list[tuple[Place, int]] = []
            self._at, self._is_handling = NOWHERE, False
            self._waited = self._clock.waited()
            self._ended = self._last = time.perf_counter_ns()
            before = sys.gettrace()
            sys.settrace(self._begin)
            try:
                call()
            finally:
                sys.settrace(before)
            self._calls += 1
            self._flush(NOWHERE)

    def divided(self, spent: Mapping[Place, float]) -> dict[Place, float]:
        """Times by line, each divided among the lines of the stretches that end there."""
        timing = statistics.median(self._typical) if self._typical else 0.0
        found = defaultdict[Place, float](float)
        for place, spent_ns in spent.items():
            of = self._found.get(place, {})
            weights = {line: max(ns - times * timing, times * SHORT_NS) for line, (ns, times) in of.items()}
            if place == NOWHERE or not weights:
                weights[place] = LOOP_NS * max(self._calls, 1)
            whole = sum(weights.values())
            for line, weight in weights.items():
                found[line] += spent_ns * weight / whole
        return found

    def _begin(self, frame: FrameType, _: str, __: Any) -> Any:
        """A function begins, where signals are handled."""
        self._pass()
        charged = self._charged(frame)
        self._flush(place_of(charged))
        if time.perf_counter_ns() > self._end:
            sys.settrace(None)
            return None
        if charged is not frame:
            self._go_on()
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._at, self._is_handling = place_of(frame), False
        self._go_on()
        return self._step

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        """An instruction begins, or the last one ends."""
        if event in ("opcode", "return"):
            self._pass()
            if self._is_handling:
                self._flush(self._at)
            self._at, self._is_handling = self._known(frame.f_code)[frame.f_lasti]
            if time.perf_counter_ns() > self._end:
                sys.settrace(None)
            self._go_on()
        return self._step

    def _go_on(self) -> None:
        """The next instruction begins; that others had the processor before is no part of its time."""
        self._last = time.perf_counter_ns()
        if self._last - self._ended > LONG_NS:
            self._waited, self._last = self._clock.waited(), time.perf_counter_ns()

    def _pass(self) -> None:
        """Time passed in the instruction that began last."""
        self._ended = time.perf_counter_ns()
        took = self._ended - self._last
        if took > LONG_NS:
            waited = self._clock.waited()
            took, self._waited = max(took - (waited - self._waited), 0), waited
        if self._at != NOWHERE:
            self._pending.append((self._at, took))
            if len(self._typical) < TYPICAL:
                self._typical.append(took)

    def _flush(self, place: Place) -> None:
        """All that is pending is sampled at this place."""
        for line, took in self._pending:
            entry = self._found[place][line]
            entry[0] += took
            entry[1] += 1
        self._pending.clear()

    def _known(self, code: CodeType) -> dict[int, tuple[Place, bool]]:
        """The instructions of a function by their offset: where each is, and whether it handles signals."""
        found = self._instructions.get(code)
        if found is None:
            found, before, line = {}, "", code.co_firstlineno
            for each in dis.get_instructions(code, adaptive=ADAPTIVE):
                line = (each.positions and each.positions.lineno) or line
                name = each.opname
                variant = (
                    before + name if before.startswith("PRECALL") else name
                )  # PRECALL of 3.11 tells the kind of a call
                is_handling = name.startswith(_HANDLING) and not any(word in variant for word in _NOT_HANDLING)
                found[each.offset] = (code.co_filename, code.co_qualname, line), is_handling
                before = name
            self._instructions[code] = found
        return found


def place_of(frame: FrameType | None) -> Place:
    """The line at work in a frame."""
    return NOWHERE if frame is None else (frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno or 0)

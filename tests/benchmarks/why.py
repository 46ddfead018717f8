"""Whether `bench why` names a planted cause: ten small programs, measured with and without one; and sides that are the same.

The first row must be the planted line or operator in nine of ten, and "nothing differs" be said of 19 of 20 pairs of unchanged
sides. Each side is measured as its users would, in a folder of its own, while nothing but the planted line changes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.query.why.parts import NOTHING_DIFFERS

from .figures import BENCH, Figures

FUNCTION = ("measure", "function", "work:call", "--lines", "--processes", "3", "--budget", "3")
MODEL = ("measure", "models", "--suites", "path:work.py", "--quick")
OPERATORS = (*MODEL, "--backends", "eager", "--profile")
COMPILED = (*MODEL, "--backends", "inductor")


@dataclass(frozen=True, slots=True)
class Program:
    """A program, of whose source one place is the cause; `first` are names of which the first row must hold one."""

    cause: str
    base: str
    candidate: str
    first: Sequence[str]
    measure: Sequence[str] = FUNCTION
    asked: Sequence[str] = ("work:call",)


_CALLED = """
import copy, gc, sys, threading, time

ROWS = [(7 * n % 1009, str(n)) for n in range(4000)]
LOCK = threading.Lock()

def hold():
    while True:
        with LOCK:
            time.sleep(0.005)
        time.sleep(0.0005)

threading.Thread(target=hold, daemon=True).start()

def handle(row, seen):
    seen.add(row[0])
    {callback}

def total(rows):
    found = 0
    for number, text in rows:
        {loop}
    return found

def call():
    rows = sorted(ROWS)
    {here}
    seen = set()
    for row in rows[::40]:
        handle(row, seen)
    return total(rows) + len(seen)
"""
_PLACES = {"callback": "pass", "loop": "found += number * len(text)", "here": "pass"}


def _called(cause: str, place: str, planted: str) -> Program:
    """A function that does something else at one of its places."""
    base, candidate = (_at(_CALLED, _PLACES | more) for more in ({}, {place: planted}))
    return Program(cause, base, candidate, (planted.splitlines()[-1].strip(),))


def _at(source: str, places: Mapping[str, str]) -> str:
    for place, text in places.items():
        source = source.replace(f"{{{place}}}", text)
    return source


_NET = """
import torch

torch.set_num_threads(1)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.first, self.second = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)

    def forward(self, x):
        y = self.first(x)
        {here}
        return self.second(y)

    def get_example_inputs(self, batch_size=64):
        return (torch.randn(batch_size, 256),)
"""


def _net(cause: str, usual: str, planted: str, first: Sequence[str], metric: str = "") -> Program:
    base, candidate = (_at(_NET, {"here": text}) for text in (usual, planted))
    asked = ("Net", *(("--metric", metric) if metric else ()))
    return Program(cause, base, candidate, first, COMPILED if metric else OPERATORS, asked)


PROGRAMS = (
    _called("slower loop", "loop", "found += sum(number for _ in range(len(text)))"),
    _called("an extra copy", "here", "rows = copy.deepcopy(rows)"),
    _called("a lock", "here", "with LOCK: pass"),
    _called("a sleep in a callback", "callback", "time.sleep(0.0001)"),
    _called("import", "here", "sys.modules.pop('pydoc', None)\n    import pydoc"),
    _called("GC", "here", "gc.collect()"),
    _net("dtype", "y = torch.nn.functional.gelu(y)", "y = torch.nn.functional.gelu(y.double()).float()", ("gelu", "_to_copy", "copy_")),
    _net("layout", "y = y.relu()", "y = y.relu().t().contiguous().t().contiguous()", ("copy_", "clone")),
    _net("graph break", "y = y.relu()", "y = y.relu(); torch._dynamo.graph_break()", ("work.py:14",), "graph_breaks"),
    _net("recompilation", "y = y.relu()", "self.calls += 1; y = y.relu() + 0 * self.calls", ("work.py:14",), "recompiles"),
)  # fmt: skip


def measure(figures: Figures) -> None:
    """Each cause, then two pairs of unchanged sides of each program; `BENCH_KINDS` chooses causes by a part of their names."""
    named = [program for program in PROGRAMS if os.environ.get("BENCH_KINDS", "") in program.cause]
    found, same = 0, 0
    for program in named:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(program, Path(folder))
            for side in ("base", "candidate", "base again", "candidate again"):
                trial.record(side)
            found += trial.is_found()
            same += sum(trial.is_same(side) for side in ("base", "candidate"))
    figures.add("planted causes that are not the first row", len(named) - found, "count", most=len(named) // 10)
    figures.add("unchanged sides that differ", 2 * len(named) - same, "count", most=len(named) // 10)


@dataclass(frozen=True, slots=True)
class Trial:
    """A program in a folder of its own, with a store."""

    program: Program
    folder: Path

    def record(self, side: str) -> None:
        """Measure a side under its name."""
        (self.folder / "work.py").write_text(self.program.candidate if "candidate" in side else self.program.base)
        self._bench(*self.program.measure, "--config", side)

    def is_found(self) -> bool:
        """True if the planted line or operator comes first."""
        answer = self._why("base", "candidate")
        none = {"name": "", "file": None, "line": None}
        first = next((part for part in answer["parts"] if _is_shown(part)), none)  # as the table has it
        text = f"{first['name']} {first['file']}:{first['line']}"
        print(f"{self.program.cause}: {text}", file=sys.stderr)
        return any(name in text for name in self.program.first)

    def is_same(self, side: str) -> bool:
        """True if it is said that nothing differs where nothing does."""
        notes = self._why(side, f"{side} again")["notes"]
        if not (is_said := NOTHING_DIFFERS in notes):
            print(f"{self.program.cause}, {side}: {notes}", file=sys.stderr)
        return is_said

    def _why(self, base: str, candidate: str) -> dict[str, Any]:
        answers: list[dict[str, Any]] = json.loads(
            self._bench("why", base, candidate, *self.program.asked, "--format", "json")
        )
        return answers[0]

    def _bench(self, *words: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "BENCH_STORE"}
        done = subprocess.run([*BENCH, *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"bench {' '.join(words)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def _is_shown(part: dict[str, Any]) -> bool:
    """True if a part is beyond noise: others are one row of the table."""
    return part["low"] is None or part["low"] >= 0 or part["high"] <= 0

"""The process of one other rank: it reads a line of JSON for each thing to do."""

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ..engine.workload import Settings, Workload
from .program import TorchProgram
from .ranks import barrier


def main() -> None:
    """Follow rank 0, until it closes this process's stdin."""
    workload, settings = json.loads(sys.stdin.readline())
    program = TorchProgram(Workload(**workload), Settings(**settings))
    steps: list[Callable[[], Any]] = []
    for line in sys.stdin:
        what, *given = json.loads(line)
        try:  # what fails here fails in rank 0, too, which records it and goes on
            if what == "prepare":
                steps.append(lambda: None)
                steps[-1] = program.prepare(given[0])
            else:
                number, loops = given
                barrier()
                for _ in range(loops):
                    steps[number]()
        except Exception:
            traceback.print_exc()

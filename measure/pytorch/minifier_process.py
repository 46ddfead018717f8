"""The process whose first call torch's minifier watches.

It reads a workload (its one backend is the compiler) and settings as one line of JSON on stdin. The environment tells torch
to compare every graph with eager's, and to leave a script that minifies the first graph that differs.
"""

import json
import sys

from ..engine.workload import Settings, Workload
from .program import TorchProgram


def main() -> None:
    """Make the first call; torch writes its files to the folder in the environment."""
    workload, settings = json.loads(sys.stdin.readline())
    program = TorchProgram(Workload(**workload), Settings(**settings))
    program.prepare(workload["backends"][0])()

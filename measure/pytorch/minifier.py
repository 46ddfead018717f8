"""The minifier: find the smallest graph that a compiler computes wrongly, as a script, with torch's own minifier.

`minifier_process` makes the first call with torch configured to compare every graph with eager's and to write a script that
minifies the first graph that differs. That script is then run; its result, `repro.py`, needs only torch.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from ..engine.program import Fact
from ..engine.workload import Settings, Workload
from ..system.own_process import own_command

REPRO = "minifier_repro"
BUDGET_S = 300.0
ALL_RIGHT = "no graph is wrong by torch's minifier: the error is between graphs, or within its tolerance"
FAILS = {"TORCHDYNAMO_REPRO_AFTER": "dynamo", "TORCHDYNAMO_REPRO_LEVEL": "4"}  # 4: accuracy


def repro(workload: Workload, settings: Settings, backend: str, folder: Path, budget_s: float = BUDGET_S) -> Fact:
    """Look for the smallest graph that a backend computes wrongly. All files stay in the folder.

    Returns:
        The size of the script in bytes and its path; or no size and the reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    message = json.dumps([asdict(replace(workload, backends=(backend,))), asdict(settings)])
    environment = {**os.environ, **FAILS, "TORCH_COMPILE_DEBUG_DIR": str(folder)}
    until = time.monotonic() + budget_s
    late = f"the minifier took longer than {budget_s:g} s"
    try:
        ended = _run(own_command(f"{__package__}.minifier_process"), folder, until, message, environment)
        launcher = next(folder.rglob("minifier_launcher.py"), None)
        if launcher is None:
            return Fact(REPRO, None, text=f"the minifier ended with {ended}" if ended else ALL_RIGHT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _run([sys.executable, launcher.name], launcher.parent, until)
            late = "the minifier failed"
    except subprocess.TimeoutExpired:
        return Fact(REPRO, None, text=late)
    script = launcher.with_name("repro.py")  # rewritten whenever a smaller graph is found, so that the last stands
    if not script.exists():
        return Fact(REPRO, None, text=f"{late}. Go on with: python {launcher}")
    return Fact(REPRO, script.stat().st_size, "bytes", text=str(script))


def _run(
    words: list[str], folder: Path, until: float, message: str = "", environment: dict[str, str] | None = None
) -> int:
    return subprocess.run(
        words, cwd=folder, env=environment, input=message, text=True, timeout=max(until - time.monotonic(), 1.0),
        stdout=sys.stderr.fileno(), stderr=subprocess.STDOUT,
    ).returncode  # fmt: skip

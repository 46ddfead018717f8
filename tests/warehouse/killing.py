"""Commands that die by SIGKILL at a chosen change to the files of a folder.

Every change goes through a function of `os`, or `open`, which is wrapped here: a process may die before it and after it. A
process that dies is forked from one that has imported everything and done nothing (multiprocessing's fork server), so that
it takes a tenth of a second.
"""

import builtins
import io
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHANGES = (
    "rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "truncate", "ftruncate", "fsync", "fdatasync",
)  # fmt: skip
_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload([__name__, "bench.cli", "duckdb", "numpy", "pyarrow.parquet"])


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """How a process ended."""

    exitcode: int | None
    result: Any = None  # of what it called, as JSON has it
    points: tuple[tuple[int, str], ...] = ()  # where it might have died, with another state of the files at each
    seconds: float = 0.0  # that the call took
    output: str = ""  # what it wrote to stdout and stderr


def run(
    function: Callable[..., Any],
    *arguments: Any,
    folder: Path,
    kill_at: int | None = None,
    kill_after_s: float | None = None,
) -> ProcessEnded:
    """Call a function in a process of its own.

    Args:
        function: What to call, of a module.
        arguments: Its arguments.
        folder: The folder whose files count, and which the process works in.
        kill_at: Number of the point at which it dies; None lets it live.
        kill_after_s: When it dies, wherever it is then, if the call has not ended before; None lets it live.
    """
    report, output = folder.with_suffix(".json"), folder.with_suffix(".txt")
    report.unlink(missing_ok=True)
    process = _forked.Process(target=_run, args=(folder, report, output, function, arguments, kill_at, kill_after_s))
    process.start()
    process.join()
    told = json.loads(report.read_text()) if report.exists() else {}
    return ProcessEnded(process.exitcode, **told, output=output.read_text())


def command(*words: str) -> int:
    """Run `bench` in this process; returns its exit code."""
    from bench.cli import main

    sys.argv = ["bench", *words]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    raise AssertionError("it ends by sys.exit")


def _run(
    folder: Path,
    report: Path,
    output: Path,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    kill_at: int | None,
    kill_after_s: float | None,
) -> None:
    from bench.warehouse import snapshot
    from bench.warehouse.remote import inventory

    os.chdir(folder)
    inventory.AT_ONCE = 1  # changes come in the same order each time
    written = output.open("w")
    for descriptor in (1, 2):
        os.dup2(written.fileno(), descriptor)
    snapshot.empty()  # whether it is in the cache, or is put there now, is no change to the folder
    points = _Points(folder, kill_at)
    points.install()
    if kill_after_s is not None:
        signal.setitimer(signal.ITIMER_REAL, kill_after_s)  # nobody handles its signal, so that it ends the process
    began = time.monotonic()
    result = function(*arguments)
    seconds = time.monotonic() - began
    points.remove()
    report.write_text(json.dumps({"result": result, "points": points.distinct, "seconds": seconds}))


class _Points:
    """The points at which a process may die: before and after each change to a file of the folder."""

    def __init__(self, folder: Path, kill_at: int | None) -> None:
        self.folder, self.kill_at = f"{folder}{os.sep}", kill_at
        self.distinct: list[tuple[int, str]] = []
        self._passed = 0
        self._state: set[tuple[str, int, int]] = set()
        self._originals: list[tuple[Any, str, Callable[..., Any]]] = []

    def install(self) -> None:
        """Wrap what changes files."""
        for name in CHANGES:
            self._wrap(os, name, lambda *_: True)
        self._wrap(os, "open", lambda _, flags, *__: flags & (os.O_CREAT | os.O_TRUNC))
        for module in (builtins, io):
            self._wrap(module, "open", lambda _, mode="r", *__: set(mode) & set("wxa+"))

    def remove(self) -> None:
        """Undo it."""
        for module, name, original in self._originals:
            setattr(module, name, original)

    def _wrap(self, module: Any, name: str, changes: Callable[..., Any]) -> None:
        original = getattr(module, name)

        def wrapped(path: Any, *arguments: Any, **options: Any) -> Any:
            given = (path, options["mode"]) if "mode" in options and name == "open" else (path, *arguments)
            where = self._path(path, options.get("dir_fd"))
            if not where.startswith(self.folder) or not changes(*given):
                return original(path, *arguments, **options)
            self._pass(f"before {name} {where.removeprefix(self.folder)}")
            result = original(path, *arguments, **options)
            self._pass(f"after {name} {where.removeprefix(self.folder)}")
            return result

        self._originals.append((module, name, original))
        setattr(module, name, wrapped)

    def _path(self, path: Any, folder: int | None) -> str:
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        within = os.getcwd() if folder is None else os.readlink(f"/proc/self/fd/{folder}")
        return os.path.join(within, os.fsdecode(path))

    def _pass(self, point: str) -> None:
        if self._passed == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kill_at is None:
            there = [
                Path(folder, name) for folder, folders, names in os.walk(self.folder) for name in (*folders, *names)
            ]
            state = {(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in there if path.exists()}
            if state != self._state:
                self._state = state
                self.distinct.append((self._passed, point))
        self._passed += 1

"""The process whose lines are traced, with JOB and REPORTS as its arguments.

It imports as little of bench as possible and is two processes: the first forks the second and ends as that ends. getrusage
never forgets the memory that a program had before it called exec, including its parent's; a forked child starts from its
own. The second runs the program as Python itself would, as `__main__`, with its own arguments, stdin and sys.path entry, and
reports its process id and how the program ended on the pipe REPORTS. Both die with their parent.
"""

from . import fork_hooks as fork_hooks  # before threading, see there

# isort: split

import contextlib
import ctypes
import importlib
import json
import os
import resource
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ..functions.awaiting import finished
from ..functions.targets import resolved
from ..system.host_memory import release_free_memory
from .trace import LineTrace, Scope

PR_SET_PDEATHSIG = 1  # prctl(2)


@dataclass(frozen=True, slots=True)
class TraceJob:
    """The program to run and where to count; `kind` is script, module, callable or prepared.

    A prepared program is a function of bench, called with the arguments before anything is counted: it returns what to run,
    and the modules to follow where none were chosen.
    """

    folder: str
    kind: str
    target: str
    arguments: tuple[str, ...]
    scope: Scope

    def text(self) -> str:
        """The request as a command-line argument."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "TraceJob":
        """The job of such an argument."""
        fields = json.loads(text)
        scope = Scope.of(fields.pop("scope"))
        return cls(**{**fields, "arguments": tuple(fields["arguments"]), "scope": scope})


def main() -> None:
    """Fork, wait for the child, and exit with its status."""
    job, reports = TraceJob.read(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(reports, False)
    _die_with_parent()
    child = os.fork()
    if child == 0:
        _die_with_parent()
        sys.exit(_child(job, reports))  # as any Python ends: what the program registered with atexit runs
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the child, and goes to both
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, signal.SIGINT))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child has left one
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _child(job: TraceJob, reports: int) -> int:
    """Run the program; its exit code."""
    me = os.getpid()

    def report(**what: Any) -> None:
        if os.getpid() == me:  # and no child that the program forked
            os.write(reports, json.dumps(what).encode() + b"\n")

    report(pid=me)
    trace, error, code = None, None, 0
    try:
        program, scope = _program(job)
        release_free_memory()
        trace = LineTrace(Path(job.folder), scope)
        trace.start()
        program()
        _wait_for_threads()
    except SystemExit as stop:
        code = _exit_code(stop)
    except BaseException as raised:
        error, code = raised, 1
    if os.getpid() == me:
        kept = trace is None or trace.finish()
        report(code=code, kept=kept, **(_failure(error) if error else {}))
    return code


def _program(job: TraceJob) -> tuple[Callable[[], Any], Scope]:
    """Prepare the program: the call that runs it, and the code to follow."""
    if job.kind == "prepared":
        from ..engine.messages import resolve

        sys.path[0] = os.getcwd()
        call, modules = resolve(job.target)(*job.arguments)
        return call, replace(job.scope, modules=job.scope.modules or modules)
    return _named(job), job.scope


def _named(job: TraceJob) -> Callable[[], Any]:
    """The call that runs a script, a module or a callable."""
    sys.argv = [job.target, *job.arguments]
    if job.kind == "script":
        path = os.path.abspath(job.target)
        sys.path[0] = os.path.dirname(path)
        module = ModuleType("__main__")
        module.__dict__.update(__file__=path, __builtins__=__builtins__)
        sys.modules["__main__"] = module
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        return lambda: exec(code, module.__dict__)
    sys.path[0] = os.getcwd()
    if job.kind == "module":
        return lambda: runpy.run_module(job.target, run_name="__main__", alter_sys=True)
    return lambda: _call(job.target)


def _call(target: str) -> None:
    """Import `module:callable` and call it, to its end."""
    finished(resolved(target)(), keep=False)


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _exit_code(error: SystemExit) -> int:
    """The exit code of a SystemExit, as in Python: None is 0; anything but a number is printed and means 1."""
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _failure(error: BaseException) -> dict[str, Any]:
    """The outcome of an exception, with a traceback that begins in the program."""
    from ...warehouse.errors import text_of
    from ..engine.messages import TAIL_BYTES, clean, reason_of, status_of

    own = os.path.dirname(os.path.dirname(__file__))  # the await helpers are in this folder, `measure`
    before = own, os.path.dirname(importlib.__file__), "<frozen "
    frame = error.__traceback__
    while frame and frame.tb_frame.f_code.co_filename.startswith(before):
        frame = frame.tb_next
    lines = traceback.format_exception(type(error), error, frame) if frame else traceback.format_exception_only(error)
    text = "".join(lines)  # where nothing of the program ran, such as a module that is not there, no frame says more
    sys.stderr.write(text)
    return {
        "status": "interrupted" if isinstance(error, KeyboardInterrupt) else status_of(error),
        "reason": reason_of(error),
        "exception": type(error).__qualname__,
        "message": clean(text_of(error)[:TAIL_BYTES]),
        "stderr_tail": clean(text[-TAIL_BYTES:]),
    }

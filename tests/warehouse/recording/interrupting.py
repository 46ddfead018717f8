"""What runs between any two instructions of the recorder: a signal handler, or another thread."""

import dis
import functools
import itertools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from bench.warehouse import journal, recorder

CHECKED = (
    "CALL",
    "RESUME",
    "JUMP_BACKWARD",
    "BEFORE_WITH",
)  # instructions after which the interpreter runs signal handlers


@functools.cache
def places(code: CodeType) -> frozenset[int]:
    """The instructions of a function before which a signal handler may run."""
    pairs = itertools.pairwise(dis.get_instructions(code))
    return frozenset(after.offset for before, after in pairs if before.opname.startswith(CHECKED))


def interrupted_at(number: int, call: Callable[[], Any], handler: Callable[[], None]) -> bool:
    """Call a function, and a handler at one of the places of the journal and the recorder; False if it ends before.

    What the handler raises ends the function.
    """
    left, files = number, (journal.__file__, recorder.__file__)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in places(frame.f_code):
            left -= 1
            if left == -1:
                sys.settrace(None)
                handler()
                return None
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return left < 0

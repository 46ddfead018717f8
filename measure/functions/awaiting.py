"""What a call gave, brought to its end: what can be awaited is, and a generator is run through, for to make it is no work.

Of bench nothing is imported here: the pytest plugin and a traced program hold as little of it as they can.
"""

import inspect
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any


def ending(result: Any) -> str:
    """What Python calls that: await, for or async for; nothing where a call has ended as it returns."""
    if inspect.isawaitable(result):
        return "await"
    if isinstance(result, AsyncGenerator):
        return "async for"
    return "for" if isinstance(result, Generator) else ""


def finished(result: Any, *, keep: bool, run: Callable[[Coroutine[Any, Any, Any]], Any] | None = None) -> Any:
    """Finish what a call gave.

    Args:
        result: What it gave.
        keep: Whether to keep what a generator yields.
        run: Runs a coroutine; an event loop of its own unless given.

    Returns:
        What awaiting it gave, the list of what it yielded (None if that is not kept), or else the result itself.
    """
    how = ending(result)
    if not how:
        return result
    if how != "for":
        import asyncio

        return (run or asyncio.run)(_awaited(result, how, keep))
    values = deque(result, None if keep else 0)
    return list(values) if keep else None


async def _awaited(result: Any, how: str, keep: bool) -> Any:
    if how == "await":
        return await result
    values: deque[Any] = deque(maxlen=None if keep else 0)
    async for value in result:
        values.append(value)
    return list(values) if keep else None

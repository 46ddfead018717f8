"""Run the result of a call to its end: await an awaitable and exhaust a generator, because creating one does no work yet.

This module imports nothing of bench, because the pytest plugin and traced programs load it.
"""

import inspect
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any


def ending(result: Any) -> str:
    """The statement that runs it to its end: await, for or async for; an empty text if the call has ended already."""
    if inspect.isawaitable(result):
        return "await"
    if isinstance(result, AsyncGenerator):
        return "async for"
    return "for" if isinstance(result, Generator) else ""


def finished(result: Any, *, keep: bool, run: Callable[[Coroutine[Any, Any, Any]], Any] | None = None) -> Any:
    """Run the result of a call to its end.

    Args:
        result: What the call returned.
        keep: Whether to keep what a generator yields.
        run: Runs a coroutine; an event loop of its own unless given.

    Returns:
        The awaited value, the list of yielded values (None if they are not kept), or else the result itself.
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

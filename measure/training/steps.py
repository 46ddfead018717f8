"""Steps of a training loop, recorded from inside the user's own script.

    for batch in bench.steps(loader, tokens=8192):
        train(batch)

Nothing else of the script changes. Where there is no loader to iterate over, `bench.step()` in the loop marks where one step ends
and the next begins.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ...warehouse.errors import BenchError
from .recording import StepFacts, recorder_of

Batch = TypeVar("Batch")


class TrainingSteps(Generic[Batch]):
    """Batches, each of which is a step of the loop over them. It has what the loader has, such as a length."""

    def __init__(self, batches: Iterable[Batch], given: StepFacts, tokens: int | Callable[[Batch], int] | None) -> None:
        self._batches, self._given, self._tokens = batches, given, tokens

    def __iter__(self) -> Iterator[Batch]:
        """Begin an epoch."""
        given = self._given
        recorder = recorder_of(given.name, given.flops, given.peak_flops)
        source = iter(self._batches)
        while True:
            recorder.begin()
            try:
                batch = recorder.wait_for(source)
            except StopIteration:
                recorder.drop()
                return
            tokens = self._tokens(batch) if callable(self._tokens) else self._tokens
            recorder.is_looping = True
            try:
                yield batch
            except GeneratorExit:  # the loop was left, by `break` or by an exception: nobody says which
                recorder.leave(tokens, sys._getframe().f_back)
                raise
            finally:
                recorder.is_looping = False
            recorder.end(tokens)

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_batches":  # of a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._batches, name)


def steps(
    batches: Iterable[Batch],
    *,
    tokens: int | Callable[[Batch], int] | None = None,
    name: str | None = None,
    flops: float | None = None,
    peak_flops: float | None = None,
) -> TrainingSteps[Batch]:
    """Record each step of the loop over these batches: its time by phase, tokens, FLOPs and memory.

    Steps belong to the run that is open in this process, else to a new one. Ranks of torchrun share a run.

    Args:
        batches: A DataLoader or anything to iterate over, for one epoch or many. Waiting for it is phase `data`.
        tokens: Tokens of a batch, or what counts them.
        name: Name of the case; that of the script if left out.
        flops: Floating-point operations of a step; if left out, those of the second step are counted, in which what is
            compiled runs uncompiled. 0: they are not counted.
        peak_flops: The most operations that the device can do in a second; that of its data sheet if left out.

    Raises:
        BenchError: A number is not positive, or the store cannot be written.
    """
    return TrainingSteps(batches, StepFacts(name, flops, peak_flops), tokens if callable(tokens) else _count(tokens))


def step(
    *,
    tokens: int | None = None,
    name: str | None = None,
    flops: float | None = None,
    peak_flops: float | None = None,
) -> None:
    """Mark that a step of a training loop ends here, if one began, and that the next begins.

    Call it once in each turn of a loop, or from a trainer's hook. At the beginning of the turn it sees the first step, too. What
    else runs between two marks, such as an evaluation, is part of the step: `bench.steps` leaves out what is outside of the loop.

    Args:
        tokens: Tokens of the step that ends.
        name: As of `bench.steps`, and so are the others.
        flops: Floating-point operations of a step.
        peak_flops: The most operations that the device can do in a second.

    Raises:
        BenchError: A number is not positive, it is called in a loop over `bench.steps` of the same name, or the store
            cannot be written.
    """
    recorder = recorder_of(name, flops, peak_flops)
    if recorder.is_looping:
        raise BenchError(
            "bench.step() in a loop over bench.steps(): each turn of that loop is a step already. Leave one out."
        )
    recorder.turn(tokens if tokens is None else _count(tokens))


def _count(tokens: int | None) -> int | None:
    if tokens is not None and not tokens > 0:
        raise BenchError(f"tokens={tokens!r} is not a number of tokens. Write how many a step has, or leave it out.")
    return tokens

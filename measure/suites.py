"""Suites: named sets of models. Listing one imports no torch; a model's class is imported where it runs.

Another package offers a suite as an entry point of group `bench.suites`: a function without arguments that returns
`{name: Model(...)}`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from ..warehouse.errors import UnknownName

GROUP = "bench.suites"


@dataclass(frozen=True, slots=True)
class Model:
    """Where a model is, and the sizes to run it at when none are asked for.

    `target` is `module:Class`, a torch.nn.Module made without arguments, whose static method
    `get_example_inputs(batch_size, sequence_length)` returns the tuple of tensors to call it with.
    `sequence_length` is None for a model that has no such axis. `skips` says where not to run it, and why: condition ->
    reason, a condition being words that must all hold of the case, of mode, kind of device, dtype and backend, as in
    "training", "cuda" or "cpu training".
    """

    target: str
    batch_size: int
    sequence_length: int | None = None
    skips: Mapping[str, str] = field(default_factory=dict)

    def skipped(self, *axes: str) -> str | None:
        """Why a case of these axes is not to be run; None if it is."""
        return next((reason for condition, reason in self.skips.items() if set(condition.split()) <= set(axes)), None)


def builtin() -> dict[str, Model]:
    """Small models that need torch and nothing else."""
    models = f"{__package__}.models"
    return {
        "mlp": Model(f"{models}:MLP", batch_size=32),
        "cnn": Model(f"{models}:CNN", batch_size=8),
        "lstm": Model(f"{models}:LSTM", batch_size=8, sequence_length=32),
        "transformer": Model(f"{models}:TransformerBlock", batch_size=4, sequence_length=64),
        "attention": Model(f"{models}:Attention", batch_size=4, sequence_length=128),
    }


def known() -> dict[str, Callable[[], Mapping[str, Model]]]:
    """Suites by name: our own, and those of installed packages."""
    installed = {point.name: point.load for point in entry_points(group=GROUP)}
    return {**{name: _call(load) for name, load in installed.items()}, "builtin": builtin}


def _call(load: Callable[[], Callable[[], Mapping[str, Model]]]) -> Callable[[], Mapping[str, Model]]:
    return lambda: load()()


def models_of(suite: str, names: tuple[str, ...] = ()) -> dict[str, Model]:
    """The models of a suite, all or those named.

    Raises:
        UnknownName: There is no such suite, or no such model in it.
    """
    suites = known()
    if suite not in suites:
        raise UnknownName("suite", suite, suites)
    models = suites[suite]()
    for name in names:
        if name not in models:
            raise UnknownName("model", name, models, where=f"suite {suite!r}", cure=f"It has: {', '.join(models)}.")
    return {name: models[name] for name in names or models}

"""Suites: named sets of models. Listing one imports no torch; a model's class is imported where it runs.

Another package offers a suite as an entry point of group `bench.suites`: a function without arguments that returns
`{name: Model(...)}`. A file is a suite, too: `path:/models.py` are the classes in it that have example inputs, and
`path:/models.py,class:Name` is one of them.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from ...warehouse.errors import UnknownName
from .model import Model

GROUP = "bench.suites"


Suite = Callable[[], Mapping[str, Model]]


def builtin() -> dict[str, Model]:
    """Small models that need torch and nothing else."""
    models = f"{__package__}.builtin_models"
    return {
        "mlp": Model(f"{models}:MLP", batch_size=32),
        "cnn": Model(f"{models}:CNN", batch_size=8),
        "lstm": Model(f"{models}:LSTM", batch_size=8, sequence_length=32),
        "transformer": Model(f"{models}:TransformerBlock", batch_size=4, sequence_length=64),
        "attention": Model(f"{models}:Attention", batch_size=4, sequence_length=128),
    }


def known() -> dict[str, Suite]:
    """Suites by name: our own, and those of installed packages."""
    from . import huggingface, timm, torchbench, torchvision

    own: dict[str, Suite] = {
        "builtin": builtin,
        "huggingface": huggingface.full,
        "huggingface-small": huggingface.small,
        "timm": timm.models,
        "torchbench": torchbench.models,
        "torchvision": torchvision.models,
    }
    installed = {point.name: point.load for point in entry_points(group=GROUP)}
    return {**{name: _call(load) for name, load in installed.items()}, **own}


def _call(load: Callable[[], Suite]) -> Suite:
    return lambda: load()()


def models_of(suite: str) -> Mapping[str, Model]:
    """The models of a suite, by name.

    Raises:
        UnknownName: There is no such suite.
        BenchError: It is a file that cannot be read, or without models.
    """
    if suite.startswith("path:"):
        from .file import models_in

        return models_in(suite)
    suites = known()
    if suite not in suites:
        raise UnknownName("suite", suite, suites, cure="A file of your own is one, too: path:/models.py,class:Name.")
    return suites[suite]()


def label(suite: str) -> str:
    """The name of a suite in its cases: for a file its name without the folder, the same on every machine."""
    if not suite.startswith("path:"):
        return suite
    from .file import parts

    return parts(suite)[0].name

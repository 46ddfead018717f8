"""A file as a suite: its classes that say what to call them with. The file is read, not run, until a worker runs it.

A JSON file is a configuration of transformers, see `configuration`.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

from ...warehouse.errors import BenchError, UnknownName
from . import configuration
from .model import Model

INPUTS = "get_example_inputs"
USUAL = {"batch_size": 1, "sequence_length": 128}  # where the signature has no default


def parts(suite: str) -> tuple[Path, str | None]:
    """The file, and the class if one is named, of `path:FILE` or `path:FILE,class:NAME`."""
    text, _, name = suite.removeprefix("path:").partition(",class:")
    path = Path(text).expanduser()
    folder = path.parent.resolve()  # one name for it, since revisions look where that is
    return folder / path.name, name or None


def models_in(suite: str) -> dict[str, Model]:
    """The models of a file, by class.

    A model has a batch size or a sequence length if its `get_example_inputs`, its own or that of a base in the file, takes
    one; the default there is the model's own, else 1 and 128.

    Raises:
        UnknownName: The file has no class of that name.
        BenchError: The file cannot be read or is no Python, or none of its classes has example inputs.
    """
    path, name = parts(suite)
    if path.suffix == configuration.SUFFIX:
        return configuration.models_in(path)
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}. A suite of your own is path:/models.py.") from None
    except (SyntaxError, ValueError) as error:
        raise BenchError(f"{path} is not valid Python: {error}") from None
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if name is not None and name not in classes:
        raise UnknownName("class", name, classes, where=str(path))
    methods = {named: _inputs(node, classes) for named, node in classes.items()}
    found = {named: _model(path, named, method) for named, method in methods.items() if named == name or method}
    if not found:
        raise BenchError(
            f"{path} has no model: a class with a method {INPUTS}(batch_size, sequence_length), which returns what to "
            "call it with."
        )
    return found if name is None else {name: found[name]}


def _model(path: Path, name: str, method: ast.FunctionDef | None) -> Model:
    """The model, with the sizes of its method; one inherited from another file has none that could be known here."""
    sizes = _defaults(method) if method else {}
    return Model(f"{path}:{name}", sizes.get("batch_size"), sizes.get("sequence_length"))


def _inputs(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], seen: frozenset[str] = frozenset()
) -> ast.FunctionDef | None:
    """The method of a class, its own or that of a base in the same file."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == INPUTS:
            return item
    bases = (
        base.id for base in node.bases if isinstance(base, ast.Name) and base.id in classes and base.id not in seen
    )
    return next((method for base in bases if (method := _inputs(classes[base], classes, seen | {node.name}))), None)


def _defaults(method: ast.FunctionDef) -> dict[str, int]:
    """The sizes a method takes, each with its default."""
    arguments = method.args.posonlyargs + method.args.args
    pairs = list(zip(reversed(arguments), reversed(method.args.defaults), strict=False))
    pairs += list(zip(method.args.kwonlyargs, (x or ast.Constant(None) for x in method.args.kw_defaults), strict=True))
    given = {argument.arg: value.value for argument, value in pairs if isinstance(value, ast.Constant)}
    taken = {argument.arg for argument in arguments + method.args.kwonlyargs}
    sizes = {name: given.get(name) for name in USUAL if name in taken}
    return {name: size if isinstance(size, int) else USUAL[name] for name, size in sizes.items()}

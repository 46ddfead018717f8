"""The code of a model in a file of one's own, as a digest: the file and all that it imports from its folder."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

DIGEST = "source_digest"  # metric of a case, with the digest as its text


def source_digest(target: str) -> str | None:
    """16 hexadecimal digits of the SHA-256 of the files that `/folder/file.py:Class` is made of; None of a package's model.

    Files count by their name within the folder, so that another machine's copy has the same digest. Imports are read and not
    run: a module that code names while it runs is not among them.
    """
    if not target.startswith("/"):
        return None
    file = Path(target.rpartition(":")[0])
    found = hashlib.sha256()
    for path in sorted(_files(file, file.parent, set())):
        found.update(f"{path.relative_to(file.parent)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def _files(file: Path, folder: Path, seen: set[Path]) -> set[Path]:
    """A file and the files in a folder that it imports, directly or not, without those that are there already."""
    if file in seen or not file.is_file():
        return seen
    seen.add(file)
    try:
        tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):  # whoever imports it will say so
        return seen
    for parts in _imports(tree, file.parent.relative_to(folder).parts):
        for end in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:end])
            _files(place.with_name(f"{place.name}.py"), folder, seen)
            _files(place / "__init__.py", folder, seen)
    return seen


def _imports(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that a file imports, each by its parts; what it takes from a module may be a module, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= len(package) + 1:
            start = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*start, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)

"""Batch sizes by model, from a file of lines `NAME,SIZE` or `NAME SIZE`, as PyTorch's benchmarks keep them.

A line that begins with # is a comment; a size of -1 is none, which that benchmark writes where it found none.
"""

import re

from ...warehouse.errors import BenchError

_LINE = re.compile(r"(\S+?)(?:\s*[,:=]\s*|\s+)(-1|[1-9][0-9]{0,8})")


def read(path: str) -> dict[str, int]:
    """The sizes by model.

    Raises:
        BenchError: The file cannot be read, a line is no name with a size, or a model has two sizes.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not text'}.") from error
    found: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise BenchError(
                f"{path}, line {number}: {line[:60]!r} is not a model with a batch size. Write it as: resnet50,32"
            )
        name, size = match[1], int(match[2])
        if found.setdefault(name, size) != size:
            raise BenchError(f"{path}, line {number}: {name} has two batch sizes, {found[name]} and {size}.")
    sizes = {name: size for name, size in found.items() if size > 0}
    if not sizes:
        raise BenchError(f"{path} has no batch size. Write a line for each model: resnet50,32")
    return sizes

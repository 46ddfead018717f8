"""How soon bench is there."""

import sys

from .figures import BENCH, Figures, python, weigh

ROUNDS = 7


def measure(figures: Figures) -> None:
    """`bench --help` beside an import of click, and a question to a warehouse beside an import of duckdb."""
    click = min(python("import click").seconds for _ in range(ROUNDS))
    helped = min(weigh([*BENCH, "--help"]).seconds for _ in range(ROUNDS))
    figures.add("bench --help", helped * 1000, "ms", reference=click * 1000, against="python -c 'import click'")
    bare = min(weigh([sys.executable, "-c", "import bench"]).seconds for _ in range(ROUNDS))
    nothing = min(python("pass").seconds for _ in range(ROUNDS))
    figures.add("import bench", bare * 1000, "ms", reference=nothing * 1000, against="python -c pass")

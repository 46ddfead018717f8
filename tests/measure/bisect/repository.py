"""A repository of 64 commits for `bench bisect`: 5 that do not build, and one that makes a function slower by a given share.

The function is written in Python, or in C and built by `make`-less `cc`, which is what `--prepare` runs.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

COMMITS = 64
BROKEN = (9, 23, 24, 40, 57)  # commits that do not build
STEPS = 20_000  # of the loop, before the change

PYTHON = '''"""The work."""


def work():
    total = 0
    for i in range({steps}):
        total += i & 3
    return total
'''
EXTENSION = """
long work(void) {{
    volatile long total = 0;
    for (long i = 0; i < {steps}; i++) total += i & 3;
    return total;
}}
"""
BINDING = '''"""The work, in C."""

import ctypes
import pathlib

work = ctypes.CDLL(str(pathlib.Path(__file__).with_name("native.so"))).work
'''


@dataclass(frozen=True)
class Planted:
    """The repository: its folder, and the commits in order, the good one first."""

    folder: Path
    commits: list[str]
    prepare: str


def git(folder: Path, *words: str) -> str:
    """What git answers."""
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def plant(folder: Path, *, culprit: int, slower: float = 0.08, in_c: bool = False, commits: int = COMMITS) -> Planted:
    """Make the repository.

    Args:
        folder: Where; it is created.
        culprit: Number of the commit that makes it slower, from 1.
        slower: By what share.
        in_c: Whether the work is done in C.
        commits: How many, without the good one.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    steps = STEPS * (20 if in_c else 1)
    for number in range(commits + 1):
        amount = round(steps * (1 + slower)) if number >= culprit else steps
        (folder / ".gitignore").write_text("*.so\n__pycache__\n")
        if in_c:
            (folder / "native.c").write_text(
                EXTENSION.format(steps=amount) + ("#error broken\n" if number in BROKEN else "")
            )
            (folder / "work.py").write_text(BINDING)
        else:
            (folder / "work.py").write_text(
                PYTHON.format(steps=amount) + ("def broken(:\n" if number in BROKEN else "")
            )
        (folder / "notes.txt").write_text(f"commit {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {number}")
    listed = git(folder, "rev-list", "--reverse", "HEAD").split()
    prepare = "cc -O1 -shared -fPIC -o native.so native.c" if in_c else "python3 -m py_compile work.py"
    return Planted(folder, listed, prepare)

"""Versions of packages to be measured, each installed into a folder of its own in front of what this environment has.

uv installs them where it is found, else pip, for this Python. The folders lie in the user's cache, so that the next measurement
finds them; of a file or folder here they are installed anew, since its content may have changed.
"""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...warehouse import environment
from ...warehouse.errors import BenchError
from ...warehouse.files import cache_folder
from ..engine.messages import TAIL_BYTES, clean
from ..engine.workload import Workload

DAYS = 30  # that a folder is kept after it was used last


@dataclass(frozen=True, slots=True)
class InstalledPackages:
    """A folder with packages of certain versions."""

    folder: Path

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Have processes that start meanwhile, and the record of this environment, find these packages first."""
        first = {"PYTHONPATH": str(self.folder), "PATH": str(self.folder / "bin")}
        before = {name: os.environ.get(name) for name in first}
        os.environ |= {name: os.pathsep.join(filter(None, (path, before[name]))) for name, path in first.items()}
        environment.capture.cache_clear()
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            environment.capture.cache_clear()

    def here(self, workload: Workload) -> Workload:
        """The same workload: the user's code is that of the present folder."""
        return workload


@contextlib.contextmanager
def installed(requirements: Sequence[str], notify: Callable[[str], None]) -> Iterator[dict[str, InstalledPackages]]:
    """Packages by the words that ask for them, as `pip install` takes them, for a `with` block.

    Raises:
        BenchError: They cannot be installed.
    """
    for old in cache_folder("packages").glob("*"):
        if old.stat().st_mtime < time.time() - DAYS * 86_400:
            shutil.rmtree(old, ignore_errors=True)
    found = {each: _installed(each, notify) for each in requirements}
    names = [word.partition("=")[0].partition("<")[0] for each in requirements for word in shlex.split(each)]
    environment.declare(name for name in names if not os.path.exists(name))
    yield {each: InstalledPackages(folder) for each, folder in found.items()}


def _installed(requirement: str, notify: Callable[[str], None]) -> Path:
    words = shlex.split(requirement)
    if not words or any(word.startswith("-") for word in words):
        raise BenchError(
            f"{requirement!r} asks for no package. Write it as --with torch==2.12, several as --with 'a==1 b==2'."
        )
    facts = [sys.implementation.cache_tag, *map(os.path.abspath, filter(os.path.exists, words)), *words]
    folder = cache_folder("packages") / hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()[:16]
    if folder.exists() and not any(map(os.path.exists, words)):
        os.utime(folder)
        return folder
    notify(f"installing {requirement}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        done = subprocess.run(
            [*_installer(), "--target", f"{temporary}/new", *words], capture_output=True, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            lines = clean(done.stderr[-TAIL_BYTES:].decode("utf-8", "replace")).strip().splitlines()
            raise BenchError(
                f"{requirement} cannot be installed: {lines[-1] if lines else f'exit code {done.returncode}'}"
            )
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(f"{temporary}/new", folder)  # whole or not at all
    return folder


def _installer() -> list[str]:
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]

"""A folder of a site, changed so that whoever opens it meanwhile, or after an interruption, finds a whole site.

Names of data are made of their content and are never written twice. What is new is written first, the page that names it
last, by renaming; what neither the new page nor the one before names is removed after that.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError
from ...warehouse.files import cannot_write, read_json
from .payload import DATA_FOLDER

MANIFEST = "site.json"
FRONT_PAGE = "index.html"
KIND = "bench site"
_WRITTEN = re.compile(r"\.?[a-z]+-[0-9a-f]{12}\.(js|css|svg)(\.tmp)?")


@dataclass(slots=True)
class SiteFolder:
    """The files of a site: those that are there, and those it shall have."""

    root: Path
    before: dict[str, Any] = field(default_factory=dict)  # manifest of the site that is there
    files: dict[str, int] = field(default_factory=dict)  # name -> size, of the new site
    kept: dict[str, Any] = field(default_factory=dict)  # what the next publishing need not compute again
    written_bytes: int = 0
    manifest_bytes: int = 0
    _ends: dict[str, bytes] = field(
        default_factory=dict
    )  # files that have one name for ever, written when all others are there

    @classmethod
    def open(cls, root: Path) -> "SiteFolder":
        """The folder, made if it is not there.

        Raises:
            BenchError: It holds files that are no site, or cannot be written.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            there = [entry.name for entry in os.scandir(root) if not entry.name.startswith(".")]
        except OSError as error:
            raise cannot_write(root, error, choose="another folder") from error
        if not there:
            return cls(root)
        try:
            manifest = read_json(root / MANIFEST)
        except (OSError, ValueError):
            manifest = None
        if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
            raise BenchError(
                f"{root} holds files that bench publish did not write. Name an empty folder, or a new one."
            )
        seal = manifest.pop("seal", None)
        return cls(root, manifest if seal == _seal(manifest) else {})  # what somebody changed may hold anything

    def reused(self, kind: str, key: str) -> Any:
        """The files kept under a key when the site was published last; None unless all of them are there."""
        found = self.before.get("kept", {}).get(kind, {}).get(key)
        names = list(_names(found))
        if found is None or not all(self._is_there(name) for name in names):
            return None
        for name in names:
            self.files[name] = self.before["files"][name]
        self.kept.setdefault(kind, {})[key] = found
        return found

    def keep(self, kind: str, key: str, value: Any) -> None:
        """Keep what was computed for the next publishing; texts that name files are files it needs."""
        self.kept.setdefault(kind, {})[key] = value

    def add(self, name: str, content: bytes) -> str:
        """Write a file whose name is made of its content, unless it is there."""
        if not self._is_there(name):
            self._write(name, content)
        self.files[name] = len(content)
        return name

    def put(self, name: str, content: bytes) -> str:
        """Take a file whose name lasts; it is written at the end, if it differs."""
        self._ends[name] = content
        self.files[name] = len(content)
        return name

    def finish(self) -> None:
        """Write what has a lasting name, the page last, then remove what the site before left."""
        manifest = {"kind": KIND, "files": self.files, "kept": self.kept}
        stale = {name for name in self.before.get("files", {}) if name not in self.files and is_contained(name)}
        # until the page is there, the manifest names the files of both sites
        both = {**manifest, "files": {**self.before.get("files", {}), **self.files}}
        page = self._ends.pop(FRONT_PAGE)
        self._replace(MANIFEST, sealed(both), counted=both == manifest)
        for name, content in self._ends.items():
            self._replace(name, content)
        self._replace(FRONT_PAGE, page)
        for name in sorted(stale | self._strays()):
            (self.root / name).unlink(missing_ok=True)
        written = sealed(manifest)
        self._replace(MANIFEST, written)
        self.manifest_bytes = len(written)

    def _strays(self) -> set[str]:
        """Files named by their content that an interrupted publishing left, or one whose manifest somebody changed."""
        folders = {"": self.root, f"{DATA_FOLDER}/": self.root / DATA_FOLDER}
        there = {f"{name}{path.name}" for name, folder in folders.items() for path in folder.glob("*")}
        return {name for name in there if _WRITTEN.fullmatch(name.rpartition("/")[2])} - {*self.files}

    def _is_there(self, name: str) -> bool:
        """True if a file of the site before is there as it was written."""
        size = self.before.get("files", {}).get(name, self.files.get(name))
        try:
            return size is not None and is_contained(name) and (self.root / name).stat().st_size == size
        except OSError:
            return False

    def _replace(self, name: str, content: bytes, *, counted: bool = True) -> None:
        path = self.root / name
        if not (path.is_file() and path.read_bytes() == content):
            self._write(name, content, counted=counted)

    def _write(self, name: str, content: bytes, *, counted: bool = True) -> None:
        path = self.root / name
        half = path.with_name(f".{path.name}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(content)
            half.replace(path)
        except OSError as error:
            raise cannot_write(path, error, choose="another folder") from error
        if counted:
            self.written_bytes += len(content)


def _names(value: Any) -> Iterator[str]:
    """The names of files in what was kept."""
    if isinstance(value, str) and value.startswith(f"{DATA_FOLDER}/"):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _names(each)


def is_contained(name: str) -> bool:
    """True if a name of a manifest, which anybody may have written, stays within the folder."""
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def _seal(manifest: dict[str, Any]) -> str:
    """A checksum of a manifest."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:24]


def sealed(manifest: dict[str, Any]) -> bytes:
    """The file of a manifest, with its checksum."""
    return json.dumps({**manifest, "seal": _seal(manifest)}, sort_keys=True, separators=(",", ":")).encode() + b"\n"

"""The places where the files of a store lie: a folder, or a bucket of an object store, as one kind of place.

What is put into a place appears whole or not at all, and is never overwritten. A file of the log is checked against the
checksum in its own name on its way in and on its way out. Errors name the place, and never what opens it.
"""

import contextlib
import hashlib
import os
import re
import secrets
import stat
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import Missing, PlaceError
from ..files import cure, make_folder, open_file, take_after_folder
from .object_store import AGAIN, clean_url, connect, explained, repeat, wait

if TYPE_CHECKING:
    from ..store import Store

PART_BYTES = 16 << 20  # what is larger is uploaded in parts
CHECKED = re.compile(r"-([0-9a-f]{16})\.parquet$")


class DamagedFile(PlaceError):
    """A file of the log is not what its name says."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One file of a place."""

    name: str
    size_bytes: int
    modified_at: float  # seconds since 1970 by the place's own clock, which need not agree with ours


class Place(Protocol):
    """Files by name; a name is a path relative to the store, with slashes."""

    url: str

    @abstractmethod
    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """Files below the folder `prefix`, by name; those that sort behind the name `after`."""

    def stat(self, name: str) -> Entry | None:
        """One file, or None if there is none by that name."""

    @abstractmethod
    def read(self, name: str, last: int | None = None) -> bytes:
        """The content of a small file, or so many bytes of a file's end.

        Raises:
            Missing: There is no such file.
        """

    def get(self, name: str, path: Path) -> None:
        """Copy a file out of here to `path`, where it appears whole, durably.

        Raises:
            Missing: There is no such file.
            DamagedFile: It is not what its name says.
        """

    def put(self, path: Path, name: str) -> None:
        """Copy the file at `path` to here; one that is here already stays as it is.

        Raises:
            DamagedFile: It is not what its name says, or another of a different size is here by that name.
        """

    @abstractmethod
    def create(self, name: str, content: bytes) -> bool:
        """Make a small file unless there is one by that name; of any number who try at once, one succeeds."""

    def touch(self, name: str) -> None:
        """Make a small file's time the present one."""

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""


def place(store: "Store") -> Place:
    """The place of the store's truth."""
    return Bucket(store.remote) if store.remote else Folder(store.root)


def digest_of(name: str) -> str | None:
    """The beginning of the SHA-256 in a file's name; None if it is not a file of the log."""
    found = CHECKED.search(name)
    return found[1] if found and name.startswith("events/") else None


class Folder:
    """A folder of this machine, or of a disk it shares."""

    def __init__(self, root: Path) -> None:
        """The files below `root`, which need not exist yet."""
        self.root = root
        self.url = str(root)

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """Files below the folder `prefix`, by name; hidden ones are on their way."""
        names = []
        for folder, folders, files in os.walk(self.root / prefix):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = Path(folder).relative_to(self.root).as_posix()
            names += [f"{inside}/{name}" for name in files if not name.startswith(".")]
        for name in sorted(names):
            if name > after and (entry := self.stat(name)):
                yield entry

    def stat(self, name: str) -> Entry | None:
        """One file, or None; what is no regular file is none."""
        try:
            found = (self.root / name).stat()
        except OSError:
            return None
        return Entry(name, found.st_size, found.st_mtime) if stat.S_ISREG(found.st_mode) else None

    def read(self, name: str, last: int | None = None) -> bytes:
        """The content of a small file, or the end of one."""
        with self._errors(name), open_file(self.root / name) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - last) if last else 0)
            return file.read()

    def get(self, name: str, path: Path) -> None:
        """Copy a file out of here."""
        with self._errors(name, path):
            _publish(_chunks(self.root / name), name, path, f"{self.url}/{name}")

    def put(self, path: Path, name: str) -> None:
        """Copy a file to here."""
        with self._errors(name):
            if not _is_here(self, path, name):
                _publish(_chunks(path), name, self.root / name, str(path))

    def create(self, name: str, content: bytes) -> bool:
        """Make a small file, if we are the first: a link to a whole file is refused where there is one already."""
        path = self.root / name
        temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
        with self._errors(name):
            make_folder(path.parent)
            try:
                _write(temporary, content)
                os.link(temporary, path)
            except FileExistsError:
                return path.is_file() and path.read_bytes() == content
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def touch(self, name: str) -> None:
        """Make a file's time the present one."""
        with self._errors(name):
            os.utime(self.root / name)

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._errors(name):
            (self.root / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _errors(self, name: str, to: Path | None = None) -> Iterator[None]:
        """Say what went wrong with which file; where that is not told, it is the one that was written."""
        try:
            yield
        except FileNotFoundError as error:
            raise Missing(f"{self.url} holds no {name}") from error
        except OSError as error:
            where = error.filename or to or self.root / name
            reason = error.strerror or str(error)
            raise PlaceError(f"cannot use {where}: {reason}. {cure(reason).capitalize()}.") from error


class Bucket:
    """A prefix in a bucket of an object store, through obstore; credentials are found where such tools look."""

    def __init__(self, url: str) -> None:
        """The files below `url`.

        Raises:
            MissingExtra: obstore is not installed.
            PlaceError: The settings of the environment do not fit.
        """
        self.url = clean_url(url)
        self.store = connect(self.url)

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """Files below `prefix`, a thousand a request; the server skips what comes before `after`, where it can."""
        import obstore

        pauses = iter(AGAIN)
        with explained(self.url):
            listing = obstore.list(self.store, prefix, offset=after or None, chunk_size=1000)
            while True:
                try:
                    chunk = next(listing, ())
                except obstore.exceptions.GenericError as error:
                    wait(error, pauses)
                    listing = obstore.list(self.store, prefix, offset=after or None, chunk_size=1000)
                    continue
                if not chunk:
                    return
                yield from map(_entry, chunk)
                after = chunk[-1]["path"]

    def stat(self, name: str) -> Entry | None:
        """One file, or None."""
        import obstore

        try:
            with explained(self.url, name):
                return _entry(obstore.head(self.store, name))
        except Missing:
            return None

    def read(self, name: str, last: int | None = None) -> bytes:
        """The content of a small file, or the end of one."""
        import obstore

        def read() -> bytes:
            if last is None:
                return bytes(obstore.get(self.store, name).bytes())
            size = obstore.head(self.store, name)["size"]  # not all servers count from the end
            return bytes(obstore.get_range(self.store, name, start=max(0, size - last), end=size))

        with explained(self.url, name):
            return repeat(read)

    def get(self, name: str, path: Path) -> None:
        """Download a file."""
        import obstore

        where = f"the download of {self.url}/{name}"
        cure = "The next command tries again; if it says this for good, the bucket's file is damaged: delete it there."
        with explained(self.url, name):
            repeat(lambda: _publish(obstore.get(self.store, name).stream(), name, path, where, cure))

    def put(self, path: Path, name: str) -> None:
        """Upload a file, in parts if it is large."""
        import obstore

        with explained(self.url, name):
            _check(path, name)
            if path.stat().st_size <= PART_BYTES and self._create(name, path):
                return
            if not _is_here(self, path, name):
                obstore.put(self.store, name, path, chunk_size=PART_BYTES, max_concurrency=4)

    def create(self, name: str, content: bytes) -> bool:
        """Make a small file, if we are the first, which the server decides."""
        with explained(self.url, name):
            return self._create(name, content) or self.read(name) == content

    def _create(self, name: str, content: bytes | Path) -> bool:
        """Return whether there was none by that name."""
        import obstore

        try:
            repeat(lambda: obstore.put(self.store, name, content, mode="create", use_multipart=False))
        except obstore.exceptions.AlreadyExistsError:
            return False
        return True

    def touch(self, name: str) -> None:
        """Write a small file again."""
        import obstore

        content = self.read(name)
        with explained(self.url, name):
            obstore.put(self.store, name, content, use_multipart=False)

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        import obstore

        with contextlib.suppress(Missing), explained(self.url, name):
            obstore.delete(self.store, name)


def _entry(found: Any) -> Entry:
    return Entry(found["path"], found["size"], found["last_modified"].timestamp())


def _is_here(place: Place, path: Path, name: str) -> bool:
    """Return whether the file was put there before; what is there by its name and is not it is left alone."""
    there = place.stat(name)
    if there and there.size_bytes != path.stat().st_size:
        raise DamagedFile(
            f"{place.url}/{name} has {there.size_bytes} bytes, {path} has {path.stat().st_size}: one of them is damaged."
        )
    return there is not None


def _check(path: Path, name: str) -> None:
    with open_file(path) as file:
        _agree(hashlib.file_digest(file, "sha256").hexdigest(), name, str(path))


def _agree(digest: str, name: str, where: str, cure: str = "Restore it from a copy.") -> None:
    if not digest.startswith(digest_of(name) or ""):
        raise DamagedFile(f"{where} is damaged: its content does not match the checksum in its name. {cure}")


def _chunks(path: Path) -> Iterator[bytes]:
    with open_file(path) as file:
        while chunk := file.read(1 << 20):
            yield chunk


def _publish(chunks: Iterable[Any], name: str, path: Path, where: str, cure: str = "Restore it from a copy.") -> None:
    """Write a file beside where it belongs, check it, and rename it into place."""
    digest = hashlib.sha256()
    temporary = path.parent / f".{path.name}.tmp"
    make_folder(path.parent)
    try:
        with temporary.open("wb") as file:
            take_after_folder(temporary)
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        _agree(digest.hexdigest(), name, where, cure)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        take_after_folder(path)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

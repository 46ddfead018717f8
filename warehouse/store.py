"""The store: the folder that holds results, and the lock that admits one loader at a time."""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchError, Exit, StoreBusy
from .files import cure, disk_error, make_folder, open_regular, publish_text, read_json, take_after_folder
from .locks import claim, claimed, lock, process_of
from .settings import setting

STORE_FOLDER = ".bench"
HOLDER = "lock.holder"  # who loads, on a disk without locks
STATE = "remote.json"  # in a mirror: of what
NO_PATH_OF_DUCKDB = "?\\"  # the first is a pattern, the second becomes a slash

Notify = Callable[[str], None]  # takes a sentence meant for a person


@dataclass(frozen=True, slots=True)
class Store:
    """One store: a folder with the event log, live journals and the derived warehouse."""

    root: Path
    remote: str | None = None  # the address of the truth, which `root` then mirrors

    @property
    def events(self) -> Path:
        """The event log: `events/<table>/*.parquet`."""
        return self.root / "events"

    @property
    def journals(self) -> Path:
        """Journals of processes that are, or were, writing."""
        return self.root / "journal"

    @property
    def damaged(self) -> Path:
        """Journals that are damaged, kept aside whole."""
        return self.root / "damaged"

    @property
    def artefacts(self) -> Path:
        """Files that runs left beside their events, such as traces: `artefacts/<run>/`."""
        return self.root / "artefacts"

    @property
    def database(self) -> Path:
        """The derived DuckDB file."""
        return self.root / "warehouse.duckdb"

    @classmethod
    def find(cls, path: str | os.PathLike[str] | None = None) -> "Store":
        """The store to use: `path`, else $BENCH_STORE, that of the project's settings, the nearest .bench upward, .bench here.

        Nothing is created; `create` does that. A store in a bucket has a folder that mirrors it; both names find it.

        Raises:
            BenchError: The path is empty, or exists and is no folder, or the address is none or holds a credential.
        """
        if path == "":  # of a shell variable that is not set, perhaps
            raise BenchError("the path of the store is empty. Give a folder, or s3://bucket/prefix.")
        chosen = path or setting("store")
        if chosen and "://" in os.fspath(chosen):
            from .remote.object_store import clean_url

            url = clean_url(os.fspath(chosen))
            return cls(_mirror(url), url)
        root = Path(chosen).expanduser() if chosen else _nearest(Path.cwd())
        if root.exists() and not root.is_dir():
            raise BenchError(f"the store {root} is a file. Give a folder with --store, or set BENCH_STORE to one.")
        for character in NO_PATH_OF_DUCKDB:
            if character in str(root.absolute()):
                raise BenchError(
                    f"the store {root} has a '{character}' in its path, which DuckDB cannot open. Choose another folder."
                )
        return cls(root.absolute(), _mirrored(root))

    def __str__(self) -> str:
        return self.remote or str(self.root)

    def exists(self) -> bool:
        """Return whether anything was ever recorded or ingested here."""
        return self.events.is_dir() or self.journals.is_dir()

    def may_hold(self) -> bool:
        """Return whether there may be anything to read: a bucket may hold files that its mirror lacks."""
        return self.remote is not None or self.exists()

    def create(self) -> "Store":
        """Make the folders if they are missing.

        Raises:
            BenchError: The folder cannot be made.
        """
        try:
            for folder in (self.events, self.journals):
                make_folder(folder)
            if self.remote and not (self.root / STATE).exists():
                publish_text(self.root / STATE, json.dumps({"url": self.remote}))
        except OSError as error:
            raise disk_error(
                f"cannot create the store {self.root}: {error.filename}: {error.strerror}. Choose another with --store.",
                error.strerror or "",
                otherwise=Exit.USAGE,
            ) from error
        return self

    @contextlib.contextmanager
    def lock(self, *, wait: bool = True, notify: Notify | None = None) -> Iterator[None]:
        """Hold the store's loader lock; the kernel lets go of it when the holder dies, and on a disk without locks the next one.

        Args:
            wait: Wait for the present holder rather than give up.
            notify: Called once with a sentence that names the holder, if it has to wait.

        Raises:
            StoreBusy: Another process holds it and `wait` is False.
            BenchError: The store cannot be written.
        """
        self.create()
        with self._lock_errors():
            descriptor = open_regular(self.root / "lock", os.O_RDWR | os.O_CREAT)
        try:
            with self._lock_errors():
                take_after_folder(self.root / "lock")
                has_locks = _acquire(descriptor, wait, notify, self.root)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            with contextlib.nullcontext() if has_locks else claimed(self.root / HOLDER):
                yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _lock_errors(self) -> Iterator[None]:
        """Say that the store cannot be written, and what to do."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise disk_error(
                f"cannot write to the store {self.root}: lock: {reason}. {cure(reason).capitalize()}, "
                "or choose another store with BENCH_STORE.",
                reason,
                otherwise=Exit.USAGE,
            ) from error


def _nearest(start: Path) -> Path:
    for folder in (start, *start.parents):
        if (folder / STORE_FOLDER).is_dir():
            return folder / STORE_FOLDER
    return start / STORE_FOLDER


def _mirror(url: str) -> Path:
    """The folder that mirrors an address; it holds what is not uploaded yet, so it is no cache."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = os.environ.get("BENCH_MIRRORS") or f"{state}/bench/mirrors"
    variables = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") if url.startswith("s3:") else ()
    endpoint = next(filter(None, map(os.environ.get, variables)), "")  # other servers have buckets of that name, too
    digest = hashlib.sha256(f"{endpoint} {url}".encode()).hexdigest()[:8]
    return Path(folder).expanduser().absolute() / f"{re.sub(r'[^0-9A-Za-z.]+', '-', url)}-{digest}"


def _mirrored(root: Path) -> str | None:
    """The address of the bucket that a folder mirrors; None for any other folder.

    Raises:
        BenchError: The file that tells it is damaged.
    """
    try:
        state = read_json(root / STATE)
        if not isinstance(state, dict) or not isinstance(url := state.get("url"), str):
            raise ValueError("it names no address")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise BenchError(
            f"cannot read the store {root}: {error.strerror}. Ask who may read it, or choose another with --store."
        ) from error
    except (OSError, ValueError) as error:
        raise BenchError(
            f"{root / STATE} cannot be read: {getattr(error, 'strerror', None) or error}. It tells which bucket this folder "
            "mirrors. If it mirrors none, delete the file; else delete it and open the store by its address, s3://…."
        ) from error
    from .remote.object_store import clean_url

    return clean_url(url)


def _acquire(descriptor: int, wait: bool, notify: Notify | None, root: Path) -> bool:
    """Take the lock; whether it is the kernel's, else it is a file of the holder's."""
    notified, has_locks = False, True
    while True:
        try:
            has_locks = lock(descriptor)
            if not has_locks:
                claim(root / HOLDER)
            return has_locks
        except BlockingIOError:
            pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            holder = f"process {pid}" if pid else "another process"  # which is about to write it
            holder = holder if has_locks else process_of(root / HOLDER)
            if not wait:
                raise StoreBusy(
                    f"{holder} is loading {root}. Try again when it is done, or without --no-wait."
                ) from None
            if notify is not None and not notified:
                notify(f"waiting for {holder}, which is loading {root}")
                notified = True
            time.sleep(0.02)

"""A site in a bucket: it is made in a folder of the cache, then what differs goes up, the page last."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ...warehouse.console.numbers import counted, file_size
from ...warehouse.errors import BenchError, Missing
from ...warehouse.files import cache_folder
from ...warehouse.remote.object_store import clean_url, explained, repeat
from ...warehouse.remote.places import Bucket
from .folder import FRONT_PAGE, KIND, MANIFEST, is_contained

_TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".xml": "application/atom+xml", ".json": "application/json",
    ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip


def made_in(url: str) -> Path:
    """The folder that the site of an address is made in, which knows what was published last.

    Raises:
        BenchError: It is no address of a bucket.
    """
    return cache_folder("sites") / hashlib.sha256(clean_url(url).encode()).hexdigest()[:16]


def upload(folder: Path, files: Mapping[str, int], url: str) -> str:
    """Bring the site at an address up to date with a folder.

    Returns:
        A sentence on what was sent.

    Raises:
        BenchError: Something else lies there, or the bucket cannot be used.
    """
    bucket = Bucket(clean_url(url))
    before = _before(bucket)
    now = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    differing = [name for name, digest in now.items() if before.get(name) != digest]
    stale = [name for name in before if name not in now and is_contained(name)]
    if not differing and not stale:
        return f"{bucket.url} has this site already"
    # until all is there, the list names the files of both sites, and those of the new one without a digest
    _put(bucket, MANIFEST, _listed({**before, **dict.fromkeys(differing)}))
    for name in sorted(differing, key=lambda name: (name == FRONT_PAGE, "/" not in name)):
        _put(bucket, name, (folder / name).read_bytes())
    for name in stale:
        bucket.delete(name)
    _put(bucket, MANIFEST, _listed(now))
    sent = sum(files[name] for name in differing)
    return f"sent {counted(len(differing), 'file')}, {file_size(sent)}, to {bucket.url}"


def _listed(files: Mapping[str, str | None]) -> bytes:
    return json.dumps({"kind": KIND, "files": files}, separators=(",", ":")).encode()


def _before(bucket: Bucket) -> dict[str, str | None]:
    """The files of the site that is there, with their digests; None of one that may not be there."""
    try:
        manifest = json.loads(bucket.read(MANIFEST))
    except Missing:
        manifest = {"kind": None if any(True for _ in bucket.list("")) else KIND, "files": {}}
    except (ValueError, RecursionError):
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise BenchError(f"{bucket.url} holds files that bench publish did not write. Name an empty prefix.")
    files = manifest.get("files")
    return files if isinstance(files, dict) else {}  # what somebody changed names nothing: all is sent again


def _put(bucket: Bucket, name: str, content: bytes) -> None:
    import obstore

    kind = {"Content-Type": _TYPES.get(Path(name).suffix, "application/octet-stream")}
    with explained(bucket.url, name):
        repeat(lambda: obstore.put(bucket.store, name, content, attributes=kind, use_multipart=False))

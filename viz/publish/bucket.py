"""A site in a bucket: it is made in a folder of the cache, then what differs goes up, the page last."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ...warehouse.console.numbers import file_size
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
    lasting = [name for name in files if "/" not in name and name != FRONT_PAGE]
    new = [name for name in files if "/" in name and before.get(name) != files[name]]
    sent = 0
    for name in (*new, *lasting, FRONT_PAGE, MANIFEST):
        content = (folder / name).read_bytes()
        _put(bucket, name, content)
        sent += len(content)
    for name in before:
        if name not in files and is_contained(name):
            bucket.delete(name)
    return f"sent {len(new) + len(lasting) + 2:,} files, {file_size(sent)}, to {bucket.url}"


def _before(bucket: Bucket) -> dict[str, int]:
    """The files of the site that is there, with their sizes."""
    try:
        manifest = json.loads(bucket.read(MANIFEST))
    except Missing:
        manifest = {"kind": None if any(True for _ in bucket.list("")) else KIND, "files": {}}
    except ValueError:
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(manifest.get("files"), dict):
        raise BenchError(f"{bucket.url} holds files that bench publish did not write. Name an empty prefix.")
    files: dict[str, int] = manifest["files"]
    return files


def _put(bucket: Bucket, name: str, content: bytes) -> None:
    import obstore

    kind = {"Content-Type": _TYPES.get(Path(name).suffix, "application/octet-stream")}
    with explained(bucket.url, name):
        repeat(lambda: obstore.put(bucket.store, name, content, attributes=kind, use_multipart=False))

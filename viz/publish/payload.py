"""Data of the site as scripts, for from `file://` a page may run a script beside it but not read a file."""

import base64
import gzip
import hashlib
import json
from typing import Any

DATA_FOLDER = "data"  # folder of the site


def pack(value: Any) -> bytes:
    """A value as compressed JSON."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return pressed(text.encode("utf-8", "replace"))


def pressed(content: bytes) -> bytes:
    """The same bytes whenever they are compressed."""
    return gzip.compress(content, 6, mtime=0)


def script(kind: str, packed: bytes) -> tuple[str, bytes]:
    """Name and content of the script that hands packed data to the page; the name is made of its content."""
    name = f"{kind}-{hashlib.sha256(packed).hexdigest()[:12]}"
    return f"{DATA_FOLDER}/{name}.js", f'bench("{name}","{base64.b64encode(packed).decode()}")\n'.encode()


def named(name: str, content: bytes) -> str:
    """A file's name with its content in it: `site.css` → `site-0123456789ab.css`."""
    stem, _, ending = name.partition(".")
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}.{ending}"

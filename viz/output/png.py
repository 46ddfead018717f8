"""PNG files: their chunks, and a writer of small ones.

The format is that of the Portable Network Graphics (PNG) Specification of the W3C, https://www.w3.org/TR/png-3/: a
signature, then chunks. IHDR has the size of an image, IDAT its rows as one zlib stream, each after a byte that names its filter.
"""

import base64
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BITS, _RGBA = 8, 6  # bit depth and colour type of IHDR
_NO_FILTER = b"\0"


def chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk: its length, type, content and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def encode(width: int, height: int, pixels: bytes) -> bytes:
    """The file of an image.

    Args:
        width: In pixels.
        height: Likewise.
        pixels: Red, green, blue and alpha of each, a byte for each of them, row by row from the top. Colours are straight,
            not multiplied by alpha.
    """
    stride = 4 * width
    rows = b"".join(_NO_FILTER + pixels[at : at + stride] for at in range(0, stride * height, stride))
    header = struct.pack(">IIBBBBB", width, height, _EIGHT_BITS, _RGBA, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def data_url(image: bytes) -> str:
    """A file as a URL that holds it."""
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"

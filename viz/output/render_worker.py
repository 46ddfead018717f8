"""The renderer's process: reads jobs from stdin, writes images to stdout.

Started early, as a plain script without site-packages, so that V8 (0.5 s) starts while the warehouse is being asked.
It is a process of its own because vl-convert aborts the whole process when V8 runs out of memory.

Protocol: each line on stdin is a JSON list: format, spec or null, ppi; each answer on stdout a 1-byte flag (0 an image,
1 an error text), 8 bytes of length, big-endian, and the content.
"""

import json
import sys
from typing import Any


def main() -> None:
    """Warm up, then do one job after the other."""
    sys.path.append(sys.argv[1])
    import vl_convert

    vl_convert.vegalite_to_png(
        {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}
    )
    for line in sys.stdin.buffer:
        kind, spec, ppi = json.loads(line)
        try:
            _answer(0, _render(vl_convert, kind, spec, ppi))
        except Exception as error:
            _answer(1, str(error).encode(errors="replace"))


def _render(vl_convert: Any, kind: str, spec: dict[str, Any] | None, ppi: float) -> bytes:
    offline: dict[str, list[str]] = {"allowed_base_urls": []}  # a chart never fetches anything
    if kind == "png":
        whole = ppi * (1 + 1e-6)  # its scale is a float32: at 300 dots 6 inches would be 1799
        return bytes(vl_convert.vegalite_to_png(spec, ppi=whole, scale=1, **offline))
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(spec, **offline)).encode()
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, **offline))
    return str(vl_convert.javascript_bundle()).encode()


def _answer(flag: int, content: bytes) -> None:
    sys.stdout.buffer.write(bytes([flag]) + len(content).to_bytes(8, "big") + content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

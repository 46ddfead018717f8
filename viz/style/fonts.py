"""Fonts: check that the renderer can draw every character, because it would silently draw boxes."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Drawn by the fonts that vl-convert brings along (Liberation Sans): Latin, Greek, Cyrillic, punctuation, arrows.
_BUNDLED = ((0x0020, 0x024F), (0x0370, 0x0482), (0x048A, 0x04FF), (0x1E80, 0x1EF9), (0x2010, 0x2044), (0x20A0, 0x20BF))
_HAN_FAMILIES = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "Droid Sans Fallback", "PingFang SC", "Microsoft YaHei",
)  # fmt: skip
_DIRECTORIES = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
_CJK = ((0x1100, 0x11FF), (0x2E80, 0xA4CF), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFF))


def choose(text: str, wanted: str | None = None) -> tuple[str, str | None]:
    """The font to draw this text in, and a warning where some of it would come out as boxes.

    Returns:
        A CSS font-family list, and the warning or None.
    """
    foreign = sorted({char for char in text if not _bundled(char)})
    families = [wanted] if wanted else []
    if not foreign:
        return _stack(families), None
    installed = _installed()
    if installed is None:  # no fontconfig to ask
        if sys.platform in ("darwin", "win32") or _any_font_file():
            return _stack([*families, *_HAN_FAMILIES]), None
        missing = foreign
    else:
        families += [family for family in _HAN_FAMILIES if family in installed][:1]
        missing = [char for char in foreign if not any(_covers(ranges, ord(char)) for ranges in installed.values())]
    if not missing:
        return _stack(families), None
    sample = "".join(missing[:8]) + ("…" if len(missing) > 8 else "")
    package = (
        " (Debian, Ubuntu: apt install fonts-noto-cjk)" if any(_covers(_CJK, ord(char)) for char in missing) else ""
    )
    return _stack(families), (
        f"no installed font has {len(missing)} of the characters: {sample}. They will be drawn as boxes."
        f" Install a font that has them{package}, or name one with --font."
    )


def is_installed(family: str) -> bool:
    """Return whether fontconfig knows the family; True where there is no fontconfig to ask."""
    installed = _installed()
    return installed is None or family in installed


def _stack(families: list[str]) -> str:
    return ", ".join([*dict.fromkeys(families), "sans-serif"]) if families else "sans-serif"


def _bundled(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _BUNDLED)


@functools.cache
def _installed() -> dict[str, list[tuple[int, int]]] | None:
    """Ranges of code points by font family, from fontconfig; None where there is none."""
    program = shutil.which("fc-list")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--format", "%{family}\t%{charset}\n"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    fonts: dict[str, list[tuple[int, int]]] = {}
    for line in done.stdout.splitlines():
        names, _, charset = line.partition("\t")
        for name in names.split(","):
            fonts.setdefault(name, []).extend(_ranges(charset))
    return fonts


@functools.cache
def _ranges(charset: str) -> tuple[tuple[int, int], ...]:
    ends = (part.partition("-") for part in charset.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in ends)


def _covers(ranges: Sequence[tuple[int, int]], point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _any_font_file() -> bool:
    endings = (".ttf", ".ttc", ".otf")
    return any(file.suffix in endings for folder in _DIRECTORIES for file in Path(folder).expanduser().rglob("*"))

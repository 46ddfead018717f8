"""Colours as people see them: in CIELAB, without some cones, and how far apart (CIEDE2000)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# What is seen without red or green cones, in linear sRGB: Machado, Oliveira and Fernandes, IEEE TVCG 15, 2009, severity 1.
CONES: dict[str, Floats] = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65


def linear(colour: str) -> Floats:
    """Linear red, green and blue of `#rrggbb`, 0 to 1."""
    part = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2: 1 to 21."""
    high, low = sorted((float(linear(colour) @ _XYZ[1]) for colour in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(rgb: Floats) -> Floats:
    """CIELAB of linear red, green and blue."""
    part = _XYZ @ np.clip(rgb, 0, 1) / _WHITE
    x, y, z = np.where(part > (6 / 29) ** 3, np.cbrt(part), part / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one: Floats, other: Floats) -> float:
    """The difference of two colours in CIELAB, after Sharma, Wu and Dalal, Color Research and Application 30, 2005."""
    lightness = np.array([one[0], other[0]])
    a, b = (np.array([one[at], other[at]]) for at in (1, 2))
    chroma = np.hypot(a, b).mean()
    a = a * (1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7)))
    chroma, hue = np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360
    grey = not chroma.all()
    turn: Any = 0.0 if grey else (hue[1] - hue[0] + 180) % 360 - 180
    mean_hue = hue.sum() if grey else (hue[0] + turn / 2) % 360
    mean_light, mean_chroma = lightness.mean(), chroma.mean()
    weights = zip((-0.17, 0.24, 0.32, -0.2), (1, 2, 3, 4), (-30, 0, 6, -63), strict=True)
    t = 1 + sum(weight * np.cos(np.radians(times * mean_hue + shift)) for weight, times, shift in weights)
    off = (mean_light - 50) ** 2
    light = np.diff(lightness)[0] / (1 + 0.015 * off / np.sqrt(20 + off))
    vivid = np.diff(chroma)[0] / (1 + 0.045 * mean_chroma)
    tinted = 2 * np.sqrt(chroma.prod()) * np.sin(np.radians(turn) / 2) / (1 + 0.015 * mean_chroma * t)
    rotated = 60 * np.exp(-(((mean_hue - 275) / 25) ** 2))
    crossed = -2 * np.sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7)) * np.sin(np.radians(rotated))
    return float(np.sqrt(light**2 + vivid**2 + tinted**2 + crossed * vivid * tinted))

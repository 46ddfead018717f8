"""The rules of judgement: one value each, for SQL, Python, commands and agents, unless a user says otherwise.

An SQL file names a rule in braces, `floor := {floor}`, and gets its value when it is read.
"""

import re
from typing import Final

FLOOR: Final = 0.03  # smallest change that counts, as a fraction
FDR: Final = 0.05  # share of false alarms to accept, of all alarms
WINDOW: Final = 20  # runs of the baseline, at most
MIN_SPEEDUP: Final = 0.95  # below it a speedup is flagged
MAX_COMPILE_SECONDS: Final = 120.0  # above it a compile time is
MIN_COMPRESSION: Final = 0.9  # below it a memory compression is
ALPHA: Final = 0.05  # level of the test of one case, where runs are planned
SLICE_NS: Final = 10_000_000  # what lasts longer hardly keeps its processor there, however often it is tried

RULES: Final[dict[str, float]] = {
    "floor": FLOOR, "fdr": FDR, "window": WINDOW, "min_speedup": MIN_SPEEDUP, "max_compile_seconds": MAX_COMPILE_SECONDS,
    "min_compression": MIN_COMPRESSION, "alpha": ALPHA, "slice_ns": SLICE_NS,
}  # fmt: skip
_RULE = re.compile("{(" + "|".join(RULES) + ")}")


def with_rules(text: str) -> str:
    """The text of an SQL file with the values of the rules that it names."""
    return _RULE.sub(lambda match: f"{RULES[match[1]]:g}", text)

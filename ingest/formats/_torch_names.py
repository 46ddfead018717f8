"""Names of torch.compile's results: a file name has compiler, suite, dtype, mode and device, a folder name the day."""

import re
from pathlib import PurePath
from typing import Any

from ...warehouse.events import Instant
from ..readers.document import instant

SUITES = "torchbench|huggingface|timm_models"
AXES = r"(?P<dtype>(?:amp|autocast)_(?:bf16|fp16|[^_]*float16)|[^_]+)_(?:(?P<mode>inference|training)|coverage)_(?P<device>[^_]+)"
NAME = re.compile(
    rf"(?P<backend>.+?)_(?P<suite>{SUITES}|[^_]+)_{AXES}"
    r"(?:_(?P<kind>performance|accuracy)(?P<metrics>_compilation_metrics)?)?"
    rf"|expected_ci_perf_(?P<expected>[^_]+)_(?P<expected_suite>{SUITES})"
)
# what other files hold, a compiler a column
SIDE_BY_SIDE = re.compile(rf"(?:sorted_)?(?P<suite>{SUITES})_{AXES}(?:_\w+)?")
FOLDER = re.compile(
    r"(?:day_\d{3}_(?P<day>\d\d)_(?P<month>\d\d)|(?P<first_month>\d\d)_(?P<first_day>\d\d))_(?P<year>\d\d)_\w+",
    re.ASCII,
)
NIGHT_FOLDERS = ("day_[0-9][0-9][0-9]_*/*.csv", "[0-9][0-9]_[0-9][0-9]_[0-9][0-9]_*/*.csv")


def stem(name: str) -> str:
    """A file's name without its folder and ending."""
    return PurePath(name.removesuffix(".gz")).stem


def axes_of(name: str) -> dict[str, Any]:
    """The axes in a file's name; empty if it has none."""
    match = NAME.fullmatch(stem(name))
    axes: dict[str, Any] = match.groupdict() if match else {}
    if axes.get("expected"):
        axes |= {"backend": axes["expected"], "suite": axes["expected_suite"]}
    return axes


def day_of(folder: str) -> Instant | None:
    """The day that a folder of an archive is named by, the month first in those of 2022; None if it names none."""
    match = FOLDER.fullmatch(folder)
    if match is None:
        return None
    month, day = match["month"] or match["first_month"], match["day"] or match["first_day"]
    return instant(f"20{match['year']}-{month}-{day}")

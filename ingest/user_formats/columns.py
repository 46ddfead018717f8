"""The roles of columns that the mapping does not name: axes of a case, measured numbers, times, or names of rows."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..readers.document import instant
from ..readers.tables import spare
from ..readers.units import unit_of

NO_VALUE = {
    "nan", "null", "none", "n/a", "#n/a", "na", "-", "inf", "+inf", "-inf", "infinity", "-infinity", "+infinity",
}  # fmt: skip
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
NUMBER_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WHOLE = re.compile(r"\d{1,18}")
MANY = 20  # values of a column; one with more, most of which stand in one row, parts nearly every row from all others
COUNTER = re.compile(
    r"(index|idx|iter(ation)?|step|rep(eat|etition)?|round|row|sample|seed|trial|unnamed: \d+)s?"
    r"([ _]?(id|idx|index|no|num|number))?",
    re.IGNORECASE,
)
CLOCK = re.compile(r"(.*[ _])?(ts|time_?stamp|epoch|unix_?time|wall_?time)([ _](s|ms|us|ns))?", re.IGNORECASE)
OF_A_RUN = {  # fields -> columns that say it of a night: as axes they would make each night's cases its own
    "commit": r"(git[ _-]?)?(commit|sha|revision)([ _-]?(id|sha|hash))?",
    "branch": r"(git[ _-]?)?branch",
    "host": r"host([ _-]?name)?|runner",
    "run": r"((github|ci|workflow)[ _-])?(run|job|build|pipeline)[ _-]?(id|uuid|number|num|no|url)",
}
IDENTIFIER = re.compile(r"(.*[ _])?(id|uuid|guid|hash)", re.IGNORECASE)
HEXADECIMAL = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,64}")


_SMALL, _CAPITAL = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
WORD = re.compile(rf"[µμ][sS]|[{_CAPITAL}]+(?![{_SMALL}])|[{_CAPITAL}]?[{_SMALL}]+|\d+|%|/|[毫微纳]?秒")
UNITS = {  # last words of a name that are its unit -> unit
    "ns": "ns", "us": "us", "µs": "us", "μs": "us", "ms": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "usec": "us", "msec": "ms", "nsec": "ns",
    "microseconds": "us", "milliseconds": "ms", "nanoseconds": "ns", "minutes": "min", "hours": "hours", "kb": "KB", "mb": "MB",
    "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB", "bytes": "bytes", "pct": "%", "percent": "%", "%": "%", "watts": "W",
    "joules": "J", "gbps": "GB/s", "tflops": "TFLOPS", "gflops": "GFLOPS", "tokens/s": "tokens/s", "requests/s": "requests/s",
    "samples/s": "samples/s", "images/s": "images/s", "items/s": "items/s", "ops/s": "ops/s", "it/s": "iterations/s",
    "毫秒": "ms", "微秒": "us", "纳秒": "ns", "秒": "s", "qps": "queries/s",
    "rps": "requests/s", "tps": "tokens/s", "fps": "frames/s", "iops": "ops/s",
}  # fmt: skip
SECONDS = ("s", "sec", "second")
COUNTED = {
    "tok": "tokens", "toks": "tokens", "token": "tokens", "tokens": "tokens", "req": "requests", "reqs": "requests",
    "requests": "requests", "samples": "samples", "imgs": "images", "images": "images", "items": "items", "ops": "ops",
    "it": "it",
    "its": "it",
}  # fmt: skip
HIGHER = {
    "throughput", "tput", "speedup", "accuracy", "acc", "bandwidth", "goodput", "mfu", "bleu", "f1", "tflops", "gflops", "flops",
    "score",
}  # fmt: skip
TIME = {"latency", "time", "duration", "elapsed", "runtime", "walltime"}
LOWER = {
    *TIME, "ttft", "tpot", "itl", "e2el", "ttst", "loss", "perplexity",
    "error", "errors", "failures", "energy", "memory", "mem", "rss", "vram", "peak", "stall", "overhead",
}  # fmt: skip
NEITHER = {"util", "utilization", "utilisation", "usage", "power", "temp", "clock", "frequency", "occupancy"}
STATISTIC = {"mean", "avg", "average", "median", "std", "stddev", "stdev", "p", "var", "cv", "iqr"}
SPREAD = {"std", "stddev", "stdev", "var", "cv", "iqr"}
CHOSEN = {"limit", "budget", "timeout", "target", "threshold", "slo", "cap"}  # words of what was set, whatever it is of
SETUP = {  # and of what is set where no other word says that it was measured
    "max", "min", "size", "length", "len", "count", "num", "number", "n", "interval", "batch", "seed", "block", "tile", "warmup",
    "capacity", "total", "setting", "requested", "request", "input", "output", "prompt", "delay", "sleep",
}  # fmt: skip


@dataclass(slots=True)
class OtherColumns:
    """The columns that are no axes, by what they are instead."""

    measured: list[str] = field(default_factory=list)  # by `measure_of` their names
    times: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  # that count rows or name them, and clocks of another origin


def sort_columns(rows: Iterable[dict[str, Any]], used: Iterable[str]) -> OtherColumns:
    """Judge by some rows the columns that are not used.

    As axes they would make a case of nearly every row.
    """
    columns: dict[str, list[str]] = {}
    for cells in rows:
        for path, value in spare(cells, used):
            texts = columns.setdefault(path, [])
            if value is not None and str(value).lower() not in NO_VALUE:
                texts.append(str(value))
    found = OtherColumns()
    for path, texts in columns.items():
        kind = _kind(path, texts)
        if texts and kind is not None and (kind != "labels" or len(set(texts)) > 1 or field_of_a_run(path)):
            getattr(found, kind).append(path)
    return found


def _kind(name: str, texts: Sequence[str]) -> str | None:
    if all(map(DATE.match, texts)):
        return "times"
    if CLOCK.fullmatch(name) and all(map(NUMBER_TEXT.fullmatch, texts)):
        return "times" if all(instant(float(text)) for text in texts) else "labels"
    if field_of_a_run(name):
        return "labels"
    unique = 2 * len(set(texts)) > len(texts)
    if (COUNTER.fullmatch(name) and all(map(WHOLE.fullmatch, texts))) or (
        unique and (all(map(HEXADECIMAL.fullmatch, texts)) or (len(set(texts)) > MANY and IDENTIFIER.fullmatch(name)))
    ):
        return "labels"
    return "measured" if measure_of(name) is not None and all(map(NUMBER_TEXT.fullmatch, texts)) else None


def field_of_a_run(name: str) -> str | None:
    """The field that a column is called by which says something of a run, and nothing of a case; None for any other."""
    word = name.rpartition(".")[2]
    return next((field for field, names in OF_A_RUN.items() if re.fullmatch(names, word, re.IGNORECASE)), None)


def measure_of(name: str) -> dict[str, str] | None:
    """The unit and better direction of a measured column, as far as its name says them; None for an axis.

    The digits of the values say nothing: the same name is the same in every file.
    """
    words = [word.lower() for word in WORD.findall(name)]
    unit, rest = _unit(words)
    said = {word for word, after in itertools.pairwise([*rest, ""]) if word != "p" or after.isdecimal()}
    measures = said & (HIGHER | LOWER | NEITHER | STATISTIC)
    if said & CHOSEN or words == ["s"]:
        return None
    if not measures and (unit is None or unit_of(unit).name == "bytes" or said & SETUP):
        return None
    if said & SPREAD:
        return {}
    about = {} if unit is None else {"unit": unit}
    if unit is None or unit_of(unit).better is None:
        better = "higher" if said & HIGHER else "lower" if said & LOWER and not said & NEITHER else None
        about |= {"better": better} if better else {}
    return about


def unit_of_samples(name: str) -> str | None:
    """The unit of a column that is called by it, `ms`, or is plainly a time, `latency_ms`; None of `ttft_ms` and `p99_ms`."""
    words = [word.lower() for word in WORD.findall(name)]
    unit, rest = _unit(words)
    is_time = unit is not None and unit_of(unit).name == "ns"
    return unit if is_time and (rest == words or {*rest} <= TIME) else None


def _unit(words: list[str]) -> tuple[str | None, list[str]]:
    """The unit that the last words are, and the words before it."""
    rest = [word for word in words if word not in ("/", "per")]
    if len(rest) > 1 and rest[-1] in SECONDS and rest[-2] in COUNTED:
        return UNITS[f"{COUNTED[rest[-2]]}/s"], rest[:-2]
    if len(words) > 1 and rest[-1:] and rest[-1] in SECONDS and words[-2] in ("/", "per"):
        return f"{rest[-2]}/s" if len(rest) > 1 else None, rest[:-2]
    if rest and rest[-1] in UNITS:
        return UNITS[rest[-1]], rest[:-1] if len(rest) > 1 else rest
    return None, rest

"""Convert units of other tools: durations to ns, sizes to bytes, rates to per second; and the better direction."""

import functools
import re
from dataclasses import dataclass

TIMES = {
    "ps": 1e-3, "ns": 1.0, "nsec": 1.0, "nanosecond": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "usec": 1e3,
    "microsecond": 1e3, "ms": 1e6, "msec": 1e6, "millisecond": 1e6, "s": 1e9, "sec": 1e9, "second": 1e9, "min": 6e10,
    "minute": 6e10, "h": 3.6e12, "hr": 3.6e12, "hrs": 3.6e12, "hour": 3.6e12, "day": 8.64e13,
}  # fmt: skip
SIZES = (
    {"b": 1.0, "byte": 1.0}
    | {
        f"{prefix}{binary}b": base**power
        for power, prefix in enumerate("kmgtp", 1)
        for binary, base in (("", 1e3), ("i", 1024.0))
    }
    | {
        f"{prefix}byte": (1024.0 if prefix.endswith("bi") else 1e3) ** power
        for power, prefixes in enumerate(("k kilo kibi", "m mega mebi", "g giga gibi", "t tera tebi"), 1)
        for prefix in prefixes.split()
    }
)
CALLS = re.compile(r"\s*/\s*(op|operation|it|iter|iteration|call|loop|invocation)s?\b")
COUNTS = re.compile(r"(op|operation|iter|iteration|call|loop|invocation)s?")
PER = re.compile(r"\s+per\s+", re.IGNORECASE)
# what is of a second without ending so; FLOPs are a count
RATE = re.compile(r"[KMGTPEkmgtpe]?(FLOPS|flops)|(?i:fps|qps|rps|tps|iops|[kmgt]bps|.+/ ?s(ec|econd)?/.+)")
COST = re.compile(r"[$€£¥]|usd|eur|dollars?|cents?")
PERCENT = ("%", "percent", "pct")
LONGEST = 100  # characters
BITS = re.compile(r"[KMGTP]b")
SPREADS = {"stddev", "stderr", "variance", "cv", "iqr", "mad", "range", "skewness", "kurtosis", "error"}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of another tool, with the factor to ours."""

    name: str | None
    factor: float = 1.0
    better: str | None = None  # direction of a plain value in it


@functools.lru_cache(maxsize=1024)
def unit_of(text: str | None) -> Unit:
    """The unit that a text means; an unknown text stays as it is.

    `ns/iter` and `ms/op` are the time of one call; what is counted a second as ops, iterations or calls is `ops/s`.
    """
    if text is None or len(text) > LONGEST:
        return Unit(None if text is None else text[:LONGEST])
    text = PER.sub("/", text.strip()) if " " in text else text
    word = text.strip().lower()
    plain = CALLS.sub("", word)
    singular = plain.removesuffix("s") if len(plain) > 3 else plain
    if word in PERCENT:
        return Unit("%")
    for name in (plain, singular):
        if name in TIMES:
            return Unit("ns", TIMES[name], "lower")
        if name in SIZES and not BITS.search(text):
            return Unit("bytes", SIZES[name])
    counted, slash, time = word.rpartition("/")
    seconds = TIMES.get(time.strip()) or TIMES.get(time.strip().removesuffix("s")) if slash else None
    if seconds is None:
        per_one = bool(slash) and TIMES.keys() & {counted.strip(), counted.strip().removesuffix("s")}  # ms/token
        return Unit(text, better="higher" if RATE.fullmatch(text.strip()) else "lower" if per_one else None)
    counted = counted.strip()
    size = SIZES.get(counted) or SIZES.get(counted.removesuffix("s"))
    if size is not None and not BITS.search(text):
        return Unit("bytes/s", size * 1e9 / seconds, "higher")
    name = "ops/s" if COUNTS.fullmatch(counted) else f"{text.rpartition('/')[0].strip()}/s"
    return Unit(name, 1e9 / seconds, "lower" if COST.fullmatch(counted) else "higher")

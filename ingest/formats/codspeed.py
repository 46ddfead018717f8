"""CodSpeed: walltime results, as its integrations write them (.codspeed/results_*.json)."""

from ..readers.declared import Declared, Quantity


class Codspeed(Declared):
    """Walltime results of CodSpeed."""

    name = "codspeed"
    doc = "CodSpeed walltime results JSON"
    becomes = "case named by `uri`"
    shapes = (frozenset({"creator.name", "instrument.type", "benchmarks[].stats.median_ns"}),)
    records = "benchmarks"
    names = ("uri", "name")
    values = {
        "stats.rounds": Quantity("rounds", "count"), "stats.iter_per_round": Quantity("iterations", "count"),
        "stats.warmup_iters": Quantity("warmup_iterations", "count"),
        "stats.total_time": Quantity("total_time", "s", better=None),
        "stats.iqr_outlier_rounds": Quantity("iqr_outliers", "count"),
        "stats.stdev_outlier_rounds": Quantity("stdev_outliers", "count"),
    }  # fmt: skip
    patterns = {r"stats\.(min|max|mean|stdev|q1|median|q3)_ns": Quantity("latency", "ns", r"\1")}

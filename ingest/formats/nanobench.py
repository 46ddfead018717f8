"""nanobench: its JSON template, with or without the measurements of each epoch; Bitcoin Core's bench writes it, too."""

from ..readers.declared import Declared, Quantity
from ..readers.document import BadRecord, Object
from ..readers.results import Results, Subject

EVENTS = "instructions|cpucycles|contextswitches|pagefaults|branchinstructions|branchmisses"


class Nanobench(Declared):
    """Results of nanobench."""

    name = "nanobench"
    doc = "nanobench JSON"
    becomes = "`title` → suite; epochs → timings; counters of an operation → metrics"
    shapes = tuple(
        frozenset({f"{at}[].name", f"{at}[].median(elapsed)"}) for at in ("results", "")
    )  # "": a template of one's own
    records = "results"
    names = ("name",)
    axes = {"suite": "title", "unit": "unit", "batch": "batch", "complexityN": "complexityN", "source": "source"}
    values = {
        "median(elapsed)": Quantity("latency", "s", "median"),
        "medianAbsolutePercentError(elapsed)": Quantity("latency", "ratio", "mdape", better=None),
        "totalTime": Quantity("total_time", "s", better=None), "epochs": Quantity("epochs", "count"),
    }  # fmt: skip
    patterns = {
        rf"median\(({EVENTS})\)": Quantity(r"\1", "count", "median", better="lower", void=True),
        rf"medianAbsolutePercentError\(({EVENTS})\)": Quantity(r"\1", "ratio", "mdape", better=None, void=True),
    }

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """Its epochs are samples."""
        case = super().case(record, results, name)
        for at, epoch in enumerate(record.records("measurements")):
            loops, elapsed = epoch.whole("iterations"), epoch.take("elapsed")
            if not loops or loops < 1:
                raise BadRecord("an epoch without iterations")
            case.samples([elapsed], "s", loops=loops, sample=at, block=0)
        return case

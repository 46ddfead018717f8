"""Catch2: benchmarks in its XML report."""

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord
from ..readers.json_format import reject_file
from ..readers.results import Results
from ..readers.xml_tree import read_xml

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

VALUES = {"mean": "mean", "standardDeviation": "stddev"}
LIMITS = {"lowerBound": "low", "upperBound": "high"}


class Catch2(Format):
    """Benchmarks of Catch2."""

    name = "catch2"
    doc = "Catch2 XML report (--reporter xml) with benchmarks"
    becomes = "test case and sections → suite; mean with its limits → latency; a benchmark that failed → fail_to_run"
    lost = "assertions of tests"
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Return whether it is a report of Catch2 that holds a benchmark."""
        return "<Catch2TestRun" in head.text[:2000] or (
            "<Catch name=" in head.text[:2000] and "<BenchmarkResults" in head.text
        )

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a benchmark."""
        results = Results(part, batch)
        try:
            root = read_xml(part)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        results.run(tags={"catch2": root.get("catch2-version"), "seed": root.get("rng-seed")})
        for suite, found in _benchmarks(root, ""):
            results.record(functools.partial(_load, results, suite, found), functools.partial(_text, found))
        if not results.tally.lines:
            results.note("holds no benchmark")
        return results.close()


def _benchmarks(element: "ET.Element", suite: str) -> Iterator[tuple[str, "ET.Element"]]:
    for each in element:
        if each.tag == "BenchmarkResults":
            yield suite, each
        elif each.tag in ("TestCase", "Section", "Group"):
            name = each.get("name", "")
            yield from _benchmarks(each, f"{suite} / {name}" if suite and name else suite or name)


def _load(results: Results, suite: str, found: "ET.Element") -> None:
    name = found.get("name")
    if not name:
        raise BadRecord("a benchmark without a name")
    case = results.case(name, suite=suite or None)
    failed = found.find("failed")
    if failed is not None:
        case.outcome("fail_to_run", failed.get("message"))
    for tag, statistic in VALUES.items():
        value = found.find(tag)
        if value is not None:
            case.metric("latency", value.get("value"), "ns", statistic=statistic)
            for key, limit in LIMITS.items():
                if statistic == "mean":
                    case.metric("latency", value.get(key), "ns", statistic=limit, better=None)
    for key in ("samples", "iterations", "resamples"):
        case.metric(key, found.get(key), "count")
    outliers = found.find("outliers")
    if outliers is not None:
        case.metric("outlier_variance", outliers.get("variance"), better=None)


def _text(element: "ET.Element") -> str:
    import xml.etree.ElementTree as ET

    return ET.tostring(element, encoding="unicode")

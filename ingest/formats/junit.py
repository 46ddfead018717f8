"""Reports of test runners: JUnit XML, as pytest, Maven, CTest and most others write it, and GoogleTest's XML and JSON."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers.document import BadRecord, Object, instant
from ..readers.json_format import JsonFormat, UnlocatedRecords, read_record, reject_file
from ..readers.results import Results, Subject, number

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

BEGIN = re.compile(r"\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*<testsuites?[\s>/]", re.DOTALL)
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")  # as Maven writes 1,234.5
NOT_RUN = {"notrun", "skipped", "suppressed", "disabled"}


class JUnit(Format):
    """A report of tests in XML."""

    name = "junit"
    doc = "JUnit XML (pytest, Maven, Gradle, CTest, GoogleTest …)"
    becomes = "test → case named classname.name; `time` → timing, of one that did not pass → time_until_failure"
    lost = "counts and sums of suites"
    unpacks = True
    began = re.compile(r'\btimestamp="([^"]{8,40})"')

    def recognise(self, head: Head) -> bool:
        """Return whether its first element is a test suite."""
        return BEGIN.match(head.text[:4096]) is not None

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a test."""
        from ..readers.xml_tree import read_xml

        results = Results(part, batch)
        try:
            root = read_xml(part)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        suites = list(root.iter("testsuite"))
        about = {
            key: each.get(key) for key in ("timestamp", "hostname") for each in (*suites[:1], root) if each.get(key)
        }
        properties = {
            each.get("name", ""): each.get("value")
            for suite in (root, *suites)
            for each in suite.findall("properties/property")
        }
        _describe(results, about, properties)
        seen: Counter[str] = Counter()
        for suite in suites or [root]:
            results.context = suite.get("name"), seen
            for test in suite.findall("testcase"):
                read_record(results, _record(test), _load, careful=False)
        if not results.tally.lines:
            results.note("holds no record")
        return results.close()


class GoogleTest(JsonFormat):
    """A report of GoogleTest in JSON."""

    name = "google-test"
    doc = "GoogleTest JSON"
    becomes = "as `junit`"
    lost = JUnit.lost
    began = re.compile(r'"timestamp": *"([^"]{8,40})"')
    shapes = (frozenset({"testsuites[].testsuite[].name", "testsuites[].testsuite[].status"}),)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The run is of the time the tests began."""
        _describe(results, document, {})
        return self._tests(document.records("testsuites"), results)

    def _tests(self, suites: list[Object], results: Results) -> Iterator[Any]:
        seen: Counter[str] = Counter()
        for suite in suites:
            try:
                results.context = suite.text("name"), seen
                tests = suite.array("testsuite")
            except BadRecord as error:
                yield UnlocatedRecords(suite, error)
            else:
                yield from tests

    def load(self, record: Object, results: Results) -> None:
        """One test."""
        _load(record, results)


def _describe(results: Results, about: dict[str, Any], properties: dict[str, Any]) -> None:
    host = about.get("hostname")
    started = instant(about.get("timestamp"))
    if started is not None or host or properties:
        results.run(started_at=started, host=host if isinstance(host, str) else None, tags=properties)


def _record(test: "ET.Element") -> Object:
    """A test in the words of GoogleTest's JSON, with what JUnit has besides."""
    record = Object([*test.attrib.items()])
    for each in test:
        text = (each.text or "").strip()
        if each.tag in ("failure", "error"):
            said = each.get("message") or text
            record.setdefault("failures", []).append(
                Object([("failure", said), ("type", each.get("type")), ("text", text)])
            )
        elif each.tag == "skipped":
            record["skipped"] = each.get("message") or text
        elif each.tag == "properties":
            record["properties"] = {one.get("name", ""): one.get("value") or one.text for one in each}
        else:
            record.setdefault(each.tag, text)
    return record


def _load(record: Object, results: Results) -> None:
    """One test. The context is its suite, and how often each test came so far, for one that is repeated."""
    suite, seen = results.context
    name, group = record.name("name"), record.text("classname")
    axes = {key: record.text(key) for key in ("type_param", "value_param") if record.get(key)}
    case = results.case(f"{group}.{name}" if group else name, suite=suite, parameters=axes)
    time = _seconds(record.take("time"))
    failures = record.records("failures")
    skipped = record.text("skipped")
    states = {str(record.take(key)).lower() for key in ("status", "result") if record.get(key) is not None}
    if failures:
        said = [failure.text("failure") or failure.text("type") or "" for failure in failures]
        message = "\n".join(filter(None, (failure.text("text") for failure in failures)))
        case.outcome(
            "fail_to_run", said[0].strip().partition("\n")[0][:500] or None, message=(message or said[0])[:10_000]
        )
        case.metric("time_until_failure", time, "s", better=None)
    elif skipped is not None or states & NOT_RUN:
        case.outcome("skipped", skipped or None)
    else:
        case.outcome("ok")
        _sample(case, time, seen)
    case.fields(record.left())


def _sample(case: Subject, time: Any, seen: Counter[str]) -> None:
    if time is not None:
        case.samples([time], "s", sample=seen[case.case_id], apart=True)
        seen[case.case_id] += 1


def _seconds(text: Any) -> Any:
    """The duration of a test: `0.5`, `0.5s`, `1,234.5`; anything else unchanged, to be kept as text."""
    if not isinstance(text, str):
        return text
    plain = text.replace(",", "") if THOUSANDS.fullmatch(text) else text.removesuffix("s")
    return plain if number(plain) is not None else text

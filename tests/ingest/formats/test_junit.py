"""JUnit XML and GoogleTest: what a test took, how it ended, and XML that means harm."""

import json
from pathlib import Path

import pytest
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Metric, Outcome, Timing

from .reading import Read, read, read_file
from .samples import JUNIT, SAMPLES


def report(*tests: str, suite: str = 'name="s"') -> Read:
    """A report of test cases."""
    return read("junit", f"<testsuite {suite}>{''.join(tests)}</testsuite>", name="x.xml")


def test_a_test_is_a_case_with_its_time_and_its_end() -> None:
    """Only the time of a test that passed is a sample; Maven parts thousands."""
    got = read("junit", JUNIT, name="x.xml")

    assert [(case.suite, case.name) for case in got.of(CaseRecord)] == [
        ("pytest", "t.TestA.test_a[1]"), ("pytest", "t.test_b"), ("pytest", "t.test_c"),
    ]  # fmt: skip
    assert got.samples() == [(1_234_500_000_000, 1)]
    assert got.outcomes() == [("ok", None), ("fail_to_run", "assert 1 == 2"), ("skipped", "no GPU")]
    assert got.of(Outcome)[1].message == "def test_b():\n>  assert 1 == 2"
    assert got.metrics()["time_until_failure"] == (0.25e9, "ns")
    left = [json.loads(metric.original_value or "") for metric in got.of(Metric) if metric.metric == "fields"]
    assert left == [{"system-out": "printed"}, {"failures": [{"type": "AssertionError"}]}]


def test_the_suite_describes_the_run() -> None:
    """When, where, and its properties."""
    got = read("junit", JUNIT, name="x.xml")

    (run,) = got.runs
    assert (run.started_at, run.host, got.tags) == (1714972089500000, "n", {"commit": "abc"})


def test_suites_within_suites_and_a_test_that_is_repeated() -> None:
    """Each test is of the suite around it; the second time of one is its second sample."""
    test = '<testcase name="a" time="0.5"/>'
    got = report(test, test, f'<testsuite name="inner">{test}</testsuite>', suite='name="outer"')

    assert [case.suite for case in got.of(CaseRecord)] == ["outer", "inner"]
    assert [timing.sample for timing in got.of(Timing)] == [0, 1, 0]
    assert got.runs == []


def test_an_error_counts_as_a_failure_and_a_test_without_name_is_a_reject() -> None:
    """And what says only its type is known by that."""
    got = report(
        '<testcase name="a"><error type="OSError"/></testcase>', "<testcase/>", '<testcase name="b" time="x"/>'
    )

    assert got.outcomes() == [("fail_to_run", "OSError"), ("ok", None)]
    assert got.rejects() == [(2, "no name")]
    assert got.metrics()["latency"] == "x"


def test_google_test_writes_the_same_as_json() -> None:
    """A disabled test is skipped; the parameter of a test is an axis."""
    got = read("google-test", SAMPLES["google-test"]["results.json"])

    assert got.names == ["Math.Add/0", "Math.Sub", "Math.DISABLED_x"]
    assert got.of(CaseRecord)[0].parameters == '{"value_param": "5"}'
    assert got.samples() == [(250_000_000, 1)]
    assert got.outcomes() == [("ok", None), ("fail_to_run", "m.cc:9"), ("skipped", None)]
    assert got.runs[0].started_at == 1714979289000000


def test_google_tests_xml_is_junit() -> None:
    """It says notrun where others write an element."""
    test = '<testcase name="Add" value_param="5" status="run" result="completed" time="0.5" classname="Math"/>'
    got = report(test, '<testcase name="x" status="notrun" result="suppressed" time="0." classname="Math"/>')

    assert got.samples() == [(500_000_000, 1)] and got.outcomes() == [("ok", None), ("skipped", None)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><testsuite>&b;</testsuite>', "declares a document type"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>', "declares a document type"),
        ("<testsuite>&b;</testsuite>", "not valid XML: undefined entity"),
        ("<testsuite>" + "<a>" * 100 + "</a>" * 100 + "</testsuite>", "nested deeper than 64 levels"),
        pytest.param(
            "<testsuite>" + "<a/>" * 1_000_001 + "</testsuite>", "more than 1,000,000 elements", marks=pytest.mark.exhaustive,
        ),
        ("<testsuite><testcase name=", "not valid XML: unclosed token"),
    ],
    ids=["entities", "another file", "unknown entity", "deep", "many", "cut"],
)  # fmt: skip
def test_xml_that_means_harm_is_a_reject(tmp_path: Path, text: str, reason: str) -> None:
    """Nothing of it is expanded, and no other file is read."""
    (tmp_path / "x.xml").write_text(text)

    ((line, said),) = read_file(find_format("junit"), tmp_path / "x.xml").rejects()

    assert line == 1 and said.startswith(reason)


def test_the_encoding_is_the_one_declared() -> None:
    """Java writes others than UTF-8."""
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="\u00e9" time="1"/></testsuite>'

    assert read("junit", text.encode("latin-1"), name="x.xml").names == ["\u00e9"]

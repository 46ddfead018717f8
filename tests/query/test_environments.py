"""Environments: what differs, field by field, and nothing that does not."""

import csv
import io
import json
from typing import Any

from bench.query.comparison.environments import EnvironmentField, differences, facts, lines, sentence
from bench.warehouse import events

from ..builders import Builder, run
from ..exhaustive import exhaustive
from .conftest import Bench


def environment(name: str, **fields: Any) -> events.Environment:
    """A machine called so."""
    return events.Environment(environment_id=name, **fields)


def test_what_differs_is_named_with_both_values(warehouse: Builder) -> None:
    """Columns of the run and of its environment; what is the same is no difference."""
    warehouse.add(
        run("a", environment_id="old", git_commit="c1"), environment("old", torch="2.12", cpu="x", ram_bytes=2**34),
        run("b", environment_id="new", git_commit="c2"), environment("new", torch="2.13", cpu="x", ram_bytes=2**35),
    )  # fmt: skip

    assert [str(fact) for fact in differences(warehouse, ["a"], ["b"])] == [
        "ram_bytes: 16 GiB → 32 GiB", "torch: 2.12 → 2.13", "git_commit: c1 → c2",
    ]  # fmt: skip
    assert sentence(facts(warehouse, ["a"], ["b"])) == "3 of 5 fields differ; the same: cpu, source"


def test_json_columns_are_compared_key_by_key(warehouse: Builder) -> None:
    """A variable that is set on one side only is a difference of its own; values that are no text stay JSON."""
    warehouse.add(
        run("a", environment_id="1", tags=events.Json('{"note": "x"}')), run("b", environment_id="2"),
        environment("1", variables=events.Json('{"A": "1", "B": "2"}'), flags=events.Json('{"f": {"g": [1, null]}}')),
        environment("2", variables=events.Json('{"A": "1", "C": "3"}'), flags=events.Json('{"f": null}')),
    )  # fmt: skip

    found = [(fact.kind, fact.field, *fact.texts()) for fact in differences(warehouse, ["a"], ["b"])]
    assert found == [
        ("flags", "f", '{"g":[1,null]}', "null"), ("variables", "B", "2", "–"), ("variables", "C", "–", "3"),
        ("tags", "note", "x", "–"),
    ]  # fmt: skip


def test_what_is_no_object_is_one_fact(warehouse: Builder) -> None:
    """A list where an object was meant is not dropped."""
    warehouse.add(
        run("a", environment_id="1"), environment("1", flags=events.Json("[1]")), run("b", environment_id="2"),
        environment("2", flags=events.Json('{"f": 1}')),
    )  # fmt: skip

    assert [str(fact) for fact in differences(warehouse, ["a"], ["b"])] == ["f: – → 1", "flags: [1] → –"]


def test_several_runs_of_a_side_are_a_set_of_values(warehouse: Builder) -> None:
    """In order, once each, whatever order the runs come in; a run that does not say is among them."""
    runs = [run(name, host=host) for name, host in (("a", "h2"), ("b", "h1"), ("c", "h2"), ("d", None))]
    warehouse.add(*runs)

    (host,) = differences(warehouse, ["c", "b", "a"], ["d", "a"])
    assert (host.base, host.candidate) == (("h1", "h2"), ("h2", None))
    assert host.texts() == ("h1; h2", "h2; –")
    assert differences(warehouse, ["a", "b"], ["b", "c"]) == []


def test_runs_that_nobody_recorded_have_no_facts(warehouse: Builder) -> None:
    """An empty warehouse, and an empty side."""
    assert facts(warehouse, ["a"], ["b"]) == []
    assert sentence([]) == "none of 0 fields differ; the same: none"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@exhaustive
def test_the_command_says_what_differs_and_what_does_not(bench: Bench) -> None:
    """The table is what differs; the formats for programs carry every field; runs of one machine differ in nothing."""
    assert bench("env-diff", "aaaa-1", "aaaa-2").stdout.splitlines()[2:] == []

    result = bench("env-diff", "main", "fuse")
    assert result.stderr.startswith("none of ") and "; the same: architecture, " in result.stderr
    found = rows(bench("env-diff", "main", "fuse", "--format", "csv").stdout)
    assert {"host", "cpu", "python", "source"} <= {row["field"] for row in found if row["same"] == "true"}
    assert json.loads(bench("env-diff", "main", "fuse", "--format", "json").stdout)[0].keys() == found[0].keys()


def test_a_mistaken_side_names_the_nearest(bench: Bench) -> None:
    """As everywhere."""
    assert "'main'" in str(bench("env-diff", "mian", "fuse").exception)


def test_hostile_values_cannot_steer_a_terminal(warehouse: Builder) -> None:
    """Escape sequences are shown, not sent; quotes and keys of any kind are harmless."""
    from bench.query.comparison.environments import render
    from bench.warehouse.console.tables import escape

    nasty = {"a'; DROP TABLE runs; --": "\x1b[31m", '"': "\n", "": "x"}
    warehouse.add(
        run("a'", environment_id="1", host="\x1b]0;x\x07"), environment("1", variables=events.Json(json.dumps(nasty))),
        run("b", environment_id="2"),
    )  # fmt: skip

    _, table = render(facts(warehouse, ["a'"], ["b"]), "a'", "b")
    assert {row[1]: row[2] for row in table} == {**nasty, "host": "\x1b]0;x\x07"}
    assert all(escape(str(value)).isprintable() for row in table for value in row)


def test_a_line_for_each_difference_shortened() -> None:
    """The commit is no difference of machines; long values are cut, and a command shows them whole."""
    found = [
        EnvironmentField("machine", "cpu", ("A",), ("B",), False),
        EnvironmentField("software", "compiler", ("x" * 200,), (None,), False),
        EnvironmentField("code", "git_commit", ("c1",), ("c2",), False),
        EnvironmentField("extra", "commit_info", ("{}",), ("{1}",), False),
    ]

    assert list(lines(found, "bench env-diff a b")) == [
        "cpu differs: A → B",
        f"compiler differs: {'x' * 47}… → –",
        "whole values: bench env-diff a b",
    ]

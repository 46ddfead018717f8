"""The search for the commit that changed a number: what runs say, and which revision tells most."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from bench.query.bisect.findings import BisectFindings, BisectQuestion, RevisionRun, conclude, unusable_places
from bench.query.bisect.next_revision import information, next_places
from bench.query.bisect.render import sentences, table
from bench.query.bisect.results import all_commits, all_results, from_settings, to_settings
from bench.query.bisect.search import BisectRun, brackets, commit_prior, failing_posterior, posterior
from bench.query.bisect.suggest import bisect_command
from bench.warehouse.errors import UnknownName
from bench.warehouse.events import Json, Outcome, as_json

from ...builders import Builder, case, metric, options, outcome, run


def question(commits: int = 16, **fields: Any) -> BisectQuestion:
    names = [f"{place:040x}" for place in range(commits + 1)]
    return BisectQuestion(search="5ea4c4", good=names[0], bad=names[-1], commits=names, **fields)


def ok(place: int, change: float = 0.0, host: str = "") -> RevisionRun:
    return RevisionRun(place, host, "ok", 1e6 * (1 + change))


def searched(asked: BisectQuestion, measure: Callable[[int], RevisionRun], most: int = 64) -> BisectFindings:
    """A search to its end."""
    runs: list[RevisionRun] = []
    findings = conclude(asked, runs, count=2)
    while findings.following and len(runs) < most:
        runs += [measure(place) for place in findings.following]
        findings = conclude(asked, runs)
    return findings


def noisy(
    steps: dict[int, float], noise: float = 0.01, seed: int = 1, broken: Sequence[int] = ()
) -> Callable[[int], RevisionRun]:
    generator = random.Random(seed)

    def measure(place: int) -> RevisionRun:
        if place in broken:
            return RevisionRun(place, "", "not prepared", reason="make: Error 2")
        return ok(
            place,
            math.prod(1 + step for at, step in steps.items() if place >= at) * math.exp(generator.gauss(0, noise)) - 1,
        )

    return measure


def test_before_anything_is_measured_all_commits_are_alike() -> None:
    """But those with the tree of the one before: they cannot have changed anything."""
    prior = commit_prior(4, unchanged={2})

    assert prior[2] == 0 and prior[1] == prior[3] == prior[4] > 0 and math.isclose(prior.sum(), 1)


def test_a_clear_step_is_found_with_its_size() -> None:
    """The posterior is a probability, its interval holds the effect, and the noise is that of the runs."""
    found = posterior(
        [BisectRun(place, 0.05 * (place >= 9) + 0.001 * (place % 3)) for place in (0, 16, 0, 16, 8, 9, 8, 9)], 16
    )

    assert math.isclose(found.probability.sum(), 1)
    assert found.probability.argmax() == 9 and found.probability[9] > 0.95
    assert found.low < 0.05 < found.high and 0.0003 < found.noise < 0.01


def test_one_bad_run_does_not_decide() -> None:
    """A run of the good revision that is 40 % slower than another makes no commit guilty."""
    found = posterior(
        [BisectRun(0, 0.0), BisectRun(0, 0.34), BisectRun(8, 0.0), BisectRun(16, 0.0), BisectRun(16, 0.003)], 16
    )

    assert found.probability[1:].max() < 0.5


def test_machines_have_levels_of_their_own() -> None:
    """A machine that is three times as slow says as much as any other, and nothing of the commits it alone measured."""
    runs = [BisectRun(place, 0.1 * (place >= 5), "a") for place in (0, 8, 0, 8, 4)]
    other = [BisectRun(place, 1.1 + 0.1 * (place >= 5), "b") for place in (0, 8, 5)]

    assert posterior([*runs, *other], 8).probability.argmax() == 5
    assert posterior([*runs, *other], 8).probability[5] > 0.95 > posterior(runs, 8).probability[5]


def test_the_next_revision_is_the_one_in_the_middle_where_ends_are_clear() -> None:
    """As in `git bisect`, if runs have hardly any noise."""
    found = posterior([BisectRun(place, 0.2 * (place == 16)) for place in (0, 16, 0, 16)], 16)

    assert abs(int(information(found).argmax()) - 8) <= 1
    assert next_places(found, {0: 2, 16: 2}, unusable=[7, 8, 9])[0] in (6, 10)


def test_both_ends_are_measured_first() -> None:
    """Twice each, by every machine."""
    assert conclude(question(), [], count=2).following == [0, 16]
    assert conclude(question(), [ok(0), ok(16)]).following == [0]
    assert conclude(question(), [ok(0, host="a"), ok(16, 0.1, host="a")] * 2, host="b").following == [0]


def test_what_another_machine_measures_is_not_chosen_again() -> None:
    """Two that search together split the commits in three."""
    found = posterior([BisectRun(place, 0.2 * (place == 30)) for place in (0, 30, 0, 30)], 30)
    (first,) = next_places(found, {0: 2, 30: 2})
    (second,) = next_places(found, {0: 2, 30: 2}, taken=[first])

    assert abs(first - second) > 3


def test_commits_that_cannot_be_measured_are_bracketed_with_the_one_after_them() -> None:
    """Their own revisions would tell them apart."""
    assert [(one.first, one.last) for one in brackets(commit_prior(5), {2, 3})] == [(1, 1), (2, 4), (5, 5)]


def test_a_change_among_broken_commits_is_one_of_them() -> None:
    """The answer names all that no run can tell apart, with why."""
    findings = searched(question(), noisy({9: 0.2}, broken=(8, 9)))
    said = next(sentences(findings, lambda commit: "", unit="ns", better="lower"))

    assert findings.change is not None and (findings.change.bracket.first, findings.change.bracket.last) == (8, 10)
    assert said.startswith("one of these 3 made latency") and "slower" in said
    assert [row[-1] for row in table(findings, lambda commit: "")[1] if row[-1]] == ["not prepared: make: Error 2"] * 2


@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_change_is_found(seed: int) -> None:
    """+5 % in 1 % noise."""
    findings = searched(question(64), noisy({37: 0.05}, seed=seed))

    assert findings.status == "found" and findings.change is not None
    assert findings.change.bracket.first == findings.change.bracket.last == 37


def test_the_larger_of_two_changes_is_named_and_the_other_told() -> None:
    """Wherever it lies."""
    findings = searched(question(64), noisy({10: 0.1, 50: 0.3}, noise=0.002))

    assert findings.change is not None and findings.change.bracket.first == 50
    assert [other.bracket.first <= 10 <= other.bracket.last for other in findings.others] == [True]


def test_nothing_is_found_where_nothing_changed() -> None:
    """With little noise it is soon sure of that."""
    findings = searched(question(), noisy({}, noise=0.001))

    assert findings.status == "nothing" and findings.change is None
    assert next(sentences(findings, lambda commit: "")).startswith("no commit changed latency by 1 % or more")


def test_failures_are_found_though_some_runs_are_flaky() -> None:
    """One failure before the change and one pass after it do not mislead it."""
    generator = random.Random(2)

    def measure(place: int) -> RevisionRun:
        fails = generator.random() < (0.9 if place >= 11 else 0.05)
        return RevisionRun(place, "", "failed" if fails else "ok", None if fails else 1.0)

    findings = searched(question(finds="failure"), measure)

    assert findings.change is not None and findings.change.bracket.first == 11
    assert "made it fail" in next(sentences(findings, lambda commit: "a title"))


def test_failures_alone_say_where_they_begin() -> None:
    """Without noise three runs either side suffice."""
    runs = [BisectRun(place, float(place >= 3)) for place in (0, 4, 0, 4, 2, 3, 2, 3)]

    assert failing_posterior(runs, 4).probability.argmax() == 3


def test_a_revision_is_unusable_once_it_failed_twice_or_did_not_build() -> None:
    """One failed measurement may be chance; a success proves it was."""
    runs = [RevisionRun(place, "", "failed") for place in (1, 2, 2, 3, 3)] + [ok(3), RevisionRun(4, "", "not prepared")]

    assert unusable_places(question(), runs) == {2: "failed", 4: "not prepared"}


def stored(**tags: str) -> Builder:
    """A search in a store: two runs of either end, one of the middle, and a middle one that does not build."""
    asked = question(3, measure="bench measure function work:f")
    builder = Builder().add(run("question", "bisect", "bisect", started_at=1, settings=as_json(to_settings(asked))))
    for number, place in enumerate((0, 3, 0, 3, 2, 1)):
        own = {"bisect": asked.search, "revision": asked.commits[place], "place": str(place)}
        broken = {"stage": "prepare"} if place == 1 else {}
        builder.add(run(f"r{number}", "b", "measure", started_at=number, tags=Json(as_json({**own, **broken, **tags}))))
        if place != 1:
            one = case("f", f"r{number}")
            value = 1e6 * (1.2 if place >= 2 else 1.0) + number
            builder.add(
                one,
                outcome(one),
                Outcome(run_id=f"r{number}", status="ok"),
                metric(one, "latency", value, unit="ns", better="lower", phase="steady"),
            )
    return builder


def test_what_a_search_prints_can_be_selected() -> None:
    """A question survives being recorded; the tables follow from it and from the runs."""
    asked = question(3, models=["f"], backends=[], unchanged=frozenset({1}))
    assert from_settings(as_json(to_settings(asked))) == asked

    warehouse: Builder = stored()
    commits, (result,) = all_commits(warehouse), all_results(warehouse)
    assert [(row[1], row[4], row[5]) for row in commits] == [
        (0, "measured", 2),
        (1, "not prepared", None),
        (2, "measured", 1),
        (3, "measured", 2),
    ]
    assert result[3:5] == ["0" * 39 + "1", "0" * 39 + "2"] and 0.17 < result[7] < 0.23
    assert [status for (status,) in warehouse.rows("SELECT DISTINCT status FROM bisect_runs ORDER BY 1")] == [
        "not prepared",
        "ok",
    ]
    assert warehouse.rows("SELECT commits, command, metric FROM bisect_searches") == [
        (3, "bench measure function work:f", "latency")
    ]


def test_an_unknown_metric_is_named() -> None:
    """With those that the runs have."""
    from bench.query.bisect.results import read_runs

    with pytest.raises(UnknownName, match=r"no metric 'latenzy'.*'latency'"):
        read_runs(stored(), question(3, metric="latenzy"))


def test_the_command_for_a_finding() -> None:
    """It names what is not the default."""
    recorded = options(
        "measure function", ("what", "", "work:f"), ("where", "--config", "main"), ("sides", "--rounds", "2")
    )
    warehouse = Builder().add(run("r", "main", "measure", options=recorded))
    row = {"name": "work:f", "backend": None, "metric": "rss_peak", "phase": "steady"}

    expected = "bench bisect a..b --metric rss_peak --models work:f -- measure function work:f"
    assert bisect_command(warehouse, "r", "a..b", row) == expected.split()
    assert bisect_command(warehouse, "other", "a..b", row) is None


def test_an_end_is_measured_again_where_its_level_is_what_is_unsure() -> None:
    """The good side has two runs that disagree, and commit 1 five: another run of commit 0 tells more than one of commit 1."""
    first = [BisectRun(0, 0.0), BisectRun(0, 0.05)]
    found = posterior([*first, *(BisectRun(place, 0.05) for place in (1, 1, 1, 1, 1, 8, 8, 16, 16))], 16)

    bits = information(found)

    assert bits.argmax() == 0
    assert bits[0] > 2 * bits[1] > 0

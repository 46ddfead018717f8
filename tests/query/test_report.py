"""Reports: the verdict is that of the regressions, every section has its rows, and what is not there is not claimed."""

import datetime
import random
from dataclasses import replace
from typing import Any

import pytest
from bench.query.comparison.compare import compare
from bench.query.comparison.pull_request import document as document_of_comparison
from bench.query.comparison.sides import find_sides
from bench.query.document import Section, Told
from bench.query.report import Report, report
from bench.warehouse.errors import NothingToShow, UnknownName
from bench.warehouse.events import Environment, Event, Instant, Json, RunRecord

from ..builders import Builder, case, chunk, memory, metric, outcome, run, source, timing
from ..exhaustive import exhaustive, sampled

AXES = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}
DAY = datetime.timedelta(days=1) // datetime.timedelta(microseconds=1)


def day(number: int, *, factor: float = 1.0, models: tuple[str, ...] = ("bert", "gpt", "vit")) -> list[Event]:
    """A run of a config: models by eager and by inductor, whose latency is multiplied."""
    name, noise = f"day-{number:02d}", random.Random(number)
    found: list[Event] = [run(name, "main", started_at=Instant(number * DAY), git_commit=f"{number:040d}")]
    for model in models:
        for backend, ns in (("eager", 2_000_000), ("inductor", 1_000_000 * factor)):
            one = case(model, name, backend=backend, **AXES)
            found += [one, outcome(one)]
            found += [timing(one, int(ns * noise.lognormvariate(0, 0.002)), sample=sample) for sample in range(7)]
            found.append(metric(one, "compile_latency", 5e9, unit="ns", better="lower"))
    return found


def asked(*events: Event, name: str = "latest", against: str | None = None, **options: Any) -> Report:
    """The report of a warehouse that holds these events."""
    return report(Builder().add(*events), name, against, **options)


def section(found: Report, key: str) -> Section:
    """The section with this key."""
    return next(section for section in found.document.sections if section.key == key)


def column(found: Report, key: str, name: str) -> list[object]:
    """A column of the first table of a section."""
    table = section(found, key).tables[0]
    at = [each.name for each in table.columns].index(name)
    return [row[at] for row in table.rows]


@exhaustive
def test_memory_is_explained_where_it_was_measured() -> None:
    """The sentence on the summary names no column that it lacks."""
    peaks = [
        memory(case("bert", "day-02", backend=backend, **AXES), size, source="cuda_allocated")
        for backend, size in (("eager", 4000), ("inductor", 2000))
    ]

    assert "Memory is" not in " ".join(section(asked(*day(1)), "summary").sentences)
    assert "Memory is the eager peak" in " ".join(section(asked(*day(2), *peaks), "summary").sentences)


WEEK = [event for number in range(8) for event in day(number)]


@exhaustive
def test_a_quiet_run_is_good_news() -> None:
    """Nothing regressed in as many series as could be judged, and the section says so without a table."""
    found = asked(*WEEK, *day(8))

    assert found.document.good is True
    assert found.document.verdict.startswith("No regression in ")
    assert not section(found, "regressions").tables


@pytest.mark.exhaustive
def test_a_slower_first_call_is_told_from_a_slower_call() -> None:
    """Both are latencies: the phase stands beside the metric, in what regressed and in what changed."""
    cold = [
        timing(
            case("vit", f"day-{number:02d}", backend="eager", **AXES),
            (5_000_000 if number < 8 else 9_000_000) + number * 1000,
            phase="cold",
        )
        for number in range(9)
        for _ in range(2)  # one cold call a run is no finding
    ]
    found = asked(*WEEK, *day(8), *cold)

    assert column(found, "regressions", "metric") == column(found, "changes", "metric") == ["latency (cold)"]


@pytest.mark.exhaustive
def test_what_could_not_be_judged_is_not_said_to_be_fine() -> None:
    """One model says nothing of noise after a first day: that nothing regressed is not known."""
    found = asked(*day(0, models=("bert",)), *day(1, models=("bert",)))

    assert found.document.good is None
    assert section(found, "regressions").sentences[1:] == ["None could be judged."]


def test_a_slower_run_is_bad_news_with_the_cases_that_are() -> None:
    """Every model became 30 % slower on inductor: each is named with before, now, change."""
    found = asked(*WEEK, *day(8, factor=1.3))

    assert found.document.good is False
    slower = zip(column(found, "regressions", "name"), column(found, "regressions", "change"), strict=True)
    told = {model: round(change.value or 0, 2) for model, change in slower if isinstance(change, Told)}
    assert told == {"bert": 0.3, "gpt": 0.3, "vit": 0.3}


@exhaustive
@pytest.mark.parametrize(
    ("factor", "good", "verdict"),
    [
        pytest.param(
            1.08,
            None,
            "No other regression in 20 series; all cases together +8.0 % in latency (unsure).",
            marks=exhaustive,
        ),
        (1.25, False, "all cases together +25.0 % in latency (slower); 20 series judged."),
    ],
)
def test_what_all_cases_share_is_said_and_no_case_of_its_own(factor: float, good: bool | None, verdict: str) -> None:
    """Three runs of twenty models, the last of which is slower throughout: a doubtful shift is no good news."""
    events: list[Event] = [Environment(environment_id="e", cpu="a processor")]
    for number, by in enumerate((1, 1, factor)):
        name = f"day-{number}"
        events.append(run(name, "main", started_at=Instant(number * DAY), environment_id="e"))
        for one in (case(f"m{model}", name, backend="eager", **AXES) for model in range(20)):
            events += [
                one,
                outcome(one),
                *(timing(one, int(1_000_000 * by) + sample, sample=sample) for sample in range(7)),
            ]
    found = asked(*events)

    assert (found.document.good, found.document.verdict) == (good, verdict)
    text = found.document.markdown()
    assert "+8.0 % in latency (unsure); +8.0 % shared by 20 cases, taken out of each; p = 0.0" in text or good is False


@exhaustive
def test_a_case_that_is_gone_is_bad_news() -> None:
    """Coverage counts, though nothing left is slower."""
    found = asked(*WEEK, *day(8, models=("bert", "gpt")))

    assert found.document.good is False
    assert "no longer measured" in found.document.verdict
    assert set(column(found, "regressions", "name")) == {"vit"}


@exhaustive
def test_a_first_run_is_neither() -> None:
    """Without runs before it nothing is claimed, and nothing is set beside it."""
    found = asked(*day(0))

    assert found.document.good is None
    assert "compared with" not in dict(found.document.facts)
    assert "changes" not in {each.key for each in found.document.sections}


@pytest.mark.exhaustive
def test_any_two_runs_can_be_set_beside_each_other() -> None:
    """The one before unless another is named."""
    events = [*WEEK, *day(8, factor=1.3)]

    assert dict(asked(*events).document.facts)["compared with"] == "day-07"
    assert dict(asked(*events, against="day-02").document.facts)["compared with"] == "day-02"


@exhaustive
def test_a_report_of_two_sides_opens_with_their_comparison() -> None:
    """Its verdict and what changed, as `bench compare` gives them; then summary and suites, and environments last."""
    warehouse = Builder().add(*day(2), *day(8, models=("bert", "gpt")))

    found = report(warehouse, "day-08", "day-02")
    sides = find_sides(warehouse, "day-02", "day-08")
    compared = document_of_comparison(compare(warehouse, *sides), command="bench compare day-02 day-08")

    assert (found.document.title, found.document.verdict) == ("day-02 → day-08", compared.verdict)
    assert found.document.good is False and "no longer measured" in compared.verdict
    keys = [each.key for each in found.document.sections]
    assert keys[0] == "changed" and keys[-1] == "environment" and not {"regressions", "changes"} & {*keys}
    assert {*column(found, "changed", "verdict")} == {"REMOVED"} and not section(found, "changed").folded
    assert section(found, "changed").command == "bench compare day-02 day-08"


@exhaustive
def test_a_report_of_two_sides_takes_all_their_runs_if_asked() -> None:
    """The chart of changes, too; the command below a table says so."""
    events = [*day(1), *day(2)]
    for number in (8, 9):
        record, *rest = day(number, factor=1.3)
        assert isinstance(record, RunRecord)
        events += [replace(record, config="slow"), *rest]

    found = asked(*events, name="slow", against="main", all_runs=True)

    assert found.sides is not None and [len(side.runs) for side in found.sides] == [2, 2]
    assert found.all_runs and section(found, "changed").command == "bench compare main slow --all-runs"


@exhaustive
def test_notes_on_a_file_are_sentences() -> None:
    """Not the JSON in which the store keeps them."""
    file = source("v.csv", lines=3, run="day-00", notes=Json('["v.csv: \\"ms\\" is a value", "a blank line"]'))

    assert column(asked(*day(0), file), "left-out", "notes") == ['v.csv: "ms" is a value; a blank line']


def of(name: str, at: int, *, backends: tuple[str, ...] = ("eager", "inductor"), **axes: str) -> list[Event]:
    """A run that measured one model, whose accuracy is wrong by every backend but eager."""
    found: list[Event] = [run(name, "main", started_at=Instant(at * DAY))]
    for backend in backends:
        one = case("bert", name, backend=backend, **{**AXES, **axes})
        found += [one, outcome(one), *(timing(one, 1_000_000 + sample, sample=sample) for sample in range(7))]
        found.append(outcome(one, "fail_accuracy", kind="accuracy"))
    return found


@pytest.mark.exhaustive
def test_a_run_is_set_beside_the_newest_that_measured_the_same() -> None:
    """Not beside the nightly of another suite, mode, dtype or device that ran in between."""
    between = [
        *of("mode", 2, mode="training"), *of("dtype", 3, dtype="amp"), *of("suite", 4, suite="t"),
        *of("device", 5, device="cuda"),
    ]  # fmt: skip
    events = [*of("same", 1), *between, *of("own", 9)]

    assert dict(asked(*events).document.facts)["compared with"] == "same"


def night(first: int, *models: str) -> list[Event]:
    """A night in as many parts as models, each a run of a day of its own number that began a second after the one before."""
    found: list[Event] = []
    for part, model in enumerate(models):
        own, *measured = day(first + part, models=(model,))
        assert isinstance(own, RunRecord)
        began, tag = Instant(first * DAY + part * 1_000_000), Json(f'{{"partition": "{part + 1}/{len(models)}"}}')
        found += [replace(own, started_at=began, git_commit=f"of {first}", tags=tag), *measured]
    return found


@pytest.mark.exhaustive
def test_parts_of_a_night_are_not_set_beside_each_other() -> None:
    """The run before is of another night, and the report names all parts of its own."""
    facts = dict(asked(*day(0), *night(1, "bert", "gpt")).document.facts)

    assert facts["compared with"] == "day-00"
    assert facts["parts"] == "day-01, day-02"
    assert "parts" not in dict(asked(*WEEK).document.facts)


@exhaustive
@pytest.mark.parametrize("part", sampled(["day-04", "day-05", "day-06"], "day-05"))
def test_a_report_of_a_part_sums_up_the_whole_night(part: str) -> None:
    """Summary, cases and warnings are of all parts, beside all of the night before, whichever part is named."""
    wrong = outcome(case("gpt", "day-05", backend="inductor", **AXES), "fail_accuracy", kind="accuracy")
    builder = Builder().add(*night(1, "bert", "gpt", "vit"), *night(4, "bert", "gpt", "vit"), wrong)
    found = report(builder, part)

    compiled = column(found, "summary", "backend").index("inductor")
    (whole,) = builder.dicts("SELECT * FROM summary_diff() WHERE backend = 'inductor'")
    for name, told in (
        ("geomean speedup", "speedup"), ("speedup before", "speedup_before"), ("passing", "rate"),
        ("passing before", "rate_before"),
    ):  # fmt: skip
        assert column(found, "summary", name)[compiled] == whole[told]
    assert (whole["rate"], whole["rate_before"]) == ("67%, 2/3", "100%, 3/3")
    assert {*column(found, "suite-0", "name")} == {"bert", "gpt", "vit"}
    assert column(found, "warnings", "name") == ["gpt"]
    assert "run_id IN ('day-04', 'day-05', 'day-06')" in section(found, "suite-0").command
    assert found.document.facts[-1] == ("parts", "day-04, day-05, day-06")


@pytest.mark.exhaustive
def test_warnings_leave_out_backends_for_debugging_unless_asked() -> None:
    """And say how many."""
    events = of("own", 1, backends=("eager", "aot_eager", "inductor"))

    assert set(column(asked(*events), "warnings", "metric")) == {"accuracy"}
    assert (
        "2 warnings of eager and aot_eager left out; --backends shows them."
        in section(asked(*events), "warnings").sentences
    )
    shown = asked(*events, backends=["aot_eager"])
    assert any("backend aot_eager" in said for said in section(shown, "warnings").sentences) or "aot_eager" in column(
        shown, "warnings", "backend"
    )


@exhaustive
def test_suites_and_backends_are_chosen() -> None:
    """In every table; one that nobody measured is an error that names the nearest."""
    events = [*of("own", 1), *of("own", 1, suite="t", backends=("eager", "aot_eager"))[1:]]
    found = asked(*events, suites=["t"])

    assert [part.title for part in found.document.sections if part.key.startswith("suite-")] == ["Suite t"]
    assert "inductor" not in found.document.markdown(None)
    with pytest.raises(UnknownName, match="no backend 'induct'"):
        asked(*events, backends=["induct"])


@exhaustive
def test_what_changed_comes_first_and_what_is_cut_has_a_command() -> None:
    """Thousands of changes leave every section its most important rows."""
    many = tuple(f"model-{i:04}" for i in range(300))
    events = [event for number in range(4) for event in day(number, models=many)]
    events += [*day(4, models=many[::2], factor=1.3), *day(4, models=many[1::2])[1:]]
    found = asked(*events)
    text = found.document.markdown(15_000)
    places = [text.index(title) for title in ("### Regressions", "Changes</summary>", "### Summary", "Suite s")]

    assert places == sorted(places) and len(text) <= 15_000
    for command in (
        "bench regressions day-04 --members",
        "bench compare day-03 day-04",
        "FROM case_summaries WHERE run_id = 'day-04'",
    ):
        assert command in text
    assert text.count("_and ") >= 2
    assert "151 findings in 2 lines" in text
    (together,) = [
        number for number, name in enumerate(column(found, "regressions", "name")) if "150 cases" in str(name)
    ]
    assert str(column(found, "regressions", "reason")[together]).startswith("+29.7 to +30.4 %; ")
    change = column(found, "regressions", "change")[together]
    assert isinstance(change, Told) and "95 %" not in change.text


@pytest.mark.exhaustive
def test_commands_of_a_report_of_some_suites_are_about_these() -> None:
    """The command below a shortened section chooses as the report does, and runs."""
    many = tuple(f"model-{i:04}" for i in range(60))
    events = [event for number in range(4) for event in day(number, models=many)]
    events += [*day(4, models=many[::2], factor=1.3), *day(4, models=many[1::2])[1:]]
    found = asked(*events, suites=["s"], backends=["inductor"])
    commands = {section.key: section.command for section in found.document.sections}

    assert commands["regressions"] == "bench regressions day-04 --members --suites s --backends inductor"
    assert commands["changes"] == "bench compare day-03 day-04 --suites s --backends inductor"
    assert commands["summary"].endswith("WHERE run_id = 'day-04' AND suite = 's' AND backend = 'inductor'\"")
    assert "suite = 's' AND backend = 'inductor'" in commands["suite-0"]


@exhaustive
def test_every_suite_has_its_cases() -> None:
    """All cases with something to compare with, the smallest gain first, those without one before."""
    found = asked(*WEEK)

    assert sorted(map(str, column(found, "suite-0", "name"))) == ["bert", "gpt", "vit"]
    assert [round(float(str(value)), 1) for value in column(found, "suite-0", "speedup")] == [2.0, 2.0, 2.0]


@exhaustive
def test_a_backend_without_a_mean_has_no_number_of_cases_beside_it() -> None:
    """Eager is what the others are divided by: it passes, and no 0 stands in its row."""
    more = [case(model, "day-01", backend="cudagraphs", **AXES) for model in ("bert", "gpt")]
    found = asked(*day(1), *(event for one in more for event in (one, outcome(one), timing(one, 1_500_000))))

    assert column(found, "summary", "backend") == ["cudagraphs", "eager", "inductor"]
    assert column(found, "summary", "cases on all") == [2, None, 2]


@exhaustive
def test_scheduler_steps_have_a_section() -> None:
    """A run of steps alone is worth a report."""
    found = asked(run("r", "A"), *(chunk(line, [512, 1], run="r") for line in range(1, 50)))

    assert column(found, "scheduler", "steps") == [49]
    assert "10.1 ms" in found.document.markdown(None)  # a mean step, in the unit that it has on every page
    ((sentence, *_),) = [section.sentences for section in found.document.sections if section.key == "results"]
    assert (
        sentence == "The median of each case's samples with its 95 % interval; of all steps of a scheduler their mean."
    )


@exhaustive
def test_a_run_that_recorded_nothing_has_no_report() -> None:
    """It is said, with where to look."""
    with pytest.raises(NothingToShow, match="bench show r"):
        asked(run("r", "A"))


def test_a_name_nobody_knows_has_its_nearest() -> None:
    """As everywhere."""
    with pytest.raises(UnknownName, match="main"):
        asked(*day(0), name="mian")


HOSTILE = ("</script><script>alert(1)</script>", "a'b\"c|d`e", "名前\n## x", "*@everyone*")


@pytest.mark.parametrize("hostile", sampled(HOSTILE, HOSTILE[0]))
def test_hostile_names_stay_names(hostile: str) -> None:
    """In config, suite, model and reason: the Markdown has no tag, heading or mention of theirs."""
    one = case(hostile, "r", suite=hostile, backend="inductor")
    base = case(hostile, "r", suite=hostile, backend="eager")
    found = asked(
        run("r", hostile, started_at=Instant(1)), one, base, outcome(one, "fail_to_run", reason=hostile), outcome(base),
        timing(base, 100),
    )  # fmt: skip

    text = found.document.markdown()
    assert "<script" not in text
    assert "\n## x" not in text
    assert "@everyone" not in text

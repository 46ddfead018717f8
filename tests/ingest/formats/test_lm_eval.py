"""lm-evaluation-harness: scores of tasks."""

from bench.warehouse.events import CaseRecord

from .reading import read
from .samples import LM_EVAL


def test_a_task_is_a_case_with_its_scores() -> None:
    """A filter is an axis; the file says which direction is better; what is no number has no value."""
    got = read("lm-eval", LM_EVAL)

    assert [(case.name, case.parameters) for case in got.of(CaseRecord)] == [
        ("hellaswag", '{"n_shot": 5, "version": 1.0}'), ("gsm8k", '{"filter": "strict-match"}'),
        ("gsm8k", '{"filter": "flexible-extract"}'), ("gsm8k", None),
    ]  # fmt: skip
    assert got.metrics() == {
        "acc": (0.25, None), "acc_stderr": (0.005, None), "acc_norm": (0.5, None), "acc_norm_stderr": "N/A",
        "exact_match": (0.75, None), "perplexity": (5.5, None), "samples": (100.0, "count"),
    }  # fmt: skip
    assert (got.better()["acc"], got.better()["perplexity"], got.better()["exact_match"]) == ("higher", "lower", None)
    assert got.accounting == (2, 2, 0)


def test_the_model_is_said_of_the_run() -> None:
    """And not of the case: two models are compared in the same tasks."""
    got = read("lm-eval", LM_EVAL)

    assert (got.runs[0].git_commit, got.runs[0].started_at) == ("abc1234", 1714979289500000)
    assert got.tags["model_name"] == "gpt2" and got.tags["config"]["limit"] == 100
    assert "configs" not in got.tags and got.tags["total_evaluation_time_seconds"] == "812.5"


def test_old_files_have_no_filters() -> None:
    """Before 0.4."""
    old = {
        "results": {"piqa": {"acc": 0.5, "acc_stderr": 0.01}},
        "versions": {"piqa": 0},
        "config": {"model_args": "x"},
    }

    assert read("lm-eval", old).metrics() == {"acc": (0.5, None), "acc_stderr": (0.01, None)}

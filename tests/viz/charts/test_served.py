"""pareto and slo-curve: what they leave out, and what they do not claim."""

import re

import pytest
from bench.viz.charts import pareto, slo_curve
from bench.viz.options import option_values
from bench.viz.output.figure import Figure
from bench.viz.run_charts import DrawableRuns
from bench.warehouse.errors import BenchError

from ...builders import Builder, case, metric, timing
from ..serving import benchmarks


def untimed(builder: Builder) -> Builder:
    """Add a case whose requests do not say when they came, as those of LLMPerf."""
    other = case("other", "run-0-0", suite="serving")
    builder.add(other)
    for number in range(20):
        builder.add(timing(other, 1_000_000, sample=number), metric(other, "output_tokens", 5, sample=number))
    return builder


def subtitle(figure: Figure) -> str:
    return " · ".join(figure.spec(False)["title"]["subtitle"])


def test_a_case_without_a_load_is_counted() -> None:
    """It is not in the curve, which says so."""
    warehouse = untimed(benchmarks(loads=(4,)))

    assert "1 case left out, without a load" in subtitle(slo_curve.draw(warehouse))
    assert "1 case left out, without interactivity or throughput" in subtitle(pareto.draw(warehouse))


@pytest.mark.exhaustive
def test_a_point_without_an_interval_has_no_percentage() -> None:
    """The p99 of 240 requests: 100 % would say that it is surely on the frontier."""
    warehouse = benchmarks(loads=(4,))

    assert "how surely" in subtitle(pareto.draw(warehouse))
    assert "how surely" not in subtitle(pareto.draw(warehouse, x="ttft_p99"))
    assert "2 without an interval" in subtitle(pareto.draw(warehouse, x="ttft_p99"))


def test_a_limit_is_read_as_that_of_compare() -> None:
    """Everything would be within one that is no number; by the command `200ms` is 200, too."""
    with pytest.raises(BenchError, match="Write it in ms"):
        slo_curve.draw(benchmarks(loads=(4,)), ttft=float("inf"))
    assert option_values("slo-curve", slo_curve.draw, {"ttft": "200ms"}) == {"ttft": 200.0}


def test_the_title_says_what_is_found_of_one_config() -> None:
    """The ends of its frontier; without limits that all requests completed, with limits how many were served within them."""
    warehouse = benchmarks(configs=("A",), loads=(1, 8))

    assert re.fullmatch(
        r"A: \d+ tokens/s at [\d.]+ tokens/s/user, [\d.]+ at [\d.]+|A: [\d.]+ tokens/s/GPU at .*",
        pareto.draw(warehouse).provenance.title,
    )
    assert slo_curve.draw(warehouse).provenance.title == "all 480 requests completed"
    assert slo_curve.draw(warehouse, ttft=100.0).provenance.title.startswith("most requests/s within limits: A ")


def test_a_run_whose_requests_all_completed_has_no_chart_of_that() -> None:
    """A line at 100 % says nothing; where one failed it does."""
    warehouse = benchmarks(configs=("A", "B"), loads=(4,))
    failed = case("llama", "run-1-0", suite="serving", parameters={"max_concurrency": 4, "tp_size": 2})
    warehouse.add(metric(failed, "request_outcome", None, original_value="errored", sample=3))
    runs = DrawableRuns.of(warehouse)

    assert [chart.command.split()[0] for chart in runs.of_requests(["run-0-0"])] == ["pareto"]
    assert [chart.command.split()[0] for chart in runs.of_requests(["run-1-0"])] == ["slo-curve", "pareto"]

"""pareto and slo-curve: what they leave out, and what they do not claim."""

import pytest
from bench.viz.charts import pareto, slo_curve
from bench.viz.options import option_values
from bench.viz.output.figure import Figure
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

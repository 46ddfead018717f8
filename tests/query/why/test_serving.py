"""The time of requests in parts: they add up to what a comparison of two servers shows."""

import json
import math
import random
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.comparison.sides import Side
from bench.query.why.parts import Decomposition
from bench.query.why.serving import STRETCHES
from bench.query.why.why import why
from bench.warehouse.errors import NothingToShow
from bench.warehouse.events import Event
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import exhaustive, first_of, sampled

SIDES = (Side("base", ("base",)), Side("candidate", ("candidate",)))
REQUESTS = 100
METRICS = (
    "latency",
    "ttft",
    "tpot",
    "itl",
    *(f"{span}_p{p}" for span in ("ttft", "tpot", "e2e") for p in (50, 90, 99)),
)


@dataclass(frozen=True, slots=True)
class Server:
    """What the requests of a server take, in ms: a stall comes after every fifth token."""

    queue: float = 20.0
    prefill: float = 40.0
    front: float = 2.0
    gap: float = 10.0
    stall: float = 30.0
    tokens: int = 12
    knows: Sequence[str] = ("queue_time", "prefill_time", "itl")

    def events(self, run_id: str, seed: int = 0) -> list[Any]:
        """A run of it, whose requests differ at random."""
        rng = random.Random(f"{run_id} {seed}")
        it = case("llama", run=run_id, suite="serving", backend="vllm")
        found, numbers = [run(run_id, run_id), it, outcome(it)], iter(range(10**6))
        for sample in range(REQUESTS):
            queue, prefill = rng.expovariate(1 / self.queue), self.prefill * rng.uniform(0.8, 1.2)
            tokens = self.tokens + rng.randrange(4)
            gaps = [self.gap * rng.uniform(0.9, 1.1) + self.stall * (at % 5 == 4) for at in range(tokens - 1)]
            ttft, decode = queue + prefill + self.front, sum(gaps)
            times = {
                "latency": ttft + decode, "ttft": ttft, "tpot": decode / (tokens - 1), "queue_time": queue,
                "prefill_time": prefill,
            }  # fmt: skip
            found += [
                timing(it, round(1e6 * ms), metric=name, sample=sample)
                for name, ms in times.items()
                if name in (*self.knows, "latency", "ttft", "tpot")
            ]
            found.append(metric(it, "start_time", sample * 1e8, unit="ns", sample=sample))
            found.append(metric(it, "output_tokens", tokens, unit="tokens", sample=sample))
            if "itl" in self.knows:
                found += [timing(it, round(1e6 * gap), metric="itl", sample=next(numbers)) for gap in gaps]
                found.append(metric(it, "itl_count", len(gaps), unit="count", sample=sample))
        return found


def asked(warehouse: Builder, base: Server, candidate: Server, name: str | None = None) -> Decomposition:
    """The parts of the time of two servers."""
    warehouse.add(*base.events("base"), *candidate.events("candidate"))
    return why(warehouse, SIDES, metric=name)


def differences(found: Decomposition) -> dict[str, float]:
    """By part, in whole ms."""
    return {part.name: round(part.difference / 1e6) for part in found.parts}


@pytest.mark.parametrize("name", sampled(METRICS, *METRICS[::8]))
def test_parts_and_unattributed_are_the_difference(warehouse: Builder, name: str) -> None:
    """Whatever time of requests, to a thousandth of a nanosecond."""
    found = asked(warehouse, Server(), Server(queue=60, gap=12, tokens=16), name)

    together = math.fsum(part.difference for part in (*found.parts, found.unattributed))
    assert together == pytest.approx(found.whole.difference, abs=1e-3)
    assert abs(found.unattributed.difference) < 0.25 * abs(found.whole.difference)


@pytest.mark.parametrize(
    ("changed", "part"),
    first_of(
        1,
        [
            (Server(queue=80), "queue"),
            (Server(gap=14), "decode: time per token"),
            (Server(stall=120), "stalls between tokens"),
            (Server(prefill=120), "prefill"),
            (Server(front=60), "outside the engine, until the first token"),
            (Server(tokens=40, stall=1), "decode: number of tokens"),
        ],
    ),
)
def test_the_part_that_changed_comes_first(warehouse: Builder, changed: Server, part: str) -> None:
    """It has most of the difference of the latency, and its interval leaves 0 out."""
    found = asked(warehouse, replace(Server(), stall=min(changed.stall, 30)), changed)

    assert found.parts[0].name == part
    assert found.parts[0].is_beyond_noise
    assert found.parts[0].difference > 0.8 * found.whole.difference


@exhaustive
def test_the_parts_of_each_time(warehouse: Builder) -> None:
    """The time to the first token has those before it, a token those after it."""
    asked(warehouse, Server(), Server(queue=60))

    names = {name: {part.name for part in why(warehouse, SIDES, metric=name).parts} for name in ("ttft", "tpot", "itl")}
    assert names["ttft"] == {"queue", "prefill", "outside the engine, until the first token"}
    assert names["tpot"] == names["itl"] == {"usual gaps between tokens", "stalls between tokens"}


def test_gaps_are_those_of_the_request_that_they_are_of(warehouse: Builder) -> None:
    """They are numbered through all completed requests; one that failed has a count, and none of them."""
    it = case("llama", run="base", suite="serving", backend="vllm")
    gaps = {0: [10, 10, 10], 2: [10, 95], 3: []}  # request 1 failed
    numbers = iter(range(9))
    warehouse.add(
        run("base"), it, outcome(it), metric(it, "request_outcome", None, sample=1, original_value="errored"),
        *(metric(it, "itl_count", count, unit="count", sample=sample) for sample, count in enumerate([3, 2, 2, 0])),
        *(timing(it, 10**9, metric="latency", sample=sample) for sample in gaps),
        *(timing(it, 10**6 * ms, metric="itl", sample=next(numbers)) for each in gaps.values() for ms in each),
    )  # fmt: skip

    rows = warehouse.rows("SELECT arrival_s, gaps, gaps_ms, stalls_ms FROM request_times(['base']) ORDER BY ALL")
    assert rows == [(0.0, 3, 30.0, 0.0), (2.0, 2, 105.0, 75.0), (3.0, 0, 0.0, 0.0)]


def test_gaps_of_which_some_are_lost_belong_to_no_request(warehouse: Builder) -> None:
    """Nobody can say whose they are in a record that has fewer than it counts."""
    it = case("llama", run="base", suite="serving", backend="vllm")
    warehouse.add(
        run("base"), it, outcome(it), timing(it, 10**9, metric="latency", sample=0),
        timing(it, 10**6, metric="itl", sample=0), metric(it, "itl_count", 2, unit="count", sample=0),
    )  # fmt: skip

    assert warehouse.rows("SELECT gaps, gaps_ms, stalls_ms FROM request_times(['base'])") == [(None, None, None)]


@exhaustive
def test_without_the_engine_s_times_the_first_token_is_one_part(warehouse: Builder) -> None:
    """And a note says what is not recorded."""
    found = asked(warehouse, Server(), Server(queue=80, knows=("itl",)))

    assert next(iter(differences(found))) == "until the first token"
    assert "how long the engine queued them is not recorded" in found.notes[-1]


def test_what_would_record_parts_is_said(warehouse: Builder) -> None:
    """A client's time to the first token has none."""
    with pytest.raises(NothingToShow, match=r"docs/serving\.md"):
        asked(warehouse, Server(knows=()), Server(knows=()), "ttft")


def test_few_requests_tell_no_interval(warehouse: Builder) -> None:
    """At the 99th percentile of 100 requests is one."""
    found = asked(warehouse, Server(), Server(queue=60), "ttft_p99")

    assert [part.low for part in found.parts] == [None] * 3


@exhaustive
def test_several_runs_tell_the_interval_by_how_they_differ(warehouse: Builder) -> None:
    """Two runs of one side, of which one queues longer: one degree of freedom, so the interval of the queue is wide."""
    one = asked(warehouse, Server(), Server(queue=60), "ttft")
    warehouse.add(*Server(queue=90).events("again"))
    sides = SIDES[0], Side("candidate", ("candidate", "again"))
    several = why(warehouse, sides, metric="ttft")

    widths = [found.parts[0].high - found.parts[0].low for found in (one, several)]  # type: ignore[operator]
    assert [found.parts[0].name for found in (one, several)] == ["queue", "queue"]
    assert widths[1] > 3 * widths[0]
    assert STRETCHES == 10


@exhaustive
def test_unchanged_servers_do_not_differ(warehouse: Builder) -> None:
    """Requests at random, nothing else: no part is far from 0."""
    found = asked(warehouse, Server(), Server(), "ttft")

    assert found.notes[0] == "nothing differs beyond noise"


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Any]:
    """The command line over a store of two servers that differ, each with two cases of one name."""
    store = Store.find(tmp_path / "store")
    for config, server in {"a": Server(), "b": Server(queue=200)}.items():
        other = case("llama", run=config, suite="serving", backend="vllm", parameters={"request_rate": 2})
        by_kind: dict[type[Event], list[Event]] = {}
        for event in (*server.events(config), other, outcome(other)):
            by_kind.setdefault(type(event), []).append(event)
        for kind, events in by_kind.items():
            EventLog(store).write(kind, events, config)
    load(store)
    return lambda *words: CliRunner().invoke(cli, [*words, "--store", str(store.root)], standalone_mode=False)


@pytest.mark.parametrize("options", [(), pytest.param(("--slo", "ttft=100"), marks=exhaustive)])
def test_a_comparison_of_servers_ends_with_the_question(bench: Callable[..., Any], options: Sequence[str]) -> None:
    """The command under it is one that answers, where a name stands for several cases, too."""
    compared = bench("compare", "a", "b", *options)

    line = next(line for line in compared.stderr.splitlines() if line.startswith("why: bench "))
    answered = bench(*shlex.split(line.removeprefix("why: bench ")), "--format", "json")
    assert json.loads(answered.stdout)[0]["parts"][0]["name"] == "queue"

"""perf stat: counters, what was not counted, and what perf derives."""

import json

import pytest
from bench.warehouse.events import CaseRecord

from .reading import Read, read

LINES = """# started on Thu May  9 10:11:12 2024

1.20,msec,task-clock:u,1204272,100.00,0.697,CPUs utilized
700,,page-faults:u,1204272,75.00,58.126,K/sec
<not supported>,,cycles:u,0,100.00,,
2000,,instructions:u,1204272,100.00,0.89,insn per cycle
,,,,,1.5,stalled cycles per insn
"""


def load(text: str, name: str = "mine.csv") -> Read:
    """Read lines."""
    return read("perf-stat", text, name=name)


def test_a_counter_is_a_metric_of_its_event() -> None:
    """Times in ns; what was not counted has no value; derived ones have the name perf gives them."""
    got = load(LINES)

    assert got.names == ["mine"] and got.accounting == (5, 5, 0)
    assert got.metrics() == {
        "task-clock:u": (1.2e6, "ns"), "CPUs utilized": (0.697, None), "page-faults:u": (700.0, "count"),
        "page-faults:u_rate": (58126.0, "events/s"), "cycles:u": "<not supported>", "instructions:u": (2000.0, "count"),
        "insn per cycle": (0.89, None), "stalled cycles per insn": (1.5, None),
    }  # fmt: skip
    assert got.runs[0].started_at == 1715249472000000
    assert got.tally.notes == [
        "mine.csv: some events were counted for a part of the time only, and perf scaled them up"
    ]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_any_separator_will_do(separator: str) -> None:
    """As perf itself recommends: its commas stand in names, too."""
    assert load(LINES.replace(",", separator)).metrics() == load(LINES).metrics()


def test_repeats_are_a_mean_with_its_error() -> None:
    """In percent of the mean."""
    got = load("3,msec,task-clock,0.35%,1000,100.00,,\n")

    assert got.metrics() == {"task-clock_mean": (3e6, "ns"), "task-clock_error": (0.35, "%")}


def test_intervals_are_samples_and_places_are_axes() -> None:
    """`-I 1000 --per-socket`."""
    got = load("     1.001,S0,8,5,,faults,1000,100.00,,\n     2.002,S0,8,7,,faults,1000,100.00,,\n")

    assert [case.parameters for case in got.of(CaseRecord)] == ['{"place": "S0"}']
    assert list(got.metrics()) == ["faults", "fields"]
    assert json.loads(got.metrics()["fields"]) == {"interval": "2.002", "aggregate-number": "8"}


def test_json_says_the_same() -> None:
    """One object a line; a line may hold nothing but a derived metric."""
    lines = [
        {"counter-value": "1.2", "unit": "msec", "event": "task-clock", "event-runtime": 5, "pcnt-running": 100.0,
         "metric-value": "0.697", "metric-unit": "CPUs utilized"},
        {"counter-value": "<not counted>", "unit": "", "event": "cycles", "event-runtime": 0, "pcnt-running": 0.0},
        {"metric-value": "39.2", "metric-unit": "%  tma_backend_bound"},
        {"core": "S0-D0-C1", "counter-value": "7", "unit": "", "event": "faults", "variance": 0.5, "event-runtime": 5},
    ]  # fmt: skip
    got = load("".join(f"{json.dumps(line)}\n" for line in lines) + "oops\n", name="mine.json")

    assert got.metrics() == {
        "task-clock": (1.2e6, "ns"), "CPUs utilized": (0.697, None), "cycles": "<not counted>", "tma_backend_bound": (39.2, "%"),
        "faults_mean": (7.0, "count"), "faults_error": (0.5, "%"),
    }  # fmt: skip
    assert [case.parameters for case in got.of(CaseRecord)] == [None, '{"core": "S0-D0-C1"}']
    assert got.rejects() == [(5, "no counter: value, unit, event, run time and percentage")]


COMMAS = """
 Performance counter stats for './b':

         26,554473 task-clock (msec)       #    0,965 CPUs utilized
        77 375 671 cycles                  #    2,914 GHz
       121.540.390 instructions            #    1,57  insns per cycle
                                           #    0,23  stalled cycles per insn
                13 context-switches        #    0,490 K/sec

       0,027523321 seconds time elapsed
"""


def test_a_decimal_comma_is_one_all_over_the_table() -> None:
    """The elapsed time is never grouped: its comma says that perf ran in a locale that has them."""
    got = read("perf-stat-text", COMMAS, name="perf.txt")

    assert got.accounting == (6, 6, 0)
    assert got.metrics() == {
        "task-clock": (26554473.0, "ns"), "CPUs utilized": (0.965, None), "cycles": (77375671.0, "count"), "GHz": (2.914, None),
        "instructions": (121540390.0, "count"), "insns per cycle": (1.57, None), "stalled cycles per insn": (0.23, None),
        "context-switches": (13.0, "count"), "context-switches_rate": (490.0, "events/s"), "latency": (27523321.0, "ns"),
    }  # fmt: skip


METRICS = """
 Performance counter stats for 'system wide':

             7,932      context-switches                 #    281.7 cs/sec  cs_per_second
             TopdownL1 (cpu_core)                 #     10.3 %  tma_bad_speculation
                                                  #     17.3 %  tma_frontend_bound
       418,955,116      cpu_atom/cpu-cycles/             #      0.8 GHz  cycles_frequency       (49.77%)
     1,113,933,476      cpu_core/cpu-cycles/             #      1.2 GHz  cycles_frequency

       1.002367894 seconds time elapsed
"""


def test_metrics_have_their_names_units_and_kind_of_core() -> None:
    """perf 6.19 names what it derives; a group's lines have no counter, and of two kinds of cores each has its own metric."""
    got = read("perf-stat-text", METRICS, name="perf.txt")

    assert got.accounting == (6, 6, 0)
    assert got.metrics() == {
        "context-switches": (7932.0, "count"), "cs_per_second": (281.7, "cs/s"), "cpu_core/tma_bad_speculation": (10.3, "%"),
        "cpu_core/tma_frontend_bound": (17.3, "%"), "cpu_atom/cpu-cycles/": (418955116.0, "count"),
        "cpu_atom/cycles_frequency": (0.8, "GHz"), "cpu_core/cpu-cycles/": (1113933476.0, "count"),
        "cpu_core/cycles_frequency": (1.2, "GHz"), "latency": (1002367894.0, "ns"),
    }  # fmt: skip

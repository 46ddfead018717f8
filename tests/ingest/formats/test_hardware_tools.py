"""fio, nccl-tests, trtexec and Nsight's tables: disks, links, engines and kernels."""

import json

from bench.warehouse.events import CaseRecord, Metric

from .reading import read
from .samples import FIO, NCCL, NCU, NCU_RAW, NSYS_STATS, TRT_TIMES


def test_fio_has_a_case_for_each_direction_that_did_something() -> None:
    """Options are axes, file names are not; bandwidth is in bytes, times in ns."""
    got = read("fio", FIO)

    axes = [json.loads(case.parameters or "") for case in got.of(CaseRecord)]
    assert axes == [
        {"bs": "4k", "direction": "read", "ioengine": "libaio", "rw": "randread"},
        {"bs": "4k", "ioengine": "libaio", "rw": "randread"},
    ]  # fmt: skip
    said = got.metrics()
    assert said["latency_mean"] == (250.5, "ns") and said["completion_latency_p99.9"] == (900.0, "ns")
    assert said["throughput"] == (4096000.0, "bytes/s") and said["iops"] == (1000.0, "ops/s")
    assert said["user_cpu"] == (1.5, "%") and said["duration"] == (1e9, "ns")
    assert got.runs[0].started_at == 1714979289500000 and got.tags["fio version"] == "fio-3.28"


def test_an_old_fio_counts_in_us_and_a_failed_job_says_so() -> None:
    """Before version 3."""
    job = {
        "jobname": "j",
        "error": 5,
        "write": {"io_bytes": 4, "bw": 2, "iops": 1.5, "lat": {"min": 1, "max": 2, "mean": 1.5}},
    }
    got = read("fio", {"fio version": "fio-2.2", "jobs": [job]})

    assert got.metrics()["latency_mean"] == (1500.0, "ns") and got.metrics()["throughput"] == (2048.0, "bytes/s")
    assert ("fail_to_run", "error 5") in got.outcomes()


def test_what_fio_printed_before_its_document_is_passed_over() -> None:
    """As where its errors went into the same file."""
    talk = "rand: (g=0): rw=randread, ioengine=libaio\nfio: io_u error on file /x: No space left on device\n"
    got = read("fio", talk + json.dumps(FIO, indent=1), name="fio.txt")

    assert got.accounting == read("fio", FIO).accounting and got.metrics() == read("fio", FIO).metrics()


def test_a_row_of_nccl_tests_is_out_of_place_and_in_place() -> None:
    """Named by the collective; wrong values are a failure."""
    got = read("nccl-tests", NCCL, name="log.txt")

    first, second, *_ = [(case.name, json.loads(case.parameters or "")) for case in got.of(CaseRecord)]
    axes = {"size": 8, "type": "float", "redop": "sum", "ranks": 2}
    assert first == ("all_reduce_perf", axes | {"place": "out-of-place"})
    assert second == ("all_reduce_perf", axes | {"place": "in-place"})
    times = [metric.value for metric in got.of(Metric) if metric.metric == "latency"]
    assert times == [36920.0, 36440.0, 100500.0, 99250.0]
    assert got.metrics()["busbw"] == (2.5e9, "bytes/s") and got.metrics()["wrong"] == (3.0, "count")
    assert [outcome for outcome in got.outcomes() if outcome[0] != "ok"] == [("fail_accuracy", "3 values are wrong")]


def test_an_older_table_without_a_collective_has_the_name_of_the_file() -> None:
    """And an error in the place of the wrong values."""
    text = NCCL.replace("# Collective test starting: all_reduce_perf\n", "").replace("#wrong", "error")
    got = read("nccl-tests", text.replace("      3\n", "  2e-05\n"), name="gather.txt")

    assert got.names[0] == "gather" and json.loads(got.metrics()["fields"]) == {"error": "2e-05"}


def test_a_row_of_other_length_is_a_reject() -> None:
    """As of a job that was killed."""
    got = read("nccl-tests", NCCL[: NCCL.rindex("99.25")] + "\n", name="log.txt")

    assert got.rejects() == [(8, "9 columns under a header of 13")]


def test_inferences_of_trtexec_are_samples() -> None:
    """New versions say start and end only."""
    got = read("trtexec-times", TRT_TIMES, name="resnet.json")

    assert got.names == ["resnet"] and got.samples() == [(1_500_000, 1), (2_500_000, 1)]
    assert got.samples("compute") == [(1_250_000, 1), (1_125_000, 1)]
    assert got.samples("h2d") == [(250_000, 1), (125_000, 1)]
    assert got.accounting == (2, 2, 0)


def test_layers_of_trtexec_are_cases() -> None:
    """The file is their suite."""
    layers = [
        {"count": 625},
        {"name": "conv", "timeMs": 36.5, "averageMs": 0.0625, "medianMs": 0.05, "percentage": 1.25},
    ]
    got = read("trtexec-profile", layers, name="resnet.json")

    assert [(case.name, case.suite) for case in got.of(CaseRecord)] == [("conv", "resnet")]
    assert got.metrics() == {
        "latency_mean": (62500.0, "ns"), "latency_median": (50000.0, "ns"), "latency_sum": (36.5e6, "ns"), "share": (1.25, "%"),
    }  # fmt: skip
    assert got.tags == {"count": 625} and got.accounting == (1, 1, 0)


def test_several_reports_of_nsys_are_in_one_file() -> None:
    """Each with its header; what is said in between is no row."""
    got = read("nsys-stats", NSYS_STATS, name="stats.csv")

    assert [(case.suite, case.name) for case in got.of(CaseRecord)] == [
        ("kernel", "burn(float *, int, int)"), ("gpu_memcpy", "[CUDA memcpy HtoD]"),
    ]  # fmt: skip
    said = got.metrics()
    assert said["latency_mean"] == (5783718.2, "ns") and said["latency_sum"] == (28918591.0, "ns")
    assert said["size_sum"] == (1.5e6, "bytes") and said["share"] == (100.0, "%") and said["calls"] == (3.0, "count")
    assert got.accounting == (2, 2, 0)


def test_a_metric_of_ncu_is_a_sample_of_its_kernel() -> None:
    """Thousands are parted; rows may end before the columns about rules do."""
    got = read("ncu", NCU, name="ncu.csv")

    assert [(case.suite, case.name) for case in got.of(CaseRecord)] == [("kernel", "mm(float *, int)")]
    assert json.loads(got.of(CaseRecord)[0].parameters or "") == {
        "block": [32, 32, 1],
        "grid": [64, 64, 1],
        "device": "0",
    }
    assert got.metrics() == {"latency": (10196000.0, "ns"), "Memory Throughput": (78.5, "%")}
    assert got.accounting == (2, 2, 0)


def test_a_raw_page_of_ncu_has_a_column_for_each_metric() -> None:
    """Units stand below the header; numbers are samples, texts are fields."""
    got = read("ncu", NCU_RAW, name="raw.csv")

    assert got.names == ["mm(float *, int)", "relu(float *)"] and got.accounting == (2, 2, 0)
    values = {
        (metric.metric, metric.value, metric.unit) for metric in got.of(Metric) if metric.line == 1 and metric.value
    }
    assert values == {
        ("latency", 1205250.0, "ns"), ("dram__bytes_read.sum", 2000500.0, "bytes"), ("sm__throughput.avg.pct", 80.5, "%"),
    }  # fmt: skip
    assert json.loads(got.metrics()["fields"]) == {
        "device__attribute_name": "NVIDIA A100",
        "sm__throughput.avg.pct": "n/a",
    }


def test_the_header_of_a_raw_page_may_be_longer_than_what_is_looked_at() -> None:
    """Of all metrics there are it has 60 KB."""
    first, header, *rows = NCU_RAW.splitlines()
    names = ",".join(f'"l1tex__a_metric_with_a_long_name_{index}.sum"' for index in range(1500))
    values = ",".join(['"1"'] * 1500)
    text = "\n".join([first, f"{header},{names}", *(f"{row},{values}" for row in rows)])
    got = read("ncu", text, name="raw.csv")

    assert got.accounting == (2, 2, 0)

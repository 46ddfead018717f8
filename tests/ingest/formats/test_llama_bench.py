"""llama-bench: one test, however it is written."""

import csv
import io
import json

from bench.warehouse.events import CaseRecord, Metric

from .reading import read
from .samples import LLAMA

TABLE = """ggml_cuda_init: found 1 device
| model                  |     size |  params | backend | ngl |            test |            t/s |
| ---------------------- | -------: | ------: | ------- | --: | --------------: | -------------: |
| qwen2 7B Q4_K - Medium | 4.36 GiB |  7.62 B | CUDA    |  99 |           pp512 | 7100.00 ± 140.34 |
| qwen2 7B Q4_K - Medium | 4.36 GiB |  7.62 B | CUDA    |  99 |   tg128 @ d4096 |  197.71 ± 0.81 |

build: 8cf427ff (5163)
"""


def test_a_test_is_a_case_with_its_samples() -> None:
    """Times, and tokens a second; the settings are axes, the build and the machine the run."""
    got = read("llama-bench", [LLAMA, LLAMA | {"n_prompt": 0, "n_gen": 128, "n_depth": 4096}])

    first, second = got.of(CaseRecord)
    assert (first.name, first.backend) == ("qwen2 7B Q4_K - Medium", "CUDA")
    assert json.loads(first.parameters or "") == {
        "test": "pp512", "n_batch": 2048, "type_k": "f16", "flash_attn": 0, "tensor_split": "0.00",
    }  # fmt: skip
    assert json.loads(second.parameters or "")["test"] == "tg128 @ d4096"
    assert got.samples()[:2] == [(74_601_900, 1), (71_632_900, 1)]
    speeds = [metric for metric in got.of(Metric) if metric.metric == "throughput" and metric.statistic is None]
    assert [(metric.value, metric.unit, metric.better) for metric in speeds[:2]] == [
        (6863.1, "tokens/s", "higher"), (7147.55, "tokens/s", "higher"),
    ]  # fmt: skip
    assert got.metrics()["throughput_mean"] == (7100.002165, "tokens/s")
    (run,) = got.runs
    assert (run.git_commit, run.started_at, got.tags) == ("8cf427ff", 1745495930000000, {"build_number": 5163})
    assert (got.environment.cpu, got.environment.gpus) == ("c", ["G"])


def test_lines_and_csv_are_the_same_cases() -> None:
    """CSV has texts, 0 for false, and no samples."""
    plain = {
        key: int(value) if isinstance(value, bool) else value for key, value in LLAMA.items() if "samples" not in key
    }
    out = io.StringIO()
    writer = csv.DictWriter(out, plain, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerow(plain)

    cases = [
        read("llama-bench", text, name=name).of(CaseRecord)[0].case_id
        for name, text in (("x.json", [LLAMA]), ("x.jsonl", f"{json.dumps(LLAMA)}\n"), ("x.csv", out.getvalue()))
    ]
    assert len(set(cases)) == 1
    assert read("llama-bench", out.getvalue(), name="x.csv").metrics()["latency_mean"] == (72135640.0, "ns")


def test_the_markdown_table_has_speeds_and_the_build() -> None:
    """Amid what else was printed; sizes are rounded and stay as they are."""
    got = read("llama-bench", TABLE, name="x.md")

    assert [json.loads(case.parameters or "") for case in got.of(CaseRecord)] == [
        {"test": "pp512", "n_gpu_layers": 99}, {"test": "tg128 @ d4096", "n_gpu_layers": 99},
    ]  # fmt: skip
    assert got.metrics()["throughput_mean"] == (197.71, "tokens/s")
    assert got.metrics()["throughput_stddev"] == (0.81, "tokens/s")
    assert got.runs[0].git_commit == "8cf427ff" and got.accounting == (2, 2, 0)


def test_a_broken_row_of_the_table_is_a_reject() -> None:
    """As of a run that was stopped."""
    got = read("llama-bench", TABLE.replace("197.71 ± 0.81", "error"), name="x.md")

    assert got.rejects() == [(2, "no row of the table: as many cells as the header, and a speed")]

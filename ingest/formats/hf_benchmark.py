"""transformers benchmark v2: a configuration of a model's generation, timed some times in one process."""

import re
from collections.abc import Iterable
from typing import Any

from ..readers.declared import Declared, Quantity, taken
from ..readers.document import BadRecord, Object, show
from ..readers.results import Results, Subject, number

GAPS = ("measurements.dt_tokens", "measurements.token_generation_times")  # one list, by its older and its newer name
CONFIG = (
    "num_tokens_to_generate", "compile_mode", "compile_kwargs", "attn_implementation", "attn_impl", "sdpa_backend", "kernelize",
    "compiled", "warmup_iterations", "measurement_iterations", "gpu_monitoring", "continuous_batching",
)  # fmt: skip


class HfBenchmark(Declared):
    """Results of transformers' benchmark."""

    name = "hf-benchmark"
    doc = "transformers benchmark v2 JSON or JSON lines"
    becomes = (
        "file (without its date) or model → case, config → axes; e2e_latency → latency; time_to_first_token → ttft, "
        "inter_token_latency → tpot; dt_tokens → both; success false → fail_to_run"
    )
    lost = "when each token came"
    lines = True
    began = re.compile(r'"timestamp": *"([^"]{8,40})"')
    shapes = (frozenset({"metadata.hardware_info", "measurements.e2e_latency", "config.batch_size"}),)
    about = {
        "started_at": "metadata.timestamp", "git_commit": "metadata.commit_id", "git_branch": "metadata.branch_name",
        "gpus": "metadata.hardware_info.gpu_name", "cpu": "metadata.hardware_info.cpu_name",
        "python": "metadata.hardware_info.python_version", "torch": "metadata.hardware_info.torch_version",
    }  # fmt: skip
    axes = {
        "config": "config.name", "batch_size": "config.batch_size", "sequence_length": "config.sequence_length",
        **{key: f"config.{key}" for key in CONFIG},
    }  # fmt: skip
    values = {
        "measurements.e2e_latency": Quantity("latency", "s", block=0),
        "measurements.time_to_first_token": Quantity("ttft", "s", block=0),
        "measurements.inter_token_latency": Quantity("tpot", "s", block=0),
    }
    omitted = ("measurements.timestamps", "measurements.decoded_outputs", "benchmark_config_hash")

    def recognise(self, head: Any) -> bool:
        """Return whether it has the fields, at the top or under the hash of a configuration."""
        inner = {path.partition(".")[2] for path in head.paths}
        return super().recognise(head) or self.shapes[0] <= inner

    def find(self, document: Any) -> Iterable[Any]:
        """The one configuration, those that stand under their hashes, or one a line."""
        for one in document if isinstance(document, list) else [document]:
            yield from one.values() if isinstance(one, Object) and "measurements" not in one else [one]

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """The machine is that of the first configuration."""
        records = list(self.find(document))
        first = next((record for record in records if isinstance(record, Object)), Object())
        super().open(first, results)
        return records

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """Named by the model, or by the file without its date."""
        model = taken(record, "metadata.model_id")
        named = model if isinstance(model, str) and model else results.file_name().removesuffix("_benchmark")
        return super().case(record, results, name or named)

    def more(self, record: Object, case: Subject, results: Results) -> None:
        """Its failure; and of times since the start of each call, to its first token, and between tokens on average."""
        if taken(record, "metadata.success") is False:
            case.outcome("fail_to_run", "its success is false")
        calls = [call for key in GAPS for call in _listed(record, key) if isinstance(call, list) and call]
        first, mean = [call[0] for call in calls], list[float | None]()
        for call in calls:
            begin, end = number(call[0]), number(call[-1])
            mean.append(
                (end - begin) / (len(call) - 1) if len(call) > 1 and begin is not None and end is not None else None
            )
        case.samples(first, "s", metric="ttft", block=0)
        case.samples(mean, "s", metric="tpot", block=0)


def _listed(record: Object, path: str) -> list[Any]:
    value = taken(record, path)
    if value and not isinstance(value, list):
        raise BadRecord(f"{path} is {show(value)}, not a list")
    return value or []

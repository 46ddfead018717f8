"""trtllm-bench of TensorRT-LLM: its report of throughput and latency (--report_json)."""

from ..readers.declared import Declared, Quantity, look
from ..readers.document import Object
from ..readers.results import Results, Subject, number
from . import _serving

PERCENTILE = r"(p\d+(?:\.\d+)?|minimum|maximum)"


class TrtllmBench(Declared):
    """Reports of trtllm-bench."""

    name = "trtllm-bench"
    doc = "trtllm-bench report (--report_json)"
    becomes = "parallelism, limits, number and mean lengths of requests → axes"
    shapes = (frozenset({"engine.model", "world_info.tp_size", "performance.request_throughput_req_s"}),)
    about = {"gpus": "machine.name", "tensorrt_llm": "engine.version"}
    names = ("engine.model",)
    axes = {
        "suite": "=serving", "backend": "engine.backend", "dtype": "engine.dtype", "kv_cache_dtype": "engine.kv_cache_dtype",
        "quantization": "engine.quantization", "num_requests": "request_info.num_requests",
        "input_tokens": "input_tokens", "output_tokens": "output_tokens",
        **{key: f"world_info.{key}" for key in (
            "tp_size", "pp_size", "ep_size", "world_size", "max_batch_size", "max_num_tokens", "scheduling_policy",
            "kv_cache_percentage",
        )},
    }  # fmt: skip
    values = {
        "request_info.avg_input_length": Quantity("input_tokens", "tokens", "mean", better=None),
        "request_info.avg_output_length": Quantity("output_tokens", "tokens", "mean", better=None),
        "request_info.avg_num_concurrent_requests": Quantity("concurrency", "count", "mean", better=None),
        "performance.total_latency_ms": Quantity("benchmark_duration", "ms", better=None),
        "performance.avg_request_latency_ms": Quantity("latency", "ms", "mean"),
        "performance.request_throughput_req_s": Quantity("request_throughput", "requests/s"),
        "performance.system_output_throughput_tok_s": Quantity("output_throughput", "tokens/s"),
        "performance.system_total_throughput_tok_s": Quantity("total_throughput", "tokens/s"),
        "performance.output_throughput_per_user_tok_s": Quantity("output_throughput_per_user", "tokens/s"),
        "performance.output_throughput_per_gpu_tok_s": Quantity("output_throughput_per_gpu", "tokens/s"),
        "streaming_metrics.token_output_speed_tok_s": Quantity("generation_throughput", "tokens/s", "mean"),
        "streaming_metrics.avg_ttft_ms": Quantity("ttft", "ms", "mean"),
        "streaming_metrics.avg_tpot_ms": Quantity("tpot", "ms", "mean"),
    }
    patterns = {
        rf"performance\.request_latency_percentiles_ms\.{PERCENTILE}": Quantity("latency", "ms", r"\1"),
        rf"streaming_metrics\.(ttft|tpot)_percentiles\.{PERCENTILE}": Quantity(r"\1", "ms", r"\2"),
        rf"streaming_metrics\.gen_tps_percentiles\.{PERCENTILE}": Quantity("generation_throughput", "tokens/s", r"\1"),
        rf"decoding_stats\.(\w+)_percentiles\.{PERCENTILE}": Quantity(r"\1", statistic=r"\2"),
    }

    def case(self, record: Object, results: Results, name: str | None = None) -> Subject:
        """Its mean lengths are axes as those of other serving tools are."""
        for axis in ("input", "output"):
            mean = number(look(record, f"request_info.avg_{axis}_length"))
            if mean:
                record[f"{axis}_tokens"] = _serving.length(mean, response=axis == "output")
        return super().case(record, results, name)

"""SGLang: bench_one_batch and bench_one_batch_server, JSON lines of batches without a scheduler, or sent one by one."""

from ..readers.declared import Declared, Quantity

AXES = ("batch_size", "input_len", "output_len", "run_name", "cache_hit_rate", "model_path", "tp_size")


class SglangOneBatch(Declared):
    """Batches of SGLang."""

    name = "sglang-one-batch"
    doc = "sglang.bench_one_batch JSON lines, also of bench_one_batch_server"
    becomes = "file → case, batch_size, input_len, output_len → axes; decode steps → decode_latency"
    shapes = (
        frozenset({"batch_size", "input_len", "output_len", "prefill_latency", "total_latency"}),
        frozenset({"batch_size", "input_len", "output_len", "overall_throughput", "last_gen_throughput"}),
    )
    lines = True
    axes = {axis: axis for axis in AXES}
    values = {
        "prefill_latency": Quantity("prefill_latency", "s", void=True),
        "prefill_throughput": Quantity("prefill_throughput", "tokens/s", void=True),
        "median_decode_latency": Quantity("decode_latency", "s", "median", void=True),
        "median_decode_throughput": Quantity("decode_throughput", "tokens/s", "median", void=True),
        "total_latency": Quantity("latency", "s"),
        "latency": Quantity("latency", "s"),
        "last_ttft": Quantity("ttft", "s", void=True),
        "ttft": Quantity("ttft", "s", void=True),
        "input_throughput": Quantity("input_throughput", "tokens/s", void=True),
        "output_throughput": Quantity("output_throughput", "tokens/s", void=True),
        "last_gen_throughput": Quantity("decode_throughput", "tokens/s"),
        "overall_throughput": Quantity("total_throughput", "tokens/s"),
        "acc_length": Quantity("accept_length", "tokens", better="higher"),
    }
    patterns = {r"decode_step_\d+_latency": Quantity("decode_latency", "s")}

"""Fields of a record that say how it was set up, by their names: batch sizes, parallelism, load, precision, cache.

The names alone decide, so that a file gives the same cases whatever it is loaded with:
docs/decisions/2026-11-28-settings-are-axes.md.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 200  # characters of a name or text that may say it
MEASURED = re.compile(r"(mean|avg|average|median|std|p\d+|peak|actual|achieved|effective|measured|total|real)_.*")
KNOWN = re.compile(
    r"(.*_)?("
    r"parallel|parallelism|parallel_size|[tpdec]p|[tpdec]p_size|world_size|gpus|gpu_count|nnodes|nodes|workers|replicas|instances"
    r"|threads|processes|clients|concurrency|conc|num_prompts|prompts|request_rate|qps_target|burstiness|ramp_up_\w+"
    r"|batch|batch_size|micro_batch|microbatch|max_num_seqs|max_num_batched_tokens|max_model_len|max_running_requests|block_size"
    r"|chunk_size|chunked_prefill_size|page_size|tile_size|hidden_size|isl|osl|(input|output|prompt|prefix|context|seq|sequence)_len(gth)?"
    r"|range_ratio|dtype|precision|quantization|quant|temperature|top_p|top_k|num_speculative_tokens|gpu_memory_utilization"
    r"|mem_fraction_static|cudagraph|cuda_graph|eager|enforce_eager|compile|prefix_caching|attention_backend"
    r")"
)


@functools.lru_cache(maxsize=4096)
def is_setting(name: str) -> bool:
    """Return whether a field of this name says how something was set up, and is not a number that was measured."""
    if len(name) > LONGEST:
        return False
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").replace(" ", "_").lower()
    return KNOWN.fullmatch(words) is not None and MEASURED.fullmatch(words) is None


def settings_of(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings among some fields, each with its value: a number, a switch or a text."""
    for name, value in fields.items():
        if isinstance(value, bool | int | float | str) and is_setting(name) and len(str(value)) < LONGEST:
            yield name, value


def nested_settings(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The same, also of objects in them, by their paths."""
    yield from ((before + name, value) for name, value in settings_of(fields))
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from nested_settings(value, f"{before}{name}.")

"""The run that a vLLM server is recorded as: whether one is wanted, which, and what is stored of the server's settings.

A server is several processes, and none of them knows all others. The first one that loads vLLM's plugins chooses the run and
leaves it in BENCH_RUN; its children find it there. Each writes a journal of its own into this run.
"""

import logging
import os
import shlex
from pathlib import Path
from typing import Any

from ...warehouse.recorder import Run, run, uuid7

SUPPORTED = ("0.33",)  # releases whose interfaces the contract test has seen
CONFIG, STORE, RUN = "BENCH_CONFIG", "BENCH_STORE", "BENCH_RUN"
VERSION = "vllm"  # among the settings

# setting -> where it stands in vLLM's configuration
SETTINGS = {
    "model": "model_config.model", "dtype": "model_config.dtype", "quantization": "model_config.quantization",
    "max_model_len": "model_config.max_model_len", "max_num_seqs": "scheduler_config.max_num_seqs",
    "max_num_batched_tokens": "scheduler_config.max_num_batched_tokens",
    "async_scheduling": "scheduler_config.async_scheduling",
    "enable_chunked_prefill": "scheduler_config.enable_chunked_prefill",
    "enable_prefix_caching": "cache_config.enable_prefix_caching", "kv_cache_dtype": "cache_config.cache_dtype",
    "block_size": "cache_config.block_size", "tensor_parallel_size": "parallel_config.tensor_parallel_size",
    "pipeline_parallel_size": "parallel_config.pipeline_parallel_size",
    "data_parallel_size": "parallel_config.data_parallel_size", "speculative_method": "speculative_config.method",
    "num_speculative_tokens": "speculative_config.num_speculative_tokens",
}  # fmt: skip

_announcer: int | None = None  # the process that chose the run

log = logging.getLogger("vllm.bench")  # below vLLM's own, whose handler and level it has


def wanted() -> bool:
    """Return whether this server is to be recorded."""
    return bool(os.environ.get(STORE) or os.environ.get(CONFIG))


def announce() -> None:
    """Choose the run, before vLLM starts its processes."""
    global _announcer
    if wanted() and not os.environ.get(RUN):
        os.environ[RUN], _announcer = uuid7(), os.getpid()


def is_announced_here() -> bool:
    """Return whether it was this process that chose the run."""
    return _announcer == os.getpid()


def begin(vllm_config: Any) -> Run | None:
    """Open a journal of this process in the server's run; None where nothing is to be recorded, or it cannot be.

    The reason is logged, once a process. Nothing is raised: the engine starts in any case.
    """
    try:
        if not wanted():
            log.info("bench does not record: neither %s nor %s is set", STORE, CONFIG)
            return None
        version = installed()
        if not is_supported(version):
            log.warning("bench does not record: vLLM %s is not among %s.* that this bench knows. Update bench",
                        version, ".*, ".join(SUPPORTED))  # fmt: skip
            return None
        announce()
        settings = {VERSION: version, **settings_of(vllm_config)}
        recorded = run(
            os.environ.get(CONFIG) or model_name(vllm_config),
            suite="serving",
            source="serving",
            command=server_command(),
            tags={"engine": "vllm"},
            settings=settings,
            run_id=os.environ[RUN],
        )
    except Exception as error:
        complain(error)
        return None
    log.info("bench records run %s in %s", recorded.run_id, recorded.store)
    return recorded


def complain(error: Exception) -> None:
    """Say that recording has ended; the engine goes on."""
    log.warning("bench does not record any more: %s: %s", type(error).__name__, error)


def installed() -> str:
    """The version of vLLM."""
    from importlib.metadata import version

    return version("vllm")


def is_supported(version: str) -> bool:
    """Return whether it is of a release that is supported."""
    return any(version == release or version.startswith(f"{release}.") for release in SUPPORTED)


def settings_of(vllm_config: Any) -> dict[str, Any]:
    """The server's settings that steps depend on."""
    found = {name: value_at(vllm_config, path) for name, path in SETTINGS.items()}
    return {
        name: value if isinstance(value, bool | int | float) else str(value).removeprefix("torch.")
        for name, value in found.items()
        if value is not None
    }


def value_at(root: Any, path: str) -> Any:
    """An attribute of an attribute; None where there is none, or asking for it is an error."""
    try:
        for name in path.split("."):
            root = getattr(root, name)
    except Exception:
        return None
    return root


def model_name(vllm_config: Any) -> str:
    """The server's name of its model."""
    served = value_at(vllm_config, "model_config.served_model_name")
    name = served[0] if isinstance(served, list) and served else served
    return str(name or value_at(vllm_config, "model_config.model") or "vllm")


def server_command() -> str | None:
    """The command line of the server, from one of its own processes; None for that of this process."""
    import multiprocessing

    if multiprocessing.parent_process() is None:
        return None
    try:
        words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return shlex.join(filter(None, words)) or None

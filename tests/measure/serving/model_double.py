"""A server of the real vLLM without a model, for `vllm_contract`: python model_double.py REQUESTS

The front end, the engine core in a process of its own and the scheduler are vLLM's. The executor is ours: a step takes 4 ms and
20 µs a token, and each request that is due gets a token. Run it with BENCH_STORE set.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from vllm.v1.executor.abstract import Executor
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.outputs import ModelRunnerOutput

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 64,
    "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 4096, "torch_dtype": "float16",
}  # fmt: skip
FLOOR_S, TOKEN_S = 4e-3, 20e-6


class ModelDouble(Executor):  # type: ignore[misc]
    """Answers as workers with a GPU would."""

    def _init_executor(self) -> None:
        self.prompts: dict[str, int] = {}
        self.gpu = ThreadPoolExecutor(1)
        self.step: Future[Any] | None = None

    @classmethod
    def supports_async_scheduling(cls) -> bool:
        """Outputs may come later."""
        return True

    def collective_rpc(self, method: Any, *_: Any, **__: Any) -> list[Any]:
        """What each worker says."""
        said = {
            "get_kv_cache_spec": {
                "layer": FullAttentionSpec(block_size=16, num_kv_heads=2, head_size=32, dtype=torch.float16)
            },
            "determine_available_memory": 64 << 20,
            "get_supported_tasks": ("generate",),
            "get_supported_kv_cache_layouts": ["LBNHC"],
        }
        return [said.get(method if isinstance(method, str) else method.__name__)]

    def compile_or_warm_up_model(self) -> None:
        """There is none."""

    def check_health(self) -> None:
        """It is well."""

    def execute_model(self, scheduler_output: Any, non_block: bool = False) -> Any:
        """Begin a step, whose tokens `sample_tokens` has."""
        self.step = self.gpu.submit(self._run, scheduler_output)
        if not scheduler_output.total_num_scheduled_tokens:
            return self.step if non_block else self.step.result()
        return self.gpu.submit(lambda: None) if non_block else None

    def sample_tokens(self, grammar_output: Any, non_block: bool = False) -> Any:
        """The tokens of the step."""
        assert self.step is not None
        return self.step if non_block else self.step.result()

    def _run(self, output: Any) -> ModelRunnerOutput:
        before = {each.req_id: each.num_computed_tokens for each in output.scheduled_new_reqs}
        self.prompts |= {each.req_id: len(each.prompt_token_ids) for each in output.scheduled_new_reqs}
        others = output.scheduled_cached_reqs
        before |= dict(zip(others.req_ids, others.num_computed_tokens, strict=True))
        if chunks := output.num_scheduled_tokens:
            time.sleep(FLOOR_S + TOKEN_S * sum(chunks.values()))
        tokens = [[7] if before[name] + size >= self.prompts[name] else [] for name, size in chunks.items()]
        return ModelRunnerOutput(list(chunks), {name: index for index, name in enumerate(chunks)}, tokens)

    def shutdown(self) -> None:
        """Nothing runs any more."""


async def serve(requests: int) -> None:
    """A server that answers so many requests, one begun every 50 ms."""
    from vllm import AsyncEngineArgs, SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(MODEL))
        engine = AsyncLLM.from_engine_args(
            AsyncEngineArgs(
                model=folder, served_model_name="tiny", skip_tokenizer_init=True, max_model_len=4096, max_num_seqs=64,
                max_num_batched_tokens=1024, enforce_eager=True, block_size=16,
                distributed_executor_backend="model_double.ModelDouble",
                scheduler_cls="bench.serving.RecordingScheduler",
            )
        )  # fmt: skip
        chance = random.Random(1)

        async def ask(number: int) -> None:
            await asyncio.sleep(number * 0.05)
            prompt = [chance.randrange(1000) for _ in range(chance.randint(10, 2000))]
            parameters = SamplingParams(max_tokens=chance.randint(2, 100), ignore_eos=True, detokenize=False)
            async for _ in engine.generate({"prompt_token_ids": prompt}, parameters, f"r{number}"):
                pass

        await asyncio.gather(*map(ask, range(requests)))
        engine.shutdown()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))

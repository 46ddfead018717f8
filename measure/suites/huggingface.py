"""Architectures of Hugging Face transformers, from their configurations: random weights, nothing is downloaded.

Two suites of the same names: `huggingface` has the sizes of a published model each, `huggingface-small` a width of 128
and two layers, for the structure of the graph at the cost of a test. Labels are given in training only, and the loss
is the model's own. Dropout is turned down to 1e-30: it stays in the graph, as it is in real training, but two
backends, whose random numbers differ, compute the same.
"""

from dataclasses import dataclass, field
from typing import Any

from ..engine.workload import Workload
from .model import Model, without
from .pytorch_lists import ACCURACY_BATCH_SIZES, exceptions_of

Sizes = dict[str, Any]


def _sizes(names: str, width: int, layers: int, heads: int, inner: int | None = None, **more: Any) -> Sizes:
    """The numbers that shape a transformer, under an architecture's names for width, layers, heads and inner width."""
    sizes = dict(zip(names.split(), (width, layers, heads, inner), strict=False))
    return {**sizes, **more}


USUAL = "hidden_size num_hidden_layers num_attention_heads intermediate_size"
DISTIL = "dim n_layers n_heads hidden_dim"
GPT2 = "n_embd n_layer n_head n_inner"
OPT = "hidden_size num_hidden_layers num_attention_heads ffn_dim"
BLOOM = "hidden_size n_layer n_head"
VOCABULARY = 1024  # of the small ones


def _pairs(width: int, layers: int, heads: int, inner: int, **more: Any) -> Sizes:
    """The sizes of an encoder and a decoder alike."""
    ends = {
        f"{end}_{what}": number
        for end in ("encoder", "decoder")
        for what, number in (("layers", layers), ("attention_heads", heads), ("ffn_dim", inner))
    }
    return {"d_model": width, **ends, **more}


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture: its classes' common prefix, the head on top, and what to set in its configuration."""

    prefix: str
    head: str
    small: Sizes
    full: Sizes = field(default_factory=dict)  # beside what is a published model by default
    longest: int = 512  # tokens of the full one, where none are asked for


SMALL = _sizes(USUAL, 128, 2, 4, 512)
SMALL_GROUPED = {**SMALL, "num_key_value_heads": 2, "head_dim": 32}
SMALL_PAIRS = _pairs(128, 2, 4, 512)
SMALL_GPT2 = _sizes(GPT2, 128, 2, 4, 512)
SMALL_STAGES = {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 64, 128]}
BASE = _sizes(USUAL, 768, 12, 12, 3072)

MASKED, CAUSAL, PAIR, IMAGE = "ForMaskedLM", "ForCausalLM", "ForConditionalGeneration", "ForImageClassification"
HEADS = (MASKED, CAUSAL, "LMHeadModel", PAIR, IMAGE)

ARCHITECTURES = {
    # encoders
    "bert": Architecture("Bert", MASKED, SMALL),
    "roberta": Architecture("Roberta", MASKED, SMALL, {"max_position_embeddings": 514}),
    "distilbert": Architecture("DistilBert", MASKED, _sizes(DISTIL, 128, 2, 4, 512)),
    "albert": Architecture("Albert", MASKED, SMALL, BASE),
    "electra": Architecture("Electra", MASKED, SMALL, BASE | {"embedding_size": 768}),
    "deberta-v2": Architecture(
        "DebertaV2", MASKED, SMALL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
        BASE | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256},
    ),
    "mpnet": Architecture("MPNet", MASKED, SMALL),
    # decoders
    "gpt2": Architecture("GPT2", "LMHeadModel", SMALL_GPT2),
    "gpt-neo": Architecture(
        "GPTNeo", CAUSAL, {"hidden_size": 128, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
        {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "attention_types": [[["global", "local"], 6]]},
    ),
    "gpt-neox": Architecture("GPTNeoX", CAUSAL, SMALL, BASE | {"vocab_size": 50304}),
    "opt": Architecture("OPT", CAUSAL, _sizes(OPT, 128, 2, 4, 512, word_embed_proj_dim=128)),
    "bloom": Architecture("Bloom", CAUSAL, _sizes(BLOOM, 128, 2, 4), _sizes(BLOOM, 1024, 24, 16)),
    "llama": Architecture(
        "Llama", CAUSAL, SMALL_GROUPED,
        _sizes(USUAL, 2048, 16, 32, 8192, num_key_value_heads=8, head_dim=64, vocab_size=128256, tie_word_embeddings=True),
    ),
    "qwen3": Architecture(
        "Qwen3", CAUSAL, SMALL_GROUPED,
        _sizes(USUAL, 1024, 28, 16, 3072, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True),
    ),
    "gemma2": Architecture("Gemma2", CAUSAL, SMALL_GROUPED),
    "phi": Architecture("Phi", CAUSAL, SMALL | {"num_key_value_heads": 4}),
    # encoders with decoders
    "t5": Architecture("T5", PAIR, {"d_model": 128, "d_kv": 32, "d_ff": 512, "num_layers": 2, "num_heads": 4}),
    "bart": Architecture("Bart", PAIR, SMALL_PAIRS, _pairs(768, 6, 12, 3072)),
    "pegasus": Architecture("Pegasus", PAIR, SMALL_PAIRS, _pairs(1024, 16, 16, 4096, vocab_size=96103)),
    "m2m100": Architecture("M2M100", PAIR, SMALL_PAIRS, {"vocab_size": 128112}),
    "whisper": Architecture("Whisper", PAIR, SMALL_PAIRS | {"max_source_positions": 64, "num_mel_bins": 16}, longest=448),
    # vision
    "vit": Architecture("ViT", IMAGE, SMALL | {"image_size": 64}),
    "deit": Architecture("DeiT", IMAGE, SMALL | {"image_size": 64}),
    "beit": Architecture("Beit", IMAGE, SMALL | {"image_size": 64}, {"use_relative_position_bias": True}),
    "swin": Architecture(
        "Swin", IMAGE, {"image_size": 64, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    ),
    "convnext": Architecture("ConvNext", IMAGE, SMALL_STAGES | {"image_size": 64}),
    "resnet": Architecture("ResNet", IMAGE, SMALL_STAGES | {"embedding_size": 16, "layer_type": "basic"}),
    "mobilenet-v2": Architecture("MobileNetV2", IMAGE, {"depth_multiplier": 0.35, "image_size": 64}),
}  # fmt: skip


def full() -> dict[str, Model]:
    """Each at the size of a published model."""
    return _models("full", batch_size=4)


def small() -> dict[str, Model]:
    """Each with a width of 128 and two layers, or so."""
    return _models("small", batch_size=4, sequence_length=64)


def _models(size: str, batch_size: int, sequence_length: int | None = None) -> dict[str, Model]:
    missing = without("transformers", "pip install 'bench-warehouse[huggingface]'")
    return {
        name: Model(
            f"{__name__}:build:{size}/{name}", batch_size,
            None if architecture.head == IMAGE else sequence_length or architecture.longest, missing,
            exceptions=exceptions_of("huggingface", architecture.prefix + architecture.head),
            accuracy_batch_size=ACCURACY_BATCH_SIZES["huggingface"],
        )
        for name, architecture in ARCHITECTURES.items()
    }  # fmt: skip


def build(name: str, workload: Workload) -> tuple[Any, dict[str, Any]]:
    """The model called `small/NAME` or `full/NAME`, and its inputs: random tokens, or random images."""
    import transformers

    size, _, name = name.partition("/")
    architecture = ARCHITECTURES[name]
    settings = architecture.full if size == "full" else architecture.small
    if architecture.head == IMAGE:
        settings = settings | {"num_labels": 1000 if size == "full" else 10}
    config = getattr(transformers, f"{architecture.prefix}Config")(**settings)
    if size == "small" and architecture.head != IMAGE:
        config.vocab_size = VOCABULARY
        for token in ("bos", "eos", "pad", "decoder_start", "cls", "sep", "mask"):
            if (getattr(config, f"{token}_token_id", None) or 0) >= VOCABULARY:
                setattr(config, f"{token}_token_id", 2)
    return built(architecture, config, workload)


def built(architecture: Architecture, config: Any, workload: Workload) -> tuple[Any, dict[str, Any]]:
    """The model of a configuration with its dropout turned down, and its inputs.

    Raises:
        ValueError: The sequence is longer than the model has positions for.
    """
    import transformers

    config.use_cache = False
    for setting in dir(config):
        if "drop" in setting and isinstance(getattr(config, setting), float):
            setattr(config, setting, 1e-30)
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "max_target_positions", None)
    if positions and (workload.sequence_length or 0) > positions:
        raise ValueError(f"{workload.name} has {positions} positions, and {workload.sequence_length} are asked for")
    module = getattr(transformers, architecture.prefix + architecture.head)(config)
    return module, _inputs(architecture, config, workload)


def _inputs(architecture: Architecture, config: Any, workload: Workload) -> dict[str, Any]:
    import torch

    batch, training = workload.batch_size, workload.mode == "training"
    if architecture.head == IMAGE:
        pixels = {"pixel_values": torch.randn(batch, 3, *(2 * [getattr(config, "image_size", None) or 224]))}
        return {**pixels, "labels": torch.randint(config.num_labels, (batch,))} if training else pixels

    def tokens() -> torch.Tensor:
        return torch.randint(3, config.vocab_size, (batch, workload.sequence_length or 1))

    if architecture.prefix == "Whisper":
        frames = 2 * config.max_source_positions
        inputs = {"input_features": torch.randn(batch, config.num_mel_bins, frames)}
    else:
        inputs = {"input_ids": tokens()}
    if architecture.head == PAIR:
        inputs["decoder_input_ids"] = tokens()
    return {**inputs, "labels": tokens()} if training else inputs

"""Exceptions of PyTorch's own benchmarks, by suite and model: what they measure otherwise than asked, and at which sizes.

These lists are facts copied from pytorch/pytorch, benchmarks/dynamo, each at the commit named beside it. Their names are those of
that benchmark: for Hugging Face a model is named by its class, such as AlbertForMaskedLM.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Exceptions = dict[str, dict[str, Any]]  # condition -> what is measured otherwise, see Model

# common.py at 00391a7, BENCHMARK_USE_SGD: with Adam, eager's results vary from run to run, pytorch issue 115966. Its list
# CI_USE_SGD, of models that Adam's state is too large for on one machine, is left out.
SGD = (
    "BERT_pytorch", "LearningToPaint", "alexnet", "dcgan", "demucs", "densenet121", "dlrm", "fastNLP_Bert", "mobilenet_v2",
    "phlippe_densenet", "phlippe_resnet", "pytorch_stargan", "resnet18", "shufflenet_v2_x1_0", "speech_transformer",
    "squeezenet1_1", "stable_diffusion_text_encoder", "vgg16",
    "AlbertForMaskedLM", "BartForCausalLM", "ElectraForCausalLM", "M2M100ForConditionalGeneration", "MBartForCausalLM",
    "OPTForCausalLM", "PLBartForCausalLM", "PegasusForCausalLM", "TrOCRForCausalLM", "XGLMForCausalLM",
    "adv_inception_v3", "ghostnet_100", "tf_efficientnet_b0",
)  # fmt: skip
# huggingface.yaml at 33c040b, only_fp32
ONLY_FLOAT32 = ("GoogleFnet",)
# torchbench.yaml at 0517d55, dtype: force_amp_for_fp16_bf16_models, force_fp16_for_bf16_models, amp_dtype_bfloat16
FORCED_AMP = (
    "DALLE2_pytorch", "doctr_det_predictor", "doctr_reco_predictor", "Super_SloMo", "tts_angular",
    "pyhpc_turbulent_kinetic_energy", "detectron2_fcos_r_50_fpn",
)  # fmt: skip
FLOAT16_FOR_BFLOAT16 = ("vision_maskrcnn",)
AMP_IN_BFLOAT16 = ("modded_nanogpt",)

# Tolerances by suite, condition and model, where they are not the usual ones.
TOLERANCES: Mapping[str, Mapping[str, Mapping[float, tuple[str, ...]]]] = {
    "torchbench": {  # torchbench.yaml at 0517d55 (tolerance), with the numbers of torchbench.py at 02348ca
        "training cuda": {8e-2: ("soft_actor_critic", "tacotron2", "yolov3", "squeezenet1_1", "shufflenet_v2_x1_0")},
        "float16": {1e-2: ("doctr_reco_predictor", "drq", "phlippe_resnet")},
        "amp": {1e-2: ("doctr_reco_predictor", "drq", "phlippe_resnet")},
        "bfloat16": {1e-2: ("doctr_reco_predictor", "drq")},
        "inductor-freezing": {8e-2: ("mobilenet_v2",)},
    },
    "huggingface": {  # huggingface.yaml at 33c040b, huggingface.py at 032cbcb
        "inference": {4e-3: ("GPT2ForSequenceClassification",)},
        "inference cpu": {5e-3: ("GPT2ForSequenceClassification",)},
        "training": {2e-2: ("MT5ForConditionalGeneration", "BertForMaskedLM")},
    },
    "timm": {  # timm_models.yaml at 1869dff, timm_models.py at 0260ed1
        "inductor-freezing": {8e-2: ("adv_inception_v3",)},
        "training": {
            4e-2: ("inception_v3", "mobilenetv3_large_100"),
            8e-2: ("deit_base_distilled_patch16_224", "vit_base_patch16_siglip_256"),
            16e-2: ("beit_base_patch16_224",),
        },
    },
}

# Batch sizes, torchbench.yaml at 0517d55: in place of those that do not fit; those that cannot be chosen; most for accuracy.
BATCH_SIZES: Mapping[str, Mapping[str, int]] = {
    "training": {
        "demucs": 4,
        "dlrm": 1024,
        "densenet121": 4,
        "timm_efficientdet": 1,
        "llama_v2_7b_16h": 1,
        "yolov3": 8,
    },
    "inference": {"timm_efficientdet": 32},
}
FIXED_BATCH_SIZE = ("demucs", "pytorch_struct", "pyhpc_turbulent_kinetic_energy", "vision_maskrcnn")
MOST_FOR_ACCURACY = {"pytorch_unet": 2}
ACCURACY_BATCH_SIZES = {"huggingface": 1, "torchbench": 4, "timm": 8}  # common.py at 00391a7, run

# torchbench.yaml at 0517d55, slow: seconds on an i9-11900K CPU; very_slow is empty there.
SLOW = {"BERT_pytorch": 137, "demucs": 116, "fastNLP_Bert": 242, "speech_transformer": 317, "vision_maskrcnn": 99}


def exceptions_of(suite: str, name: str) -> Exceptions:
    """The exceptions of PyTorch's benchmark for a model: suite torchbench, huggingface or timm, its name there."""
    found: Exceptions = {}
    if name in ONLY_FLOAT32:
        why = "it supports float32 only"
        found |= _each(("float16", "bfloat16", "amp", "amp_float16", "amp_bfloat16"), dtype="float32", why=why)
    if name in FORCED_AMP:
        found |= _each(("float16", "bfloat16"), dtype="amp", why="it cannot be cast as a whole")
    if name in FLOAT16_FOR_BFLOAT16:
        found |= _each(("bfloat16",), dtype="float16", why="it does not support bfloat16")
    if name in AMP_IN_BFLOAT16:
        found |= _each(("amp",), dtype="amp_bfloat16", why="it is made for bfloat16")
    if name in SGD:
        found |= _each(("training adam",), optimizer="sgd", why="with Adam, eager's results vary from run to run")
    if suite == "torchbench":
        for mode, sizes in BATCH_SIZES.items():
            found |= _each((mode,), batch_size=sizes[name]) if name in sizes else {}
    for condition, tolerances in TOLERANCES[suite].items():
        for tolerance, names in tolerances.items():
            for words in _words(condition):
                found |= {words: {**found.get(words, {}), "tolerance": tolerance}} if name in names else {}
    return found


def _each(conditions: Iterable[str], **values: Any) -> Exceptions:
    return {condition: dict(values) for condition in conditions}


def _words(condition: str) -> tuple[str, ...]:
    """The conditions as they hold of cases: amp in any type."""
    return ("amp", "amp_float16", "amp_bfloat16") if condition == "amp" else (condition,)

"""InferenceX (InferenceMAX): aggregated results of its serving sweeps, one object a configuration."""

from ..readers.declared import Declared, Quantity

KEYS = ("hw", "conc", "model", "tput_per_gpu", "output_tput_per_gpu")
PLAN = (
    "hw", "conc", "isl", "osl", "tp", "ep", "prefill_tp", "prefill_ep", "prefill_num_workers", "decode_tp", "decode_ep",
    "decode_num_workers", "num_prefill_gpu", "num_decode_gpu",
)  # fmt: skip


class InferenceX(Declared):
    """Results of InferenceX."""

    name = "inferencex"
    doc = "InferenceX (InferenceMAX) aggregated JSON"
    becomes = "hw, conc, isl, osl, parallelism and every text → axes; intvty → interactivity, a user's tokens/s"
    shapes = (frozenset(f"[].{key}" for key in KEYS), frozenset(KEYS))
    about = {"image": "image"}
    names = ("model",)
    axes = {"suite": "=serving", "backend": "framework", "dtype": "precision", **{key: key for key in PLAN}}
    setup = True
    values = {
        "tput_per_gpu": Quantity("throughput_per_gpu", "tokens/s"),
        "output_tput_per_gpu": Quantity("output_throughput_per_gpu", "tokens/s"),
        "input_tput_per_gpu": Quantity("input_throughput_per_gpu", "tokens/s"),
    }
    patterns = {
        r"(mean|median|std|p\d+(?:\.\d+)?)_(ttft|tpot|itl|e2el)": Quantity(r"\2", "s", r"\1", void=True),
        r"(mean|median|std|p\d+(?:\.\d+)?)_intvty": Quantity("interactivity", "tokens/s", r"\1"),
    }
    metrics = {"e2el": "latency"}

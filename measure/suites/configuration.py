"""A model of transformers from a configuration of one's own: a JSON file as `save_pretrained` writes it, with random weights.

    {"model_type": "bert", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}

`model_type` names the architecture. `architectures`, a list as in files of the hub, names the class on top; without it the
class is that of suite `huggingface`. ["BertModel"] is the model without a head. A key that is left out has transformers' default.
"""

import json
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError, UnknownName
from ..engine.workload import Workload
from . import huggingface
from .huggingface import ARCHITECTURES, IMAGE, Architecture
from .model import Model, without

SUFFIX = ".json"
BATCH_SIZE, LONGEST = 4, 512
_PLAIN = {name.replace("-", ""): name for name in ARCHITECTURES}  # deberta-v2 and gpt_neo are written both ways


def models_in(path: Path) -> dict[str, Model]:
    """The one model of a file, called like the file.

    Raises:
        BenchError: The file cannot be read, is no JSON object, or does not say which model it is of.
        UnknownName: It is of an architecture whose class is not known here, and names none.
    """
    settings = _read(path)
    architecture = _architecture(settings, path)
    missing = without("transformers", "pip install 'bench-warehouse[huggingface]'")
    tokens = settings.get("max_position_embeddings", LONGEST)
    longest = min(tokens, LONGEST) if isinstance(tokens, int) and tokens > 0 else LONGEST
    length = None if architecture.head == IMAGE else longest
    return {path.stem: Model(f"{path}:config", BATCH_SIZE, length, missing, packages=("transformers",))}


def build(path: Path, workload: Workload) -> tuple[Any, dict[str, Any]]:
    """The model of a file, and its inputs: random tokens, or random images.

    Raises:
        Exception: What transformers raises where the settings make no model.
    """
    import transformers

    settings = _read(path)
    architecture = _architecture(settings, path)
    rest = {name: value for name, value in settings.items() if name != "model_type"}
    config = transformers.AutoConfig.for_model(settings["model_type"], **rest)
    module, inputs = huggingface.built(architecture, config, workload)
    if not architecture.head:
        inputs.pop("labels", None)
    return module, inputs


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}. A configuration is a JSON file.") from None
    except ValueError as error:
        raise BenchError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        raise BenchError(f'{path} does not name its architecture. Write it as {{"model_type": "bert", …}}.')
    return found


def _architecture(settings: dict[str, Any], path: Path) -> Architecture:
    """The class that the file names, else the one that suite `huggingface` makes of its architecture."""
    kind = settings["model_type"].replace("_", "").replace("-", "")
    named = settings.get("architectures")
    if isinstance(named, list) and named and isinstance(named[0], str):
        head = next((head for head in huggingface.HEADS if named[0].endswith(head)), "")
        return Architecture(named[0].removesuffix(head), head, {})
    if kind in _PLAIN:
        return ARCHITECTURES[_PLAIN[kind]]
    cure = f'Or name the class on top in {path.name}: "architectures": ["BertForMaskedLM"].'
    raise UnknownName("architecture", settings["model_type"], ARCHITECTURES, where=str(path), cure=cure)

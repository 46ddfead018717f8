"""trainer_state.json of Hugging Face's Trainer: what it logged while training, and its summary at the end."""

from collections.abc import Iterable
from typing import Any

from ..readers.document import BadRecord, Object
from ..readers.json_format import JsonFormat
from ..readers.results import Results, number

RATES = {"samples_per_second": "samples/s", "steps_per_second": "steps/s", "tokens_per_second": "tokens/s"}
SETUP = ("train_batch_size", "max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps")
LOSSES = ("loss", "train_loss", "eval_loss")


class TrainerState(JsonFormat):
    """Logs of Trainer."""

    name = "trainer-state"
    doc = "trainer_state.json of transformers' Trainer"
    becomes = (
        "batch size and steps of the plan → axes; a logged entry → samples numbered by step; runtimes, rates → metrics"
    )
    shapes = (frozenset({"log_history", "global_step", "max_steps"}),)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record an entry; the plan is that of the document."""
        records: list[Any] = document.array("log_history")
        axes = {key: document.take(key) for key in SETUP if document.get(key) is not None}
        results.context = {key: value for key, value in axes.items() if isinstance(value, int | float | str)}
        tags = {key: value for key, value in document.left().items() if not isinstance(value, list | dict)}
        results.run(tags=tags)
        return records

    def load(self, record: Object, results: Results) -> None:
        """One entry."""
        case, step = results.case("train", mode="training", parameters=results.context), record.whole("step")
        if step is None or step < 0:
            raise BadRecord("no step")
        for key in [key for key in record if key not in ("step", "epoch")]:
            value = record.take(key)
            unit = next((unit for end, unit in RATES.items() if key.endswith(end)), None)
            if key.endswith("_runtime"):
                case.metric(key, value, "s")
            elif unit is not None:
                case.metric(key, value, unit)
            elif number(value) is None:
                case.text(key, value)
            else:
                case.samples([value], None, metric=key, sample=step, better="lower" if key in LOSSES else None)

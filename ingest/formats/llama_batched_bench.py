"""llama-batched-bench and sweep-bench of llama.cpp: JSON lines, or the table that they print."""

import re
from typing import Any

from ..format import Head
from ..readers.declared import Declared, Quantity
from ..readers.document import Object, lines_of
from ..readers.json_format import LINES_BEFORE_HEADER

TABLE = re.compile(r"\|\s*PP\s*\|\s*TG\s*\|.*\|\s*T_PP s\s*\|.*")
SETTING = re.compile(
    r"\b(n_kv_max|n_u?batch|flash_attn|is_pp_shared|n_gpu_layers|n_threads(?:_batch)?) = (-?\d+)"
)  # above it
COLUMNS = {
    "PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "S_PP t/s": "speed_pp", "T_TG s": "t_tg",
    "S_TG t/s": "speed_tg", "T s": "t", "S t/s": "speed",
}  # fmt: skip
AXES = (
    "pp", "tg", "pl", "n_kv", "n_kv_max", "n_batch", "n_ubatch", "flash_attn", "is_pp_shared", "n_gpu_layers", "n_threads",
    "n_threads_batch",
)  # fmt: skip


class LlamaBatchedBench(Declared):
    """Results of llama-batched-bench."""

    name = "llama-batched-bench"
    doc = "llama-batched-bench or sweep-bench, JSON lines or table"
    becomes = "file → case; pp, tg, pl and settings → axes; t_pp → prefill_latency, t_tg → decode_duration"
    lost = "lines around the table but its settings"
    printed = True
    shapes = (frozenset({"n_kv_max", "n_kv", "pp", "tg", "t_pp", "speed_pp", "t_tg", "speed_tg"}),)
    lines = True
    axes = {axis: axis for axis in AXES}
    values = {
        "t_pp": Quantity("prefill_latency", "s"), "speed_pp": Quantity("prefill_throughput", "tokens/s"),
        "t_tg": Quantity("decode_duration", "s"), "speed_tg": Quantity("decode_throughput", "tokens/s"),
        "t": Quantity("latency", "s"), "speed": Quantity("total_throughput", "tokens/s"),
    }  # fmt: skip

    def recognise(self, head: Head) -> bool:
        """Return whether it has the fields, or the header of the table."""
        return super().recognise(head) or any(
            TABLE.fullmatch(line) for line in lines_of(head.text)[:LINES_BEFORE_HEADER]
        )

    def parse(self, text: str) -> Any:
        """JSON lines, or the rows of the table in their words."""
        lines = lines_of(text)
        at = next((at for at, line in enumerate(lines) if TABLE.fullmatch(line)), None)
        if at is None:
            return super().parse(text)
        names = [COLUMNS.get(cell, cell) for cell in _cells(lines[at])]
        rows = [_cells(line) for line in lines[at + 1 :] if line.startswith("|") and not line.startswith(("|-", "| -"))]
        settings = [(key, int(value)) for line in lines[:at] for key, value in SETTING.findall(line)]
        return [
            Object([*settings, *((name, _number(cell)) for name, cell in zip(names, row, strict=False))])
            for row in rows
        ]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _number(cell: str) -> Any:
    return int(cell) if cell.isdecimal() and len(cell) < 19 else cell

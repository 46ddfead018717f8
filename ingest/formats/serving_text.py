"""The printed "Serving Benchmark Result" of vLLM and SGLang, as it stands in logs and pull requests."""

import functools
import re
from pathlib import PurePath
from typing import Any

from ..format import Head
from ..readers.document import BadRecord, Object
from ..readers.results import Results, number
from ..readers.text_format import TextFormat
from . import _serving

TITLE = re.compile(r"=+ Serving Benchmark Result =+")
END = re.compile(r"={20,}")
PAIR = re.compile(r"([A-Z][^:]*?):\s+(\S.*?)")
AGGREGATE = re.compile(r"(Mean|Median|P\d+(?:\.\d+)?|Std|Min|Max) (TTFT|TPOT|ITL|E2EL|E2E Latency|TTST) \(ms\)")
BEFORE = 40  # lines before a result in which the command and a heading are looked for
MODEL = re.compile(
    r"--model[ =]'?\"?([^\s'\"\\,]+)|\bmodel(?:_id)?='([^']+)'|^\W*Model\W*:\W*([\w./:-]+)", re.MULTILINE
)
PROMPTS = re.compile(r"#(Input|Output) tokens: [0-9]+")  # SGLang's, of the prompts that it drew: no heading
NOT_SET = "not set"
HEADING = re.compile(r"(?:#+ *|\*\*)?([^|`{}\[\]]{1,80}?)(?::|\*\*:?)?")
QUOTED = re.compile(r"\s*(?:> ?)+")  # of a mail or a comment; also the prompt of a shell
COMMANDS = (
    "```",
    "$ ",
    "python",
    "vllm ",
    "--",
    "+ ",
)  # how lines begin that may stand between heading and result
FIELDS = {  # what the JSON calls it
    "Successful requests": "completed", "Failed requests": "failed", "Benchmark duration (s)": "duration",
    "Total input tokens": "total_input_tokens", "Total generated tokens": "total_output_tokens",
    "Request throughput (req/s)": "request_throughput", "Request goodput (req/s)": "request_goodput",
    "Input token throughput (tok/s)": "input_throughput", "Output token throughput (tok/s)": "output_throughput",
    "Peak output token throughput (tok/s)": "max_output_tokens_per_s", "Peak concurrent requests": "max_concurrent_requests",
    "Total token throughput (tok/s)": "total_token_throughput", "Total Token throughput (tok/s)": "total_token_throughput",
    "Concurrency": "concurrency", "Accept length": "accept_length", "Total input text tokens": "total_input_text_tokens",
    "Total input vision tokens": "total_input_vision_tokens",
    "Total generated tokens (retokenized)": "total_output_tokens_retokenized",
}  # fmt: skip
AXES = {
    "Backend": "backend", "Traffic request rate": "request_rate", "Request rate configured (RPS)": "request_rate",
    "Maximum request concurrency": "max_concurrency", "Max request concurrency": "max_concurrency",
}  # fmt: skip


class ServingText(TextFormat):
    """Printed results of serving benchmarks."""

    name = "serving-text"
    doc = 'printed "Serving Benchmark Result" of vLLM or SGLang'
    becomes = "result → case named by --model before it, else by the file; the heading above it → axis `heading`"
    lost = "other lines"

    def recognise(self, head: Head) -> bool:
        """Return whether a line is the title of such a result."""
        return "Serving Benchmark Result" in head.text and any(TITLE.search(line) for line in head.text.splitlines())

    def identity(self, name: str) -> str:
        """The name of the file, which may be that of the case."""
        return PurePath(name).stem

    def load(self, lines: list[str], results: Results) -> int:
        """One record a result."""
        titles = [at for at, line in enumerate(lines) if TITLE.search(line)]
        read, done = 0, 0
        for at, following in zip(titles, [*titles[1:], len(lines)], strict=False):
            end = next((line + 1 for line in range(at + 1, following) if END.fullmatch(_plain(lines[line]))), following)
            block, before = lines[at:end], lines[max(done, at - BEFORE) : at]
            results.record(functools.partial(_read, results, block, before), "\n".join(block), at + 1)
            read += sum(1 for line in block if line.strip())
            done = end
        return sum(1 for line in lines if line.strip()) - read


def _read(results: Results, block: list[str], before: list[str]) -> None:
    pairs = [match.groups() for line in block if (match := PAIR.fullmatch(_plain(line)))]
    record = Object([("completed", None)])
    axes: dict[str, Any] = {}
    for key, text in pairs:
        value = number(text)
        if key in AXES and text == NOT_SET:
            continue
        if key in AXES:
            axes[AXES[key]] = text if value is None else int(value) if value.is_integer() else value
        elif match := AGGREGATE.fullmatch(key):
            name = match[2].lower().replace(" ", "_")
            record[f"{match[1].lower()}_{name}_ms"] = text if value is None else value
        elif value is not None:
            record[FIELDS.get(key, key)] = int(value) if value.is_integer() and "." not in text else value
        else:
            record[key] = text
    if record["completed"] is None:
        raise BadRecord("says nothing of successful requests")
    model = list(MODEL.finditer("\n".join(before)))
    name = next(filter(None, model[-1].groups())) if model else results.file_name()
    backend = axes.pop("backend", None)
    axes |= {"heading": _heading(before)} | _serving.tokens(record)
    parameters = {key: value for key, value in axes.items() if value is not None}
    case = results.case(name, suite="serving", backend=backend, parameters=parameters)
    _serving.aggregates(case, record)
    _serving.outcome(case, record, [], 0)
    _serving.counters(case, record)
    case.fields(record.left())


def _heading(before: list[str]) -> str | None:
    """The line that tells one result from the next: the last before it that is a heading, or ends with a colon."""
    for line in reversed(before):
        text = QUOTED.sub("", line).strip()
        if PROMPTS.fullmatch(text):
            continue
        if text.endswith((":", ":**")) or text.startswith(("#", "**")):
            match = HEADING.fullmatch(text)
            return match[1].strip("# *:") or None if match else None
        if text and not text.startswith(COMMANDS) and not QUOTED.match(line):
            return None
    return None


def _plain(line: str) -> str:
    """A line without what quotes it: blanks, `#` of a comment, `>` of a mail."""
    return line.strip().lstrip("#> ").strip()

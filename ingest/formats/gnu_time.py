"""GNU time: what `/usr/bin/time -v` prints after a command, one block for each."""

import functools
import re
from collections import Counter

from ..format import Head
from ..readers.document import BadRecord, Object, lines_of
from ..readers.results import Results
from ..readers.text_format import TextFormat

COMMAND, LAST = "Command being timed", "Exit status"
LINE = re.compile(r"\s*([A-Z][^:\"]*(?: \(h:mm:ss or m:ss\))?): (.*)")
ELAPSED = "Elapsed (wall clock) time (h:mm:ss or m:ss)"
CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6}(?:\.\d+)?)")
SIGNAL = re.compile(r"Command terminated by signal (\d{1,3})")
TIMES = {"User time (seconds)": "user_time", "System time (seconds)": "system_time"}
COUNTS = {
    "Major (requiring I/O) page faults": "major_faults", "Minor (reclaiming a frame) page faults": "minor_faults",
    "Voluntary context switches": "voluntary_switches", "Involuntary context switches": "involuntary_switches",
    "File system inputs": "file_inputs", "File system outputs": "file_outputs", "Swaps": "swaps",
}  # fmt: skip


class GnuTime(TextFormat):
    """Resources of commands."""

    name = "gnu-time"
    doc = "output of GNU time (/usr/bin/time -v)"
    becomes = "block → case; maximum resident set size → memory peak"
    lost = "the command's own output"

    def recognise(self, head: Head) -> bool:
        """Return whether a block begins."""
        return f"{COMMAND}: " in head.text and any(
            (match := LINE.fullmatch(line)) is not None and match[1] == COMMAND for line in lines_of(head.text)
        )

    def load(self, lines: list[str], results: Results) -> int:
        """One record a block."""
        results.context = Counter()
        block: list[str] = []
        begun = other = 0
        signal = None
        for at, line in enumerate(lines, 1):
            match = LINE.fullmatch(line)
            if match and match[1] == COMMAND:
                if block:
                    _record(results, block, begun, signal)
                block, begun, signal = [line], at, None if at < 2 else SIGNAL.match(lines[at - 2])
            elif block and match:
                block.append(line)
                if match[1] == LAST:
                    _record(results, block, begun, signal)
                    block = []
            elif line.strip() and not line.startswith(("Command exited with", "Command terminated by")):
                other += 1
        if block:
            _record(results, block, begun, signal)
        return other


def _record(results: Results, block: list[str], at: int, signal: "re.Match[str] | None") -> None:
    results.record(functools.partial(_read, results, block, signal), "\n".join(block), at)


def _read(results: Results, block: list[str], signal: "re.Match[str] | None") -> None:
    said = Object([(match[1], match[2].strip()) for line in block if (match := LINE.fullmatch(line))])
    elapsed, status = said.text(ELAPSED), said.text(LAST)
    clock = CLOCK.fullmatch(elapsed or "")
    if clock is None or status is None:
        raise BadRecord(f"ends before its {LAST.lower()}" if status is None else "no elapsed time")
    command = said.name(COMMAND)
    case = results.case(command[1:-1] if command.startswith('"') and command.endswith('"') else command)
    seconds = int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
    case.samples([seconds], "s", sample=results.context[case.case_id], apart=True)
    results.context[case.case_id] += 1
    for field, metric in TIMES.items():
        case.metric(metric, said.take(field), "s")
    for field, metric in COUNTS.items():
        case.metric(metric, said.take(field), "count")
    if (peak := said.take("Maximum resident set size (kbytes)")) is not None:
        case.memory([peak], "KiB")
    if signal is not None:
        case.outcome("fail_to_run", f"killed by signal {signal[1]}", signal=int(signal[1]))
    elif status != "0":
        case.outcome(
            "fail_to_run", f"exit code {status}", exit_code=int(status) if re.fullmatch(r"\d{1,3}", status) else None
        )
    case.fields({key: value for key, value in said.left().items() if value != "0"})

"""GNU time: a block for each command."""

from bench.warehouse.events import MemorySample, Outcome

from .reading import read

BLOCK = """\tCommand being timed: "sleep 1: a"
\tUser time (seconds): 0.25
\tSystem time (seconds): 0.50
\tPercent of CPU this job got: 75%
\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.25
\tAverage shared text size (kbytes): 0
\tMaximum resident set size (kbytes): 1088
\tMajor (requiring I/O) page faults: 2
\tMinor (reclaiming a frame) page faults: 71
\tVoluntary context switches: 1
\tPage size (bytes): 4096
\tExit status: 0
"""


def test_a_block_is_a_sample_of_its_command() -> None:
    """The size is in KiB, whatever it says; a second block of the same command is its second sample."""
    got = read("gnu-time", f"hello\n{BLOCK}{BLOCK.replace('0:01.25', '1:00:02')}", name="t.txt")

    assert got.names == ["sleep 1: a"]
    assert got.samples() == [(1_250_000_000, 1), (3_602_000_000_000, 1)]
    assert [sample.size_bytes for sample in got.of(MemorySample)] == [1088 * 1024] * 2
    assert got.metrics() == {
        "user_time": (2.5e8, "ns"), "system_time": (5e8, "ns"), "major_faults": (2.0, "count"), "minor_faults": (71.0, "count"),
        "voluntary_switches": (1.0, "count"), "fields": '{"Page size (bytes)": "4096", "Percent of CPU this job got": "75%"}',
    }  # fmt: skip
    assert (got.accounting, got.tally.notes) == ((2, 2, 0), ["t.txt: 1 line is not a result"])


def test_a_command_that_failed_says_how() -> None:
    """By its exit status, or by the signal in the line before the block."""
    failed = BLOCK.replace("status: 0", "status: 3")
    killed = f"Command terminated by signal 9\n{BLOCK}".replace("sleep 1", "other")
    got = read("gnu-time", f"Command exited with non-zero status 3\n{failed}{killed}", name="t.txt")

    assert [(each.status, each.reason, each.exit_code, each.signal) for each in got.of(Outcome)] == [
        ("fail_to_run", "exit code 3", 3, None), ("fail_to_run", "killed by signal 9", None, 9),
    ]  # fmt: skip
    assert got.tally.notes == []


def test_a_block_cut_short_is_a_reject() -> None:
    """The one after it loads."""
    got = read("gnu-time", BLOCK[:120] + "\n" + BLOCK, name="t.txt")

    assert got.rejects() == [(1, "ends before its exit status")]
    assert len(got.samples()) == 1

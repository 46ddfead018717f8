"""Many at once: loaders wait their turn, readers wait for nobody."""

import json
import subprocess
import sys
from pathlib import Path

from ..exhaustive import exhaustive

WRITERS, READERS, STEPS = 8, 4, 30


def bench(*arguments: str) -> "subprocess.Popen[str]":
    """`bench …` in a process of its own."""
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@exhaustive
def test_eight_ingests_and_their_readers_never_meet_a_lock(tmp_path: Path) -> None:
    """Every process ends well, nobody is told of a lock, and every line is there once."""
    store = str(tmp_path / "store")
    for number in range(WRITERS):
        folder = tmp_path / f"config-{number}"
        folder.mkdir()
        lines = (
            json.dumps({"batch_id": step, "chunk_sizes": [number + 1], "model_run_duration_ms": 1.5}) + "\n"
            for step in range(STEPS)
        )
        (folder / "steps_0.jsonl").write_text("".join(lines))
    first = bench("ingest", str(tmp_path / "config-0"), "--store", store)
    assert first.wait() == 0
    running = [bench("ingest", str(tmp_path / f"config-{number}"), "--store", store) for number in range(WRITERS)]
    running += [bench("sql", "SELECT count(*) FROM schedule_chunks", "--store", store) for _ in range(READERS)]
    ended = [(process.communicate()[1], process.returncode) for process in running]

    assert [code for _, code in ended] == [0] * len(running)
    assert not any("lock" in talk for talk, _ in ended)
    asked = bench(
        "sql", "SELECT count(*), count(DISTINCT run_id) FROM schedule_chunks", "--format", "csv", "--store", store
    )
    assert asked.communicate()[0].splitlines()[1] == f"{WRITERS * STEPS},{WRITERS}"

"""What lies in the working folder is no part of bench, whatever it is called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LINES = [
    ["function", "mine:double", "--repeat", "2", "--processes", "2"],
    ["function", "mine", "--repeat", "2", "--processes", "2"],
    ["memory", "mine.py"],
    ["models", "--models", "mlp", "--backends", "eager", "--quick", "--repeat", "2"],
    ["command", "--repeat", "2", "--", "true"],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("hiding", ["bench.py", "bench/__init__.py"])
@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line[:2]))
def test_a_file_called_bench_hinders_no_measurement(hiding: str, line: list[str], tmp_path: Path) -> None:
    """It is not imported, what is to be measured is found beside it, and a note says what scripts would import."""
    (tmp_path / hiding).parent.mkdir(exist_ok=True)
    (tmp_path / hiding).write_text("raise SystemExit('the wrong bench')\n")
    (tmp_path / "mine.py").write_text("import bench\n@bench.benchmark\ndef double():\n    return 2 * 2\ndouble()\n")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("bench")), "measure", *line], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "BENCH_STORE": str(tmp_path / ".bench")},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert f"note: {hiding} is what scripts in this folder import as bench" in done.stderr

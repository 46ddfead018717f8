"""Commands in processes of their own that begin warm: forked from one that has imported what every command imports."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

# Runs each line of its input in a child, with a limit of time and memory, and answers its exit code and what it wrote.
SERVER = """
import atexit, json, os, resource, runpy, signal, sys, duckdb, pyarrow.parquet, scipy.special
import bench.cli, bench.ingest.command, bench.query.command, bench.query.comparison.command, bench.viz.command

def run(words, folder, environment, memory):
    os.chdir(folder), os.environ.clear(), os.environ.update(environment)
    sys.path.insert(0, folder)
    signal.alarm(60)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    sys.argv = words
    if words[0] == "bench":
        bench.cli.main()
    else:
        runpy.run_path(words[0], run_name="__main__")

for line in sys.stdin:
    out, err = os.memfd_create("out"), os.memfd_create("err")
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(out, 1), os.dup2(err, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        code = 1
        try:
            run(*json.loads(line))
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = [os.pread(file, 1 << 20, 0).decode(errors="replace") for file in (out, err)]
    os.close(out), os.close(err)
    print(json.dumps([code, *said]), flush=True)
os._exit(0)
"""

Told = tuple[int, str, str]  # exit code, stdout, stderr
Warm = Callable[..., Told]


@contextlib.contextmanager
def server() -> Iterator[Warm]:
    """Give a function that runs `bench` or a script with its words, in a folder and an environment."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as process:
        assert process.stdin and process.stdout

        def run(*words: str, folder: Path, environment: Mapping[str, str], memory: int = 0) -> Told:
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps([words, str(folder), dict(environment), memory]) + "\n")
            process.stdin.flush()
            code, out, err = json.loads(process.stdout.readline())
            return code, out, err

        yield run
        process.stdin.close()

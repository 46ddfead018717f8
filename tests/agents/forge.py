"""A fake GitHub and GitLab on loopback that keep comments, and what runs the steps of `ci/` in a shell as these do."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TOKEN = "s3cr3t-token"
BOT = {"login": "github-actions[bot]", "id": 7}
SOMEBODY = {"login": "somebody", "id": 8}
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
_NAME = re.compile(r"'[^']*'|[a-zA-Z_][\w.]*")
_CALLS = {"startsWith": "starts_with", "toJSON": "to_json"}

Values = Mapping[str, Any]


@dataclass
class Forge:
    """The comments of one pull or merge request, and every request that was made."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def say(self, body: str, who: Mapping[str, Any] = SOMEBODY) -> None:
        """Add a comment."""
        self.comments.append({"id": 100 + len(self.comments), "body": body, "user": who, "author": who})

    def answer(self, method: str, path: str, body: str, token: str) -> tuple[int, Any]:
        """Status and document of a request."""
        self.requests.append(f"{method} {path}")
        if TOKEN not in token:
            return 401, {"message": "bad credentials"}
        if path == "/user":
            return 200, BOT
        if method == "GET":
            page = int(path.rpartition("&page=")[2])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        text = json.loads(body)["body"]
        if method == "POST":
            self.say(text, BOT)
            return 201, self.comments[-1]
        (found,) = [one for one in self.comments if str(one["id"]) == path.rpartition("/")[2]]
        found["body"] = text
        return 200, found


@contextmanager
def forge() -> Iterator[Forge]:
    """The fake, while the block lasts."""
    kept = Forge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            token = self.headers.get("Authorization", "") + self.headers.get("PRIVATE-TOKEN", "")
            status, document = kept.answer(self.command, self.path, self.rfile.read(length).decode(), token)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def evaluate(text: str, values: Values) -> Any:
    """An expression of a workflow: names, texts, ==, !=, !, && and ||, startsWith, toJSON. What is not known is an empty text."""
    operands: dict[str, Any] = {}

    def operand(match: re.Match[str]) -> str:
        if match[0] in _CALLS:
            return _CALLS[match[0]]
        name = f"operand_{len(operands)}"
        operands[name] = match[0][1:-1] if match[0].startswith("'") else values.get(match[0], "")
        return name

    code = _NAME.sub(operand, text)
    code = (
        code.replace("&&", " and ").replace("||", " or ").replace("!=", "<>").replace("!", " not ").replace("<>", "!=")
    )
    calls = {
        "starts_with": lambda text, start: str(text).startswith(start),
        "to_json": lambda value: json.dumps(value or None, indent=2),
    }
    return eval(" ".join(code.split()), {"__builtins__": {}, **calls, **operands})


def expand(text: str, values: Values) -> str:
    """A text with its expressions replaced, as a runner does before it starts anything."""
    return _EXPRESSION.sub(lambda match: str(evaluate(match[1], values)), str(text))


@dataclass
class Outcome:
    """How a job ended."""

    code: int
    ran: list[str]  # the names of its steps
    environments: dict[str, dict[str, str]]  # of each step, what it was given
    output: str
    summary: str = ""


def run_action(values: Values, *, folder: Path, cache: Path, environment: Mapping[str, str]) -> Outcome:
    """Run the steps of `ci/action.yml` in a checkout.

    Args:
        values: The contexts of the workflow by dotted name, such as "github.event_name"; inputs have their defaults.
        folder: The checkout.
        cache: Folder that the steps of actions/cache keep things in, in a folder for each key.
        environment: What every step is given.
    """
    action = yaml.safe_load((ROOT / "ci" / "action.yml").read_text())
    known = {
        f"inputs.{name}": expand(given["default"], values)
        for name, given in action["inputs"].items()
        if "default" in given
    }
    known |= values
    found = Outcome(0, [], {}, "")
    scratch = Path(str(known["runner.temp"]))
    scratch.mkdir(exist_ok=True)
    for step in action["runs"]["steps"]:
        if not evaluate(step.get("if", "'true'"), known):
            continue
        found.ran.append(step["name"])
        if "uses" in step:
            _cache(step["uses"], {name: expand(text, known) for name, text in step["with"].items()}, cache)
            continue
        files = {name: scratch / f"{name}.txt" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        given = {name: expand(text, known) for name, text in (step.get("env") or {}).items()}
        found.environments[step["name"]] = given
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder, text=True,
            env={**environment, **given, **{name: str(file) for name, file in files.items()}},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        found.output += f"## {step['name']}\n{done.stdout}"
        found.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step.get('id')}.outputs.{name}"] = value
        if done.returncode:
            found.code = done.returncode
            break
    return found


def _cache(action: str, given: Mapping[str, str], cache: Path) -> None:
    """What actions/cache does: restore the newest that is kept under such a key, or keep it."""
    source, target = Path(given["path"]), cache / given["key"]
    if "/restore@" in action:
        kept = sorted(cache.glob(f"{given['restore-keys']}*"), key=lambda path: path.stat().st_mtime_ns)
        source, target = kept[-1] if kept else cache / "nothing", source
    if source.exists():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)


def run_gitlab(
    variables: Mapping[str, str], *, folder: Path, environment: Mapping[str, str], secrets: Mapping[str, str],
    legs: Sequence[Mapping[str, str]] = ({},),
) -> Outcome:  # fmt: skip
    """Run the jobs of `ci/gitlab.yml` in a checkout, in their order, each if its rules say so.

    Secrets are variables of the environment `bench`: a job without that environment does not get them. The job that measures
    runs once for each leg of its matrix, with these variables; what the legs leave lies in one folder. The checkout is clean, but
    for what a job keeps from pipeline to pipeline.
    """
    pipeline = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())
    common = {**pipeline["variables"], **pipeline[".bench"]["variables"]}
    found = Outcome(0, [], {}, "")
    if "public" not in pipeline["pages"]["cache"]["paths"]:
        shutil.rmtree(folder / "public", ignore_errors=True)
    jobs = [("bench-fetch", {}), *(("bench-measure", leg) for leg in legs), ("bench-finish", {}), ("pages", {})]
    for name, leg in jobs:
        job = pipeline[name]
        rules = [rule for rule in job["rules"] if _holds(rule["if"], variables)]
        if not rules or (found.code and rules[0].get("when") != "always"):
            continue
        known = {**common, **variables, **leg, **(secrets if job.get("environment", {}).get("name") == "bench" else {})}
        known = {key: _resolved(value, known) for key, value in known.items()}
        found.ran.append(name)
        found.environments[name] = known
        for worktree in ("base", "head"):  # of another leg, which has a clone of its own
            shutil.rmtree(folder / ".bench-work" / worktree, ignore_errors=True)
        for line in [*pipeline[".bench"]["before_script"], *job["script"]]:
            done = subprocess.run(
                ["sh", "-c", line], cwd=folder, text=True, env={**environment, **known},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            found.output += f"## {name}\n{done.stdout}"
            if done.returncode:
                allowed = done.returncode == job.get("allow_failure", {}).get("exit_codes")
                found.code = found.code or (0 if allowed else done.returncode)
                break
    return found


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    """The value of a variable that may name others."""
    return re.sub(r"\$(\w+)", lambda match: variables.get(match[1], ""), value)


def _holds(rule: str, variables: Mapping[str, str]) -> bool:
    """A rule of a pipeline: comparisons joined by &&."""
    return all(
        left == right
        for left, right in (
            [
                variables.get(word.strip()[1:], "") if word.strip().startswith("$") else word.strip().strip('"')
                for word in part.split("==")
            ]
            for part in rule.split("&&")
        )
    )


def environment(folder: Path, python: str) -> dict[str, str]:
    """The variables of a runner whose `bench` is this one, and whose `python3` is the one that runs the tests."""
    programs = folder / "bin"
    programs.mkdir()
    for name, words in (("bench", f'"{python}" -P -m bench'), ("python3", f'"{python}"')):
        (programs / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "PYTHONPATH": str(ROOT / ".types"), "BENCH_LOCK": "off",
        "GIT_CONFIG_GLOBAL": os.devnull, "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
    }  # fmt: skip

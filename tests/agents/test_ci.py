"""`ci/`: the GitHub action and the GitLab jobs, their steps run in a shell against a local repository and a fake forge."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..exhaustive import exhaustive
from . import forge as forges
from .forge import ROOT, SOMEBODY, TOKEN, Forge, Outcome, evaluate, run_action, run_gitlab

HOSTILE_BRANCH = "x$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned\"'&|,<!--"  # git allows it
ACTION, PIPELINE = ROOT / "ci" / "action.yml", ROOT / "ci" / "gitlab.yml"
STEPS = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
MEASURED = "command --repeat 3 --name 'the work' -- sh work.sh"
FAST, SLOW = 0.02, 0.4  # seconds of work; with JUDGED, no machine is busy enough to take one for the other
JUDGED = "--floor 100%"
BUCKET_KEY = "AWS_SECRET_ACCESS_KEY=topsecret"


Given = Mapping[str, Any] | None  # inputs, contexts or variables beside the usual ones
# A git server that refuses the first push to the branch of results, as where another job was faster.
REFUSES_ONCE = """#!/bin/sh
while read -r _ _ name; do [ "$name" != refs/heads/bench-data ] || [ -e refused ] || { touch refused; exit 1; }; done
"""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clone, its bare origin, and the variables of the runner."""

    folder: Path
    origin: Path
    scratch: Path
    environment: dict[str, str]

    def git(self, *words: str) -> str:
        """Run git in the clone."""
        identity = ("-c", "user.name=me", "-c", "user.email=me@localhost")
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, seconds: float | None, branch: str = "main") -> str:
        """A commit on a branch whose work takes so long, or fails; it is checked out."""
        self.git("checkout", "-q", *(["-B"] if branch != "main" else []), branch)
        (self.folder / "work.sh").write_text("exit 3\n" if seconds is None else f"sleep {seconds}\n")
        self.git("add", "work.sh")
        self.git("commit", "-q", "--allow-empty", "-m", "$(touch pwned)")
        self.git("push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return self.git("rev-parse", "HEAD")

    def untouched(self) -> bool:
        """Whether nothing hostile ran."""
        return not list(self.folder.rglob("pwned")) and not list(self.scratch.rglob("pwned"))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A repository with a commit on main."""
    if not all(map(shutil.which, ("git", "curl", "bash", "xargs"))):
        pytest.skip("git, curl, bash and xargs are needed")
    environment = forges.environment(tmp_path, sys.executable)
    folder, origin = tmp_path / "clone", tmp_path / "origin.git"
    for words in (["init", "-q", "--bare", "-b", "main", str(origin)], ["clone", "-q", str(origin), str(folder)]):
        subprocess.run(["git", *words], env=environment, check=True, capture_output=True)
    found = Checkout(folder, origin, tmp_path / "temp", environment)
    found.git("checkout", "-q", "-b", "main")
    found.git("commit", "-q", "--allow-empty", "-m", "first")
    found.commit(FAST)
    return found


@pytest.fixture
def forge() -> Iterator[Forge]:
    """A forge that keeps comments."""
    with forges.forge() as found:
        yield found


def github(checkout: Checkout, forge: Forge, *, base: str = "", fork: bool = False, given: Given = None) -> Outcome:
    """The action on a push to main, or with a base on a pull request; a runner's disk begins empty."""
    shutil.rmtree(checkout.scratch, ignore_errors=True)
    values = {
        "github.event_name": "pull_request" if base else "push", "github.ref_name": "main", "github.repository": "me/it",
        "github.api_url": forge.url, "github.token": TOKEN, "github.run_id": "1", "github.run_attempt": "1",
        "github.job": "bench", "runner.temp": str(checkout.scratch), "inputs.measure": MEASURED, "inputs.install": "",
        "inputs.history": "3", "inputs.judge": JUDGED,
    }  # fmt: skip
    if base:
        values |= {
            "github.base_ref": "main", "github.ref_name": "12/merge", "github.event.pull_request.number": "12",
            "github.event.pull_request.base.sha": base, "github.head_ref": HOSTILE_BRANCH,
            "github.event.pull_request.head.repo.full_name": "them/it" if fork else "me/it",
        }  # fmt: skip
    options = {
        name if "." in name or name == "matrix" else f"inputs.{name}": value for name, value in (given or {}).items()
    }
    cache = checkout.folder.parent / "cache"
    return run_action({**values, **options}, folder=checkout.folder, cache=cache, environment=checkout.environment)


def gitlab(
    checkout: Checkout, forge: Forge, *, base: str = "", fork: bool = False, given: Given = None,
    legs: Sequence[Mapping[str, str]] = ({},),
) -> Outcome:  # fmt: skip
    """The jobs on a push to main, or with a base on a merge request; legs are of the matrix of the one that measures."""
    shutil.rmtree(checkout.folder / ".bench-work", ignore_errors=True)
    variables = {
        "CI_PROJECT_DIR": str(checkout.folder), "CI_PROJECT_ID": "1", "CI_API_V4_URL": forge.url, "CI_DEFAULT_BRANCH": "main",
        "BENCH_MEASURE": MEASURED, "BENCH_INSTALL": "", "BENCH_HISTORY": "3", "BENCH_JUDGE": JUDGED,
        "BENCH_REMOTE": str(checkout.origin), **(given or {}),
    }  # fmt: skip
    if base:
        variables |= {
            "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "12", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2" if fork else "1", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": HOSTILE_BRANCH,
            "CI_MERGE_REQUEST_TITLE": "$(touch pwned)",
        }  # fmt: skip
    else:
        variables |= {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}
    secrets = {"BENCH_TOKEN": TOKEN}
    return run_gitlab(variables, folder=checkout.folder, environment=checkout.environment, secrets=secrets, legs=legs)


def configs(checkout: Checkout, store: Path) -> list[str]:
    """The label of each run in a store."""
    done = subprocess.run(
        ["bench", "sql", "SELECT config FROM runs", "--format", "jsonl", "--store", str(store)],
        env=checkout.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line)["config"] for line in done.stdout.splitlines()]


RUNNERS: dict[str, Callable[..., Outcome]] = {"github": github, "gitlab": gitlab}
MARKS = {  # what a comment begins with; GitHub's job, and the hash of its matrix, here none
    "github": "<!-- bench bench 19765bd501b636fce433540d9e6735f51d66151d -->", "gitlab": "<!-- bench -->",
}  # fmt: skip


@exhaustive
@pytest.mark.parametrize("ci", RUNNERS)
def test_a_pull_request_without_a_history_is_measured_beside_its_base(
    checkout: Checkout, forge: Forge, ci: str
) -> None:
    """Both in turn; a slower head fails the job, and the comment that says so is edited when it is mended."""
    base = checkout.git("rev-parse", "HEAD")
    forge.say(f"{MARKS[ci]} I am not bench", SOMEBODY)
    for number in range(120):
        forge.say(f"chatter {number}")
    checkout.commit(SLOW, HOSTILE_BRANCH)
    slower = RUNNERS[ci](checkout, forge, base=base)
    first = [one["body"] for one in forge.comments if one["user"] != SOMEBODY]

    assert slower.code == 1, slower.output
    assert len(first) == 1
    assert first[0].startswith(f"{MARKS[ci]}\n## ") and "1 slower" in first[0]
    assert slower.output.count("recorded as run") == 6  # three rounds of two sides
    checkout.commit(FAST, HOSTILE_BRANCH)
    mended = RUNNERS[ci](checkout, forge, base=base)
    second = [one["body"] for one in forge.comments if one["user"] != SOMEBODY]
    assert mended.code == 0, mended.output
    assert len(second) == 1 and "slower" not in second[0].splitlines()[2]
    assert [request.split()[0] for request in forge.requests if not request.startswith("GET")] == [
        "POST", "PATCH" if ci == "github" else "PUT"
    ]  # fmt: skip
    assert forge.comments[0]["body"] == f"{MARKS[ci]} I am not bench"
    assert checkout.untouched()


@exhaustive
@pytest.mark.parametrize("ci", RUNNERS)
def test_pushes_make_a_history_on_a_branch(checkout: Checkout, forge: Forge, ci: str) -> None:
    """It grows commit by commit, and a push that is refused is tried again; then a pull request measures its head alone."""
    hook = checkout.origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(REFUSES_ONCE)
    hook.chmod(0o755)
    keep = {"keep": "branch:bench-data"} if ci == "github" else {"BENCH_KEEP": "branch:bench-data"}
    for count in range(1, 4):
        base = checkout.commit(FAST)
        pushed = RUNNERS[ci](checkout, forge, given=keep)
        assert pushed.code == 0, pushed.output
        assert checkout.git("ls-remote", "--heads", "origin", "bench-data")
        checkout.git("fetch", "-q", "origin", "bench-data")
        files = checkout.git("ls-tree", "-r", "--name-only", "FETCH_HEAD").splitlines()
        assert sum(name.startswith("events/runs/") for name in files) == count
        assert all(name.startswith(("events/", "artefacts/")) for name in files)
    assert (checkout.origin / "refused").exists()
    checkout.commit(SLOW, "slow")
    judged = RUNNERS[ci](checkout, forge, base=base, given=keep)

    assert judged.code == 1, judged.output
    assert judged.output.count("recorded as run") == 3  # the head, in three rounds
    assert "main+main~1+main~2" in forge.comments[-1]["body"].replace("\\", "")
    checkout.git("fetch", "-q", "origin", "bench-data")
    files = checkout.git("ls-tree", "-r", "--name-only", "FETCH_HEAD").splitlines()
    assert sum(name.startswith("events/runs/") for name in files) == 3  # nothing of the pull request is kept
    assert checkout.untouched()


@exhaustive
def test_a_broken_push_fails_and_is_kept(checkout: Checkout, forge: Forge) -> None:
    """In the runner's cache; too little data does not fail, a loss does, and the history has both."""
    codes = []
    for seconds in (FAST, FAST, None):
        checkout.commit(seconds)
        done = github(checkout, forge)
        codes.append(done.code)
        assert done.ran[-2:] == ["save the cache", "status"], done.output

    assert codes == [0, 0, 3], done.output
    assert "BROKEN" in done.summary
    (kept,) = (checkout.folder.parent / "cache").iterdir()
    assert len(configs(checkout, kept)) == 3
    assert forge.requests == []


@exhaustive
@pytest.mark.parametrize("ci", RUNNERS)
def test_a_fork_sees_no_credentials(checkout: Checkout, forge: Forge, ci: str, tmp_path: Path) -> None:
    """Neither token nor key is given to any step; it is measured and judged all the same, and nobody is written to."""
    base = checkout.git("rev-parse", "HEAD")
    bucket = str(tmp_path / "bucket")
    checkout.commit(FAST, HOSTILE_BRANCH)
    if ci == "github":
        done = github(
            checkout, forge, base=base, fork=True, given={"keep": bucket, "credentials": BUCKET_KEY, "rounds": "1"}
        )
    else:
        done = gitlab(checkout, forge, base=base, fork=True, given={"BENCH_KEEP": bucket, "BENCH_ROUNDS": "1"})

    assert done.code in (0, 1), done.output
    given = "\n".join(str(environment) for environment in done.environments.values())
    assert TOKEN not in given and "topsecret" not in given
    assert forge.requests == []
    assert done.output.count("recorded as run") == 2
    assert checkout.untouched()


@exhaustive
def test_a_bucket_is_copied_from_and_to_by_steps_of_their_own(checkout: Checkout, forge: Forge, tmp_path: Path) -> None:
    """They have the credentials, whatever is in them; the steps that measure and judge have none."""
    bucket = tmp_path / "bucket"
    credentials = f"\n{BUCKET_KEY} $(touch pwned)`touch pwned`\n"
    for count in (1, 2):
        done = github(checkout, forge, given={"keep": str(bucket), "credentials": credentials})
        assert done.code == 0, done.output
        assert len(list((bucket / "events" / "runs").iterdir())) == count
    keys = {name for name, environment in done.environments.items() if "topsecret" in str(environment)}

    assert keys == {"fetch the store", "keep the store"}
    assert checkout.untouched()


@exhaustive
def test_a_hostile_branch_is_a_label(checkout: Checkout, forge: Forge) -> None:
    """A pushed branch is a series; its name may be anything that git allows."""
    done = github(checkout, forge, given={"github.ref_name": HOSTILE_BRANCH})
    again = github(checkout, forge, given={"github.ref_name": HOSTILE_BRANCH})

    assert (done.code, again.code) == (0, 0), again.output
    (kept,) = (checkout.folder.parent / "cache").iterdir()
    assert configs(checkout, kept) == [HOSTILE_BRANCH] * 2
    assert checkout.untouched()


@exhaustive
def test_legs_of_a_matrix_keep_apart(checkout: Checkout, forge: Forge) -> None:
    """Each has a history and a comment of its own, which says which leg it is of."""
    legs = [{"matrix": {"python": version}, "rounds": "1"} for version in ("3.11", "3.12")]
    for leg in (*legs, legs[0]):
        assert github(checkout, forge, given=leg).code == 0
    histories = sorted(len(configs(checkout, kept)) for kept in (checkout.folder.parent / "cache").iterdir())
    base = checkout.git("rev-parse", "HEAD")
    checkout.commit(FAST, "change")
    for leg in (*legs, *legs):
        assert github(checkout, forge, base=base, given=leg).code == 0

    assert histories == [1, 2]
    assert [one["body"].splitlines()[1] for one in forge.comments] == [
        '`{ "python": "3.11" }`',
        '`{ "python": "3.12" }`',
    ]


@exhaustive
def test_gitlab_publishes_a_site_where_asked_for(checkout: Checkout, forge: Forge) -> None:
    """Only then, and only of the default branch: a site may be public; the next pipeline writes what differs."""
    assert "pages" not in gitlab(checkout, forge).ran
    done = gitlab(checkout, forge, given={"BENCH_PAGES": "yes", "CI_PROJECT_PATH": "team/it"})

    assert (done.code, done.ran[-1]) == (0, "pages"), done.output
    assert "<title>team/it</title>" in (checkout.folder / "public" / "index.html").read_text()
    style = next((checkout.folder / "public").glob("site-*.css"))
    written = style.stat().st_mtime_ns
    assert gitlab(checkout, forge, given={"BENCH_PAGES": "yes", "CI_PROJECT_PATH": "team/it"}).code == 0
    assert style.stat().st_mtime_ns == written


@exhaustive
def test_github_publishes_the_branch_of_the_store(checkout: Checkout) -> None:
    """The step of ci/pages.yml, run where its checkout lies, leaves the folder to upload, which the next night finds."""
    results = checkout.folder / "results.csv"
    results.write_text("name,latency_ms\nmlp,1.5\n")
    words = ["bench", "ingest", str(results), "--map", "name=name,value=latency_ms,unit:=ms", "--store", "store"]
    subprocess.run(words, cwd=checkout.folder, env=checkout.environment, check=True, capture_output=True)
    steps = yaml.safe_load((ROOT / "ci" / "pages.yml").read_text())["jobs"]["publish"]["steps"]
    (step,) = [step for step in steps if "bench publish" in step.get("run", "")]
    (upload,) = [step for step in steps if "upload-pages-artifact" in step.get("uses", "")]
    (cached,) = [one for one in steps[: steps.index(step)] if "actions/cache@" in one.get("uses", "")]
    assert cached["with"]["path"] == upload["with"]["path"]
    assert cached["with"]["key"].startswith(cached["with"]["restore-keys"])
    environment = {**checkout.environment, "REPOSITORY": "$(touch pwned)"}
    subprocess.run(["sh", "-c", step["run"]], cwd=checkout.folder, env=environment, check=True, capture_output=True)

    assert (checkout.folder / upload["with"]["path"] / "index.html").exists()
    assert checkout.untouched()


@exhaustive
def test_one_comment_has_the_verdicts_of_all_legs(checkout: Checkout, forge: Forge) -> None:
    """GitLab merges what the legs of a job leave, so their verdicts must not have one name."""
    base = checkout.git("rev-parse", "HEAD")
    checkout.commit(FAST, "change")
    legs = [{"CI_NODE_INDEX": f"{number}", "CI_JOB_NAME": f"bench-measure: [3.1{number}]"} for number in (1, 2)]

    assert gitlab(checkout, forge, base=base, given={"BENCH_ROUNDS": "1"}, legs=legs).code == 0
    (comment,) = forge.comments
    assert re.findall(r"bench-measure: \[[\d.]+\]", comment["body"]) == [
        "bench-measure: [3.11]",
        "bench-measure: [3.12]",
    ]


@exhaustive
@pytest.mark.parametrize("ci", RUNNERS)
def test_a_base_that_cannot_be_measured_is_said(checkout: Checkout, forge: Forge, ci: str) -> None:
    """A benchmark that is new in the pull request has nothing to be compared with; that is no failure."""
    checkout.git("rm", "-q", "work.sh")
    checkout.git("commit", "-q", "-m", "no work yet")
    base = checkout.git("rev-parse", "HEAD")
    checkout.commit(FAST, "new")
    prepare = "test -f work.sh"
    given = {"prepare": prepare, "rounds": "1"} if ci == "github" else {"BENCH_PREPARE": prepare, "BENCH_ROUNDS": "1"}
    done = RUNNERS[ci](checkout, forge, base=base, given=given)

    assert done.code == 0, done.output
    assert "nothing to compare with" in forge.comments[-1]["body"]


def test_the_action_refuses_what_hands_credentials_to_forks(checkout: Checkout, forge: Forge) -> None:
    """The event pull_request_target runs the code of a fork with the secrets of the repository."""
    done = github(checkout, forge, given={"github.event_name": "pull_request_target"})

    assert (done.code, done.ran) == (2, ["install"])
    assert "pull_request_target hands credentials to the code of forks" in done.output


def test_no_expression_stands_in_a_shell() -> None:
    """A runner pastes it there, so that a branch's name would be a program; GitLab's variables are only read by the shell."""
    scripts = [step["run"] for step in STEPS if "run" in step]

    assert len(scripts) == 9
    assert [script for script in scripts if "${{" in script] == []
    pipeline = yaml.safe_load(PIPELINE.read_text())
    texts = "\n".join(line for name in pipeline if name.startswith("bench-") for line in pipeline[name]["script"])
    assert not re.search(r"\$\[\[|\$CI_(COMMIT_(TITLE|MESSAGE|REF)|MERGE_REQUEST_(TITLE|SOURCE_BRANCH))", texts)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_shell_is_one(shell: str) -> None:
    """Every script parses, and quotes what it expands where a value of others could be split."""
    pipeline = yaml.safe_load(PIPELINE.read_text())
    scripts = [step["run"] for step in STEPS if "run" in step] if shell == "bash" else []
    scripts += [line for name in pipeline if name.startswith("bench-") for line in pipeline[name]["script"]]
    for script in scripts:
        assert subprocess.run([shell, "-n", "-c", script], env={"PATH": os.environ["PATH"]}).returncode == 0


def test_credentials_are_given_only_to_steps_that_run_no_code_of_the_commit() -> None:
    """And only where the event is not a fork's; tokens stand in no command line."""
    holders = {step["name"]: step for step in STEPS if re.search(r"inputs\.(token|credentials)", str(step.get("env")))}

    assert set(holders) == {"fetch the store", "comment", "keep the store"}
    for step in holders.values():
        fork = {
            "github.event_name": "pull_request", "github.repository": "me/it", "inputs.keep": "s3://bucket/team",
            "github.event.pull_request.head.repo.full_name": "them/it", "inputs.comment": "true",
        }  # fmt: skip
        assert not evaluate(step["if"], fork), step["name"]
        assert "MEASURE" not in step["env"] and "bench measure" not in step["run"]
        assert not re.search(r"curl[^|\n]*\$TOKEN", step["run"])
    pipeline = yaml.safe_load(PIPELINE.read_text())
    assert "environment" not in pipeline["bench-measure"]
    for job in ("bench-fetch", "bench-finish"):
        assert pipeline[job]["environment"] == {"name": "bench", "action": "access"}
        assert "bench measure" not in pipeline[job]["script"][0]


def test_the_page_leads_to_both() -> None:
    """docs/ci.md links the two files, and names only inputs and variables that they have."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    variables = set(yaml.safe_load(PIPELINE.read_text())["variables"]) | {"BENCH_TOKEN"}

    for file in (ACTION, PIPELINE):
        assert f"](../ci/{file.name})" in page
    assert set(re.findall(r"BENCH_[A-Z]+", page)) <= variables


def test_the_job_of_a_user_has_ten_lines() -> None:
    """The page begins with it, and it uses inputs that exist."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    block = page.partition("```yaml\n")[2].partition("```")[0]
    workflow = yaml.safe_load(block)
    (step,) = [step for step in workflow["jobs"]["bench"]["steps"] if "bench" in step["uses"]]

    assert len([line for line in block.splitlines() if line.strip() and not line.startswith("#")]) <= 10
    assert set(step["with"]) <= set(yaml.safe_load(ACTION.read_text())["inputs"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b == 'x' && c != 'y'", True), ("!startsWith(a.b, 'x')", False), ("missing || a.b", "x"), ("missing == ''", True),
        ("a.b != 'x' || (c == 'z' && !missing)", True), ("c == 'a && b'", False),
    ],
)  # fmt: skip
def test_expressions_mean_what_they_mean_to_a_runner(text: str, value: Any) -> None:
    """The few forms that the action uses."""
    assert evaluate(text, {"a.b": "x", "c": "z"}) == value

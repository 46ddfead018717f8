"""The commit and branch of the measured code, by the names that contexts of benchmarks give them."""

import re
from collections.abc import Mapping
from typing import Any

COMMITS = {
    "gitcommithash", "gitcommit", "gitcommitid", "gitcommitsha", "gitrev", "gitrevision", "githash", "gitsha", "gitsha1",
    "githubsha", "commit", "commitid", "commithash", "commitsha", "cicommitsha", "gitcommitsha1", "revision", "sha",
    "gitdescribe", "gitversion", "vcsrevision", "githead", "headsha", "headcommit", "gitcommitshort", "gitshortsha", "shortsha",
    "sourcerevision", "sourcecommit", "buildkitecommit", "circlesha1", "buildsourceversion", "buildvcsnumber", "traviscommit",
    "bitbucketcommit", "dronecommit", "dronecommitsha",
}  # fmt: skip
BRANCHES = {
    "gitbranch", "gitbranchname", "branch", "branchname", "githubrefname", "githubref", "githubheadref", "cicommitbranch",
    "cicommitrefname", "buildkitebranch", "circlebranch", "buildsourcebranch", "travisbranch", "bitbucketbranch", "dronebranch",
}  # fmt: skip
COMMIT = re.compile(
    r"(?:.{1,100}-\d+-g)?([0-9a-f]{7,64})([-+](?:dirty|modified)|\+)?", re.IGNORECASE
)  # git describe's, too
OTHER_REF = re.compile(r"refs/(?!heads/)")  # a tag, or what is to be merged
BRANCH_OF = re.compile(r"^(?:refs/heads/|(?:remotes/)?origin/)")  # as Jenkins writes a branch
DETACHED = "HEAD"  # what git calls the branch where none is checked out
WORDS = re.compile(r"[^a-z0-9]")


def revision_of(tags: Mapping[str, Any]) -> dict[str, Any]:
    """Commit, whether it was changed, and branch, where facts have them by one of their usual names, here or one level down."""
    found: dict[str, Any] = {}
    for facts in (tags, *(inner for inner in tags.values() if isinstance(inner, Mapping))):
        for key, value in facts.items():
            if isinstance(value, str) and len(key) < 40:
                word = WORDS.sub("", key.lower())
                if word in COMMITS and "git_commit" not in found and (commit := COMMIT.fullmatch(value)):
                    found |= {"git_commit": commit[1], **({"git_dirty": True} if commit[2] else {})}
                elif word in BRANCHES and 0 < len(value) < 200 and value != DETACHED and not OTHER_REF.match(value):
                    found.setdefault("git_branch", BRANCH_OF.sub("", value))
    return found

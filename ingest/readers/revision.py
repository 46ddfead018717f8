"""The commit and branch of the measured code, by the names that contexts of benchmarks give them."""

import re
from collections.abc import Mapping
from typing import Any

COMMITS = {
    "gitcommithash", "gitcommit", "gitcommitid", "gitcommitsha", "gitrev", "gitrevision", "githash", "gitsha", "gitsha1",
    "githubsha", "commit", "commitid", "commithash", "commitsha", "cicommitsha", "gitcommitsha1", "revision", "sha",
}  # fmt: skip
BRANCHES = {
    "gitbranch",
    "gitbranchname",
    "branch",
    "branchname",
    "githubrefname",
    "githubheadref",
    "cicommitbranch",
    "cicommitrefname",
}
COMMIT = re.compile(r"[0-9a-f]{7,64}(?:[-+](?:dirty|modified))?\+?", re.IGNORECASE)
WORDS = re.compile(r"[^a-z0-9]")


def revision_of(tags: Mapping[str, Any]) -> dict[str, Any]:
    """Commit and branch, where facts have them by one of their usual names, here or one level down."""
    found: dict[str, Any] = {}
    for facts in (tags, *(inner for inner in tags.values() if isinstance(inner, Mapping))):
        for key, value in facts.items():
            if isinstance(value, str) and len(key) < 40:
                word = WORDS.sub("", key.lower())
                if word in COMMITS and COMMIT.fullmatch(value):
                    found.setdefault("git_commit", value)
                elif word in BRANCHES and 0 < len(value) < 200:
                    found.setdefault("git_branch", value)
    return found

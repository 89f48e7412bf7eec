"""A project's repository: where its history is kept, and which checkout is the operator's."""

from __future__ import annotations

import os

from ddx.errors import NotFound
from ddx.git import run
from ddx.values import value


@value
class Repository:
    """All paths are absolute; `git_folder` is this checkout's own, `common_folder` everyone's."""

    checkout: str
    git_folder: str
    common_folder: str
    prefix: str = ""
    """The project's folder below the checkout, with a slash at its end; empty at the top."""


@value
class Head:
    """What is checked out: no branch if HEAD is detached, no commit if there is none yet."""

    repository: Repository
    branch: str
    commit: str


def read_head(folder: str) -> Head:
    """One question to git instead of five."""
    where = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
    asked = run(
        folder,
        *("rev-parse", *where, "--show-prefix", "HEAD^{commit}", "--symbolic-full-name", "HEAD"),
    )
    lines = os.fsdecode(asked.stdout).split("\n")
    if len(lines) < 5:
        raise NotFound(
            f"{folder} is in no checkout of a git repository",
            hint="agents work on commits; change to a checkout, or begin one with: git init",
        )
    git_folder, common, checkout, prefix = lines[:4]
    repository = Repository(checkout, git_folder, common, prefix)
    if not asked.ok:
        return Head(repository, "", "")
    commit, branch = lines[4:6]
    return Head(repository, branch if branch.startswith("refs/heads/") else "", commit)


def read_repository(folder: str) -> Repository:
    return read_head(folder).repository

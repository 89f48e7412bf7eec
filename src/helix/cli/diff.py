"""`helix diff`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.console.screen import on_terminal, say, write
from ddx.console.spec import Argument, Command, Flag
from ddx.errors import NotFound, UsageError
from ddx.project import find_project
from ddx.text import listed

if TYPE_CHECKING:
    from ddx.execution.record import Kept
    from ddx.project import Project

NEWEST = "last"
_MOST_NAMED = 5


def run(*, attempt: str, stat: bool) -> int:
    from ddx.git import commit_id
    from ddx.git.commits import diffstat
    from ddx.git.patches import patch_between
    from ddx.git.repository import read_repository

    project = find_project(os.getcwd())
    record = find_record(project, attempt)
    base, result = _ends(record)
    for commit in (base, result):
        if commit_id(project.root, commit) != commit:
            raise NotFound(f"attempt {record.attempt}: git no longer has its commit {commit}")
    repository = read_repository(project.root)
    if stat:
        say(diffstat(repository, base, result))
        return 0
    patch = patch_between(repository, base, result)
    if on_terminal():
        say(patch.decode("utf-8", "replace").rstrip("\n"))
    else:
        write(patch)
    return 0


def find_record(project: Project, name: str) -> Kept:
    """By its id, by a part that no other begins or ends with, or the newest by `last`."""
    from ddx.execution.record import attempts, read_record

    known = attempts(project)
    found = [it for it in known if it == name] or [
        it for it in known if name and (it.startswith(name) or it.endswith(name))
    ]
    if name == NEWEST:
        found = known[-1:]
    if len(found) > 1:
        some = listed([*found[:_MOST_NAMED], *(["more"] if len(found) > _MOST_NAMED else [])])
        raise UsageError(f"{name!r} may be any of {some}", hint="type more of it")
    if not found:
        raise NotFound(f"there is no attempt {name!r} here", hint="see: ddx agent attempts")
    return read_record(project, found[0])


def _ends(record: Kept) -> tuple[str, str]:
    """Where the attempt began and what it made of that."""
    from ddx.execution.record import MADE

    base = str(record.result.get("base") or record.intent.get("base") or "")
    result = str(record.result.get("result") or record.file(MADE).get("commit") or "")
    if not base or not result:
        raise NotFound(
            f"attempt {record.attempt} has made nothing",
            hint=f"its story: ddx agent log {record.attempt}",
        )
    return base, result


COMMAND = Command(
    "diff",
    "Show what an attempt changed, from its base to its result.",
    run,
    "helix diff last --stat",
    arguments=(Argument("attempt", "its id, the beginning or the end of it, or last"),),
    flags=(Flag("--stat", "only how much, and where", kind="switch"),),
)

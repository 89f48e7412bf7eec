"""`ddx bead diff`"""

from __future__ import annotations

import os

from ddx import git
from ddx.cli.session import open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.errors import NotFound
from ddx.tracker.compare import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.model import Row
    from ddx.tracker.store import Tracker


def run(*, rev: str | None, json: bool) -> int:
    tracker = open_tracker()
    found = compare(_rows_at(tracker, rev or "HEAD"), _rows_now(tracker))
    if json:
        answer([{"id": item.bead_id, "kind": item.kind, "changes": item.fields} for item in found])
    else:
        for item in found:
            for sentence in item.sentences:
                say(sentence)
        if not found:
            say(f"the tracker is as it was at {rev or 'HEAD'}")
    return 0


def _rows_at(tracker: Tracker, rev: str) -> dict[str, Row]:
    from ddx.tracker.codec import decode
    from ddx.tracker.index import build

    root = tracker.project.root
    if not git.commit_id(root, rev):
        raise NotFound(f"{root} has no commit {rev!r}", hint="for example: ddx bead diff HEAD~1")
    path = os.path.relpath(tracker.path, os.path.realpath(root))
    content = git.file_at(root, rev, f"./{path}") or b""
    columns = build(f"{rev}:{path}", content)
    rows = (
        decode(content[start:end]) for start, end in zip(columns.starts, columns.ends, strict=True)
    )
    return {row["id"]: row for row in rows}


def _rows_now(tracker: Tracker) -> dict[str, Row]:
    return {row["id"]: row for row in tracker.snapshot().rows()}


COMMAND = Command(
    "bead diff",
    "Say in sentences what changed in the tracker since a commit.",
    run,
    "ddx bead diff HEAD~3",
    arguments=(Argument("rev", "the commit to compare with; none: HEAD", required=False),),
    flags=(JSON,),
    schema="bead-diff",
)

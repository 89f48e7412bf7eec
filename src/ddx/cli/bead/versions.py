"""`ddx bead merge`, `resolve`, `diff` and `commit`: the versions of the tracker that git keeps."""

from __future__ import annotations

import os

from ddx.base import CorruptFile, DdxError, NeedsPerson, NotFound
from ddx.cli.bead.changes import finish
from ddx.cli.context import here, open_tracker, respond, tell
from ddx.console import ID, IF_REVISION, JSON, Argument, Command, Flag, say
from ddx.git import commands as git
from ddx.tracker import ChangeSet, WorkingCopy, commit_tracker, compare, merge_files, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ddx.tracker import Row, Snapshot, Tracker


@Command.of(
    example="ddx bead merge base.jsonl ours.jsonl theirs.jsonl",
    arguments=(
        Argument("base", "the version both sides began with"),
        Argument("ours", "our version; the result is written here"),
        Argument("theirs", "their version"),
    ),
)
def merge(*, base: str, ours: str, theirs: str) -> int:
    """Merge three versions of a tracker file by bead and field into OURS; git calls this."""
    try:
        return _merge(*map(os.path.abspath, (base, ours, theirs)))
    except (DdxError, OSError) as problem:
        # Exit 1 would tell git that OURS holds both sides now; any other makes it merge by lines.
        raise NeedsPerson(f"nothing was merged: {problem}") from problem


def _merge(base: str, ours: str, theirs: str) -> int:
    try:
        merged = merge_files(base, ours, theirs, draw=lambda: os.urandom(4).hex())
    except CorruptFile as problem:
        from ddx.git import merge_file

        say(f"{problem.message}; merging line by line instead")
        return 0 if merge_file(ours, base, theirs) else 1
    for renamed in merged.renamed:
        tell(f"both sides filed {renamed.old}: theirs is {renamed.new} now")
    for conflict in merged.conflicts:
        say(f"{conflict.bead}: both sides changed {conflict.field}")
    if merged.conflicts:
        tell("our values stand; settle each one: ddx bead resolve ID --field F --take ours|theirs")
    return 1 if merged.conflicts else 0


@Command.of(
    example="ddx bead resolve app-1a2b3c4d --field title --take theirs",
    arguments=(ID,),
    flags=(
        Flag("--field", "the field in conflict", required=True),
        Flag(
            "--take", "whose value stays", kind="choice", choices=("ours", "theirs"), required=True
        ),
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
def resolve_conflict(
    *, id: str, field: str, take: Literal["ours", "theirs"], if_revision: str | None, json: bool
) -> int:
    """Settle a field that both sides of a merge changed."""
    tracker = open_tracker()

    def decide(view: Snapshot, now: str) -> ChangeSet:
        working = WorkingCopy(view, now=now)
        working.put(resolve(working.row(id), field=field, take=take))
        return working.changes()

    applied = tracker.change(decide, expect={id: if_revision} if if_revision else None)
    left = [item["field"] for item in applied.rows[id].get("merge-conflicts", [])]
    more = f"; still open: {', '.join(left)}" if left else ""
    return finish(tracker, applied, id, f"{id}: {field} is settled{more}", json=json)


@Command.of(
    example="ddx bead diff HEAD~3",
    arguments=(Argument("rev", "the commit to compare with; none: HEAD", required=False),),
    flags=(JSON,),
    schema="bead-diff",
)
def diff(*, rev: str | None, json: bool) -> int:
    """Say in sentences what changed in the tracker since a commit."""
    tracker = open_tracker()
    now = {row["id"]: row for row in tracker.snapshot().rows()}
    found = compare(_rows_at(tracker, rev or "HEAD"), now)
    rows = [{"id": item.bead_id, "kind": item.kind, "changes": item.fields} for item in found]
    sentences = [sentence for item in found for sentence in item.sentences]
    none = [] if found else [f"the tracker is as it was at {rev or 'HEAD'}"]
    return respond(rows, *sentences, *none, json=json)


def _rows_at(tracker: Tracker, rev: str) -> dict[str, Row]:
    from ddx.tracker import build, decode

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


@Command.of(
    example='ddx bead commit --message "tracker: plan the release"',
    flags=(Flag("--message", "the commit message"), JSON),
    schema="bead-committed",
)
def commit_beads(*, message: str | None, json: bool) -> int:
    """Commit the tracker's files and nothing else."""
    project = here()
    project.refuse_inside_an_attempt(what="committing the tracker")
    commit = commit_tracker(project, message=message or "tracker: update beads")
    done = f"committed the tracker as {commit[:12]}" if commit else "nothing to commit"
    return respond({"commit": commit or None}, done, json=json)

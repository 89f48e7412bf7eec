"""The attempt's one commit, made by us from what the workspace holds (X-9, X-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.record import DIFFSTAT, MADE
from ddx.execution.reserved import Reserved, reserve
from ddx.git.commits import commit_tree, diffstat, make_tree, message_for
from ddx.text import listed
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ddx.execution.attempt import Task
    from ddx.execution.record import Record
    from ddx.git.commits import WorkTree

ASIDE = "nested"


@value
class Signature:
    """Whose work a commit is, and what it may hold."""

    titles: tuple[str, ...]
    beads: tuple[str, ...]
    attempt: str
    harness: str
    reserved: Reserved

    @property
    def message(self) -> str:
        title = self.titles[0] if len(self.titles) == 1 else listed(self.titles)
        return message_for(title, self.beads, attempt=self.attempt, harness=self.harness)


@value
class Made:
    """What an attempt made of its base."""

    commit: str
    paths: tuple[str, ...]
    diffstat: str


def signature_of(task: Task) -> Signature:
    named = [path for bead in task.beads for path in bead.paths]
    return Signature(
        tuple(bead.title for bead in task.beads),
        tuple(bead.id for bead in task.beads),
        task.attempt,
        task.preparation.harness,
        reserve(task.target.repository.prefix, named),
    )


def signature_in(intent: Mapping[str, Any], *, prefix: str) -> Signature:
    """The same from the record of an attempt that died."""
    named: Sequence[str] = [path for paths in intent["paths"].values() for path in paths]
    return Signature(
        tuple(intent["titles"].values()),
        tuple(intent["beads"]),
        intent["attempt"],
        intent["harness"],
        reserve(prefix, named),
    )


def commit_files(files: WorkTree, signature: Signature, record: Record) -> Made | None:
    """One commit on the base, of all that may land; None if that is nothing.

    The record knows either before anything else is done with the files (X-19).
    """
    snapshot = make_tree(files, may_land=signature.reserved.may_land, aside=record.path(ASIDE))
    if snapshot.put_back:
        record.tell("put-back", f"may not land: {listed(snapshot.put_back[:20])}")
    if snapshot.flattened:
        record.tell("flattened", f"a repository of its own: {listed(snapshot.flattened[:20])}")
    if not snapshot.tree:
        record.write(MADE, {"commit": "", "paths": []})
        return None
    repository = files.repository
    commit = commit_tree(repository, snapshot.tree, (files.base,), signature.message)
    made = Made(commit, snapshot.paths, diffstat(repository, files.base, commit))
    record.write(MADE, {"commit": commit, "paths": list(made.paths)})
    record.write_text(DIFFSTAT, f"{made.diffstat}\n")
    record.tell("committed", made.diffstat.rpartition("\n")[2].strip(), commit=commit)
    return made

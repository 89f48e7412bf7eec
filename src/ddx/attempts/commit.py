"""The attempt's one commit, made by us from what the workspace holds (X-9, X-10)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.attempts.record import DIFFSTAT, MADE
from ddx.base import cut, listed, shown, value
from ddx.documents import LAST
from ddx.git import branches as landing
from ddx.git import commit_tree, diffstat, make_tree, message_for
from ddx.proof import BeadDocuments
from ddx.tracker import PENDING, remove_pending

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ddx.attempts.attempt import AttemptTask
    from ddx.attempts.record import RecordWriter
    from ddx.attempts.workspace import Workspace
    from ddx.documents import DocumentRank
    from ddx.git import AttemptFiles, PreservedCommit
    from ddx.project import Project
    from ddx.proof import Governance
    from ddx.tracker import Bead

ASIDE = "nested"


@value
class CommitSpec:
    """Whose work a commit is, and what it may hold."""

    titles: tuple[str, ...]
    beads: tuple[str, ...]
    attempt: str
    harness: str
    reserved: ReservedPaths

    @property
    def message(self) -> str:
        title = self.titles[0] if len(self.titles) == 1 else listed(self.titles)
        return message_for(title, self.beads, attempt=self.attempt, harness=self.harness)


@value
class AttemptCommit:
    """What an attempt made of its base."""

    commit: str
    paths: tuple[str, ...]
    diffstat: str


def signature_of(task: AttemptTask) -> CommitSpec:
    named = [path for bead in task.beads for path in bead.paths]
    return CommitSpec(
        tuple(bead.title for bead in task.beads),
        tuple(bead.id for bead in task.beads),
        task.attempt,
        harness=task.preparation.harness,
        reserved=reserve(task.target.repository.prefix, named),
    )


def signature_in(intent: Mapping[str, Any], *, prefix: str) -> CommitSpec:
    """The same from the record of an attempt that died."""
    named: Sequence[str] = [path for paths in intent["paths"].values() for path in paths]
    return CommitSpec(
        tuple(intent["titles"].values()),
        tuple(intent["beads"]),
        intent["attempt"],
        harness=intent["harness"],
        reserved=reserve(prefix, named),
    )


def commit_files(
    files: AttemptFiles, signature: CommitSpec, record: RecordWriter
) -> AttemptCommit | None:
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
    made = AttemptCommit(commit, snapshot.paths, diffstat(repository, files.base, commit))
    record.write(MADE, {"commit": commit, "paths": list(made.paths)})
    record.write_text(DIFFSTAT, f"{made.diffstat}\n")
    record.tell("committed", made.diffstat.rpartition("\n")[2].strip(), commit=commit)
    return made


def keep(project: Project, beads: Sequence[str], attempt: str, commit: str) -> str:
    """The ref that holds the attempt's commit from now on; a batch is kept under its first bead."""
    return landing.keep(project.root, beads[0], attempt, commit)


def find_kept(project: Project, attempt: str) -> PreservedCommit | None:
    """What is kept of an attempt."""
    return next((item for item in landing.kept(project.root) if item.attempt == attempt), None)


def forget_kept(project: Project, attempt: str) -> bool:
    """Its ref goes, and nothing of it waits any more; False if nothing was kept."""
    kept = find_kept(project, attempt)
    if kept is not None:
        landing.drop(project.root, kept)
    remove_pending(project.ddx(*PENDING), attempt)
    return kept is not None


@contextmanager
def kept_on_error(
    project: Project, workspace: Workspace, signature: CommitSpec, record: RecordWriter
) -> Iterator[None]:
    """On success nothing; on an error the work is kept before the workspace goes (X-6)."""
    try:
        yield
    except BaseException:
        if made := commit_files(workspace.work, signature, record):
            keep(project, signature.beads, signature.attempt, made.commit)
        raise


_FOLDERS = (".ddx", ".helix")
_CHECKS = ".ddx/checks"


@value
class ReservedPaths:
    """`prefix` is where the project lies in its repository, `named` what its beads ask for."""

    prefix: str = ""
    named: tuple[str, ...] = ()

    def may_land(self, path: str) -> bool:
        """Only checks and settings can be asked for, and only by their own names."""
        for root in {"", self.prefix}:
            below = path.removeprefix(root)
            if path.startswith(root) and below.split("/")[0] in _FOLDERS:
                return root == self.prefix and _is_askable(below) and self._names(below)
        return True

    def _names(self, path: str) -> bool:
        asked = filter(_is_askable, self.named)
        return any(path == name or path.startswith(f"{name}/") for name in asked)


def reserve(prefix: str, named: Sequence[str]) -> ReservedPaths:
    """`named` as people write paths, relative to the project."""
    return ReservedPaths(
        prefix, tuple(name.strip().removeprefix("./").rstrip("/") for name in named)
    )


def _is_askable(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return (
        f"{path}/".startswith(f"{_CHECKS}/")
        or path == ".ddx/config.yaml"
        or (folder == ".helix" and name.endswith(".yaml"))
    )


_MOST_NAMED = 5


def find_overreach(
    changed_paths: Iterable[str], governing: Governance, beads: Sequence[Bead]
) -> str:
    """Why the edits of these paths are not for these beads; empty if they are.

    A path that was removed, or moved away from, counts as edited. In a batch an edit needs one
    bead that may make it.
    """
    excess = [
        (path, standing)
        for path in dict.fromkeys(changed_paths)
        if (standing := governing.files.get(path)) is not None
        and not any(_may_edit(bead, governing, path, standing) for bead in beads)
    ]
    if not excess:
        return ""
    names = [f"{shown(standing.id)} ({cut(shown(path), 200)})" for path, standing in excess]
    more = len(names) - _MOST_NAMED
    said = listed([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    who = listed(bead.id for bead in beads)
    verb = "names" if len(beads) == 1 else "name"
    return (
        f"it edits {said}, which {who} neither {verb} nor may change by {_reach(governing, beads)}"
    )


def _may_edit(bead: Bead, governing: Governance, path: str, standing: DocumentRank) -> bool:
    named = governing.named.get(bead.id, BeadDocuments())
    if standing.id in named.documents or path in map(_plain, bead.paths):
        return True
    if not named.is_governed:
        return False
    own_tier = LAST if named.tier is None else named.tier
    return standing.tier is None or standing.tier >= own_tier


def _plain(path: str) -> str:
    return path.removeprefix("./")


def _reach(governing: Governance, beads: Sequence[Bead]) -> str:
    """What the beads stand on, for the person who must decide."""
    ids = [
        doc_id
        for bead in beads
        for doc_id in governing.named.get(bead.id, BeadDocuments()).documents
    ]
    return f"the authority of {listed(dict.fromkeys(ids))}" if ids else "any governing document"

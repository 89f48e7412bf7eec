"""How a proven commit gets onto the operator's branch, without harm to anything of his (X-13).

    BranchMoved       the branch holds the commit, and we looked
    LandingConflict   it and the branch do not fit together
    LandingUnproven   together they do not pass the checks
    LandingDrifted    what it was built on or for has changed
    OperatorEdits     files of the operator are in the way
    LandingRefused    the operator is in the middle of something there
    LandingHeld       another git, or a dead one, holds a lock, or the branch moves all the time

Only the first is a success. The commit of the last three is fine as it is and can be tried again.

What is about to happen is written down first, in `.ddx/state/landing.json`, and forgotten once it
is over. So whoever finds that file while holding the landing lock knows that its writer died. The
branch moves last: if it has, all is well; if not, what was written so far is put back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from ddx.attempts.outcome import AttemptStatus, status_of_proof
from ddx.base import CorruptFile, DdxError, JsonFile, Lock, value
from ddx.base import json as fastjson
from ddx.git import branches as landing
from ddx.git import (
    changed_paths,
    commit_tree,
    in_the_way,
    index_lock,
    is_ancestor,
    mend,
    read_repository,
    worktrees,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.attempts.commit import ReservedPaths
    from ddx.attempts.context import LandingTarget
    from ddx.base import Clock, ProcessResult
    from ddx.git import Repository, Worktree
    from ddx.project import Project
    from ddx.proof import Proof

LOCK_PATIENCE_S = 10.0
"""For a git of the operator's that holds the index."""
TURN_PATIENCE_S = 4 * 3600.0
"""For the landing before ours, which may be checking a merged tree (X-20)."""
_INTENT = ("state", "landing.json")
_PAUSE_S = 0.1
_ROUNDS = 5


@value
class BranchMoved:
    commit: str
    status = AttemptStatus.SUCCESS
    reason = ""


@value
class LandingConflict:
    paths: tuple[str, ...]
    status = AttemptStatus.LAND_CONFLICT

    @property
    def reason(self) -> str:
        return f"it conflicts with what landed meanwhile in {_listed(self.paths)}"


@value
class LandingUnproven:
    proof: Proof
    is_merged: bool = True

    @property
    def status(self) -> AttemptStatus:
        return status_of_proof(self.proof) or AttemptStatus.CHECK_FAILED

    @property
    def reason(self) -> str:
        names = _listed(tuple(check.name for check in self.proof.failures)) or "every check"
        return f"{'merged with what landed meanwhile ' if self.is_merged else ''}it fails {names}"


@value
class LandingDrifted:
    reason: str
    status = AttemptStatus.DRIFT


@value
class OperatorEdits:
    paths: tuple[str, ...]
    folder: str
    status = AttemptStatus.OPERATOR_EDITS

    @property
    def reason(self) -> str:
        return f"your own files in {self.folder} are in the way: {_listed(self.paths)}"


@value
class LandingRefused:
    reason: str
    status = AttemptStatus.OPERATOR_EDITS


@value
class LandingHeld:
    reason: str
    status = AttemptStatus.INTERRUPTED


LandingOutcome: TypeAlias = (
    BranchMoved
    | LandingConflict
    | LandingUnproven
    | LandingDrifted
    | OperatorEdits
    | LandingRefused
    | LandingHeld
)


@value
class LandingCandidate:
    """A commit that passed its checks on its own base, and how to judge it on another."""

    commit: str
    base: str
    message: str
    reserved: ReservedPaths
    prove: Callable[[str], Proof]
    """Checks a merge of it, in the attempt's workspace."""
    still_valid: Callable[[str], str | None]
    """Given the branch's tip: why it should not land any more (X-18)."""
    is_proven: bool = True
    """False: not even on its own base, so it is checked in any case."""


def land(
    project: Project,
    target: LandingTarget,
    candidate: LandingCandidate,
    *,
    clock: Clock,
    turn_patience_s: float = TURN_PATIENCE_S,
) -> LandingOutcome:
    """Move the target branch to the candidate, or to its merge; one landing at a time (X-20).

    Whatever the answer, the operator's files are as he left them, or as the new commit has them.
    """
    with landing_lock(project, clock, turn_patience_s) as turn:
        unfinished = mend_cut_off(project, target.repository, clock)
        if unfinished:
            return LandingHeld(unfinished)
        proven_on = candidate.base if candidate.is_proven else ""
        for _ in range(_ROUNDS):
            place = _find_place(target)
            if isinstance(place, LandingRefused):
                return place
            tip, worktree = place
            joined = _join(target, candidate, tip)
            if not isinstance(joined, str):
                return joined
            if tip != proven_on and not _only_tracker_moved(target, proven_on, tip):
                proof = candidate.prove(joined)
                if not proof.ok:
                    return LandingUnproven(proof, is_merged=joined != candidate.commit)
            proven_on = tip
            if reason := candidate.still_valid(tip):
                return LandingDrifted(reason)
            _require_nothing_reserved(target, candidate, tip, joined)
            settled = _move(project, target, worktree, tip=tip, new=joined, turn=turn, clock=clock)
            if settled is not None:
                return settled
    return LandingHeld(
        f"{target.name} was in other hands {_ROUNDS} times when the work was about to land"
    )


def has_landed(target: LandingTarget, commit: str) -> bool:
    """For whoever comes after a crash: does the branch hold it?"""
    tip = landing.tip_of(target.repository, target.branch)
    return tip == commit or (bool(tip) and is_ancestor(target.repository, commit, tip))


def _find_place(target: LandingTarget) -> tuple[str, Worktree | None] | LandingRefused:
    """The branch's tip, and the checkout that must move with it."""
    places = []
    for worktree in worktrees(target.repository):
        if not landing.belongs_to(worktree, target.branch):
            continue
        if not worktree.is_there:
            return LandingRefused(
                f"{target.name} is checked out in {worktree.folder}, which is not there"
            )
        if operation := landing.operation_in(worktree):
            return LandingRefused(f"{operation} is in progress in {worktree.folder}")
        places.append(worktree)
    if len(places) > 1:
        both = " and ".join(worktree.folder for worktree in places)
        return LandingRefused(f"{target.name} is checked out more than once: in {both}")
    if places:
        return places[0].head, places[0]
    tip = landing.tip_of(target.repository, target.branch)
    return (tip, None) if tip else LandingRefused(f"the branch {target.name} is gone")


def _join(target: LandingTarget, candidate: LandingCandidate, tip: str) -> str | LandingOutcome:
    """The commit that the branch would move to."""
    if tip == candidate.base:
        return candidate.commit
    common = landing.merge_base(target.repository, candidate.commit, tip)
    if common == candidate.commit:
        return BranchMoved(candidate.commit)
    if common != candidate.base:
        # A merge would bring back what the operator took out of the branch.
        return LandingDrifted(
            f"{target.name} was rewritten: it no longer holds {candidate.base[:12]}, the base"
        )
    merged = landing.merge_trees(target.repository, tip, candidate.commit)
    if isinstance(merged, landing.MergeConflict):
        return LandingConflict(merged.paths)
    parents = (tip, candidate.commit)
    return commit_tree(target.repository, merged, parents, f"Merge {candidate.message}")


def _only_tracker_moved(target: LandingTarget, one: str, other: str) -> bool:
    if not one:
        return False
    prefix = f"{target.repository.prefix}.ddx/"
    return all(path.startswith(prefix) for path in changed_paths(target.repository, one, other))


def _require_nothing_reserved(
    target: LandingTarget, candidate: LandingCandidate, tip: str, new: str
) -> None:
    for path in changed_paths(target.repository, tip, new):
        if not candidate.reserved.may_land(path):
            raise DdxError(f"{new[:12]} changes {path}, which no attempt may change; not landed")


def _move(
    project: Project,
    target: LandingTarget,
    worktree: Worktree | None,
    tip: str,
    new: str,
    turn: Lock,
    clock: Clock,
) -> LandingOutcome | None:
    """None if someone was faster, so that everything must be looked at again.

    The git that moves the branch holds our turn as well: if we die, nobody acts before it ends.
    """
    locks = landing.landing_locks(target.repository, worktree, target.branch)
    if held := _wait_for(locks, clock):
        return LandingHeld(held)
    folder = worktree.folder if worktree else ""
    since_ns = begin(project, LandingIntent(target.branch, folder, tip, new=new))
    if worktree is None:
        landing.move_branch(target.repository, target.branch, new, expected=tip, holding=turn.fd)
        _remove(project.ddx(*_INTENT))
        return BranchMoved(new) if has_landed(target, new) else None
    done = landing.fast_forward(worktree, target.branch, new, holding=turn.fd)
    if has_landed(target, new):
        _remove(project.ddx(*_INTENT))
        return BranchMoved(new)
    if done.timed_out:  # the merge that we killed a moment ago cannot remove its lock any more
        _remove(index_lock(worktree))
    if held := _wait_for((index_lock(worktree),), clock):
        return LandingHeld(held)
    mend(target.repository, worktree, old=tip, new=new, since_ns=since_ns)
    _remove(project.ddx(*_INTENT))
    was_held = any(f"{os.path.basename(lock)}'" in done.complaint for lock in locks)
    if was_held or _has_moved_on(target, worktree):
        return None
    paths = in_the_way(target.repository, worktree, old=tip, new=new)
    if paths := paths or _named_by(done):
        return OperatorEdits(paths, worktree.folder)
    said = "it took too long" if done.timed_out else done.complaint
    return LandingRefused(f"git could not update {worktree.folder}: {said}")


def _named_by(refusal: ProcessResult) -> tuple[str, ...]:
    """The files that git itself lists, such as edited ones that it was told to overlook."""
    lines = refusal.complaint.splitlines()
    return tuple(line.removeprefix("\t") for line in lines if line.startswith("\t"))


def _has_moved_on(target: LandingTarget, before: Worktree) -> bool:
    """Did the operator commit, switch or begin something since we looked?"""
    return before not in worktrees(target.repository) or bool(landing.operation_in(before))


def _listed(paths: tuple[str, ...], most: int = 10) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


# -- undoing a landing that was cut off while it changed the operator's checkout (X-19) -----


@value
class LandingIntent:
    """A fast-forward of a branch and of the folder that it is checked out in."""

    branch: str
    folder: str
    old: str
    new: str


def landing_lock(project: Project, clock: Clock, patience_s: float = TURN_PATIENCE_S) -> Lock:
    """Held for a whole landing: there is one at a time."""
    path = project.ddx("state", "landing.lock")
    return Lock(path, wait_s=patience_s, clock=clock, command="landing")


def mend_half_landed(project: Project, *, clock: Clock) -> str:
    """Undo a landing that was cut off; why that must wait, or nothing. Twice is harmless.

    Every landing does this first, so it is needed only where none follows.
    """
    if not os.path.exists(project.ddx(*_INTENT)):
        return ""
    with landing_lock(project, clock):
        return mend_cut_off(project, read_repository(project.root), clock)


def mend_cut_off(project: Project, repository: Repository, clock: Clock) -> str:
    """The same, for whoever holds the lock."""
    found = _read(project)
    if found is None:
        return ""
    intent, since_ns = found
    for worktree in worktrees(repository):
        state = (worktree.folder, worktree.branch, worktree.head)
        if state == (intent.folder, intent.branch, intent.old):
            if held := _wait_for((index_lock(worktree),), clock):
                return f"an earlier landing was cut off, and {held}"
            mend(repository, worktree, old=intent.old, new=intent.new, since_ns=since_ns)
    _remove(project.ddx(*_INTENT))
    return ""


def begin(project: Project, intent: LandingIntent) -> int:
    """Before the first file changes; when that was, by the file system's own clock."""
    path = project.ddx(*_INTENT)
    JsonFile(path).write(intent.__dict__, durable=False)
    return os.stat(path).st_ctime_ns


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # `git clean -x`, or the git that we killed had come to its end


def _wait_for(locks: Sequence[str], clock: Clock) -> str:
    """About the lock of another git that outlasts all our patience, or nothing."""
    deadline = clock.now_ns() + int(LOCK_PATIENCE_S * 1e9)
    while lock := next(filter(os.path.exists, locks), ""):
        if clock.now_ns() >= deadline:
            return f"{lock} is there: a git command runs, or one died (then remove that file)"
        clock.sleep(_PAUSE_S)
    return ""


def _read(project: Project) -> tuple[LandingIntent, int] | None:
    path = project.ddx(*_INTENT)
    try:
        with open(path, encoding="utf-8") as file:
            return LandingIntent(**fastjson.loads(file.read())), os.fstat(file.fileno()).st_ctime_ns
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise CorruptFile(
            f"{path}: a landing was cut off, and what it was about cannot be read",
            hint=f"see that `git status` shows only your own edits, then remove {path}",
        ) from None

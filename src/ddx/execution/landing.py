"""How a proven commit gets onto the operator's branch, without harm to anything of his (X-13).

    Moved           the branch holds the commit, and we looked
    Conflict        it and the branch do not fit together
    Unproven        together they do not pass the checks
    Drifted         what it was built on or for has changed
    OperatorEdits   files of the operator are in the way
    Refused         the operator is in the middle of something there
    Held            another git, or one that died, holds a lock, or the branch moves all the time

Only the first is a success. The commit of the last three is fine as it is and can be tried again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from ddx.errors import DdxError, UsageError
from ddx.execution.half_landed import (
    TURN_PATIENCE_S,
    Intent,
    about,
    begin,
    forget,
    landing_lock,
    mend_cut_off,
    remove_lock_of_killed,
    wait_for,
)
from ddx.execution.model import Status
from ddx.git import commit_id, landing
from ddx.git.commits import changed_paths, commit_tree, is_ancestor
from ddx.git.mending import in_the_way, mend
from ddx.git.repository import read_head
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.clock import Clock
    from ddx.execution.model import Proof
    from ddx.execution.reserved import Reserved
    from ddx.files import Lock
    from ddx.git.landing import Worktree
    from ddx.git.repository import Repository
    from ddx.process import Result
    from ddx.project import Project


_ROUNDS = 5


@value
class Target:
    """Where an attempt begins and where its work is to go, fixed before anything else."""

    repository: Repository
    branch: str
    base: str

    @property
    def name(self) -> str:
        return self.branch.removeprefix("refs/heads/")


@value
class Moved:
    commit: str


@value
class Conflict:
    paths: tuple[str, ...]


@value
class Unproven:
    proof: Proof
    is_merged: bool = True


@value
class Drifted:
    reason: str


@value
class OperatorEdits:
    paths: tuple[str, ...]
    reason: str


@value
class Refused:
    reason: str


@value
class Held:
    reason: str


Settled: TypeAlias = Moved | Conflict | Unproven | Drifted | OperatorEdits | Refused | Held


@value
class Candidate:
    """A commit that passed its checks on its own base, and how to judge it on another."""

    commit: str
    base: str
    message: str
    reserved: Reserved
    prove: Callable[[str], Proof]
    """Checks a merge of it, in the attempt's workspace."""
    still_valid: Callable[[str], str | None]
    """Given the branch's tip: why it should not land any more (X-18)."""
    is_proven: bool = True
    """False: not even on its own base, so it is checked in any case."""


def fix_target(project: Project, from_rev: str = "", *, merge: bool = True) -> Target:
    """The branch that is checked out now, and the commit to build on."""
    head = read_head(project.root)
    if not head.commit:
        raise UsageError(
            f"{project.root} has no commit yet, so there is nothing to build on",
            hint='git commit --allow-empty -m "begin"',
        )
    if not head.branch:
        raise UsageError(
            f"{project.root} is on no branch (its HEAD is detached), so nothing could land",
            hint="git switch BRANCH",
        )
    target = Target(head.repository, head.branch, head.commit)
    if not from_rev:
        return target
    base = commit_id(project.root, from_rev)
    if not base:
        raise UsageError(f"--from {from_rev}: there is no such commit", hint="git log --oneline")
    if merge and not is_ancestor(target.repository, base, head.commit):
        raise UsageError(
            f"--from {from_rev} is not in the history of {target.name}, so its work cannot land",
            hint="add --no-merge to keep the work at a ref, or switch to a branch that holds it",
        )
    return Target(head.repository, head.branch, base)


def land(
    project: Project,
    target: Target,
    candidate: Candidate,
    *,
    clock: Clock,
    turn_patience_s: float = TURN_PATIENCE_S,
) -> Settled:
    """Move the target branch to the candidate, or to its merge; one landing at a time (X-20).

    Whatever the answer, the operator's files are as he left them, or as the new commit has them.
    """
    with landing_lock(project, clock, turn_patience_s) as turn:
        unfinished = mend_cut_off(project, target.repository, clock)
        if unfinished:
            return Held(unfinished)
        proven_on = candidate.base if candidate.is_proven else ""
        for _ in range(_ROUNDS):
            place = _find_place(target)
            if isinstance(place, Refused):
                return place
            tip, worktree = place
            joined = _join(target, candidate, tip)
            if not isinstance(joined, str):
                return joined
            if tip != proven_on and not _only_tracker_moved(target, proven_on, tip):
                proof = candidate.prove(joined)
                if not proof.ok:
                    return Unproven(proof, is_merged=joined != candidate.commit)
            proven_on = tip
            if reason := candidate.still_valid(tip):
                return Drifted(reason)
            _require_nothing_reserved(target, candidate, tip, joined)
            settled = _move(project, target, worktree, tip, joined, turn, clock)
            if settled is not None:
                return settled
    return Held(f"{target.name} was in other hands {_ROUNDS} times when the work was about to land")


def has_landed(target: Target, commit: str) -> bool:
    """For whoever comes after a crash: does the branch hold it?"""
    tip = landing.tip_of(target.repository, target.branch)
    return tip == commit or (bool(tip) and is_ancestor(target.repository, commit, tip))


def status_of(settled: Settled) -> Status:
    """What the outcome calls it (X-15)."""
    match settled:
        case Moved():
            return Status.SUCCESS
        case Conflict():
            return Status.LAND_CONFLICT
        case Unproven(proof=proof):
            only_ratchets = all(check.is_ratchet for check in proof.failures)
            is_ratchet = bool(proof.failures) and only_ratchets
            return Status.RATCHET_FAILED if is_ratchet else Status.CHECK_FAILED
        case Drifted():
            return Status.DRIFT
        case OperatorEdits() | Refused():
            return Status.OPERATOR_EDITS
        case Held():
            return Status.INTERRUPTED


def reason_of(settled: Settled) -> str:
    """Why it did not land, in words; empty if it did."""
    match settled:
        case Moved():
            return ""
        case Conflict(paths=paths):
            return f"it conflicts with what landed meanwhile in {_listed(paths)}"
        case Unproven(proof=proof, is_merged=is_merged):
            names = _listed(tuple(check.name for check in proof.failures)) or "every check"
            return f"{'merged with what landed meanwhile ' if is_merged else ''}it fails {names}"
        case OperatorEdits(paths=paths, reason=reason):
            return f"{reason}: {_listed(paths)}"
        case Drifted(reason=reason) | Refused(reason=reason) | Held(reason=reason):
            return reason


def _find_place(target: Target) -> tuple[str, Worktree | None] | Refused:
    """The branch's tip, and the checkout that must move with it."""
    places = []
    for worktree in landing.worktrees(target.repository):
        if not landing.belongs_to(worktree, target.branch):
            continue
        if not worktree.is_there:
            return Refused(f"{target.name} is checked out in {worktree.folder}, which is not there")
        if operation := landing.operation_in(worktree):
            return Refused(f"{operation} is in progress in {worktree.folder}")
        places.append(worktree)
    if len(places) > 1:
        both = " and ".join(worktree.folder for worktree in places)
        return Refused(f"{target.name} is checked out more than once: in {both}")
    if places:
        return places[0].head, places[0]
    tip = landing.tip_of(target.repository, target.branch)
    return (tip, None) if tip else Refused(f"the branch {target.name} is gone")


def _join(target: Target, candidate: Candidate, tip: str) -> str | Settled:
    """The commit that the branch would move to."""
    if tip == candidate.base:
        return candidate.commit
    common = landing.merge_base(target.repository, candidate.commit, tip)
    if common == candidate.commit:
        return Moved(candidate.commit)
    if common != candidate.base:
        # A merge would bring back what the operator took out of the branch.
        return Drifted(
            f"{target.name} was rewritten: it no longer holds {candidate.base[:12]}, the base"
        )
    merged = landing.merge_trees(target.repository, tip, candidate.commit)
    if isinstance(merged, landing.Conflicted):
        return Conflict(merged.paths)
    parents = (tip, candidate.commit)
    return commit_tree(target.repository, merged, parents, f"Merge {candidate.message}")


def _only_tracker_moved(target: Target, one: str, other: str) -> bool:
    if not one:
        return False
    prefix = f"{target.repository.prefix}.ddx/"
    return all(path.startswith(prefix) for path in changed_paths(target.repository, one, other))


def _require_nothing_reserved(target: Target, candidate: Candidate, tip: str, new: str) -> None:
    for path in changed_paths(target.repository, tip, new):
        if not candidate.reserved.may_land(path):
            raise DdxError(f"{new[:12]} changes {path}, which no attempt may change; not landed")


def _move(
    project: Project,
    target: Target,
    worktree: Worktree | None,
    tip: str,
    new: str,
    turn: Lock,
    clock: Clock,
) -> Settled | None:
    """None if someone was faster, so that everything must be looked at again.

    The git that moves the branch holds our turn as well: if we die, nobody acts before it ends.
    """
    locks = landing.landing_locks(target.repository, worktree, target.branch)
    if lock := wait_for(locks, clock):
        return Held(about(lock))
    folder = worktree.folder if worktree else ""
    since_ns = begin(project, Intent(target.branch, folder, tip, new))
    if worktree is None:
        landing.move_branch(target.repository, target.branch, new, expected=tip, holding=turn.fd)
        forget(project)
        return Moved(new) if has_landed(target, new) else None
    done = landing.fast_forward(worktree, target.branch, new, holding=turn.fd)
    if has_landed(target, new):
        forget(project)
        return Moved(new)
    if done.timed_out:
        remove_lock_of_killed(worktree)
    if lock := wait_for((landing.index_lock(worktree),), clock):
        return Held(about(lock))
    mend(target.repository, worktree, old=tip, new=new, since_ns=since_ns)
    forget(project)
    was_held = any(f"{os.path.basename(lock)}'" in done.complaint for lock in locks)
    if was_held or _has_moved_on(target, worktree):
        return None
    paths = in_the_way(target.repository, worktree, old=tip, new=new)
    if paths := paths or _named_by(done):
        return OperatorEdits(paths, f"your own files in {worktree.folder} are in the way")
    said = "it took too long" if done.timed_out else done.complaint
    return Refused(f"git could not update {worktree.folder}: {said}")


def _named_by(refusal: Result) -> tuple[str, ...]:
    """The files that git itself lists, such as edited ones that it was told to overlook."""
    lines = refusal.complaint.splitlines()
    return tuple(line.removeprefix("\t") for line in lines if line.startswith("\t"))


def _has_moved_on(target: Target, before: Worktree) -> bool:
    """Did the operator commit, switch or begin something since we looked?"""
    return before not in landing.worktrees(target.repository) or bool(landing.operation_in(before))


def _listed(paths: tuple[str, ...], most: int = 10) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more

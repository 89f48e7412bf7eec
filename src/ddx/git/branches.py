"""How a commit reaches a branch, and the refs of what did not (X-13, X-14)."""

from __future__ import annotations

import hashlib
import os
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ddx.base import ATTEMPT, DdxError, value
from ddx.git.commands import require, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.base import ProcessResult
    from ddx.git.repository import Repository

KEPT = "refs/helix/attempts/"
PINNED = "refs/helix/bases/"

_PATIENT_S = 900.0
_LONGEST_PART = 180
_USAGE_ERROR = 129
_OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply/applying": "`git am`",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
# A branch that is rebased or bisected is not checked out, but it will be again.
_RETURNS_TO = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


@value
class Worktree:
    """One checkout of the repository; no branch if its HEAD is detached."""

    folder: str
    git_folder: str
    head: str
    branch: str
    is_there: bool = True


@value
class MergeConflict:
    """The paths that two commits change in ways that do not fit together."""

    paths: tuple[str, ...]


@value
class PreservedCommit:
    """A commit that did not land and is not lost."""

    bead: str
    attempt: str
    commit: str
    ref: str


# -- where a branch is checked out --------------------------------------------------------------


def worktrees(repository: Repository) -> list[Worktree]:
    """Every checkout there is, the main one first; not those that `git worktree prune` removes."""
    listed = run(repository.checkout, "worktree", "list", "--porcelain", "-z")
    require(listed, "git worktree list")
    found = []
    for place, block in enumerate(os.fsdecode(listed.stdout).split("\0\0")):
        facts = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
        if "HEAD" not in facts or "prunable" in facts:
            continue
        folder, git_folder = facts["worktree"], repository.common_folder
        if place:
            git_folder = _linked_git_folder(folder)
        elif repository.git_folder == repository.common_folder:
            folder = repository.checkout  # git guesses it wrong for a submodule
        is_there = os.path.isdir(folder)
        found.append(
            Worktree(
                folder, git_folder, facts["HEAD"], branch=facts.get("branch", ""), is_there=is_there
            )
        )
    return found


def operation_in(worktree: Worktree) -> str:
    """What its operator has begun there and not ended, such as `a rebase`; or nothing."""
    return next(
        (
            what
            for name, what in _OPERATIONS.items()
            if os.path.exists(os.path.join(worktree.git_folder, name))
        ),
        "",
    )


def belongs_to(worktree: Worktree, branch: str) -> bool:
    """Is the branch checked out there, or will it be when a rebase or bisect ends?"""
    if worktree.branch == branch:
        return True
    names = (branch, branch.removeprefix("refs/heads/"))
    return any(_first_line(worktree.git_folder, name) in names for name in _RETURNS_TO)


def index_lock(worktree: Worktree) -> str:
    """Where a git that changes the checkout or the index says so."""
    return os.path.join(worktree.git_folder, "index.lock")


def landing_locks(
    repository: Repository, worktree: Worktree | None, branch: str
) -> tuple[str, ...]:
    """Every lock that a move of the branch needs; with its checkout it would stop half way."""
    ref = os.path.join(repository.common_folder, f"{branch}.lock")
    if worktree is None:
        return (ref,)
    return (index_lock(worktree), os.path.join(worktree.git_folder, "HEAD.lock"), ref)


# -- merging and moving -------------------------------------------------------------------------


def tip_of(repository: Repository, branch: str) -> str:
    """The branch's commit; empty if there is no such branch any more."""
    asked = run(repository.checkout, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
    return asked.text.strip() if asked.ok else ""


def merge_base(repository: Repository, one: str, other: str) -> str:
    """Their best common ancestor; empty if they have none."""
    asked = run(repository.checkout, "merge-base", one, other)
    return asked.text.strip() if asked.ok else ""


def merge_trees(repository: Repository, ours: str, theirs: str) -> str | MergeConflict:
    """The tree of both, without a checkout."""
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
    merged = run(repository.checkout, *words, ours, theirs, timeout_s=_PATIENT_S)
    if merged.code == _USAGE_ERROR:
        raise DdxError("this git cannot merge without a checkout", hint="install git 2.38 or newer")
    tree, *rest = os.fsdecode(merged.stdout).split("\0")
    if merged.code == 1:
        return MergeConflict(tuple(dict.fromkeys(path for path in rest if path)))
    require(merged, f"merging {theirs} into {ours}")
    return tree


def fast_forward(worktree: Worktree, branch: str, commit: str, *, holding: int) -> ProcessResult:
    """Move the branch and its checkout to a later commit; git refuses to overwrite any file.

    Nothing that the operator set for his own merges counts. Only `branch` can move: on any other,
    which he may have switched to this very moment, the merge asks for a signature, and no commit
    of ours has one. An interrupt waits, since a killed merge leaves the checkout half done.
    """
    name = branch.removeprefix("refs/heads/")
    return _to_its_end(
        lambda: run(
            worktree.folder,
            f"--config-env=branch.{name}.mergeOptions=HELIX_MERGE_OPTIONS",
            *("merge", "--ff-only", "--no-autostash", "--no-overwrite-ignore"),
            *("--no-stat", "--quiet", commit),
            env={"HELIX_MERGE_OPTIONS": "--no-verify-signatures"},
            settings=("merge.verifySignatures=true", "submodule.recurse=false"),
            timeout_s=_PATIENT_S,
            holding=(holding,),
        )
    )


def move_branch(
    repository: Repository, branch: str, commit: str, *, expected: str, holding: int
) -> bool:
    """Move a branch that is checked out nowhere; False if it is no longer where we saw it."""
    words = ("update-ref", "-m", "helix: land an attempt", branch, commit, expected)
    return run(repository.checkout, *words, holding=(holding,)).ok


# -- refs of our own ----------------------------------------------------------------------------


def pin(folder: str, attempt: str, commit: str) -> None:
    """The base of an attempt stays, whatever the operator does to his branches meanwhile."""
    words = ("update-ref", PINNED + _part(attempt), commit)
    require(run(folder, *words, env={ATTEMPT: attempt}), "git update-ref")


def unpin(folder: str, attempt: str) -> None:
    require(run(folder, "update-ref", "-d", PINNED + _part(attempt)), "git update-ref")


def keep(folder: str, bead_id: str, attempt: str, commit: str) -> str:
    """A ref that holds the commit from now on; its name is safe whatever the id is made of."""
    ref = f"{KEPT}{_part(bead_id)}/{_part(attempt)}"
    require(run(folder, "update-ref", ref, commit), f"keeping {commit} at {ref}")
    return ref


def kept(folder: str) -> list[PreservedCommit]:
    """Everything that is kept, sorted by bead and attempt."""
    listed = run(folder, "for-each-ref", "--format=%(objectname) %(refname)", KEPT)
    require(listed, "git for-each-ref")
    found = []
    for line in listed.text.splitlines():
        commit, _, ref = line.partition(" ")
        bead, _, attempt = ref.removeprefix(KEPT).partition("/")
        found.append(PreservedCommit(_text_of(bead), _text_of(attempt), commit, ref=ref))
    return found


def drop(folder: str, item: PreservedCommit) -> None:
    """Let go of it, if it is still the commit that was looked at."""
    require(run(folder, "update-ref", "-d", item.ref, item.commit), f"dropping {item.ref}")


def _part(text: str) -> str:
    """One part of a ref's name; two texts never give the same one."""
    coded = quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="").replace("~", "%7E")
    coded = coded.replace("..", "%2E%2E") or "%"
    if coded.startswith(".") or coded.endswith((".", ".lock")):
        coded = coded.replace(".", "%2E")
    if len(coded) <= _LONGEST_PART:
        return coded
    mark = hashlib.sha256(coded.encode()).hexdigest()[:20]
    return f"{coded[: _LONGEST_PART - 40].rpartition('%')[0] or coded[:100]}%-{mark}"


def _text_of(part: str) -> str:
    """The text that a part was made of; of a very long one only what is left."""
    if "%-" in part or part == "%":
        return part.removesuffix("%")
    try:
        return unquote_to_bytes(part).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # not a name of ours
        return part


def _linked_git_folder(folder: str) -> str:
    pointer = _first_line(folder, ".git").removeprefix("gitdir:").strip()
    return os.path.join(folder, pointer or ".git")


def _first_line(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _to_its_end(call: Callable[[], ProcessResult]) -> ProcessResult:
    """An interrupt waits until the call is over: it never reaches a thread of its own."""
    results: list[ProcessResult | DdxError] = []
    is_over = Event()  # Thread.join forgets a thread that runs on when it is interrupted

    def work() -> None:
        try:
            results.append(call())
        except DdxError as problem:
            results.append(problem)
        finally:
            is_over.set()

    Thread(target=work).start()
    try:
        is_over.wait()
    except BaseException:
        is_over.wait()
        raise
    if isinstance(results[0], DdxError):
        raise results[0]
    return results[0]

"""A proven commit lands without harm to anything of the operator's, or it does not land (X-13)."""

# @spec-ref TD-001

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.operators import (
    FAILED,
    PASSED,
    Attempt,
    Operator,
    attempt_on,
    live_at,
    make_operator,
)
from tests.support.tracker import wait_for

from ddx.attempts.context import fix_target
from ddx.attempts.landing import (
    BranchMoved,
    LandingConflict,
    LandingDrifted,
    LandingHeld,
    LandingIntent,
    LandingRefused,
    LandingUnproven,
    OperatorEdits,
    begin,
    has_landed,
    landing_lock,
    mend_half_landed,
)
from ddx.attempts.outcome import AttemptStatus
from ddx.base.clock import Clock
from ddx.base.errors import Busy, CorruptFile, DdxError, NotFound, UsageError
from ddx.git.branches import drop, keep, kept
from ddx.project.project import Project
from ddx.proof.evidence import Check, Proof
from ddx.testing import FakeClock


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    live_at(tmp_path / "home", monkeypatch)
    return tmp_path / "home"


@pytest.fixture(params=["main checkout", "linked worktree"])
def operator(tmp_path: Path, request: pytest.FixtureRequest) -> Operator:
    return make_operator(tmp_path / "app", is_linked=request.param == "linked worktree")


@pytest.fixture
def at_main(tmp_path: Path) -> Operator:
    return make_operator(tmp_path / "app")


def git_folder(operator: Operator) -> Path:
    return Path(operator.git("rev-parse", "--absolute-git-dir"))


def plant(path: Path, canary: Path) -> Path:
    """A program that leaves a trace when it is run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran >> '{canary}'\ncat\n")
    path.chmod(0o755)
    return path


# -- the plain way -------------------------------------------------------------------------------


def test_the_branch_and_its_checkout_move_together(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n", "deep/er/d.txt": "d\n", "b.txt": None})

    assert attempt.land() == BranchMoved(attempt.commit)

    assert operator.tip("main") == attempt.commit
    assert operator.read("a.txt") == "new\n"
    assert operator.read("deep/er/d.txt") == "d\n"
    assert not (operator.root / "b.txt").exists()
    assert operator.git("status", "--porcelain") == ""
    assert attempt.proven == []
    assert not (operator.root / ".ddx/state/landing.json").exists()


def test_the_commit_says_what_for_whom_and_by_whom(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    attempt.land()
    assert at_main.git("log", "-1", "--format=%an <%ae> %cn%n%B", "main") == (
        "Mara <mara@example.org> Mara\nDo it [app-1]\n\n"
        "Helix-Bead: app-1\nHelix-Attempt: attempt-1\nHelix-Harness: script"
    )


def test_to_land_again_changes_nothing(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    attempt.land()
    later = operator.commit({"c.txt": "c\n"})
    assert has_landed(attempt.target, attempt.commit)

    assert attempt.land() == BranchMoved(attempt.commit)

    assert operator.tip("main") == later


@pytest.mark.parametrize(
    "settings",
    [
        {"merge.autoStash": "true", "rebase.autoStash": "true"},
        {"merge.ff": "false"},
        {"merge.ff": "only", "pull.rebase": "true"},
        {"merge.verifySignatures": "true", "commit.gpgSign": "true", "gpg.program": "false"},
        {"branch.main.mergeOptions": "-s ours"},
        {"branch.main.mergeOptions": "--squash"},
        {"branch.main.mergeOptions": "--no-ff --no-commit --autostash"},
        {"core.autocrlf": "true", "core.safecrlf": "true"},
        {"submodule.recurse": "true"},
        {"core.splitIndex": "true", "core.untrackedCache": "true"},
        {"feature.manyFiles": "true"},
        {"i18n.commitEncoding": "latin1", "merge.log": "true", "merge.stat": "true"},
        {"diff.external": "false", "diff.noprefix": "true", "diff.renames": "copies"},
        {"core.quotePath": "true", "core.precomposeUnicode": "true"},
        {"user.useConfigOnly": "true"},
        {"transfer.fsckObjects": "true", "core.logAllRefUpdates": "always"},
        {"protocol.file.allow": "never", "clone.rejectShallow": "true"},
    ],
    ids=lambda settings: ",".join(f"{name}={text}" for name, text in settings.items()),
)
def test_what_the_operator_set_for_his_own_merges_does_not_count(
    at_main: Operator, settings: dict[str, str]
) -> None:
    for name, text in settings.items():
        at_main.git("config", name, text)
    at_main.write("b.txt", "edited\n")
    attempt = attempt_on(at_main, {"a.txt": "new\n"})

    assert attempt.land() == BranchMoved(attempt.commit)

    assert at_main.tip() == attempt.commit
    assert at_main.read("a.txt").splitlines() == ["new"]
    assert at_main.read("b.txt") == "edited\n"
    assert at_main.git("status", "--porcelain") == "M b.txt"
    assert at_main.git("stash", "list") == ""


def test_no_hook_and_no_monitor_of_the_repository_runs(operator: Operator, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name in ("post-merge", "reference-transaction", "post-index-change", "post-checkout"):
        plant(git_folder(operator).parent / "hooks" / name, canary)
        plant(git_folder(operator) / "hooks" / name, canary)
        plant(tmp_path / "hooks" / name, canary)
    operator.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    operator.git("config", "core.fsmonitor", str(plant(tmp_path / "monitor", canary)))
    canary.unlink(missing_ok=True)

    attempt = attempt_on(operator, {"a.txt": "new\n"})
    assert isinstance(attempt.land(), BranchMoved)

    assert not canary.exists()  # X-3b


def test_a_branch_name_may_hold_what_a_setting_may_not(at_main: Operator) -> None:
    at_main.git("switch", "--quiet", "-c", "feat=a.b/c d".replace(" ", "-"))
    at_main.git("config", "branch.feat=a.b/c-d.mergeOptions", "-s ours")
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    assert attempt.land() == BranchMoved(attempt.commit)
    assert at_main.read("a.txt") == "new\n"


# -- files of the operator -----------------------------------------------------------------------


def edit(operator: Operator) -> None:
    operator.write("b.txt", "mine\n")


def stage(operator: Operator) -> None:
    edit(operator)
    operator.git("add", "b.txt")


def stage_and_edit(operator: Operator) -> None:
    stage(operator)
    operator.write("b.txt", "mine again\n")


def delete(operator: Operator) -> None:
    (operator.root / "b.txt").unlink()


def make_untracked(operator: Operator) -> None:
    operator.write("mine.txt", "mine\n")
    operator.write("debug.log", "ignored\n")


def plan_to_add(operator: Operator) -> None:
    operator.write("planned.txt", "mine\n")
    operator.git("add", "--intent-to-add", "planned.txt")


def change_the_tracker(operator: Operator) -> None:
    operator.write(".ddx/beads.jsonl", '{"id":"app-1","status":"closed"}\n')


@pytest.mark.parametrize(
    "do",
    [edit, stage, stage_and_edit, delete, make_untracked, plan_to_add, change_the_tracker],
)
def test_edits_elsewhere_stay_and_the_work_lands(
    operator: Operator, do: Callable[[Operator], None]
) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    do(operator)
    before = operator.status()

    assert attempt.land() == BranchMoved(attempt.commit)

    assert operator.status() == before
    assert operator.read("a.txt") == "new\n"


def edit_a(operator: Operator) -> None:
    operator.write("a.txt", "mine\n")


def stage_a(operator: Operator) -> None:
    edit_a(operator)
    operator.git("add", "a.txt")


def empty_a(operator: Operator) -> None:
    operator.write("a.txt", "")


def link_a(operator: Operator) -> None:
    (operator.root / "a.txt").unlink()
    (operator.root / "a.txt").symlink_to("/etc/hostname")


def untracked_in_the_way(operator: Operator) -> None:
    operator.write("new/d.txt", "mine\n")


def ignored_in_the_way(operator: Operator) -> None:
    info = Path(operator.git("rev-parse", "--path-format=absolute", "--git-path", "info/exclude"))
    info.write_text("/new/\n")
    operator.write("new/d.txt", "precious\n")


def file_for_a_folder(operator: Operator) -> None:
    operator.write("new", "mine\n")


def folder_for_a_file(operator: Operator) -> None:
    operator.write("new/d.txt/mine.txt", "mine\n")


def link_for_a_folder(operator: Operator) -> None:
    (operator.root / "new").symlink_to(operator.root.parent)


@pytest.mark.parametrize(
    ("do", "named"),
    [
        (edit_a, "a.txt"),
        (stage_a, "a.txt"),
        (empty_a, "a.txt"),
        (link_a, "a.txt"),
        (untracked_in_the_way, "new/d.txt"),
        (ignored_in_the_way, "new/d.txt"),
        (file_for_a_folder, "new"),
        (folder_for_a_file, "new/d.txt/mine.txt"),
        (link_for_a_folder, "new"),
    ],
)
def test_edits_in_the_way_stay_as_they_are_and_are_named(
    operator: Operator, do: Callable[[Operator], None], named: str
) -> None:
    operator.git("config", "merge.autoStash", "true")
    attempt = attempt_on(operator, {"a.txt": "new\n", "new/d.txt": "d\n", "docs/c.md": None})
    do(operator)
    before = operator.belongings()

    settled = attempt.land()

    assert isinstance(settled, OperatorEdits)
    assert settled.paths == (named,)
    assert settled.status is AttemptStatus.OPERATOR_EDITS
    assert named in settled.reason
    assert operator.belongings() == before
    assert operator.git("stash", "list") == ""


@pytest.mark.parametrize("how", ["assume-unchanged", "skip-worktree"])
def test_edits_that_git_was_told_to_overlook_are_safe_as_well(
    at_main: Operator, how: str
) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    at_main.git("update-index", f"--{how}", "a.txt")
    edit_a(at_main)
    settled = attempt.land()
    assert isinstance(settled, OperatorEdits)
    assert settled.paths == ("a.txt",)
    assert at_main.read("a.txt") == "mine\n"


def test_what_waited_lands_once_the_edits_are_out_of_the_way(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    edit_a(operator)
    assert isinstance(attempt.land(), OperatorEdits)
    operator.git("checkout", "--quiet", "a.txt")
    assert attempt.land() == BranchMoved(attempt.commit)


def test_a_file_that_was_only_touched_is_no_edit(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    os.utime(at_main.root / "a.txt", (1, 1))
    assert attempt.land() == BranchMoved(attempt.commit)


# -- the branch moved meanwhile ------------------------------------------------------------------


def test_what_landed_meanwhile_is_merged_and_the_merge_is_proven(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    by_hand = operator.commit({"b.txt": "by hand\n"})

    settled = attempt.land()

    assert isinstance(settled, BranchMoved)
    assert attempt.proven == [settled.commit] == [operator.tip("main")]
    parents = operator.git("log", "-1", "--format=%P", "main").split()
    assert parents == [by_hand, attempt.commit]
    assert operator.git("log", "-1", "--format=%s") == "Merge Do it [app-1]"
    assert (operator.read("a.txt"), operator.read("b.txt")) == ("new\n", "by hand\n")
    assert operator.git("status", "--porcelain") == ""


def test_a_merge_that_fails_its_checks_does_not_land(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.commit({"b.txt": "by hand\n"})
    before = operator.belongings()

    settled = attempt.land(proof=FAILED)

    assert isinstance(settled, LandingUnproven)
    assert settled.proof == Proof(attempt.proven[0], (FAILED,))
    assert settled.status is AttemptStatus.CHECK_FAILED
    assert operator.belongings() == before


def test_only_a_ratchet_that_fails_is_a_failed_ratchet() -> None:
    ratchet = Check("size", "measure", "metric", passed=False, is_ratchet=True)
    assert LandingUnproven(Proof("c", (ratchet, PASSED))).status is AttemptStatus.RATCHET_FAILED
    assert LandingUnproven(Proof("c", (ratchet, FAILED))).status is AttemptStatus.CHECK_FAILED
    assert LandingUnproven(Proof("c", ())).status is AttemptStatus.CHECK_FAILED


def test_a_tracker_that_was_committed_meanwhile_needs_no_new_proof(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.commit({".ddx/beads.jsonl": '{"id":"app-1","status":"in_progress"}\n'})
    change_the_tracker(operator)

    assert isinstance(attempt.land(), BranchMoved)

    assert attempt.proven == []
    assert operator.read(".ddx/beads.jsonl") == '{"id":"app-1","status":"closed"}\n'
    assert operator.git("status", "--porcelain") == "M .ddx/beads.jsonl"


def test_two_changes_that_do_not_fit_are_a_conflict(operator: Operator) -> None:
    odd = os.fsdecode("ümlaut\n\xff.txt".encode("latin1"))
    attempt = attempt_on(operator, {"a.txt": "agent\n", odd: "agent\n", "b.txt": "fits\n"})
    operator.commit({"a.txt": "operator\n", odd: "operator\n"})
    before = operator.belongings()

    settled = attempt.land()

    assert settled == LandingConflict(("a.txt", odd))
    assert settled.status is AttemptStatus.LAND_CONFLICT
    assert operator.belongings() == before


def test_a_rewritten_branch_does_not_get_its_old_commits_back(operator: Operator) -> None:
    operator.commit({"secret.txt": "never publish\n"})
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("reset", "--quiet", "--hard", "HEAD~1")
    before = operator.belongings()

    settled = attempt.land()

    assert isinstance(settled, LandingDrifted)
    assert "rewritten" in settled.reason
    assert settled.status is AttemptStatus.DRIFT
    assert operator.belongings() == before


def test_work_whose_ground_has_changed_does_not_land(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    seen: list[str] = []

    def look(tip: str) -> str:
        seen.append(tip)
        return "app-1 changed meanwhile: spec-id"

    assert attempt.land(still_valid=look) == LandingDrifted("app-1 changed meanwhile: spec-id")
    assert seen == [attempt.base] == [operator.tip("main")]


def test_a_commit_at_the_last_moment_is_merged_as_well(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    tips: list[str] = []

    def commit_once(tip: str) -> None:
        if not tips:
            operator.commit({"b.txt": "quick\n"})
        tips.append(tip)

    settled = attempt.land(still_valid=commit_once)

    assert settled == BranchMoved(operator.tip("main"))
    assert len(tips) == 2
    assert len(attempt.proven) == 1
    assert operator.read("b.txt") == "quick\n"
    assert operator.git("status", "--porcelain") == ""


def test_a_merge_that_was_proven_is_not_proven_again_for_the_tracker(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    at_main.commit({"b.txt": "by hand\n"})
    tips: list[str] = []

    def commit_the_tracker_once(tip: str) -> None:
        if not tips:
            at_main.commit({".ddx/beads.jsonl": '{"id":"app-2"}\n'})
        tips.append(tip)

    assert isinstance(attempt.land(still_valid=commit_the_tracker_once), BranchMoved)
    assert len(tips) == 2
    assert len(attempt.proven) == 1


def test_what_was_never_proven_is_proven_before_it_lands(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    settled = attempt.land(proof=FAILED, is_proven=False)
    assert isinstance(settled, LandingUnproven)
    assert attempt.land(is_proven=False) == BranchMoved(attempt.commit)
    assert attempt.proven == [attempt.commit] * 2


def test_a_branch_that_never_rests_is_left_alone_in_the_end(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})

    def commit_again(tip: str) -> None:
        at_main.commit({"b.txt": f"{tip}\n"})

    settled = attempt.land(still_valid=commit_again)

    assert isinstance(settled, LandingHeld)
    assert "in other hands 5 times" in settled.reason
    assert at_main.read("a.txt") == "a\n"
    assert at_main.git("status", "--porcelain") == ""


def test_nothing_reserved_lands_even_if_someone_committed_it(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    at_main.git("switch", "--quiet", "--detach")
    attempt.commit = at_main.commit({".ddx/config.yaml": "bead: {prefix: x}\n"})
    at_main.git("switch", "--quiet", "main")

    with pytest.raises(DdxError, match=r"\.ddx/config\.yaml, which no attempt may change"):
        attempt.land()

    assert at_main.tip("main") == attempt.base


# -- the operator does something else meanwhile --------------------------------------------------


def test_a_branch_that_is_checked_out_nowhere_moves_alone(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    edit_a(operator)
    before = {**operator.belongings(), "refs": ""}

    assert attempt.land() == BranchMoved(attempt.commit)

    assert {**operator.belongings(), "refs": ""} == before
    assert operator.tip("main") == attempt.commit
    assert operator.tip("other") == attempt.base


def test_a_detached_head_is_no_checkout_of_the_branch(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "--detach")

    assert attempt.land() == BranchMoved(attempt.commit)

    assert operator.tip("main") == attempt.commit
    assert operator.tip() == attempt.base
    assert operator.git("status", "--porcelain") == ""


@pytest.mark.parametrize("switch", [("-c", "other"), ("--detach",)])
def test_a_switch_at_the_last_moment_moves_no_other_branch(
    operator: Operator, switch: tuple[str, ...]
) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})

    def switch_away(tip: str) -> None:
        operator.git("switch", "--quiet", *switch, code=None)

    assert attempt.land(still_valid=switch_away) == BranchMoved(attempt.commit)

    assert operator.tip() == attempt.base
    assert operator.tip("main") == attempt.commit
    assert operator.read("a.txt") == "a\n"
    assert operator.git("status", "--porcelain") == ""


def test_the_work_lands_where_the_branch_is_checked_out(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    elsewhere = operator.root.with_name("else where\n")
    operator.git("worktree", "add", "--quiet", str(elsewhere), "main")

    assert attempt.land() == BranchMoved(attempt.commit)

    assert (elsewhere / "a.txt").read_text() == "new\n"
    assert operator.git("status", "--porcelain", cwd=elsewhere) == ""
    assert operator.read("a.txt") == "a\n"


def test_a_project_that_is_a_submodule_lands_in_its_own_checkout(tmp_path: Path) -> None:
    inner, outer = make_operator(tmp_path / "inner"), make_operator(tmp_path / "outer")
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "--quiet")
    outer.git(*words, str(inner.root), "app")
    operator = Operator(outer.root / "app", Project(str(outer.root / "app")))
    attempt = attempt_on(operator, {"a.txt": "new\n", "new/d.txt": "d\n"})
    untracked_in_the_way(operator)
    settled = attempt.land()
    assert isinstance(settled, OperatorEdits)
    assert settled.paths == ("new/d.txt",)
    assert str(operator.root) in settled.reason
    (operator.root / "new/d.txt").unlink()
    assert attempt.land() == BranchMoved(attempt.commit)
    assert operator.read("a.txt") == "new\n"
    assert operator.git("status", "--porcelain") == ""


def test_a_branch_that_is_checked_out_twice_is_left_to_a_person(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("worktree", "add", "--quiet", "--force", str(operator.root.with_name("w")), "main")
    settled = attempt.land()
    assert isinstance(settled, LandingRefused)
    assert "more than once" in settled.reason
    assert operator.tip("main") == attempt.base


def test_a_checkout_that_is_away_is_waited_for(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    usb = operator.root.with_name("usb")
    operator.git("worktree", "add", "--quiet", "--lock", str(usb), "main")
    usb.rename(usb.with_name("unplugged"))
    settled = attempt.land()
    assert isinstance(settled, LandingRefused)
    assert "not there" in settled.reason
    usb.with_name("unplugged").rename(usb)
    assert attempt.land() == BranchMoved(attempt.commit)
    assert (usb / "a.txt").read_text() == "new\n"


def test_a_checkout_that_was_deleted_does_not_count(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    gone = operator.root.with_name("gone")
    operator.git("worktree", "add", "--quiet", str(gone), "main")
    gone.rename(operator.root.with_name("trash"))
    assert attempt.land() == BranchMoved(attempt.commit)


def test_a_branch_that_is_gone_is_not_made_again(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    operator.git("branch", "--quiet", "-D", "main")
    assert attempt.land() == LandingRefused("the branch main is gone")
    assert operator.git("branch", "--list", "main") == ""


def rebase_with_conflict(operator: Operator) -> None:
    operator.git("rebase", "rival", code=1)


def rebase_interactively(operator: Operator) -> None:
    operator.git("-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-i", "HEAD~1")


def merge_with_conflict(operator: Operator) -> None:
    operator.git("merge", "rival", code=1)


def merge_without_commit(operator: Operator) -> None:
    operator.git("merge", "--no-commit", "--no-ff", "friend")


def cherry_pick_with_conflict(operator: Operator) -> None:
    operator.git("cherry-pick", "rival", code=1)


def revert_without_commit(operator: Operator) -> None:
    operator.git("revert", "--no-edit", "HEAD~1", code=1)


def bisect(operator: Operator) -> None:
    operator.git("bisect", "start")
    operator.git("bisect", "bad", "HEAD")
    operator.git("bisect", "good", "HEAD~2")


def begin_to_bisect(operator: Operator) -> None:
    operator.git("bisect", "start")


def apply_mails(operator: Operator) -> None:
    patch = operator.git("format-patch", "--stdout", "-1", "rival")
    mail = operator.root.with_name("mail")
    mail.write_text(patch)
    operator.git("am", str(mail), code=128)


@pytest.mark.parametrize(
    ("do", "undo", "said"),
    [
        (rebase_with_conflict, ("rebase", "--abort"), "a rebase is in progress"),
        (rebase_interactively, ("rebase", "--abort"), "a rebase is in progress"),
        (merge_with_conflict, ("merge", "--abort"), "a merge is in progress"),
        (merge_without_commit, ("merge", "--abort"), "a merge is in progress"),
        (cherry_pick_with_conflict, ("cherry-pick", "--abort"), "a cherry-pick is in progress"),
        (revert_without_commit, ("revert", "--abort"), "a revert is in progress"),
        (bisect, ("bisect", "reset"), "a bisect is in progress"),
        (begin_to_bisect, ("bisect", "reset"), "a bisect is in progress"),
        (apply_mails, ("am", "--abort"), "`git am` is in progress"),
    ],
)
def test_nothing_moves_while_the_operator_is_in_the_middle_of_something(
    operator: Operator,
    do: Callable[[Operator], None],
    undo: tuple[str, ...],
    said: str,
) -> None:
    operator.git("branch", "friend")
    operator.git("switch", "--quiet", "-c", "rival")
    operator.commit({"b.txt": "rival\n"})
    operator.git("switch", "--quiet", "friend")
    operator.commit({"docs/c.md": "friend\n"})
    operator.git("switch", "--quiet", "main")
    operator.commit({"b.txt": "one\n"})
    operator.commit({"b.txt": "two\n"})
    operator.commit({"b.txt": "three\n"})
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    do(operator)
    before = operator.belongings()

    settled = attempt.land()

    assert isinstance(settled, LandingRefused)
    assert said in settled.reason
    assert settled.status is AttemptStatus.OPERATOR_EDITS
    assert operator.belongings() == before

    operator.git(*undo)
    assert attempt.land() == BranchMoved(attempt.commit)


# -- locks ---------------------------------------------------------------------------------------


class ClockThatFrees(FakeClock):
    """After some pauses the other git is done."""

    def __init__(self, lock: Path, pauses: int) -> None:
        super().__init__()
        self._lock = lock
        self._pauses = pauses

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if len(self.slept_s) == self._pauses:
            self._lock.unlink()


LOCKS = ["index.lock", "HEAD.lock", "refs/heads/main.lock"]


def lock_file(operator: Operator, name: str) -> Path:
    return Path(operator.git("rev-parse", "--path-format=absolute", "--git-path", name))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_of_another_git_is_waited_for(operator: Operator, name: str) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    lock = lock_file(operator, name)
    lock.touch()
    clock = ClockThatFrees(lock, pauses=7)

    assert attempt.land(clock=clock) == BranchMoved(attempt.commit)

    assert len(clock.slept_s) == 7


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_stays_for_ten_seconds_is_no_edit_of_the_operator(
    operator: Operator, name: str
) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    before = operator.belongings()
    lock = lock_file(operator, name)
    lock.touch()
    clock = FakeClock()

    settled = attempt.land(clock=clock)

    assert isinstance(settled, LandingHeld)
    assert str(lock) in settled.reason
    assert settled.status is AttemptStatus.INTERRUPTED
    assert sum(clock.slept_s) == pytest.approx(10, abs=0.2)
    assert lock.exists()
    lock.unlink()
    assert operator.belongings() == before
    assert attempt.land() == BranchMoved(attempt.commit)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_comes_at_the_last_moment_leaves_nothing_half_done(
    operator: Operator, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git of ours makes the lock itself, after we have looked and before the merge does."""
    attempt = attempt_on(operator, {"a.txt": "new\n", "d.txt": "d\n", "b.txt": None})
    before = operator.belongings()
    lock = lock_file(operator, name)
    real = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" merge --ff-only "*) : > "{lock}";; esac\n'
        f'exec {real.strip()} "$@"\n'
    )
    wrapper.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
        settled = attempt.land(clock=FakeClock())

    assert isinstance(settled, LandingHeld)
    lock.unlink()
    assert operator.belongings() == before
    assert attempt.land() == BranchMoved(attempt.commit)


def test_a_locked_branch_is_waited_for_where_it_is_not_checked_out(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    operator.git("switch", "--quiet", "-c", "other")
    lock = lock_file(operator, "refs/heads/main.lock")
    lock.touch()
    assert isinstance(attempt.land(clock=FakeClock()), LandingHeld)
    assert attempt.land(clock=ClockThatFrees(lock, pauses=3)) == BranchMoved(attempt.commit)


def test_one_lands_at_a_time(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    clock = FakeClock()
    with landing_lock(at_main.project, clock), pytest.raises(Busy, match="is held by"):
        attempt.land(clock=clock, turn_patience_s=5)
    assert sum(clock.slept_s) == pytest.approx(5, abs=0.1)
    assert at_main.tip("main") == attempt.base
    assert attempt.land() == BranchMoved(attempt.commit)


# -- cut off in the middle -----------------------------------------------------------------------


def make_slow(operator: Operator, *, smudge: str) -> Attempt:
    """An attempt whose files go through a filter when they are checked out."""
    files = {f"{n}.slow": f"old {n}\n" for n in range(6)}
    operator.commit({**files, ".gitattributes": "*.slow filter=slow\n"})
    new: dict[str, str | None] = {f"{n}.slow": f"new {n}\n" for n in range(6)}
    attempt = attempt_on(operator, {**new, "0-first": "n\n", "z-last": "n\n", "docs/c.md": None})
    operator.git("config", "filter.slow.smudge", smudge)
    operator.git("config", "filter.slow.clean", "cat")
    operator.git("config", "filter.slow.required", "true")
    operator.write("b.txt", "an edit elsewhere\n")
    operator.write("untracked.txt", "mine\n")
    return attempt


def holding_up(wait: str) -> str:
    """A filter that does something else before it hands on the fourth file."""
    return f"""sh -c 'text=$(cat); if test "$text" = "new 3"; then {wait}; fi; echo "$text"'"""


def is_written(operator: Operator, path: str) -> bool:
    try:
        return operator.read(path).startswith("new")
    except FileNotFoundError:
        return False


def test_a_checkout_that_fails_half_way_is_put_back(operator: Operator) -> None:
    attempt = make_slow(operator, smudge="sed '/new 3/q9'")
    before = operator.belongings()

    settled = attempt.land()

    assert isinstance(settled, LandingRefused)
    assert "smudge filter" in settled.reason
    assert operator.belongings() == before
    operator.git("config", "filter.slow.smudge", "cat")
    assert attempt.land() == BranchMoved(attempt.commit)


def test_a_full_disk_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount")
    try:
        operator = make_operator(disk / "app")
        random = os.urandom(150_000).hex()
        attempt = attempt_on(operator, {"a.txt": f"{random}\n", "b.txt": random, "d.txt": random})
        before = operator.belongings()
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
        (disk / "filler").write_bytes(b"x" * (room - 500_000))

        settled = attempt.land()

        assert isinstance(settled, LandingRefused)
        assert operator.belongings() == before
        (disk / "filler").unlink()
        assert attempt.land() == BranchMoved(attempt.commit)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_killed_merge_is_undone_by_the_next_landing(operator: Operator) -> None:
    attempt = make_slow(operator, smudge=holding_up("sleep 600"))
    before = operator.belongings()
    begin(
        operator.project,
        LandingIntent("refs/heads/main", str(operator.root), attempt.base, new=attempt.commit),
    )
    merge = subprocess.Popen(
        ["git", "merge", "--quiet", "--ff-only", attempt.commit],
        cwd=operator.root,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: is_written(operator, "1.slow"))
    os.killpg(merge.pid, signal.SIGKILL)
    merge.wait()
    assert operator.tip("main") == attempt.base
    assert operator.belongings() != before

    held = attempt.land(clock=FakeClock())
    assert isinstance(held, LandingHeld)
    assert "cut off" in held.reason
    lock = lock_file(operator, "index.lock")
    assert str(lock) in held.reason

    lock.unlink()  # as the sentence says
    assert mend_half_landed(operator.project, clock=FakeClock()) == ""
    assert operator.belongings() == before
    assert mend_half_landed(operator.project, clock=FakeClock()) == ""

    operator.git("config", "filter.slow.smudge", "cat")
    assert attempt.land() == BranchMoved(attempt.commit)
    assert operator.read("b.txt") == "an edit elsewhere\n"


def test_a_mender_that_was_killed_leaves_nothing_that_stays(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = make_slow(operator, smudge="cat")
    intent = LandingIntent("refs/heads/main", str(operator.root), attempt.base, new=attempt.commit)
    begin(operator.project, intent)
    operator.write("1.slow", "new 1\n")
    temporary = tmp_path / "temporary"
    names = {"dead": "ddx-mend-999999999-x", "alive": f"ddx-mend-{os.getppid()}-x", "other": "x"}
    for name in names.values():
        (temporary / name).mkdir(parents=True)
        (temporary / name / "index").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    assert mend_half_landed(operator.project, clock=FakeClock()) == ""

    assert operator.read("1.slow") == "old 1\n"
    assert {path.name for path in temporary.iterdir()} == {names["alive"], names["other"]}


def test_what_the_operator_did_after_a_crash_is_his(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n", "d.txt": "whole\n", "docs/c.md": "new\n"})
    begin(
        operator.project,
        LandingIntent("refs/heads/main", str(operator.root), attempt.base, new=attempt.commit),
    )
    operator.write("a.txt", "new\nand mine\n")
    operator.write("d.txt", "who")
    operator.write("docs/c.md", "new\n")

    assert mend_half_landed(operator.project, clock=FakeClock()) == ""

    assert operator.read("a.txt") == "new\nand mine\n"
    assert not (operator.root / "d.txt").exists()
    assert operator.read("docs/c.md") == "c\n"


def test_a_cut_off_landing_whose_branch_moved_is_complete(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    attempt.land()
    begin(
        operator.project,
        LandingIntent("refs/heads/main", str(operator.root), attempt.base, new=attempt.commit),
    )
    assert mend_half_landed(operator.project, clock=FakeClock()) == ""
    assert operator.read("a.txt") == "new\n"
    assert not (operator.root / ".ddx/state/landing.json").exists()


def test_an_unreadable_note_of_a_landing_stops_the_next_one(at_main: Operator) -> None:
    attempt = attempt_on(at_main, {"a.txt": "new\n"})
    at_main.write(".ddx/state/landing.json", "")
    with pytest.raises(CorruptFile, match=r"landing\.json"):
        attempt.land()
    assert at_main.tip("main") == attempt.base


def test_an_interrupt_waits_until_the_checkout_is_whole(
    at_main: Operator, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    attempt = make_slow(at_main, smudge=holding_up(f"until test -e {go}; do sleep 0.02; done"))

    def interrupt() -> None:
        wait_for(lambda: is_written(at_main, "1.slow"))
        os.kill(os.getpid(), signal.SIGINT)
        go.touch()

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            attempt.land(clock=Clock())
    finally:
        watcher.join()

    assert at_main.read("z-last") == "n\n"
    assert mend_half_landed(at_main.project, clock=FakeClock()) == ""
    assert at_main.tip("main") == attempt.commit
    at_main.git("config", "filter.slow.smudge", "cat")
    assert at_main.git("status", "--porcelain") == "M b.txt\n?? untracked.txt"


# -- fixing the target ---------------------------------------------------------------------------


def test_the_target_is_the_branch_that_is_checked_out(operator: Operator) -> None:
    first = operator.tip()
    operator.git("switch", "--quiet", "-c", "feature/x")
    second = operator.commit({"a.txt": "x\n"})
    target = fix_target(operator.project)
    assert (target.branch, target.base) == ("refs/heads/feature/x", second)
    assert target.name == "feature/x"
    assert fix_target(operator.project, "HEAD~1").base == first


def test_without_a_branch_there_is_nowhere_to_land(operator: Operator) -> None:
    operator.git("switch", "--quiet", "--detach")
    with pytest.raises(UsageError, match="on no branch") as detached:
        fix_target(operator.project)
    assert detached.value.exit_code == 2
    assert detached.value.hint == "git switch BRANCH"
    operator.git("switch", "--quiet", "--orphan", "fresh")
    with pytest.raises(UsageError, match="no commit yet") as unborn:
        fix_target(operator.project)
    assert unborn.value.exit_code == 2


def test_a_base_must_exist_and_be_in_the_branch(at_main: Operator) -> None:
    at_main.git("switch", "--quiet", "-c", "other")
    elsewhere = at_main.commit({"a.txt": "x\n"})
    at_main.git("switch", "--quiet", "main")
    for name in ("nowhere", "-x", "HEAD:a.txt"):
        with pytest.raises(UsageError, match="there is no such commit"):
            fix_target(at_main.project, name)
    with pytest.raises(UsageError, match="not in the history of main"):
        fix_target(at_main.project, "other")
    assert fix_target(at_main.project, "other", merge=False).base == elsewhere


def test_a_folder_outside_of_git_has_no_target(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="in no checkout"):
        fix_target(Project(str(tmp_path)))


# -- what is kept --------------------------------------------------------------------------------

HOSTILE_IDS = [
    *("app-1", "bd-a1.2", "a/b", "a", "..", ".hidden", "x.lock", "a.lock.", "@{", "~^:?*[\\", ""),
    *("-rf", "a b\nc", "Ä%41", "%C3%84", "\ud800", "x" * 300, "ü" * 300, "refs/heads/main"),
]


def test_what_is_kept_is_found_again_whatever_its_bead_is_called(at_main: Operator) -> None:
    commit = at_main.tip()
    refs = [keep(str(at_main.root), bead_id, "attempt-1", commit) for bead_id in HOSTILE_IDS]

    assert len(set(refs)) == len(HOSTILE_IDS)
    assert all(ref.startswith("refs/helix/attempts/") for ref in refs)
    found = {item.ref: item for item in kept(str(at_main.root))}
    assert set(found) == set(refs)
    assert {item.attempt for item in found.values()} == {"attempt-1"}
    short = [(ref, bead_id) for ref, bead_id in zip(refs, HOSTILE_IDS, strict=True)]
    for ref, bead_id in short:
        if len(bead_id) < 100:
            assert found[ref].bead == bead_id
    assert at_main.git("branch", "--list") == "* main"


def test_what_is_kept_survives_a_clean_up_until_it_is_dropped(operator: Operator) -> None:
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    ref = keep(str(operator.root), "app-1", "attempt-1", attempt.commit)
    operator.git("gc", "--quiet", "--prune=now")
    assert operator.git("show", f"{ref}:a.txt") == "new"

    item = kept(str(operator.root))[0]
    moved = operator.tip()
    operator.git("update-ref", ref, moved)
    with pytest.raises(DdxError, match="dropping"):
        drop(str(operator.root), item)
    drop(str(operator.root), kept(str(operator.root))[0])
    assert kept(str(operator.root)) == []

"""A project's own say on its beads, once its operator trusts it (T-15, X-22)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.beads import bead, tracker_in

from ddx.base.errors import NeedsPerson, Refused
from ddx.project.project import Project
from ddx.tracker.changeset import ChangeSet
from ddx.tracker.setup import TIME_LIMIT_S, Hooks
from ddx.tracker.tracker import Tracker

OLD, NEW = bead("app-1"), bead("app-1", title='It\'s "new" & <odd>')


class Hooked:
    """A project with hooks, and what they were told."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(str(folder))
        self.folder = folder / ".ddx" / "hooks"
        self.folder.mkdir(parents=True)
        self.told: list[str] = []

    def hook(self, name: str, script: str, *, mode: int = 0o755) -> None:
        path = self.folder / f"validate-bead-{name}"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(mode)

    def hooks(self, **limits: float) -> Hooks:
        return Hooks(self.project, tell=self.told.append, **limits)


@pytest.fixture
def case(tmp_path, monkeypatch) -> Hooked:
    monkeypatch.setenv("HELIX_TRUST", "1")
    return Hooked(tmp_path)


def test_without_a_hook_every_bead_passes(case, monkeypatch):
    monkeypatch.setenv("HELIX_TRUST", "0")
    case.hooks().approve(None, NEW)
    case.hooks().approve(OLD, NEW)
    assert case.told == []


def test_each_kind_of_change_has_its_hook_and_gets_the_bead(case):  # T-15
    case.hook("create", 'cat > created; pwd >> created; echo "$DDX_PROJECT_ROOT" >> created')
    case.hook("update", "cat > updated")
    root = Path(case.project.root)
    case.hooks().approve(None, NEW)
    row, *places = (root / "created").read_text().splitlines()
    assert json.loads(row) == NEW
    assert places == [str(root), str(root)]
    assert not (root / "updated").exists()
    case.hooks().approve(OLD, NEW)
    assert json.loads((root / "updated").read_text()) == NEW


def test_exit_0_accepts_in_silence(case):  # T-15
    case.hook("update", "echo chatter; echo more >&2; exit 0")
    case.hooks().approve(OLD, NEW)
    assert case.told == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'no label' >&2; exit 1", "no label"),
        ("echo 'on stdout'; exit 1", "on stdout"),
        ("exit 1", "exit 1"),
        ("echo odd >&2; exit 7", "odd"),
        ("kill -9 $$", "exit -9"),
    ],
)
def test_any_other_exit_rejects_with_its_words(case, script, said):  # T-15
    case.hook("create", script)
    with pytest.raises(Refused) as refused:
        case.hooks().approve(None, NEW)
    assert refused.value.message == f"validate-bead-create rejects app-1: {said}"


def test_exit_2_warns_and_accepts(case):  # T-15
    case.hook("update", "echo 'no spec' >&2; exit 2")
    case.hooks().approve(OLD, NEW)
    assert case.told == ["validate-bead-update warns about app-1: no spec"]


def test_a_hook_has_its_time(case):  # T-15
    case.hook("update", "sleep 60")
    with pytest.raises(Refused, match=r"took longer than 0\.2 s; nothing was written"):
        case.hooks(time_limit_s=0.2).approve(OLD, NEW)
    assert TIME_LIMIT_S == 5


def test_a_hook_that_cannot_run_lets_nothing_pass(case):  # T-15
    case.hook("update", "exit 0", mode=0o644)
    with pytest.raises(Refused, match="cannot be executed, so no bead can pass it"):
        case.hooks().approve(OLD, NEW)


def test_a_hook_of_an_untrusted_repository_is_refused_and_not_skipped(case, monkeypatch):
    monkeypatch.setenv("HELIX_TRUST", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(case.folder / "state"))
    case.hook("update", "touch ran")
    with pytest.raises(NeedsPerson, match=r"\.ddx/hooks/validate-bead-update was not run"):
        case.hooks().approve(OLD, NEW)
    assert not os.path.exists(case.project.root + "/ran")


def test_a_rejected_bead_is_not_written(case):  # T-15
    case.hook("update", "grep -q forbidden && exit 1 || exit 0")
    tracker = tracker_in(Path(case.project.root), OLD)
    strict = Tracker(case.project, clock=tracker.clock, approve=case.hooks().approve)
    with pytest.raises(Refused):
        strict.change(lambda view, now: ChangeSet({"app-1": bead("app-1", title="forbidden")}))
    assert tracker.snapshot().row("app-1") == OLD
    strict.change(lambda view, now: ChangeSet({"app-1": NEW}))
    assert tracker.snapshot().row("app-1") == NEW

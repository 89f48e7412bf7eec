"""What a child of an attempt finds in its environment, and what not (X-3b, X-5)."""

from __future__ import annotations

import os

import pytest
from tests.support.tracker import ROOT

from ddx.attempts.sandbox import (
    child_environment,
    environment_for,
    missing_author,
    with_our_commands,
)
from ddx.base.errors import Refused
from ddx.base.process import for_children, run
from ddx.git import commands as git
from ddx.git.commands import NOBODY, GitIdentity, find_identity
from ddx.project.project import Project
from ddx.testing import make_repo

OURS = {
    "HELIX_ACTION": "build",
    "DDX_BEAD_ID": "app-1",
    "DDX_ATTEMPT_ID": "a-7",
    "DDX_PROJECT_ROOT": "/src/app",
    "DDX_EVIDENCE_DIR": "/src/app/.ddx/executions/a-7/evidence",
}
MARA = GitIdentity("Mara", "mara@example.invalid")


def child(beads=("app-1",), **more):
    return child_environment(
        action="build",
        beads=beads,
        attempt="a-7",
        project_root="/src/app",
        evidence_dir=OURS["DDX_EVIDENCE_DIR"],
        **more,
    )


# Git and the person at the keyboard


def test_every_variable_that_git_calls_local_is_removed_but_the_settings_of_a_person(
    monkeypatch, tmp_path
):  # X-3b
    local = git.ask(str(tmp_path), "rev-parse", "--local-env-vars").split()
    assert len(local) > 10
    for name in (*local, "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"):
        monkeypatch.setenv(name, "x")
    kept = {name for name in for_children() if name.startswith("GIT_")} - {
        "GIT_TERMINAL_PROMPT",
        "GIT_OPTIONAL_LOCKS",
    }
    inherited = {name for name in os.environ if name.startswith("GIT_")} - set(local)
    assert kept == inherited | {"GIT_CONFIG_COUNT"}


@pytest.mark.parametrize(
    "name",
    [
        *("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_MERGE_AUTOEDIT"),
        *("PAGER", "GIT_PAGER", "GIT_PAGER_IN_USE", "MANPAGER"),
        *("GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS"),
    ],
)
def test_nothing_waits_for_a_person_or_answers_in_git_s_place(monkeypatch, name):  # X-3b
    monkeypatch.setenv(name, "/bin/false")
    assert name not in for_children()


def test_git_never_asks_and_never_takes_a_lock_it_can_do_without(monkeypatch):  # X-3b
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    found = child()
    assert (found["GIT_TERMINAL_PROMPT"], found["GIT_OPTIONAL_LOCKS"]) == ("0", "0")


def test_a_redirected_git_is_led_back(monkeypatch, tmp_path):  # X-3b
    here, there = make_repo(tmp_path / "here"), make_repo(tmp_path / "there")
    monkeypatch.setenv("GIT_DIR", os.path.join(there.root, ".git"))
    assert git.common_folder(here.root) == os.path.join(here.root, ".git")


# Who asks, and for what


def test_a_child_is_told_who_asks_and_for_what():
    found = child()
    assert {name: found[name] for name in OURS} == OURS
    assert "DDX_BEAD_IDS" not in found


def test_a_batch_has_all_its_beads_in_order():
    found = child(("app-2", "app-1", "app-3"))
    assert (found["DDX_BEAD_ID"], found["DDX_BEAD_IDS"]) == ("app-2", "app-2 app-1 app-3")


def test_what_an_attempt_around_us_said_is_replaced_or_gone(monkeypatch):
    for name in (*OURS, "DDX_BEAD_IDS"):
        monkeypatch.setenv(name, "of the outer one")
    found = child()
    assert {name: found[name] for name in OURS} == OURS
    assert "DDX_BEAD_IDS" not in found
    bare = child_environment(action="check", beads=(), attempt="a-8", project_root="/src/app")
    assert {"DDX_BEAD_ID", "DDX_EVIDENCE_DIR"}.isdisjoint(bare)


def test_a_harness_adds_and_removes_but_does_not_overrule(monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("MODEL_KEY", "old")
    found = environment_for(
        child(),
        more={"MODEL_KEY": "new", "DDX_ATTEMPT_ID": "forged", "DDX_BEAD_IDS": "forged"},
        without=("CLAUDECODE", "MODEL_KEY", "DDX_PROJECT_ROOT"),
    )
    assert "DDX_BEAD_IDS" not in found
    assert "CLAUDECODE" not in found
    assert found["MODEL_KEY"] == "new"
    assert {name: found[name] for name in OURS} == OURS


# The author


def test_an_author_is_named_only_where_no_variable_names_one(monkeypatch):  # X-3b
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "ci@example.invalid")
    assert "GIT_AUTHOR_NAME" not in child()
    found = child(author=MARA)
    assert found["GIT_AUTHOR_NAME"] == found["GIT_COMMITTER_NAME"] == "Mara"
    assert found["GIT_AUTHOR_EMAIL"] == "mara@example.invalid"
    assert found["GIT_COMMITTER_EMAIL"] == "ci@example.invalid"


@pytest.fixture
def no_settings(monkeypatch, tmp_path) -> str:
    """A repository for which git has no name at all."""
    root = make_repo(tmp_path / "app").root
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for part in ("name", "email"):
        monkeypatch.delenv(f"GIT_AUTHOR_{part.upper()}", raising=False)
        assert git.run(root, "config", "--unset", f"user.{part}").ok
    return root


def test_who_told_git_a_name_is_not_overruled(tmp_path):  # X-3b
    root = make_repo(tmp_path / "app").root
    assert find_identity(root) == MARA
    assert missing_author(root, is_home_hidden=False) is None
    assert missing_author(root, is_home_hidden=True) == MARA


def test_a_git_that_knows_nobody_gets_a_name_and_can_commit(no_settings):  # X-3b
    assert git.run(no_settings, "config", "user.useConfigOnly", "true").ok
    author = missing_author(no_settings, is_home_hidden=False)
    assert author == missing_author(no_settings, is_home_hidden=True) == NOBODY
    commit = ("git", "commit", "--quiet", "--allow-empty", "--message", "Work")
    for named, code in ((None, 128), (author, 0)):
        ended = run(commit, cwd=no_settings, env=child(author=named), timeout_s=60)
        assert ended.code == code, ended.complaint
    assert git.ask(no_settings, "log", "-1", "--format=%an <%cE>") == "helix <helix@localhost>"


def test_half_a_name_is_none(no_settings):
    assert git.run(no_settings, "config", "user.name", "Half").ok
    assert find_identity(no_settings) is None


# Our own commands


def test_agents_find_our_ddx_before_any_other(tmp_path):
    (tmp_path / "ddx").touch(mode=0o755)
    path = with_our_commands(f"{tmp_path}:{ROOT}/bin::/usr/bin")
    assert path == f"{ROOT}/bin:{tmp_path}:/usr/bin"
    wanted = environment_for(child(), more={"PATH": "/opt/only"}, without=())
    assert wanted["PATH"] == f"{ROOT}/bin:/opt/only"


# Inside or outside


@pytest.fixture
def inside(monkeypatch, tmp_path) -> Project:
    project = make_repo(tmp_path / "app")
    monkeypatch.setenv("DDX_ATTEMPT_ID", "a-7")
    monkeypatch.setenv("DDX_PROJECT_ROOT", project.root)
    return project


def test_the_project_of_the_attempt_is_recognised(inside, tmp_path):
    (tmp_path / "link").symlink_to(inside.root)
    around = [inside, Project(f"{inside.root}/part"), Project(str(tmp_path / "link"))]
    assert [project.attempt for project in around] == ["a-7"] * 3
    assert Project(str(tmp_path)).attempt == "a-7", "a tracker above it is the operator's too"


def test_another_repository_is_not_touched_by_the_variables(inside, tmp_path):
    for name in ("other", "app-2", "ap"):
        assert Project(str(tmp_path / name)).attempt == ""
        Project(str(tmp_path / name)).refuse_inside_an_attempt(what="anything")


@pytest.mark.parametrize("missing", ["DDX_ATTEMPT_ID", "DDX_PROJECT_ROOT"])
def test_one_variable_alone_says_nothing(inside, monkeypatch, missing):
    monkeypatch.setenv(missing, "")
    assert inside.attempt == ""


def test_the_refusal_says_what_and_what_to_do_instead(inside):  # C-3
    with pytest.raises(Refused, match="inside attempt a-7, changing it is") as refused:
        inside.refuse_inside_an_attempt(what="changing it")
    assert "FOLLOW_UP:" in refused.value.hint
    assert refused.value.exit_code == 1

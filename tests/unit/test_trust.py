"""Nothing of a repository runs until its operator trusts it (X-22)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddx.base.errors import CorruptFile, NeedsPerson
from ddx.git import commands as git
from ddx.project.project import Project, trusted
from ddx.testing import make_repo


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("HELIX_TRUST", raising=False)
    return tmp_path / "state"


def test_a_repository_is_not_trusted_until_someone_says_so(tmp_path):
    project = make_repo(tmp_path / "app")
    assert not project.is_trusted()
    with pytest.raises(NeedsPerson, match="is not trusted, so the hook was not run") as refused:
        project.require_trust(to_run="the hook")
    assert refused.value.exit_code == 4
    assert "helix trust" in refused.value.hint
    assert project.grant_trust()
    project.require_trust(to_run="the hook")
    assert trusted() == [f"{project.root}/.git"]


def test_trust_is_granted_and_revoked_once(tmp_path):
    app, other = make_repo(tmp_path / "app"), make_repo(tmp_path / "other")
    assert app.grant_trust()
    assert not app.grant_trust()
    assert other.grant_trust()
    assert app.revoke_trust()
    assert not app.revoke_trust()
    assert not app.is_trusted()
    assert other.is_trusted()


def test_all_checkouts_of_a_repository_are_trusted_together(tmp_path):
    project = make_repo(tmp_path / "app")
    git.run(project.root, "worktree", "add", "--quiet", "../side")
    (tmp_path / "link").symlink_to(tmp_path / "app")
    project.grant_trust()
    assert Project(str(tmp_path / "side")).is_trusted()
    assert Project(str(tmp_path / "link")).is_trusted()


def test_a_clone_is_another_repository(tmp_path):
    make_repo(tmp_path / "app").grant_trust()
    git.run(str(tmp_path), "clone", "--quiet", "app", "clone")
    assert not Project(str(tmp_path / "clone")).is_trusted()


def test_a_folder_without_git_is_trusted_by_its_path(tmp_path):
    (tmp_path / "plain").mkdir()
    plain = Project(str(tmp_path / "plain"))
    assert plain.grant_trust()
    assert plain.is_trusted()
    assert trusted() == [plain.root]


@pytest.mark.parametrize(("said", "holds"), [("1", True), ("0", False), ("yes", False)])
def test_automation_may_say_it_in_the_environment(tmp_path, monkeypatch, said, holds):
    monkeypatch.setenv("HELIX_TRUST", said)
    assert Project(str(tmp_path)).is_trusted() is holds
    assert trusted() == []


def test_trust_lives_with_the_user_and_never_in_the_repository(tmp_path, state):
    project = make_repo(tmp_path / "app")
    before = sorted(Path(project.root).rglob("*"))
    project.grant_trust()
    assert sorted(Path(project.root).rglob("*")) == before
    assert (state / "helix" / "trusted.json").is_file()


@pytest.mark.parametrize("content", ["", "{broken", '{"a": 1}', "7"])
def test_an_unreadable_list_trusts_nobody(tmp_path, state, content):
    (state / "helix").mkdir(parents=True)
    (state / "helix" / "trusted.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"trusted\.json: .*nothing counts as trusted"):
        Project(str(tmp_path)).is_trusted()

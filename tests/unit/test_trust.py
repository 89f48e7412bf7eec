"""Nothing of a repository runs until its operator trusts it (X-22)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddx import git
from ddx.errors import CorruptFile, NeedsPerson
from ddx.project import Project
from ddx.testing import make_repo
from ddx.trust import grant, is_trusted, require_trust, revoke, trusted


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("HELIX_TRUST", raising=False)
    return tmp_path / "state"


def test_a_repository_is_not_trusted_until_someone_says_so(tmp_path):
    project = make_repo(tmp_path / "app")
    assert not is_trusted(project)
    with pytest.raises(NeedsPerson, match="is not trusted, so the hook was not run") as refused:
        require_trust(project, to_run="the hook")
    assert refused.value.exit_code == 4
    assert "helix trust" in refused.value.hint
    assert grant(project)
    require_trust(project, to_run="the hook")
    assert trusted() == [f"{project.root}/.git"]


def test_trust_is_granted_and_revoked_once(tmp_path):
    app, other = make_repo(tmp_path / "app"), make_repo(tmp_path / "other")
    assert grant(app)
    assert not grant(app)
    assert grant(other)
    assert revoke(app)
    assert not revoke(app)
    assert not is_trusted(app)
    assert is_trusted(other)


def test_all_checkouts_of_a_repository_are_trusted_together(tmp_path):
    project = make_repo(tmp_path / "app")
    git.run(project.root, "worktree", "add", "--quiet", "../side")
    (tmp_path / "link").symlink_to(tmp_path / "app")
    grant(project)
    assert is_trusted(Project(str(tmp_path / "side")))
    assert is_trusted(Project(str(tmp_path / "link")))


def test_a_clone_is_another_repository(tmp_path):
    grant(make_repo(tmp_path / "app"))
    git.run(str(tmp_path), "clone", "--quiet", "app", "clone")
    assert not is_trusted(Project(str(tmp_path / "clone")))


def test_a_folder_without_git_is_trusted_by_its_path(tmp_path):
    (tmp_path / "plain").mkdir()
    plain = Project(str(tmp_path / "plain"))
    assert grant(plain)
    assert is_trusted(plain)
    assert trusted() == [plain.root]


@pytest.mark.parametrize(("said", "holds"), [("1", True), ("0", False), ("yes", False)])
def test_automation_may_say_it_in_the_environment(tmp_path, monkeypatch, said, holds):
    monkeypatch.setenv("HELIX_TRUST", said)
    assert is_trusted(Project(str(tmp_path))) is holds
    assert trusted() == []


def test_trust_lives_with_the_user_and_never_in_the_repository(tmp_path, state):
    project = make_repo(tmp_path / "app")
    before = sorted(Path(project.root).rglob("*"))
    grant(project)
    assert sorted(Path(project.root).rglob("*")) == before
    assert (state / "helix" / "trusted.json").is_file()


@pytest.mark.parametrize("content", ["", "{broken", '{"a": 1}', "7"])
def test_an_unreadable_list_trusts_nobody(tmp_path, state, content):
    (state / "helix").mkdir(parents=True)
    (state / "helix" / "trusted.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"trusted\.json: .*nothing counts as trusted"):
        is_trusted(Project(str(tmp_path)))

"""Which project a folder belongs to, whichever copy of it we stand in (T-13, T-3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.base.errors import NotFound
from ddx.base.files import WORKSPACE_MARK
from ddx.git import commands as git
from ddx.project.project import Project, find_project
from ddx.testing import make_repo


def git_in(folder: Path, *words: str) -> None:
    done = git.run(str(folder), *words)
    assert done.ok, done.complaint


def root_of(folder: Path) -> str:
    return find_project(str(folder)).root


def test_a_repository_is_found_from_any_folder_in_it(tmp_path):
    project = make_repo(tmp_path / "app")
    deep = tmp_path / "app" / "src" / "deep"
    deep.mkdir(parents=True)
    assert root_of(tmp_path / "app") == root_of(deep) == project.root
    assert find_project(str(deep)).name == "app"
    assert project.ddx("state", "x") == os.path.join(project.root, ".ddx", "state", "x")


def test_a_link_into_a_repository_leads_there(tmp_path):
    project = make_repo(tmp_path / "app")
    (tmp_path / "link").symlink_to(tmp_path / "app")
    assert root_of(tmp_path / "link") == project.root


def test_without_git_the_folder_with_a_tracker_is_the_project(tmp_path):
    (tmp_path / "plain" / ".ddx").mkdir(parents=True)
    (tmp_path / "plain" / "deep").mkdir()
    assert root_of(tmp_path / "plain" / "deep") == str(tmp_path / "plain")


def test_nowhere_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(NotFound, match="in no git repository") as refused:
        find_project(str(tmp_path))
    assert "ddx bead init" in refused.value.hint


def test_a_tracker_below_the_root_is_a_project_of_its_own(tmp_path):
    project = make_repo(tmp_path / "mono")
    part = tmp_path / "mono" / "services" / "shop"
    (part / ".ddx").mkdir(parents=True)
    (part / "src").mkdir()
    assert root_of(part / "src") == str(part)
    assert root_of(tmp_path / "mono" / "services") == project.root


def test_a_repository_inside_a_project_stands_alone(tmp_path):
    (tmp_path / "outer" / ".ddx").mkdir(parents=True)
    inner = make_repo(tmp_path / "outer" / "inner")
    assert root_of(tmp_path / "outer" / "inner") == inner.root


def test_a_linked_worktree_acts_on_the_project(tmp_path):  # T-13
    project = make_repo(tmp_path / "app")
    git_in(tmp_path / "app", "worktree", "add", "--quiet", "-b", "side", "../elsewhere")
    (tmp_path / "elsewhere" / ".ddx").mkdir()
    found = find_project(str(tmp_path / "elsewhere"))
    assert (found.root, found.name) == (project.root, "app")
    part = tmp_path / "elsewhere" / "part"
    (part / ".ddx").mkdir(parents=True)
    assert root_of(part) == os.path.join(project.root, "part")


def test_a_workspace_acts_on_the_project_it_was_made_for(tmp_path):  # T-13
    project = make_repo(tmp_path / "app")
    git_in(tmp_path, "clone", "--quiet", "app", "workspace")
    (tmp_path / "workspace" / ".ddx").mkdir()
    (tmp_path / "workspace" / ".git" / WORKSPACE_MARK).write_text(f"{project.root}\n")
    found = find_project(str(tmp_path / "workspace"))
    assert (found.root, found.name) == (project.root, "app")


def test_a_submodule_is_a_project_of_its_own(tmp_path):
    make_repo(tmp_path / "library")
    make_repo(tmp_path / "app")
    git_in(
        *(tmp_path / "app", "-c", "protocol.file.allow=always"),
        *("submodule", "--quiet", "add", "../library", "vendored"),
    )
    assert root_of(tmp_path / "app" / "vendored") == str(tmp_path / "app" / "vendored")


def test_a_worktree_of_a_bare_repository_is_a_project_named_after_it(tmp_path):  # T-3
    make_repo(tmp_path / "source")
    git_in(tmp_path, "clone", "--quiet", "--bare", "source", "app.git")
    git_in(tmp_path / "app.git", "worktree", "add", "--quiet", "../main")
    found = find_project(str(tmp_path / "main"))
    assert (found.root, found.name) == (str(tmp_path / "main"), "app")


def test_projects_are_equal_by_their_root():
    assert Project("/work/app") == Project("/work/app")
    assert Project("/work/app").name == "app"


def test_an_empty_git_folder_is_no_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "shop" / ".ddx").mkdir(parents=True)
    assert find_project(str(tmp_path / "shop")).root == str(tmp_path / "shop")

"""Commands act on the project's own tracker, whichever copy of it they run in (T-3, T-13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.tracker import DDX, Repository, make_repository

Copy: TypeAlias = Callable[[Repository, Path], Repository]


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path, name="project")
    made.ddx("create", "First")
    (made.root / "src/deep").mkdir(parents=True)
    (made.root / "src/deep/code.py").touch()
    made.commit()
    return made


def create_in(folder: Path, project: Repository) -> str:
    """Create a bead from there; its id, which must be in the project's tracker and nowhere else."""
    made = project.ddx("create", "Made elsewhere", cwd=folder).id
    assert made in project.rows()
    return made


def linked_worktree(project: Repository, folder: Path) -> Repository:
    project.git("worktree", "add", "--quiet", "--detach", str(folder))
    return project.checked_out(folder)


def shared_clone(project: Repository, folder: Path) -> Repository:
    """A workspace as attempts use it: a clone that knows which project it was made for."""
    project.git("clone", "--quiet", "--shared", str(project.root), str(folder))
    (folder / ".git/ddx-project").write_text(f"{project.root}\n")
    return project.checked_out(folder)


@pytest.mark.parametrize("copy", [linked_worktree, shared_clone])
@pytest.mark.parametrize("below", ["", "src/deep", ".ddx", ".ddx/empty"])
def test_a_copy_of_the_project_has_no_tracker_of_its_own(
    project: Repository, tmp_path: Path, copy: Copy, below: str
) -> None:
    other = copy(project, tmp_path / "workspace-7")
    (other.root / ".ddx/empty").mkdir()
    before = other.file.read_bytes()

    made = create_in(other.root / below, project)

    assert made.startswith("project-")
    assert other.file.read_bytes() == before
    assert not (other.root / ".ddx/state").exists()
    assert other.ddx("show", made, "--json").json["title"] == "Made elsewhere"
    assert other.git("status", "--porcelain").out == ""


def test_a_worktree_of_a_workspace_belongs_to_the_project_too(
    project: Repository, tmp_path: Path
) -> None:
    clone = shared_clone(project, tmp_path / "workspace")
    other = linked_worktree(clone, tmp_path / "workspace-tree")

    assert create_in(other.root, project).startswith("project-")


def test_all_copies_wait_for_one_lock_and_see_one_tracker(
    project: Repository, tmp_path: Path
) -> None:
    places = [
        project,
        linked_worktree(project, tmp_path / "tree"),
        shared_clone(project, tmp_path / "clone"),
    ]
    patient = {"DDX_BEAD_LOCK_TIMEOUT": "100"}  # it is not about ten seconds on a busy machine
    started = [place.start("create", f"Bead {n}", **patient) for n in range(5) for place in places]

    assert [process.wait(timeout=120) for process in started] == [0] * 15
    for process in started:
        process.communicate()
    assert len(project.rows()) == 16
    assert len({place.ddx("list", "--json").out for place in places}) == 1


def test_a_worktree_below_its_own_project_is_a_worktree(project: Repository) -> None:
    other = linked_worktree(project, project.root / "trees/one")

    assert create_in(other.root / "src", project).startswith("project-")


def test_init_in_a_worktree_sets_up_the_project(tmp_path: Path) -> None:
    bare_start = make_repository(tmp_path, name="project")
    bare_start.run("rm", "-r", ".ddx")
    bare_start.git("commit", "--quiet", "--all", "--message", "no tracker")
    other = linked_worktree(bare_start, tmp_path / "tree")

    other.ddx("init")

    assert bare_start.file.exists()
    assert not other.folder.exists()


# Repositories without a main checkout


@pytest.mark.parametrize("place", ["project.git", "project/.bare", "project/.git"])
def test_worktrees_of_a_bare_repository_each_have_their_own_tracker(
    project: Repository, tmp_path: Path, place: str
) -> None:
    """There is no main checkout whose tracker could be the project's."""
    home = tmp_path / "bare"
    bare = home / place
    bare.parent.mkdir(parents=True)
    project.git("clone", "--quiet", "--bare", str(project.root), str(bare))
    trees = []
    for name in ("one", "two"):
        folder = home / "project" / name
        project.git("worktree", "add", "--quiet", "--detach", str(folder), cwd=bare)
        trees.append(project.checked_out(folder))

    made = trees[0].ddx("create", "Made in one").id

    assert made.startswith("project-")
    assert made in trees[0].rows()
    assert made not in trees[1].rows()
    assert not (bare.parent / ".ddx").exists()


def test_a_submodule_is_a_project_of_its_own(project: Repository, tmp_path: Path) -> None:
    part = make_repository(tmp_path, name="part")
    part.ddx("create", "Of the part")
    part.commit()
    project.git("submodule", "--quiet", "add", str(part.root), "vendor/part")
    inside = project.checked_out(project.root / "vendor/part")
    before = project.file.read_bytes()

    made = inside.ddx("create", "Inside").id

    assert made.startswith("part-")
    assert made in inside.rows()
    assert project.file.read_bytes() == before


# Other places for a tracker


def test_a_folder_with_a_tracker_needs_no_git(tmp_path: Path, project: Repository) -> None:
    alone = project.checked_out(tmp_path / "alone")
    (alone.root / "below").mkdir(parents=True)
    alone.folder.mkdir()

    alone.ddx("init")
    made = alone.ddx("create", "Without git", cwd=alone.root / "below").id

    assert made.startswith("alone-")
    assert made in alone.rows()
    assert "not a git repository" in alone.ddx("commit", code=1).err


def test_a_folder_without_git_and_without_a_tracker_is_an_error(
    tmp_path: Path, project: Repository
) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()

    assert "ddx bead init" in project.ddx("list", cwd=nowhere, code=1).err
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize("copy", [None, linked_worktree, shared_clone])
def test_a_tracker_below_the_top_of_the_repository_is_a_project_of_its_own(
    project: Repository, tmp_path: Path, copy: Copy | None
) -> None:
    nested = project.checked_out(project.root / "parts/inner")
    (nested.root / "src").mkdir(parents=True)
    (nested.root / "src/code.py").touch()
    nested.folder.mkdir()
    nested.ddx("init")
    project.commit()
    outer = project.file.read_bytes()
    start = copy(project, tmp_path / "copy").root if copy else project.root

    made = nested.ddx("create", "Inner", cwd=start / "parts/inner/src").id

    assert made.startswith("inner-")
    assert made in nested.rows()
    assert project.file.read_bytes() == outer


def test_a_linked_tracker_file_stays_a_link(project: Repository, tmp_path: Path) -> None:
    """The file may live elsewhere, on another disk even; writes go to where it lives."""
    elsewhere = tmp_path / "shared/beads.jsonl"
    elsewhere.parent.mkdir()
    project.file.rename(elsewhere)
    project.file.symlink_to(elsewhere)

    made = project.ddx("create", "Through the link").id

    assert project.file.is_symlink()
    assert made in project.rows(elsewhere)


def test_documents_are_those_of_the_copy_that_one_stands_in(
    project: Repository, tmp_path: Path
) -> None:
    repository = project
    docs = repository.root / "docs/helix"
    docs.mkdir(parents=True)
    (docs / "prd.md").write_text("---\nddx: {id: prd}\n---\n# Product\n")
    repository.commit("a document")
    worktree = tmp_path / "linked"
    repository.git("worktree", "add", "--quiet", str(worktree), "-b", "side")
    (worktree / "docs/helix/FEAT-001.md").write_text(
        "---\nddx: {id: FEAT-001, depends_on: [prd]}\n---\n# Search\n"
    )

    def listed(folder: Path) -> list[str]:
        done = repository.run(str(DDX), "doc", "list", "--json", cwd=folder)
        return [row["id"] for row in done.json]

    assert listed(worktree) == ["prd", "FEAT-001"]
    assert listed(repository.root) == ["prd"]
    repository.run(str(DDX), "doc", "new", "td", "Index", "--depends-on", "FEAT-001", cwd=worktree)
    assert "TD-001" in listed(worktree)
    assert listed(repository.root) == ["prd"]

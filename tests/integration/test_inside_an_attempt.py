"""What an attempt's children may do with `ddx`: read the project's tracker, and no more (X-5)."""

# @requirement TC-304

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tracker import ROOT, Done, Repository, bead, make_repository

from ddx.cli.registry import COMMANDS

ATTEMPT = "20260102T030405-1a2b3c4d"
DOCUMENT = """\
---
ddx:
  id: EXEC-001
  execution:
    command: touch ran
---
# Unit tests
"""
METRIC = """\
direction: lower
command: echo speed 1
output_pattern: speed (.*)
"""

# Each would change something outside; `{id}` is a bead that could be changed so.
WRITES = (
    "bead init",
    "bead create New",
    "bead create --from-file new.json",
    "bead update {id} --title Other",
    "bead update {id} --claim",
    "bead close {id}",
    "bead reopen {closed} --reason again",
    "bead cancel {id} --reason never",
    "bead block {id} --reason stuck",
    "bead supersede {id} --by {torn} --reason better",
    "bead take",
    "bead dep add {id} {closed}",
    "bead dep remove {waiting} {id}",
    "bead evidence add {id} --kind test --summary done",
    "bead import --from jsonl many.json",
    "bead archive",
    "bead doctor --fix",
    "bead doctor --bring-back",
    "bead resolve {torn} --field title --take ours",
    "bead commit",
    "doc stamp EXEC-001",
    "exec run EXEC-001",
    "metric run speed",
)
READS = (
    "bead show {id}",
    "bead list",
    "bead ready --execution",
    "bead blocked",
    "bead why {id}",
    "bead dep tree {id}",
    "bead graph",
    "bead status",
    "bead evidence list {id}",
    "bead events {id}",
    "bead export",
    "bead doctor",
    "bead validate-ready {id}",
    "bead diff HEAD",
    "bead import --from jsonl many.json --dry-run",
    "checks detect",
    "config show",
    "doc list",
    "doc show EXEC-001",
    "doc deps EXEC-001",
    "doc dependents EXEC-001",
    "doc impact EXEC-001",
    "doc search tests",
    "doc graph",
    "doc stale",
    "doc history EXEC-001",
    "doc validate",
    "exec list",
    "exec history EXEC-001",
    "metric list",
    "metric show speed",
    "metric trend speed",
)
NOTHING_TO_DO = {"bead init", "bead doctor --fix", "bead doctor --bring-back"}
IN_THE_COPY = {"doc stamp EXEC-001"}
"""Documents and their reviews are those of the copy that one stands in."""

NOT_HERE = {
    "doc new",  # a file like any other, in the copy that one stands in
    "exec define",
    "bead merge",  # git calls it on files of its own choice; see below
    "exec show",  # of a run, and none was made
    "metric compare",  # of two runs
}


class Attempt:
    """A project, the workspace of one attempt on it, and `ddx` as its agent would run it."""

    def __init__(self, folder: Path) -> None:
        self.project = make_repository(folder)
        self.ids = {
            "id": "app-1",
            "closed": "app-2",
            "waiting": "app-3",
            "torn": "app-4",
        }
        edge = {"issue_id": "app-3", "depends_on_id": "app-1", "type": "blocks"}
        torn = {"field": "title", "ours": "Do app-4", "theirs": "Undo", "base": "Do"}
        rows = [
            bead("app-1"),
            bead("app-2", status="closed"),
            bead("app-3", dependencies=[edge]),
            bead("app-4", **{"merge-conflicts": [torn]}),
        ]
        self.project.write(rows)
        for path, text in (
            ("03-test/executions/EXEC-001.md", DOCUMENT),
            ("06-iterate/metrics/speed.yaml", METRIC),
        ):
            document = self.project.root / "docs/helix" / path
            document.parent.mkdir(parents=True)
            document.write_text(text)
        self.project.git("add", "--all")
        when = "2020-02-20T12:00:00Z"  # so long ago that no two answers tell another age
        self.project.git(
            *("commit", "--quiet", "--message", "tracker"),
            GIT_AUTHOR_DATE=when,
            GIT_COMMITTER_DATE=when,
        )
        self.project.write([*rows, bead("app-5")])
        self.workspace = folder / "workspaces" / ATTEMPT
        self.project.git("clone", "--quiet", "--shared", str(self.project.root), self.workspace)
        (self.workspace / ".git/ddx-project").write_text(f"{self.project.root}\n")
        (self.workspace / "many.json").write_text(json.dumps(bead("app-9")))
        (self.workspace / "new.json").write_text(json.dumps({"title": "New"}))

    def ddx(
        self, line: str, *, cwd: Path | None = None, code: int | None = None, outside: bool = False
    ) -> Done:
        said = {"DDX_ATTEMPT_ID": ATTEMPT, "DDX_PROJECT_ROOT": str(self.project.root)}
        return self.project.run(
            *(str(ROOT / "bin/ddx"), *line.format(**self.ids).split()),
            cwd=cwd or self.workspace,
            code=code,
            HELIX_TRUST="1",
            **({} if outside else said),
        )

    def all_outside(self) -> dict[str, bytes]:
        """The project's files, but for caches and locks."""
        files = [path for path in self.project.root.rglob("*") if path.is_file()]
        kept = [path for path in files if "cache" not in path.parts and path.suffix != ".lock"]
        return {str(path): path.read_bytes() for path in kept}


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(tmp_path)


def refused(done: Done) -> None:
    assert (done.code, done.out) == (1, ""), done
    assert f"inside attempt {ATTEMPT}" in done.err
    assert "nothing was changed" in done.err


def test_every_command_is_on_one_of_the_lists():
    listed = {*NOT_HERE}
    for path in COMMANDS:
        if any(f"{line} ".startswith(f"{path} ") for line in (*WRITES, *READS)):
            listed.add(path)
    theirs = {path for path in COMMANDS if path.startswith("agent ")}  # refused where work begins
    assert listed == COMMANDS.keys() - theirs


@pytest.mark.parametrize("line", WRITES)
def test_a_write_is_refused_before_anything_changes(attempt: Attempt, line: str) -> None:
    """Without the variables it is carried out, or the test would prove nothing."""
    before = attempt.all_outside()
    refused(attempt.ddx(line))
    assert attempt.all_outside() == before
    done = attempt.ddx(line, outside=True)
    if line not in NOTHING_TO_DO:
        assert done.code == 0, done
        assert (attempt.all_outside() != before) is (line not in IN_THE_COPY)


def test_a_refused_change_of_the_tracker_names_the_way_to_ask_for_it(
    attempt: Attempt,
) -> None:
    assert "FOLLOW_UP:" in attempt.ddx("bead create New").err
    assert "FOLLOW_UP:" not in attempt.ddx("exec run EXEC-001").err


@pytest.mark.parametrize("line", READS)
def test_a_read_answers_as_it_does_outside(attempt: Attempt, line: str) -> None:  # X-5, T-13
    inside, outside = attempt.ddx(line), attempt.ddx(line, outside=True)
    assert inside == outside
    assert outside.out, outside


def test_the_operator_s_checkout_is_no_way_round(attempt: Attempt) -> None:
    elsewhere = attempt.workspace.parent / "tree"
    attempt.project.git("worktree", "add", "--quiet", "--detach", str(elsewhere))
    for folder in (attempt.project.root, attempt.project.root / "docs", elsewhere):
        refused(attempt.ddx("bead create New", cwd=folder))


def test_a_tracker_below_the_project_is_the_project_s_too(attempt: Attempt) -> None:
    inner = attempt.project.root / "parts/inner/.ddx"
    inner.mkdir(parents=True)
    (attempt.workspace / "parts/inner/.ddx").mkdir(parents=True)
    for folder in (inner.parent, attempt.workspace / "parts/inner"):
        refused(attempt.ddx("bead init", cwd=folder))


def in_another_folder(attempt: Attempt, tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


def in_the_workspace_itself(attempt: Attempt, tmp_path: Path) -> Path:
    return attempt.workspace / "tests/tmp"


@pytest.mark.parametrize("place", [in_another_folder, in_the_workspace_itself])
def test_a_project_s_own_tests_may_use_ddx_in_repositories_of_their_own(
    attempt: Attempt, tmp_path: Path, place: Callable[[Attempt, Path], Path]
) -> None:
    folder = place(attempt, tmp_path)
    folder.mkdir(parents=True)
    attempt.project.git("init", "--quiet", cwd=folder)
    attempt.ddx("bead init", cwd=folder, code=0)
    made = attempt.ddx("bead create Inner", cwd=folder, code=0).id
    attempt.ddx(f"bead close {made}", cwd=folder, code=0)
    assert made in Repository(folder, home=attempt.project.home).rows()


def test_git_may_merge_the_tracker_s_files_in_the_workspace(attempt: Attempt) -> None:  # T-14
    """The driver writes where git tells it to, and never to the project."""
    files = [attempt.workspace / name for name in ("base", "ours", "theirs")]
    for file, title in zip(files, ("Old", "Old", "New"), strict=True):
        file.write_text(json.dumps(bead("app-1", title=title)) + "\n")
    before = attempt.all_outside()
    attempt.ddx("bead merge base ours theirs", code=0)
    assert json.loads(files[1].read_text())["title"] == "New"
    assert attempt.all_outside() == before

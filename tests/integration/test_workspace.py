"""An agent works in a clone of its own; what it leaves there becomes one commit (X-3a, X-10)."""

# @requirement TC-304

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.operators import (
    Operator,
    attempt_on,
    live_at,
    make_operator,
    snapshot,
    workspace_of,
)

from ddx.attempts.context import fix_target, workspace_path, workspace_root
from ddx.attempts.workspace import Workspace, remove_workspace
from ddx.base.clock import Clock
from ddx.base.errors import DdxError, NotFound, UsageError
from ddx.git.commits import (
    AttemptFiles,
    check_out,
    commit_tree,
    make_tree,
    message_for,
    new_files,
)
from ddx.git.history import changed_paths, diffstat
from ddx.project.project import Project, find_project
from ddx.project.settings import read_settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    live_at(tmp_path / "home", monkeypatch)
    return tmp_path / "home"


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return make_operator(tmp_path / "app")


@pytest.fixture
def workspace(operator: Operator) -> Iterator[Workspace]:
    with workspace_of(operator) as workspace:
        yield workspace


class Agent:
    """Someone who works in a workspace with git and a shell."""

    def __init__(self, workspace: Workspace) -> None:
        self.root = Path(workspace.path)

    def git(self, *words: str, code: int | None = 0) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, capture_output=True, check=False, timeout=60
        )
        assert code is None or done.returncode == code, f"{words}: {done}"
        return os.fsdecode(done.stdout).strip()

    def write(self, path: str, text: str = "x\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


def plant(path: Path, canary: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran >> '{canary}'\ncat\n")
    path.chmod(0o755)
    return path


def content(operator: Operator, tree: str) -> dict[str, str]:
    """Mode and text of every file in a tree."""
    listed = operator.git("ls-tree", "-r", "-z", tree).split("\0")
    found = {}
    for line in filter(None, listed):
        head, _, path = line.partition("\t")
        mode, _, blob = head.split(" ")
        text = "" if mode == "160000" else operator.git("cat-file", "blob", blob)
        found[path] = f"{mode} {text}"
    return found


# -- the clone -----------------------------------------------------------------------------------


def in_a_checkout(folder: Path) -> Operator:
    return make_operator(folder / "app")


def in_a_linked_worktree(folder: Path) -> Operator:
    return make_operator(folder / "app", is_linked=True)


def in_a_shallow_clone(folder: Path) -> Operator:
    full = make_operator(folder / "full")
    full.commit({"a.txt": "second\n"})
    shallow = folder / "app"
    full.git("clone", "--quiet", "--depth=1", f"file://{full.root}", str(shallow))
    return Operator(shallow, Project(str(shallow)))


def in_a_sha256_repository(folder: Path) -> Operator:
    root = folder / "app"
    root.mkdir()
    operator = Operator(root, Project(str(root)))
    operator.git("init", "--quiet", "--object-format=sha256")
    operator.commit({"a.txt": "a\n", ".ddx/beads.jsonl": "{}\n"})
    return operator


def in_a_clone_that_borrows_objects(folder: Path) -> Operator:
    full = make_operator(folder / "full")
    full.git("clone", "--quiet", "--shared", str(full.root), str(folder / "app"))
    return Operator(folder / "app", Project(str(folder / "app")))


def in_a_submodule(folder: Path) -> Operator:
    inner = make_operator(folder / "inner")
    outer = make_operator(folder / "outer")
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "--quiet")
    outer.git(*words, str(inner.root), "app")
    return Operator(outer.root / "app", Project(str(outer.root / "app")))


@pytest.mark.parametrize(
    "make",
    [
        in_a_checkout,
        in_a_linked_worktree,
        in_a_shallow_clone,
        in_a_sha256_repository,
        in_a_clone_that_borrows_objects,
        in_a_submodule,
    ],
)
def test_a_workspace_is_a_clean_clone_at_the_base(
    tmp_path: Path, make: Callable[[Path], Operator]
) -> None:  # X-3a
    operator = make(tmp_path)
    operator.git("tag", "-a", "-m", "one", "v1.0")
    before = operator.belongings()

    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        assert agent.git("status", "--porcelain", "--ignored") == ""
        assert agent.git("rev-parse", "HEAD") == operator.tip()
        assert agent.git("symbolic-ref", "--quiet", "HEAD", code=1) == ""
        assert agent.git("rev-parse", "main") == operator.tip()
        assert agent.git("remote") == ""
        assert agent.git("describe") == "v1.0"
        assert agent.git("log", "--format=%s", "-1") == operator.git("log", "--format=%s", "-1")
        agent.git("fsck", "--connectivity-only")
        assert find_project(workspace.path).root == operator.project.root
        pinned = operator.git("rev-parse", "refs/helix/bases/attempt-1")
        assert pinned == workspace.work.base

        agent.write("a.txt", "new\n")
        agent.git("commit", "--quiet", "--all", "--message", "mine")
        made = snapshot(workspace)
        assert made.paths == ("a.txt",)
        assert content(operator, made.tree)["a.txt"] == "100644 new"

    assert not os.path.exists(workspace.path)
    assert operator.belongings() == before
    assert operator.git("for-each-ref", "refs/helix") == ""


def test_a_workspace_can_begin_at_an_older_commit(operator: Operator) -> None:  # X-3a
    first = operator.tip()
    operator.commit({"a.txt": "second\n"})
    with workspace_of(operator, from_rev="HEAD~1") as workspace:
        assert Path(workspace.path, "a.txt").read_text() == "a\n"
        assert Agent(workspace).git("rev-parse", "HEAD") == first


def test_edits_that_are_not_committed_are_no_part_of_the_base(operator: Operator) -> None:
    operator.write("a.txt", "edited\n")
    operator.write("untracked.txt", "x\n")
    operator.git("add", "a.txt")
    with workspace_of(operator) as workspace:
        assert Path(workspace.path, "a.txt").read_text() == "a\n"
        assert not Path(workspace.path, "untracked.txt").exists()
        assert snapshot(workspace).paths == ()


def test_nothing_that_an_agent_does_with_git_reaches_the_operator(
    operator: Operator, tmp_path: Path
) -> None:  # X-3a
    operator.write("b.txt", "stashed\n")
    operator.git("stash", "push", "--quiet")
    operator.git("branch", "keep-me")
    operator.git("tag", "v1")
    operator.write("b.txt", "an edit\n")
    operator.write("untracked.txt", "mine\n")
    before = operator.belongings()
    stash = operator.git("stash", "list", "--format=%H")

    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        agent.write("a.txt", "new\n")
        agent.git("stash", "push", "--quiet")
        agent.git("stash", "drop", "--quiet")
        agent.git("stash", "drop", "--quiet", code=1)
        agent.git("config", "user.name", "Agent")
        agent.git("config", "core.hooksPath", "/tmp")
        agent.git("switch", "--quiet", "main")
        agent.write("a.txt", "new\n")
        agent.git("commit", "--quiet", "-am", "mine")
        agent.git("branch", "-D", "keep-me", code=1)
        agent.git("tag", "-d", "v1")
        agent.git("push", code=128)
        agent.git("push", "origin", "main", code=128)
        agent.git("reset", "--quiet", "--hard", "HEAD~0")
        agent.git("reflog", "expire", "--expire=now", "--all")
        agent.git("gc", "--quiet", "--prune=now", "--aggressive")
        agent.git("worktree", "prune")
        assert snapshot(workspace).paths == ("a.txt",)

    assert operator.belongings() == before
    assert operator.git("stash", "list", "--format=%H") == stash
    operator.git("fsck", "--no-dangling")


def test_no_trap_in_the_git_folder_of_a_workspace_goes_off(
    operator: Operator, tmp_path: Path
) -> None:  # X-3b
    canary = tmp_path / "canary"
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        program = plant(tmp_path / "program", canary)
        for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
            plant(agent.root / ".git/hooks" / name, canary)
        for name in ("core.fsmonitor", "filter.trap.clean", "filter.trap.smudge", "core.editor"):
            agent.git("config", name, str(program))
        agent.git("config", "core.worktree", str(operator.root))
        agent.git("config", "core.excludesFile", str(agent.write("../all", "*\n")))
        agent.write(".git/info/exclude", "*\n")
        agent.write(".git/info/attributes", "* filter=trap\n")
        agent.write(".git/objects/info/alternates", "/nowhere\n")
        agent.write(".gitattributes", "*.txt filter=trap\n")
        agent.write("new.txt", "new\n")
        canary.unlink(missing_ok=True)

        made = snapshot(workspace)
        check_out(workspace.work, workspace.work.base)

    assert made.paths == (".gitattributes", "new.txt")
    assert not canary.exists()


def remove_git_folder(agent: Agent) -> None:
    shutil.rmtree(agent.root / ".git")


def begin_another_repository(agent: Agent) -> None:
    remove_git_folder(agent)
    agent.git("init", "--quiet")
    agent.git("add", "--all")
    agent.git("commit", "--quiet", "-m", "mine")


def make_git_a_file(agent: Agent) -> None:
    remove_git_folder(agent)
    agent.write(".git", "gitdir: /nowhere\n")


def break_the_index(agent: Agent) -> None:
    agent.write(".git/index", "garbage")
    agent.write(".git/HEAD", "garbage")


@pytest.mark.parametrize(
    "harm", [remove_git_folder, begin_another_repository, make_git_a_file, break_the_index]
)
def test_the_work_is_found_whatever_became_of_the_git_folder(
    operator: Operator, harm: Callable[[Agent], None]
) -> None:
    before = operator.belongings()
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        agent.write("new.txt")
        harm(agent)
        assert snapshot(workspace).paths == ("new.txt",)
    assert operator.belongings() == before


def test_a_workspace_that_points_elsewhere_is_neither_read_nor_followed(
    operator: Operator,
) -> None:
    before = operator.belongings()
    for name, target in (("gone", None), ("replaced", operator.root)):
        with workspace_of(operator, name=name) as workspace:
            shutil.rmtree(workspace.path)
            if target:
                os.symlink(target, workspace.path)
            for act in (
                lambda w: snapshot(w),
                lambda w: new_files(w.work),
                lambda w: check_out(w.work, w.work.base),
            ):
                with pytest.raises(NotFound, match="is gone: its agent removed or replaced it"):
                    act(workspace)
        assert not os.path.lexists(workspace.path)
    assert operator.belongings() == before


def test_a_base_that_the_operator_throws_away_is_held(operator: Operator) -> None:  # X-3a
    operator.commit({"a.txt": "doomed\n"})
    with workspace_of(operator) as workspace:
        operator.git("reset", "--quiet", "--hard", "HEAD~1")
        operator.git("reflog", "expire", "--expire=now", "--all")
        operator.git("gc", "--quiet", "--prune=now")
        agent = Agent(workspace)
        agent.write("new.txt")
        assert snapshot(workspace).paths == ("new.txt",)
        assert agent.git("show", "HEAD:a.txt") == "doomed"


def test_the_attempts_commit_can_be_held_before_it_lands(operator: Operator) -> None:  # X-3a
    with workspace_of(operator) as workspace:
        Agent(workspace).write("new.txt")
        tree, base = snapshot(workspace).tree, workspace.work.base
        commit = commit_tree(workspace.work.repository, tree, [base], "x\n")
        workspace.hold(commit)
        operator.git("gc", "--quiet", "--prune=now")
        assert operator.git("show", f"{commit}:new.txt") == "x"
    assert operator.git("for-each-ref", "refs/helix") == ""


def test_a_workspace_that_cannot_be_made_leaves_nothing(operator: Operator) -> None:
    target = fix_target(operator.project)
    path = operator.root.parent / "workspaces/broken"
    said: list[str] = []
    with (
        pytest.raises(DdxError, match="checking out"),
        Workspace(
            operator.project,
            target,
            str(path),
            attempt="broken",
            index="/nowhere/at/all/index",
            say=said.append,
        ),
    ):
        raise AssertionError("never entered")
    assert not path.exists()
    assert operator.git("for-each-ref", "refs/helix") == ""
    assert said == []


# -- the operator's own settings -----------------------------------------------------------------


def test_the_operators_filters_apply_as_they_would_for_him(operator: Operator) -> None:  # X-3a
    operator.git("config", "filter.rot.clean", "tr a-m n-z")
    operator.git("config", "filter.rot.smudge", "tr n-z a-m")
    operator.commit({"x.rot": "abc\n", ".gitattributes": "*.rot filter=rot\n"})
    assert operator.git("show", "HEAD:x.rot") == "nop"

    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        assert (agent.root / "x.rot").read_text() == "abc\n"
        assert agent.git("status", "--porcelain") == ""
        agent.write("x.rot", "abcd\n")
        made = snapshot(workspace)
    assert operator.git("show", f"{made.tree}:x.rot") == "nopq"


def test_line_ends_survive_the_way_there_and_back(operator: Operator) -> None:
    operator.git("config", "core.autocrlf", "true")
    operator.git("config", "core.safecrlf", "true")
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        assert (agent.root / "a.txt").read_bytes() == b"a\r\n"
        for file in (agent.root / "a.txt", agent.root / ".gitignore"):
            file.touch()
        assert agent.git("status", "--porcelain") == ""
        assert snapshot(workspace).paths == ()
        (agent.root / "mixed.txt").write_bytes(b"one\ntwo\r\n")
        made = snapshot(workspace)
    assert made.paths == ("mixed.txt",)


def test_a_sparse_checkout_stays_sparse_and_loses_nothing(operator: Operator) -> None:  # X-3a
    operator.commit({"in/a.txt": "a\n", "out/b.txt": "b\n"})
    operator.git("sparse-checkout", "set", "--sparse-index", "in")
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        assert (agent.root / "in/a.txt").exists()
        assert not (agent.root / "out").exists()
        assert agent.git("status", "--porcelain") == ""
        agent.write("in/a.txt", "new\n")
        agent.write("out/c.txt", "new\n")
        made = snapshot(workspace)
    assert made.paths == ("in/a.txt", "out/c.txt")
    assert "out/b.txt" in content(operator, made.tree)


def test_our_index_is_whole_and_leaves_nothing_in_the_repository(operator: Operator) -> None:
    for name in ("core.splitIndex", "core.untrackedCache", "feature.manyFiles"):
        operator.git("config", name, "true")
    operator.git("update-index", "--split-index")
    before = sorted(os.listdir(operator.root / ".git"))
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        assert agent.git("status", "--porcelain") == ""
        agent.write("new.txt")
        assert snapshot(workspace).paths == ("new.txt",)
    assert sorted(os.listdir(operator.root / ".git")) == before


def test_what_only_the_operator_ignores_is_ignored_in_the_workspace(operator: Operator) -> None:
    operator.write(".git/info/exclude", "*.private\n")
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        agent.write("x.private")
        assert agent.git("status", "--porcelain") == ""
        assert new_files(workspace.work) == frozenset()


def test_a_message_is_utf8_whatever_the_operators_commits_are(operator: Operator) -> None:
    operator.git("config", "i18n.commitEncoding", "latin1")
    operator.git("config", "i18n.logOutputEncoding", "UTF-8")
    tree = operator.git("rev-parse", "HEAD^{tree}")
    repository = fix_target(operator.project).repository
    commit = commit_tree(repository, tree, [], "Größe 雪\n")
    assert operator.git("log", "-1", "--format=%s", commit) == "Größe 雪"


def test_an_agent_commits_as_the_operator_of_this_repository(operator: Operator) -> None:
    operator.git("config", "user.name", 'Ä "quoted" \\ name')
    operator.git("config", "user.email", "here@example.org")
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        agent.git("commit", "--quiet", "--allow-empty", "-m", "mine")
        assert agent.git("log", "-1", "--format=%an %ae") == ('Ä "quoted" \\ name here@example.org')


def test_where_git_knows_no_name_the_commit_is_nobodys(operator: Operator, home: Path) -> None:
    (home / ".gitconfig").write_text("")
    attempt = attempt_on(operator, {"a.txt": "new\n"})  # X-3b
    assert operator.git("log", "-1", "--format=%an <%ae>, %cn <%ce>", attempt.commit) == (
        "helix <helix@localhost>, helix <helix@localhost>"
    )


def test_an_author_from_the_environment_counts(
    operator: Operator, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".gitconfig").write_text("")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ada@example.org")
    attempt = attempt_on(operator, {"a.txt": "new\n"})
    assert operator.git("log", "-1", "--format=%an <%ae>, %cn", attempt.commit) == (
        "Ada <ada@example.org>, helix"
    )


def test_a_project_below_the_top_of_its_repository(tmp_path: Path) -> None:  # T-13
    top = make_operator(tmp_path / "app")
    top.commit({"part/.ddx/beads.jsonl": "{}\n", "part/code.py": "1\n", "other/.ddx/x": "1\n"})
    operator = Operator(top.root, Project(str(top.root / "part")))
    with workspace_of(operator) as workspace:
        assert workspace.folder == os.path.join(workspace.path, "part")
        assert find_project(workspace.folder).root == operator.project.root
        agent = Agent(workspace)
        for path in ("part/.ddx/beads.jsonl", ".ddx/beads.jsonl", "part/.ddx/checks/x.yaml"):
            agent.write(path, "changed\n")
        agent.write("part/code.py", "2\n")
        made = snapshot(workspace, ".ddx/checks/x.yaml")
    assert made.paths == ("part/.ddx/checks/x.yaml", "part/code.py")
    assert set(made.put_back) == {".ddx/beads.jsonl", "part/.ddx/beads.jsonl"}


def test_a_tracker_that_is_not_committed_is_found_all_the_same(operator: Operator) -> None:
    operator.git("rm", "--quiet", "-r", "--cached", ".ddx")
    operator.commit({".gitignore": ".ddx/\n"})
    with workspace_of(operator) as workspace:
        assert find_project(workspace.path).root == operator.project.root


# -- what becomes the commit ---------------------------------------------------------------------


def test_every_kind_of_file_is_taken_as_it_is(operator: Operator, workspace: Workspace) -> None:
    agent = Agent(workspace)
    odd = os.fsdecode(b"odd\n\t\"name'\xff.txt")
    agent.write(odd, "odd\n")
    agent.write("ünïcode ☃.txt", "u\n")
    agent.write("-dash", "d\n")
    agent.write(":(exclude)magic", "m\n")
    agent.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (agent.root / "link").symlink_to("/etc/passwd")
    (agent.root / "dangling").symlink_to("nowhere")
    (agent.root / "empty").mkdir()
    (agent.root / "b.txt").unlink()
    shutil.rmtree(agent.root / "docs")
    agent.write("docs", "now a file\n")
    (agent.root / "a.txt").unlink()
    agent.write("a.txt/inside", "now a folder\n")
    os.mkfifo(agent.root / "pipe")
    agent.write("ignored.log")

    made = snapshot(workspace)

    found = content(operator, made.tree)
    assert {path: text for path, text in found.items() if not path.startswith(".")} == {
        odd: "100644 odd",
        "ünïcode ☃.txt": "100644 u",
        "-dash": "100644 d",
        ":(exclude)magic": "100644 m",
        "run.sh": "100755 #!/bin/sh",
        "link": "120000 /etc/passwd",
        "dangling": "120000 nowhere",
        "docs": "100644 now a file",
        "a.txt/inside": "100644 now a folder",
    }
    assert {"a.txt", "b.txt", "docs/c.md", odd} <= set(made.paths)
    assert changed_paths(workspace.work.repository, workspace.work.base, made.tree) == made.paths


def test_a_change_at_once_and_of_the_same_size_is_seen(operator: Operator) -> None:
    for number in range(5):
        with workspace_of(operator, name=f"quick-{number}") as workspace:
            copied = os.stat(os.path.join(workspace.path, ".git/index")).st_mtime_ns
            assert copied == os.stat(workspace.work.index).st_mtime_ns
            Path(workspace.path, "a.txt").write_text("z\n")
            assert Agent(workspace).git("status", "--porcelain") == "M a.txt"
            assert snapshot(workspace).paths == ("a.txt",)


def test_nothing_changed_is_no_tree(workspace: Workspace) -> None:
    Agent(workspace).git("commit", "--quiet", "--allow-empty", "-m", "nothing")
    made = snapshot(workspace)
    assert (made.tree, made.paths) == ("", ())


def test_a_clone_that_was_never_complete_holds_no_work(operator: Operator) -> None:
    folder = operator.root.parent / "half"
    folder.mkdir()
    target = fix_target(operator.project)
    work = AttemptFiles(
        target.repository, str(folder), str(folder.parent / "index"), base=target.base
    )
    made = make_tree(work, may_land=lambda path: True, aside=str(folder.parent / "aside"))
    assert made.paths == ()


def test_a_lock_that_a_dead_git_left_on_our_index_is_no_obstacle(workspace: Workspace) -> None:
    Path(f"{workspace.work.index}.lock").touch()
    Agent(workspace).write("new.txt")
    assert snapshot(workspace).paths == ("new.txt",)


def in_repository(folder: Path, *, commits: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "code.py").write_text("code\n")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    if commits:
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        subprocess.run(["git", "commit", "--quiet", "-m", "inner"], cwd=folder, check=True)


@pytest.mark.parametrize("commits", [True, False])
def test_a_repository_inside_is_taken_as_files(
    operator: Operator, workspace: Workspace, commits: bool
) -> None:
    agent = Agent(workspace)
    in_repository(agent.root / "sub", commits=commits)
    in_repository(agent.root / "sub/deeper", commits=not commits)
    in_repository(agent.root / "with space\n/x", commits=commits)

    made = snapshot(workspace)

    names = ("sub", "sub/deeper", "with space\n/x")
    assert made.paths == tuple(f"{name}/code.py" for name in names)
    assert set(made.flattened) == set(names)
    aside = Path(workspace.work.index).parent / "aside"
    assert len(list(aside.iterdir())) == 3
    assert all((folder / "HEAD").exists() for folder in aside.iterdir())


def test_a_submodule_that_was_declared_stays_one(operator: Operator, tmp_path: Path) -> None:
    library = make_operator(tmp_path / "library")
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        words = ("-c", "protocol.file.allow=always", "submodule", "add", "--quiet")
        agent.git(*words, str(library.root), "lib")
        made = snapshot(workspace)
    assert made.paths == (".gitmodules", "lib")
    assert made.flattened == ()
    assert content(operator, made.tree)["lib"].startswith("160000")


def test_an_ignored_repository_inside_is_left_alone(workspace: Workspace) -> None:
    agent = Agent(workspace)
    in_repository(agent.root / "vendor.log", commits=False)
    agent.write("new.txt")
    assert snapshot(workspace).paths == ("new.txt",)
    assert (agent.root / "vendor.log/.git").exists()


def give_to(user: int, top: Path) -> None:
    for path in (top, *top.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's eyes are needed")
def test_files_that_nobody_may_read_are_read(operator: Operator) -> None:
    with workspace_of(operator) as workspace:
        agent = Agent(workspace)
        agent.write("closed/secret.txt", "s\n").chmod(0)
        (agent.root / "closed").chmod(0)
        top = operator.root.parent
        parents = [(path, path.stat().st_mode) for path in list(top.parents)[:-1]]
        try:
            give_to(65534, top)
            for path, mode in parents:
                path.chmod(mode | 0o711)
            os.seteuid(65534)
            made = snapshot(workspace)
        finally:
            os.seteuid(0)
            give_to(0, top)
            for path, mode in parents:
                path.chmod(mode)
        assert made.paths == ("closed/secret.txt",)


def test_a_name_that_git_refuses_is_a_clear_error(workspace: Workspace) -> None:
    Agent(workspace).write("git~1", "x\n")
    with pytest.raises(DdxError, match=r"cannot be committed.*git~1"):
        snapshot(workspace)


# -- what may not land ---------------------------------------------------------------------------


def change_it(agent: Agent) -> None:
    agent.write(".ddx/beads.jsonl", "mine\n")


def delete_it(agent: Agent) -> None:
    shutil.rmtree(agent.root / ".ddx")


def add_to_it(agent: Agent) -> None:
    agent.write(".ddx/config.yaml", "checks: {default: ['true']}\n")
    agent.write(".ddx/checks/all.yaml", "command: 'true'\n")
    agent.write(".helix/config.yaml", "agent: mine\n")


def link_it_away(agent: Agent) -> None:
    shutil.rmtree(agent.root / ".ddx")
    (agent.root / ".ddx").symlink_to("/tmp")


def make_it_a_file(agent: Agent) -> None:
    shutil.rmtree(agent.root / ".ddx")
    agent.write(".ddx", "mine\n")


@pytest.mark.parametrize("do", [change_it, delete_it, add_to_it, link_it_away, make_it_a_file])
def test_nothing_of_ours_lands_and_checks_see_none_of_it(
    operator: Operator, workspace: Workspace, do: Callable[[Agent], None]
) -> None:
    agent = Agent(workspace)
    do(agent)
    agent.write("new.txt")

    made = snapshot(workspace, "src", ".ddx", ".helix", ".")

    assert made.paths == ("new.txt",)
    assert made.put_back
    assert (agent.root / ".ddx/beads.jsonl").read_text() == '{"id":"app-1"}\n'
    assert sorted(path.name for path in (agent.root / ".ddx").rglob("*")) == [
        ".gitignore",
        "beads.jsonl",
    ]
    assert not (agent.root / ".helix/config.yaml").exists()


def test_checks_and_settings_land_where_the_bead_names_them(workspace: Workspace) -> None:
    agent = Agent(workspace)
    add_to_it(agent)
    change_it(agent)
    made = snapshot(workspace, "./.ddx/checks/", ".helix/config.yaml")
    assert made.paths == (".ddx/checks/all.yaml", ".helix/config.yaml")
    assert made.put_back == (".ddx/beads.jsonl", ".ddx/config.yaml")


# -- carrying ------------------------------------------------------------------------------------


@pytest.fixture
def installed(operator: Operator, tmp_path: Path) -> Operator:
    """A project with packages that git does not keep."""
    operator.commit({".gitignore": "node_modules/\n.venv/\n.env\nshared\n*.log\n"})
    operator.write("node_modules/pkg/index.js", "original\n").chmod(0o755)
    operator.write(".env", "TOKEN=x\n")
    (operator.root / "node_modules/empty").mkdir()
    return operator


def test_what_is_carried_is_a_copy(installed: Operator) -> None:  # X-3a
    with workspace_of(installed) as workspace:
        for path in ("node_modules", ".env"):
            workspace.carry(path)
        copy = Path(workspace.path, "node_modules/pkg/index.js")
        original = installed.root / "node_modules/pkg/index.js"
        assert copy.read_text() == "original\n"
        assert copy.stat().st_ino != original.stat().st_ino
        assert stat.S_IMODE(copy.stat().st_mode) == 0o755
        assert copy.stat().st_mtime_ns == original.stat().st_mtime_ns
        assert Path(workspace.path, "node_modules/empty").is_dir()
        copy.write_text("changed by the agent\n")
        assert snapshot(workspace).paths == ()
    assert installed.read("node_modules/pkg/index.js") == "original\n"


def test_no_link_leads_from_a_copy_to_the_original(installed: Operator, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "package.js").write_text("outside\n")
    tool = outside / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    modules = installed.root / "node_modules"
    (modules / "relative").symlink_to("pkg")
    (modules / "absolute").symlink_to(modules / "pkg")
    (modules / "way-round").symlink_to(f"../../{installed.root.name}/node_modules/pkg")
    (modules / "source").symlink_to("../docs")
    (modules / "folder").symlink_to(outside)
    (modules / "file").symlink_to(outside / "package.js")
    (modules / "interpreter").symlink_to(tool)
    (modules / "dangling").symlink_to("nowhere")
    (modules / "dangling-outside").symlink_to(outside / "nowhere")
    (outside / "loop").symlink_to(outside)
    os.mkfifo(modules / "pipe")

    with workspace_of(installed) as workspace:
        workspace.carry("node_modules")
        copy = Path(workspace.path, "node_modules")
        for name in ("relative", "absolute", "way-round"):
            assert (copy / name).resolve() == copy / "pkg"
        assert (copy / "source").resolve() == Path(workspace.path, "docs")
        assert not (copy / "folder").is_symlink()
        assert (copy / "folder/package.js").read_text() == "outside\n"
        assert not (copy / "file").is_symlink()
        assert (copy / "interpreter").resolve() == tool
        assert os.readlink(copy / "dangling") == "nowhere"
        assert not os.path.lexists(copy / "dangling-outside")
        assert not os.path.lexists(copy / "pipe")


@pytest.mark.parametrize("path", ["missing", "/etc", "../other", ".", ".git", "a/../../x"])
def test_what_cannot_be_carried_is_named(installed: Operator, path: str) -> None:  # X-3a
    with workspace_of(installed) as workspace, pytest.raises(UsageError, match=r"workspace\.carry"):
        workspace.carry(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lib/python3.11/site-packages/__editable__.shop-1.pth", "{root}/src\n"),
        ("lib/python3.11/site-packages/easy-install.pth", "import sys\n{root}\n"),
        ("lib/python3.11/site-packages/shop.egg-link", "{root}\n."),
        (
            "lib/python3.11/site-packages/shop-1.dist-info/direct_url.json",
            '{{"url": "file://{root}", "dir_info": {{"editable": true}}}}',
        ),
    ],
)
def test_an_environment_that_imports_the_operators_checkout_is_not_carried(
    installed: Operator, name: str, text: str
) -> None:
    installed.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    installed.write(f".venv/{name}", text.format(root=installed.root))
    said = r"\.venv imports your own checkout"
    with workspace_of(installed) as workspace, pytest.raises(UsageError, match=said) as refused:
        workspace.carry(".venv")
    assert "workspace.setup" in (refused.value.hint or "")


def test_an_environment_of_its_own_is_carried(installed: Operator) -> None:
    packages = ".venv/lib/python3.11/site-packages"
    installed.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    installed.write(f"{packages}/own.pth", f"{installed.root}/{packages}/own\n/usr/lib/python3\n")
    installed.write(
        f"{packages}/a.dist-info/direct_url.json", '{"url": "https://example.org/a.whl"}'
    )
    installed.write(f"{packages}/b.dist-info/direct_url.json", "no json")
    with workspace_of(installed) as workspace:
        workspace.carry(".venv")
        assert Path(workspace.path, packages, "own.pth").exists()


def test_what_would_land_is_not_carried(installed: Operator) -> None:
    installed.write("notes.txt", "private\n")
    installed.write("a.txt", "edited\n")
    said = r"git does not ignore notes\.txt"
    with workspace_of(installed) as workspace, pytest.raises(UsageError, match=said):
        workspace.carry("notes.txt")
    with workspace_of(installed) as workspace:
        workspace.carry("a.txt")
        assert Path(workspace.path, "a.txt").read_text() == "a\n"


# -- where it lies and how it goes ---------------------------------------------------------------


def test_workspaces_lie_in_one_folder_of_their_project(
    operator: Operator, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # X-3a
    settings = read_settings(operator.project, clock=Clock())
    root = Path(workspace_root(operator.project, settings))
    assert root.parent == home / ".cache/helix/workspaces"
    assert root.name.startswith("app-")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = Path(workspace_root(operator.project, settings))
    assert root.parent == tmp_path / "cache/helix/workspaces"
    assert workspace_path(operator.project, settings, "1") == str(root / "1")
    other = make_operator(tmp_path / "elsewhere/app")
    assert Path(workspace_root(other.project, settings)).name != root.name

    operator.write(".ddx/config.yaml", f"workspace:\n  root: {tmp_path / 'big disk'}\n")
    settings = read_settings(operator.project, clock=Clock())
    assert Path(workspace_root(operator.project, settings)).parent == tmp_path / "big disk"

    operator.write(".ddx/config.yaml", f"workspace:\n  root: {operator.root}/work\n")
    settings = read_settings(operator.project, clock=Clock())
    with pytest.raises(UsageError, match="inside the checkout"):
        workspace_root(operator.project, settings)


def test_to_remove_a_workspace_twice_is_harmless(operator: Operator) -> None:
    said: list[str] = []
    with workspace_of(operator) as workspace:
        Agent(workspace).write("new.txt")
        for _ in range(2):
            assert remove_workspace(operator.project, workspace.path, "attempt-1", say=said.append)
        assert not os.path.exists(workspace.path)
    assert said == []


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's eyes are needed")
def test_folders_that_may_not_be_written_are_removed(tmp_path: Path, operator: Operator) -> None:
    """As another user, since root may write everywhere."""
    top = Path("/tmp") / f"ddx-test-{os.getpid()}"
    folder = top / "workspace"
    (folder / "closed/deep").mkdir(parents=True)
    (folder / "closed/deep/file").write_text("x\n")
    (folder / "link").symlink_to(tmp_path)
    give_to(65534, top)
    (folder / "closed/deep/file").chmod(0)
    (folder / "closed/deep").chmod(0o500)
    (folder / "closed").chmod(0)
    said: list[str] = []
    try:
        os.seteuid(65534)
        remove_workspace(operator.project, str(folder), "attempt-1", say=said.append)
    finally:
        os.seteuid(0)
    gone = not folder.exists()
    shutil.rmtree(top)
    assert gone
    assert tmp_path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_what_cannot_be_removed_is_told_and_the_rest_goes(operator: Operator) -> None:  # X-3a
    said: list[str] = []
    with workspace_of(operator) as workspace:
        stuck = Path(workspace.path, "m/stuck")
        stuck.mkdir(parents=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(stuck)], check=False)
        if mounted.returncode:
            pytest.skip("mounting is not permitted here")
        try:
            removed = remove_workspace(
                operator.project, workspace.path, "attempt-1", say=said.append
            )
        finally:
            subprocess.run(["umount", str(stuck)], check=True)
        assert not removed
        assert "could not be removed" in said[0]
        assert str(workspace.path) in said[0]
        assert os.listdir(workspace.path) == ["m"]


# -- small answers -------------------------------------------------------------------------------


def test_a_diffstat_is_short_and_safe_on_a_terminal(operator: Operator) -> None:
    files: dict[str, str | None] = {f"many/{n:03}.txt": "x\n" for n in range(100)}
    attempt = attempt_on(operator, {**files, "\x1b[31mred": "x\n"})
    shown = diffstat(attempt.target.repository, attempt.base, attempt.commit)
    assert "\x1b" not in shown
    assert "101 files changed" in shown
    assert len(shown.splitlines()) < 65


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("Do it", "Do it [app-1]"),
        ("two\nlines\r\n\tand\x1b[31m more\x00", "two lines and [31m more  [app-1]"),
        ("", "[app-1]"),
        ("x" * 500, "x" * 99 + "… [app-1]"),
        ("lone \ud800 surrogate", "lone   surrogate [app-1]"),
        ("Helix-Bead: fake", "Helix-Bead: fake [app-1]"),
    ],
)
def test_a_subject_is_one_clean_line(title: str, subject: str) -> None:
    message = message_for(title, ["app-1"], attempt="a", harness="script")
    assert message.split("\n")[:2] == [subject, ""]


def test_a_batch_has_a_trailer_for_each_member(operator: Operator) -> None:
    message = message_for("Two", ["a-1", "a-2\nHelix-Bead: x"], attempt="t", harness="h")
    tree = operator.git("rev-parse", "HEAD^{tree}")
    commit = commit_tree(fix_target(operator.project).repository, tree, [], message)
    trailers = operator.git("log", "-1", "--format=%(trailers:only)", commit)
    assert trailers.splitlines() == [
        "Helix-Bead: a-1",
        "Helix-Bead: a-2 Helix-Bead: x",
        "Helix-Attempt: t",
        "Helix-Harness: h",
    ]


def test_a_clean_attempt_needs_few_git_commands(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, log = shutil.which("git"), tmp_path / "commands"
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")

    attempt = attempt_on(operator, {"new.txt": "x\n"})
    attempt.land()

    assert len(log.read_text().splitlines()) <= 15

"""An operator at his checkout, and attempts on it that need no agent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ddx.attempts.commit import ReservedPaths, reserve
from ddx.attempts.context import LandingTarget, fix_target
from ddx.attempts.landing import LandingCandidate, LandingOutcome, land
from ddx.attempts.workspace import Workspace
from ddx.base.clock import Clock
from ddx.git.commits import FilesSnapshot, commit_tree, make_tree, message_for
from ddx.project.project import Project
from ddx.proof.evidence import Check, Proof
from ddx.testing import FakeClock

PASSED = Check("unit", "true", "verify", passed=True)
FAILED = Check("unit", "false", "verify", passed=False, exit_code=1)

GIT_SETTINGS = """\
[user]
    name = Mara
    email = mara@example.org
[init]
    defaultBranch = main
"""


def live_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's settings but those in `home` count from now on, for us and for every git."""
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(GIT_SETTINGS)
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@dataclass(frozen=True)
class Operator:
    """A person with a checkout: what he types, and what he finds there."""

    root: Path
    project: Project

    def git(self, *words: str, code: int | None = 0, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, capture_output=True, check=False, timeout=60
        )
        said = os.fsdecode(done.stdout)
        assert code is None or done.returncode == code, f"{words}: {said}{done.stderr!r}"
        return said.strip()

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def commit(self, files: Mapping[str, str], message: str = "by hand") -> str:
        for path, text in files.items():
            self.write(path, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.tip()

    def tip(self, branch: str = "HEAD") -> str:
        return self.git("rev-parse", branch)

    def status(self) -> str:
        """As he would see it, but for our own state in .ddx."""
        shown = ("--untracked-files=all", "--ignored", "--branch")
        lines = self.git("status", "--porcelain", *shown).splitlines()
        return "\n".join(line for line in lines if ".ddx/state/" not in line)

    def belongings(self) -> dict[str, bytes | str]:
        """Everything that an attempt must leave alone: refs, settings, hooks, stash, files."""
        folder = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        files = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()]
        kept = [path for path in files if not {".git", ".ddx"} & set(path.parts)]
        kept += [folder / "config", *(folder / "hooks").glob("*"), *(folder / "info").glob("*")]
        refs = self.git("for-each-ref").splitlines()
        return {
            "refs": "\n".join(ref for ref in refs if "refs/helix/" not in ref),
            "status": self.status(),
            "HEAD": self.git("rev-parse", "--symbolic-full-name", "HEAD"),
            **{str(path): path.read_bytes() for path in kept},
        }


def make_operator(root: Path, *, is_linked: bool = False) -> Operator:
    """A project with one commit; linked: a worktree of a bare repository."""
    first = root.with_name("first") if is_linked else root
    first.mkdir(parents=True)
    operator = Operator(first, Project(str(first)))
    operator.git("init", "--quiet", "--template=")
    (first / ".git/info").mkdir()
    operator.write(".ddx/beads.jsonl", '{"id":"app-1"}\n')
    operator.write(".ddx/.gitignore", "/state/\n")
    operator.commit({"a.txt": "a\n", "b.txt": "b\n", "docs/c.md": "c\n", ".gitignore": "*.log\n"})
    if not is_linked:
        return operator
    bare = root.with_name("app.git")
    operator.git("clone", "--quiet", "--bare", str(first), str(bare))
    operator.git("worktree", "add", "--quiet", str(root), "main", cwd=bare)
    (bare / "info").mkdir(exist_ok=True)
    return Operator(root, Project(str(root), "app"))


@dataclass
class Attempt:
    """An attempt that was made by hand instead of by an agent."""

    operator: Operator
    target: LandingTarget
    commit: str
    base: str
    message: str
    reserved: ReservedPaths = field(default_factory=ReservedPaths)
    proven: list[str] = field(default_factory=list)

    def land(
        self,
        *,
        proof: Check = PASSED,
        still_valid: Callable[[str], str | None] = lambda tip: None,
        clock: Clock | None = None,
        turn_patience_s: float = 60.0,
        is_proven: bool = True,
    ) -> LandingOutcome:
        def prove(commit: str) -> Proof:
            self.proven.append(commit)
            return Proof(commit, (proof,))

        candidate = LandingCandidate(
            commit=self.commit,
            base=self.base,
            message=self.message,
            reserved=self.reserved,
            prove=prove,
            still_valid=still_valid,
            is_proven=is_proven,
        )
        return land(
            self.operator.project,
            self.target,
            candidate,
            clock=clock or FakeClock(),
            turn_patience_s=turn_patience_s,
        )


@contextmanager
def workspace_of(
    operator: Operator, *, name: str = "attempt-1", from_rev: str = ""
) -> Iterator[Workspace]:
    """A workspace beside the checkout, whose removal must succeed."""
    record = operator.root.parent / f"record-{name}"
    record.mkdir(exist_ok=True)
    said: list[str] = []
    with Workspace(
        operator.project,
        fix_target(operator.project, from_rev),
        str(operator.root.parent / "workspaces" / name),
        attempt=name,
        index=str(record / "index"),
        say=said.append,
    ) as workspace:
        yield workspace
    assert said == []


def snapshot(workspace: Workspace, *named: str) -> FilesSnapshot:
    record = Path(workspace.work.index).parent
    may_land = reserve(workspace.work.repository.prefix, named).may_land
    return make_tree(workspace.work, may_land=may_land, aside=str(record / "aside"))


def attempt_on(
    operator: Operator, files: Mapping[str, str | None], *, name: str = "attempt-1"
) -> Attempt:
    """The commit of an agent that wrote these files, and removed those that are None."""
    target = fix_target(operator.project)
    with workspace_of(operator, name=name) as workspace:
        for path, text in files.items():
            file = Path(workspace.path, path)
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        made = snapshot(workspace)
        message = message_for("Do it", ["app-1"], attempt=name, harness="script")
        commit = commit_tree(target.repository, made.tree, [target.base], message)
    return Attempt(operator, target, commit, target.base, message)

"""The git of the simulation answers as the real one does: the same calls, the same answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.git_fake import FakeGit, UnknownCommand
from tests.simulation.programs import Programs

from ddx.git import branches as landing
from ddx.git import checkouts as mending
from ddx.git import commands as git
from ddx.git import commits
from ddx.git import commits as clones
from ddx.git import history as diffs
from ddx.git import history as trees
from ddx.git.commits import AttemptFiles
from ddx.git.repository import read_head, read_repository
from ddx.testing import make_repo, played_by

NOON = "1767355200 +0000"


class Shop:
    """A repository of one kind, and what its calls answered."""

    def __init__(self, folder: Path) -> None:
        self.root = os.path.realpath(folder / "shop")
        self.folder = folder
        self.answers: list[Any] = []
        make_repo(self.root)
        self.repository = read_repository(self.root)

    def write(self, path: str, text: str, *, in_folder: str = "") -> None:
        place = Path(in_folder or self.root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def commit(self, path: str, text: str) -> str:
        self.write(path, text)
        return git.commit_only(self.root, [path], message=f"write {path}")

    def tell(self, *answers: Any) -> None:
        """Without the places that no two repositories share."""
        for answer in answers:
            self.answers.append(str(answer).replace(str(self.folder), "HERE"))

    def work(self, name: str, base: str) -> AttemptFiles:
        folder = self.folder / name
        folder.mkdir()
        work = AttemptFiles(
            self.repository, str(folder), str(self.folder / f"{name}.index"), base=base
        )
        commits.check_out(work, base)
        return work

    def attempt(self, name: str, base: str, **files: str | None) -> str:
        """The commit that an agent's files become."""
        work = self.work(name, base)
        for path, text in files.items():
            if text is None:
                os.unlink(Path(work.folder, path))
            else:
                self.write(path, text, in_folder=work.folder)
        made = commits.make_tree(
            work, may_land=lambda path: path != "secret", aside=f"{name}.aside"
        )
        self.tell(made)
        message = commits.message_for(name, ["app-1"], attempt=name, harness="script")
        commit = commits.commit_tree(self.repository, made.tree, (base,), message)
        self.tell(commit, diffs.diffstat(self.repository, base, commit))
        return commit

    @contextmanager
    def turn(self) -> Iterator[int]:
        with open(self.folder / "turn", "w") as file:
            yield file.fileno()

    def checkout(self) -> dict[str, str]:
        """What lies in the operator's checkout."""
        found = {}
        for place in sorted(Path(self.root).rglob("*")):
            if place.is_file() and ".git" not in place.relative_to(self.root).parts:
                found[str(place.relative_to(self.root))] = place.read_text()
        return found


def names(shop: Shop) -> None:
    first = shop.commit("a.txt", "one\n")
    second = shop.commit("docs/b.md", "# B\n")
    for folder in (shop.root, f"{shop.root}/docs"):
        head = read_head(folder)
        where = head.repository
        shop.tell(head.branch, head.commit, where.checkout, where.prefix)
        shop.tell(where.git_folder, where.common_folder)
    shop.tell(git.commit_id(shop.root, "HEAD"), git.commit_id(shop.root, "nothing"))
    shop.tell(git.commit_id(shop.root, first[:10]), git.commit_id(shop.root, "main"))
    shop.tell(diffs.parent_of(shop.root, second), diffs.empty_tree(shop.root))
    shop.tell(git.user_name(shop.root), git.get_config(shop.root, "user.email"))
    git.set_config(shop.root, "helix.test", "yes")
    shop.tell(git.get_config(shop.root, "helix.test"), git.get_config(shop.root, "helix.none"))
    shop.tell(git.file_at(shop.root, first, "a.txt"), git.file_at(shop.root, first, "docs/b.md"))
    shop.tell(trees.tree_id(shop.root, second, "docs"), trees.tree_id(shop.root, first, "docs"))
    shop.tell(trees.entries(shop.root, second, ["docs", "a.txt"]))
    shop.tell(trees.entries(f"{shop.root}/docs", second, ["."]))
    shop.tell(trees.content(f"{shop.root}/docs", second, "b.md"))
    shop.tell(trees.differing(shop.root, first, second, ["."]))
    shop.tell(trees.differing(f"{shop.root}/docs", first, second, ["."]))
    shop.tell(shop.repository.paths_between(first, second))
    shop.tell(diffs.diff_between(shop.root, first, second, paths=["docs/b.md"], most=10_000))


def refs(shop: Shop) -> None:
    one, two = shop.commit("a", "1\n"), shop.commit("a", "2\n")
    landing.pin(shop.root, "20260102T030405-ab", one)
    shop.tell(landing.keep(shop.root, "app-1", "20260102T030405-ab", one))
    shop.tell(landing.keep(shop.root, "app 2/x", "20260102T030405-cd", two))
    shop.tell(landing.kept(shop.root), landing.tip_of(shop.repository, "refs/heads/main"))
    landing.drop(shop.root, landing.kept(shop.root)[0])
    landing.unpin(shop.root, "20260102T030405-ab")
    landing.unpin(shop.root, "20260102T030405-ab")
    shop.tell(landing.kept(shop.root), landing.tip_of(shop.repository, "refs/heads/none"))
    shop.tell(diffs.is_ancestor(shop.repository, one, two))
    shop.tell(diffs.is_ancestor(shop.repository, two, one))
    with shop.turn() as turn:
        for expected in (two, one):
            shop.tell(
                landing.move_branch(
                    shop.repository, "refs/heads/aside", one, expected=expected, holding=turn
                )
            )


def looks(shop: Shop) -> None:
    first = shop.commit("docs/a.md", "# A\n")
    shop.commit("b.txt", "b\n")
    Path(shop.root, ".git/info/exclude").write_text("/.ddx/\n.helix/\n*.log\n")
    shop.write("new.txt", "new\n")
    shop.write("docs/deep/new.md", "new\n")
    shop.write("x.log", "ignored\n")
    shop.write(".ddx/state", "ours\n")
    shop.write("docs/.helix/state", "ours\n")
    shop.write("b.txt", "edited\n")
    os.unlink(Path(shop.root, "docs/a.md"))
    shop.tell(git.uncommitted(shop.root), git.visible_files(shop.root))
    shop.tell(git.changed_paths(shop.root, ["docs"]), git.changed_since(shop.root, first))
    shop.tell(git.changed_since(f"{shop.root}/docs", first))
    asked = ["x.log", "b.txt", ".ddx/state", "docs/.helix/state", "docs/a.log"]
    shop.tell(sorted(git.ignored(shop.root, asked)), git.is_unmerged(shop.root, "b.txt"))


def attempts(shop: Shop) -> None:
    base = shop.commit("a.txt", "one\ntwo\n")
    base = shop.commit("secret", "s\n")
    made = shop.attempt("first", base, **{"a.txt": "one\n2\n", "work/x": "x\n", "secret": "t\n"})
    shop.tell(diffs.changes_between(shop.repository, base, made))
    work = shop.work("second", made)
    shop.write(".gitignore", "out\n", in_folder=work.folder)
    shop.write("out/file", "built\n", in_folder=work.folder)
    shop.write("kept", "kept\n", in_folder=work.folder)
    shop.tell(sorted(commits.listed_in(work)), sorted(commits.new_files(work)))
    commits.check_out(work, base)
    shop.tell(sorted(os.listdir(work.folder)))
    clones.make_clone(
        shop.repository, work.folder, base=base, branch="refs/heads/main", owner=shop.root
    )
    shop.attempt("third", base, **{"a.txt": None, "run.sh": "#!/bin/sh\n"})
    landing.pin(shop.root, "first", made)


def merges(shop: Shop) -> None:
    lines = "".join(f"{n}\n" for n in range(12))
    base = shop.commit("a.txt", lines)
    one = shop.attempt("one", base, **{"a.txt": lines.replace("2\n", "two\n", 1)})
    far = shop.attempt("far", base, **{"a.txt": lines.replace("9\n", "nine\n"), "n": "n\n"})
    near = shop.attempt("near", base, **{"a.txt": lines.replace("2\n", "zwei\n", 1)})
    beside = shop.attempt("beside", base, **{"a.txt": lines.replace("3\n", "drei\n", 1)})
    gone = shop.attempt("gone", base, **{"a.txt": None, "k": "k\n"})
    for other in (far, near, beside, gone, one):
        shop.tell(landing.merge_trees(shop.repository, one, other))
        shop.tell(landing.merge_base(shop.repository, one, other))
    both = commits.commit_tree(
        shop.repository,
        str(landing.merge_trees(shop.repository, one, far)),
        (one, far),
        "Merge both\n",
    )
    shop.tell(both, landing.merge_base(shop.repository, both, far))


def landings(shop: Shop) -> None:
    base = shop.commit("a.txt", "one\n")
    shop.commit("b.txt", "one\n")
    base = shop.commit("c.txt", "one\n")
    one = shop.attempt("one", base, **{"a.txt": "two\n", "new/x": "x\n"})
    two = shop.attempt("two", one, **{"b.txt": None, "c.txt": "three\n"})
    aside = shop.attempt("aside", base, z="z\n")
    (worktree,) = landing.worktrees(shop.repository)
    shop.tell(worktree, landing.operation_in(worktree))
    shop.tell(landing.landing_locks(shop.repository, worktree, "refs/heads/main"))
    shop.write("c.txt", "mine\n")
    with shop.turn() as turn:

        def forward(commit: str) -> None:
            done = landing.fast_forward(worktree, "refs/heads/main", commit, holding=turn)
            shop.tell(done.ok, landing.tip_of(shop.repository, "refs/heads/main"))
            shop.tell([line for line in done.complaint.splitlines() if line.startswith("\t")])
            shop.tell(shop.checkout(), git.uncommitted(shop.root))

        forward(one)
        forward(two)
        shop.tell(mending.in_the_way(shop.repository, worktree, old=one, new=two))
        git.run(shop.root, "restore", f"--source={one}", "--staged", "--worktree", "--no-overlay",
                "--pathspec-from-file=-", "--pathspec-file-nul", stdin=b"c.txt")  # fmt: skip
        forward(aside)
        forward(two)
        forward(two)
        three = shop.attempt("three", two, **{"new/y": "y\n"})
        shop.write("new/y", "in the way\n")
        forward(three)
        shop.tell(mending.in_the_way(shop.repository, worktree, old=two, new=three))


def mendings(shop: Shop) -> None:
    base = shop.commit("a.txt", "one\n")
    base = shop.commit("b.txt", "one\n")
    new = shop.attempt("one", base, **{"a.txt": "long text\n", "b.txt": None, "d/c": "c\n"})
    (worktree,) = landing.worktrees(shop.repository)
    since_ns = os.stat(Path(shop.root, "a.txt")).st_ctime_ns
    shop.write("a.txt", "long")  # cut short
    os.unlink(Path(shop.root, "b.txt"))
    shop.write("d/c", "c\n")
    shop.write("mine", "mine\n")
    shop.tell(mending.mend(shop.repository, worktree, old=base, new=new, since_ns=since_ns))
    shop.tell(shop.checkout(), git.uncommitted(shop.root))


STORIES = (names, refs, looks, attempts, merges, landings, mendings)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_fake_answers_as_git_does(
    story: Callable[[Shop], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", NOON)
    heard = []
    for kind, playing in (("real", nullcontext()), ("fake", played_by(Programs(fake())))):
        folder = tmp_path / kind
        folder.mkdir()
        with playing:
            shop = Shop(folder)
            story(shop)
        heard.append(shop.answers)
    real, played = heard
    assert played == real


def fake() -> FakeGit:
    return FakeGit(lambda: 1767355200)


def test_a_command_that_nobody_taught_it_is_an_error(tmp_path: Path) -> None:
    with played_by(Programs(fake())):
        root = make_repo(tmp_path).root
        for words in (("bisect", "start"), ("status", "--short"), ("rev-parse", "--is-bare")):
            with pytest.raises(UnknownCommand):
                git.run(root, *words)

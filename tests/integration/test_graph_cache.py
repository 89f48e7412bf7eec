"""The graph is always that of the files as they are now, and only changed files are read (G-9)."""

# @requirement TC-204

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.documents import AT, SEED, edges_of

from ddx.documents.cache import load_graph
from ddx.documents.graph import DETAILS, LINKS, NODES, Graph
from ddx.git import commands as git
from ddx.project.project import Project
from ddx.testing import FakeClock, make_repo

ROOTS = ("docs/helix",)
TD = "docs/helix/02-design/technical-designs/TD-001-first-design.md"


class Reads:
    """Which files below a folder are opened, by the interpreter's own account."""

    def __init__(self) -> None:
        self.root = ""
        self.paths: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if not self.root or event != "open" or not isinstance(args[0], str):
            return
        if args[0].startswith(f"{self.root}/") and "/.ddx/" not in args[0]:
            self.paths.append(os.path.relpath(args[0], self.root))

    def of(self, root: str) -> set[str]:
        """What was read since the last time one asked."""
        found = set(self.paths)
        self.paths, self.root = [], root
        return found


READS = Reads()


class Tree:
    """A project with documents; its clock is far enough ahead that every file has settled."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root = Path(project.root)
        self.clock = FakeClock(datetime.now(UTC) + timedelta(hours=1))

    def load(self) -> Graph:
        return load_graph(self.project, ROOTS, clock=self.clock)

    def reads(self) -> set[str]:
        """The files that the next load reads."""
        READS.of(self.project.root)
        self.load()
        return READS.of("") - {"."}

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def git(self, *words: str) -> None:
        done = git.run(self.project.root, *words)
        assert done.ok, done.complaint

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "change")

    @property
    def cache(self) -> Path:
        return Path(self.project.ddx("cache", "graph.idx"))


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(make_repo(tmp_path / "app"))
    for path, text in SEED.items():
        made.write(path, text)
    made.write(".gitignore", "/build/\n")
    made.commit()
    made.load()
    made.load()  # the first load made a folder of its own
    yield made
    READS.of("")


def facts(graph: Graph) -> dict[str, object]:
    return {name: getattr(graph, name) for name in (*NODES, *LINKS, *DETAILS)}


def cold(tree: Tree) -> Graph:
    """The graph as it is without any cache."""
    tree.cache.unlink(missing_ok=True)
    return tree.load()


# Warm is cold


def test_a_warm_load_gives_the_same_graph_and_reads_no_file(tree: Tree):
    warm = facts(tree.load())
    assert tree.reads() == set()
    assert warm == facts(cold(tree))
    assert warm == facts(tree.load())


def test_a_cold_load_reads_each_file_once(tree: Tree):
    tree.cache.unlink()
    READS.of(tree.project.root)
    tree.load()
    read = [path for path in READS.paths if path != "."]
    assert sorted(read) == sorted(SEED)


def python(script: str) -> list[str]:
    """The words that run a script with our sources and nothing else."""
    source = Path(load_graph.__code__.co_filename).parents[2]
    head = (
        f"import sys; sys.path[:0] = [{str(source)!r}]\n"
        "from ddx.base.clock import Clock\n"
        "from ddx.documents.cache import load_graph\n"
        "from ddx.project.project import Project\n"
    )
    return [sys.executable, "-I", "-S", "-c", head + script]


def test_a_warm_load_imports_neither_the_reader_nor_anything_heavy(tree: Tree):
    script = (
        "from ddx.documents import reviews\n"
        f"graph = load_graph(Project({tree.project.root!r}), {ROOTS!r}, clock=Clock())\n"
        "graph.findings(), graph.require('td-001')\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(python(script), capture_output=True, text=True, check=True)
    heavy = {"re", "json", "typing", "dataclasses", "subprocess", "enum", "yaml", "sqlite3"}
    ours = {f"ddx.documents.{name}" for name in ("parser", "scan", "assembly", "page", "terms")}
    assert set(done.stdout.split()).isdisjoint(heavy | ours)


# Every change is seen, and only what changed is read


def test_a_changed_file_is_read_and_no_other(tree: Tree):
    tree.write(TD, "# Another title\n\n[[US-002]]\n")
    assert tree.reads() == {TD}
    graph = tree.load()
    assert graph.titles[graph.require("TD-001")] == "Another title"
    assert facts(graph) == facts(cold(tree))


def test_a_change_that_keeps_size_and_time_is_seen(tree: Tree):
    before = (tree.root / TD).stat()
    tree.write(TD, SEED[TD].replace("Design", "Dezign"))
    os.utime(tree.root / TD, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (tree.root / TD).stat().st_size == before.st_size
    graph = tree.load()
    assert graph.titles[graph.require("TD-001")] == "Dezign"


def test_a_file_replaced_by_another_is_seen(tree: Tree):
    tree.write("new", SEED[TD].replace("Design", "Dezign"))
    os.replace(tree.root / "new", tree.root / TD)
    graph = tree.load()
    assert graph.titles[graph.require("TD-001")] == "Dezign"


def test_a_file_that_changed_just_before_it_was_read_is_read_again(tree: Tree):
    tree.clock = FakeClock(datetime.now(UTC))
    tree.write(TD, "# One\n")
    tree.load()
    assert TD in tree.reads()
    tree.clock.advance(3600)
    tree.load()
    assert tree.reads() == set()


@pytest.mark.parametrize(
    "path",
    [
        "docs/helix/US-003.md",
        "docs/helix/01-frame/user-stories/US-003.md",
        "docs/helix/new/folders/in/a/row/US-003.md",
    ],
)
def test_an_added_document_is_seen_and_alone_read(tree: Tree, path: str):
    tree.write(path, "# Third\n")
    assert tree.reads() == {path}
    assert "US-003" in tree.load().ids


@pytest.mark.parametrize(
    "folder", ["docs/helix/empty", "docs/helix/empty/more/and/more", "lib/a/b"]
)
def test_a_file_added_to_a_folder_that_was_empty_is_seen(tree: Tree, folder: str):
    (tree.root / folder).mkdir(parents=True)
    tree.load()
    tree.load()
    name = "US-003.md" if folder.startswith("docs") else "x.py"
    tree.write(f"{folder}/{name}", f"# {AT}spec-ref US-001\n")
    assert tree.reads() == {f"{folder}/{name}"}
    graph = tree.load()
    assert graph.find("US-003" if name.endswith("md") else f"{folder}/{name}") is not None


def test_code_added_beside_files_that_are_not_scanned_is_seen(tree: Tree):
    tree.write("assets/img/logo.svg", "<svg/>")
    tree.load()
    tree.load()
    tree.write("assets/img/draw.js", f"// {AT}spec-ref US-001\n")
    assert tree.reads() == {"assets/img/draw.js"}
    assert "assets/img/draw.js" in tree.load().ids


def test_a_deleted_document_is_gone_whether_git_knows_it_or_not(tree: Tree):
    (tree.root / TD).unlink()
    assert tree.reads() == set()
    graph = tree.load()
    assert "TD-001" not in graph.ids
    assert {item.kind for item in graph.findings()} == {"gap"}
    tree.write(TD, SEED[TD])
    assert tree.load().findings() == ()


def test_a_deleted_folder_takes_its_documents_along(tree: Tree):
    shutil.rmtree(tree.root / "docs/helix/02-design")
    assert set(tree.load().ids) >= {"prd", "US-001"}
    assert "SD-001" not in tree.load().ids


def test_a_renamed_document_is_read_under_its_new_name(tree: Tree):
    new = TD.replace("TD-001", "TD-007")
    os.rename(tree.root / TD, tree.root / new)
    assert tree.reads() == {new}
    assert "TD-007" in tree.load().ids
    assert "TD-001" not in tree.load().ids


def test_a_renamed_folder_is_seen(tree: Tree):
    os.rename(tree.root / "docs/helix/02-design", tree.root / "docs/helix/02-drafts")
    graph = tree.load()
    assert graph.paths[graph.require("TD-001")] == TD.replace("02-design", "02-drafts")


def test_editing_what_git_ignores_is_seen(tree: Tree):
    tree.write("docs/helix/drafts/US-009.md", "# Draft\n")
    assert "US-009" in tree.load().ids
    tree.write(".gitignore", "drafts/\n")
    assert "US-009" not in tree.load().ids
    tree.write("docs/helix/drafts/US-010.md", "# Draft\n")
    assert tree.reads() == set()
    tree.write(".git/info/exclude", "US-001*\n")
    tree.git("rm", "--cached", "--quiet", "docs/helix/01-frame/user-stories/US-001-first-story.md")
    assert "US-001" not in tree.load().ids
    tree.write(".gitignore", "")
    assert tree.reads() == {"docs/helix/drafts/US-009.md", "docs/helix/drafts/US-010.md"}


def test_switching_branches_is_seen(tree: Tree):
    tree.git("checkout", "--quiet", "-b", "other")
    tree.write(TD, "# On the other branch\n")
    tree.write("docs/helix/US-003.md", "# Third\n")
    tree.commit()
    other = facts(tree.load())
    tree.git("checkout", "--quiet", "main")
    assert tree.reads() == {TD}
    main = facts(tree.load())
    assert "US-003" not in main["ids"]
    tree.git("checkout", "--quiet", "other")
    assert tree.reads() == {TD, "docs/helix/US-003.md"}
    assert facts(tree.load()) == other != main


def test_other_roots_make_another_graph(tree: Tree):
    tree.write("handbook/US-050.md", "# Elsewhere\n")
    several = load_graph(tree.project, ["docs/helix/", "./handbook"], clock=tree.clock)
    assert {"prd", "US-050"} <= set(several.ids)
    whole = load_graph(tree.project, ["."], clock=tree.clock)
    assert {"prd", "US-050", "tests/list.test.js"} <= set(whole.ids)
    assert "US-050" not in tree.load().ids


# What is not part of it


def test_ignored_files_and_our_own_are_left_out(tree: Tree):
    tree.write("build/docs/helix/US-003.md", "# Built\n")
    tree.write("build/x.py", f"# {AT}spec-ref US-001\n")
    tree.write(".ddx/notes/x.py", f"# {AT}spec-ref US-001\n")
    graph = load_graph(tree.project, ["."], clock=tree.clock)
    assert set(graph.ids) == set(facts(tree.load())["ids"])


def test_files_that_come_and_go_in_ignored_folders_make_no_work(tree: Tree):
    (tree.root / "build").mkdir()
    tree.load()
    tree.load()
    before = tree.cache.stat().st_mtime_ns
    tree.write("build/x.o", "x")
    tree.load()
    assert tree.cache.stat().st_mtime_ns == before


def test_a_repository_inside_is_not_part_of_it(tree: Tree):
    make_repo(tree.root / "vendor/lib")
    tree.write("vendor/lib/docs/x.py", f"# {AT}spec-ref US-001\n")
    assert "vendor/lib/docs/x.py" not in tree.load().ids


def test_git_does_not_see_the_cache(tree: Tree):
    assert tree.cache.exists()
    assert git.changed_paths(tree.project.root, ["."]) == ()


# The cache may be anything


def stamped_by_another_folder(tree: Tree) -> None:
    copy = tree.cache.parent.with_name("other")
    shutil.copytree(tree.cache.parent, copy)
    shutil.rmtree(tree.cache.parent)
    os.rename(copy, tree.cache.parent)


def cut(tree: Tree, size: int) -> None:
    os.truncate(tree.cache, size)


def flip(tree: Tree, place: int) -> None:
    content = bytearray(tree.cache.read_bytes())
    content[place] ^= 0xFF
    tree.cache.write_bytes(content)


def as_folder(tree: Tree) -> None:
    tree.cache.unlink()
    tree.cache.mkdir()


HARM = {
    "deleted": lambda tree: tree.cache.unlink(),
    "folder deleted": lambda tree: shutil.rmtree(tree.cache.parent),
    "empty": lambda tree: cut(tree, 0),
    "head only": lambda tree: cut(tree, 60),
    "half": lambda tree: cut(tree, tree.cache.stat().st_size // 2),
    "last byte lost": lambda tree: cut(tree, tree.cache.stat().st_size - 1),
    "garbage": lambda tree: tree.cache.write_bytes(os.urandom(5_000)),
    "a flipped byte in the middle": lambda tree: flip(tree, tree.cache.stat().st_size // 2),
    "a flipped byte at the end": lambda tree: flip(tree, -1),
    "a flipped byte in the head": lambda tree: flip(tree, 30),
    "another folder's": stamped_by_another_folder,
    "a folder": as_folder,
}


@pytest.mark.parametrize("harm", HARM)
def test_whatever_happens_to_the_cache_the_answer_is_right(tree: Tree, harm: str):
    wanted = facts(tree.load())
    HARM[harm](tree)
    assert facts(tree.load()) == wanted
    if harm != "a folder":
        tree.load()
        assert tree.reads() == set()


def test_bytes_from_another_folder_are_not_unpacked(tree: Tree, tmp_path: Path):
    other = Tree(make_repo(tmp_path / "other"))
    for path, text in SEED.items():
        other.write(path, text)
    other.cache.parent.mkdir(parents=True)
    shutil.copy(tree.cache, other.cache)
    assert other.reads() == set(SEED)


# Around it


def test_several_processes_at_once_all_answer_and_leave_a_sound_cache(tree: Tree):
    wanted = str(sorted(edges_of(tree.load())))
    script = (
        "from pathlib import Path\n"
        "for _ in range(15):\n"
        f"    Path({str(tree.cache)!r}).unlink(missing_ok=True)\n"
        f"    graph = load_graph(Project({tree.project.root!r}), {ROOTS!r}, clock=Clock())\n"
        "    print(sorted((edge.up, edge.down) for edge in graph.edges()))\n"
    )
    workers = [
        subprocess.Popen(python(script), stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for worker in workers:
        out, _ = worker.communicate(timeout=120)
        assert worker.returncode == 0
        assert set(out.splitlines()) == {wanted}
    tree.load()
    tree.load()
    assert tree.reads() == set()
    assert list(tree.cache.parent.glob("*.tmp-*")) == []


def test_without_git_every_file_counts(tmp_path: Path):
    tree = Tree(Project(str(tmp_path)))
    for path, text in SEED.items():
        tree.write(path, text)
    tree.write("node_modules/x.py", f"# {AT}spec-ref US-001\n")
    tree.load()
    tree.load()
    assert set(tree.load().paths) == set(SEED)
    assert tree.reads() == set()
    tree.write("docs/helix/more/US-003.md", "# Third\n")
    assert tree.reads() == {"docs/helix/more/US-003.md"}
    assert set(tree.load().paths) == {*SEED, "docs/helix/more/US-003.md"}


def test_a_project_in_a_folder_of_a_repository_has_its_own_graph(tree: Tree):
    below = Tree(Project(str(tree.root / "apps/shop")))
    below.write("docs/helix/US-077.md", "# Below\n")
    assert below.load().paths == ["docs/helix/US-077.md"]


def put_in_the_way(folder: Path) -> None:
    folder.write_text("no folder can be made here")


def closed(folder: Path) -> None:
    folder.parent.chmod(0o555)
    if os.access(folder.parent, os.W_OK):
        pytest.skip("nothing is closed to this user")


@pytest.mark.parametrize("close", [put_in_the_way, closed])
def test_a_repository_that_cannot_be_written_is_read(tree: Tree, close):
    wanted = facts(tree.load())
    shutil.rmtree(tree.cache.parent)
    close(tree.cache.parent)
    assert facts(tree.load()) == wanted
    tree.write(TD, "# Another title\n")
    assert facts(tree.load()) != wanted


def test_a_project_without_documents_is_an_empty_graph(tmp_path: Path):
    project = make_repo(tmp_path / "bare")
    tree = Tree(project)
    assert len(tree.load()) == 0
    tree.load()
    tree.write("docs/helix/prd.md", "# First\n")
    assert tree.load().ids == ["prd"]


def test_names_that_are_no_utf_8_are_indexed(tree: Tree):
    path = os.fsencode(tree.root / "docs/helix") + b"/US-003-\xff.md"
    with open(path, "wb") as file:
        file.write(b"# Odd\n")
    graph = tree.load()
    assert graph.titles[graph.require("US-003")] == "Odd"
    assert facts(tree.load()) == facts(graph)

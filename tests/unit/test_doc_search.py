"""Full-text search over documents: ranking, one file at a time, and nothing that can break it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.documents import AT

from ddx.base.clock import Clock
from ddx.base.errors import NotFound
from ddx.cli.doc.search import run as search_command
from ddx.documents.cache import load_graph
from ddx.documents.full_text import MOST_TERMS, SearchResult, search
from ddx.documents.graph import Graph
from ddx.documents.impact_start import starts_from_diff, starts_from_text
from ddx.documents.terms import CLOSE, OPEN, Excerpt, best_line, shortened, terms_of, words_of
from ddx.project.project import Project
from ddx.testing import make_repo

REPOSITORY = Path(__file__).parents[2]
SCHEMA = REPOSITORY / "docs/reference/schemas/doc-search.json"
ROOTS = ["docs/helix"]

CORPUS = {
    "01-frame/prd.md": "# Product requirements\n\nPeople sign in and pay. [[FEAT-001]]\n",
    "01-frame/features/FEAT-001-login.md": (
        "---\nddx:\n  id: FEAT-001\n  depends_on: [prd]\n---\n"
        "# Login throttling\n\n## Limits\n\nFive failed attempts lock the account for a while.\n"
    ),
    "01-frame/features/FEAT-002-export.md": (
        "# Export of invoices\n\n## Throttling of large exports\n\nOne export at a time.\n"
    ),
    "01-frame/user-stories/US-001-wait.md": (
        "# A clerk waits\n\nThe clerk reads why.\n\nThe page says that it throttles her.\n"
    ),
    "02-design/adr/ADR-001-queue.md": "# A queue\n\nInvoices go through a queue, in order.\n",
    "02-design/technical-designs/TD-001-lock.md": (
        "---\nddx:\n  id: TD-001\n  depends_on: [FEAT-001]\n---\n# Lock table\n\nOne row a lock.\n"
    ),
}


class Tree:
    """A project with documents that can be changed, and its search."""

    def __init__(self, folder: Path, corpus: dict[str, str]) -> None:
        self.project = Project(os.path.realpath(folder))
        self.folder = folder / "docs/helix"
        self.index = folder / ".ddx/cache/search.db"
        for path, text in corpus.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))

    def graph(self) -> Graph:
        return load_graph(self.project, ROOTS, clock=Clock())

    def search(self, text: str, **options: object) -> SearchResult:
        return search(self.project, self.graph(), words_of(text), clock=Clock(), **options)

    def ids(self, text: str) -> list[str]:
        graph = self.graph()
        return [graph.ids[hit.n] for hit in self.search(text).hits]


@pytest.fixture
def tree(tmp_path) -> Tree:
    return Tree(tmp_path, CORPUS)


@pytest.fixture(scope="module")
def still_tree(tmp_path_factory) -> Tree:
    return Tree(tmp_path_factory.mktemp("corpus"), CORPUS)


# -- what is found -------------------------------------------------------------------------


def test_a_title_beats_a_heading_and_a_heading_beats_the_text(tree):
    assert tree.ids("throttling") == ["FEAT-001", "FEAT-002", "US-001"]


@pytest.mark.parametrize("word", ["invoice", "Invoices", "INVOICING", "invoiced"])
def test_every_form_of_a_word_finds_it(tree, word):
    assert set(tree.ids(word)) == {"FEAT-002", "ADR-001"}


def test_what_holds_all_the_words_comes_before_what_holds_one_of_them(tree):
    assert tree.ids("invoices queue")[0] == "ADR-001"
    assert tree.search("invoices queue").hits[0].terms == ("invoices", "queue")


def test_an_id_finds_its_own_document_first_and_then_who_names_it_in_the_text(tree):
    assert tree.ids("FEAT-001") == ["FEAT-001", "prd"]


def test_accents_do_not_matter(tree):
    tree.write("01-frame/features/FEAT-003-cafe.md", "# Cafés\n\nnai\u0308ve readers\n")
    assert tree.ids("cafe naive") == tree.ids("CAFÉ naïve") == ["FEAT-003"]


def test_the_excerpt_is_the_best_line_with_its_number_in_the_file(tree):
    hit = tree.search("locked accounts after attempts").hits[0]
    assert hit.excerpt == Excerpt(
        10, "Five failed attempts lock the account for a while.", ((12, 20), (21, 25), (30, 37))
    )


def test_a_line_number_stays_right_when_only_the_review_in_the_front_matter_grew(tree):  # G-8
    tree.search("attempts")
    path = "01-frame/features/FEAT-001-login.md"
    reviewed = CORPUS[path].replace("[prd]\n", "[prd]\n  review:\n    deps:\n      prd: x\n")
    tree.write(path, reviewed)
    found = tree.search("attempts")
    assert (found.hits[0].excerpt.line, found.reindexed) == (13, 0)


def test_the_number_of_hits_is_bounded_and_the_total_is_told(tree):
    found = tree.search("throttling", limit=1)
    assert (len(found.hits), found.total) == (1, 3)
    assert tree.search("throttling", limit=0).hits == ()


def test_nothing_found_is_an_answer(tree):
    found = tree.search("elephants")
    assert (found.hits, found.total, found.terms) == ((), 0, ("elephants",))


def test_front_matter_is_no_text_and_tests_are_no_documents(tree):
    (tree.folder.parent.parent / "test_login.py").write_text(f"# {AT}spec-ref FEAT-001 attempts\n")
    assert tree.ids("depends_on") == []
    assert tree.ids("attempts") == ["FEAT-001"]


# -- one file at a time --------------------------------------------------------------------


def test_a_changed_file_is_the_only_one_read_again(tree):  # G-9
    assert tree.search("queue").reindexed == len(CORPUS)
    assert tree.search("queue").reindexed == 0
    tree.write("02-design/adr/ADR-001-queue.md", "# A table\n\nOrders go through a table.\n")
    assert tree.search("queue").reindexed == 1
    assert tree.ids("queue") == []
    assert set(tree.ids("table")) == {"ADR-001", "TD-001"}


def test_a_removed_file_is_forgotten_and_a_moved_one_is_read_at_its_new_place(tree):
    tree.search("queue")
    (tree.folder / "02-design/adr/ADR-001-queue.md").unlink()
    assert (tree.ids("queue"), tree.search("queue").reindexed) == ([], 0)
    old = tree.folder / "01-frame/user-stories/US-001-wait.md"
    old.rename(old.with_name("US-001-clerk.md"))
    found = tree.search("clerk")
    assert found.reindexed == 1
    assert tree.graph().paths[found.hits[0].n].endswith("US-001-clerk.md")


NAMES = st.sampled_from(["FEAT-001", "FEAT-002", "US-001", "TD-001"])
TEXTS = st.lists(st.sampled_from(["lock", "queue", "# Lock", "## Queues", ""]), max_size=5)
CHANGES = st.lists(st.tuples(NAMES, st.none() | TEXTS.map("\n".join)), max_size=8)


@settings(max_examples=25, deadline=None)
@given(CHANGES)
def test_an_index_that_was_patched_answers_like_one_that_was_made_anew(tmp_path_factory, changes):
    tree = Tree(tmp_path_factory.mktemp("patched"), {"prd.md": "# Lock\n"})
    for name, text in changes:
        if text is None:
            (tree.folder / f"{name}.md").unlink(missing_ok=True)
        else:
            tree.write(f"{name}.md", text)
        patched = tree.search("lock queue")
    patched = tree.search("lock queue")
    tree.index.unlink()
    assert tree.search("lock queue").hits == patched.hits


# -- hostile questions and documents -------------------------------------------------------


HOSTILE = [
    '"',
    '""" OR',
    "title:login",
    "login AND NOT throttling",
    "NEAR(login throttling, 5)",
    "{title body} : ^login*",
    "login\0throttling",
    "\udcff\ud800",
    "'; DROP TABLE words; --",
    "-- * ( ) + - : ^",
    "",
    "word " * 20_000,
    "x" * 100_000,
    " ".join(f"word{n}" for n in range(20_000)),
    "a-" * 50_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_question_is_more_than_plain_words(still_tree, text):
    still_tree.search(text)


def test_operators_are_words_like_any_other(still_tree):
    assert still_tree.ids('"throttling" NOT queue*') == still_tree.ids("throttling not queue")
    assert {"FEAT-001", "ADR-001"} <= set(still_tree.ids("throttling NOT queue"))
    assert still_tree.ids("login\0throttling")[0] == "FEAT-001"


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=60) | st.text("login*\"'()+:^-{} ANDORT\0\n", max_size=40))
@example("ⅷ ½ ² ߁ 𝟘")
def test_any_text_can_be_asked_for(still_tree, text):
    found = still_tree.search(text)
    assert len(found.terms) <= MOST_TERMS
    for hit in found.hits:
        assert 0 < hit.score <= 1
        assert hit.terms
        assert hit.excerpt.line >= 1
        spans = [place for mark in hit.excerpt.marks for place in mark]
        assert spans == sorted(spans)
        assert all(0 <= place <= len(hit.excerpt.text) for place in spans)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
@example(b"\xff\xfe login \0\x01\x02 login")
@example(b"---\nddx: [broken\n# login")
def test_any_bytes_can_be_a_document(tmp_path_factory, content):  # G-10
    tree = Tree(tmp_path_factory.mktemp("bytes"), {})
    tree.write("x.md", (b"# login\n" + content).decode("utf-8", "surrogateescape"))
    assert tree.search("login").total == 1


def test_a_file_name_may_be_of_any_bytes(tree):
    (tree.folder / os.fsdecode(b"caf\xe9.md")).write_text("# Menu\n\nsoup\n")
    assert len(tree.search("soup").hits) == 1


def test_much_text_is_looked_for_by_its_rarest_words(still_tree):
    common = " ".join(f"unknown{n}" for n in range(40))
    assert set(still_tree.search(f"{common} queue clerk").terms) == {"queue", "clerk"}


# -- the file can be lost, broken or someone else's ----------------------------------------


def broken_pages(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))


def broken_schema(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(3996) + whole[4096:])


def foreign_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE documents (number, path, hash)")
    connection.close()


DAMAGES = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"hello" * 1000),
    "cut short": lambda path: os.truncate(path, 9000),
    "broken pages": broken_pages,
    "broken schema": broken_schema,
    "foreign": foreign_database,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_or_foreign_index_is_replaced(tree, damage):
    whole = tree.search("throttling")
    damage(tree.index)
    again = tree.search("throttling")
    assert (again.hits, again.reindexed, again.note) == (whole.hits, len(CORPUS), "")
    assert tree.search("throttling").reindexed == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1))
def test_no_flipped_byte_can_stop_a_search(still_tree, flips):
    still_tree.search("throttling")
    whole = bytearray(still_tree.index.read_bytes())
    for place, byte in flips:
        whole[int(place * len(whole))] = byte
    still_tree.index.write_bytes(whole)
    try:
        still_tree.search("throttling queue")
    finally:
        still_tree.index.unlink()


def test_an_index_made_in_another_folder_does_not_count(tree, tmp_path_factory):
    """Bytes that came with a repository are never asked."""
    tree.search("queue")
    other = Tree(tmp_path_factory.mktemp("other"), CORPUS)
    other.index.parent.mkdir(parents=True)
    other.index.write_bytes(tree.index.read_bytes())
    assert other.search("queue").reindexed == len(CORPUS)


def test_a_link_in_its_place_is_replaced_and_its_target_left_alone(tree, tmp_path):
    tree.index.parent.mkdir(parents=True)
    (tmp_path / "precious").write_bytes(b"mine")
    tree.index.symlink_to(tmp_path / "precious")
    tree.search("queue")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert not tree.index.is_symlink()


@pytest.mark.parametrize("taken", ["search.db", "search.db.lock"])
def test_an_index_that_cannot_be_written_lives_in_memory_and_says_so(tree, taken):
    (tree.index.parent / taken).mkdir(parents=True)
    found = tree.search("throttling")
    assert len(found.hits) == 3
    assert "could not be kept" in found.note
    assert "search.db: Is a directory" in found.note


def test_what_a_killed_process_left_behind_is_swept_away(tree):
    tree.index.parent.mkdir(parents=True)
    leftover = tree.index.with_name("search.db.tmp-1-dead")
    leftover.write_bytes(b"half")
    tree.search("queue")
    assert not leftover.exists()


SEARCHER = """
import sys
from ddx.base.clock import Clock
from ddx.documents.cache import load_graph
from ddx.documents.full_text import search
from ddx.project.project import Project

project = Project(sys.argv[1])
sys.stdin.read(1)
graph = load_graph(project, ["docs/helix"], clock=Clock())
found = search(project, graph, ["throttling"], clock=Clock())
print([graph.ids[hit.n] for hit in found.hits], found.note)
"""


def test_processes_that_start_at_once_give_the_same_answer(tree):  # G-9
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SEARCHER, tree.project.root],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for child in children:
        child.stdin.write("x")
        child.stdin.flush()
    answers = {child.communicate(timeout=120)[0] for child in children}
    assert answers == {"['FEAT-001', 'FEAT-002', 'US-001'] \n"}
    assert tree.search("throttling").reindexed == 0
    assert sorted(path.name for path in tree.index.parent.glob("search*")) == [
        "search.db",
        "search.db.lock",
    ]


# -- words and lines -----------------------------------------------------------------------


def test_words_are_told_apart_once_and_stop_words_are_no_terms():
    assert words_of("Rate-limit, rate-LIMIT; don't (FEAT-001)!") == (
        "Rate-limit",
        "don't",
        "FEAT-001",
    )
    assert terms_of("the clerk and their queue") == ("clerk", "queue")


def test_the_best_line_has_most_different_matches_and_prose_beats_a_heading():
    marked = f"# {OPEN}lock{CLOSE}\nno\n  {OPEN}lock{CLOSE} and {OPEN}Lock{CLOSE}\n"
    assert best_line(marked) == Excerpt(3, "lock and Lock", ((0, 4), (9, 13)))


def test_a_match_that_goes_over_the_end_of_a_line_is_marked_on_the_first():
    marked = f"a {OPEN}rate\nlimit{CLOSE} b"
    assert best_line(marked) == Excerpt(1, "a rate", ((2, 6),))


@given(st.text("ab ", min_size=1, max_size=300), st.integers(3, 80), st.data())
def test_a_shortened_line_fits_and_keeps_the_first_match(text, width, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, min(len(text), start + 5)))
    short = shortened(Excerpt(1, text, ((start, end),)), width)
    assert len(short.text) <= max(width, 3)
    if end - start <= width - 2:
        [(left, right)] = short.marks
        assert short.text[left:right] == text[start:end]


# -- where an impact begins ----------------------------------------------------------------


def starts(tree: Tree, text: str) -> list[str]:
    graph = tree.graph()
    nodes, _ = starts_from_text(tree.project, graph, text, clock=Clock(), tell=print)
    return [graph.ids[n] for n in nodes]


def test_documents_named_in_a_text_come_first_then_those_it_speaks_of(tree):
    text = "Invoices wait in the queue; see US-001-wait, docs/helix/01-frame/prd.md and [[TD-001]]."
    assert starts(tree, text) == ["US-001", "prd", "TD-001", "ADR-001"]


def test_each_start_says_why_and_the_terms_are_listed(tree):
    graph = tree.graph()
    nodes, reasons = starts_from_text(
        tree.project, graph, "the queue of FEAT-001", clock=Clock(), tell=print
    )
    assert [reason.get("id") for reason in reasons] == ["FEAT-001", None, "ADR-001"]
    assert [reason["origin"] for reason in reasons] == ["named", "search", "search"]
    assert reasons[1]["terms"] == reasons[2]["terms"] == ["queue"]
    assert (reasons[2]["path"], reasons[2]["line"]) == (graph.paths[nodes[1]], 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the and of which",
        "Elephants graze on wide plains at dawn",
        "We sold one bicycle at a time, in order of arrival, to the woman who reads maps",
    ],
)
def test_a_text_about_something_else_starts_nowhere(tree, text):
    assert starts(tree, text) == []


def test_a_test_case_in_a_plan_is_a_name_for_the_plan(tree):
    tree.write("03-test/test-plans/TP-001.md", "# Plan\n\n## TC-007 Locked out\n\nTry six times.\n")
    assert starts(tree, "TC-007 fails") == ["TP-001"]


def test_a_plain_word_is_no_name(tree):
    tree.write("architecture.md", "# Of the whole\n\nParts.\n")
    graph = tree.graph()
    _, reasons = starts_from_text(
        tree.project, graph, "the architecture", clock=Clock(), tell=print
    )
    assert [reason["origin"] for reason in reasons if "id" in reason] == ["search"]


def commit_all(tree: Tree) -> None:
    for words in (("add", "-A"), ("commit", "--quiet", "-m", "all")):
        subprocess.run(["git", "-C", tree.project.root, *words], check=True)


def test_a_diff_starts_at_changed_new_and_tagged_files(tmp_path):
    make_repo(tmp_path)
    tree = Tree(tmp_path, CORPUS)
    (tmp_path / ".gitignore").write_text(".ddx/\n")
    (tmp_path / "test_login.py").write_text(f"# {AT}spec-ref FEAT-001\n")
    commit_all(tree)
    tree.write("01-frame/prd.md", "# Other\n")
    tree.write("01-frame/features/FEAT-009-näw.md", "# New\n")
    (tree.folder / "02-design/adr/ADR-001-queue.md").unlink()
    (tmp_path / "test_login.py").write_text(f"# {AT}spec-ref FEAT-001\n\n")
    (tmp_path / "untagged.py").write_text("pass\n")
    graph = tree.graph()
    nodes, reasons = starts_from_diff(tree.project, graph, "HEAD")
    assert {graph.ids[n] for n in nodes} == {"prd", "FEAT-009", "test_login.py"}
    assert {reason["id"] for reason in reasons} == {"prd", "FEAT-009", "test_login.py"}
    commit_all(tree)
    assert starts_from_diff(tree.project, tree.graph(), "HEAD") == ([], [])


def test_a_diff_of_a_project_below_the_repository_knows_its_own_paths(tmp_path):
    make_repo(tmp_path)
    tree = Tree(tmp_path / "below", CORPUS)
    graph = tree.graph()
    nodes, _ = starts_from_diff(tree.project, graph, "HEAD")
    assert len(nodes) == len(CORPUS)


@pytest.mark.parametrize("rev", ["nowhere", "--output=x", "", "HEAD~9"])
def test_a_commit_that_git_does_not_know_is_named(tmp_path, rev):  # C-3
    make_repo(tmp_path)
    tree = Tree(tmp_path, CORPUS)
    with pytest.raises(NotFound, match="no commit"):
        starts_from_diff(tree.project, tree.graph(), rev)


# -- the command ---------------------------------------------------------------------------


def run(tree: Tree, monkeypatch, *text: str, limit: int | None = None, json: bool = False) -> int:
    monkeypatch.chdir(tree.project.root)
    (tree.index.parent).mkdir(parents=True, exist_ok=True)
    return search_command.run(text=text, limit=limit, json=json)


def test_the_command_prints_id_title_place_and_line(tree, monkeypatch, capsys):
    assert run(tree, monkeypatch, "failed", "attempts") == 0
    assert capsys.readouterr().out == (
        "FEAT-001  Login throttling\n"
        "  docs/helix/01-frame/features/FEAT-001-login.md:10\n"
        "  Five failed attempts lock the account for a while.\n"
    )


def test_a_match_is_marked_where_colour_is_wanted(tree, monkeypatch, capsys):  # C-5
    monkeypatch.setenv("FORCE_COLOR", "1")
    run(tree, monkeypatch, "attempts")
    assert "Five failed \x1b[1mattempts\x1b[0m lock" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "said"), [("zebra", "holds zebra"), ("***", "no word")])
def test_nothing_found_says_so_and_is_no_failure(tree, monkeypatch, capsys, text, said):
    assert run(tree, monkeypatch, text) == 0
    assert said in capsys.readouterr().out
    assert run(tree, monkeypatch, text, json=True) == 0
    assert capsys.readouterr().out == "[]\n"


def test_more_than_is_shown_is_told(tree, monkeypatch, capsys):
    run(tree, monkeypatch, "throttling", limit=1)
    assert "3 documents match; 1 are shown" in capsys.readouterr().out


def test_the_json_answer_is_as_its_schema_says(tree, monkeypatch, capsys):  # C-1
    run(tree, monkeypatch, "throttling", "FEAT-001", json=True)
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    assert found[0]["id"] == "FEAT-001"
    assert found[0]["score"] == 1


def test_a_document_cannot_steer_the_terminal(tree, monkeypatch, capsys):  # C-5
    tree.write("FEAT-007.md", "# Red \x1b[31m\n\nzebra \x1b]0;owned\x07\n")
    run(tree, monkeypatch, "zebra")
    assert "\x1b" not in capsys.readouterr().out

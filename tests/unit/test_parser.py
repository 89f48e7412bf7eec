"""What one file says; and whatever is wrong with it is one finding with its place (G-1, G-10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddx.base.clock import Clock
from ddx.documents.cache import load_graph
from ddx.documents.graph import Graph
from ddx.documents.model import Link, ParsedDocument
from ddx.documents.parser import MOST_LINKS, parse
from ddx.project.project import Project

PATH = "docs/helix/TD-009-new.md"


def parsed(text: str | bytes) -> ParsedDocument:
    return parse(PATH, text.encode() if isinstance(text, str) else text)


# What is read (G-1)


def test_everything_that_front_matter_says_is_read():
    found = parsed(
        "---\ntitle: Ours\nddx:\n  id: TD-1\n  type: td\n  status: Approved\n  parking_lot: true\n"
        "  depends_on:\n    - US-1\n    - US-10\n  superseded_by: TD-2\n  review:\n    deps:\n"
        "      US-1: abc\n  execution: {command: make}\n  metric:\n    name: speed\nother: kept\n"
        "---\ntext [[ADR-1]]\n\n## Part\n"
    )
    assert found.findings == ()
    assert (found.declared_id, found.id_line) == ("TD-1", 4)
    assert (found.declared_type, found.status, found.parked) == ("td", "approved", True)
    assert found.depends_on == (Link("US-1", 9), Link("US-10", 10))
    assert found.superseded_by == (Link("TD-2", 11),)
    assert found.links == (Link("ADR-1", 20),)
    assert found.review == {"US-1": "abc"}
    assert found.execution == (15, {"command": "make"})
    assert found.metric == (16, {"name": "speed"})
    assert (found.title, found.sections) == ("Ours", ("Part",))


def test_the_key_of_old_files_is_read_and_ours_beats_it():
    assert parsed("---\ndun:\n  id: A-1\n---\n").declared_id == "A-1"
    assert parsed("---\ndun:\n  id: A-1\nddx:\n  id: B-1\n---\n").declared_id == "B-1"
    assert parsed("---\nid: C-1\n---\n").declared_id == ""


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("[A-1, B-1]", ["A-1", "B-1"]),
        ("A-1", ["A-1"]),
        ("A-1, B-1", ["A-1", "B-1"]),
        ("[]", []),
        ("", []),
        ('["[[A-1]]", "[[B-1|label]]"]', ["A-1", "B-1"]),
        ("[[A-1]]", ["A-1"]),
        ("\n    - [[A-1]]\n    - B-1", ["A-1", "B-1"]),
        ('["a, b", "c #d"]', ["a, b", "c #d"]),
    ],
)
def test_dependencies_are_read_however_they_are_listed(given, names):
    found = parsed(f"---\nddx:\n  depends_on: {given}\n---\n")
    assert found.findings == ()
    assert [link.target for link in found.depends_on] == names


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# One\n# Two\n", "One"),
        ("## Before\n\n# One\n", "One"),
        ("```\n# no\n```\n# One\n", "One"),
        ("words\n", "From the front matter"),
    ],
)
def test_the_title_is_the_first_heading_of_level_one(body, title):
    assert parsed(f"---\ntitle: From the front matter\n---\n{body}").title == title


# Damage (G-10)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two sound documents, one of which depends on the place where damage will be."""
    folder = tmp_path / "docs/helix"
    folder.mkdir(parents=True)
    (folder / "US-001.md").write_text("# Story\n")
    (folder / "TD-001.md").write_text("# Design\n\n[[US-001]] [[TD-009]]\n")
    return tmp_path


def load(tree: Path) -> Graph:
    return load_graph(Project(str(tree)), ["docs/helix"], clock=Clock())


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 50_000_000)


def unreadable(path: Path) -> None:
    path.write_text("# Closed\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("nothing is closed to this user")


DAMAGE = {
    "broken YAML": ("front-matter", 4, "---\nddx:\n  status: draft\n  id: [A\n---\n# Page\n"),
    "a tab": ("front-matter", 3, "---\nddx:\n\tstatus: draft\n---\n# Page\n"),
    "no end of the front matter": ("front-matter", 1, "---\nddx:\n  status: draft\n# Page\n"),
    "a list for a table": ("front-matter", 3, "---\nddx:\n  review: [A]\n---\n# Page\n"),
    "a table for a list": ("front-matter", 3, "---\nddx:\n  depends_on: {a: b}\n---\n# Page\n"),
    "a text for all": ("front-matter", 2, "---\nddx: TD-009\n---\n# Page\n"),
    "aliases": ("front-matter", 3, "---\na: &a [x]\nb: [" + "*a, " * 11 + "]\n---\n# Page\n"),
    "deep lists": ("front-matter", 2, f"---\na: {'[' * 99_000}{']' * 99_000}\n---\n# Page\n"),
    "a byte order mark": ("bom", 1, b"\xef\xbb\xbf---\nddx:\n  status: draft\n---\n# Page\n"),
    "CRLF": ("crlf", 1, b"---\r\nddx:\r\n  status: draft\r\n---\r\n# Page\r\n"),
    "one CR": ("crlf", 2, b"# Page\ntext\rmore\n"),
    "Latin-1": ("not-utf-8", 3, b"# Page\n\nna\xefve\n"),
    "NUL bytes": ("binary", 2, b"# Page\n\0\n"),
    "UTF-16": ("binary", 1, "# Page\r\n".encode("utf-16")),
    "a link bomb": ("link-bomb", 3, "# Page\n\n" + "[[US-001]] " * (MOST_LINKS + 1)),
    "a bomb in the front matter": (
        "link-bomb",
        3,
        f"---\nddx:\n  depends_on: [{'US-001, ' * MOST_LINKS}US-001]\n---\n# Page\n",
    ),
    "50 MB": ("too-large", 1, sparse),
    "a symlink loop": ("unreadable", 1, lambda path: path.symlink_to(path.name)),
    "a symlink to nothing": ("unreadable", 1, lambda path: path.symlink_to("nothing.md")),
    "a symlink to a folder": ("unreadable", 1, lambda path: path.symlink_to("..")),
    "a device without end": ("unreadable", 1, lambda path: path.symlink_to("/dev/zero")),
    "a pipe that nobody writes to": ("unreadable", 1, os.mkfifo),
    "a folder": ("unreadable", 1, lambda path: path.mkdir()),
    "no permission": ("unreadable", 1, unreadable),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_finding_with_its_place_and_all_else_is_indexed(tree: Path, name: str):
    kind, line, made = DAMAGE[name]
    path = tree / PATH
    if callable(made):
        made(path)
    else:
        path.write_bytes(made.encode() if isinstance(made, str) else made)
    graph = load(tree)
    assert [(item.kind, item.where, item.line) for item in graph.findings()] == [(kind, PATH, line)]
    assert {"US-001", "TD-001"} <= set(graph.ids)
    assert graph.place["US-001"] in graph.ups[graph.place["TD-001"]]
    if kind not in ("unreadable", "too-large"):
        n = graph.require("TD-009")
        assert graph.titles[n] in ("Page", "TD-009")


def test_files_in_a_folder_that_is_called_like_a_document_are_indexed(tree: Path):
    (tree / PATH).mkdir()
    (tree / PATH / "US-002.md").write_text("# Inside\n")
    assert "US-002" in load(tree).ids


def test_a_body_is_read_although_the_front_matter_is_broken():
    found = parsed("---\n# not a title\nddx: [\n---\n# Title\n\n[[US-001]]\n\n## Part\n")
    assert [item.line for item in found.findings] == [4]
    assert (found.title, found.sections) == ("Title", ("Part",))
    assert found.links == (Link("US-001", 7),)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=40))
@example(b"a: " + b"[" * 300, b"")
@example(b"ddx:\n  id: {a: b}\n  status: [x]\n  type: {}\n  superseded_by: {c: d}\n", b"[[x]]")
@example(b'ddx:\n  id: "\\ud800"\n', b"# \xed\xa0\x80\n")
def test_no_bytes_can_make_reading_fail(head, body):
    found = parse(PATH, b"---\n" + head + b"\n---\n" + body)
    assert len(found.content_hash) == 32
    assert all(item.where == PATH and item.line >= 1 and item.what for item in found.findings)
    for text in (found.title, found.declared_id, *found.sections):
        text.encode()  # can be shown


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
def test_a_large_page_is_read_in_time():
    text = "---\nddx:\n  id: A-1\n---\n# Page\n\n" + "A line with `code` and [a](b).\n\n" * 300_000
    assert parsed(text).declared_id == "A-1"


# The content hash (G-8)

BASE = "---\nddx:\n  id: TD-1\n  status: draft\n  depends_on: [US-1]\n---\n# Page\n\nText.\n"


def content_hash(text: str | bytes) -> str:
    return parsed(text).content_hash


@pytest.mark.parametrize(
    "same",
    [
        BASE.rstrip(),
        BASE + "\n\n  \n",
        BASE.replace("\n", "\r\n"),
        BASE.replace("draft", "'draft'"),
        BASE.replace("[US-1]", "\n  - US-1"),
        BASE.replace("ddx:", "# a comment\nddx:"),
        BASE.replace("  id: TD-1\n  status: draft\n", "  status: draft\n  id: TD-1\n"),
        BASE.replace("  id", "  review:\n    deps: {US-1: abc}\n    reviewed_at: now\n  id"),
        BASE.replace("  id", "  review: {}\n  id"),
    ],
)
def test_the_hash_ignores_a_review_the_end_line_ends_and_how_yaml_is_spelled(same):
    assert content_hash(same) == content_hash(BASE)


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("Text.", "Text!"),
        BASE.replace("Text.", " Text."),
        BASE.replace("Text.", "Text. \nMore."),
        BASE.replace("# Page\n", "# Page\n\n"),
        BASE.replace("# Page", "\n# Page"),
        BASE.replace("draft", "approved"),
        BASE.replace("  status: draft\n", ""),
        BASE.replace("[US-1]", "[US-1, US-2]"),
        BASE.replace("[US-1]", "US-1"),
        BASE.replace("ddx:", "dun:"),
        BASE.replace("ddx:", "owner: mara\nddx:"),
        BASE.replace("ddx:", "review: outside\nddx:"),
        BASE.replace("---\n# Page", "broken: [\n---\n# Page"),
    ],
)
def test_the_hash_sees_every_other_change(other):
    assert other != BASE
    assert content_hash(other) != content_hash(BASE)


def test_the_hash_sees_a_change_in_front_matter_that_cannot_be_read():
    broken = BASE.replace("draft", "[draft")
    assert content_hash(broken) != content_hash(broken.replace("TD-1", "TD-2"))


def test_a_page_that_had_no_front_matter_keeps_its_hash_when_a_review_is_added():
    assert content_hash("---\nddx:\n  review:\n    deps: {}\n---\n# Page\n") == content_hash(
        "# Page\n"
    )


@settings(max_examples=200)
@given(st.text("ab \n#[`é", max_size=20), st.text("ab \n#[`é", max_size=20))
def test_two_bodies_have_one_hash_only_if_they_differ_at_their_end(one, other):
    assert (content_hash(one) == content_hash(other)) is (one.rstrip() == other.rstrip())

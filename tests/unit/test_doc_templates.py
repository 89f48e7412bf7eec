"""New documents: complete as they come, rightly placed, rightly numbered, over no other file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ddx.base.clock import Clock
from ddx.base.errors import NotFound, Refused, UsageError
from ddx.cli.doc.new import run
from ddx.documents.assembly import assemble
from ddx.documents.cache import load_graph
from ddx.documents.creation import CreatedDocument, create_document, require_type
from ddx.documents.model import WITHOUT_AUTHORITY, type_of
from ddx.documents.parser import parse
from ddx.documents.templates import TEMPLATES, page, sections_for, slug
from ddx.project.project import Project
from ddx.testing import make_repo

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs/reference/schemas/doc-new.json"
DOCUMENT_ROOTS = ("docs/helix", "docs/more")
FOLDERS = {
    "vision": "00-discover/product-vision.md",
    "prd": "01-frame/prd.md",
    "feat": "01-frame/features/FEAT-001-a-title.md",
    "us": "01-frame/user-stories/US-001-a-title.md",
    "adr": "02-design/adr/ADR-001-a-title.md",
    "architecture": "02-design/architecture.md",
    "contract": "02-design/contracts/CONTRACT-001-a-title.md",
    "api": "02-design/contracts/API-001-a-title.md",
    "sd": "02-design/solution-designs/SD-001-a-title.md",
    "td": "02-design/technical-designs/TD-001-a-title.md",
    "tp": "03-test/test-plans/TP-001-a-title.md",
    "exec": "03-test/executions/EXEC-001-a-title.md",
    "metric": "06-iterate/metrics/MET-001-a-title.md",
    "implementation-plan": "04-build/implementation-plan.md",
}
TITLES = (
    "Plain words",
    'Größe "x" & <b> — 日本語',
    "[[US-404]] [[[US-404]]] <!-- not a comment",
    "# Not a heading ``` --- | {}",
    "colon: and #hash",
    "مرحبا",
)
# Run by two processes at once; prints the ids that it got.
MAKE_MANY = """
import sys
from ddx.base.clock import Clock
from ddx.documents.assembly import assemble
from ddx.documents.creation import create_document
from ddx.project.project import Project
for turn in range(int(sys.argv[3])):
    made = create_document(
        Project(sys.argv[1]), ("docs/helix",), assemble([], []), "feat",
        f"{sys.argv[2]} {turn}", clock=Clock())
    print(made.id)
"""


@pytest.fixture
def project(tmp_path) -> Project:
    return make_repo(tmp_path / "shop")


def new(project: Project, kind: str, title: str = "A title", **more: object) -> CreatedDocument:
    graph = load_graph(project, DOCUMENT_ROOTS, clock=Clock())
    return create_document(project, DOCUMENT_ROOTS, graph, kind, title, clock=Clock(), **more)


def put(project: Project, path: str, text: str = "# x\n") -> None:
    file = Path(project.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


# --- templates


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_new_page_has_nothing_wrong_with_it(kind, title):
    template = TEMPLATES[kind]
    doc_id = template.only_id or f"{template.prefix}-001"
    path = f"docs/helix/{template.path_of(doc_id, title)}"
    parsed = parse(path, page(kind, doc_id, title).encode())
    graph = assemble([parsed])
    assert graph.validate() == []
    assert (graph.ids, graph.types, graph.statuses) == ([doc_id], [kind], ["draft"])
    assert list(parsed.sections) == list(sections_for(kind))
    assert parsed.links == ()
    assert parsed.title


@pytest.mark.parametrize("kind", TEMPLATES)
def test_without_its_front_matter_a_new_page_still_is_what_it_is(kind):  # G-2, G-4
    doc_id = TEMPLATES[kind].only_id or f"{TEMPLATES[kind].prefix}-001"
    path = f"docs/helix/{FOLDERS[kind]}"
    assert type_of(path, doc_id, "") == kind


def test_every_section_has_a_sentence_that_guides():
    for kind, template in TEMPLATES.items():
        names = [name for name, _ in template.sections]
        assert len(set(names)) == len(names) >= 3, kind
        for _, hint in template.sections:
            assert hint.endswith(".")
            assert "--" not in hint, "it would end the comment"


def test_conflicts_are_looked_for_in_sections_that_the_templates_have():  # I-5
    for kind in ("prd", "feat", "sd"):
        assert {"Requirements", "Constraints"} <= set(sections_for(kind))


def test_a_type_without_a_template_asks_for_no_sections():
    assert all(sections_for(kind) == () for kind in (*WITHOUT_AUTHORITY, "test", "code", "", "x"))


def test_what_a_page_depends_on_is_read_back_word_for_word():
    names = ("prd", "FEAT-001", "docs/a, b: 'c' \"d\" #e", "Größe 👩‍🚀", "- x", "true", "[y]")
    parsed = parse("docs/helix/US-001.md", page("us", "US-001", "T", names).encode())
    assert parsed.findings == ()
    assert tuple(link.target for link in parsed.depends_on) == names


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Search that forgives typos", "search-that-forgives-typos"),
        ("  Größe: ½ Straße!  ", "grosse-1-2-strasse"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\\b:c*d?e", "a-b-c-d-e"),
        ("日本語", ""),
        ("-" * 300, ""),
        ("Crème brûlée", "creme-brulee"),
        ("before—after 日本 end", "before-after-end"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word"),
        ("x" * 300, "x" * 48),
    ],
)
def test_a_slug_is_plain(title, expected):
    assert slug(title) == expected


@given(st.text(max_size=200))
def test_a_slug_of_any_title_is_safe_in_a_path(title):
    found = slug(title)
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", found)
    assert len(found) <= 48
    assert re.fullmatch(
        r"01-frame/features/FEAT-001[a-z0-9-]*\.md", TEMPLATES["feat"].path_of("FEAT-001", title)
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "FEAT-001"),
        (["FEAT-001", "FEAT-007-search", "US-050"], "FEAT-008"),
        (["feat-011-lower"], "FEAT-012"),
        (["FEAT-0003"], "FEAT-004"),
        (["FEAT-999"], "FEAT-1000"),
        (["FEAT-" + "9" * 5000, "FEATURE-100", "FEAT-x", "XFEAT-9"], "FEAT-001"),
    ],
)
def test_the_next_number_is_after_the_highest(names, expected):
    assert TEMPLATES["feat"].free_id(names) == expected


# --- in a repository


@pytest.mark.parametrize(("kind", "path"), FOLDERS.items())
def test_each_type_has_its_place(project, kind, path):
    made = new(project, kind)
    assert made.path == f"docs/helix/{path}"
    graph = load_graph(project, DOCUMENT_ROOTS, clock=Clock())
    assert graph.paths[graph.require(made.id)] == made.path
    assert graph.validate() == []


def test_there_is_a_place_for_every_template():
    assert FOLDERS.keys() == TEMPLATES.keys()


def test_numbers_of_ids_and_of_files_count_alike(project):
    put(project, "docs/helix/odd-name.md", "---\nddx:\n  id: FEAT-004\n---\n# by id\n")
    assert new(project, "feat").id == "FEAT-005"
    put(project, "docs/more/anywhere/FEAT-020-elsewhere.md")
    assert new(project, "feat").id == "FEAT-021"
    put(project, "docs/helix/01-frame/features/FEAT-030-draft.txt")
    put(project, ".gitignore", "FEAT-030*\n")
    assert new(project, "feat").id == "FEAT-031"


def test_a_number_that_is_only_linked_to_is_free(project):
    put(project, "docs/helix/01-frame/prd.md", "# P\n[[FEAT-040]]\n")
    assert new(project, "feat").id == "FEAT-001"


def test_two_processes_get_different_numbers(project):
    words = [sys.executable, "-c", MAKE_MANY, project.root]
    running = [
        subprocess.Popen(
            [*words, name, "15"],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(ROOT / "src")},
        )
        for name in ("one", "two")
    ]
    ids = [made for process in running for made in process.communicate(timeout=120)[0].split()]
    assert [process.returncode for process in running] == [0, 0]
    assert sorted(ids) == [f"FEAT-{number:03d}" for number in range(1, 31)]
    files = list(Path(project.root, "docs/helix/01-frame/features").iterdir())
    assert len(files) == 30


@pytest.mark.parametrize("kind", ["prd", "vision", "architecture", "implementation-plan"])
def test_what_there_is_only_one_of_is_never_replaced(project, kind):
    first = new(project, kind, "The first")
    before = Path(project.root, first.path).read_bytes()
    with pytest.raises(Refused, match=re.escape(first.path)):
        new(project, kind, "The second")
    assert Path(project.root, first.path).read_bytes() == before


def test_a_file_in_the_way_stays_as_it_is(project):
    put(project, "docs/helix/01-frame/prd.md", "---\nddx:\n  id: other\n---\n")
    with pytest.raises(Refused, match=r"prd\.md exists already"):
        new(project, "prd")
    dangling = Path(project.root, "docs/helix/02-design/architecture.md")
    dangling.parent.mkdir(parents=True)
    dangling.symlink_to("nowhere.md")
    with pytest.raises(Refused):
        new(project, "architecture")
    assert not dangling.exists()


@pytest.mark.parametrize(
    ("given", "kind"),
    [("FEAT", "feat"), ("feature", "feat"), ("User Story", "us"), ("test-plan", "tp")],
)
def test_a_type_has_more_than_one_name(given, kind):
    assert require_type(given) == kind


@pytest.mark.parametrize("given", ["", "novel", "code", "test", "review", "../feat"])
def test_an_unknown_type_is_a_usage_error_that_lists_them(given):  # C-2, C-3
    with pytest.raises(UsageError) as refused:
        require_type(given)
    assert refused.value.exit_code == 2
    assert all(kind in refused.value.hint for kind in TEMPLATES)


@pytest.mark.parametrize("title", ["", "  \n ", "bell\x07"])
def test_a_title_must_be_words(project, title):
    with pytest.raises(UsageError):
        new(project, "feat", title)
    assert not Path(project.root, "docs").exists(), "nothing was made"


def test_what_it_depends_on_must_exist_and_is_written_by_its_id(project):
    new(project, "prd")
    made = new(project, "feat", depends_on=("PRD", "prd"))
    assert "depends_on: [prd]\n" in Path(project.root, made.path).read_text("utf-8")
    with pytest.raises(NotFound, match="FEAT-404"):
        new(project, "us", depends_on=("FEAT-404",))


def test_the_command_prints_the_id_and_the_path(project, monkeypatch, capsysbinary):  # C-1
    monkeypatch.chdir(project.root)
    assert run.run(type="prd", title="Shop", depends_on=(), json=False) == 0
    assert capsysbinary.readouterr().out == b"prd  docs/helix/01-frame/prd.md\n"
    assert run.run(type="feat", title="Cart", depends_on=("prd,",), json=True) == 0
    found = json.loads(capsysbinary.readouterr().out)
    Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(found)
    assert found["id"] == "FEAT-001"

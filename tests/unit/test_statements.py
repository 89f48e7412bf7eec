"""Which sentences of a document say what has to hold, and where they stand (I-5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import graph_of_files

from ddx.documents.page import Page
from ddx.project.project import Project
from helix.intake.conflicts.clauses import LONGEST
from helix.intake.conflicts.detection import find_conflicts
from helix.intake.conflicts.statements import MOST_STATEMENTS, read_statements, statements_in


def said(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in statements_of(text)]


def statements_of(text: str):
    return statements_in(Page.of_text(text), document="TD-001", tier=6, path="docs/helix/TD-001.md")


def test_only_constraints_and_requirements_are_read():
    text = (
        "# Design\n\nWe might use MySQL.\n\n## Constraints\n\n- Use PostgreSQL.\n\n"
        "## Alternatives\n\n- Use SQLite.\n"
    )
    assert said(text) == [(7, "Use PostgreSQL.")]


@pytest.mark.parametrize(
    "heading",
    [
        "# Requirements",
        "## Constraints ##",
        "### 3.2 Non-functional requirements",
        "## 4. Technical Constraints",
        "## **Requirements**",
        "## Requirements (version 2)",
        "## Constraints and assumptions",
        "## Requirements: storage",
        "## requirement",
    ],
)
def test_a_heading_may_be_numbered_and_have_words_around(heading):
    assert said(f"{heading}\n\nOne.\n") == [(3, "One.")]


@pytest.mark.parametrize(
    "heading",
    [
        "## Non-requirements",
        "## Rejected requirements",
        "## Out of scope requirements",
        "## How we gather the requirements of users today",
        "## Requirements engineering",
        "####### Requirements",
        "Requirements",
    ],
)
def test_a_heading_that_only_holds_the_word_does_not_count(heading):
    assert said(f"{heading}\n\nOne.\n") == []


def test_a_heading_below_belongs_to_the_section_and_is_named_with_it():
    text = "## Requirements\n\n### Storage\n\n- Keep it.\n\n## Design\n\n- Not this.\n"
    (found,) = statements_of(text)
    assert (found.line, found.text, found.section) == (5, "Keep it.", "Requirements: Storage")


def test_a_heading_below_that_is_not_in_force_ends_the_section():
    assert said("## Requirements\n\n### Rejected\n\n- Not this.\n") == []


def test_an_underlined_heading_counts_too():
    assert said("Constraints\n-----------\n\nOne.\n\nDesign\n======\n\nTwo.\n") == [(4, "One.")]


def test_items_rows_and_paragraphs_are_split_into_single_statements_with_their_lines():
    text = (
        "## Requirements\n"
        "\n"
        "It must start. It must\n"
        "stop; it must not hang.\n"
        "\n"
        "1. First of all,\n"
        "   go on.\n"
        "   - [x] A **nested** `item`.\n"
        "\n"
        "| ID | What | Limit |\n"
        "|----|------|-------|\n"
        "| R-1 | Latency | under 50 ms |\n"
        "| R-2 | Upload | Won't |\n"
    )
    assert said(text) == [
        (3, "It must start."),
        (3, "It must stop"),
        (4, "it must not hang."),
        (6, "First of all, go on."),
        (8, "A nested item."),
        (12, "Latency: under 50 ms"),
    ]


def test_a_sentence_does_not_end_in_an_abbreviation_or_a_number():
    text = "## Constraints\n\nUse a store, e.g. PostgreSQL 15.2 or later.\n"
    assert said(text) == [(3, "Use a store, e.g. PostgreSQL 15.2 or later.")]


def test_an_item_that_ends_in_a_colon_leads_those_below_it():
    text = "## Constraints\n\n- Storage:\n  - PostgreSQL only\n- Other\n"
    assert said(text) == [(4, "Storage: PostgreSQL only"), (5, "Other")]


def test_code_comments_quotations_and_struck_out_text_are_left_out():
    text = (
        "## Constraints\n\n```\nmust use A\n```\n<!-- must use B -->\n> must use C\n\n"
        "    must use D\n\n- ~~must use E~~\n- must use F\n- none\n- TBD.\n"
    )
    assert said(text) == [(12, "must use F")]


def test_links_are_read_as_what_they_show():
    text = "## Constraints\n\nSee [the plan](http://x), [[TD-001|design]] and [[ADR-2]].\n"
    assert said(text) == [(3, "See the plan, design and ADR-2.")]


def test_the_fields_of_the_front_matter_that_state_constraints_are_read():
    text = (
        "---\n"
        "ddx:\n"
        "  id: ADR-001\n"
        "  constraints:\n"
        "    - Must use PostgreSQL.\n"
        "    - Never more than 3 copies.\n"
        "technology:\n"
        "  database: postgres\n"
        "  time_zone: UTC\n"
        "owner: Must be ignored\n"
        "---\n"
        "# Page\n\n## Constraints\n\nOne.\n"
    )
    found = statements_of(text)
    assert [(each.line, each.text, each.section) for each in found] == [
        (8, "database: postgres", "technology"),
        (9, "time zone: UTC", "technology"),
        (5, "Must use PostgreSQL.", "constraints"),
        (6, "Never more than 3 copies.", "constraints"),
        (16, "One.", "Constraints"),
    ]


def test_a_broken_front_matter_leaves_the_sections():  # G-10
    assert said("---\nconstraints: [\n---\n## Constraints\n\nOne.\n") == [(6, "One.")]


def test_what_is_read_of_one_document_is_bounded():
    many = "## Constraints\n\n" + "- one more\n" * (MOST_STATEMENTS + 7) + "x" * 5_000
    assert len(statements_of(many)) == MOST_STATEMENTS
    (long,) = statements_of(f"## Constraints\n\n{'x' * 5_000}\n")
    assert len(long.text) == LONGEST


@given(st.text(alphabet="#|->*`~_[]().;: \n\tab1R=", max_size=300))
def test_every_text_gives_statements_that_stand_in_their_lines(text):
    text = f"## Requirements\n{text}"
    lines = text.split("\n")
    for each in statements_of(text):
        assert each.text
        assert 1 <= each.line <= len(lines)
        assert lines[each.line - 1].strip()


# -- reading files -------------------------------------------------------------------------

FILES = {
    "docs/helix/02-design/adr/ADR-001-store.md": "# Store\n\n## Constraints\n\n- Use PostgreSQL.\n",
    "docs/helix/02-design/technical-designs/TD-001-list.md": (
        "# List\n\n[[ADR-001]]\n\n## Constraints\n\n- The database is SQLite.\n"
    ),
    "docs/helix/02-design/technical-designs/TD-002-old.md": (
        "---\nddx:\n  status: superseded\n  superseded_by: TD-001\n---\n# Old\n\n"
        "## Constraints\n\n- Use MySQL.\n"
    ),
    "docs/helix/reports/RPT-001-state.md": "# State\n\n## Constraints\n\n- Use Oracle DB.\n",
}
IDS = ("TD-001", "ADR-001", "TD-002", "RPT-001", "NO-001")


@pytest.fixture
def project(tmp_path) -> Project:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return Project(str(tmp_path))


def test_documents_are_read_by_authority_and_those_without_it_are_not(project):  # G-4, G-6
    found = read_statements(project, graph_of_files(FILES), IDS)
    assert [(each.document, each.tier, each.line) for each in found] == [
        ("ADR-001", 4, 5),
        ("TD-001", 6, 7),
    ]
    (conflict,) = find_conflicts(found)
    assert (conflict.winner, conflict.other.document) == ("ADR-001", "TD-001")


def test_a_file_that_is_gone_or_is_none_says_nothing(project):
    adr, design, *_ = FILES
    os.remove(os.path.join(project.root, adr))
    os.mkfifo(os.path.join(project.root, adr))
    os.remove(os.path.join(project.root, design))
    assert read_statements(project, graph_of_files(FILES), IDS) == ()


def test_other_line_ends_and_bytes_that_are_no_text_do_not_move_the_lines(project):  # G-10
    path = Path(project.root) / next(iter(FILES))
    path.write_bytes(b"\xef\xbb\xbf# Store\r\n\r\n## Constraints\r\n\r\n- Use \xff it.\r\n")
    (found,) = read_statements(project, graph_of_files(FILES), ["ADR-001"])
    assert (found.line, found.text) == (5, "Use � it.")


def test_what_a_decision_record_decides_is_a_statement_and_what_it_weighs_is_none() -> None:  # I-5
    weighed = "## Context\n\nWe use MySQL.\n\n"
    text = f"{weighed}## Decision\n\nWe use Postgres.\n\n## Decision drivers\n\nCost.\n"
    found = statements_in(Page.of_text(text), document="ADR-001", tier=4, path="adr.md")
    assert [(it.line, it.text, it.section) for it in found] == [(7, "We use Postgres.", "Decision")]

"""Which names a page links to, and what does not count (G-3)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ddx.documents.page import prose
from ddx.documents.parser import headings, wiki_links

MOST = 5_000


def linked(body: str) -> list[str]:
    return [link.target for link in wiki_links(body, first_line=1, most=MOST)]


def lines(body: str, *, first_line: int = 1) -> list[tuple[str, int]]:
    found = wiki_links(body, first_line=first_line, most=MOST)
    return [(link.target, link.line) for link in found]


# The five forms


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[[TD-001]]", ["TD-001"]),
        ("[[TD-001-list-servers]]", ["TD-001-list-servers"]),
        ("[[TD-001|the design]]", ["TD-001"]),
        ("[[TD-001, US-002]]", ["TD-001", "US-002"]),
        ("[[TD-001#errors]]", ["TD-001"]),
        ("[[ TD-001 # errors | the, label ]]", ["TD-001"]),
        ("[[TD-001#a, US-002#b|both]]", ["TD-001", "US-002"]),
        ("| [[TD-001\\|in a table]] |", ["TD-001"]),
        ("[[TD-001]][[US-002]]", ["TD-001", "US-002"]),
        ("([[TD-001]](x)", ["TD-001"]),
        ("[[[TD-001]]]", ["TD-001"]),
        ("[[TD-001|`code` as a label]]", ["TD-001"]),
        ("[[docs/helix/notes/ideas]]", ["docs/helix/notes/ideas"]),
        ("[[#here]] [[]] [[ ]] [[,]] [[|label]]", []),
        ("[TD-001] [ [TD-001]] [[TD-001] ]", []),
        ("[[TD-\n001]]", []),
    ],
)
def test_a_link_names_one_document_or_several(text, names):
    assert linked(f"before {text} after\n") == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("**Spec Reference**: TD-036 §3.2 API Response Format", ["TD-036"]),
        ("**Spec Reference:** TD-036", ["TD-036"]),
        ("- **Spec References**: TD-036 §3.2, TD-037: errors, and more", ["TD-036", "TD-037"]),
        ("**Spec Reference**: prd §4", ["prd"]),
        ("**Spec Reference**: [[TD-036]] §3.2", ["TD-036"]),
        ("**Spec Reference**: TD-036-list-servers §1", ["TD-036-list-servers"]),
        ("**Spec Reference**: see below", []),
        ("**Spec Reference**:\nTD-036", []),
        ("**Spec Reference** TD-036", []),
        ("`**Spec Reference**: TD-036`", []),
        ("```\n**Spec Reference**: TD-036\n```", []),
    ],
)
def test_a_spec_reference_is_a_link(text, names):  # G-7
    assert linked(f"### TC-001\n\n{text}\n") == names


def test_every_link_has_its_line():
    body = "[[A]]\n\n`x\ny` [[B]]\n```\n[[no]]\n```\n<!--\n-->[[C]] [[D, E]]\n"
    body += "**Spec Reference**: F-1\n"
    expected = [("A", 1), ("B", 4), ("C", 9), ("D", 9), ("E", 9), ("F-1", 10)]
    assert lines(body) == expected
    assert lines(body, first_line=11) == [(name, line + 10) for name, line in expected]


def test_reading_stops_soon_after_the_limit():
    found = wiki_links("[[A]] " * 100, first_line=1, most=10)
    assert len(found) == 10


# Code and comments


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n[[no]]\n```",
        "~~~\n[[no]]\n~~~",
        "```python title=[[no]]\n[[no]]\n```",
        "````\n```\n[[no]]\n```\n[[no]]\n````",
        "```\n~~~\n[[no]]\n~~~\n[[no]]\n```",
        "~~~\n```\n[[no]]\n```\n[[no]]\n~~~",
        "```\n```python\n[[no]]\n``` not the end\n[[no]]\n```",
        "```\n[[no]]\n`````",
        "   ```\n[[no]]\n   ```",
        "1. step\n\n       ```sh\n       [[no]]\n       ```",
        "- ```\n  [[no]]\n  ```",
        "> ```\n> [[no]]\n> ```",
        "`[[no]]`",
        "``[[no]]``",
        "`` ` [[no]] ` ``",
        "`` a ` b ``` [[no]] ``",
        "`[[no]] over\ntwo lines [[no]]`",
        "> `quoted\n> [[no]]`",
        "`a\\` [[yes]] `[[no]]`",
        "<!-- [[no]] -->",
        "<!--\n[[no]]\n\n[[no]]\n-->",
        "a <!-- [[no]] --> b <!-- [[no]] --> c",
        "<!-- one --> <!--\n[[no]] --> x",
        "<!--\n```\n[[no]]\n-->",
        "<!-- ` -->`<!-- [[no]]`",
    ],
)
def test_code_and_comments_hold_no_links_and_end_where_they_end(hidden):
    assert set(linked(f"[[before]]\n\n{hidden}\n\n[[after]]\n")) - {"yes"} == {"before", "after"}


@pytest.mark.parametrize("opening", ["```", "~~~~", "- ```", "> ~~~"])
def test_a_fence_without_an_end_hides_the_rest(opening):
    assert linked(f"[[before]]\n\n{opening}\n[[no]]\n\n[[no]]\n") == ["before"]


@pytest.mark.parametrize(
    "shown",
    [
        "a ` stray mark [[yes]]",
        "a ` mark\n\n[[yes]]\n\nanother `",
        "a ` mark\n \t\n[[yes]] `",
        "- a ` mark\n- [[yes]] `",
        "1. a ` mark\n2. [[yes]] `",
        "# a ` mark\n[[yes]] `\n# b",
        "| a ` | b |\n| [[yes]] | ` |",
        "``a` [[yes]] ```",
        "\\`[[yes]]\\`",
        "`code` [[yes]] `code`",
        "`` ``` [[yes]]",
        "inline ```code``` [[yes]]",
        "``` a`b\n[[yes]]",
        "<!-- never closed [[yes]]",
        "`<!--` opens, [[yes]] and `-->` closes",
        "<!--> [[yes]]",
        "<!- [[yes]] -->",
    ],
)
def test_what_only_looks_like_code_or_a_comment_hides_nothing(shown):
    assert linked(f"before\n\n{shown}\n") == ["yes"]


marks = st.text("`~<!->#*\\ \n[]|ab1.", max_size=30)


@given(marks, st.sampled_from(["```", "````", "~~~", "~~~~~"]), marks, marks)
def test_text_in_a_fence_never_yields_a_link(before, fence, inside, after):
    assume(fence not in inside)
    assume("```" not in before and "~~~" not in before and "<!--" not in before)
    body = f"{before}\n{fence}\n{inside} [[no]] {inside}\n{fence}\n{after}"
    assert "no" not in linked(body)


@given(st.text("~<!->*\\ [|ab", max_size=20), st.integers(1, 4), st.text("ab ]\\[", max_size=10))
def test_text_in_inline_code_never_yields_a_link(before, length, inside):
    assume("<!--" not in before and "~~~" not in before and not before.endswith("\\"))
    ticks = "`" * length
    assert "no" not in linked(f"{before} x {ticks} {inside} [[no]] {inside} {ticks} y")


@given(marks)
def test_taking_code_and_comments_out_keeps_every_line_in_its_place(body):
    shown = prose(body)
    assert shown.count("\n") == body.count("\n")
    assert prose(shown) == shown or "<!--" in shown
    for one, other in zip(shown.split("\n"), body.split("\n"), strict=True):
        assert len(one) <= len(other)


# Headings


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Title", (1, "Title")),
        ("###### Six", (6, "Six")),
        ("##  Wide  ", (2, "Wide")),
        ("## Closed ##", (2, "Closed")),
        ("## C#", (2, "C#")),
        ("##\tTab", (2, "Tab")),
        ("## `ddx doc`", (2, "`ddx doc`")),
        ("####### Seven", None),
        ("#Title", None),
        ("#", None),
        ("## ##", None),
        ("text # Title", None),
    ],
)
def test_a_heading_is_marks_a_space_and_a_text(line, heading):
    assert headings(f"{line}\n") == ([heading] if heading else [])
    assert headings(f"text\n{line}") == ([heading] if heading else [])


def test_headings_in_code_and_comments_do_not_count():
    body = "# One\n```\n# no\n```\n<!--\n# no\n-->\n## Two\n~~~\n# no\n"
    assert headings(body) == [(1, "One"), (2, "Two")]


# Hostile input takes time in proportion to its length (G-10)

MEGABYTE = 1_000_000


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
@pytest.mark.parametrize(
    "body",
    [
        "[[" * (MEGABYTE // 2),
        "[[a" * (MEGABYTE // 3),
        "[[" + "a" * MEGABYTE,
        "[[" + "a," * (MEGABYTE // 2),
        "`" * MEGABYTE + "[[a]]",
        "`a" * (MEGABYTE // 2) + "[[a]]",
        "".join("`" * n + " " for n in range(1, 1_400)) + "[[a]]",
        "` \n" * (MEGABYTE // 3) + "[[a]]",
        "\\" * MEGABYTE + "`[[a]]",
        "```\n" * (MEGABYTE // 4),
        "``` a`\n" * (MEGABYTE // 7),
        "- " * (MEGABYTE // 2) + "```",
        "> " * (MEGABYTE // 2) + "`[[a]]`",
        "<!--" * (MEGABYTE // 4),
        "<!--\n" * (MEGABYTE // 5),
        "<!---->" * (MEGABYTE // 7),
        "<!-- `" * (MEGABYTE // 6) + "-->",
        "# " + " " * MEGABYTE + "x",
        "# " + "# " * (MEGABYTE // 2),
        "#" * MEGABYTE,
        "\n" * MEGABYTE + "`[[a]]`",
        "**Spec Reference**:" * (MEGABYTE // 19),
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_megabyte_of_anything_is_read_within_seconds(body):
    wiki_links(body, first_line=1, most=MOST)
    headings(body)


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
@settings(max_examples=25, deadline=None)
@given(st.text("`~<!->#*\\ \n[]|a1.", min_size=1, max_size=12))
def test_any_text_repeated_is_read_within_seconds(part):
    body = part * (200_000 // len(part)) + "[[a]]"
    wiki_links(body, first_line=1, most=MOST)
    headings(body)

"""`ddx doc` on real files and real git: who follows from whom, what is stale, what is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from tests.support.contract import ALL_COMMANDS, SCHEMAS, EmptyRepository
from tests.support.documents import AT

FRAME, DESIGN, TEST = "docs/helix/01-frame", "docs/helix/02-design", "docs/helix/03-test"
PRD = f"{FRAME}/prd.md"
FEAT = f"{FRAME}/features/FEAT-001-test-feature.md"
STORY = f"{FRAME}/user-stories/US-001-first-story.md"
OTHER_STORY = f"{FRAME}/user-stories/US-002-second-story.md"
SOLUTION = f"{DESIGN}/solution-designs/SD-001-test-solution.md"
TECHNICAL = f"{DESIGN}/technical-designs/TD-001-first-design.md"
PLAN = f"{TEST}/test-plans/TP-001-first-tests.md"
OF_THE_PLAN, OF_THE_DESIGN = "tests/test_first.py", "tests/test_second.py"
MARKER = "spec_ref"

TREE = {
    PRD: "# The product\n\n[[FEAT-001]]\n",
    FEAT: "# Test feature\n\n[[US-001, US-002]]\n",
    STORY: "# First story\n",
    OTHER_STORY: "# Second story\n",
    SOLUTION: "# Test solution\n\n[[FEAT-001, TD-001]]\n",
    TECHNICAL: "# First design\n\n[[US-001, TP-001]]\n",
    PLAN: "# First tests\n\n[[TD-001]]\n\n## TC-001: the first case\n",
    OF_THE_PLAN: f"# {AT}requirement TC-001\n",
    OF_THE_DESIGN: f"import pytest\n\n\n@pytest.mark.{MARKER}('TD-001')\ndef test(): ...\n",
}
DOCUMENTS = ["prd", "FEAT-001", "US-001", "US-002", "SD-001", "TD-001", "TP-001"]


class GraphScene(EmptyRepository):
    """The tree that every page about the graph begins with."""

    def write(self, path: str, text: str | bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def doc(self, *words: str, code: int = 0, **variables: str) -> str:
        """What a command prints, or what it complains of."""
        ended = self.run("ddx", "doc", *words, **variables)
        assert ended.returncode == code, (words, ended.stdout, ended.stderr)
        assert "Traceback" not in ended.stderr
        return ended.stdout if ended.stdout else ended.stderr

    def ask(self, *words: str, code: int = 0, **variables: str) -> Any:
        """The one JSON value that a command answers with; it fits its schema (C-1)."""
        found = json.loads(self.doc(*words, "--json", code=code, **variables))
        schema = ALL_COMMANDS[f"ddx doc {words[0]}"].schema
        assert [problem.message for problem in validator(schema).iter_errors(found)] == []
        return found

    def findings(self, *, code: int) -> list[tuple[str, str, int]]:
        """Without the sections, which no page of the tree has."""
        found = self.ask("validate", code=code)
        return [
            (item["kind"], item["path"], item["line"])
            for item in found
            if item["kind"] != "missing-section"
        ]


@cache
def validator(name: str) -> Draft202012Validator:
    resources = [
        (path.name, Resource.from_contents(json.loads(path.read_text("utf-8"))))
        for path in SCHEMAS.glob("*.json")
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    return Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)


@pytest.fixture
def shop(tmp_path: Path) -> GraphScene:
    found = GraphScene(tmp_path)
    for path, text in TREE.items():
        found.write(path, text)
    found.run("git", "add", ".")
    found.run("git", "commit", "--quiet", "-m", "the first documents")
    return found


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


# -- impact: what a change touches, and what governs it (G-6) ------------------------------


def test_a_story_touches_its_design_its_plan_and_their_tests_and_no_other_story(shop: GraphScene):
    found = shop.ask("impact", "US-001")
    assert ids(found["impacted"]) == ["TD-001", "TP-001", OF_THE_DESIGN, OF_THE_PLAN]
    assert ids(found["governing"]) == ["prd", "FEAT-001", "SD-001"]
    assert "US-002" not in json.dumps(found)


def test_each_document_comes_with_the_way_that_leads_there(shop: GraphScene):
    found = shop.ask("impact", "US-001")
    plan = found["impacted"][1]
    assert plan["via"] == ["US-001", "TD-001", "TP-001"]
    assert plan["why"] == "follows from TD-001"
    assert plan["written"] == {"origin": "link", "path": TECHNICAL, "line": 3}
    named = {"origin": "spec-ref", "path": OF_THE_DESIGN, "line": 4}
    assert found["impacted"][2]["written"] == named
    assert found["governing"][0]["via"] == ["US-001", "FEAT-001", "prd"]
    told = shop.doc("impact", "US-001")
    assert "US-001 -> TD-001 -> TP-001" in told
    assert "US-001 <- FEAT-001 <- prd" in told


def test_several_starts_touch_what_follows_from_any_of_them(shop: GraphScene):
    assert ids(shop.ask("impact", "us-002", "TP-001")["impacted"]) == [OF_THE_PLAN]


def test_depth_bounds_the_walk(shop: GraphScene):
    found = shop.ask("impact", "US-001", "--depth", "1")
    assert ids(found["impacted"]) == ["TD-001"]
    assert ids(found["governing"]) == ["FEAT-001", "SD-001"]


def test_a_superseded_document_is_shown_marked_and_followed_by_its_replacement(shop: GraphScene):
    old = "---\nddx:\n  status: superseded\n  superseded_by: {}\n---\n# {}\n\n[[{}]]\n"
    shop.write(TECHNICAL, old.format("TD-002", "First design", "US-001"))
    shop.write(f"{DESIGN}/technical-designs/TD-002-better.md", "# Better design\n\n[[SD-002]]\n")
    shop.write(SOLUTION, old.format("SD-002", "Test solution", "FEAT-001"))
    shop.write(f"{DESIGN}/solution-designs/SD-002-better.md", "# Better solution\n")
    shop.write(f"{DESIGN}/technical-designs/TD-003-late.md", "# Late\n\n[[SD-001]]\n")

    touched = {row["id"]: row for row in shop.ask("impact", "US-001")["impacted"]}
    assert touched["TD-001"]["superseded"]
    assert touched["TD-001"]["superseded_by"] == ["TD-002"]
    assert touched["TD-002"]["via"] == ["US-001", "TD-001", "TD-002"]
    assert touched["TD-002"]["why"] == "takes the place of TD-001"

    above = {row["id"]: row for row in shop.ask("impact", "TD-003")["governing"]}
    assert [above[name]["superseded"] for name in ("SD-001", "SD-002")] == [True, False]
    assert "superseded by SD-002" in shop.doc("impact", "TD-003")


def test_a_text_begins_at_what_it_names_and_at_what_speaks_of_it(shop: GraphScene):
    found = shop.ask("impact", "--text", "change US-001 acceptance criteria")
    assert ids(found["starts"]) == ["US-001"]
    assert {"TD-001", "TP-001", OF_THE_DESIGN} <= set(ids(found["impacted"]))
    spoken = shop.ask("impact", "--text", "rework the second story")
    story = spoken["impacted"][0]
    assert (story["id"], story["distance"], story["via"]) == ("US-002", 0, ["US-002"])
    assert story["written"]["origin"] == "search"
    assert "second" in spoken["terms"]


def test_a_commit_begins_at_what_changed_since(shop: GraphScene):
    assert shop.ask("impact", "--diff", "HEAD")["starts"] == []
    assert shop.doc("impact", "--diff", "HEAD") == "no document is touched\n"
    shop.write(STORY, "# First story\n\nNow with a twist.\n")
    found = shop.ask("impact", "--diff", "HEAD")
    assert ids(found["starts"]) == ["US-001"]
    assert ids(found["impacted"])[:2] == ["TD-001", "TP-001"]


def test_an_impact_without_a_beginning_is_not_understood(shop: GraphScene):  # C-2
    assert "ddx doc impact US-001" in shop.doc("impact", code=2)


# -- list, show, deps, dependents ----------------------------------------------------------


def test_documents_are_listed_by_authority_and_without_tier_last(shop: GraphScene):  # G-4
    shop.write("docs/helix/notes/thoughts.md", "# Some thoughts\n")
    assert ids(shop.ask("list")) == [*DOCUMENTS, "docs/helix/notes/thoughts"]
    assert shop.doc("list").splitlines()[0].split() == ["id", "type", "tier", "status", "title"]
    assert shop.doc("list").splitlines()[-1].split()[1:4] == ["unknown", "-", "-"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--type", "us,td"), ["US-001", "US-002", "TD-001"]),
        (("--type", "us", "--type", "TD"), ["US-001", "US-002", "TD-001"]),
        (("--tier", "6,7"), ["TD-001", "TP-001"]),
        (("--tier", "none"), []),
        (("--search", "FIRST"), ["US-001", "TD-001", "TP-001"]),
        (("--search", "first", "--type", "us"), ["US-001"]),
        (("--status", "draft"), []),
        (("--type", "test"), [OF_THE_PLAN, OF_THE_DESIGN]),
        (("--tier", "8"), [OF_THE_PLAN, OF_THE_DESIGN]),
    ],
)
def test_a_list_can_be_narrowed(shop: GraphScene, words: tuple[str, ...], expected: list[str]):
    assert ids(shop.ask("list", *words)) == expected


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (("--type", "novel"), "parking-lot"),
        (("--tier", "11"), "none"),
        (("--status", "aproved"), "approved"),
    ],
)
def test_what_no_document_could_be_is_an_error(
    shop: GraphScene, words: tuple[str, ...], choices: str
):
    said = shop.doc("list", *words, code=2)
    assert repr(words[1]) in said
    assert choices in said


def test_a_list_without_documents_says_what_to_do(tmp_path: Path):
    assert "ddx doc new" in GraphScene(tmp_path).doc("list")


def test_a_document_is_shown_with_its_links_both_ways_and_where_they_are_written(shop: GraphScene):
    found = shop.ask("show", "TD-001")
    assert [found[key] for key in ("type", "tier", "status", "title", "path")] == [
        *("td", 6, None, "First design", TECHNICAL),
    ]
    places = {
        row["id"]: (row["written"]["origin"], row["written"]["path"], row["written"]["line"])
        for row in (*found["upstream"], *found["downstream"])
    }
    assert places == {
        "US-001": ("link", TECHNICAL, 3),
        "SD-001": ("link", SOLUTION, 3),
        "TP-001": ("link", TECHNICAL, 3),
        OF_THE_DESIGN: ("spec-ref", OF_THE_DESIGN, 4),
    }
    assert found["review"]["state"] == "unreviewed"
    assert f"{SOLUTION}:3 (link)" in shop.doc("show", "TD-001")


@pytest.mark.parametrize("name", ["td-001", "TD-001-first-design", TECHNICAL, f"./{TECHNICAL}"])
def test_a_document_goes_by_many_names(shop: GraphScene, name: str):  # G-2
    assert shop.ask("show", name)["id"] == "TD-001"


def test_a_test_case_goes_by_the_plan_that_holds_it(shop: GraphScene):  # G-7
    assert shop.ask("show", "TC-001")["id"] == "TP-001"
    shop.write(f"{TEST}/test-plans/TP-002.md", "# More tests\n\n## TC-001: once more\n")
    assert "did you mean TP-001 or TP-002?" in shop.doc("show", "TC-001", code=1)


def test_an_unknown_document_is_named_with_what_may_be_meant(shop: GraphScene):  # C-3
    said = shop.doc("deps", "TD-00", code=1)
    assert "'TD-00'" in said
    assert "did you mean TD-001?" in said
    assert "ddx doc list" in shop.doc("deps", "nonsense", code=1)


def test_the_succession_is_shown_to_its_end(shop: GraphScene):  # G-6
    folder = f"{DESIGN}/technical-designs"
    for number in (2, 3):
        shop.write(
            f"{folder}/TD-00{number}.md",
            f"---\nddx: {{status: superseded, superseded_by: TD-00{number + 1}}}\n---\n# Old\n",
        )
    shop.write(f"{folder}/TD-004.md", "# Now\n")
    assert shop.ask("show", "TD-002")["succession"] == ["TD-003", "TD-004"]
    assert shop.ask("show", "TD-004")["supersedes"] == ["TD-003"]
    assert shop.ask("show", "TD-002")["review"]["state"] == "exempt"
    assert "superseded by TD-003 -> TD-004" in shop.doc("show", "TD-002")


def test_beads_that_name_a_document_are_shown_with_it(shop: GraphScene):  # G-7
    assert shop.ask("show", "TD-001")["beads"] == []
    shop.write(
        "beads.yaml",
        f"""
- {{id: by-spec, title: Build it, spec-id: TD-001}}
- {{id: by-slug, title: Build it too, spec-id: "FEAT-009, td-001-first-design"}}
- {{id: by-ref, title: Look at it, refs: [FEAT-001, "{TECHNICAL}"]}}
- {{id: by-both, title: Do all, spec-id: TD-001, refs: ["TD-001#goals"]}}
- {{id: by-chance, title: TD-001 stands in the title only, refs: [US-001]}}
- {{id: done, title: Done, spec-id: TD-001}}
""",
    )
    for line in (
        ("init",),
        ("create", "--from-file", "beads.yaml"),
        ("close", "done"),
        ("archive", "--max-size", "1b"),
    ):
        ended = shop.run("ddx", "bead", *line)
        assert ended.returncode == 0, ended.stderr
    beads = {bead["id"]: bead for bead in shop.ask("show", "TD-001")["beads"]}
    assert {name: bead["by"] for name, bead in beads.items()} == {
        "by-spec": ["spec-id"],
        "by-slug": ["spec-id"],
        "by-ref": ["refs"],
        "by-both": ["spec-id", "refs"],
        "done": ["spec-id"],
    }
    assert [name for name, bead in beads.items() if bead["archived"]] == ["done"]
    assert "by-both" in shop.doc("show", "TD-001")


def test_what_a_document_follows_from_is_drawn_as_a_tree(shop: GraphScene):
    assert shop.doc("deps", "TP-001").splitlines() == [
        "TP-001 [tp] First tests",
        "└─ TD-001 [td] First design",
        "   ├─ US-001 [us] First story",
        "   └─ SD-001 [sd] Test solution",
        "      └─ FEAT-001 [feat] Test feature",
        "         └─ prd [prd] The product",
    ]
    assert "it follows from nothing" in shop.doc("deps", "prd")
    found = shop.ask("deps", "TP-001", "--depth", "2")
    assert {row["id"]: row["via"] for row in found["documents"]} == {
        "US-001": ["TP-001", "TD-001", "US-001"],
        "SD-001": ["TP-001", "TD-001", "SD-001"],
        "TD-001": ["TP-001", "TD-001"],
    }


def test_what_follows_from_a_document_is_drawn_as_a_tree(shop: GraphScene):
    assert shop.doc("dependents", "US-001").splitlines() == [
        "US-001 [us] First story",
        "└─ TD-001 [td] First design",
        "   ├─ TP-001 [tp] First tests",
        f"   │  └─ {OF_THE_PLAN} [test]",
        f"   └─ {OF_THE_DESIGN} [test]",
    ]
    assert ids(shop.ask("dependents", "SD-001")["documents"])[:2] == ["TD-001", "TP-001"]


def test_a_title_cannot_steer_the_terminal(shop: GraphScene):  # C-5
    shop.write(STORY, "# First \x1b[31mstory\n")
    for words in (("list",), ("show", "US-001"), ("dependents", "US-001"), ("impact", "US-001")):
        assert "\x1b" not in shop.doc(*words)
    assert "\\x1b[31m" in shop.doc("list")


def test_questions_leave_no_trace_in_git(shop: GraphScene):
    for words in (("list",), ("show", "prd"), ("stale",), ("validate",)):
        shop.doc(*words)
    assert shop.run("git", "status", "--porcelain", "--untracked-files=all").stdout == ""


# -- stale, stamp, history (G-8) -----------------------------------------------------------


def test_a_document_is_stale_when_its_upstream_changed_and_so_is_all_that_follows(shop: GraphScene):
    before = (shop.root / TECHNICAL).read_bytes()
    shop.doc("stamp", "TD-001", "TP-001")
    assert (shop.root / TECHNICAL).read_bytes() == before
    assert shop.ask("stale")["stale"] == []
    shop.write(STORY, "# First story\n\nWith another ending.\n")
    found = shop.ask("stale")
    assert [(row["id"], row["reasons"], row["cause"]) for row in found["stale"]] == [
        ("TD-001", ["US-001 changed since the review"], None),
        ("TP-001", ["TD-001, which it follows from, is stale"], "TD-001"),
    ]
    assert found["counts"] == {"stale": 2, "by_consequence": 1, "unreviewed": 5, "up_to_date": 0}
    told = shop.doc("stale")
    assert "US-001 changed since the review" in told
    assert "by consequence" in told
    assert shop.ask("show", "TP-001")["review"]["state"] == "stale"


def test_a_new_review_makes_it_fresh_again(shop: GraphScene):
    shop.doc("stamp", "TD-001", "TP-001")
    shop.write(STORY, "# First story\n\nWith another ending.\n")
    shop.doc("stamp", "TD-001")
    assert shop.ask("stale")["stale"] == []
    assert shop.ask("show", "TD-001")["review"]["state"] == "reviewed"


def test_upstream_that_came_or_went_is_a_reason_too(shop: GraphScene):
    shop.doc("stamp", "TD-001")
    shop.write(TECHNICAL, "# First design\n\n[[US-002, TP-001]]\n")
    assert shop.ask("stale")["stale"][0]["reasons"] == [
        "US-002 is new upstream",
        "US-001 is no longer upstream",
    ]


def test_what_was_never_stamped_is_a_bucket_of_its_own(shop: GraphScene):
    assert ids(shop.ask("stale")["unreviewed"]) == DOCUMENTS
    assert "never reviewed: prd, FEAT-001" in shop.doc("stale")
    shop.doc("stamp", "--all")
    assert shop.ask("stale")["counts"]["up_to_date"] == len(DOCUMENTS)


def test_a_stamp_says_who_when_and_against_what(shop: GraphScene):
    (stamp,) = shop.ask("stamp", "TP-001")
    assert (stamp["id"], list(stamp["against"])) == ("TP-001", ["TD-001"])
    (agent,) = shop.ask("stamp", "TP-001", DDX_AGENT_NAME="reviewer-7")
    assert agent["by"] == "reviewer-7"
    lines = (shop.root / ".ddx/reviews.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["by"] for line in lines] == [stamp["by"], "reviewer-7"]


def test_a_person_stamps_under_the_name_that_git_knows(shop: GraphScene):
    shop.run("git", "config", "user.name", "Ada")
    assert shop.doc("stamp", "TP-001") == "TP-001: reviewed by Ada, against TD-001\n"


def test_what_is_not_reviewed_cannot_be_stamped_and_nothing_else_is(shop: GraphScene):
    shop.write(STORY, "---\nddx:\n  status: deprecated\n---\n# First story\n")
    assert "US-001 is deprecated" in shop.doc("stamp", "TD-001", "US-001", code=1)
    assert f"{OF_THE_PLAN} is of type test" in shop.doc("stamp", OF_THE_PLAN, code=1)
    assert not (shop.root / ".ddx/reviews.jsonl").exists()


@pytest.mark.parametrize("words", [(), ("TD-001", "--all")])
def test_stamping_wants_documents_or_all_of_them(shop: GraphScene, words: tuple[str, ...]):  # C-2
    assert "ddx doc stamp TD-001" in shop.doc("stamp", *words, code=2)


def test_a_broken_line_among_the_reviews_is_named(shop: GraphScene):  # C-3
    shop.doc("stamp", "TD-001")
    with (shop.root / ".ddx/reviews.jsonl").open("a") as file:
        file.write("{half a li\n")
    assert "reviews.jsonl:2" in shop.doc("stale", code=1)


def test_history_tells_reviews_and_commits_across_a_rename(shop: GraphScene):
    shop.doc("stamp", "TD-001")
    renamed = TECHNICAL.replace("first", "better")
    shop.run("git", "mv", TECHNICAL, renamed)
    shop.run("git", "commit", "--quiet", "-m", "a better name")
    found = shop.ask("history", "TD-001")
    assert found["path"] == renamed
    assert [item["subject"] for item in found["commits"]] == [
        "a better name",
        "the first documents",
    ]
    assert [list(item["against"]) for item in found["reviews"]] == [["SD-001", "US-001"]]
    told = shop.doc("history", "TD-001")
    assert "SD-001, US-001" in told
    assert "a better name" in told


def test_a_document_without_history_says_so(shop: GraphScene):
    shop.write(f"{FRAME}/user-stories/US-003.md", "# Third story\n")
    told = shop.doc("history", "US-003")
    assert "never reviewed" in told
    assert "never committed" in told


# -- validate (G-10) -----------------------------------------------------------------------


def test_the_tree_is_valid_but_for_sections(shop: GraphScene):
    found = shop.ask("validate")
    assert {item["kind"] for item in found} == {"missing-section"}
    assert len(found) == len(DOCUMENTS)
    assert "0 errors, 7 warnings" in shop.doc("validate")


NEW = f"{DESIGN}/technical-designs/TD-009-new.md"


def linked_in_a_loop(shop: GraphScene) -> None:
    os.symlink("TD-009-new.md", shop.root / NEW)


def huge(shop: GraphScene) -> None:
    shop.write(NEW, "# Huge\n")
    os.truncate(shop.root / NEW, 50_000_000)


ERRORS: dict[str, tuple[str, int, str | bytes | Callable[[GraphScene], None]]] = {
    "unreadable": (NEW, 1, linked_in_a_loop),
    "too-large": (NEW, 1, huge),
    "front-matter": (NEW, 3, "---\nddx:\n\tid: TD-009\n---\n# A tab\n"),
    "not-utf-8": (NEW, 3, b"# Latin\n\nna\xefve\n"),
    "link-bomb": (NEW, 3, "# Bomb\n\n" + "[[US-001]] " * 5_001),
    "duplicate-id": (NEW, 3, "---\nddx:\n  id: US-001\n---\n# Not a story\n"),
    "gap": (NEW, 4, "# Leads nowhere\n\nsee\n[[TD-404]]\n"),
}
WARNINGS: dict[str, tuple[str, int, str | bytes]] = {
    "bom": (NEW, 1, b"\xef\xbb\xbf# Marked\n"),
    "crlf": (NEW, 1, "# From afar\r\n"),
    "misplaced": (f"{FRAME}/user-stories/TD-009-new.md", 1, "# Lost\n"),
    "unknown-type": ("docs/helix/notes/thoughts.md", 1, "# Thoughts\n"),
    "no-successor": (NEW, 1, "---\nddx:\n  status: superseded\n---\n# Gone\n"),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_has_its_place_ends_with_1_and_leaves_the_rest_usable(shop: GraphScene, kind: str):
    path, line, content = ERRORS[kind]
    if isinstance(content, str | bytes):
        shop.write(path, content)
    else:
        content(shop)
    assert shop.findings(code=1) == [(kind, path, line)]
    assert f"{path}:{line} {kind}: " in shop.doc("validate", code=1)
    assert set(DOCUMENTS) <= set(ids(shop.ask("list")))
    assert "TP-001" in ids(shop.ask("impact", "US-001")["impacted"])


@pytest.mark.parametrize("kind", WARNINGS)
def test_a_warning_has_its_place_and_ends_with_0(shop: GraphScene, kind: str):
    path, line, content = WARNINGS[kind]
    shop.write(path, content)
    assert shop.findings(code=0) == [(kind, path, line)]
    assert f"{path}:{line} {kind}: " in shop.doc("validate")


def test_a_circle_is_named_and_every_walk_ends(shop: GraphScene):  # G-6
    folder = f"{DESIGN}/technical-designs"
    for one, other in (("TD-007", "TD-008"), ("TD-008", "TD-007")):
        shop.write(f"{folder}/{one}.md", f"---\nddx:\n  depends_on: {other}\n---\n# {one}\n")
    ((kind, path, line),) = shop.findings(code=1)
    assert (kind, line) == ("cycle", 3)
    assert path.startswith(f"{folder}/TD-00")
    assert ids(shop.ask("impact", "TD-007")["impacted"]) == ["TD-008"]
    assert ids(shop.ask("deps", "TD-007")["documents"]) == ["TD-008"]


def test_a_page_that_names_what_is_below_it_makes_no_circle(shop: GraphScene):  # G-5
    shop.write(FEAT, "# Test feature\n\n[[prd, US-001, US-002]]\n")
    assert shop.findings(code=0) == []


def test_a_page_with_its_sections_is_clean_however_they_are_numbered(shop: GraphScene):
    sections = "".join(
        f"## {heading}\n\nYes.\n\n"
        for heading in ("1. Story", "2) acceptance criteria", "Edge cases:")
    )
    shop.write(STORY, f"# First story\n\n{sections}")
    assert STORY not in {item["path"] for item in shop.ask("validate")}


def test_what_is_parked_or_history_may_lie_anywhere_and_lack_anything(shop: GraphScene):
    shop.write("docs/helix/parking-lot/FEAT-008-later.md", "# Later\n")
    shop.write(
        f"{FRAME}/user-stories/US-008-old.md",
        "---\nddx: {status: superseded, superseded_by: US-001}\n---\n# Old\n",
    )
    found = shop.ask("validate")
    assert not [item for item in found if item["path"].endswith("US-008-old.md")]
    assert not [item for item in found if item["kind"] == "misplaced"]

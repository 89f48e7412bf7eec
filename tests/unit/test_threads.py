"""Down from a requirement and up from a commit are the same way (V-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.documents import AT, DESIGN, FRAME, SEED, graph_of_files

from ddx.git.history import HistoryCommit
from ddx.tracker.bead import Bead
from helix.verification.attempt_history import PastAttempt
from helix.verification.trace_links import (
    TraceInput,
    TraceLinks,
    TraceNode,
    commits_in,
    requirements_in,
    walk,
)

SHOP = SEED | {
    f"{FRAME}/features/FEAT-002-pay.md": "# Pay\n\n[[prd]]\n",
    "src/cart.py": f"# {AT}spec-ref TD-001\n",
}
TIME = "2026-03-27T12:00:00Z"
ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def bead(bead_id: str, spec: str = "", **fields: Any) -> dict[str, Any]:
    return {"id": bead_id, "title": f"Do {bead_id}", "status": "open", "spec-id": spec, **fields}


def told(commit: str, *beads: str, attempt: str = "", author: str = "Mara") -> HistoryCommit:
    return HistoryCommit(
        commit=commit,
        at=TIME,
        author=author,
        subject=f"made {commit[:4]}",
        beads=beads,
        attempt=attempt,
    )


def landed(name: str, *beads: str, commit: str = "", **fields: Any) -> PastAttempt:
    return PastAttempt(
        id=name,
        beads=beads,
        action="build",
        harness="claude",
        model="",
        at=TIME,
        outcome="landed",
        commit=commit,
        result=commit,
        **fields,
    )


def threads(
    *rows: dict[str, Any],
    attempts: tuple[PastAttempt, ...] = (),
    commits: tuple[HistoryCommit, ...] = (),
    files: Mapping[str, str] = SHOP,
) -> tuple[TraceLinks, TraceInput]:
    known = TraceInput(
        graph_of_files(files),
        {row["id"]: Bead.of(row) for row in rows},
        attempts,
        commits={item.commit: item for item in commits},
    )
    return TraceLinks(known), known


def below(
    found: tuple[TraceLinks, TraceInput], doc_id: str, **by_hand: Any
) -> tuple[TraceNode, ...]:
    return found[0].below_document(found[1].graph.place[doc_id], **by_hand)


def above(
    found: tuple[TraceLinks, TraceInput], commit: HistoryCommit, *paths: str
) -> tuple[TraceNode, ...]:
    places = [found[1].graph.at_path[path] for path in paths]
    return found[0].above_commit(commit, places)


def names(nodes: tuple[TraceNode, ...], kind: str) -> list[str]:
    return [node.id for node in walk(nodes) if node.kind == kind]


def way(nodes: tuple[TraceNode, ...]) -> list[str]:
    """The first child of each, to the end."""
    found = []
    while nodes:
        found.append(nodes[0].id)
        nodes = nodes[0].children
    return found


def test_a_requirement_leads_to_its_commits_and_they_lead_back():
    made = told(ONE, "app-1", attempt="a1")
    found = threads(
        bead("app-1", "TD-001"), attempts=(landed("a1", "app-1", commit=ONE),), commits=(made,)
    )
    down = below(found, "FEAT-001")
    assert commits_in(down) == (ONE,)
    assert commits_in(below(found, "FEAT-002")) == ()
    up = above(found, made)
    assert way(up)[:3] == ["a1", "app-1", "TD-001"]
    assert {"US-001", "FEAT-001", "prd"} <= set(requirements_in(found[1].graph, up))


def test_the_nearest_requirement_is_named_first():
    found = threads(bead("app-1", "US-001"), commits=(told(ONE, "app-1"),))
    assert requirements_in(found[1].graph, above(found, told(ONE, "app-1"))) == (
        *("US-001", "FEAT-001", "prd"),
    )


def test_a_commit_that_was_rewritten_is_known_by_what_it_says_of_itself():
    again = told(TWO, "app-1", attempt="a1")
    found = threads(
        bead("app-1", "TD-001"), attempts=(landed("a1", "app-1", commit=ONE),), commits=(again,)
    )
    down = below(found, "TD-001")
    assert commits_in(down) == (TWO,)
    assert [node.note for node in walk(down) if node.id == ONE] == ["no branch holds it any more"]
    assert way(above(found, again))[:2] == ["a1", "app-1"]


def test_an_attempt_whose_record_is_gone_lives_on_in_its_commit():  # C-9
    found = threads(bead("app-1", "TD-001"), commits=(told(ONE, "app-1", attempt="gone"),))
    (attempt,) = [node for node in walk(below(found, "TD-001")) if node.kind == "attempt"]
    assert (attempt.id, attempt.note) == ("gone", "its record is no longer kept")
    assert commits_in((attempt,)) == (ONE,)


def test_what_was_kept_and_landed_later_is_the_work_of_the_first_attempt():
    kept = PastAttempt(
        id="a1",
        beads=("app-1",),
        action="build",
        harness="claude",
        model="",
        at=TIME,
        outcome="preserved",
        result=ONE,
    )
    later = PastAttempt(
        id="a2",
        beads=("app-1",),
        action="land",
        harness="claude",
        model="",
        at=TIME,
        outcome="landed",
        result=ONE,
        commit=ONE,
        lands="a1",
    )
    made = told(ONE, "app-1", attempt="a1")
    found = threads(bead("app-1", "TD-001"), attempts=(kept, later), commits=(made,))
    down = below(found, "TD-001")
    assert names(down, "attempt") == ["a1"]
    assert commits_in(down) == (ONE,)
    assert "landed later" in next(node.note for node in walk(down) if node.id == "a1")


def test_a_batch_leads_up_to_all_its_beads():
    made = told(ONE, "app-1", "app-2", attempt="a1")
    found = threads(
        bead("app-1", "TD-001"),
        bead("app-2", "FEAT-002"),
        attempts=(landed("a1", "app-1", "app-2", commit=ONE),),
        commits=(made,),
    )
    up = above(found, made)
    assert names(up, "bead") == ["app-1", "app-2"]
    assert {"FEAT-001", "FEAT-002"} <= set(requirements_in(found[1].graph, up))
    assert commits_in(below(found, "FEAT-001")) == commits_in(below(found, "FEAT-002")) == (ONE,)


def test_parts_of_an_epic_follow_from_what_it_follows_from():
    made = told(ONE, "part", attempt="a1")
    found = threads(
        bead("epic", "FEAT-001"),
        bead("part", parent="epic"),
        bead("elsewhere", "FEAT-002", parent="epic"),
        commits=(made, told(TWO, "elsewhere")),
    )
    assert set(commits_in(below(found, "FEAT-001"))) == {ONE, TWO}
    assert "FEAT-001" in requirements_in(found[1].graph, above(found, made))
    both = requirements_in(found[1].graph, above(found, told(TWO, "elsewhere")))
    assert {"FEAT-001", "FEAT-002"} <= set(both)


def test_a_bead_that_names_several_documents_stands_once():
    found = threads(bead("app-1", "TD-001", refs=["FEAT-001", "US-001"]))
    assert names(below(found, "FEAT-001"), "bead") == ["app-1"]


def test_a_bead_closed_by_hand_with_a_commit_justifies_it():
    closed = bead("app-1", "TD-001", status="closed", closing_commit_sha=ONE[:9])
    made = told(ONE)
    found = threads(closed, commits=(made,))
    assert commits_in(below(found, "FEAT-001")) == (ONE,)
    assert way(above(found, made))[:2] == ["app-1", "TD-001"]


def test_a_commit_without_a_bead_hangs_on_the_files_that_it_touched():
    found = threads(bead("app-1", "TD-001"), commits=(told(TWO, "app-1"),))
    touched = {"src/cart.py": (told(ONE), told(TWO, "app-1"))}
    down = below(found, "FEAT-001", by_hand=touched)
    assert [(node.id, node.note) for node in walk(down) if "without a bead" in node.note] == [
        (ONE, "by Mara, without a bead")
    ]
    up = above(found, told(ONE), "src/cart.py")
    assert way(up)[:2] == ["src/cart.py", "TD-001"]
    assert "FEAT-001" in requirements_in(found[1].graph, up)


def test_a_bead_that_names_no_document_leaves_it_to_the_files():
    made = told(ONE, "app-1")
    found = threads(bead("app-1"), commits=(made,))
    assert not found[0].is_explained(made)
    up = above(found, made, "src/cart.py")
    assert [node.id for node in up] == ["app-1", "src/cart.py"]
    down = below(found, "FEAT-001", by_hand={"src/cart.py": (made,)})
    assert commits_in(down) == (ONE,)


def test_a_bead_that_the_tracker_does_not_know_is_said_so():
    found = threads(commits=(told(ONE, "lost"),))
    (node,) = above(found, told(ONE, "lost"))
    assert (node.id, node.note) == ("lost", "the tracker does not know it")


def test_what_took_the_place_of_a_document_leads_back_to_it():  # G-6
    old = "---\nddx:\n  status: superseded\n  superseded_by: SD-002\n---\n# Old\n[[FEAT-001]]\n"
    files = SHOP | {
        f"{DESIGN}/solution-designs/SD-009-old.md": old,
        f"{DESIGN}/solution-designs/SD-002-new.md": "# New\n",
    }
    made = told(ONE, "app-1")
    found = threads(bead("app-1", "SD-002"), commits=(made,), files=files)
    assert commits_in(below(found, "FEAT-001")) == (ONE,)
    assert "FEAT-001" in requirements_in(found[1].graph, above(found, made))


def test_rings_come_to_an_end():
    ring = {
        f"{FRAME}/features/FEAT-001.md": "---\nddx:\n  depends_on: [FEAT-002]\n---\n# A\n",
        f"{FRAME}/features/FEAT-002.md": "---\nddx:\n  depends_on: [FEAT-001]\n---\n# B\n",
    }
    made = told(ONE, "app-1")
    rows = bead("app-1", "FEAT-001", parent="app-2"), bead("app-2", parent="app-1")
    found = threads(*rows, commits=(made,), files=ring)
    assert commits_in(below(found, "FEAT-002")) == (ONE,)
    assert set(requirements_in(found[1].graph, above(found, made))) == {"FEAT-001", "FEAT-002"}
    place = found[1].graph.place["FEAT-001"]
    assert [node.is_repeated for node in walk(found[0].above_document(place))] == [False, True]


@pytest.mark.parametrize("word", ["preserved", "failed", "no_changes", ""])
def test_an_attempt_that_made_nothing_of_the_branch_has_no_commit(word: str):
    tried = PastAttempt(
        id="a1",
        beads=("app-1",),
        action="build",
        harness="codex",
        model="",
        at=TIME,
        outcome=word,
        reason="no",
        result=THREE,
    )
    found = threads(bead("app-1", "TD-001"), attempts=(tried,))
    (node,) = [node for node in walk(below(found, "TD-001")) if node.kind == "attempt"]
    assert node.children == ()
    assert "codex" in node.note

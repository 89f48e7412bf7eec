"""Authority is the authorization boundary: which documents an attempt may edit (X-27)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.beads import bead
from tests.support.documents import graph_of_files, pages

from ddx.attempts.commit import find_overreach
from ddx.documents.committed import DocumentRank
from ddx.documents.definitions import define
from ddx.proof import Governance
from ddx.tracker.bead import Bead

PRD, FEAT, TD, TP, REPORT = (
    f"docs/helix/{name}.md" for name in ("PRD-1", "FEAT-1", "TD-1", "TP-1", "RPT-1")
)
METRIC = "docs/helix/06-iterate/metrics/start-up.yaml"
NEW = "docs/helix/ADR-1.md"


def excess(paths: list[str], *beads: dict[str, Any]) -> str:
    graph = graph_of_files(pages(PRD_1="", FEAT_1="", TD_1="", TP_1="", RPT_1="", IP_1=""))
    rows = [bead(f"app-{number}", **fields) for number, fields in enumerate(beads, start=1)]
    wanted = [Bead(row["id"], row) for row in rows]
    files = {
        path: DocumentRank(graph.ids[n], graph.tiers[n]) for n, path in enumerate(graph.paths)
    } | {METRIC: DocumentRank("start-up", 8)}
    governing = Governance.decide(graph, wanted, define({}, {}), files=files)
    return find_overreach(paths, governing, wanted)


@pytest.mark.parametrize(
    ("path", "fields", "is_free"),
    [
        (PRD, {"spec__id": "TD-1"}, False),
        (FEAT, {"spec__id": "TD-1"}, False),
        (TD, {"spec__id": "TD-1"}, True),
        (TP, {"spec__id": "TD-1"}, True),
        (REPORT, {"spec__id": "TD-1"}, True),
        (METRIC, {"spec__id": "TD-1"}, True),
        (METRIC, {"spec__id": "IP-1"}, False),
        (PRD, {"spec__id": "TD-1", "refs": ["PRD-1"]}, True),
        (PRD, {"spec__id": "TD-1", "refs": [PRD]}, True),
        (PRD, {"spec__id": "TD-1", "paths": [PRD]}, True),
        (PRD, {"spec__id": "TD-1", "paths": [f"./{PRD}"]}, True),
        (PRD, {"spec__id": "TD-1", "paths": ["docs/helix", "docs/**", "docs/helix/*.md"]}, False),
        (PRD, {"spec__id": "TD-1", "title": "Edit PRD-1", "description": f"mend {PRD}"}, False),
        (FEAT, {"refs": ["PRD-1", "TD-1"]}, False),
        (FEAT, {"refs": ["PRD-1"]}, True),
        (TD, {"spec__id": "RPT-1"}, False),
        (TD, {}, False),
        (REPORT, {}, False),
        (TD, {"paths": [TD]}, True),
        (NEW, {}, True),
        ("src/app.py", {}, True),
        ("docs/helix/notes.txt", {}, True),
    ],
)
def test_a_bead_may_edit_what_it_names_and_what_stands_no_higher(path, fields, is_free):
    assert (excess([path], fields) == "") is is_free


def test_the_reason_names_the_document_the_bead_and_what_it_stands_on():
    assert excess(["src/app.py", PRD, NEW], {"spec__id": "TD-1"}) == (
        f"it edits PRD-1 ({PRD}), which app-1 neither names nor may change by the authority of TD-1"
    )
    assert excess([TD], {}).endswith("neither names nor may change by any governing document")


def test_in_a_batch_an_edit_needs_one_bead_that_may_make_it():
    beads = ({"spec__id": "TD-1"}, {"spec__id": "FEAT-1"})
    assert excess([FEAT, TD], *beads) == ""
    assert "app-1 and app-2 neither name" in excess([PRD, TD], *beads)


def test_many_edits_are_told_in_few_words():
    said = excess([PRD, FEAT, TD, TP, REPORT, METRIC, PRD], {})
    assert " and 1 more, which" in said
    assert METRIC not in said

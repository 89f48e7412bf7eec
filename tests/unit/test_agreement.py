"""A warning where a bead and what is required of it do not fit (T-17)."""

from __future__ import annotations

import pytest
from tests.support.beads import bead
from tests.support.documents import graph_of_files, pages

from ddx.documents.catalog import definitions_of
from ddx.proof import Governance
from ddx.proof.plan import find_disagreements
from ddx.tracker.bead import Bead

EXEC = "depends_on: [TD-1]\nexecution:\n  command: sh checks/all.sh src/old\n  required: true"
TEXTS = {
    "TD_1": "",
    "TD_2": "",
    "EXEC_1": EXEC,
    "EXEC_2": EXEC.replace("TD-1", "TD-2"),
    "EXEC_3": EXEC.replace("true", "false"),
}


def warned(acceptance: str, spec_id: str = "TD-1", **texts: str) -> list[str]:
    graph = graph_of_files(pages(**{**TEXTS, **texts}))
    row = bead(acceptance=acceptance, spec__id=spec_id)
    asked = Bead(row["id"], row)
    governing = Governance.decide(graph, [asked], definitions_of(graph, graph.metrics, []))
    found = find_disagreements(asked, governing)
    assert all(item.fix for item in found)
    return [item.why for item in found]


@pytest.mark.parametrize(
    "acceptance",
    [
        "",
        "`pytest -q` passes",
        "EXEC-001 passes",  # another way to write EXEC-1 would be another id
        "EXEC-1 passes.",
        "(`exec-1`) is green; **EXEC-1**",
        "docs/helix/03-test/executions/EXEC-9-new.md exists and EXEC-9 is required",
        "see docs/helix/EXEC-3.md",
        "src/older is removed",
        "src/new is removed",
    ],
)
def test_silence_and_agreement_are_not_warned_of(acceptance):
    assert warned(acceptance, EXEC_001=EXEC) == []


@pytest.mark.parametrize(
    ("acceptance", "said"),
    [
        ("EXEC-2 passes", "speaks of EXEC-2, which belongs to other documents"),
        ("EXEC-3 passes", "speaks of EXEC-3, which is not required"),
        ("EXEC-7-load passes", "speaks of EXEC-7, but there is no such execution document"),
    ],
)
def test_an_execution_that_would_not_run_is_no_proof(acceptance, said):
    [why] = warned(acceptance)
    assert said in why


@pytest.mark.parametrize(
    ("acceptance", "execution"),
    [
        ("`checks/all.sh` is removed", EXEC),
        ("checks/ is removed", EXEC),
        ("src/old is removed", EXEC),
        ("app/src/old is removed", f"{EXEC}\n  cwd: app"),
        ("app/ is removed", f"{EXEC}\n  cwd: app"),
        ("docs/helix/EXEC-1.md is removed", EXEC),
    ],
)
def test_what_a_required_execution_needs_must_not_be_removed(acceptance, execution):
    [why] = warned(acceptance, EXEC_1=execution)
    assert why.startswith("acceptance line 1 wants") and "EXEC-1 needs it" in why


def test_what_a_bead_on_other_documents_removes_does_not_matter():
    assert warned("src/old is removed", "TD-9", TD_9="") == []


def test_a_bead_that_no_attempt_can_prove_is_warned_of():
    [why] = warned("`pytest -q` passes", "TD-77")
    assert why.startswith("no attempt on it can be proven: app-1: no document at the base")

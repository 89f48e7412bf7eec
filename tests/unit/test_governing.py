"""What governs a bead, decided from a graph (X-11, G-6)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.beads import bead
from tests.support.documents import SEED, graph_of_files, pages

from ddx.documents.assembly import assemble
from ddx.documents.catalog import definitions_of
from ddx.documents.parser import parse, unreadable
from ddx.proof.governing import Governance
from ddx.tracker.bead import Bead

EXEC = "execution:\n  command: pytest -q\n  required: true"
COVERAGE = "metric:\n  direction: higher\n  command: cover\n  ratchet: true"
CHAIN = {"PRD_1": "", "FEAT_1": "depends_on: [PRD-1]", "TD_1": "depends_on: [FEAT-1]", "TD_2": ""}


def governed(files: dict[str, str], *beads: dict[str, Any]) -> Governance:
    graph = graph_of_files(files)
    rows = [bead(f"app-{number}", **fields) for number, fields in enumerate(beads, start=1)]
    definitions = definitions_of(graph, graph.metrics, [])
    return Governance.decide(graph, [Bead(row["id"], row) for row in rows], definitions)


def on(spec_id: str, **texts: str) -> Governance:
    """One bead on a document of the chain, which `texts` adds to."""
    return governed(pages(**{**CHAIN, **texts}), {"spec__id": spec_id})


def ids(found: Governance) -> list[str]:
    return [document.id for document in found.documents]


def required(found: Governance) -> list[str]:
    return [execution.id for execution in found.required]


# Documents


def test_the_named_document_comes_first_and_then_what_is_upstream_nearest_first():
    assert ids(on("TD-1")) == ["TD-1", "FEAT-1", "PRD-1"]
    assert [document.tier for document in on("TD-1").documents] == [6, 2, 1]


def test_what_is_downstream_or_beside_does_not_govern():  # G-6
    assert ids(on("FEAT-1")) == ["FEAT-1", "PRD-1"]
    assert ids(governed(SEED, {"spec__id": "US-001"})) == ["US-001", "FEAT-001", "prd"]


@pytest.mark.parametrize(
    "fields",
    [
        {"spec__id": "td-1-some-slug"},
        {"spec__id": "docs/helix/TD-1.md"},
        {"spec__id": "TD-1#goals"},
        {"refs": ["TD-1"]},
        {"refs": ["https://example.invalid/a", "src/app.py", "TD-1"]},
    ],
)
def test_a_document_is_named_by_id_slug_path_or_part(fields):
    found = governed(pages(**CHAIN), fields)
    assert ids(found) == ["TD-1", "FEAT-1", "PRD-1"]
    assert found.errors == ()


def test_who_names_a_test_case_means_its_plan():
    assert ids(governed(SEED, {"refs": ["TC-001"]}))[0] == "TP-001"


def test_the_documents_of_a_batch_come_together_each_once():
    found = governed(pages(**CHAIN), {"spec__id": "TD-1"}, {"spec__id": "TD-2", "refs": ["PRD-1"]})
    assert ids(found) == ["TD-1", "TD-2", "PRD-1", "FEAT-1"]
    assert found.named["app-2"].documents == ("TD-2", "PRD-1")


def test_a_superseded_document_upstream_does_not_govern_but_its_successor_does():  # G-6
    found = on("TD-1", FEAT_1="status: superseded\nsuperseded_by: FEAT-2", FEAT_2="")
    assert ids(found) == ["TD-1", "FEAT-2"]


def test_a_long_way_up_hides_nothing():
    texts = {f"TD_{n}": f"depends_on: [TD-{n + 1}]" for n in range(1, 30)}
    assert len(ids(governed(pages(**texts, TD_30=""), {"spec__id": "TD-1"}))) == 30


def test_a_bead_without_a_document_has_none_and_nothing_is_wrong():
    found = governed(pages(**CHAIN), {})
    assert (found.documents, found.errors) == ((), ())
    assert found.named["app-1"].is_governed is False


# Tiers


@pytest.mark.parametrize(
    ("fields", "tier"),
    [
        ({"spec__id": "TD-1"}, 6),
        ({"spec__id": "TD-1", "refs": ["PRD-1"]}, 6),
        ({"spec__id": "PRD-1", "refs": ["TD-1"]}, 1),
        ({"refs": ["PRD-1", "TD-1"]}, 6),
        ({"spec__id": "PRD-1,FEAT-1"}, 2),
        ({"spec__id": "RPT-1"}, None),
        ({"spec__id": "RPT-1,PRD-1"}, None),
        ({"spec__id": "US-9"}, 6),
    ],
)
def test_a_bead_works_at_the_lowest_tier_of_what_it_names(fields, tier):
    texts = {**CHAIN, "RPT_1": "", "US_9": "status: superseded\nsuperseded_by: TD-2"}
    named = governed(pages(**texts), fields).named["app-1"]
    assert (named.tier, named.is_governed) == (tier, True)


# Executions


@pytest.mark.parametrize("spec_id", ["TD-1", "FEAT-1", "EXEC-1"])
def test_a_required_execution_is_for_what_it_proves_and_all_below(spec_id):
    assert required(on(spec_id, EXEC_1=f"depends_on: [FEAT-1]\n{EXEC}")) == ["EXEC-1"]
    proving = f"{EXEC}\n  artifact_ids: [FEAT-1]"
    assert required(on(spec_id, EXEC_1=proving)) == ["EXEC-1"]


@pytest.mark.parametrize("spec_id", ["PRD-1", "TD-2"])
def test_it_is_not_for_what_is_above_or_beside(spec_id):
    assert required(on(spec_id, EXEC_1=f"depends_on: [FEAT-1]\n{EXEC}")) == []
    assert required(on(spec_id, EXEC_1=f"{EXEC}\n  artifact_ids: [FEAT-1]")) == []


def test_one_that_belongs_to_no_document_is_for_every_bead():
    texts = pages(**CHAIN, EXEC_1=EXEC)
    assert required(governed(texts, {})) == ["EXEC-1"]
    assert required(governed(texts, {"spec__id": "TD-2"})) == ["EXEC-1"]


def test_one_that_proves_what_nobody_knows_is_for_every_bead():
    assert required(on("TD-2", EXEC_1=f"{EXEC}\n  artifact_ids: [FEAT-1, no-such]")) == ["EXEC-1"]


def test_one_that_is_not_required_or_is_superseded_does_not_bind():
    assert required(on("TD-1", EXEC_1=EXEC.replace("true", "false"))) == []
    assert required(on("TD-1", EXEC_1=f"status: superseded\n{EXEC}")) == []


def test_what_proves_a_superseded_document_proves_its_successor():
    texts = {"TD_3": "status: superseded\nsuperseded_by: TD-2"}
    assert required(on("TD-2", **texts, EXEC_1=f"depends_on: [TD-3]\n{EXEC}")) == ["EXEC-1"]


# Ratchets


def test_a_ratchet_belongs_to_documents_as_an_execution_does():
    texts = {"MET_1": f"depends_on: [TD-1]\n{COVERAGE}", "MET_2": COVERAGE}
    assert [it.name for it in on("TD-1", **texts).ratchets] == ["MET-1", "MET-2"]
    assert [it.name for it in on("TD-2", **texts).ratchets] == ["MET-2"]


def test_a_metric_that_is_no_ratchet_and_one_of_the_past_do_not_bind():
    assert on("TD-1", MET_1=COVERAGE.replace("true", "false")).ratchets == ()
    assert on("TD-1", MET_1=f"status: superseded\n{COVERAGE}").ratchets == ()


def test_a_ratchet_that_an_execution_measures_is_where_the_execution_is():
    measured = f"depends_on: [TD-1]\n{EXEC}\nmetric:\n  name: cov\n  direction: higher\n  floor: 9"
    assert [it.name for it in on("TD-1", EXEC_1=measured).ratchets] == ["cov"]
    assert on("TD-2", EXEC_1=measured).ratchets == ()


# What makes a proof impossible


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"spec__id": "TD-77"}, "'TD-77', its spec-id"),
        ({"spec__id": "anything"}, "'anything', its spec-id"),
        ({"refs": ["TD-77"]}, "'TD-77', its refs"),
    ],
)
def test_a_document_that_is_not_there_is_an_error(fields, said):
    [error] = governed(pages(**CHAIN), fields).errors
    assert error.startswith("app-1: ") and said in error


def test_where_there_are_no_documents_a_spec_id_is_just_a_word():
    assert governed({}, {"spec__id": "TD-77"}).errors == ()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"FEAT_1": "depends_on: [PRD-9]"}, "docs/helix/FEAT-1.md:3: FEAT-1 names PRD-9"),
        ({"FEAT_1": "[[PRD-9]]"}, "FEAT-1 names PRD-9"),
        ({"FEAT_1": "[[no-such-page]]"}, "FEAT-1 names no-such-page"),
        ({"FEAT_1": "status: superseded\nsuperseded_by: FEAT-9"}, "FEAT-1 names FEAT-9"),
        ({"FEAT_1": "depends_on: {a: b}"}, "depends_on must be a list of ids"),
        ({"OTHER": "id: FEAT-1"}, "the id FEAT-1 is that of"),
    ],
)
def test_what_may_hide_something_upstream_is_an_error(texts, said):
    own = "FEAT-1" if "superseded" in str(texts) else "TD-1"
    [error] = on(own, **texts).errors
    assert said in error


@pytest.mark.parametrize(
    "texts",
    [
        {"FEAT_1": "[[US-9]]"},  # it would be downstream
        {"TD_2": "depends_on: [FEAT-9]"},  # no document of the bead's
        {"FEAT_5": "depends_on: {a: b}"},
        {"OTHER": "id: TD-2"},
    ],
)
def test_what_can_hide_nothing_of_the_bead_is_none(texts):
    assert on("TD-1", **texts).errors == ()


def test_a_lost_file_that_a_governing_document_names_is_an_error():
    files = pages(TD_1="depends_on: [ADR-1]", TD_2="")
    documents = [parse(path, text.encode()) for path, text in files.items()]
    graph = assemble([*documents, unreadable("docs/helix/ADR-1.md", "it is closed")])
    [doubt] = graph.doubts["TD-1"]
    assert doubt == "docs/helix/TD-1.md:3: TD-1 names ADR-1, which cannot be read here"
    assert graph.doubts.keys() == {"TD-1"}


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        (f"depends_on: [TD-1]\n{EXEC}\n  timeout_ms: x", True),
        (f"depends_on: [TD-1]\n{EXEC.replace('true', 'perhaps')}", True),
        (f"{EXEC}\n  timeout_ms: x", True),
        (f"depends_on: [TD-2]\n{EXEC}\n  timeout_ms: x", False),
        ("depends_on: [TD-1]\nexecution:\n  timeout_ms: x\n  required: no", False),
        ("depends_on: [TD-1]\nexecution:\n  timeout_ms: x", False),
        (f"status: superseded\ndepends_on: [TD-1]\n{EXEC}\n  timeout_ms: x", False),
        (f"depends_on: [TD-1]\n{COVERAGE}\n  tolerance: x", True),
        (f"depends_on: [TD-1]\n{COVERAGE.replace('ratchet: true', 'floor: x')}", True),
        (f"depends_on: [TD-1]\n{COVERAGE.replace('ratchet: true', 'tolerance: x')}", False),
    ],
)
def test_a_broken_definition_that_may_bind_the_bead_is_an_error(text, binds):
    found = on("TD-1", EXEC_1=text)
    assert bool(found.errors) is binds
    assert all(error.startswith("docs/helix/EXEC-1.md:") for error in found.errors)


def test_a_page_of_an_execution_that_cannot_be_read_is_an_error_for_every_bead():
    files = {**pages(**CHAIN), "docs/helix/03-test/executions/EXEC-1.md": "---\nddx: [\n---\n# x\n"}
    [error] = governed(files, {}).errors
    assert error.startswith("docs/helix/03-test/executions/EXEC-1.md:")


def test_the_errors_of_a_wild_project_stay_few():
    texts = {f"EXEC_{n}": f"{EXEC}\n  timeout_ms: x" for n in range(100)}
    errors = governed(pages(**texts), {}).errors
    assert len(errors) == 21
    assert errors[-1] == "... and 80 more"

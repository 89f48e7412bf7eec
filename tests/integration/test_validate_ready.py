"""`ddx bead validate-ready` beside documents: a warning, and never an exit code (T-17)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.contract import SCHEMAS, EmptyRepository, Ended

SCHEMA = Draft202012Validator(json.loads((SCHEMAS / "bead-validated.json").read_text()))


class ReadinessScene(EmptyRepository):
    def ddx(self, *line: str, code: int = 0) -> Ended:
        ended = self.run("ddx", "bead", *line)
        assert ended.returncode == code, (line, ended.stdout, ended.stderr)
        return ended

    def page(self, doc_id: str, *lines: str) -> None:
        place = self.root / f"docs/helix/{doc_id}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        head = "".join(f"  {line}\n" for line in lines)
        place.write_text(f"---\nddx:\n  id: {doc_id}\n{head}---\n# {doc_id}\n")

    def verdicts(self, *ids: str, code: int = 0) -> dict[str, dict[str, Any]]:
        found = json.loads(self.ddx("validate-ready", *ids, "--json", code=code).stdout)
        SCHEMA.validate(found)
        return {verdict["id"]: verdict for verdict in found}


@pytest.fixture
def shop(tmp_path: Path) -> ReadinessScene:
    shop = ReadinessScene(tmp_path)
    shop.ddx("init")
    return shop


def test_a_warning_says_what_does_not_fit_and_leaves_the_bead_ready(shop):
    shop.page("TD-001")
    shop.page("EXEC-001", "depends_on: [TD-001]", "execution: {command: make}")
    accepted = "EXEC-001 passes and `make` passes"
    bead = shop.ddx("create", "x", "--spec-id", "TD-001", "--acceptance", accepted).stdout.strip()
    shown = shop.ddx("validate-ready", bead).stdout
    assert f"{bead}, a warning: its acceptance speaks of EXEC-001, which is not required" in shown
    assert "write `required: true` in docs/helix/EXEC-001.md" in shown
    assert "1 of 1 beads say how they are proven" in shown
    verdict = shop.verdicts(bead)[bead]
    assert (verdict["ready"], len(verdict["warnings"])) == (True, 1)
    shop.page("EXEC-001", "depends_on: [TD-001]", "execution: {command: make, required: true}")
    assert shop.verdicts(bead)[bead]["warnings"] == []


def test_each_bead_is_looked_at_with_what_governs_it_alone(shop):
    shop.page("TD-001")
    shop.page("TD-002", "depends_on: [FEAT-404]")
    for name in ("one", "two"):
        shop.ddx("create", name, "--spec-id", "TD-001", "--verify", "true")
    lost = shop.ddx("create", "lost", "--spec-id", "TD-002", "--verify", "true").stdout.strip()
    warned = [bead for bead, verdict in shop.verdicts().items() if verdict["warnings"]]
    assert warned == [lost]


def test_without_documents_there_is_nothing_to_disagree_with(shop):
    bead = shop.ddx("create", "x", "--spec-id", "TD-404", "--verify", "true").stdout.strip()
    assert shop.verdicts()[bead]["warnings"] == []
    assert not (shop.root / ".ddx/cache/graph.idx").exists()

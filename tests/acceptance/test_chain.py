"""From a request to reviewed code, on documents that change on the way (S-1, S-3, S-23)."""

# @spec-ref SD-001

from __future__ import annotations

from pathlib import Path

from tests.support.attempts import CLEAN
from tests.support.passes import FEATURE
from tests.support.runs import task
from tests.support.stub_agents import (
    PRD_PATH,
    designed,
    draft,
    make_run_scene_with_reviewer,
    polished,
)

SPEC = {"spec-id": "FEAT-001"}
FEATURE_PATH = "docs/helix/01-frame/features/FEAT-001-prices.md"


def test_design_polish_build_and_review_follow_each_other_as_documents_change(
    tmp_path: Path,
) -> None:  # S-1, S-3, S-6, S-12, S-15, S-23
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", **SPEC, **{"execution-eligible": False})
    )
    path = hall.root / FEATURE_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FEATURE)
    hall.commit("a feature")
    # 1. check asks for a design; the design files a bead
    hall.answers("check", "NEXT_ACTION: DESIGN", "NEXT_ACTION: STOP\nREASON: all is done")
    new = draft("Show prices", acceptance="- `test -f prices.txt` passes")
    hall.plays("design", designed(new))
    # 2. while that bead is built, the operator changes what governs it
    edit = f"echo 'And in euro.' >> {FEATURE_PATH}; git commit -qam 'the operator'"
    once = f'test -e "$stage/edited" || {hall.second_terminal("sh", "-c", edit)}'
    agent = hall.stage / "bin" / "maker"
    does = f'echo 1 > prices.txt; {once}; touch "$stage/edited"; echo done > '
    agent.write_text(agent.read_text().replace("echo done > ", does))
    # 3. so it does not land, and is polished before it is built again
    hall.answers("polish", polished())
    done = hall.drain("FEAT-001", "--json").json
    order = hall.decisions()
    assert order[:3] == ["check", "design", "build"]
    assert order[3:6] == ["polish", "build", "review"]
    assert order[-1] == "stop"
    assert done["completed"] == 1
    assert (hall.root / "prices.txt").exists()
    assert hall.leftover() == CLEAN


def test_beads_under_a_document_that_changed_are_polished_before_they_are_built(
    tmp_path: Path,
) -> None:  # S-3
    hall = make_run_scene_with_reviewer(
        tmp_path / "w",
        task("app-1", priority=0),
        task("app-2", **{"spec-id": "prd"}),
    )
    edit = f"echo 'R-2 in euro' >> {PRD_PATH}; git commit -qam 'the operator'"
    hall.builds("app-1", f"{hall.second_terminal('sh', '-c', edit)}\necho x > app-1.txt\n")
    hall.answers("polish", polished(changes=[{"id": "app-2", "description": "In euro."}]))
    hall.drain("--no-auto-review")
    assert [call.strip() for call in hall.calls()][:3] == ["build app-1", "polish", "build app-2"]
    assert hall.rows()["app-2"]["description"] == "In euro."
    assert set(hall.statuses().values()) == {"closed"}

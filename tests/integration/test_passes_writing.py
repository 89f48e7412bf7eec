"""Passes that write documents: by the real command, with a stub for an agent (A-2 to A-4, A-10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.attempts import CLEAN
from tests.support.passes import DocumentScene, follow_up, make_document_scene, says, writes

from ddx.attempts.work import open_site
from ddx.base.values import changed
from ddx.project.project import find_project
from ddx.tracker.row import status_of
from ddx.tracker.tracker import Tracker
from helix.cli.context import make_desk
from helix.passes.document_passes import make_pass, order_pass
from helix.passes.filing import file_drafts_of_attempt, file_unfiled
from helix.project.settings import read_helix_settings

REPORT = "docs/helix/06-iterate/alignment-reviews/AR-today.md"
BACKFILLED = "docs/helix/06-iterate/backfill-reports/BF-today.md"
PLAN = "docs/helix/02-design/plan-2026-01-02.md"
STORY = "docs/helix/01-frame/user-stories/US-001-look.md"
FEATURE = "docs/helix/01-frame/features/FEAT-001-prices.md"
SESSION = "docs/helix/06-iterate/reports/experiment-fast.md"


@pytest.fixture
def office(tmp_path: Path) -> DocumentScene:
    return make_document_scene(tmp_path / "o")


def aligned(gaps: int = 0, *, status: str = "COMPLETE", report: str = REPORT) -> str:
    return says(f"ALIGN_STATUS: {status}", f"GAPS_FOUND: {gaps}", f"ALIGN_REPORT: {report}")


def evolved(updated: int, *, status: str = "COMPLETE", conflicts: str = "none") -> str:
    return says(
        f"EVOLUTION_STATUS: {status}", f"ARTIFACTS_UPDATED: {updated}", f"CONFLICTS: {conflicts}"
    )


def assert_nothing_landed(office: DocumentScene, before: str, action: str) -> None:
    assert office.tip() == before
    assert {line.split()[1] for line in office.dirty()} == {".ddx/beads.jsonl"}
    assert office.leftover() == CLEAN
    (row,) = office.supervisory(action)
    assert row["status"] == "open"
    assert "owner" not in row
    assert len(office.rows()) == 1


# -- what is true lands --------------------------------------------------------------------


def test_an_alignment_lands_its_report_and_files_its_gaps(
    office: DocumentScene,
) -> None:
    office.answers(
        writes(REPORT),
        says(
            follow_up("Show the currency", acceptance="- `test -f currency.txt` passes"),
            follow_up("Round the prices", depends_on=["Show the currency"]),
        ),
        aligned(2),
    )
    done = office.passed("align")
    assert (done["ended"], done["word"], done["report"]) == ("done", "COMPLETE", REPORT)
    assert done["has_changed"] is True
    assert REPORT in office.documents()
    assert done["commit"] == office.tip()
    (bead,) = office.supervisory("align")
    assert bead["status"] == "closed"
    assert bead["title"] == "align: repo"
    assert {"kind:planning", "action:align", "scope:repo"} <= set(bead["labels"])
    assert bead["closing_commit_sha"] == office.tip()
    first, second = (office.rows()[bead_id] for bead_id in done["created"])
    assert (first["title"], second["title"]) == ("Show the currency", "Round the prices")
    assert first["discovered-from"] == second["discovered-from"] == bead["id"]
    assert [edge["depends_on_id"] for edge in second["dependencies"]] == [first["id"]]
    assert office.leftover() == CLEAN


def test_the_bead_keeps_the_prompt_of_its_pass(office: DocumentScene) -> None:
    office.answers(writes(REPORT), aligned())
    office.passed("align")
    (bead,) = office.supervisory("align")
    events = office.ddx("events", bead["id"], "--json").json
    (prompt,) = [event["body"] for event in events if event["kind"] == "prompt"]
    assert "ALIGN_REPORT" in prompt
    assert "docs/helix/06-iterate/alignment-reviews/AR-" in prompt


def test_aligning_twice_files_nothing_the_second_time(office: DocumentScene) -> None:
    office.answers(writes(REPORT), says(follow_up("Show the currency")), aligned(1))
    office.passed("align")
    office.commit("the tracker")
    rows, tip = office.rows(), office.tip()
    again = office.passed("align")
    assert again["has_changed"] is False
    assert "nothing changed since" in again["reason"]
    assert (again["ended"], again["word"]) == ("done", "COMPLETE")
    assert office.calls == ["align"]
    assert (office.rows(), office.tip()) == (rows, tip)


@pytest.mark.parametrize("change", ["document", "code", "queue"])
def test_whatever_changes_is_worth_another_look(office: DocumentScene, change: str) -> None:
    office.answers(writes(REPORT), aligned())
    office.passed("align")
    if change == "queue":
        office.ddx("create", "Sell bells")
    else:
        office.put("app.py" if change == "code" else FEATURE, "# another\n")
        office.commit("a change")
    office.answers(writes(REPORT, "# A second look"), aligned())
    assert office.passed("align")["has_changed"] is True
    assert office.calls == ["align", "align"]


def test_a_complete_alignment_is_noted_on_the_beads_it_looked_at(
    office: DocumentScene,
) -> None:  # S-3
    looked_at = office.ddx("create", "Show prices", "--spec-id", "FEAT-001").id.split()[0]
    office.answers(writes(REPORT), aligned(status="INCOMPLETE"))
    office.passed("align")
    assert "polished-upstream" not in office.rows()[looked_at]
    office.answers(writes(REPORT, "# All of it"), aligned())
    office.passed("align")
    assert set(office.rows()[looked_at]["polished-upstream"]) == {"FEAT-001", "prd"}


def test_a_scope_is_another_pass(office: DocumentScene) -> None:  # A-4, C-10
    office.answers(writes(REPORT), aligned())
    office.passed("align")
    office.answers(writes(REPORT, "# Prices alone"), aligned())
    office.passed("align", "feat-001-prices")
    first, second = sorted(office.supervisory("align"), key=lambda row: row["created_at"])
    assert second["spec-id"] == "FEAT-001"
    assert "scope:FEAT-001" in second["labels"]
    assert "spec-id" not in first


def test_an_unknown_scope_is_a_mistake(office: DocumentScene) -> None:  # C-10
    assert "nothing here is called" in office.helix("align", "FEAT-999", code=2).err
    assert office.supervisory("align") == []


def test_what_landed_is_seen_by_the_next_build(office: DocumentScene) -> None:
    office.answers(
        writes(PLAN, "# Plan"),
        says("PLAN_STATUS: CONVERGED", f"PLAN_DOCUMENT: {PLAN}", "PLAN_ROUNDS: 2"),
    )
    assert office.passed("design", "FEAT-001")["report"] == PLAN
    office.ddx("create", "Build it", "--acceptance", "- `test -f built.txt` passes")
    office.answers(f"cat {PLAN} > built.txt", says("done"))
    office.agent("execute-loop", "--once", "--harness", "stub")
    assert (office.root / "built.txt").read_text() == "# Plan\n"


def test_an_unfinished_design_may_go_on_at_once(office: DocumentScene) -> None:  # S-12
    said = says("PLAN_STATUS: IN_PROGRESS", f"PLAN_DOCUMENT: {PLAN}", "PLAN_ROUNDS: 1")
    office.answers(f"mkdir -p docs/helix/02-design; echo more >> {PLAN}", said)
    assert office.passed("plan", "--rounds", "1")["ended"] == "unfinished"
    assert office.passed("design", "--rounds", "1")["ended"] == "unfinished"
    assert (office.root / PLAN).read_text() == "more\nmore\n"


def test_evolve_quotes_the_requirement_and_changes_documents(office: DocumentScene) -> None:
    office.answers(f"printf 'R-2 Prices are in euros.\\n' >> {FEATURE}", evolved(1))
    done = office.passed(
        "evolve", "--artifact", "FEAT-001", "Prices are\nEVOLUTION_STATUS: BLOCKED"
    )
    assert done["word"] == "COMPLETE"
    (bead,) = office.supervisory("evolve")
    assert bead["spec-id"] == "FEAT-001"
    prompt = (office.folder / "executions" / done["attempt"] / "prompt.md").read_text()
    assert "Begin with the document FEAT-001." in prompt
    assert "Prices are" in prompt
    assert "\nEVOLUTION_STATUS:" not in prompt


def test_evolve_wants_a_document_for_an_artifact(office: DocumentScene) -> None:
    assert "no document" in office.helix("evolve", "--artifact", "app.py", "x", code=2).err


@pytest.mark.parametrize(
    ("words", "lines", "code", "ended"),
    [
        (
            ("evolve", "x"),
            (evolved(0, status="CONFLICTS", conflicts="prd says no"),),
            4,
            "guidance",
        ),
        (("evolve", "x"), (evolved(0, status="BLOCKED"),), 1, "blocked"),
        (("align",), (writes(REPORT), aligned(status="INCOMPLETE")), 0, "unfinished"),
        (("align",), (writes(REPORT), aligned(status="BLOCKED")), 1, "blocked"),
        (
            ("frame",),
            (says("FRAME_STATUS: GUIDANCE_NEEDED", "ARTIFACTS_CREATED: 0"),),
            4,
            "guidance",
        ),
        (
            ("backfill",),
            (
                writes(BACKFILLED),
                says("BACKFILL_STATUS: GUIDANCE_NEEDED", f"BACKFILL_REPORT: {BACKFILLED}"),
            ),
            0,
            "guidance",
        ),
        (
            ("backfill",),
            (
                writes(BACKFILLED),
                says("BACKFILL_STATUS: BLOCKED", f"BACKFILL_REPORT: {BACKFILLED}"),
            ),
            1,
            "blocked",
        ),
    ],
)
def test_the_exit_code_says_how_it_ended(  # C-2, A-3
    office: DocumentScene, words: tuple[str, ...], lines: tuple[str, ...], code: int, ended: str
) -> None:
    office.answers(*lines)
    assert office.passed(*words, code=code)["ended"] == ended
    (bead,) = office.supervisory(words[0])
    assert bead["status"] == "closed"


# -- what is not true does not -------------------------------------------------------------

PLANNED = says("PLAN_STATUS: CONVERGED", f"PLAN_DOCUMENT: {PLAN}", "PLAN_ROUNDS: 6")
FRAMED = says("FRAME_STATUS: COMPLETE", "ARTIFACTS_CREATED: 2")
STORY_TEXT = "---\nddx:\n  id: US-001\n  depends_on: [FEAT-404]\n---\n# Look"
LIES = {
    "no report": (("align",), (writes(STORY), aligned()), "there is no such file"),
    "nothing made at all": (("align",), (aligned(),), "there is no such file"),
    "a report that was there": (
        ("align",),
        (writes(STORY), aligned(report=FEATURE)),
        "neither made nor changed",
    ),
    "a link for a report": (
        ("align",),
        (f"mkdir -p $(dirname {REPORT}); ln -s /etc/hostname {REPORT}", aligned()),
        "there is no such file",
    ),
    "more gaps than drafts": (
        ("align",),
        (writes(REPORT), says(follow_up("One")), aligned(2)),
        "there are 1 drafts",
    ),
    "a draft that cannot be read": (
        ("align",),
        (writes(REPORT), says("FOLLOW_UP: {broken"), aligned(1)),
        "there are 0 drafts",
    ),
    "more rounds than asked for": (("design",), (writes(PLAN), PLANNED), "5 were asked for"),
    "more documents than made": (("frame",), (writes(STORY), FRAMED), "there are 1 new documents"),
    "documents that were only changed": (
        ("frame",),
        (f"echo more >> {FEATURE}", says("FRAME_STATUS: COMPLETE", "ARTIFACTS_CREATED: 1")),
        "there are 0 new documents",
    ),
    "updates that are none": (("evolve", "x"), (evolved(1),), "there are 0 changed documents"),
    "code": (("evolve", "x"), (f"echo x >> {FEATURE}; echo 1 >> app.py", evolved(1)), "app.py"),
    "code beside documents": (
        ("align",),
        (writes(REPORT), writes("docs/helix/run.py"), aligned()),
        "docs/helix/run.py",
    ),
    "a dangling link": (
        ("frame",),
        (writes(STORY, STORY_TEXT), says("FRAME_STATUS: COMPLETE", "ARTIFACTS_CREATED: 1")),
        "FEAT-404",
    ),
    "a document that code needs": (("evolve", "x"), (f"rm {FEATURE}", evolved(1)), "app.py:1 gap"),
    "a metric that nobody measured": (
        ("experiment", "fast"),
        (
            writes(SESSION, "METRIC start_ms=41"),
            says("EXPERIMENT_STATUS: CONVERGED", "EXPERIMENT_BEST: start_ms=40"),
        ),
        "no document of this pass",
    ),
    "an end that nobody asked for": (
        ("experiment", "fast"),
        (
            writes(SESSION, "METRIC start_ms=41"),
            says("EXPERIMENT_STATUS: CLOSED", "EXPERIMENT_BEST: start_ms=41"),
        ),
        "was not asked for",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_fails_and_nothing_lands(office: DocumentScene, lie: str) -> None:
    words, lines, why = LIES[lie]
    before = office.tip()
    office.answers(*lines)
    done = office.passed(*words, code=1)
    assert done["ended"] == "untrue", done
    assert why in done["reason"]
    assert done["created"] == []
    assert_nothing_landed(office, before, words[0])


UNREADABLE = {
    "no trailer": says("I looked at everything."),
    "no report line": says("ALIGN_STATUS: COMPLETE", "GAPS_FOUND: 0"),
    "two that differ": says("ALIGN_STATUS: BLOCKED") + "\n" + aligned(),
    "a word that is none": aligned(status="FINE"),
    "a report outside": aligned(report="../AR-today.md"),
    "an absolute report": aligned(report="/tmp/AR-today.md"),
    "in a fence": says("```") + "\n" + aligned() + "\n" + says("```"),
}


@pytest.mark.parametrize("form", UNREADABLE)
def test_an_unreadable_trailer_is_no_answer(office: DocumentScene, form: str) -> None:
    before = office.tip()
    office.answers(writes(REPORT), UNREADABLE[form])
    done = office.passed("align", code=1)
    assert (done["ended"], done["values"], done["word"]) == ("unreadable", {}, "")
    assert "kept at refs/helix/" in done["reason"]
    assert_nothing_landed(office, before, "align")


@pytest.mark.parametrize(
    "lines",
    [
        (writes(BACKFILLED), says("BACKFILL_STATUS: COMPLETE")),
        (writes(BACKFILLED), says(f"BACKFILL_REPORT: {BACKFILLED}")),
        (says("BACKFILL_STATUS: COMPLETE", f"BACKFILL_REPORT: {BACKFILLED}"),),
    ],
)
def test_backfill_needs_status_report_line_and_file(
    office: DocumentScene, lines: tuple[str, ...]
) -> None:
    before = office.tip()
    office.answers(*lines)
    office.passed("backfill", code=1)
    assert_nothing_landed(office, before, "backfill")


def test_an_agent_that_fails_lands_nothing(office: DocumentScene) -> None:
    before = office.tip()
    office.answers(writes(REPORT), aligned(), "exit 3")
    assert office.passed("align", code=1)["ended"] == "failed"
    assert_nothing_landed(office, before, "align")


def test_an_error_that_was_there_before_is_nobodys_lie(office: DocumentScene) -> None:
    office.put("docs/helix/01-frame/broken.md", "---\nddx:\n  depends_on: [FEAT-404]\n---\n# x\n")
    office.commit("broken by hand")
    office.answers(writes(REPORT), aligned())
    assert office.passed("align")["ended"] == "done"


def test_a_failed_pass_is_tried_again_on_the_same_bead(office: DocumentScene) -> None:
    office.answers(says("nothing to say"))
    office.passed("align", code=1)
    (failed,) = office.supervisory("align")
    office.answers(writes(REPORT), aligned())
    office.passed("align")
    (bead,) = office.supervisory("align")
    assert (bead["id"], bead["status"]) == (failed["id"], "closed")


# -- who may run it ------------------------------------------------------------------------


def test_a_pass_that_somebody_holds_is_refused(office: DocumentScene) -> None:
    office.answers(says("nothing"))
    office.passed("align", code=1)
    (bead,) = office.supervisory("align")
    office.ddx("update", bead["id"], "--claim", "--owner", "mara")
    refused = office.helix("align", code=1)
    assert f"{bead['id']} (align: repo) is held by mara" in refused.err
    assert office.calls == ["align"]


def test_an_experiment_refuses_uncommitted_changes(office: DocumentScene) -> None:
    office.put("app.py", "edited\n")
    office.answers(says("x"))
    assert "uncommitted changes" in office.helix("experiment", "fast", code=1).err
    office.git("add", "--all")
    assert "uncommitted changes" in office.helix("experiment", "fast", code=1).err
    assert office.calls == []


def test_an_experiment_writes_its_session_and_is_closed(office: DocumentScene) -> None:
    best = "EXPERIMENT_BEST: start_ms=41.5"
    office.answers(
        writes(SESSION, "METRIC start_ms=41.5"),
        says("EXPERIMENT_STATUS: ITERATION_COMPLETE", best),
    )
    assert office.passed("experiment", "fast")["ended"] == "unfinished"
    office.commit("the tracker")
    office.answers(
        f"echo closed >> {SESSION}",
        says("EXPERIMENT_STATUS: CLOSED", best),
    )
    done = office.passed("experiment", "--close", "fast")
    assert (done["ended"], done["word"]) == ("done", "CLOSED")
    assert SESSION in office.documents()


def test_a_dry_run_prints_the_prompt_and_does_nothing(office: DocumentScene) -> None:
    before = office.worth_tracking()
    office.answers(says("x"))
    shown = office.helix("align", "--dry-run").out
    assert "Look from the top down" in shown
    assert office.calls == []
    assert office.worth_tracking() == before
    assert office.attempts() == []


@pytest.mark.parametrize(
    "command", ["align", "backfill", "design", "plan", "frame", "evolve", "experiment"]
)
def test_help_has_an_example(office: DocumentScene, command: str) -> None:  # C-3
    assert f"helix {command}" in office.helix(command, "--help").out


# -- while others work ---------------------------------------------------------------------


def meanwhile(office: DocumentScene, path: str, text: str) -> str:
    """Lines of shell: a person commits a file in the operator's checkout."""
    commit = f"git -C {office.root} -c user.name=M -c user.email=m@x"
    return (
        f"(unset GIT_DIR; cd {office.root} && {writes(path, text)} && git add {path} "
        f"&& {commit} commit --quiet -m meanwhile)"
    )


def test_what_others_landed_meanwhile_is_merged_and_not_held_against_it(
    office: DocumentScene,
) -> None:
    broken = "docs/helix/01-frame/features/FEAT-002-broken.md"
    office.answers(
        meanwhile(office, broken, "---\nddx:\n  depends_on: [FEAT-404]\n---\n# x"),
        meanwhile(office, "other.py", "1"),
        writes(STORY, "# Look"),
        says("FRAME_STATUS: COMPLETE", "ARTIFACTS_CREATED: 1"),
    )
    done = office.passed("frame")
    assert done["ended"] == "done"
    assert {broken, STORY} <= set(office.documents())


def test_what_only_breaks_together_does_not_land(office: DocumentScene) -> None:
    twin = "docs/helix/01-frame/user-stories/US-001-buy.md"
    office.answers(
        meanwhile(office, twin, "# Buy"),
        writes(STORY, "# Look"),
        says("FRAME_STATUS: COMPLETE", "ARTIFACTS_CREATED: 1"),
    )
    done = office.passed("frame", code=1)
    assert done["ended"] == "untrue"
    assert "the id US-001 is that of" in done["reason"]
    assert STORY not in office.documents()


def test_a_pass_waits_while_the_operator_edits_what_it_wrote(office: DocumentScene) -> None:
    office.answers(
        f"(cd {office.root} && echo mine >> {FEATURE})",
        f"echo theirs >> {FEATURE}",
        evolved(1),
    )
    done = office.passed("evolve", "x", code=1)
    assert done["ended"] == "pending"
    assert (done["commit"], done["has_changed"]) == ("", False)
    assert (office.root / FEATURE).read_text().endswith("mine\n")


@pytest.mark.parametrize("meanwhile", ["nothing", "a commit"])
def test_a_pass_that_waited_lands_later_and_its_drafts_are_filed_once(
    office: DocumentScene, meanwhile: str
) -> None:
    office.answers(
        f"(cd {office.root} && {writes(REPORT, 'mine')})",
        writes(REPORT),
        follow_up_line("Sum the cart"),
        aligned(1),
    )
    done = office.passed("align", code=1)
    assert (done["ended"], done["created"]) == ("pending", [])
    assert "Sum the cart" not in titles(office)
    (office.root / REPORT).unlink()
    if meanwhile == "a commit":
        office.put("other.py", "1\n")
        office.commit("of their own")
    office.answers(says("NEXT_ACTION: STOP"))
    assert "filed" in office.helix("check", code=None).err
    assert REPORT in office.documents()
    assert titles(office).count("Sum the cart") == 1
    (row,) = office.supervisory("align")
    assert row["status"] == "closed"
    assert "filed" not in office.helix("check", code=None).err
    assert titles(office).count("Sum the cart") == 1


class Mortal(Tracker):
    """Its process dies before the write that files drafts: the pass's own bead is closed then."""

    def change(self, decide: Any, *, expect: Any = None) -> Any:
        rows = self.snapshot().rows()
        if any(status_of(row) == "closed" and "action:align" in row["labels"] for row in rows):
            raise KeyboardInterrupt
        return super().change(decide, expect=expect)


def test_a_crash_after_the_landing_loses_no_draft_and_files_none_twice(
    office: DocumentScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, said in office.variables().items():
        monkeypatch.setenv(name, said)
    long = "x" * 5000
    office.answers(writes(REPORT), follow_up_line("Sum the cart", description=long), aligned(1))
    site = open_site(find_project(str(office.root)), lambda happening: None)
    settings = read_helix_settings(site.project, clock=site.clock)
    desk = make_desk(
        changed(site, tracker=Mortal(site.project, clock=site.clock)),
        settings,
        model=None,
        effort=None,
    )
    with pytest.raises(KeyboardInterrupt):
        make_pass(desk, order_pass(desk, "align"))
    assert REPORT in office.documents()
    assert "Sum the cart" not in titles(office)
    whole = changed(desk, site=site)
    assert len(list(file_unfiled(whole))) == 1
    (row,) = [row for row in office.rows().values() if row["title"] == "Sum the cart"]
    assert long in row["description"]
    office.ddx("close", row["id"], "--reason", "done already")  # an open one would be known
    attempt = office.attempts()[-1]
    again = file_drafts_of_attempt(
        whole, attempt, bead=row["discovered-from"], parent="", reply=follow(long)
    )
    assert again.created == ()  # as after a crash between the write and the removal of its file
    assert list(file_unfiled(whole)) == []
    assert titles(office).count("Sum the cart") == 1


def follow_up_line(title: str, **fields: str) -> str:
    return says(follow_up(title, **fields))


def follow(description: str) -> str:
    return follow_up("Sum the cart", description=description)


def titles(office: DocumentScene) -> list[str]:
    return [row["title"] for row in office.rows().values()]


def test_a_project_in_a_folder_may_not_write_beside_it(tmp_path: Path) -> None:
    office = make_document_scene(tmp_path / "o", below="shop")
    office.answers(writes(REPORT), writes("../docs/helix/beside.md"), aligned())
    done = office.passed("align", code=1)
    assert "../docs/helix/beside.md" in done["reason"]
    office.answers(writes(REPORT), aligned())
    assert office.passed("align")["report"] == REPORT

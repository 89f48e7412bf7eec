"""The snapshot behind `helix status`, what is told to a person who is not looking, and costs."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.objectives import TO_BUILDING

from ddx.base.values import changed
from ddx.console.screen import columns
from ddx.project.project import Project
from ddx.testing import FakeClock
from ddx.tracker.pending_landings import PendingLanding, write_pending
from ddx.tracker.queue import PENDING
from helix.cli.run_control import words_of
from helix.cli.status import frame
from helix.objective import Orchestrator, driver
from helix.objective import event_log as events
from helix.objective import plan as planning
from helix.objective.event_log import objective_id
from helix.project.settings import OCCASIONS, NotifyRoute
from helix.run import journal as controls
from helix.run.journal import ControlRequest, RunState, StateFile
from helix.run.notifications import Notice, Notifier, notices_between
from helix.run.run_lock import only_run
from helix.status.model import ListedClaim, Need, ProjectStatus, QueueStatus, RunStatus, WaitingBead
from helix.status.model import status_row as as_row
from helix.status.runs import ANSWER, ASKED, HOME, LOG, read_decisions
from helix.status.snapshot import read_status
from helix.verification.attempt_history import Spending

GONE = 2**22 + 1  # above every pid of this machine


class World:
    """A project with a clock of its own, and the files that a run leaves in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = Project(str(root))
        self.clock = FakeClock()
        (root / ".ddx").mkdir()

    def beads(self, *rows: dict[str, Any]) -> None:
        lines = [json.dumps({"title": row["id"], **row}) for row in rows]
        path = self.root / ".ddx/beads.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        os.utime(path, ns=(1, 1))

    def run(self, pid: int, **fields: Any) -> None:
        first = RunState("run-1", pid, started_at=self.clock.stamp(), agent="script")
        StateFile(self.project, self.clock, first).put(**fields)

    def file(self, *names: str, content: Any) -> None:
        path = self.root.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")

    @property
    def status(self) -> ProjectStatus:
        return read_status(self.project, clock=self.clock)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def said_in(lines: list[Any]) -> str:
    return "\n".join(lines)


def test_without_tracker_or_run_it_says_how_to_begin(world: World):  # S-25
    status = world.status
    assert (status.run, status.queue) == (None, None)
    (need,) = status.needs
    assert need.next.startswith("make one: helix init")
    assert "none yet; begin: helix run" in said_in(frame(status, width=80))


def test_an_objective_that_is_at_work_is_told_with_its_state(world: World):  # S-25
    assert world.status.objective is None
    with only_run(world.project, world.clock, objective=objective_id("Paint it")):
        begun = world.status.objective
        assert begun is not None
        assert (begun.text, begun.state, begun.pid) == ("", "INIT", os.getpid())
        Orchestrator("Paint it", str(world.root), clock=world.clock).transition("start")
        world.clock.advance(120)
        controls.ask(world.project, ControlRequest.STOP, run="it")
        shown = said_in(frame(world.status, width=80))
        assert "objective EXPLORING: Paint it" in shown
        assert "at work for 2 min" in shown
        assert "asked to stop" in shown
        assert "helix run" not in shown
        (log,) = world.root.glob(".helix/objectives/*/events.jsonl")
        log.write_text("rubbish\n")
        assert as_row(world.status)["objective"]["state"] == "unknown"


def stalled(world: World, words: str) -> Orchestrator:
    """One whose only way on is blocked."""
    found = Orchestrator(words, str(world.root), clock=world.clock)
    for event, told in TO_BUILDING:
        assert found.transition(event, told).success
    for task in ("t1", "t3"):
        found.transition("task_complete", {"task_id": task, "status": "blocked", "error": task})
    assert found.transition("stalled").success
    return found


def needs_of_objectives_in(world: World) -> list[Need]:
    world.beads()
    return list(world.status.needs)


def test_an_objective_that_stalled_is_told_with_the_command_that_goes_on(world: World):  # O-3
    id = stalled(world, "Paint it").id
    (need,) = needs_of_objectives_in(world)
    assert "“Paint it” is stalled" in need.what
    assert "t2 cannot go on because of t1, t3" in need.what
    assert need.next == f"helix objective resume --objective {id} --on-stall replan"
    assert as_row(world.status)["needs"] == [need.__dict__]


def test_a_question_of_an_objective_is_told_until_it_is_answered(world: World):  # O-1
    found = Orchestrator("Paint it", str(world.root), clock=world.clock)
    for event, told in TO_BUILDING[:3]:
        found.transition(event, told)
    asked = {"questions": ["Which ink?"]}
    found.note(ASKED, asked)
    found.transition("clarify_needed", asked)
    (need,) = needs_of_objectives_in(world)
    assert need.what.endswith("asks: Which ink?")
    assert need.next == f"helix objective resume --objective {found.id} --answer '...'"
    found.note(ANSWER, {"texts": ["blue"]})
    (need,) = needs_of_objectives_in(world)
    assert "broken off in PLANNING" in need.what


def test_of_objectives_that_were_broken_off_only_the_last_is_told(world: World):  # O-5
    for number, words in enumerate(("Paint it", "Sand it", "Sell it")):
        found = Orchestrator(words, str(world.root), clock=world.clock)
        found.transition("start")
        log = world.root / ".helix/objectives" / found.id / "events.jsonl"
        os.utime(log, ns=(number, number))
    (need,) = needs_of_objectives_in(world)
    assert "“Sell it” was broken off in EXPLORING" in need.what
    with only_run(world.project, world.clock, objective=objective_id("Sell it")):
        assert world.status.needs == ()  # somebody is at it
    world.run(os.getpid(), phase="building")
    assert world.status.needs == ()  # a run is: it could not go on now


def test_an_objective_that_has_ended_needs_nobody(world: World):  # O-1
    stalled(world, "Paint it").transition("abort")
    assert needs_of_objectives_in(world) == []


def test_the_log_of_an_objective_that_is_damaged_is_named(world: World):  # D-15
    id = stalled(world, "Paint it").id
    with open(world.root / ".helix/objectives" / id / "events.jsonl", "a") as log:
        log.write("rubbish\n")
    (need,) = needs_of_objectives_in(world)
    assert "events.jsonl:" in need.what
    assert "helix objective clear" in need.next


def test_where_objectives_keep_what_is_spelled_once_more_here() -> None:
    assert (HOME, LOG) == (events.OBJECTIVES, events.LOG)
    assert (ASKED, ANSWER) == (driver.ASKED, planning.ANSWER)


def test_a_tracker_that_cannot_be_read_is_named_and_the_rest_is_shown(world: World):  # T-11
    world.run(os.getpid(), phase="building")
    world.beads({"id": "one"})
    path = world.root / ".ddx/beads.jsonl"
    path.write_text('{"id":\n', encoding="utf-8")
    os.utime(path, ns=(1, 1))
    status = world.status
    assert "beads.jsonl:1" in status.needs[0].what
    assert "ddx bead doctor" in status.needs[0].next
    assert status.run is not None
    assert status.run.state == "running"


def test_a_live_run_is_running_with_its_phase_and_elapsed_time(world: World):
    world.beads({"id": "one", "verify": ["true"]})
    world.run(os.getpid(), phase="building", current_bead="one")
    world.clock.advance(90)
    status = world.status
    assert status.run is not None
    assert (status.run.state, status.run.elapsed_s) == ("running", 90)
    assert "running for 2 min: building one" in said_in(frame(status, width=0))


def test_attempts_beside_the_first_are_shown_with_the_time_of_the_cycle(world: World):  # S-38
    began = world.clock.stamp()
    live = [{"attempt": f"a{n}", "beads": [f"b{n}"], "since": began} for n in range(2)]
    world.run(os.getpid(), attempts=tuple(live), attempted_cycles=2, cycle_duration=34.0)
    world.clock.advance(180)
    said = said_in(frame(world.status, width=0))
    assert "beside it: b1, attempt a1" in said
    assert "0 completed of 2 attempted, the last took 34 s, this one goes on for 3 min" in said
    assert as_row(world.status)["run"]["attempts"][1]["attempt"] == "a1"


def test_a_run_that_was_killed_is_named_as_dead_with_what_to_type(world: World):  # S-25
    world.beads({"id": "one"})
    world.run(GONE, phase="building", current_bead="one")
    status = world.status
    assert status.run is not None
    assert status.run.state == "died"
    assert str(GONE) in status.needs[0].what
    assert "helix run" in status.needs[0].next
    assert "helix recover" in status.needs[0].next


def test_a_pid_that_another_process_has_now_is_not_the_run(world: World):  # D-5
    world.run(os.getpid(), pid_start="another-start")
    assert world.status.run is not None
    assert world.status.run.state == "died"


@pytest.mark.parametrize(("code", "needed"), [(0, 0), (130, 0), (1, 1), (4, 1)])
def test_a_run_that_ended_in_order_needs_nobody(world: World, code: int, needed: int):
    world.beads({"id": "one"})
    decision = {"action": "guidance", "question": "this or that?"}
    world.run(os.getpid(), stop_reason="so it is", exit_code=code, last_decision=decision)
    status = world.status
    assert status.run is not None
    assert status.run.state == "ended"
    assert list(status.needs) == [Need("so it is", "this or that?")] * needed


def test_what_a_run_stopped_for_is_told_with_its_reason_and_once(world: World):  # S-25
    world.beads()
    decision = {"question": "which currency?", "least_power_explanation": "prices are unclear"}
    world.run(GONE, stop_reason="which currency?", exit_code=4, last_decision=decision)
    assert world.status.needs == (Need("prices are unclear", "which currency?"),)
    world.run(GONE, stop_reason="the budget is spent", exit_code=1, last_decision=decision)
    assert world.status.needs == (Need("the budget is spent", "which currency?"),)


@pytest.mark.parametrize("wish", list(ControlRequest))
def test_what_was_asked_of_a_run_is_shown_until_it_is_taken_back(
    world: World, wish: ControlRequest
):
    world.run(os.getpid())
    controls.ask(world.project, wish, run="7 now")
    assert world.status.run is not None
    assert world.status.run.asked == (wish,)
    controls.withdraw(world.project, wish)
    assert world.status.run.asked == ()


@pytest.mark.parametrize("content", ["", "[]", "{", "null", '{"pid": "x", "skipped": 3}', "\ud800"])
def test_a_state_that_is_damaged_breaks_nothing(world: World, content: str):
    world.beads({"id": "one"})
    path = world.root / ".ddx/run-state.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    status = world.status
    assert status.queue is not None
    assert as_row(status)["queue"]["total"] == 1
    assert frame(status, width=80)


def test_a_cost_that_is_unknown_is_not_0(world: World):
    world.run(os.getpid(), total_tokens=1200)
    assert "1,200 tokens, cost unknown" in said_in(frame(world.status, width=0))
    world.run(os.getpid(), total_tokens=1200, total_cost_usd=0.0)
    assert "1,200 tokens, $0.00" in said_in(frame(world.status, width=0))


def test_claims_blocked_and_resting_beads_are_told_apart(world: World):
    later = world.clock.stamp(after_s=600)
    claim = {"status": "in_progress", "owner": "helix", "claimed-at": world.clock.stamp()}
    world.beads(
        {"id": "done", "status": "closed"},
        {"id": "free", "verify": ["true"]},
        {"id": "held", **claim, "claimed-pid": str(os.getpid())},
        {"id": "left", **claim, "claimed-pid": str(GONE), "claimed-machine": os.uname().nodename},
        {"id": "away", **claim, "claimed-pid": str(GONE), "claimed-machine": "elsewhere"},
        {"id": "rest", "verify": ["true"], "retry-after": later},
        {"id": "stuck", "status": "blocked", "blocked-reason": "it failed 4 times"},
    )
    world.clock.advance(120)
    status = world.status
    assert status.queue is not None
    assert status.queue.ready_for_execution == 1
    assert {claim.id: claim.is_orphaned for claim in status.claims} == {
        "held": False,
        "left": True,
        "away": False,
    }
    assert {claim.age_s for claim in status.claims} == {120}
    assert [(held.id, held.reason) for held in status.blocked] == [("stuck", "it failed 4 times")]
    assert [(held.id, held.until) for held in status.parked] == [("rest", later)]
    assert [need.next for need in status.needs] == ["helix explain stuck", "helix recover"]


def test_decisions_come_from_the_end_of_the_journal(world: World):  # S-4
    rows = [{"at": "t", "kind": "decision", "action": "build", "target": f"b{n}"} for n in range(9)]
    rows.insert(8, {"at": "t", "kind": "call"})
    text = "".join(f"{json.dumps(row)}\n" for row in rows) + '{"kind": "decision", "torn'
    (world.root / ".helix-logs").mkdir()
    (world.root / ".helix-logs/helix-1.jsonl").write_text(text, encoding="utf-8")
    world.run(os.getpid(), journal=".helix-logs/helix-1.jsonl")
    assert [row["target"] for row in world.status.decisions] == ["b8", "b7", "b6", "b5", "b4"]
    assert len(read_decisions(world.project, world.status.run, most=99)) == 9


def test_no_file_outside_of_the_logs_is_read_as_a_journal(world: World):
    world.file("elsewhere.jsonl", content={"kind": "decision", "action": "build"})
    world.run(os.getpid(), journal=str(world.root / "elsewhere.jsonl"))
    assert world.status.decisions == ()


def test_the_last_attempts_are_shown_with_how_they_ended(world: World):
    for n, (pid, result) in enumerate(
        [(1, {"outcome": "landed"}), (os.getpid(), {}), (GONE, {}), (1, {"outcome": "no_changes"})]
    ):
        folder = (".ddx", "executions", f"2026010{n}T000000-abc")
        world.file(*folder, "intent.json", content={"beads": ["one"], "pid": pid})
        if result:
            world.file(*folder, "result.json", content=result)
    outcomes = [attempt.outcome for attempt in world.status.attempts]
    assert outcomes == ["no_changes", "died", "running", "landed"]


def test_exec_records_are_shown_newest_first(world: World):
    for n, name in enumerate(("run-b", "run-a")):
        row = {"definition_id": f"EXEC-{n}", "status": "success", "finished_at": ""}
        world.file(".ddx", "exec-runs", name, "record.json", content=row)
        os.utime(world.root / ".ddx/exec-runs" / name, ns=(n, n))
    assert [it.definition for it in world.status.executions] == ["EXEC-1", "EXEC-0"]


def test_work_that_waits_to_land_needs_a_person(world: World):
    world.beads({"id": "one", "verify": ["true"]})
    pending = PendingLanding(
        attempt="a1",
        beads=("one",),
        ref="refs/x",
        commit="c",
        reason="README.md has your edits",
        at="t",
    )
    write_pending(world.project.ddx(*PENDING), pending)
    status = world.status
    assert status.queue is not None
    assert status.queue.ready_for_execution == 0
    assert "README.md has your edits" in status.needs[0].what


# -- how it looks --------------------------------------------------------------------------

FULL = ProjectStatus(
    at="2026-01-02T03:04:05Z",
    needs=(Need("something long " * 12, "helix explain one"),),
    run=RunStatus(
        "running",
        {"phase": "building", "current_bead": "one", "agent": "script", "skipped": {"two": "x"}},
        61.0,
    ),
    queue=QueueStatus(3, {"open": 3}, 2, ready_for_execution=1, not_ready={"dependency": 2}),
    claims=(
        ListedClaim("one", "A title that says much " * 9, "helix (pid 1 on x) since t", age_s=5.0),
    ),
    blocked=(WaitingBead("two", "Two", "no " * 90),),
    parked=(WaitingBead("three", "Three", "rests", until="2026-01-02T03:05:05Z"),),
)


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("said", ["something long ", "价格清单必须包含 "])
def test_no_line_is_wider_than_the_screen(width: int, said: str):  # C-5
    many = tuple(Need(said * 12, "helix explain one") for _ in range(9))
    held = (WaitingBead("two", said * 9, said * 9),)
    ended = RunStatus("ended", {"stop_reason": said * 12, "exit_code": 4}, 61.0)
    for status in (changed(FULL, needs=many, blocked=held), changed(FULL, run=ended)):
        lines = frame(status, width=width)
        assert max(map(columns, lines)) <= width
        assert "needs you" in lines[0]
        words = "".join(said_in(lines).split())
        needed = (status.needs[0].what, status.run.text("stop_reason") if status.run else "")
        for what in needed:  # what a person must know is never cut
            assert "".join(what.split()) in words


def test_nothing_is_cut_where_no_screen_is():
    assert any(len(line) > 250 for line in frame(FULL, width=0))


def test_hostile_text_cannot_steer_the_terminal():  # T-23
    bad = "\x1b[2J\u202eevil\nneeds you"
    status = changed(
        FULL,
        needs=(Need(bad, bad),),
        claims=(ListedClaim("one", bad, bad, age_s=None),),
        blocked=(WaitingBead("two", bad, bad),),
        decisions=({"at": bad, "action": bad, "least_power_explanation": bad},),
    )
    text = said_in(frame(status, width=80))
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "\nneeds you" not in text


# -- what a person is told who is not looking ----------------------------------------------

STATE = RunState("run-1", 1, agent="codex")
BLOCKED = {"bead": "one", "reason": "it failed", "is_blocked": True}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {}, []),
        ({}, {"exit_code": 4, "stop_reason": "this or that?"}, ["guidance"]),
        ({}, {"exit_code": 0, "stop_reason": "drained"}, ["finished"]),
        ({"exit_code": 4}, {"exit_code": 4}, []),
        ({}, {"blockers": (BLOCKED,)}, ["blocked"]),
        ({"blockers": (BLOCKED,)}, {"blockers": (BLOCKED,)}, []),
        ({}, {"blockers": ({**BLOCKED, "is_blocked": False},)}, []),
        ({"total_cost_usd": 7.9}, {"total_cost_usd": 8.0}, ["budget"]),
        ({"total_cost_usd": 8.0}, {"total_cost_usd": 9.0}, []),
        ({"total_cost_usd": None}, {"total_cost_usd": None}, []),
        ({"total_tokens": 10}, {"total_tokens": 90}, ["budget"]),
        ({}, {"parked_until": "t"}, ["parked"]),
        ({"parked_until": "t"}, {"parked_until": "t"}, []),
    ],
)
def test_each_occasion_is_told_once(  # S-26a
    before: dict[str, Any], after: dict[str, Any], told: list[str]
):
    states = changed(STATE, **before), changed(STATE, **after)
    found = notices_between(*states, max_cost_usd=10.0, max_tokens=100)
    assert [notice.occasion for notice in found] == told


class Notes(list[dict[str, Any]]):
    def __call__(self, kind: str, **facts: Any) -> None:
        self.append({"kind": kind, **facts})


NOTICE = Notice("blocked", "one")


def ring(root: Path, *routes: NotifyRoute, notice: Notice = NOTICE, **limits: Any) -> Notes:
    notes = Notes()
    Notifier(routes, root=str(root), note=notes, **limits).ring(notice)
    return notes


def test_a_program_gets_the_line_as_argument_and_as_json(tmp_path: Path):
    program = ("sh", "-c", 'printf %s "$1" > said; cat > row; echo "$HELIX_OCCASION" > why', "-")
    hostile = Notice("blocked", "$(touch x) \x1b[2J " + "long " * 300)
    (note,) = ring(tmp_path, NotifyRoute("own", OCCASIONS, program), notice=hostile)
    assert note == {
        "kind": "notified",
        "occasion": "blocked",
        "route": "own",
        "ok": True,
        "reason": "",
    }
    said = (tmp_path / "said").read_text()
    assert said.startswith("helix: $(touch x) \\x1b[2J long")
    assert len(said) <= 500
    assert json.loads((tmp_path / "row").read_text())["text"] == said
    assert (tmp_path / "why").read_text() == "blocked\n"
    assert not (tmp_path / "x").exists()


def test_the_desktop_is_told_by_notify_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (note,) = ring(tmp_path, NotifyRoute("me", OCCASIONS, "desktop"))
    assert note["reason"] == "there is no notify-send here"
    program = tmp_path / "notify-send"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" > said\n')
    program.chmod(0o755)
    (note,) = ring(tmp_path, NotifyRoute("me", OCCASIONS, "desktop"))
    assert note["ok"]
    assert (tmp_path / "said").read_text() == "--app-name=helix|--|helix: one|"


def test_a_route_hears_only_what_it_asked_for(tmp_path: Path):
    assert ring(tmp_path, NotifyRoute("own", ("finished",), ("touch", "x"))) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (("false",), "false: it ended with 1"),
        (("no-such-program-at-all",), "cannot start no-such-program-at-all"),
        ("http://127.0.0.1:1/secret", "Connection refused"),
        ("https://", "URLError"),
    ],
)
def test_a_route_that_fails_is_noted_and_nothing_more(  # S-26a
    tmp_path: Path, target: str | tuple[str, ...], reason: str
):
    (note,) = ring(tmp_path, NotifyRoute("own", OCCASIONS, target), limit_s=30.0)
    assert not note["ok"]
    assert reason in note["reason"]
    assert "secret" not in note["reason"]


def test_a_route_that_hangs_holds_nobody_up(tmp_path: Path):  # S-26a
    slow = ("sh", "-c", "sleep 600", "-")
    notes = ring(tmp_path, *(NotifyRoute(f"r{n}", OCCASIONS, slow) for n in range(3)), limit_s=0.2)
    assert [(note["route"], note["ok"]) for note in notes] == [(f"r{n}", False) for n in range(3)]


def test_an_address_gets_a_post_of_json():
    heard: list[Any] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            heard.append(json.loads(self.rfile.read(size)))
            self.send_response(204 if len(heard) == 1 else 500)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    route = NotifyRoute("chat", OCCASIONS, f"http://127.0.0.1:{server.server_port}/hook")
    try:
        (first,) = ring(Path("/"), route)
        (second,) = ring(Path("/"), route)
    finally:
        server.shutdown()
        server.server_close()
    assert heard[0] == {"text": "helix: one", "occasion": "blocked"}
    assert (first["ok"], second["ok"], second["reason"]) == (True, False, "it answered 500")


# -- small things --------------------------------------------------------------------------


def test_costs_that_are_unknown_are_counted_and_never_0():
    spent = Spending("all").plus({"input": 10, "output": 5}).plus({"output": 1, "cost_usd": 0.25})
    assert (spent.tokens, spent.cost_usd, spent.unknown) == (16, 0.25, 1)
    assert spent.spoken_cost == "at least $0.25"
    assert Spending("one").plus({"output": 1}).spoken_cost == "unknown"
    assert Spending("none").plus({}).spoken_cost == "-"


def test_start_hands_every_flag_on_to_run():
    from ddx.console.command import parse
    from helix.cli.run import run
    from helix.cli.run_control import start

    typed = ["--max-cycles", "3", "--watch", "--autonomy", "high", "area:x"]
    given = parse(start, typed)
    assert given is not None
    words = words_of(given)
    assert sorted(words) == sorted(typed)
    expected, found = parse(run, typed), parse(run, words)
    assert found == expected is not None

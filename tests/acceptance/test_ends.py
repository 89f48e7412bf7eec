"""How `helix run` ends: one table of exit codes for every way (S-32, C-2)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest
from tests.support.background import SECOND_CTRL_C, hear, interrupt_a_worker
from tests.support.runs import task
from tests.support.stub_agents import RunScene, aligned, make_run_scene_with_reviewer

BROKEN = "harnesses: {maker: {kind: command, argv: [./nowhere]}}"
HOLDS = 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho x > app-1.txt\n'


def nothing(hall: RunScene) -> None:
    pass


def check_says(*answers: str) -> Callable[[RunScene], None]:
    def prepare(hall: RunScene) -> None:
        (hall.root / ".ddx/beads.jsonl").write_text("")
        hall.answers("check", *answers)
        hall.plays("align", aligned())

    return prepare


def build_does(script: str) -> Callable[[RunScene], None]:
    return lambda hall: hall.builds("app-1", script)


def review_says(text: str) -> Callable[[RunScene], None]:
    return lambda hall: hall.answers("review", text)


def write(path: str, text: str) -> Callable[[RunScene], None]:
    def prepare(hall: RunScene) -> None:
        file = hall.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return prepare


ENDS = {
    "the queue is drained": (nothing, (), 0),
    "the cycles are done": (nothing, ("--max-cycles", "1"), 0),
    "check says STOP": (check_says("NEXT_ACTION: STOP"), (), 0),
    "check says WAIT": (check_says("NEXT_ACTION: WAIT"), (), 0),
    "check cannot be read": (check_says("nothing"), (), 1),
    "the budget is spent": (nothing, ("--max-tokens", "1"), 1),
    "the harness keeps failing": (write(".ddx/config.yaml", BROKEN), (), 1),
    "there is no such agent": (nothing, ("--agent", "nobody"), 2),
    "there is no such scope": (nothing, ("FEAT-404",), 2),
    "there is no such flag": (nothing, ("--nonsense",), 2),
    "check says GUIDANCE": (check_says("NEXT_ACTION: GUIDANCE"), (), 4),
    "check says BACKFILL": (check_says("NEXT_ACTION: BACKFILL"), (), 4),
    "check says ALIGN twice": (check_says("NEXT_ACTION: ALIGN"), (), 4),
    "nobody aligns by himself": (check_says("NEXT_ACTION: ALIGN"), ("--no-auto-align",), 4),
    "a loop breaker": (check_says("NEXT_ACTION: BUILD"), (), 4),
    "a review cannot be read": (review_says("fine"), (), 4),
    "all that is left is blocked": (build_does("echo x > y\n"), ("--max-attempts", "1"), 4),
    "low without a terminal": (nothing, ("--autonomy", "low"), 4),
    "a corrupt tracker": (write(".ddx/beads.jsonl", "{\n"), (), 4),
    "a page that cannot be used": (write(".helix/workflows/actions/align.md", ""), (), 4),
}


@pytest.mark.parametrize("name", ENDS)
def test_each_end_has_its_code(tmp_path: Path, name: str) -> None:  # S-32, C-2
    prepare, words, code = ENDS[name]
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    prepare(hall)
    hall.drain(*words, code=code)


def test_a_folder_that_nobody_trusts_ends_with_4(tmp_path: Path) -> None:  # S-32, X-22
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.drain(code=4, HELIX_TRUST="0")
    assert hall.calls() == []


@pytest.mark.parametrize(
    ("signals", "code", "status"),
    [
        ((signal.SIGINT,), 0, "closed"),
        ((signal.SIGINT, signal.SIGINT), 130, "open"),
        ((signal.SIGTERM,), 143, "open"),
    ],
)
@pytest.mark.parametrize("send", [Popen.send_signal, interrupt_a_worker])
def test_an_interrupted_run_says_by_what(
    tmp_path: Path,
    send: Callable[[Popen[bytes], int], None],
    signals: tuple[signal.Signals, ...],
    code: int,
    status: str,
) -> None:  # S-32, S-21; whichever thread the kernel chooses
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    hall.builds("app-1", HOLDS)
    run = hall.launch("--no-auto-review")
    hall.await_call("build app-1")
    first, *others = signals
    send(run, first)
    if first is signal.SIGINT:
        hear(run, SECOND_CTRL_C)
    for number in others:
        send(run, number)
    if status == "closed":
        (hall.stage / "go").touch()
    assert run.wait(120) == code
    assert hall.state["exit_code"] == code
    assert hall.rows()["app-1"]["status"] == status

"""However a call of an agent ends, an objective ends or waits as it should (O-6, X-7, X-8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN
from tests.support.objectives import (
    FINDINGS,
    OBSERVATION,
    TEXT,
    ObjectiveScene,
    make_objective_scene,
    statuses,
    step,
)
from tests.support.runs import CLEAN_REVIEW

# An agent of the `script` harness, whose calls can end in every way that a harness knows: a file
# `every-ACTION` is how all its calls end, `once-ACTION` how the next one does.
_ACT = """\
#!/bin/sh
stage={stage}
echo "$HELIX_ACTION" >> "$stage/calls"
echo '{{"usage": {{"input": 100, "output": 20, "cost_usd": 0.01}}}}'
if [ -f "$stage/every-$HELIX_ACTION" ]; then exec cat "$stage/every-$HELIX_ACTION"; fi
if mv "$stage/once-$HELIX_ACTION" "$stage/now-$HELIX_ACTION" 2>/dev/null; then
    until=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)
    exec sed "s/UNTIL/$until/" "$stage/now-$HELIX_ACTION"
fi
if [ "$HELIX_ACTION" = build ]; then echo done > 001.txt; fi
cat "$stage/answer-$HELIX_ACTION"
"""
_ANSWERS = {
    "explorer": f"EXPLORER_FINDINGS: {json.dumps(FINDINGS)}",
    "planner": f"PLAN: {json.dumps({'status': 'complete', 'tasks': [step('001')]})}",
    "build": "DELIVERED: 001.txt is there",
    "review": CLEAN_REVIEW,
    "observer": f"OBSERVATION: {json.dumps(OBSERVATION)}",
}
_STATES = {
    "explorer": "EXPLORING",
    "planner": "PLANNING",
    "build": "BUILDING",
    "review": "BUILDING",
    "observer": "OBSERVING",
}
_LONG = "2999-01-01T00:00:00Z"


def make_scripted(folder: Path) -> ObjectiveScene:
    """A yard whose agent `actor` can end in any way; `stub` is the alternate."""
    yard = make_objective_scene(folder)
    act = yard.stage / "act"
    act.write_text(_ACT.format(stage=yard.stage))
    act.chmod(0o755)
    (yard.stage / "script").write_text(f"sh {act}\n")
    for action, text in _ANSWERS.items():
        (yard.stage / f"answer-{action}").write_text(json.dumps({"say": text}) + "\n")
    config = json.loads((yard.folder / "config.yaml").read_text())
    config["harnesses"]["actor"] = {"kind": "script"}
    (yard.folder / "config.yaml").write_text(json.dumps(config))
    yard.commit("an actor")
    return yard


def act(yard: ObjectiveScene, *words: str) -> tuple[str, ...]:
    return (*words, "--agent", "actor", "--model", str(yard.stage / "script"))


def ends(
    yard: ObjectiveScene, action: str, end: str, *, how: str = "every", until: str = ""
) -> None:
    row = {"end": end, "reason": f"it says {end}", **({"until": until} if until else {})}
    (yard.stage / f"{how}-{action}").write_text(json.dumps(row) + "\n")


FAULTS = [("auth", 1, "own fault"), ("api_error", 1, "own fault"), ("denied", 4, "denied twice")]
LIMITS = [("rate_limited", 1, "usage limit"), ("limit_budget", 1, "the budget is spent")]
OWN_ENDS = ("crashed", "limit_turns", "stalled", "timed_out", "interrupted")
CASES = [
    *((agent, *case) for agent in ("explorer", "planner", "review", "observer") for case in LIMITS),
    *((agent, *case) for agent in ("planner", "build") for case in FAULTS),
    ("explorer", "auth", 1, "own fault"),
    ("review", "denied", 4, "denied twice"),
    ("observer", "auth", 1, "own fault"),
    ("build", "rate_limited", 1, "usage limit"),
    *(("planner", end, 1, "there is no plan") for end in OWN_ENDS),
    *(("review", end, 4, "the review cannot be read") for end in OWN_ENDS),
    ("explorer", "crashed", 1, "no explorer answered"),
]


@pytest.mark.parametrize(("agent", "end", "code", "said"), CASES)
def test_it_stops_where_it_stands_says_why_and_can_go_on(
    tmp_path: Path, agent: str, end: str, code: int, said: str
) -> None:
    yard = make_scripted(tmp_path / "w")
    ends(yard, agent, end, until=_LONG if end == "rate_limited" else "")
    words = act(yard, TEXT, "--on-limit", "stop", "--json")
    stopped = yard.objective(*words, code=code).json
    assert said in stopped["reason"]
    assert "helix objective resume" in stopped["reason"]
    assert stopped["state"] == _STATES[agent]
    assert stopped["usage"]["input"] == 100 * len(yard.calls())
    assert yard.leftover() == CLEAN
    if end in ("crashed", "denied"):  # whatever it was, it is over
        (yard.stage / f"every-{agent}").unlink()
        done = yard.objective(*act(yard, "resume", "--json")).json
        assert (done["state"], len(done["completed"])) == ("DONE", 1)
        assert (yard.calls("build").count("build") == 1) is (agent != "build")


@pytest.mark.parametrize("end", [*OWN_ENDS[:-1], "limit_budget"])
def test_a_builder_that_ends_badly_by_itself_is_charged_and_given_up(
    tmp_path: Path, end: str
) -> None:  # S-10
    yard = make_scripted(tmp_path / "w")
    ends(yard, "build", end)
    done = yard.objective(*act(yard, TEXT, "--max-attempts", "2", "--json"), code=4).json
    assert (done["state"], len(done["blocked"])) == ("DONE", 1)
    assert yard.calls("build") == ["build", "build"]
    assert statuses(yard) == {"001: part-001": "blocked"}


@pytest.mark.parametrize("end", ["crashed", "timed_out"])
def test_an_observer_that_ends_badly_by_itself_spoils_nothing(tmp_path: Path, end: str) -> None:
    yard = make_scripted(tmp_path / "w")
    ends(yard, "observer", end)
    assert yard.objective(*act(yard, TEXT, "--json")).json["state"] == "DONE"


def test_a_usage_limit_is_waited_out_whoever_meets_it(tmp_path: Path) -> None:
    yard = make_scripted(tmp_path / "w")
    for action in _ANSWERS:
        ends(yard, action, "rate_limited", how="once", until="UNTIL")
    done = yard.objective(*act(yard, TEXT, "--json"))
    assert (done.json["state"], len(done.json["completed"])) == ("DONE", 1)
    assert "actor has reached its usage limit; it may go on at" in done.err
    calls = {action: yard.calls(action).count(action) for action in _ANSWERS}
    assert calls == {"explorer": 4, "planner": 2, "build": 2, "review": 2, "observer": 2}
    assert "not-explored" not in yard.noted()


def test_at_a_usage_limit_another_agent_may_take_over_every_part(tmp_path: Path) -> None:
    yard = make_scripted(tmp_path / "w")
    config = json.loads((yard.folder / "config.yaml").read_text())
    config["limits"] = {"alternate": "stub", "on_limit": "switch"}
    (yard.folder / "config.yaml").write_text(json.dumps(config))
    yard.commit("an alternate")
    ends(yard, "explorer", "rate_limited", until=_LONG)
    done = yard.objective(*act(yard, TEXT, "--json")).json
    assert (done["state"], len(done["completed"])) == ("DONE", 1)
    assert [it for it in ("planner", "review", "observer") if not yard.asked(it)] == []
    assert len(yard.asked("explorer")) == 3


@pytest.mark.parametrize(
    ("agent", "tokens"),
    [("explorer", "100"), ("planner", "400"), ("review", "650"), ("observer", "750")],
)
def test_whoever_is_at_work_when_the_budget_is_spent_is_cut_off(
    tmp_path: Path, agent: str, tokens: str
) -> None:  # each call uses 120 tokens, and says so before its work is done
    yard = make_objective_scene(tmp_path / "w")
    answer = (yard.stage / f"{agent}-1").read_text()
    yard.plays(agent, "sleep 60")
    stopped = yard.objective(TEXT, "--max-tokens", tokens, "--json", code=1).json
    assert "the budget is spent" in stopped["reason"]
    assert stopped["state"] == _STATES[agent]
    assert yard.leftover() == CLEAN
    yard.plays(agent, answer)
    assert yard.objective("resume", "--json").json["state"] == "DONE"

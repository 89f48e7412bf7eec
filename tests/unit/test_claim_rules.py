"""Which claims are orphaned (S-18, D-23)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.values import changed
from ddx.tracker.bead import Bead
from helix.passes.pass_bead import Claim, ClaimJudgement, Leave, Release, claim_of, judge_claim

NOW = "2026-01-02T12:00:00Z"
OLD = "2026-01-02T09:59:59Z"
EDGE = "2026-01-02T10:00:00Z"
YOUNG = "2026-01-02T11:59:00Z"
HERE = "tower"
CLAIM = Claim(
    bead="hx-1",
    owner="helix",
    claim_id="c1",
    claimed_at=OLD,
    updated_at=OLD,
    machine=HERE,
    pid=812,
    pid_start="boot-77",
)
RUNS = {(812, "boot-77")}


def judge(
    claim: Claim, *, runs: set[tuple[int, str]] | None = None, **known: Any
) -> ClaimJudgement:
    alive = runs or set()
    return judge_claim(
        claim,
        now=NOW,
        threshold_s=7200,
        machine=HERE,
        is_alive=lambda pid, start: (pid, start) in alive,
        **known,
    )


@pytest.mark.parametrize(
    ("fields", "known", "freed"),
    [
        pytest.param({}, {}, True, id="old and dead"),
        pytest.param({"claimed_at": YOUNG}, {}, False, id="young and dead"),
        pytest.param({"claimed_at": EDGE}, {}, True, id="as old as the threshold"),
        pytest.param({}, {"runs": RUNS}, False, id="old and alive"),
        pytest.param({}, {"runs": {(812, "boot-99")}}, True, id="old, its pid reused"),
        pytest.param(
            {"claimed_at": YOUNG}, {"runs": {(812, "boot-99")}}, False, id="young, reused"
        ),
        pytest.param({"machine": "far"}, {}, True, id="elsewhere and old"),
        pytest.param({"machine": "far", "claimed_at": YOUNG}, {}, False, id="elsewhere and young"),
        pytest.param(
            {"machine": "far"}, {"runs": RUNS}, True, id="elsewhere, our own pid is alive"
        ),
        pytest.param({"machine": ""}, {"runs": RUNS}, False, id="of no machine, its pid is alive"),
        pytest.param({"claimed_at": ""}, {}, True, id="no time of claim, updated long ago"),
        pytest.param({"claimed_at": "?", "updated_at": YOUNG}, {}, False, id="updated just now"),
        pytest.param({"claimed_at": "", "updated_at": ""}, {}, False, id="no time at all"),
        pytest.param({"claimed_at": "2027-01-01T00:00:00Z"}, {}, False, id="from the future"),
        pytest.param({"pid": 0, "pid_start": ""}, {}, True, id="old, of no process"),
        pytest.param({"owner": "ada"}, {}, False, id="a person's"),
        pytest.param({"owner": ""}, {}, False, id="nobody's"),
        pytest.param({}, {"is_worked_on": True}, False, id="a live attempt has it"),
        pytest.param({"claimed_at": YOUNG}, {"is_ours_and_dead": True}, True, id="proven dead"),
        pytest.param(
            {"claimed_at": "", "updated_at": ""},
            {"is_ours_and_dead": True},
            True,
            id="proven, timeless",
        ),
        pytest.param({"owner": "ada"}, {"is_ours_and_dead": True}, False, id="proven, a person's"),
        pytest.param({"claimed_at": YOUNG}, {"is_asked_for": True}, True, id="asked for"),
        pytest.param(
            {"machine": "far", "claimed_at": YOUNG}, {"is_asked_for": True}, True, id="far"
        ),
        pytest.param({}, {"is_asked_for": True, "runs": RUNS}, False, id="asked for, but alive"),
        pytest.param(
            {}, {"is_asked_for": True, "is_worked_on": True}, False, id="asked for, at work"
        ),
        pytest.param({"owner": "ada"}, {"is_asked_for": True}, False, id="asked for, a person's"),
    ],
)
def test_a_claim_is_freed_only_if_it_is_orphaned(  # S-18, D-23
    fields: dict[str, Any], known: dict[str, Any], freed: bool
) -> None:
    found = judge(changed(CLAIM, **fields), **known)
    assert isinstance(found, Release if freed else Leave)
    assert found.reason


def test_no_process_is_not_looked_for() -> None:
    def refuse(pid: int, start: str) -> bool:
        raise AssertionError(f"there is no process {pid}")

    timeless = changed(CLAIM, pid=0, pid_start="")
    found = judge_claim(timeless, now=NOW, threshold_s=7200, machine=HERE, is_alive=refuse)
    assert found == Release("it names no process, and it has been held for 2 h")


def test_each_judgement_says_what_it_stands_on() -> None:  # S-18
    assert judge(CLAIM) == Release("its process 812 is gone, and it has been held for 2 h")
    assert judge(CLAIM, runs=RUNS) == Leave("its process 812 is alive")
    assert judge(changed(CLAIM, owner="ada")) == Leave("it is held by ada, not by a runner")
    assert judge(changed(CLAIM, owner="")) == Leave("it is held by someone, not by a runner")
    far = changed(CLAIM, machine="far", claimed_at=YOUNG)
    assert judge(far) == Leave("its holder is on far, but it has been held for 1 min only")


@given(
    st.sampled_from(["helix", "ada", ""]),
    st.sampled_from([OLD, YOUNG, "", "?"]),
    st.sampled_from([HERE, "far", ""]),
    st.booleans(),
    st.booleans(),
)
def test_nobody_alive_and_no_person_ever_loses_a_claim(  # T-24, S-18
    owner: str, claimed_at: str, machine: str, is_alive: bool, is_asked_for: bool
) -> None:
    claim = changed(CLAIM, owner=owner, claimed_at=claimed_at, machine=machine)
    found = judge(claim, runs=RUNS if is_alive else None, is_asked_for=is_asked_for)
    if owner != "helix" or (is_alive and machine != "far"):
        assert isinstance(found, Leave)


ROW = {
    "id": "hx-1",
    "status": "in_progress",
    "owner": "helix",
    "claim-id": "c1",
    "claimed-at": OLD,
    "updated_at": OLD,
    "claimed-machine": HERE,
    "claimed-pid": "812",
    "claimed-pid-start": "boot-77",
}


def test_a_claim_is_read_from_its_row() -> None:
    assert claim_of(Bead.of(ROW)) == CLAIM
    assert claim_of(Bead.of({**ROW, "claimed-pid": 812})) == CLAIM  # T-5
    assert claim_of(Bead.of({**ROW, "status": "open"})) is None
    of_ada = claim_of(Bead.of({**ROW, "owner": "", "assignee": "ada"}))  # D-5
    assert of_ada is not None
    assert of_ada.owner == "ada"


@pytest.mark.parametrize("pid", ["-1", "9" * 30, "x", "٣", None, ["812"]])
def test_a_pid_that_is_none_names_no_process(pid: object) -> None:
    found = claim_of(Bead.of({**ROW, "claimed-pid": pid}))
    assert found is not None
    assert found.pid == 0

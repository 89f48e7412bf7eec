"""The true programs in a world by chance: whatever people, agents and crashes do, promises hold.

HELIX_SEED=run-4711 scripts/test tests/simulation  one story again, with its log
HELIX_SEEDS=2000 scripts/test tests/simulation     before a release

`run`, `execute-loop` and `objective` are the drivers; all that they do is the product's own code
down to the programs that it starts. Only git and agents are played.
"""

# @requirement TC-404

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from tests.simulation.ledger import Violation
from tests.simulation.simulating import Driver, simulate
from tests.simulation.world import Endless, World

from ddx.attempts import attempt, landing
from ddx.attempts import limits as orders
from ddx.attempts import recovery as reconciling
from ddx.attempts.claims import AttemptClaims
from ddx.attempts.record import RecordWriter
from ddx.attempts.records import OwedReviews
from ddx.project.project import Project
from ddx.tracker.lifecycle import BeadClosure, close
from ddx.tracker.row import RUNNER
from helix.passes import filing as unfiled
from helix.passes.reply import CheckAnswer
from helix.run import journal as controls
from helix.run import routing
from helix.run.journal import ControlRequest

SEEDS = int(os.environ.get("HELIX_SEEDS", "500"))
SHARES = {Driver.RUN: 14, Driver.DRAIN: 3, Driver.OBJECTIVE: 3}
PARTS = sum(SHARES.values())
DRIVERS = list(Driver)
WITH_PAUSE = (Driver.RUN, Driver.OBJECTIVE)
ENOUGH = 600
"""So many stories find every bug that is planted here."""
UNREVIEWED = "landed, and nobody reviews it"


def stories(part: int) -> Iterator[tuple[Driver, int]]:
    """A share of all stories for each part; or the one that is asked for."""
    name, _, one = os.environ.get("HELIX_SEED", "").rpartition("-")
    if name:
        yield from [(Driver(name), int(one))] if part == 0 else []
        return
    drivers = [driver for driver, share in SHARES.items() for _ in range(share)]
    for seed in range(part, SEEDS, PARTS):
        yield drivers[part], seed


@pytest.mark.parametrize("part", range(PARTS))
def test_no_story_breaks_a_promise(part: int) -> None:  # S-5 to S-24, X-13, X-18 to X-20
    for driver, seed in stories(part):
        try:
            simulate(seed, driver)
        except Violation as broken:
            raise AssertionError(
                f"seed {driver}-{seed}: {broken}\n"
                f"replay it: HELIX_SEED={driver}-{seed} scripts/test tests/simulation\n{broken.log}"
            ) from broken


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_seed_tells_the_same_story_twice(driver: Driver) -> None:
    for seed in range(5):
        assert simulate(seed, driver) == simulate(seed, driver)


# -- a bug that is planted is found ------------------------------------------------------------


def find_out(
    driver: Driver,
    match: str,
    spoil: Callable[[World], None] = lambda world: None,
    *,
    besides: str = "",
) -> None:
    """One of the stories breaks for just this reason; others may for what else follows from it."""
    with pytest.raises(Violation, match=match):
        for seed in range(ENOUGH):
            try:
                simulate(seed, driver, spoil=spoil)
            except Violation as broken:
                if not besides or not str(broken).endswith(besides):
                    raise


def restless(world: World) -> None:
    world.restless = 0.05


def fragile(world: World) -> None:
    world.crashes = 3


def hasty(claims: AttemptClaims, bead_id: str, ending: BeadClosure) -> None:
    """Closes what has landed without another look at the bead."""
    claims._tracker.change(
        lambda snapshot, now: close(snapshot, bead_id, ending, actor=RUNNER, now=now, force=True)
    )


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_closes_without_another_look_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AttemptClaims, "close", hasty)
    find_out(driver, "drifted and was closed|out of another's hands|never at it", restless)


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_lands_what_fails_its_checks_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "status_of_proof", lambda proof: None)
    find_out(driver, "its checks have not passed")


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_believes_that_a_refused_landing_landed_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing, "has_landed", lambda target, commit: True)
    find_out(driver, "closed for a commit that did not land", restless)


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_leaves_a_checkout_landing_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing, "mend", lambda *given, **named: ())
    find_out(driver, "not what the operator left, or the branch has", fragile)


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_never_looks_after_the_dead_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left_alone(site: object, record: RecordWriter) -> None:
        record.leave()

    monkeypatch.setattr(reconciling, "_bring_to_an_end", left_alone)
    found = "still holds|has landed, nobody closed it|is lost"
    find_out(driver, found, fragile, besides=UNREVIEWED)


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_forgets_that_a_dead_attempt_had_landed_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciling, "has_landed", lambda target, commit: False)
    found = "has landed, nobody closed it, and it is built again"
    find_out(driver, found, fragile, besides=UNREVIEWED)


@pytest.mark.parametrize("driver", DRIVERS)
def test_who_spends_more_than_the_budget_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "is_spent", lambda orders, usage: False)
    # What is left for a single call holds it as well.
    monkeypatch.setattr(orders, "tightened", lambda orders, usage, **limits: orders.limits)
    find_out(driver, "the budget is spent")


@pytest.mark.parametrize("driver", WITH_PAUSE)
def test_who_goes_on_during_a_pause_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-26
    really = controls.is_asked

    def deaf(project: Project, wish: ControlRequest) -> bool:
        return wish is ControlRequest.STOP and really(project, wish)

    monkeypatch.setattr(controls, "is_asked", deaf)
    find_out(driver, "is begun during a pause", restless)


def leaving(world: World) -> None:
    world.agents.leftovers, world.crashes = 1.0, 3


@pytest.mark.parametrize("driver", WITH_PAUSE)
def test_who_forgets_what_a_dead_run_left_for_later_is_found_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfiled, "_due", lambda project, attempt: None)
    find_out(driver, "left for later and is lost", leaving)


def test_who_promises_no_review_before_it_lands_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # S-17
    monkeypatch.setattr(OwedReviews, "promise", lambda reviews, attempt: None)
    find_out(Driver.RUN, UNREVIEWED, fragile)


def undecided(world: World) -> None:
    """Nobody else is there, nothing goes wrong, and check always asks for a polish."""
    world.agents.answers = (CheckAnswer.POLISH,)
    world.agents.mishaps = world.agents.ideas = 0.0
    world.restless = 0.0
    world.crashes = 0


def test_a_loop_without_its_breaker_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:  # S-13
    monkeypatch.setattr(routing, "MOST_IDLE_PASSES", 10**9)
    monkeypatch.setattr(routing, "MOST_PASSES", 10**9)
    with pytest.raises(Endless):
        for seed in range(100):
            simulate(seed, Driver.RUN, spoil=undecided)

"""The true loop in a world by chance: whatever people, agents and crashes do, its promises hold.

HELIX_SEED=4711 scripts/test tests/simulation      one story again, with its log
HELIX_SEEDS=20000 scripts/test tests/simulation    a long night
"""

# @requirement TC-404

from __future__ import annotations

import os

import pytest
from tests.simulation.ledger import Violation
from tests.simulation.simulating import simulate
from tests.simulation.world import Endless, World

from ddx.execution.claims import Claims
from ddx.tracker.lifecycle import Ending, close
from ddx.tracker.model import RUNNER
from helix.policy import routing
from helix.policy.model import Answer

SEEDS = int(os.environ.get("HELIX_SEEDS", "2000"))
PARTS = 20


def seeds(part: int) -> range:
    if one := os.environ.get("HELIX_SEED"):
        return range(int(one), int(one) + 1) if part == 0 else range(0)
    return range(part, SEEDS, PARTS)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_story_breaks_a_promise(part: int) -> None:  # S-5 to S-24, X-18
    for seed in seeds(part):
        try:
            simulate(seed)
        except Violation as broken:
            raise AssertionError(
                f"seed {seed}: {broken}\n"
                f"replay it: HELIX_SEED={seed} scripts/test tests/simulation\n{broken.log}"
            ) from broken


def test_a_seed_tells_the_same_story_twice() -> None:
    for seed in range(5):
        assert simulate(seed) == simulate(seed)


# -- a bug that is planted is found ------------------------------------------------------------


class Hasty(Claims):
    """Closes what it has landed without another look at the bead."""

    def close(self, bead_id: str, ending: Ending) -> None:
        self._tracker.change(
            lambda snapshot, now: close(
                snapshot, bead_id, ending, actor=RUNNER, now=now, force=True
            )
        )


def hasty(world: World) -> None:
    world.claims = Hasty
    world.restless = 0.3


def test_who_closes_without_another_look_is_found_out() -> None:
    with pytest.raises(Violation, match=r"drifted and was closed|out of another's hands"):
        for seed in range(400):
            simulate(seed, spoil=hasty)


def forgetful(world: World) -> None:
    """What a dead run has left for later is nobody's any more."""
    world.file_unfiled = lambda desk: ()  # type: ignore[method-assign]
    world.leftovers, world.crashes = 1.0, 3


def test_who_forgets_what_a_dead_run_left_for_later_is_found_out() -> None:
    with pytest.raises(Violation, match="left for later and is lost"):
        for seed in range(400):
            simulate(seed, spoil=forgetful)


def undecided(world: World) -> None:
    """Nobody else is there, nothing goes wrong, and check always asks for a polish."""
    world.answers = (Answer.POLISH,)
    world.restless = world.mishaps = world.ideas = 0.0
    world.crashes = 0


def test_a_loop_without_its_breaker_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:  # S-13
    monkeypatch.setattr(routing, "MOST_IDLE_PASSES", 10**9)
    monkeypatch.setattr(routing, "MOST_PASSES", 10**9)
    with pytest.raises(Endless):
        for seed in range(100):
            simulate(seed, spoil=undecided)

"""No run repeats itself without progress: the ranking argument of S-13, carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddx.attempts.outcome import AttemptStatus
from ddx.base.values import changed
from helix.passes.reply import CheckAnswer, CheckResult
from helix.passes.review_pass import CleanReview, ReviewFinding, ReviewFindings, Severity
from helix.run.aftermath import (
    BlockBead,
    Completed,
    Retry,
    StopRun,
    after_align,
    after_check,
    after_cycle,
    after_epic,
    after_pass,
    after_recovery,
    after_review,
    begun,
    follow,
)
from helix.run.model import (
    TERMINAL,
    Action,
    BuildCandidate,
    CoolingBead,
    Decision,
    Progress,
    RequestBead,
    RequestKind,
    RoutingRules,
    RunView,
)
from helix.run.routing import MOST_PASSES, next_action

ENDING = (CheckAnswer.BACKFILL, CheckAnswer.WAIT, CheckAnswer.GUIDANCE, CheckAnswer.STOP)
GOING_ON = (CheckAnswer.BUILD, CheckAnswer.DESIGN, CheckAnswer.POLISH, CheckAnswer.ALIGN)
NOTHING_CHANGES_BOUND = 12
SOMETHING_CHANGES_BOUND = 3 * (MOST_PASSES + 4)


class DrainedRun:
    """A run with nothing to build, in a world that only its own passes may change."""

    def __init__(
        self, answers: Iterator[CheckAnswer], *, changes: Callable[[int], str], rules: RoutingRules
    ) -> None:
        self._answers = answers
        self._changes = changes
        self._rules = rules
        self.asked: list[str] = []
        self.actions: list[Action] = []
        self.passes = 0

    def run(self, most: int) -> Decision:
        """To its end; a run of more than `most` decisions is one that never ends."""
        progress = Progress()
        while len(self.actions) < most:
            view = RunView(unfinished=3, documents=2, state=self._changes(self.passes))
            decision = next_action(view, progress, self._rules)
            self.actions.append(decision.action)
            if decision.action in TERMINAL or decision.action is Action.WAIT:
                return decision
            progress = self._after(decision, view, progress)
        raise AssertionError(f"it does not end: {self.actions}")

    def _after(self, decision: Decision, view: RunView, progress: Progress) -> Progress:
        if decision.recovers:
            return after_recovery(progress, 0)
        match decision.action:
            case Action.CHECK:
                self.asked.append(view.state)
                return after_check(progress, CheckResult(view.state, next(self._answers)))
            case Action.ALIGN:
                self.passes += 1
                return after_align(progress, self._rules)
            case Action.DESIGN | Action.POLISH:
                before = self._changes(self.passes)
                self.passes += 1
                has_changed = self._changes(self.passes) != before
                return after_pass(progress, decision, view, has_changed=has_changed)
            case other:
                raise AssertionError(f"there is nothing to {other}")


def in_turn(answers: tuple[CheckAnswer, ...]) -> Iterator[CheckAnswer]:
    """One after the other, and from the start again."""
    while True:
        yield from answers


def scripts() -> Iterator[tuple[CheckAnswer, ...]]:
    """Every sequence of up to 6 answers; what stands after one that ends a run is never heard."""
    for length in range(6):
        for start in product(GOING_ON, repeat=length):
            yield from ((*start, last) for last in ENDING)
    yield from product(GOING_ON, repeat=6)


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        pytest.param(lambda passes: "s", NOTHING_CHANGES_BOUND, id="nothing ever changes"),
        pytest.param(lambda passes: f"s{passes}", SOMETHING_CHANGES_BOUND, id="every pass counts"),
        pytest.param(lambda passes: f"s{passes // 2}", SOMETHING_CHANGES_BOUND, id="every other"),
        pytest.param(lambda passes: f"s{passes % 2}", SOMETHING_CHANGES_BOUND, id="to and fro"),
    ],
)
def test_every_answer_sequence_ends_and_no_state_is_asked_about_twice(  # S-13, S-14
    changes: Callable[[int], str], bound: int
) -> None:
    heard: set[tuple[CheckAnswer, ...]] = set()
    for script in scripts():
        if any(script[:count] in heard for count in range(len(script))):
            continue  # the run ends before it hears where this script differs
        run = DrainedRun(in_turn(script), changes=changes, rules=RoutingRules())
        run.run(bound)
        assert len(run.asked) == len(set(run.asked)), (script, run.asked)
        heard.add(script[: len(run.asked)])
    assert {script[0] for script in heard} == {*CheckAnswer}


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        (CheckAnswer.BUILD, "check check guidance"),
        (CheckAnswer.DESIGN, "check design design guidance"),
        (CheckAnswer.POLISH, "check polish polish guidance"),
        (CheckAnswer.ALIGN, "check align guidance"),
        (CheckAnswer.WAIT, "check wait"),
        (CheckAnswer.STOP, "check stop"),
        (CheckAnswer.GUIDANCE, "check guidance"),
        (CheckAnswer.BACKFILL, "check backfill"),
    ],
)
def test_one_answer_for_ever_in_a_world_that_never_changes(
    answer: CheckAnswer, actions: str
) -> None:  # S-12
    run = DrainedRun(in_turn((answer,)), changes=lambda passes: "s", rules=RoutingRules())
    run.run(NOTHING_CHANGES_BOUND)
    assert " ".join(run.actions) == actions
    assert run.asked == ["s"]


def test_a_pass_that_always_changes_something_is_bounded_too() -> None:  # S-13
    run = DrainedRun(
        in_turn((CheckAnswer.DESIGN,)), changes=lambda passes: f"s{passes}", rules=RoutingRules()
    )
    last = run.run(SOMETHING_CHANGES_BOUND)
    assert run.passes == MOST_PASSES
    assert str(MOST_PASSES) in last.least_power_explanation


# The same as a graph: not some scripts, but whatever check and the passes may do.


def test_no_way_through_a_drained_queue_comes_back_to_itself() -> None:  # S-13
    """Depth first over every answer and every effect: finitely many steps, and no circle."""
    longest: dict[tuple[object, ...], int] = {}

    def steps(progress: Progress, state: int, on_the_way: frozenset[tuple[object, ...]]) -> int:
        view = RunView(unfinished=3, documents=2, state=f"s{state}")
        known = progress.answer_to(view.state)
        here = (
            *(known and known.answer, progress.passes, progress.idle_passes),
            *(progress.aligns, progress.recovered),
        )
        assert here not in on_the_way, f"a circle at {here}"
        if here not in longest:
            decision = next_action(view, progress, RoutingRules())
            following = [
                steps(after, state + has_changed, on_the_way | {here})
                for after, has_changed in effects(decision, view, progress)
            ]
            longest[here] = 1 + max(following, default=0)
        return longest[here]

    assert 2 * MOST_PASSES < steps(Progress(), 0, frozenset()) <= SOMETHING_CHANGES_BOUND
    assert len(longest) > MOST_PASSES * len(GOING_ON)


def effects(
    decision: Decision, view: RunView, progress: Progress
) -> Iterator[tuple[Progress, bool]]:
    """All that may come of a decision; what is changed is a state that nobody has seen."""
    match decision.action:
        case Action.CHECK if decision.recovers:
            yield after_recovery(progress, 0), False  # what it frees is progress
        case Action.CHECK:
            for answer in CheckAnswer:
                yield after_check(progress, CheckResult(view.state, answer)), False
        case Action.ALIGN:
            yield after_align(progress, RoutingRules()), False
            yield after_align(progress, RoutingRules()), True
        case Action.DESIGN | Action.POLISH:
            yield after_pass(progress, decision, view, has_changed=False), False
            yield after_pass(progress, decision, view, has_changed=True), True
        case other:
            assert other in TERMINAL or other is Action.WAIT


# Whole runs: beads that fail in every way, reviews, requests, epics, passes.


class World:
    """A little project; whatever happens in it is drawn from `chance`."""

    def __init__(
        self, beads: list[BuildCandidate], requests: list[RequestBead], chance: Any
    ) -> None:
        self.chance = chance
        self.open = {bead.id: bead for bead in beads}
        self.parents = {bead.parent for bead in beads if bead.parent}
        self.requests = requests
        self.resting: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.blocked: list[str] = []
        self.edits = 0
        self.now = 0

    def view(self) -> RunView:
        now = self.stamp(self.now)
        cooling = tuple(
            CoolingBead(bead_id, until, self.open[bead_id].parent)
            for bead_id, until in self.resting.items()
            if until > now and bead_id in self.open
        )
        resting = {bead.id for bead in cooling}
        ready = tuple(bead for bead in self.open.values() if bead.id not in resting)
        working = frozenset(bead.parent for bead in self.open.values() if bead.parent)
        return RunView(
            ready=ready,
            cooling=cooling,
            unfinished=len(self.open) + len(self.blocked) + len(self.parents),
            epics=len(self.parents),
            blocked=tuple(self.blocked),
            documents=1,
            requests=tuple(self.requests),
            finished_epics=tuple(sorted(self.parents - working)),
            epics_with_work=working & self.parents,
            state=f"{self.edits}",
            now=now,
        )

    def stamp(self, second: int) -> str:
        return f"2026-01-02T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"

    def edit(self, bead: BuildCandidate) -> BuildCandidate:
        self.edits += 1
        return changed(bead, revision=f"r{self.edits}")


def carry_out(world: World, rules: RoutingRules, most: int) -> list[Decision]:
    """The loop, as plain as it can be: it asks, does, and tells; it knows no rule."""
    progress, decisions = Progress(), list[Decision]()
    while len(decisions) < most:
        view = world.view()
        decision = next_action(view, progress, rules)
        decisions.append(decision)
        if decision.action in TERMINAL or (decision.action is Action.WAIT and not decision.until):
            return decisions
        match decision.action:
            case Action.WAIT:
                world.now = next(n for n in range(10**5) if world.stamp(n) == decision.until)
            case Action.BUILD:
                progress = build(world, begun(progress, decision, view), decision, rules)
            case Action.CHECK if decision.recovers:
                progress = after_recovery(progress, 0)
            case Action.CHECK | Action.REVIEW if world.chance.choice([True, False, False]):
                progress = after_pass(progress, decision, view, has_changed=False)  # it failed
            case Action.CHECK:
                answer = world.chance.choice([*CheckAnswer])
                progress = after_check(progress, CheckResult(view.state, answer))
            case Action.ALIGN:
                world.edits += world.chance.choice([0, 1])
                progress = after_align(progress, rules)
            case Action.REVIEW if decision.target in view.finished_epics:
                if world.chance.choice([True, False]):
                    world.parents.discard(decision.target)
                    world.edits += 1
                progress = after_epic(progress, decision.target, view)
            case Action.REVIEW if progress.pending_review:
                progress = review(world, progress)
            case _:
                has_changed = world.chance.choice([True, False])
                world.edits += has_changed
                progress = after_pass(progress, decision, view, has_changed=has_changed)
    raise AssertionError(f"it does not end: {[str(each.action) for each in decisions]}")


def build(world: World, progress: Progress, decision: Decision, rules: RoutingRules) -> Progress:
    members = [world.open[bead_id] for bead_id in decision.beads]
    was_batch = len(members) > 1
    status = world.chance.choice([*AttemptStatus])
    while status is AttemptStatus.HARNESS_FAULT:  # the harness's own breaker bounds those
        status = world.chance.choice([*AttemptStatus])
    primary = members[0].id
    if not was_batch:
        world.attempts[primary] = world.attempts.get(primary, 0) + 1
    found = follow(status, world.attempts.get(primary, 0), rules, was_batch=was_batch)
    left = [world.edit(bead) for bead in members]
    world.open.update({bead.id: bead for bead in left})
    match found:
        case Completed():
            for bead in left:
                del world.open[bead.id]
        case BlockBead():
            del world.open[primary]
            world.blocked.append(primary)
        case Retry(after_s=rest_s):
            world.resting[primary] = world.stamp(world.now + int(rest_s))
        case StopRun():
            assert status is AttemptStatus.INTERRUPTED
    if status is AttemptStatus.OPERATOR_EDITS:  # a pending landing holds its beads back
        for bead in left:
            del world.open[bead.id]
    return after_cycle(progress, found, left, attempt="at", reviews=True)


def review(world: World, progress: Progress) -> Progress:
    return after_review(
        progress,
        world.chance.choice(
            [CleanReview(), ReviewFindings((ReviewFinding(Severity.HIGH, "a bug"),))]
        ),
    )


beads = st.lists(
    st.builds(
        BuildCandidate,
        st.sampled_from([f"hx-{n}" for n in range(5)]),
        parent=st.sampled_from(["", "E", "F"]),
        spec_id=st.sampled_from(["", "S"]),
        priority=st.integers(0, 2),
    ),
    max_size=4,
    unique_by=lambda each: each.id,
)
requests = st.lists(
    st.builds(RequestBead, st.sampled_from(["q-1", "q-2"]), st.sampled_from([*RequestKind])),
    max_size=2,
    unique_by=lambda each: each.id,
)


@settings(max_examples=150)
@given(beads, requests, st.integers(1, 3), st.integers(0, 2), st.randoms(use_true_random=False))
def test_a_whole_run_ends_whatever_happens_in_it(  # S-13
    queue: list[BuildCandidate], asked: list[RequestBead], batch: int, every: int, chance: Any
) -> None:
    rules = RoutingRules(batch=batch, review_every=every, max_attempts=4)
    world = World(queue, asked, chance)
    decisions = carry_out(world, rules, most=1000)
    builds = [each.target for each in decisions if each.action is Action.BUILD]
    for bead in queue:
        alone = [
            each for each in decisions if each.beads == (bead.id,) and each.action is Action.BUILD
        ]
        assert len(alone) <= rules.max_attempts
    assert len(builds) <= len(queue) * (rules.max_attempts + 1)

"""A world in memory for the true loop: git, agents and other people, all by one seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, cast

from tests.simulation.ledger import Ledger, Violation

from ddx.errors import ChangedFirst, Refused
from ddx.execution.claims import Claims, Drifted
from ddx.execution.model import (
    CHARGED,
    Check,
    Facts,
    Failed,
    Happening,
    Idle,
    Landed,
    NoChanges,
    Outcome,
    Preserved,
    Status,
)
from ddx.execution.reconciling import Reconciled
from ddx.execution.record import FOLDER, RESULT, new_attempt_id
from ddx.execution.selecting import ReadyBeads
from ddx.execution.settling import close_landed, release, settle
from ddx.files import replace
from ddx.harnesses.base import End, Reply, Usage
from ddx.testing import FakeClock
from ddx.tracker.drafting import create
from ddx.tracker.model import status_of
from ddx.tracker.pending import PENDING, held_by_pending, read_pending, remove_pending
from ddx.tracker.queue import ready_for_execution
from ddx.tracker.store import Applied, Tracker
from ddx.tracker.updating import Patch, update
from ddx.values import changed
from helix.actions.check import state_hash
from helix.actions.model import Ended, Pass
from helix.actions.upstream import SEEN, Upstream
from helix.policy.follow_ups import MARK
from helix.policy.model import Answer, Checked
from helix.policy.review import Clean, Finding, Findings, Severity, Verdict
from helix.policy.trailers import Unreadable
from helix.supervisor.bench import Bench
from helix.verification.measure import Measured
from helix.work import ReviewOf, file_review

if TYPE_CHECKING:
    from ddx.execution.record import Record
    from ddx.execution.work import Site
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.actions.scope import Scope
    from helix.desk import Desk
    from helix.slider import Slider
    from helix.work import BuildPolicy

MOST_LOOKS = 600
"""Of one run: no path through the loop is that long without people who bring new work."""

_MERGED = Check("tests", "pytest -q", "verify", passed=True)
_BROKEN = Check("tests", "pytest -q", "verify", passed=False, exit_code=1)
_ENDINGS: tuple[tuple[Status, int], ...] = (
    (Status.SUCCESS, 12),
    (Status.CHECK_FAILED, 3),
    (Status.NOTHING_DONE, 1),
    (Status.ALREADY_SATISFIED, 1),
    (Status.AGENT_FAILED, 1),
    (Status.TIMEOUT, 1),
    (Status.LAND_CONFLICT, 1),
    (Status.AUTHORITY, 1),
    (Status.OPERATOR_EDITS, 1),
    (Status.HARNESS_FAULT, 1),
)
_KEPT = frozenset({Status.CHECK_FAILED, Status.LAND_CONFLICT, Status.AUTHORITY, Status.TIMEOUT})
_DIFFSTAT = "\n 1 file, 3 insertions(+)"
_TITLES = ("It leaks", "It is slow", "A case is missing", "The name is wrong")


class Crash(BaseException):
    """The process is gone, here and now."""


class Endless(Violation):
    """The run does not come to an end."""


class WatchedTracker(Tracker):
    """The true tracker; the world sees every write, and may act or end before and after it."""

    world: World
    is_ours = True

    def change(
        self,
        decide: Callable[[Snapshot, str], Changes],
        *,
        expect: Mapping[str, str] | None = None,
    ) -> Applied:
        if self.is_ours:
            self.world.boundary()
        before: dict[str, Any] = {}

        def seen(snapshot: Snapshot, now: str) -> Changes:
            changes = decide(snapshot, now)
            before.update({it: snapshot.row(it) for it in changes.put if it in snapshot})
            return changes

        applied = super().change(seen, expect=expect)
        everything = {row["id"]: row for row in self.snapshot().rows()}
        self.world.ledger.wrote(applied.rows, before, everything=everything)
        if self.is_ours:
            self.world.boundary()
        return applied


class WorldClock(FakeClock):
    """Time passes, and meanwhile things happen."""

    world: World

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.world.while_waiting(seconds)


class NoRecord:
    """An attempt's record that keeps nothing."""

    def tell(self, kind: str, text: str = "", **facts: object) -> None:
        pass


class World(Bench):
    """What the loop meets instead of git and agents; `people` act at every boundary."""

    def __init__(self, rng: Random, clock: WorldClock, ledger: Ledger) -> None:
        self.rng = rng
        self.clock = clock
        self.ledger = ledger
        self.claims = Claims
        self.people: Callable[[World], None] = lambda world: None
        self.people_while_waiting: Callable[[World], None] = lambda world: None
        self.crashes = 0
        """How many more there may be."""
        self.restless = 0.2
        """How likely somebody acts at a boundary."""
        self.mishaps = 0.02
        """How likely a call is lost, to a limit or to an answer that nobody can read."""
        self.ideas = 0.5
        """How likely a pass files work."""
        self.leftovers = 0.2
        """How likely a build leaves work for later."""
        self.answers: tuple[Answer, ...] = (Answer.STOP,)
        self.skill: dict[str, float] = {}
        """How likely an agent manages a bead; 0 is hopeless."""
        self.uncommitted: set[str] = set()
        self.documents = 0
        """How often somebody has changed one."""
        self.stop_asked: Callable[[], bool] = lambda: False
        self._live: dict[str, tuple[Claims, Facts]] = {}
        self._kept: dict[str, tuple[Claims, Facts]] = {}
        self._looks = 0
        self.run = ""
        """The name of the run that is under way."""
        self._is_acting = False

    # -- time and people -------------------------------------------------------------------------

    def run_begins(self) -> None:
        self._looks = 0
        self.run = f"run {self.rng.getrandbits(32):08x}"
        self.ledger.run_begins()

    def boundary(self) -> None:
        """Between any two steps of ours, others act; or it is over."""
        if self._is_acting:
            return
        if self.crashes and self.rng.random() < 0.01:
            self.crashes -= 1
            raise Crash
        if self.rng.random() < self.restless:
            self._act(self.people)

    def while_waiting(self, seconds: float) -> None:
        if seconds >= 1.0:  # a look a second is what watching is
            self._looks -= 1
        if not self._is_acting and self.rng.random() < 0.02:
            self._act(self.people_while_waiting)

    def _act(self, people: Callable[[World], None]) -> None:
        self._is_acting = True
        try:
            people(self)
        finally:
            self._is_acting = False

    def _spend(self, site: Site, name: str) -> None:
        """One call of an agent."""
        usage = Usage(self.rng.randrange(1000), output=self.rng.randrange(100))
        self.ledger.spent += usage.tokens
        self.clock.advance(self.rng.randrange(1, 600))
        now = self.clock.stamp()
        site.on_event(Happening(now, name, "agent-started", "script"))
        told = {"end": "completed", "code": 0, "seconds": 1.0, "usage": usage.as_row()}
        site.on_event(Happening(now, name, "agent-ended", "", told))
        self.boundary()

    # -- the repository --------------------------------------------------------------------------

    def edited(self, root: str) -> Collection[str]:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise Endless(f"{MOST_LOOKS} looks, and the run goes on")
        return self.uncommitted

    def head(self, root: str) -> str:
        return "0" * 40

    def _commit(self) -> str:
        return f"{self.rng.getrandbits(160):040x}"

    # -- attempts --------------------------------------------------------------------------------

    def build(self, site: Site, policy: BuildPolicy) -> Outcome | Idle:
        """As `work_one` does it: the true claims and the true settling around a played agent."""
        self.boundary()
        snapshot = site.tracker.snapshot()
        around = changed(
            site.tracker.surroundings(), held=held_by_pending(site.project.ddx(*PENDING))
        )
        free = {snapshot.columns.ids[n]: n for n in ready_for_execution(snapshot.columns, around)}
        picked = policy.pick(())
        if missing := [bead_id for bead_id in picked if bead_id not in free]:
            raise Refused(f"{missing[0]} cannot be worked on: it is not ready")
        beads = [ReadyBeads(snapshot, [free[bead_id]])[0] for bead_id in picked]
        attempt = new_attempt_id(self.clock)
        hear = policy.prepare(beads, attempt).on_reply or (lambda reply: None)
        claims = self.claims.planned(site.tracker, beads)
        facts = Facts(attempt, picked, "script", "", "0" * 40, "refs/heads/main")
        self._live[attempt] = claims, facts
        self.boundary()
        self.ledger.selected(attempt, claims.tokens, {bead.id: bead.row for bead in beads})
        try:
            claims.take()
        except (ChangedFirst, Refused, Drifted) as lost:
            del self._live[attempt], self.ledger.attempts[attempt]
            return Idle(lost.message, again=True)
        outcome = settle(site, self._worked(site, claims, facts, hear), claims, _record())
        self._ended(site, attempt)
        if outcome.status in CHARGED:
            self.ledger.charged(picked)
        self.boundary()
        return outcome

    def _worked(
        self, site: Site, claims: Claims, facts: Facts, hear: Callable[[Reply], None]
    ) -> Outcome:
        documents = self.documents
        self._spend(site, facts.attempt)
        status = self._status(facts.beads)
        facts = changed(facts, reply=self._reply(facts.attempt, status))
        hear(cast("Reply", facts.reply))
        self.ledger.heard(facts.attempt)
        if self.stop_asked():
            return Failed(changed(facts, reason="interrupted"), Status.INTERRUPTED)
        if status is Status.HARNESS_FAULT:
            return Failed(changed(facts, reason="the harness failed"), status)
        if status is Status.ALREADY_SATISFIED:
            self.ledger.attempts[facts.attempt].is_proven = True
            self.boundary()
            return NoChanges(changed(facts, checks=(_MERGED,)), status)
        if status is Status.NOTHING_DONE:
            return NoChanges(changed(facts, reason="nothing was done"), status)
        if status is Status.AGENT_FAILED:
            return Failed(changed(facts, reason="the agent gave up"), status)
        ref = f"refs/helix/{facts.attempt}"
        made = changed(
            facts,
            result=self._commit(),
            ref=ref,
            paths=("a.py",),
            diffstat=_DIFFSTAT,
        )
        if status in _KEPT:
            return Preserved(changed(made, checks=(_BROKEN,), reason="a check failed"), status, ref)
        proven = changed(made, checks=(_MERGED,))
        self.boundary()
        if claims.find_drift() or self.documents != documents:
            return Preserved(changed(proven, reason="it drifted"), Status.DRIFT, ref)
        if status is Status.OPERATOR_EDITS:
            self._kept[facts.attempt] = Claims(site.tracker, claims.selected, {}), proven
            return Preserved(proven, status, ref, is_pending=True)
        return self._land(proven)

    def _reply(self, attempt: str, status: Status) -> Reply:
        text = ""
        if self.rng.random() < self.leftovers:
            row = {
                "title": self.ledger.will_leave(attempt),
                "acceptance": "`true` passes",
                "blocks": self.rng.random() < 0.5,
            }
            text = f"It is done.\n{MARK} {json.dumps(row)}\n"
        if status is Status.HARNESS_FAULT:
            return Reply(End.RATE_LIMITED if self.rng.random() < 0.3 else End.CRASHED, text)
        return Reply(End.COMPLETED, text)

    def _ended(self, site: Site, attempt: str) -> None:
        """As the record tells it: only what has a result has come to its end."""
        replace(site.project.ddx(FOLDER, attempt, RESULT), (b'{"outcome": "ended"}\n',))
        del self._live[attempt]

    def _status(self, beads: Sequence[str]) -> Status:
        if any(self.rng.random() > self.skill.get(it, 0.9) for it in beads):
            return self.rng.choice((Status.CHECK_FAILED, Status.NOTHING_DONE, Status.AGENT_FAILED))
        statuses, weights = zip(*_ENDINGS, strict=True)
        return self.rng.choices(statuses, weights)[0]

    def _land(self, facts: Facts) -> Landed:
        truth = self.ledger.attempts[facts.attempt]
        truth.commit, truth.is_proven = facts.result, True
        self.boundary()
        return Landed(facts, facts.result)

    def reconcile(self, site: Site) -> Sequence[Reconciled]:
        done: list[Reconciled] = []
        for attempt, (claims, facts) in list(self._live.items()):
            truth = self.ledger.attempts.get(attempt)
            claims = self.claims(site.tracker, claims.selected, claims.tokens)
            outcome: Outcome = Failed(facts, Status.INTERRUPTED)
            if truth and truth.commit:
                landed = changed(facts, result=truth.commit, checks=(_MERGED,))
                outcome = close_landed(site, Landed(landed, truth.commit), claims, _record())
            else:
                for bead_id in facts.beads:
                    release(claims, bead_id, outcome)
            self._ended(site, attempt)
            done.append(Reconciled(attempt, outcome, 0))
        return done

    def landed(self, site: Site, attempt: str) -> Mapping[str, Any] | None:
        truth = self.ledger.attempts.get(attempt)
        if truth is None or not truth.commit or set(truth.selected) != truth.closed:
            return None
        return {"diffstat": _DIFFSTAT}

    def land_waiting(self, site: Site) -> Sequence[Outcome]:
        done: list[Outcome] = []
        folder = site.project.ddx(*PENDING)
        for item in read_pending(folder):
            if self.rng.random() < 0.7:
                continue
            selected, facts = self._kept[item.attempt]
            claims = self.claims(site.tracker, selected.selected, {})
            snapshot = site.tracker.snapshot()
            if claims.find_drift() or any(snapshot.status(it) != "open" for it in facts.beads):
                remove_pending(folder, item.attempt)
                continue
            outcome = close_landed(site, self._land(facts), claims, _record())
            remove_pending(folder, item.attempt)
            done.append(outcome)
        return done

    def measure(
        self, site: Site, slider: Slider, scope: str, *, beads: Sequence[str] = ()
    ) -> Measured:
        """Sometimes it cannot be done, and sometimes it files work."""
        self.boundary()
        if self.rng.random() < 0.1:
            raise Refused("there is no room for a workspace")
        created = (self._file(site),) if self.rng.random() < 0.2 else ()
        self.boundary()
        return Measured("", scope, "", "", not created, tuple(beads), (), (), created)

    # -- passes ----------------------------------------------------------------------------------

    def check(self, desk: Desk, scope: Scope, *, always_ask: bool) -> Checked | Unreadable:
        state = state_hash(desk.site, scope)
        if self.ledger.asked[state] and not always_ask:
            raise Violation("check was asked twice about one state")
        self.ledger.asked[state] += 1
        self._call(desk, "check")
        if self.rng.random() < self.mishaps:
            return Unreadable("no trailer")
        return Checked(state, self.rng.choice(self.answers), "as the script says")

    def review_landed(self, desk: Desk, attempt: str) -> ReviewOf:
        truth = self.ledger.attempts[attempt]
        verdict = self._verdict(desk)
        if not isinstance(verdict, Unreadable):
            truth.is_reviewed = True
        return file_review(desk, verdict, tuple(truth.selected))

    def review_scope(self, desk: Desk, scope: str) -> Verdict:
        return self._verdict(desk)

    def review_failure(self, desk: Desk, outcome: Outcome) -> tuple[str, ...]:
        self._call(desk, "review")
        return ("it is not finished",)

    def _verdict(self, desk: Desk) -> Verdict:
        self._call(desk, "review")
        said = self.rng.random()
        if said < self.mishaps:
            return Unreadable("no trailer")
        if said > 0.25:
            return Clean()
        titles = self.rng.sample(_TITLES, self.rng.randint(1, 2))
        grave = self.rng.choice((Severity.HIGH, Severity.MEDIUM, Severity.LOW))
        return Findings(
            tuple(Finding(grave, title, acceptance="`true` passes") for title in titles)
        )

    def align(self, desk: Desk, scope: str) -> Pass:
        return self._documents(desk, "align")

    def design(self, desk: Desk, scope: str) -> Pass:
        return self._documents(desk, "design")

    def evolve(self, desk: Desk, requirement: str, *, artifact: str) -> Pass:
        return self._documents(desk, "evolve")

    def _documents(self, desk: Desk, name: str) -> Pass:
        self._call(desk, name)
        said = self.rng.random()
        if said < 0.05:
            raise Refused(f"the bead of {name} is held elsewhere")
        if said < 0.1:
            return Pass(name, Ended.GUIDANCE, "GUIDANCE_NEEDED", "what is meant?")
        if self.rng.random() > self.ideas:
            return Pass(name, Ended.DONE, "COMPLETE")
        return Pass(
            name, Ended.DONE, "COMPLETE", has_changed=True, created=(self._file(desk.site),)
        )

    def polish(self, desk: Desk, scope: str, beads: Sequence[str]) -> Pass:
        self._call(desk, "polish")
        said = self.rng.random()
        if said < 0.2:
            return Pass("polish", Ended.FAILED, reason="the agent gave up")
        if self.rng.random() < self.ideas / 5:
            return Pass(
                "polish",
                Ended.DONE,
                "CONVERGED",
                has_changed=True,
                created=(self._file(desk.site),),
            )
        has_changed = [self._looked_at(desk.site, bead_id) for bead_id in beads]
        return Pass("polish", Ended.DONE, "CONVERGED", has_changed=any(has_changed))

    def _looked_at(self, site: Site, bead_id: str) -> bool:
        """A converged polish writes down which documents it saw (S-3)."""
        from ddx.graph.cache import load_graph

        graph = load_graph(site.project, site.settings.document_roots, clock=self.clock)
        row = site.tracker.snapshot().find(bead_id)
        if row is None or status_of(row) not in ("open", "blocked"):
            return False
        patch = Patch({SEEN: Upstream(graph).hashes(row)})
        self.ledger.touched(bead_id)
        applied = site.tracker.change(
            lambda snapshot, now: update(snapshot, bead_id, patch, now=now, by="helix")
        )
        return bool(applied.rows)

    def _file(self, site: Site) -> str:
        draft = {"title": "More work", "verify": ["true"], "priority": self.rng.randrange(4)}
        applied = site.tracker.change(
            lambda snapshot, now: create(
                snapshot, [draft], now=now, by="helix", draw_id=self.draw_id
            )
        )
        (bead_id,) = applied.created
        return bead_id

    def draw_id(self) -> str:
        return f"app-{self.rng.getrandbits(32):08x}"

    def _call(self, desk: Desk, action: str) -> None:
        self._spend(desk.site, f"{action}-{self.rng.getrandbits(32):08x}")
        fault = self.rng.random() < self.mishaps
        desk.on_call(action, Reply(End.RATE_LIMITED if fault else End.COMPLETED))


def _record() -> Record:
    return cast("Record", NoRecord())

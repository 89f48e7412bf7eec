"""What every attempt works with: its world and target, what is asked of it, what people want (X-3).

Whoever only looks needs the world and no more (C-7). The policy says which beads, and with what
limits and words; who may say what, and what is told, are values.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from ddx.agents import Reply
from ddx.attempts.prompt import write_prompt
from ddx.attempts.record import RecordWriter
from ddx.base import Refused, UsageError, changed, value, variable
from ddx.git import commit_id, is_ancestor, read_head
from ddx.proof import Check
from ddx.tracker import (
    Bead,
    BeadId,
    blockers,
    decode,
    ready_for_execution,
    texts_of,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.agents import StopRequest, Usage
    from ddx.attempts.outcome import AttemptId
    from ddx.attempts.prompt import PromptSection
    from ddx.attempts.record import OnEvent
    from ddx.base import Clock, DdxError, Masker
    from ddx.git import Repository
    from ddx.project import Project, Settings
    from ddx.tracker import Snapshot, Tracker


@value
class LandingTarget:
    """Where an attempt begins and where its work is to go, fixed before anything else."""

    repository: Repository
    branch: str
    base: str

    @property
    def name(self) -> str:
        return self.branch.removeprefix("refs/heads/")


def fix_target(project: Project, from_rev: str = "", *, merge: bool = True) -> LandingTarget:
    """The branch that is checked out now, and the commit to build on."""
    head = read_head(project.root)
    head.require_branch()
    target = LandingTarget(head.repository, head.branch, head.commit)
    if not from_rev:
        return target
    base = commit_id(project.root, from_rev)
    if not base:
        raise UsageError(f"--from {from_rev}: there is no such commit", hint="git log --oneline")
    if merge and not is_ancestor(target.repository, base, head.commit):
        raise UsageError(
            f"--from {from_rev} is not in the history of {target.name}, so its work cannot land",
            hint="add --no-merge to keep the work at a ref, or switch to a branch that holds it",
        )
    return LandingTarget(head.repository, head.branch, base)


@value
class AttemptContext:
    """What every step needs of the world."""

    project: Project
    settings: Settings
    tracker: Tracker
    clock: Clock
    masker: Masker
    stop: StopRequest
    on_event: OnEvent

    def workspace(self, attempt: str) -> str:
        """Where this attempt works; nothing need be there."""
        return workspace_path(self.project, self.settings, attempt)

    def begin_record(self, attempt: str, intent: dict[str, Any]) -> RecordWriter:
        """A new record, locked before anybody can see it."""
        return RecordWriter.begin(
            self.project,
            attempt,
            intent,
            clock=self.clock,
            masker=self.masker,
            on_event=self.on_event,
        )


def workspace_root(project: Project, settings: Settings) -> str:
    """The one folder, outside of the checkout, that holds all workspaces and nothing else (X-3)."""
    cache = variable("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    home = settings.workspace.root or os.path.join(cache, "helix", "workspaces")
    project_root = os.path.realpath(project.root)
    mark = hashlib.sha256(os.fsencode(project_root)).hexdigest()[:10]
    name = f"{os.path.basename(project_root)}-{mark}"
    root = os.path.join(os.path.realpath(os.path.join(project_root, home)), name)
    if root.startswith(os.path.join(project_root, "")):
        raise UsageError(
            f"workspace.root {home} lies inside the checkout, where no agent may work",
            hint="name a folder outside of it",
        )
    return root


def workspace_path(project: Project, settings: Settings, attempt: str) -> str:
    """Where an attempt works; written into its record before anything is made there."""
    return os.path.join(workspace_root(project, settings), attempt)


class StopControls:
    """By signals, and by what a second terminal asks for, where there can be one."""

    def __init__(
        self,
        stop: StopRequest,
        *,
        stop_asked: Callable[[], bool] = lambda: False,
        pause_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.stop = stop
        self.winding_down = False
        self._stop_asked = stop_asked
        self._pause_asked = pause_asked

    def wind_down(self) -> None:
        """Begin nothing more; what runs is brought to its end. Safe in a signal handler."""
        self.winding_down = True

    @property
    def is_interrupted(self) -> bool:
        """What runs shall be interrupted, and its work kept."""
        return bool(self.stop.asked)

    @property
    def is_over(self) -> bool:
        """Somebody wants it to end, now or after what runs."""
        return self.winding_down or self.is_interrupted or self._stop_asked()

    @property
    def is_paused(self) -> bool:
        """Nothing shall be begun until a person lets it go on, or wants its end."""
        return self._pause_asked() and not self.is_over


# -- what is asked of an attempt -----------------------------------------------------------------


@value
class Limits:
    """How long and how much one attempt may take (X-6, X-7)."""

    wall_s: float = 2700.0
    idle_s: float = 900.0
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    is_of_run: bool = False
    """The budget is what is left of the whole run's: to reach it is not the bead's fault."""

    def are_spent(self, usage: Usage) -> bool:
        """Has a known number passed its limit? An unknown cost passes none (X-7)."""
        cost, most = usage.cost_usd, self.max_cost_usd
        too_dear = most is not None and cost is not None and cost >= most
        return too_dear or (self.max_tokens is not None and usage.tokens >= self.max_tokens)


@value
class AgentProduct:
    """What an agent has left behind, before anybody believes it."""

    folder: str
    """Where the project lies in the workspace."""
    base: str
    commit: str
    """The tree in question: the agent's own, its merge, or the base if nothing was made."""
    paths: tuple[str, ...]
    """What the agent changed, seen from the project; outside of it, they begin with `../`."""
    reply: Reply | None = None
    """None: nobody was asked, what was kept earlier is to land."""


if TYPE_CHECKING:
    Prover: TypeAlias = Callable[[AgentProduct], tuple["Check", ...]]
    """All checks of one product; asked again where a merge is to land."""


@value
class Preparation:
    """What the policy hands over for one attempt; `manifest` is kept verbatim."""

    harness: str
    model: str = ""
    effort: str = ""
    sections: tuple[PromptSection, ...] = ()
    closing_sections: tuple[PromptSection, ...] = ()
    """These come after the bead's own sections, such as notes on conflicts."""
    manifest: Mapping[str, Any] = {}
    limits: Limits = Limits()
    action: str = "build"
    checks: Prover | None = None
    """Another proof than the beads' own criteria, for work that is no build (A-10)."""
    is_free: bool = False
    """Its whole purpose is to write documents: authority is the policy's to judge (X-27)."""
    on_reply: Callable[[Reply], None] | None = None
    """Told what the agent said, before anything is done with what it made."""

    def prompt(self) -> str:
        """What its agent is told besides its beads, as it can be kept on one of them."""
        return write_prompt((), before=self.sections, after=self.closing_sections)


class Boundary(StrEnum):
    """Where the world is looked at again (X-18)."""

    LANDING = "before landing"


@value
class Drift:
    """What governs the bead has changed since it was selected."""

    bead: BeadId
    fields: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.bead} changed meanwhile: {', '.join(self.fields)}"


class Policy(Protocol):
    """What to do next and how: the caller's part of one piece of work."""

    def pick(self, ready: Sequence[Bead]) -> tuple[BeadId, ...]:
        """The beads of the next attempt, in the queue's order; none: nothing to do now."""

    def prepare(self, beads: Sequence[Bead], attempt: AttemptId) -> Preparation:
        """The prompt's sections, the harness and the limits."""

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        """The policy's own reason not to go on, besides the fingerprint's."""


@value
class Idle:
    """Nothing was done, and why; `again`: the queue has moved, so it is worth another look."""

    reason: str
    again: bool = False
    refusal: DdxError | None = None
    """Why what was picked may not be handed out at all."""


class ReadyBeads(Sequence[Bead]):
    """Beads in the queue's order; a row is read when somebody looks at it."""

    def __init__(self, snapshot: Snapshot, places: Sequence[int]) -> None:
        self._snapshot = snapshot
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Bead: ...
    @overload
    def __getitem__(self, index: slice) -> ReadyBeads: ...
    def __getitem__(self, index: int | slice) -> Bead | ReadyBeads:
        if isinstance(index, slice):
            return ReadyBeads(self._snapshot, self._places[index])
        n = self._places[index]
        columns = self._snapshot.columns
        return Bead(columns.ids[n], decode(self._snapshot.line(n)), columns.revisions[n])

    def ids(self) -> list[str]:
        """Without reading a row."""
        return [self._snapshot.columns.ids[n] for n in self._places]


def held_paths(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """The paths that beads in progress declare, whoever works on them."""
    columns = snapshot.columns
    return {
        columns.ids[n]: paths
        for n, status in enumerate(columns.statuses)
        if status == "in_progress"
        if (paths := texts_of(decode(snapshot.line(n)), "paths"))
    }


_FOR_SUPERVISION = frozenset({"not-execution-eligible", "no-success-criteria", "epic-only"})
"""What keeps a bead from the queue, and not from an action that is about it."""


def pick_beads(site: AttemptContext, policy: Policy, *, supervisory: bool) -> list[Bead]:
    """What the policy wants, if all of it may be handed out now."""
    snapshot = site.tracker.snapshot()
    around = changed(
        site.tracker.surroundings(has_default_checks=bool(site.settings.default_checks)),
        held=site.tracker.held_back(),
    )
    places = ready_for_execution(snapshot.columns, around)
    picked = policy.pick(ReadyBeads(snapshot, places))
    free = {snapshot.columns.ids[n]: n for n in places}
    for bead_id in picked:
        if bead_id in free:
            continue
        snapshot.row(bead_id)
        n = snapshot.columns.place[bead_id]
        in_the_way = blockers(snapshot.columns, n, around)
        if supervisory and all(it.kind in _FOR_SUPERVISION for it in in_the_way):
            free[bead_id] = n
            continue
        held = in_the_way[0] if in_the_way else None
        raise Refused(
            f"{bead_id} cannot be worked on: {held.reason if held else 'it is not ready'}",
            hint=f"ddx bead why {typed(bead_id)}",
        )
    return [ReadyBeads(snapshot, [free[bead_id]])[0] for bead_id in picked]

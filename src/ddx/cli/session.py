"""What a `ddx bead` command needs from the world: the tracker, new ids, who claims."""

from __future__ import annotations

import os
import sys

from ddx import environment
from ddx.cli.place import CLOCK, actor, here, settings, tell
from ddx.errors import UsageError
from ddx.tracker.model import RUNNER, id_prefix
from ddx.tracker.store import LOCK_WAIT_S, Tracker
from ddx.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.project import Project
    from ddx.tracker.lifecycle import Claimant
    from ddx.tracker.model import Row
    from ddx.tracker.queue import Surroundings


def open_tracker(project: Project | None = None) -> Tracker:
    project = project or here()
    return Tracker(
        project,
        clock=CLOCK,
        lock_wait_s=_lock_wait_s(),
        command=" ".join(["ddx", *sys.argv[1:4]]),
        tell=tell,
        approve=_approval(project),
        permit=lambda: environment.refuse_inside_an_attempt(project, what="changing the tracker"),
    )


def surroundings(tracker: Tracker) -> Surroundings:
    """What readiness depends on here; the beads of pending landings are held back (X-13)."""
    checks = settings(tracker.project).default_checks
    around = tracker.surroundings(has_default_checks=bool(checks))
    folder = tracker.project.ddx("state", "pending")
    if not os.path.isdir(folder):  # nearly always, so what reads it is not even loaded
        return around
    from ddx.tracker.pending import held_by_pending

    return changed(around, held=held_by_pending(folder, tell=tell))


def claimant(owner: str | None, project: Project) -> Claimant:
    """Who claims: the name given, else git's, else the login; a runner with its process (T-24)."""
    from ddx.tracker.lifecycle import Claimant

    machine = os.uname().nodename
    if owner == RUNNER:
        from ddx.process import started_at

        asking = os.getppid()  # we are gone in a moment; who called us is the runner
        return Claimant(RUNNER, machine, asking, started_at(asking))
    if not owner:
        from ddx.git import user_name

        owner = user_name(project.root) or actor() or "someone"
    return Claimant(owner, machine)


def new_claim_id() -> str:
    return os.urandom(8).hex()


def id_maker(project: Project) -> Callable[[], str]:
    """New ids by chance: `<prefix>-<8 hex>` (T-3)."""
    prefix = id_prefix(settings(project).bead_prefix or project.name)
    return lambda: f"{prefix}-{os.urandom(4).hex()}"


def _lock_wait_s() -> float:
    given = environment.variable("DDX_BEAD_LOCK_TIMEOUT")
    try:
        return float(given) if given else LOCK_WAIT_S
    except ValueError:
        raise UsageError(
            f"DDX_BEAD_LOCK_TIMEOUT must be a number of seconds, not {given!r}"
        ) from None


def _approval(project: Project) -> Callable[[Row | None, Row], None]:
    """The project's own say on new and changed beads (T-15), where it has any."""
    if not os.path.isdir(project.ddx("hooks")):
        return lambda old, new: None
    from ddx.tracker.hooks import Hooks

    return Hooks(project, tell=tell).approve

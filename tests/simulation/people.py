"""The operator and a second runner: they edit beads and documents whenever they like (S-22)."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.agent_fake import SHARED
from tests.simulation.world import WatchedTracker, World

from ddx.attempts.claims import AttemptClaims
from ddx.base.errors import DdxError
from ddx.project.project import Project
from ddx.tracker.bead import Bead
from ddx.tracker.edits import BeadPatch, create, update
from ddx.tracker.lifecycle import (
    BeadClosure,
    Claimant,
    block,
    cancel,
    claim,
    close,
    reopen,
    supersede,
    unclaim,
)
from ddx.tracker.row import Row, status_of
from helix.run import journal as controls
from helix.run.journal import ControlRequest

if TYPE_CHECKING:
    from ddx.tracker.changeset import ChangeSet
    from ddx.tracker.snapshot import Snapshot

MARA = "mara"
DOCUMENTS = (
    "docs/helix/01-frame/features/FEAT-001-a-cart.md",
    "docs/helix/02-design/technical-designs/TD-001-sums.md",
)


class People:
    """They have a second terminal, their own files, and only so much energy."""

    def __init__(
        self,
        project: Project,
        tracker: WatchedTracker,
        rng: Random,
        *,
        energy: int,
    ) -> None:
        self._project = project
        self._tracker = tracker
        self._rng = rng
        self.energy = energy
        self.terminate: Callable[[], None] = lambda: None
        self._held: dict[str, str] = {}

    def act(self, world: World) -> None:
        """One thing, or nothing if it cannot be done."""
        if self.energy <= 0:
            return
        self.energy -= 1
        deeds = (
            *([self._retitle, self._respecify, self._reprioritise, self._file, self._depend] * 2),
            *([self._edit_document, self._reopen, self._take, self._give_back] * 2),
            *([self._edit_shared] * 2),
            *(self._close, self._cancel, self._supersede, self._block, self._move),
            *(self._note, self._pause, self._stop, self._terminate, self._stand_in_the_way),
        )
        try:
            self._rng.choice(deeds)(world)
        except DdxError:
            return  # they were told why not

    def act_while_waiting(self, world: World) -> None:
        """A run that watches or is paused goes on or ends by somebody's hand."""
        controls.withdraw(self._project, ControlRequest.PAUSE)
        world.ledger.paused(False)
        if self.energy <= 0 or self._rng.random() < 0.2:
            controls.ask(self._project, ControlRequest.STOP, run=world.run)
        else:
            self.act(world)

    # -- beads -----------------------------------------------------------------------------------

    def _some(self, *statuses: str) -> Row:
        rows = [it for it in self._tracker.snapshot().rows() if status_of(it) in statuses]
        if not rows:
            raise DdxError("there is none")
        return self._rng.choice(rows)

    def _unfinished(self) -> Row:
        return self._some("open", "in_progress", "blocked")

    def _do(self, bead_id: str, decide: Callable[[Snapshot, str], ChangeSet], world: World) -> None:
        self._tracker.change(decide)
        world.ledger.touched(bead_id)

    def _patch(self, patch: BeadPatch, world: World) -> None:
        bead_id = self._unfinished()["id"]
        self._do(
            bead_id, lambda snapshot, now: update(snapshot, bead_id, patch, now=now, by=MARA), world
        )

    def _retitle(self, world: World) -> None:
        self._patch(BeadPatch({"title": f"Title {self._rng.randrange(100)}"}), world)

    def _respecify(self, world: World) -> None:
        self._patch(BeadPatch({"spec-id": self._rng.choice(("FEAT-001", "TD-001"))}), world)

    def _reprioritise(self, world: World) -> None:
        self._patch(BeadPatch({"priority": self._rng.randrange(5)}), world)

    def _note(self, world: World) -> None:
        self._patch(BeadPatch({}, append_notes="look at this"), world)

    def _depend(self, world: World) -> None:
        self._patch(BeadPatch({}, depends_on=(self._unfinished()["id"],)), world)

    def _move(self, world: World) -> None:
        self._patch(BeadPatch({}, parent=self._unfinished()["id"]), world)

    def _file(self, world: World) -> None:
        draft = {"title": "An idea", "verify": ["true"], "priority": self._rng.randrange(5)}
        self._tracker.change(
            lambda snapshot, now: create(snapshot, [draft], now=now, by=MARA, draw_id=world.draw_id)
        )

    def _close(self, world: World) -> None:
        bead_id = self._unfinished()["id"]
        ending = BeadClosure("by hand")
        self._do(
            bead_id,
            lambda snapshot, now: close(snapshot, bead_id, ending, actor=MARA, now=now),
            world,
        )

    def _cancel(self, world: World) -> None:
        bead_id = self._unfinished()["id"]
        self._do(
            bead_id,
            lambda snapshot, now: cancel(snapshot, bead_id, reason="no", actor=MARA, now=now),
            world,
        )

    def _reopen(self, world: World) -> None:
        bead_id = self._some("blocked", "cancelled")["id"]
        self._do(
            bead_id,
            lambda snapshot, now: reopen(snapshot, bead_id, reason="yes", actor=MARA, now=now),
            world,
        )

    def _block(self, world: World) -> None:
        bead_id = self._unfinished()["id"]
        self._tracker.change(
            lambda snapshot, now: block(snapshot, bead_id, reason="wait", actor=MARA, now=now)
        )

    def _supersede(self, world: World) -> None:
        old, new = self._unfinished()["id"], self._unfinished()["id"]
        self._do(
            old,
            lambda snapshot, now: supersede(
                snapshot, old, by=(new,), reason="better", actor=MARA, now=now
            ),
            world,
        )
        world.ledger.touched(new)

    # -- claims ----------------------------------------------------------------------------------

    def _take(self, world: World) -> None:
        """As a person, or as another runner on this machine."""
        row = self._some("open")
        bead_id = row["id"]
        if self._rng.random() < 0.5:
            claims = AttemptClaims.planned(self._tracker, [Bead(bead_id, row)])
            claims.take()
            self._held[bead_id] = claims.tokens[bead_id]
            return
        token = f"{self._rng.getrandbits(64):016x}"
        claimant = Claimant(MARA, "tower")
        self._tracker.change(
            lambda snapshot, now: claim(snapshot, bead_id, claimant, claim_id=token, now=now)
        )
        self._held[bead_id] = token

    def _give_back(self, world: World) -> None:
        """What they hold, or, with some force, what the run holds."""
        row = self._some("in_progress")
        bead_id = row["id"]
        self._do(bead_id, lambda snapshot, now: unclaim(snapshot, bead_id, now=now), world)

    # -- files and wishes ------------------------------------------------------------------------

    def _edit_document(self, world: World) -> None:
        self._edit(world, self._rng.choice(DOCUMENTS))
        world.ledger.touched()

    def _edit_shared(self, world: World) -> None:
        self._edit(world, SHARED)

    def _edit(self, world: World, path: str) -> None:
        """On from what is there; it is committed at once, or later, or never."""
        if os.path.exists(self._project.ddx("state", "landing.json")):
            return  # `git status` is not what it was: a person waits until it is
        place = os.path.join(self._project.root, path)
        with open(place, encoding="utf-8") as file:
            text = file.read()
        world.dirty[path] = f"{text}\nSentence {self._rng.randrange(1000)}.\n"
        write_file(self._project, path, world.dirty[path])
        if self._rng.random() < 0.7:
            world.commit(path)

    def _stand_in_the_way(self, world: World) -> None:
        """A file of their own where an agent's would go; or it goes again."""
        mine = [path for path in world.dirty if path.startswith("work/")]
        if mine:
            os.unlink(os.path.join(self._project.root, mine[0]))
            del world.dirty[mine[0]]
            return
        path = f"work/{self._unfinished()['id']}"
        if not os.path.exists(os.path.join(self._project.root, path)):
            world.dirty[path] = "my own\n"
            write_file(self._project, path, world.dirty[path])

    def _pause(self, world: World) -> None:
        controls.ask(self._project, ControlRequest.PAUSE, run=world.run)
        world.ledger.paused(True)

    def _stop(self, world: World) -> None:
        if self._rng.random() < 0.3:
            controls.ask(self._project, ControlRequest.STOP, run=world.run)

    def _terminate(self, world: World) -> None:
        if self._rng.random() < 0.3:
            self.terminate()


def write_file(project: Project, path: str, text: str) -> None:
    whole = os.path.join(project.root, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "w", encoding="utf-8") as file:
        file.write(text)

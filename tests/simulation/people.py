"""The operator and a second runner: they edit beads and documents whenever they like (S-22)."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.world import WatchedTracker, World

from ddx.errors import DdxError
from ddx.execution.claims import Claims
from ddx.execution.model import Bead
from ddx.project import Project
from ddx.tracker.drafting import create
from ddx.tracker.lifecycle import (
    Claimant,
    Ending,
    block,
    cancel,
    claim,
    close,
    reopen,
    supersede,
    unclaim,
)
from ddx.tracker.model import Row, status_of
from ddx.tracker.updating import Patch, update
from helix.supervisor import controls
from helix.supervisor.controls import Wish

if TYPE_CHECKING:
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes

MARA = "mara"


class People:
    """They have a second terminal, their own files, and only so much energy."""

    def __init__(
        self,
        project: Project,
        tracker: WatchedTracker,
        rng: Random,
        *,
        energy: int,
        files: dict[str, str],
    ) -> None:
        self._project = project
        self._tracker = tracker
        self._rng = rng
        self.energy = energy
        self.files = files
        """What they wrote, as it must still be at the end."""
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
            *(self._close, self._cancel, self._supersede, self._block, self._move),
            *(self._note, self._pause, self._stop, self._terminate),
        )
        try:
            self._rng.choice(deeds)(world)
        except DdxError:
            return  # they were told why not

    def act_while_waiting(self, world: World) -> None:
        """A run that watches or is paused goes on or ends by somebody's hand."""
        controls.withdraw(self._project, Wish.PAUSE)
        if self.energy <= 0 or self._rng.random() < 0.2:
            controls.ask(self._project, Wish.STOP, run=world.run)
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

    def _do(self, bead_id: str, decide: Callable[[Snapshot, str], Changes], world: World) -> None:
        self._tracker.change(decide)
        world.ledger.touched(bead_id)

    def _patch(self, patch: Patch, world: World) -> None:
        bead_id = self._unfinished()["id"]
        self._do(
            bead_id, lambda snapshot, now: update(snapshot, bead_id, patch, now=now, by=MARA), world
        )

    def _retitle(self, world: World) -> None:
        self._patch(Patch({"title": f"Title {self._rng.randrange(100)}"}), world)

    def _respecify(self, world: World) -> None:
        self._patch(Patch({"spec-id": self._rng.choice(("FEAT-001", "TD-001"))}), world)

    def _reprioritise(self, world: World) -> None:
        self._patch(Patch({"priority": self._rng.randrange(5)}), world)

    def _note(self, world: World) -> None:
        self._patch(Patch({}, append_notes="look at this"), world)

    def _depend(self, world: World) -> None:
        self._patch(Patch({}, depends_on=(self._unfinished()["id"],)), world)

    def _move(self, world: World) -> None:
        self._patch(Patch({}, parent=self._unfinished()["id"]), world)

    def _file(self, world: World) -> None:
        draft = {"title": "An idea", "verify": ["true"], "priority": self._rng.randrange(5)}
        self._tracker.change(
            lambda snapshot, now: create(snapshot, [draft], now=now, by=MARA, draw_id=world.draw_id)
        )

    def _close(self, world: World) -> None:
        bead_id = self._unfinished()["id"]
        ending = Ending("by hand")
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
            claims = Claims.planned(self._tracker, [Bead(bead_id, row)])
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
        path = self._rng.choice(sorted(path for path in self.files if path.startswith("docs/")))
        self.files[path] += f"\nSentence {self._rng.randrange(1000)}.\n"
        write_file(self._project, path, self.files[path])
        world.documents += 1
        world.ledger.touched()
        if self._rng.random() < 0.3:
            world.uncommitted.add(path)
        else:
            world.uncommitted.discard(path)

    def _pause(self, world: World) -> None:
        controls.ask(self._project, Wish.PAUSE, run=world.run)

    def _stop(self, world: World) -> None:
        if self._rng.random() < 0.3:
            controls.ask(self._project, Wish.STOP, run=world.run)

    def _terminate(self, world: World) -> None:
        if self._rng.random() < 0.3:
            self.terminate()

    def are_untouched(self) -> bool:
        """Every file of theirs is as they left it, and nothing lies beside them but ours."""
        found = {}
        for folder, _, names in os.walk(self._project.root):
            inside = os.path.relpath(folder, self._project.root)
            if inside.split(os.sep)[0] in (".git", ".ddx", ".helix", ".helix-logs"):
                continue
            for name in names:
                path = os.path.normpath(os.path.join(inside, name))
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found[path] = file.read()
        return found == self.files


def write_file(project: Project, path: str, text: str) -> None:
    whole = os.path.join(project.root, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "w", encoding="utf-8") as file:
        file.write(text)

"""The one bead on which a pass over documents is run: found, made, or taken over (A-4).

A bead labelled `kind:planning` and `action:<name>` is no work for the queue. It holds the prompt of
its pass and who is at it, so two passes about the same thing never run at once, and a pass that was
done is not repeated while nothing has changed.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from ddx.errors import ChangedFirst, Refused
from ddx.execution.record import is_alive, read_record, unfinished
from ddx.fastjson import to_bytes
from ddx.git.trees import entries
from ddx.process import is_alive as is_running
from ddx.text import cut, shown
from ddx.tracker.drafting import create
from ddx.tracker.events import event, with_event
from ddx.tracker.lifecycle import unclaim
from ddx.tracker.model import (
    FINISHED,
    RUNNER,
    events_of,
    holder_of,
    labels_of,
    link_of,
    status_of,
    text_of,
    typed,
)
from ddx.tracker.updating import Patch, update
from ddx.tracker.working import Changes, Working
from ddx.values import value
from helix.actions.filing import id_maker
from helix.actions.scope import REPO
from helix.policy.passing import PASSING
from helix.policy.recovery import Leave, claim_of, judge_claim

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.desk import Desk
    from helix.policy.recovery import Judgement

KIND = "kind:planning"
PROMPT_EVENT = "prompt"
STATE_KEY = "pass-state"
WORD_KEY = "pass-word"
"""On the closed bead of a pass that was done: what its trailer said, and of which state."""

_LONGEST_TITLE = 160
_LONGEST_LABEL = 120
_OURS = (".ddx/", ".helix/", ".helix-logs/")


@value
class Subject:
    """What a pass is about; two that are equal are the same pass."""

    action: str
    scope: str = REPO
    document: str = ""
    """The id of the document that the scope names, if it names one."""
    request: str = ""
    """The words of a person that it answers, where there are any."""

    @property
    def labels(self) -> tuple[str, ...]:
        return (KIND, f"action:{self.action}", _scope_label(self.scope))

    @property
    def title(self) -> str:
        about = self.request or self.scope
        return cut(shown(f"{self.action}: {' '.join(about.split())}"), _LONGEST_TITLE)

    def is_of(self, row: Row) -> bool:
        """Is this bead the one for it, whoever filed it?"""
        labels = labels_of(row)
        if KIND not in labels or f"action:{self.action}" not in labels:
            return False
        return self._has_scope(row, labels) and self.request in ("", text_of(row, "description"))

    def _has_scope(self, row: Row, labels: tuple[str, ...]) -> bool:
        if _scope_label(self.scope) in labels:
            return True
        if any(label.startswith("scope:") for label in labels):
            return False
        return link_of(row, "spec-id") == self.document and bool(
            self.document or self.scope == REPO
        )


@value
class Done:
    """An earlier pass that was done, and after which nothing has changed."""

    bead: str
    word: str


def acquire(desk: Desk, subject: Subject, *, prompt: str) -> str:
    """The id of the bead to run on, free and with the prompt on it.

    One that is open is used again and one whose holder is gone is taken over; while somebody is at
    it, we are refused.
    """
    site = desk.site

    def decide(snapshot: Snapshot, now: str) -> Changes:
        row = _freed(desk, snapshot, subject, now=now)
        if row is None:
            return _filed(site, snapshot, subject, prompt, now=now)
        working = Working(snapshot, now=now)
        if (told := _with_prompt(row, prompt, now=now)) != snapshot.row(row["id"]):
            working.put(told)
        return working.changes()

    changes = site.tracker.change(decide)
    if changes.rows:
        return next(iter(changes.rows))
    found = _find(site.tracker.snapshot(), subject)
    if found is None:
        raise ChangedFirst(f"the bead for {subject.title} was closed a moment ago")
    return str(found["id"])


def find_done(site: Site, subject: Subject) -> Done | None:
    """The last pass about this, if it was done and everything is still as it left it."""
    snapshot = site.tracker.snapshot()
    closed = [
        row
        for row in _supervisory(snapshot, subject.action)
        if status_of(row) == "closed" and text_of(row, STATE_KEY) and subject.is_of(row)
    ]
    if not closed or _find(snapshot, subject) is not None:
        return None
    last = max(closed, key=lambda row: (text_of(row, "closed_at"), row["id"]))
    if text_of(last, STATE_KEY) != state_of(site):
        return None
    return Done(last["id"], text_of(last, WORD_KEY))


def remember_done(site: Site, bead_id: str, word: str) -> None:
    """Note on the bead what the pass said, and the state in which it left everything."""
    patch = Patch({STATE_KEY: state_of(site), WORD_KEY: word})
    site.tracker.change(lambda view, now: update(view, bead_id, patch, now=now, by=RUNNER))


def state_of(site: Site) -> str:
    """A hash of all that a pass could see: the files of HEAD, and the queue but for passes."""
    found = hashlib.sha256()
    for entry in entries(site.project.root, "HEAD", ["."]):
        if not entry.path.startswith(_OURS):
            found.update(f"{entry.blob} {entry.path}\0".encode("utf-8", "surrogateescape"))
    for row in site.tracker.snapshot().rows():
        if KIND not in labels_of(row):
            kept = {name: said for name, said in sorted(row.items()) if name not in PASSING}
            found.update(to_bytes(kept) + b"\0")
    return found.hexdigest()


def _scope_label(scope: str) -> str:
    return cut(shown(f"scope:{' '.join(scope.split())}"), _LONGEST_LABEL)


def _supervisory(snapshot: Snapshot, action: str) -> Iterable[Row]:
    wanted = f"action:{action}"
    return (row for row in snapshot.rows() if wanted in labels_of(row))


def _find(snapshot: Snapshot, subject: Subject) -> Row | None:
    """The unfinished one; of several, the one that somebody is at, else the oldest."""
    found = [
        row
        for row in _supervisory(snapshot, subject.action)
        if status_of(row) not in FINISHED and subject.is_of(row)
    ]
    return min(
        found,
        key=lambda row: (status_of(row) != "in_progress", text_of(row, "created_at"), row["id"]),
        default=None,
    )


def _freed(desk: Desk, snapshot: Snapshot, subject: Subject, *, now: str) -> Row | None:
    """The bead, with no claim on it; read under the lock, so nobody can claim it meanwhile."""
    row = _find(snapshot, subject)
    if row is None or status_of(row) != "in_progress":
        return row
    match _judged(desk, row, now=now):
        case Leave(reason=reason):
            raise Refused(
                f"{row['id']} ({subject.title}) is held by {holder_of(row)}: {reason}",
                hint=f"ddx bead show {typed(row['id'])}",
            )
        case released:
            freed = unclaim(snapshot, row["id"], claim_id=text_of(row, "claim-id"), now=now)
            said = event("released", summary=released.reason, actor=RUNNER, at=now)
            return with_event(freed.put[row["id"]], said)


def _judged(desk: Desk, row: Row, *, now: str) -> Judgement:
    claim = claim_of(row)
    if claim is None:
        raise ValueError(f"{row['id']} is not in progress")
    is_worked_on = is_dead = False
    project = desk.site.project
    for attempt in unfinished(project):
        claims: Any = read_record(project, attempt).intent.get("claims")
        if isinstance(claims, dict) and claims.get(claim.bead) == claim.claim_id != "":
            is_worked_on = is_alive(project, attempt, desk.site.clock)
            is_dead = not is_worked_on
    return judge_claim(
        claim,
        now=now,
        threshold_s=desk.settings.orphan_threshold_s,
        machine=os.uname().nodename,
        is_alive=is_running,
        is_worked_on=is_worked_on,
        is_ours_and_dead=is_dead,
    )


def _filed(site: Site, snapshot: Snapshot, subject: Subject, prompt: str, *, now: str) -> Changes:
    draft = {
        "title": subject.title,
        "description": subject.request,
        "labels": list(subject.labels),
        "spec-id": subject.document,
        "execution-eligible": False,
    }
    made = create(snapshot, [draft], now=now, by=RUNNER, draw_id=id_maker(site))
    working = Working(snapshot, now=now)
    for row in made.put.values():
        working.put(_with_prompt(row, prompt, now=now))
    return working.changes()


def _with_prompt(row: Row, prompt: str, *, now: str) -> Row:
    """The same prompt is noted once."""
    told = event(PROMPT_EVENT, summary="what its agent is told", body=prompt, actor=RUNNER, at=now)
    earlier = (it for it in reversed(events_of(row)) if text_of(it, "kind") == PROMPT_EVENT)
    last = next(earlier, None)
    if last is not None and text_of(last, "body") == told["body"]:
        return row
    return with_event(row, told)

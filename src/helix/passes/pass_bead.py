"""The one bead on which a pass over documents is run: found, made, or taken over (A-4).

A bead labelled `kind:planning` and `action:<name>` is no work for the queue. It holds the prompt of
its pass and who is at it, so two passes about the same thing never run at once, and a pass that was
done is not repeated while nothing has changed. It is taken over where its claim is orphaned, which
is judged here by what is known of the holder (S-18, D-23).
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, TypeAlias

from ddx.attempts import read_attempts
from ddx.base import Instant, Refused, cut, in_words, shown, value
from ddx.base import is_alive as is_running
from ddx.git import Repository
from ddx.tracker import RUNNER, BeadPatch, typed
from helix.passes.filing import id_maker
from helix.passes.scope import PASSING, REPO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ddx.attempts import AttemptContext
    from ddx.tracker import Bead, Snapshot, TrackerEdit
    from helix.project import PassContext

KIND = "kind:planning"
PROMPT_EVENT = "prompt"
STATE_KEY = "pass-state"
WORD_KEY = "pass-word"
"""On the closed bead of a pass that was done: what its trailer said, and of which state."""

_LONGEST_TITLE = 160
_LONGEST_LABEL = 120
_LONGEST_PID = 9
_OURS = (".ddx/", ".helix/", ".helix-logs/")


@value
class PassSubject:
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

    def is_of(self, bead: Bead) -> bool:
        """Is this bead the one for it, whoever filed it?"""
        labels = bead.labels
        if KIND not in labels or f"action:{self.action}" not in labels:
            return False
        return self._has_scope(bead, labels) and self.request in ("", bead.description)

    def _has_scope(self, bead: Bead, labels: tuple[str, ...]) -> bool:
        if _scope_label(self.scope) in labels:
            return True
        if any(label.startswith("scope:") for label in labels):
            return False
        return bead.spec_id == self.document and bool(self.document or self.scope == REPO)


@value
class EarlierPass:
    """An earlier pass that was done, and after which nothing has changed."""

    bead: str
    word: str


def acquire(desk: PassContext, subject: PassSubject, *, prompt: str) -> str:
    """The id of the bead to run on, free and with the prompt on it.

    One that is open is used again and one whose holder is gone is taken over; while somebody is at
    it, we are refused.
    """
    site = desk.site

    def decide(edit: TrackerEdit) -> str:
        bead = _find(edit.before, subject)
        if bead is not None:
            _free(desk, edit, bead, subject)
        bead_id = bead.id if bead is not None else _file(site, edit, subject)
        _tell(edit, bead_id, prompt)
        return bead_id

    return site.tracker.edit(decide)


def find_done(site: AttemptContext, subject: PassSubject) -> EarlierPass | None:
    """The last pass about this, if it was done and everything is still as it left it."""
    snapshot = site.tracker.snapshot()
    closed = [
        bead
        for bead in _supervisory(snapshot, subject.action)
        if bead.status == "closed" and bead.text(STATE_KEY) and subject.is_of(bead)
    ]
    if not closed or _find(snapshot, subject) is not None:
        return None
    last = max(closed, key=lambda bead: (bead.closed_at, bead.id))
    if last.text(STATE_KEY) != state_of(site):
        return None
    return EarlierPass(last.id, last.text(WORD_KEY))


def remember_done(site: AttemptContext, bead_id: str, word: str) -> None:
    """Note on the bead what the pass said, and the state in which it left everything."""
    patch = BeadPatch({STATE_KEY: state_of(site), WORD_KEY: word})
    site.tracker.edit(lambda edit: edit.update(bead_id, patch))


def state_of(site: AttemptContext) -> str:
    """A hash of all that a pass could see: the files of HEAD, and the queue but for passes."""
    found = hashlib.sha256()
    for entry in Repository(site.project.root).entries("HEAD"):
        if not entry.path.startswith(_OURS):
            found.update(f"{entry.blob} {entry.path}\0".encode("utf-8", "surrogateescape"))
    for bead in site.tracker.snapshot().beads():
        if KIND not in bead.labels:
            found.update(bead.content(besides=PASSING) + b"\0")
    return found.hexdigest()


def _scope_label(scope: str) -> str:
    return cut(shown(f"scope:{' '.join(scope.split())}"), _LONGEST_LABEL)


def _supervisory(snapshot: Snapshot, action: str) -> Iterable[Bead]:
    wanted = f"action:{action}"
    return (bead for bead in snapshot.beads() if wanted in bead.labels)


def _find(snapshot: Snapshot, subject: PassSubject) -> Bead | None:
    """The unfinished one; of several, the one that somebody is at, else the oldest."""
    found = [
        bead
        for bead in _supervisory(snapshot, subject.action)
        if not bead.is_finished and subject.is_of(bead)
    ]
    return min(
        found,
        key=lambda bead: (bead.status != "in_progress", bead.created_at, bead.id),
        default=None,
    )


def _free(desk: PassContext, edit: TrackerEdit, bead: Bead, subject: PassSubject) -> None:
    """Take a dead holder's claim away; read under the lock, so nobody can claim it meanwhile."""
    claim = claim_of(bead)
    if claim is None:
        return
    threshold_s = desk.settings.orphan_threshold_s
    match judge_here(claim, recorded_claims(desk.site), now=edit.now, threshold_s=threshold_s):
        case Leave(reason=reason):
            raise Refused(
                f"{bead.id} ({subject.title}) is held by {bead.holder}: {reason}",
                hint=f"ddx bead show {typed(bead.id)}",
            )
        case released:
            edit.unclaim(bead.id, claim_id=bead.claim_id)
            edit.add_event(bead.id, "released", summary=released.reason)


def _file(site: AttemptContext, edit: TrackerEdit, subject: PassSubject) -> str:
    draft = {
        "title": subject.title,
        "description": subject.request,
        "labels": list(subject.labels),
        "spec-id": subject.document,
        "execution-eligible": False,
    }
    (bead_id,) = edit.create([draft], draw_id=id_maker(site))
    return bead_id


def _tell(edit: TrackerEdit, bead_id: str, prompt: str) -> None:
    """The same prompt is noted once."""
    edit.add_event(
        bead_id, PROMPT_EVENT, summary="what its agent is told", body=prompt, again=False
    )


# -- which claims are orphaned -------------------------------------------------------------------


@value
class Claim:
    """A bead in progress and who holds it, as the tracker has it."""

    bead: str
    owner: str = ""
    claim_id: str = ""
    claimed_at: str = ""
    updated_at: str = ""
    machine: str = ""
    pid: int = 0
    pid_start: str = ""


@value
class Release:
    """Nobody works on it any more, and why we know."""

    reason: str


@value
class Leave:
    """It is not ours to free, or not yet."""

    reason: str


ClaimJudgement: TypeAlias = Release | Leave


def claim_of(bead: Bead) -> Claim | None:
    """The claim on a bead; None if it is not in progress."""
    if bead.status != "in_progress":
        return None
    pid = bead.text("claimed-pid").strip()
    is_pid = pid.isascii() and pid.isdigit() and len(pid) <= _LONGEST_PID
    return Claim(
        bead=bead.id,
        owner=bead.owner,
        claim_id=bead.claim_id,
        claimed_at=bead.text("claimed-at"),
        updated_at=bead.updated_at,
        machine=bead.text("claimed-machine"),
        pid=int(pid) if is_pid else 0,
        pid_start=bead.text("claimed-pid-start"),
    )


def recorded_claims(site: AttemptContext) -> dict[tuple[str, str], bool]:
    """Bead and claim id of each unfinished attempt, and whether a process is at it (D-23)."""
    return {
        held: attempt.is_alive(site.clock)
        for attempt in read_attempts(site.project).unfinished()
        for held in attempt.claims.items()
    }


def judge_here(
    claim: Claim,
    records: Mapping[tuple[str, str], bool],
    *,
    now: str,
    threshold_s: float,
    is_asked_for: bool = False,
) -> ClaimJudgement:
    """By what this machine and the records of our own attempts know of the holder."""
    is_live = records.get((claim.bead, claim.claim_id))
    return judge_claim(
        claim,
        now=now,
        threshold_s=threshold_s,
        machine=os.uname().nodename,
        is_alive=is_running,
        is_worked_on=is_live is True,
        is_ours_and_dead=is_live is False,
        is_asked_for=is_asked_for,
    )


def judge_claim(
    claim: Claim,
    *,
    now: str,
    threshold_s: float,
    machine: str,
    is_alive: Callable[[int, str], bool],
    is_worked_on: bool = False,
    is_ours_and_dead: bool = False,
    is_asked_for: bool = False,
) -> ClaimJudgement:
    """A dead holder is not enough: the claim must be old as well, proven dead, or asked for.

    `is_alive` knows a process by pid and start, so a reused pid is dead. `is_worked_on` and
    `is_ours_and_dead` come from our own attempt records: a live attempt has the bead, or the
    attempt that claimed it died on this machine. `is_asked_for` is a person's own request.
    """
    if claim.owner != RUNNER:
        return Leave(f"it is held by {claim.owner or 'someone'}, not by a runner")
    if is_worked_on:
        return Leave("a running attempt works on it")
    if is_ours_and_dead:
        return Release("the attempt that claimed it is dead, as its record proves")
    is_here = claim.machine in ("", machine)
    if is_here and claim.pid and is_alive(claim.pid, claim.pid_start):
        return Leave(f"its process {claim.pid} is alive")
    holder = _holder(claim, is_here=is_here)
    if is_asked_for:
        return Release(f"{holder}, and its release was asked for")
    return _by_age(claim, holder, now=now, threshold_s=threshold_s)


def _by_age(claim: Claim, holder: str, *, now: str, threshold_s: float) -> ClaimJudgement:
    age_s = Instant(claim.claimed_at).seconds_until(now)
    if age_s is None:
        age_s = Instant(claim.updated_at).seconds_until(now)
    if age_s is None:
        return Leave(f"{holder}, but nothing says since when it is held")
    if age_s < threshold_s:
        return Leave(f"{holder}, but it has been held for {in_words(age_s)} only")
    return Release(f"{holder}, and it has been held for {in_words(age_s)}")


def _holder(claim: Claim, *, is_here: bool) -> str:
    if not is_here:
        return f"its holder is on {claim.machine}"
    return f"its process {claim.pid} is gone" if claim.pid else "it names no process"

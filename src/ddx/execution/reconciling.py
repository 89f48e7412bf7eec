"""After a crash: what dead attempts left is ended, closed, kept and freed (X-19).

The record is enough: its lock says for certain that the attempt is dead, its intent what was
claimed and where, made.json which commit was about to land. Doing it twice changes nothing, so a
reconciler may die as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.environment import ATTEMPT
from ddx.errors import NotFound
from ddx.execution.budget import usage_of
from ddx.execution.claims import Claims
from ddx.execution.committing import commit_files, signature_in
from ddx.execution.half_landed import mend_half_landed
from ddx.execution.keeping import find_kept, forget_kept, keep
from ddx.execution.landing import Target, has_landed
from ddx.execution.model import (
    Check,
    Facts,
    Failed,
    Landed,
    Measured,
    NoChanges,
    Preserved,
    Status,
    word_of,
)
from ddx.execution.record import (
    CHECKS,
    INDEX,
    INTENT,
    MADE,
    MANIFEST,
    RESULT,
    USAGE,
    Record,
    find_expired,
    remove_record,
    remove_stillborn,
    unfinished,
)
from ddx.execution.results import result_row
from ddx.execution.settling import close_landed, release
from ddx.execution.workspace import remove_workspace
from ddx.git.commits import WorkTree
from ddx.git.landing import kept
from ddx.git.repository import read_repository
from ddx.supervision import end_marked
from ddx.text import listed
from ddx.tracker.model import text_of
from ddx.values import changed, value

if TYPE_CHECKING:
    from ddx.execution.model import Outcome
    from ddx.execution.work import Site
    from ddx.git.repository import Repository


@value
class Reconciled:
    """What was done about one dead attempt."""

    attempt: str
    outcome: Outcome
    ended: int
    """Processes of it that still ran."""

    @property
    def sentence(self) -> str:
        """For the person who starts the next run."""
        beads = listed(self.outcome.facts.beads) or "a prompt"
        how = word_of(self.outcome).replace("_", " ")
        kept = f" at {self.outcome.ref}" if isinstance(self.outcome, Preserved) else ""
        strays = f"; {self.ended} of its processes still ran and were ended" if self.ended else ""
        return f"attempt {self.attempt} on {beads} had died: {how}{kept}{strays}"


def reconcile(site: Site) -> list[Reconciled]:
    """Every attempt that died is brought to an end; those that live are left alone."""
    remove_stillborn(site.project, site.clock)
    mend_half_landed(site.project, clock=site.clock)
    done = []
    for attempt in unfinished(site.project):
        record = Record.take_over(
            site.project, attempt, clock=site.clock, masker=site.masker, on_event=site.on_event
        )
        if record is not None and (found := _bring_to_an_end(site, record)):
            done.append(found)
    _remove_expired(site)
    return done


def _remove_expired(site: Site) -> None:
    """Old records go, unless work of theirs is still kept (C-9)."""
    limits = site.settings.retention
    expired = find_expired(site.project, most=limits.attempts, days=limits.days, clock=site.clock)
    if expired:
        needed = {item.attempt for item in kept(site.project.root)}
        for attempt in expired:
            if attempt not in needed:
                remove_record(site.project, attempt)


def _bring_to_an_end(site: Site, record: Record) -> Reconciled | None:
    """None if it had come to its end, and only its workspace or its lock was left."""
    intent = record.read(INTENT)
    workspace = intent["workspace"]
    marks = (f"{ATTEMPT}={record.attempt}", f"GIT_WORK_TREE={workspace}")  # a git outlives us
    ended = sum(end_marked(mark, clock=site.clock) for mark in marks)

    def remove() -> None:
        remove_workspace(
            site.project,
            workspace,
            record.attempt,
            say=lambda sentence: record.tell("leftover", sentence),
        )

    if os.path.exists(record.path(RESULT)):
        remove()
        record.let_go(leftover=workspace)
        return None
    record.tell("found-dead", f"its process {intent['pid']} is gone")
    outcome = _outcome(site, record, intent)
    remove()
    outcome = _settle(site, record, intent, outcome)
    landed_again = (
        {"attempt": record.attempt, "lands": intent["lands"]} if "lands" in intent else {}
    )
    record.finish({**result_row(outcome), **landed_again}, leftover=workspace)
    return Reconciled(record.attempt, outcome, ended)


def _outcome(site: Site, record: Record, intent: dict[str, Any]) -> Outcome:
    """Landed if the branch holds its commit; else what there is of it is kept."""
    repository = read_repository(site.project.root)
    facts = Facts(
        intent.get("lands", record.attempt),
        tuple(intent["beads"]),
        intent["harness"],
        intent["model"],
        intent["base"],
        intent["target"],
        folder=record.folder,
        usage=usage_of(_read(record, USAGE)),
        reason="its process died",
    )
    made = _made(record, intent, repository)
    if not made.get("commit"):
        if facts.beads and _has_closed(site, facts):
            said = "every check passes already"
            return NoChanges(changed(facts, reason=said), Status.ALREADY_SATISFIED)
        return Failed(facts, Status.INTERRUPTED)
    facts = changed(facts, result=made["commit"], paths=tuple(made["paths"]))
    target = Target(repository, intent["target"], intent["base"])
    if has_landed(target, made["commit"]):
        merged = _read(record, CHECKS).get("commit", "")
        commit = merged if merged and has_landed(target, merged) else made["commit"]
        return Landed(_with_proof(facts, record), commit)
    if "lands" in intent:  # what it was to land is kept still
        return Failed(facts, Status.INTERRUPTED)
    found = find_kept(site.project, record.attempt)
    ref = found.ref if found else keep(site.project, facts.beads, facts.attempt, facts.result)
    return Preserved(changed(facts, ref=ref), Status.INTERRUPTED, ref)


def _made(record: Record, intent: dict[str, Any], repository: Repository) -> dict[str, Any]:
    """What is known to be made; if we died before that, all that the agent has left.

    Before the manifest is written no agent begins. Once made.json is, the workspace may be going.
    """
    is_known = os.path.exists(record.path(MADE))
    if intent["beads"] and not is_known and os.path.exists(record.path(MANIFEST)):
        files = WorkTree(repository, intent["workspace"], record.path(INDEX), intent["base"])
        try:
            commit_files(files, signature_in(intent, prefix=repository.prefix), record)
        except NotFound:  # removed by its own agent
            return {}
    return _read(record, MADE)


def _with_proof(facts: Facts, record: Record) -> Facts:
    """The checks that it had passed, as evidence, and the numbers that are floors now (X-12)."""
    found = _read(record, CHECKS)
    return changed(
        facts,
        checks=tuple(Check(**row) for row in found.get("checks", ())),
        measured=tuple(Measured(**row) for row in found.get("measured", ())),
    )


def _has_closed(site: Site, facts: Facts) -> bool:
    """Had it closed its beads before it died?"""
    snapshot = site.tracker.snapshot()
    rows = [snapshot.find(bead_id) for bead_id in facts.beads]
    return all(row and text_of(row, "session_id") == facts.attempt for row in rows)


def _settle(site: Site, record: Record, intent: dict[str, Any], outcome: Outcome) -> Outcome:
    claims = Claims(site.tracker, intent["selected"], intent["claims"])
    if isinstance(outcome, Landed):
        outcome = close_landed(site, outcome, claims, record)
        if "lands" in intent:
            forget_kept(site.project, intent["lands"])
        return outcome
    for bead_id in intent["beads"]:
        release(claims, bead_id, outcome)
        record.tell("released", bead_id)
    return outcome


def _read(record: Record, name: str) -> dict[str, Any]:
    try:
        return record.read(name)
    except FileNotFoundError:
        return {}

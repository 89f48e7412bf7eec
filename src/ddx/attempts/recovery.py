"""After a crash: what dead attempts left is ended, closed, kept and freed (X-19).

The record is enough: its lock says for certain that the attempt is dead, its intent what was
claimed and where, made.json which commit was about to land. Doing it twice changes nothing, so a
reconciler may die as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.agents import end_marked
from ddx.attempts.claims import AttemptClaims, close_landed, release
from ddx.attempts.commit import commit_files, find_kept, forget_kept, keep, signature_in
from ddx.attempts.context import LandingTarget
from ddx.attempts.landing import has_landed, mend_half_landed
from ddx.attempts.limits import usage_of
from ddx.attempts.outcome import AttemptFacts, AttemptStatus, Failed, Landed, NoChanges, Preserved
from ddx.attempts.proof_workspace import proof_leftovers
from ddx.attempts.record import (
    CHECKS,
    EVIDENCE,
    INDEX,
    INTENT,
    MADE,
    MANIFEST,
    RESULT,
    USAGE,
    RecordWriter,
    remove_stillborn,
)
from ddx.attempts.records import read_attempts
from ddx.attempts.workspace import keep_evidence, remove_leftover, remove_workspace
from ddx.base import ATTEMPT, NotFound, changed, listed, value
from ddx.git import AttemptFiles, kept, read_repository
from ddx.proof import Check, MetricReading
from ddx.tracker import text_of

if TYPE_CHECKING:
    from ddx.attempts.context import AttemptContext
    from ddx.attempts.outcome import Outcome
    from ddx.git import Repository


@value
class RecoveredAttempt:
    """What was done about one dead attempt."""

    attempt: str
    outcome: Outcome
    ended: int
    """Processes of it that still ran."""

    @property
    def sentence(self) -> str:
        """For the person who starts the next run."""
        beads = listed(self.outcome.facts.beads) or "a prompt"
        how = self.outcome.word.replace("_", " ")
        kept = f" at {self.outcome.ref}" if isinstance(self.outcome, Preserved) else ""
        strays = f"; {self.ended} of its processes still ran and were ended" if self.ended else ""
        return f"attempt {self.attempt} on {beads} had died: {how}{kept}{strays}"

    def as_row(self) -> dict[str, Any]:
        """As `helix recover` answers it in JSON."""
        return {
            "attempt": self.attempt,
            "beads": list(self.outcome.facts.beads),
            "outcome": self.outcome.word,
            "ended_processes": self.ended,
        }


def reconcile(site: AttemptContext) -> list[RecoveredAttempt]:
    """Every attempt that died is brought to an end; those that live are left alone."""
    remove_stillborn(site.project, site.clock)
    mend_half_landed(site.project, clock=site.clock)
    done = []
    for attempt in read_attempts(site.project).unfinished_names():
        record = RecordWriter.take_over(
            site.project, attempt, clock=site.clock, masker=site.masker, on_event=site.on_event
        )
        if record is not None and (found := _bring_to_an_end(site, record)):
            done.append(found)
    _remove_expired(site)
    return done


def _remove_expired(site: AttemptContext) -> None:
    """Old records go, unless work of theirs is still kept (C-9)."""
    limits = site.settings.retention
    records = read_attempts(site.project)
    expired = records.expired(most=limits.attempts, days=limits.days, clock=site.clock)
    if expired:
        needed = {item.attempt for item in kept(site.project.root)}
        for attempt in expired:
            if attempt not in needed:
                records.remove(attempt)


def _bring_to_an_end(site: AttemptContext, record: RecordWriter) -> RecoveredAttempt | None:
    """None if it had come to its end, and only its workspace or its lock was left."""
    intent = record.read(INTENT)
    workspace = intent["workspace"]
    proofs = proof_leftovers(workspace)
    marks = (
        f"{ATTEMPT}={record.attempt}",
        *(f"GIT_WORK_TREE={folder}" for folder in (workspace, *proofs)),  # a git outlives us
    )
    ended = sum(end_marked(mark, clock=site.clock) for mark in marks)

    def say(sentence: str) -> None:
        record.tell("leftover", sentence)

    def remove() -> None:
        keep_evidence(workspace, record.path(EVIDENCE), say=say)
        for path in proof_leftovers(workspace):  # again: a git may have written until it ended
            remove_leftover(path, say=say)
        remove_workspace(site.project, workspace, record.attempt, say=say)

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
    record.finish({**outcome.as_row(), **landed_again}, leftover=workspace)
    return RecoveredAttempt(record.attempt, outcome, ended)


def _outcome(site: AttemptContext, record: RecordWriter, intent: dict[str, Any]) -> Outcome:
    """Landed if the branch holds its commit; else what there is of it is kept."""
    repository = read_repository(site.project.root)
    facts = AttemptFacts(
        attempt=intent.get("lands", record.attempt),
        beads=tuple(intent["beads"]),
        harness=intent["harness"],
        model=intent["model"],
        base=intent["base"],
        target=intent["target"],
        folder=record.folder,
        usage=usage_of(_read(record, USAGE)),
        reason="its process died",
    )
    made = _made(record, intent, repository)
    if not made.get("commit"):
        if facts.beads and _has_closed(site, facts):
            said = "every check passes already"
            return NoChanges(changed(facts, reason=said), AttemptStatus.ALREADY_SATISFIED)
        return Failed(facts, AttemptStatus.INTERRUPTED)
    facts = changed(facts, result=made["commit"], paths=tuple(made["paths"]))
    target = LandingTarget(repository, intent["target"], intent["base"])
    if has_landed(target, made["commit"]):
        merged = _read(record, CHECKS).get("commit", "")
        commit = merged if merged and has_landed(target, merged) else made["commit"]
        return Landed(_with_proof(facts, record), commit)
    if "lands" in intent:  # what it was to land is kept still
        return Failed(facts, AttemptStatus.INTERRUPTED)
    found = find_kept(site.project, record.attempt)
    ref = found.ref if found else keep(site.project, facts.beads, facts.attempt, facts.result)
    return Preserved(changed(facts, ref=ref), AttemptStatus.INTERRUPTED, ref)


def _made(record: RecordWriter, intent: dict[str, Any], repository: Repository) -> dict[str, Any]:
    """What is known to be made; if we died before that, all that the agent has left.

    Before the manifest is written no agent begins. Once made.json is, the workspace may be going.
    """
    is_known = os.path.exists(record.path(MADE))
    if intent["beads"] and not is_known and os.path.exists(record.path(MANIFEST)):
        files = AttemptFiles(
            repository, intent["workspace"], record.path(INDEX), base=intent["base"]
        )
        try:
            commit_files(files, signature_in(intent, prefix=repository.prefix), record)
        except NotFound:  # removed by its own agent
            return {}
    return _read(record, MADE)


def _with_proof(facts: AttemptFacts, record: RecordWriter) -> AttemptFacts:
    """The checks that it had passed, as evidence, and the numbers that are floors now (X-12)."""
    found = _read(record, CHECKS)
    return changed(
        facts,
        checks=tuple(Check(**row) for row in found.get("checks", ())),
        measured=tuple(MetricReading(**row) for row in found.get("measured", ())),
    )


def _has_closed(site: AttemptContext, facts: AttemptFacts) -> bool:
    """Had it closed its beads before it died?"""
    snapshot = site.tracker.snapshot()
    rows = [snapshot.find(bead_id) for bead_id in facts.beads]
    return all(row and text_of(row, "session_id") == facts.attempt for row in rows)


def _settle(
    site: AttemptContext, record: RecordWriter, intent: dict[str, Any], outcome: Outcome
) -> Outcome:
    claims = AttemptClaims(site.tracker, intent["selected"], intent["claims"])
    if isinstance(outcome, Landed):
        outcome = close_landed(site, outcome, claims, record)
        if "lands" in intent:
            forget_kept(site.project, intent["lands"])
        return outcome
    for bead_id in intent["beads"]:
        release(claims, bead_id, outcome)
        record.tell("released", bead_id)
    return outcome


def _read(record: RecordWriter, name: str) -> dict[str, Any]:
    try:
        return record.read(name)
    except FileNotFoundError:
        return {}

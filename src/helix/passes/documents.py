"""The one way in which a pass writes documents: an attempt on its supervisory bead (A-4, A-10).

page and order -> bead -> attempt -> claims proven -> landed -> drafts filed. What the trailer says
counts only if the commit bears it out; otherwise nothing lands and what was made is kept at a ref.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.attempts import (
    AttemptStatus,
    Failed,
    Idle,
    Landed,
    NoChanges,
    Preparation,
    Preserved,
    land_pending,
    work_one,
)
from ddx.base import ConcurrentChange, changed, cut, listed, value
from ddx.documents import find_new_errors
from ddx.git import Repository
from ddx.proof import Check
from helix.passes.claimed_changes import PassChanges, report_path
from helix.passes.filing import file_drafts_of_attempt, keep_drafts
from helix.passes.follow_ups import read_follow_ups
from helix.passes.pass_bead import PassSubject, acquire, find_done, remember_done
from helix.passes.question import PassEnd, PassResult, capture
from helix.passes.reply import TRAILERS, TrailerValues, UnreadableTrailer, read_trailer
from helix.passes.scope import is_document, may_write
from helix.project import model_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.attempts import (
        AgentProduct,
        AttemptContext,
        AttemptRecord,
        Boundary,
        Drift,
        Outcome,
        PromptSection,
    )
    from ddx.tracker import Bead
    from helix.passes.claimed_changes import PassClaim
    from helix.passes.reply import TrailerReading
    from helix.project import PassContext

TRAILER = "trailer"
CLAIM = "claim"
TERRITORY = "only documents"
VALID = "documents are valid"
_ORIGIN = "A-2"
_MOST_NAMED = 5
_LARGEST_TEXT = 1 << 20
EXIT_CODES: Mapping[PassEnd, int] = {
    PassEnd.DONE: 0,
    PassEnd.UNFINISHED: 0,
    PassEnd.GUIDANCE: 4,
    PassEnd.BLOCKED: 1,
    PassEnd.UNREADABLE: 1,
    PassEnd.UNTRUE: 1,
    PassEnd.PENDING: 1,
    PassEnd.FAILED: 1,
}
"""How a command ends by what its pass came to (C-2)."""


@value
class PassOrder:
    """One pass that is to be made."""

    subject: PassSubject
    sections: tuple[PromptSection, ...]
    """What the agent is told: the action's page, and what is asked of it now."""
    endings: Mapping[str, PassEnd]
    """What each word of its status means."""
    claims: tuple[PassClaim, ...] = ()
    report_key: str = ""
    """The trailer's key that names the report, if it names one."""
    parent: str = ""
    """The open bead below which its drafts are filed."""
    may_repeat: bool = False
    """Another pass makes sense although the last one was done and nothing has changed."""

    @property
    def prompt(self) -> str:
        """As it is kept on the bead; the attempt adds the bead itself."""
        return Preparation("", sections=self.sections).prompt()


def write_documents(desk: PassContext, order: PassOrder) -> PassResult:
    """Carry it out; what it came to is a value, and only what keeps us from it is raised."""
    subject = order.subject
    if not order.may_repeat and (done := find_done(desk.site, subject)):
        said = f"nothing changed since {done.bead}, which was {done.word}"
        return PassResult(subject.action, PassEnd.DONE, done.word, reason=said)
    started_at = desk.site.clock.stamp()
    bead_id = acquire(desk, subject, prompt=order.prompt)
    agent = desk.builder
    preparation = Preparation(
        harness=agent.harness,
        model=model_for(subject.action, agent, desk.site),
        effort=agent.effort,
        sections=order.sections,
        manifest={"scope": subject.scope},
        limits=desk.limits,
        action=subject.action,
        is_free=True,
    )
    outcome = work_one(desk.site, _OnBead(desk.site, order, bead_id, preparation), supervisory=True)
    if isinstance(outcome, Idle):
        raise ConcurrentChange(outcome.reason, hint=f"look again: ddx bead show {bead_id}")
    if outcome.facts.reply is not None:
        desk.on_call(subject.action, outcome.facts.reply)
    made = _settled(desk, order, bead_id, outcome)
    governing = (subject.document,) if subject.document else ()
    capture(desk, made, documents=governing, started_at=started_at)
    return made


class _OnBead:
    """The policy of a pass: its own bead, as it was prepared, and its own proof."""

    def __init__(
        self, site: AttemptContext, order: PassOrder, bead_id: str, preparation: Preparation
    ) -> None:
        self._site = site
        self._order = order
        self._bead_id = bead_id
        self._preparation = preparation

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return (self._bead_id,)

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        prove = prover(self._site, self._order)

        def keep_proven(product: AgentProduct) -> tuple[Check, ...]:
            """What may land leaves its drafts behind, before it does."""
            checks = prove(product)
            if product.reply is not None and all(check.passed for check in checks):
                keep_drafts(
                    self._site,
                    attempt,
                    bead=self._bead_id,
                    parent=self._order.parent,
                    reply=product.reply.text,
                    if_landed=True,
                )
            return checks

        return changed(self._preparation, checks=keep_proven)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


# -- what must be so before anything lands -------------------------------------------------


def prover(site: AttemptContext, order: PassOrder) -> Callable[[AgentProduct], tuple[Check, ...]]:
    """All checks of a pass: it is readable, true, keeps to documents, and breaks none of them."""

    def prove(product: AgentProduct) -> tuple[Check, ...]:
        reading = _read(order, product.reply.text if product.reply else "")
        made = look_at(site, product)
        return (
            _check(TRAILER, reading.reason if isinstance(reading, UnreadableTrailer) else ""),
            *(_check(CLAIM, said) for said in _falsehoods(order, reading, made)),
            _check(TERRITORY, _trespass(site, product)),
            _check(VALID, _breakage(site, product)),
        )

    return prove


def land_waiting(site: AttemptContext) -> list[Outcome]:
    """What waits for the operator's edits lands if it can; a pass is still a pass then (X-13)."""

    def prover_of(kept: AttemptRecord) -> Callable[[AgentProduct], tuple[Check, ...]] | None:
        return prove_merged if kept.intent.get("action") in TRAILERS else None

    def prove_merged(product: AgentProduct) -> tuple[Check, ...]:
        """What its agent said was borne out by its own commit already."""
        return _check(TERRITORY, _trespass(site, product)), _check(VALID, _breakage(site, product))

    return land_pending(site, prover=prover_of)


def look_at(site: AttemptContext, product: AgentProduct) -> PassChanges:
    """What was really made, read from the commits."""
    repository, roots = Repository(site.project.root), site.settings.document_roots
    now, then = (
        frozenset(entry.path for entry in repository.entries(commit) if not entry.is_link)
        for commit in (product.commit, product.base)
    )
    documents = [path for path in product.paths if is_document(path, roots)]
    return PassChanges(
        files=now,
        touched=now & set(product.paths),
        created=tuple(path for path in documents if path in now and path not in then),
        documents=tuple(documents),
        proposed=read_follow_ups(product.reply.text if product.reply else ""),
        texts=lambda path: _text(os.path.join(product.folder, path)),
    )


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_LARGEST_TEXT)


def _read(order: PassOrder, text: str) -> TrailerReading:
    return read_trailer(text, TRAILERS[order.subject.action])


def _falsehoods(order: PassOrder, reading: TrailerReading, made: PassChanges) -> list[str]:
    """One for each claim, empty if it is true; of an unreadable trailer there are none."""
    if isinstance(reading, UnreadableTrailer):
        return []
    return [claim(reading, made) for claim in order.claims]


def _trespass(site: AttemptContext, product: AgentProduct) -> str:
    tree = Repository(site.project.root).entries(product.commit)
    links = {entry.path for entry in tree if entry.is_link}
    roots = site.settings.document_roots
    wrong = [path for path in product.paths if path in links or not may_write(path, roots)]
    if not wrong:
        return ""
    return f"it may only write documents below {listed(roots)}, but changed {_named(wrong)}"


def _breakage(site: AttemptContext, product: AgentProduct) -> str:
    """What is wrong with the documents now and would not be without this pass."""
    roots = site.settings.document_roots
    errors = find_new_errors(
        site.project.root,
        product.folder,
        base=product.base,
        commit=product.commit,
        changed=product.paths,
        is_page=lambda path: is_document(path, roots),
    )
    said = [f"{error.where}:{error.line} {error.kind}: {error.what}" for error in errors]
    return f"errors that were not there before: {_named(said)}" if said else ""


def _named(words: Sequence[str]) -> str:
    more = len(words) - _MOST_NAMED
    return listed([*words[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _check(name: str, problem: str) -> Check:
    return Check(name, "", _ORIGIN, passed=not problem, reason=problem)


# -- what it came to -----------------------------------------------------------------------


def _settled(desk: PassContext, order: PassOrder, bead_id: str, outcome: Outcome) -> PassResult:
    facts = outcome.facts
    reply = facts.reply.text if facts.reply else ""
    reading = _read(order, reply)
    match outcome:
        case Landed() | NoChanges(status=AttemptStatus.ALREADY_SATISFIED) if isinstance(
            reading, TrailerValues
        ):
            return _filed(desk, order, bead_id, outcome, reading)
        case Preserved(is_pending=True) if isinstance(reading, TrailerValues):
            said = f"{facts.reason}; it lands once the way is free"
            return PassResult(
                order.subject.action,
                PassEnd.PENDING,
                reason=said,
                values=_texts(reading),
                attempt=facts.attempt,
            )
        case Preserved(ref=ref):
            reason = f"{facts.reason}; what was made is kept at {ref}"
        case Landed() | NoChanges() | Failed():
            reason = facts.reason
    failed = next((check for check in facts.checks if not check.passed), None)
    return PassResult(
        order.subject.action,
        _why(facts.checks, outcome.status),
        reason=f"{failed.reason}; {reason}" if failed else reason,
        values=_texts(reading),
        attempt=facts.attempt,
    )


def _why(checks: Sequence[Check], status: AttemptStatus) -> PassEnd:
    failed = {check.name for check in checks if not check.passed}
    if status not in (AttemptStatus.CHECK_FAILED, AttemptStatus.NOTHING_DONE) or not failed:
        return PassEnd.FAILED
    return PassEnd.UNREADABLE if TRAILER in failed else PassEnd.UNTRUE


def _filed(
    desk: PassContext,
    order: PassOrder,
    bead_id: str,
    outcome: Landed | NoChanges,
    found: TrailerValues,
) -> PassResult:
    """The pass is over and true: its drafts become beads, and what it said is remembered."""
    subject, facts = order.subject, outcome.facts
    reply = facts.reply.text if facts.reply else ""
    filed = file_drafts_of_attempt(
        desk, facts.attempt, bead=bead_id, parent=order.parent, reply=reply
    )
    word = found.text(TRAILERS[subject.action].keys[0].name)
    ended = order.endings[word]
    if ended is PassEnd.DONE:
        remember_done(desk.site, bead_id, word)
    said = [outcome.left_open, *filed.remarks]
    return PassResult(
        action=subject.action,
        ended=ended,
        word=word,
        reason="; ".join(filter(None, said)),
        has_changed=isinstance(outcome, Landed) or bool(filed.created),
        commit=outcome.commit if isinstance(outcome, Landed) else "",
        created=filed.created,
        updated=filed.updated,
        report=report_path(found.text(order.report_key)) if order.report_key else "",
        values=_texts(found),
        attempt=facts.attempt,
    )


def _texts(reading: TrailerReading) -> dict[str, str]:
    if isinstance(reading, UnreadableTrailer):
        return {}
    return {name: cut(str(said), 2000) for name, said in reading.values.items()}

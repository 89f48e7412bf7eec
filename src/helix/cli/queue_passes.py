"""The commands whose pass reads and answers in beads: check, polish and review."""

from __future__ import annotations

from ddx.base import changed, listed
from ddx.console import Argument, Command, Flag, answer, say
from helix.cli.context import (
    REHEARSABLE,
    SCOPE,
    open_desk,
    present,
    show_question,
    tell,
    untouched_desk,
)
from helix.cli.document_passes import require_rounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ddx.agents import Reply
    from helix.passes import FilingResult, PassResult, ReviewVerdict
    from helix.project import PassContext

FAILED, UNREADABLE, FOUND = 1, 4, 10
AUTO, ALWAYS = "auto", "always-agent"


@Command.of(
    example="helix check FEAT-003",
    arguments=(SCOPE,),
    flags=(
        Flag(
            "--check",
            "auto asks once a state, always-agent asks in any case",
            "choice",
            choices=(AUTO, ALWAYS),
            default=AUTO,
        ),
        *REHEARSABLE,
    ),
    schema="helix-checked",
)
def check(*, scope: str | None, check: str, dry_run: bool, json: bool, **asked: Any) -> int:
    """Ask what the project needs next; one agent call a state, then from memory."""
    from helix.passes import UnreadableTrailer, resolve_scope
    from helix.passes import check as look
    from helix.run import EXIT_CODES, Action

    if dry_run:
        desk = untouched_desk(**asked)
        return _rehearse_check(desk, scope or "", always_ask=check == ALWAYS, json=json)
    calls: list[Reply] = []
    with open_desk(**asked) as (desk, interruption):
        desk = changed(desk, on_call=lambda action, reply: calls.append(reply))
        about = resolve_scope(desk.site, scope or "")
        found = look(desk, about, always_ask=check == ALWAYS)
    if isinstance(found, UnreadableTrailer):
        tell(f"the answer cannot be read: {found.reason}")
        if json:
            answer({"readable": False, "reason": found.reason, "asked": len(calls)})
        return interruption.code or FAILED
    row = {
        "readable": True,
        "next_action": str(found.answer),
        "reason": found.reason,
        "question": found.question,
        "scope": about.text,
        "state": found.state,
        "asked": len(calls),
    }
    said = f"{found.answer}: {found.reason}" if found.reason else str(found.answer)
    present(row, (said, *([f"  {found.question}"] if found.question else ())), json=json)
    if not calls:
        tell("no agent was asked: the state alone tells, or it was asked about before")
    return EXIT_CODES.get(Action(found.answer.lower()), 0)


def _rehearse_check(desk: PassContext, word: str, *, always_ask: bool, json: bool) -> int:
    """What would be asked, unless it is known already; not a byte is written (S-31)."""
    from helix.passes import check_prompt, known_answer, resolve_scope

    scope = resolve_scope(desk.site, word)
    known = None if always_ask else known_answer(desk, scope)
    if known:
        tell(f"nobody would be asked: {known.answer}, {known.reason}")
    prompt = "" if known else check_prompt(desk, scope)
    show_question(desk, "check", scope.text, prompt, json=json, reads=True)
    return 0


@Command.of(
    example="helix polish FEAT-003 --rounds 3",
    arguments=(SCOPE,),
    flags=(
        Flag("--rounds", "how often the agent goes over the beads at most (6)", "number"),
        *REHEARSABLE,
    ),
    schema="helix-polished",
)
def polish(
    *, scope: str | None, rounds: int | None, dry_run: bool, json: bool, **asked: Any
) -> int:
    """Bring beads in line with their documents and make them fit to be built."""
    from helix.passes import POLISH_ROUNDS, polish, polish_prompt, resolve_scope

    most = require_rounds(rounds, usual=POLISH_ROUNDS)
    if dry_run:
        desk = untouched_desk(**asked)
        about = resolve_scope(desk.site, scope or "")
        prompt = polish_prompt(desk, about, rounds=most)
        if not prompt:
            tell("there is no bead to polish: no agent is asked")
        show_question(desk, "polish", about.text, prompt, json=json, reads=True)
        return 0
    with open_desk(**asked) as (desk, interruption):
        done = polish(desk, scope or "", rounds=most)
    row = {
        "ended": str(done.ended),
        "status": done.values.get("POLISH_STATUS", ""),
        **{name: getattr(done, name) for name in _POLISHED},
    }
    present(row, _polished(done), json=json)
    return interruption.code or (0 if done.ok else FAILED)


_POLISHED = ("reason", "created", "updated", "has_changed", "attempt")


def _polished(done: PassResult) -> Iterator[str]:
    yield f"polish: {done.values.get('POLISH_STATUS') or done.ended}"
    for what, ids in (("changed", done.updated), ("filed", done.created)):
        if ids:
            yield f"  {what} {listed(ids)}"
    if done.reason:
        yield f"  {done.reason}"


@Command.of(
    example="helix review last-commit",
    arguments=(
        Argument("what", "last-commit, commit:SHA, A..B, or a document's id", required=False),
    ),
    flags=REHEARSABLE,
    schema="helix-reviewed",
)
def review(*, what: str | None, dry_run: bool, json: bool, **asked: Any) -> int:
    """Have another agent look for faults; what it finds becomes beads."""
    from helix.passes import (
        LAST_COMMIT,
        FilingResult,
        ReviewFindings,
        UnreadableTrailer,
        file_findings,
        named_subject,
        review,
        review_prompt,
    )

    word = what or LAST_COMMIT
    nothing = f"{word} changes nothing that is reviewed: no agent is asked"
    if dry_run:
        desk = untouched_desk(**asked, reviews=True)
        prompt = review_prompt(desk, named_subject(desk.site, word))
        if not prompt:
            tell(nothing)
        show_question(desk, "review", word, prompt, json=json, reads=True)
        return 0
    with open_desk(**asked, reviews=True) as (desk, interruption):
        subject = named_subject(desk.site, word)
        if not review_prompt(desk, subject):
            tell(nothing)
        verdict = review(desk, subject)
        filed = FilingResult()
        if isinstance(verdict, ReviewFindings):
            filed = file_findings(desk, verdict.findings)
    if json:
        answer(_review_row(verdict, filed))
    else:
        _print_review(verdict, filed)
    if interruption.code:
        return interruption.code
    match verdict:
        case UnreadableTrailer():
            return UNREADABLE
        case ReviewFindings():
            return FOUND
        case _:
            return 0


def _review_row(verdict: ReviewVerdict, filed: FilingResult) -> dict[str, Any]:
    from helix.passes import ReviewFindings, UnreadableTrailer

    findings = verdict.findings if isinstance(verdict, ReviewFindings) else ()
    word = "ISSUES_FOUND" if findings else "CLEAN"
    return {
        "status": "UNREADABLE" if isinstance(verdict, UnreadableTrailer) else word,
        "reason": verdict.reason if isinstance(verdict, UnreadableTrailer) else "",
        "findings": [{**it.__dict__, "severity": str(it.severity)} for it in findings],
        "created": filed.created,
        "reopened": filed.updated,
        "known": filed.referenced,
        "question": filed.question,
    }


def _print_review(verdict: ReviewVerdict, filed: FilingResult) -> None:
    from helix.passes import CleanReview, ReviewFindings, UnreadableTrailer, spoken

    match verdict:
        case CleanReview():
            say("clean: nothing was found")
        case ReviewFindings(findings=findings):
            for finding in findings:
                say(finding.sentence)
                for line in finding.detail.splitlines():
                    say(f"  {line}")
            if said := spoken(filed):
                say(said)
            for remark in (*filed.remarks, filed.question):
                if remark:
                    tell(remark)
        case UnreadableTrailer(reason=reason):
            tell(f"the review cannot be read: {reason}")

"""An outcome as it stands in result.json and in `--json` answers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.execution.model import Landed, NoChanges, Preserved, is_completed, word_of
from ddx.execution.orders import spoken_usage
from ddx.text import counted, cut, listed, shown
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.model import Check, Outcome
    from ddx.harnesses.base import Reply
    from ddx.masking import Masker

_LONGEST_REPLY = 4000


def result_row(outcome: Outcome) -> dict[str, Any]:
    """Everything that review, credit, follow-ups and cost need (X-15)."""
    facts = outcome.facts
    return {
        "attempt": facts.attempt,
        "beads": list(facts.beads),
        "outcome": word_of(outcome),
        "status": str(outcome.status),
        "completed": is_completed(outcome),
        "reason": facts.reason,
        "left_open": outcome.left_open if isinstance(outcome, Landed | NoChanges) else "",
        "harness": facts.harness,
        "model": facts.model,
        "base": facts.base,
        "target": facts.target,
        "result": facts.result,
        "commit": outcome.commit if isinstance(outcome, Landed) else "",
        "ref": outcome.ref if isinstance(outcome, Preserved) else "",
        "paths": list(facts.paths),
        "diffstat": facts.diffstat,
        "checks": [check_row(check) for check in facts.checks],
        "usage": facts.usage.as_row(),
        "reply": None if facts.reply is None else reply_row(facts.reply),
        "folder": facts.folder,
    }


def masked(outcome: Outcome, masker: Masker) -> Outcome:
    """The same as others may see it: on a screen, in the tracker, in an answer (X-24)."""
    facts = outcome.facts
    reply = None if facts.reply is None else masked_reply(facts.reply, masker)
    facts = changed(facts, reason=masker.mask(facts.reason), reply=reply)
    return changed(outcome, facts=facts)


def masked_reply(reply: Reply, masker: Masker) -> Reply:
    structured = masker.mask_row({"it": reply.structured})["it"]
    return changed(
        reply,
        text=masker.mask(reply.text),
        reason=masker.mask(reply.reason),
        structured=structured,
    )


def check_row(check: Check) -> dict[str, Any]:
    return dict(check.__dict__)


def reply_row(reply: Reply) -> dict[str, Any]:
    return {
        "end": str(reply.end),
        "text": cut(reply.text, _LONGEST_REPLY),
        "reason": reply.reason,
        "until": reply.until,
        "denied": list(reply.denied),
        "session": reply.session,
        "retries": reply.retries,
        "structured": reply.structured,
    }


def spoken_outcome(outcome: Outcome) -> Iterator[str]:
    """The same in a few lines for a person."""
    facts = outcome.facts
    word, status = (str(it).replace("_", " ") for it in (word_of(outcome), outcome.status))
    yield f"{listed(facts.beads)}: {word}, {status}"
    match outcome:
        case Landed(commit=commit, left_open=left_open):
            branch = facts.target.removeprefix("refs/heads/")
            yield f"  {commit[:12]} on {branch}; {counted(len(facts.checks), 'check')} passed"
            if left_open:
                yield f"  left open: {shown(left_open)}"
        case NoChanges(left_open=left_open) if left_open:
            yield f"  left open: {shown(left_open)}"
        case Preserved(ref=ref):
            yield f"  {shown(facts.reason)}"
            yield f"  kept at {ref}"
        case _:
            yield f"  {shown(facts.reason)}"
    yield f"  {spoken_usage(facts.usage)}; the story: ddx agent log {facts.attempt}"

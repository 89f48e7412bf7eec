"""What came of requests, for a person and as JSON."""

from __future__ import annotations

from ddx.console.screen import bold, dim, say, table
from ddx.text import cut, listed
from ddx.tracker.model import blockers_of, is_eligible, labels_of, link_of, text_of
from helix.cli.control import tell
from helix.policy.intake import MOST_CONFLICTS
from helix.policy.questions import said, typed_yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ddx.tracker.model import Row
    from helix.cli.input import Taken
    from helix.policy.conflicts import Statement
    from helix.policy.intake import Settled
    from helix.policy.parts import Part

_LONGEST_TITLE = 60


def show(taken: Sequence[Taken], *, dry_run: bool) -> None:
    """Beads on stdout; then what was assumed, what is open, and what to type next."""
    for it in taken:
        _show_one(it, dry_run=dry_run)
    if len(taken) > 1:
        created = sum(len(it.filed.created) for it in taken if it.filed)
        failed = sum(bool(it.error) for it in taken)
        asked = sum(bool(it.settled and it.settled.questions) for it in taken)
        say(
            f"{len(taken)} requests: {created} beads filed, {asked} with open questions, "
            f"{failed} refused"
        )
    if any(_is_ready(it) for it in taken):
        tell("have them built: helix run; or look first: ddx bead list")


def _is_ready(taken: Taken) -> bool:
    """Something is new that a run could take on."""
    rows = taken.filed.beads.values() if taken.filed else ()
    new = taken.filed.created if taken.filed else ()
    return any(is_eligible(row) for row in rows if text_of(row, "id") in new)


def _show_one(taken: Taken, *, dry_run: bool) -> None:
    say(bold(taken.wish.text), dim(f"  ({taken.wish.intent}, autonomy {taken.level})"))
    if taken.error:
        say(f"  refused: {taken.error}")
        if taken.hint:
            say(f"  {taken.hint}")
        return
    assert taken.settled is not None
    assert taken.case is not None
    _show_beads(taken, taken.settled, dry_run=dry_run)
    impact = taken.case.impact
    if impact.searched and impact.documents:
        say(dim(f"  searched, because {impact.searched}"))
    for line in impact.rings:
        say(f"  they depend on each other: {line}")
    for text in taken.settled.assumptions:
        say(f"  assumed: {text}")
    for met in taken.case.conflicts[:MOST_CONFLICTS]:
        say(f"  conflict ({met.conflict.clash}): {met.conflict.reason}")
        for side in (met.conflict.one, met.conflict.other):
            say(f"    {said(side)}")
    for question in taken.settled.questions:
        say(bold("  asked: "), question.what, dim(f"  [{question.key}]"))
        for name in ("why", "yes", "no"):
            say(f"    {name:4} {getattr(question, name)}")
    for remark in taken.remarks:
        tell(remark)
    _tell_next(taken, taken.settled)


def _tell_next(taken: Taken, settled: Settled) -> None:
    """What to type where a person must act (C-3)."""
    if settled.questions:
        again = typed_yes(taken.wish, settled.questions[0].key)
        tell(f"answer: {again}; or all by default: --yes")
    if settled.is_stopped:
        tell("change one of the two documents, then give the request again: its path waits")


def _show_beads(taken: Taken, settled: Settled, *, dry_run: bool) -> None:
    parts = parts_in(settled)
    if not parts:
        say("  nothing is filed" if dry_run else "  nothing was filed")
        return
    if taken.filed is None:
        rows = [
            (part.name, listed(_names(settled, part)), cut(part.draft.title, _LONGEST_TITLE))
            for part in parts
        ]
        table(("would be filed", "after", "title"), rows)
        return
    beads = taken.filed.beads
    rows_filed = [
        (
            text_of(beads[part.key], "id"),
            part.name,
            _state(taken, beads[part.key]),
            cut(text_of(beads[part.key], "title"), _LONGEST_TITLE),
        )
        for part in parts
    ]
    table(("bead", "for", "", "title"), rows_filed)


def _state(taken: Taken, row: Row) -> str:
    assert taken.filed is not None
    bead_id = text_of(row, "id")
    if bead_id in taken.filed.closed:
        return "answered"
    if bead_id in taken.filed.created:
        return "new"
    return "updated" if bead_id in taken.filed.updated else "known"


def _names(settled: Settled, part: Part) -> list[str]:
    names = {it.key: it.name for it in parts_in(settled)}
    return [names[key] for key in part.draft.depends_on if key in names]


def parts_in(settled: Settled) -> list[Part]:
    return [*filter(None, [settled.request]), *settled.parts, *settled.opened]


# -- as JSON ---------------------------------------------------------------------------------


def as_row(taken: Taken) -> dict[str, Any]:
    row: dict[str, Any] = {
        "request": taken.wish.text,
        "intent": str(taken.wish.intent),
        "autonomy": str(taken.level),
        "terms": list(taken.wish.terms),
        "exit_code": taken.exit_code,
        "error": taken.error,
        "remarks": list(taken.remarks),
        "searched": "",
        "documents": [],
        "beads": [],
        "assumptions": [],
        "conflicts": [],
        "gaps": [],
        "questions": [],
    }
    if taken.case is None or taken.settled is None:
        return row
    impact, settled = taken.case.impact, taken.settled
    touched = (*impact.named, *impact.documents, *impact.tests, *impact.code)
    return {
        **row,
        "searched": impact.searched,
        "documents": [
            {"id": it.id, "path": it.path, "type": it.type, "tier": it.tier}
            | {"origin": it.origin, "why": it.why}
            for it in touched
        ],
        "beads": [_bead(taken, settled, part) for part in parts_in(settled)],
        "assumptions": list(settled.assumptions),
        "conflicts": [
            {
                "class": str(met.conflict.clash),
                "reason": met.conflict.reason,
                "winner": met.conflict.winner,
                "sides": [_side(met.conflict.one), _side(met.conflict.other)],
            }
            for met in taken.case.conflicts[:MOST_CONFLICTS]
        ],
        "gaps": [{"what": it.what, "path": it.path, "line": it.line} for it in impact.missing],
        "questions": [it.as_row() for it in settled.questions],
    }


def _side(it: Statement) -> dict[str, Any]:
    return {"document": it.document, "path": it.path, "line": it.line, "text": it.text}


def _bead(taken: Taken, settled: Settled, part: Part) -> dict[str, Any]:
    """A bead as it stands, or as it would; then `after` names parts and the id is empty."""
    about = {"part": part.key, "role": part.role, "documents": list(part.about)}
    if taken.filed is None:
        draft = part.draft
        return {
            **about,
            "id": "",
            "state": "planned",
            "title": draft.title,
            "labels": list(draft.labels),
            "spec_id": draft.spec_id,
            "parent": settled.request.key if settled.request and part in settled.parts else "",
            "after": list(draft.depends_on),
            "executable": draft.is_executable and not draft.held,
        }
    row = taken.filed.beads[part.key]
    return {
        **about,
        "id": text_of(row, "id"),
        "state": _state(taken, row),
        "title": text_of(row, "title"),
        "labels": list(labels_of(row)),
        "spec_id": link_of(row, "spec-id"),
        "parent": link_of(row, "parent"),
        "after": list(blockers_of(row)),
        "executable": is_eligible(row),
    }

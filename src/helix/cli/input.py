"""`helix input`"""

from __future__ import annotations

import os
from functools import partial

from ddx.base import Clock, DdxError, UsageError, cut, listed, shown, value
from ddx.console import JSON, Argument, Command, Flag, bold, dim, has_person, notice, say, table
from helix.project import Autonomy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from helix.cli.input_batch import BatchRequest
    from helix.intake import (
        Advice,
        IntakeOptions,
        IntakeOutcome,
        ParsedRequest,
        Question,
        RequestPart,
        Statement,
        TakenRequest,
    )

FAILED, PERSON = 1, 4
_LONGEST_SHOWN = 60
tell = partial(notice, "helix")


@value
class RefusedRequest:
    """One of several requests for which nothing was filed, and why."""

    wish: ParsedRequest
    autonomy: Autonomy
    error: str
    hint: str


if TYPE_CHECKING:
    InputResult: TypeAlias = IntakeOutcome | RefusedRequest


@Command.of(
    example='helix input "change US-001 acceptance criteria" --autonomy high',
    arguments=(Argument("request", "what is wanted, in a sentence", many=True, required=False),),
    flags=(
        Flag(
            "--autonomy",
            "how often you are asked; without it as in .helix/slider-config.yaml",
            "choice",
            choices=tuple(map(str, Autonomy)),
        ),
        Flag("--dry-run", "show what would be filed, and write nothing", "switch"),
        Flag("--yes", "answer every question with its default", "switch"),
        Flag("--answer", "answer a question: ID=yes or ID=no", many=True),
        Flag("--assist", "have the configured agent propose better words", "switch"),
        Flag("--batch", "a file of requests: one a line, or a YAML list"),
        JSON,
    ),
    schema="helix-input",
)
def run(
    *,
    request: tuple[str, ...],
    autonomy: str | None,
    dry_run: bool,
    yes: bool,
    assist: bool,
    batch: str | None,
    answer: tuple[str, ...],
    json: bool,
) -> int:
    """Turn a sentence into beads: for the documents that it touches, for tests and for code."""
    from helix.intake import IntakeOptions

    answers = _answers(answer)
    if batch is not None and answers:
        raise UsageError("--answer is for one request, and --batch brings several")
    requests = _requests(request, batch)
    options = IntakeOptions(
        answers,
        _dialogue() if not json and has_person() else None,
        _advise if assist else None,
        by_default=yes,
        dry_run=dry_run,
    )
    results = _take_all(requests, options, autonomy=autonomy)
    code = max(map(_exit_code, results), key=(0, PERSON, FAILED).index)
    if json:
        from ddx.console import answer as print_json

        rows = [_as_row(it) for it in results]
        print_json({"dry_run": dry_run, "exit_code": code, "requests": rows})
    else:
        _show(results, dry_run=dry_run)
    return 0 if dry_run and code == PERSON else code


# -- what was typed --------------------------------------------------------------------------


def _answers(given: Sequence[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for text in given:
        key, _, said = text.rpartition("=")
        if not key or said not in ("yes", "no"):
            raise UsageError(
                f"--answer must be ID=yes or ID=no, not {text!r}", hint="ids come with --json"
            )
        found[key] = said == "yes"
    return found


def _requests(texts: tuple[str, ...], batch: str | None) -> list[BatchRequest]:
    """Each of them can be understood; what is wrong with one of many is told with its place."""
    from helix.cli.input_batch import BatchRequest, read_batch
    from helix.intake import parse_request

    if len(texts) > 1:
        first, second = (cut(shown(text, one_line=True), _LONGEST_SHOWN) for text in texts[:2])
        raise UsageError(
            f"a request is one text, but after {first!r} comes {second!r}",
            hint='put it in quotes: helix input "add a price list"; several: --batch FILE',
        )
    if bool(texts) == (batch is not None):
        what = "a request or --batch, not both" if texts else "one request or --batch FILE"
        raise UsageError(f"give {what}", hint='for example: helix input "add a price list"')
    requests = [BatchRequest(texts[0], "")] if texts else read_batch(str(batch))
    for it in requests:
        try:
            parse_request(it.text)
        except UsageError as problem:
            where = f"{it.where}: " if it.where else ""
            raise UsageError(f"{where}{problem.message}", hint=problem.hint) from None
    return requests


def _take_all(
    requests: Sequence[BatchRequest], options: IntakeOptions, *, autonomy: str | None
) -> list[InputResult]:
    """One after the other; what one of them files, the next one sees, and a refusal stops none."""
    from ddx.project import find_project
    from helix.intake import open_intake, parse_request, take_in

    project = find_project(os.getcwd())
    project.refuse_inside_an_attempt(what="filing work")
    if options.dry_run:
        from helix.run import ReadOnlyProject

        project = ReadOnlyProject(project.root, project.repository)
    opened = partial(open_intake, project, clock=Clock(), tell=tell, keep=not options.dry_run)
    contexts = [opened(autonomy=it.autonomy or autonomy) for it in requests]
    results: list[InputResult] = []
    for context, it in zip(contexts, requests, strict=True):
        try:
            results.append(take_in(context, it.text, options))
        except DdxError as problem:
            if isinstance(problem, UsageError) or not it.where:
                raise
            wish, level = parse_request(it.text), context.slider.autonomy
            results.append(RefusedRequest(wish, level, problem.message, hint=problem.hint))
    return results


def _dialogue() -> Callable[[Question], bool]:
    from helix.cli.context import Dialogue

    return Dialogue().ask


def _advise(wish: ParsedRequest, parts: Sequence[RequestPart]) -> Advice:
    from helix.cli.context import open_desk
    from helix.intake import advise

    with open_desk(agent=None, model=None, effort=None) as (desk, _):
        return advise(desk, wish, parts)


def _exit_code(result: InputResult) -> int:
    from helix.intake import Asked, Filed, Unsettled

    match result:
        case Filed():
            return 0
        case Asked() | Unsettled():
            return PERSON
        case RefusedRequest():
            return FAILED


# -- for a person ----------------------------------------------------------------------------


def _show(results: Sequence[InputResult], *, dry_run: bool) -> None:
    """Beads on stdout; then what was assumed, what is open, and what to type next."""
    for it in results:
        if isinstance(it, RefusedRequest):
            _show_refusal(it)
        else:
            _show_taken(it.taken, dry_run=dry_run)
    taken = [it.taken for it in results if not isinstance(it, RefusedRequest)]
    if len(results) > 1:
        created = sum(len(it.beads.created) for it in taken if it.beads)
        asked = sum(bool(it.plan.questions) for it in taken)
        say(
            f"{len(results)} requests: {created} beads filed, {asked} with open questions, "
            f"{len(results) - len(taken)} refused"
        )
    if any(_has_new_work(it) for it in taken):
        tell("have them built: helix run; or look first: ddx bead list")


def _has_new_work(taken: TakenRequest) -> bool:
    """Something is new that a run could take on."""
    if taken.beads is None:
        return False
    new = taken.beads.created
    return any(bead.is_eligible for bead in taken.beads.beads.values() if bead.id in new)


def _show_refusal(it: RefusedRequest) -> None:
    say(bold(it.wish.text), dim(f"  ({it.wish.intent}, autonomy {it.autonomy})"))
    say(f"  refused: {it.error}")
    if it.hint:
        say(f"  {it.hint}")


def _show_taken(taken: TakenRequest, *, dry_run: bool) -> None:
    from helix.intake import said

    case, plan = taken.case, taken.plan
    say(bold(case.wish.text), dim(f"  ({case.wish.intent}, autonomy {case.freedom.autonomy})"))
    _show_beads(taken, dry_run=dry_run)
    if case.impact.searched and case.impact.documents:
        say(dim(f"  searched, because {case.impact.searched.sentence}"))
    for line in case.impact.rings:
        say(f"  they depend on each other: {line}")
    for text in plan.assumptions:
        say(f"  assumed: {text}")
    for met in case.told:
        say(f"  conflict ({met.conflict.clash}): {met.conflict.reason}")
        for side in (met.conflict.one, met.conflict.other):
            say(f"    {said(side)}")
    for question in plan.questions:
        say(bold("  asked: "), question.what, dim(f"  [{question.key}]"))
        for name in ("why", "yes", "no"):
            say(f"    {name:4} {getattr(question, name)}")
    for remark in taken.remarks:
        tell(remark)
    _tell_next(taken)


def _tell_next(taken: TakenRequest) -> None:
    """What to type where a person must act (C-3)."""
    if taken.plan.questions:
        from helix.intake import typed_yes

        again = typed_yes(taken.case.wish, taken.plan.questions[0].key)
        tell(f"answer: {again}; or all by default: --yes")
    if taken.plan.is_stopped:
        tell("change one of the two documents, then give the request again: its path waits")


def _show_beads(taken: TakenRequest, *, dry_run: bool) -> None:
    parts = taken.plan.all_parts
    if not parts:
        say("  nothing is filed" if dry_run else "  nothing was filed")
        return
    if taken.beads is None:
        names = {it.key: it.name for it in parts}
        rows = [
            (
                part.name,
                listed(names[key] for key in part.draft.depends_on if key in names),
                cut(part.draft.title, _LONGEST_SHOWN),
            )
            for part in parts
        ]
        table(("would be filed", "after", "title"), rows)
        return
    filed = [(part.name, taken.beads.beads[part.key]) for part in parts]
    rows_filed = [
        (bead.id, name, _state(taken, bead.id), cut(bead.title, _LONGEST_SHOWN))
        for name, bead in filed
    ]
    table(("bead", "for", "", "title"), rows_filed)


def _state(taken: TakenRequest, bead_id: str) -> str:
    assert taken.beads is not None
    if bead_id in taken.beads.closed:
        return "answered"
    if bead_id in taken.beads.created:
        return "new"
    return "updated" if bead_id in taken.beads.updated else "known"


# -- as JSON ---------------------------------------------------------------------------------


def _as_row(result: InputResult) -> dict[str, Any]:
    if isinstance(result, RefusedRequest):
        return {
            **_heading(result.wish, result.autonomy, FAILED, error=result.error),
            "remarks": [],
            "searched": "",
            **{name: [] for name in _LISTS},
        }
    case, plan = result.taken.case, result.taken.plan
    impact = case.impact
    touched = (*impact.named, *impact.documents, *impact.tests, *impact.code)
    return {
        **_heading(case.wish, case.freedom.autonomy, _exit_code(result)),
        "remarks": list(result.taken.remarks),
        "searched": impact.searched.sentence if impact.searched else "",
        "documents": [
            {"id": it.id, "path": it.path, "type": it.type, "tier": it.tier}
            | {"origin": it.origin, "why": it.why}
            for it in touched
        ],
        "beads": [_bead(result.taken, part) for part in plan.all_parts],
        "assumptions": list(plan.assumptions),
        "conflicts": [
            {
                "class": str(met.conflict.clash),
                "reason": met.conflict.reason,
                "winner": met.conflict.winner,
                "sides": [_side(met.conflict.one), _side(met.conflict.other)],
            }
            for met in case.told
        ],
        "gaps": [{"what": it.what, "path": it.path, "line": it.line} for it in impact.missing],
        "questions": [it.as_row() for it in plan.questions],
    }


_LISTS = ("documents", "beads", "assumptions", "conflicts", "gaps", "questions")


def _heading(
    wish: ParsedRequest, autonomy: Autonomy, exit_code: int, *, error: str = ""
) -> dict[str, Any]:
    return {
        "request": wish.text,
        "intent": str(wish.intent),
        "autonomy": str(autonomy),
        "terms": list(wish.terms),
        "exit_code": exit_code,
        "error": error,
    }


def _side(it: Statement) -> dict[str, Any]:
    return {"document": it.document, "path": it.path, "line": it.line, "text": it.text}


def _bead(taken: TakenRequest, part: RequestPart) -> dict[str, Any]:
    """A bead as it stands, or as it would; then `after` names parts and the id is empty."""
    about = {"part": part.key, "role": part.role, "documents": list(part.about)}
    if taken.beads is None:
        draft, plan = part.draft, taken.plan
        return {
            **about,
            "id": "",
            "state": "planned",
            "title": draft.title,
            "labels": list(draft.labels),
            "spec_id": draft.spec_id,
            "parent": plan.request.key if plan.request and part in plan.parts else "",
            "after": list(draft.depends_on),
            "executable": draft.is_executable and not draft.held,
        }
    bead = taken.beads.beads[part.key]
    return {
        **about,
        "id": bead.id,
        "state": _state(taken, bead.id),
        "title": bead.title,
        "labels": list(bead.labels),
        "spec_id": bead.spec_id,
        "parent": bead.parent,
        "after": list(bead.waits_for),
        "executable": bead.is_eligible,
    }

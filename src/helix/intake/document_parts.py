"""Beads for documents: those that a request changes, and those that are to be written. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import changed, listed, value
from ddx.documents import TEMPLATES
from helix.intake.parts import (
    ACTIVITIES,
    DOCUMENT,
    NEW,
    RequestPart,
    acceptance,
    has_changed,
    is_valid,
    perhaps,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.intake.impact import TouchedFile
    from helix.intake.parts import IntakeCase

_TOP = ("vision", "prd")
_CHAIN = ("feat", "us", "td", "tp")
_UNTOUCHED = (
    "If nothing in it has to change, say in the document that it was looked at, and why it holds."
)


def touched_documents(case: IntakeCase) -> Iterator[RequestPart]:
    """One bead for each document, after those that it follows from."""
    earlier: list[TouchedFile] = []
    for it in (*case.impact.named, *case.impact.documents):
        known = {other.id for other in earlier}
        above = [name for name in it.above if name in known] or _tier_before(it, earlier)
        earlier.append(it)
        yield _touched(case, it, after=above)


def new_documents(case: IntakeCase) -> Iterator[RequestPart]:
    """A chain of documents that are not there yet, each below the one before (I-8)."""
    steps: list[tuple[str, ...]] = [(kind,) for kind in _CHAIN]
    ground, from_the_top = case.ground, case.impact.is_greenfield
    above, before = ground.top, ""
    if from_the_top and _TOP[-1] in ground.names:  # another open request is about to write it
        above, before = _TOP[-1], ground.top_bead
    elif from_the_top:
        steps.insert(0, _TOP)
    for kinds in steps:
        part = _new(case, _pages(case, kinds), above=above, before=before)
        above, before = part.about[-1], part.key
        yield part


def _touched(case: IntakeCase, it: TouchedFile, *, after: Sequence[str]) -> RequestPart:
    named = case.impact.named
    is_named = it in named
    starts = listed(start.id for start in named)
    title = case.wish.text if is_named or it.hit else f"follow {starts}"
    document = f"{it.id} ({it.path}), {it.title!r}"
    draft = changed(
        case.draft(
            _key(it.id),
            f"{it.id}: {title}",
            f"Change {document}, and no other document."
            if is_named
            else f"Bring {document}, in line with it, and no other document.",
            f"Found by search, not by a link: {it.why}" if it.hit == it.id else f"Why: {it.why}",
            "" if is_named else _UNTOUCHED,
            activity=ACTIVITIES.get(it.type, "design"),
            kind=DOCUMENT,
        ),
        acceptance=acceptance(
            has_changed(case.ground, [it.path]),
            f"`ddx doc show {it.id}` passes" if it.id.replace("-", "").isalnum() else "",
            is_valid(case.ground),
        ),
        spec_id=it.id,
        depends_on=tuple(map(_key, after)),
        refs=tuple(start.id for start in named if start.id != it.id),
        paths=(it.path,),
    )
    return RequestPart(draft, DOCUMENT, it.id, about=(it.id,), hit=it.hit)


def _key(doc_id: str) -> str:
    return f"{DOCUMENT}:{doc_id}"


def _tier_before(it: TouchedFile, earlier: Sequence[TouchedFile]) -> list[str]:
    """Without a link, what has more authority still goes first: the nearest tier of it."""
    tiers = [tier for other in earlier if (tier := _tier(other)) < _tier(it)]
    return [other.id for other in earlier if tiers and _tier(other) == max(tiers)]


def _tier(it: TouchedFile) -> tuple[bool, int]:
    """In the order of authority; what has no tier comes last."""
    return (it.tier is None, it.tier or 0)


@value
class _Page:
    """A document to be written: where, and what validate will ask of it."""

    kind: str
    id: str
    path: str

    @property
    def sections(self) -> tuple[str, ...]:
        return TEMPLATES[self.kind].section_names


def _pages(case: IntakeCase, kinds: Sequence[str]) -> list[_Page]:
    """As an earlier look called them, where their bead is there already."""
    paths = case.ground.own.get(f"{NEW}{kinds[-1]}", ())
    if len(paths) != len(kinds):
        return [_page(case, kind) for kind in kinds]
    return [
        _Page(kind, TEMPLATES[kind].id_of(path), path)
        for kind, path in zip(kinds, paths, strict=True)
    ]


def _page(case: IntakeCase, kind: str) -> _Page:
    template = TEMPLATES[kind]
    doc_id = template.free_id(case.ground.names)
    path = template.path_of(doc_id, case.wish.subject)
    return _Page(kind, doc_id, f"{case.ground.root}/{path}")


def _new(case: IntakeCase, pages: Sequence[_Page], *, above: str, before: str) -> RequestPart:
    ids = [page.id for page in pages]
    lines: list[str] = []
    for page, upstream in zip(pages, (above, *ids), strict=False):
        lines += (f"`{page.path}` exists", f"`ddx doc show {page.id}` passes")
        lines += [f"`ddx doc deps {page.id}` prints `{upstream}`"] if upstream else []
    kind = pages[-1].kind
    draft = changed(
        case.draft(
            f"{NEW}{kind}",
            f"{listed(ids)}: {case.wish.subject}",
            f"Write {listed(ids)}{f', which follows from {above}' if above else ''}.",
            "\n".join(
                f"{page.id} is {page.path} and has the sections {listed(page.sections)}."
                for page in pages
            ),
            "The front matter has, below `ddx:`, the id, and in depends_on what it follows from.",
            "Say what you assumed, and mark it as an assumption.",
            perhaps(case.impact.related),
            activity=ACTIVITIES[kind],
            kind=DOCUMENT,
        ),
        acceptance=acceptance(*lines, is_valid(case.ground)),
        spec_id=above,
        depends_on=(before,) if before else (),
        paths=tuple(page.path for page in pages),
    )
    return RequestPart(draft, DOCUMENT, listed(ids), about=tuple(ids))

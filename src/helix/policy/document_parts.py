"""Beads for documents: those that a request touches, and those that it first needs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.graph.authority import LAST, numbered_id
from ddx.graph.templates import TEMPLATES, file_name, next_id, sections_for
from ddx.text import listed
from ddx.values import value
from helix.policy.drafts import Draft, clean_title
from helix.policy.parts import (
    ACTIVITIES,
    DOCUMENT,
    NEW,
    Part,
    acceptance,
    asked,
    has_changed,
    is_valid,
    labels,
    paragraphs,
    perhaps,
    priority_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.policy.impact import Impact, Touched
    from helix.policy.parts import Ground
    from helix.policy.request import Wish

_TOP = ("vision", "prd")
_CHAIN = ("feat", "us", "td", "tp")
_UNTOUCHED = (
    "If nothing in it has to change, say in the document that it was looked at, and why it holds."
)


def touched_documents(wish: Wish, impact: Impact, ground: Ground) -> Iterator[Part]:
    """One bead for each document, after those that it follows from."""
    earlier: list[Touched] = []
    for it in (*impact.named, *impact.documents):
        known = {other.id for other in earlier}
        above = [name for name in it.above if name in known] or _tier_before(it, earlier)
        earlier.append(it)
        yield _touched(wish, it, ground, named=impact.named, after=above)


def new_documents(
    wish: Wish, ground: Ground, related: Sequence[Touched] = (), *, from_the_top: bool = False
) -> Iterator[Part]:
    """A chain of documents that are not there yet, each below the one before (I-8)."""
    steps: list[tuple[str, ...]] = [(kind,) for kind in _CHAIN]
    above, before = ground.top, ""
    if from_the_top and _TOP[-1] in ground.names:  # another open request is about to write it
        above, before = _TOP[-1], ground.top_bead
    elif from_the_top:
        steps.insert(0, _TOP)
    for kinds in steps:
        pages = _pages(kinds, wish, ground)
        part = _new(wish, pages, ground, above, before, related)
        above, before = part.about[-1], part.key
        yield part


def _touched(
    wish: Wish, it: Touched, ground: Ground, *, named: Sequence[Touched], after: Sequence[str]
) -> Part:
    is_named = it in named
    starts = listed(start.id for start in named)
    title = wish.text if is_named or it.hit else f"follow {starts}"
    document = f"{it.id} ({it.path}), {it.title!r}"
    draft = Draft(
        _key(it.id),
        clean_title(f"{it.id}: {title}"),
        paragraphs(
            asked(wish),
            f"Change {document}, and no other document."
            if is_named
            else f"Bring {document}, in line with it, and no other document.",
            f"Found by search, not by a link: {it.why}" if it.hit == it.id else f"Why: {it.why}",
            "" if is_named else _UNTOUCHED,
        ),
        acceptance(
            has_changed(ground, [it.path]),
            f"`ddx doc show {it.id}` passes" if it.id.replace("-", "").isalnum() else "",
            is_valid(ground),
        ),
        labels(ACTIVITIES.get(it.type, "design"), DOCUMENT, ground.area),
        priority_of(wish),
        spec_id=it.id,
        depends_on=tuple(map(_key, after)),
        refs=tuple(start.id for start in named if start.id != it.id),
        paths=(it.path,),
    )
    return Part(draft.key, DOCUMENT, draft, (it.id,), it.hit, it.id)


def _key(doc_id: str) -> str:
    return f"{DOCUMENT}:{doc_id}"


def _tier_before(it: Touched, earlier: Sequence[Touched]) -> list[str]:
    """Without a link, what has more authority still goes first: the nearest tier of it."""
    tiers = [tier for other in earlier if (tier := _tier(other)) < _tier(it)]
    return [other.id for other in earlier if tiers and _tier(other) == max(tiers)]


def _tier(it: Touched) -> int:
    return LAST if it.tier is None else it.tier


@value
class _Page:
    """A document to be written: where, and what validate will ask of it."""

    kind: str
    id: str
    path: str


def _pages(kinds: Sequence[str], wish: Wish, ground: Ground) -> list[_Page]:
    """As an earlier look called them, where their bead is there already."""
    paths = ground.own.get(f"{NEW}{kinds[-1]}", ())
    if len(paths) != len(kinds):
        return [_page(kind, wish, ground) for kind in kinds]
    return [
        _Page(kind, TEMPLATES[kind].only_id or numbered_id(path.rpartition("/")[2]), path)
        for kind, path in zip(kinds, paths, strict=True)
    ]


def _page(kind: str, wish: Wish, ground: Ground) -> _Page:
    template = TEMPLATES[kind]
    doc_id = template.only_id or next_id(template.prefix, ground.names)
    name = file_name(template, doc_id, wish.subject)
    return _Page(kind, doc_id, f"{ground.root}/{template.folder}/{name}")


def _new(
    wish: Wish,
    pages: Sequence[_Page],
    ground: Ground,
    above: str,
    before: str,
    related: Sequence[Touched],
) -> Part:
    ids = [page.id for page in pages]
    lines: list[str] = []
    for page, upstream in zip(pages, (above, *ids), strict=False):
        lines += (f"`{page.path}` exists", f"`ddx doc show {page.id}` passes")
        lines += [f"`ddx doc deps {page.id}` prints `{upstream}`"] if upstream else []
    kind = pages[-1].kind
    draft = Draft(
        f"{NEW}{kind}",
        clean_title(f"{listed(ids)}: {wish.subject}"),
        paragraphs(
            asked(wish),
            f"Write {listed(ids)}{f', which follows from {above}' if above else ''}.",
            "\n".join(
                f"{page.id} is {page.path} and has the sections {listed(sections_for(page.kind))}."
                for page in pages
            ),
            "The front matter has, below `ddx:`, the id, and in depends_on what it follows from.",
            "Say what you assumed, and mark it as an assumption.",
            perhaps(related),
        ),
        acceptance(*lines, is_valid(ground)),
        labels(ACTIVITIES[kind], DOCUMENT, ground.area),
        priority_of(wish),
        spec_id=above,
        depends_on=(before,) if before else (),
        paths=tuple(page.path for page in pages),
    )
    return Part(draft.key, DOCUMENT, draft, tuple(ids), name=listed(ids))

"""Which documents an attempt may edit: authority is the authorization boundary (X-27). Pure.

A bead may edit what it names, by id or path in spec-id and refs or as an exact path in `paths`, and
what stands no higher than the documents that govern it. Of several the lowest counts. A bead that
nothing governs may edit no document that it does not name. New documents are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.governing import Named
from ddx.graph.authority import LAST
from ddx.text import cut, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ddx.execution.governing import Governing
    from ddx.execution.model import Bead
    from ddx.graph.committed import Standing

_MOST_NAMED = 5


def find_overreach(
    changed_paths: Iterable[str], governing: Governing, beads: Sequence[Bead]
) -> str:
    """Why the edits of these paths are not for these beads; empty if they are.

    A path that was removed, or moved away from, counts as edited. In a batch an edit needs one
    bead that may make it.
    """
    excess = [
        (path, standing)
        for path in dict.fromkeys(changed_paths)
        if (standing := governing.files.get(path)) is not None
        and not any(_may_edit(bead, governing, path, standing) for bead in beads)
    ]
    if not excess:
        return ""
    names = [f"{shown(standing.id)} ({cut(shown(path), 200)})" for path, standing in excess]
    more = len(names) - _MOST_NAMED
    said = listed([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    who = listed(bead.id for bead in beads)
    verb = "names" if len(beads) == 1 else "name"
    return (
        f"it edits {said}, which {who} neither {verb} nor may change by {_reach(governing, beads)}"
    )


def _may_edit(bead: Bead, governing: Governing, path: str, standing: Standing) -> bool:
    named = governing.named.get(bead.id, Named())
    if standing.id in named.documents or path in map(_plain, bead.paths):
        return True
    if not named.is_governed:
        return False
    own_tier = LAST if named.tier is None else named.tier
    return standing.tier is None or standing.tier >= own_tier


def _plain(path: str) -> str:
    return path.removeprefix("./")


def _reach(governing: Governing, beads: Sequence[Bead]) -> str:
    """What the beads stand on, for the person who must decide."""
    ids = [doc_id for bead in beads for doc_id in governing.named.get(bead.id, Named()).documents]
    return f"the authority of {listed(dict.fromkeys(ids))}" if ids else "any governing document"

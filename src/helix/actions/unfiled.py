"""Work that an attempt leaves for later: kept with its record until it is filed, once (A-7).

It is kept before anything lands. Whether the attempt lands at once, after a crash or when the
operator's edits are out of the way: whoever comes next files it, and on the attempt's own bead
stands, in the same write, that it was done. What a pass over documents drafts counts only if the
pass lands; what a build left over is worth a bead however the build ended.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.errors import NotFound, Refused
from ddx.execution.model import Status
from ddx.execution.record import FOLDER, attempts, read_record, records
from ddx.fastjson import to_bytes
from ddx.files import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.errors import DdxError
    from ddx.execution.work import Site
    from ddx.project import Project
    from helix.actions.filing import Filed
    from helix.desk import Desk

DRAFTS = "drafts.json"
REFUSALS = (NotFound, Refused)
"""Somebody removed the attempt's bead, or the project's own say is against it (T-15)."""
_LANDED = (Status.SUCCESS, Status.ALREADY_SATISFIED)
_SECOND = len("20260102T030405")


def keep_drafts(
    site: Site, attempt: str, *, bead: str, reply: str, parent: str = "", if_landed: bool
) -> None:
    """In the attempt's own folder, whole and masked."""
    row = {"bead": bead, "parent": parent, "if_landed": if_landed, "text": reply}
    replace(_path(site.project, attempt), (to_bytes(site.masker.mask_row(row)), b"\n"))


def file_drafts(desk: Desk, attempt: str, *, bead: str, reply: str, parent: str = "") -> Filed:
    """Beads for what the attempt left for others; a second time it does nothing."""
    from helix.actions.filing import file_follow_ups

    filed = file_follow_ups(desk, reply, origin=bead, parent=parent or None, once=attempt)
    try:
        os.unlink(_path(desk.site.project, attempt))
    except FileNotFoundError:
        pass  # nothing was kept, or another process was faster
    return filed


def file_unfiled(desk: Desk) -> Iterator[str]:
    """What attempts have left that have ended since; a sentence for each of them."""
    from helix.actions.filing import spoken

    project = desk.site.project
    for attempt in attempts(project):
        kept = _due(project, attempt) if os.path.exists(_path(project, attempt)) else None
        if not kept:
            continue
        bead, parent, reply = (str(kept.get(name, "")) for name in ("bead", "parent", "text"))
        try:
            filed = file_drafts(desk, attempt, bead=bead, parent=parent, reply=reply)
        except REFUSALS as problem:
            yield not_filed(attempt, problem)
        else:
            said = (spoken(filed), *filed.remarks)
            yield "; ".join(filter(None, (f"attempt {attempt} left work for later", *said)))


def not_filed(attempt: str, problem: DdxError) -> str:
    """It is kept, and the next run tries again."""
    said = f"what attempt {attempt} left for later is not filed"
    return f"{said}: {problem.message}; it is in {DRAFTS} of its record"


def _due(project: Project, attempt: str) -> Mapping[str, Any] | None:
    """What the attempt keeps, once it is time to file it."""
    record = read_record(project, attempt)
    kept = record.file(DRAFTS)
    if kept.get("if_landed", True):
        return kept if find_landing(project, attempt) else None
    return kept if record.result else None


def find_landing(project: Project, attempt: str) -> Mapping[str, Any] | None:
    """How an attempt landed, or that there was nothing to land; None: it has not.

    What had to wait for its landing has a second record, which names the first (X-13).
    """
    for kept in records(project):
        if kept.attempt[:_SECOND] < attempt[:_SECOND]:
            break
        result = kept.result
        is_it = attempt in (kept.attempt, result.get("lands"))
        if is_it and result.get("status") in _LANDED:
            return result
    return None


def _path(project: Project, attempt: str) -> str:
    return project.ddx(FOLDER, attempt, DRAFTS)

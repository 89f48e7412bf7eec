"""Drafts of a pass that writes documents: kept with its attempt until they are filed, once (A-7).

They are kept before anything lands. Whether the pass lands at once, after a crash or when the
operator's edits are out of the way: whoever comes next files them, and on the pass's own bead
stands, in the same write, that it was done.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.errors import NotFound
from ddx.execution.model import Status
from ddx.execution.record import FOLDER, attempts, read_record, records
from ddx.fastjson import to_bytes
from ddx.files import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.execution.work import Site
    from ddx.project import Project
    from helix.actions.filing import Filed
    from helix.desk import Desk

DRAFTS = "drafts.json"
_LANDED = (Status.SUCCESS, Status.ALREADY_SATISFIED)
_SECOND = len("20260102T030405")


def keep_drafts(site: Site, attempt: str, *, bead: str, parent: str, reply: str) -> None:
    """In the attempt's own folder, whole and masked."""
    row = site.masker.mask_row({"bead": bead, "parent": parent, "text": reply})
    replace(_path(site.project, attempt), (to_bytes(row), b"\n"))


def file_drafts(desk: Desk, attempt: str, *, bead: str, parent: str, reply: str) -> Filed:
    """Beads for what the pass left for others; a second time it does nothing."""
    from helix.actions.filing import file_follow_ups

    filed = file_follow_ups(desk, reply, origin=bead, parent=parent or None, once=attempt)
    try:
        os.unlink(_path(desk.site.project, attempt))
    except FileNotFoundError:
        pass  # nothing was kept, or another process was faster
    return filed


def file_unfiled(desk: Desk) -> Iterator[str]:
    """Drafts of passes that have landed since; a sentence for each pass."""
    from helix.actions.filing import spoken

    project = desk.site.project
    for attempt in attempts(project):
        if os.path.exists(_path(project, attempt)) and find_landing(project, attempt):
            kept = read_record(project, attempt).file(DRAFTS)
            bead, parent, reply = (str(kept.get(name, "")) for name in ("bead", "parent", "text"))
            try:
                filed = file_drafts(desk, attempt, bead=bead, parent=parent, reply=reply)
            except NotFound:  # somebody removed the bead of the pass
                yield f"the drafts of attempt {attempt} have no bead any more: see its {DRAFTS}"
            else:
                said = (spoken(filed), *filed.remarks)
                yield "; ".join(filter(None, (f"attempt {attempt} has landed", *said)))


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

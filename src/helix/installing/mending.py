"""What `helix doctor --fix` may do by itself: nothing that loses a byte (P-6)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.execution.reconciling import reconcile
from ddx.execution.work import open_site
from ddx.tracker.doctor.treatment import treat
from ddx.tracker.model import id_prefix
from ddx.trust import is_trusted
from helix.installing import launchers
from helix.installing.repository import set_up_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.tracker.store import Tracker


def mend(
    project: Project, tracker: Tracker, *, clock: Clock, tell: Callable[[str], None]
) -> Iterator[str]:
    """A sentence for each thing mended; a second time there is none."""
    if os.path.lexists(tracker.path) or tracker.lineage.has_rows():
        for fix in treat(tracker, fix=True, bring_back=False, new_id=_new_id):
            yield f"tracker: {fix.where}: {fix.what}"
    yield from set_up_repository(
        project, tracker, launcher=launchers.launcher_of("ddx"), clock=clock
    )
    if launchers.read_placed():
        yield from launchers.install(skills_only=not _has_launchers())
    if is_trusted(project):
        site = open_site(project, lambda happening: None, clock=clock, tell=tell)
        yield from (done.sentence for done in reconcile(site))


def _has_launchers() -> bool:
    return any(not it.is_link for it in launchers.read_placed())


def _new_id(old: str) -> str:
    """For a second bead under one id (T-14)."""
    return f"{id_prefix(old.rpartition('-')[0] or old)}-{os.urandom(4).hex()}"

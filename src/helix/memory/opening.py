"""Opening what memory needs in a project: its database, its embedder, its sense of secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.environment import for_children
from ddx.masking import Masker
from ddx.trust import is_trusted
from helix.folder import own_folder, path_in
from helix.memory.embedders.registry import open_embedder
from helix.memory.store import MemoryStore, database_path
from helix.memory.storing import Wits

if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.project import Project
    from helix.memory.embedders.base import Absent, Embedder
    from helix.settings import HelixSettings


def open_store(project: Project) -> MemoryStore:
    """Where the project's database is; its folder is kept from git where it is ours."""
    path = database_path(project)
    if os.path.dirname(path) == path_in(project):
        own_folder(project)
    return MemoryStore(path)


def embedder_of(project: Project, settings: HelixSettings, *, clock: Clock) -> Embedder | Absent:
    """What the settings say; a model of others is asked only for a repository that is trusted."""
    return open_embedder(
        settings.embedder,
        is_trusted=is_trusted(project),
        cache=project.ddx("cache", "embedders"),
        clock=clock,
    )


def wits_of(project: Project, settings: HelixSettings, *, clock: Clock) -> Wits:
    return Wits(embedder_of(project, settings, clock=clock), Masker(for_children()))

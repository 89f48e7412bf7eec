"""`.helix/` of a project: settings and pages are for git, all else is for this machine alone."""

from __future__ import annotations

import os

from ddx.files import add_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project import Project

NAME = ".helix"
_ONLY_HERE = "".join(
    f"/{name}\n"
    for name in (
        *(".gitignore", "context.md", "plugin_root", "helix.db*", "operations.jsonl*"),
        *("cache/", "checkpoints/", "objectives/", "undo/", "*.tmp-*"),
    )
)


def path_in(project: Project, *names: str) -> str:
    return os.path.join(project.root, NAME, *names)


def own_folder(project: Project) -> str:
    """The folder, made if need be; git is told what of it to leave alone."""
    folder = path_in(project)
    os.makedirs(folder, exist_ok=True)
    add_lines(os.path.join(folder, ".gitignore"), _ONLY_HERE)
    return folder

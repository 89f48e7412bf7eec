"""A tracker in a repository: its folder, what git ignores of it, and how git merges it (T-14)."""

from __future__ import annotations

import os

from ddx import git
from ddx.errors import DdxError
from ddx.files import add_lines, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.project import Project
    from ddx.tracker.store import Tracker

DRIVER = "merge.ddx-beads"
_IGNORED = "# What ddx keeps for itself; the tracker's own files are for git.\n" + "".join(
    f"/{name}\n"
    for name in ("backups/", "cache/", "executions/", "run-state.json", "state/", "*.tmp-*")
)
_ATTRIBUTES = """\
beads.jsonl merge=ddx-beads
beads-archive.jsonl merge=ddx-beads
attachments/**/events.jsonl merge=union
reviews.jsonl merge=union
floors.jsonl merge=union
"""


def set_up(project: Project, tracker: Tracker, *, launcher: str) -> tuple[str, ...]:
    """Make what is missing; a sentence for each thing made."""
    with tracker.lock():
        return tuple(_make_missing(project, tracker, launcher=launcher))


def _make_missing(project: Project, tracker: Tracker, *, launcher: str) -> Iterator[str]:
    if not os.path.lexists(tracker.path):
        if tracker.lineage.has_rows():
            raise DdxError(
                f"{tracker.path} is missing, but it held beads before; no empty one was made",
                hint="see what is kept and bring it back: ddx bead doctor",
            )
        replace(tracker.path, ())
        yield f"made {tracker.path}"
    for name, wanted in ((".gitignore", _IGNORED), (".gitattributes", _ATTRIBUTES)):
        if add_lines(project.ddx(name), wanted):
            yield f"wrote {project.ddx(name)}"
    if git.common_folder(project.root):
        command = driver_command(launcher)
        if git.get_config(project.root, f"{DRIVER}.driver") != command:
            git.set_config(project.root, f"{DRIVER}.name", "beads, merged by id and field")
            git.set_config(project.root, f"{DRIVER}.driver", command)
            yield "told git how to merge the tracker"


def driver_command(launcher: str) -> str:
    """What git runs for a merge: this ddx, else one on PATH, else git's own line merge.

    Exit 0 is a clean merge, exit 1 with words on stdout one with conflicts. All else, exit 1
    without a word too, means that we could not work: git's markers then make sure that no side
    is lost (T-14).
    """
    quoted = "'" + launcher.replace("'", "'\\''") + "'"
    return (
        f"ddx={quoted}; "
        '[ -x "$ddx" ] || ddx=$(command -v ddx) || ddx=; '
        'if [ -n "$ddx" ]; then said=$("$ddx" bead merge %O %A %B); code=$?; '
        '[ -z "$said" ] || echo "$said"; '
        '[ $code -eq 0 ] || [ $code -eq 1 -a -n "$said" ] && exit $code; fi; '
        "git merge-file --diff3 -L ours -L base -L theirs %A %O %B"
    )

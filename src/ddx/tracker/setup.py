"""What a project has besides its beads: hooks with a say on them (T-15), git's part, commits."""

from __future__ import annotations

import os

from ddx.base import DdxError, Refused, add_lines, replace, run
from ddx.git import commands as git
from ddx.tracker.row import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.project import Project
    from ddx.tracker.row import Row
    from ddx.tracker.tracker import Tracker

TIME_LIMIT_S = 5.0
_ACCEPTED, _WARNED = 0, 2


class Hooks:
    """`.ddx/hooks/validate-bead-{create,update}`: 0 accepts, 1 rejects, 2 warns."""

    def __init__(
        self, project: Project, *, tell: Callable[[str], None], time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        self._project = project
        self._tell = tell
        self._time_limit_s = time_limit_s

    def approve(self, old: Row | None, new: Row) -> None:
        """Return if the bead may be written as it is."""
        name = f"validate-bead-{'create' if old is None else 'update'}"
        path = self._project.ddx("hooks", name)
        if not os.path.exists(path):
            return
        self._project.require_trust(to_run=f".ddx/hooks/{name}")
        if not os.access(path, os.X_OK):
            raise Refused(f"{path} cannot be executed, so no bead can pass it")
        done = run(
            [path],
            cwd=self._project.root,
            env={"DDX_PROJECT_ROOT": self._project.root},
            timeout_s=self._time_limit_s,
            stdin=encode(new) + b"\n",
        )
        if done.timed_out:
            raise Refused(f"{name} took longer than {self._time_limit_s:g} s; nothing was written")
        if done.code == _WARNED:
            self._tell(f"{name} warns about {new['id']}: {done.complaint}")
        elif done.code != _ACCEPTED:
            said = done.complaint or f"exit {done.code}"
            raise Refused(f"{name} rejects {new['id']}: {said}")


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


TRACKED = (
    ".ddx/.gitattributes",
    ".ddx/.gitignore",
    ".ddx/attachments",
    ".ddx/beads-archive.jsonl",
    ".ddx/beads.jsonl",
    ".ddx/floors.jsonl",
    ".ddx/reviews.jsonl",
)


def commit_tracker(project: Project, *, message: str) -> str:
    """The new commit's id; empty if nothing of the tracker has changed."""
    if not git.common_folder(project.root):
        raise DdxError(f"{project.root} is not a git repository, so there is nothing to commit to")
    if git.is_unmerged(project.root, ".ddx/beads.jsonl"):
        raise DdxError(
            "a merge of the tracker is not finished",
            hint="settle it with ddx bead resolve, then finish the merge with git",
        )
    changed = git.changed_paths(project.root, TRACKED)
    return git.commit_only(project.root, changed, message=message) if changed else ""

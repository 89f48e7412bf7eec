"""Skills where agents look for them and two commands on the PATH; undone as exactly (P-3, D-16).

What we put somewhere is written down first. Only what is still as we left it is taken away.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx.environment import variable
from ddx.errors import CorruptFile, Refused
from ddx.fastjson import loads, to_bytes
from ddx.files import replace
from ddx.values import value
from helix.resources import find_resources, require_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROGRAMS = ("helix", "ddx")
_EXECUTABLE = 0o755


@value
class Placed:
    """One thing of ours on this machine: a link to a skill, or a launcher."""

    path: str
    target: str
    is_link: bool

    @property
    def content(self) -> bytes:
        quoted = "'" + self.target.replace("'", "'\\''") + "'"
        return f'#!/bin/sh\n# Put here by `helix install`.\nexec {quoted} "$@"\n'.encode()

    @property
    def stands(self) -> bool:
        """Is it there, exactly as we put it?"""
        try:
            if self.is_link:
                return os.readlink(self.path) == self.target
            with open(self.path, "rb") as file:
                return not os.path.islink(self.path) and file.read() == self.content
        except OSError:
            return False


def install(*, skills_only: bool = False) -> Iterator[str]:
    """A sentence for each thing put somewhere; nothing of anybody else is replaced."""
    require_resources()
    wanted = [*_skills(), *(() if skills_only else _launchers())]
    known = {it.path: it for it in read_placed()}
    taken = [it.path for it in wanted if _is_foreign(it, known.get(it.path))]
    if taken:
        raise Refused(
            f"{taken[0]} is there and is not ours; nothing was changed",
            hint="move it away, then: helix install",
        )
    missing = [it for it in wanted if not it.stands]
    _write_placed({**known, **{it.path: it for it in wanted}}.values())
    for it in missing:
        _put(it)
        yield f"{'linked' if it.is_link else 'wrote'} {it.path} -> {it.target}"


def remove() -> Iterator[str]:
    """A sentence for each thing taken away or left, because somebody changed it since."""
    for it in read_placed():
        if it.stands:
            os.unlink(it.path)
            yield f"removed {it.path}"
        elif os.path.lexists(it.path):
            yield f"left {it.path}: it is not as we put it"
    _write_placed(())


def read_placed() -> list[Placed]:
    """What we have put on this machine, by our own record."""
    try:
        with open(_record(), encoding="utf-8") as file:
            rows = loads(file.read())
        return [Placed(row["path"], row["target"], row["is_link"]) for row in rows]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):
        raise CorruptFile(
            f"{_record()} cannot be read",
            hint="remove it; what `helix install` put somewhere is then yours to remove",
        ) from None


def launcher_of(program: str) -> str:
    """The program by its full path: of a checkout its own, else the one beside what runs us."""
    checkout = os.path.join(os.path.dirname(find_resources("workflows")), "bin", program)
    if os.access(checkout, os.X_OK):
        return checkout
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), program)
    if os.access(beside, os.X_OK):
        return beside
    return os.path.join(os.path.dirname(sys.executable), program)


def skill_folders() -> list[str]:
    """Where agents look for skills of a person (D-16)."""
    home = os.path.expanduser("~")
    homes = (
        os.path.join(home, ".agents"),
        variable("CLAUDE_HOME") or os.path.join(home, ".claude"),
        variable("CODEX_HOME") or os.path.join(home, ".codex"),
    )
    return [os.path.join(folder, "skills") for folder in homes]


def _skills() -> Iterator[Placed]:
    source = find_resources("skills")
    names = sorted(entry.name for entry in os.scandir(source) if entry.is_dir())
    for folder in skill_folders():
        for name in names:
            yield Placed(os.path.join(folder, name), os.path.join(source, name), is_link=True)


def _launchers() -> Iterator[Placed]:
    for name in PROGRAMS:
        path = os.path.join(os.path.expanduser("~"), ".local", "bin", name)
        target = launcher_of(name)
        if os.path.realpath(path) != os.path.realpath(target):  # pipx has put its own there
            yield Placed(path, target, is_link=False)


def _is_foreign(wanted: Placed, known: Placed | None) -> bool:
    """There, and neither what we want nor what we put there earlier."""
    if not os.path.lexists(wanted.path) or wanted.stands:
        return False
    return known is None or not known.stands


def _put(it: Placed) -> None:
    os.makedirs(os.path.dirname(it.path), exist_ok=True)
    if not it.is_link:
        replace(it.path, (it.content,))
        os.chmod(it.path, _EXECUTABLE)
        return
    beside = f"{it.path}.tmp-{os.getpid()}"
    os.symlink(it.target, beside)
    os.replace(beside, it.path)


def _record() -> str:
    from platformdirs import user_state_path

    return str(user_state_path("helix") / "installed.json")


def _write_placed(placed: Iterable[Placed]) -> None:
    rows = [dict(it.__dict__) for it in placed]
    if rows:
        replace(_record(), (to_bytes(rows), b"\n"))
    elif os.path.exists(_record()):
        os.unlink(_record())

"""Whose commands may run: nothing of a repository does until its operator trusts it (X-22)."""

from __future__ import annotations

import os

from ddx.environment import variable
from ddx.errors import CorruptFile, NeedsPerson
from ddx.fastjson import loads, to_bytes
from ddx.files import replace
from ddx.git import common_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project import Project


def require_trust(project: Project, *, to_run: str) -> None:
    """Go on only if the operator trusts this repository."""
    if not is_trusted(project):
        raise NeedsPerson(
            f"{project.root} is not trusted, so {to_run} was not run and nothing was changed",
            hint="look at it, then: helix trust (or set HELIX_TRUST=1 for automation)",
        )


def is_trusted(project: Project) -> bool:
    return variable("HELIX_TRUST") == "1" or _mark(project) in trusted()


def trusted() -> list[str]:
    """The git folders of the repositories that the operator trusts."""
    try:
        with open(_path(), encoding="utf-8") as file:
            found = loads(file.read())
    except FileNotFoundError:
        return []
    except ValueError as problem:
        raise _unreadable(str(problem)) from None
    if not isinstance(found, list):
        raise _unreadable("not a list of folders")
    return [item for item in found if isinstance(item, str)]


def grant(project: Project) -> bool:
    """Trust a repository; False if it was trusted before."""
    known = trusted()
    if _mark(project) in known:
        return False
    _write([*known, _mark(project)])
    return True


def revoke(project: Project) -> bool:
    """Trust it no longer; False if it was not trusted."""
    known = trusted()
    if _mark(project) not in known:
        return False
    _write([item for item in known if item != _mark(project)])
    return True


def _mark(project: Project) -> str:
    """All checkouts of one repository are trusted together."""
    return common_folder(project.root) or os.path.realpath(project.root)


def _path() -> str:
    """In the user's state, never in the repository."""
    from platformdirs import user_state_path

    return str(user_state_path("helix") / "trusted.json")


def _write(known: list[str]) -> None:
    replace(_path(), (to_bytes(sorted(known)), b"\n"))


def _unreadable(what: str) -> CorruptFile:
    return CorruptFile(f"{_path()}: {what}, so nothing counts as trusted")

"""What a child of an attempt finds around it: who asks, for what, and how to ask back (X-3b, X-5).

A stub or a wrapper knows from these variables what is wanted, without reading the prompt.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import ddx
from ddx.environment import ATTEMPT, PROJECT_ROOT, for_children
from ddx.git.identity import NOBODY, Identity, find_identity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_OURS = (
    *("HELIX_ACTION", "DDX_BEAD_ID", "DDX_BEAD_IDS"),
    *(ATTEMPT, PROJECT_ROOT, "DDX_EVIDENCE_DIR"),
)


def child_environment(
    *,
    action: str,
    beads: Sequence[str],
    attempt: str,
    project_root: str,
    evidence_dir: str = "",
    author: Identity | None = None,
) -> dict[str, str]:
    """The whole environment of an agent, a check or a set-up command.

    What an attempt around ours said of itself is replaced. `author` is named where no variable
    names one.
    """
    said = {
        "HELIX_ACTION": action,
        "DDX_BEAD_ID": beads[0] if beads else "",
        "DDX_BEAD_IDS": " ".join(beads) if len(beads) > 1 else "",
        ATTEMPT: attempt,
        PROJECT_ROOT: project_root,
        "DDX_EVIDENCE_DIR": evidence_dir,
    }
    found = dict(for_children())
    if author is not None:
        for role in ("AUTHOR", "COMMITTER"):
            found.setdefault(f"GIT_{role}_NAME", author.name)
            found.setdefault(f"GIT_{role}_EMAIL", author.email)
    found["PATH"] = with_our_commands(found.get("PATH", os.defpath))
    # Some programs believe PWD more than the folder they were started in (opencode: tried).
    kept = {name: text for name, text in found.items() if name not in (*_OURS, "PWD", "OLDPWD")}
    return {**kept, **{name: text for name, text in said.items() if text}}


def environment_for(
    env: Mapping[str, str], *, more: Mapping[str, str], without: Sequence[str]
) -> dict[str, str]:
    """The same for a program that wants some variables besides and others not to be there.

    What we say of the attempt stands: by it all that the program starts is found and ended (X-6).
    """
    kept = {name: text for name, text in env.items() if name not in without}
    kept.update(more)
    kept["PATH"] = with_our_commands(kept.get("PATH", os.defpath))
    ours = {name: text for name, text in env.items() if name in _OURS}
    return {name: text for name, text in kept.items() if name not in _OURS} | ours


def missing_author(folder: str, *, is_home_hidden: bool) -> Identity | None:
    """Who must be named because a child's git would find nobody; None if it finds one by itself.

    Variables outweigh the settings of every repository, a test's own too: none without need.
    """
    found = find_identity(folder)
    if found is None:
        return NOBODY
    return found if is_home_hidden else None


def with_our_commands(path: str) -> str:
    """A PATH on which agents find our `ddx`, to read the tracker; as it was if we have none.

    A folder that holds nothing else comes first. One with other programs comes last: none of them
    may stand in for the project's own.
    """
    folders = [folder for folder in path.split(os.pathsep) if folder]
    ours = os.path.join(_checkout(), "bin")
    if os.access(os.path.join(ours, "ddx"), os.X_OK):
        return os.pathsep.join([ours, *(folder for folder in folders if folder != ours)])
    scripts = os.path.dirname(sys.executable)
    if os.access(os.path.join(scripts, "ddx"), os.X_OK) and scripts not in folders:
        folders.append(scripts)
    return os.pathsep.join(folders)


def our_own_folders() -> tuple[str, ...]:
    """What `ddx` and its interpreter are made of: whoever hides the rest must leave these."""
    package = os.path.dirname(os.path.realpath(ddx.__file__))
    environment = os.path.dirname(os.path.dirname(sys.executable))
    found = [os.path.dirname(package), sys.base_prefix]
    if os.path.exists(os.path.join(environment, "pyvenv.cfg")):
        found.append(environment)
    if os.access(os.path.join(_checkout(), "bin", "ddx"), os.X_OK):
        found.append(_checkout())
    return tuple(dict.fromkeys(found))


def _checkout() -> str:
    """Where `src/ddx` lies, if we run from a checkout and not from an installed package."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(ddx.__file__))))

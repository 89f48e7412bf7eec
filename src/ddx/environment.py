"""The only place that reads the process's environment."""

from __future__ import annotations

import os

from ddx.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.project import Project

ATTEMPT = "DDX_ATTEMPT_ID"
"""In everything that an attempt starts, so that what it leaves behind can be found (X-6)."""
PROJECT_ROOT = "DDX_PROJECT_ROOT"

# What would make a child git act on another repository than the one it is told (X-3b);
# GIT_CONFIG_COUNT, _KEY_ and _VALUE_ stay: a person's own settings travel there.
_REPOSITORY_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
# What waits for a person, or lets a program of theirs answer in git's place.
_INTERACTIVE = frozenset(
    {
        "EDITOR",
        "GIT_ASKPASS",
        "GIT_EDITOR",
        "GIT_EXTERNAL_DIFF",
        "GIT_MERGE_AUTOEDIT",
        "GIT_PAGER",
        "GIT_PAGER_IN_USE",
        "GIT_SEQUENCE_EDITOR",
        "MANPAGER",
        "PAGER",
        "SSH_ASKPASS",
        "VISUAL",
    }
)
_INSTEAD = "print it in your answer, as FOLLOW_UP: and JSON; the controller files it afterwards"


def variable(name: str) -> str:
    """The variable's value; absent and empty are the same."""
    return os.environ.get(name, "")


def for_children(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program we start: nothing that redirects git or waits for a person."""
    kept = {
        name: text
        for name, text in os.environ.items()
        if name not in _REPOSITORY_LOCAL and name not in _INTERACTIVE
    }
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **(extra or {})}


def attempt_on(project: Project) -> str:
    """The attempt that started us, if it works on this project; else empty (X-5).

    A workspace counts as its project, a repository that a test makes for itself does not.
    """
    attempt, root = variable(ATTEMPT), variable(PROJECT_ROOT)
    if not attempt or not root:
        return ""
    here, there = (os.path.join(os.path.realpath(path), "") for path in (project.root, root))
    return attempt if here.startswith(there) or there.startswith(here) else ""


def refuse_inside_an_attempt(project: Project, *, what: str, instead: str = _INSTEAD) -> None:
    """Go on only if no attempt on this project started us: its controller alone writes (A-10)."""
    if attempt := attempt_on(project):
        raise Refused(
            f"inside attempt {attempt}, {what} is the controller's work; nothing was changed",
            hint=instead,
        )


def login() -> str:
    """The name of the person at the keyboard."""
    import pwd

    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        account = ""
    return variable("LOGNAME") or variable("USER") or account

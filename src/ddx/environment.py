"""The only place that reads the process's environment."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
_INTERACTIVE = frozenset(
    {"GIT_EDITOR", "EDITOR", "VISUAL", "GIT_PAGER", "PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS"}
)


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


def login() -> str:
    """The name of the person at the keyboard."""
    import pwd

    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        account = ""
    return variable("LOGNAME") or variable("USER") or account

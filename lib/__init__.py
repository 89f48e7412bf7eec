"""Doors to HELIX by the paths that its skill names, for `python3` and for `import` (P-8).

Started, a door becomes the checkout's own program, which sets itself up (P-1): any Python will do.
Imported, it hands on the functions of the packages in src, and a Python from 3.11 on is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
HELIX = os.path.join(ROOT, "bin", "helix")
_SOURCES = os.path.join(ROOT, "src")
_ENVIRONMENT = os.path.join(ROOT, ".venv", "lib", f"python3.{sys.version_info[1]}")
_HELP = ("-h", "--help")

if _SOURCES not in sys.path:
    sys.path.insert(0, _SOURCES)
    sys.path.append(os.path.join(_ENVIRONMENT, "site-packages"))


def become(group: str, words: Sequence[str], *, verbatim: Collection[str] = ()) -> NoReturn:
    """Turn into `helix GROUP WORDS`, whose answer is JSON.

    What follows a command named in `verbatim` is text, even where it looks like a flag.
    """
    command, rest = list(words[:1]), list(words[1:])
    if any(word in verbatim for word in command) and not any(word in _HELP for word in rest):
        rest.insert(0, "--")
    answer = ["--json"] if command and command[0] not in _HELP else []
    os.execv(HELIX, [HELIX, group, *command, *answer, *rest])  # noqa: S606

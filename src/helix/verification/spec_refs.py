"""Which document a test says that it proves (G-7, V-2). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.graph.model import Link
    from helix.verification.locating import Located

_NEAR = 2
"""Tags of one comment stand at most this many lines apart."""
_PARAMETERS = re.compile(r"[\[(/]")


@value
class SpecRef:
    """What a test says that it proves; `unknown` are names that no document has."""

    document: str = ""
    unknown: tuple[str, ...] = ()


def find_spec(
    links: Sequence[Link], *, line: int, is_python: bool, resolve: Callable[[str], str]
) -> SpecRef:
    """The document that a test names: in its docstring, else the nearest tag above it.

    A tag at the head of a file is for all tests that have none of their own; `line` 0: unknown.
    """
    if not links:
        return SpecRef()
    inside = [link for link in links if is_python and line and link.line == line + 1]
    above = [link for link in links if line and link.line <= line]
    start = (inside or above[-1:] or list(links[:1]))[-1].line
    upwards = [link for link in reversed(links) if link.line <= start]
    names = _comment(upwards)
    documents = [document for name in names if (document := resolve(name))]
    if documents:
        return SpecRef(documents[0])
    return SpecRef(unknown=tuple(dict.fromkeys(names)))  # never what another test is about


def _comment(upwards: Sequence[Link]) -> list[str]:
    """The names of the lowest comment, in the order in which it has them."""
    names, edge = [], upwards[0].line
    for link in upwards:
        if edge - link.line > _NEAR:
            break
        names.append(link.target)
        edge = link.line
    return names[::-1]


def line_of(text: str, test: Located) -> int:
    """Where the test stands in its file: its own name tells better than a report's number."""
    name = _PARAMETERS.split(test.test.name)[0].strip()
    lines = text.split("\n")
    for sought in (f"def {name}(", f"func {name}(", name):
        for number, line in enumerate(lines, start=1):
            if name and sought in line:
                return number
    return test.test.line if test.test.line <= len(lines) else 0

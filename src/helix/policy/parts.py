"""One bead of a request before it is filed, and the words that prove it (I-6, T-17). Pure.

What was there must have changed since the request was made, what was not there must exist, and no
document may break: each a command that anybody can run.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ddx.text import listed
from ddx.values import value
from helix.policy.drafts import Draft, clean_text, clean_title
from helix.policy.request import Intent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix.policy.impact import Touched
    from helix.policy.request import Wish

REQUEST, DOCUMENT, TESTS, BUILD, ANSWER = "request", "document", "tests", "build", "answer"
ESCALATION, GAP = "escalation", "gap"
NEW = "new:"
"""Begins the key of a part that writes documents which are not there yet."""

ACTIVITIES = {
    **dict.fromkeys(("vision", "prd", "feat", "us"), "frame"),
    **dict.fromkeys(("adr", "architecture", "contract", "api", "sd", "td"), "design"),
    **dict.fromkeys(("tp", "test", "exec", "metric"), "test"),
    **dict.fromkeys(("implementation-plan", "code"), "build"),
}
"""The activity whose page an attempt on such a document follows (I-8)."""

_PRIORITIES = {Intent.DEFECT: 1}
_USUAL_PRIORITY = 2
_UNFIT = frozenset("`\n\r\0")
"""In the name of a file or in a command: it could not stand in a line of acceptance."""


@value
class Ground:
    """What the beads stand on: the repository at the instant of the request."""

    base: str = ""
    """The commit; empty: there is none yet."""
    root: str = "docs/helix"
    names: tuple[str, ...] = ()
    """Ids and file names that are taken, by documents or by open beads of other requests."""
    own: Mapping[str, tuple[str, ...]] = {}
    """By part, the files that beads of this very request name already."""
    default_checks: tuple[str, ...] = ()
    is_valid: bool = True
    """`ddx doc validate` passes today: only then can it prove anything tomorrow."""
    test_folders: tuple[str, ...] = ("tests",)
    bead_files: int = 3
    top: str = ""
    """The document that new features follow from."""
    top_bead: str = ""
    """The bead of another request that is about to write it; empty: none is."""
    area: str = ""


@value
class Part:
    """One bead of a request, before anybody has said that it may be filed."""

    key: str
    role: str
    draft: Draft
    about: tuple[str, ...] = ()
    """Ids of what it changes: a conflict about one of them holds it back."""
    hit: str = ""
    """The document that only search has found, on which it rests; empty: on none."""
    name: str = ""
    """For a person: TD-001, tests, build."""


def asked(wish: Wish) -> str:
    return f"The request: {wish.text}"


def priority_of(wish: Wish) -> int:
    return _PRIORITIES.get(wish.intent, _USUAL_PRIORITY)


def labels(activity: str, kind: str, area: str) -> tuple[str, ...]:
    found = ("helix", activity and f"activity:{activity}", f"kind:{kind}", area)
    return tuple(filter(None, found))


def paragraphs(*texts: str) -> str:
    return clean_text("\n\n".join(filter(None, texts)))


def acceptance(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines if line)


def has_changed(ground: Ground, paths: Sequence[str]) -> str:
    """Something in it differs from the commit of the request, or git does not know it yet."""
    if not paths or _UNFIT & set("".join(paths)):
        return ""
    if not ground.base:
        return f"`{paths[0]}` exists"
    names = " ".join(map(quote, paths))
    differing = f"git diff --name-only {ground.base} -- {names}"
    unknown = f"git ls-files --others --exclude-standard -- {names}"
    return f'`test -n "$({differing}; {unknown})"` passes'


def code_has_changed(ground: Ground) -> str:
    """Something besides documents, tests and our own folders."""
    others = (ground.root, *ground.test_folders, ".ddx", ".helix")
    excluded = [f":(exclude){folder}" for folder in others]
    return has_changed(ground, [".", *excluded]) if ground.base else ""


def is_valid(ground: Ground) -> str:
    return "`ddx doc validate` passes" if ground.is_valid else ""


def passing(commands: Sequence[str]) -> list[str]:
    return [f"`{command}` passes" for command in commands if not _UNFIT & set(command)]


def perhaps(related: Sequence[Touched]) -> str:
    found = [f"{it.id} ({it.why})" for it in related]
    return f"What may be about it: {listed(found)}." if found else ""


def request_draft(wish: Wish, parts: Sequence[Part], *, spec_id: str, area: str) -> Draft:
    """The epic above several parts: it is done through them."""
    first = next(it for it in parts[0].draft.labels if it.startswith("activity:"))
    return Draft(
        REQUEST,
        clean_title(wish.text),
        paragraphs(asked(wish), f"It leads to {listed(part.name for part in parts)}."),
        labels=labels(first.partition(":")[2], REQUEST, area),
        priority=priority_of(wish),
        spec_id=spec_id,
        issue_type="epic",
        held="it is done through its children",
    )

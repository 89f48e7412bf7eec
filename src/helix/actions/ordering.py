"""What a pass over documents is told: its page, its scope, and where its words shall stand."""

from __future__ import annotations

import hashlib
from posixpath import join, normpath
from typing import TYPE_CHECKING

from ddx.execution.model import Section
from ddx.git.trees import entries
from ddx.graph.templates import slug
from ddx.tracker.model import link_of
from ddx.values import value
from helix.actions.scope import Kind
from helix.actions.supervisory import Subject
from helix.prompts import defused, sections_for

if TYPE_CHECKING:
    from helix.actions.scope import Scope
    from helix.desk import Desk


@value
class Told:
    """What a pass is about, and the prompt's sections for it."""

    subject: Subject
    sections: tuple[Section, ...]
    parent: str = ""
    """Where its drafts belong; empty: beside the bead that it runs on."""


def told(
    desk: Desk,
    action: str,
    scope: Scope,
    *sentences: str,
    request: str = "",
    request_title: str = "",
    document: str = "",
) -> Told:
    """The page, the scope and the request as data, then what is asked in our own words.

    `document` is the one that it is about, where the scope does not say so.
    """
    request = defused(Section(request_title, request)).text
    quoted = (Section(request_title, request, quoted=True),) if request else ()
    asked = "\n".join(filter(None, sentences))
    sections = (
        *sections_for(action, desk, scope=scope.described, data=quoted),
        *((Section("What is asked of you", asked),) if asked else ()),
    )
    subject = Subject(action, scope.text, document or scope.document, request)
    return Told(subject, sections, _parent(desk, scope))


def dated_path(desk: Desk, folder: str, prefix: str, scope: Scope) -> str:
    """Where a new report belongs: `AR-2026-03-27-cli.md`, numbered where there is one already."""
    home = _home(desk, folder)
    day = desk.site.clock.stamp()[:10]
    parts = [prefix, day] if scope.kind is Kind.REPO else [prefix, day, _short(scope.text)]
    name = f"{home}/{'-'.join(parts)}"
    there = {entry.path for entry in entries(desk.site.project.root, "HEAD", [home])}
    number, path = 1, f"{name}.md"
    while path in there:
        number += 1
        path = f"{name}-{number}.md"
    return path


def session_path(desk: Desk, goal: str) -> str:
    """The same goal has the same session, on whatever day."""
    return f"{_home(desk, '06-iterate/reports')}/experiment-{_short(goal)}.md"


def _home(desk: Desk, folder: str) -> str:
    return normpath(join(desk.site.settings.document_roots[0], folder))


def _short(text: str) -> str:
    """For a file's name; words without a letter of ASCII are told apart all the same."""
    return slug(text) or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _parent(desk: Desk, scope: Scope) -> str:
    """Below the epic that is the scope, or beside the bead that is."""
    if scope.kind is Kind.EPIC:
        return scope.text
    row = desk.site.tracker.snapshot().find(scope.text) if scope.kind is Kind.BEAD else None
    return link_of(row, "parent") if row else ""

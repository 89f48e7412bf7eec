"""`helix trace`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.base import Clock, cut, listed, shown
from ddx.console import JSON, Argument, Command, answer, bold, dim, say, terminal_width, when
from ddx.project import find_project
from helix.cli.context import tell
from helix.cli.read_context import open_to_look

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.verification import Trace, TraceNode

_SHORT = 12
_MOST_LINES = 500
_NARROWEST = 40
_TITLE = 60


@Command.of(
    example="helix trace FEAT-001",
    arguments=(
        Argument("what", "a document or a part of one, a bead, an attempt, a commit, or a file"),
    ),
    flags=(JSON,),
    schema="helix-trace",
)
def run(*, what: str, json: bool) -> int:
    """Follow a requirement down to its commits, or a commit up to the requirement behind it."""
    from helix.verification import Tracer

    project = find_project(os.getcwd())
    site = open_to_look(project, "helix trace")
    path = os.path.relpath(what, project.root) if os.path.isfile(what) else ""
    trace = Tracer(site).trace(what.strip(), path=path)
    for problem in trace.unreadable:
        tell(f"{problem}; it is left out")
    if json:
        answer(_row(trace))
    else:
        _print(trace)
    return 0


def _row(trace: Trace) -> dict[str, Any]:
    return {
        "subject": _node({**trace.subject.__dict__}),
        "requirements": list(trace.requirements),
        "commits": list(trace.commits),
        "above": [_node(node.__dict__) for node in trace.above],
        "below": [_node(node.__dict__) for node in trace.below],
        "remarks": list(trace.remarks),
    }


def _node(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: said for name, said in facts.items() if name != "is_gone"},
        "at": facts["at"] or None,
        "children": [_node(child.__dict__) for child in facts["children"]],
    }


def _print(trace: Trace) -> None:
    subject = trace.subject
    title = shown(subject.title, one_line=True)
    say(bold(f"{subject.kind} {_name(subject)}"), f"  {title}" if title else "")
    said = [subject.note, when(subject.at, now=Clock().stamp()) if subject.at else ""]
    if any(said):
        say(dim(shown(", ".join(filter(None, said)), one_line=True)))
    for remark in trace.remarks:
        say(shown(remark, one_line=True))
    if reasons := [doc_id for doc_id in trace.requirements if doc_id != subject.id]:
        say(f"because of {listed(reasons)}")
    for title, nodes in (("above", trace.above), ("below", trace.below)):
        if nodes:
            say()
            say(dim(title))
            _draw(nodes)
    if not trace.above and not trace.below:
        say("nothing is linked to it yet")


def _draw(nodes: Sequence[TraceNode]) -> None:
    lines = list(_lines(nodes, ""))
    width = terminal_width()
    room = max(width, _NARROWEST) if width else 0
    for line in lines[:_MOST_LINES]:
        say(cut(line, room) if room else line)
    if len(lines) > _MOST_LINES:
        say(f"... {len(lines) - _MOST_LINES:,} more lines; --json gives them all")


def _lines(nodes: Sequence[TraceNode], margin: str) -> Iterator[str]:
    for place, node in enumerate(nodes):
        is_last = place == len(nodes) - 1
        yield f"{margin}{'└── ' if is_last else '├── '}{_line(node)}"
        yield from _lines(node.children, f"{margin}{'    ' if is_last else '│   '}")


def _line(node: TraceNode) -> str:
    title = cut(shown(node.title, one_line=True), _TITLE)
    note = f"({shown(node.note, one_line=True)})" if node.note else ""
    again = "(see above)" if node.is_repeated else ""
    return "  ".join(filter(None, (f"{node.kind} {_name(node)}", title, note, again)))


def _name(node: TraceNode) -> str:
    from helix.verification import COMMIT

    return node.id[:_SHORT] if node.kind == COMMIT else shown(node.id, one_line=True)

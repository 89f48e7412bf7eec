"""What does the project need next? Asked once about each state of queue and documents (S-14)."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from ddx.execution.model import Section
from ddx.fastjson import to_bytes
from ddx.files import replace
from ddx.graph.cache import load_graph
from ddx.graph.reviews import read_stamps
from ddx.graph.stale import staleness
from ddx.text import cut, shown_on_one_line
from ddx.tracker.codec import decode
from ddx.tracker.model import (
    FINISHED,
    link_of,
    status_of,
    text_of,
    type_of,
)
from ddx.tracker.pending import PENDING, held_by_pending
from ddx.tracker.queue import blocker
from ddx.values import changed, value
from helix.actions.model import Ended, Pass
from helix.actions.scope import resolve_scope
from helix.policy.model import Answer, Checked
from helix.policy.passing import PASSING, is_supervisory
from helix.policy.routing import known_by_state
from helix.policy.trailers import TRAILERS, Found, Unreadable, read_trailer
from helix.prompts import prompt_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.project import Project
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.actions.scope import Scope
    from helix.desk import Desk

NAME = "check"
MOST_KEPT = 200
"""Answers; the oldest go first (C-9)."""

_MOST_LISTED = 150
_LONGEST_TITLE = 100
_NO_DOCUMENTS = frozenset({"code", "test"})


@value
class _Seen:
    """One look at queue and documents."""

    snapshot: Snapshot
    graph: Graph
    rows: dict[str, Row]
    """Everything unfinished that is in the scope."""

    @property
    def leaves(self) -> list[Row]:
        """Epics with children are no work of their own."""
        return [
            row
            for bead_id, row in self.rows.items()
            if type_of(row) != "epic" or not self.snapshot.children(bead_id)
        ]

    @property
    def finished(self) -> list[str]:
        """A queue in which something was done is another one, though the same work is left."""
        columns = self.snapshot.columns
        return [
            columns.ids[n]
            for n, status in enumerate(columns.statuses)
            if status in FINISHED and "kind:planning" not in columns.labels[n]
        ]

    @property
    def documents(self) -> list[int]:
        return [n for n, kind in enumerate(self.graph.types) if kind not in _NO_DOCUMENTS]


def check(
    desk: Desk, about: Scope | str, *, state: str = "", always_ask: bool = False
) -> Checked | Unreadable:
    """What to do next: from the state if it alone decides, from memory, or from the agent.

    A caller that has looked at the `state` already names it; the answer is about that one.
    """
    from helix.actions.asking import ask, capture  # `helix next` asks nobody (C-7)

    scope = resolve_scope(desk.site, about) if isinstance(about, str) else about
    seen = _look(desk.site, scope)
    state = state or _hash(seen, scope)
    if not always_ask and (known := _known(desk.site.project, seen, state)):
        return known
    prompt = _prompt(desk, seen, scope)
    asked = ask(desk, desk.builder, action=NAME, prompt=prompt)
    reading = Unreadable(asked.failure) if asked.failure else _read(asked.reply.text, state)
    done = Pass(NAME, Ended.UNREADABLE, attempt=asked.attempt)
    match reading:
        case Unreadable(reason=reason):
            done = changed(done, reason=reason)
        case Checked(answer=answer, reason=reason):
            done = changed(done, ended=Ended.DONE, word=str(answer), reason=reason)
            done = changed(done, values={"NEXT_ACTION": str(answer), "REASON": reason})
            keep_answer(desk.site.project, reading)
    capture(desk, done, documents=scope.documents, started_at=asked.started_at)
    return reading


def check_prompt(desk: Desk, scope: Scope) -> str:
    """All that the agent is told (S-31)."""
    return _prompt(desk, _look(desk.site, scope), scope)


def known_answer(desk: Desk, scope: Scope) -> Checked | None:
    """What needs nobody to be asked: the state alone tells, or it was asked about before."""
    seen = _look(desk.site, scope)
    return _known(desk.site.project, seen, _hash(seen, scope))


def _prompt(desk: Desk, seen: _Seen, scope: Scope) -> str:
    return prompt_for(NAME, desk, scope=scope.described, data=_picture(desk.site, seen, scope))


def _known(project: Project, seen: _Seen, state: str) -> Checked | None:
    known = known_by_state(
        unfinished=len(seen.rows),
        epics=len(seen.rows) - len(seen.leaves),
        claimed=sum(status_of(row) == "in_progress" for row in seen.leaves),
        finished=len(seen.finished),
        documents=len(seen.documents),
        state=state,
    )
    return known or kept_answers(project).get(state)


def state_hash(site: Site, scope: Scope) -> str:
    """Another one as soon as a bead or a document says something else, and only then."""
    return _hash(_look(site, scope), scope)


def _hash(seen: _Seen, scope: Scope) -> str:
    found = hashlib.sha256(f"{scope.kind} {scope.text}\0".encode("utf-8", "surrogatepass"))
    for row in seen.rows.values():
        kept = {name: said for name, said in sorted(row.items()) if name not in PASSING}
        found.update(to_bytes(kept) + b"\0")
    for bead_id in seen.finished:
        found.update(f"{bead_id}\0".encode("utf-8", "surrogatepass"))
    for n in seen.documents:
        said = f"{seen.graph.ids[n]} {seen.graph.hashes[n]} {seen.graph.statuses[n]}\0"
        found.update(said.encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _look(site: Site, scope: Scope) -> _Seen:
    snapshot = site.tracker.snapshot()
    columns = snapshot.columns
    rows = {
        columns.ids[n]: row
        for n, status in enumerate(columns.statuses)
        if status not in FINISHED
        and not is_supervisory(row := decode(snapshot.line(n)))
        and scope.holds(row)
    }
    graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
    return _Seen(snapshot, graph, rows)


def _read(text: str, state: str) -> Checked | Unreadable:
    match read_trailer(text, TRAILERS[NAME]):
        case Found() as found:
            answer = Answer(found.text("NEXT_ACTION"))
            return Checked(state, answer, found.text("REASON"), found.text("QUESTION"))
        case unreadable:
            return unreadable


# -- answers that were given ---------------------------------------------------------------


def kept_answers(project: Project) -> dict[str, Checked]:
    """By the state that each is about; a file that cannot be read only means asking again."""
    try:
        with open(_path(project), encoding="utf-8") as file:
            rows = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(rows, dict):
        return {}
    answers = {str(state): _kept(str(state), row) for state, row in rows.items()}
    return {state: answer for state, answer in answers.items() if answer is not None}


def keep_answer(project: Project, checked: Checked) -> None:
    kept = kept_answers(project)
    kept.pop(checked.state, None)
    last = [*list(kept.values())[-(MOST_KEPT - 1) :], checked]
    rows = {
        it.state: {"answer": str(it.answer), "reason": it.reason, "question": it.question}
        for it in last
    }
    os.makedirs(project.ddx("state"), exist_ok=True)
    replace(_path(project), (json.dumps(rows, indent=1).encode(), b"\n"))


def _path(project: Project) -> str:
    return project.ddx("state", "check.json")


def _kept(state: str, row: Any) -> Checked | None:
    if not isinstance(row, dict) or row.get("answer") not in list(Answer):
        return None
    return Checked(
        state, Answer(row["answer"]), str(row.get("reason", "")), str(row.get("question", ""))
    )


# -- what the agent gets to see ------------------------------------------------------------


def _picture(site: Site, seen: _Seen, scope: Scope) -> list[Section]:
    return [
        Section("The queue", "\n".join(_queue(site, seen)), quoted=True),
        Section("The documents", "\n".join(_documents(site, seen, scope)), quoted=True),
    ]


def _queue(site: Site, seen: _Seen) -> Iterator[str]:
    closed = sum(status in FINISHED for status in seen.snapshot.columns.statuses)
    yield f"{len(seen.rows)} unfinished beads, {closed} finished ones in the whole tracker"
    around = changed(
        site.tracker.surroundings(has_default_checks=bool(site.settings.default_checks)),
        held=held_by_pending(site.project.ddx(*PENDING)),
    )
    columns = seen.snapshot.columns
    for bead_id, row in list(seen.rows.items())[:_MOST_LISTED]:
        held = blocker(columns, columns.place[bead_id], around)
        names = f" [{link_of(row, 'spec-id')}]" if link_of(row, "spec-id") else ""
        state = f"held: {held.reason}" if held else "ready"
        yield f"- {bead_id} ({type_of(row)}, {status_of(row)}){names} {_title(row)}; {state}"
    if len(seen.rows) > _MOST_LISTED:
        yield f"... {len(seen.rows) - _MOST_LISTED} more; see `ddx bead list`"


def _documents(site: Site, seen: _Seen, scope: Scope) -> Iterator[str]:
    graph = seen.graph
    ids = [n for n in seen.documents if scope.holds_document(graph.ids[n])] or seen.documents
    stale = {item.n: item.reasons for item in staleness(graph, read_stamps(site.project)).stale}
    yield f"{len(seen.documents)} documents" if seen.documents else "there are no documents"
    for n in ids[:_MOST_LISTED]:
        tier = "no tier" if graph.tiers[n] is None else f"tier {graph.tiers[n]}"
        why = f"; stale: {stale[n][0]}" if stale.get(n) else ""
        named = shown_on_one_line(cut(graph.titles[n], _LONGEST_TITLE))
        yield f"- {graph.ids[n]} ({tier}, {graph.statuses[n] or 'no status'}) {named}{why}"
    if len(ids) > _MOST_LISTED:
        yield f"... {len(ids) - _MOST_LISTED} more; see `ddx doc list`"


def _title(row: Row) -> str:
    return shown_on_one_line(cut(text_of(row, "title"), _LONGEST_TITLE))

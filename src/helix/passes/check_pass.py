"""What does the project need next? Asked once about each state of queue and documents (S-14)."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from ddx.attempts import PromptSection
from ddx.base import changed, cut, replace, shown, value
from ddx.documents import load_graph, read_staleness
from helix.passes.question import PassEnd, PassResult, prompt_for
from helix.passes.reply import (
    TRAILERS,
    CheckAnswer,
    CheckResult,
    TrailerValues,
    UnreadableTrailer,
    known_by_state,
    read_trailer,
)
from helix.passes.scope import PASSING, is_supervisory, resolve_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.attempts import AttemptContext
    from ddx.documents import Graph
    from ddx.project import Project
    from ddx.tracker import Bead, Snapshot
    from helix.passes.scope import Scope
    from helix.project import PassContext

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
    beads: dict[str, Bead]
    """Everything unfinished that is in the scope."""

    @property
    def leaves(self) -> list[Bead]:
        """Epics with children are no work of their own."""
        return [
            bead
            for bead_id, bead in self.beads.items()
            if bead.type != "epic" or not self.snapshot.children(bead_id)
        ]

    @property
    def finished(self) -> list[str]:
        """A queue in which something was done is another one, though the same work is left."""
        columns = self.snapshot.columns
        return [
            columns.ids[n]
            for n in self.snapshot.finished()
            if "kind:planning" not in columns.labels[n]
        ]

    @property
    def documents(self) -> list[int]:
        return [n for n, kind in enumerate(self.graph.types) if kind not in _NO_DOCUMENTS]


def check(
    desk: PassContext, about: Scope | str, *, state: str = "", always_ask: bool = False
) -> CheckResult | UnreadableTrailer:
    """What to do next: from the state if it alone decides, from memory, or from the agent.

    A caller that has looked at the `state` already names it; the answer is about that one.
    """
    from helix.passes.question import ask, capture  # `helix next` asks nobody (C-7)

    scope = resolve_scope(desk.site, about) if isinstance(about, str) else about
    seen = _look(desk.site, scope)
    state = state or _hash(seen, scope)
    if not always_ask and (known := _known(desk.site.project, seen, state)):
        return known
    prompt = _prompt(desk, seen, scope)
    asked = ask(desk, desk.builder, action=NAME, prompt=prompt)
    reading = UnreadableTrailer(asked.failure) if asked.failure else _read(asked.reply.text, state)
    done = PassResult(NAME, PassEnd.UNREADABLE, reason=reading.reason, attempt=asked.attempt)
    if isinstance(reading, CheckResult):
        word = str(reading.answer)
        values = {"NEXT_ACTION": word, "REASON": reading.reason}
        done = changed(done, ended=PassEnd.DONE, word=word, values=values)
        keep_answer(desk.site.project, reading)
    capture(desk, done, documents=scope.documents, started_at=asked.started_at)
    return reading


def check_prompt(desk: PassContext, scope: Scope) -> str:
    """All that the agent is told (S-31)."""
    return _prompt(desk, _look(desk.site, scope), scope)


def known_answer(desk: PassContext, scope: Scope) -> CheckResult | None:
    """What needs nobody to be asked: the state alone tells, or it was asked about before."""
    seen = _look(desk.site, scope)
    return _known(desk.site.project, seen, _hash(seen, scope))


def _prompt(desk: PassContext, seen: _Seen, scope: Scope) -> str:
    return prompt_for(NAME, desk, scope=scope.described, data=_picture(desk.site, seen, scope))


def _known(project: Project, seen: _Seen, state: str) -> CheckResult | None:
    known = known_by_state(
        unfinished=len(seen.beads),
        epics=len(seen.beads) - len(seen.leaves),
        claimed=sum(bead.status == "in_progress" for bead in seen.leaves),
        finished=len(seen.finished),
        documents=len(seen.documents),
        state=state,
    )
    return known or kept_answers(project).get(state)


def state_hash(site: AttemptContext, scope: Scope) -> str:
    """Another one as soon as a bead or a document says something else, and only then."""
    return _hash(_look(site, scope), scope)


def _hash(seen: _Seen, scope: Scope) -> str:
    found = hashlib.sha256(f"{scope.kind} {scope.text}\0".encode("utf-8", "surrogatepass"))
    for bead in seen.beads.values():
        found.update(bead.content(besides=PASSING) + b"\0")
    for bead_id in seen.finished:
        found.update(f"{bead_id}\0".encode("utf-8", "surrogatepass"))
    for n in seen.documents:
        said = f"{seen.graph.ids[n]} {seen.graph.hashes[n]} {seen.graph.statuses[n]}\0"
        found.update(said.encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _look(site: AttemptContext, scope: Scope) -> _Seen:
    snapshot = site.tracker.snapshot()
    beads = {
        bead.id: bead
        for bead in snapshot.unfinished()
        if not is_supervisory(bead) and scope.holds(bead)
    }
    graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
    return _Seen(snapshot, graph, beads)


def _read(text: str, state: str) -> CheckResult | UnreadableTrailer:
    match read_trailer(text, TRAILERS[NAME]):
        case TrailerValues() as found:
            answer = CheckAnswer(found.text("NEXT_ACTION"))
            return CheckResult(state, answer, found.text("REASON"), question=found.text("QUESTION"))
        case unreadable:
            return unreadable


# -- answers that were given ---------------------------------------------------------------


def kept_answers(project: Project) -> dict[str, CheckResult]:
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


def keep_answer(project: Project, checked: CheckResult) -> None:
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


def _kept(state: str, row: Any) -> CheckResult | None:
    if not isinstance(row, dict) or row.get("answer") not in list(CheckAnswer):
        return None
    return CheckResult(
        state,
        CheckAnswer(row["answer"]),
        str(row.get("reason", "")),
        question=str(row.get("question", "")),
    )


# -- what the agent gets to see ------------------------------------------------------------


def _picture(site: AttemptContext, seen: _Seen, scope: Scope) -> list[PromptSection]:
    return [
        PromptSection("The queue", "\n".join(_queue(site, seen)), quoted=True),
        PromptSection("The documents", "\n".join(_documents(site, seen, scope)), quoted=True),
    ]


def _queue(site: AttemptContext, seen: _Seen) -> Iterator[str]:
    closed = len(seen.snapshot.finished())
    yield f"{len(seen.beads)} unfinished beads, {closed} finished ones in the whole tracker"
    queue = site.tracker.queue(seen.snapshot, has_default_checks=bool(site.settings.default_checks))
    for bead_id, bead in list(seen.beads.items())[:_MOST_LISTED]:
        held = queue.blocker(bead_id)
        names = f" [{bead.spec_id}]" if bead.spec_id else ""
        state = f"held: {held.reason}" if held else "ready"
        yield f"- {bead_id} ({bead.type}, {bead.status}){names} {_title(bead)}; {state}"
    if len(seen.beads) > _MOST_LISTED:
        yield f"... {len(seen.beads) - _MOST_LISTED} more; see `ddx bead list`"


def _documents(site: AttemptContext, seen: _Seen, scope: Scope) -> Iterator[str]:
    graph = seen.graph
    ids = [n for n in seen.documents if scope.holds_document(graph.ids[n])] or seen.documents
    stale = {item.n: item.reasons for item in read_staleness(site.project, graph).stale}
    yield f"{len(seen.documents)} documents" if seen.documents else "there are no documents"
    for n in ids[:_MOST_LISTED]:
        tier = "no tier" if graph.tiers[n] is None else f"tier {graph.tiers[n]}"
        why = f"; stale: {stale[n][0]}" if stale.get(n) else ""
        named = shown(cut(graph.titles[n], _LONGEST_TITLE), one_line=True)
        yield f"- {graph.ids[n]} ({tier}, {graph.statuses[n] or 'no status'}) {named}{why}"
    if len(ids) > _MOST_LISTED:
        yield f"... {len(ids) - _MOST_LISTED} more; see `ddx doc list`"


def _title(bead: Bead) -> str:
    return shown(cut(bead.title, _LONGEST_TITLE), one_line=True)

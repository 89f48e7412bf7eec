"""Make beads fit to be built: an agent proposes, we check, apply and count (A-2, S-3, A-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.model import Bead, Section
from ddx.execution.prompt import bead_sections
from ddx.graph.cache import load_graph
from ddx.tracker.criteria import judge
from ddx.tracker.model import blockers_of, labels_of, status_of, texts_of
from ddx.values import changed
from helix.actions.applying import Applied, apply_proposal
from helix.actions.asking import ask, capture
from helix.actions.model import Ended, Pass
from helix.actions.proposals import read_proposal
from helix.actions.scope import Scope, resolve_scope
from helix.policy.trailers import TRAILERS, Found, Unreadable, read_trailer
from helix.prompts import prompt_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.desk import Desk

NAME = "polish"
ROUNDS = 6
MOST_BEADS = 40
"""In one pass; what is left is for the next one."""

_FREE = ("open", "blocked", "proposed")
_CONVERGED = "CONVERGED"
_COUNTS = ("ISSUES_MODIFIED", "ISSUES_CREATED", "ISSUES_MERGED")
_LONGEST_LIST = 8
_LONGEST_BEAD = 8000


def polish(
    desk: Desk, about: Scope | str, *, beads: Sequence[str] = (), rounds: int = ROUNDS
) -> Pass:
    """One pass over the beads that are named, or over all of a scope that nobody works on."""
    scope = resolve_scope(desk.site, about) if isinstance(about, str) else about
    snapshot = desk.site.tracker.snapshot()
    found = _found(desk.site, snapshot, scope, beads)
    chosen = found[:MOST_BEADS]
    if not chosen:
        return Pass(NAME, Ended.DONE, reason="there is no bead to polish")
    prompt = _prompt(desk, scope, snapshot, chosen, rounds)
    graph = load_graph(desk.site.project, desk.site.settings.document_roots, clock=desk.site.clock)
    _ = graph.hashes  # unpacked now: what changes while the agent works was not seen by it
    asked = ask(desk, desk.builder, action=NAME, prompt=prompt)
    if asked.failure:
        done = Pass(NAME, Ended.FAILED, reason=asked.failure)
    else:
        done = _judged(desk, asked.reply.text, chosen, graph)
    done = changed(done, attempt=asked.attempt)
    if done.ended is Ended.DONE and len(found) > MOST_BEADS:
        left = f"{len(found) - MOST_BEADS} beads are left for the next pass"
        done = changed(done, ended=Ended.UNFINISHED, reason=left)
    capture(desk, done, documents=scope.documents, started_at=asked.started_at)
    return done


def polish_prompt(
    desk: Desk, scope: Scope, *, beads: Sequence[str] = (), rounds: int = ROUNDS
) -> str:
    """All that the agent is told; empty where there is no bead to polish (S-31)."""
    snapshot = desk.site.tracker.snapshot()
    chosen = _found(desk.site, snapshot, scope, beads)[:MOST_BEADS]
    return _prompt(desk, scope, snapshot, chosen, rounds) if chosen else ""


def _prompt(
    desk: Desk, scope: Scope, snapshot: Snapshot, chosen: Sequence[Bead], rounds: int
) -> str:
    data = list(_data(snapshot, chosen, rounds))
    return prompt_for(NAME, desk, scope=scope.described, data=data)


def _found(site: Site, snapshot: Snapshot, scope: Scope, named: Sequence[str]) -> list[Bead]:
    """Unfinished, in nobody's hands and no pass's own; first those that prove nothing yet."""
    rows = (snapshot.row(name) for name in named) if named else snapshot.rows()
    found = [
        Bead(row["id"], row, snapshot.revision(row["id"]))
        for row in rows
        if status_of(row) in _FREE and not _is_supervisory(row) and (named or scope.holds(row))
    ]
    checks = site.settings.default_checks
    return sorted(found, key=lambda bead: judge(bead.row, default_checks=checks).ready)


def _is_supervisory(row: Row) -> bool:
    return any(label.startswith("action:") for label in labels_of(row))


def _data(snapshot: Snapshot, chosen: Sequence[Bead], rounds: int) -> Iterator[Section]:
    yield Section("Rounds", f"Make at most {rounds} rounds.")
    for bead in chosen:
        links = [
            *(f"waits for: {name}" for name in blockers_of(bead.row)),
            *(f"verify: {command}" for command in texts_of(bead.row, "verify")),
            f"labels: {', '.join(labels_of(bead.row)) or 'none'}",
            f"parent: {snapshot.parent(bead.id) or 'none'}",
            f"status: {status_of(bead.row)}",
        ]
        for section in bead_sections(bead):
            text = section.text
            if len(text) > _LONGEST_BEAD:
                text = f"{text[:_LONGEST_BEAD]}\n[... cut; `ddx bead show` has all of it ...]"
            text = "\n".join([text, *links])
            yield Section(f"Bead {bead.id}", text, quoted=True)


def _judged(desk: Desk, text: str, chosen: Sequence[Bead], graph: Graph) -> Pass:
    """What the reply says counts only if its list and its numbers agree (A-2)."""
    trailer = read_trailer(text, TRAILERS[NAME])
    if isinstance(trailer, Unreadable):
        return Pass(NAME, Ended.UNREADABLE, reason=trailer.reason)
    word = trailer.text("POLISH_STATUS")
    claimed = tuple(trailer.count(name) for name in _COUNTS)
    proposal = read_proposal(text, within={bead.id for bead in chosen})
    if isinstance(proposal, str):
        return Pass(NAME, Ended.UNREADABLE, word, proposal)
    if claimed != proposal.listed:
        said = f"it counts {claimed} changed, new and merged beads, and lists {proposal.listed}"
        return Pass(NAME, Ended.UNTRUE, word, said, values=_texts(trailer))
    seen = graph if word == _CONVERGED else None
    applied = apply_proposal(desk, proposal, chosen, seen=seen)
    return _told(word, applied)


def _texts(trailer: Found) -> dict[str, str]:
    return {name: str(said) for name, said in trailer.values.items()}


def _told(word: str, applied: Applied) -> Pass:
    is_converged = word == _CONVERGED and not applied.refused
    counts = (applied.modified, applied.created, applied.merged)
    said = [*(f"not done, {why}" for why in applied.refused), *applied.known]
    more = len(said) - _LONGEST_LIST
    return Pass(
        NAME,
        Ended.DONE if is_converged else Ended.UNFINISHED,
        word,
        "; ".join([*said[:_LONGEST_LIST], *([f"{more} more"] if more > 0 else [])]),
        has_changed=applied.has_changed,
        created=applied.created,
        updated=(*applied.modified, *applied.merged),
        values={
            "POLISH_STATUS": _CONVERGED if is_converged else "IN_PROGRESS",
            **{name: str(len(ids)) for name, ids in zip(_COUNTS, counts, strict=True)},
        },
    )

"""Make beads fit to be built: an agent proposes, we check, apply and count (A-2, S-3, A-10).

What it proposes is carried out on the tracker as it is at that instant (T-10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.attempts import PromptSection
from ddx.base import DdxError, changed, listed, value
from ddx.documents import load_graph
from ddx.tracker import BeadPatch, typed
from helix.passes.drafts import NO_CRITERION, BeadDraft, identity, open_parent
from helix.passes.filing import id_maker, known_beads
from helix.passes.polish_proposal import is_reserved, read_proposal
from helix.passes.question import PassEnd, PassResult, ask, capture, prompt_for
from helix.passes.reply import TRAILERS, TrailerValues, UnreadableTrailer, read_trailer
from helix.passes.scope import SEEN, Scope, UpstreamDocuments, carried_over, resolve_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.documents import Graph
    from ddx.tracker import Bead, Snapshot, TrackerEdit
    from helix.passes.polish_proposal import BeadChange, BeadMerge, NewBead, PolishProposal
    from helix.project import PassContext

NAME = "polish"
POLISH_ROUNDS = 6
MOST_BEADS = 40
"""In one pass; what is left is for the next one."""

_FREE = ("open", "blocked", "proposed")
_CONVERGED = "CONVERGED"
_COUNTS = ("ISSUES_MODIFIED", "ISSUES_CREATED", "ISSUES_MERGED")
_LONGEST_LIST = 8
_LONGEST_BEAD = 8000


def polish(
    desk: PassContext, about: Scope | str, *, beads: Sequence[str] = (), rounds: int = POLISH_ROUNDS
) -> PassResult:
    """One pass over the beads that are named, or over all of a scope that nobody works on."""
    scope = resolve_scope(desk.site, about) if isinstance(about, str) else about
    snapshot = desk.site.tracker.snapshot()
    found = _found(desk.site, snapshot, scope, beads)
    chosen = found[:MOST_BEADS]
    if not chosen:
        return PassResult(NAME, PassEnd.DONE, reason="there is no bead to polish")
    prompt = _prompt(desk, scope, snapshot, chosen, rounds)
    graph = load_graph(desk.site.project, desk.site.settings.document_roots, clock=desk.site.clock)
    _ = graph.hashes  # unpacked now: what changes while the agent works was not seen by it
    asked = ask(desk, desk.builder, action=NAME, prompt=prompt)
    if asked.failure:
        done = PassResult(NAME, PassEnd.FAILED, reason=asked.failure)
    else:
        done = _judged(desk, asked.reply.text, chosen, graph)
    done = changed(done, attempt=asked.attempt)
    if done.ended is PassEnd.DONE and len(found) > MOST_BEADS:
        left = f"{len(found) - MOST_BEADS} beads are left for the next pass"
        done = changed(done, ended=PassEnd.UNFINISHED, reason=left)
    capture(desk, done, documents=scope.documents, started_at=asked.started_at)
    return done


def polish_prompt(
    desk: PassContext, scope: Scope, *, beads: Sequence[str] = (), rounds: int = POLISH_ROUNDS
) -> str:
    """All that the agent is told; empty where there is no bead to polish (S-31)."""
    snapshot = desk.site.tracker.snapshot()
    chosen = _found(desk.site, snapshot, scope, beads)[:MOST_BEADS]
    return _prompt(desk, scope, snapshot, chosen, rounds) if chosen else ""


def _prompt(
    desk: PassContext, scope: Scope, snapshot: Snapshot, chosen: Sequence[Bead], rounds: int
) -> str:
    data = list(_data(snapshot, chosen, rounds))
    return prompt_for(NAME, desk, scope=scope.described, data=data)


def _found(
    site: AttemptContext, snapshot: Snapshot, scope: Scope, named: Sequence[str]
) -> list[Bead]:
    """Unfinished, in nobody's hands and no pass's own; first those that prove nothing yet."""
    beads = (snapshot.bead(name) for name in named) if named else snapshot.beads()
    found = [
        bead
        for bead in beads
        if bead.status in _FREE and not _is_supervisory(bead) and (named or scope.holds(bead))
    ]
    checks = site.settings.default_checks
    return sorted(found, key=lambda bead: bead.judged(default_checks=checks).ready)


def _is_supervisory(bead: Bead) -> bool:
    return any(label.startswith("action:") for label in bead.labels)


def _data(snapshot: Snapshot, chosen: Sequence[Bead], rounds: int) -> Iterator[PromptSection]:
    yield PromptSection("Rounds", f"Make at most {rounds} rounds.")
    for bead in chosen:
        links = [
            *(f"waits for: {name}" for name in bead.waits_for),
            *(f"verify: {command}" for command in bead.verify),
            f"labels: {', '.join(bead.labels) or 'none'}",
            f"parent: {snapshot.parent(bead.id) or 'none'}",
            f"status: {bead.status}",
        ]
        text = PromptSection.of_bead(bead).text
        if len(text) > _LONGEST_BEAD:
            text = f"{text[:_LONGEST_BEAD]}\n[... cut; `ddx bead show` has all of it ...]"
        yield PromptSection(f"Bead {bead.id}", "\n".join([text, *links]), quoted=True)


def _judged(desk: PassContext, text: str, chosen: Sequence[Bead], graph: Graph) -> PassResult:
    """What the reply says counts only if its list and its numbers agree (A-2)."""
    trailer = read_trailer(text, TRAILERS[NAME])
    if isinstance(trailer, UnreadableTrailer):
        return PassResult(NAME, PassEnd.UNREADABLE, reason=trailer.reason)
    word = trailer.text("POLISH_STATUS")
    claimed = tuple(trailer.count(name) for name in _COUNTS)
    proposal = read_proposal(text, within={bead.id for bead in chosen})
    if isinstance(proposal, str):
        return PassResult(NAME, PassEnd.UNREADABLE, word, reason=proposal)
    if claimed != proposal.listed:
        said = f"it counts {claimed} changed, new and merged beads, and lists {proposal.listed}"
        return PassResult(NAME, PassEnd.UNTRUE, word, reason=said, values=_texts(trailer))
    seen = graph if word == _CONVERGED else None
    applied = apply_proposal(desk, proposal, chosen, seen=seen)
    return _told(word, applied)


def _texts(trailer: TrailerValues) -> dict[str, str]:
    return {name: str(said) for name, said in trailer.values.items()}


def _told(word: str, applied: PolishResult) -> PassResult:
    is_converged = word == _CONVERGED and not applied.refused
    counts = (applied.modified, applied.created, applied.merged)
    said = [*(f"not done, {why}" for why in applied.refused), *applied.known]
    more = len(said) - _LONGEST_LIST
    return PassResult(
        action=NAME,
        ended=PassEnd.DONE if is_converged else PassEnd.UNFINISHED,
        word=word,
        reason="; ".join([*said[:_LONGEST_LIST], *([f"{more} more"] if more > 0 else [])]),
        has_changed=applied.has_changed,
        created=applied.created,
        updated=(*applied.modified, *applied.merged),
        values={
            "POLISH_STATUS": _CONVERGED if is_converged else "IN_PROGRESS",
            **{name: str(len(ids)) for name, ids in zip(_COUNTS, counts, strict=True)},
        },
    )


@value
class PolishResult:
    """What was really done."""

    modified: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """What was proposed and is there already."""

    @property
    def has_changed(self) -> bool:
        return bool(self.modified or self.created or self.merged)


def apply_proposal(
    desk: PassContext, proposal: PolishProposal, chosen: Sequence[Bead], *, seen: Graph | None
) -> PolishResult:
    """Everything that still fits the tracker as it is now, in one write.

    `seen` is the documents as the agent had them, noted if nothing is left to do; None: more is.
    """

    def decide(edit: TrackerEdit) -> PolishResult:
        work = _Application(desk.site, edit, chosen)
        applied = work.carry_out(proposal)
        if seen is not None and not applied.refused:
            work.mark_seen(seen)
        return applied

    return desk.site.tracker.edit(decide)


class _Application:
    """The changes of one polish on the tracker as it stands; what no longer fits is left out."""

    def __init__(self, site: AttemptContext, edit: TrackerEdit, chosen: Sequence[Bead]) -> None:
        self._edit = edit
        self._seen = {bead.id: bead for bead in chosen}
        self._draw_id = id_maker(site)
        self._keys: dict[str, str] = {}
        beads = known_beads(edit.before)
        self._known = {identity(it.title): it.id for it in beads if not it.is_finished}
        self._done = {identity(it.title): it.id for it in beads if it.is_finished}
        self._refused: list[str] = []
        self._already: list[str] = []

    def carry_out(self, proposal: PolishProposal) -> PolishResult:
        self._refused += proposal.rejected
        created = [made for new in proposal.new if (made := self._create(new))]
        for new in proposal.new:
            self._order(new)
        modified = [it.id for it in proposal.changes if self._changed(it)]
        merged = [it.id for it in proposal.merged if self._merged(it)]
        merged += self._split(proposal.new)
        return PolishResult(
            tuple(modified),
            tuple(created),
            tuple(merged),
            refused=tuple(self._refused),
            known=tuple(self._already),
        )

    def mark_seen(self, graph: Graph) -> None:
        """Which documents this polish has seen, on each bead that it looked at (S-3)."""
        for bead_id in self._seen:
            if self._obstacle(bead_id):
                continue
            bead = self._edit.bead(bead_id)
            if bead.superseded_by:
                continue
            hashes = UpstreamDocuments(graph).hashes(bead)
            if hashes or bead.get(SEEN) is not None:
                self._edit.update(bead_id, BeadPatch({SEEN: hashes}))

    def _obstacle(self, bead_id: str) -> str:
        """Why a bead is no longer ours to change: somebody was first (T-10)."""
        if self._edit.before.revision(bead_id) != self._seen[bead_id].revision:
            return "it changed meanwhile"
        return ""

    def _create(self, new: NewBead) -> str:
        same = self._known.get(identity(new.title))
        if not same and not new.replaces:  # else the same work could be filed for ever (S-13)
            same = self._done.get(identity(new.title))
        if same:
            self._keys[new.key] = same
            self._already.append(f"{new.title!r} is said already by {same}")
            return ""
        bead_id = self._draw_id()
        fields = {name: given for name, given in new.fields.items() if name != "depends-on"}
        parent = open_parent(self._edit, str(fields.pop("parent", "")))
        labels = self._labels(new.replaces, fields.pop("labels", ()))
        draft = {**fields, "id": bead_id, "title": new.title, "parent": parent, "labels": labels}
        if not _is_executable(draft):
            draft |= {"execution-eligible": False, "execution-skip-reason": NO_CRITERION}
        filed = self._try(
            f"{new.title!r}", lambda: self._edit.create([draft], draw_id=self._draw_id)
        )
        if not filed:
            return ""
        self._keys[new.key or bead_id] = bead_id
        self._known[identity(new.title)] = bead_id
        return bead_id

    def _order(self, new: NewBead) -> None:
        """Links of new beads, once all of them are there."""
        bead_id = self._known.get(identity(new.title), "")
        if bead_id in self._edit and bead_id not in self._edit.before:
            for wanted in new.fields.get("depends-on", ()):
                self._wait(bead_id, self._keys.get(wanted, wanted))

    def _wait(self, bead_id: str, wanted: str) -> None:
        self._try(
            f"{bead_id} waiting for {wanted}", lambda: self._edit.add_dependency(bead_id, wanted)
        )

    def _changed(self, change: BeadChange) -> bool:
        if why := self._obstacle(change.id):
            self._refused.append(f"{change.id}: {why}")
            return False
        fields = dict(change.fields)
        if "labels" in fields:
            fields["labels"] = self._labels(change.id, fields["labels"])
        parent, wanted = fields.pop("parent", None), fields.pop("depends-on", None)
        before = self._edit.bead(change.id)
        patch = BeadPatch(
            _made_eligible(before, fields),
            parent=None if parent is None else self._keys.get(parent, parent),
            depends_on=None if wanted is None else tuple(self._keys.get(it, it) for it in wanted),
        )
        if not self._try(change.id, lambda: self._edit.update(change.id, patch)):
            return False
        after = self._edit.bead(change.id)
        self._edit.mark(change.id, carried_over(before, after))
        return after != before

    def _labels(self, bead_id: str, given: Iterable[str]) -> list[str]:
        """As proposed, but what steers a run stays as it is, and goes over to the parts (S-13)."""
        kept = self._edit.bead(bead_id).labels if bead_id else ()
        return [
            *(label for label in kept if is_reserved(label)),
            *(label for label in given if not is_reserved(label)),
        ]

    def _merged(self, merge: BeadMerge) -> bool:
        into = self._keys.get(merge.into, merge.into)
        why = self._obstacle(merge.id)
        if not self._edit.status(into) or self._edit.is_finished(into):
            why = why or f"there is no open bead {typed(into)}"
        if why:
            self._refused.append(f"{merge.id}: {why}")
            return False
        return self._replace(merge.id, (into,), merge.reason or f"{into} says the same")

    def _split(self, new: Iterable[NewBead]) -> list[str]:
        """A bead that became several is superseded by all of them."""
        parts: dict[str, list[str]] = {}
        for it in new:
            bead_id = self._known.get(identity(it.title), "")
            if it.replaces and bead_id:
                parts.setdefault(it.replaces, []).append(bead_id)
        done = []
        for old, ids in parts.items():
            if why := self._obstacle(old):
                self._refused.append(f"{old}: {why}")
            elif self._replace(old, tuple(ids), f"split into {listed(ids)}"):
                done.append(old)
        return done

    def _replace(self, old: str, by: tuple[str, ...], reason: str) -> bool:
        return self._try(old, lambda: self._edit.supersede(old, by=by, reason=reason))

    def _try(self, what: str, change: Callable[[], object]) -> bool:
        try:
            change()
        except DdxError as problem:
            self._refused.append(f"{what}: {problem.message}")
            return False
        return True


def _is_executable(row: Mapping[str, object]) -> bool:
    return BeadDraft("", "", acceptance=str(row.get("acceptance", ""))).is_executable or bool(
        row.get("verify")
    )


def _made_eligible(bead: Bead, fields: Mapping[str, object]) -> dict[str, object]:
    """What was held back only for want of a criterion is free once it has one."""
    held = bead.get("execution-skip-reason") == NO_CRITERION
    if held and _is_executable({**bead.row, **fields}):
        return {**fields, "execution-eligible": True, "execution-skip-reason": ""}
    return dict(fields)

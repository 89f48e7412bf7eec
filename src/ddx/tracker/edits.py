"""Filing and editing beads: one or many in one write, all or nothing (T-3, T-12, T-18)."""

from __future__ import annotations

from ddx.base import Refused, UsageError, dumps, require_clean, value
from ddx.tracker import fields, lifecycle
from ddx.tracker.changeset import ChangeSet, WorkingCopy, add_event, event
from ddx.tracker.row import (
    DEFAULT_PRIORITY,
    FINISHED,
    SCHEMA_VERSION,
    Row,
    blockers_of,
    edges_of,
    eligible_by_default,
    labels_of,
    link_of,
    require_new_id,
    status_of,
    text_of,
    type_of,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ddx.tracker.bead import Bead
    from ddx.tracker.changeset import TrackerView
    from ddx.tracker.lifecycle import BeadClosure
    from ddx.tracker.snapshot import Snapshot

_LINKS = ("parent", "depends-on", "replaces")
_SYNONYMS = {"type": "issue_type", "depends_on": "depends-on", "deps": "depends-on"}
_DRAWS = 100


def create(
    view: TrackerView,
    drafts: Sequence[Mapping[str, Any]],
    *,
    now: str,
    by: str,
    draw_id: Callable[[], str],
) -> ChangeSet:
    """New beads from drafts; links may name another draft by its `key` or its id."""
    working = WorkingCopy(view, now=now)
    named: list[tuple[str, dict[str, Any]]] = []
    keys: dict[str, str] = {}
    for draft in drafts:
        given = {_SYNONYMS.get(name, name): found for name, found in draft.items()}
        bead_id = _new_id(given.pop("id", None), working, keys, draw_id)
        key = given.pop("key", None)
        if key is not None and keys.setdefault(str(key), bead_id) != bead_id:
            raise UsageError(f"two drafts have the key {key!r}")
        keys.setdefault(bead_id, bead_id)
        named.append((bead_id, given))
    for bead_id, given in named:
        working.put(_plain_row(bead_id, given, now=now, by=by))
    for bead_id, given in named:
        _link(working, bead_id, given, keys=keys, by=by)
    return working.changes()


def place_below(working: WorkingCopy, row: Row, parent: str) -> Row:
    """The row below `parent`, which becomes an epic with its second child (T-18)."""
    working.require_known(parent)
    above = working.row(parent)
    if status_of(above) in FINISHED:
        raise Refused(
            f"{parent} is {status_of(above)}, so nothing can be added below it",
            hint=f"ddx bead reopen {typed(parent)} --reason '...'",
        )
    if status_of(above) == "in_progress" and type_of(above) != "epic":
        working.remarks.append(f"{parent} is claimed, so {row['id']} was filed beside it")
        parent = link_of(above, "parent")
    row = working.put(fields.with_parent(working, row, parent))
    if len(working.children(parent)) > 1:
        _promote(working, parent)
    return row


def _promote(working: WorkingCopy, bead_id: str) -> None:
    """An epic from now on, unless someone holds it or it has ended (T-18)."""
    if working.status(bead_id) in ("", "in_progress", *FINISHED):
        return
    row = working.row(bead_id)
    if type_of(row) != "epic":
        working.put({**row, "issue_type": "epic", "execution-eligible": False})
        working.remarks.append(f"{bead_id} has several children now and became an epic")


def _new_id(
    wanted: Any, working: WorkingCopy, taken: Mapping[str, str], draw_id: Callable[[], str]
) -> str:
    if wanted is not None:
        bead_id = require_new_id(str(wanted))
        if bead_id in taken or working.exists(bead_id):
            raise Refused(
                f"there is a bead {bead_id} already", hint=f"ddx bead show {typed(bead_id)}"
            )
        return bead_id
    for _ in range(_DRAWS):
        bead_id = require_new_id(draw_id())
        if bead_id not in taken and not working.exists(bead_id):
            return bead_id
    raise Refused(f"{_DRAWS} drawn ids were all taken already; the last one was {bead_id}")


def _plain_row(bead_id: str, given: Mapping[str, Any], *, now: str, by: str) -> Row:
    if "title" not in given:
        raise UsageError("a bead needs a title", hint='for example: ddx bead create "Fix login"')
    row = {
        "id": bead_id,
        "status": "open",
        "priority": DEFAULT_PRIORITY,
        "issue_type": "task",
        "created_at": now,
        "schema_version": SCHEMA_VERSION,
        **({"created_by": by} if by else {}),
    }
    plain = {name: found for name, found in given.items() if name not in _LINKS}
    row = fields.put_fields(row, plain)
    row.setdefault("execution-eligible", eligible_by_default(type_of(row), labels_of(row)))
    return row


def _link(
    working: WorkingCopy,
    bead_id: str,
    given: Mapping[str, Any],
    *,
    keys: Mapping[str, str],
    by: str,
) -> None:
    parent = str(given.get("parent") or "")
    if parent:
        place_below(working, working.row(bead_id), keys.get(parent, parent))
    for wanted in _ids(given.get("depends-on")):
        row = working.row(bead_id)
        working.put(fields.with_dependency(working, row, keys.get(wanted, wanted), by=by))
    for old in _ids(given.get("replaces")):
        lifecycle.supersede_in(working, keys.get(old, old), by=(bead_id,), reason="", actor=by)


def _ids(given: Any) -> tuple[str, ...]:
    listed = given if isinstance(given, list | tuple) else str(given or "").split(",")
    return tuple(text for item in listed if (text := str(item).strip()))


@value
class BeadPatch:
    """What an update asks for; None and empty mean: leave it."""

    fields: Mapping[str, Any]
    unset: tuple[str, ...] = ()
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()
    append_notes: str = ""
    parent: str | None = None
    depends_on: tuple[str, ...] | None = None
    replaces: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == BeadPatch({})


def update(view: TrackerView, bead_id: str, patch: BeadPatch, *, now: str, by: str) -> ChangeSet:
    """The bead with the patch applied; a patch that changes nothing writes nothing."""
    working = WorkingCopy(view, now=now)
    before = working.row(bead_id)
    row = fields.put_fields(before, patch.fields)
    row = _without_unset(row, patch.unset)
    row = _relabelled(row, patch)
    if patch.append_notes:
        said = require_clean(patch.append_notes, what="notes")
        notes = "\n".join(filter(None, (text_of(row, "notes"), said)))
        row = {**row, "notes": notes}
    if dumps(row) != dumps(before):  # to Python, 1 and true are equal
        working.put(row)
    if patch.parent and patch.parent != link_of(row, "parent"):
        place_below(working, working.row(bead_id), patch.parent)
    elif patch.parent == "" and "parent" in row:
        working.put(fields.with_parent(working, working.row(bead_id), ""))
    if patch.depends_on is not None:
        _depend_on(working, bead_id, patch.depends_on, by=by)
    for old in patch.replaces:
        lifecycle.supersede_in(working, old, by=(bead_id,), reason="", actor=by)
    return working.changes()


def mark(view: TrackerView, bead_id: str, marks: Mapping[str, Any], *, now: str) -> ChangeSet:
    """The bead with a program's own fields on it, kept as they are, also where they are empty."""
    if owned := fields.OWNED.keys() & marks.keys():
        raise UsageError(f"{min(owned)} is no mark: {fields.OWNED[min(owned)]}")
    working = WorkingCopy(view, now=now)
    before = working.row(bead_id)
    row = {**before, **marks}
    if row != before:
        working.put(row)
    return working.changes()


def add_dependency(view: TrackerView, bead_id: str, wanted: str, *, now: str, by: str) -> ChangeSet:
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    linked = fields.with_dependency(working, row, wanted, by=by)
    if linked is row:
        working.remarks.append(f"{bead_id} waits for {wanted} already")
    else:
        working.put(linked)
    return working.changes()


def remove_dependency(view: TrackerView, bead_id: str, wanted: str, *, now: str) -> ChangeSet:
    """Every edge to `wanted` goes, also one that leads nowhere."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    if not any(link_of(edge, "depends_on_id") == wanted for edge in edges_of(row)):
        working.remarks.append(f"{bead_id} has no dependency on {wanted}")
        return working.changes()
    working.put(fields.without_dependency(row, wanted))
    return working.changes()


def _without_unset(row: Row, names: tuple[str, ...]) -> Row:
    for name in names:
        if name in ("title", "priority", "issue_type", "schema_version"):
            raise UsageError(f"{name} cannot be taken away: every bead has one")
        fields.checked(name, None)
    return {name: found for name, found in row.items() if name not in names}


def _relabelled(row: Row, patch: BeadPatch) -> Row:
    if not patch.add_labels and not patch.remove_labels:
        return row
    kept = [label for label in labels_of(row) if label not in patch.remove_labels]
    added = fields.checked("labels", patch.add_labels)
    labels = list(dict.fromkeys((*kept, *added)))
    if labels:
        return {**row, "labels": labels}
    return {name: found for name, found in row.items() if name != "labels"}


def _depend_on(working: WorkingCopy, bead_id: str, wanted: tuple[str, ...], *, by: str) -> None:
    for old in blockers_of(working.row(bead_id)):
        if old not in wanted:
            row = working.row(bead_id)
            working.put(fields.without_dependency(row, old, only_blocking=True))
    for new in wanted:
        row = working.row(bead_id)
        linked = fields.with_dependency(working, row, new, by=by)
        if linked is not row:
            working.put(linked)


class TrackerEdit:
    """Several edits that are one write, in the name of `by`: each sees what those before it did.

    It is the tracker with the edits made so far on top; one that is refused leaves no trace.
    """

    def __init__(self, before: Snapshot, *, now: str, by: str) -> None:
        self.before = before
        """The tracker as it was when the edit began."""
        self.now = now
        self._by = by
        self._working = WorkingCopy(before, now=now)
        self._add = self._working.add

    def changes(self) -> ChangeSet:
        """All edits as one change."""
        return self._working.changes()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What happened besides what was asked, for a person."""
        return tuple(self._working.remarks)

    def remark(self, sentence: str) -> None:
        self._working.remarks.append(sentence)

    # -- asking -----------------------------------------------------------------------------

    def find_bead(self, bead_id: str) -> Bead | None:
        """The bead as it will be, also from the archive; None if there is no such bead."""
        row = self._working.find(bead_id)
        if row is None:
            return None
        from ddx.tracker.bead import Bead  # a command that only edits does without it

        is_changed = bead_id in self._working.put_rows
        return Bead(bead_id, row, "" if is_changed else self.before.revision(bead_id))

    def bead(self, bead_id: str) -> Bead:
        """The bead as it will be, also from the archive; an unknown one is an error."""
        return self.find_bead(bead_id) or self.before.bead(bead_id)

    def __contains__(self, bead_id: object) -> bool:
        """Is it there and not in the archive?"""
        return bead_id in self._working

    def status(self, bead_id: str) -> str:
        return self._working.status(bead_id)

    def is_finished(self, bead_id: str) -> bool:
        """Closed or cancelled, also in the archive; what is not there at all is not."""
        return self.status(bead_id) in FINISHED

    def parent(self, bead_id: str) -> str:
        return self._working.parent(bead_id)

    def children(self, bead_id: str) -> tuple[str, ...]:
        return self._working.children(bead_id)

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        return self._working.waits_for(bead_id)

    # -- editing ----------------------------------------------------------------------------

    def create(
        self, drafts: Sequence[Mapping[str, Any]], *, draw_id: Callable[[], str]
    ) -> tuple[str, ...]:
        """The ids of new beads, one for each draft; all are filed or none is."""
        made = create(self._working, drafts, now=self.now, by=self._by, draw_id=draw_id)
        created = tuple(bead_id for bead_id in made.put if bead_id not in self._working)
        self._add(made)
        return created

    def update(self, bead_id: str, patch: BeadPatch) -> None:
        self._add(update(self._working, bead_id, patch, now=self.now, by=self._by))

    def mark(self, bead_id: str, marks: Mapping[str, Any]) -> None:
        """Note something for a program to find again; unlike an update it is kept as it is."""
        self._add(mark(self._working, bead_id, marks, now=self.now))

    def add_dependency(self, bead_id: str, wanted: str) -> None:
        self._add(add_dependency(self._working, bead_id, wanted, now=self.now, by=self._by))

    def add_event(
        self,
        bead_id: str,
        kind: str,
        *,
        summary: str,
        body: str = "",
        source: str = "ddx",
        again: bool = True,
    ) -> None:
        """Put an event on record; not `again` if the last one of its kind has the same body."""
        told = event(kind, summary=summary, body=body, actor=self._by, source=source, at=self.now)
        earlier = [it.body for it in self.bead(bead_id).events if it.kind == kind]
        if again or earlier[-1:] != [told["body"]]:
            self._add(add_event(self._working, bead_id, told, now=self.now))

    def unclaim(self, bead_id: str, *, claim_id: str = "") -> None:
        self._add(lifecycle.unclaim(self._working, bead_id, claim_id=claim_id, now=self.now))

    def close(self, bead_id: str, ending: BeadClosure) -> None:
        self._add(lifecycle.close(self._working, bead_id, ending, actor=self._by, now=self.now))

    def reopen(self, bead_id: str, *, reason: str) -> None:
        self._add(lifecycle.reopen(self._working, bead_id, **self._said(reason)))

    def cancel(self, bead_id: str, *, reason: str) -> None:
        self._add(lifecycle.cancel(self._working, bead_id, **self._said(reason)))

    def block(self, bead_id: str, *, reason: str) -> None:
        self._add(lifecycle.block(self._working, bead_id, **self._said(reason)))

    def propose(self, bead_id: str, *, reason: str = "") -> None:
        """Only proposed from now on: a person looks at it before anybody works on it (I-3)."""
        self._add(lifecycle.propose(self._working, bead_id, **self._said(reason)))

    def supersede(self, old: str, *, by: tuple[str, ...], reason: str) -> None:
        self._add(lifecycle.supersede(self._working, old, by=by, **self._said(reason)))

    def _said(self, reason: str) -> dict[str, str]:
        return {"reason": reason, "actor": self._by, "now": self.now}

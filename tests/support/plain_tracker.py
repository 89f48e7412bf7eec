"""The tracker's rules once more, as plainly as they can be said: what the real one must equal.

Rows are dictionaries without any time in them. Nothing here is taken from src/. A rule that
forbids a change raises `Forbidden` with the name of the error that the real tracker must raise.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

BLOCKING = ("blocks", "depends_on", "conditional-blocks", "waits-for")
ENDED = ("closed", "cancelled")
CLAIM = ("claim-id", "claimed-machine", "claimed-pid", "claimed-pid-start")
ENDING = ("close_reason", "closing_commit_sha", "session_id", "blocked-reason")
TRIALS = ("retry-after", "attempts", "blocked-basis")
TIMES = ("created_at", "updated_at", "closed_at", "claimed-at")
ACTOR = "mara"


class Forbidden(Exception):
    """`kind` is the name of an error in ddx.base.errors."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def require(holds: bool, kind: str = "Refused") -> None:
    if not holds:
        raise Forbidden(kind)


def timeless(row: Row) -> Row:
    """A row without its times, and without those of its edges and events."""
    bare = {key: found for key, found in row.items() if key not in TIMES}
    for key in ("dependencies", "events"):
        if key in bare:
            bare[key] = [without(item, "created_at") for item in bare[key]]
    return bare


def without(row: Row, *keys: str) -> Row:
    return {key: found for key, found in row.items() if key not in keys}


def waits_for(row: Row) -> list[str]:
    edges = row.get("dependencies", [])
    return [edge["depends_on_id"] for edge in edges if edge["type"] in BLOCKING]


def links(row: Row, key: str) -> list[str]:
    return [link for link in row.get(key, "").split(",") if link]


def event(kind: str, summary: str, body: str = "") -> Row:
    return {"kind": kind, "summary": summary, "body": body, "actor": ACTOR, "source": "ddx"}


class PlainTracker:
    """Beads in three boxes: live, archived, and the events kept beside closed ones."""

    def __init__(self) -> None:
        self.live: dict[str, Row] = {}
        self.archived: dict[str, Row] = {}
        self.beside: dict[str, list[Row]] = {}

    # -- questions -------------------------------------------------------------------------

    def known(self, bead_id: str) -> Row | None:
        return self.live.get(bead_id) or self.archived.get(bead_id)

    def changeable(self, bead_id: str) -> Row:
        require(self.known(bead_id) is not None, "NotFound")
        require(bead_id in self.live)
        return self.live[bead_id]

    def status(self, bead_id: str) -> str:
        row = self.known(bead_id)
        return row["status"] if row else ""

    def above(self, bead_id: str) -> list[str]:
        found: list[str] = []
        row = self.known(bead_id)
        while row and row.get("parent"):
            found.append(row["parent"])
            row = self.known(row["parent"])
        return found

    def children(self, bead_id: str) -> list[str]:
        return [one for one, row in self.live.items() if row.get("parent") == bead_id]

    def below(self, bead_id: str) -> list[str]:
        found = self.children(bead_id)
        for child in found:
            found += self.children(child)
        return found

    def comes_to_wait_for(self, start: str, goal: str) -> bool:
        seen, unseen = set(), [start]
        while unseen:
            one = unseen.pop()
            if one == goal:
                return True
            row = self.known(one)
            if row and one not in seen:
                seen.add(one)
                unseen += waits_for(row)
        return False

    def require_possible_wait(self, bead_id: str, wanted: str) -> None:
        require(self.known(wanted) is not None, "NotFound")
        require(wanted != bead_id)
        require(wanted not in self.above(bead_id))
        require(not self.comes_to_wait_for(wanted, bead_id))

    def require_possible_parent(self, bead_id: str, parent: str) -> None:
        require(self.known(parent) is not None, "NotFound")
        over = [parent, *self.above(parent)]
        require(bead_id not in over)
        for moved in (bead_id, *self.below(bead_id)):
            row = self.known(moved)
            require(not (row and set(waits_for(row)) & set(over)))

    def can_be_closed(self, bead_id: str) -> bool:
        for child in self.children(bead_id):
            row = self.live[child]
            if row["status"] not in ENDED and not links(row, "superseded-by"):
                return False
        return all(self.status(one) == "closed" for one in waits_for(self.live[bead_id]))

    # -- changes ---------------------------------------------------------------------------

    def create(self, bead_id: str, fields: Row, parent: str, wanted: list[str]) -> None:
        row = {
            "id": bead_id,
            "status": "open",
            "priority": 2,
            "issue_type": "task",
            "schema_version": 1,
            "created_by": ACTOR,
            **fields,
        }
        row["execution-eligible"] = row["issue_type"] not in ("epic", "decision")
        self.live[bead_id] = row
        if parent:
            self.move(bead_id, parent)
        for one in wanted:
            self.wait(bead_id, one)

    def set_fields(self, bead_id: str, fields: Row, unset: list[str]) -> None:
        self.live[bead_id] = without({**self.changeable(bead_id), **fields}, *unset)

    def label(self, bead_id: str, added: list[str], removed: list[str]) -> None:
        row = self.changeable(bead_id)
        if added or removed:
            kept = [label for label in row.get("labels", []) if label not in removed]
            labels = list(dict.fromkeys([*kept, *added]))
            row = {**row, "labels": labels} if labels else without(row, "labels")
        self.live[bead_id] = row

    def note(self, bead_id: str, text: str) -> None:
        row = self.changeable(bead_id)
        self.live[bead_id] = {**row, "notes": f"{row['notes']}\n{text}" if "notes" in row else text}

    def wait(self, bead_id: str, wanted: str) -> None:
        row = self.changeable(bead_id)
        self.require_possible_wait(bead_id, wanted)
        if wanted not in waits_for(row):
            edge = {"issue_id": bead_id, "depends_on_id": wanted, "type": "blocks"}
            edges = [*row.get("dependencies", []), {**edge, "created_by": ACTOR}]
            self.live[bead_id] = {**row, "dependencies": edges}

    def stop_waiting(self, bead_id: str, wanted: str) -> None:
        row = self.changeable(bead_id)
        edges = [edge for edge in row.get("dependencies", []) if edge["depends_on_id"] != wanted]
        bare = without(row, "dependencies")
        self.live[bead_id] = {**bare, "dependencies": edges} if edges else bare

    def move(self, bead_id: str, parent: str) -> None:
        row = self.changeable(bead_id)
        if parent == row.get("parent", ""):
            return
        if parent:
            over = self.changeable(parent)
            require(over["status"] not in ENDED)
            if over["status"] == "in_progress" and over["issue_type"] != "epic":
                parent = over.get("parent", "")  # T-18: beside it, not below it
        if parent:
            self.require_possible_parent(bead_id, parent)
        bare = without(row, "parent")
        self.live[bead_id] = {**bare, "parent": parent} if parent else bare
        self.promote(parent)

    def promote(self, bead_id: str) -> None:
        """T-18: more than one child makes an epic, but never of what is claimed or has ended."""
        row = self.live.get(bead_id)
        over = row is None or row["status"] in ("in_progress", *ENDED)
        if not over and len(self.children(bead_id)) > 1:
            self.live[bead_id] = {**row, "issue_type": "epic", "execution-eligible": False}

    def claim(self, bead_id: str, owner: str, ticket: str) -> None:
        row = self.changeable(bead_id)
        require(row["status"] != "in_progress", "ConcurrentChange")
        require(row["status"] == "open")
        held = {"owner": owner, "claim-id": ticket, "claimed-machine": "tower"}
        self.live[bead_id] = {**row, "status": "in_progress", **held}

    def unclaim(self, bead_id: str, ticket: str) -> None:
        row = self.changeable(bead_id)
        require(not ticket or row.get("claim-id") == ticket, "ConcurrentChange")
        if row["status"] == "in_progress":
            self.live[bead_id] = {**without(row, "owner", *CLAIM), "status": "open"}

    def close(self, bead_id: str, ticket: str, *, force: bool, cascade: bool) -> None:
        row = self.changeable(bead_id)
        require(not ticket or row.get("claim-id") == ticket, "ConcurrentChange")
        if row["status"] == "closed":
            return
        require(force or self.can_be_closed(bead_id))
        self.end(bead_id, "done")
        for over in self.above(bead_id) if cascade else []:
            mother = self.live.get(over)
            if not mother or mother["issue_type"] != "epic" or mother["status"] in ENDED:
                break
            if not self.can_be_closed(over):
                break
            self.end(over, f"its last open child {bead_id} was closed")

    def end(self, bead_id: str, reason: str) -> None:
        row = self.live[bead_id]
        events = [*row.get("events", []), event("closed", reason)]
        self.beside[bead_id] = [*self.beside.get(bead_id, []), *events]
        bare = without(row, "events", *CLAIM, *ENDING, *TRIALS)
        self.live[bead_id] = {**bare, "status": "closed", "close_reason": reason}

    def reopen(self, bead_id: str) -> None:
        row = self.known(bead_id)
        require(row is not None, "NotFound")
        require(row["status"] not in ("open", "in_progress"))
        if bead_id not in self.live:
            if self.known(row.get("parent", "")):
                self.require_possible_parent(bead_id, row["parent"])
            for wanted in filter(self.known, waits_for(row)):
                self.require_possible_wait(bead_id, wanted)
        bare = without(row, "owner", *CLAIM, *ENDING, *TRIALS)
        said = event("reopened", "again", "...")
        events = [*row.get("events", []), said]
        self.live[bead_id] = {**bare, "status": "open", "events": events}

    def cancel(self, bead_id: str) -> None:
        row = self.changeable(bead_id)
        require(row["status"] not in ENDED)
        bare = without(row, "owner", *CLAIM, *TRIALS)
        events = [*row.get("events", []), event("cancelled", "no need")]
        ended = {"status": "cancelled", "close_reason": "no need", "events": events}
        self.live[bead_id] = {**bare, **ended}

    def block(self, bead_id: str) -> None:
        row = self.changeable(bead_id)
        require(row["status"] not in ENDED)
        events = [*row.get("events", []), event("blocked", "no key")]
        stopped = {"status": "blocked", "blocked-reason": "no key", "events": events}
        self.live[bead_id] = {**without(row, "owner", *CLAIM), **stopped}

    def supersede(self, old: str, by: list[str]) -> None:
        row = self.changeable(old)
        for new in by:
            require(self.known(new) is not None, "NotFound")
            require(not self.leads_to(new, old))
        said = event("superseded", "better", ", ".join(by))
        joined = ",".join(dict.fromkeys([*links(row, "superseded-by"), *by]))
        events = [*row.get("events", []), said]
        self.live[old] = {**row, "superseded-by": joined, "events": events}
        for new in by:
            fresh = self.changeable(new)
            answered = ",".join(dict.fromkeys([*links(fresh, "replaces"), old]))
            self.live[new] = {**self.freed(fresh, old), "replaces": answered}
        for waiting in sorted(self.live):
            row = self.live[waiting]
            if old in waits_for(row) and row["status"] not in ENDED:
                self.live[waiting] = self.redirected(row, old, by)

    def leads_to(self, new: str, old: str) -> bool:
        """Is `new`, or what replaces it, or what replaces that, the old one?"""
        seen, unseen = set(), [new]
        while unseen:
            one = unseen.pop()
            row = self.known(one)
            if row and one not in seen:
                seen.add(one)
                unseen += links(row, "superseded-by")
        return old in seen

    def freed(self, row: Row, wanted: str) -> Row:
        edges = row.get("dependencies", [])
        kept = [it for it in edges if it["depends_on_id"] != wanted or it["type"] not in BLOCKING]
        bare = without(row, "dependencies")
        return {**bare, "dependencies": kept} if kept else bare

    def redirected(self, row: Row, old: str, by: list[str]) -> Row:
        edge = next(it for it in row["dependencies"] if it["depends_on_id"] == old)
        moved = self.freed(row, old)
        for new in by:
            if new not in waits_for(moved):
                self.require_possible_wait(row["id"], new)
                edges = [*moved.get("dependencies", []), {**edge, "depends_on_id": new}]
                moved = {**moved, "dependencies": edges}
        return moved

    def add_evidence(self, bead_id: str, kind: str) -> None:
        row = self.changeable(bead_id)
        said = event(kind, "seen")
        if row["status"] == "closed":
            self.beside[bead_id] = [*self.beside.get(bead_id, []), said]
        else:
            self.live[bead_id] = {**row, "events": [*row.get("events", []), said]}

    def archive(self) -> None:
        needed: set[str] = set()
        for row in self.live.values():
            if row["status"] not in ENDED:
                needed |= {row.get("parent", ""), *waits_for(row)}
                needed |= {*links(row, "superseded-by"), *links(row, "replaces")}
        for bead_id, row in list(self.live.items()):
            if row["status"] == "closed" and bead_id not in needed:
                self.archived[bead_id] = self.live.pop(bead_id)


# -- the queue, from rows with their times -----------------------------------------------------


def naively_ready(rows: list[Row], archived: list[Row]) -> list[str]:
    """Open, all it waits for closed, nothing in conflict; in the order of D-12."""
    status = {row["id"]: row["status"] for row in (*archived, *rows)}
    free = [
        row
        for row in rows
        if row["status"] == "open"
        and all(status.get(one) == "closed" for one in waits_for(row))
        and not row.get("merge-conflicts")
    ]
    return [row["id"] for row in sorted(free, key=_queue_order)]


def naively_executable(rows: list[Row], archived: list[Row], *, now: str) -> list[str]:
    """Ready, and an agent may be handed it now (T-16)."""
    by_id = {row["id"]: row for row in rows}
    mothers = {row.get("parent") for row in rows}
    return [
        bead_id
        for bead_id in naively_ready(rows, archived)
        if (row := by_id[bead_id])["execution-eligible"]
        and not (row["issue_type"] == "epic" and bead_id in mothers)
        and not links(row, "superseded-by")
        and row.get("retry-after", "") <= now
        and (row.get("verify") or row.get("acceptance") == "`make` passes")
        and row.get("acceptance") != "It works"
    ]


def _queue_order(row: Row) -> tuple[Any, ...]:
    rank = row.get("queue-rank")
    is_epic = row["issue_type"] == "epic"
    return is_epic, row["priority"], rank is None, rank or 0, row["created_at"], row["id"]

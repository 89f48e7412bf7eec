"""Any sequence of operations leaves the file that the plain model says (T-1 to T-24)."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.support.beads import put_file, tracker_in
from tests.support.go_json import marshalled_row
from tests.support.plain_tracker import (
    ACTOR,
    Forbidden,
    PlainTracker,
    Row,
    naively_executable,
    naively_ready,
    timeless,
    waits_for,
    without,
)

from ddx.base.errors import ConcurrentChange, DdxError, NotFound
from ddx.testing import FakeClock
from ddx.tracker import snapshot as index
from ddx.tracker.archive_file import archive
from ddx.tracker.changeset import ChangeSet, add_event, event
from ddx.tracker.columns import CORE, TEXTS, Columns
from ddx.tracker.edits import BeadPatch, add_dependency, create, remove_dependency, update
from ddx.tracker.lifecycle import (
    BeadClosure,
    Claimant,
    block,
    cancel,
    claim,
    close,
    reopen,
    supersede,
    unclaim,
)
from ddx.tracker.queue import ready, ready_for_execution
from ddx.tracker.snapshot import Snapshot
from ddx.tracker.tracker import Tracker

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["One", "Two <&>", "Größe 队列"]),
        "description": st.sampled_from(["why", "two\nlines \u2028"]),
        "priority": st.integers(0, 4),
        "queue-rank": st.integers(-2, 2),
        "retry-after": st.sampled_from(["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        "verify": st.sampled_from([["true"], ["make", "make check"]]),
        "acceptance": st.sampled_from(["`make` passes", "It works"]),
        "x-unknown": st.sampled_from([{"b": [1, None], "a": "é"}, 10**30, True]),
    },
)
UNSET = st.lists(
    st.sampled_from(["description", "queue-rank", "retry-after", "acceptance", "x-unknown"]),
    max_size=2,
    unique=True,
)
LABELS = st.lists(st.sampled_from(["area:cli", "kind:x", "y"]), max_size=2, unique=True)
TYPES = st.sampled_from(["task", "task", "bug", "epic", "decision"])
TICKETS = st.sampled_from(["", "c1", "c2"])


class AnySequence(RuleBasedStateMachine):
    """The real tracker on a real file, and the plain one beside it."""

    beads = Bundle("beads")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ddx-model-"))
        self.clock = FakeClock()
        self.tracker = tracker_in(self.folder, clock=self.clock)
        self.plain = PlainTracker()
        self.seen: list[tuple[str, str, int]] = []
        self.history: dict[str, list[Row]] = {}
        self.drawn = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # -- one step --------------------------------------------------------------------------

    def both(
        self,
        decide: Callable[[Snapshot, str], ChangeSet],
        plainly: Callable[[PlainTracker], None],
        *targets: str,
    ) -> None:
        """The same change to both: it must be refused by both, or do the same in both."""
        self.clock.advance(1)
        before = self.lines()
        plain = copy.deepcopy(self.plain)
        refused = ""
        try:
            plainly(plain)
        except Forbidden as forbidden:
            refused = forbidden.kind
        else:
            targets = (*targets, *self.changed_in(plain))
            self.plain = plain
        try:
            self.tracker.change(decide)
        except DdxError as problem:
            assert type(problem).__name__ == refused, problem.message
        else:
            assert not refused
        self.check_untouched(before, targets if not refused else ())

    def changed_in(self, plain: PlainTracker) -> list[str]:
        old, new = self.plain.live, plain.live
        return [bead_id for bead_id in {**old, **new} if old.get(bead_id) != new.get(bead_id)]

    def check_untouched(self, before: dict[str, bytes], targets: tuple[str, ...]) -> None:
        """Rows that the change does not concern keep their bytes (T-7); the others are stamped."""
        after = self.lines()
        for bead_id in {**before, **after}:
            if before.get(bead_id) == after.get(bead_id):
                continue
            assert bead_id in targets, f"{bead_id} was touched"
            if bead_id in after:
                row = json.loads(after[bead_id])
                assert row["updated_at"] == self.clock.stamp()
                self.history.setdefault(bead_id, []).append(row)

    def lines(self) -> dict[str, bytes]:
        found = Path(self.tracker.path).read_bytes().splitlines()
        return {json.loads(line)["id"]: line.strip() for line in found if line.strip()}

    def rows(self, path: str) -> list[Row]:
        file = Path(path)
        return list(map(json.loads, file.read_bytes().splitlines())) if file.exists() else []

    # -- operations ------------------------------------------------------------------------

    @initialize(target=beads, type=TYPES, fields=FIELDS)
    def first(self, type: str, fields: Row) -> str:
        return self.file_bead(type, fields, "", [])

    @rule(target=beads, type=TYPES, fields=FIELDS)
    def create(self, type: str, fields: Row) -> str:
        return self.file_bead(type, fields, "", [])

    @rule(target=beads, type=TYPES, fields=FIELDS, parent=beads, wanted=st.lists(beads, max_size=2))
    def create_with_links(self, type: str, fields: Row, parent: str, wanted: list[str]) -> str:
        return self.file_bead(type, fields, parent, wanted)

    def file_bead(self, type: str, fields: Row, parent: str, wanted: list[str]) -> str:
        self.drawn += 1
        bead_id = f"app-{self.drawn * 7919 % 1000:03}"  # ids in no order of time
        given = {"title": "New", "issue_type": type, **fields}
        draft = {**given, "parent": parent, "depends-on": wanted}
        self.both(
            lambda view, now: create(view, [draft], now=now, by=ACTOR, draw_id=lambda: bead_id),
            lambda plain: plain.create(bead_id, given, parent, wanted),
        )
        return bead_id

    @rule(bead_id=beads, fields=FIELDS, unset=UNSET)
    def set_fields(self, bead_id: str, fields: Row, unset: list[str]) -> None:
        patch = BeadPatch(fields, unset=tuple(unset))
        self.update(bead_id, patch, lambda plain: plain.set_fields(bead_id, fields, unset))

    @rule(bead_id=beads, added=LABELS, removed=LABELS)
    def relabel(self, bead_id: str, added: list[str], removed: list[str]) -> None:
        patch = BeadPatch({}, add_labels=tuple(added), remove_labels=tuple(removed))
        self.update(bead_id, patch, lambda plain: plain.label(bead_id, added, removed))

    @rule(bead_id=beads, text=st.sampled_from(["seen", "two\nlines"]))
    def append_notes(self, bead_id: str, text: str) -> None:
        patch = BeadPatch({}, append_notes=text)
        self.update(bead_id, patch, lambda plain: plain.note(bead_id, text))

    @rule(bead_id=beads, parent=beads | st.just(""))
    def move(self, bead_id: str, parent: str) -> None:
        patch = BeadPatch({}, parent=parent)
        self.update(bead_id, patch, lambda plain: plain.move(bead_id, parent), bead_id)

    def update(
        self, bead_id: str, patch: BeadPatch, plainly: Callable[[PlainTracker], None], *targets: str
    ) -> None:
        self.both(
            lambda view, now: update(view, bead_id, patch, now=now, by=ACTOR), plainly, *targets
        )

    @rule(bead_id=beads, wanted=beads)
    def wait(self, bead_id: str, wanted: str) -> None:
        self.both(
            lambda view, now: add_dependency(view, bead_id, wanted, now=now, by=ACTOR),
            lambda plain: plain.wait(bead_id, wanted),
        )

    @rule(bead_id=beads, wanted=beads)
    def stop_waiting(self, bead_id: str, wanted: str) -> None:
        self.both(
            lambda view, now: remove_dependency(view, bead_id, wanted, now=now),
            lambda plain: plain.stop_waiting(bead_id, wanted),
        )

    @rule(bead_id=beads, ticket=st.sampled_from(["c1", "c2"]))
    def claim(self, bead_id: str, ticket: str) -> None:
        who = Claimant("helix", "tower")
        self.both(
            lambda view, now: claim(view, bead_id, who, claim_id=ticket, now=now),
            lambda plain: plain.claim(bead_id, "helix", ticket),
        )

    @rule(bead_id=beads, ticket=TICKETS)
    def unclaim(self, bead_id: str, ticket: str) -> None:
        self.both(
            lambda view, now: unclaim(view, bead_id, claim_id=ticket, now=now),
            lambda plain: plain.unclaim(bead_id, ticket),
        )

    @rule()
    def take(self) -> None:
        """T-22: pick and claim in one write."""
        queue = naively_executable(*self.all_rows(), now=self.clock.stamp())

        def decide(view: Snapshot, now: str) -> ChangeSet:
            places = ready_for_execution(view.columns, self.tracker.surroundings())
            if not places:
                raise NotFound("nothing is ready")
            bead_id = view.columns.ids[places[0]]
            return claim(view, bead_id, Claimant("helix", "tower"), claim_id="c1", now=now)

        def plainly(plain: PlainTracker) -> None:
            if not queue:
                raise Forbidden("NotFound")
            plain.claim(queue[0], "helix", "c1")

        self.both(decide, plainly)

    @rule(bead_id=beads, ticket=TICKETS, force=st.booleans(), cascade=st.booleans())
    def close(self, bead_id: str, ticket: str, force: bool, cascade: bool) -> None:
        how: dict[str, Any] = {"force": force, "cascade": cascade}
        self.both(
            lambda view, now: close(
                view, bead_id, BeadClosure("done"), actor=ACTOR, now=now, claim_id=ticket, **how
            ),
            lambda plain: plain.close(bead_id, ticket, **how),
        )

    @rule(bead_id=beads)
    def reopen(self, bead_id: str) -> None:
        self.both(
            lambda view, now: reopen(view, bead_id, reason="again", actor=ACTOR, now=now),
            lambda plain: plain.reopen(bead_id),
        )

    @rule(bead_id=beads)
    def cancel(self, bead_id: str) -> None:
        self.both(
            lambda view, now: cancel(view, bead_id, reason="no need", actor=ACTOR, now=now),
            lambda plain: plain.cancel(bead_id),
        )

    @rule(bead_id=beads)
    def block(self, bead_id: str) -> None:
        self.both(
            lambda view, now: block(view, bead_id, reason="no key", actor=ACTOR, now=now),
            lambda plain: plain.block(bead_id),
        )

    @rule(old=beads, by=st.lists(beads, min_size=1, max_size=2))
    def supersede(self, old: str, by: list[str]) -> None:
        self.both(
            lambda view, now: supersede(
                view, old, by=tuple(by), reason="better", actor=ACTOR, now=now
            ),
            lambda plain: plain.supersede(old, by),
            *by,
        )

    @rule(bead_id=beads, kind=st.sampled_from(["note", "cost"]))
    def add_evidence(self, bead_id: str, kind: str) -> None:
        def decide(view: Snapshot, now: str) -> ChangeSet:
            happened = event(kind, summary="seen", at=now, actor=ACTOR)
            return add_event(view, bead_id, happened, now=now)

        self.both(decide, lambda plain: plain.add_evidence(bead_id, kind), bead_id)

    @rule()
    def archive(self) -> None:
        self.both(lambda view, now: archive(view), PlainTracker.archive)

    # -- what others do meanwhile ----------------------------------------------------------

    @rule()
    def lose_the_cache(self) -> None:
        shutil.rmtree(self.tracker.project.ddx("cache"), ignore_errors=True)

    @rule()
    def start_another_process(self) -> None:
        self.tracker = Tracker(self.tracker.project, clock=self.clock)

    @precondition(lambda self: self.plain.live)
    @rule()
    def rewrite_the_file_by_another_hand(self) -> None:
        """Another order and blank lines; our next write brings back our form (T-1, T-14a)."""
        lines = list(self.lines().values())[::-1]
        put_file(Path(self.tracker.path), b"\n\n" + b" \n".join(lines) + b"\n", clock=self.clock)
        bead_id = min(self.plain.live)
        self.update(
            bead_id,
            BeadPatch({}, append_notes="ours"),
            lambda plain: plain.note(bead_id, "ours"),
        )

    # -- revisions (T-10) ------------------------------------------------------------------

    @rule(bead_id=beads)
    def look(self, bead_id: str) -> None:
        revision = self.tracker.snapshot().revision(bead_id)
        self.seen.append((bead_id, revision, len(self.history.get(bead_id, []))))

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def expect_what_was_seen(self, data: st.DataObject) -> None:
        bead_id, revision, changes = data.draw(st.sampled_from(self.seen))
        try:
            self.tracker.change(lambda view, now: ChangeSet({}), expect={bead_id: revision})
        except ConcurrentChange as lost:
            assert changes < len(self.history[bead_id])
            if "not recorded" not in lost.message:
                fields = ", ".join(self.fields_changed_since(bead_id, changes))
                assert f"(changed: {fields})" in lost.message
        except NotFound:
            assert self.plain.known(bead_id) is None
        else:
            assert changes == len(self.history.get(bead_id, []))

    def fields_changed_since(self, bead_id: str, changes: int) -> list[str]:
        rows = self.history[bead_id][changes - 1 :]
        named: set[str] = set()
        for old, new in pairwise(rows):
            named |= {key for key in {**old, **new} if old.get(key) != new.get(key)}
        return sorted(named - {"updated_at"})

    # -- laws that always hold -------------------------------------------------------------

    @invariant()
    def the_rows_are_those_of_the_model(self) -> None:
        rows, archived = self.all_rows()
        assert {row["id"]: comparable(row) for row in rows} == expected(self.plain.live)
        assert {row["id"]: comparable(row) for row in archived} == expected(self.plain.archived)
        for bead_id, events in self.plain.beside.items():
            kept = [without(it, "created_at") for it in self.tracker.attachments.events(bead_id)]
            assert list(map(blurred, kept)) == list(map(blurred, events))

    def all_rows(self) -> tuple[list[Row], list[Row]]:
        """The tracker's rows, and those that only the archive holds."""
        return self.rows(self.tracker.path), self.rows(self.tracker.archive_path)

    @invariant()
    def both_files_are_in_canonical_form(self) -> None:  # T-1
        for path in (self.tracker.path, self.tracker.archive_path):
            rows = self.rows(path)
            lines = b"".join(marshalled_row(row) + b"\n" for row in rows)
            assert not rows or lines == Path(path).read_bytes()
            assert [row["id"] for row in rows] == sorted({row["id"] for row in rows})

    @invariant()
    def the_queue_is_what_the_rows_say(self) -> None:  # T-16
        rows, archived = self.all_rows()
        columns = self.tracker.snapshot().columns
        around = self.tracker.surroundings()
        assert [columns.ids[n] for n in ready(columns, around)] == naively_ready(rows, archived)
        executable = [columns.ids[n] for n in ready_for_execution(columns, around)]
        assert executable == naively_executable(rows, archived, now=self.clock.stamp())

    @invariant()
    def the_index_is_what_a_reader_would_build(self) -> None:  # T-19
        path = self.tracker.path
        scratch = facts_of(index.build(path, Path(path).read_bytes()))
        assert facts_of(self.tracker.snapshot().columns) == scratch
        assert (
            facts_of(Tracker(self.tracker.project, clock=self.clock).snapshot().columns) == scratch
        )

    @invariant()
    def nothing_goes_round(self) -> None:  # T-12
        live = self.plain.live
        for bead_id, row in live.items():
            assert not any(self.plain.comes_to_wait_for(one, bead_id) for one in waits_for(row))
            assert bead_id not in self.plain.above(bead_id)
            assert not set(waits_for(row)) & set(self.plain.above(bead_id))


def facts_of(columns: Columns) -> dict[str, Any]:
    return {
        name: getattr(columns, name) for name in (*CORE, *TEXTS, "starts", "ends", "contiguous")
    }


def expected(rows: dict[str, Row]) -> dict[str, Row]:
    return {bead_id: comparable(row) for bead_id, row in rows.items()}


def comparable(row: Row) -> Row:
    bare = timeless(row)
    if "events" in bare:
        bare["events"] = list(map(blurred, bare["events"]))
    return bare


def blurred(happened: Row) -> Row:
    """The body of a reopening holds times."""
    return {**happened, "body": ""} if happened["kind"] == "reopened" else happened


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)

"""The tracker's file: one way to read it and one way to write it (T-7 to T-10, T-14a)."""

from __future__ import annotations

import os

from ddx.base import (
    Clock,
    ConcurrentChange,
    DdxError,
    FileIdentity,
    Lock,
    NotFound,
    UsageError,
    changed,
    identity_of,
    remove_leftovers,
    sort_key,
    value,
    variable,
)
from ddx.project import read_settings
from ddx.tracker.columns import entry_of
from ddx.tracker.publication import ChangeJournal, ReplacementCheck, publish
from ddx.tracker.queue import PENDING, QueueContext, WorkQueue
from ddx.tracker.row import RUNNER, decode, encode, revision_of, typed
from ddx.tracker.snapshot import Snapshot, open_snapshot, wait_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from ddx.project import Project
    from ddx.tracker.changeset import Attachments, ChangeSet
    from ddx.tracker.columns import Columns, NewRow, OldRows
    from ddx.tracker.edits import TrackerEdit
    from ddx.tracker.explanation import BeadExplanation
    from ddx.tracker.pending_landings import PendingLanding
    from ddx.tracker.queue import Blocker
    from ddx.tracker.row import Row

    T = TypeVar("T")

LOCK_WAIT_S = 10.0
_REPLACED_TRIES = 5
_PATIENCE = 100  # pauses of 10 ms for git to finish a checkout


@value
class ChangeResult:
    """What a change left behind: each touched row and its new revision."""

    rows: Mapping[str, Row]
    revisions: Mapping[str, str]
    created: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Tracker:
    """The beads of one project; `tell` hears what a person should know, `permit` may veto."""

    def __init__(
        self,
        project: Project,
        *,
        clock: Clock = Clock(),
        lock_wait_s: float = LOCK_WAIT_S,
        command: str = "ddx",
        tell: Callable[[str], None] = lambda sentence: None,
        approve: Callable[[Row | None, Row], None] = lambda old, new: None,
        permit: Callable[[], None] = lambda: None,
    ) -> None:
        self.project = project
        self.clock = clock
        self.path = os.path.realpath(project.ddx("beads.jsonl"))
        self.archive_path = os.path.realpath(project.ddx("beads-archive.jsonl"))
        self.attachments_folder = os.path.realpath(project.ddx("attachments"))
        self.lineage = ReplacementCheck(
            state=project.ddx("state"), backups=project.ddx("backups"), name="beads"
        )
        self.journal = ChangeJournal(project.ddx("state", "journal.jsonl"))
        self._cache = project.ddx("cache")
        self._pending = project.ddx(*PENDING)
        self._lock_wait_s = lock_wait_s
        self._command = command
        self.tell = tell
        self._approve = approve
        self._permit = permit
        self._seen: dict[str, Snapshot] = {}

    # -- reading ---------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The tracker as it is now; an unchanged file is never read twice."""
        try:
            found = self._open(self.path)
        except FileNotFoundError:
            found = None
        if found is None or self.lineage.is_suspicious(found.identity.inode, found.identity.size):
            found = self._after_waiting()
        found.archive = self.archive
        return found

    def archive(self) -> Snapshot | None:
        try:
            return self._open(self.archive_path)
        except FileNotFoundError:
            return None

    @property
    def attachments(self) -> Attachments:
        """The events of closed beads; few commands ask for them."""
        from ddx.tracker.changeset import Attachments

        return Attachments(self.attachments_folder)

    @property
    def identity(self) -> FileIdentity | None:
        """Which bytes its file holds now; it differs as soon as anybody has written there."""
        return identity_of(self.path)

    def surroundings(
        self, view: Snapshot | None = None, *, now: str = "", has_default_checks: bool = False
    ) -> QueueContext:
        """Readiness as of this instant."""
        return QueueContext(
            now=sort_key(now or self.clock.stamp()),
            archived=(view or self.snapshot()).archived_status,
            has_default_checks=has_default_checks,
        )

    def queue(
        self, view: Snapshot | None = None, *, now: str = "", has_default_checks: bool = False
    ) -> WorkQueue:
        """The queue as of this instant; what is proven and waits to be landed is held back."""
        view = view or self.snapshot()
        around = self.surroundings(view, now=now, has_default_checks=has_default_checks)
        return WorkQueue(view, changed(around, held=self.held_back()))

    def explain(self, bead_id: str, queue: WorkQueue) -> BeadExplanation:
        """Why a bead can or cannot be worked on, in a queue that was read from here."""
        from ddx.tracker.explanation import explain

        return explain(queue.view, bead_id, queue.around)

    def held_back(
        self, *, tell: Callable[[str], None] = lambda sentence: None
    ) -> Mapping[str, Blocker]:
        """The beads of pending landings; a file that cannot be read is told of (X-13)."""
        if not os.path.isdir(self._pending):  # nearly always, so what reads it is not even loaded
            return {}
        from ddx.tracker.pending_landings import held_by_pending

        return held_by_pending(self._pending, tell=tell)

    def pending_landings(
        self, *, tell: Callable[[str], None] = lambda sentence: None
    ) -> tuple[PendingLanding, ...]:
        """Proven work that waits to be landed; a file that cannot be read is told of (X-13)."""
        if not os.path.isdir(self._pending):
            return ()
        from ddx.tracker.pending_landings import read_pending

        return tuple(read_pending(self._pending, tell=tell))

    def _open(self, path: str) -> Snapshot:
        seen = self._seen.get(path)
        if seen is None or FileIdentity.of(os.stat(path)) != seen.identity:
            seen = open_snapshot(path, index_folder=self._cache, clock=self.clock)
            self._seen[path] = seen
        return seen

    def _after_waiting(self) -> Snapshot:
        """A file that is missing or empty where we wrote rows: git may be at it right now."""
        if not self.lineage.has_rows():
            raise NotFound(
                f"{self.project.root} has no tracker yet",
                hint="make one: helix init; for the queue alone: ddx bead init",
            )
        wait_until(lambda: _size(self.path) > 0, pause=self.clock.sleep, tries=_PATIENCE)
        if not _size(self.path):
            raise DdxError(
                f"{self.path} is missing or empty, but it held beads before; nothing was changed",
                hint="see what is kept and bring it back: ddx bead doctor",
            )
        return self._open(self.path)

    # -- writing ---------------------------------------------------------------------------

    def lock(self, *, to_look: bool = False) -> Lock:
        if not to_look:
            self._permit()
        return Lock(
            self.project.ddx("state", "tracker.lock"),
            wait_s=self._lock_wait_s,
            clock=self.clock,
            command=self._command,
        )

    def change(
        self,
        decide: Callable[[Snapshot, str], ChangeSet],
        *,
        expect: Mapping[str, str] | None = None,
    ) -> ChangeResult:
        """Apply what `decide` makes of the tracker as it is *now*; all of it or nothing.

        `decide` gets the snapshot and the time of the change. `expect` maps a bead to the revision
        that it must still have (T-10). Another file put in our place meanwhile starts us over.
        """
        for _ in range(_REPLACED_TRIES):
            with self.lock() as lock:
                remove_leftovers(self.path, self.archive_path, self.attachments_folder)
                before = self.snapshot()
                self.keep_what_was_replaced(before)
                self._require_revisions(before, expect or {})
                changes = decide(before, self.clock.stamp())
                applied = self._apply(lock, before, changes)
                if applied is not None:
                    return applied
        raise DdxError(f"{self.path} is being replaced again and again; nothing was changed")

    def commit(self, *, message: str) -> str:
        """The tracker's own files as one commit: its id, empty if nothing of them has changed."""
        from ddx.tracker.setup import commit_tracker

        return commit_tracker(self.project, message=message)

    def edit(self, decide: Callable[[TrackerEdit], T], *, by: str = RUNNER) -> T:
        """What `decide` answers, once all edits that it made on the tracker as it is *now* stand.

        It may be asked once more, on another tracker, if ours is replaced meanwhile.
        """
        from ddx.tracker.edits import TrackerEdit

        answers: list[T] = []

        def decided(view: Snapshot, now: str) -> ChangeSet:
            edit = TrackerEdit(view, now=now, by=by)
            answers.append(decide(edit))
            return edit.changes()

        self.change(decided)
        return answers[-1]

    def _apply(self, lock: Lock, before: Snapshot, changes: ChangeSet) -> ChangeResult | None:
        lines = {bead_id: encode(row) for bead_id, row in changes.put.items()}
        for bead_id, row in changes.put.items():
            n = before.columns.place.get(bead_id)
            self._approve(None if n is None else decode(before.line(n)), row)
        if lines or changes.archived:
            for bead_id, events in changes.attached.items():
                self.attachments.add(bead_id, events)
            if changes.archived:
                self._archive(before, changes.archived)
            put = {
                bead_id: (entry_of(row, lines[bead_id]), lines[bead_id])
                for bead_id, row in changes.put.items()
            }
            pieces, columns = before.columns.spliced(put, changes.archived)
            if not self.replace(lock, before, pieces, columns):
                return None
            self.journal.note(before, changes.put, lines, at=self.clock.stamp())
        revisions = {bead_id: revision_of(line) for bead_id, line in lines.items()}
        created = tuple(bead_id for bead_id in changes.put if bead_id not in before)
        return ChangeResult(changes.put, revisions, created, remarks=changes.remarks)

    def _archive(self, before: Snapshot, bead_ids: frozenset[str]) -> None:
        """First into the archive, then out of the tracker: a crash between leaves them in both."""
        from ddx.tracker.archive_file import keep_in_archive

        lines = {bead_id: before.line(before.columns.place[bead_id]) for bead_id in bead_ids}
        keep_in_archive(
            self.archive_path, self.archive(), lines, index_folder=self._cache, clock=self.clock
        )

    def replace(
        self, lock: Lock, before: Snapshot, pieces: list[OldRows | NewRow], columns: Columns
    ) -> bool:
        """Publish the next file; False if someone replaced the old one while we wrote it."""

        def agree(new_file: str) -> bool:
            self.lineage.prepare(new_file)
            # Last of all: what comes between this look and the rename, we overwrite.
            return identity_of(self.path) == before.identity and lock.still_ours()

        try:
            after = publish(
                self.path,
                before,
                pieces,
                columns,
                index_folder=self._cache,
                clock=self.clock,
                agree=agree,
            )
        except FileNotFoundError:  # `git clean -x` took the new file away before it was published
            return False
        if after is None:
            return False
        self.lineage.advance()
        after.archive = self.archive
        self._seen[self.path] = after
        return True

    def keep_what_was_replaced(self, before: Snapshot) -> None:
        self.lineage.settle(before.identity.inode)
        if self.lineage.replaced(before.identity.inode):
            living = (self.path, self.archive_path)
            kept = self.lineage.keep_last(now_ns=self.clock.now_ns(), held_in=living)
            self.lineage.prepare(self.path)
            self.lineage.advance()
            self.tell(
                f"{self.path} was replaced by another program since our last write; "
                f"our version is kept in {kept}; what it lost: ddx bead doctor"
            )

    def _require_revisions(self, before: Snapshot, expect: Mapping[str, str]) -> None:
        for bead_id, revision in expect.items():
            now = before.revision(bead_id) if before.row(bead_id) else ""
            if now != revision:
                fields = self.journal.fields_since(bead_id, revision, now)
                what = f"changed: {', '.join(fields)}" if fields else "it is not recorded what"
                raise ConcurrentChange(
                    f"{bead_id} has changed since revision {revision} ({what}); it is {now} now",
                    hint=f"look again: ddx bead show {typed(bead_id)}",
                )


def open_tracker(
    project: Project, *, command: str, tell: Callable[[str], None], clock: Clock = Clock()
) -> Tracker:
    """The project's beads, with its own say on them; an attempt's agent only reads them."""
    return Tracker(
        project,
        clock=clock,
        lock_wait_s=_lock_wait_s(),
        command=command,
        tell=tell,
        approve=approval(project, tell=tell),
        permit=lambda: project.refuse_inside_an_attempt(what="changing the tracker"),
    )


def queue_context(tracker: Tracker) -> QueueContext:
    """What readiness depends on here; the beads of pending landings are held back (X-13)."""
    checks = read_settings(tracker.project, clock=tracker.clock).default_checks
    around = tracker.surroundings(has_default_checks=bool(checks))
    return changed(around, held=tracker.held_back(tell=tracker.tell))


def _lock_wait_s() -> float:
    given = variable("DDX_BEAD_LOCK_TIMEOUT")
    try:
        return float(given) if given else LOCK_WAIT_S
    except ValueError:
        raise UsageError(
            f"DDX_BEAD_LOCK_TIMEOUT must be a number of seconds, not {given!r}"
        ) from None


def approval(project: Project, *, tell: Callable[[str], None]) -> Callable[[Row | None, Row], None]:
    """The project's own say on new and changed beads, where it has any (T-15)."""
    if not os.path.isdir(project.ddx("hooks")):
        return lambda old, new: None
    from ddx.tracker.setup import Hooks

    return Hooks(project, tell=tell).approve


def _size(path: str) -> int:
    found = identity_of(path)
    return found.size if found else 0

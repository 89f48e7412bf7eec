"""The tracker's file: one way to read it and one way to write it (T-7 to T-10, T-14a)."""

from __future__ import annotations

import os

from ddx.clock import SYSTEM_CLOCK
from ddx.errors import ChangedFirst, DdxError, NotFound
from ddx.files import Identity, Lock, identity_of, remove_leftovers
from ddx.instants import sort_key
from ddx.tracker.attachments import Attachments
from ddx.tracker.codec import decode, encode, revision_of
from ddx.tracker.columns import entry_of
from ddx.tracker.journal import Journal
from ddx.tracker.lineage import Lineage, wait_until
from ddx.tracker.model import typed
from ddx.tracker.publishing import publish
from ddx.tracker.queue import Surroundings
from ddx.tracker.snapshot import Snapshot, open_snapshot
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.tracker.columns import Columns, Kept, Written
    from ddx.tracker.model import Row
    from ddx.tracker.working import Changes

LOCK_WAIT_S = 10.0
_REPLACED_TRIES = 5
_PATIENCE = 100  # pauses of 10 ms for git to finish a checkout


@value
class Applied:
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
        clock: Clock = SYSTEM_CLOCK,
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
        self.attachments = Attachments(project.ddx("attachments"))
        self.lineage = Lineage(
            state=project.ddx("state"), backups=project.ddx("backups"), name="beads"
        )
        self.journal = Journal(project.ddx("state", "journal.jsonl"))
        self._cache = project.ddx("cache")
        self._lock_wait_s = lock_wait_s
        self._command = command
        self._tell = tell
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

    def surroundings(self, *, has_default_checks: bool = False) -> Surroundings:
        """Readiness as of this instant."""
        return Surroundings(
            now=sort_key(self.clock.stamp()),
            archived=self.snapshot().archived_status,
            has_default_checks=has_default_checks,
        )

    def _open(self, path: str) -> Snapshot:
        seen = self._seen.get(path)
        if seen is None or Identity.of(os.stat(path)) != seen.identity:
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
        decide: Callable[[Snapshot, str], Changes],
        *,
        expect: Mapping[str, str] | None = None,
    ) -> Applied:
        """Apply what `decide` makes of the tracker as it is *now*; all of it or nothing.

        `decide` gets the snapshot and the time of the change. `expect` maps a bead to the revision
        that it must still have (T-10). Another file put in our place meanwhile starts us over.
        """
        for _ in range(_REPLACED_TRIES):
            with self.lock() as lock:
                remove_leftovers(self.path, self.archive_path, self.attachments.folder)
                before = self.snapshot()
                self.keep_what_was_replaced(before)
                self._require_revisions(before, expect or {})
                changes = decide(before, self.clock.stamp())
                applied = self._apply(lock, before, changes)
                if applied is not None:
                    return applied
        raise DdxError(f"{self.path} is being replaced again and again; nothing was changed")

    def _apply(self, lock: Lock, before: Snapshot, changes: Changes) -> Applied | None:
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
        return Applied(changes.put, revisions, created, changes.remarks)

    def _archive(self, before: Snapshot, bead_ids: frozenset[str]) -> None:
        """First into the archive, then out of the tracker: a crash between leaves them in both."""
        from ddx.tracker.archive import keep_in_archive

        lines = {bead_id: before.line(before.columns.place[bead_id]) for bead_id in bead_ids}
        keep_in_archive(
            self.archive_path, self.archive(), lines, index_folder=self._cache, clock=self.clock
        )

    def replace(
        self, lock: Lock, before: Snapshot, pieces: list[Kept | Written], columns: Columns
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
            self._tell(
                f"{self.path} was replaced by another program since our last write; "
                f"our version is kept in {kept}; what it lost: ddx bead doctor"
            )

    def _require_revisions(self, before: Snapshot, expect: Mapping[str, str]) -> None:
        for bead_id, revision in expect.items():
            now = before.revision(bead_id) if before.row(bead_id) else ""
            if now != revision:
                fields = self.journal.fields_since(bead_id, revision, now)
                what = f"changed: {', '.join(fields)}" if fields else "it is not recorded what"
                raise ChangedFirst(
                    f"{bead_id} has changed since revision {revision} ({what}); it is {now} now",
                    hint=f"look again: ddx bead show {typed(bead_id)}",
                )


def _size(path: str) -> int:
    found = identity_of(path)
    return found.size if found else 0

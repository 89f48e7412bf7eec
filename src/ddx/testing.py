"""For tests, ours and yours: time that obeys, a real repository, a tracker without a file.

And the one seam to the programs of this machine: `with played_by(programs)` git, agents and checks
are answered by `programs`, and nothing is started.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from ddx.base import Clock, DdxError, NotFound, process
from ddx.git import commands as git
from ddx.project import Project
from ddx.tracker import blockers_of, link_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ddx.base import Programs
    from ddx.tracker import ChangeSet, Row

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class FakeClock(Clock):
    """Time that moves only by `sleep` and `advance`, at once and by exactly so much."""

    def __init__(self, start: datetime = START) -> None:
        since_1970 = start - datetime(1970, 1, 1, tzinfo=UTC)
        self._now_ns = since_1970 // timedelta(microseconds=1) * 1000
        self.slept_s: list[float] = []

    def now_ns(self) -> int:
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)


@contextmanager
def played_by(programs: Programs) -> Iterator[None]:
    """Inside, no program is started: these play every one of them."""
    before = process.player()
    process.let_play(programs)
    try:
        yield
    finally:
        process.let_play(before)


def make_repo(path: str | os.PathLike[str]) -> Project:
    """A git repository of its own, with an identity and a first commit; not trusted, no tracker."""
    root = os.path.realpath(path)
    os.makedirs(root, exist_ok=True)
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Mara"),
        ("config", "user.email", "mara@example.invalid"),
        ("config", "commit.gpgSign", "false"),
        ("commit", "--quiet", "--allow-empty", "-m", "begin"),
    ):
        done = git.run(root, *words)
        if not done.ok:
            raise DdxError(f"git {words[0]} failed in {root}: {done.complaint}")
    return Project(root)


class MemoryView:
    """Beads without a file: it answers every decision as the tracker's snapshot would.

    decided = close(MemoryView(rows), "app-1", Ending(), actor="mara", now=now)
    assert decided.put["app-1"]["status"] == "closed"
    """

    def __init__(self, rows: Iterable[Row], *, archived: Iterable[Row] = ()) -> None:
        self.rows = {row["id"]: row for row in rows}
        self.archived = {row["id"]: row for row in archived}

    def after(self, changes: ChangeSet) -> MemoryView:
        """The beads as they stand once the changes are written."""
        gone = [self.rows[bead_id] for bead_id in changes.archived]
        kept = {**self.rows, **changes.put}
        return MemoryView(
            (row for bead_id, row in kept.items() if bead_id not in changes.archived),
            archived=(*self.archived.values(), *gone),
        )

    def find(self, bead_id: str) -> Row | None:
        return self.rows.get(bead_id) or self.archived.get(bead_id)

    def row(self, bead_id: str) -> Row:
        found = self.find(bead_id)
        if found is None:
            raise NotFound(f"there is no bead {bead_id!r} here")
        return found

    def __contains__(self, bead_id: object) -> bool:
        return bead_id in self.rows

    def status(self, bead_id: str) -> str:
        found = self.find(bead_id)
        return status_of(found) if found else ""

    def parent(self, bead_id: str) -> str:
        found = self.find(bead_id)
        return link_of(found, "parent") if found else ""

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        found = self.find(bead_id)
        return blockers_of(found) if found else ()

    def children(self, bead_id: str) -> tuple[str, ...]:
        return tuple(
            sorted(row["id"] for row in self.rows.values() if link_of(row, "parent") == bead_id)
        )

    def is_waited_for(self, bead_id: str) -> bool:
        everyone = (*self.rows.values(), *self.archived.values())
        return any(bead_id in blockers_of(row) for row in everyone)

    def dependents(self, bead_id: str) -> tuple[str, ...]:
        return tuple(sorted(row["id"] for row in self.rows.values() if bead_id in blockers_of(row)))

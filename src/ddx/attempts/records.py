"""The attempts of a project as anybody may read them: the one reader of their records (X-2).

And the reviews that are owed for them: noted before anything lands, so that no crash can lose one
(S-17). One small file an attempt. It goes when the review was made, or when nothing of the attempt
can land any more; whoever lands it meanwhile, the next run finds the note.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from ddx.attempts.outcome import AttemptStatus, changed_lines
from ddx.attempts.record import (
    ERRORS,
    EVENTS,
    FOLDER,
    INTENT,
    LOCK,
    MADE,
    MANIFEST,
    OUTPUT,
    RESULT,
    USAGE,
    attempt_prefix,
    lock_of,
    read_json,
)
from ddx.base import Busy, CorruptFile, NotFound, UsageError, listed, replace, value
from ddx.tracker import PENDING, events_of, read_pending, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from ddx.base import Clock
    from ddx.project import Project
    from ddx.tracker import Bead


ATTEMPT_EVENT = "attempt"
ATTEMPT_MARK = "attempt: "
"""How a bead's events name the attempts that did not land."""
NEWEST = "last"
"""What a person may type instead of the id of the newest attempt."""
REVIEWS = ("state", "reviews")
_MOST_NAMED = 5
_SECOND = len("20260102T030405")
_LANDED = (AttemptStatus.SUCCESS, AttemptStatus.ALREADY_SATISFIED)


@value
class AttemptRecord:
    """One attempt; `result` is empty while it runs or if it died."""

    attempt: str
    folder: str
    intent: dict[str, Any]
    result: dict[str, Any]

    @property
    def beads(self) -> tuple[str, ...]:
        """The beads that it was made for; none, if it was a prompt or a measure."""
        return tuple(self.intent.get("beads", ()))

    @property
    def action(self) -> str:
        """What kind of work it was, such as `build`."""
        return str(self.intent.get("action") or "")

    @property
    def began_at(self) -> str:
        """When it began, in RFC 3339."""
        return str(self.intent.get("at") or "")

    @property
    def claims(self) -> dict[str, str]:
        """The claim ids that it took, by bead."""
        found = self.intent.get("claims")
        return {bead: str(it) for bead, it in found.items()} if isinstance(found, dict) else {}

    @property
    def manifest(self) -> dict[str, Any]:
        """Inputs and versions, and what the policy passed in; empty before its agent is asked."""
        return self.file(MANIFEST)

    @property
    def made(self) -> dict[str, Any]:
        """The commit of its work and the paths in it; empty if nothing was made yet."""
        return self.file(MADE)

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens and cost; empty if nobody has counted anything."""
        found = self.result.get("usage") or self.file(USAGE)
        return found if isinstance(found, dict) else {}

    @property
    def story(self) -> str:
        """The path of its events, line by line."""
        return self.path(EVENTS)

    @property
    def output(self) -> str:
        """The path of what its agent printed."""
        return self.path(OUTPUT)

    @property
    def errors(self) -> str:
        """The path of what its agent printed on stderr."""
        return self.path(ERRORS)

    def of_both(self, name: str) -> str:
        """What the result says, else what was intended."""
        return str(self.result.get(name) or self.intent.get(name) or "")

    def path(self, name: str) -> str:
        """Where a file of it lies, or would."""
        return os.path.join(self.folder, name)

    def file(self, name: str) -> dict[str, Any]:
        """Another of its files; empty if it was never written."""
        try:
            return read_json(self.path(name))
        except FileNotFoundError:
            return {}

    def has_ended(self) -> bool:
        """Whether its result is on the disk now."""
        return os.path.exists(self.path(RESULT))

    def is_alive(self, clock: Clock) -> bool:
        """Whether a process is at it right now."""
        return _is_held(self.folder, clock)


class AttemptRecords:
    """The records of one project; what another process prunes meanwhile is left out."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def names(self) -> list[str]:
        """The ids of all, oldest first."""
        try:
            names = os.listdir(self._project.ddx(FOLDER))
        except FileNotFoundError:
            return []
        known = sorted(name for name in names if name[:1].isdigit())
        seconds = [name[:_SECOND] for name in known]
        if len(set(seconds)) == len(seconds):
            return known
        return sorted(known, key=lambda name: (name[:_SECOND], self._begun_ns(name), name))

    def __contains__(self, attempt: str) -> bool:
        return attempt in self.names()

    def __iter__(self) -> Iterator[AttemptRecord]:
        """Oldest first; CorruptFile if one cannot be read."""
        return self._read_all(self.names())

    def __reversed__(self) -> Iterator[AttemptRecord]:
        """Newest first; CorruptFile if one cannot be read."""
        return self._read_all(self.names()[::-1])

    def readable(
        self, tell: Callable[[str], None], *, newest_first: bool = False
    ) -> Iterator[AttemptRecord]:
        """Each that can be read; `tell` hears what is wrong with the others."""
        return self._read_all(self.names()[:: -1 if newest_first else 1], tell)

    def read(self, attempt: str) -> AttemptRecord:
        """The record of exactly this attempt; NotFound if there is none."""
        folder = self._folder(attempt)
        if os.path.basename(folder) != attempt or not os.path.isdir(folder):
            raise _not_found(attempt)
        kept = AttemptRecord(attempt, folder, {}, result={})
        return AttemptRecord(attempt, folder, kept.file(INTENT), result=kept.file(RESULT))

    def find(self, name: str) -> AttemptRecord:
        """By its id, by a part that no other begins or ends with, or the newest by `last`."""
        known = self.names()
        if name == NEWEST and known:
            found = known[-1:]
        elif name in known:
            found = [name]
        else:
            found = [it for it in known if name and (it.startswith(name) or it.endswith(name))]
        if len(found) > 1:
            some = listed([*found[:_MOST_NAMED], *(["more"] if len(found) > _MOST_NAMED else [])])
            raise UsageError(f"{name!r} may be any of {some}", hint="type more of it")
        if not found:
            raise _not_found(name)
        return self.read(found[0])

    def path(self, attempt: str, name: str) -> str:
        """Where a file of an attempt lies, or would, whether or not it has a record."""
        return os.path.join(self._folder(attempt), name)

    def unfinished(self) -> Iterator[AttemptRecord]:
        """Attempts that run now or have died, oldest first."""
        return self._read_all(self.unfinished_names())

    def unfinished_names(self) -> list[str]:
        """The ids of the same, without reading them."""
        return [it for it in self.names() if os.path.exists(self.path(it, LOCK))]

    def dead(self, clock: Clock) -> list[str]:
        """The ids of those whose process is gone before they came to an end."""
        names = self.unfinished_names()
        return [name for name in names if not _is_held(self._folder(name), clock)]

    def landing_of(self, attempt: str) -> Mapping[str, Any] | None:
        """How an attempt landed, or that there was nothing to land; None: it has not.

        What had to wait for its landing has a second record, which names the first (X-13).
        """
        for record in reversed(self):
            if record.attempt[:_SECOND] < attempt[:_SECOND]:
                break
            result = record.result
            is_it = attempt in (record.attempt, result.get("lands"))
            if is_it and result.get("status") in _LANDED:
                return result
        return None

    def expired(self, *, most: int, days: float, clock: Clock) -> list[str]:
        """Finished attempts beyond the count or the age that is kept (C-9)."""
        unfinished = set(self.unfinished_names())
        finished = [name for name in self.names() if name not in unfinished]
        oldest = clock.stamp(after_s=-days * 86_400)
        surplus = finished[: max(len(finished) - most, 0)]
        aged = [name for name in finished if name < attempt_prefix(oldest)]
        return sorted({*surplus, *aged})

    def remove(self, attempt: str) -> None:
        """The record goes, with all that it tells."""
        shutil.rmtree(self._folder(attempt), ignore_errors=True)

    def _read_all(
        self, names: list[str], tell: Callable[[str], None] | None = None
    ) -> Iterator[AttemptRecord]:
        for name in names:
            try:
                record = self.read(name)
            except NotFound:
                continue  # pruned by another process a moment ago
            except CorruptFile as problem:
                if tell is None:
                    raise
                tell(problem.message)
                continue
            yield record

    def _folder(self, attempt: str) -> str:
        return self._project.ddx(FOLDER, attempt)

    def _begun_ns(self, attempt: str) -> int:
        """Within one second the ids say nothing of the order."""
        try:
            return os.stat(self.path(attempt, INTENT)).st_mtime_ns
        except FileNotFoundError:
            return 0


def earlier_attempts(bead: Bead) -> list[str]:
    """The attempts on this bead that did not land, as its events tell; oldest first."""
    return [
        text_of(happened, "body").partition("\n")[0].removeprefix(ATTEMPT_MARK)
        for happened in events_of(bead.row)
        if text_of(happened, "kind") == ATTEMPT_EVENT
        and text_of(happened, "body").startswith(ATTEMPT_MARK)
    ]


def _is_held(folder: str, clock: Clock) -> bool:
    try:
        with lock_of(folder, clock, create=False):
            return False
    except FileNotFoundError:
        return False
    except Busy:
        return True


def read_attempts(project: Project) -> AttemptRecords:
    """The records of all attempts of a project; each is read when it is asked for."""
    return AttemptRecords(project)


def _not_found(name: str) -> NotFound:
    return NotFound(f"there is no attempt {name!r} here", hint="see: ddx agent attempts")


@value
class PromisedReviews:
    """What became of them, as far as anybody can tell now."""

    owed: tuple[str, ...] = ()
    """Landed, and nobody has looked."""
    void: tuple[str, ...] = ()
    """Nothing of these can land any more, or so little has that nobody wants to look."""
    lost: tuple[str, ...] = ()
    """Their records were pruned: nobody can tell whether they landed, or look at it."""


class OwedReviews:
    """The promises of one project; what changed less lines than `threshold` is not reviewed."""

    def __init__(self, project: Project, *, threshold: int = 0) -> None:
        self._project = project
        self._threshold = threshold

    def promise(self, attempt: str) -> None:
        """If this attempt lands, somebody looks at it."""
        replace(self._path(attempt), (b"\n",))

    def forget(self, attempt: str) -> None:
        """It was looked at, or there is nothing to look at."""
        try:
            os.unlink(self._path(attempt))
        except FileNotFoundError:
            return

    def promised(self) -> list[str]:
        """The attempts that were begun under this promise, oldest first."""
        try:
            names = os.listdir(self._project.ddx(*REVIEWS))
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name[:1].isdigit() and "." not in name)

    def read(self, *, running: Collection[str] = ()) -> PromisedReviews:
        """Of attempts that run anywhere, or wait for their landing, nothing is known yet."""
        names = [name for name in self.promised() if name not in running]
        if not names:
            return PromisedReviews()
        folder = self._project.ddx(*PENDING)
        pending = read_pending(folder) if os.path.isdir(folder) else []  # nearly always none
        waiting = {item.attempt for item in pending}
        records = read_attempts(self._project)
        recorded = {*records.names()}
        owed: list[str] = []
        void: list[str] = []
        lost: list[str] = []
        for attempt in names:
            result = records.landing_of(attempt)
            if result and result.get("completed") and result.get("outcome") == "landed":
                (void if self._is_small(result) else owed).append(attempt)
            elif attempt in waiting:
                continue
            elif attempt not in recorded:
                lost.append(attempt)
            elif os.path.exists(records.path(attempt, RESULT)):  # else a process is at it
                void.append(attempt)
        return PromisedReviews(tuple(owed), tuple(void), tuple(lost))

    def _is_small(self, result: Mapping[str, Any]) -> bool:
        """Below what is reviewed (D-24); where a crash left no count, it is looked at."""
        diffstat = str(result.get("diffstat", ""))
        return bool(diffstat) and changed_lines(diffstat) < self._threshold

    def _path(self, attempt: str) -> str:
        return self._project.ddx(*REVIEWS, attempt)

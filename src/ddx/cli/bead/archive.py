"""`ddx bead archive`"""

from __future__ import annotations

from ddx.cli.place import CLOCK
from ddx.cli.session import open_tracker
from ddx.clock import stamp
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from ddx.tracker.archive import archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def run(*, older_than: str | None, max_size: str | None, json: bool) -> int:
    tracker = open_tracker()
    seconds = _measure("--older-than", older_than, _SECONDS, "30d") if older_than else 0
    size = _measure("--max-size", max_size, _BYTES, "4m") if max_size else None
    before = stamp(CLOCK.now_ns() - seconds * 1_000_000_000) if older_than else ""
    moved: list[str] = []

    def decide(view: Snapshot, now: str) -> Changes:
        changes = archive(view, closed_before=before, max_size=size)
        moved[:] = sorted(changes.archived)
        return changes

    tracker.change(decide)
    if json:
        answer({"archived": moved})
    else:
        count = f"{len(moved)} bead{'' if len(moved) == 1 else 's'}"
        say(f"{count} moved to {tracker.archive_path}" if moved else "nothing to archive")
    return 0


def _measure(flag: str, given: str, units: dict[str, int], example: str) -> int:
    number, unit = given[:-1], given[-1:].lower()
    if given.isascii() and given.isdigit() and flag == "--max-size":
        number, unit = given, "b"
    if not (number.isascii() and number.isdigit()) or unit not in units:
        raise UsageError(f"{flag} wants a number and a unit like {example}, not {given!r}")
    return int(number) * units[unit]


COMMAND = Command(
    "bead archive",
    "Move closed beads that no open bead refers to into the archive file.",
    run,
    "ddx bead archive --older-than 30d",
    flags=(
        Flag("--older-than", "closed at least this long ago: 12h, 30d, 8w"),
        Flag("--max-size", "only until the tracker is this small: 500k, 4m"),
        JSON,
    ),
    schema="bead-archived",
)

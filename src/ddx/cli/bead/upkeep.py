"""`ddx bead init`, `ddx bead archive` and `ddx bead doctor`: set up, keep small, mend."""

from __future__ import annotations

import os
import sys

from ddx.base import INFO, SEVERITIES, UsageError, cut, listed, shown
from ddx.cli.context import CLOCK, here, open_tracker, respond, settings
from ddx.console import JSON, Command, Flag, answer, bold, say
from ddx.tracker import archive, examine, id_prefix, require_tracker, set_up, treat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.base import Finding
    from ddx.tracker import ChangeSet, Fix, Snapshot

SOMETHING_FOUND = 1
MENDED = "mended"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TOLD = ("kind", "severity", "where", "what", "cure", "fixable")
_SHOWN_OF_A_KIND = 50
_LONGEST_SENTENCE = 600


@Command.of(example="ddx bead init", flags=(JSON,), schema="bead-init")
def init(*, json: bool) -> int:
    """Set up a tracker in this repository; what is there already stays as it is."""
    project = here()
    done = set_up(project, open_tracker(project), launcher=_launcher())
    said = done or (f"{project.ddx()} is set up already",)
    return respond({"root": project.root, "done": list(done)}, *said, json=json)


def _launcher() -> str:
    """The program that ran us, by full path: git will call it for merges (T-14)."""
    checkout = os.path.normpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    beside = os.path.join(checkout, "bin", "ddx")
    if os.access(beside, os.X_OK):
        return beside
    return os.path.abspath(sys.argv[0])


@Command.of(
    example="ddx bead archive --older-than 30d",
    flags=(
        Flag("--older-than", "closed at least this long ago: 12h, 30d, 8w"),
        Flag("--max-size", "only until the tracker is this small: 500k, 4m"),
        JSON,
    ),
    schema="bead-archived",
)
def archive_beads(*, older_than: str | None, max_size: str | None, json: bool) -> int:
    """Move closed beads that no open bead refers to into the archive file."""
    tracker = open_tracker()
    seconds = _measure("--older-than", older_than, _SECONDS, "30d") if older_than else 0
    size = _measure("--max-size", max_size, _BYTES, "4m") if max_size else None
    before = CLOCK.stamp(after_s=-seconds) if older_than else ""
    moved: list[str] = []

    def decide(view: Snapshot, now: str) -> ChangeSet:
        changes = archive(view, closed_before=before, max_size=size)
        moved[:] = sorted(changes.archived)
        return changes

    tracker.change(decide)
    count = f"{len(moved)} bead{'' if len(moved) == 1 else 's'}"
    said = f"{count} moved to {tracker.archive_path}" if moved else "nothing to archive"
    return respond({"archived": moved}, said, json=json)


def _measure(flag: str, given: str, units: dict[str, int], example: str) -> int:
    number, unit = given[:-1], given[-1:].lower()
    if given.isascii() and given.isdigit() and flag == "--max-size":
        number, unit = given, "b"
    if not (number.isascii() and number.isdigit()) or unit not in units:
        raise UsageError(f"{flag} wants a number and a unit like {example}, not {given!r}")
    return int(number) * units[unit]


@Command.of(
    example="ddx bead doctor",
    flags=(
        Flag("--fix", "mend broken files; what was there is kept in .ddx/backups", kind="switch"),
        Flag(
            "--bring-back",
            "add beads again that were lost when another program replaced the file",
            kind="switch",
        ),
        JSON,
    ),
    schema="bead-doctor",
)
def doctor(*, fix: bool, bring_back: bool, json: bool) -> int:
    """Look for what is wrong with the tracker's files and beads, and mend it when asked."""
    tracker = open_tracker()
    require_tracker(tracker)
    checks = settings(tracker.project).default_checks
    fixed: tuple[Fix, ...] = ()
    if fix or bring_back:
        fixed = treat(tracker, fix=fix, bring_back=bring_back, new_id=_new_id)
    found = examine(tracker, machine=os.uname().nodename, default_checks=checks)
    if json:
        answer(
            {
                "findings": [{name: getattr(item, name) for name in _TOLD} for item in found],
                "fixed": [dict(item.__dict__) for item in fixed],
            }
        )
    else:
        _print_findings(fixed, found)
    return 0 if all(finding.severity == INFO for finding in found) else SOMETHING_FOUND


def _new_id(old: str) -> str:
    """For a second bead under one id (T-14)."""
    return f"{id_prefix(old.rpartition('-')[0] or old)}-{os.urandom(4).hex()}"


def _print_findings(fixed: Sequence[Fix], found: Sequence[Finding]) -> None:
    blocks = [
        *((MENDED, item.kind, item.where, item.what, "") for item in fixed),
        *((item.severity, item.kind, item.where, item.what, item.cure) for item in found),
    ]
    counts: dict[str, int] = {}
    for word, kind, where, what, cure in blocks:
        name = f"{word} {kind}"
        counts[name] = counts.get(name, 0) + 1
        if counts[name] <= _SHOWN_OF_A_KIND:
            say(bold(word), f"  {_plain(where)}  ({kind})")
            say(f"    {_plain(what)}")
            if cure:
                say(f"    -> {_plain(cure)}")
    for name, count in counts.items():
        if count > _SHOWN_OF_A_KIND:
            say(f"... and {count - _SHOWN_OF_A_KIND} more: {name}; --json has them all")
    say(_summary(fixed, found))


def _summary(fixed: Sequence[Fix], found: Sequence[Finding]) -> str:
    counts = [
        f"{count} {severity}{'s' if count > 1 and severity != INFO else ''}"
        for severity in SEVERITIES
        if (count := sum(finding.severity == severity for finding in found))
    ]
    mended = f"{len(fixed)} mended; " if fixed else ""
    if not counts:
        return f"{mended}the tracker is sound"
    fixable = sum(finding.fixable for finding in found)
    return f"{mended}{listed(counts)}{f'; --fix mends {fixable}' if fixable else ''}"


def _plain(text: str) -> str:
    return shown(cut(text, _LONGEST_SENTENCE), one_line=True)

"""`ddx bead doctor`"""

from __future__ import annotations

import os

from ddx.cli.place import settings
from ddx.cli.session import open_tracker
from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Command, Flag
from ddx.text import cut, listed, shown_on_one_line
from ddx.tracker.doctor.checkup import examine, require_tracker
from ddx.tracker.doctor.links import INFO, SEVERITIES
from ddx.tracker.doctor.treatment import treat
from ddx.tracker.model import id_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.tracker.doctor.links import Finding
    from ddx.tracker.doctor.repair import Fix

SOMETHING_FOUND = 1
MENDED = "mended"
_SHOWN_OF_A_KIND = 50
_LONGEST_SENTENCE = 600


def run(*, fix: bool, bring_back: bool, json: bool) -> int:
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
                "findings": [dict(finding.__dict__) for finding in found],
                "fixed": [dict(item.__dict__) for item in fixed],
            }
        )
    else:
        _print(fixed, found)
    return 0 if all(finding.severity == INFO for finding in found) else SOMETHING_FOUND


def _new_id(old: str) -> str:
    """For a second bead under one id (T-14)."""
    return f"{id_prefix(old.rpartition('-')[0] or old)}-{os.urandom(4).hex()}"


def _print(fixed: Sequence[Fix], found: Sequence[Finding]) -> None:
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
    return shown_on_one_line(cut(text, _LONGEST_SENTENCE))


COMMAND = Command(
    "bead doctor",
    "Look for what is wrong with the tracker's files and beads, and mend it when asked.",
    run,
    "ddx bead doctor",
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

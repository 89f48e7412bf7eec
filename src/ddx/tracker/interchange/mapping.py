"""The fields that every dialect treats alike: names, priority, labels, and which keys are ours."""

from __future__ import annotations

import re

from ddx.tracker.interchange.lens import IMPORTED, same
from ddx.tracker.model import DEFAULT_PRIORITY, PRIORITIES, STATUSES, TYPES, Row, labels_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.tracker.interchange.report import Say


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OUR_KEYS = names(
    """
    id title status priority issue_type owner created_at created_by updated_at labels parent
    description acceptance notes dependencies schema_version
    spec-id refs design verify execution-eligible execution-skip-reason paths budget superseded-by
    replaces queue-rank claimed-at claimed-pid claimed-pid-start claimed-machine claim-id
    retry-after attempts blocked-basis seen-upstream merge-conflicts script closing_commit_sha
    session_id events
    """
)  # T-2

TYPE_ALIASES = {
    "enhancement": "feature",
    "feat": "feature",
    "adr": "decision",
    "dec": "decision",
}
_PRIORITY = re.compile(r"\s*[Pp]?([0-9]{1,9})\s*")


def renamed(found: Row, pairs: Mapping[str, str], say: Say) -> Row:
    """Their fields under our names; where two claim one name, the renamed one has it."""
    row = {key: found[key] for key in found if key not in pairs and key != IMPORTED}
    for key in row:
        if key not in OUR_KEYS:
            say("kept", key, "under its own name")
    for theirs, ours in pairs.items():
        if theirs in found:
            row[ours] = found[theirs]
            say("mapped", theirs, f"to {ours}")
    return row


def fit_words(row: Row, say: Say) -> Row:
    """The row with a priority and labels in our form, and with what is foreign in it told."""
    fitted = dict(row)
    if row.get("priority") is not None and not same(fit_priority(row["priority"]), row["priority"]):
        fitted["priority"] = fit_priority(row["priority"])
        say("changed", "priority", f"{row['priority']!r} to {fitted['priority']}")
    if "labels" in row and not same(list(labels_of(row)), row["labels"]):
        fitted["labels"] = list(labels_of(row))
        say("changed", "labels", "stray spaces and empty labels taken out")
    if (kind := text_of(row, "issue_type")) in TYPE_ALIASES:
        fitted["issue_type"] = TYPE_ALIASES[kind]
        say("changed", "issue_type", f"{kind} to {TYPE_ALIASES[kind]}")
    elif kind not in ("", *TYPES):
        say("kept", "issue_type", f"{kind!r} is not one of ours, and stays")
    if (status := text_of(row, "status")) not in ("", *STATUSES):
        say("kept", "status", f"{status!r} is not one of ours: shown, never ready (T-4)")
    return fitted


def given_names(row: Row, pairs: Mapping[str, str]) -> Row:
    """Our fields under their names; a key of ours that means another thing there is left out."""
    theirs = {ours: name for name, ours in pairs.items()}
    return {theirs.get(key, key): row[key] for key in row if key in theirs or key not in pairs}


def fit_priority(found: Any) -> int:
    """The nearest of ours; what is no number at all gets the default (T-2)."""
    if isinstance(found, str) and (digits := _PRIORITY.fullmatch(found)):
        found = int(digits[1])
    if not isinstance(found, int) or isinstance(found, bool):
        return DEFAULT_PRIORITY
    return min(max(found, PRIORITIES[0]), PRIORITIES[-1])

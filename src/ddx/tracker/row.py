"""What a bead is: its words, its row, and how a row is read with tolerance (T-2 to T-5)."""

from __future__ import annotations

from _blake2 import blake2b

from ddx.base import UsageError, loads, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Row: TypeAlias = dict[str, Any]
    """One bead as it stands in the file; keys we do not know are kept (T-2)."""
else:
    Row = dict
STATUSES = ("open", "in_progress", "closed", "blocked", "proposed", "cancelled")
TYPES = ("task", "bug", "feature", "chore", "epic", "decision")
PRIORITIES = (0, 1, 2, 3, 4)
DEFAULT_PRIORITY = 2
SCHEMA_VERSION = 1
FINISHED = frozenset({"closed", "cancelled"})
BLOCKING_EDGES = frozenset({"blocks", "depends_on", "conditional-blocks", "waits-for"})  # D-14
EDGE_KEYS = ("issue_id", "depends_on_id", "type", "created_at", "created_by", "metadata")  # T-1
CLAIM_KEYS = ("claim-id", "claimed-at", "claimed-machine", "claimed-pid", "claimed-pid-start")
RUNNER = "helix"
"""The owner that marks a claim by a runner; recovery touches no other (T-24)."""

# D-13: what the queue may hand to an agent when the bead itself does not say.
NEVER_EXECUTED_TYPES = frozenset({"epic", "decision"})
NEVER_EXECUTED_LABELS = frozenset(
    {"kind:planning", "kind:escalation", "kind:gap", "kind:refinement", "kind:review"}
)
_ID_MARKS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_ID_LENGTH = range(2, 65)


def text_of(row: Row, key: str) -> str:
    """The value as text; absent, null and empty are the same (T-5)."""
    found = row.get(key)
    if isinstance(found, str):
        return found
    return "" if found is None or isinstance(found, dict | list) else str(found)


def link_of(row: Row, key: str) -> str:
    """The id this row points at under `key`, or an empty string."""
    return text_of(row, key).strip()


def links_of(row: Row, key: str) -> tuple[str, ...]:
    """The ids under `key`, which may be one id, several joined by commas, or a list."""
    found = row.get(key)
    listed = found if isinstance(found, list) else text_of(row, key).split(",")
    return tuple(link for item in listed if isinstance(item, str) and (link := item.strip()))


def texts_of(row: Row, key: str) -> tuple[str, ...]:
    """A list of texts without its stray spaces and empties; a lone text counts as one (T-5)."""
    found = row.get(key)
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list):
        return ()
    return tuple(text for item in found if isinstance(item, str) and (text := item.strip()))


def labels_of(row: Row) -> tuple[str, ...]:
    return texts_of(row, "labels")


def status_of(row: Row) -> str:
    return text_of(row, "status") or "open"


def type_of(row: Row) -> str:
    return text_of(row, "issue_type") or "task"


def priority_of(row: Row) -> int:
    found = row.get("priority")
    if isinstance(found, int) and not isinstance(found, bool) and found in PRIORITIES:
        return found
    return DEFAULT_PRIORITY


def rank_of(row: Row) -> int | None:
    found = row.get("queue-rank", row.get("queue_rank"))
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def edges_of(row: Row) -> tuple[Row, ...]:
    found = row.get("dependencies")
    if not isinstance(found, list):
        return ()
    return tuple(
        edge for edge in found if isinstance(edge, dict) and link_of(edge, "depends_on_id")
    )


def edge_type(edge: Row) -> str:
    return text_of(edge, "type") or "blocks"


def blockers_of(row: Row) -> tuple[str, ...]:
    """The ids this bead waits for, each once: blocking edges only (D-14)."""
    edges = (edge for edge in edges_of(row) if edge_type(edge) in BLOCKING_EDGES)
    return tuple(dict.fromkeys(link_of(edge, "depends_on_id") for edge in edges))


def events_of(row: Row) -> tuple[Row, ...]:
    found = row.get("events")
    events = found if isinstance(found, list) else ()
    return tuple(event for event in events if isinstance(event, dict))


def is_eligible(row: Row) -> bool:
    """May an agent be handed this bead? The bead's own word, else D-13."""
    said = row.get("execution-eligible")
    if isinstance(said, bool):
        return said
    if isinstance(said, str) and said.strip().lower() in ("true", "false"):
        return said.strip().lower() == "true"
    return eligible_by_default(type_of(row), labels_of(row))


def eligible_by_default(issue_type: str, labels: tuple[str, ...]) -> bool:
    return issue_type not in NEVER_EXECUTED_TYPES and not any(
        label in NEVER_EXECUTED_LABELS or label.startswith("action:") for label in labels
    )


def holder_of(row: Row) -> str:
    """Who has it, in words: `helix (pid 812 on tower) since 2026-01-02T03:04:05Z`."""
    pid = f"pid {row['claimed-pid']}" if row.get("claimed-pid") else ""
    place = " on ".join(filter(None, (pid, text_of(row, "claimed-machine"))))
    owner = text_of(row, "owner") or text_of(row, "assignee") or "someone"
    since = text_of(row, "claimed-at")
    return f"{owner}{f' ({place})' if place else ''}{f' since {since}' if since else ''}"


def require_new_id(bead_id: str) -> str:
    """The id, if it may be written for the first time; ids that stand in a file are taken (T-3)."""
    wrong = ""
    if len(bead_id) not in _ID_LENGTH:
        wrong = "must have 2 to 64 characters"
    elif not bead_id[0].isalnum() or not _ID_MARKS.issuperset(bead_id):
        wrong = "may hold only letters, digits, '.', '_', '-' and begins with a letter or digit"
    elif ".." in bead_id or bead_id.endswith(".lock"):
        wrong = "may not hold '..' or end in '.lock'"
    if wrong:
        raise UsageError(f"bead id {bead_id!r} {wrong}", hint="for example: app-1a2b3c4d")
    return bead_id


def id_prefix(name: str) -> str:
    """A prefix for new ids made from a folder's name or a setting (T-3)."""
    kept = "".join(mark if mark in _ID_MARKS else "-" for mark in name).strip("._-")
    while ".." in kept:
        kept = kept.replace("..", ".")
    return kept[:48].strip("._-") or "bead"


def typed(bead_id: str) -> str:
    """The id as a part of a command; one that a shell could misread is not repeated (T-23)."""
    plain = bead_id[:1] != "-" and _ID_MARKS.issuperset(bead_id.replace("-", ""))
    return bead_id if plain else "ID"


_EDGE_ORDER = {key: place for place, key in enumerate(EDGE_KEYS)}


def decode(line: bytes) -> Row:
    """The row in one line, or ValueError in words."""
    try:
        row = loads(line.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise ValueError(f"not UTF-8 at byte {problem.start + 1}") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    bead_id = row.get("id")
    if not isinstance(bead_id, str) or not bead_id:
        raise ValueError("no id")
    return row


def encode(row: Row) -> bytes:
    """The line for a row, without its newline: keys sorted, edges in their own order."""
    in_order = {key: row[key] for key in sorted(row)}
    if isinstance(in_order.get("dependencies"), list):
        in_order["dependencies"] = [_in_edge_order(edge) for edge in in_order["dependencies"]]
    return to_bytes(in_order)


def revision_of(line: bytes) -> str:
    """The hash of a row as it stands in the file (T-10)."""
    return blake2b(line, digest_size=8).hexdigest()


def _in_edge_order(edge: Any) -> Any:
    if not isinstance(edge, dict):
        return edge
    return {key: edge[key] for key in sorted(edge, key=lambda key: _EDGE_ORDER.get(key, 99))}

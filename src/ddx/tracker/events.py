"""What happened to a bead, in order: short in the row, beside it once closed (T-6)."""

from __future__ import annotations

from ddx.instants import sort_key
from ddx.text import require_clean
from ddx.tracker.codec import revision_of
from ddx.tracker.model import Row, events_of, text_of

LARGEST_TEXT = 65_536
_CUT = "\n[... {} bytes cut here ...]\n"
_LONGEST_NAME = 120


def event(
    kind: str, *, summary: str, at: str, body: str = "", actor: str = "", source: str = "ddx"
) -> Row:
    """An event in its stored form; a text too large keeps its head and tail."""
    return {
        "actor": require_clean(actor, what="actor"),
        "body": capped(require_clean(body, what="body")),
        "created_at": at,
        "kind": require_clean(kind, what="kind"),
        "source": require_clean(source, what="source"),
        "summary": capped(require_clean(summary, what="summary")),
    }


def with_event(row: Row, happened: Row) -> Row:
    return {**row, "events": [*events_of(row), happened]}


def joined(*parts: tuple[Row, ...]) -> tuple[Row, ...]:
    """Events of a row and of its attachment, each once, in the order they were written."""
    seen = []
    for part in parts:
        for happened in part:
            if happened not in seen:
                seen.append(happened)
    return tuple(sorted(seen, key=lambda happened: sort_key(text_of(happened, "created_at"))))


def capped(text: str) -> str:
    """At most 64 KiB as UTF-8; the cut is named in the text."""
    content = text.encode("utf-8", "surrogatepass")
    if len(content) <= LARGEST_TEXT:
        return text
    room = LARGEST_TEXT - len(_CUT.format(10**18))
    head = content[: room * 2 // 3].decode("utf-8", "ignore")
    tail = content[len(content) - room // 3 :].decode("utf-8", "ignore")
    kept = len(head.encode()) + len(tail.encode())
    return f"{head}{_CUT.format(len(content) - kept)}{tail}"


def attachment_name(bead_id: str) -> str:
    """A folder name for a bead; an id that stands in the file may hold anything (T-3)."""
    safe = "".join(
        mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else f"%{ord(mark):06x}"
        for mark in bead_id
    )
    if len(safe) > _LONGEST_NAME:
        safe = f"{safe[:_LONGEST_NAME]}%{revision_of(bead_id.encode('utf-8', 'surrogatepass'))}"
    return f"%{ord('.'):06x}{safe[1:]}" if safe.startswith(".") else safe

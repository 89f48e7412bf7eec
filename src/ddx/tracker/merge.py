"""Three trackers become one, bead by bead, and no side is lost (T-14).

A row that one side left alone is the other side's row, to the letter. Deleted here and left alone
there: deleted. Deleted here and changed there: kept, since a deletion is easily repeated. In a row
that both sides changed, a field that one side left alone is the other's. Where both changed it:

- Labels, dependencies, events, refs, verify and comments are sets: what either side added is in,
  what either side removed is out.
- `updated_at` is the later instant.
- The standing (status, holder, and what was said at the closing or the blocking) goes as a whole,
  by `STRONGEST_FIRST`. Within one status a new holder beats an old one, then the earlier claim
  wins, then the smaller text: two machines that merge each other arrive at the same bead.
- Any other field keeps our value and waits for a person, with theirs in `merge-conflicts`.

What is settled without a person, a standing or one edge with two sets of details (the older edge
wins), leaves the values that yielded in an event of kind `merge`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from json import dumps

from ddx.base import NotFound, Refused, listed, value
from ddx.tracker.row import CLAIM_KEYS, Row, edge_type, holder_of, link_of, status_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal, TypeAlias

    MergeSide: TypeAlias = Literal["ours", "theirs", "both"]

CONFLICTS = "merge-conflicts"
SETS = frozenset({"labels", "dependencies", "events", "refs", "verify", "comments", CONFLICTS})
BEAD_LINKS = ("parent", "superseded-by", "replaces")
LINKS = frozenset({*BEAD_LINKS, "spec-id"})
HOLDER_KEYS = ("owner", "assignee", *CLAIM_KEYS, "claimed-session", "claimed-worktree")
CLOSING_KEYS = (
    "close_reason",
    "closed_at",
    "closed_by_session",
    "closing_commit_sha",
    "session_id",
)
BLOCKING_KEYS = ("blocked-basis", "blocked-reason")
STANDING_KEYS = ("status", *HOLDER_KEYS, *CLOSING_KEYS, *BLOCKING_KEYS)

UNKNOWN = "deferred"
STRONGEST_FIRST = ("closed", "cancelled", "blocked", UNKNOWN, "in_progress", "open", "proposed")
"""An end beats a stop, a stop beats work, and work further along beats work less far.

A word we do not know is a stop like `deferred`: such a bead is never ready (T-4)."""

_DRAWS = 1000
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_AFTER_ALL = datetime.max.replace(tzinfo=UTC)


@value
class FieldConflict:
    """Both sides changed a field: what stands there, and what waits; None where it was removed."""

    bead: str
    field: str
    kept: Any
    other: Any


@value
class RenamedBead:
    """Two beads were made under one id: theirs has a new one."""

    old: str
    new: str


@value
class MergeResult:
    """`conflicts` are new ones, each waiting for a person in its row's `merge-conflicts`."""

    rows: dict[str, Row]
    conflicts: tuple[FieldConflict, ...]
    renamed: tuple[RenamedBead, ...]


def merge_trackers(
    base: Mapping[str, Row],
    ours: Mapping[str, Row],
    theirs: Mapping[str, Row],
    *,
    new_id: Callable[[str], str],
) -> MergeResult:
    """One tracker with all that either side did since `base`, in the order of ids."""
    names = _new_names(base, ours, theirs, new_id)
    if names:
        theirs = {names.get(bead, bead): _renamed(row, names) for bead, row in theirs.items()}
    rows: dict[str, Row] = {}
    conflicts: list[FieldConflict] = []
    for bead in sorted(base.keys() | ours.keys() | theirs.keys()):
        row, unsettled = _merge_row(bead, base.get(bead), ours.get(bead), theirs.get(bead))
        if row is not None:
            rows[bead] = row
        conflicts += unsettled
    return MergeResult(
        rows, tuple(conflicts), tuple(RenamedBead(old, new) for old, new in names.items())
    )


def resolve(row: Row, *, field: str, take: Literal["ours", "theirs"]) -> Row:
    """The row with the oldest conflict in `field` settled; `ours` leaves the field as it stands."""
    waiting = _elements(row, CONFLICTS)
    fields = [text_of(entry, "field") if isinstance(entry, dict) else "" for entry in waiting]
    if field not in fields:
        named = listed(sorted({name for name in fields if name}))
        raise NotFound(
            f"bead {text_of(row, 'id')} has no merge conflict in {field!r}"
            + (f"; in conflict: {named}" if named else ", nor in any other field"),
            hint="name one of these with --field" if named else "",
        )
    entry = waiting.pop(fields.index(field))
    settled = {**row, CONFLICTS: waiting}
    if not waiting:
        del settled[CONFLICTS]
    if take == "theirs":
        settled.pop(field, None)
        if "theirs" in entry:
            settled[field] = entry["theirs"]
    return settled


# Two beads under one id


def _new_names(
    base: Mapping[str, Row],
    ours: Mapping[str, Row],
    theirs: Mapping[str, Row],
    new_id: Callable[[str], str],
) -> dict[str, str]:
    taken = {*base, *ours, *theirs}
    names: dict[str, str] = {}
    for bead in sorted((ours.keys() & theirs.keys()) - base.keys()):
        if not _same_creation(ours[bead], theirs[bead]):
            names[bead] = _draw(bead, taken, new_id)
            taken.add(names[bead])
    return names


def _same_creation(ours: Row, theirs: Row) -> bool:
    """A false alarm makes one bead two, for all to see; a false match would mix two into one."""
    return all(_field(ours, key) == _field(theirs, key) for key in ("created_at", "title"))


def _draw(bead: str, taken: set[str], new_id: Callable[[str], str]) -> str:
    """A free id in place of `bead`; ids are redrawn on collision (T-18)."""
    for _ in range(_DRAWS):
        drawn = new_id(bead)
        if drawn not in taken:
            return drawn
    raise Refused(
        f"two beads have the id {bead}, and {_DRAWS} draws found no free id for theirs",
        hint="set a new bead.prefix in .ddx/config.yaml and merge again",
    )


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    """A row of their side that calls renamed beads by their new ids, itself among them."""
    return _followed(row, ("id", *BEAD_LINKS), names) | _with_edges(
        row, lambda edge: _followed(edge, ("issue_id", "depends_on_id"), names)
    )


def _followed(row: Row, keys: Iterable[str], names: Mapping[str, str]) -> Row:
    return row | {key: _follow(found, names) for key, found in _only(row, keys).items()}


def _follow(found: Any, names: Mapping[str, str]) -> Any:
    """The new ids in one id, in ids with commas between them, or in a list of ids."""
    if isinstance(found, list):
        return [_follow(item, names) for item in found]
    if not isinstance(found, str):
        return found
    return names.get(found.strip()) or ",".join(
        names.get(part.strip(), part) for part in found.split(",")
    )


# One bead


def _changed_by(base: str, ours: str, theirs: str) -> MergeSide:
    """Whose word counts: `both` only where both changed it and they differ."""
    if theirs in (ours, base):
        return "ours"
    return "theirs" if ours == base else "both"


def _merge_row(
    bead: str, base: Row | None, ours: Row | None, theirs: Row | None
) -> tuple[Row | None, list[FieldConflict]]:
    side = _changed_by(_content(base), _content(ours), _content(theirs))
    if side != "both":
        return (theirs if side == "theirs" else ours), []
    if ours is None or theirs is None:
        return (theirs if ours is None else ours), []
    return _merge_fields(bead, base or {}, ours, theirs)


def _merge_fields(bead: str, base: Row, ours: Row, theirs: Row) -> tuple[Row, list[FieldConflict]]:
    merged, notes = _merge_standing(base, ours, theirs)
    merged |= _later_update(ours, theirs)
    conflicts: list[FieldConflict] = []
    waiting: list[Row] = []
    for key in sorted({*base, *ours, *theirs}.difference(STANDING_KEYS, ["updated_at"])):
        side = _changed_by(_field(base, key), _field(ours, key), _field(theirs, key))
        if side == "both" and key in SETS:
            elements, yielded = _merge_elements(key, base, ours, theirs)
            notes += yielded
            if elements or (key in ours and key in theirs):
                merged[key] = elements
            continue
        merged |= _only(theirs if side == "theirs" else ours, [key])
        if side == "both":
            conflicts.append(FieldConflict(bead, key, ours.get(key), other=theirs.get(key)))
            waiting.append(_entry(key, base=base, theirs=theirs))
    at = text_of(merged, "updated_at")
    merged |= _with_more(merged, CONFLICTS, waiting)
    merged |= _with_more(merged, "events", [{**note, "created_at": at} for note in notes])
    merged |= _with_edges(merged, lambda edge: {**edge, "issue_id": bead})
    return merged, conflicts


def _entry(key: str, **sides: Row) -> Row:
    return {"field": key} | {name: row[key] for name, row in sides.items() if key in row}


def _later_update(ours: Row, theirs: Row) -> Row:
    def age(row: Row) -> tuple[datetime, str]:
        return _instant(row, "updated_at", otherwise=_BEFORE_ALL), text_of(row, "updated_at")

    return _only(max(ours, theirs, key=age), ["updated_at"])


def _merge_standing(base: Row, ours: Row, theirs: Row) -> tuple[Row, list[Row]]:
    """One side's standing, whole, and a note of the other one if that had to yield."""
    side = _changed_by(_standing(base), _standing(ours), _standing(theirs))
    if side != "both":
        return _only(theirs if side == "theirs" else ours, STANDING_KEYS), []

    def weakness(row: Row) -> tuple[int, bool, datetime, str]:
        status = status_of(row)
        return (
            STRONGEST_FIRST.index(status if status in STRONGEST_FIRST else UNKNOWN),
            _content(_only(row, HOLDER_KEYS)) == _content(_only(base, HOLDER_KEYS)),
            _instant(row, "claimed-at", otherwise=_AFTER_ALL),
            _standing(row),
        )

    kept, yielded = sorted((ours, theirs), key=weakness)
    values = {
        key: yielded.get(key) for key in STANDING_KEYS if _field(kept, key) != _field(yielded, key)
    }
    summary = f"kept {_in_words(kept)}; the other side had {_in_words(yielded)}"
    return _only(kept, STANDING_KEYS), [_note(summary, values)]


def _standing(row: Row) -> str:
    return _content({key: row[key] for key in STANDING_KEYS if row.get(key) not in (None, "")})


def _in_words(row: Row) -> str:
    status = status_of(row)
    return f"{status} by {holder_of(row)}" if status == "in_progress" else status


def _note(summary: str, values: Row) -> Row:
    """An event (T-6) that keeps what yielded; it names no side, so both machines write the same."""
    return {
        "kind": "merge",
        "summary": summary,
        "body": dumps(values, ensure_ascii=False, sort_keys=True),
        "actor": "ddx",
        "source": "ddx bead merge",
    }


# One set


def _merge_elements(key: str, base: Row, ours: Row, theirs: Row) -> tuple[list[Any], list[Row]]:
    """Our elements in our order, then theirs; and a note of every edge that had to yield."""
    before, here, there = (
        {_identity(key, element): element for element in _elements(row, key)}
        for row in (base, ours, theirs)
    )
    elements: list[Any] = []
    notes: list[Row] = []
    for name in dict.fromkeys((*here, *there)):
        kept, yielded = _merge_element(before.get(name), here.get(name), there.get(name))
        elements += [] if kept is None else [kept]
        notes += yielded
    return elements, notes


def _merge_element(base: Any, ours: Any, theirs: Any) -> tuple[Any, list[Row]]:
    side = _changed_by(_trimmed(base), _trimmed(ours), _trimmed(theirs))
    if side == "both" and ours is not None and theirs is not None:
        # Only edges come here: every other element is its own identity.
        kept, yielded = sorted((ours, theirs), key=_edge_age)
        summary = f"kept the older edge to {link_of(kept, 'depends_on_id')}"
        return kept, [_note(summary, yielded)]
    return (theirs if side == "theirs" or (side == "both" and ours is None) else ours), []


def _identity(key: str, element: Any) -> str:
    if key == "dependencies" and _is_edge(element):
        return _content([link_of(element, "depends_on_id"), edge_type(element)])
    return _trimmed(element)


def _edge_age(edge: Row) -> tuple[datetime, str]:
    return _instant(edge, "created_at", otherwise=_AFTER_ALL), _content(edge)


def _with_edges(row: Row, change: Callable[[Row], Row]) -> Row:
    edges = row.get("dependencies")
    if not isinstance(edges, list):
        return {}
    return {"dependencies": [change(edge) if _is_edge(edge) else edge for edge in edges]}


def _is_edge(element: Any) -> bool:
    return isinstance(element, dict) and bool(link_of(element, "depends_on_id"))


def _with_more(row: Row, key: str, more: list[Row]) -> Row:
    elements = _elements(row, key)
    known = {_content(element) for element in elements}
    fresh = [element for element in more if _content(element) not in known]
    return {key: elements + fresh} if fresh else {}


def _elements(row: Row, key: str) -> list[Any]:
    """The list under `key`; anything else that stands there counts as one element (T-5)."""
    found = row.get(key)
    if isinstance(found, list):
        return list(found)
    return [] if found in (None, "") else [found]


# What is compared


def _content(anything: Any) -> str:
    """Equal for equal JSON, whatever the order of keys; `true` is not 1 here."""
    return dumps(anything, sort_keys=True)


def _field(row: Row, key: str) -> str:
    """The content of a field; a link that is empty is no link (T-5)."""
    if key not in row or (key in LINKS and row[key] in (None, "")):
        return ""
    return _content(row[key])


def _trimmed(element: Any) -> str:
    """The content of an element of a set; stray spaces make no other label (T-5)."""
    return _content(element.strip() if isinstance(element, str) else element)


def _only(row: Row, keys: Iterable[str]) -> Row:
    return {key: row[key] for key in keys if key in row}


def _instant(row: Row, key: str, *, otherwise: datetime) -> datetime:
    try:
        instant = datetime.fromisoformat(text_of(row, key).strip().upper())
    except ValueError:
        return otherwise
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)

"""Two ways of writing one bead, and how a trip between them loses nothing.

A dialect maps what both sides have a word for: `into` makes a row of ours, `out` an object of
theirs. Neither is complete, so each side carries the other's remainder, the few fields that its
own mapping would not bring back:

- ours in their object, where the dialect's `wrap` puts it (metadata.ddx, `ddx`, a comment);
- theirs in our row, under `imported`.

A remainder is put back only where it makes no difference on the other side. So what somebody
changed over there in the meantime wins over what we had kept. Each field that did not simply fit
is told in a note.
"""

from __future__ import annotations

import re
from json import dumps

from ddx.base import value, word_set
from ddx.tracker.row import DEFAULT_PRIORITY, PRIORITIES, STATUSES, TYPES, Row, labels_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    Say: TypeAlias = Callable[[str, str, str], None]
    """Takes a note's kind, field and detail, in words."""


IMPORTED = "imported"
"""The key of ours for what another tracker said and our words do not."""

REMAINDER = "ddx"
"""The key of ours in their objects."""

OUR_KEYS = word_set(
    """
    id title status priority issue_type owner created_at created_by updated_at labels parent
    description acceptance notes dependencies schema_version
    spec-id refs design verify execution-eligible execution-skip-reason paths budget superseded-by
    replaces queue-rank claimed-at claimed-pid claimed-pid-start claimed-machine claim-id
    retry-after attempts blocked-basis seen-upstream merge-conflicts script closing_commit_sha
    session_id events
    """
)  # T-2

TYPE_ALIASES = {"enhancement": "feature", "feat": "feature", "adr": "decision", "dec": "decision"}
_PRIORITY = re.compile(r"\s*[Pp]?([0-9]{1,9})\s*")
_PARTS: dict[str, type] = {"set": dict, "same": list, "unset": list, "from": str, "id": str}
_PLAIN = (str, int, bool)
_ABSENT = object()


@value
class ImportNote:
    """What became of one field; `kind` is mapped, kept, skipped or changed.

    `id` is the bead's, or the place in the file for what never became a bead; `field` is `row`
    where the note is about all of it."""

    id: str
    kind: str
    field: str
    detail: str


@value
class ImportedRows:
    """`renamed` holds (old, new) for ids that may not stand in a tracker of ours (T-3)."""

    rows: tuple[Row, ...]
    notes: tuple[ImportNote, ...]
    renamed: tuple[tuple[str, str], ...] = ()


@value
class ImportPlan:
    """What an import would do: add the new rows, leave all others as they stand."""

    new: tuple[Row, ...]
    same: tuple[str, ...]
    clashes: tuple[str, ...]
    notes: tuple[ImportNote, ...]


def silent(kind: str, field: str, detail: str) -> None:
    """For a mapping made only to compare."""


def admit_all(found: Row, prefix: str, say: Say) -> Row | str:
    return found


def everything(found: Row) -> Row:
    return found


@value
class Dialect:
    """One tracker's way of writing a bead.

    `admit` makes the object ready for `into`, or says in words why it is no bead; the text it
    takes is the prefix of our ids.
    `lasting` leaves of their object what they would still have after taking it in."""

    name: str
    into: Callable[[Row, Say], Row]
    out: Callable[[Row], Row]
    wrap: Callable[[Row, Row], Row]
    unwrap: Callable[[Row], tuple[Row, Row]]
    admit: Callable[[Row, str, Say], Row | str] = admit_all
    lasting: Callable[[Row], Row] = everything
    always_wraps: bool = False
    keeps_theirs: bool = True


def read(dialect: Dialect, found: Row, say: Say) -> Row:
    """Their object as our row, our remainder put back."""
    bare, ours = dialect.unwrap(found)
    row = dialect.into(bare, say)
    if dialect.keeps_theirs:
        row = _keeping_theirs(dialect, row, bare, say)
    if not ours:
        return row
    wanted = dialect.lasting(dialect.out(row))

    def drift(candidate: Row) -> set[str]:
        return differences(dialect.lasting(dialect.out(candidate)), wanted)

    restored = put_back(row, ours, row, drift)
    if names := differences(row, restored):
        say("mapped", "ddx", f"our own export brought back {', '.join(sorted(names))}")
    return restored


def write(dialect: Dialect, row: Row) -> Row:
    """Our row as their object, their remainder put back and ours added where it is needed."""
    plain = row
    found = dialect.out(row)
    theirs: Any = row.get(IMPORTED)
    if is_remainder(theirs) and theirs.get("from") == dialect.name:
        plain = {key: row[key] for key in row if key != IMPORTED}

        def drift(candidate: Row) -> set[str]:
            return differences(dialect.into(candidate, silent), plain)

        found = put_back(found, theirs, plain, drift)
    if not dialect.always_wraps and same(read(dialect, found, silent), row):
        return found
    bare, _ = dialect.unwrap(dialect.wrap(found, {"set": {}, "id": row["id"]}))
    ours = remainder(read(dialect, dialect.lasting(bare), silent), row)
    if dialect.always_wraps:
        ours["id"] = row["id"]
    return dialect.wrap(bare, ours) if ours else bare


def _keeping_theirs(dialect: Dialect, row: Row, bare: Row, say: Say) -> Row:
    theirs = remainder(dialect.out(row), bare, beside=row)
    for name in theirs.get("set", ()):
        say("kept", name, f"as it was, in {IMPORTED}")
    return {**row, IMPORTED: {"from": dialect.name, **theirs}} if theirs else row


def wrap_beside(found: Row, rest: Row) -> Row:
    """Our remainder as one more field, for a tracker that has no better place."""
    return {**found, REMAINDER: rest}


def unwrap_beside(found: Row) -> tuple[Row, Row]:
    if not is_remainder(found.get(REMAINDER)):
        return found, {}
    return {key: found[key] for key in found if key != REMAINDER}, found[REMAINDER]


# The fields that every dialect treats alike


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
    fitted = with_fit_priority(row, say)
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


def with_fit_priority(row: Row, say: Say) -> Row:
    """A new row whose priority, where it has one, is in our form."""
    said = row.get("priority")
    if said is None or same(fitting := fit_priority(said), said):
        return dict(row)
    say("changed", "priority", f"{said!r} to {fitting}")
    return {**row, "priority": fitting}


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


# Remainders


def remainder(have: Row, want: Row, *, beside: Row | None = None) -> Row:
    """What turns `have` into `want`; a value that stands `beside` under its name is only named."""
    near = beside or {}
    rest: dict[str, Any] = {"set": {}, "same": [], "unset": []}
    for name in sorted(differences(have, want)):
        if name not in want:
            rest["unset"].append(name)
        elif name in near and same(near[name], want[name]):
            rest["same"].append(name)
        else:
            rest["set"][name] = want[name]
    return {part: rest[part] for part in rest if rest[part]}


def is_remainder(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and bool(found)
        and all(part in _PARTS and isinstance(found[part], _PARTS[part]) for part in found)
        and all(isinstance(name, str) for part in ("same", "unset") for name in found.get(part, ()))
    )


def put_back(base: Row, rest: Row, beside: Row, drift: Callable[[Row], set[str]]) -> Row:
    """`base` with the remainder's values: all of them, else each that makes no field drift."""
    whole = base
    for name, found in _steps(rest, beside):
        whole = _with(whole, name, found)
    least = drift(base)
    if drift(whole) <= least:
        return whole
    for name, found in _steps(rest, beside):
        candidate = _with(base, name, found)
        if (now := drift(candidate)) <= least:  # a subset
            base, least = candidate, now
    return base


def _steps(rest: Row, beside: Row) -> Iterator[tuple[str, Any]]:
    """Each name with its value; a remainder never says which bead it belongs to."""
    steps = {
        **dict.fromkeys(rest.get("unset", ()), _ABSENT),
        **{name: beside.get(name, _ABSENT) for name in rest.get("same", ())},
        **rest.get("set", {}),
    }
    for name, found in steps.items():
        if name != "id":
            yield name, found


def _with(fields: Row, name: str, found: Any) -> Row:
    if found is _ABSENT:
        return {key: fields[key] for key in fields if key != name}
    return {**fields, name: found}


def differences(one: Row, other: Row) -> set[str]:
    """The names under which two objects differ."""
    return {
        name
        for name in one.keys() | other.keys()
        if not same(one.get(name, _ABSENT), other.get(name, _ABSENT))
    }


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: for Python 1 and true are equal, in a file they are not."""
    if one is other:
        return True
    if type(one) in _PLAIN or one is _ABSENT or other is _ABSENT:
        return type(one) is type(other) and bool(one == other)
    return bool(one == other) and dumps(one, sort_keys=True) == dumps(other, sort_keys=True)

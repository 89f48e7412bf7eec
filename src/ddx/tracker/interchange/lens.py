"""Two ways of writing one bead, and how a trip between them loses nothing.

A dialect maps what both sides have a word for: `into` makes a row of ours, `out` an object of
theirs. Neither is complete, so each side carries the other's remainder, the few fields that its
own mapping would not bring back:

- ours in their object, where the dialect's `wrap` puts it (metadata.ddx, `ddx`, a comment);
- theirs in our row, under `imported`.

A remainder is put back only where it makes no difference on the other side. So what somebody
changed over there in the meantime wins over what we had kept.
"""

from __future__ import annotations

from json import dumps

from ddx.tracker.interchange.report import silent
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ddx.tracker.interchange.report import Say
    from ddx.tracker.model import Row

IMPORTED = "imported"
"""The key of ours for what another tracker said and our words do not."""

REMAINDER = "ddx"
"""The key of ours in their objects."""

_PARTS: dict[str, type] = {"set": dict, "same": list, "unset": list, "from": str, "id": str}
_PLAIN = (str, int, bool)
_ABSENT = object()


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

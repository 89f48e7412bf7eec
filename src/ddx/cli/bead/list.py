"""`ddx bead list`; a value that no bead could have is an error (T-22)."""

from __future__ import annotations

from ddx.base import UsageError, listed, sort_key
from ddx.cli.bead.rows import HEADS, answer_rows, cells, lines_of_rows, listed_row, show_beads
from ddx.cli.context import open_tracker, tell
from ddx.console import JSON, Command, Flag, table
from ddx.tracker import ORDER_HEAD, STATUSES, TYPES, in_queue_order, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ddx.tracker import Snapshot

SORTS = ("queue", "id", "priority", "created", "updated", "status", "title")
_SEARCHED = ("id", "title", "description", "acceptance", "notes", "design")


@Command.of(
    example="ddx bead list --status open --label area:login",
    flags=(
        Flag("--status", "with this status; several by commas", many=True),
        Flag("--label", "with this label; several: with all of them", many=True),
        Flag("--type", "of this type; several by commas", many=True),
        Flag("--parent", "directly below this bead"),
        Flag("--spec-id", "governed by this document"),
        Flag("--owner", "held by this owner", also="--assignee"),
        Flag("--where", "whose field has this value, as name=value", many=True),
        Flag("--search", "whose title, description, acceptance or notes hold this text"),
        Flag("--limit", "at most this many", kind="number"),
        Flag("--sort", "the order", kind="choice", choices=SORTS, default="queue"),
        Flag("--all", "the archive too", kind="switch"),
        JSON,
        Flag("--jsonl", "answer as JSON, a bead a line", kind="switch"),
    ),
    schema="bead-list",
)
def run(*, limit: int | None, sort: str, all: bool, json: bool, jsonl: bool, **values: Any) -> int:
    """List beads, by any of their fields."""
    tracker = open_tracker()
    view = tracker.snapshot()
    places = matching(view, values, sort=sort)[:limit]
    archive = tracker.archive() if all else None
    if archive is None:
        none = "no bead matches" if len(view.columns) else "no beads yet: ddx bead create 'a title'"
        return show_beads(view, places, json=json, jsonl=jsonl, none=none)
    moved = [n for n in matching(archive, values, sort=sort) if archive.columns.ids[n] not in view]
    moved = moved[:limit]
    if not json and not jsonl:
        table(HEADS, [cells(view, n) for n in places] + [cells(archive, n) for n in moved])
        return 0
    rows = [listed_row(view, n) for n in places]
    rows += [listed_row(archive, n, archived=True) for n in moved]
    if json:
        answer_rows(rows)
    else:
        lines_of_rows(rows)
    return 0


def matching(view: Snapshot, values: dict[str, Any], *, sort: str) -> list[int]:
    """The places of the beads that pass every filter, in the order asked for."""
    columns = view.columns
    places: Iterable[int] = range(len(columns))
    for passes in _filters(view, values):
        places = [n for n in places if passes(n)]
    return _sorted(view, list(places), sort)


def _filters(view: Snapshot, values: dict[str, Any]) -> list[Callable[[int], bool]]:
    columns = view.columns
    tests: list[Callable[[int], bool]] = []
    if values["status"]:
        wanted = _known("status", values["status"], (*STATUSES, *columns.statuses))
        tests.append(lambda n: columns.statuses[n] in wanted)
    if values["type"]:
        types = _known("type", values["type"], (*TYPES, *columns.types))
        tests.append(lambda n: columns.types[n] in types)
    if values["parent"] is not None:
        view.row(values["parent"])
        tests.append(lambda n: columns.parents[n] == values["parent"])
    if values["owner"] is not None:
        tests.append(lambda n: columns.owners[n] == values["owner"])
    if values["spec_id"] is not None:
        tests.append(lambda n: values["spec_id"] in map(str.strip, columns.specs[n].split(",")))
    for label in values["label"]:
        _require_used(label, columns.labels)
        tests.append(lambda n, label=label: label in _labels(columns.labels[n]))  # type: ignore[misc]
    for pair in values["where"]:
        tests.append(_where(view, pair))
    if values["search"] is not None:
        tests.append(_holds(view, values["search"]))
    return tests


def _known(name: str, given: tuple[str, ...], known: Iterable[str]) -> set[str]:
    wanted = {word.strip() for text in given for word in text.split(",")}
    unknown = wanted - set(known)
    if unknown:
        choices = listed(sorted(set(known)), joiner="or")
        raise UsageError(f"no bead can have the {name} {sorted(unknown)[0]!r}: it is {choices}")
    return wanted


def _require_used(label: str, used: Iterable[tuple[str, ...]]) -> None:
    """Labels are free words: one that nobody uses is no error, but a person should hear it."""
    if not any(label in _labels(labels) for labels in used):
        tell(f"no bead has the label {label!r}")


def _labels(labels: tuple[str, ...]) -> set[str]:
    """`phase:x` is read as `activity:x` and the other way round (D-20)."""
    found = set(labels)
    for label in labels:
        head, _, tail = label.partition(":")
        if head in ("phase", "activity"):
            found |= {f"phase:{tail}", f"activity:{tail}"}
    return found


def _where(view: Snapshot, pair: str) -> Callable[[int], bool]:
    name, equals, wanted = pair.partition("=")
    if not equals:
        raise UsageError(f"--where wants name=value, not {pair!r}")

    def passes(n: int) -> bool:
        row = view.row(view.columns.ids[n])
        found = row.get(name.strip())
        if isinstance(found, list):
            return wanted in map(str, found)
        return (str(found).lower() if isinstance(found, bool) else text_of(row, name)) == wanted

    return passes


def _holds(view: Snapshot, text: str) -> Callable[[int], bool]:
    wanted = text.casefold()

    def passes(n: int) -> bool:
        row = view.row(view.columns.ids[n])
        return any(wanted in text_of(row, name).casefold() for name in _SEARCHED)

    return passes


def _sorted(view: Snapshot, places: list[int], sort: str) -> list[int]:
    columns = view.columns
    match sort:
        case "queue":
            return in_queue_order(columns, places)
        case "id":
            return places
        case "updated":
            return sorted(
                places,
                key=lambda n: sort_key(text_of(view.row(columns.ids[n]), "updated_at")),
                reverse=True,
            )
    keys: dict[str, list[Any]] = {
        "priority": columns.priorities,
        "created": [order[ORDER_HEAD:] for order in columns.orders],
        "status": columns.statuses,
        "title": columns.titles,
    }
    return sorted(places, key=keys[sort].__getitem__)

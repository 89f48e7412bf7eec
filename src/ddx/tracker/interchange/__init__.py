"""Beads come in from other trackers and go back out, and nothing is dropped without a word.

A dialect maps names and words: bd.py (bd, br), legacy.py (.helix/issues.jsonl), github.py.
What a dialect cannot say is not lost: `dialect.py` keeps our remainder in the other's file and
their remainder in our row, so that a trip in either direction ends where it began.

Four things do not come back: counts that the other tracker derives, rows that are no work items
(bd's memories, GitHub's pull requests), control characters that T-12 forbids, and what GitHub
shows around an issue. Each is named in a note.
"""

from __future__ import annotations

from ddx.base import UsageError, changed, listed
from ddx.tracker.interchange.bd import BD, BR
from ddx.tracker.interchange.dialect import (
    ImportedRows,
    ImportNote,
    ImportPlan,
    differences,
    read,
    same,
    write,
)
from ddx.tracker.interchange.github import GITHUB
from ddx.tracker.interchange.ids import under_names, with_new_ids, with_original_ids
from ddx.tracker.interchange.jsonl import JSONL, bad_entry, cleaned, read_objects
from ddx.tracker.interchange.legacy import HELIX
from ddx.tracker.row import Row, blockers_of, encode, link_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ddx.tracker.interchange.dialect import Dialect

__all__ = [
    "FORMATS",
    "ImportNote",
    "ImportPlan",
    "ImportedRows",
    "merge_incoming",
    "parse",
    "render",
]

DIALECTS: dict[str, Dialect] = {
    "jsonl": JSONL,
    "bd": BD,
    "br": BR,
    "helix-legacy": HELIX,
    "github": GITHUB,
}
FORMATS = tuple(DIALECTS)


def parse(text: str, *, format: str, prefix: str) -> ImportedRows:
    """Another tracker's beads as our rows, in their order; a bad line stops it all (D-15)."""
    dialect = _dialect(format)
    rows: dict[str, Row] = {}
    notes: list[ImportNote] = []
    places: dict[str, str] = {}
    for place, found in read_objects(text):
        said: list[tuple[str, str, str]] = []
        row = _read(dialect, found, prefix, place, said)
        if isinstance(row, str):
            notes.append(ImportNote(place, "skipped", "row", detail=row))
            continue
        bead = row["id"]
        if bead not in rows:
            rows[bead], places[bead] = row, place
            notes += [ImportNote(bead, kind, field, detail=detail) for kind, field, detail in said]
        elif same(row, rows[bead]):
            notes.append(
                ImportNote(bead, "skipped", "row", detail=f"{place} repeats {places[bead]}")
            )
        else:
            raise bad_entry(place, f"the id {bead!r} stands in {places[bead]} with other content")
    fitting, names = with_new_ids(list(rows.values()), prefix)
    notes = [changed(note, id=names.get(note.id, note.id)) for note in notes]
    notes += [
        ImportNote(new, "changed", "id", detail=f"{old!r} cannot be one")
        for old, new in names.items()
    ]
    return ImportedRows(tuple(fitting), tuple(notes), tuple(names.items()))


def merge_incoming(incoming: ImportedRows, existing: Mapping[str, Row]) -> ImportPlan:
    """What an import would add; a bead that is already here is never overwritten."""
    incoming = _under_known_ids(incoming, existing)
    known = {*existing, *(row["id"] for row in incoming.rows)}
    new: list[Row] = []
    unchanged: list[str] = []
    clashes: list[str] = []
    notes = list(incoming.notes)
    for row in incoming.rows:
        bead = row["id"]
        if bead not in existing:
            new.append(row)
            notes += _missing_beads(row, known)
        elif fields := _differing(existing[bead], row):
            clashes.append(bead)
            notes.append(
                ImportNote(
                    bead, "skipped", "row", detail=f"already here with another {listed(fields)}"
                )
            )
        else:
            unchanged.append(bead)
    return ImportPlan(tuple(new), tuple(unchanged), tuple(clashes), notes=tuple(notes))


def render(rows: Iterable[Row], *, format: str) -> str:
    """The rows in another tracker's form, in the order given."""
    dialect = _dialect(format)
    if dialect is JSONL:
        return _lines(rows)
    written = [write(dialect, row) for row in with_original_ids(list(rows))]
    return _array(written) if dialect is GITHUB else _lines(written)


def _dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise UsageError(f"no tracker format {name!r}", hint=f"one of {', '.join(FORMATS)}")
    return DIALECTS[name]


def _read(
    dialect: Dialect, found: Row, prefix: str, place: str, said: list[tuple[str, str, str]]
) -> Row | str:
    """The row, or why this is no bead."""

    def say(kind: str, field: str, detail: str) -> None:
        said.append((kind, field, detail))

    admitted = dialect.admit(found, prefix, say)
    if isinstance(admitted, str):
        return admitted
    bead = dialect.unwrap(admitted)[0].get("id")
    if not isinstance(bead, str) or not bead.strip():
        raise bad_entry(place, "no id")
    row = read(dialect, admitted, say)
    clean: Row = cleaned(row, place)
    for key in clean:
        if clean[key] != row[key]:
            say("changed", key, "control characters made visible, line ends made \\n")
    return clean


def _under_known_ids(incoming: ImportedRows, existing: Mapping[str, Row]) -> ImportedRows:
    """An id that stands in the tracker is accepted, whatever it looks like (T-3)."""
    names = {new: old for old, new in incoming.renamed if old in existing}
    if not names:
        return incoming
    notes = [note for note in incoming.notes if note.id not in names or note.field != "id"]
    return ImportedRows(
        tuple(under_names(incoming.rows, names)),
        tuple(changed(note, id=names.get(note.id, note.id)) for note in notes),
    )


def _differing(ours: Row, theirs: Row) -> list[str]:
    """Absent and present `schema_version` are the same (T-5): the store may have added it."""
    return sorted(differences(ours, theirs) - {"schema_version"})


def _missing_beads(row: Row, known: set[str]) -> list[ImportNote]:
    notes = [
        ImportNote(
            row["id"], "kept", "dependencies", detail=f"{other} is not here: it blocks until it is"
        )
        for other in blockers_of(row)
        if other not in known  # D-14
    ]
    parent = link_of(row, "parent")
    if parent and parent not in known:
        notes.append(ImportNote(row["id"], "kept", "parent", detail=f"{parent} is not here"))
    return notes


def _lines(objects: Iterable[Row]) -> str:
    return "".join(f"{encode(found).decode()}\n" for found in objects)


def _array(objects: list[Row]) -> str:
    inside = ",\n".join(encode(found).decode() for found in objects)
    return f"[\n{inside}\n]\n" if inside else "[]\n"

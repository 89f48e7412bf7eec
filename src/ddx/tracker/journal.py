"""Which fields each local change touched, so that a lost compare-and-set can name them (T-10)."""

from __future__ import annotations

import os

from ddx.tracker.codec import decode, encode, revision_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot

_LARGEST = 1 << 20


class Journal:
    """Local and bounded; losing it loses only the names of changed fields."""

    def __init__(self, path: str) -> None:
        self._path = path

    def note(
        self, before: Snapshot, put: Mapping[str, Row], lines: Mapping[str, bytes], *, at: str
    ) -> None:
        entries = []
        for bead_id, row in put.items():
            n = before.columns.place.get(bead_id)
            if n is None:
                continue
            old_line = before.line(n)
            entry: Row = {
                "at": at,
                "fields": changed_fields(decode(old_line), row),
                "from": before.columns.revisions[n],
                "id": bead_id,
                "to": revision_of(lines[bead_id]),
            }
            entries.append(encode(entry) + b"\n")
        if entries:
            self._append(b"".join(entries))

    def fields_since(self, bead_id: str, revision: str, now: str) -> tuple[str, ...]:
        """The fields changed on the way from one revision to another; empty if not recorded."""
        steps = {}
        for line in self._lines():
            try:
                entry = decode(line)
            except ValueError:
                continue  # cut short by a crash
            if entry["id"] == bead_id:
                steps[entry["from"]] = (entry["to"], entry["fields"])
        fields: set[str] = set()
        for _ in range(len(steps)):
            if revision == now or revision not in steps:
                break
            revision, touched = steps.pop(revision)
            fields.update(touched)
        return tuple(sorted(fields)) if revision == now else ()

    def _append(self, content: bytes) -> None:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, content)
                full = os.fstat(fd).st_size > _LARGEST
            finally:
                os.close(fd)
            if full:
                os.rename(self._path, f"{self._path}.1")
        except OSError:
            pass  # the change itself is safe; only its field names go unrecorded

    def _lines(self) -> list[bytes]:
        found: list[bytes] = []
        for path in (f"{self._path}.1", self._path):
            try:
                with open(path, "rb") as file:
                    found += file.read().splitlines()
            except FileNotFoundError:
                continue
        return found


def changed_fields(old: Row, new: Row) -> list[str]:
    """The top-level keys in which two rows differ, but for the stamp of the change."""
    keys = {*old, *new} - {"updated_at"}
    return sorted(key for key in keys if old.get(key) != new.get(key))

"""An edit is about to be made in a session: who, with what, where (O-11)."""

from __future__ import annotations

import os

from ddx.base import Clock, cut, to_bytes
from helix.project import own_folder, path_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.hooks.input import HookEvent

FILE = "operations.jsonl"
_LARGEST = 1 << 20
"""Bytes; then the file is put aside once and begun anew (C-9)."""
_LONGEST = 400


def pre_tool_use(event: HookEvent) -> str:
    """One line in the project's record; nothing is said, so that nothing can be misread."""
    if event.project is None:
        return ""
    wanted = event.fields.get("tool_input")
    where = wanted if isinstance(wanted, dict) else {}
    path = where.get("file_path") or where.get("notebook_path") or where.get("path") or ""
    row = {
        "at": Clock().stamp(),
        "session": cut(event.text("session_id"), _LONGEST),
        "tool": cut(event.text("tool_name"), _LONGEST),
        "path": cut(str(path), _LONGEST),
    }
    own_folder(event.project)
    record = path_in(event.project, FILE)
    _make_room(record)
    file = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(file, to_bytes(row) + b"\n")  # one write: lines of two sessions do not mix
    finally:
        os.close(file)
    return ""


def _make_room(record: str) -> None:
    try:
        if os.path.getsize(record) > _LARGEST:
            os.replace(record, f"{record}.1")
    except FileNotFoundError:
        pass

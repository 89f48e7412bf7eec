"""The other trackers: how each is given the same beads, and how it is asked the same things.

A peer is filled from our own tracker file by its own import command, or by writing the file that
it keeps. Each lists everything, closed beads too, and without a limit; ours does the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from measure import Case, answer_of

Row: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[..., bytes]
"""Runs one command in the peer's folder."""

OPERATIONS = ("ready", "list", "show", "create", "update")
FILL_LIMIT_S = 45.0
RUN_LIMIT_S = 10.0
NO_LIMIT = "10000000"


@dataclass(frozen=True)
class Peer:
    command: str
    fill: Callable[[Path, Path, Ask], None]
    """Make the store in a folder from our tracker file."""
    questions: Callable[[Path, str], Mapping[str, tuple[str, ...]]]
    """The arguments for each of OPERATIONS, about one bead of ours."""


def find_peers() -> tuple[list[Peer], list[str]]:
    """Those on PATH, and the names of the absent."""
    present = [peer for peer in PEERS if shutil.which(peer.command)]
    return present, [peer.command for peer in PEERS if peer not in present]


def fill(peer: Peer, folder: Path, tracker: Path, env: Mapping[str, str]) -> None:
    """A new folder with the peer's store in it, or CommandFailed."""
    folder.mkdir(parents=True)

    def ask(*argv: str) -> bytes:
        return answer_of(argv, cwd=folder, env=env, limit_s=FILL_LIMIT_S)

    ask("git", "init", "-q")
    peer.fill(folder, tracker, ask)


def cases_of(peer: Peer, folder: Path, fresh_ids: Iterator[str]) -> dict[str, Case]:
    """One for each of OPERATIONS; every run asks about another bead."""

    def argv(operation: str) -> tuple[str, ...]:
        return (peer.command, *peer.questions(folder, next(fresh_ids))[operation])

    return {
        operation: Case(
            f"{peer.command} {operation}", partial(argv, operation), folder, limit_s=RUN_LIMIT_S
        )
        for operation in OPERATIONS
    }


def _rows(tracker: Path) -> Iterator[Row]:
    with tracker.open("rb") as lines:
        yield from map(json.loads, lines)


def _write_lines(path: Path, rows: Iterator[Row]) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def _blockers(row: Row) -> list[str]:
    return [
        edge["depends_on_id"] for edge in row.get("dependencies", ()) if edge["type"] == "blocks"
    ]


def _plain_status(row: Row) -> str:
    """The three words that every tracker knows."""
    status: str = row["status"]
    if status == "cancelled":
        return "closed"
    return status if status in ("closed", "in_progress") else "open"


def _fill_sd(folder: Path, tracker: Path, ask: Ask) -> None:
    ask("sd", "init")
    _write_lines(folder / ".seeds/issues.jsonl", map(_sd_row, _rows(tracker)))


def _sd_row(row: Row) -> Row:
    return {
        "id": row["id"],
        "title": row["title"],
        "status": _plain_status(row),
        "type": row["issue_type"] if row["issue_type"] in ("bug", "feature", "epic") else "task",
        "priority": row["priority"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
        "description": _all_text(row),
        "labels": row["labels"],
        "blockedBy": _blockers(row),
    }


def _ask_sd(folder: Path, bead_id: str) -> dict[str, tuple[str, ...]]:
    return {
        "ready": ("ready", "--limit", NO_LIMIT, "--json"),
        "list": ("list", "--all", "--limit", NO_LIMIT, "--json"),
        "show": ("show", bead_id, "--json"),
        "create": ("create", "--title", "T"),
        "update": ("update", bead_id, "--priority", "1"),
    }


def _fill_dcat(folder: Path, tracker: Path, ask: Ask) -> None:
    ask("dcat", "init")

    def records() -> Iterator[Row]:
        yield from map(_dcat_row, _rows(tracker))
        for row in _rows(tracker):
            for edge in row.get("dependencies", ()):
                if edge["type"] == "blocks":
                    yield {"record_type": "dependency", **edge}

    _write_lines(folder / ".dogcats/issues.jsonl", records())


def _dcat_row(row: Row) -> Row:
    namespace, _, short_id = row["id"].rpartition("-")
    return {
        "record_type": "issue",
        "namespace": namespace,
        "id": short_id,
        "title": row["title"],
        "description": row["description"],
        "status": _plain_status(row),
        "priority": row["priority"],
        "issue_type": row["issue_type"] if row["issue_type"] != "decision" else "task",
        "parent": row.get("parent"),
        "labels": row["labels"],
        "acceptance": row["acceptance"],
        "notes": row.get("notes"),
        "created_at": row["created_at"],
        "created_by": row["created_by"],
        "updated_at": row["updated_at"],
        "closed_at": row.get("closed_at"),
        "comments": [],
        "metadata": {},
    }


def _ask_dcat(folder: Path, bead_id: str) -> dict[str, tuple[str, ...]]:
    return {
        "ready": ("ready", "--all-namespaces", "--json"),
        "list": ("list", "--all", "--all-namespaces", "--json"),
        "show": ("show", bead_id, "--json"),
        "create": ("create", "A new bead"),
        "update": ("update", bead_id, "--priority", "1"),
    }


def _fill_task(folder: Path, tracker: Path, ask: Ask) -> None:
    (folder / "taskrc").write_text("confirmation=off\nverbose=nothing\nrecurrence=off\n")
    _write_lines(folder / "import.json", map(_task_row, _rows(tracker)))
    ask("task", *_task_settings(folder), "import", "import.json")


def _task_row(row: Row) -> Row:
    entry = _compact_time(row["created_at"])
    status = "completed" if _plain_status(row) == "closed" else "pending"
    return {
        "uuid": _uuid(row["id"]),
        "description": row["title"],
        "status": status,
        "entry": entry,
        "tags": [label.partition(":")[2] or label for label in row["labels"]],
        "priority": "HMMLL"[row["priority"]],
        "annotations": [{"entry": entry, "description": _all_text(row).replace("\n", " ")}],
        "depends": [_uuid(bead_id) for bead_id in _blockers(row)],
    } | ({"end": _compact_time(row["updated_at"])} if status == "completed" else {})


def _ask_task(folder: Path, bead_id: str) -> dict[str, tuple[str, ...]]:
    settings = _task_settings(folder)
    return {
        "ready": (*settings, "+READY", "export"),
        "list": (*settings, "export"),
        "show": (*settings, _uuid(bead_id), "export"),
        "create": (*settings, "add", "T"),
        "update": (*settings, _uuid(bead_id), "modify", "priority:H"),
    }


def _task_settings(folder: Path) -> tuple[str, ...]:
    return (f"rc:{folder}/taskrc", f"rc.data.location={folder}")


def _uuid(bead_id: str) -> str:
    return f"{bead_id.rpartition('-')[2]}-0000-4000-8000-000000000000"


def _compact_time(stamp: str) -> str:
    return stamp[:19].replace("-", "").replace(":", "") + "Z"


def _fill_bd(folder: Path, tracker: Path, ask: Ask) -> None:
    _write_lines(folder / "issues.jsonl", map(_bd_row, _rows(tracker)))
    ask("bd", "init", "--prefix", "bench", "--quiet")
    ask("bd", "import", "-i", "issues.jsonl")


def _fill_br(folder: Path, tracker: Path, ask: Ask) -> None:
    ask("br", "init", "--prefix", "bench")
    _write_lines(folder / ".beads/issues.jsonl", map(_bd_row, _rows(tracker)))
    ask("br", "sync", "--import-only")


def _bd_row(row: Row) -> Row:
    told = ("id", "title", "description", "notes", "priority", "issue_type", "labels")
    status = _plain_status(row)
    return {
        **{key: row[key] for key in told if key in row},
        "status": status,
        "acceptance_criteria": row["acceptance"],
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "dependencies": row.get("dependencies", []),
    } | ({"closed_at": row["updated_at"]} if status == "closed" else {})


def _ask_beads(folder: Path, bead_id: str) -> dict[str, tuple[str, ...]]:
    return {
        "ready": ("ready", "--limit", "0", "--json"),
        "list": ("list", "--all", "--limit", "0", "--json"),
        "show": ("show", bead_id, "--json"),
        "create": ("create", "T"),
        "update": ("update", bead_id, "--priority", "1"),
    }


def _all_text(row: Row) -> str:
    """For peers with one text field: all of ours in one, so that rows weigh the same."""
    return "\n".join(row.get(key, "") for key in ("description", "acceptance", "notes"))


PEERS = (
    Peer("sd", _fill_sd, _ask_sd),
    Peer("dcat", _fill_dcat, _ask_dcat),
    Peer("task", _fill_task, _ask_task),
    Peer("bd", _fill_bd, _ask_beads),
    Peer("br", _fill_br, _ask_beads),
)

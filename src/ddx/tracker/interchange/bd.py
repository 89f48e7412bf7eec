"""bd and br (.beads/issues.jsonl): one family, one field table.

| theirs              | ours                                                              |
|---------------------|-------------------------------------------------------------------|
| acceptance_criteria | acceptance                                                        |
| spec_id             | spec-id                                                           |
| assignee            | owner: who works on it                                            |
| owner               | beads-owner: the person it is credited to                         |
| schema_version      | beads-schema-version: theirs counts another thing                 |
| parent-child edge   | parent; the edge stays in dependencies, where it blocks nothing   |
| status              | as it is; ours go out as cancelled: closed, proposed: deferred    |
| issue_type          | as it is, but for the aliases that bd itself knows                |
| comments, the rest  | as they are, under their own names                                |

Our remainder goes to `metadata.ddx` in bd, which keeps metadata and drops keys it does not know.
br has no metadata: there our own keys stand at the top, and the remainder under `ddx`.
"""

from __future__ import annotations

from ddx.base import word_set
from ddx.tracker.interchange.dialect import (
    IMPORTED,
    REMAINDER,
    Dialect,
    fit_priority,
    fit_words,
    given_names,
    is_remainder,
    renamed,
    silent,
    unwrap_beside,
    wrap_beside,
)
from ddx.tracker.row import Row, edge_type, edges_of, link_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.tracker.interchange.dialect import Say

NAMES = {
    "acceptance_criteria": "acceptance",
    "spec_id": "spec-id",
    "assignee": "owner",
    "owner": "beads-owner",
    "schema_version": "beads-schema-version",
}
DERIVED = frozenset({"dependency_count", "dependent_count", "comment_count"})
TEXTS = word_set(
    """
    id title description design acceptance_criteria notes spec_id assignee owner created_by
    created_at updated_at close_reason closed_by_session external_ref source_system
    """
)
BD_FIELDS = TEXTS | word_set(
    """
    status priority issue_type labels dependencies closed_at
    _type metadata comments schema_version estimated_minutes started_at due_at defer_until
    lease_expires_at heartbeat_at compaction_level compacted_at compacted_at_commit original_size
    sender ephemeral wisp pinned is_template no_history wisp_type mol_type work_type bonded_from
    source_formula source_location await_type await_id timeout waiters event_kind actor target
    payload deleted_at deleted_by delete_reason original_type
    """
)
WRITTEN_APART = word_set("status priority issue_type dependencies closed_at parent")
COMMENT_TEXTS = ("author", "text")
CLOSING_TIMES = ("closed_at", "updated_at", "created_at")
NOT_AT_THE_TOP = DERIVED | {REMAINDER, IMPORTED}
STATUSES_OUT = {"cancelled": "closed", "proposed": "deferred"}
EDGE_TYPES_OUT = {"depends_on": "blocks"}  # bd and br let only `blocks` block
LONGEST_TITLE = 500
PARENT_CHILD = "parent-child"


def _admit(found: Row, prefix: str, say: Say) -> Row | str:
    kind = found.get("_type", "issue")
    if kind != "issue":
        return f"a {kind}, not a work item"
    derived = DERIVED & found.keys()
    if (edge := _edge_to_parent(found)) and found.get("parent") == edge["depends_on_id"]:
        derived |= {"parent"}
    for name in sorted(derived):
        say("skipped", name, "derived")
    return {key: found[key] for key in found if key not in derived}


# In


def _into(found: Row, say: Say) -> Row:
    return _with_parent(fit_words(renamed(found, NAMES, say), say), say)


def _with_parent(row: Row, say: Say) -> Row:
    """`parent` from the first parent-child edge; an edge that `_out` would make goes."""
    edge = _edge_to_parent(row)
    if edge is None:
        return row
    found = {**row, "parent": link_of(edge, "depends_on_id")}
    say("mapped", "dependencies", f"{PARENT_CHILD} edge to parent")
    if row["dependencies"][-1] is edge and edge == _parent_edge(found):
        found["dependencies"] = row["dependencies"][:-1]
        if not found["dependencies"]:
            del found["dependencies"]
    return found


def _edge_to_parent(row: Row) -> Row | None:
    return next((edge for edge in edges_of(row) if edge_type(edge) == PARENT_CHILD), None)


# Out


def _out_as_bd(row: Row) -> Row:
    found = _out(row)
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not metadata or REMAINDER in metadata:
        found.pop("metadata", None)
    return {name: found[name] for name in found if name in BD_FIELDS}


def _out_as_br(row: Row) -> Row:
    found = _out(row)
    return {name: found[name] for name in found if name not in NOT_AT_THE_TOP}


def _out(row: Row) -> Row:
    """A line that bd and br read: the fields they require, and no value they would refuse."""
    row = fit_words(row, silent)
    named = given_names(row, NAMES)
    found = {name: named[name] for name in named if _is_readable(name, named[name])}
    status = text_of(row, "status") or "open"
    found["status"] = STATUSES_OUT.get(status, status)
    found["priority"] = fit_priority(row.get("priority"))
    found["issue_type"] = text_of(row, "issue_type") or "task"
    if "title" in found:
        found["title"] = _cut(found["title"])
    closing_times = [time for key in CLOSING_TIMES if (time := text_of(row, key))]
    if found["status"] == "closed" and closing_times:  # bd: a closing time if and only if closed
        found["closed_at"] = closing_times[0]
    edges = _edges_out(row)
    if edges or row.get("dependencies") == []:
        found["dependencies"] = edges
    return found


def _is_readable(name: str, found: Any) -> bool:
    """Can this value stand as it is? One that cannot makes bd and br refuse the whole line."""
    if name in TEXTS:
        return isinstance(found, str)
    if name == "comments":
        return isinstance(found, list) and all(map(_is_comment, found))
    if name == "_type":
        return bool(found == "issue")
    return name not in WRITTEN_APART


def _is_comment(found: Any) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(key), str) for key in COMMENT_TEXTS)


def _edges_out(row: Row) -> list[Row]:
    """The row's edges and one to its parent; an edge to an earlier parent is left out."""
    edges = list(edges_of(row))
    parent = link_of(row, "parent")
    first = _edge_to_parent(row)
    if first is None or link_of(first, "depends_on_id") != parent:
        edges = [edge for edge in edges if edge_type(edge) != PARENT_CHILD]
        edges += [_parent_edge(row)] if parent else []
    return [_whole_edge(row, edge) for edge in edges]


def _parent_edge(row: Row) -> Row:
    return _whole_edge(row, {"depends_on_id": link_of(row, "parent"), "type": PARENT_CHILD})


def _whole_edge(row: Row, edge: Row) -> Row:
    """br refuses an edge without a type or a time."""
    whole = {"issue_id": row["id"], **edge}
    whole["type"] = EDGE_TYPES_OUT.get(edge_type(edge), edge_type(edge))
    if not text_of(edge, "created_at") and text_of(row, "created_at"):
        whole["created_at"] = text_of(row, "created_at")
    return whole


def _cut(title: str) -> str:
    """bd refuses a title of more than 500 bytes; ours may be longer."""
    encoded = title.encode(errors="surrogatepass")
    if len(encoded) <= LONGEST_TITLE:
        return title
    return encoded[:LONGEST_TITLE].decode(errors="ignore")


# Our remainder


def _wrap_in_metadata(found: Row, rest: Row) -> Row:
    metadata = found.get("metadata")
    own = metadata if isinstance(metadata, dict) else {}
    return {**found, "metadata": {**own, REMAINDER: rest}}


def _unwrap_metadata(found: Row) -> tuple[Row, Row]:
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not is_remainder(metadata.get(REMAINDER)):
        return found, {}
    own, rest = unwrap_beside(metadata)
    bare = {key: found[key] for key in found if key != "metadata"}
    return ({**bare, "metadata": own} if own else bare), rest


BD = Dialect(
    name="bd",
    admit=_admit,
    into=_into,
    out=_out_as_bd,
    wrap=_wrap_in_metadata,
    unwrap=_unwrap_metadata,
)
BR = Dialect(
    name="br", admit=_admit, into=_into, out=_out_as_br, wrap=wrap_beside, unwrap=unwrap_beside
)

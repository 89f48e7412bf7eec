"""One bead as one line of JSON, in the form that other tools of this family write (T-1)."""

from __future__ import annotations

from _blake2 import blake2b

from ddx.fastjson import loads, to_bytes
from ddx.tracker.model import EDGE_KEYS, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EDGE_ORDER = {key: place for place, key in enumerate(EDGE_KEYS)}


def decode(line: bytes) -> Row:
    """The row in one line, or ValueError in words."""
    try:
        row = loads(line.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise ValueError(f"not UTF-8 at byte {problem.start + 1}") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    bead_id = row.get("id")
    if not isinstance(bead_id, str) or not bead_id:
        raise ValueError("no id")
    return row


def encode(row: Row) -> bytes:
    """The line for a row, without its newline: keys sorted, edges in their own order."""
    in_order = {key: row[key] for key in sorted(row)}
    if isinstance(in_order.get("dependencies"), list):
        in_order["dependencies"] = [_in_edge_order(edge) for edge in in_order["dependencies"]]
    return to_bytes(in_order)


def revision_of(line: bytes) -> str:
    """The hash of a row as it stands in the file (T-10)."""
    return blake2b(line, digest_size=8).hexdigest()


def _in_edge_order(edge: Any) -> Any:
    if not isinstance(edge, dict):
        return edge
    return {key: edge[key] for key in sorted(edge, key=lambda key: _EDGE_ORDER.get(key, 99))}

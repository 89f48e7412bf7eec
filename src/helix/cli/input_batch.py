"""Requests from a file: one a line, or a YAML list (I-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.base import NotFound, UsageError, value
from helix.project import Autonomy

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FILE = 1 << 20
MOST_REQUESTS = 1000
_YAML = (".yaml", ".yml")
_KEYS = ("request", "autonomy")


@value
class BatchRequest:
    """One request of a file; without a level of its own the command's holds."""

    text: str
    where: str
    autonomy: str | None = None


def read_batch(path: str) -> list[BatchRequest]:
    """All of them, before anything is done about the first."""
    text = _read(path)
    found = list(
        _from_yaml(path, text) if path.lower().endswith(_YAML) else _from_lines(path, text)
    )
    if not found:
        raise UsageError(f"{path} holds no request", hint="write one a line")
    if len(found) > MOST_REQUESTS:
        raise UsageError(f"{path} holds more than {MOST_REQUESTS:,} requests")
    return found


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise UsageError(f"{path} is larger than {LARGEST_FILE >> 20} MB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no UTF-8 text") from None


def _from_lines(path: str, text: str) -> Iterator[BatchRequest]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield BatchRequest(line.strip(), f"{path}:{number}")


def _from_yaml(path: str, text: str) -> Iterator[BatchRequest]:
    from ddx.base import BrokenYaml, Nodes

    try:
        top = Nodes(text).top
    except BrokenYaml as problem:
        raise UsageError(problem.at(path)) from None
    if top is None:
        return
    if top.id != "sequence":
        raise UsageError(f"{path}:1: expected a list of requests", hint="begin each with a dash")
    for node in top.value:
        yield _entry(node, f"{path}:{node.start_mark.line + 1}")


def _entry(node: Any, where: str) -> BatchRequest:
    if node.id == "scalar":
        return BatchRequest(str(node.value), where)
    if node.id != "mapping":
        raise UsageError(f"{where}: expected a request, or {' and '.join(_KEYS)}")
    given: dict[str, str] = {}
    for key, inner in node.value:
        if key.value not in _KEYS or inner.id != "scalar":
            raise UsageError(
                f"{where}: unknown key {str(key.value)!r}", hint=f"the keys are {', '.join(_KEYS)}"
            )
        given[key.value] = str(inner.value)
    level = given.get("autonomy")
    if level is not None and level not in list(Autonomy):
        raise UsageError(f"{where}: autonomy must be one of {', '.join(Autonomy)}, not {level!r}")
    return BatchRequest(given.get("request", ""), where, level)

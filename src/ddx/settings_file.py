"""One settings file: YAML for people, kept as JSON beside the index so it is parsed once (T-19)."""

from __future__ import annotations

from ddx.errors import UsageError
from ddx.fastjson import dumps, loads
from ddx.files import replace
from ddx.settings_keys import SUBSTRATE, checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ddx.settings_keys import Table


def parse(path: str, table: Table = SUBSTRATE) -> dict[str, Any]:
    """The keys that a file sets, with all their dots; every mistake names its line."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(path, "rb") as file:
        try:
            reader = loader(file.read())
            top = reader.get_single_node()
        except yaml.YAMLError as problem:
            raise _broken(path, problem) from None
    if top is None or top.tag == "tag:yaml.org,2002:null":
        return {}
    return dict(_settings(path, reader, top, table))


def _settings(path: str, reader: Any, top: Any, table: Table) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for full, node in _keys(path, top, table):
        where = f"{path}:{node.start_mark.line + 1}"
        if full in found:
            raise UsageError(f"{where}: {full} is set twice")
        found[full] = checked(full, _value(path, reader, node), where=where, table=table)
    return list(found.items())


def _keys(path: str, top: Any, table: Table) -> Iterator[tuple[str, Any]]:
    """Each key with all its dots, and the node that holds its value."""
    for section, inner in _pairs(path, top):
        if section in table.keys or (inner.id != "mapping" and section not in _sections(table)):
            yield section, inner
            continue
        for name, node in _pairs(path, inner):
            if section not in table.named:
                yield f"{section}.{name}", node
                continue
            where = f"{path}:{node.start_mark.line + 1}"
            if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
                raise UsageError(
                    f"{where}: {name!r} cannot name an entry of {section}: "
                    "only letters, digits, - and _ can"
                )
            fields = _pairs(path, node)
            if not fields:
                raise UsageError(
                    f"{where}: {section}.{name} says nothing",
                    hint=f"give it one of: {', '.join(table.named[section])}",
                )
            for field, value in fields:
                yield f"{section}.{name}.{field}", value


def _sections(table: Table) -> set[str]:
    return {*table.named, *(name.partition(".")[0] for name in table.keys)}


def _value(path: str, reader: Any, node: Any) -> Any:
    import yaml

    try:
        return reader.construct_object(node, deep=True)
    except yaml.YAMLError as problem:
        raise _broken(path, problem) from None
    except ValueError as problem:  # `2026-13-01` looks like a date and is none
        raise UsageError(f"{path}:{node.start_mark.line + 1}: {problem}") from None


def _pairs(path: str, node: Any) -> list[tuple[str, Any]]:
    if node.id != "mapping":
        raise UsageError(f"{path}:{node.start_mark.line + 1}: expected `name: value` lines here")
    return [(str(key.value), inner) for key, inner in node.value]


def _broken(path: str, problem: Exception) -> UsageError:
    mark = getattr(problem, "problem_mark", None)
    what = getattr(problem, "problem", None) or str(problem).splitlines()[0]
    return UsageError(f"{path}:{mark.line + 1}: {what}" if mark else f"{path}: {what}")


def load(cache: str, mark: str) -> list[dict[str, Any]] | None:
    """What was kept for exactly these files, or None."""
    try:
        with open(cache, encoding="utf-8") as file:
            if file.readline() != f"{mark}\n":
                return None
            kept: list[dict[str, Any]] = loads(file.read())
            return kept
    except (OSError, ValueError):
        return None


def save(cache: str, mark: str, settings: list[dict[str, Any]]) -> None:
    try:
        replace(cache, (f"{mark}\n".encode(), dumps(settings).encode()), durable=False)
    except OSError:
        pass  # a cache that cannot be written costs time, never an answer

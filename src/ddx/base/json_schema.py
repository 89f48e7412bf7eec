"""Whether a JSON value fits a schema: the part of JSON Schema that our contracts use. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_KNOWN = frozenset(
    {
        *("$schema", "title", "description", "type", "enum", "const", "required", "properties"),
        *("additionalProperties", "items", "minItems", "minLength", "maxLength", "minimum"),
        "maximum",
    }
)


def find_misfit(found: Any, schema: str, *, what: str = "the reply") -> str:
    """Where and how a value does not fit, in words; empty if it does."""
    return next(_misfits(found, json.loads(schema), what), "")


def _misfits(found: Any, shape: dict[str, Any], where: str) -> Iterator[str]:
    if unknown := sorted(shape.keys() - _KNOWN):
        yield f"{where}: nothing here can check {unknown[0]!r} of a schema"
        return
    wanted = shape.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if names and not any(_is(found, name) for name in names):
        yield f"{where} is not of type {' or '.join(names)}"
        return
    if "enum" in shape and found not in shape["enum"]:
        yield f"{where} is none of {', '.join(map(str, shape['enum']))}"
    if "const" in shape and found != shape["const"]:
        yield f"{where} is not {shape['const']!r}"
    if isinstance(found, dict):
        yield from _in_object(found, shape, where)
    elif isinstance(found, list):
        if len(found) < shape.get("minItems", 0):
            yield f"{where} has fewer than {shape['minItems']} items"
        for n, item in enumerate(found):
            yield from _misfits(item, shape.get("items", {}), f"{where}[{n}]")
    elif isinstance(found, str):
        if len(found) < shape.get("minLength", 0):
            yield f"{where} is too short"
        if len(found) > shape.get("maxLength", len(found)):
            yield f"{where} is longer than {shape['maxLength']} characters"
    elif _is(found, "number") and not (
        shape.get("minimum", found) <= found <= shape.get("maximum", found)
    ):
        yield f"{where} is out of its range"


def _in_object(found: dict[str, Any], shape: dict[str, Any], where: str) -> Iterator[str]:
    known = shape.get("properties", {})
    others = shape.get("additionalProperties", True)
    for name in shape.get("required", ()):
        if name not in found:
            yield f"{where} has no {name!r}"
    for name, item in found.items():
        if name in known:
            yield from _misfits(item, known[name], f"{where}.{name}")
        elif isinstance(others, dict):
            yield from _misfits(item, others, f"{where}.{name}")
        elif others is False:
            yield f"{where} has {name!r}, which the schema does not know"


def _is(found: Any, name: str) -> bool:
    if isinstance(found, bool) and name != "boolean":
        return False
    if name == "integer" and isinstance(found, float):
        return found.is_integer()
    return isinstance(found, _TYPES.get(name, ()))

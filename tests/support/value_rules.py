"""House rules about values as functions: places and names of fields, and texts that decide.

Like those in `architecture` they go from {module name: source} to the sentences that say what
breaks. A class is found through the import; behind a door it is known by its last name, and where
two share that, the one with fewer fields is the measure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

Sources = Mapping[str, str]

BY_PLACE = 3
"""The fields of a value that may be given without their names, in a call and in a pattern."""

LONG_CALL = 6
"""From this many positional arguments on, a reader cannot tell which is which."""

SENTENCES = {"message", "reason", "hint", "sentence", "why", "what", "note", "detail", "remarks"}
"""Attributes that hold our own words for a person; `reason` may be an enum, which is compared."""
_LOOKS_INSIDE = {"startswith", "endswith", "find", "index", "count"}


def values_by_name(sources: Sources) -> list[str]:
    """A value takes at most three fields by place; a star hides how many there are."""
    widths = _widths(sources)
    return [
        f"{place} rule 6: {name} gets {said}; name the fields after the third"
        for key, source in sources.items()
        for place, name, said in _unnamed(key, ast.parse(source), widths)
    ]


def long_calls(sources: Sources) -> list[str]:
    """Calls of anything with six or more positional arguments."""
    return [
        f"{_path(key)}:{node.lineno} {ast.unparse(node.func)} gets {len(node.args)} arguments"
        for key, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and len(node.args) >= LONG_CALL
    ]


def no_sentence_decides(sources: Sources) -> list[str]:
    """No branch hangs on the words of our own messages: refusals and reasons are types."""
    return [
        f"{_path(key)}:{line} rule 5: {said} asks a sentence; give the reason a type"
        for key, source in sources.items()
        for line, said in _asked_sentences(ast.parse(source))
    ]


def _asked_sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                for one, op, other in zip(sides, ops, sides[1:], strict=False):
                    if _compares_a_sentence(one, op, other):
                        yield node.lineno, ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr=method, value=value)):
                if method in _LOOKS_INSIDE and _is_sentence(value):
                    yield node.lineno, ast.unparse(node)
            case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
                for name, pattern in zip(names, patterns, strict=True):
                    is_value = name in SENTENCES and isinstance(pattern, ast.MatchValue)
                    if is_value and _is_text(pattern.value):
                        yield node.lineno, ast.unparse(node)


def _compares_a_sentence(one: ast.expr, op: ast.cmpop, other: ast.expr) -> bool:
    if isinstance(op, ast.In | ast.NotIn):
        return _is_sentence(other) or (_is_sentence(one) and not isinstance(other, ast.Name))
    if not isinstance(op, ast.Eq | ast.NotEq):
        return False
    return (_is_sentence(one) and _is_text(other)) or (_is_sentence(other) and _is_text(one))


def _is_sentence(node: ast.expr) -> bool:
    """`problem.message`, and the same in lower case or without its ends."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return isinstance(node, ast.Attribute) and node.attr in SENTENCES


def _is_text(node: ast.expr) -> bool:
    """A literal that is not empty, or a constant of a module; an enum's member is neither."""
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def _widths(sources: Sources) -> dict[str, int]:
    """By a class's full name and by its last name, how many fields it has as a value; else 0."""
    widths: dict[str, int] = {}
    for key, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                fields = sum(isinstance(step, ast.AnnAssign) for step in node.body)
                width = fields if _is_value(node) else 0
                widths[f"{key.removesuffix('.__init__')}.{node.name}"] = width
                widths[node.name] = min(width, widths.get(node.name, width))
    return widths


def _is_value(node: ast.ClassDef) -> bool:
    return any(_last_name(each) == "value" for each in node.decorator_list)


def _unnamed(
    key: str, tree: ast.Module, widths: Mapping[str, int]
) -> Iterator[tuple[str, str, str]]:
    module = key.removesuffix(".__init__")
    meant = {
        each.asname or each.name: (f"{node.module}.{each.name}", each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called, given = node.func, node.args
        elif isinstance(node, ast.MatchClass):
            called, given = node.cls, node.patterns
        else:
            continue
        name = _last_name(called)
        known = (f"{module}.{name}", *meant.get(name, (name,)))
        if next((widths[each] for each in known if each in widths), 0) <= BY_PLACE:
            continue
        place = f"{_path(key)}:{node.lineno}"
        if any(isinstance(each, ast.Starred) for each in given):
            yield place, name, "a star"
        elif len(given) > BY_PLACE:
            yield place, name, f"{len(given)} fields by place"


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _path(key: str) -> str:
    return f"src/{key.replace('.', '/')}.py"

"""The numbers of the house: from {module name: source} to counts, each with what it counts.

The sources are read as in `architecture`, never imported. A room is a sub-package directly below
`ddx` or `helix`; its door is the `__init__` of that package.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.architecture import Import, Module, Sources, Tree, dotted, read_modules, within

LIMITS = Path(__file__).parents[1] / "architecture/house.json"
"""The highest number that each measure may have; see `tests/architecture/test_house.py`."""

PACKAGES = ("ddx", "helix")
MANY_POSITIONAL = 6
MANY_OF_A_VALUE = 5
LONGEST_SHOWN = 5


@dataclass(frozen=True)
class Measure:
    """One number that may only fall, and the places that it counts, one line each."""

    name: str
    number: int
    places: tuple[str, ...]


@dataclass(frozen=True)
class House:
    """What `scripts/check --house` prints: three sizes without a limit, and the measures."""

    files: int
    lines: int
    public_classes: int
    measures: tuple[Measure, ...]


def measure(sources: Sources) -> House:
    """Count everything once, in the order in which it is printed."""
    tree = read_modules(sources)
    classes = list(_public_classes(tree))
    crossings = sorted(set(_crossings(tree)))
    doors = sorted({module for module, _ in crossings})
    return House(
        files=len(sources),
        lines=sum(module.lines for module in tree.values()),
        public_classes=len(classes),
        measures=(
            _shared_names(classes),
            _counted("names_from_ddx_to_helix", [f"{module}.{name}" for module, name in crossings]),
            _counted("doors_from_ddx_to_helix", doors),
            _counted("imports_past_doors", sorted(set(_past_doors(tree)))),
            _counted("calls_with_6_positional", list(_positional_calls(tree))),
            _counted("values_with_5_positional", list(_positional_values(tree))),
            _longest("longest_module", _module_sizes(tree)),
            _longest("longest_function", _function_sizes(tree)),
        ),
    )


def judge(house: House, limits: Mapping[str, int]) -> list[str]:
    """What keeps the numbers from only falling; empty if every number is exactly its limit."""
    found = [
        f"{name}: the limit names no measure"
        for name in sorted(limits.keys() - {each.name for each in house.measures})
    ]
    for each in house.measures:
        limit = limits.get(each.name)
        if limit is None:
            found.append(f"{each.name} is {each.number} and has no limit")
        elif each.number > limit:
            places = "".join(f"\n  {place}" for place in each.places)
            found.append(f"{each.name} is {each.number}, at most {limit}:{places}")
        elif each.number < limit:
            lower = "lower the limit in the same commit: scripts/check --house --lower"
            found.append(f"{each.name} fell from {limit} to {each.number}; {lower}")
    return found


def lowered(house: House, limits: Mapping[str, int]) -> dict[str, int]:
    """The limits after every number that fell; a number that rose keeps its old limit."""
    return {
        each.name: min(each.number, limits.get(each.name, each.number)) for each in house.measures
    }


def render(house: House, limits: Mapping[str, int]) -> str:
    """The numbers as lines of text, each with its limit if it has one."""
    [shared] = [each for each in house.measures if each.name == "shared_class_names"]
    share = 100 * shared.number / max(house.public_classes, 1)
    rows = [
        ("files", house.files, ""),
        ("lines", house.lines, ""),
        ("public_classes", house.public_classes, f"{share:.1f} % share their name"),
    ]
    rows += [
        (each.name, each.number, f"limit {limits.get(each.name, 'missing')}")
        for each in house.measures
    ]
    return "".join(f"{f'{name:<26}{number:>7}  {note}'.rstrip()}\n" for name, number, note in rows)


def _counted(name: str, places: list[str]) -> Measure:
    return Measure(name, len(places), tuple(places))


# -- names -----------------------------------------------------------------------------------


def _public_classes(tree: Tree) -> Iterator[tuple[str, str]]:
    """Name and module of each public class; one within a class or a function is not public."""
    for module in tree.values():
        for node in _top_level(module.nodes[0]):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, module.name


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module, those below an `if` or a `try` too."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, ast.If | ast.Try):
            yield from _top_level(child)


def _shared_names(classes: list[tuple[str, str]]) -> Measure:
    homes = defaultdict(list)
    for name, module in classes:
        homes[name].append(module)
    shared = {name: modules for name, modules in sorted(homes.items()) if len(modules) > 1}
    return Measure(
        "shared_class_names",
        sum(len(modules) for modules in shared.values()),
        tuple(f"{name}: {', '.join(sorted(modules))}" for name, modules in shared.items()),
    )


# -- imports ---------------------------------------------------------------------------------


def _crossings(tree: Tree) -> Iterator[tuple[str, str]]:
    """Each (module of ddx, name) that a module of helix imports, types included."""
    for module in tree.values():
        if within(module.name, "helix"):
            for name in _imported_names(module, tree):
                if within(name, "ddx"):
                    home, _, last = name.rpartition(".")
                    yield home, last


def _imported_names(module: Module, tree: Tree) -> Iterator[str]:
    """The full names a module imports; for a whole module, each attribute that is used of it."""
    for each in module.imports:
        if each.means not in tree:
            yield each.name
            continue
        used = [_first_name(name, tree) for name in _uses(module, each)]
        yield from (name for name in used if name not in tree)


def _uses(module: Module, whole: Import) -> Iterator[str]:
    """The full dotted names that a module reaches through an imported module."""
    for node in module.nodes:
        head, dot, rest = (dotted(node) or "").partition(".")
        if dot and head == whole.alias:
            yield f"{whole.means}.{rest}"


def _first_name(name: str, tree: Tree) -> str:
    """The part up to the first name that is no module: ddx.git.run of ddx.git.run.ok."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        if ".".join(parts[:count]) not in tree:
            return ".".join(parts[:count])
    return name


def _past_doors(tree: Tree) -> Iterator[str]:
    """Each module that another room reaches inside a room instead of asking its door."""
    rooms = {module for module in tree if _is_room(module, tree)}
    for module in tree.values():
        own = _room(module.name)
        for each in module.imports:
            home = _loaded_module(each.name, tree)
            room = _room(home)
            if room in rooms and room not in (own, home):
                yield f"{module.name} -> {home}"


def _is_room(name: str, tree: Tree) -> bool:
    return name.count(".") == 1 and tree[name].path.endswith("/__init__.py")


def _room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def _loaded_module(name: str, tree: Tree) -> str:
    """The module that an import loads: ddx.tracker.row of ddx.tracker.row.Row, or nothing."""
    while name and name not in tree:
        name = name.rpartition(".")[0]
    return name


# -- calls -----------------------------------------------------------------------------------


def _positional_calls(tree: Tree) -> Iterator[str]:
    for module, call in _calls(tree):
        if len(call.args) >= MANY_POSITIONAL:
            yield _told(module, call)


def _positional_values(tree: Tree) -> Iterator[str]:
    """Calls of a class that `@value` makes; the name decides, wherever it was imported from."""
    values = {
        node.name
        for module in tree.values()
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and _is_value(node)
    }
    for module, call in _calls(tree):
        if len(call.args) >= MANY_OF_A_VALUE and _called(call) in values:
            yield _told(module, call)


def _calls(tree: Tree) -> Iterator[tuple[Module, ast.Call]]:
    for module in sorted(tree.values(), key=lambda each: each.path):
        calls = [node for node in module.nodes if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
            yield module, call


def _is_value(node: ast.ClassDef) -> bool:
    names = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any((dotted(name) or "").rpartition(".")[2] == "value" for name in names)


def _called(call: ast.Call) -> str:
    return (dotted(call.func) or "").rpartition(".")[2]


def _told(module: Module, call: ast.Call) -> str:
    return f"{module.path}:{call.lineno} {_called(call) or 'a call'} with {len(call.args)}"


# -- sizes -----------------------------------------------------------------------------------


def _module_sizes(tree: Tree) -> Iterator[tuple[int, str]]:
    for module in tree.values():
        yield module.lines, module.path


def _function_sizes(tree: Tree) -> Iterator[tuple[int, str]]:
    for module in tree.values():
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield lines, f"{module.path}:{node.lineno} {node.name}"


def _longest(name: str, sizes: Iterator[tuple[int, str]]) -> Measure:
    longest = sorted(sizes, key=lambda each: (-each[0], each[1]))[:LONGEST_SHOWN]
    number = longest[0][0] if longest else 0
    return Measure(name, number, tuple(f"{place}: {lines} lines" for lines, place in longest))

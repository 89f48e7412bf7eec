"""The house rules as functions: from {module name: source} to the sentences that say what breaks.

The source is read, never imported. A package is keyed by its `__init__` module, so that a key
is a path: "ddx.tracker.__init__" is src/ddx/tracker/__init__.py. What stands under
`if TYPE_CHECKING:` never runs, so it breaks only the one rule that says so.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

Sources = Mapping[str, str]
Nodes = tuple[ast.AST, ...]

ROOT = ""
"""The unit of the package itself: `from ddx import __version__` asks nothing of a layer."""

# Rules 1 and 2: a room imports its own modules and the rooms that stand before it here.
DDX_ROOMS = (
    *("base", "git", "project", "tracker", "documents", "agents", "proof", "attempts"),
    *("console", "testing", "cli", "__main__"),
)
HELIX_ROOMS = (
    *("project", "passes", "intake", "memory", "verification", "run", "objective"),
    *("status", "install", "hooks", "mcp", "cli", "__main__"),
)
STRANGERS = ({"tracker", "documents"},)
CLOSED_TO_HELIX = ("ddx.cli", "ddx.agents.shim", "ddx.__main__")
OPEN_TO_SCRIPTS = ("helix.objective.", "ddx.agents.harness.", "ddx.base.doors.")
"""What is shown to scripts of others (O-8), and what only doors take."""
IMPORTS_TESTING = ("ddx.testing", "helix.cli.demo")

# Rule 3: a module is pure if the first line of its docstring says so, or if it stands here.
PURE_MARK = "Pure."
PURE = ("ddx.tracker.interchange",)

PROCESSES = (
    "subprocess",
    "_posixsubprocess",
    "multiprocessing",
    "pty",
    "os.exec*",
    "os.fork*",
    "os.popen",
    "os.posix_spawn*",
    "os.spawn*",
    "os.system",
)
NOW = (
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "time.monotonic*",
    "time.perf_counter*",
    "time.sleep",
    "time.time",
    "time.time_ns",
)
ENVIRONMENT = ("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv")
PRINTING = ("builtins.print", "sys.stdout", "sys.stderr", "click.echo", "click.secho")
WORLD = (
    *("os", "sys", "subprocess", "sqlite3", "time", "random", "socket"),
    *("pathlib", "io", "shutil", "tempfile", "builtins.open"),
    *(
        "ddx.base.process",
        "ddx.agents.shim",
        "ddx.agents.supervision",
        "ddx.git",
        "ddx.base.files",
        "ddx.base.clock",
    ),
    *NOW,
)

# Rule 4: what may be named, and where alone. The scripted agent is a program of its own, which
# ddx starts like any other agent: it sleeps and runs commands because its script says so.
SCRIPTED = "ddx.agents.script_agent"
SUPERVISION = (
    *("ddx.agents.shim", "ddx.agents.shim_client", "ddx.agents.process_tree"),
    "ddx.agents.background",
)
ONE_PLACE = (
    (PROCESSES, ("ddx.base.process", *SUPERVISION, SCRIPTED)),
    (("sqlite3",), ("helix.memory.store", "ddx.documents.cache", "ddx.documents.full_text")),
    (("yaml",), ("ddx.base.yaml",)),
    (ENVIRONMENT, ("ddx.base.process",)),
    (PRINTING, ("ddx.console", "ddx.cli", "helix.cli", "helix.hooks")),
    (NOW, ("ddx.base.clock", SCRIPTED)),
)
SPELLS_GIT = "ddx.git"
RUNS_A_SHELL = "ddx.base.process"
CATCHES_ALL = (
    "ddx.console.error_handler",
    "ddx.attempts.attempt",
    "ddx.attempts.work",
    "helix.hooks.__main__",
)
ALL_ERRORS = {"", "Exception", "BaseException"}

# Rule 5.
LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
SHORTER_MODULES = {"engine": 350, "work": 250}

# Rule 7: measure before you add a name; every one is paid for at each `ddx bead`.
HOT_COMMANDS = (
    *("bead.queue", "bead.list", "bead.show", "bead.status", "bead.fields", "bead.changes"),
    *("doc.list", "doc.show", "doc.dependencies", "doc.reviews"),
)
HOT_ROOTS = ("ddx.__main__", "ddx.cli.main", *(f"ddx.cli.{name}" for name in HOT_COMMANDS))
HOT_IMPORTS = (
    *("__future__", "os", "sys", "gc", "marshal", "time", "errno", "fcntl"),
    *("binascii", "zlib", "bisect", "operator", "_json", "_io", "_blake2"),
)


@dataclass(frozen=True)
class Import:
    """One imported name with all its dots: `from os import environ` is os.environ.

    `means` is what the alias stands for afterwards: `import os.path` binds os.
    """

    name: str
    alias: str
    means: str
    line: int
    runs: bool
    at_start: bool


@dataclass(frozen=True)
class Module:
    """One file as the rules see it: what it imports, and which names of others it mentions."""

    name: str
    path: str
    lines: int
    nodes: Nodes
    imports: tuple[Import, ...]
    mentions: tuple[tuple[str, int], ...]
    is_pure: bool

    @property
    def run_time_imports(self) -> tuple[Import, ...]:
        return tuple(each for each in self.imports if each.runs)


Tree = Mapping[str, Module]
Violation = tuple[str, int, str]
Rule = Callable[[Sources], list[str]]


def read_sources(folder: Path) -> dict[str, str]:
    """Every Python file under `folder`, keyed by its module name."""
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


def read_modules(sources: Sources) -> Tree:
    """The same sources, parsed; a package is keyed by its own name, without `__init__`."""
    modules = (_read(key, source) for key, source in sources.items())
    return {module.name: module for module in modules}


def read_tree(sources: Sources) -> Tree:
    """The same; a name that a module takes from a door is read as the name in its own module."""
    modules = read_modules(sources)
    shown = {
        f"{name}.{each.alias}": each.name
        for name, module in modules.items()
        if module.path.endswith("/__init__.py")
        for each in module.imports
        if not each.runs
    }
    return {name: _through_doors(module, shown) for name, module in modules.items()}


def _through_doors(module: Module, shown: Mapping[str, str]) -> Module:
    imports = tuple(
        replace(each, name=shown[each.name], means=shown.get(each.means, each.means))
        if each.name in shown
        else each
        for each in module.imports
    )
    return module if imports == module.imports else replace(module, imports=imports)


def _rule(number: int) -> Callable[[Callable[[Tree], Iterator[Violation]]], Rule]:
    """Make sorted sentences, each said once, of what a rule finds."""

    def decorate(find: Callable[[Tree], Iterator[Violation]]) -> Rule:
        def apply(sources: Sources) -> list[str]:
            found = sorted(set(find(read_tree(sources))))
            return [f"{path}:{line} rule {number}: {text}" for path, line, text in found]

        apply.__doc__ = find.__doc__
        return apply

    return decorate


@_rule(1)
def ddx_layers(tree: Tree) -> Iterator[Violation]:
    """ddx imports downwards and never helix; what is there for tests stays out of the product."""
    yield from _layering(tree, "ddx", DDX_ROOMS)
    for module in tree.values():
        for each in module.imports:
            if within(module.name, "ddx") and within(each.name, "helix"):
                yield module.path, each.line, f"{module.name} imports helix; even a type may not"
        for each in module.run_time_imports:
            if within(each.name, "ddx.testing") and not _in_any(module.name, IMPORTS_TESTING):
                yield module.path, each.line, f"{module.name} imports ddx.testing"


@_rule(2)
def helix_layers(tree: Tree) -> Iterator[Violation]:
    """helix imports downwards, and of ddx only what is public."""
    yield from _layering(tree, "helix", HELIX_ROOMS)
    for module in tree.values():
        if not within(module.name, "helix"):
            continue
        for each in module.run_time_imports:
            private = within(each.name, "ddx") and _is_private(each.name)
            if private or _in_any(each.name, CLOSED_TO_HELIX):
                yield module.path, each.line, f"{module.name} imports {each.name}, not public"


@_rule(2)
def doors(tree: Tree) -> Iterator[Violation]:
    """A door shows the type checker what it shows at run time, and nothing that no room takes."""
    taken = {
        each.name
        for module in tree.values()
        for each in module.imports
        if not module.path.endswith("/__init__.py")
    }
    for module in tree.values():
        if not _is_door(module):
            continue
        declared = {each.name for each in module.imports if not each.runs}
        opened = set(_opened(module))
        for name in sorted(declared ^ opened):
            yield module.path, 1, f"{name} is shown only to the type checker or only at run time"
        for name in sorted(opened - taken):
            if not name.startswith(OPEN_TO_SCRIPTS):
                yield module.path, 1, f"{name} is shown and no other room takes it"


def _is_door(module: Module) -> bool:
    return module.name.count(".") == 1 and any(
        isinstance(node, ast.Call) and dotted(node.func) == "door" for node in module.nodes
    )


def _opened(module: Module) -> Iterator[str]:
    """The full names in the call of `door`."""
    for node in module.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "door":
            for each in node.keywords:
                shown = ast.literal_eval(each.value)
                home = f"{module.name}.{(each.arg or '').replace('__', '.')}"
                yield from (f"{home}.{name}" for name in shown.split())


@_rule(3)
def purity(tree: Tree) -> Iterator[Violation]:
    """A pure module gets the world as arguments."""
    for module in tree.values():
        if module.is_pure or _in_any(module.name, PURE):
            for name, line in _named(module, WORLD):
                yield module.path, line, f"{module.name} is pure but uses {name}"


@_rule(4)
def one_place(tree: Tree) -> Iterator[Violation]:
    """Processes, git, SQL, YAML, environment, printing, time, catching all: one home each."""
    for module in tree.values():
        for names, homes in ONE_PLACE:
            if not _in_any(module.name, homes):
                for name, line in _named(module, names):
                    yield module.path, line, f"{name} is used only in {', '.join(homes)}"
        if not within(module.name, SPELLS_GIT):
            for line in _git_commands(module.nodes):
                yield module.path, line, f"a git command is spelled only in {SPELLS_GIT}"
        if not within(module.name, RUNS_A_SHELL):
            for line in _shells(module.nodes):
                yield module.path, line, f"shell=True is only in {RUNS_A_SHELL}"
        yield from _broad_catches(module)


@_rule(5)
def cycles_and_sizes(tree: Tree) -> Iterator[Violation]:
    """No import cycle, also not through a function; no file and no function too long to read."""
    edges = {name: _edges(module, tree, module.run_time_imports) for name, module in tree.items()}
    for name in sorted(tree):
        cycle = _shortest_cycle(name, edges)
        if cycle and name == min(cycle):
            line = edges[name][cycle[1]]
            yield tree[name].path, line, f"import cycle {' -> '.join(cycle)}"
    for module in tree.values():
        limit = SHORTER_MODULES.get(module.path.rpartition("/")[2][:-3], LONGEST_MODULE)
        if module.lines > limit:
            yield module.path, limit + 1, f"{module.lines} lines, at most {limit}"
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    text = f"{node.name} has {lines} lines, at most {LONGEST_FUNCTION}"
                    yield module.path, node.lineno, text


@_rule(7)
def hot_lane(tree: Tree) -> Iterator[Violation]:
    """What a hot command loads before it begins is a short, measured list."""
    for name, trail in sorted(_loaded_at_start(tree).items()):
        for each in _at_start(tree[name]):
            if _home(each.name, tree) or each.name.partition(".")[0] in HOT_IMPORTS:
                continue
            text = f"{each.name} is not for the hot lane ({' -> '.join(trail)})"
            yield tree[name].path, each.line, text


def _layering(tree: Tree, package: str, rooms: tuple[str, ...]) -> Iterator[Violation]:
    """Imports that go up, or across between units that do not know each other."""
    depth = {room: len(rooms) - place for place, room in enumerate(rooms)} | {ROOT: len(rooms) + 1}
    for module in tree.values():
        if not within(module.name, package):
            continue
        unit = _unit(module.name)
        if unit not in depth:
            yield module.path, 1, f"{module.name} has no layer: give {unit!r} one in the table"
            continue
        for each in module.run_time_imports:
            if not within(each.name, package):
                continue
            other = _unit(each.name)
            if other not in depth and f"{package}.{other}" not in tree:
                other = ROOT
            text = f"{module.name} imports {package}.{other}"
            if depth.get(other, depth[unit]) < depth[unit]:
                yield module.path, each.line, f"{text}, which is above it"
            elif any({unit, other} <= group for group in STRANGERS) and unit != other:
                yield module.path, each.line, f"{text}, which it must not know"


def _named(module: Module, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Where the module imports or mentions one of `names`; a `*` ends a family of names."""
    for each in module.run_time_imports:
        if found := _family(names).fullmatch(each.name):
            yield found[1], each.line
    # A whole module is named once, where it is imported.
    dotted = tuple(name for name in names if "." in name)
    for mention, line in module.mentions if dotted else ():
        if found := _family(dotted).fullmatch(mention):
            yield found[1], line


@cache
def _family(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = "|".join(re.escape(name).replace(r"\*", r"\w*") for name in names)
    return re.compile(rf"({spelled})(?:\..*)?")


def _git_commands(nodes: Nodes) -> Iterator[int]:
    """Argument lists that begin with git; to ask whether a word is "git" is no command."""
    listed: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Compare):
            listed.update(node.comparators)
        elif isinstance(node, ast.For | ast.comprehension):
            listed.add(node.iter)
    for node in nodes:
        if isinstance(node, ast.List | ast.Tuple) and node.elts and node not in listed:
            first = node.elts[0]
            spelled = isinstance(first, ast.Constant) and first.value == "git"
            if spelled or (dotted(first) or "").rpartition(".")[2] == "GIT":
                yield node.lineno


def _shells(nodes: Nodes) -> Iterator[int]:
    for node in nodes:
        match node:
            case ast.keyword(arg="shell", value=ast.Constant(value=True) as switch):
                yield switch.lineno


def _broad_catches(module: Module) -> Iterator[Violation]:
    """`except Exception` outside a main or one attempt, and silence about it anywhere."""
    *folders, last = module.name.split(".")
    is_main = "cli" in folders and last in {"main", "fast"}
    allowed = is_main or _in_any(module.name, CATCHES_ALL)
    for node in module.nodes:
        if isinstance(node, ast.Call) and _suppresses_all(node):
            yield module.path, node.lineno, "an error is swallowed: suppress(Exception)"
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = _caught(node)
        if not caught & ALL_ERRORS:
            continue
        if all(isinstance(step, ast.Pass) or _is_literal(step) for step in node.body):
            yield module.path, node.lineno, "an error is swallowed: except Exception: pass"
        # An undo that catches BaseException and raises it again hides nothing.
        undoes = caught == {"BaseException"} and _raises_again(node.body[-1])
        if not allowed and not undoes:
            homes = f"a cli's main or fast and {', '.join(CATCHES_ALL)}"
            yield module.path, node.lineno, f"every error is caught only in {homes}"


def _suppresses_all(call: ast.Call) -> bool:
    called = (dotted(call.func) or "").rpartition(".")[2]
    return called == "suppress" and any(dotted(each) in ALL_ERRORS for each in call.args)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    """The names a handler catches; a bare except catches the empty name."""
    if handler.type is None:
        return {""}
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {dotted(each) or "?" for each in types}


def _is_literal(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def _raises_again(step: ast.stmt) -> bool:
    return isinstance(step, ast.Raise) and step.exc is None


def _edges(module: Module, tree: Tree, imports: tuple[Import, ...]) -> dict[str, int]:
    """Which modules these imports load, and by which line.

    To import a.b.c also runs a and a.b; a module's own packages run before it does.
    """
    edges: dict[str, int] = {}
    for each in imports:
        home = _home(each.name, tree)
        if home is None or home == module.name:
            continue
        edges.setdefault(home, each.line)
        for package in _packages(home):
            if package in tree and not within(module.name, package):
                edges.setdefault(package, each.line)
    return edges


def _shortest_cycle(start: str, edges: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The shortest way from `start` back to itself, or nothing."""
    waiting: deque[tuple[str, ...]] = deque([(start,)])
    seen: set[str] = set()
    while waiting:
        trail = waiting.popleft()
        for target in sorted(edges[trail[-1]]):
            if target == start:
                return (*trail, start)
            if target not in seen:
                seen.add(target)
                waiting.append((*trail, target))
    return ()


def _loaded_at_start(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Every module that a hot root loads at module level, with the way that leads there."""
    loaded: dict[str, tuple[str, ...]] = {}
    for root in HOT_ROOTS:
        if root not in tree:
            continue
        starts = (name for name in (*_packages(root), root) if name in tree)
        waiting: deque[tuple[str, ...]] = deque((start,) for start in starts)
        while waiting:
            trail = waiting.popleft()
            name = trail[-1]
            if name in loaded:
                continue
            loaded[name] = trail
            targets = _edges(tree[name], tree, _at_start(tree[name]))
            waiting.extend((*trail, target) for target in targets)
    return loaded


def _at_start(module: Module) -> tuple[Import, ...]:
    return tuple(each for each in module.run_time_imports if each.at_start)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _in_any(name: str, packages: tuple[str, ...]) -> bool:
    return any(within(name, package) for package in packages)


def _unit(name: str) -> str:
    """The part of the package that has a layer: `tracker` of ddx.tracker.tracker."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ROOT


def _is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _home(name: str, tree: Tree) -> str | None:
    """The module of ours that holds `name`: ddx.base.errors for ddx.base.errors.UsageError."""
    return next((each for each in (name, *reversed(_packages(name))) if each in tree), None)


def _packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@cache
def _read(key: str, source: str) -> Module:
    path = f"src/{key.replace('.', '/')}.py"
    name = key.removesuffix(".__init__")
    package = name if key.endswith(".__init__") else name.rpartition(".")[0]
    tree = ast.parse(source, filename=path)
    imports = tuple(_imports(tree, package, runs=True, at_start=True))
    nodes = tuple(ast.walk(tree))
    mentions = tuple(_mentions(nodes, imports))
    return Module(
        name,
        path,
        len(source.splitlines()),
        nodes=nodes,
        imports=imports,
        mentions=mentions,
        is_pure=_first_line(tree).endswith(PURE_MARK),
    )


def _first_line(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _imports(node: ast.AST, package: str, *, runs: bool, at_start: bool) -> Iterator[Import]:
    """Every import below `node`, a literal import_module("...") too."""
    if isinstance(node, ast.Import):
        for each in node.names:
            head = each.name.partition(".")[0]
            means = each.name if each.asname else head
            yield Import(
                each.name,
                each.asname or head,
                means,
                line=node.lineno,
                runs=runs,
                at_start=at_start,
            )
    elif isinstance(node, ast.ImportFrom):
        for each in node.names:
            name = f"{_source_of(node, package)}.{each.name}"
            yield Import(
                name, each.asname or each.name, name, line=node.lineno, runs=runs, at_start=at_start
            )
    elif isinstance(node, ast.Call) and _is_import_call(node):
        literal = node.args[0] if node.args else None
        if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
            yield Import(literal.value, "", "", line=node.lineno, runs=runs, at_start=at_start)
    at_start = at_start and not isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    )
    never = _never_runs(node)
    for child in ast.iter_child_nodes(node):
        alive = runs and child not in never
        yield from _imports(child, package, runs=alive, at_start=at_start)


def _source_of(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of what a `from` imports from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _is_import_call(node: ast.Call) -> bool:
    called = (dotted(node.func) or "").rpartition(".")[2]
    return called in {"import_module", "__import__"}


def _never_runs(node: ast.AST) -> list[ast.stmt]:
    """The branch of an `if TYPE_CHECKING:` that only a type checker takes."""
    if not isinstance(node, ast.If):
        return []
    test, branch = node.test, node.body
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, branch = test.operand, node.orelse
    return branch if (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING" else []


def _mentions(nodes: Nodes, imports: tuple[Import, ...]) -> Iterator[tuple[str, int]]:
    """Names reached through an import, and builtins that the module does not bind itself."""
    known = {name: f"builtins.{name}" for name in ("open", "print")}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.pop(node.id, None)
        elif isinstance(node, ast.arg):
            known.pop(node.arg, None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            known.pop(node.name, None)
    known |= {each.alias: each.means for each in imports if each.runs and each.alias}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            head, dot, rest = (dotted(node) or "").partition(".")
            if head in known:
                yield f"{known[head]}{dot}{rest}", node.lineno


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` for a name with attributes, None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None

"""Where explorers look: the parts of a repository that matter for an objective (O-6). Pure.

A part follows the repository's own boundaries. Some show where intent comes in (entry points, from
the top down), some where the core types live (from the bottom up); those whose names share words
with the objective come first. The same files and words always give the same parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ddx.base import cut, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


FEWEST, MOST = 3, 6
"""Explorers at all, `memory` and `framework` included."""
MEMORY, FRAMEWORK = "memory", "framework"
WHOLE = "."

_BROAD_SHARE, _BROAD_FILES, _MOST_SHARE = 0.15, 12, 0.4
_MOST_DEPTH = 6
_LONGEST_WORD_CUT = 4

_SKIPPED = frozenset(
    {
        *("node_modules", "vendor", "third_party", "dist", "build", "target", "venv", "coverage"),
        *("__pycache__", "site-packages", "fixtures", "testdata", "snapshots"),
    }
)
_SOURCES = frozenset(
    {
        *("py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "vue", "svelte", "go", "rs", "rb", "php"),
        *("java", "kt", "kts", "scala", "swift", "c", "h", "cc", "cpp", "hpp", "cs", "fs", "ex"),
        *("exs", "erl", "clj", "hs", "ml", "lua", "pl", "r", "jl", "dart", "sh", "bash", "sql"),
        *("proto", "graphql", "css", "scss", "html"),
    }
)
_ENTRIES = frozenset(
    {
        *("api", "app", "apps", "bin", "cli", "cmd", "command", "commands", "config", "controller"),
        *("controllers", "endpoints", "handlers", "index", "main", "manage", "middleware", "pages"),
        *("route", "router", "routers", "routes", "server", "settings", "urls", "views", "web"),
    }
)
_CORES = frozenset(
    {
        *("base", "common", "core", "data", "database", "db", "domain", "entities", "entity"),
        *("lib", "model", "models", "repository", "schema", "schemas", "storage", "store", "types"),
        *("util", "utils"),
    }
)
_TESTS = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e", "docs", "examples"})
_STOP = frozenset(
    {
        *("a", "an", "and", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its"),
        *("of", "on", "or", "so", "that", "the", "this", "to", "with", "when"),
        *("add", "change", "create", "fix", "implement", "improve", "make", "new", "remove"),
        *("support", "update", "use"),
    }
)
_FOCUS = {
    "top": "where a user's intent comes in: entry points, routes, commands, configuration",
    "bottom": "the core types: models, stores and what others are built on",
    "plain": "what of it the objective touches, and what depends on that",
}


@value
class ExplorerScope:
    """One explorer's part and what it looks for there."""

    name: str
    focus: str
    files: tuple[str, ...] = ()
    """What lies in it, for whoever must tell where a file belongs."""


def choose_scopes(
    files: Iterable[str], objective: str, *, most: int = MOST
) -> tuple[ExplorerScope, ...]:
    """At least one part of the code, at most `most` scopes, and always `memory` and `framework`."""
    wanted = words_of(objective)
    sources = sorted(path for path in set(files) if _is_source(path))
    parts = {folder: tuple(paths) for folder, paths in _split(sources).items()}
    chosen = _chosen(parts, wanted, max(most - 2, 1)) or [WHOLE]
    found = ((folder, parts.get(folder, ())) for folder in chosen)
    return (
        *(ExplorerScope(_named(it), _FOCUS[_role(it, paths)], paths) for it, paths in found),
        ExplorerScope(MEMORY, "failures to avoid and patterns that worked here before"),
        ExplorerScope(
            FRAMEWORK, "the framework, its idioms and the conventions of this repository"
        ),
    )


def entry_points(files: Iterable[str]) -> list[str]:
    """Files in which something begins, the shallow ones first."""
    found = [path for path in files if _is_source(path) and _stem(path) in _BEGINS]
    return sorted(found, key=lambda path: (path.count("/"), path))


_BEGINS = frozenset({"main", "__main__", "cli", "app", "server", "index", "manage", "wsgi", "asgi"})


def words_of(text: str) -> set[str]:
    """The words that carry meaning, cut so that `logins` and `login` meet."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    found = re.findall(r"[^\W_]+", spaced.casefold())
    return {_cut(word) for word in found if word not in _STOP and len(word) > 1}


def _cut(word: str) -> str:
    for ending in ("ations", "ation", "ators", "ator", "ings", "ing", "ers", "ies", "ed", "es"):
        if word.endswith(ending) and len(word) - len(ending) >= _LONGEST_WORD_CUT:
            return word.removesuffix(ending)
    return word.removesuffix("s") if len(word) > _LONGEST_WORD_CUT else word


# -- boundaries ----------------------------------------------------------------------------


def _split(sources: Sequence[str]) -> dict[str, list[str]]:
    """Files by the folder that holds them together; what is too broad gives way to its parts."""
    parts = _by_folder(sources, "")
    for _ in range(_MOST_DEPTH):
        broad = [folder for folder, paths in parts.items() if _is_broad(folder, paths, sources)]
        if not broad:
            break
        for folder in broad:
            parts |= _by_folder(parts.pop(folder), folder)
    return parts


def _is_broad(folder: str, paths: Sequence[str], sources: Sequence[str]) -> bool:
    """A folder that only passes on to others, or that holds too much of all."""
    if folder.endswith("/."):  # the files that lie in it directly
        return False
    below = _by_folder(paths, folder)
    folders = [name for name in below if not name.endswith("/.")]
    if not folders:
        return False
    is_passage = len(below) == 1
    most = min(max(_BROAD_SHARE * len(sources), _BROAD_FILES), _MOST_SHARE * len(sources))
    return is_passage or len(paths) > most


def _by_folder(paths: Iterable[str], above: str) -> dict[str, list[str]]:
    """By the next folder below `above`; files that lie in `above` itself are `above/.`."""
    start = len(above) + 1 if above else 0
    parts: dict[str, list[str]] = {}
    for path in paths:
        name, slash, _ = path[start:].partition("/")
        key = "/".join(filter(None, (above, name if slash else ".")))
        parts.setdefault(f"./{key}" if key == "." else key, []).append(path)
    return parts


def _is_source(path: str) -> bool:
    folders = path.split("/")[:-1]
    if any(folder.startswith(".") or folder in _SKIPPED for folder in folders):
        return False
    return path.rpartition(".")[2].lower() in _SOURCES


# -- choosing ------------------------------------------------------------------------------


def _chosen(parts: Mapping[str, tuple[str, ...]], wanted: set[str], most: int) -> list[str]:
    """The best ones, but one from the top and one from the bottom wherever there is one."""
    ranked = sorted(parts, key=lambda it: (-_score(it, parts[it], wanted), it))
    firsts = [
        next((it for it in ranked if _role(it, parts[it]) == role), None)
        for role in ("top", "bottom")
    ]
    relevant = [it for it in ranked if _relevance(it, parts[it], wanted)]
    order = dict.fromkeys(it for it in (*relevant[:1], *firsts, *ranked) if it is not None)
    return sorted(list(order)[:most])


def _score(folder: str, paths: Sequence[str], wanted: set[str]) -> float:
    role = 0.3 if _is_aside(folder) else 1.0 if _role(folder, paths) == "plain" else 1.5
    size = min(len(paths), 50) / 50
    return 3.0 * _relevance(folder, paths, wanted) + role + size


def _relevance(folder: str, paths: Sequence[str], wanted: set[str]) -> float:
    """How many of the objective's words its folder and files speak, 0 to 1."""
    if not wanted:
        return 0.0
    spoken = words_of(folder).union(*(words_of(_stem(path)) for path in paths))
    return len(spoken & wanted) / len(wanted)


def _role(folder: str, paths: Sequence[str]) -> str:
    if _is_aside(folder):
        return "plain"
    names = set(folder.casefold().split("/"))
    stems = {_stem(path) for path in paths if path.rpartition("/")[0] == folder.removesuffix("/.")}
    by_folder = ((names, _ENTRIES, "top"), (names, _CORES, "bottom"))
    signs = (*by_folder, (stems, _BEGINS, "top"), (stems, _CORES, "bottom"))
    return next((role for said, words, role in signs if said & words), "plain")


def _is_aside(folder: str) -> bool:
    return bool(_TESTS & set(folder.casefold().split("/")))


def _named(folder: str) -> str:
    """As an explorer is told it: `src/auth/`; for files without one, their folder alone."""
    if folder == WHOLE or folder.startswith("./"):
        return WHOLE
    return f"{folder.removesuffix('/.')}/"


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].casefold()


MOST_FILES = 60
_MOST_DETAILS = 120
_MOST_WORDS = 40
_LONGEST_TEXT = 400
_CONFIDENCE = {"HIGH": 3, "MEDIUM": 2, "LOW": 1, "NONE": 0}
_RELEVANCE = (("high", 3), ("medium", 2), ("low", 1))


@value
class Observation:
    """One thing that somebody saw in a file."""

    file: str
    line: int | None
    what: str
    relevance: str
    scope: str
    is_at_home: bool
    """Whoever saw it was sent to look there."""

    @property
    def weight(self) -> tuple[int, bool, int]:
        return _rank(self.relevance), self.is_at_home, len(self.what)

    def as_row(self) -> dict[str, Any]:
        return {key: said for key, said in self.__dict__.items() if key != "is_at_home"}


def synthesize(
    objective: str,
    scopes: Sequence[ExplorerScope],
    found: Mapping[str, Mapping[str, Any]],
    files: Collection[str],
) -> dict[str, Any]:
    """The exploration: what each scope's explorer answered, by its name, against what is there.

    Of two that say different things about one line, the more relevant counts, then the one who was
    sent there. A file that does not exist is nobody's target.
    """
    known = set(files)
    details = _settled(
        [
            detail
            for scope in scopes
            for detail in _details(scope, found.get(scope.name, {}))
            if detail.file in known
        ]
    )
    ordered = sorted(details, key=lambda it: (-_rank(it.relevance), it.file, it.line or 0))
    return {
        "objective": objective,
        "structure": {
            "directories": [it.name for it in scopes if it.name not in (MEMORY, FRAMEWORK)],
            "entry_points": entry_points(files)[:_MOST_WORDS],
            "dependencies": _words(found, "dependencies"),
        },
        "patterns": _patterns(found),
        "memory": _memories(found),
        "targets": {
            "files": list(dict.fromkeys(it.file for it in ordered))[:MOST_FILES],
            "details": [it.as_row() for it in ordered[:_MOST_DETAILS]],
        },
    }


def _details(scope: ExplorerScope, answer: Mapping[str, Any]) -> list[Observation]:
    return [
        Observation(
            file=path,
            line=row.get("line") or line,
            what=cut(" ".join(str(row.get("what", "")).split()), _LONGEST_TEXT),
            relevance=cut(" ".join(str(row.get("relevance", "")).split()), _LONGEST_TEXT),
            scope=scope.name,
            is_at_home=path in scope.files,
        )
        for row in answer.get("findings", ())
        for path, line in [_place(str(row.get("file", "")))]
    ]


def _place(said: str) -> tuple[str, int | None]:
    """`src/a.py`, also where somebody wrote `./src/a.py:12`."""
    path, _, rest = said.strip().strip("`").removeprefix("./").partition(":")
    number = rest.partition(":")[0].partition("-")[0]
    return path, int(number) if number.isascii() and number.isdigit() and len(number) < 8 else None


def _settled(details: Sequence[Observation]) -> list[Observation]:
    """One for each line, and for each thing that is said of a file."""
    places = ((it.file, it.line) if it.line else (it.file, None, n) for n, it in enumerate(details))
    by_line = _weightiest(zip(places, details, strict=True))
    return _weightiest(((it.file, it.what.casefold()), it) for it in by_line)


def _weightiest(keyed: Iterable[tuple[object, Observation]]) -> list[Observation]:
    """Of those with the same key the first one of the most weight."""
    found: dict[object, Observation] = {}
    for key, detail in keyed:
        if key not in found or detail.weight > found[key].weight:
            found[key] = detail
    return list(found.values())


def _rank(relevance: str) -> int:
    folded = relevance.casefold()
    return next((rank for word, rank in _RELEVANCE if folded.startswith(word)), 2)


def _patterns(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The framework that somebody is surest of; of two, the one who was sent to look for it."""
    claims = [
        (_CONFIDENCE.get(str(said.get("confidence")), 0), name == FRAMEWORK, said)
        for name, answer in found.items()
        if isinstance(said := answer.get("framework"), dict) and said.get("detected")
    ]
    best = max(claims, key=lambda claim: claim[:2], default=(0, False, {}))[2]
    return {
        "framework": str(best.get("detected") or ""),
        "idioms": _idioms(best.get("idioms")),
        "observed": _words(found, "patterns_observed"),
    }


def _idioms(given: Any) -> dict[str, list[str]]:
    rules = given if isinstance(given, dict) else {}
    return {
        key: [cut(str(it), _LONGEST_TEXT) for it in rules.get(key, ())][:_MOST_WORDS]
        for key in ("required", "forbidden")
    }


def _memories(found: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """Each memory once, by its name; a type that nobody tells is a failure's: it warns."""
    by_name: dict[str, dict[str, str]] = {}
    for answer in found.values():
        for row in answer.get("memories", ()):
            texts = {key: cut(str(text), _LONGEST_TEXT) for key, text in row.items()}
            by_name.setdefault(texts.get("name", ""), texts)
    by_name.pop("", None)
    patterns = [it for it in by_name.values() if it.get("type") == "pattern"]
    return {"failures": [it for it in by_name.values() if it not in patterns], "patterns": patterns}


def _words(found: Mapping[str, Mapping[str, Any]], key: str) -> list[str]:
    said = (str(it).strip() for answer in found.values() for it in answer.get(key, ()))
    by_folded = {text.casefold(): cut(text, _LONGEST_TEXT) for text in said if text}
    return list(by_folded.values())[:_MOST_WORDS]

"""What explorers found, made into one: doubles dropped, contradictions settled (O-6). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.text import cut
from ddx.values import value
from helix.objective.explore import FRAMEWORK, MEMORY, entry_points

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helix.objective.explore import Scope

MOST_FILES = 60
_MOST_DETAILS = 120
_MOST_WORDS = 40
_LONGEST_TEXT = 400
_CONFIDENCE = {"HIGH": 3, "MEDIUM": 2, "LOW": 1, "NONE": 0}
_RELEVANCE = (("high", 3), ("medium", 2), ("low", 1))


@value
class Detail:
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


def synthesize(
    objective: str,
    scopes: Sequence[Scope],
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
            "details": [_row(it) for it in ordered[:_MOST_DETAILS]],
        },
    }


def _details(scope: Scope, answer: Mapping[str, Any]) -> list[Detail]:
    return [
        Detail(
            path,
            row.get("line") or line,
            cut(" ".join(str(row.get("what", "")).split()), _LONGEST_TEXT),
            cut(" ".join(str(row.get("relevance", "")).split()), _LONGEST_TEXT),
            scope.name,
            path in scope.files,
        )
        for row in answer.get("findings", ())
        for path, line in [_place(str(row.get("file", "")))]
    ]


def _place(said: str) -> tuple[str, int | None]:
    """`src/a.py`, also where somebody wrote `./src/a.py:12`."""
    path, _, rest = said.strip().strip("`").removeprefix("./").partition(":")
    number = rest.partition(":")[0].partition("-")[0]
    return path, int(number) if number.isascii() and number.isdigit() and len(number) < 8 else None


def _settled(details: Sequence[Detail]) -> list[Detail]:
    """One for each line, and for each thing that is said of a file."""
    by_line: dict[object, Detail] = {}
    for n, detail in enumerate(details):
        place = (detail.file, detail.line) if detail.line else (detail.file, None, n)
        if place not in by_line or detail.weight > by_line[place].weight:
            by_line[place] = detail
    by_words: dict[tuple[str, str], Detail] = {}
    for detail in by_line.values():
        said = (detail.file, detail.what.casefold())
        if said not in by_words or detail.weight > by_words[said].weight:
            by_words[said] = detail
    return list(by_words.values())


def _row(detail: Detail) -> dict[str, Any]:
    return {
        "file": detail.file,
        "line": detail.line,
        "what": detail.what,
        "relevance": detail.relevance,
        "scope": detail.scope,
    }


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
    return {
        "failures": [it for it in by_name.values() if it not in patterns],
        "patterns": patterns,
    }


def _words(found: Mapping[str, Mapping[str, Any]], key: str) -> list[str]:
    said = (str(it).strip() for answer in found.values() for it in answer.get(key, ()))
    by_folded = {text.casefold(): cut(text, _LONGEST_TEXT) for text in said if text}
    return list(by_folded.values())[:_MOST_WORDS]

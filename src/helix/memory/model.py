"""The words of memory: what is remembered, what may be, and how it is called (M-1, M-2). Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING
from unicodedata import normalize

from ddx.base import UsageError, require_clean, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SHORTEST_TRIGGER = 10
LONGEST_TRIGGER = 2_000
LONGEST_RESOLUTION = 8_000
LONGEST_NAME = 50
LONGEST_SOURCE = 200
LONGEST_PATH = 400
MOST_FILE_PATTERNS = 20


class MemoryKind(StrEnum):
    """What a memory is good for: to avoid something, or to do it again."""

    FAILURE = "failure"
    PATTERN = "pattern"


class Relation(StrEnum):
    CO_OCCURS = "co_occurs"
    CAUSES = "causes"
    SOLVES = "solves"
    SIMILAR = "similar"


@value
class MemoryDraft:
    """Something that might be remembered, before anybody has judged it."""

    type: str
    trigger: str
    resolution: str
    source: str = ""
    files: tuple[str, ...] = ()


@value
class MemoryHistory:
    """What a memory that comes from elsewhere has been through; a new one has no past."""

    created_at: str = ""
    last_used: str = ""
    helped: float = 0.0
    failed: float = 0.0
    pinned: bool = False


@value
class Memory:
    """One thing that was learned, and how it has done since (M-1)."""

    id: int
    name: str
    type: MemoryKind
    trigger: str
    resolution: str
    helped: float = 0.0
    failed: float = 0.0
    source: str = ""
    created_at: str = ""
    last_used: str = ""
    """When it was last credited with a pass; recall never touches it (M-3a)."""
    file_patterns: tuple[str, ...] = ()
    pinned: bool = False
    embedder: str = ""
    """Whose vectors it has; empty: it waits to be embedded (M-4)."""

    @property
    def uses(self) -> float:
        return self.helped + self.failed

    @property
    def whole(self) -> str:
        """Trigger and resolution as one text, as an embedder and an echo are compared with it."""
        return f"{self.trigger}\n{self.resolution}"


@value
class MemoryEdge:
    """How one memory stands to another."""

    source: str
    target: str
    relation: Relation
    weight: float = 1.0


# -- what may be remembered (M-2) ----------------------------------------------------------


def rejection(draft: MemoryDraft) -> str:
    """Why it may not be remembered, whoever says it; empty if it may."""
    if draft.type not in tuple(MemoryKind):
        return f"type must be failure or pattern, not {draft.type!r}"
    if len(draft.trigger.strip()) < SHORTEST_TRIGGER:
        return f"trigger too short: it needs at least {SHORTEST_TRIGGER} characters"
    if not draft.resolution.strip():
        return "resolution empty"
    if len(draft.trigger) > LONGEST_TRIGGER:
        return f"trigger too long: more than {LONGEST_TRIGGER:,} characters"
    if len(draft.resolution) > LONGEST_RESOLUTION:
        return f"resolution too long: more than {LONGEST_RESOLUTION:,} characters"
    if len(draft.source) > LONGEST_SOURCE:
        return f"source too long: more than {LONGEST_SOURCE:,} characters"
    if any(len(path) > LONGEST_PATH for path in draft.files):
        return f"a file's path is too long: more than {LONGEST_PATH:,} characters"
    if not identity(draft.trigger):
        return "trigger without a word"
    try:
        require_clean(draft.trigger, what="trigger")
        require_clean(draft.resolution, what="resolution")
        require_clean(draft.source, what="source")
        for path in draft.files:
            require_clean(path, what="a file's path")
    except UsageError as problem:
        return problem.message
    return ""


def identity(text: str) -> str:
    """A text without what writing it again would change: two memories never share one."""
    return " ".join(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def slug_of(trigger: str) -> str:
    """A kebab-case name that reads like the trigger; words of other scripts stay as they are."""
    words = re.findall(r"[^\W_]+", normalize("NFKC", trigger).lower())
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:LONGEST_NAME]
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name or "memory"


def free_name(trigger: str, taken: Collection[str]) -> str:
    """The slug, or the slug with the first number that makes it unique."""
    slug = slug_of(trigger)
    if slug not in taken:
        return slug
    number = 2
    while (name := f"{slug}-{number}") in taken:
        number += 1
    return name


# -- advice that comes back (M-10) ---------------------------------------------------------

REPEATED = 0.8
"""The share of a text's word groups that a memory may hold before the text counts as its echo."""
_GROUP = 3


def is_echo(draft: MemoryDraft, memory: Memory) -> bool:
    """Do trigger and resolution both stand in the memory already, word for word or nearly so?

    A text that recall had handed out is no new knowledge.
    """
    known = _groups(memory.whole)
    return all(_share(text, known) >= REPEATED for text in (draft.trigger, draft.resolution))


def _share(text: str, known: set[tuple[str, ...]]) -> float:
    groups = _groups(text)
    return len(groups & known) / len(groups) if groups else 0.0


def _groups(text: str) -> set[tuple[str, ...]]:
    """Every three words that follow each other; shorter ones too, so that a short text counts."""
    words = identity(text).split()
    if len(words) < _GROUP:
        return {tuple(words)} if words else set()
    return {tuple(words[place : place + _GROUP]) for place in range(len(words) - _GROUP + 1)}


# -- the files that a memory is about ------------------------------------------------------

_ROOTS = "src|lib|app|apps|api|cmd|components|docs|internal|pkg|scripts?|services|tests?|utils"
_ENDINGS = (
    "bash|c|cc|cfg|cpp|cs|css|go|h|hpp|html|ini|java|js|json|jsx|kt|md|mjs|php|proto|py|rb|rs|"
    "scala|sh|sql|svelte|swift|tf|toml|ts|tsx|vue|xml|yaml|yml"
)
_FILE = re.compile(rf"(?<![\w./-])((?:[\w.@-]+/)*[\w.@-]+\.(?:{_ENDINGS}))(?![\w/-])")
_FOLDER = re.compile(rf"(?<![\w./-])((?:{_ROOTS})/(?:[\w.@-]+/)*)(?![\w.-])")


def files_in(text: str) -> tuple[str, ...]:
    """The paths of source files and folders that a text names, each once."""
    found = (_clean_path(match[1]) for form in (_FILE, _FOLDER) for match in form.finditer(text))
    return tuple(dict.fromkeys(filter(None, found)))[:MOST_FILE_PATTERNS]


def patterns_of(draft: MemoryDraft) -> tuple[str, ...]:
    """What was said, and what trigger and resolution name."""
    said = filter(None, map(_clean_path, draft.files))
    named = files_in(f"{draft.trigger}\n{draft.resolution}")
    return tuple(dict.fromkeys((*said, *named)))[:MOST_FILE_PATTERNS]


def names_a_file(patterns: Iterable[str], files: Iterable[str]) -> bool:
    """Is one of the files meant: by its whole path, by the end of it, or by a folder above it?

    Whole path parts are compared: `a.py` is not found in `data.py` (the seed's mistake).
    """
    parts = [tuple(path.split("/")) for path in map(_clean_path, files) if path]
    return any(_is_meant(pattern, path) for pattern in patterns for path in parts)


def _is_meant(pattern: str, path: tuple[str, ...]) -> bool:
    if pattern.endswith("/"):
        folder = tuple(pattern.rstrip("/").split("/"))
        return path[: len(folder)] == folder and len(path) > len(folder)
    named = tuple(pattern.split("/"))
    shorter, longer = sorted((named, path), key=len)
    return longer[-len(shorter) :] == shorter


def _clean_path(path: str) -> str:
    return path.strip().removeprefix("./")

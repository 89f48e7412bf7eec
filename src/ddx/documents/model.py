"""What kind of document it is, and how much it has to say (G-2, G-4). Pure."""

from __future__ import annotations

from ddx.base import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from ddx.base import Finding

TIERS = {
    "vision": 0,
    "prd": 1,
    "feat": 2,
    "us": 3,
    "adr": 4,
    "architecture": 4,
    "contract": 4,
    "api": 4,
    "sd": 5,
    "td": 6,
    "tp": 7,
    "test": 8,
    "exec": 8,
    "metric": 8,
    "implementation-plan": 9,
    "code": 10,
}
"""0 has the most authority; what is not here has none."""
WITHOUT_AUTHORITY = ("report", "review", "plan", "parking-lot")
UNKNOWN = ""
LAST = 99
"""Where documents without a tier sort."""
_PREFIXES = {
    **{name: name for name in ("vision", "prd", "feat", "us", "adr", "contract", "api")},
    **{name: name for name in ("sd", "td", "tp", "exec")},
    "arch": "architecture",
    "tc": "test",
    "met": "metric",
    "ip": "implementation-plan",
    "ar": "review",
    "bf": "report",
    "rpt": "report",
}
_SYNONYMS = {
    "product-vision": "vision",
    "feature": "feat",
    "feature-spec": "feat",
    "user-story": "us",
    "story": "us",
    "decision": "adr",
    "solution-design": "sd",
    "technical-design": "td",
    "test-plan": "tp",
    "tests": "test",
    "execution": "exec",
    "build-plan": "implementation-plan",
    "alignment-review": "review",
    "backfill-report": "report",
}
KNOWN_NAMES = {
    "product-vision": ("vision", "vision"),
    "vision": ("vision", "vision"),
    "prd": ("prd", "prd"),
    "architecture": ("architecture", "architecture"),
    "test-plan": ("test-plan", "tp"),
    "implementation-plan": ("implementation-plan", "implementation-plan"),
    "parking-lot": ("parking-lot", "parking-lot"),
}
"""File name without ending: its id and its type."""
FOLDERS = {
    "features": "feat",
    "user-stories": "us",
    "adr": "adr",
    "contracts": "contract",
    "solution-designs": "sd",
    "technical-designs": "td",
    "test-plans": "tp",
    "executions": "exec",
    "metrics": "metric",
    "alignment-reviews": "review",
    "backfill-reports": "report",
    "reports": "report",
    "parking-lot": "parking-lot",
}


def numbered_id(name: str) -> str:
    """`TD-036` from `TD-036-list-servers`, or an empty string; `AR-2026-03-27` has no number."""
    letters, _, rest = name.partition("-")
    number = rest.partition("-")[0].partition("_")[0]
    fits = (
        number.isdigit()
        and (letters + number).isascii()
        and (letters.isupper() or letters.lower() in _PREFIXES)
        and letters.isalpha()
        and not (len(number) == 4 and _is_day(rest[:10].split("-")))
    )
    return f"{letters.upper()}-{number}" if fits else ""


def is_dated(name: str) -> bool:
    """Does a day stand in the name, as in plan-2026-03-27 or AR-2026-03-27-cli?"""
    parts = name.split("-")
    return any(_is_day(parts[n : n + 3]) for n in range(len(parts) - 2))


def identity(path: str, declared: str) -> str:
    """The document's id: declared, else from its name, else its path without ending (G-2)."""
    if declared:
        return declared
    stem = _stem(path)
    if numbered := numbered_id(stem):
        return numbered
    if stem.lower() in KNOWN_NAMES:
        return KNOWN_NAMES[stem.lower()][0]
    return path.rpartition(".")[0] or path


def type_of(path: str, doc_id: str, declared: str, *, parked: bool = False) -> str:
    """From front matter, the id's prefix, then the folder; UNKNOWN where none of them tells."""
    if parked:
        return "parking-lot"
    word = declared.strip().lower().replace(" ", "-").replace("_", "-")
    word = _SYNONYMS.get(word, word)
    if word in TIERS or word in WITHOUT_AUTHORITY:
        return word
    prefix = doc_id.partition("-")[0].lower()
    if prefix in _PREFIXES and (prefix == doc_id.lower() or numbered_id(doc_id)):
        return _PREFIXES[prefix]
    stem = _stem(path).lower()
    if stem in KNOWN_NAMES:
        return KNOWN_NAMES[stem][1]
    folders = reversed(path.split("/")[:-1])
    held = next((FOLDERS[name] for name in folders if name in FOLDERS), UNKNOWN)
    dated = next((name for name in (_last(doc_id).lower(), stem) if is_dated(name)), "")
    return _type_of_day(dated, held) if dated else held


def outranks(one: str, other: str) -> bool:
    """Has one type more authority than another? Of an unknown type nobody can tell (G-5)."""
    ranks = [TIERS.get(each, LAST) for each in (one, other)]
    return UNKNOWN not in (one, other) and ranks[0] < ranks[1]


def tier_of(document_type: str) -> int | None:
    return TIERS.get(document_type)


def resolve(target: str, known: Mapping[str, str]) -> str:
    """The id that a link means; `known` maps case-folded ids to ids. Empty: it leads nowhere."""
    wanted = target.strip()
    for name in (wanted, numbered_id(wanted)):
        found = known.get(name.casefold())
        if name and found:
            return found
    return ""


def _type_of_day(name: str, held: str) -> str:
    """A page of one day is a record or a plan: no folder gives it authority (G-4)."""
    said = _PREFIXES.get(name.partition("-")[0], UNKNOWN)
    return next((each for each in (said, held) if each in WITHOUT_AUTHORITY), "plan")


def _is_day(parts: list[str]) -> bool:
    return [len(part) for part in parts] == [4, 2, 2] and "".join(parts).isdigit()


def _stem(path: str) -> str:
    name = _last(path)
    return name.rpartition(".")[0] or name


def _last(path: str) -> str:
    return path.rpartition("/")[2]


if TYPE_CHECKING:
    Table: TypeAlias = tuple[int, dict[str, Any]]
    """The line where a table of the front matter begins, and its fields."""
    Placed: TypeAlias = tuple[str, int, dict[str, Any]]
    """The same with its file."""


@value
class Link:
    """A name that a document or a test gives, and where."""

    target: str
    line: int


@value
class ParsedDocument:
    """One file as it is, before anybody knows what its links mean."""

    path: str
    declared_id: str = ""
    id_line: int = 1
    declared_type: str = ""
    title: str = ""
    status: str = ""
    parked: bool = False
    depends_on: tuple[Link, ...] = ()
    links: tuple[Link, ...] = ()
    superseded_by: tuple[Link, ...] = ()
    sections: tuple[str, ...] = ()
    content_hash: str = ""
    review: dict[str, str] | None = None
    """Hashes of its upstream that its own front matter says were reviewed (G-8)."""
    execution: Table | None = None
    metric: Table | None = None
    findings: tuple[Finding, ...] = ()


@value
class DocumentEdge:
    """`down` follows from `up`; `origin` and the place say who claims so."""

    up: str
    down: str
    origin: str
    path: str
    line: int


@value
class BrokenLink:
    """A name that leads nowhere, and who gives it where (G-3)."""

    writer: str
    target: str
    path: str
    line: int


@value
class Document:
    """A node of the graph."""

    id: str
    path: str
    title: str
    type: str
    tier: int | None
    status: str = ""
    superseded_by: tuple[str, ...] = ()
    content_hash: str = ""

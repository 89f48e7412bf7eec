"""Documents, what they say of each other, and what is wrong with them. Pure."""

from __future__ import annotations

from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Table: TypeAlias = tuple[int, dict[str, Any]]
    """The line where a table of the front matter begins, and its fields."""

    Placed: TypeAlias = tuple[str, int, dict[str, Any]]
    """The same with its file."""

ERROR, WARNING = "error", "warning"


@value
class Finding:
    """Something wrong at one place; everything else stays usable (G-10)."""

    kind: str
    severity: str
    path: str
    line: int
    what: str


@value
class Link:
    """A name that a document or a test gives, and where."""

    target: str
    line: int


@value
class Parsed:
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
class Tags:
    """A test or source file that names documents (G-7)."""

    path: str
    links: tuple[Link, ...] = ()
    kind: str = "code"
    findings: tuple[Finding, ...] = ()


@value
class Edge:
    """`down` follows from `up`; `origin` and the place say who claims so."""

    up: str
    down: str
    origin: str
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
    status: str
    superseded_by: tuple[str, ...]
    content_hash: str

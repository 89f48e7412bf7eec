"""From single files to one graph: who is who, and who follows from whom (G-2, G-4, G-5). Pure."""

from __future__ import annotations

from ddx.base import ERROR, WARNING, Finding, changed
from ddx.documents.definitions import define
from ddx.documents.graph import graph_of
from ddx.documents.model import (
    UNKNOWN,
    BrokenLink,
    Document,
    DocumentEdge,
    Link,
    ParsedDocument,
    identity,
    numbered_id,
    outranks,
    tier_of,
    type_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ddx.documents.graph import Graph
    from ddx.documents.scan import SourceFile


def assemble(parsed: Sequence[ParsedDocument], tags: Sequence[SourceFile] = ()) -> Graph:
    """The graph of all files; a file that cannot be part of it leaves a finding."""
    findings = [finding for item in parsed for finding in item.findings]
    documents, owners, remarks = _identified(item for item in parsed if not _is_lost(item))
    known = {doc_id.casefold(): (doc_id,) for doc_id in documents}
    aliases = _aliases(owners, known)
    lost = {identity(item.path, "").casefold(): () for item in parsed if _is_lost(item)}
    joiner = _Joiner(documents, {**lost, **aliases, **known})
    for doc_id, item in owners.items():
        joiner.succeed(doc_id, item)
    for doc_id, item in owners.items():
        for link in item.depends_on:
            joiner.join(doc_id, item.path, link, "depends_on")
        for link in item.links:
            joiner.join(doc_id, item.path, link, "link")
    for tagged in tags:
        joiner.join_tags(tagged)
    edges = sorted(joiner.edges.values(), key=lambda edge: (edge.up, edge.down))
    executions = {
        doc_id: (item.path, *item.execution) for doc_id, item in owners.items() if item.execution
    }
    metrics = {doc_id: (item.path, *item.metric) for doc_id, item in owners.items() if item.metric}
    findings += (*(finding for _, finding in remarks), *joiner.findings, *_rings(edges))
    findings += define(executions, metrics).findings
    return graph_of(
        list(documents.values()),
        edges,
        sorted(findings, key=lambda item: (item.where, item.line, item.kind)),
        gaps=sorted(joiner.gaps, key=lambda gap: (gap.path, gap.line)),
        details={
            "reviews": {
                doc_id: dict(item.review) for doc_id, item in owners.items() if item.review
            },
            "sections": {doc_id: item.sections for doc_id, item in owners.items()},
            "aliases": aliases,
            "executions": executions,
            "metrics": metrics,
            "doubts": _doubts(owners, remarks, joiner.hidden),
        },
    )


def _is_lost(item: ParsedDocument) -> bool:
    return any(finding.kind in ("unreadable", "too-large") for finding in item.findings)


def _identified(
    parsed: Iterable[ParsedDocument],
) -> tuple[dict[str, Document], dict[str, ParsedDocument], list[tuple[str, Finding]]]:
    """Each id once; the second file that claims one is an error and no silent winner (G-2)."""
    documents: dict[str, Document] = {}
    owners: dict[str, ParsedDocument] = {}
    findings: list[tuple[str, Finding]] = []
    taken: dict[str, str] = {}
    for item in sorted(parsed, key=lambda item: item.path):
        doc_id = identity(item.path, item.declared_id)
        first = taken.setdefault(doc_id.casefold(), doc_id)
        if first in owners:
            what = f"the id {doc_id} is that of {owners[first].path} too; this file is left out"
            double = Finding("duplicate-id", ERROR, item.path, line=item.id_line, what=what)
            findings.append((first, double))
            continue
        kind = type_of(item.path, doc_id, item.declared_type, parked=item.parked)
        if not kind:
            what = "neither its id, its type nor its folder says what kind of document it is"
            unknown = Finding("unknown-type", WARNING, item.path, line=1, what=what)
            findings.append((doc_id, unknown))
        owners[doc_id] = item
        documents[doc_id] = Document(
            id=doc_id,
            path=item.path,
            title=item.title or doc_id,
            type=kind,
            tier=tier_of(kind),
            status=item.status,
            content_hash=item.content_hash,
        )
    return documents, owners, findings


def _doubts(
    owners: Mapping[str, ParsedDocument],
    about: Iterable[tuple[str, Finding]],
    hidden: Iterable[tuple[str, Finding]],
) -> dict[str, tuple[str, ...]]:
    """Errors of a document's own file, of its id, and of names that would lead upstream."""
    found: dict[str, list[str]] = {}
    own = ((doc_id, it) for doc_id, item in owners.items() for it in item.findings)
    for doc_id, it in (*own, *about, *hidden):
        if it.severity == ERROR:
            found.setdefault(doc_id, []).append(f"{it.where}:{it.line}: {it.what}")
    return {doc_id: tuple(said) for doc_id, said in found.items()}


def _aliases(
    owners: Mapping[str, ParsedDocument], known: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """`TC-001` is a heading of a test plan: whoever names it means the plan.

    A heading that begins with `FEAT-002` is no document: who names that one, names a gap.
    """
    found: dict[str, dict[str, None]] = {}
    for doc_id, item in owners.items():
        for section in item.sections:
            name = numbered_id(section.split(" ", 1)[0].strip("`*:."))
            if name and name.casefold() not in known and type_of("", name, "") in (UNKNOWN, "test"):
                found.setdefault(name.casefold(), {})[doc_id] = None
    return {name: tuple(holders) for name, holders in found.items()}


class _Joiner:
    """Edges as they are found; a link that leads nowhere is a gap."""

    def __init__(
        self, documents: dict[str, Document], names: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._documents = documents
        self._names = names
        self.edges: dict[tuple[str, str], DocumentEdge] = {}
        self.findings: list[Finding] = []
        self.gaps: list[BrokenLink] = []
        self.hidden: list[tuple[str, Finding]] = []
        """Names that would lead upstream, and the documents that give them."""

    def succeed(self, doc_id: str, item: ParsedDocument) -> None:
        """Put down what took the document's place, by id where there is one."""
        if item.status == "superseded" and not item.superseded_by:
            what = f"{doc_id} is superseded, but nothing says by what"
            self.findings.append(Finding("no-successor", WARNING, item.path, line=1, what=what))
        successors: list[str] = []
        for link in item.superseded_by:
            targets = self._targets(doc_id, item.path, link, said=f"its successor {link.target}")
            successors += targets or (link.target,)
            if not targets:
                self._hide(doc_id, item.path, link)
        if successors:
            self._documents[doc_id] = changed(
                self._documents[doc_id], superseded_by=tuple(dict.fromkeys(successors))
            )

    def join(self, writer: str, path: str, link: Link, origin: str) -> None:
        """`depends_on` points upstream; a link goes by authority, whoever wrote it (G-5)."""
        targets = self._targets(writer, path, link, said=f"{writer} names {link.target}, which")
        if not targets and (origin == "depends_on" or self._may_govern(link.target, writer)):
            self._hide(writer, path, link)
        for target in targets if writer not in targets else ():
            one, other = self._documents[writer], self._documents[target]
            if origin == "depends_on":
                self._declare(DocumentEdge(target, writer, origin, path=path, line=link.line))
            elif writer in other.superseded_by or target in one.superseded_by:
                continue  # one takes the other's place; neither follows from the other
            elif outranks(one.type, other.type):
                self._guess(DocumentEdge(writer, target, origin, path=path, line=link.line))
            else:
                self._guess(DocumentEdge(target, writer, origin, path=path, line=link.line))

    def join_tags(self, tagged: SourceFile) -> None:
        """A test or source file is a node too, named by its path, below what it names (G-7)."""
        path = tagged.path
        named = [
            (link, self._targets(path, path, link, said=f"names {link.target}, which"))
            for link in tagged.links
        ]
        firm = {targets[0] for _, targets in named if len(targets) == 1}
        for link, targets in named:
            for target in self._nearest(targets, firm):
                edge = DocumentEdge(target, path, "spec-ref", path=path, line=link.line)
                self.edges.setdefault((edge.up, edge.down), edge)
        if any(targets for _, targets in named):
            kind = tagged.kind
            node = Document(path, path, path, type=kind, tier=tier_of(kind))
            self._documents.setdefault(path, node)

    def _targets(self, writer: str, path: str, link: Link, *, said: str) -> tuple[str, ...]:
        """The documents that a name means; `ID-slug` means ID. Where there is none, a gap.

        A file that is there but cannot be read has a finding of its own and is no gap.
        """
        found = self._names.get(link.target.casefold())
        if found is None:
            found = self._names.get(numbered_id(link.target).casefold())
        if found is not None:
            return found
        finding = Finding("gap", ERROR, path, line=link.line, what=f"{said} does not exist")
        self.findings.append(finding)
        self.gaps.append(BrokenLink(writer, link.target, path, line=link.line))
        return ()

    def _may_govern(self, name: str, writer: str) -> bool:
        """Would a document of this name be upstream, if there were one?"""
        return not outranks(self._documents[writer].type, type_of("", name, ""))

    def _hide(self, doc_id: str, path: str, link: Link) -> None:
        what = f"{doc_id} names {link.target}, which cannot be read here"
        self.hidden.append((doc_id, Finding("hidden", ERROR, path, line=link.line, what=what)))

    def _nearest(self, targets: tuple[str, ...], firm: set[str]) -> Sequence[str]:
        """Every plan has a TC-001: a file that names a design too means the plan of that design."""
        if len(targets) < 2:
            return targets
        near = [
            each
            for each in targets
            if any((each, other) in self.edges or (other, each) in self.edges for other in firm)
        ]
        return near or targets

    def _declare(self, edge: DocumentEdge) -> None:
        """What is declared beats what a link lets us guess, in either direction."""
        there = self.edges.get((edge.up, edge.down))
        if there is None or there.origin == "link":
            self.edges[(edge.up, edge.down)] = edge
        back = self.edges.get((edge.down, edge.up))
        if back is not None and back.origin == "link":
            del self.edges[(edge.down, edge.up)]

    def _guess(self, edge: DocumentEdge) -> None:
        back = self.edges.get((edge.down, edge.up))
        if back is None or back.origin == "link":
            self.edges.setdefault((edge.up, edge.down), edge)


# -- documents that follow from each other in a circle (G-5) -----------------------------------


def _rings(edges: Sequence[DocumentEdge]) -> Iterator[Finding]:
    """One finding for each knot of documents that all follow from each other.

    Pages of one tier may well name each other; only a declared dependency makes it an error.
    """
    knot_of = {name: n for n, knot in enumerate(_knots(_downs(edges))) for name in knot}
    inside: dict[int, list[DocumentEdge]] = {}
    for edge in edges if knot_of else ():
        if edge.up in knot_of and knot_of[edge.up] == knot_of.get(edge.down):
            inside.setdefault(knot_of[edge.up], []).append(edge)
    for found in inside.values():
        yield _finding(found)


def _finding(knot: Sequence[DocumentEdge]) -> Finding:
    """A knot shown by its shortest ring through a dependency that somebody declared."""
    first = min(knot, key=lambda edge: (edge.origin != "depends_on", edge.path, edge.line))
    ring = " -> ".join((first.up, *_way(_downs(knot), first.down, first.up)))
    if first.origin == "depends_on":
        what = f"dependencies run in a circle: {ring}"
        return Finding("cycle", ERROR, first.path, line=first.line, what=what)
    what = f"links run in a circle: {ring}; depends_on would say which page follows from which"
    return Finding("cycle", WARNING, first.path, line=first.line, what=what)


def _downs(edges: Sequence[DocumentEdge]) -> dict[str, list[str]]:
    downs: dict[str, list[str]] = {}
    for edge in edges:
        downs.setdefault(edge.up, []).append(edge.down)
    return downs


def _way(downs: Mapping[str, Sequence[str]], start: str, end: str) -> list[str]:
    """The shortest way down from one node to another, both included."""
    came_from = {start: start}
    border = [start]
    while end not in came_from:
        beyond = []
        for node in border:
            for other in downs[node]:
                if other not in came_from:
                    came_from[other] = node
                    beyond.append(other)
        border = beyond
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _knots(downs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The nodes that can all be reached from each other, found in one pass (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}  # of the nodes whose knot is still open: how far back they lead
    unsettled: list[str] = []
    way: list[tuple[str, Iterator[str]]] = []  # no recursion: a chain may be long
    knots = []

    def enter(node: str) -> None:
        number[node] = lowest[node] = len(number)
        unsettled.append(node)
        way.append((node, iter(downs.get(node, ()))))

    for root in downs:
        if root not in number:
            enter(root)
        while way:
            node, onward = way[-1]
            for other in onward:
                if other not in number:
                    enter(other)
                    break
                if other in lowest:
                    lowest[node] = min(lowest[node], number[other])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    knots.append(_settled(node, unsettled, lowest))
    return [knot for knot in knots if len(knot) > 1]


def _settled(node: str, unsettled: list[str], lowest: dict[str, int]) -> list[str]:
    """Take the node and all that came after it: they are one knot."""
    knot: list[str] = []
    while not knot or knot[-1] != node:
        knot.append(unsettled.pop())
        del lowest[knot[-1]]
    return knot

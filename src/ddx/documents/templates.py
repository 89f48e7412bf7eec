"""What a document of each type looks like, and what is wrong with one that does not. Pure.

`ddx doc new` writes these pages; `ddx doc validate` asks for the folder and the sections here.
"""

from __future__ import annotations

import json
import re
import unicodedata

from ddx.base import WARNING, Finding, listed, value
from ddx.documents.model import FOLDERS, numbered_id, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ddx.documents.graph import Graph

_LONGEST_SLUG = 48
_LONGEST_NUMBER = 9
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_OPENS_A_LINK = re.compile(r"\[(?=\[)")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_NUMBERING = "0123456789.)( "
_SHARES_FOLDER = {"api": "contract"}


@value
class Template:
    """Where a type's documents live, how they are named, and their sections with a hint each."""

    folder: str
    sections: tuple[tuple[str, str], ...]
    prefix: str = ""
    """Numbered documents begin with it; a type without one has a single document."""
    only_id: str = ""
    only_name: str = ""
    fields: tuple[str, ...] = ()
    """More lines of its front matter."""

    @property
    def section_names(self) -> tuple[str, ...]:
        """The headings that each of its documents must have."""
        return tuple(name for name, _ in self.sections)

    def free_id(self, names: Iterable[str]) -> str:
        """Its only id, or the one after the highest number among these ids and file names."""
        return self.only_id or next_id(self.prefix, names)

    def id_of(self, path: str) -> str:
        """The id of the document that one of its files holds."""
        return self.only_id or numbered_id(path.rpartition("/")[2])

    def path_of(self, doc_id: str, title: str) -> str:
        """Where its document belongs, as seen from the root of the documents."""
        stem = self.only_name or "-".join(part for part in (doc_id, slug(title)) if part)
        return f"{self.folder}/{stem}.md"


TEMPLATES = {
    "vision": Template(
        "00-discover",
        (
            ("Purpose", "Why this should exist, in two or three sentences."),
            ("Audience", "Who it is for, and what they do today instead."),
            ("Outcome", "What is different for them once it works."),
            ("Non-goals", "What it will not become, however often somebody asks."),
        ),
        only_id="vision",
        only_name="product-vision",
    ),
    "prd": Template(
        "01-frame",
        (
            ("Problem", "What hurts, whom, how often, and how you know."),
            ("Goals", "What must be true in the end; name the features, each as a link."),
            ("Non-goals", "What is left out on purpose, and why."),
            ("Requirements", "One testable sentence a line, each with must or must not."),
            ("Constraints", "Limits that no design may break: law, cost, platform, time."),
            ("Success metrics", "The numbers to watch, with their values today and wanted."),
        ),
        only_id="prd",
        only_name="prd",
    ),
    "feat": Template(
        "01-frame/features",
        (
            ("Problem", "What somebody cannot do today."),
            ("Requirements", "One testable sentence a line, each with must or must not."),
            ("Constraints", "Limits that every story and design below this has to keep."),
            ("Acceptance criteria", "What a person checks before calling the feature done."),
            ("Out of scope", "What a reader might expect here and will not find."),
        ),
        prefix="FEAT",
    ),
    "us": Template(
        "01-frame/user-stories",
        (
            ("Story", "Who wants to do what, and what it gives them."),
            ("Acceptance criteria", "Given, when, then: one line a case, each of them testable."),
            ("Edge cases", "What happens with nothing, too much, twice, and at the wrong time."),
        ),
        prefix="US",
    ),
    "adr": Template(
        "02-design/adr",
        (
            ("Context", "What forces a choice now, as facts that nobody disputes."),
            ("Decision", "What we do, in one sentence that starts with we."),
            ("Alternatives", "What else was weighed, and what spoke against each."),
            ("Consequences", "What becomes easier, what becomes harder, when to look again."),
        ),
        prefix="ADR",
    ),
    "architecture": Template(
        "02-design",
        (
            ("Overview", "The whole on half a page, for somebody who starts tomorrow."),
            ("Components", "Each part, what it alone is responsible for, whom it talks to."),
            ("Data", "What is kept, where, for how long, and who owns it."),
            ("Constraints", "Rules that every design has to keep; link the decisions."),
            ("Risks", "What could prove this wrong, and how we would notice."),
        ),
        only_id="architecture",
        only_name="architecture",
    ),
    "contract": Template(
        "02-design/contracts",
        (
            ("Parties", "Who provides it and who relies on it."),
            ("Interface", "Each message, file or call with its exact form and one example."),
            ("Guarantees", "What always holds: order, size, time, what happens twice."),
            ("Errors", "Each way it fails, and what the other side then does."),
            ("Versioning", "What may change without asking, and how the rest is announced."),
        ),
        prefix="CONTRACT",
    ),
    "api": Template(
        "02-design/contracts",
        (
            ("Parties", "Who serves it and who calls it."),
            ("Operations", "Each call: what goes in, what comes out, one example."),
            ("Errors", "Each answer that is no success, and what the caller then does."),
            ("Versioning", "What may change without asking, and how the rest is announced."),
        ),
        prefix="API",
    ),
    "sd": Template(
        "02-design/solution-designs",
        (
            ("Goal", "Which features this solves; link them."),
            ("Approach", "The idea, and the parts that carry it out; link their designs."),
            ("Requirements", "What the parts must do together, one testable sentence a line."),
            ("Constraints", "What the parts may not do or use."),
            ("Alternatives", "What else would work, and why this is better here."),
            ("Risks", "What could go wrong, and what we do then."),
        ),
        prefix="SD",
    ),
    "td": Template(
        "02-design/technical-designs",
        (
            ("Goal", "Which story this makes possible; link it."),
            ("Design", "Types, functions and flow, in enough detail to build from."),
            ("Constraints", "Limits of time, memory, order and compatibility."),
            ("Failure modes", "What breaks, how it shows, and what is left behind."),
            ("Tests", "What proves it; link the test plan."),
        ),
        prefix="TD",
    ),
    "tp": Template(
        "03-test/test-plans",
        (
            ("Scope", "Which designs and stories this proves, as links, and what it leaves out."),
            ("Cases", "A heading with its own TC number for each case: given, when, then."),
            ("Environment", "Data, services and versions that the cases need."),
            ("Exit criteria", "What has to pass before this counts as done."),
        ),
        prefix="TP",
    ),
    "exec": Template(
        "03-test/executions",
        (
            ("Purpose", "What a run of this command proves, and about which documents."),
            ("Procedure", "What it needs to run, and what it does."),
            ("Pass criteria", "How to tell a good run from a bad one."),
        ),
        prefix="EXEC",
        fields=(
            "execution:",
            "  kind: command",
            "  command: ['true']",
            "  timeout_ms: 60000",
            "  required: false",
        ),
    ),
    "metric": Template(
        "06-iterate/metrics",
        (
            ("Purpose", "Which question the number answers, and who acts on it."),
            ("Measurement", "What the command does, and what makes its number jump about."),
            ("Target", "The value wanted, by when, and what happens beyond it."),
        ),
        prefix="MET",
        fields=(
            "metric:",
            "  name: {slug}",
            "  unit: ms",
            "  direction: lower",
            "  command: [echo, '0']",
            "  tolerance: 5%",
        ),
    ),
    "implementation-plan": Template(
        "04-build",
        (
            ("Scope", "Which designs this builds, as links, and which it does not."),
            ("Order of work", "The steps, each small enough to land by itself."),
            ("Risks", "Which step is the least certain, and what shows it early."),
            ("Done when", "The checks that pass at the end."),
        ),
        only_id="implementation-plan",
        only_name="implementation-plan",
    ),
}


def sections_for(document_type: str) -> tuple[str, ...]:
    """The headings that a document of this type must have; none for a type without a template."""
    template = TEMPLATES.get(document_type)
    return template.section_names if template else ()


def next_id(prefix: str, names: Iterable[str]) -> str:
    """The id after the highest number that any of these ids and file names begins with."""
    highest = 0
    for name in names:
        letters, _, digits = numbered_id(name).partition("-")
        if letters == prefix and len(digits) <= _LONGEST_NUMBER:
            highest = max(highest, int(digits))
    return f"{prefix}-{highest + 1:03d}"


def slug(title: str) -> str:
    """A title as a part of a file name: ASCII letters, digits and single dashes, maybe nothing."""
    apart = unicodedata.normalize("NFKD", title.casefold())
    plain = "".join(mark for mark in apart if not unicodedata.combining(mark))
    words = _NOT_A_WORD.sub("-", plain.lower()).strip("-")
    if len(words) <= _LONGEST_SLUG:
        return words
    whole, dash, _ = words[: _LONGEST_SLUG + 1].rpartition("-")
    return whole if dash else words[:_LONGEST_SLUG]


def page(
    document_type: str,
    doc_id: str,
    title: str,
    depends_on: Sequence[str] = (),
    own_fields: Sequence[str] = (),
) -> str:
    """The whole text of a new document; `own_fields` stand in for its template's lines."""
    template = TEMPLATES[document_type]
    usual = (line.format(slug=slug(title) or doc_id.lower()) for line in template.fields)
    fields = (
        f"id: {_scalar(doc_id)}",
        f"type: {document_type}",
        "status: draft",
        f"depends_on: [{', '.join(map(_scalar, depends_on))}]",
        *(own_fields or usual),
    )
    lines = ["---", "ddx:", *(f"  {line}" for line in fields), "---", ""]
    lines += [f"# {_heading(title)}", ""]
    for name, hint in template.sections:
        lines += [f"## {name}", "", f"<!-- {hint} -->", ""]
    return "\n".join(lines)


def _scalar(text: str) -> str:
    """As YAML reads it back; an id may be a path with anything in it."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _heading(title: str) -> str:
    """The title, unable to open a comment or to make a link."""
    shown = " ".join(title.split()).replace("<!--", "<\\!--")
    return _OPENS_A_LINK.sub("[\\\\", shown)


# -- documents that do not look like that ------------------------------------------------------


def validate(graph: Graph) -> list[Finding]:
    """Every finding, errors first, then by place."""
    found = [*graph.findings(), *_misplaced(graph), *_incomplete(graph)]
    return sorted(found, key=lambda item: (item.severity, item.where, item.line, item.kind))


def _misplaced(graph: Graph) -> Iterator[Finding]:
    """Its id says one type, its folder another; anything may lie in a parking lot."""
    for n, doc_id in enumerate(graph.ids):
        said = type_of("", doc_id, "")
        names = reversed(graph.paths[n].split("/")[:-1])
        folder = next((name for name in names if name in FOLDERS), "")
        fitting = (said, _SHARES_FOLDER.get(said), graph.types[n], "parking-lot")
        if said and folder and FOLDERS[folder] not in fitting:
            what = f"{doc_id} is of type {said}, but {folder} is for type {FOLDERS[folder]}"
            yield Finding("misplaced", WARNING, graph.paths[n], line=1, what=what)


def _incomplete(graph: Graph) -> Iterator[Finding]:
    """What is history, and what is no document, needs no sections."""
    for n, doc_id in enumerate(graph.ids):
        wanted = sections_for(graph.types[n]) if graph.is_reviewable(n) else ()
        there = {_plain(section) for section in graph.sections.get(doc_id, ())} if wanted else ()
        missing = [section for section in wanted if _plain(section) not in there]
        if missing:
            what = f"{doc_id} has no section {listed(missing, joiner='or')}"
            yield Finding("missing-section", WARNING, graph.paths[n], line=1, what=what)


def _plain(section: str) -> str:
    """`2. Goals` is the section Goals."""
    return section.lstrip(_NUMBERING).rstrip(": ").casefold()

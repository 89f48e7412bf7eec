"""Documents as texts, and the graph that they make."""

from __future__ import annotations

from collections.abc import Mapping

from ddx.base.findings import Finding
from ddx.documents.assembly import assemble
from ddx.documents.graph import Graph
from ddx.documents.parser import parse
from ddx.documents.scan import SourceFile

FRAME, DESIGN, TEST = "docs/helix/01-frame", "docs/helix/02-design", "docs/helix/03-test"
AT = "@"
"""Tags are put together from it, so that our own graph does not find them in our tests."""

SEED = {
    f"{FRAME}/prd.md": "# Product\n\n[[FEAT-001]]\n",
    f"{FRAME}/features/FEAT-001-test-feature.md": "# Feature\n\n[[US-001, US-002]]\n",
    f"{FRAME}/user-stories/US-001-first-story.md": "# First story\n",
    f"{FRAME}/user-stories/US-002-second-story.md": "# Second story\n",
    f"{DESIGN}/solution-designs/SD-001-test-solution.md": "# Solution\n\n[[FEAT-001, TD-001]]\n",
    f"{DESIGN}/technical-designs/TD-001-first-design.md": "# Design\n\n[[US-001, TP-001]]\n",
    f"{TEST}/test-plans/TP-001-first-tests.md": "# Tests\n\n[[TD-001]]\n\n## TC-001: it lists\n",
    "tests/list.test.js": f"/**\n * {AT}spec-ref TD-001\n * {AT}requirement TC-001\n */\n",
}
"""The fixture of the seed, and a test that names the design and a case of its plan."""


def graph_of_files(files: Mapping[str, str | bytes]) -> Graph:
    """The graph of a tree of files; what does not end in .md is a test or code."""
    contents = {
        path: text.encode() if isinstance(text, str) else text for path, text in files.items()
    }
    documents = [parse(path, text) for path, text in contents.items() if path.endswith(".md")]
    others = [
        SourceFile.tagged(path, text) for path, text in contents.items() if not path.endswith(".md")
    ]
    return assemble(documents, others)


def pages(**texts: str) -> dict[str, str]:
    """Pages by id, `TD_1` for TD-1; a text that begins with a key is front matter of ours."""
    return {f"docs/helix/{name.replace('_', '-')}.md": _page(text) for name, text in texts.items()}


def edges_of(graph: Graph) -> set[tuple[str, str]]:
    """Who is upstream of whom."""
    return {(edge.up, edge.down) for edge in graph.edges()}


def places(graph: Graph, kind: str = "") -> list[tuple[str, str, int]]:
    """Kind, path and line of the findings; one kind, or all."""
    found: tuple[Finding, ...] = graph.findings()
    return [(item.kind, item.where, item.line) for item in found if kind in ("", item.kind)]


def _page(text: str) -> str:
    first = text.partition("\n")[0]
    if not first.partition(":")[0].isidentifier() or ":" not in first:
        return f"# Page\n\n{text}\n"
    head = "".join(f"  {line}\n" for line in text.split("\n"))
    return f"---\nddx:\n{head}---\n# Page\n"

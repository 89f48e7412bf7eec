"""`ddx doc validate`"""

from __future__ import annotations

from ddx.base import ERROR, counted, shown
from ddx.cli.context import load_documents
from ddx.cli.doc.output import finding_row, is_document
from ddx.console import JSON, Command, answer, dim, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.base import Finding

SOMETHING_FOUND = 1
_SHOWN_OF_A_KIND = 50


@Command.of(example="ddx doc validate", flags=(JSON,), schema="doc-validated")
def run(*, json: bool) -> int:
    """Say what is wrong with the documents: errors end with 1, warnings with 0."""
    _, graph = load_documents()
    found = graph.validate()
    if json:
        answer([finding_row(item) for item in found])
    else:
        _print(found, sum(is_document(graph, n) for n in range(len(graph))))
    return SOMETHING_FOUND if any(item.severity == ERROR for item in found) else 0


def _print(found: Sequence[Finding], size: int) -> None:
    counts: dict[str, int] = {}
    for item in found:
        counts[item.kind] = counts.get(item.kind, 0) + 1
        if counts[item.kind] <= _SHOWN_OF_A_KIND:
            line = f"{item.where}:{item.line} {item.kind}: {shown(item.what, one_line=True)}"
            say(line if item.severity == ERROR else dim(line))
    for kind, count in counts.items():
        if count > _SHOWN_OF_A_KIND:
            say(f"... {count - _SHOWN_OF_A_KIND} more of {kind}; --json gives them all")
    errors = sum(item.severity == ERROR for item in found)
    warnings = len(found) - errors
    if found:
        say(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")
    else:
        say(f"nothing is wrong with {counted(size, 'document')}")

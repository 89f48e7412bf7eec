"""`ddx doc validate`"""

from __future__ import annotations

from ddx.cli.doc.rendering import is_document
from ddx.cli.doc.session import load
from ddx.console.screen import answer, dim, say
from ddx.console.spec import JSON, Command
from ddx.graph.model import ERROR
from ddx.graph.templates import sections_for
from ddx.graph.validation import validate
from ddx.text import counted, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.graph.model import Finding

SOMETHING_FOUND = 1
_SHOWN_OF_A_KIND = 50


def run(*, json: bool) -> int:
    _, graph = load()
    found = validate(graph, sections_for)
    if json:
        answer([item.__dict__ for item in found])
    else:
        _print(found, sum(is_document(graph, n) for n in range(len(graph))))
    return SOMETHING_FOUND if any(item.severity == ERROR for item in found) else 0


def _print(found: Sequence[Finding], size: int) -> None:
    counts: dict[str, int] = {}
    for item in found:
        counts[item.kind] = counts.get(item.kind, 0) + 1
        if counts[item.kind] <= _SHOWN_OF_A_KIND:
            line = f"{item.path}:{item.line} {item.kind}: {shown_on_one_line(item.what)}"
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


COMMAND = Command(
    "doc validate",
    "Say what is wrong with the documents: errors end with 1, warnings with 0.",
    run,
    "ddx doc validate",
    flags=(JSON,),
    schema="doc-validated",
)

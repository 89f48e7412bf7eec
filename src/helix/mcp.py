"""The MCP server: a dozen tools, each a use case that a command of ours has too (P-7).

A tool calls the same door as its command and gives what that prints with --json. It runs on a
thread of its own, so that a slow one holds up no other, and nothing of it goes to stdout, which
belongs to the protocol.
"""

from __future__ import annotations

import gc
import os
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from ddx import __version__
from ddx.base import Clock, DdxError, UsageError, dumps, loads
from ddx.console import notice
from ddx.project import find_project, read_settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ddx.documents import DocumentRows
    from ddx.project import Project
    from ddx.tracker import BeadRows

LIMIT_S = 120.0
INSTRUCTIONS = """\
Work in this repository is a queue of beads. `ready` lists what can be done now; `take` or `claim`
makes one yours; `show` has its acceptance, which must be proven before `close`. `doc_impact` says
what a change touches, `recall` what earlier work has taught. Exit code 5 in an error means that
somebody else was first: look again."""

_tell = partial(notice, "helix")


def serve() -> None:
    """Answer on stdin and stdout until the client hangs up."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise DdxError(
            "the MCP server needs the SDK, which is not installed",
            hint="pip install 'helix-supervisor[mcp]' (a clone has it: use its bin/helix)",
        ) from None
    gc.enable()  # quick commands do without; a server may run for days
    app = MCPServer("helix", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in TOOLS:
        app.add_tool(_guarded(tool, ToolError), name=tool.__name__, description=tool.__doc__)
    app.run("stdio")


def _guarded(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., Awaitable[Any]]:
    """The tool with the same signature, on a thread; what fails is told as a person would see it.

    After the time limit its answer is no longer waited for.
    """
    from anyio import fail_after, to_thread

    @wraps(tool)
    async def guarded(*args: Any, **given: Any) -> Any:
        work = partial(tool, *args, **given)
        try:
            with fail_after(LIMIT_S):
                answer = await to_thread.run_sync(work, abandon_on_cancel=True)
            return loads(dumps(answer))  # exactly what the command would have printed
        except DdxError as problem:
            hint = f"\n  {problem.hint}" if problem.hint else ""
            raise error(f"{problem.message}{hint} (exit {problem.exit_code})") from None
        except TimeoutError:
            raise error(f"{tool.__name__} took longer than {LIMIT_S:.0f} s") from None

    return guarded


# -- the tools -------------------------------------------------------------------------------


def ready(limit: int = 20) -> list[dict[str, Any]]:
    """List the beads that can be worked on now, best first."""
    return _beads("ready").ready(limit=_count(limit))


def take(owner: str = "") -> dict[str, Any]:
    """Claim the first ready bead, at once and for nobody else."""
    return _beads("take").take(owner)


def show(id: str) -> dict[str, Any]:
    """Show one bead whole: acceptance, links, notes, revision."""
    return _beads("show").show(id)


def create(
    title: str,
    description: str = "",
    acceptance: str = "",
    type: str = "task",
    priority: int = 2,
    parent: str = "",
    spec_id: str = "",
    depends_on: list[str] | None = None,
    labels: list[str] | None = None,
) -> dict[str, Any]:
    """File one bead; acceptance should name a command that passes when it is done."""
    fields = {
        "description": description,
        "acceptance": acceptance,
        "issue_type": type,
        "spec-id": spec_id,
        "labels": _words(labels or ()),
    }
    draft = {
        "title": title,
        **{name: given for name, given in fields.items() if given},
        "priority": priority,
        "parent": parent or None,
        "depends-on": _words(depends_on or ()),
    }
    return _beads("create").create(draft)


def update(
    id: str,
    if_revision: str = "",
    title: str = "",
    description: str = "",
    acceptance: str = "",
    append_notes: str = "",
    add_label: str = "",
    remove_label: str = "",
) -> dict[str, Any]:
    """Change fields of a bead; with if_revision only if nobody changed it meanwhile."""
    from ddx.tracker import BeadPatch

    fields = {"title": title, "description": description, "acceptance": acceptance}
    patch = BeadPatch(
        {name: given for name, given in fields.items() if given},
        add_labels=tuple(_words((add_label,))),
        remove_labels=tuple(_words((remove_label,))),
        append_notes=append_notes,
    )
    if patch.is_empty:
        raise UsageError("nothing to update", hint="give a field, a label or notes")
    return _beads("update").update(id, patch, if_revision=if_revision)


def claim(id: str, owner: str = "") -> dict[str, Any]:
    """Claim this bead; fails if somebody else holds it."""
    return _beads("claim").claim(id, owner)


def close(id: str, reason: str, commit: str = "", claim_id: str = "") -> dict[str, Any]:
    """Close a bead that is done and proven; name the commit that did it."""
    from ddx.tracker import BeadClosure

    return _beads("close").close(id, BeadClosure(reason, commit), claim_id=claim_id)


def doc_impact(ids: list[str] | None = None, text: str = "") -> dict[str, Any]:
    """Say which documents a change touches: by the ids of documents, or by words."""
    return _documents().impact(ids or (), text=text or None, tell=_tell)


def search(text: str, limit: int = 20) -> list[dict[str, Any]]:
    """Search the documents."""
    return _documents().search(text, limit=_count(limit))


def recall(query: str, limit: int = 5) -> list[dict[str, Any]]:
    """Recall what earlier work here has taught about something like this."""
    from helix.memory import RecallQuery, recall_memories, recalled_row

    question = RecallQuery(query, "", _count(limit))
    recalled = recall_memories(_project(), question, clock=Clock())
    return [recalled_row(hit) for hit in recalled.hits]


def store(type: str, trigger: str, resolution: str) -> dict[str, Any]:
    """Store a memory: type failure or pattern, when it applies, what to do then."""
    from helix.memory import MemoryDraft, store_in_project, stored_row

    draft = MemoryDraft(type, trigger, resolution)
    return {**stored_row(store_in_project(_project(), draft, clock=Clock()))}


def status() -> dict[str, Any]:
    """Show what needs a person, the run, the queue and what was done last."""
    from helix.status import read_status, status_row

    return status_row(read_status(_project(), clock=Clock()))


TOOLS: tuple[Callable[..., Any], ...] = (
    *(ready, take, show, create, update, claim, close),
    *(doc_impact, search, recall, store, status),
)

# -- where they work -------------------------------------------------------------------------


def _project() -> Project:
    """The one that the server was started in, as it is now."""
    return find_project(os.getcwd())


def _beads(tool: str) -> BeadRows:
    from ddx.tracker import BeadRows

    return BeadRows(_project(), command=f"helix mcp {tool}", tell=_tell)


def _documents() -> DocumentRows:
    """The documents of the checkout that the server was started in, as they are now."""
    from ddx.documents import DocumentRows

    roots = read_settings(_project(), clock=Clock()).document_roots
    return DocumentRows(os.getcwd(), roots)


def _words(given: Iterable[str]) -> list[str]:
    """Words that come one by one or joined by commas."""
    return [word for text in given for part in text.split(",") if (word := part.strip())]


def _count(limit: int) -> int:
    if limit < 0:
        raise UsageError(f"limit must be a number from 0, not {limit}")
    return limit

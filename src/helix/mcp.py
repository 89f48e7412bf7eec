"""The MCP server: a dozen tools, each one command of ours with --json (P-7).

A tool runs its command as a process of its own. So it does exactly what a person's would do, with
the same locks and the same errors, and nothing that a command prints can disturb the protocol.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx import __version__
from ddx.environment import for_children
from ddx.errors import DdxError
from ddx.fastjson import loads
from ddx.process import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LIMIT_S = 120.0
INSTRUCTIONS = """\
Work in this repository is a queue of beads. `ready` lists what can be done now; `take` or `claim`
makes one yours; `show` has its acceptance, which must be proven before `close`. `doc_impact` says
what a change touches, `recall` what earlier work has taught. Exit code 5 in an error means that
somebody else was first: look again."""


class CommandFailed(Exception):
    """The sentence that a person would have seen, and the exit code."""


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
    app = MCPServer("helix", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in TOOLS:
        app.add_tool(_guarded(tool, ToolError), name=tool.__name__, description=tool.__doc__)
    app.run("stdio")


def _guarded(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., Any]:
    """The tool with the same signature; what fails is told to the model as what it is."""
    from functools import wraps

    @wraps(tool)
    def guarded(*args: Any, **given: Any) -> Any:
        try:
            return tool(*args, **given)
        except CommandFailed as problem:
            raise error(str(problem)) from None

    return guarded


# -- the tools -------------------------------------------------------------------------------


def ready(limit: int = 20) -> list[dict[str, Any]]:
    """List the beads that can be worked on now, best first."""
    found: list[dict[str, Any]] = ddx("bead ready", limit=limit)
    return found


def take(owner: str = "") -> dict[str, Any]:
    """Claim the first ready bead, at once and for nobody else."""
    return _one(ddx("bead take", owner=owner))


def show(id: str) -> dict[str, Any]:
    """Show one bead whole: acceptance, links, notes, revision."""
    return _one(ddx("bead show", id))


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
    found = ddx(
        "bead create",
        title,
        description=description,
        acceptance=acceptance,
        type=type,
        priority=priority,
        parent=parent,
        spec_id=spec_id,
        depends_on=",".join(depends_on or ()),
        labels=",".join(labels or ()),
    )
    return _one(found)


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
    found = ddx(
        "bead update",
        id,
        if_revision=if_revision,
        title=title,
        description=description,
        acceptance=acceptance,
        append_notes=append_notes,
        add_label=add_label,
        remove_label=remove_label,
    )
    return _one(found)


def claim(id: str, owner: str = "") -> dict[str, Any]:
    """Claim this bead; fails if somebody else holds it."""
    return _one(ddx("bead update", id, claim=True, owner=owner))


def close(id: str, reason: str, commit: str = "", claim_id: str = "") -> dict[str, Any]:
    """Close a bead that is done and proven; name the commit that did it."""
    return _one(ddx("bead close", id, reason=reason, commit=commit, claim_id=claim_id))


def doc_impact(ids: list[str] | None = None, text: str = "") -> dict[str, Any]:
    """Say which documents a change touches: by the ids of documents, or by words."""
    return _one(ddx("doc impact", *(ids or ()), text=text))


def search(text: str, limit: int = 20) -> list[dict[str, Any]]:
    """Search the documents."""
    found: list[dict[str, Any]] = ddx("doc search", text, limit=limit)
    return found


def recall(query: str, limit: int = 5) -> list[dict[str, Any]]:
    """Recall what earlier work here has taught about something like this."""
    found: list[dict[str, Any]] = helix("memory recall", query, limit=limit)
    return found


def store(type: str, trigger: str, resolution: str) -> dict[str, Any]:
    """Store a memory: type failure or pattern, when it applies, what to do then."""
    return _one(helix("memory store", type=type, trigger=trigger, resolution=resolution))


def status() -> dict[str, Any]:
    """Show what needs a person, the run, the queue and what was done last."""
    return _one(helix("status"))


TOOLS: tuple[Callable[..., Any], ...] = (
    *(ready, take, show, create, update, claim, close),
    *(doc_impact, search, recall, store, status),
)

# -- one command -----------------------------------------------------------------------------


def ddx(path: str, *arguments: str, **flags: str | int) -> Any:
    return _answer("ddx", path, arguments, flags)


def helix(path: str, *arguments: str, **flags: str | int) -> Any:
    return _answer("helix", path, arguments, flags)


def _answer(
    program: str, path: str, arguments: Sequence[str], flags: Mapping[str, str | int]
) -> Any:
    """What the command answers; a flag that is empty is not given, `True` is a switch."""
    given = [
        f"--{name.replace('_', '-')}" + ("" if said is True else f"={said}")
        for name, said in flags.items()
        if said != ""
    ]
    done = run(
        [*_launch(program), *path.split(), *given, "--json", "--", *arguments],
        cwd=os.getcwd(),
        env=for_children(),
        timeout_s=LIMIT_S,
    )
    if done.timed_out:
        raise CommandFailed(f"{program} {path} took longer than {LIMIT_S:.0f} s")
    if not done.stdout.strip():
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CommandFailed(f"{said or 'it failed without a word'} (exit {done.code})")
    return loads(done.text)


def _one(found: Any) -> dict[str, Any]:
    return dict(found)


def _launch(program: str) -> Sequence[str]:
    """This very installation, by the Python that runs us."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return (sys.executable, "-I", os.path.join(above, program, "__main__.py"))

"""`helix mcp`"""

from __future__ import annotations

from ddx.console.spec import Command


def run() -> int:
    from helix.mcp import serve

    serve()
    return 0


COMMAND = Command(
    "mcp",
    "Serve the queue, the documents and the memory to agents by MCP, on stdin and stdout.",
    run,
    "helix mcp",
)

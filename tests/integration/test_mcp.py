"""`helix mcp` through the official client: the tools are our commands (P-7)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.front_door import ROOT, Person

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed")
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

TOOLS = {
    *("ready", "take", "show", "create", "update", "claim", "close"),
    *("doc_impact", "search", "recall", "store", "status"),
}


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.begins_a_repository()
    person.ddx("bead", "init")
    return person


def converse(ada: Person, talk: Callable[[Any], Awaitable[None]]) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "helix", "mcp"],
        cwd=str(ada.root),
        env={
            "HOME": str(ada.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
        },
    )

    async def main() -> None:
        async with (
            stdio_client(server) as (reading, writing),
            mcp.ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            await asyncio.wait_for(talk(session), 60)

    asyncio.run(main())


def test_a_bead_from_its_filing_to_its_close(ada):  # P-7
    async def talk(session: Any) -> None:
        assert {tool.name for tool in (await session.list_tools()).tools} == TOOLS
        made = await session.call_tool(
            "create", {"title": "-x: a title like a flag", "acceptance": "`true` passes"}
        )
        bead = made.structured_content["ids"][0]
        listed = await session.call_tool("ready", {})
        assert [row["id"] for row in listed.structured_content["result"]] == [bead]
        taken = await session.call_tool("claim", {"id": bead, "owner": "ada"})
        assert not taken.is_error, taken
        second = await session.call_tool("claim", {"id": bead, "owner": "bob"})
        assert second.is_error
        assert "(exit 5)" in second.content[0].text
        closed = await session.call_tool("close", {"id": bead, "reason": "it is proven"})
        assert not closed.is_error, closed
        status = await session.call_tool("status", {})
        assert status.structured_content["queue"]["statuses"] == {"closed": 1}

    converse(ada, talk)


def test_a_mistake_is_told_as_a_person_would_see_it(ada):  # C-3
    async def talk(session: Any) -> None:
        done = await session.call_tool("show", {"id": "nope"})
        assert done.is_error
        assert "there is no bead 'nope'" in done.content[0].text
        assert "ddx bead list" in done.content[0].text

    converse(ada, talk)

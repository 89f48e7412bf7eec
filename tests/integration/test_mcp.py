"""`helix mcp` through the official client: the tools are our commands (P-7)."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
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


@pytest.fixture
def furnished(ada: Person) -> Person:
    """With a bead, a document and a memory."""
    page = ada.root / "docs/helix/01-frame/user-stories/US-001-price-list.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\nddx:\n  id: US-001\n---\n# A price list\n\nEvery price is listed.\n")
    ada.ddx("bead", "create", "Print prices", "--set", "id=shop-1")
    ada.helix(
        *("memory", "store", "--trigger", "The login test is flaky at night"),
        *("--resolution", "Freeze the clock in the test"),
    )
    return ada


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


@pytest.mark.parametrize(
    ("tool", "given", "command"),
    [
        ("ready", {}, "ddx bead ready --limit 20"),
        ("show", {"id": "shop-1"}, "ddx bead show shop-1"),
        ("doc_impact", {"ids": ["US-001"]}, "ddx doc impact US-001"),
        ("doc_impact", {"text": "the price list"}, "ddx doc impact --text 'the price list'"),
        ("search", {"text": "price"}, "ddx doc search price"),
        (
            "recall",
            {"query": "the login test is flaky"},
            "helix memory recall 'the login test is flaky'",
        ),
    ],
)
def test_a_tool_answers_what_its_command_prints(furnished, tool, given, command):  # P-7
    program, *words = shlex.split(command)
    printed = json.loads(getattr(furnished, program)(*words, "--json"))
    assert printed

    async def talk(session: Any) -> None:
        done = await session.call_tool(tool, given)
        assert not done.is_error, done
        found = done.structured_content
        assert (found["result"] if isinstance(printed, list) else found) == printed

    converse(furnished, talk)


def test_tools_run_side_by_side_and_none_is_lost(ada):  # P-7
    async def talk(session: Any) -> None:
        titles = [f"Number {n}" for n in range(8)]
        done = await asyncio.gather(
            *(session.call_tool("create", {"title": title}) for title in titles)
        )
        assert not any(each.is_error for each in done)
        listed = await session.call_tool("ready", {})
        assert {row["title"] for row in listed.structured_content["result"]} == set(titles)

    converse(ada, talk)


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("update", {"id": "shop-1"}, "nothing to update"),
        ("doc_impact", {}, "nothing says where the change begins"),
        ("ready", {"limit": -1}, "limit must be a number"),
        ("close", {"id": "shop-1", "reason": "done", "commit": "nowhere"}, "no commit 'nowhere'"),
    ],
)
def test_what_a_command_refuses_its_tool_refuses(furnished, tool, given, said):  # P-7, C-3
    async def talk(session: Any) -> None:
        done = await session.call_tool(tool, given)
        assert done.is_error, done
        assert said in done.content[0].text

    converse(furnished, talk)

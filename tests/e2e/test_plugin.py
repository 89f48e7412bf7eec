"""HELIX as a plugin of the real claude and codex: skills, agents, hooks, tools (P-3, P-7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.agents import CLAUDE, CODEX, Agent, Ended, Stage
from tests.support.front_door import ROOT
from tests.support.model_server import ModelServer, Say, Scenario, Shell, Tool
from tests.support.plugin import copy_plugin, lend_environment
from tests.support.runs import HELIX
from tests.support.tracker import DDX

LIMIT_S = 90.0
SKILLS = {f"helix:{path.name}" for path in (ROOT / "skills").iterdir()}
AGENTS = {f"helix:helix-{name}" for name in ("explorer", "planner", "builder", "observer")}
BYPASS = ("--permission-mode", "bypassPermissions")
CLAUDE_FLAGS = (
    *("-p", "--output-format", "stream-json", "--verbose", "--include-hook-events"),
    *("--setting-sources", "", "--plugin-dir", str(ROOT), *BYPASS),
)
CODEX_FLAGS = ("exec", "--json", "--ephemeral", "--sandbox", "danger-full-access")

EDITS = (
    (Tool("Read", {"file_path": "greeting.txt"}),),
    (Tool("Edit", {"file_path": "greeting.txt", "old_string": "hello", "new_string": "good day"}),),
)
SESSION = Scenario(
    "SCENE-SESSION",
    (
        (Tool("mcp__plugin_helix_helix__ready", {}),),
        *EDITS,
        (Shell('echo "$HELIX_PLUGIN_ROOT|$HELIX_DB_PATH"; command -v helix ddx'),),
        (Say("That was all."),),
    ),
)
EDITING = Scenario("SCENE-EDITING", (*EDITS, (Say("That was all."),)))
FINDINGS = 'EXPLORER_FINDINGS: {"scope": ".", "focus": "greetings", "findings": []}'
EXPLORING = Scenario(
    "SCENE-EXPLORING",
    (
        (
            Tool(
                "Agent",
                {
                    "subagent_type": "helix:helix-explorer",
                    "description": "look around",
                    "run_in_background": False,
                    "prompt": "SCOPE: .\nFOCUS: greetings\nOBJECTIVE: SCENE-SCOPE",
                },
            ),
        ),
        (Say("That was all."),),
    ),
)
SCOPE = Scenario("SCENE-SCOPE", ((Shell('cat ".helix/plugin_root"'),), (Say(FINDINGS),)))
"""What the explorer does that was started in the one before."""
READY = Tool("ready", {}, namespace="mcp__helix")
CODEX_ASKS = Scenario("SCENE-CODEX-ASKS", ((READY,), (Say("That was all."),)))
CODEX_WAITS = Scenario(
    "SCENE-CODEX-WAITS", (*((Shell("sleep 2"),), (READY,)) * 5, (Say("That was all."),))
)
"""It asks its model before the servers of plugins are up; a call is then none of its items."""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer([SESSION, EDITING, EXPLORING, SCOPE, CODEX_ASKS, CODEX_WAITS]) as server:
        yield server


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """A repository that HELIX was set up in, with a file and one bead."""
    variables = stage.variables()
    (stage.root / "greeting.txt").write_text("hello\n")
    for argv in ([str(HELIX), "init"], [str(DDX), "bead", "create", "Greet", "--verify", "true"]):
        done = stage.run(argv, variables, limit_s=LIMIT_S)
        assert done.code == 0, done
    return stage


class Client:
    """One agent program on a stage; its settings are written once and then are its own."""

    def __init__(self, stage: Stage, agent: Agent) -> None:
        self._stage = stage
        self._program = agent.require()
        self._variables = stage.variables(agent)

    def run(self, *words: str) -> Ended:
        done = self._stage.run([self._program, *words], self._variables, limit_s=LIMIT_S)
        assert done.code == 0, done
        return done

    def plays(self, scenario: Scenario, *flags: str) -> list[dict[str, Any]]:
        """What a session comes to, event by event."""
        return self.run(*flags, f"Please do {scenario.word}.").events


@pytest.fixture
def claude(stage: Stage) -> Client:
    return Client(stage, CLAUDE)


@pytest.fixture
def codex(stage: Stage) -> Client:
    return Client(stage, CODEX)


def only(events: list[dict[str, Any]], **wanted: str) -> dict[str, Any]:
    (found,) = (
        event for event in events if all(event.get(key) == said for key, said in wanted.items())
    )
    return found


def results(events: list[dict[str, Any]]) -> list[str]:
    """What the tools answered, in their order."""
    blocks = [
        block
        for event in events
        if event["type"] == "user" and isinstance(event["message"]["content"], list)
        for block in event["message"]["content"]
    ]
    return [
        json.dumps(block["content"]) if isinstance(block["content"], list) else block["content"]
        for block in blocks
        if block["type"] == "tool_result"
    ]


def operations(stage: Stage) -> list[dict[str, Any]]:
    lines = (stage.root / ".helix/operations.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


# -- claude ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plugin.json", "marketplace.json"])
def test_claude_finds_nothing_wrong_with_a_manifest(claude: Client, name: str) -> None:  # P-3
    manifest = str(ROOT / ".claude-plugin" / name)
    done = claude.run("plugin", "validate", "--strict", "--json", manifest)

    report = json.loads(done.out)
    assert (report["success"], report["strict"]) == (True, True)
    assert report["manifest"]["warnings"] == []
    assert report["contents"] == []
    assert (report.get("directory") or {}).get("findings", []) == []


def test_claude_installs_it_from_its_own_marketplace(stage: Stage, claude: Client) -> None:  # P-3
    source = copy_plugin(stage.home / "source")
    claude.run("plugin", "marketplace", "add", str(source))
    claude.run("plugin", "install", "helix@helix")

    (plugin,) = json.loads(claude.run("plugin", "list", "--json").out)
    assert (plugin["id"], plugin["enabled"]) == ("helix@helix", True)


def test_claude_sees_skills_and_agents_runs_hooks_and_calls_a_tool(
    stage: Stage, claude: Client
) -> None:
    events = claude.plays(SESSION, *CLAUDE_FLAGS)

    opened = only(events, type="system", subtype="init")
    assert set(opened["skills"]) >= SKILLS  # P-4
    assert set(opened["agents"]) >= AGENTS
    (server,) = opened["mcp_servers"]
    assert (server["name"], server["source"]) == ("plugin:helix:helix", "plugin")
    began = only(events, subtype="hook_response", hook_event="SessionStart")
    assert began["output"] == "HELIX: 0 memories; what needs a person: helix status\n"  # O-11
    assert (stage.root / ".helix/plugin_root").read_text() == f"{ROOT}\n"  # P-8

    ready, read, edited, told = results(events)
    assert [row["title"] for row in json.loads(ready)["result"]] == ["Greet"]  # P-7
    assert "hello" in read
    assert (stage.root / "greeting.txt").read_text() == "good day\n", edited
    database = stage.root / ".helix/helix.db"
    assert told.splitlines() == [f"{ROOT}|{database}", str(HELIX), str(DDX)]
    (operation,) = operations(stage)
    assert (operation["tool"], Path(operation["path"]).name) == ("Edit", "greeting.txt")


def test_a_broken_memory_is_told_and_fails_no_tool_call(
    stage: Stage, claude: Client
) -> None:  # O-11
    (stage.root / ".helix").mkdir(exist_ok=True)
    (stage.root / ".helix/helix.db").write_bytes(b"this is no database" * 400)

    events = claude.plays(EDITING, *CLAUDE_FLAGS)

    began = only(events, subtype="hook_response", hook_event="SessionStart")
    assert began["output"].startswith("HELIX: the memory cannot be used (")
    assert began["outcome"] == "success"
    assert (stage.root / "greeting.txt").read_text() == "good day\n"
    assert len(operations(stage)) == 1
    assert only(events, type="result")["is_error"] is False


def test_an_agent_of_ours_that_a_session_starts_finds_its_way_back(
    stage: Stage, claude: Client
) -> None:  # P-8
    events = claude.plays(EXPLORING, *CLAUDE_FLAGS)

    asked = [each.asked for each in stage.server.exchanges if each.scenario == SCOPE.word]
    assert [each.turn for each in asked] == [0, 1]
    assert not {"Edit", "Write"} & set(asked[0].tools)
    assert str(ROOT) in asked[1].results[-1]
    assert FINDINGS in "".join(results(events)).replace("\\", "")


# -- codex -----------------------------------------------------------------------------------


def test_codex_installs_the_same_tree_and_offers_its_skills_and_tools(
    stage: Stage, codex: Client
) -> None:
    source = copy_plugin(stage.home / "source")
    codex.run("plugin", "marketplace", "add", str(source))
    codex.run("plugin", "add", "helix@helix")
    (installed,) = (stage.home / ".codex/plugins/cache/helix/helix").iterdir()
    lend_environment(installed)

    prompt = json.dumps(json.loads(codex.run("debug", "prompt-input", "hello").out))
    assert [name for name in SKILLS if f"- {name}: " not in prompt] == []  # P-3, P-4

    events = codex.plays(CODEX_WAITS, *CODEX_FLAGS, "--dangerously-bypass-hook-trust")
    assert called(events) == ["Greet"]  # P-7
    assert (stage.root / ".helix/plugin_root").read_text() == f"{installed}\n"  # P-8


def test_codex_calls_the_server_that_a_person_configured(codex: Client) -> None:  # P-7
    server = f'mcp_servers.helix={{command="{HELIX}",args=["mcp"],required=true}}'

    assert called(codex.plays(CODEX_ASKS, *CODEX_FLAGS, "-c", server)) == ["Greet"]


def called(events: list[dict[str, Any]]) -> list[str]:
    """The titles of the beads that `ready` told it."""
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    *_, call = (item for item in items if item["type"] == "mcp_tool_call")
    assert (call["tool"], call["status"]) == ("ready", "completed"), call
    return [row["title"] for row in call["result"]["structured_content"]["result"]]

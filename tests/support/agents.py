"""The real agents: where they are, and what each needs to talk to our scripted model alone.

An agent gets a home of its own and no variable of ours, so neither a person's login nor their
settings nor a proxy take part. What it starts carries a mark and is ended with the stage.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.model_server import ModelServer
from tests.support.tracker import wait_for

from ddx.agents.process_tree import marked
from ddx.testing import make_repo

INSTALLED = Path(__file__).resolve().parents[2] / ".agents/node_modules/.bin"
MARK = "HELIX_TEST_STAGE"
MODEL = "scripted-1"
GEMINI_MODEL = "gemini-2.5-flash"
FAKE_KEY = "sk-fake-for-the-scripted-model"
CLAUDE_RETRIES = "2"
CODEX_RETRIES = 2
LIMIT_S = 150.0
GONE_AFTER_S = 60.0

CODEX_SETTINGS = f"""\
model = "{MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = {CODEX_RETRIES}
stream_max_retries = {CODEX_RETRIES}
"""


@dataclass(frozen=True)
class Agent:
    """One program; `settle` writes its settings below a home and tells the variables it needs."""

    name: str
    installed_by: str
    settle: Callable[[str, Path], Mapping[str, str]]
    command: tuple[str, ...]
    """What follows the program's name: one prompt without a person, its events on stdout."""
    freedom: tuple[str, ...]
    """The flags that let it do everything unasked."""
    harness_flags: Callable[[str], tuple[str, ...]] = lambda url: ()
    """What our harness must add, since it leaves the agent's own settings aside."""

    def find(self) -> str | None:
        """The version that scripts/agents installs, rather than whatever is on PATH."""
        return shutil.which(self.name, path=f"{INSTALLED}{os.pathsep}{os.environ['PATH']}")

    def argv(self, prompt: str, *flags: str) -> list[str]:
        return [self.require(), *self.command, *(flags or self.freedom), prompt]

    def require(self) -> str:
        found = self.find()
        if found is None:
            pytest.skip(f"{self.name} is not installed: {self.installed_by} installs it")
        return found


def _settle_claude(url: str, home: Path) -> dict[str, str]:
    as_root = {"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}
    return as_root | {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": CLAUDE_RETRIES,
        "DISABLE_AUTOUPDATER": "1",
    }


def _settle_claude_with_subscription(url: str, home: Path) -> dict[str, str]:
    """Only with one does claude tell when a usage limit ends."""
    variables = _settle_claude(url, home)
    del variables["ANTHROPIC_API_KEY"]
    return variables | {"CLAUDE_CODE_OAUTH_TOKEN": FAKE_KEY}


def _settle_codex(url: str, home: Path) -> dict[str, str]:
    _write(home / ".codex/config.toml", CODEX_SETTINGS % url)
    return {"SCRIPTED_KEY": FAKE_KEY}


def _codex_flags(url: str) -> tuple[str, ...]:
    """The same settings as flags."""
    provider = (
        f'name="scripted",base_url="{url}/v1",wire_api="responses",env_key="SCRIPTED_KEY",'
        f"request_max_retries={CODEX_RETRIES},stream_max_retries={CODEX_RETRIES}"
    )
    settings = (
        f'model="{MODEL}"',
        'model_provider="scripted"',
        f"model_providers.scripted={{{provider}}}",
    )
    return tuple(word for each in settings for word in ("-c", each))


def _settle_gemini(url: str, home: Path) -> dict[str, str]:
    settings = {
        # Without a model it asks one first which to take.
        "model": {"name": GEMINI_MODEL},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".gemini/settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": FAKE_KEY, "GOOGLE_GEMINI_BASE_URL": url}


def _settle_opencode(url: str, home: Path) -> dict[str, str]:
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": FAKE_KEY},
        "models": {MODEL: {}},
    }
    settings = {"model": f"scripted/{MODEL}", "provider": {"scripted": provider}}
    _write(home / ".config/opencode/opencode.json", json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


CLAUDE = Agent(
    "claude",
    "scripts/agents",
    _settle_claude,
    (
        *("-p", "--output-format", "stream-json", "--verbose"),
        *("--strict-mcp-config", "--setting-sources", ""),
    ),
    ("--permission-mode", "bypassPermissions"),
)
CLAUDE_WITH_SUBSCRIPTION = replace(CLAUDE, settle=_settle_claude_with_subscription)
CODEX = Agent(
    "codex",
    "scripts/agents",
    _settle_codex,
    command=("exec", "--json", "--ephemeral"),
    freedom=("--sandbox", "danger-full-access"),
    harness_flags=_codex_flags,
)
GEMINI = Agent(
    "gemini",
    "scripts/agents --all",
    _settle_gemini,
    command=("--skip-trust", "--output-format", "stream-json"),
    freedom=("--approval-mode", "yolo"),
    harness_flags=lambda url: ("--model", GEMINI_MODEL),
)
OPENCODE = Agent(
    "opencode",
    "scripts/agents --all",
    _settle_opencode,
    ("run", "--format", "json"),
    ("--auto",),
)
AGENTS = (CLAUDE, CODEX, GEMINI, OPENCODE)


@dataclass(frozen=True)
class Ended:
    """How a command ended; without a code it had to be ended at its limit."""

    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


@dataclass(frozen=True)
class Running:
    """A living process as it was a moment ago."""

    argv: tuple[str, ...]
    session: int


@dataclass(frozen=True)
class Stage:
    """All that one agent gets to see: a repository, a home and a scripted model."""

    server: ModelServer
    root: Path
    home: Path
    mark: str

    def variables(self, *agents: Agent) -> dict[str, str]:
        """The whole environment of a command that may start these agents."""
        folders = [os.path.dirname(agent.require()) for agent in agents]
        variables = {
            "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            MARK: self.mark,
        }
        for agent in agents:
            variables.update(agent.settle(self.server.url, self.home))
        return variables

    def run_agent(self, agent: Agent, prompt: str, *flags: str, limit_s: float = LIMIT_S) -> Ended:
        """The agent by itself, in the repository; flags stand in the place of its freedom."""
        argv = [agent.require(), *agent.command, *(flags or agent.freedom), prompt]
        return self.run(argv, self.variables(agent), limit_s=limit_s)

    def run(self, argv: list[str], variables: Mapping[str, str], *, limit_s: float) -> Ended:
        """A command to its end; at the limit it is ended, with all that it started."""
        began = time.monotonic()
        process = self.start(argv, variables)
        code: int | None = None
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.end_all()
            process.wait(GONE_AFTER_S)
        seconds = time.monotonic() - began
        out, err = (file.read_text("utf-8", errors="replace") for file in self._outputs)
        return Ended(code, out, err, seconds)

    def start(self, argv: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """A command in the repository, in a session of its own and without input."""
        out, err = self._outputs
        with out.open("wb") as stdout, err.open("wb") as stderr:
            return subprocess.Popen(
                argv,
                cwd=self.root,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def _outputs(self) -> tuple[Path, Path]:
        """Files, since a pipe would stay open as long as anything that the command started."""
        return self.home / "tmp/stdout", self.home / "tmp/stderr"

    def running(self) -> list[Running]:
        """What lives of all that this stage's commands started, wherever it moved to."""
        return list(self._found().values())

    def end_all(self) -> None:
        """Ends them all, and those that they start meanwhile."""

        def are_gone() -> bool:
            found = self._found()
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not found

        wait_for(are_gone, limit_s=GONE_AFTER_S)

    def _found(self) -> dict[int, Running]:
        """A process that is not ours to see, or that goes while we look, is not there."""
        found = {}
        for pid in marked(f"{MARK}={self.mark}"):
            with suppress(OSError):
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                found[pid] = Running(tuple(map(os.fsdecode, argv)), os.getsid(pid))
        return found


@contextmanager
def staged(server: ModelServer, folder: Path) -> Iterator[Stage]:
    """Afterwards no process of the stage is left, however its commands ended."""
    home = folder / "home"
    (home / "tmp").mkdir(parents=True)
    project = make_repo(folder / "shop")
    stage = Stage(server, Path(project.root), home, uuid.uuid4().hex)
    try:
        yield stage
    finally:
        stage.end_all()

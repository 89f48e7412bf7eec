"""What every action works with: the project's site, the settings, who is asked, what it costs."""

from __future__ import annotations

import os

import helix
from ddx.base import NeedsPerson, add_lines, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.agents import Reply
    from ddx.attempts import AttemptContext, Limits
    from ddx.project import Project
    from helix.passes import PromptPages
    from helix.project.settings import HelixSettings

SMART, CHEAP = "smart", "cheap"
CHEAP_STAGES = frozenset({"check"})
"""What only reads a state and names one word; every other stage asks for judgement (A-5)."""


@value
class Agent:
    """One harness and how it is asked; without a model, each stage asks for what it needs."""

    harness: str
    model: str = ""
    effort: str = ""


@value
class PassContext:
    """The same for every action of one command or one run (A-6)."""

    site: AttemptContext
    settings: HelixSettings
    pages: PromptPages
    builder: Agent
    reviewer: Agent
    limits: Limits
    on_call: Callable[[str, Reply], None]
    """Told of every call of an agent, by the name of its action: so that no token is lost."""
    dry_run: bool = False


def model_for(stage: str, agent: Agent, site: AttemptContext) -> str:
    """The model that a person named, else the smart or cheap one, where settings know it (A-5).

    Where they do not, the harness's own default is used: no model's name stands in our code.
    """
    from ddx.agents import Harnesses

    need = CHEAP if stage in CHEAP_STAGES else SMART
    known = site.settings.models.get(agent.harness, {})
    wanted = agent.model or (need if need in known else "")
    return Harnesses(site.settings).model(agent.harness, wanted, root=site.project.root)


NAME = ".helix"
_ONLY_HERE = "".join(
    f"/{name}\n"
    for name in (
        *(".gitignore", "context.md", "plugin_root", "helix.db*", "operations.jsonl*"),
        *("cache/", "checkpoints/", "objectives/", "undo/", "*.tmp-*"),
    )
)


def path_in(project: Project, *names: str) -> str:
    return os.path.join(project.root, NAME, *names)


def own_folder(project: Project) -> str:
    """The folder, made if need be; git is told what of it to leave alone."""
    folder = path_in(project)
    os.makedirs(folder, exist_ok=True)
    add_lines(os.path.join(folder, ".gitignore"), _ONLY_HERE)
    return folder


FOLDERS = ("workflows", "skills", "agents", "hooks")
_PACKED = "_resources"


def find_resources(name: str) -> str:
    """The folder of that name, there or not."""
    package = os.path.dirname(os.path.abspath(helix.__file__))
    packed = os.path.join(package, _PACKED)
    root = packed if os.path.isdir(packed) else os.path.dirname(os.path.dirname(package))
    return os.path.join(root, name)


def require_resources() -> None:
    """An installation without the pages that agents are told to follow is none (P-3)."""
    for name in FOLDERS:
        folder = find_resources(name)
        if not os.path.isdir(folder):
            raise NeedsPerson(
                f"this installation of HELIX is not whole: {folder} is missing",
                hint="install it again, from a wheel or a clone",
            )


def plugin_root() -> str:
    """The folder that holds them: what the plugin's hooks call their root."""
    return os.path.dirname(find_resources(FOLDERS[0]))

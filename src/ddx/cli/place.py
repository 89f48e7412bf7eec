"""Where we are and what holds here, for every command: the project, its settings, the clock."""

from __future__ import annotations

import os
import sys

from ddx import environment
from ddx.clock import SYSTEM_CLOCK
from ddx.project import Project, find_project
from ddx.settings import Settings, read_settings
from ddx.text import shown

CLOCK = SYSTEM_CLOCK


def here() -> Project:
    return find_project(os.getcwd())


def settings(project: Project) -> Settings:
    return read_settings(project, clock=CLOCK)


def tell(sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    print(shown(f"ddx: {sentence}"), file=sys.stderr)


def actor() -> str:
    return environment.variable("DDX_AGENT_NAME") or environment.login()

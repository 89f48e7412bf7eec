"""A scripted model for the tests that drive real agents."""

from tests.support.model_server.script import (
    ALWAYS,
    Drop,
    Hang,
    Http,
    Say,
    Scenario,
    Shell,
    Structured,
    Tool,
    Turn,
    Usage,
    Write,
)
from tests.support.model_server.server import Exchange, ModelServer

__all__ = [
    "ALWAYS",
    "Drop",
    "Exchange",
    "Hang",
    "Http",
    "ModelServer",
    "Say",
    "Scenario",
    "Shell",
    "Structured",
    "Tool",
    "Turn",
    "Usage",
    "Write",
]

"""From what the model wants to a call of a tool that the client offers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from tests.support.model_server.dialect import Call, Part
from tests.support.model_server.script import Say, Shell, Structured, Tool, Wish, Write

Input: TypeAlias = dict[str, Any]

WRITERS: Mapping[str, Callable[[str, str], Input]] = {
    "Write": lambda path, text: {"file_path": path, "content": text},
    "write_file": lambda path, text: {"file_path": path, "content": text},
    "write": lambda path, text: {"filePath": path, "content": text},
}
SHELLS: Mapping[str, Callable[[str], Input]] = {
    "Bash": lambda command: {"command": command, "description": "as the script says"},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "run_shell_command": lambda command: {"command": command, "description": "as the script says"},
    "bash": lambda command: {"command": command, "description": "as the script says"},
}
STRUCTURED = "StructuredOutput"


class NoSuchTool(Exception):
    """The client offers nothing for a step: the scenario does not fit how it was started."""


def fitted(wish: Wish, tools: Collection[str]) -> Part:
    """The same wish as something said or as a call of one of these tools."""
    match wish:
        case Say():
            return wish
        case Tool(name=name, input=input, namespace=namespace):
            return Call(name, input, namespace)
        case Structured(reply=reply):
            return Call(STRUCTURED, reply) if STRUCTURED in tools else Say(json.dumps(reply))
        case Write(path=path, text=text):
            for name, fill_in in WRITERS.items():
                if name in tools:
                    return Call(name, fill_in(path, text))
            return fitted(Shell(_written_by_shell(path, text)), tools)
        case Shell(command=command):
            for name, fill in SHELLS.items():
                if name in tools:
                    return Call(name, fill(command))
            raise NoSuchTool(f"no tool runs {command!r}; offered: {', '.join(tools) or 'none'}")


def _written_by_shell(path: str, text: str) -> str:
    target = shlex.quote(path)
    return f'mkdir -p "$(dirname {target})" && printf %s {shlex.quote(text)} > {target}'

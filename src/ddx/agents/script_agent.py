"""A scripted agent: does what a text says, with real files, and no model is asked (X-4).

    say TEXT                          a part of the reply
    write PATH TEXT                   a file with this one line
    append PATH TEXT                  one line more
    sh COMMAND                        by the shell; if it fails, the script ends with its code
    usage INPUT [OUTPUT [COST_USD]]   tokens, and what they cost
    sleep SECONDS
    exit CODE
    # a comment

Instead of a TEXT or a COMMAND, indented lines may follow; they are taken as they stand, without
their indentation. A `write` without either makes an empty file. A path with blanks is put in double
quotes. What is wrong in a script is told by its line, and then nothing of it is done.

A recording (`--replay`) has one JSON object a line instead: `{"say": TEXT}`, `{"usage": {...}}`,
`{"write": {"path": PATH, "content": TEXT}}`, `{"append": {...}}`, `{"sh": COMMAND}`,
`{"sleep": SECONDS}`, `{"exit": CODE}`, `{"denied": TOOL}`, `{"waiting": TEXT}`, and as its last
`{"end": END}`, with `until`, `reason`, `structured` and `exit` if they matter.

This is a program of its own: it imports nothing of ddx, and little else, so it starts at once. It
tells what it does as one JSON object a line, which the harness reads.
"""

from __future__ import annotations

import os
import sys
import time
from _json import encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    ScriptStep: TypeAlias = tuple[int, str, Any]
    """The line it stands on, its directive, and what the directive asks for."""

LONGEST_SLEEP_S = 86_400
_TEXTUAL = ("say", "sh")
_FILING = ("write", "append")
_NUMERIC = ("usage", "sleep", "exit")
_RECORDED = (*_TEXTUAL, *_FILING, *_NUMERIC, "denied", "waiting", "end")
_NONSENSE = 2


class InvalidDirective(Exception):
    """A line that means nothing."""


class ScriptEnded(Exception):
    """The script is over before its last line."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def main(argv: Sequence[str]) -> int:
    """Read all of the script, then follow it; the last line told is how it ended."""
    *flags, path = argv
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        steps = parse_recording(text) if flags == ["--replay"] else parse_script(text)
        for line, directive, asked in steps:
            _follow(line, directive, asked)
    except InvalidDirective as problem:
        return _end(_NONSENSE, str(problem))
    except ScriptEnded as ended:
        return _end(ended.code, ended.reason)
    except OSError as problem:
        return _end(1, f"{problem.strerror}: {problem.filename}")
    except KeyboardInterrupt:
        return 130
    return _end(0)


# Reading


def parse_script(text: str) -> list[ScriptStep]:
    """The steps of a script, or Nonsense that names its line."""
    steps: list[ScriptStep] = []
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        number, line = place + 1, lines[place].rstrip()
        place += 1
        if not line or line.startswith("#"):
            continue
        if line[0].isspace():
            raise InvalidDirective(
                f"line {number}: indented, but no line above it asks for more text"
            )
        block: list[str] = []
        if line.split()[0] in (*_TEXTUAL, *_FILING):
            block = _block(lines, place)
            place += len(block)
        steps.append(_step(number, line, _without_indent(block, number + 1)))
    return steps


def _block(lines: list[str], start: int) -> list[str]:
    """The indented lines from here on; blank ones belong to them only in between."""
    end = start
    for place in range(start, len(lines)):
        if lines[place].strip() and not lines[place][0].isspace():
            break
        if lines[place].strip():
            end = place + 1
    return lines[start:end]


def _without_indent(block: list[str], first_number: int) -> str:
    text = ""
    indent = ""
    for number, line in enumerate(block, start=first_number):
        if not indent and line.strip():
            indent = line[: len(line) - len(line.lstrip())]
        if line.strip() and not line.startswith(indent):
            raise InvalidDirective(
                f"line {number}: indented less than the line where the text begins"
            )
        text += line[len(indent) :] + "\n"
    return text


def _step(number: int, line: str, below: str) -> ScriptStep:
    directive, rest = (*line.split(None, 1), "")[:2]
    if directive in _NUMERIC:
        return number, directive, _numbers(number, directive, rest.split())
    path = ""
    if directive in _FILING:
        path, rest = _path(number, directive, rest)
    elif directive not in _TEXTUAL:
        known = ", ".join((*_FILING, *_TEXTUAL, *_NUMERIC))
        raise InvalidDirective(
            f"line {number}: unknown directive {directive!r}: it is none of {known}"
        )
    if rest and below:
        raise InvalidDirective(f"line {number}: the text stands in the line or below it, not both")
    content = below or (f"{rest}\n" if rest else "")
    if not content and directive != "write":
        raise InvalidDirective(f"line {number}: {directive} needs a text")
    return number, directive, (path, content) if path else content.removesuffix("\n")


def _path(number: int, directive: str, rest: str) -> tuple[str, str]:
    if rest.startswith('"'):
        path, closed, text = rest[1:].partition('"')
        path = path if closed else ""
    else:
        path, text = (*rest.split(None, 1), "", "")[:2]
    if not path:
        raise InvalidDirective(f"line {number}: {directive} needs a path")
    return path, text.strip()


def _numbers(number: int, directive: str, words: list[str]) -> Any:
    try:
        if directive == "usage":
            fields = (("input", int), ("output", int), ("cost_usd", float))
            usage = {name: kind(word) for (name, kind), word in zip(fields, words, strict=False)}
            if 1 <= len(words) <= len(fields) and min(usage.values()) >= 0:
                return usage
        elif len(words) == 1 and directive == "sleep" and 0 <= float(words[0]) <= LONGEST_SLEEP_S:
            return float(words[0])
        elif len(words) == 1 and directive == "exit" and 0 <= int(words[0]) <= 255:
            return int(words[0])
    except ValueError:
        pass
    wanted = {
        "usage": "usage INPUT [OUTPUT [COST_USD]]",
        "sleep": f"sleep SECONDS, at most {LONGEST_SLEEP_S}",
        "exit": "exit CODE, from 0 to 255",
    }
    raise InvalidDirective(f"line {number}: it is `{wanted[directive]}`")


def parse_recording(text: str) -> list[ScriptStep]:
    """The steps of a recorded stream, or Nonsense that names its line."""
    import json

    steps: list[ScriptStep] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InvalidDirective(f"line {number}: not JSON") from None
        known = [key for key in _RECORDED if isinstance(row, dict) and key in row]
        directive = "end" if "end" in known else known[0] if len(known) == 1 else ""
        if not directive:
            raise InvalidDirective(f"line {number}: an object with one of {', '.join(_RECORDED)}")
        steps.append((number, directive, _recorded(number, directive, row)))
    return steps


def _recorded(number: int, directive: str, row: dict[str, Any]) -> Any:
    asked = row[directive]
    match directive, asked:
        case "end", str():
            return row
        case (("write" | "append"), {"path": str(path), "content": str(content)}):
            return path, content
        case (("say" | "sh" | "denied" | "waiting"), str()):
            return asked
        case "usage", dict():
            return asked
        case "sleep", int() | float() if 0 <= asked <= LONGEST_SLEEP_S:
            return asked
        case "exit", int() if 0 <= asked <= 255:
            return asked
    raise InvalidDirective(f"line {number}: {directive} cannot be {asked!r}")


# Following


def _follow(line: int, directive: str, asked: Any) -> None:
    match directive:
        case "write" | "append":
            _file(line, directive, *asked)
        case "sh":
            _run(line, asked)
        case "sleep":
            time.sleep(asked)
        case "exit":
            raise ScriptEnded(asked, f"line {line}: exit {asked}" if asked else "")
        case "end":
            _tell(asked)
            code = asked.get("exit", 0 if asked["end"] == "completed" else 1)
            raise ScriptEnded(code)
        case _:
            _tell({directive: asked})


def _file(line: int, directive: str, path: str, content: str) -> None:
    root = os.path.realpath(".")
    target = os.path.realpath(path)
    if not target.startswith(root + os.sep):
        raise ScriptEnded(1, f"line {line}: {path} is not inside of the workspace")
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w" if directive == "write" else "a", encoding="utf-8") as file:
            file.write(content)
    except OSError as problem:
        raise ScriptEnded(1, f"line {line}: {path}: {problem.strerror}") from None
    _tell({"wrote": path})


def _run(line: int, command: str) -> None:
    code = os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", command])  # noqa: S606
    os.write(1, b"\n")  # the command may have left a line open
    _tell({"ran": command, "code": code})
    if code:
        how = f"code {code}" if code > 0 else f"signal {-code}"
        shown = command if len(command) <= 80 else f"{command[:80]}..."
        raise ScriptEnded(
            code if code > 0 else 128 - code, f"line {line}: {shown!r} ended with {how}"
        )


def _end(code: int, reason: str = "") -> int:
    _tell({"ended": code, "reason": reason})
    return code


def _tell(row: dict[str, Any]) -> None:
    rest = memoryview(f"{_json(row)}\n".encode())
    while rest:
        rest = rest[os.write(1, rest) :]


def _json(anything: Any) -> str:
    match anything:
        case str():
            return encode_basestring_ascii(anything)
        case dict():
            pairs = (f"{_json(str(key))}: {_json(found)}" for key, found in anything.items())
            return f"{{{', '.join(pairs)}}}"
        case list():
            return f"[{', '.join(map(_json, anything))}]"
        case bool():
            return "true" if anything else "false"
        case None:
            return "null"
    return repr(anything)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

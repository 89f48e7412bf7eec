"""The pages of docs/reference that come from the code: every command and every setting (C-6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import ddx.cli.registry
import helix.cli.registry
from ddx.console.command import Argument, Command, Flag
from ddx.project.settings_keys import SUBSTRATE, SettingKey, SettingsTable, named_keys, wanted
from helix.project.settings import POLICY, SLIDER

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MARK = "<!-- Written by scripts/reference from the code: change the code, then run it again. -->"

COMMANDS_HEAD = """\
# Commands

Two programs: `ddx` keeps the work, `helix` has it done. Every command has `--help`, and
`--version` tells the version of a program. How a command can end: [exit codes](exit-codes.md).
"""
SETTINGS_HEAD = """\
# Settings

What `ddx` reads, from the strongest to the weakest: a flag, a variable of the environment, the
project's `.ddx/config.yaml`, your own `ddx/config.yaml` in `$XDG_CONFIG_HOME` (`~/.config` if that
is not set), the default. `ddx config show --origin` says where each value came from. A key that is
not in this table and a value that does not fit are errors with file and line.
"""
POLICY_HEAD = """
## What `helix` reads

By the same rules: a flag, a variable, the project's `.helix/config.yaml`, your own
`helix/config.yaml`, the default.
"""
SLIDER_HEAD = """
## How freely it acts

By the same rules: a flag (`--autonomy`), a variable, the project's `.helix/slider-config.yaml`, the
default. See [choose an autonomy level](../how-to/choose-an-autonomy-level.md).
"""
SETTINGS_TAIL = """\
The part before the dot is a section of the file. Below `harnesses` and `models` stand names: of
your own, or of a harness that is shipped:

```yaml
checks:
  default: [scripts/check]
harnesses:
  mine: {kind: command, argv: [./my-agent, --flag], timeout_s: 600}
models:
  claude: {smart: opus, cheap: haiku}
tracker:
  commit: on-close
```
"""


def main() -> None:
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")


def pages() -> dict[str, str]:
    """Each page's name and text, as the code stands now."""
    return {"commands.md": "\n".join(_commands()), "settings.md": "\n".join(_settings())}


def _commands() -> Iterator[str]:
    yield f"{MARK}\n\n{COMMANDS_HEAD}"
    for program, registry in (("ddx", ddx.cli.registry), ("helix", helix.cli.registry)):
        yield f"## {program}\n"
        for path in registry.COMMANDS:
            yield from _command(f"{program} {path}", registry.PROGRAM.load(path))


def _command(name: str, command: Command) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{command.summary}\n"
    parts = [name, *map(_placeholder, command.arguments)]
    parts += [_typed(flag) for flag in command.flags if flag.required]
    if any(not flag.required for flag in command.flags):
        parts.append("[FLAGS]")
    yield f"```text\n{' '.join(parts)}\n```\n"
    if command.arguments:
        rows = [(f"`{item.name.upper()}`", item.meaning) for item in command.arguments]
        yield _table(("argument", "meaning"), rows)
    if command.flags:
        rows = [(f"`{_typed(flag)}`", _explained(flag)) for flag in command.flags]
        yield _table(("flag", "meaning"), rows)
    yield f"```sh\n{command.example}\n```\n"
    if command.schema:
        yield f"Its JSON: [{command.schema}](schemas/{command.schema}.json).\n"


def _placeholder(argument: Argument) -> str:
    name = argument.name.upper() + ("..." if argument.many else "")
    return name if argument.required else f"[{name}]"


def _typed(flag: Flag) -> str:
    if flag.kind == "switch":
        return flag.name
    return f"{flag.name} {flag.kind.upper()}"


def _explained(flag: Flag) -> str:
    words = [flag.meaning]
    if flag.choices:
        words.append(f"one of {_quoted(flag.choices)}")
    if flag.default is not None:
        words.append(f"`{flag.default}` if not given")
    if flag.required:
        words.append("required")
    if flag.many and "several" not in flag.meaning:
        words.append("may be given several times")
    return "; ".join(words)


def _settings() -> Iterator[str]:
    yield f"{MARK}\n\n{SETTINGS_HEAD}"
    yield _keys(SUBSTRATE)
    yield SETTINGS_TAIL
    yield POLICY_HEAD
    yield _keys(POLICY)
    yield SLIDER_HEAD
    yield _keys(SLIDER)


def _keys(known: SettingsTable) -> str:
    rows = [
        (f"`{name}`", _type(key), _default(key), _variable(key), key.meaning)
        for name, key in sorted({**known.keys, **named_keys(known)}.items())
    ]
    return _table(("key", "type", "default", "variable", "meaning"), rows)


def _type(key: SettingKey) -> str:
    return f"one of {_quoted(key.choices)}" if key.kind == "choice" else wanted(key)


def _default(key: SettingKey) -> str:
    match key.default:
        case None:
            return "none"
        case bool(switch):
            return f"`{str(switch).lower()}`"
        case tuple(words):
            return _quoted(words) or "empty"
        case other:
            return "empty" if other == "" or other == {} else f"`{other}`"


def _variable(key: SettingKey) -> str:
    return f"`{key.variable}`" if key.variable else ""


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    main()

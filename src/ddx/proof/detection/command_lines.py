"""What a shell command is for, and whether it can be run outside of its script. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Literal, TypeAlias

from ddx.base import value, word_set

CheckKind: TypeAlias = Literal["test", "lint", "types", "build", "setup"]
KINDS: tuple[CheckKind, ...] = ("test", "lint", "types", "build", "setup")


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$\{\{.*?\}\}|\$\(?\{?[A-Za-z_][\w.]*|\$\(|`|%[A-Z_]+%")
_SHELL_WORDS = frozenset(
    {
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "do",
        "done",
        "while",
        "until",
        "case",
        "esac",
        "{",
        "}",
        "(",
        ")",
        "exit",
        "return",
        "trap",
    }
)
_WITHOUT_EFFECT = word_set("set echo cd true : printf which pwd ls cat")
_WRAPPERS: dict[str, frozenset[str]] = {
    # a program that only starts another one, and its flags that take a value
    "bundle exec": frozenset(),
    "env": frozenset(),
    "hatch run": frozenset(),
    "nice": frozenset({"-n"}),
    "npx": frozenset({"-p", "--package"}),
    "pdm run": frozenset(),
    "pipenv run": frozenset(),
    "pipx run": frozenset({"--python", "--spec"}),
    "pnpm exec": frozenset(),
    "poetry run": frozenset(),
    "rye run": frozenset(),
    "sudo": frozenset({"-u"}),
    "time": frozenset(),
    "timeout": frozenset({"-k", "-s"}),
    "uv run": word_set("--extra --group --only-group --python -p --with --no-group --directory"),
    "uvx": word_set("--with --from --python -p"),
    "xvfb-run": frozenset({"-s", "-n"}),
    "yarn exec": frozenset(),
}
_PART_FLAGS = word_set(
    "--projects -pl --activate-profiles -P --filter --package --workspace-filter -k --test-path"
)
_SCRIPT_RUNNERS = word_set("npm pnpm yarn bun")
_TARGET_RUNNERS = word_set("make gmake just task rake poe invoke inv composer grunt gulp")
_TARGET_KINDS: tuple[tuple[CheckKind, re.Pattern[str]], ...] = (
    (
        "lint",
        re.compile(r"(^|[-_:.])(lint|linters?|style|format[-_:]?check|fmt[-_:]?check|eslint)\b"),
    ),
    ("types", re.compile(r"(^|[-_:.])(types?|typecheck|type[-_]check|typing|mypy|tsc|dtslint)\b")),
    ("test", re.compile(r"(^|[-_:.])(tests?|check|spec|specs|unit|unittests?|ci)($|[-_:.])")),
    ("build", re.compile(r"(^|[-_:.])(build|compile|dist)($|[-_:.])|^all$")),
)
_FIRST_WORDS: dict[CheckKind, frozenset[str]] = {
    "test": word_set(
        "pytest py.test tox nox nosetests jest mocha vitest ava tap tape karma jasmine "
        "gotestsum richgo rspec phpunit ctest unittest stestr trial behave cypress playwright"
    ),
    "lint": word_set(
        "flake8 pylint eslint golangci-lint rubocop prettier black isort pycodestyle pydocstyle "
        "stylelint biome oxlint standard xo php-cs-fixer phpcs shellcheck pre-commit yamllint"
    ),
    "types": word_set("mypy pyright basedpyright pytype pyre phpstan psalm vue-tsc tsd"),
    "build": word_set("tsc rollup webpack vite esbuild tsup"),
    "setup": frozenset(),
}
_SUBCOMMANDS: dict[str, dict[str, CheckKind]] = {
    # the words after a program that say what it does
    "bazel": {"test": "test", "build": "build"},
    "bun": {"test": "test", "install": "setup", "i": "setup"},
    "bundle": {"install": "setup"},
    "cargo": {
        "test": "test",
        "nextest": "test",
        "clippy": "lint",
        "fmt": "lint",
        "build": "build",
        "check": "types",
        "fetch": "setup",
    },
    "composer": {"install": "setup", "update": "setup"},
    "deno": {"test": "test", "lint": "lint", "check": "types"},
    "dotnet": {"test": "test", "build": "build", "restore": "setup", "format": "lint"},
    "go": {"test": "test", "vet": "lint", "build": "build"},
    "mix": {
        "test": "test",
        "format": "lint",
        "credo": "lint",
        "dialyzer": "types",
        "compile": "build",
        "deps.get": "setup",
    },
    "npm": {"test": "test", "t": "test", "ci": "setup", "install": "setup", "i": "setup"},
    "pip": {"install": "setup"},
    "pip3": {"install": "setup"},
    "pipenv": {"install": "setup", "sync": "setup"},
    "pnpm": {"test": "test", "t": "test", "install": "setup", "i": "setup"},
    "poetry": {"install": "setup"},
    "ruff": {"check": "lint", "format": "lint"},
    "rake": {"test": "test", "spec": "test"},
    "uv": {"sync": "setup", "pip": "setup"},
    "yarn": {"test": "test", "install": "setup"},
}
_BUILD_GOALS: dict[str, CheckKind] = {
    "test": "test",
    "verify": "test",
    "check": "test",
    "install": "build",
    "package": "build",
    "build": "build",
    "compile": "build",
    "assemble": "build",
    "spotlessCheck": "lint",
    "checkstyleMain": "lint",
}


@value
class ShellCommand:
    """One command of a script, and where it begins, counted in lines from 0."""

    text: str
    line: int = 0


def commands_of(script: str) -> list[ShellCommand]:
    """The commands of a script, one by one; `a && b` are two, and continued lines are joined."""
    found: list[ShellCommand] = []
    pending, begun = "", 0
    for number, raw in enumerate(script.splitlines()):
        line = raw.strip()
        if not pending:
            begun = number
        if line.endswith("\\"):
            pending += line[:-1].rstrip() + " "
            continue
        line, pending = (pending + line).strip(), ""
        if line and not line.startswith("#"):
            found.extend(ShellCommand(part, begun) for part in _split(line))
    if pending.strip():
        found.extend(ShellCommand(part, begun) for part in _split(pending.strip()))
    return found


def _split(line: str) -> list[str]:
    """The parts of `a && b; c`, without splitting inside of quotes or pipes."""
    parts, current, quote = [""], 0, ""
    position = 0
    while position < len(line):
        mark = line[position]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif line.startswith("&&", position) or mark == ";":
            parts.append("")
            current += 1
            position += 2 if mark == "&" else 1
            continue
        parts[current] += mark
        position += 1
    return [part.strip() for part in parts if part.strip()]


def words_of_command(command: str) -> list[str]:
    """The words of a command as a shell splits them; an empty list where it cannot be split."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return []


def core_words(command: str) -> list[str]:
    """The words that decide: without variables before them and programs that only start another."""
    words = words_of_command(command)
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        two = " ".join(words[:2])
        wrapper = next((name for name in (two, words[0]) if name in _WRAPPERS), None)
        if wrapper is None:
            break
        words = _after_flags(words[len(wrapper.split()) :], _WRAPPERS[wrapper])
        if wrapper == "timeout":
            words = words[1:]
    return _without_interpreter(words)


def _after_flags(words: list[str], with_value: frozenset[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in with_value else words[1:]
        if words and words[0] == "--":
            return words[1:]
    return words


def _without_interpreter(words: list[str]) -> list[str]:
    """`python -m pytest` and `coverage run -m pytest` are pytest."""
    if len(words) > 2 and _is_python(words[0]):
        rest = words[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
        if rest[:1] == ["-m"]:
            return _without_interpreter(rest[1:])
    if words[:2] == ["coverage", "run"] and "-m" in words:
        return words[words.index("-m") + 1 :]
    return words


def _is_python(word: str) -> bool:
    return re.fullmatch(r"(\S*/)?(python|pypy)[\d.]*", word) is not None


def kind_of(command: str) -> CheckKind | None:
    """What a command is for; None if it is for none of our five purposes, or nobody can tell."""
    words = core_words(command)
    if not words:
        return None
    program = words[0].rsplit("/", 1)[-1]
    rest = words[1:]
    if program in _SCRIPT_RUNNERS:
        return _kind_of_script(program, rest)
    if program in ("mvn", "mvnw", "gradle", "gradlew"):
        goals = [
            _BUILD_GOALS[it.rsplit(":", 1)[-1]]
            for it in rest
            if it.rsplit(":", 1)[-1] in _BUILD_GOALS
        ]
        return "test" if "test" in goals else next(iter(goals), None)
    if program == "node":
        return "test" if "--test" in rest else None
    if program == "go" and rest[:2] == ["mod", "download"]:
        return "setup"
    if program == "cmake":
        return "build" if "--build" in rest else None
    if program == "deno" and rest[:1] == ["task"]:
        return kind_of_target(rest[1]) if len(rest) > 1 else None
    if program == "cargo" and rest[:1] == ["fmt"] and "--check" not in " ".join(rest):
        return None
    named = _SUBCOMMANDS.get(program, {})
    first = next((word for word in rest if not word.startswith(("-", "+"))), "")
    if first in named:
        return named[first]
    if program in _TARGET_RUNNERS:
        return kind_of_target(first) if first else _kind_of_default_target(program)
    for kind, programs in _FIRST_WORDS.items():
        if program in programs:
            return kind
    if "/" in words[0]:
        return kind_of_target(program.rsplit(".", 1)[0])
    return None


def _kind_of_default_target(program: str) -> CheckKind | None:
    """`rake` alone runs the tests by custom; what `make` alone does, nobody can tell."""
    return "test" if program == "rake" else None


def _kind_of_script(program: str, rest: list[str]) -> CheckKind | None:
    """npm and its relatives: their own commands first, then the names of the project's scripts."""
    plain = [word for word in rest if not word.startswith("-")]
    first = plain[0] if plain else ""
    if first in ("run", "run-script"):
        return kind_of_target(plain[1]) if len(plain) > 1 else None
    if first in ("exec", "dlx", "x"):
        return kind_of(" ".join(map(shlex.quote, plain[1:])))
    known = _SUBCOMMANDS[program].get(first)
    if known == "setup" and len(plain) > 1:
        return None  # `npm install -g codecov` sets up something of the machine, not the project
    if known or program in ("npm", "bun"):
        return known
    return kind_of_target(first) if first else "setup"


def kind_of_target(name: str) -> CheckKind | None:
    """What a script or target of this name is for by custom; None for other names."""
    return next((kind for kind, pattern in _TARGET_KINDS if pattern.search(name)), None)


def why_unresolved(command: str) -> str:
    """Why a command of CI cannot be taken over as it stands, or nothing if it can."""
    found = _VARIABLE.search(command)
    if found:
        return f"uses {found.group()}, which only CI knows"
    words = words_of_command(command)
    if not words:
        return "is no plain command"
    if words[0] in _SHELL_WORDS or words[-1] in ("do", "then"):
        return "is part of a shell script"
    if words[-1] == "&" or command.rstrip().endswith("&"):
        return "runs in the background"
    if any(_ASSIGNMENT.match(word) and word.startswith("PATH=") for word in words):
        return "changes PATH"
    if "||" in words:
        return "hides its failure by `||`"
    part = next((it for it in words if it.partition("=")[0] in _PART_FLAGS), "")
    if part and kind_of(command) == "test":
        return f"covers only a part ({part})"
    return ""


def is_without_effect(command: str) -> bool:
    """Whether a command changes nothing that a later one needs: `set -e`, `echo`, `cd`."""
    words = words_of_command(command)
    return bool(words) and (words[0] in _WITHOUT_EFFECT or words[0] in ("source", "."))

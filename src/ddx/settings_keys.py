"""Every setting of the substrate: what it may be, and what it is when nobody says (C-6).

The rules hold for any table of settings: the policy brings one of its own.
"""

from __future__ import annotations

from ddx.errors import UsageError
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST = 1_000_000_000
"""No number of ours needs more: a second is a second, and a token a token."""


@value
class Key:
    """One setting: what it may be, and what it is when nobody says."""

    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    variable: str = ""


@value
class Table:
    """Every setting of one file: single ones, and sections whose entries people name themselves."""

    keys: Mapping[str, Key]
    named: Mapping[str, Mapping[str, Key]] = {}


KEYS: Mapping[str, Key] = {
    "agent.timeout_s": Key(
        "number",
        2700,
        "seconds that an agent may take, if its harness has no timeout_s of its own",
        variable="HELIX_AGENT_TIMEOUT",
    ),
    "bead.prefix": Key(
        "text",
        "",
        "what new bead ids begin with; empty: the repository's folder name",
        variable="DDX_BEAD_PREFIX",
    ),
    "budget.bead_tokens": Key("count", None, "tokens that all attempts on one bead may use"),
    "budget.bead_usd": Key("number", None, "US dollars that all attempts on one bead may cost"),
    "checks.default": Key(
        "texts", (), "commands that prove every bead of this project, besides its own"
    ),
    "docs.roots": Key(
        "texts", ("docs/helix",), "folders that hold the documents, relative to the project"
    ),
    "limits.alternate": Key("text", "", "the harness to go on with where another one cannot"),
    "limits.on_limit": Key(
        "choice",
        "wait",
        "what a usage limit means for a run: wait for its end, stop, or switch to the alternate",
        choices=("wait", "stop", "switch"),
    ),
    "retention.attempts": Key("count", 500, "records of attempts that are kept, the newest first"),
    "retention.days": Key("number", 30, "days after which the record of an attempt may go"),
    "sandbox.kind": Key(
        "choice",
        "none",
        "what agents and checks are locked into",
        choices=("none", "bubblewrap"),
    ),
    "sandbox.network": Key("switch", True, "whether the sandbox lets them into the network"),
    "tracker.commit": Key(
        "choice",
        "never",
        "when ddx commits the tracker's files by itself",
        choices=("never", "on-close", "on-stop"),
    ),
    "workspace.carry": Key(
        "paths", (), "files and folders of the checkout that git ignores but a workspace needs"
    ),
    "workspace.root": Key(
        "folder", "", "where workspaces are made, outside of the checkout; empty: the user's cache"
    ),
    "workspace.setup": Key(
        "texts", (), "commands that make a fresh workspace able to run the project's tests"
    ),
    "workspace.timeout_s": Key("number", 600, "seconds that one set-up command may take"),
}

NAMED: Mapping[str, Mapping[str, Key]] = {
    "harnesses": {
        "argv": Key("argv", (), "the program with its arguments"),
        "env": Key("variables", {}, "variables that the program gets besides"),
        "idle_s": Key("number", None, "seconds without any sign of life before it is ended"),
        "kind": Key("name", None, "which harness it is; not given: the one of its own name"),
        "timeout_s": Key("number", None, "seconds that it may take"),
    },
    "models": {
        "cheap": Key("name", None, "the model that `--model cheap` means for this harness"),
        "smart": Key("name", None, "the model that `--model smart` means for this harness"),
    },
}
"""Sections whose entries people name themselves: `harnesses.mine.kind`."""

SUBSTRATE = Table(KEYS, NAMED)

_NUMBERS = ("amount", "count", "number", "share", "whole")
_WANTED = {
    "amount": "a number from 0 to a billion",
    "argv": "a list of texts that begins with a program",
    "count": "a whole number from 1 to a billion",
    "folder": "an absolute path, or one that begins with ~/",
    "label": "a label: a text without blanks that is not empty",
    "name": "a text that is not empty",
    "name-or-off": "a text that is not empty, or off",
    "number": "a number above 0, at most a billion",
    "paths": "a list of paths inside of the project",
    "route": "desktop, an http address, or a program with its arguments as a list",
    "share": "a number from 0 to 1",
    "switch": "true or false",
    "text": "a text",
    "texts": "a list of texts",
    "variables": "a table of variables, each with a text",
    "whole": "a whole number from 0 to a billion",
}


def checked(name: str, given: Any, *, where: str, table: Table = SUBSTRATE) -> Any:
    """A setting's value, or an error that says where and what it may be."""
    key = _key(name, table, where=where)
    if key.kind == "name-or-off" and given is False:
        return "off"  # which YAML reads as a switch
    if _fits(key, given):
        return given
    raise UsageError(f"{where}: {name} must be {wanted(key)}, not {given!r}")


def read_variable(name: str, text: str, *, table: Table = SUBSTRATE) -> Any:
    """The same for what comes as the text of a variable."""
    key = table.keys[name]
    given: Any = text
    if key.kind in _NUMBERS:
        try:
            number = float(text)
            given = int(number) if number.is_integer() else number
        except (ValueError, OverflowError):
            pass
    elif key.kind == "switch":
        given = {"true": True, "false": False}.get(text.lower(), text)
    return checked(name, given, where=f"${key.variable}", table=table)


def wanted(key: Key) -> str:
    """What a setting may be, in words."""
    choices = ", ".join(key.choices)
    match key.kind:
        case "choice":
            return f"one of {choices}"
        case "choices":
            return f"a list of some of {choices}"
        case kind:
            return _WANTED[kind]


def _key(name: str, table: Table, *, where: str) -> Key:
    section, _, rest = name.partition(".")
    entry, _, field = rest.partition(".")
    fields = table.named.get(section)
    key = table.keys.get(name) if fields is None else fields.get(field)
    if key is not None:
        return key
    hint = f"the settings are: {', '.join(sorted((*table.keys, *named_keys(table))))}"
    if fields is not None:
        hint = f"the settings of {section}.{entry} are: {', '.join(fields)}"
    raise UsageError(f"{where}: unknown setting {name!r}", hint=hint)


def named_keys(table: Table = SUBSTRATE) -> dict[str, Key]:
    """The settings of named entries, as they are written down: `harnesses.<name>.kind`."""
    return {
        f"{section}.<name>.{field}": key
        for section, fields in table.named.items()
        for field, key in fields.items()
    }


def _fits(key: Key, given: Any) -> bool:
    match key.kind:
        case "text":
            return _is_text(given)
        case "name" | "name-or-off":
            return _is_text(given) and bool(given.strip())
        case "label":
            return _is_text(given) and given.split() == [given]
        case "folder":
            return _is_text(given) and (not given or given.startswith(("/", "~/")))
        case "texts":
            return _are_texts(given) and all(item.strip() for item in given)
        case "paths":
            return _are_texts(given) and all(map(_is_inside, given))
        case "argv":
            return _are_texts(given) and bool(given) and bool(given[0].strip())
        case "variables":
            return isinstance(given, dict) and all(
                _is_text(name) and name and "=" not in name and _is_text(text)
                for name, text in given.items()
            )
        case "choice":
            return given in key.choices
        case "choices":
            return _are_texts(given) and bool(given) and set(given) <= set(key.choices)
        case "route":
            return _is_route(given)
        case "switch":
            return isinstance(given, bool)
        case _:
            return _is_number(given) and _has_size(key.kind, given)


def _has_size(kind: str, given: float) -> bool:
    match kind:
        case "count":
            return given >= 1 and given == int(given)
        case "whole":
            return given >= 0 and given == int(given)
        case "amount":
            return given >= 0
        case "share":
            return 0 <= given <= 1
        case _:
            return given > 0


def _is_route(given: Any) -> bool:
    """Where word of something goes: to the screen, to an address, or to a program."""
    if isinstance(given, str):
        is_address = given.startswith(("https://", "http://"))
        return _is_text(given) and (given == "desktop" or is_address)
    return _are_texts(given) and bool(given) and bool(given[0].strip())


def _is_text(given: Any) -> bool:
    """Fit for a file's name, an argument or a variable."""
    if not isinstance(given, str) or "\0" in given:
        return False
    try:
        given.encode()
    except UnicodeEncodeError:  # YAML can name half of a surrogate pair
        return False
    return True


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(map(_is_text, given))


def _is_inside(path: str) -> bool:
    parts = path.strip().split("/")
    return bool(path.strip()) and not path.startswith(("/", "~")) and ".." not in parts


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given <= MOST

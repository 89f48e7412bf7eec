"""Every setting of the substrate: what it may be, and what it is when nobody says (C-6).

The rules hold for any table of settings: the policy brings one of its own.
"""

from __future__ import annotations

from ddx.base import UsageError, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST = 1_000_000_000
"""No number of ours needs more: a second is a second, and a token a token."""


@value
class SettingKey:
    """One setting: what it may be, and what it is when nobody says."""

    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    variable: str = ""


@value
class SettingsTable:
    """Every setting of one file: single ones, and sections whose entries people name themselves."""

    keys: Mapping[str, SettingKey]
    named: Mapping[str, Mapping[str, SettingKey]] = {}

    def checked(self, name: str, given: Any, *, where: str) -> Any:
        """A setting's value, or an error that says where and what it may be."""
        key = _key(name, self, where=where)
        if key.kind == "name-or-off" and given is False:
            return "off"  # which YAML reads as a switch
        if _fits(key, given):
            return given
        raise UsageError(f"{where}: {name} must be {wanted(key)}, not {given!r}")

    def read_variable(self, name: str, text: str) -> Any:
        """The same for what comes as the text of a variable."""
        key = self.keys[name]
        given: Any = text
        if key.kind in _NUMBERS:
            try:
                number = float(text)
                given = int(number) if number.is_integer() else number
            except (ValueError, OverflowError):
                pass
        elif key.kind == "switch":
            given = {"true": True, "false": False}.get(text.lower(), text)
        return self.checked(name, given, where=f"${key.variable}")


KEYS: Mapping[str, SettingKey] = {
    "agent.timeout_s": SettingKey(
        "number",
        2700,
        "seconds that an agent may take, if its harness has no timeout_s of its own",
        variable="HELIX_AGENT_TIMEOUT",
    ),
    "bead.prefix": SettingKey(
        "text",
        "",
        "what new bead ids begin with; empty: the repository's folder name",
        variable="DDX_BEAD_PREFIX",
    ),
    "budget.bead_tokens": SettingKey("count", None, "tokens that all attempts on one bead may use"),
    "budget.bead_usd": SettingKey(
        "number", None, "US dollars that all attempts on one bead may cost"
    ),
    "checks.default": SettingKey(
        "checks", (), "commands that prove every bead of this project, besides its own"
    ),
    "checks.scopes": SettingKey(
        "scopes", (), "commands that prove changes below certain paths, as in a monorepo"
    ),
    "checks.tests": SettingKey(
        "texts", (), "where tests live, as patterns; empty: the usual places of each language"
    ),
    "docs.roots": SettingKey(
        "texts", ("docs/helix",), "folders that hold the documents, relative to the project"
    ),
    "limits.alternate": SettingKey(
        "text", "", "the harness to go on with where another one cannot"
    ),
    "limits.on_limit": SettingKey(
        "choice",
        "wait",
        "what a usage limit means for a run: wait for its end, stop, or switch to the alternate",
        choices=("wait", "stop", "switch"),
    ),
    "retention.attempts": SettingKey(
        "count", 500, "records of attempts that are kept, the newest first"
    ),
    "retention.days": SettingKey("number", 30, "days after which the record of an attempt may go"),
    "sandbox.kind": SettingKey(
        "choice", "none", "what agents and checks are locked into", choices=("none", "bubblewrap")
    ),
    "sandbox.network": SettingKey("switch", True, "whether the sandbox lets them into the network"),
    "tracker.commit": SettingKey(
        "choice",
        "never",
        "when ddx commits the tracker's files by itself",
        choices=("never", "on-close", "on-stop"),
    ),
    "workspace.carry": SettingKey(
        "paths", (), "files and folders of the checkout that git ignores but a workspace needs"
    ),
    "workspace.root": SettingKey(
        "folder", "", "where workspaces are made, outside of the checkout; empty: the user's cache"
    ),
    "workspace.setup": SettingKey(
        "texts", (), "commands that make a fresh workspace able to run the project's tests"
    ),
    "workspace.timeout_s": SettingKey("number", 600, "seconds that one set-up command may take"),
}
NAMED: Mapping[str, Mapping[str, SettingKey]] = {
    "harnesses": {
        "argv": SettingKey("argv", (), "the program with its arguments"),
        "env": SettingKey("variables", {}, "variables that the program gets besides"),
        "idle_s": SettingKey("number", None, "seconds without any sign of life before it is ended"),
        "kind": SettingKey("name", None, "which harness it is; not given: the one of its own name"),
        "timeout_s": SettingKey("number", None, "seconds that it may take"),
    },
    "models": {
        "cheap": SettingKey("name", None, "the model that `--model cheap` means for this harness"),
        "smart": SettingKey("name", None, "the model that `--model smart` means for this harness"),
    },
}
"""Sections whose entries people name themselves: `harnesses.mine.kind`."""
SUBSTRATE = SettingsTable(KEYS, NAMED)
_NUMBERS = ("amount", "count", "number", "share", "whole")
_WANTED = {
    "amount": "a number from 0 to a billion",
    "argv": "a list of texts that begins with a program",
    "checks": "a list of commands, each a text or a table {command, paths, timeout_s}",
    "count": "a whole number from 1 to a billion",
    "folder": "an absolute path, or one that begins with ~/",
    "label": "a label: a text without blanks that is not empty",
    "name": "a text that is not empty",
    "name-or-off": "a text that is not empty, or off",
    "number": "a number above 0, at most a billion",
    "paths": "a list of paths inside of the project",
    "route": "desktop, an http address, or a program with its arguments as a list",
    "scopes": "a list of tables {paths, checks}",
    "share": "a number from 0 to 1",
    "switch": "true or false",
    "text": "a text",
    "texts": "a list of texts",
    "variables": "a table of variables, each with a text",
    "whole": "a whole number from 0 to a billion",
}


def wanted(key: SettingKey) -> str:
    """What a setting may be, in words."""
    choices = ", ".join(key.choices)
    match key.kind:
        case "choice":
            return f"one of {choices}"
        case "choices":
            return f"a list of some of {choices}"
        case kind:
            return _WANTED[kind]


def _key(name: str, table: SettingsTable, *, where: str) -> SettingKey:
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


def named_keys(table: SettingsTable = SUBSTRATE) -> dict[str, SettingKey]:
    """The settings of named entries, as they are written down: `harnesses.<name>.kind`."""
    return {
        f"{section}.<name>.{field}": key
        for section, fields in table.named.items()
        for field, key in fields.items()
    }


def _fits(key: SettingKey, given: Any) -> bool:
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
        case "checks":
            return isinstance(given, list) and all(map(_is_check, given))
        case "scopes":
            return isinstance(given, list) and all(map(_is_scope, given))
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


def _is_check(given: Any) -> bool:
    """A command alone, or a table that also says for which paths and for how long."""
    if not isinstance(given, dict):
        return _is_text(given) and bool(given.strip())
    command, paths = given.get("command", ""), given.get("paths", [])
    return (
        set(given) <= {"command", "paths", "timeout_s"}
        and _is_text(command)
        and bool(command.strip())
        and _are_texts(paths)
        and all(map(_is_inside, paths))
        and (
            "timeout_s" not in given or (_is_number(given["timeout_s"]) and given["timeout_s"] > 0)
        )
    )


def _is_scope(given: Any) -> bool:
    if not isinstance(given, dict) or set(given) != {"paths", "checks"}:
        return False
    paths, checks = given["paths"], given["checks"]
    has_both = _are_texts(paths) and isinstance(checks, list) and bool(paths) and bool(checks)
    return has_both and all(map(_is_inside, paths)) and all(map(_is_check, checks))


def _is_inside(path: str) -> bool:
    parts = path.strip().split("/")
    return bool(path.strip()) and not path.startswith(("/", "~")) and ".." not in parts


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given <= MOST

"""Settings on the screen: what holds, and where it comes from (C-6)."""

from __future__ import annotations

from ddx.base import MASKED, is_secret_name
from ddx.console.command import JSON, Command, Flag
from ddx.console.screen import answer, say, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def settings_command(
    program: str,
    summary: str,
    read: Callable[[], tuple[Mapping[str, Any], Mapping[str, str]]],
    *,
    schema: str,
) -> Command:
    """`config show` of a program: what it reads is each setting, and where each comes from."""

    def run(*, origin: bool, json: bool) -> int:
        _show(*read(), origin=origin, json=json)
        return 0

    return Command(
        summary=summary,
        run=run,
        example=f"{program} config show --origin",
        flags=(Flag("--origin", "where each one comes from", kind="switch"), JSON),
        schema=schema,
    )


def _show(
    settings: Mapping[str, Any], origins: Mapping[str, str], *, origin: bool, json: bool
) -> None:
    """Every key with its value; with `origin` the flag, variable or file that gave it."""
    found = sorted(settings.items())
    if json:
        answer({name: {"value": _plain(given), "origin": origins[name]} for name, given in found})
    elif origin:
        table(
            ("setting", "from", "value"),
            [(name, origins[name], _spoken(given)) for name, given in found],
        )
    else:
        for name, given in found:
            say(f"{name}: {_spoken(given)}")


def _plain(given: object) -> object:
    match given:
        case tuple():
            return list(given)
        case dict():  # variables: what is a secret is not for a screen
            return {name: MASKED if is_secret_name(name) else text for name, text in given.items()}
        case _:
            return given


def _spoken(given: object) -> str:
    match _plain(given):
        case bool(switch):
            return "true" if switch else "false"
        case list(texts):
            return "; ".join(map(str, texts)) or "none"
        case dict(variables):
            return "; ".join(f"{name}={text}" for name, text in variables.items()) or "none"
        case None:
            return "none"
        case other:
            return str(other) or "none"

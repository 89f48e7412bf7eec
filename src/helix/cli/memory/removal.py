"""How what was removed, or would be, is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.console.screen import say, table
from helix.cli.memory.session import credit_in_words

if TYPE_CHECKING:
    from helix.memory.tending import Removed


def show_removed(done: Removed, *, dry_run: bool, verb: str) -> None:
    if done.memories:
        rows = [
            (it.name, str(it.type), credit_in_words(it.helped, it.failed), it.trigger)
            for it in done.memories
        ]
        table(("name", "type", "record", "trigger"), rows)
    would = "would be " if dry_run else ""
    say(f"{len(done.memories)} {would}{verb}, {done.remaining} remain")
    if done.undo:
        say("take it back: helix memory undo")

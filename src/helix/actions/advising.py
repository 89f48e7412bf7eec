"""`--assist`: an agent words a request better; the same rules hold for all that it says (I-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.execution.model import Section
from ddx.execution.prompt import render
from ddx.text import cut, shown_on_one_line
from ddx.tracker.criteria import judge
from ddx.values import changed, value
from helix.actions.asking import ask
from helix.policy.drafts import clean_text, clean_title
from helix.policy.fences import fenced_object
from helix.prompts import READING, defused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix.desk import Desk
    from helix.policy.parts import Part
    from helix.policy.request import Wish

ACTION = "input"
_PAGE = "input.md"
_MOST_ENTRIES = 100
_LISTS = {"beads", "candidates"}


@value
class Advice:
    """What an agent proposes; what it says in vain is among the remarks."""

    titles: Mapping[str, str] = {}
    acceptance: Mapping[str, str] = {}
    candidates: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def advise(desk: Desk, wish: Wish, parts: Sequence[Part]) -> Advice:
    """One question to the configured agent; a reply that cannot be used advises nothing."""
    asked = ask(desk, desk.builder, action=ACTION, prompt=_prompt(desk, wish, parts))
    if asked.failure:
        return Advice(remarks=(f"no advice: {asked.failure}",))
    return read_advice(asked.reply.text, parts)


def read_advice(text: str, parts: Sequence[Part]) -> Advice:
    found = fenced_object(text)
    if isinstance(found, str):
        return Advice(remarks=(f"no advice: {found}",))
    rows = {name: found.get(name) or [] for name in _LISTS}
    if unknown := set(found) - _LISTS:
        return Advice(remarks=(f"no advice: {_said(sorted(unknown)[0])} is no part of it",))
    if not found or not all(isinstance(it, list) for it in rows.values()):
        return Advice(remarks=("no advice: there is no JSON object of lists in the reply",))
    if sum(map(len, rows.values())) > _MOST_ENTRIES:
        return Advice(remarks=(f"no advice: it has more than {_MOST_ENTRIES} entries",))
    reader = _Reader({part.key for part in parts})
    for row in rows["beads"]:
        reader.bead(row)
    candidates = [it for row in rows["candidates"] if (it := reader.candidate(row))]
    return Advice(
        reader.titles, reader.acceptance, tuple(dict.fromkeys(candidates)), tuple(reader.remarks)
    )


def advised(part: Part, advice: Advice) -> Part:
    """A better title, and more to prove: never less than the rules ask for."""
    draft = part.draft
    more = advice.acceptance.get(part.key, "") if draft.acceptance else ""
    lines = "\n".join(filter(None, (draft.acceptance, more)))
    title = advice.titles.get(part.key, draft.title)
    return changed(part, draft=changed(draft, title=title, acceptance=lines))


class _Reader:
    """Entry by entry; one that cannot be used is named and spoils no other."""

    def __init__(self, keys: set[str]) -> None:
        self._keys = keys
        self.titles: dict[str, str] = {}
        self.acceptance: dict[str, str] = {}
        self.remarks: list[str] = []

    def bead(self, row: Any) -> None:
        key = row.get("part") if isinstance(row, dict) else None
        if key not in self._keys:
            self.remarks.append(f"advice about no part of the request: {_said(key)}")
            return
        title, lines = (row.get(name) for name in ("title", "acceptance"))
        if isinstance(title, str) and (cleaned := clean_title(title)):
            self.titles[key] = cleaned
        if isinstance(lines, str) and lines.strip():
            verdict = judge({"acceptance": clean_text(lines)})
            if verdict.ready:
                self.acceptance[key] = clean_text(lines)
            else:
                why = verdict.problems[0].why
                self.remarks.append(f"acceptance for {key} that proves nothing: {why}")

    def candidate(self, row: Any) -> str:
        name = row.get("id") if isinstance(row, dict) else None
        return name.strip() if isinstance(name, str) and name.isprintable() else ""


def _prompt(desk: Desk, wish: Wish, parts: Sequence[Part]) -> str:
    told = [
        f"{part.key}\n{part.draft.title}\n{part.draft.acceptance}".strip() for part in parts
    ] or ["none yet"]
    data = (
        Section("The request", wish.text, quoted=True),
        Section("The beads, each with its part first", "\n\n".join(told), quoted=True),
    )
    return render(
        (
            Section("How you work", READING),
            Section("Your action: input", desk.pages.read(_PAGE)),
            Section("Principles", desk.pages.principles),
            *map(defused, data),
        )
    )


def _said(word: object) -> str:
    return repr(cut(shown_on_one_line(str(word)), 60))

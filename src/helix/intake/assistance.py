"""`--assist`: an agent words a request better; the same rules hold for all that it says (I-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.attempts import PromptSection
from ddx.base import changed, cut, shown, value
from ddx.tracker import judge
from helix.passes import READING, ask, clean_text, clean_title, defused, fenced_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix.intake.parts import RequestPart
    from helix.intake.request import ParsedRequest
    from helix.project import PassContext

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

    def improved(self, part: RequestPart) -> RequestPart:
        """With a better title, and more to prove: never less than the rules ask for."""
        draft = part.draft
        more = self.acceptance.get(part.key, "") if draft.acceptance else ""
        lines = "\n".join(filter(None, (draft.acceptance, more)))
        title = self.titles.get(part.key, draft.title)
        return changed(part, draft=changed(draft, title=title, acceptance=lines))


def advise(desk: PassContext, wish: ParsedRequest, parts: Sequence[RequestPart]) -> Advice:
    """One question to the configured agent; a reply that cannot be used advises nothing."""
    asked = ask(desk, desk.builder, action=ACTION, prompt=_prompt(desk, wish, parts))
    if asked.failure:
        return Advice(remarks=(f"no advice: {asked.failure}",))
    return read_advice(asked.reply.text, parts)


def read_advice(text: str, parts: Sequence[RequestPart]) -> Advice:
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
    return _advice(rows["beads"], rows["candidates"], {part.key for part in parts})


def _advice(beads: Sequence[Any], candidates: Sequence[Any], keys: set[str]) -> Advice:
    """Entry by entry; one that cannot be used is named and spoils no other."""
    titles: dict[str, str] = {}
    acceptance: dict[str, str] = {}
    remarks: list[str] = []
    for row in beads:
        key = row.get("part") if isinstance(row, dict) else None
        if key not in keys:
            remarks.append(f"advice about no part of the request: {_said(key)}")
            continue
        title, lines = (row.get(name) for name in ("title", "acceptance"))
        if isinstance(title, str) and (cleaned := clean_title(title)):
            titles[key] = cleaned
        if isinstance(lines, str) and lines.strip():
            verdict = judge({"acceptance": clean_text(lines)})
            if verdict.ready:
                acceptance[key] = clean_text(lines)
            else:
                why = verdict.problems[0].why
                remarks.append(f"acceptance for {key} that proves nothing: {why}")
    names = (row.get("id") if isinstance(row, dict) else None for row in candidates)
    told = (name.strip() for name in names if isinstance(name, str) and name.isprintable())
    proposed = tuple(dict.fromkeys(filter(None, told)))
    return Advice(titles, acceptance, proposed, remarks=tuple(remarks))


def _prompt(desk: PassContext, wish: ParsedRequest, parts: Sequence[RequestPart]) -> str:
    told = [
        f"{part.key}\n{part.draft.title}\n{part.draft.acceptance}".strip() for part in parts
    ] or ["none yet"]
    data = (
        PromptSection("The request", wish.text, quoted=True),
        PromptSection("The beads, each with its part first", "\n\n".join(told), quoted=True),
    )
    return PromptSection.join(
        (
            PromptSection("How you work", READING),
            PromptSection("Your action: input", desk.pages.read(_PAGE)),
            PromptSection("Principles", desk.pages.principles),
            *map(defused, data),
        )
    )


def _said(word: object) -> str:
    return repr(cut(shown(str(word), one_line=True), 60))

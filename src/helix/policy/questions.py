"""What a person is asked about a request: what, why, what yes means and what no. Pure."""

from __future__ import annotations

import hashlib
from shlex import quote
from typing import TYPE_CHECKING

from ddx.text import cut, listed
from ddx.values import value
from helix.policy.parts import ESCALATION, GAP
from helix.policy.request import Intent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from helix.policy.conflicts import Conflict, Statement
    from helix.policy.impact import Touched
    from helix.policy.parts import Part
    from helix.policy.request import Wish

START = "start"
_READS_AS = {
    Intent.NEW_CAPABILITY: "something new",
    Intent.CHANGE: "a change",
    Intent.REPLACE_TECHNOLOGY: "a change of technology",
    Intent.DEFECT: "a defect",
    Intent.QUESTION: "a question",
}
_NO_VERB = "no word of it says whether something is to be added, changed, replaced or mended"
_FOREIGN = "it does not seem to be English, and what it wants is read in English only"
_LONGEST_TEXT = 200


@value
class Question:
    """One question of yes and no; what is not answered is never taken for a yes (I-4)."""

    key: str
    what: str
    why: str
    yes: str
    no: str
    default: bool = True

    def as_row(self) -> dict[str, Any]:
        return {("id" if name == "key" else name): said for name, said in self.__dict__.items()}


def typed_again(wish: Wish) -> str:
    """The same request as a command line; a long one is not worth copying."""
    again = quote(wish.text) if wish.short == wish.text else '"..."'
    return f"helix input {again}"


def typed_yes(wish: Wish, key: str) -> str:
    """The same request with a question answered; ids of documents may hold anything."""
    return f"{typed_again(wish)} --answer {quote(f'{key}=yes')}"


def ask_start(wish: Wish, parts: Sequence[Part]) -> Question:
    names = listed(part.name for part in parts) or "nothing that an agent could do"
    return Question(
        START,
        f"Shall beads be filed for {wish.short!r}?",
        f"it reads as {_READS_AS[wish.intent]} and leads to {names}",
        "each bead is asked about, one by one",
        "nothing is filed",
    )


def ask_bead(part: Part) -> Question:
    waits = "; what comes after it then waits for what comes before it"
    is_work = part.role not in (ESCALATION, GAP)
    return Question(
        f"bead:{part.key}",
        f"File {part.draft.title!r}?",
        "low autonomy confirms each bead",
        "the bead is filed with the others, in one write",
        f"it is not filed{waits if is_work else ''}",
    )


def ask_intent(wish: Wish) -> Question:
    return Question(
        "intent",
        f"Is {wish.short!r} {_READS_AS[wish.intent]}?",
        _FOREIGN if wish.is_foreign else _NO_VERB,
        f"it is taken for {_READS_AS[wish.intent]}",
        "nothing is filed; say it in English with a verb, such as add, change, replace or fix",
    )


def ask_superseded(old: str, heirs: Sequence[str]) -> Question:
    if not heirs:
        return Question(
            f"superseded:{old}",
            f"Shall {old} be changed all the same?",
            f"{old} is superseded, and nothing says by what",
            f"{old} is changed",
            "nothing is filed",
            default=False,
        )
    return Question(
        f"superseded:{old}",
        f"Shall {listed(heirs)} be changed in place of {old}?",
        f"{old} is superseded by {listed(heirs)} and has no say any more",
        f"{listed(heirs)} and what follows from it are changed",
        "nothing is filed",
    )


def ask_hit(it: Touched, followers: Sequence[str]) -> Question:
    more = f" and what follows from it ({listed(followers)})" if followers else ""
    return Question(
        f"hit:{it.id}",
        f"Is {it.id} ({it.title}) to be changed for it?",
        f"no link says so, but search found it: {it.why}",
        f"a bead is filed for {it.id}{more}",
        f"{it.id}{more} {'stay as they are' if more else 'stays as it is'}",
    )


def ask_nowhere(wish: Wish) -> Question:
    return Question(
        "nowhere",
        "Is it a matter of tests and code alone?",
        f"no document speaks of {listed(wish.terms) or 'it'}",
        "beads are filed for tests and code, and for no document",
        "nothing is filed; name the document that is to change",
    )


def ask_conflict(conflict: Conflict) -> Question:
    one, other = conflict.one, conflict.other
    winner = conflict.winner or one.document
    return Question(
        conflict_key(conflict),
        f"Shall {winner} have the last word?",
        f"{conflict.reason}; {said(one)}, but {said(other)}",
        f"work goes on by {winner}, and the conflict is put on record",
        "nothing is filed for what the conflict affects, until a person has settled it",
    )


def conflict_key(conflict: Conflict) -> str:
    """The same as long as both documents say the same, wherever their lines move to."""
    sides = sorted((it.document, it.text) for it in (conflict.one, conflict.other))
    return f"conflict:{hashlib.sha256(repr(sides).encode()).hexdigest()[:12]}"


def said(statement: Statement) -> str:
    """Who says it, where, and in which words."""
    where = f"{statement.path}:{statement.line}" if statement.path else ""
    who = f"{statement.document} ({where})" if where else f"the {statement.document}"
    return f"{who} says {cut(statement.text, _LONGEST_TEXT)!r}"

"""Whether what a bead asks for fits what governs it: a warning where it does not (T-17). Pure.

Executions that govern a bead run whether it speaks of them or not, so silence is no disagreement.
It is one if the bead counts on an execution that no attempt on it would run, or removes what a
required one needs, or if nobody can tell what is required.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.planning import spoken_command
from ddx.graph.authority import numbered_id, resolve, type_of
from ddx.text import cut
from ddx.tracker.criteria import PathAbsent, PathExists, criteria_of
from ddx.tracker.model import text_of, typed
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.governing import Governing
    from ddx.execution.model import Bead
    from ddx.graph.proof.definitions import Execution

_PUNCTUATION = "`'\"*_.,;:!?()[]{}<>"
_MOST = 20
_MEND = "mend that first: what is required there would be missed"


@value
class Disagreement:
    """What does not fit, and what to do about it."""

    why: str
    fix: str


def find_disagreements(bead: Bead, governing: Governing) -> tuple[Disagreement, ...]:
    """Of one bead with what governs it alone."""
    found = [
        *(Disagreement(f"no attempt on it can be proven: {it}", _MEND) for it in governing.errors),
        *_not_run(bead, governing),
        *_removed(bead, governing),
    ]
    return tuple(dict.fromkeys(found))[:_MOST]


def _not_run(bead: Bead, governing: Governing) -> Iterator[Disagreement]:
    """Execution documents that the acceptance speaks of but that would not run."""
    executions = governing.definitions.executions
    known = {doc_id.casefold(): doc_id for doc_id in executions}
    broken = {item.id.casefold() for item in governing.definitions.broken}
    running = {execution.id for execution in governing.required}
    for name in _executions_named(bead):
        doc_id = resolve(name, known)
        if not doc_id and name.casefold() not in broken:
            yield Disagreement(
                f"its acceptance speaks of {name}, but there is no such execution document",
                "see which there are: ddx exec list",
            )
        elif doc_id and not executions[doc_id].required:
            yield Disagreement(
                f"its acceptance speaks of {doc_id}, which is not required and so would not run",
                f"write `required: true` in {executions[doc_id].path}, or name its command",
            )
        elif doc_id and doc_id not in running:
            yield Disagreement(
                f"its acceptance speaks of {doc_id}, which belongs to other documents "
                "and so would not run",
                f"name a document that it proves: ddx bead update {typed(bead.id)} --refs ...",
            )


def _executions_named(bead: Bead) -> list[str]:
    """Ids such as EXEC-001; a path is a file to be made, and no run."""
    made = {
        numbered_id(criterion.path.rpartition("/")[2])
        for criterion in criteria_of(bead.row)
        if isinstance(criterion, PathExists)
    }
    words = (word.strip(_PUNCTUATION) for word in text_of(bead.row, "acceptance").split())
    ids = (numbered_id(word) for word in words if "/" not in word and not word.endswith(".md"))
    return [
        it for it in dict.fromkeys(ids) if it and it not in made and type_of("", it, "") == "exec"
    ]


def _removed(bead: Bead, governing: Governing) -> Iterator[Disagreement]:
    for criterion in criteria_of(bead.row):
        if not isinstance(criterion, PathAbsent):
            continue
        for execution in governing.required:
            if _needs(execution, criterion.path.strip("/")):
                command = cut(spoken_command(execution.command), 80)
                yield Disagreement(
                    f"{criterion.source} wants {criterion.path} gone, but {execution.id} needs it: "
                    f"{command}",
                    f"change one of them: the bead, or {execution.path}",
                )


def _needs(execution: Execution, path: str) -> bool:
    command = execution.command
    words = command.split() if isinstance(command, str) else command
    below = execution.cwd.strip("/")
    paths = [below, execution.path, *(_plain(word, below) for word in words)]
    return any(it == path or it.startswith(f"{path}/") for it in paths)


def _plain(word: str, folder: str) -> str:
    """A word of a command as a path from the project's root."""
    word = word.strip("\"';()&|").removeprefix("./")
    return f"{folder}/{word}" if folder else word

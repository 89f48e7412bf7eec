"""What proves a bead done, and which of its words prove nothing (T-17, X-11)."""

from __future__ import annotations

from ddx.text import cut
from ddx.tracker.acceptance import (
    SUBJECTS,
    Criterion,
    FileContains,
    PathAbsent,
    PathExists,
    RunCommand,
    criteria_in,
    lines_of,
    tokens_of,
    word_set,
)
from ddx.tracker.model import texts_of
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.acceptance import Token
    from ddx.tracker.model import Row

__all__ = [
    "HAS_CRITERION",
    "IS_VAGUE",
    "VAGUE_WORDS",
    "Criterion",
    "FileContains",
    "PathAbsent",
    "PathExists",
    "Problem",
    "RunCommand",
    "Verdict",
    "criteria_of",
    "judge",
    "marks",
    "vague_lines",
]

HAS_CRITERION, IS_VAGUE = 1, 2
VAGUE_WORDS = word_set(
    "work works working worked correct correctly complete completed completely aligned done "
    "finished properly fine good"
)
VAGUE = (*VAGUE_WORDS, "as expected")


@value
class Problem:
    """Why a line proves nothing and what to write instead; line 0 is the bead as a whole."""

    line: int
    text: str
    why: str
    fix: str


@value
class Verdict:
    criteria: tuple[Criterion, ...]
    problems: tuple[Problem, ...]

    @property
    def ready(self) -> bool:
        return not self.problems


def criteria_of(row: Row) -> tuple[Criterion, ...]:
    """All that the bead itself asks to be checked; a command may come more than once."""
    return _read(row)[0]


def vague_lines(row: Row) -> tuple[Problem, ...]:
    """The acceptance lines to rewrite before anybody can be held to them."""
    return _read(row)[1]


def judge(row: Row, *, default_checks: tuple[str, ...] = ()) -> Verdict:
    """What would be run for this bead, and what keeps it from being ready (T-17)."""
    criteria, problems = _read(row)
    criteria += tuple(RunCommand(command, "checks.default") for command in default_checks)
    if not criteria:
        found = row.get("id")
        bead_id = found if isinstance(found, str) and found.replace("-", "").isalnum() else "ID"
        why = "nothing says how to check that it is done"
        fix = f"name a command: ddx bead update {bead_id} --verify 'pytest -q'"
        problems = (Problem(0, "", why, fix), *problems)
    return Verdict(criteria, problems)


def marks(row: Row) -> int:
    """The verdict in two bits, for the index: HAS_CRITERION and IS_VAGUE."""
    criteria, problems = _read(row)
    return (HAS_CRITERION if criteria else 0) | (IS_VAGUE if problems else 0)


def _read(row: Row) -> tuple[tuple[Criterion, ...], tuple[Problem, ...]]:
    criteria: list[Criterion] = [RunCommand(it, "verify") for it in texts_of(row, "verify")]
    problems: list[Problem] = []
    acceptance = row.get("acceptance")
    acceptance = acceptance if isinstance(acceptance, str) else ""
    lowered = acceptance.lower()
    may_be_vague = any(word in lowered for word in VAGUE)  # asked once, it saves a fifth
    for number, line in lines_of(acceptance):
        tokens = tokens_of(line)
        found = list(criteria_in(tokens, f"acceptance line {number}")) if tokens else []
        for it in found:
            if isinstance(it, RunCommand) or not _escapes(it.path):
                criteria.append(it)
            else:
                why = f"{cut(it.path, 80)} is outside the repository"
                fix = "name a path below the repository's root, without '..'"
                problems.append(Problem(number, cut(line, 200), why, fix))
        if may_be_vague and not found and (word := _vague_word(line, tokens)):
            why = f"nobody can check '{word}'"
            fix = "say what proves it, for example: `pytest -q` passes; or: docs/plan.md exists"
            problems.append(Problem(number, cut(line, 200), why, fix))
    return tuple(criteria), tuple(problems)


def _vague_word(line: str, tokens: list[Token]) -> str:
    """What makes the line empty; nothing does in a heading or beside something concrete."""
    words = line.lower()
    for mark in '.,;:!?()*_"“”':
        words = words.replace(mark, " ")
    found = VAGUE_WORDS.intersection(words.split())
    word = min(found, default="as expected" if "as expected" in words else "")
    if not word or line.startswith("#") or line.rstrip("*_ ").endswith(":"):
        return ""
    concrete = any(kind in SUBJECTS for kind, _ in tokens) or any(map(str.isdigit, line))
    return "" if concrete else word


def _escapes(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/")

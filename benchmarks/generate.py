"""A tracker of any size that looks like a real one; the same arguments give the same bytes (T-19).

    python -m benchmarks.generate beads.jsonl --beads 10000 --edges 1.5

Beads have an age, 0 the oldest. Every twelfth is an epic and the eleven after it are its children.
An edge always leads to an older bead, so there is no cycle, and `created_at` tells the age.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]

EDGES_A_BEAD = 1.5
EPIC_EVERY = 12
REACH = 40
"""How many beads back an edge leads on average: work depends on what is near."""

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
AGE_STEP = timedelta(minutes=6)

# Each share is the upper bound of a draw in 0..1.
EDGE_TYPES = ((0.78, "blocks"), (0.90, "parent-child"), (1.0, "related"))
ISSUE_TYPES = ((0.62, "task"), (0.80, "bug"), (0.92, "feature"), (0.98, "chore"), (1.0, "decision"))
UNFINISHED = ((0.91, "open"), (0.95, "in_progress"), (0.97, "blocked"), (1.0, "proposed"))
FINISHED = ((0.97, "closed"), (1.0, "cancelled"))

AREAS = ("tracker", "cli", "docs", "testing", "workflow", "storage", "merge", "graph")
ACTIVITIES = ("frame", "design", "test", "build", "deploy", "iterate")
PEOPLE = ("mara", "tomás", "ines", "kofi", "yuki")
VERBS = ("Reject", "Cache", "Document", "Split", "Retry", "Measure", "Rename", "Guard", "Stream")
THINGS = (
    "the lock file",
    "stale claims",
    "rows with <angle> marks",
    "import & export",
    "the merge driver",
    "nested epics",
    "naïve readers",
    "the 队列 index",
    "settings without a value",
)
REASONS = (
    "when two writers meet",
    "before the first release",
    "on a full disk",
    "for names that hold spaces",
    "after a checkout moved the file",
    "in a linked worktree",
    "with a hundred thousand rows",
)
FORMS = (
    "The report from the field says that we read {thing} twice {reason}.",
    "We agreed to leave {thing} alone and to change only what the caller sees.",
    "A reader who meets {thing} {reason} must be told which line and what to type next.",
    "Today the command prints nothing {reason}, and people believe that it has worked.",
    'Compare "before" and "after": we spend more on {thing} than on the rest of the call.',
    "Nothing else depends on {thing}; the change stays inside one module and its test.",
    "See the note of last week: a -> b && c must hold {reason}, or the claim is lost.",
    "The old form stays readable; we write the new one only when a row has changed anyway.",
    "Should {thing} prove slow {reason}, measure first and open a bead of its own for it.",
)
SENTENCES = tuple(
    dict.fromkeys(
        form.format(thing=thing, reason=reason)
        for form, thing, reason in product(FORMS, THINGS, REASONS)
    )
)
PROOFS = (
    "- `pytest -q tests/unit/test_{area}.py` passes",
    "- `ruff check src/{area}` exits 0",
    "- `grep -c {area} docs/reference.md` prints 1",
    "- `python -m {area} --self-test` passes {reason}",
)


@dataclass(frozen=True)
class Plan:
    """What is fixed before the first row is written: by age, an id and a status."""

    ids: tuple[str, ...]
    statuses: tuple[str, ...]
    edges: float

    def is_epic(self, age: int) -> bool:
        return age % EPIC_EVERY == 0 and age + 1 < len(self.ids)

    def parent_of(self, age: int) -> int | None:
        return None if age % EPIC_EVERY == 0 else age - age % EPIC_EVERY


def write_tracker(
    path: Path,
    beads: int,
    *,
    edges: float = EDGES_A_BEAD,
    seed: int = 19,
    prefix: str = "bench",
) -> None:
    """Write `beads` rows in the form of T-1, holding one row at a time."""
    with path.open("wb") as file:
        file.writelines(encode(row) for row in rows(beads, edges=edges, seed=seed, prefix=prefix))


def write_new_beads(path: Path, beads: int, *, seed: int = 20) -> None:
    """Write what `create --from-file` takes: rows that have no id, no age and no links yet."""
    told = ("title", "issue_type", "priority", "labels", "description", "acceptance", "spec-id")
    with path.open("wb") as file:
        for row in rows(beads, seed=seed):
            file.write(encode({key: row[key] for key in told if key in row}))


def rows(
    beads: int, *, edges: float = EDGES_A_BEAD, seed: int = 19, prefix: str = "bench"
) -> Iterator[Row]:
    """All rows of one tracker, sorted by id."""
    chance = random.Random(seed)
    plan = _plan(beads, edges, prefix, chance)
    for age in sorted(range(beads), key=plan.ids.__getitem__):
        yield _row(age, plan, chance)


def encode(row: Row) -> bytes:
    """One line as DDx writes it: compact, `< > &` and the two line separators escaped (T-1)."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode() + b"\n"


def _plan(beads: int, edges: float, prefix: str, chance: random.Random) -> Plan:
    # A dict keeps the order and drops the rare id that was drawn twice.
    ids: dict[str, None] = {}
    while len(ids) < beads:
        ids[f"{prefix}-{chance.getrandbits(32):08x}"] = None
    return Plan(tuple(ids), tuple(_statuses(beads, chance)), edges)


def _statuses(beads: int, chance: random.Random) -> Iterator[str]:
    """Older work is more often finished; an epic is closed once all its children are finished."""
    for first in range(0, beads, EPIC_EVERY):
        family = range(first, min(first + EPIC_EVERY, beads))
        statuses = []
        for age in family:
            finished = chance.random() < 0.85 - 0.80 * age / beads
            statuses.append(_draw(FINISHED if finished else UNFINISHED, chance))
        if len(family) > 1:
            done = all(status in ("closed", "cancelled") for status in statuses[1:])
            statuses[0] = "closed" if done else "open"
        yield from statuses


def _row(age: int, plan: Plan, chance: random.Random) -> Row:
    """One bead with its keys sorted, and no key without a value."""
    bead_id, status, parent = plan.ids[age], plan.statuses[age], plan.parent_of(age)
    created = EPOCH + AGE_STEP * age
    updated = created + timedelta(seconds=chance.random() * 400_000)
    author, area = chance.choice(PEOPLE), chance.choice(AREAS)
    row: Row = {
        "acceptance": _acceptance(area, chance),
        "created_at": _stamp(created, chance),
        "created_by": author,
        "dependencies": _edges(age, plan, created, author, chance),
        "description": _prose(int(chance.lognormvariate(2.2, 0.5)), chance),
        "id": bead_id,
        "issue_type": "epic" if plan.is_epic(age) else _draw(ISSUE_TYPES, chance),
        "labels": ["helix", f"area:{area}", f"activity:{chance.choice(ACTIVITIES)}"],
        "notes": _prose(int(5 * chance.random()), chance),
        "parent": "" if parent is None else plan.ids[parent],
        "priority": int(5 * chance.random()),
        "schema_version": 1,
        "spec-id": f"FEAT-{1 + age // 97 % 40:03d}",
        "status": status,
        "title": f"{chance.choice(VERBS)} {chance.choice(THINGS)} {chance.choice(REASONS)}",
        "updated_at": _stamp(updated, chance),
        "verify": [f"pytest -q tests/{area}"] if chance.random() < 0.4 else [],
    }
    row |= _state(status, updated, author, chance) | _unknown_keys(chance)
    return {key: row[key] for key in sorted(row) if row[key] not in ("", [])}


def _edges(
    age: int, plan: Plan, created: datetime, author: str, chance: random.Random
) -> list[Row]:
    """`plan.edges` on average, each to an older bead; none blocks on an epic (T-12)."""
    found: dict[int, Row] = {}
    parent = plan.parent_of(age)
    wanted = int(2 * plan.edges * chance.random() + 0.5)
    while len(found) < min(wanted, age // 2):
        kind = _draw(EDGE_TYPES, chance)
        target = age - 1 - int(chance.expovariate(1 / REACH))
        if kind == "parent-child" and parent is not None:
            target = parent
        elif plan.is_epic(target) or kind == "parent-child":
            continue
        if target >= 0:
            found[target] = {
                "issue_id": plan.ids[age],
                "depends_on_id": plan.ids[target],
                "type": kind,
                "created_at": _stamp(created, chance),
                "created_by": author,
            }
    return list(found.values())


def _state(status: str, updated: datetime, author: str, chance: random.Random) -> Row:
    """The keys that only this status has; the events of a closed bead lie elsewhere (T-6)."""
    if status == "closed":
        return {
            "closed_at": _stamp(updated, chance),
            "closing_commit_sha": f"{chance.getrandbits(160):040x}",
            "session_id": f"eb-{chance.getrandbits(32):08x}",
        }
    state: Row = {}
    if chance.random() < 0.2:
        state["events"] = [
            _event(updated, author, chance) for _ in range(1 + int(3 * chance.random()))
        ]
    if status == "in_progress":
        state |= {
            "claim-id": f"{chance.getrandbits(64):016x}",
            "claimed-at": _stamp(updated, chance),
            "claimed-machine": "tower",
            "claimed-pid": str(1000 + chance.getrandbits(14)),
            "owner": author,
        }
    return state


def _event(when: datetime, actor: str, chance: random.Random) -> Row:
    return {
        "actor": actor,
        "body": json.dumps({"exit": 1, "tail": _prose(2, chance)}),
        "created_at": _stamp(when, chance),
        "kind": "execute-bead",
        "source": "ddx",
        "summary": "checks failed",
    }


def _unknown_keys(chance: random.Random) -> Row:
    """Keys of other programs, which must come back untouched (T-2)."""
    unknown: Row = {}
    if chance.random() < 0.15:
        unknown["triage.estimated_difficulty"] = chance.choice(("low", "medium", "high"))
    if chance.random() < 0.1:
        unknown["x-origin"] = {"ticket": chance.getrandbits(16), "weights": [0.5, 2], "z": None}
    return unknown


def _acceptance(area: str, chance: random.Random) -> str:
    proofs = chance.sample(PROOFS, 1 + int(3 * chance.random()))
    return "\n".join(proof.format(area=area, reason=chance.choice(REASONS)) for proof in proofs)


def _prose(sentences: int, chance: random.Random) -> str:
    return " ".join(chance.choices(SENTENCES, k=sentences))


def _stamp(when: datetime, chance: random.Random) -> str:
    """RFC 3339 as Go writes it: up to nine digits, trailing zeros stripped."""
    fraction = f"{chance.getrandbits(29):09d}".rstrip("0")
    return f"{when:%Y-%m-%dT%H:%M:%S}.{fraction}Z" if fraction else f"{when:%Y-%m-%dT%H:%M:%S}Z"


def _draw(shares: tuple[tuple[float, str], ...], chance: random.Random) -> str:
    drawn = chance.random()
    return next(word for bound, word in shares if drawn < bound)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated tracker.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--beads", type=int, default=1000)
    parser.add_argument("--edges", type=float, default=EDGES_A_BEAD)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--prefix", default="bench")
    asked = parser.parse_args()
    write_tracker(asked.path, asked.beads, edges=asked.edges, seed=asked.seed, prefix=asked.prefix)


if __name__ == "__main__":
    main()

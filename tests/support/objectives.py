"""Events of an objective as a machine is told them, and a repository to work on one in."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import Popen
from typing import Any

from hypothesis import strategies as st
from tests.support.background import begin
from tests.support.runs import CLEAN_REVIEW, HELIX, RunScene, make_run_scene, task
from tests.support.tracker import Done, Row

from helix.objective.model import Event

EXPLORATION = {"objective": "x", "targets": {"files": ["a.py"], "details": []}}
PLAN = {
    "task_ids": ["t1", "t2", "t3"],
    "task_mapping": {"001": "t1", "002": "t2", "003": "t3"},
    "dependencies": {"t2": ["t1"]},
}
TO_BUILDING: list[tuple[str, dict[str, Any]]] = [
    ("start", {}),
    ("exploration_complete", EXPLORATION),
    ("start_planning", {}),
    ("tasks_created", PLAN),
    ("start_building", {}),
]

ANY_EVENT = st.sampled_from([*Event, "fly", ""])
ANY_TOLD = st.sampled_from(
    [
        {},
        EXPLORATION,
        PLAN,
        {"task_id": "t1", "status": "delivered", "duration_s": 3},
        {"task_id": "t2", "status": "blocked", "error": "it broke"},
        {"task_id": "t3", "status": "partial"},
        {"task_ids": ["a"], "dependencies": {"a": ["a"]}},
        {"reason": "user_abort"},
    ]
)


# -- a repository in which objectives are worked on -----------------------------------------

# The n-th call of an agent gets its n-th answer, and then the last one again. A builder knows its
# task by the title of its bead, `001: slug`; without a script of its own it writes 001.txt.
_AGENT = """\
#!/bin/sh
stage={stage}
mine=$(mktemp "$stage/asked-$HELIX_ACTION-XXXXXX")
cat > "$mine"
task=$(sed -n 's/^title: \\([0-9a-z]*\\): .*/\\1/p' "$mine" | head -1)
echo "$HELIX_ACTION $task" >> "$stage/calls"
echo '{{"usage": {{"input": 100, "output": 20, "cost_usd": 0.01}}}}'
if [ "$HELIX_ACTION" = build ]; then
    if [ -f "$stage/build-$task" ]; then . "$stage/build-$task"; exit; fi
    echo done > "$task.txt"
    echo "DELIVERED: $task.txt is there"
else
    n=$(grep -c "^$HELIX_ACTION " "$stage/calls")
    while [ ! -f "$stage/$HELIX_ACTION-$n" ] && [ "$n" -gt 1 ]; do n=$((n - 1)); done
    . "$stage/$HELIX_ACTION-$n"
fi
"""
TEXT = "Write some files"
HOLD = 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\n'
"""What an agent does that waits for somebody to touch `go`."""
FINDINGS = {
    "scope": "src/shop/",
    "focus": "x",
    "findings": [{"file": "src/shop/cart.py", "line": 1, "what": "adds up", "relevance": "high"}],
}
OBSERVATION = {
    "status": "complete",
    "extractions": [
        {
            "type": "pattern",
            "name": "write-the-file",
            "trigger": "a task of the shop asks for a text file of its own",
            "resolution": "write one line into it, under the task's own number",
        }
    ],
}


class ObjectiveScene(RunScene):
    """A run scene whose agent, `stub`, explores, plans, builds, reviews and observes."""

    def says(self, agent: str, *answers: Any) -> None:
        """What an agent answers, call by call: JSON after its mark, or words."""
        self.plays(agent, *(f"cat <<'END'\n{_spoken(agent, it)}\nEND\n" for it in answers))

    def plan(self, *tasks: Row) -> None:
        """What the planner plans, at every call."""
        self.says("planner", {"status": "complete", "tasks": list(tasks)})

    def objective(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        line = ("objective", *words)
        return self.helix(*line, code=code, **{"HELIX_BACKOFF_SLEEP": "0", **variables})

    def begin_objective(self, *words: str) -> Popen[bytes]:
        """The same without waiting for its end."""
        env = self.variables(HELIX_BACKOFF_SLEEP="0")
        return begin([str(HELIX), "objective", *words], cwd=self.root, env=env)

    def asked(self, agent: str) -> list[str]:
        """The prompts that an agent was given, in no order."""
        return [path.read_text() for path in self.stage.glob(f"asked-{agent}-*")]

    def events(self, kind: str = "event") -> list[Row]:
        """The lines of the only objective's log, without one that is just being written."""
        (log,) = (self.root / ".helix/objectives").glob("*/events.jsonl")
        rows = [json.loads(line) for line in log.read_text().rpartition("\n")[0].splitlines()]
        return [row for row in rows if row["kind"] == kind]

    def noted(self) -> list[str]:
        """The names of all notes so far; none before there is a log."""
        logs = (self.root / ".helix/objectives").glob("*/events.jsonl")
        return [row["name"] for row in self.events("note")] if list(logs) else []

    def tasks(self) -> dict[str, Row]:
        """The beads of plans, by their titles; of two plans, the newer one's."""
        rows = [row for row in self.rows().values() if "objective-task" in row]
        return {row["title"]: row for row in sorted(rows, key=lambda row: row["created_at"])}


def _spoken(agent: str, answer: Any) -> str:
    marks = {"explorer": "EXPLORER_FINDINGS", "planner": "PLAN", "observer": "OBSERVATION"}
    return answer if isinstance(answer, str) else f"{marks[agent]}: {json.dumps(answer)}"


def make_objective_scene(folder: Path, *rows: Row, **settings: Any) -> ObjectiveScene:
    """A shop with some code; everybody answers sensibly, and the plan has one task."""
    floor = make_run_scene(folder, *(rows or (task("app-1", status="closed"),)), **settings)
    yard = ObjectiveScene(floor.root, home=floor.home)
    (yard.stage / "agent").write_text(_AGENT.format(stage=yard.stage))
    for path in ("src/shop/cart.py", "src/shop/main.py", "src/models/price.py"):
        (yard.root / path).parent.mkdir(parents=True, exist_ok=True)
        (yard.root / path).write_text("# code\n")
    yard.commit("code")
    yard.says("explorer", FINDINGS)
    yard.says("observer", OBSERVATION)
    yard.says("review", CLEAN_REVIEW)
    yard.plan(step("001"))
    return yard


def step(seq: str, *waits: str, **more: Any) -> Row:
    """A task of a plan: its file is there when it is done."""
    return {
        "seq": seq,
        "slug": f"part-{seq}",
        "description": f"Write {seq}.txt.",
        "delta": [f"{seq}.txt"],
        "verify": f"test -f {seq}.txt",
        "depends_on": list(waits),
        **more,
    }


# -- what has become of one -----------------------------------------------------------------


def statuses(yard: ObjectiveScene) -> dict[str, str]:
    return {title: row["status"] for title, row in yard.tasks().items()}


def ended(yard: ObjectiveScene) -> dict[str, str]:
    """How each task ended, by its number, as the log tells it."""
    names = {
        bead: seq
        for row in yard.events()
        if row["name"] == "tasks_created"
        for seq, bead in row["data"].get("task_mapping", {}).items()
    }
    return {
        names[row["data"]["task_id"]]: row["data"]["status"]
        for row in yard.events()
        if row["name"] == "task_complete"
    }


def stalled(folder: Path) -> ObjectiveScene:
    """One that stopped: 001 failed twice and is blocked, 002 waits for it, 003 is done."""
    yard = make_objective_scene(folder)
    yard.plan(step("001"), step("002", "001"), step("003"))
    yard.builds("001", "echo I cannot\nexit 1")
    stopped = yard.objective(TEXT, "--max-attempts", "2", code=4)
    assert "stalled" in stopped.out
    assert yard.calls("build").count("build 001") == 2
    return yard

"""A repository to run `helix` in, and a stub agent that answers each action from a file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.support.attempts import Workshop, make_workshop
from tests.support.background import begin
from tests.support.tracker import ROOT, Done, bead, wait_for

HELIX = ROOT / "bin/helix"

# Every call is noted; the n-th call of an action gets the n-th answer, and then the last one again.
_AGENT = """\
#!/bin/sh
stage={stage}
cat > "$stage/prompt-$HELIX_ACTION"
echo "$HELIX_ACTION $DDX_BEAD_ID" >> "$stage/calls"
if [ "$HELIX_ACTION" = build ]; then
    for id in ${{DDX_BEAD_IDS:-$DDX_BEAD_ID}}; do
        if [ ! -f "$stage/build-$id" ]; then echo done > "$id.txt"; continue; fi
        . "$stage/build-$id" || exit $?
    done
else
    n=$(grep -c "^$HELIX_ACTION " "$stage/calls")
    while [ ! -f "$stage/$HELIX_ACTION-$n" ] && [ "$n" -gt 1 ]; do n=$((n - 1)); done
    cat "$stage/$HELIX_ACTION-$n"
fi
echo '{{"usage": {{"input": 100, "output": 20, "cost_usd": 0.01}}}}'
"""
CLEAN_REVIEW = "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n"


class Floor(Workshop):
    """A workshop with one agent, `stub`, whose stage lies outside of the repository."""

    @property
    def stage(self) -> Path:
        return self.root.parent / "stage"

    def answers(self, action: str, *texts: str) -> None:
        """What the stub says to an action, call by call."""
        for number, text in enumerate(texts, 1):
            (self.stage / f"{action}-{number}").write_text(text)

    def builds(self, bead_id: str, script: str) -> None:
        """What the stub does for a bead, instead of writing ID.txt."""
        (self.stage / f"build-{bead_id}").write_text(script)

    def calls(self, action: str = "") -> list[str]:
        """What the stub was asked for, in order: `build app-1`, `check`."""
        path = self.stage / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.strip() for line in lines if line.startswith(action)]

    def prompt(self, action: str) -> str:
        return (self.stage / f"prompt-{action}").read_text()

    def helix(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        return self.run(str(HELIX), *words, code=code, **variables)

    def drain(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        """`helix run WORDS`, without any wait after a failure."""
        return self.helix("run", *words, code=code, **{"HELIX_BACKOFF_SLEEP": "0", **variables})

    def launch(self, *words: str, **variables: str) -> Popen[bytes]:
        """`helix run WORDS` without waiting for its end."""
        env = self.variables(**{"HELIX_BACKOFF_SLEEP": "0", **variables})
        return begin([str(HELIX), "run", *words], cwd=self.root, env=env)

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "run-state.json").read_text())
        return found

    def journal(self, kind: str = "") -> list[dict[str, Any]]:
        """The lines of the last run's journal; two runs of one second are told apart."""
        lines = (self.root / self.state["journal"]).read_text().splitlines()
        return [row for line in lines if kind in ("", (row := json.loads(line))["kind"])]

    def decisions(self) -> list[str]:
        return [row["action"] for row in self.journal("decision")]

    def everything(self) -> dict[str, bytes]:
        """Every file below the root, our own and git's included."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def settled(self) -> dict[str, bytes]:
        """The same beside a run that works, once nothing was written for a second."""
        seen: list[dict[str, bytes]] = []

        def is_still() -> bool:
            if seen:
                time.sleep(1)
            try:
                seen.append(self.everything())
            except FileNotFoundError:  # replaced while we looked
                seen.clear()
            return len(seen) > 1 and seen[-1] == seen[-2]

        wait_for(is_still)
        return seen[-1]

    def await_call(self, call: str) -> None:
        wait_for(lambda: call in self.calls())


def make_floor(folder: Path, *rows: dict[str, Any], **settings: Any) -> Floor:
    """Beads are done by writing ID.txt; check says STOP, and reviews find nothing."""
    plain = make_workshop(folder, *(rows or (task("app-1"),)))
    floor = Floor(plain.root, home=plain.home)
    floor.stage.mkdir()
    agent = floor.stage / "agent"
    agent.write_text(_AGENT.format(stage=floor.stage))
    agent.chmod(0o755)
    floor.answers("check", "NEXT_ACTION: STOP\nREASON: all is done\n")
    floor.answers("review", CLEAN_REVIEW)
    config = {"harnesses": {"stub": {"kind": "command", "argv": [str(agent)]}}}
    (floor.folder / "config.yaml").write_text(json.dumps(config))
    (floor.root / ".helix").mkdir()
    (floor.root / ".helix" / "config.yaml").write_text(json.dumps(settings))
    docs = floor.root / "docs" / "helix" / "01-frame"
    docs.mkdir(parents=True)
    (docs / "prd.md").write_text("# Product\n\nA shop.\n")
    floor.commit("ground")
    return floor


def task(bead_id: str, **fields: Any) -> dict[str, Any]:
    """A bead that the stub can do."""
    return bead(bead_id, **{"acceptance": f"- `test -f {bead_id}.txt` passes", **fields})

"""A repository to run `helix` in, and a stub agent that answers each action from a file."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.support.attempts import HELIX, Workshop, make_workshop
from tests.support.background import begin
from tests.support.tracker import DDX, SYSTEM_PATH, Done, bead, wait_for

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
    . "$stage/$HELIX_ACTION-$n"
fi
echo '{{"usage": {{"input": 100, "output": 20, "cost_usd": 0.01}}}}'
"""
CLEAN_REVIEW = "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n"


class RunScene(Workshop):
    """A workshop whose agents answer `helix run` from files in a stage outside the repository."""

    @property
    def stage(self) -> Path:
        return self.root.parent / "stage"

    def variables(self, **changes: str) -> dict[str, str]:
        return super().variables(**{"PATH": f"{self.stage / 'bin'}:{SYSTEM_PATH}", **changes})

    def answers(self, action: str, *texts: str) -> None:
        """What the agent says to an action, call by call."""
        self.plays(action, *(f"cat <<'END'\n{text}\nEND\n" for text in texts))

    def plays(self, action: str, *scripts: str) -> None:
        """What the agent does when it is asked for an action, call by call."""
        for number, script in enumerate(scripts, 1):
            (self.stage / f"{action}-{number}").write_text(f"{script}\n")

    def builds(self, bead_id: str, script: str) -> None:
        """What the stub does for a bead, instead of writing ID.txt."""
        (self.stage / f"build-{bead_id}").write_text(script)

    def calls(self, action: str = "") -> list[str]:
        """What the stub was asked for, in order: `build app-1`, `check`."""
        path = self.stage / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        calls = [line.strip() for line in lines]
        return [call for call in calls if not action or f"{call} ".startswith(f"{action} ")]

    def prompt(self, action: str) -> str:
        return (self.stage / f"prompt-{action}").read_text()

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

    def second_terminal(self, *argv: str) -> str:
        """A line of shell in which not the agent but the operator types something."""
        return f"(cd {self.root} && env -u DDX_ATTEMPT_ID {shlex.join(argv)}) >&2"

    def bead(self, *words: str) -> str:
        """The operator types `ddx bead WORDS`."""
        return self.second_terminal(str(DDX), "bead", *words)

    def argv(self, action: str) -> list[str]:
        """How the agents were started for an action."""
        path = self.stage / f"argv-{action}"
        return path.read_text().splitlines() if path.exists() else []

    def used_tokens(self) -> int:
        """What all calls together have told of themselves."""
        return sum(1000 + 2 * n for n in range(1, len(self.calls()) + 1))

    def statuses(self) -> dict[str, str]:
        """Of the beads that are work; those of passes come and go."""
        return {
            bead_id: row["status"]
            for bead_id, row in self.rows().items()
            if not any(label.startswith("action:") for label in row.get("labels", ()))
        }

    def in_pty(self, *words: str, typed: str, after: str = "") -> Done:
        """`helix WORDS` on a terminal where somebody types; what the screen showed is `out`.

        `after`: only once that was shown, else at once.
        """
        pid, screen = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execve(HELIX, [str(HELIX), *words], self.variables(HELIX_BACKOFF_SLEEP="0"))
        shown = b""
        is_typed = False
        while True:
            if not is_typed and after.encode() in shown:
                os.write(screen, typed.encode())
                is_typed = True
            try:
                piece = os.read(screen, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(screen)
        _, status = os.waitpid(pid, 0)
        return Done(os.waitstatus_to_exitcode(status), shown.decode(errors="replace"), "")

    def await_call(self, call: str) -> None:
        wait_for(lambda: call in self.calls())


@contextmanager
def stopped(process: Popen[bytes]) -> Iterator[None]:
    """A started process stands still, and so writes nothing, until the block is left."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def make_run_scene(folder: Path, *rows: dict[str, Any], **settings: Any) -> RunScene:
    """Beads are done by writing ID.txt; check says STOP, and reviews find nothing."""
    plain = make_workshop(folder, *(rows or (task("app-1"),)))
    floor = RunScene(plain.root, home=plain.home)
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

"""Agents on PATH that do what a few lines of shell say, and note every call that they get."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from tests.support.passes import PRD
from tests.support.runs import HELIX, Floor, make_floor
from tests.support.tracker import DDX, SYSTEM_PATH, Done

BUILDER, REVIEWER = "maker", "critic"
PRD_PATH = "docs/helix/01-frame/prd.md"

# The n-th call of an action plays its n-th part, and then the last one again. No two calls use the
# same number of tokens, so a sum that leaves one out is a wrong sum.
_AGENT = """\
#!/bin/sh
stage={stage}
echo "$HELIX_ACTION $DDX_BEAD_ID" >> "$stage/calls"
echo "$(basename "$0") $*" >> "$stage/argv-$HELIX_ACTION"
all=$(wc -l < "$stage/calls")
n=$(grep -c "^$HELIX_ACTION " "$stage/calls")
cat > "$stage/prompt-$HELIX_ACTION"
cp "$stage/prompt-$HELIX_ACTION" "$stage/prompt-$HELIX_ACTION-$n"
env > "$stage/env-$HELIX_ACTION"
echo "{{\\"usage\\": {{\\"input\\": $((1000 + all)), \\"output\\": $all, \\"cost_usd\\": 0.25}}}}"
if [ "$HELIX_ACTION" = build ]; then
    for id in ${{DDX_BEAD_IDS:-$DDX_BEAD_ID}}; do
        if [ -f "$stage/build-$id" ]; then . "$stage/build-$id"; else echo done > "$id.txt"; fi
    done
else
    while [ ! -f "$stage/$HELIX_ACTION-$n" ] && [ "$n" -gt 1 ]; do n=$((n - 1)); done
    . "$stage/$HELIX_ACTION-$n"
fi
"""


class Hall(Floor):
    """A floor whose agents, `maker` and `critic`, are programs on PATH."""

    def variables(self, **changes: str) -> dict[str, str]:
        return super().variables(**{"PATH": f"{self.stage / 'bin'}:{SYSTEM_PATH}", **changes})

    def answers(self, action: str, *texts: str) -> None:
        """What the agent says to an action, call by call."""
        self.plays(action, *(f"cat <<'END'\n{text}\nEND\n" for text in texts))

    def plays(self, action: str, *scripts: str) -> None:
        """What the agent does when it is asked for an action, call by call."""
        for number, script in enumerate(scripts, 1):
            (self.stage / f"{action}-{number}").write_text(f"{script}\n")

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
        import pty

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


def make_hall(folder: Path, *rows: dict[str, Any], **settings: Any) -> Hall:
    """As a floor is; `maker` builds as the only configured agent unless `settings` name another."""
    floor = make_floor(folder, *rows, **{"agent": BUILDER, **settings})
    hall = Hall(floor.root, home=floor.home)
    programs = hall.stage / "bin"
    programs.mkdir()
    for name in (BUILDER, REVIEWER):
        (programs / name).write_text(_AGENT.format(stage=hall.stage))
        (programs / name).chmod(0o755)
    hall.answers("check", "NEXT_ACTION: STOP\nREASON: all is done")
    hall.answers("review", "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0")
    harnesses = {
        BUILDER: {"kind": "command", "argv": [BUILDER, "--model", "giant-9"]},
        REVIEWER: {"kind": "command", "argv": [REVIEWER, "--model", "owl-2"]},
    }
    (hall.folder / "config.yaml").write_text(json.dumps({"harnesses": harnesses}))
    (hall.root / PRD_PATH).write_text(PRD)
    hall.commit("the hall")
    return hall


def report(action: str, path: str, *lines: str, words: str = "# Report") -> str:
    """A part that writes a document and then says these lines."""
    said = "\n".join(lines)
    return f"mkdir -p $(dirname {path})\necho '{words}' > {path}\ncat <<'END'\n{said}\nEND\n"


def aligned(gaps: int = 0, *drafts: str, status: str = "COMPLETE", name: str = "AR-1") -> str:
    path = f"docs/helix/06-iterate/alignment-reviews/{name}.md"
    trailer = (f"ALIGN_STATUS: {status}", f"GAPS_FOUND: {gaps}", f"ALIGN_REPORT: {path}")
    return report("align", path, *drafts, *trailer)


def designed(*drafts: str, name: str = "plan-1", status: str = "CONVERGED") -> str:
    path = f"docs/helix/02-design/{name}.md"
    trailer = (f"PLAN_STATUS: {status}", f"PLAN_DOCUMENT: {path}", "PLAN_ROUNDS: 1")
    return report("design", path, *drafts, *trailer)


def polished(status: str = "CONVERGED", **lists: list[dict[str, Any]]) -> str:
    """The reply of a polish that proposes these lists."""
    counts = [
        f"ISSUES_{word}: {len(lists.get(name, []))}"
        for word, name in (("MODIFIED", "changes"), ("CREATED", "new"), ("MERGED", "merged"))
    ]
    return "\n".join(["```json", json.dumps(lists), "```", f"POLISH_STATUS: {status}", *counts])


def draft(title: str, **fields: Any) -> str:
    return "FOLLOW_UP: " + json.dumps({"title": title, **fields})

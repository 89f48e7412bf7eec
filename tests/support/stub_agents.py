"""Agents on PATH that do what a few lines of shell say, and note every call that they get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.passes import PRD
from tests.support.runs import RunScene, make_run_scene

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


def make_run_scene_with_reviewer(folder: Path, *rows: dict[str, Any], **settings: Any) -> RunScene:
    """`maker` builds and reviews unless `settings` name `critic`; both are programs on PATH."""
    hall = make_run_scene(folder, *rows, **{"agent": BUILDER, **settings})
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

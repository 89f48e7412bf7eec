"""Every command line that the seeds contain does its work as it stands (P-10).

The seeds are no part of this repository: their command lines are, as facts, in
tests/fixtures/seeds/commands.txt. Each runs here in a repository with the seed's documents, one
bead, and a scripted agent by the name of codex. What a line leaves open, such as `<id>`, is filled
in; nothing else is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.front_door import ROOT
from tests.support.requests import RequestScene, make_request_scene
from tests.support.runs import task
from tests.support.tracker import Done

LINES = (ROOT / "tests/fixtures/seeds/commands.txt").read_text("utf-8").splitlines()
SEEDS = ROOT.parent / "shared/seeds"

FIND_HELIX = 'HELIX="${HELIX_PLUGIN_ROOT:-$(cat .helix/plugin_root 2>/dev/null)}"'
"""The seed's own way from a session to the plugin."""
AGENT = """\
case "$HELIX_ACTION" in
check) echo 'NEXT_ACTION: STOP'; echo 'REASON: all is done' ;;
review) echo 'REVIEW_STATUS: CLEAN'; echo 'ISSUES_COUNT: 0' ;;
align | backfill)
    word=$(echo "$HELIX_ACTION" | tr a-z A-Z)
    report=docs/helix/06-iterate/$HELIX_ACTION.md
    mkdir -p docs/helix/06-iterate
    echo '# What was seen' > "$report"
    printf '%s_STATUS: COMPLETE\\nGAPS_FOUND: 0\\n%s_REPORT: %s\\n' "$word" "$word" "$report" ;;
*)
    if [ -n "$DDX_BEAD_ID" ]; then echo done > "$DDX_BEAD_ID.txt"; fi
    echo 'an answer' ;;
esac
"""


class SeedScene(RequestScene):
    """The seed's repository; lines are typed in its folder by a shell that finds our programs."""

    def types(self, line: str, code: int | None = 0) -> Done:
        path = f"{ROOT / 'bin'}:{super().variables()['PATH']}"
        return self.run("bash", "-c", f"{FIND_HELIX}\n{line}", code=code, PATH=path)

    def row(self) -> dict[str, Any]:
        return self.rows()["app-1"]

    def objective(self) -> None:
        """One objective, `...`, that has come as far as exploring."""
        begin = "from lib.orchestrator import Orchestrator; Orchestrator('...').transition('start')"
        self.types(f'PYTHONPATH="$HELIX" python3 -c "{begin}"')


@pytest.fixture
def bench(tmp_path: Path) -> SeedScene:
    shop = make_request_scene(tmp_path / "w")
    bench = SeedScene(shop.root, home=shop.home)
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT)
    harness = {"kind": "command", "argv": ["sh", str(agent)]}
    settings = {"harnesses": {"codex": harness}}
    helix = bench.root / ".helix"
    helix.mkdir()
    (bench.folder / "config.yaml").write_text(json.dumps(settings))
    (helix / "plugin_root").write_text(f"{ROOT}\n")
    bench.file_beads(task("app-1"))
    return bench


# -- what came of it -------------------------------------------------------------------------

Judge = Callable[[SeedScene, Done], object]


def built(bench: SeedScene, done: Done) -> None:
    assert bench.row()["status"] == "closed"
    assert bench.git("show", "HEAD:app-1.txt").out == "done\n"


def preserved(bench: SeedScene, done: Done) -> None:
    assert (bench.row()["status"], len(bench.refs())) == ("open", 1)


def reported(action: str) -> Judge:
    path = f"HEAD:docs/helix/06-iterate/{action}.md"
    return lambda bench, done: bench.git("show", path)


def filed(*specs: str) -> Judge:
    """Beads for these documents, below one request; the bead that was there stays alone."""

    def judge(bench: SeedScene, done: Done) -> None:
        found = {row.get("spec-id") for row in bench.rows().values()}
        assert len(bench.rows()) > 1, done
        assert set(specs) <= found

    return judge


def says(*texts: str) -> Judge:
    def judge(bench: SeedScene, done: Done) -> None:
        for text in texts:
            assert text in done.out

    return judge


def answers(check: Callable[[Any], bool]) -> Judge:
    """Exactly one JSON value on stdout."""

    def judge(bench: SeedScene, done: Done) -> None:
        assert check(done.json), done.out

    return judge


def stored(bench: SeedScene, done: Done) -> None:
    assert done.json == {"status": "added", "name": "situation-description", "reason": ""}
    assert bench.types("helix memory list --json").json[0]["resolution"] == "What to do"


def recorded(bench: SeedScene, done: Done) -> None:
    (row,) = bench.types("ddx exec history --json").json
    assert (row["definition_id"], row["status"]) == ("EXEC-001", "success")


def has(field: str, wanted: object) -> Judge:
    def judge(bench: SeedScene, done: Done) -> None:
        assert bench.row()[field] == wanted

    return judge


def claimed(bench: SeedScene, done: Done) -> None:
    assert (bench.row()["status"], bench.row()["owner"]) == ("in_progress", "Mara")


def unclaimed(bench: SeedScene, done: Done) -> None:
    assert bench.row()["status"] == "open"
    assert "claimed-at" not in bench.row()


# -- the lines -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """How a line is typed where it leaves something open, and what must come of it."""

    judge: Judge
    typed: str = ""
    first: str = ""
    """Typed before it."""
    code: int = 0


STORE = (
    "helix memory store --trigger 'the query is slow at night' --resolution 'add an index'"
    " --type failure"
)
PYTHON = "python3 $HELIX/lib"
MEMORY, TASKS, MACHINE = (
    f"{PYTHON}/{name}.py" for name in ("memory/core", "tasks", "orchestrator")
)
INPUT = "helix input"
UPDATE = "ddx bead update"

CASES: dict[str, Case] = {
    "helix align": Case(reported("align")),
    "helix backfill <scope>": Case(reported("backfill"), "helix backfill docs"),
    "helix build": Case(built),
    f'{INPUT} "<natural language request>" [--autonomy low|medium|high]': Case(
        filed(), f'{INPUT} "add an invoice page" --autonomy high'
    ),
    f'{INPUT} "<request>"': Case(filed("US-002"), f'{INPUT} "change US-002"'),
    f'{INPUT} "change US-001 acceptance criteria"': Case(filed("US-001", "TD-001", "TP-001")),
    f'{INPUT} "design a CRM with lead capture"': Case(filed()),
    f'{INPUT} "the login button is broken" --autonomy medium': Case(filed()),
    f'{INPUT} "use postgres instead of sqlite" --autonomy high': Case(filed()),
    "helix measure": Case(says("passed"), first="helix build"),
    "helix report": Case(says("# app: ", "| asked | **1** |")),
    "helix run": Case(built),
    "helix run --max-cycles N": Case(built, "helix run --max-cycles 1"),
    "helix run --quiet": Case(built),
    "helix run --review-agent": Case(built, "helix run --review-agent codex"),
    "helix run --review-every N": Case(built, "helix run --review-every 5"),
    "helix run --summary": Case(built),
    "helix run -s": Case(built),
    "helix status": Case(says("ready: 1")),
    "ddx agent execute-bead <bead-id> [--from <rev>] [--no-merge]": Case(
        preserved, "ddx agent execute-bead app-1 --from HEAD --no-merge", code=1
    ),
    "ddx agent execute-bead <id>": Case(built, "ddx agent execute-bead app-1"),
    "ddx agent execute-loop": Case(built),
    "ddx agent execute-loop --harness codex --model gpt-5.4": Case(built),
    "ddx agent execute-loop --once": Case(built),
    "ddx agent run": Case(says("an answer"), "echo 'What is this?' | ddx agent run --prompt -"),
    "ddx bead": Case(says("ready", "update", "close"), "ddx bead --help"),
    "ddx bead create": Case(filed(), "ddx bead create 'One more' --verify true"),
    "ddx bead ready --json": Case(answers(lambda rows: [row["id"] for row in rows] == ["app-1"])),
    UPDATE: Case(has("priority", 0), f"{UPDATE} app-1 --priority 0"),
    f"{UPDATE} --claim": Case(claimed, f"{UPDATE} app-1 --claim"),
    f"{UPDATE} --refs": Case(has("refs", ["US-001"]), f"{UPDATE} app-1 --refs US-001"),
    f"{UPDATE} <id> --unclaim": Case(
        unclaimed, f"{UPDATE} app-1 --unclaim", f"{UPDATE} app-1 --claim"
    ),
    "ddx exec": Case(says("define", "run"), "ddx exec --help"),
    "ddx exec run": Case(
        recorded,
        "ddx exec run EXEC-001",
        "ddx exec define Ground --command true --artifact TD-001",
    ),
    f"{MEMORY} consolidate": Case(answers(lambda row: row["remaining"] == 1), first=STORE),
    f'{MEMORY} feedback-verify --task-id "task-abc" --verify-passed true '
    '--injected \'["mem1", "mem2"]\'': Case(
        answers(lambda row: row["unknown"] == ["mem1", "mem2"] and row["task_id"] == "task-abc")
    ),
    f"{MEMORY} health": Case(answers(lambda row: row["total"] == 1), first=STORE),
    f"{MEMORY} prune": Case(answers(lambda row: row["pruned"] == 0), first=STORE),
    f'{MEMORY} recall "query"': Case(answers(lambda rows: len(rows) == 1), first=STORE),
    f'{MEMORY} recall "query" --limit 5': Case(
        answers(lambda rows: rows[0]["resolution"] == "add an index"), first=STORE
    ),
    f'{MEMORY} store --trigger "Situation description" --resolution "What to do" --type failure': (
        Case(stored)
    ),
    f"{MACHINE} clear": Case(answers(lambda row: row["objectives"] == 1)),
    f'{MACHINE} status --objective "..."': Case(
        answers(lambda row: (row["objective"], row["state"]) == ("...", "EXPLORING"))
    ),
    f"{MACHINE} transitions": Case(
        answers(lambda rows: {"from": "INIT", "event": "start", "to": "EXPLORING"} in rows)
    ),
    f'{TASKS} detect-cycles \'{{"a": ["b"], "b": ["a"]}}\'': Case(
        answers(lambda row: row == {"cycles": [["a", "b", "a"]], "has_cycles": True})
    ),
    f"{TASKS} feedback-verify --task-id \"...\" --verify-passed true --injected '[...]'": Case(
        answers(lambda row: row["credited"] == 1),
        f'{TASKS} feedback-verify --task-id "..." --verify-passed true'
        " --injected '[\"the-query-is-slow-at-night\"]'",
        STORE,
    ),
    f'{TASKS} parse-output "$output"': Case(
        answers(lambda row: (row["status"], row["summary"]) == ("delivered", "a cart")),
        f"output='- **DELIVERED**: a cart'; {TASKS} parse-output \"$output\"",
    ),
}


def test_the_table_has_every_line_and_no_other() -> None:
    assert sorted(CASES) == sorted(LINES)


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_seeds_does_its_work(bench: SeedScene, line: str) -> None:  # P-10
    case = CASES[line]
    if line.startswith(MACHINE):
        bench.objective()
    if case.first:
        bench.types(case.first)
    case.judge(bench, bench.types(case.typed or line, case.code))


# -- whether the list is whole ---------------------------------------------------------------

CALLED = re.compile(r"(?<![\w./-])(helix|ddx) ([a-z][a-z-]*(?: [a-z][a-z-]*)?)")
STARTED = re.compile(r"python3 \$HELIX/lib/[\w/]+\.py [a-z-]+")
FLAG = re.compile(r"(?<![\w-])(--[a-z]+(?:-[a-z]+)*)")
NO_COMMANDS = (
    *("helix commands", "helix executable", "helix launcher", "helix process", "helix skill"),
    *("ddx bead manages", "ddx beadagainst"),
)
GROUPS = {"ddx bead", "ddx exec"}
OTHERS_FLAGS = ("--check", "--glob", "--heading-line-number", "--personality-style")
"""Of git and rg, and one that the seed wants nobody to have."""


def read_seeds() -> str:
    if not SEEDS.is_dir():
        pytest.skip("the seeds are not beside this repository; the list was made from them")
    return "\n".join(path.read_text("utf-8") for path in sorted(SEEDS.glob("*.txt")))


def begins_with(text: str, known: tuple[str, ...]) -> bool:
    """The seeds have lost blanks here and there: `helix runas` names `helix run`."""
    return text.startswith(known)


def paths() -> Iterator[str]:
    """The commands of the list, without what follows them; a group alone is no command."""
    for line in LINES:
        path = re.match(r"\S+(?: [a-z$][\w$/.-]*)*", line)
        if path and path[0] not in GROUPS:
            yield path[0]


def test_the_list_has_every_command_that_the_seeds_name() -> None:
    text = read_seeds()
    known = tuple(paths())
    named = {" ".join(found.groups()) for found in CALLED.finditer(text)} - GROUPS
    named |= {found[0] for found in STARTED.finditer(text)}
    assert sorted(it for it in named if not begins_with(it, (*known, *NO_COMMANDS))) == []


def test_the_list_has_every_flag_that_the_seeds_name() -> None:
    known = tuple({flag for line in LINES for flag in FLAG.findall(line)})
    named = set(FLAG.findall(read_seeds()))
    assert sorted(it for it in named if not begins_with(it, (*known, *OTHERS_FLAGS))) == []

"""`ddx agent` for who looks and asks: attempts, show, log, list, doctor, run (X-14, X-21)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from tests.support.contract import SCHEMAS, EmptyRepository, Ended
from tests.support.tracker import wait_for

from ddx.agents.harness import CallEnd
from ddx.attempts.context import Limits
from ddx.attempts.question import AgentQuestion
from ddx.attempts.record import EVENTS, OUTPUT, USAGE, RecordWriter
from ddx.attempts.work import open_site
from ddx.base.errors import UsageError
from ddx.base.masking import Masker
from ddx.base.values import changed
from ddx.git.branches import drop, keep, kept
from ddx.project.project import Project
from ddx.testing import FakeClock

USED = {
    "input": 1200,
    "cache_read": 0,
    "cache_write": 0,
    "output": 34,
    "cost_usd": None,
    "cost_source": "unknown",
}
FAILED_CHECK = {
    "name": "pytest",
    "command": "pytest -q",
    "origin": "verify",
    "passed": False,
    "exit_code": 1,
    "seconds": 2.5,
    "reason": "exit code 1",
    "output_tail": "E   assert 1 == 2\n\x1b[31mFAILED\x1b[0m test_cart.py",
    "log": "checks/01-pytest.log",
    "is_ratchet": False,
}


@cache
def schema(name: str) -> Draft202012Validator:
    resources = [
        (path.name, Resource.from_contents(json.loads(path.read_text())))
        for path in SCHEMAS.glob("*.json")
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    return Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)


class AttemptRecords(EmptyRepository):
    """A repository with records of attempts; trusted unless a test says otherwise."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.project = Project(str(self.root))
        self.clock = FakeClock()
        self.settings = self.home / ".config/ddx/config.yaml"
        self.settings.parent.mkdir(parents=True)
        self.harnesses("{}")

    def ddx(self, *line: str, code: int = 0, stdin: str = "", **variables: str) -> Ended:
        ended = self.run("ddx", *line, stdin=stdin, **{"HELIX_TRUST": "1", **variables})
        assert ended.returncode == code, (line, ended.stdout, ended.stderr)
        return ended

    def ask(self, *line: str, fits: str, code: int = 0, **rest: str) -> Any:
        answer = json.loads(self.ddx(*line, "--json", code=code, **rest).stdout)
        schema(fits).validate(answer)
        return answer

    def begin(self, name: str, *beads: str) -> RecordWriter:
        """An attempt that runs now, in this process; each begins an hour after the last."""
        self.clock.advance(3600)
        attempt = f"{self.clock.stamp()[:19].replace('-', '').replace(':', '')}-{name}"
        intent = {
            "beads": list(beads),
            "titles": {bead: f"The title of {bead}" for bead in beads},
            "base": self.commit,
            "target": "refs/heads/main",
            "harness": "script",
            "model": "plan.txt",
            "action": "build",
        }
        record = RecordWriter.begin(
            self.project,
            attempt,
            intent,
            clock=self.clock,
            masker=Masker({}),
            on_event=lambda happening: None,
        )
        record.tell("claimed", ", ".join(beads))
        return record

    def begin_and_die(self, name: str, *beads: str) -> None:
        """An attempt whose process was killed."""
        pid = os.fork()
        if not pid:
            self.begin(name, *beads)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)

    def finish(self, record: RecordWriter, outcome: str, status: str, **more: Any) -> str:
        self.clock.advance(90)
        record.tell("released", more.get("reason", ""), status=status)
        result = {"outcome": outcome, "status": status, "usage": USED, "checks": [], **more}
        record.finish(result)
        return record.attempt

    @property
    def commit(self) -> str:
        return self.run("git", "rev-parse", "HEAD").stdout.strip()

    # -- agents ----------------------------------------------------------------------------

    def harnesses(self, text: str) -> None:
        """What the operator has set for himself; workspaces go below the test's own folder."""
        self.settings.write_text(
            f"harnesses: {text}\nworkspace: {{root: {self.home}/workspaces}}\n", encoding="utf-8"
        )

    def configure(self, text: str) -> None:
        """What the repository says."""
        place = self.root / ".ddx/config.yaml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def agent(self, command: str) -> None:
        """The only harness that is configured runs this command."""
        argv = json.dumps(["sh", "-c", command])
        self.harnesses(f"{{mine: {{kind: command, argv: {argv}}}}}")

    def prompt(self, *words: str, code: int = 0, stdin: str = "What?", **variables: str) -> Ended:
        return self.ddx(
            "agent", "run", "--prompt", "-", *words, code=code, stdin=stdin, **variables
        )

    @property
    def workspaces(self) -> list[Path]:
        return sorted((self.home / "workspaces").glob("*/*"))


@pytest.fixture
def shop(tmp_path: Path) -> AttemptRecords:
    return AttemptRecords(tmp_path)


# Attempts


def test_without_attempts_the_next_command_is_named(shop):
    assert "ddx agent execute-loop --once" in shop.ddx("agent", "attempts").stdout
    assert shop.ask("agent", "attempts", fits="agent-attempts") == []


def test_attempts_are_listed_newest_first_with_how_they_ended(shop):
    first = shop.finish(shop.begin("aaaaaa", "app-1"), "landed", "success", commit=shop.commit)
    second = shop.finish(shop.begin("bbbbbb", "app-2"), "preserved", "check_failed", reason="no")
    ref = keep(str(shop.root), "app-2", second, shop.commit)
    rows = shop.ask("agent", "attempts", fits="agent-attempts")
    assert [row["attempt"] for row in rows] == [second, first]
    assert [(row["outcome"], row["status"]) for row in rows] == [
        ("preserved", "check_failed"),
        ("landed", "success"),
    ]
    assert [(row["ref"], row["commit"]) for row in rows] == [(ref, ""), ("", shop.commit)]
    assert (rows[0]["reason"], rows[0]["seconds"], rows[0]["state"]) == ("no", 90, "ended")
    assert rows[0]["usage"] == USED
    assert rows[0]["folder"] == f".ddx/executions/{second}"
    lines = shop.ddx("agent", "attempts").stdout.splitlines()
    assert lines[0].split() == [
        *("attempt", "bead", "outcome", "harness", "age", "took", "tokens", "cost", "kept", "at")
    ]
    assert lines[1].startswith(f"{second}  app-2  kept: check failed  script   ")
    assert "2 min  1.23k   unknown" in lines[1] and lines[1].endswith(ref)
    assert lines[2].startswith(f"{first}  app-1  landed")


def test_attempts_of_one_bead_and_a_limit(shop):
    for name, bead in (("aaaaaa", "app-1"), ("bbbbbb", "app-2"), ("cccccc", "app-1")):
        shop.finish(shop.begin(name, bead), "failed", "agent_failed")
    one = shop.ask("agent", "attempts", "app-1", fits="agent-attempts")
    assert [row["attempt"][-6:] for row in one] == ["cccccc", "aaaaaa"]
    [newest] = shop.ask("agent", "attempts", "--limit", "1", fits="agent-attempts")
    assert newest["attempt"].endswith("cccccc")


def test_a_bead_that_nobody_knows_is_a_mistake_and_one_without_attempts_is_not(shop):
    shop.ddx("bead", "init")
    bead = shop.ddx("bead", "create", "A cart").stdout.strip()
    assert shop.ask("agent", "attempts", bead, fits="agent-attempts") == []
    assert f"no attempt on {bead} yet" in shop.ddx("agent", "attempts", bead).stdout
    assert "'nope'" in shop.ddx("agent", "attempts", "nope", code=1).stderr


@pytest.mark.parametrize("word", ["show", "land", "drop", "log"])
def test_a_command_typed_in_the_wrong_place_is_put_right(shop, word):
    ended = shop.ddx("agent", "attempts", word, code=2)
    assert f"ddx agent {word} last" in ended.stderr


def test_a_living_attempt_runs_and_a_dead_one_has_died(shop):
    shop.begin("aaaaaa", "app-1")
    shop.begin_and_die("bbbbbb", "app-2")
    rows = shop.ask("agent", "attempts", fits="agent-attempts")
    assert [row["state"] for row in rows] == ["died", "running"]
    assert all((row["outcome"], row["usage"], row["seconds"]) == ("", None, 0) for row in rows)
    told = shop.ddx("agent", "attempts").stdout
    assert "  died  " in told and "  running  " in told
    again = shop.ask("agent", "attempts", fits="agent-attempts")
    assert [row["state"] for row in again] == ["died", "running"], "to look changes nothing"


def test_what_is_kept_is_named_only_as_long_as_it_is_there(shop):
    attempt = shop.finish(shop.begin("aaaaaa", "app-1"), "preserved", "timeout")
    keep(str(shop.root), "app-1", attempt, shop.commit)
    assert "  kept: timeout  " in shop.ddx("agent", "attempts").stdout
    drop(str(shop.root), kept(str(shop.root))[0])
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert row["ref"] == ""
    assert "  preserved: timeout  " in shop.ddx("agent", "attempts").stdout


def test_a_record_that_cannot_be_read_hides_no_other(shop):
    shop.finish(shop.begin("aaaaaa", "app-1"), "landed", "success")
    broken = shop.finish(shop.begin("bbbbbb", "app-1"), "landed", "success")
    (shop.root / f".ddx/executions/{broken}/result.json").write_text("{")
    ended = shop.ddx("agent", "attempts")
    assert "aaaaaa" in ended.stdout and "bbbbbb" not in ended.stdout
    assert f"{broken}/result.json" in ended.stderr


# One attempt


def test_show_tells_everything_and_what_to_type_next(shop):
    record = shop.begin("aaaaaa", "app-1")
    attempt = shop.finish(
        record,
        "preserved",
        "check_failed",
        reason="failed: pytest",
        result=shop.commit,
        diffstat=" cart.py | 2 +-\n",
        paths=["cart.py"],
        checks=[{**FAILED_CHECK, "passed": True, "command": "true"}, FAILED_CHECK],
    )
    ref = keep(str(shop.root), "app-1", attempt, shop.commit)
    row = shop.ask("agent", "show", attempt, fits="agent-shown")
    assert row["titles"] == {"app-1": "The title of app-1"}
    assert (row["base"], row["result"], row["paths"]) == (shop.commit, shop.commit, ["cart.py"])
    assert [check["passed"] for check in row["checks"]] == [True, False]
    assert row["next"] == {
        "log": f"ddx agent log {attempt}",
        "look": f"git show {ref}",
        "land": f"ddx agent land {attempt}",
        "drop": f"ddx agent drop {attempt}",
    }
    assert shop.run(*shlex.split(row["next"]["look"])).returncode == 0
    told = shop.ddx("agent", "show", "last").stdout
    assert told.startswith(
        f"{attempt}  app-1  The title of app-1\nkept: check failed\nbecause: failed: "
    )
    assert "  passed  true  (verify, 2.5 s)\n  FAILED  pytest -q  (verify, 2.5 s)\n" in told
    assert "      E   assert 1 == 2\n      \\x1b[31mFAILED\\x1b[0m test_cart.py\n" in told  # C-5
    assert f"all of it: .ddx/executions/{attempt}/checks/01-pytest.log\n" in told
    assert " cart.py | 2 +-\n" in told
    assert "1,234 tokens (1,200 input, 34 output), cost unknown\n" in told
    assert all(line in told for line in row["next"].values())


def test_show_of_a_running_attempt_says_what_is_known(shop):
    record = shop.begin("aaaaaa", "app-1")
    row = shop.ask("agent", "show", "last", fits="agent-shown")
    assert (row["state"], row["reply"], row["checks"], row["result"]) == ("running", None, [], "")
    assert (row["target"], row["next"]["land"]) == ("refs/heads/main", "")
    record.write(USAGE, USED)
    assert shop.ask("agent", "show", "last", fits="agent-shown")["usage"] == USED


def test_an_attempt_is_found_by_any_part_that_names_only_it(shop):
    first = shop.finish(shop.begin("aaaaaa", "app-1"), "landed", "success")
    second = shop.finish(shop.begin("bbbbbb", "app-1"), "landed", "success")
    for name in (first, first[:11], "aaaaaa"):
        assert shop.ask("agent", "show", name, fits="agent-shown")["attempt"] == first
    assert shop.ask("agent", "show", "last", fits="agent-shown")["attempt"] == second
    both = shop.ddx("agent", "show", first[:8], code=2).stderr
    assert first in both and second in both
    for name in ("nope", "", "..", "../executions"):
        assert "ddx agent attempts" in shop.ddx("agent", "show", name, code=1).stderr


# The story


def test_the_story_is_told_in_words_and_local_time(shop):  # X-2, C-4, C-5
    record = shop.begin("aaaaaa", "app-1")
    record.tell("agent-said", "two\nlines and \x1b[2J")
    shop.finish(record, "failed", "agent_failed", reason="it crashed")
    told = shop.ddx("agent", "log", "last", TZ="Etc/GMT-3").stdout
    assert told.splitlines() == [
        "2026-01-02",
        "07:04:05  claimed: app-1",
        "07:04:05  says: two\\nlines and \\x1b[2J",
        "07:05:35  released: it crashed (status agent_failed)",
    ]


def test_the_story_as_json_is_what_the_record_holds(shop):  # C-1
    record = shop.begin("aaaaaa", "app-1")
    record.tell("agent-usage", "", usage=USED)
    told = shop.ask("agent", "log", record.attempt, fits="agent-log")
    assert [event["kind"] for event in told] == ["claimed", "agent-usage"]
    assert told[1]["data"] == {"usage": USED}
    stream = shop.ddx("agent", "log", record.attempt, "--jsonl").stdout.splitlines()
    assert [json.loads(line) for line in stream] == told


def test_a_torn_last_line_is_left_out_and_a_broken_one_named(shop):
    record = shop.begin("aaaaaa", "app-1")
    with open(record.path(EVENTS), "ab") as file:
        file.write(b'{"at": oh no}\n[1]\n{"at":"2026-')
    ended = shop.ddx("agent", "log", "last", "--json")
    assert [event["kind"] for event in json.loads(ended.stdout)] == ["claimed"]
    assert ended.stderr.count(EVENTS) == 2
    assert "claimed: app-1" in shop.ddx("agent", "log", "last").stdout


@pytest.mark.parametrize("form", ["--jsonl", "--follow"])
def test_follow_goes_on_until_the_attempt_ends(shop, form):
    record = shop.begin("aaaaaa", "app-1")
    with subprocess.Popen(
        shop.argv("ddx", "agent", "log", "last", "--follow", form),
        cwd=shop.root,
        env=shop.variables,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as following:
        assert following.stdout is not None
        if form == "--follow":
            following.stdout.readline()  # the day
        assert "claimed" in following.stdout.readline()
        record.tell("agent-said", "still here")
        assert "still here" in following.stdout.readline()
        assert following.poll() is None
        shop.finish(record, "failed", "timeout")
        assert "released" in following.stdout.readline()
        assert (following.stdout.read(), following.wait(timeout=120)) == ("", 0)


def test_follow_ends_when_the_attempt_dies(shop):
    shop.begin_and_die("aaaaaa", "app-1")
    assert "claimed" in shop.ddx("agent", "log", "last", "--follow").stdout


def test_the_agents_own_output_is_printed_safely_and_from_its_end(shop):  # C-5
    record = shop.begin("aaaaaa", "app-1")
    assert shop.ddx("agent", "log", "last", "--output").stdout == ""
    lines = [f"line {number} of a long output\n" for number in range(20_000)]
    Path(record.path(OUTPUT)).write_bytes("".join(lines).encode() + b"\x1b[2J \xff end")
    Path(record.path("errors.log")).write_text("oops")
    ended = shop.ddx("agent", "log", "last", "--output")
    assert ended.stdout.endswith("line 19999 of a long output\n\\x1b[2J \ufffd end\n")
    assert len(ended.stdout) < 300_000
    first = ended.stdout.splitlines()[0]
    assert f"{first}\n" in lines and first != lines[0].rstrip()
    assert "bytes are only in" in ended.stderr and "errors.log" in ended.stderr


@pytest.mark.parametrize("words", [["--json", "--follow"], ["--output", "--json"]])
def test_what_cannot_be_one_json_value_is_refused(shop, words):  # C-1
    shop.begin("aaaaaa", "app-1")
    assert "--json" in shop.ddx("agent", "log", "last", *words, code=2).stderr


def test_attempts_of_one_second_stand_in_the_order_of_their_begin(shop):
    names = ["ffffff", "000000", "888888"]
    for name in names:
        shop.clock.advance(-3600)
        shop.finish(shop.begin(name, "app-1"), "landed", "success")
        shop.clock.advance(-90)
    rows = shop.ask("agent", "attempts", fits="agent-attempts")
    assert [row["attempt"][-6:] for row in rows] == names[::-1]
    assert shop.ask("agent", "show", "last", fits="agent-shown")["attempt"].endswith("888888")


# One prompt


def test_a_prompt_is_answered_on_stdout_and_nothing_else_stays(shop):
    (shop.root / "cart.py").write_text("total = 0\n")
    shop.run("git", "add", ".")
    shop.run("git", "commit", "--quiet", "-m", "a cart")
    (shop.root / "cart.py").write_text("my own work\n")
    shop.agent("cat; cat cart.py; echo new > made.txt; echo 1 >> cart.py; env | grep HELIX_ACTION")
    ended = shop.prompt(stdin="What is in the cart?\n")
    assert ended.stdout == "What is in the cart?\ntotal = 0\nHELIX_ACTION=prompt\n"
    assert "thrown away with it: cart.py and made.txt\n" in ended.stderr
    assert (shop.root / "cart.py").read_text() == "my own work\n"
    assert not (shop.root / "made.txt").exists()
    assert shop.workspaces == []
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert (row["beads"], row["action"], row["harness"]) == ([], "prompt", "mine")
    assert (row["outcome"], row["status"], row["usage"]) == ("answered", "completed", None)
    assert "  -     answered  mine  " in shop.ddx("agent", "attempts").stdout
    shown = shop.ask("agent", "show", "last", fits="agent-shown")
    assert shown["paths"] == ["cart.py", "made.txt"]
    assert shown["reply"]["text"] == ended.stdout.rstrip("\n")
    assert "prompt.md" in shown["files"] and shown["next"]["land"] == ""
    assert shop.ask("agent", "log", "last", fits="agent-log")[-1]["kind"] == "thrown-away"


def test_a_prompt_from_a_file_is_answered_in_json(shop, tmp_path):  # C-1
    question = tmp_path / "question.md"
    question.write_text("Größe?\n")
    shop.agent(
        """cat; echo '{"usage": {"input": 7, "output": 3, "cost_usd": 0.5}}'; printf '\\033[2J'"""
    )
    asked = shop.ask("agent", "run", "--prompt", str(question), fits="agent-asked")
    assert (asked["end"], asked["harness"], asked["thrown_away"]) == ("completed", "mine", [])
    assert asked["text"].startswith("Größe?") and "\x1b[2J" in asked["text"]
    assert (asked["usage"]["input"], asked["usage"]["cost_usd"]) == (7, 0.5)
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert (row["attempt"], row["usage"]) == (asked["attempt"], asked["usage"])
    printed = shop.ddx("agent", "run", "--prompt", str(question)).stdout
    assert "\x1b" not in printed and "\\x1b[2J" in printed  # C-5


@pytest.mark.parametrize(
    ("command", "flags", "end"),
    [
        ("echo I tried; exit 3", [], "crashed"),
        ("echo slow; sleep 60", ["--timeout", "1"], "timed_out"),
    ],
)
def test_a_reply_that_is_not_completed_is_1(shop, command, flags, end):
    shop.agent(command)
    ended = shop.prompt(*flags, code=1)
    assert f"ddx: {end.replace('_', ' ')}" in ended.stderr
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert (row["outcome"], row["status"], bool(row["reason"])) == ("failed", end, True)
    assert shop.workspaces == []


def test_a_secret_reaches_neither_the_screen_nor_the_record(shop):
    shop.agent("echo it is $SHOP_TOKEN")
    ended = shop.prompt(SHOP_TOKEN="tk-0123456789-secret")
    assert ended.stdout == "it is [masked SHOP_TOKEN]\n"
    for path in (shop.root / ".ddx/executions").rglob("*"):
        assert path.is_dir() or b"0123456789-secret" not in path.read_bytes(), path


def test_a_set_up_that_fails_is_told_and_no_agent_is_asked(shop):  # X-3a
    shop.agent("touch asked")
    shop.configure("workspace: {setup: ['exit 7']}\n")
    assert "'exit 7' failed" in shop.prompt(code=1).stderr
    assert shop.ask("agent", "show", "last", fits="agent-shown")["paths"] == []
    assert shop.workspaces == []


def test_what_is_carried_and_set_up_is_there_for_the_agent(shop):  # X-3a
    (shop.root / ".gitignore").write_text("/tools\n/ready\n")
    shop.run("git", "add", ".")
    shop.run("git", "commit", "--quiet", "-m", "ignore")
    (shop.root / "tools").write_text("a tool\n")
    shop.agent("cat tools ready")
    shop.configure("workspace: {carry: [tools], setup: ['echo yes > ready']}\n")
    assert shop.prompt().stdout == "a tool\nyes\n"


def test_nothing_is_asked_until_a_person_trusts_the_repository(shop):
    shop.agent("touch asked")
    ended = shop.prompt(code=4, HELIX_TRUST="")
    assert ended.stdout == "" and "helix trust" in ended.stderr
    assert shop.ask("agent", "attempts", fits="agent-attempts") == []


def test_an_agent_cannot_start_another_one(shop):
    shop.agent("cat")
    inside = {"DDX_ATTEMPT_ID": "20260102T030405-abcdef", "DDX_PROJECT_ROOT": str(shop.root)}
    assert "20260102T030405-abcdef" in shop.prompt(code=1, **inside).stderr


def test_a_prompt_needs_no_branch_but_a_commit(shop, tmp_path):
    shop.agent("git rev-parse HEAD")
    shop.run("git", "switch", "--quiet", "--detach")
    assert shop.prompt().stdout.strip() == shop.commit
    bare = AttemptRecords(tmp_path / "bare")
    bare.run("git", "switch", "--quiet", "--orphan", "none")
    bare.agent("cat")
    assert "there is no commit yet" in bare.prompt(code=2).stderr


def test_what_was_typed_wrong_starts_nothing(shop, tmp_path):
    shop.agent("cat")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    for words, code, said in (
        (["--prompt", "nowhere.md"], 1, "nowhere.md"),
        (["--prompt", str(binary)], 2, "UTF-8"),
        (["--prompt", "-"], 2, "empty"),
        (["--prompt", "-", "--harness", "nobody"], 2, "'nobody'"),
        (["--prompt", "-", "--timeout", "soon"], 2, "--timeout"),
        ([], 2, "--prompt"),
    ):
        assert said in shop.ddx("agent", "run", *words, code=code).stderr
    assert not (shop.root / ".ddx/executions").exists()


def start_a_prompt(shop: AttemptRecords) -> subprocess.Popen[str]:
    """`ddx agent run` with an agent that will not end by itself, begun."""
    shop.agent("touch made; echo begun; sleep 300")
    words = ("ddx", "agent", "run", "--prompt", "/dev/null", "--prompt", __file__)
    running = subprocess.Popen(
        shop.argv(*words),
        cwd=shop.root,
        env={**shop.variables, "HELIX_TRUST": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    outputs = lambda: list((shop.root / ".ddx/executions").glob("2*/output.log"))  # noqa: E731
    wait_for(lambda: any(path.stat().st_size for path in outputs()))
    return running


def test_an_interrupt_ends_the_agent_and_its_workspace(shop):  # X-6, C-2
    running = start_a_prompt(shop)
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert row["state"] == "running"
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=120)
    assert (running.returncode, shop.workspaces) == (130, [])
    assert "thrown away with it: made\n" in told
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert (row["state"], row["status"]) == ("ended", "interrupted")


def test_what_a_killed_prompt_left_is_found_and_cleaned_up(shop):
    running = start_a_prompt(shop)
    running.kill()
    running.communicate(timeout=120)
    [row] = shop.ask("agent", "attempts", fits="agent-attempts")
    assert row["state"] == "died"
    assert sorted(it.suffix for it in shop.workspaces) == ["", ".evidence"]
    found = shop.ask("agent", "doctor", fits="agent-doctor", code=1)["findings"]
    assert [row["attempt"] in it["what"] for it in found if not it["ok"]] == [True]
    shop.agent("echo hello")
    assert f"attempt {row['attempt']} on a prompt had died" in shop.prompt().stderr
    assert shop.workspaces == []
    rows = shop.ask("agent", "attempts", fits="agent-attempts")
    assert [(it["state"], it["status"]) for it in rows] == [
        ("ended", "completed"),
        ("ended", "interrupted"),
    ]


# Harnesses, and whether they can work


def test_every_harness_is_listed_with_whether_it_is_there(shop):
    shop.harnesses("{mine: {kind: command, argv: [sh]}, gone: {kind: command, argv: [no-such]}}")
    rows = {row["name"]: row for row in shop.ask("agent", "list", fits="agent-list")}
    assert {"claude", "codex", "gemini", "opencode", "script", "replay"} < set(rows)
    assert (rows["mine"]["kind"], rows["mine"]["usable"]) == ("command", True)
    assert (rows["gone"]["installed"], rows["gone"]["usable"]) == (False, False)
    assert "no-such" in rows["gone"]["problem"]
    assert not any(row["chosen"] for row in rows.values())  # two are configured
    told = shop.ddx("agent", "list").stdout
    assert "--harness NAME" in told
    [gone] = [line for line in told.splitlines() if line.startswith("gone ")]
    assert gone.split()[:3] == ["gone", "command", "no"] and "no-such" in gone
    shop.agent("true")
    chosen = [row["name"] for row in shop.ask("agent", "list", fits="agent-list") if row["chosen"]]
    assert chosen == ["mine"]


def test_a_harness_that_is_set_up_wrongly_hides_no_other(shop):
    shop.harnesses("{mine: {kind: command}}")
    rows = {row["name"]: row for row in shop.ask("agent", "list", fits="agent-list")}
    assert "no program" in rows["mine"]["problem"] and rows["script"]["usable"]
    assert "no program" in shop.ddx("agent", "doctor", code=1).stdout


def test_a_sound_place_is_0(shop):
    shop.agent("true")
    ended = shop.ddx("agent", "doctor", "mine")
    assert "ok    mine is installed" in ended.stdout and "mend" not in ended.stdout
    found = shop.ask("agent", "doctor", "mine", fits="agent-doctor")
    assert [it["name"] for it in found["findings"]] == [
        *("git", "head", "trust", "workspaces", "leftovers")
    ]
    assert "work lands on main" in ended.stdout
    [mine] = found["harnesses"]
    assert (mine["usable"], mine["asked"]) == (True, None)


def test_an_unknown_harness_is_a_mistake(shop):
    assert "'nobody'" in shop.ddx("agent", "doctor", "nobody", code=2).stderr


@pytest.mark.parametrize(
    ("name", "config", "said", "cure"),
    [
        ("trust", "", "is not trusted", "helix trust"),
        ("head", "", "HEAD is detached", "git switch"),
        ("git", "", "git 2.30.1 cannot", "install git 2.38"),
        ("workspaces", "workspace: {root: SHOP/in}", "inside the checkout", "outside of it"),
        ("sandbox", "sandbox: {kind: bubblewrap}", "no bwrap", "install it"),
    ],
)
def test_what_is_to_be_mended_is_1_and_says_how(shop, tmp_path, name, config, said, cure):
    shop.agent("true")
    shop.configure(config.replace("SHOP", str(shop.root)))
    variables = {"HELIX_TRUST": "" if name == "trust" else "1"}
    if name == "head":
        shop.run("git", "switch", "--quiet", "--detach")
    if name in ("git", "sandbox"):
        variables["PATH"] = path_with_an_old_git(tmp_path, is_old=name == "git")
    found = shop.ask("agent", "doctor", "mine", fits="agent-doctor", code=1, **variables)
    [finding] = [it for it in found["findings"] if not it["ok"]]
    assert finding["name"] == name and said in finding["what"] and cure in finding["cure"]
    told = shop.ddx("agent", "doctor", "mine", code=1, **variables).stdout
    assert "mend  " in told and f"-> {finding['cure']}" in told


def path_with_an_old_git(folder: Path, *, is_old: bool) -> str:
    """A PATH with git and a shell, but no bwrap."""
    programs = folder / "programs"
    programs.mkdir()
    for program in ("sh", "env", "readlink", "dirname"):
        (programs / program).symlink_to(str(which(program)))
    git = programs / "git"
    old = 'case "$*" in *" version") echo git version 2.30.1; exit;; esac\n' if is_old else ""
    git.write_text(f'#!/bin/sh\n{old}exec {which("git")} "$@"\n')
    git.chmod(0o755)
    return str(programs)


def test_asked_agents_answer_and_their_cost_is_told(shop):
    usage = '{"usage": {"input": 7, "output": 1}}'
    shop.harnesses(
        f"\n  good: {{kind: command, argv: [sh, -c, 'echo ready; echo {json.dumps(usage)}']}}"
        "\n  bad: {kind: command, argv: [sh, -c, 'echo no >&2; exit 1']}"
    )
    found = shop.ask("agent", "doctor", "good", "--ask", fits="agent-doctor")
    [good] = found["harnesses"]
    assert (good["asked"]["end"], good["asked"]["text"]) == ("completed", "ready")
    assert (good["asked"]["usage"]["input"], good["asked"]["usage"]["cost_usd"]) == (7, None)
    ended = shop.ddx("agent", "doctor", "good", "bad", "--ask", code=1)
    assert "ok    good answered (completed): ready\n" in ended.stdout
    assert "8 tokens (7 input, 1 output), cost unknown\n" in ended.stdout
    assert "mend  bad answered (crashed): " in ended.stdout


def test_only_who_speaks_for_himself_is_asked(shop):
    assert "ddx agent list" in shop.ddx("agent", "doctor", "script", "--ask", code=2).stderr


def test_without_any_agent_the_doctor_says_how_to_get_one(shop, tmp_path):
    path = path_with_an_old_git(tmp_path, is_old=False)
    found = shop.ask("agent", "doctor", fits="agent-doctor", code=1, PATH=path)
    [finding] = [it for it in found["findings"] if not it["ok"]]
    assert finding["name"] == "harness" and "claude" in finding["cure"]
    assert found["harnesses"] == []


def test_an_untrusted_repository_cannot_have_its_program_run_by_a_look(shop, tmp_path):
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 2.1.0\n")
    program.chmod(0o755)
    shop.configure(f"harnesses: {{claude: {{argv: [{program}]}}}}\n")
    for words in (["list"], ["doctor"], ["doctor", "claude"]):
        ended = shop.run("ddx", "agent", *words)
        assert "not trusted" in ended.stdout, ended.stderr
    assert not (tmp_path / "ran").exists()
    shop.ddx("agent", "list")
    assert (tmp_path / "ran").exists()


# The function behind it


def test_another_action_is_asked_at_another_commit(shop, monkeypatch):
    (shop.root / "cart.py").write_text("total = 0\n")
    shop.run("git", "add", ".")
    shop.run("git", "commit", "--quiet", "-m", "a cart")
    shop.agent("ls; echo $HELIX_ACTION $DDX_BEAD_ID; cat")
    monkeypatch.setenv("HELIX_TRUST", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shop.home / ".config"))
    heard: list[str] = []
    site = open_site(shop.project, lambda happening: heard.append(happening.kind))
    question = AgentQuestion("Look at it.", "mine", True, limits=Limits(wall_s=60), action="review")
    reply = changed(question, base="HEAD~1").ask(site)
    assert (reply.end, reply.text) == (CallEnd.COMPLETED, "review\nLook at it.")
    assert heard[0] == "agent-started" and "agent-ended" in heard
    shown = shop.ask("agent", "show", "last", fits="agent-shown")
    assert (shown["action"], shown["base"] == shop.commit) == ("review", False)
    assert "review by mine, " in shop.ddx("agent", "show", "last").stdout
    with pytest.raises(UsageError, match="nowhere"):
        changed(question, base="nowhere").ask(site)
    assert len(shop.ask("agent", "attempts", fits="agent-attempts")) == 1

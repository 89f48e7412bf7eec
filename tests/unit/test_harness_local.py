"""The harnesses without a model: any program, a script, a recording (X-4, X-4a)."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from ddx.agents.command import CommandHarness
from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    CostSource,
    Harness,
    ProcessExit,
    Reply,
    Request,
    StopCause,
    Usage,
)
from ddx.agents.output import LONGEST_REPLY
from ddx.agents.script import ReplayHarness, ScriptHarness
from ddx.agents.script_agent import InvalidDirective, parse_recording, parse_script
from ddx.base.errors import NotFound, UsageError
from ddx.base.process import run


class Room:
    """A workspace and a scratch folder, and one call in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.scratch = folder / "scratch"
        self.workspace.mkdir()
        self.scratch.mkdir()
        self.events: list[AgentEvent] = []

    def request(self, prompt: str = "", **more: str) -> Request:
        return Request(prompt, str(self.workspace), str(self.scratch), **more)  # type: ignore[arg-type]

    def call(self, harness: Harness, request: Request) -> Reply:
        invocation = harness.command(request)
        for name, text in invocation.files.items():
            (self.scratch / name).write_text(text, encoding="utf-8")
        done = run(
            invocation.argv,
            cwd=request.workspace,
            env={"PATH": os.environ["PATH"], **invocation.env},
            timeout_s=60,
            stdin=(invocation.stdin or "").encode(),
        )
        self.events = [
            *(event for line in done.text.splitlines() for event in harness.parse(line)),
            *(
                event
                for line in done.stderr.decode().splitlines()
                for event in harness.parse_error(line)
            ),
        ]
        ended = ProcessExit(done.code, stderr_tail=done.stderr.decode()[-4000:])
        return harness.finish(ended, self.events)

    def follow(self, script: str) -> Reply:
        return self.call(ScriptHarness(), self.request(script=script))

    def replay(self, *rows: dict[str, object]) -> Reply:
        recording = self.folder / "recording.jsonl"
        recording.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return self.call(ReplayHarness(), self.request(model=str(recording)))


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


def shell(script: str) -> CommandHarness:
    return CommandHarness(program="sh", argv=("-c", script))


# Any program


def test_a_program_gets_the_prompt_and_its_output_is_the_reply(room):  # X-4a
    reply = room.call(shell("cat; echo; pwd; echo noise >&2"), room.request("do this"))
    assert reply == Reply(CallEnd.COMPLETED, f"do this\n{room.workspace}")


def test_a_program_gets_its_configured_arguments_and_variables(room):  # X-4a
    mine = CommandHarness(
        program="sh", argv=("-c", 'echo "$MODE $1"', "sh", "--flag"), env={"MODE": "x"}
    )
    assert room.call(mine, room.request()).text == "x --flag"


def test_a_program_with_a_slash_is_a_file_of_the_workspace(room):  # X-4a
    program = room.workspace / "my-agent"
    program.write_text("#!/bin/sh\necho from here\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    mine = CommandHarness(program="./my-agent")
    assert room.call(mine, room.request()).text == "from here"
    assert mine.detect().ok


def test_a_program_is_looked_up_where_it_can_be(tmp_path):
    assert CommandHarness(program="sh").detect().path.endswith("/sh")
    assert CommandHarness(program="/bin/sh").detect().ok
    missing = CommandHarness(program="no-such-program-here").detect()
    assert (missing.ok, missing.problem) == (False, "there is no program no-such-program-here")
    plain = tmp_path / "plain"
    plain.write_text("not executable")
    assert not CommandHarness(program=str(plain)).detect().ok


USED = Usage(
    input=1200,
    cache_read=5,
    cache_write=7,
    output=300,
    cost_usd=0.25,
    cost_source=CostSource.REPORTED,
)
USAGE_LINE = (
    '{"usage": {"input": 1200, "output": 300, "cache_read": 5, "cache_write": 7, "cost_usd": 0.25}}'
)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_usage_line_counts_on_either_stream_and_is_no_part_of_the_reply(room, stream):  # X-4a
    reply = room.call(shell(f"echo done; echo '{USAGE_LINE}' >&{stream}"), room.request())
    assert (reply.text, reply.usage) == ("done", USED)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_the_footer_counts_on_either_stream_and_is_no_part_of_the_reply(room, stream):  # X-4a
    script = f"echo done; (echo 'tokens used'; echo 1,234) >&{stream}"
    reply = room.call(shell(script), room.request())
    assert (reply.text, reply.usage) == ("done", Usage(input=1234))


def finish(*lines: str, code: int = 0, **more: object) -> Reply:
    harness = CommandHarness(program="./mine")
    events = [event for line in lines for event in harness.parse(line)]
    return harness.finish(ProcessExit(code, **more), events)  # type: ignore[arg-type]


def test_usage_lines_add_up_and_an_unknown_cost_stays_unknown():
    known, unknown = '{"usage": {"input": 1, "cost_usd": 1}}', '{"usage": {"output": 2}}'
    assert finish(known, known).usage == Usage(2, cost_usd=2, cost_source=CostSource.REPORTED)
    assert finish(known, unknown).usage == Usage(1, output=2)


def test_a_usage_line_is_believed_before_a_footer():
    assert finish(USAGE_LINE, "tokens used", "9").usage == USED


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [
        (("tokens used", "1,234"), 1234),
        (("Tokens used:", " 77 "), 77),
        (("tokens used", "5", "and then", "tokens used", "6"), 6),
        (("tokens used", "done", "7"), 0),
        (("7", "tokens used"), 0),
        (("tokens used", "1,23"), 0),
        (("tokens used", "-7"), 0),
        (("tokens used", "9" * 30), 0),
        (("all tokens used", "7"), 0),
    ],
)
def test_a_footer_is_two_lines_that_stand_together(lines, tokens):  # X-4a
    assert finish(*lines).usage == Usage(input=tokens)


@pytest.mark.parametrize(
    "line",
    [
        '{"usage": {"input": -1}}',
        '{"usage": {"input": 1.5}}',
        '{"usage": {"input": true}}',
        '{"usage": {"input": "many"}}',
        '{"usage": {"input": 1e400}}',
        '{"usage": {"input": 1, "cost_usd": NaN}}',
        '{"usage": {"input": 1, "cost_usd": -0.1}}',
        '{"usage": {"input": 1, "cost_usd": "1"}}',
        '{"usage": {"input": %s}}' % ("9" * 20),
        '{"usage": 7}',
        '{"usage": %s}' % ("[" * 2000),
        '{"usage": {"input": %s' % ("9" * 100_000),
    ],
)
def test_a_hostile_usage_line_counts_nothing(line):
    assert finish(line).usage == Usage()


def test_a_reply_that_speaks_of_usage_stays_a_reply():
    line = '{"usage": "how to use it", "verdict": "CLEAN"}'
    assert (finish(line).text, finish(line).structured) == (line, json.loads(line))


def test_a_reply_in_json_is_there_as_an_object_too():
    assert finish('{"a":', "1}").structured == {"a": 1}
    assert finish("I looked.", '{"a": 1}').structured == {"a": 1}
    assert finish("I looked.", "[1]").structured is None
    assert finish('{"a": 1} is it').structured is None


def test_of_an_endless_reply_the_end_is_kept():
    reply = finish("x" * (LONGEST_REPLY * 2), "the end")
    assert len(reply.text) == LONGEST_REPLY
    assert reply.text.endswith("x\nthe end")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "sh ended with exit code 3"),
        ("echo no key >&2; exit 1", "sh ended with exit code 1: no key"),
        ("echo only here; exit 1", "sh ended with exit code 1: only here"),
        ("kill -9 $$", "sh ended with SIGKILL"),
    ],
)
def test_any_other_end_than_exit_0_is_a_crash_with_its_reason(room, script, reason):  # X-4a
    reply = room.call(shell(script), room.request())
    assert (reply.end, reply.reason) == (CallEnd.CRASHED, reason)


@pytest.mark.parametrize(
    ("stopped", "end"),
    [
        (StopCause.TIMED_OUT, CallEnd.TIMED_OUT),
        (StopCause.STALLED, CallEnd.STALLED),
        (StopCause.INTERRUPTED, CallEnd.INTERRUPTED),
        (StopCause.OVER_BUDGET, CallEnd.LIMIT_BUDGET),
    ],
)
def test_where_we_ended_a_program_our_reason_stands(stopped, end):
    assert finish("all done", code=0, stopped=stopped).end is end
    for harness in (ScriptHarness(), ReplayHarness()):
        said_done = harness.parse('{"ended": 0, "reason": ""}')
        assert harness.finish(ProcessExit(0, stopped), said_done).end is end


# A script


SCRIPT = """\
# what a good agent would do
say I am on it
write src/hello.py
    def hello():

        return "hi"   # indented as it stands

append notes.txt one line
append notes.txt
\tanother
\tand a third
write "a file with blanks.txt" said here
write empty
sh
    test -f src/hello.py
    echo "$MODE" > mode.txt
usage 1200 300 0.05
usage 10
sleep 0.01
say Done.
"""


def test_a_script_does_real_work_and_tells_it(room):
    reply = room.call(ScriptHarness(env={"MODE": "fast"}), room.request(script=SCRIPT))
    assert reply == Reply(
        CallEnd.COMPLETED, "I am on it\nDone.", usage=Usage(1210, output=300)
    )  # the cost of the second call is not known
    files = {
        str(path.relative_to(room.workspace)): path.read_text()
        for path in room.workspace.rglob("*")
        if path.is_file()
    }
    assert files == {
        "src/hello.py": 'def hello():\n\n    return "hi"   # indented as it stands\n',
        "notes.txt": "one line\nanother\nand a third\n",
        "a file with blanks.txt": "said here\n",
        "empty": "",
        "mode.txt": "fast\n",
    }
    assert [event.text for event in room.events if event.kind is AgentEventKind.TOOL][:2] == [
        "wrote src/hello.py",
        "wrote notes.txt",
    ]


def test_a_script_comes_from_the_model_s_file_before_the_bead_s_own(room):
    named = room.folder / "agent.script"
    named.write_text("say from the file\n")
    assert room.call(ScriptHarness(), room.request(model=str(named), script="say other")).text == (
        "from the file"
    )


def test_without_any_script_there_is_nothing_to_start(room):
    for harness in (ScriptHarness(), ReplayHarness()):
        with pytest.raises(UsageError, match="there is no"):
            harness.command(room.request())
        with pytest.raises(NotFound, match="no-such-file: No such file"):
            harness.command(room.request(model="no-such-file"))
        binary = room.folder / "binary"
        binary.write_bytes(b"\xff")
        with pytest.raises(UsageError, match="is not UTF-8 text"):
            harness.command(room.request(model=str(binary)))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 7", "line 1: exit 7"),
        ("say a\nsh exit 3\nwrite never x", "line 2: 'exit 3' ended with code 3"),
        ("sh kill -9 $$", "line 1: 'kill -9 $$' ended with signal 9"),
        ("write ../outside x", "line 1: ../outside is not inside of the workspace"),
        ("write /etc/x y", "line 1: /etc/x is not inside of the workspace"),
        ("append . x", "line 1: . is not inside of the workspace"),
        ("sh ln -s .. up\nwrite up/x y", "line 2: up/x is not inside of the workspace"),
        ("sh mkdir d\nwrite d x", "line 2: d: Is a directory"),
    ],
)
def test_a_script_ends_at_what_fails_and_says_where(room, script, reason):
    reply = room.follow(script)
    assert (reply.end, reply.reason) == (CallEnd.CRASHED, reason)
    assert not (room.workspace / "never").exists()
    assert not (room.folder / "outside").exists()


def test_exit_0_ends_a_script_well_before_its_last_line(room):
    assert room.follow("say a\nexit 0\nsay b") == Reply(CallEnd.COMPLETED, "a")


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("say a\n\nwriet x y", "line 3: unknown directive 'wriet'"),
        ("# a\n  say b", "line 2: indented, but no line above it asks"),
        ("exit 0\n  say b", "line 2: indented, but no line above it asks"),
        ("write", "line 1: write needs a path"),
        ('write "x y', "line 1: write needs a path"),
        ("append x", "line 1: append needs a text"),
        ("say", "line 1: say needs a text"),
        ("sh", "line 1: sh needs a text"),
        ("say a\n  b", "line 1: the text stands in the line or below it, not both"),
        ("say\n    a\n  b", "line 3: indented less than the line where the text begins"),
        ("usage", "line 1: it is `usage INPUT"),
        ("usage x", "line 1: it is `usage INPUT"),
        ("usage -1", "line 1: it is `usage INPUT"),
        ("usage 1 2 3 4", "line 1: it is `usage INPUT"),
        ("sleep soon", "line 1: it is `sleep SECONDS"),
        ("sleep 1e9", "line 1: it is `sleep SECONDS"),
        ("sleep nan", "line 1: it is `sleep SECONDS"),
        ("exit 256", "line 1: it is `exit CODE"),
        ("exit", "line 1: it is `exit CODE"),
    ],
)
def test_nonsense_in_a_script_is_named_with_its_line(script, problem):
    with pytest.raises(InvalidDirective) as refused:
        parse_script(script)
    assert problem in str(refused.value)


def test_of_a_script_with_nonsense_nothing_is_done(room):
    reply = room.follow("write made.txt x\nfly")
    assert (reply.end, reply.reason[:40]) == (
        CallEnd.CRASHED,
        "line 2: unknown directive 'fly': it is n",
    )
    assert list(room.workspace.iterdir()) == []


def test_what_a_command_prints_cannot_swallow_what_the_agent_tells(room):
    reply = room.follow("sh printf 'an open line'; printf noise >&2\nsay heard")
    assert (reply.end, reply.text) == (CallEnd.COMPLETED, "heard")
    assert [event.text for event in room.events if event.kind is AgentEventKind.NOTICE] == [
        "an open line"
    ]


def test_an_exit_code_alone_is_not_believed(room):
    hostile = ScriptHarness()
    silent = hostile.finish(ProcessExit(0), [])
    assert (silent.end, silent.reason) == (
        CallEnd.CRASHED,
        "script ended with exit code 0: it stopped before its end",
    )
    said_done = hostile.parse('{"ended": 0, "reason": ""}')
    assert hostile.finish(ProcessExit(-9), said_done).end is CallEnd.CRASHED
    assert (
        hostile.finish(ProcessExit(-15, StopCause.AFTER_RESULT), said_done).end is CallEnd.COMPLETED
    )


@pytest.mark.parametrize(
    "line",
    ["{", "{}", '{"say": 7}', '{"usage": {"input": -1}}', '{"ended": "x"}', "[1]", "{" * 5000],
)
def test_a_line_that_is_none_of_ours_is_only_noticed(line):
    assert [event.kind for event in ScriptHarness().parse(line)] == [AgentEventKind.NOTICE]
    assert ScriptHarness().parse(" \t") == ()


def test_a_scripted_agent_loads_next_to_nothing(room):
    python, *flags, agent, _ = ScriptHarness().command(room.request(script="say hi")).argv
    assert (python, flags) == (sys.executable, ["-I", "-S"])
    told = (
        f"import sys\nwith open({agent!r}) as file: source = file.read()\n"
        "try: exec(source, {'__name__': '__main__'})\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = run((python, *flags, "-c", told, os.devnull), cwd="/", env={}, timeout_s=60)
    ended, loaded = done.text.splitlines()
    assert json.loads(ended) == {"ended": 0, "reason": ""}
    assert "posix" in loaded.split()
    assert not {"json", "re", "enum", "subprocess", "signal", "ddx"} & set(loaded.split())


# A recording


def test_a_recording_does_and_says_what_was_recorded(room):
    reply = room.replay(
        {"say": "I begin"},
        {"write": {"path": "a/b.txt", "content": "no line end"}},
        {"append": {"path": "a/b.txt", "content": ", more"}},
        {"sh": "cp a/b.txt c.txt"},
        {"usage": {"input": 10, "output": 2, "cost_usd": 0.5}},
        {"waiting": "overloaded, again in 1 s"},
        {"sleep": 0.01},
        {"denied": "Bash"},
        {"end": "completed", "structured": {"verdict": "CLEAN"}},
    )
    assert (room.workspace / "c.txt").read_text() == "no line end, more"
    assert reply == Reply(
        CallEnd.COMPLETED,
        "I begin",
        usage=Usage(10, output=2, cost_usd=0.5, cost_source=CostSource.REPORTED),
        structured={"verdict": "CLEAN"},
        denied=("Bash",),
        retries=1,
    )


@pytest.mark.parametrize("end", list(CallEnd))
def test_every_way_to_end_can_be_replayed(room, end):
    reply = room.replay({"end": str(end), "until": "2026-01-02T03:04:05Z", "reason": "as recorded"})
    assert (reply.end, reply.until) == (end, "2026-01-02T03:04:05Z")
    assert reply.reason == ("" if end is CallEnd.COMPLETED else "as recorded")


def test_a_recording_without_an_end_is_completed_when_it_is_over(room):
    assert room.replay({"say": "hi"}) == Reply(CallEnd.COMPLETED, "hi")


def test_the_exit_code_of_a_recording_is_its_own(room):
    assert room.replay({"end": "denied", "exit": 0}).end is CallEnd.DENIED
    assert room.replay({"end": "completed", "exit": 1}).end is CallEnd.CRASHED
    failed = room.replay({"say": "x"}, {"exit": 4})
    assert (failed.end, failed.reason) == (CallEnd.CRASHED, "line 2: exit 4")


def test_an_unknown_end_is_a_crash(room):
    reply = room.replay({"end": "splendid"})
    assert (reply.end, "'splendid', which is no end" in reply.reason) == (CallEnd.CRASHED, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\n# fine\nnonsense", "line 3: not JSON"),
        ("[]", "line 1: an object with one of say, sh, write"),
        ('{"fly": 1}', "line 1: an object with one of"),
        ('{"say": "a", "sh": "b"}', "line 1: an object with one of"),
        ('{"say": 1}', "line 1: say cannot be 1"),
        ('{"write": {"path": "x"}}', "line 1: write cannot be"),
        ('{"exit": 300}', "line 1: exit cannot be 300"),
        ('{"sleep": -1}', "line 1: sleep cannot be -1"),
        ('{"end": 1}', "line 1: end cannot be 1"),
        ("[" * 5000, "line 1: not JSON"),
    ],
)
def test_nonsense_in_a_recording_is_named_with_its_line(text, problem):
    with pytest.raises(InvalidDirective) as refused:
        parse_recording(text)
    assert problem in str(refused.value)

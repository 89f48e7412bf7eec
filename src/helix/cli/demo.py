"""`helix demo`: a sample shop, and a supervisor that works through its queue, live."""

from __future__ import annotations

import os
import sys
from shlex import join, quote

from ddx.base import Clock, DdxError, loads, to_bytes
from ddx.base import run as run_program
from ddx.console import Command, Flag, bold, dim, say
from ddx.git import Repository, create_repository
from helix.cli.demo_agent import AGENT, BUILDS

REQUEST = "change FEAT-001: a bell costs 4.50"
CLAIMANTS = 8
LOST, PERSON = 5, 4
_TIMEOUT_S = 120.0
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PATIENCE_S, _PAUSE_S = 20.0, 0.05
_WITHOUT_WAITS = {"HELIX_TRUST": "1", "HELIX_BACKOFF_SLEEP": "0"}  # we wrote all that is in it


class DemoRepository:
    """A repository made for the demo, and the commands in it."""

    def __init__(self, folder: str, stage: str) -> None:
        self.folder = folder
        self.stage = stage

    def set_up(self) -> None:
        create_repository(self.folder, name="Demo", email="demo@example.invalid")
        agent = os.path.join(self.stage, "agent")
        self.write(agent, AGENT)
        os.chmod(agent, 0o755)  # noqa: S103
        harness = {"kind": "command", "argv": [agent], "env": {"STAGE": self.stage}}
        self.write(".ddx/config.yaml", to_bytes({"harnesses": {"apprentice": harness}}).decode())
        self.write(".helix/config.yaml", "agent: apprentice\n")

    def write(self, path: str, text: str) -> None:
        whole = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self, message: str) -> None:
        """All that is there: agents build on commits."""
        Repository(self.folder).commit_all(message)
        say(dim(f"  (git commit: {message})"))

    def run(self, *words: str) -> tuple[int, str]:
        """A command that nobody watches: its exit code, and what it answers."""
        code, answer, _ = self._carry_out(words)
        return code, answer

    def show(self, *words: str) -> str:
        """Run a command in front of the viewer: what it told, then its answer."""
        _typed(words)
        code, answer, told = self._carry_out(words)
        for line in (told + answer).splitlines():
            say(f"  {line}")
        _require(code, 0)
        return answer.strip()

    def show_live(self, *words: str, code: int = 0) -> None:
        """The same for a command that takes its time: line by line, as they come."""
        _typed(words)
        ended, _, _ = self._carry_out(words, LineWriter(shorten=f"{self.folder}/"))
        _require(ended, code)

    def _carry_out(
        self, words: tuple[str, ...], output: LineWriter | None = None
    ) -> tuple[int, str, str]:
        """The exit code, the answer, and what was told besides."""
        done = run_program(
            self._argv(words),
            cwd=self.folder,
            env=_WITHOUT_WAITS,
            timeout_s=_TIMEOUT_S,
            output=output,
        )
        return done.code, done.text, done.stderr.decode("utf-8", "replace")

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        program = os.path.join(_PACKAGES, words[0], "__main__.py")
        return [sys.executable, "-I", "-S", program, *words[1:]]


class LineWriter:
    """Whole lines of a stream, said as soon as they are there."""

    def __init__(self, *, shorten: str) -> None:
        self._rest = b""
        self._shorten = shorten

    def __call__(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            say(f"  {line.decode('utf-8', 'replace').replace(self._shorten, '')}")
        sys.stdout.flush()


@Command.of(
    example="helix demo",
    flags=(Flag("--folder", "an empty folder for the sample; none: a temporary one"),),
)
def run(*, folder: str | None) -> int:
    """Make a sample repository and show what HELIX does, live."""
    from tempfile import mkdtemp

    place = (
        os.path.abspath(folder) if folder else os.path.join(mkdtemp(prefix="helix-demo-"), "shop")
    )
    os.makedirs(place, exist_ok=True)
    if os.listdir(place):
        raise DdxError(f"{place} is not empty, and the demo makes a repository in it")
    sample = DemoRepository(
        place, os.path.join(place, ".git", "demo")
    )  # unseen, and gone with the sample
    sample.set_up()
    say(f"A sample repository in {place}")
    say(dim("The agent here is a shell script and no model: nothing is sent anywhere, and the"))
    say(dim("tokens and dollars that it reports are made up."))
    _write_down(sample)
    beads = _ask(sample)
    beads |= _file(sample, after=beads["build:1"])
    _brief(sample, beads)
    _race(sample, beads["document:FEAT-001"])
    _first_night(sample, beads)
    _next_morning(sample, beads)
    return 0


def _write_down(sample: DemoRepository) -> None:
    _headline("Write down what is wanted; each document knows what it follows from")
    sample.show("ddx", "doc", "new", "prd", "A shop for bicycles")
    sample.show("ddx", "doc", "new", "feat", "Prices", "--depends-on", "prd")
    sample.show("ddx", "bead", "init")
    sample.commit("documents and settings")


def _ask(sample: DemoRepository) -> dict[str, str]:
    """The beads of the request, by the part of it that each one is."""
    _headline("Then say in one sentence what shall change; what follows from it is filed")
    sample.show("helix", "input", REQUEST)
    say(dim("  (no agent was asked for that; the same sentence once more files nothing)"))
    (asked,) = loads(sample.run("helix", "input", REQUEST, "--json")[1])["requests"]
    return {bead["part"]: bead["id"] for bead in asked["beads"]}


def _file(sample: DemoRepository, *, after: str) -> dict[str, str]:
    _headline("File other work by hand; say what waits for what, and what proves it")
    new = ("ddx", "bead", "create")
    epic = sample.show(*new, "Sell things online", "--type", "epic")
    below = ("--parent", epic)
    return {
        "cart": sample.show(
            *(*new, "A cart that adds up", *below, "--depends-on", after),
            *("--verify", "python3 cart.py 4.50 11.50 | grep -qx 16.00"),
        ),
        "delivery": sample.show(*new, "Delivery", *below, "--verify", "test -s delivery.txt"),
        "hours": sample.show(*new, "Opening hours", "--verify", "test -s opening.txt"),
    }


def _brief(sample: DemoRepository, beads: dict[str, str]) -> None:
    """What the apprentice will do for each bead."""
    for name, script in BUILDS.items():
        sample.write(os.path.join(sample.stage, f"build-{beads[name]}"), script)
    sample.commit("beads")
    sample.show("ddx", "bead", "ready", "--execution")


def _race(sample: DemoRepository, bead_id: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    _headline(f"{CLAIMANTS} agents reach for the same bead; one gets it")
    words = ("ddx", "bead", "update", bead_id, "--claim", "--owner")
    agents = [f"agent-{number}" for number in range(1, CLAIMANTS + 1)]
    with ThreadPoolExecutor(CLAIMANTS) as pool:
        codes = [code for code, _ in pool.map(lambda agent: sample.run(*words, agent), agents)]
    _typed(words[:-1], note=f"   ({CLAIMANTS} at once)")
    say(f"  exit codes: {' '.join(map(str, codes))}")
    if sorted(codes) != [0, *[LOST] * (CLAIMANTS - 1)]:
        raise DdxError("exactly one must win")
    sample.run("ddx", "bead", "update", bead_id, "--unclaim")


def _first_night(sample: DemoRepository, beads: dict[str, str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    _headline("Now let it run, and change your mind meanwhile in a second terminal")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(_change_of_mind, sample, beads["delivery"])
        sample.show_live("helix", "run", "--summary", "--max-attempts", "2", code=PERSON)
        second.result()
    say()
    say(
        "  What was proven has landed: the document first, then its tests, then the price list. One"
    )
    say(
        "  review found a fault: it was filed and mended. Delivery changed under its agent, so that"
    )
    say("  work was kept and not landed. Opening hours failed its check twice, whatever its agent")
    say("  said; the run asks you instead of trying for ever:")
    _headline("The report for the person who comes in the morning")
    logs = os.path.join(sample.folder, ".helix-logs")
    (report,) = (name for name in os.listdir(logs) if name.startswith("blockers-"))
    say(dim("$ "), bold(f"cat .helix-logs/{report}"))
    with open(os.path.join(logs, report), encoding="utf-8") as file:
        for line in file.read().splitlines():
            say(f"  {line}")


def _change_of_mind(sample: DemoRepository, bead_id: str) -> None:
    """While an agent is at it: what it builds is no longer what is wanted."""
    left_s = _PATIENCE_S
    while not os.path.exists(os.path.join(sample.stage, "at-work")) and left_s > 0:
        Clock().sleep(_PAUSE_S)
        left_s -= _PAUSE_S
    say(dim(f"  (second terminal) $ ddx bead update {bead_id} --spec-id FEAT-001"))
    sample.run("ddx", "bead", "update", bead_id, "--spec-id", "FEAT-001")
    sample.write(os.path.join(sample.stage, "go-on"), "")


def _next_morning(sample: DemoRepository, beads: dict[str, str]) -> None:
    _headline("You settle what was open; the next run goes on from there")
    sample.show("ddx", "bead", "update", beads["hours"], "--verify", "test -s opening.md")
    sample.show_live("helix", "run", "--summary")
    _headline("What happened, for a person who was not there")
    sample.show("helix", "status")
    sample.show("helix", "cost", "--by", "bead")
    say(dim("$ "), bold("git log --oneline"))
    for line in Repository(sample.folder).log_lines():
        say(f"  {line}")
    sample.show("helix", "trace", "FEAT-001")
    _headline("What this repository has taught; checks give the credit, not the agent")
    sample.show("helix", "memory", "list")
    say()
    say(
        bold("That was the whole loop: "),
        "ask, build, prove, land, review, remember, stop for a person.",
    )
    program = _program()
    say(f"Look around: cd {quote(sample.folder)} && {program} report")
    if program != "helix":
        say(f"Put helix and ddx on your PATH, and the skills where agents look: {program} install")
    say("With your own repository and claude or codex: helix init --trust, helix input, helix run")


def _program() -> str:
    """What a person must type here to start helix."""
    from shutil import which

    from helix.install import launcher_of

    return "helix" if which("helix") else quote(launcher_of("helix"))


def _typed(words: tuple[str, ...], *, note: str = "") -> None:
    say(dim("$ "), bold(join(words)), dim(note))


def _require(code: int | None, wanted: int) -> None:
    if code != wanted:
        raise DdxError(f"the demo's own command ended with exit {code}, not {wanted}")


def _headline(text: str) -> None:
    say()
    say(bold(text))

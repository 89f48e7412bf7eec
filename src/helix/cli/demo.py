"""`helix demo`: the life of a few beads in a sample repository, with the real commands."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from tempfile import mkdtemp

import ddx
from ddx import environment, process
from ddx.console.screen import bold, dim, say
from ddx.console.spec import Command, Flag
from ddx.errors import DdxError
from ddx.git import run as git

CLAIMANTS = 8
LOST = 5
_TIMEOUT_S = 60.0


class Sample:
    """A repository made for the demo, and the `ddx` command in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._program = os.path.join(os.path.dirname(ddx.__file__), "__main__.py")

    def set_up(self) -> None:
        for words in (
            ("init", "--quiet", "--initial-branch=main"),
            ("config", "user.name", "Demo"),
            ("config", "user.email", "demo@example.invalid"),
            ("commit", "--quiet", "--allow-empty", "-m", "an empty shop"),
        ):
            done = git(self.folder, *words)
            if not done.ok:
                raise DdxError(f"git {words[0]} failed in {self.folder}: {done.complaint}")

    def run(self, *words: str) -> process.Result:
        return process.run(
            [sys.executable, "-I", "-S", self._program, "bead", *words],
            cwd=self.folder,
            env=environment.for_children(),
            timeout_s=_TIMEOUT_S,
        )

    def show(self, *words: str) -> str:
        """Run a command in front of the viewer; its answer."""
        say(dim("$ "), bold(f"ddx bead {' '.join(map(_quoted, words))}"))
        done = self.run(*words)
        for line in (done.stdout + done.stderr).decode("utf-8", "replace").splitlines():
            say(f"  {line}")
        if not done.ok:
            raise DdxError(f"the demo's own command failed with exit {done.code}")
        return done.text.strip()


def run(*, folder: str | None) -> int:
    place = os.path.abspath(folder) if folder else mkdtemp(prefix="helix-demo-")
    sample = Sample(place if folder else os.path.join(place, "shop"))
    os.makedirs(sample.folder, exist_ok=True)
    if os.listdir(sample.folder):
        raise DdxError(f"{sample.folder} is not empty, and the demo makes a repository in it")
    sample.set_up()
    say(f"A sample repository in {sample.folder}")
    _plan(sample)
    winner = _race(sample)
    _change_of_mind(sample, winner)
    _look_back(sample)
    return 0


def _plan(sample: Sample) -> None:
    _headline("File work; say what waits for what and what proves it")
    sample.show("init")
    epic = sample.show("create", "Sell things online", "--type", "epic")
    cart = sample.show(
        *("create", "A cart that adds up", "--parent", epic, "--priority", "1"),
        *("--acceptance", "`pytest -q tests/cart` passes"),
    )
    sample.show(
        *("create", "Checkout", "--parent", epic, "--depends-on", cart),
        *("--verify", "pytest -q tests/checkout"),
    )
    sample.show("create", "It should work properly", "--acceptance", "Everything works")
    sample.show("ready", "--execution")
    sample.show("blocked")


def _race(sample: Sample) -> str:
    _headline(f"{CLAIMANTS} agents reach for the same bead; one gets it")
    bead_id = sample.run("ready", "--execution", "--limit", "1").text.splitlines()[1].split()[0]
    with ThreadPoolExecutor(CLAIMANTS) as pool:
        words = ("update", bead_id, "--claim", "--owner")
        agents = [f"agent-{number}" for number in range(1, CLAIMANTS + 1)]
        results = list(pool.map(lambda agent: sample.run(*words, agent), agents))
    say(dim("$ "), bold(f"ddx bead update {bead_id} --claim"), dim(f"   ({CLAIMANTS} at once)"))
    for agent, done in zip(agents, results, strict=True):
        say(f"  {agent}: exit {done.code}")
    won = sum(done.ok for done in results)
    lost = sum(done.code == LOST for done in results)
    if (won, lost) != (1, CLAIMANTS - 1):
        raise DdxError(f"{won} agents won and {lost} lost: exactly one must win")
    return bead_id


def _change_of_mind(sample: Sample, cart: str) -> None:
    _headline("A better plan takes the place of the old one")
    checkout = sample.run("blocked").text
    waiting = next(line.split()[0] for line in checkout.splitlines() if "waits for" in line)
    better = sample.show(
        *("create", "Checkout with two steps", "--depends-on", cart),
        *("--verify", "pytest -q tests/checkout"),
    )
    sample.show("supersede", waiting, "--by", better, "--reason", "one page asks too much")
    sample.show("close", cart, "--reason", "adds up", "--commit", "HEAD")
    sample.show("ready", "--execution")
    sample.show("why", waiting)


def _look_back(sample: Sample) -> None:
    _headline("What happened, for a person who was not there")
    sample.show("status")
    sample.show("commit")
    sample.run("create", "Send a receipt", "--verify", "pytest -q tests/receipt")
    sample.show("diff")
    say()
    say(bold("That is the tracker."), " The rest of HELIX stands on it and comes next.")
    say(f"Look around: cd {sample.folder} && ddx bead list")


def _headline(text: str) -> None:
    say()
    say(bold(text))


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)


COMMAND = Command(
    "demo",
    "Make a sample repository and show what HELIX does, live.",
    run,
    "helix demo",
    flags=(Flag("--folder", "an empty folder for the sample; none: a temporary one"),),
)

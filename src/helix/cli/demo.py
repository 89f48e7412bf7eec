"""`helix demo`: documents, beads and an agent in a sample repository, with the real commands."""

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
NOT_LANDED = 1
_TIMEOUT_S = 60.0

_HONEST = "write prices.txt bell 4.50\nsay The price list is there.\nusage 1200 300 0.02"
_BOASTFUL = "write opening.md from 9 to 5\nsay Everything is done."
"""What the agents follow: `script` is a harness without a model."""


class Sample:
    """A repository made for the demo, and the `ddx` command in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._program = os.path.join(os.path.dirname(ddx.__file__), "__main__.py")

    def set_up(self) -> None:
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("config", "user.name", "Demo")
        self._git("config", "user.email", "demo@example.invalid")
        self._git("commit", "--quiet", "--allow-empty", "-m", "an empty shop")

    def commit(self, message: str) -> None:
        """All that is there: agents build on commits."""
        self._git("add", "--all")
        self._git("commit", "--quiet", "-m", message)
        say(dim(f"  (git commit: {message})"))

    def run(self, *words: str) -> process.Result:
        return process.run(
            [sys.executable, "-I", "-S", self._program, *words],
            cwd=self.folder,
            env=environment.for_children({"HELIX_TRUST": "1"}),  # we wrote all that is in it
            timeout_s=_TIMEOUT_S,
        )

    def show(self, *words: str, code: int = 0) -> str:
        """Run a command in front of the viewer: what it told, then its answer."""
        say(dim("$ "), bold(f"ddx {' '.join(map(_quoted, words))}"))
        done = self.run(*words)
        for line in (done.stderr + done.stdout).decode("utf-8", "replace").splitlines():
            say(f"  {line}")
        if done.code != code:
            raise DdxError(f"the demo's own command ended with exit {done.code}, not {code}")
        return done.text.strip()

    def _git(self, *words: str) -> None:
        done = git(self.folder, *words)
        if not done.ok:
            raise DdxError(f"git {words[0]} failed in {self.folder}: {done.complaint}")


def run(*, folder: str | None) -> int:
    place = os.path.abspath(folder) if folder else mkdtemp(prefix="helix-demo-")
    sample = Sample(place if folder else os.path.join(place, "shop"))
    os.makedirs(sample.folder, exist_ok=True)
    if os.listdir(sample.folder):
        raise DdxError(f"{sample.folder} is not empty, and the demo makes a repository in it")
    sample.set_up()
    say(f"A sample repository in {sample.folder}")
    _write_down(sample)
    _plan(sample)
    winner = _race(sample)
    _change_of_mind(sample, winner)
    _hand_over(sample)
    _look_back(sample)
    return 0


def _write_down(sample: Sample) -> None:
    _headline("Write down what is wanted; each document knows what it follows from")
    sample.show("doc", "new", "prd", "A shop for bicycles")
    sample.show("doc", "new", "feat", "A cart", "--depends-on", "prd")
    sample.show("doc", "new", "td", "Sums in cents", "--depends-on", "FEAT-001")
    sample.show("doc", "impact", "FEAT-001")
    sample.show("doc", "stamp", "TD-001")
    feature = os.path.join(sample.folder, "docs", "helix", "01-frame", "features")
    (name,) = os.listdir(feature)
    with open(os.path.join(feature, name), "a", encoding="utf-8") as file:
        file.write("\nA cart may hold gift cards too.\n")
    say(dim(f"  (somebody adds a sentence to {name})"))
    sample.show("doc", "stale")
    sample.show("doc", "graph", "--output", "documents.svg")


def _plan(sample: Sample) -> None:
    _headline("File work; say what waits for what and what proves it")
    sample.show("bead", "init")
    epic = sample.show("bead", "create", "Sell things online", "--type", "epic")
    cart = sample.show(
        *("bead", "create", "A cart that adds up", "--parent", epic, "--priority", "1"),
        *("--acceptance", "`pytest -q tests/cart` passes"),
    )
    sample.show(
        *("bead", "create", "Checkout", "--parent", epic, "--depends-on", cart),
        *("--verify", "pytest -q tests/checkout"),
    )
    sample.show("bead", "create", "It should work properly", "--acceptance", "Everything works")
    sample.show("bead", "ready", "--execution")
    sample.show("bead", "blocked")


def _race(sample: Sample) -> str:
    _headline(f"{CLAIMANTS} agents reach for the same bead; one gets it")
    bead_id = (
        sample.run("bead", "ready", "--execution", "--limit", "1").text.splitlines()[1].split()[0]
    )
    with ThreadPoolExecutor(CLAIMANTS) as pool:
        words = ("bead", "update", bead_id, "--claim", "--owner")
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
    checkout = sample.run("bead", "blocked").text
    waiting = next(line.split()[0] for line in checkout.splitlines() if "waits for" in line)
    better = sample.show(
        *("bead", "create", "Checkout with two steps", "--depends-on", cart),
        *("--verify", "pytest -q tests/checkout"),
    )
    sample.show("bead", "supersede", waiting, "--by", better, "--reason", "one page asks too much")
    sample.show("bead", "close", cart, "--reason", "adds up", "--commit", "HEAD")
    sample.show("bead", "ready", "--execution")
    sample.show("bead", "why", waiting)


def _hand_over(sample: Sample) -> None:
    _headline("An agent works in a clone of its own; what passes its checks lands")
    sample.commit("documents and beads")
    prices = sample.show(
        *("bead", "create", "A price list", "--acceptance", 'prices.txt names "bell"'),
        *("--set", f"script={_HONEST}"),
    )
    sample.show("agent", "execute-bead", prices, "--harness", "script")
    _headline("What an agent says proves nothing: this one wrote another file, and it is kept")
    hours = sample.show(
        *("bead", "create", "Opening hours", "--acceptance", "opening.txt exists"),
        *("--set", f"script={_BOASTFUL}"),
    )
    sample.show("agent", "execute-bead", hours, "--harness", "script", code=NOT_LANDED)
    sample.show("agent", "show", "last")


def _look_back(sample: Sample) -> None:
    _headline("What happened, for a person who was not there")
    sample.show("bead", "status")
    sample.show("bead", "commit")
    sample.run("bead", "create", "Send a receipt", "--verify", "pytest -q tests/receipt")
    sample.show("bead", "diff")
    say()
    say(bold("That is the ground"), " that the supervisor will stand on; it comes next.")
    say(f"Look around: cd {sample.folder} && ddx agent attempts, or open documents.svg there")


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

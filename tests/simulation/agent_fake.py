"""Agents and checks, played in this process: they write real files and say what real ones say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.checks import passes
from tests.simulation.git_fake import UnknownCommand

from ddx.agents.script import AGENT
from ddx.base.process import ATTEMPT, PROJECT_ROOT
from ddx.tracker.row import texts_of
from helix.passes.follow_ups import MARK
from helix.passes.reply import CheckAnswer

if TYPE_CHECKING:
    from tests.simulation.world import World

SHARED = "shared.txt"
"""What agents and the operator all like to edit."""
_TITLES = ("It leaks", "It is slow", "A case is missing", "The name is wrong")
_ASKED_PATH = re.compile(r"Write the (?:report|plan) to (\S+?)[.,](?:\s|$)")
_FAULTS = ("rate_limited", "rate_limited", "api_error")


class Agents:
    """Every agent of a story; how well they do is drawn from its seed."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self.answers: tuple[CheckAnswer, ...] = (CheckAnswer.STOP,)
        self.skill: dict[str, float] = {}
        """How likely an agent manages a bead; 0 is hopeless."""
        self.mishaps = 0.03
        """How likely a call is lost, to a limit or to an answer that nobody can read."""
        self.ideas = 0.3
        """How likely a pass files work."""
        self.leftovers = 0.2
        """How likely a build leaves work for later."""

    def play(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        say: Callable[[bytes], None],
    ) -> int:
        """One program from its start to its end."""
        if AGENT in argv:
            return self._work(cwd, env, say)
        command = argv[2] if argv[:2] == ["sh", "-c"] else " ".join(argv)
        self._world.clock.advance(1.0)
        return 0 if passes(command, lambda path: os.path.exists(os.path.join(cwd, path))) else 1

    def _work(self, cwd: str, env: Mapping[str, str], say: Callable[[bytes], None]) -> int:
        rng, world = self._rng, self._world

        def tell(row: Mapping[str, object]) -> None:
            say(json.dumps(row).encode() + b"\n")

        attempt, action = env[ATTEMPT], env.get("HELIX_ACTION", "")
        used = {"input": rng.randrange(1000), "output": rng.randrange(100)}
        world.ledger.used(action, sum(used.values()))
        world.clock.advance(rng.randrange(10, 600))
        world.boundary()
        folder = os.path.join(env[PROJECT_ROOT], ".ddx", "executions", attempt)
        with open(os.path.join(folder, "prompt.md"), encoding="utf-8") as file:
            prompt = file.read()
        tell({"usage": used})
        if rng.random() < self.mishaps:
            return self._fault(tell)
        if action in ("build", ""):
            beads = (env.get("DDX_BEAD_IDS") or env["DDX_BEAD_ID"]).split()
            ended = self._build(cwd, attempt, beads, tell, leaves=action == "build")
        else:
            ended = 0
            tell({"say": self._said(action, prompt, cwd, attempt)})
        world.boundary()
        world.ledger.ended(attempt)
        tell({"ended": ended, "reason": "it gave up" if ended else ""})
        return ended

    def _fault(self, tell: Callable[[Mapping[str, object]], None]) -> int:
        end = self._rng.choice(_FAULTS)
        later = self._world.clock.stamp(after_s=self._rng.randrange(60, 600))
        tell({"end": end, "reason": "not now", **({"until": later} if end == _FAULTS[0] else {})})
        return 1

    # -- builds --------------------------------------------------------------------------------

    def _build(
        self,
        cwd: str,
        attempt: str,
        beads: Sequence[str],
        tell: Callable[[Mapping[str, object]], None],
        *,
        leaves: bool,
    ) -> int:
        rng = self._rng
        manages = all(rng.random() <= self.skill.get(bead, 0.9) for bead in beads)
        what = rng.random()
        for bead in beads if manages else ():
            self._write(cwd, self._wanted(bead), f"{attempt}\n")
        if not manages and what < 0.4:
            self._write(cwd, f"work/half-{beads[0]}", f"{attempt}\n")
        if what < 0.15:
            self._append(cwd, SHARED, f"{attempt}\n")
        elif what < 0.2:
            self._append(cwd, "docs/helix/01-frame/features/FEAT-001-a-cart.md", f"{attempt}\n")
        elif what < 0.23:
            self._write(cwd, ".ddx/mine", "not for me\n")
        elif what < 0.26:
            self._world.clock.advance(10_000)  # it hangs
        said = "DELIVERED: it is done" if manages else "BLOCKED: it is not"
        if leaves and rng.random() < self.leftovers:
            row = {
                "title": self._world.ledger.will_leave(attempt),
                "acceptance": "`true` passes",
                "blocks": rng.random() < 0.5,
            }
            said += f"\n{MARK} {json.dumps(row)}\n"
        tell({"say": said})
        return int(not manages and what > 0.8)

    def _wanted(self, bead: str) -> str:
        """The file that its checks ask for, or any."""
        for command in texts_of(self._world.ledger.rows[bead], "verify"):
            if command.startswith("test -e "):
                return command.removeprefix("test -e ")
        return f"work/{bead}"

    @staticmethod
    def _write(cwd: str, path: str, text: str) -> None:
        place = os.path.join(cwd, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)

    @staticmethod
    def _append(cwd: str, path: str, text: str) -> None:
        with open(os.path.join(cwd, path), "a", encoding="utf-8") as file:
            file.write(text)

    # -- everything else -----------------------------------------------------------------------

    def _said(self, action: str, prompt: str, cwd: str, attempt: str) -> str:
        if self._rng.random() < self.mishaps:
            return "I would rather not say."
        match action:
            case "check":
                answer = self._rng.choice(self.answers)
                return f"NEXT_ACTION: {answer}\nREASON: as chance says"
            case "review":
                return self._review(prompt)
            case "polish":
                return self._polish(prompt)
            case "align":
                drafts = self._drafts()
                lines = [f"{MARK} {json.dumps(row)}" for row in drafts]
                report = self._report(prompt, cwd, attempt)
                return "\n".join(
                    [*lines, "ALIGN_STATUS: COMPLETE", f"GAPS_FOUND: {len(drafts)}", report]
                ).replace("PATH", "ALIGN_REPORT")
            case "design":
                word = "GUIDANCE_NEEDED" if self._rng.random() < 0.1 else "CONVERGED"
                lines = [f"{MARK} {json.dumps(row)}" for row in self._drafts()]
                report = self._report(prompt, cwd, attempt).replace("PATH", "PLAN_DOCUMENT")
                return "\n".join([*lines, f"PLAN_STATUS: {word}", report, "PLAN_ROUNDS: 1"])
            case "evolve":
                self._append(cwd, "docs/helix/02-design/technical-designs/TD-001-sums.md", "On.\n")
                word = "CONFLICTS" if self._rng.random() < 0.1 else "COMPLETE"
                return f"EVOLUTION_STATUS: {word}\nARTIFACTS_UPDATED: 1\nCONFLICTS: none"
            case "explorer" | "planner" | "observer":
                return self._for_objective(action, prompt)
        raise UnknownCommand(f"an agent for {action}")

    def _report(self, prompt: str, cwd: str, attempt: str) -> str:
        found = _ASKED_PATH.search(prompt)
        if found is None:
            raise UnknownCommand(f"no report is asked for: {prompt[-500:]}")
        self._write(cwd, found[1], f"# Report {attempt}\n")
        return f"PATH: {found[1]}"

    def _drafts(self) -> list[dict[str, object]]:
        if self._rng.random() > self.ideas:
            return []
        return [{"title": self._rng.choice(_TITLES), "acceptance": "`true` passes"}]

    def _review(self, prompt: str) -> str:
        self._world.ledger.reviewed(prompt)
        if self._rng.random() > 0.25:
            return "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0"
        rows = [
            {
                "severity": self._rng.choice(("high", "medium", "low")),
                "title": title,
                "acceptance": "`true` passes",
            }
            for title in self._rng.sample(_TITLES, self._rng.randint(1, 2))
        ]
        listed = f"```json\n{json.dumps(rows)}\n```"
        return f"{listed}\nREVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: {len(rows)}"

    def _polish(self, prompt: str) -> str:
        new: list[dict[str, object]] = []
        if self._rng.random() < self.ideas / 3:
            new = [{"title": f"More {self._rng.randrange(100)}", "verify": ["true"]}]
        proposal = json.dumps({"changes": [], "new": new, "merged": []})
        counts = f"ISSUES_MODIFIED: 0\nISSUES_CREATED: {len(new)}\nISSUES_MERGED: 0"
        return f"```json\n{proposal}\n```\nPOLISH_STATUS: CONVERGED\n{counts}"

    def _for_objective(self, name: str, prompt: str) -> str:
        if name == "explorer":
            finding = {"file": SHARED, "line": 1, "what": "sums", "relevance": "high"}
            found: dict[str, object] = {"scope": "all", "focus": "all", "findings": [finding]}
            return f"EXPLORER_FINDINGS:\n{json.dumps(found)}"
        if name == "observer":
            return f"OBSERVATION:\n{json.dumps({'status': 'complete', 'extractions': []})}"
        if self._rng.random() < 0.1 and "ANSWERS" not in prompt:
            asked = {"status": "clarify", "questions": ["In which colour?"]}
            return f"PLAN:\n{json.dumps(asked)}"
        keys = [f"{n:03d}" for n in range(1, self._rng.randint(2, 5))]
        tasks = [
            {
                "seq": key,
                "slug": f"part-{key}",
                "description": f"Part {key}",
                "delta": self._rng.choice(([], [f"work/part-{key}", "work/"])),
                "verify": self._rng.choice(("true", f"test -e work/part-{key}")),
                "depends_on": [it for it in keys[: int(key) - 1] if self._rng.random() < 0.3],
            }
            for key in keys
        ]
        return f"PLAN:\n{json.dumps({'status': 'complete', 'tasks': tasks})}"

"""An objective's agents: what each is given and must answer, and one call of it (O-6, O-7)."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.agents import CallEnd
from ddx.attempts import End, PromptSection
from ddx.base import (
    BrokenYaml,
    CorruptFile,
    MarkdownText,
    Nodes,
    UsageError,
    changed,
    dumps,
    find_misfit,
    listed,
    value,
)
from ddx.proof import pattern_of
from helix.objective.task_outcome import LONGEST_OUTPUT
from helix.passes import READING, ask, defused
from helix.project import Agent, find_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.attempts import StopControls, UsageMeter
    from helix.objective.orchestrator import Orchestrator
    from helix.project import PassContext

NAMES = EXPLORER, PLANNER, BUILDER, OBSERVER = ("explorer", "planner", "builder", "observer")
NEEDS = ("smart", "cheap")
MARKS = {EXPLORER: "EXPLORER_FINDINGS", PLANNER: "PLAN", OBSERVER: "OBSERVATION"}
"""What each puts before its answer."""
RESUME = "go on with: helix objective resume"

_MOST_CANDIDATES = 5
_PREFIX = "helix-"
_WILDCARDS = frozenset("*?")


class AgentContract:
    """One agent's contract: its schemas, the model that it needs, how many steps it may take."""

    def __init__(self, name: str) -> None:
        self.name = name.removeprefix(_PREFIX)
        if self.name not in NAMES:
            raise UsageError(
                f"there is no agent {name!r}", hint=f"there are {listed(NAMES)}, and no other"
            )
        self.path = os.path.join(find_resources("agents"), f"{self.name}.yaml")
        row = read_contract(self.path)
        self.description = str(row["description"])
        self.model = str(row["model"])
        self.budget = int(row["budget"])
        self.input_schema: dict[str, Any] = row["input"]
        self.output_schema: dict[str, Any] = row["output"]

    def validate_input(self, given: Any) -> tuple[bool, str]:
        """Whether the agent may be asked with this, and else where it does not fit."""
        error = find_misfit(given, json.dumps(self.input_schema), what="input")
        return not error, error

    def validate_output(
        self, given: Any, *, delta: Iterable[str] = (), root: str = ""
    ) -> tuple[bool, str]:
        """Whether this is an answer; files that it names must lie in the task's delta."""
        if error := find_misfit(given, json.dumps(self.output_schema), what="output"):
            return False, error
        for n, path in enumerate(given.get("files", ())):
            if outside_delta((path,), delta, root=root or os.getcwd()):
                return False, f"output.files[{n}]: {path} is outside of the task's delta"
        return True, ""


def outside_delta(paths: Iterable[str], delta: Iterable[str], *, root: str) -> tuple[str, ...]:
    """The paths that do not really lie in the delta; an empty delta allows the whole project.

    By where a path leads, links followed: that a file is called the same proves nothing.
    """
    home = os.path.realpath(root)
    allowed = [_pattern(entry, home) for entry in delta]
    return tuple(path for path in paths if not _is_allowed(path, allowed, home))


def _pattern(entry: str, home: str) -> re.Pattern[str]:
    """What an entry means below the root: the part of it without wildcards is looked up."""
    parts = entry.removeprefix("./").rstrip("/").split("/")
    fixed = next((n for n, part in enumerate(parts) if set(part) & _WILDCARDS), len(parts))
    folder = os.path.realpath(os.path.join(home, *parts[:fixed]))
    rest = os.path.normpath("/".join((os.path.relpath(folder, home), *parts[fixed:])))
    return pattern_of("/**" if rest == "." else f"/{rest}")


def _is_allowed(path: str, allowed: Sequence[re.Pattern[str]], home: str) -> bool:
    real = os.path.relpath(os.path.realpath(os.path.join(home, path)), home)
    if real == ".." or real.startswith("../"):
        return False
    return not allowed or any(pattern.fullmatch(real) for pattern in allowed)


def read_contract(path: str) -> dict[str, Any]:
    """The contract in one file, whole; a file that is not one is named with what it lacks."""
    try:
        with open(path, encoding="utf-8") as file:
            row = Nodes(file.read()).values()
    except BrokenYaml as problem:
        raise CorruptFile(problem.at(path), hint="install HELIX again") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise CorruptFile(f"{path} cannot be read: {problem}", hint="install HELIX again") from None
    wanted = {"description": str, "model": str, "budget": int, "input": dict, "output": dict}
    for key, kind in wanted.items():
        if not isinstance(row, dict) or not isinstance(row.get(key), kind):
            raise CorruptFile(f"{path} has no {key}", hint="install HELIX again")
    if row["model"] not in NEEDS:
        raise CorruptFile(f"{path}: model is {listed(NEEDS, joiner='or')}")
    return dict(row)


# -- one question ---------------------------------------------------------------------------


@value
class Answered:
    """What it says, in the form that its contract asks for."""

    found: Mapping[str, Any]


@value
class Unanswered:
    """It could not be asked to the end, or what it said is no answer."""

    reason: str
    end: CallEnd = CallEnd.COMPLETED
    """Completed: asking the same again may well give the same."""


QuestionOutcome: TypeAlias = Answered | Unanswered


def ask_agent(
    context: PassContext, name: str, given: Mapping[str, Any], *, misfit: str = ""
) -> QuestionOutcome:
    """Its answer to one call; `misfit` says what was wrong with the one before."""
    contract = AgentContract(name)
    fits, error = contract.validate_input(dict(given))
    if not fits:
        return Unanswered(error, CallEnd.CRASHED)
    prompt = prompt_for(context, contract.name, given, misfit=misfit)
    asked = ask(context, _agent(context, contract), action=contract.name, prompt=prompt)
    if asked.failure:
        return Unanswered(asked.failure, asked.reply.end)
    found = find_object(asked.reply.text, MARKS[contract.name])
    if found is None:
        return Unanswered(f"there is no JSON object after {MARKS[contract.name]}")
    fits, error = contract.validate_output(found)
    return Answered(found) if fits else Unanswered(error)


def prompt_for(
    context: PassContext, name: str, given: Mapping[str, Any], *, misfit: str = ""
) -> str:
    """The page of an agent, the principles, and each thing that it is given, as data."""
    complaint = f"{misfit}\nAnswer again, in the form that your page asks for."
    return PromptSection.join(
        (
            PromptSection("How you work", READING),
            PromptSection(f"Your part: {name}", context.pages.read(f"agents/{name}.md")),
            PromptSection("Principles", context.pages.principles),
            *map(defused, _sections(given)),
            *([PromptSection("Your last answer was not taken", complaint)] if misfit else ()),
        )
    )


def _sections(given: Mapping[str, Any]) -> Sequence[PromptSection]:
    """Short texts together as `NAME: text`; what has parts is JSON under a title of its own."""
    texts = [f"{key.upper()}: {said}" for key, said in given.items() if isinstance(said, str)]
    parts = [
        PromptSection(key.upper(), dumps(said), quoted=True)
        for key, said in given.items()
        if not isinstance(said, str) and said
    ]
    return [PromptSection("Your assignment", "\n".join(texts), quoted=True), *parts]


def _agent(context: PassContext, contract: AgentContract) -> Agent:
    """The model that a person named, else the one that the contract needs, where it is known."""
    builder = context.builder
    known = context.site.settings.models.get(builder.harness, {})
    if builder.model or contract.model not in known:
        return builder
    return changed(builder, model=contract.model)


def find_object(text: str, *marks: str) -> dict[str, Any] | None:
    """The last JSON object after one of the marks; else the last fenced one; else all of it."""
    text = text[-LONGEST_OUTPUT:]
    places = [
        found.end() for mark in marks for found in re.finditer(rf"{re.escape(mark)}[*_`]*:", text)
    ]
    marked = [text[place:] for place in sorted(places, reverse=True)[:_MOST_CANDIDATES]]
    blocks = MarkdownText(text).blocks()  # a fence that nobody closes reaches to the end
    fenced = [block.text for block in blocks if block.info.lower() in ("", "json")]
    for candidate in (*marked, *fenced[: -_MOST_CANDIDATES - 1 : -1], text):
        if (found := _object_in(candidate)) is not None:
            return found
    return None


def _object_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0 or text[:start].strip(" \t\r\n`*_").removeprefix("json").strip():
        return None
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


class AgentCalls:
    """The calls of one objective: by whoever may be asked, within its budget, each one counted."""

    def __init__(
        self,
        context: PassContext,
        orchestrator: Orchestrator,
        meter: UsageMeter,
        *,
        wishes: StopControls,
    ) -> None:
        self.context = context
        self.meter = meter
        self._orchestrator = orchestrator
        self._wishes = wishes

    def interrupted(self) -> End:
        return End(f"interrupted while {self._orchestrator.state.lower()}; {RESUME}")

    def cut_off(self, end: CallEnd) -> End | None:
        """Why a call that ended like this was not its agent's to end; None: it was."""
        if self._wishes.is_interrupted:
            return self.interrupted()
        if end is CallEnd.LIMIT_BUDGET:
            return End(f"the budget is spent: {self.meter.usage.in_words}; {RESUME}", 1)
        return None

    def agent(self, harness: str, *, reviews: bool = False) -> Agent:
        """Whoever builds or reviews; another harness may have taken over (X-8)."""
        own = self.context.reviewer if reviews else self.context.builder
        return own if harness == own.harness else Agent(harness)

    def asking(self, harness: str, *, reviews: bool = False) -> PassContext:
        """The context with whoever may be asked, and what they may use; the meter hears of it."""
        context, agent = self.context, self.agent(harness, reviews=reviews)
        return changed(
            context,
            limits=self.meter.limits(context.site),
            on_call=lambda action, reply: self.meter.called(harness, reply),
            builder=context.builder if reviews else agent,
            reviewer=agent if reviews else context.reviewer,
        )

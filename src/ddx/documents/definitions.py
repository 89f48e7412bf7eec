"""What a project can run and measure, as its documents define it (G-1, X-11). Pure.

    ddx:
      execution: {command: pytest -q, cwd: app, env: {CI: "1"}, timeout_ms: 60000, required: true}
      metric: {name: coverage, unit: "%", direction: higher, output_pattern: 'TOTAL.* (\\d+%)'}

A metric has a command of its own, or is read from what an execution prints: the one in the same
document, or one that names it among its `artifact_ids`. `ratchet: true` in it holds what was
reached, `floor: 90` holds that value from the start (X-12).
"""

from __future__ import annotations

import re

from ddx.base import ERROR, DdxError, Finding, NotFound, changed, value
from ddx.documents.metrics import HIGHER, LOWER, Metric, Tolerance, UnreadableNumber, read_number
from ddx.documents.model import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, TypeAlias

    from ddx.documents.model import Placed

    CommandLine: TypeAlias = str | tuple[str, ...]
    """A text for `sh`, or the words of a program that runs without it."""

EXECUTION, METRIC = "execution", "metric"
DEFAULT_TIMEOUT_MS = 600_000

_BINDING = {EXECUTION: ("required",), METRIC: ("ratchet", "floor")}
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False, "": False}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) *(%?)")


@value
class Execution:
    """A command to run, where, for how long, and what it proves."""

    id: str
    path: str
    command: CommandLine
    cwd: str = ""
    env: Mapping[str, str] = {}
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    required: bool = False
    artifact_ids: tuple[str, ...] = ()
    measures: tuple[Metric, ...] = ()


@value
class BrokenDefinition:
    """A definition that cannot be used; its kind is `execution` or `metric`."""

    id: str
    kind: str
    finding: Finding
    may_bind: bool = True
    """Whether work may have to pass it: it asks for that, or nobody can tell (X-11)."""
    artifact_ids: tuple[str, ...] = ()


@value
class Definitions:
    """Everything that can be run and measured, and what is wrong with the rest."""

    executions: Mapping[str, Execution]
    metrics: Mapping[str, Metric]
    runs: Mapping[str, Execution]
    """By the name of a metric: what measures it."""
    broken: tuple[BrokenDefinition, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(item.finding for item in self.broken)

    def execution(self, name: str) -> Execution:
        """The one that a person means by an id, in any case and with or without its slug."""
        found = resolve(name, {doc_id.casefold(): doc_id for doc_id in self.executions})
        if not found:
            raise self._missing(EXECUTION, name, self.executions, "ddx exec list")
        return self.executions[found]

    def metric(self, name: str) -> Metric:
        """The same for a metric: its name, or the id of its document."""
        known = {item.id.casefold(): item.name for item in self.metrics.values()}
        known |= {metric.casefold(): metric for metric in self.metrics}
        found = resolve(name, known)
        if not found:
            raise self._missing(METRIC, name, self.metrics, "ddx metric list")
        return self.metrics[found]

    def _missing(self, kind: str, name: str, known: Collection[str], hint: str) -> DdxError:
        for item in self.broken:
            if item.kind == kind and resolve(name, {item.id.casefold(): item.id}):
                where = f"{item.finding.where}:{item.finding.line}"
                return DdxError(f"{where}: {item.finding.what}", hint="mend it, then try again")
        near = [each for each in known if name.casefold() in each.casefold()][:3]
        if name and near:
            hint = f"did you mean {' or '.join(near)}?"
        return NotFound(f"no document here defines the {kind} {name!r}", hint=hint)


def define(
    executions: Mapping[str, Placed],
    metrics: Mapping[str, Placed],
    *,
    retired: Collection[str] = (),
) -> Definitions:
    """From tables of front matter to values; superseded documents no longer require a thing."""
    builder = _Builder()
    for doc_id, placed in sorted(executions.items()):
        builder.add_execution(doc_id, placed, is_retired=doc_id in retired)
    for doc_id, placed in sorted(metrics.items()):
        builder.add_metric(doc_id, placed)
    return builder.definitions()


def broken(doc_id: str, kind: str, finding: Finding, table: Mapping[str, Any]) -> BrokenDefinition:
    """What can still be told of a definition that cannot be used."""
    wishes = [table.get(key) for key in _BINDING[kind]]
    listed = table.get("artifact_ids")
    return BrokenDefinition(
        doc_id,
        kind,
        finding,
        may_bind=any(
            not isinstance(wish, str) or _is_yes(wish) for wish in wishes if wish is not None
        ),
        artifact_ids=tuple(item for item in listed if isinstance(item, str))
        if isinstance(listed, list)
        else (),
    )


class _BadDefinition(Exception):
    pass


class _Builder:
    """Definitions as they are read; one that is wrong leaves the others as they are."""

    def __init__(self) -> None:
        self._executions: dict[str, Execution] = {}
        self._metrics: dict[str, Metric] = {}
        self._own_runs: dict[str, Execution] = {}
        self._places: dict[tuple[str, str], Placed] = {}
        self._broken: list[BrokenDefinition] = []

    def add_execution(self, doc_id: str, placed: Placed, *, is_retired: bool) -> None:
        path, _, table = placed
        self._places[EXECUTION, doc_id] = placed
        try:
            kind = _text(table, "kind") or "command"
            if kind != "command":
                raise _BadDefinition(f"kind {kind!r} is unknown; `command` is the only one")
            found = _runnable(doc_id, path, table)
            required = _truth(table, "required") and not is_retired
            self._executions[doc_id] = changed(
                found, required=required, artifact_ids=_words(table, "artifact_ids")
            )
        except _BadDefinition as problem:
            self._complain(EXECUTION, doc_id, str(problem))

    def add_metric(self, doc_id: str, placed: Placed) -> None:
        path, _, table = placed
        self._places[METRIC, doc_id] = placed
        try:
            found = _metric(doc_id, path, table)
            other = self._metrics.get(found.name)
            if other is not None:
                raise _BadDefinition(f"{found.name!r} is the metric of {other.path} already")
            if table.get("command"):
                run = _runnable(doc_id, path, table)
                self._own_runs[found.name] = changed(run, measures=(found,))
            self._metrics[found.name] = found
        except _BadDefinition as problem:
            self._complain(METRIC, doc_id, str(problem))

    def definitions(self) -> Definitions:
        self._drop_blind_executions()
        executions = {doc_id: self._measuring(run) for doc_id, run in self._executions.items()}
        runs = {
            metric.name: run for run in reversed(executions.values()) for metric in run.measures
        }
        runs |= self._own_runs
        for name in self._metrics.keys() - runs.keys():
            metric = self._metrics.pop(name)
            what = "it has no command, and no execution document measures it"
            self._complain(METRIC, metric.id, what)
        broken = sorted(self._broken, key=lambda item: (item.finding.where, item.finding.line))
        return Definitions(executions, self._metrics, runs, broken=tuple(broken))

    def _drop_blind_executions(self) -> None:
        """One that should measure what cannot be measured must not pass for a good one (X-11)."""
        lost = {
            item.id.casefold()
            for item in self._broken
            if item.kind == METRIC and not self._places[METRIC, item.id][2].get("command")
        }
        for doc_id, run in list(self._executions.items()):
            blind = [name for name in (doc_id, *run.artifact_ids) if name.casefold() in lost]
            if blind:
                del self._executions[doc_id]
                self._complain(EXECUTION, doc_id, f"it measures {blind[0]}, whose metric is broken")

    def _measuring(self, run: Execution) -> Execution:
        """With the metrics that have no command of their own and belong to this execution."""
        named = {name.casefold() for name in (run.id, *run.artifact_ids)}
        return changed(
            run,
            measures=tuple(
                metric
                for metric in self._metrics.values()
                if metric.name not in self._own_runs
                and not named.isdisjoint((metric.id.casefold(), metric.name.casefold()))
            ),
        )

    def _complain(self, kind: str, doc_id: str, what: str) -> None:
        path, line, table = self._places[kind, doc_id]
        finding = Finding("definition", ERROR, path, line=line, what=f"{kind} {doc_id}: {what}")
        self._broken.append(broken(doc_id, kind, finding, table))


def _runnable(doc_id: str, path: str, table: dict[str, Any]) -> Execution:
    return Execution(
        doc_id,
        path,
        _command(table),
        cwd=_folder(table),
        env=_variables(table),
        timeout_ms=_timeout_ms(table),
    )


def _metric(doc_id: str, path: str, table: dict[str, Any]) -> Metric:
    direction = _text(table, "direction")
    if direction not in (LOWER, HIGHER):
        raise _BadDefinition(f"direction must be lower or higher, not {direction!r}")
    pattern = _text(table, "output_pattern")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        raise _BadDefinition(f"output_pattern is no regular expression: {problem}") from None
    unit = _text(table, "unit")
    is_ratchet, floor = _ratchet(table, unit)
    name = _text(table, "name") or doc_id
    return Metric(
        name=name,
        id=doc_id,
        path=path,
        unit=unit,
        direction=direction,
        pattern=pattern,
        tolerance=_tolerance(table),
        is_ratchet=is_ratchet,
        floor=floor,
    )


def _command(table: dict[str, Any]) -> CommandLine:
    given = table.get("command")
    words: list[Any] = given if isinstance(given, list) else [given]
    if not given or not all(isinstance(word, str) for word in words) or not words[0].strip():
        raise _BadDefinition("command must be a text or a list of words")
    if any("\0" in word for word in words):
        raise _BadDefinition("command holds a zero byte")
    return tuple(words) if isinstance(given, list) else words[0].strip()


def _folder(table: dict[str, Any]) -> str:
    """Below the project's root; what a symbolic link makes of it is looked at before a run."""
    given = _text(table, "cwd")
    if given.startswith(("/", "~")) or ".." in given.split("/") or "\0" in given:
        raise _BadDefinition(f"cwd must be a folder of the project, not {given!r}")
    return "/".join(part for part in given.split("/") if part not in ("", "."))


def _variables(table: dict[str, Any]) -> dict[str, str]:
    given = table.get("env") or {}
    if not isinstance(given, dict):
        raise _BadDefinition("env must be a table of names and texts")
    for name, text in given.items():
        if not isinstance(text, str) or "\0" in text or not _VARIABLE.fullmatch(str(name)):
            raise _BadDefinition(f"env: {name!r} cannot be set to {text!r}")
    return dict(given)


def _timeout_ms(table: dict[str, Any]) -> int:
    given = _text(table, "timeout_ms") or str(DEFAULT_TIMEOUT_MS)
    if not (given.isascii() and given.isdigit() and len(given) < 10 and int(given) > 0):
        raise _BadDefinition(f"timeout_ms must be a number of milliseconds, not {given!r}")
    return int(given)


def _tolerance(table: dict[str, Any]) -> Tolerance:
    given = _text(table, "tolerance") or "0"
    found = _AMOUNT.fullmatch(given)
    if found is None:
        raise _BadDefinition(f"tolerance must be a number such as 0.5 or 5%, not {given!r}")
    return Tolerance(float(found[1]), bool(found[2]))


def _ratchet(table: dict[str, Any], unit: str) -> tuple[bool, float | None]:
    """Whether it may get worse, and what a person set as its floor: a floor makes a ratchet."""
    given = table.get("ratchet")
    inner = given if isinstance(given, dict) else {}
    text = _text(table, "floor") or _text(inner, "floor")
    floor = read_number(text, unit=unit) if text else None
    if isinstance(floor, UnreadableNumber):
        raise _BadDefinition(f"floor: {floor.reason}")
    if inner or "ratchet" not in table:
        return bool(inner) or floor is not None, floor
    return _truth(table, "ratchet"), floor


def _truth(table: dict[str, Any], name: str) -> bool:
    given = _text(table, name).lower()
    if given not in _TRUTHS:
        raise _BadDefinition(f"{name} must be true or false, not {given!r}")
    return _TRUTHS[given]


def _words(table: dict[str, Any], name: str) -> tuple[str, ...]:
    given = table.get(name) or []
    words = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _BadDefinition(f"{name} must be a list of ids")
    return tuple(word.strip() for word in words if word.strip())


def _is_yes(text: str) -> bool:
    """Whatever is not clearly a no."""
    return _TRUTHS.get(text.strip().lower(), True)


def _text(table: dict[str, Any], name: str) -> str:
    given = table.get(name, "")
    if not isinstance(given, str):
        raise _BadDefinition(f"{name} must be a text, not {given!r}")
    return given.strip()

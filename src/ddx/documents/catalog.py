"""What a project lets one run and measure: every definition there is, and what came of it.

Definitions stand in documents, metrics in files of their own as well.
"""

from __future__ import annotations

import os

from ddx.base import ERROR, Finding, changed, value
from ddx.documents import page as front_matter
from ddx.documents.definitions import METRIC, BrokenDefinition, broken, define
from ddx.documents.run_records import read_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.documents.definitions import Definitions
    from ddx.documents.graph import Graph
    from ddx.documents.model import Placed
    from ddx.documents.run_records import RunHistory, RunRecord
    from ddx.project import Project

METRIC_FOLDER = "06-iterate/metrics"
_SUFFIXES = (".yaml", ".yml")
_LARGEST = 200_000


@value
class ExecutionLog:
    """What can be run in a project, and every run that is on record."""

    definitions: Definitions
    history: RunHistory

    @classmethod
    def read(cls, project: Project, document_roots: Sequence[str], graph: Graph) -> ExecutionLog:
        """As the files of the project say it now."""
        definitions = read_definitions(project.root, document_roots, graph)
        return cls(definitions, read_history(project))

    @property
    def last_runs(self) -> tuple[RunRecord, ...]:
        """Of each definition that ever ran, the newest run."""
        return tuple({item.definition_id: item for item in self.history.records}.values())


def read_definitions(root: str, document_roots: Sequence[str], graph: Graph) -> Definitions:
    """What can be run and measured in the checkout that the graph was made of."""
    return definitions_of(graph, *read_metrics(root, document_roots, graph))


def definitions_of(
    graph: Graph, metrics: Mapping[str, Placed], problems: Sequence[BrokenDefinition]
) -> Definitions:
    """The same from the metrics as they were read."""
    retired = {name for name in graph.executions if graph.is_superseded(graph.place[name])}
    found = define(graph.executions, metrics, retired=retired)
    return changed(found, broken=(*found.broken, *problems))


def read_metrics(
    root: str, document_roots: Sequence[str], graph: Graph
) -> tuple[dict[str, Placed], list[BrokenDefinition]]:
    """The metrics in documents and those in files of their own, and the files that are wrong."""
    metrics: dict[str, Placed] = dict(graph.metrics)
    problems: list[BrokenDefinition] = []
    for path in _metric_files(root, document_roots):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            table = front_matter.read(_content(root, path))
        except front_matter.BrokenFrontMatter as problem:
            what = problem.what.replace("the front matter", "the file")
            finding = Finding("definition", ERROR, path, line=max(problem.line - 1, 1), what=what)
            problems.append(BrokenDefinition(name, METRIC, finding))
            continue
        except (OSError, UnicodeDecodeError) as problem:
            finding = Finding("definition", ERROR, path, line=1, what=str(problem))
            problems.append(BrokenDefinition(name, METRIC, finding))
            continue
        name = str(table.get("name") or name)
        if name in metrics:
            what = f"the metric {name} is that of {metrics[name][0]} too; this file is left out"
            double = Finding("definition", ERROR, path, line=1, what=what)
            problems.append(broken(name, METRIC, double, table))
            continue
        metrics[name] = (path, 1, table)
    return metrics, problems


def is_metric_file(path: str, document_roots: Sequence[str]) -> bool:
    folder, _, name = path.rpartition("/")
    return name.endswith(_SUFFIXES) and folder in {
        _metric_folder(documents) for documents in document_roots
    }


def _metric_files(root: str, document_roots: Sequence[str]) -> Iterator[str]:
    for documents in document_roots:
        folder = _metric_folder(documents)
        try:
            names = sorted(os.listdir(os.path.join(root, folder)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from (f"{folder}/{name}" for name in names if name.endswith(_SUFFIXES))


def _metric_folder(documents: str) -> str:
    return os.path.normpath(f"{documents}/{METRIC_FOLDER}")


def _content(root: str, path: str) -> str:
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read(_LARGEST + 1)

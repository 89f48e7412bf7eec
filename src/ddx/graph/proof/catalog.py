"""Every definition of a project: those in documents, and metrics in files of their own."""

from __future__ import annotations

import os

from ddx.graph import front_matter
from ddx.graph.model import ERROR, Finding
from ddx.graph.proof.definitions import METRIC, Broken, define
from ddx.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.graph.graph import Graph
    from ddx.graph.model import Placed
    from ddx.graph.proof.definitions import Definitions

METRIC_FOLDER = "06-iterate/metrics"
_SUFFIXES = (".yaml", ".yml")
_LARGEST = 200_000


def read_definitions(root: str, document_roots: Sequence[str], graph: Graph) -> Definitions:
    """What can be run and measured in the checkout that the graph was made of."""
    metrics: dict[str, Placed] = dict(graph.metrics)
    broken: list[Broken] = []
    for path in _metric_files(root, document_roots):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            table = front_matter.read(_content(root, path))
        except front_matter.BrokenFrontMatter as problem:
            what = problem.what.replace("the front matter", "the file")
            finding = Finding("definition", ERROR, path, max(problem.line - 1, 1), what)
            broken.append(Broken(name, METRIC, finding))
            continue
        except (OSError, UnicodeDecodeError) as problem:
            broken.append(Broken(name, METRIC, Finding("definition", ERROR, path, 1, str(problem))))
            continue
        name = str(table.get("name") or name)
        if name in metrics:
            what = f"the metric {name} is that of {metrics[name][0]} too; this file is left out"
            broken.append(Broken(name, METRIC, Finding("definition", ERROR, path, 1, what)))
            continue
        metrics[name] = (path, 1, table)
    retired = {name for name in graph.executions if graph.is_superseded(graph.place[name])}
    found = define(graph.executions, metrics, retired=retired)
    return changed(found, broken=(*found.broken, *broken))


def _metric_files(root: str, document_roots: Sequence[str]) -> Iterator[str]:
    for documents in document_roots:
        folder = f"{documents.rstrip('/')}/{METRIC_FOLDER}"
        try:
            names = sorted(os.listdir(os.path.join(root, folder)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from (f"{folder}/{name}" for name in names if name.endswith(_SUFFIXES))


def _content(root: str, path: str) -> str:
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read(_LARGEST + 1)

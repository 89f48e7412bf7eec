"""A new document in its place: the next free number, and never over another file."""

from __future__ import annotations

import os

from ddx.base import Lock, Refused, UsageError, listed, make_folder, require_clean, value
from ddx.documents.model import type_of
from ddx.documents.templates import TEMPLATES, page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.base import Clock
    from ddx.documents.graph import Graph
    from ddx.documents.templates import Template
    from ddx.project import Project

_LOCK_WAIT_S = 10.0


@value
class CreatedDocument:
    """`path` is relative to the project's root."""

    id: str
    type: str
    path: str


def create_document(
    project: Project,
    document_roots: Sequence[str],
    graph: Graph,
    given_type: str,
    title: str,
    *,
    depends_on: Sequence[str] = (),
    own_fields: Sequence[str] = (),
    clock: Clock,
) -> CreatedDocument:
    """Write the template of a type; two processes at once get two numbers."""
    kind = require_type(given_type)
    title = " ".join(require_clean(title, what="the title").split())
    if not title:
        raise UsageError("a document needs a title", hint='for example: ddx doc new feat "Search"')
    upstream = tuple(dict.fromkeys(graph.ids[graph.require(name)] for name in depends_on))
    template = TEMPLATES[kind]
    home = document_roots[0].rstrip("/")
    make_folder(project.ddx("state"))
    lock = project.ddx("state", "documents.lock")
    with Lock(lock, wait_s=_LOCK_WAIT_S, clock=clock, command="ddx doc new"):
        while True:
            doc_id = _free_id(project, document_roots, graph, template)
            path = f"{home}/{template.path_of(doc_id, title)}"
            text = page(kind, doc_id, title, upstream, own_fields)
            if _write_new(os.path.join(project.root, path), text.encode("utf-8")):
                return CreatedDocument(doc_id, kind, path)
            if template.only_id:
                raise Refused(f"{path} exists already", hint="have a look at it: ddx doc validate")


def require_type(given: str) -> str:
    """The type that a person means: `feat`, `FEAT`, `feature` and `feature-spec` are one."""
    kind = type_of("", given, given)
    if kind not in TEMPLATES:
        types = listed(TEMPLATES, joiner="or")
        raise UsageError(f"there is no template for {given!r}", hint=f"a type is {types}")
    return kind


def _free_id(
    project: Project, document_roots: Sequence[str], graph: Graph, template: Template
) -> str:
    """Numbers of ids count, and so do those of files that could not be read as documents."""
    if not template.only_id:
        names = [*graph.ids, *_file_names(project.root, document_roots)]
        return template.free_id(names)
    taken = graph.find(template.only_id)
    if taken is not None:
        raise Refused(
            f"there is one {template.only_id} only, and it is {graph.paths[taken]}",
            hint=f"ddx doc show {template.only_id}",
        )
    return template.only_id


def _file_names(root: str, document_roots: Sequence[str]) -> Iterator[str]:
    for documents in document_roots:
        for _, _, names in os.walk(os.path.join(root, documents)):
            for name in names:
                yield name.rpartition(".")[0] or name


def _write_new(path: str, content: bytes) -> bool:
    """A whole new file or none; False if the name is taken."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        fd = os.open(path, flags, 0o644)
    except FileExistsError:
        return False
    try:
        with open(fd, "wb") as file:
            file.write(content)
    except OSError as problem:
        os.unlink(path)
        problem.filename = path
        raise
    return True

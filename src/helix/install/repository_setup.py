"""A repository made ready for HELIX: what is missing is made, what is there stays (P-5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.base import Refused, add_lines, replace, value
from ddx.documents import create_document, load_graph
from ddx.git import Repository
from ddx.project import read_settings
from ddx.tracker import set_up
from helix.project import own_folder, path_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.base import Clock
    from ddx.project import Project
    from ddx.tracker import Tracker

AGENTS = "AGENTS.md"
BEGIN = "<!-- helix: from here to the other mark this is kept by `helix init` -->"
END = "<!-- helix: end -->"
_SECTION = f"""\
{BEGIN}
## Work in this repository

Work is a queue of beads in `.ddx/`; what they must come to stands in documents under `docs/helix/`.

```sh
ddx bead ready              # what can be done now
ddx bead take               # claim the first of it; then edit, run its checks, commit
ddx bead close ID           # done, and proven
ddx doc show ID             # the document that governs a bead
helix status                # what needs a person, what runs, what is blocked
helix input "<request>"     # turn a wish into beads, in the right order
```

A document above has the last word over one below and over code. Do not edit `.ddx/` by hand.
{END}
"""
_LOGS = "/.helix-logs/\n"
_LARGEST = 1 << 20


def set_up_repository(
    project: Project,
    tracker: Tracker,
    *,
    launcher: str,
    clock: Clock,
    documents: str = "",
    trust: bool = False,
) -> Iterator[str]:
    """A sentence for each thing made; a second time there is none.

    `documents` is the title of a product to begin vision and requirements for; empty: none.
    """
    if not Repository(project.root).exists:
        raise Refused(f"{project.root} is no git repository", hint="git init, then: helix init")
    require_room(project)
    section = _plan_section(os.path.join(project.root, AGENTS))
    yield from set_up(project, tracker, launcher=launcher)
    if not os.path.isdir(path_in(project)):
        yield f"made {path_in(project)}"
    own_folder(project)
    if add_lines(os.path.join(project.root, ".gitignore"), _LOGS):
        yield f"told git to leave .helix-logs alone ({os.path.join(project.root, '.gitignore')})"
    if said := _write_section(section, project.root):
        yield said
    if documents:
        yield from _begin_documents(project, documents, clock=clock)
    if trust and project.grant_trust():
        yield f"{project.root} is trusted now"


def require_room(project: Project) -> None:
    """Nothing but a folder lies where ours shall be."""
    for path in (project.ddx(), path_in(project)):
        if os.path.lexists(path) and not os.path.isdir(path):
            raise Refused(
                f"{path} is no folder, and HELIX needs one of that name; nothing was changed",
                hint="move it away, then: helix init",
            )


@value
class _Section:
    """The file that agents read, and its text with our section in it."""

    path: str
    text: str
    is_new: bool


def _plan_section(path: str) -> _Section:
    """Ours is what stands between the marks; every other byte stays, and a link stays a link."""
    place = os.path.realpath(path)
    try:
        with open(place, encoding="utf-8", newline="") as file:
            there = file.read(_LARGEST + 1)
    except FileNotFoundError:
        there = ""
    except UnicodeDecodeError:
        raise Refused(
            f"{path} is no UTF-8, so no section can be added; nothing was changed",
            hint="save it as UTF-8, then: helix init",
        ) from None
    if len(there) > _LARGEST:
        raise Refused(
            f"{path} is longer than {_LARGEST:,} characters; nothing was changed",
            hint="shorten it, then: helix init",
        )
    wanted = _with_section(there, path)
    return _Section(place, wanted, wanted != there)


def _write_section(planned: _Section, root: str) -> str:
    """The sentence for it; empty: all was there."""
    if not planned.is_new:
        return ""
    path = os.path.join(root, AGENTS)
    if not planned.path.startswith(os.path.join(os.path.realpath(root), "")):
        return f"left {path} alone: it is a link to {planned.path}, outside of {root}"
    replace(planned.path, (planned.text.encode("utf-8"),), keep_mode=True)
    return f"wrote a section for agents into {path}"


def _with_section(there: str, path: str) -> str:
    """With the line ends that the file has, so that no editor and no git changes them again."""
    end = "\r\n" if there.partition("\n")[0].endswith("\r") else "\n"
    section = _SECTION.replace("\n", end)
    begins, ends = there.count(BEGIN), there.count(END)
    if (begins, ends) == (0, 0):
        gap = "" if not there else end if there.endswith("\n") else 2 * end
        return f"{there}{gap}{section}"
    before, _, rest = there.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if (begins, ends) != (1, 1) or not mark:
        raise Refused(
            f"the marks of our section in {path} are torn: {begins} begin, {ends} end; "
            "nothing was changed",
            hint="remove them and what is between them, then: helix init",
        )
    return f"{before}{section.rstrip()}{after}"


def _begin_documents(project: Project, title: str, *, clock: Clock) -> Iterator[str]:
    """Vision and requirements, each unless there is one."""
    roots = read_settings(project, clock=clock).document_roots
    for kind, above in (("vision", ()), ("prd", ("vision",))):
        graph = load_graph(project, roots, clock=clock)
        if graph.find(kind) is None:
            made = create_document(
                project, roots, graph, kind, title, depends_on=above, clock=clock
            )
            yield f"began {made.path}: fill it in, it has the last word"

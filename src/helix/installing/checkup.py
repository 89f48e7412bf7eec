"""Whether HELIX can work here, each finding with what mends it (P-6)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx import __version__
from ddx.errors import DdxError
from ddx.execution.checkup import Finding, examine_surroundings, looked_at
from ddx.git import common_folder
from ddx.graph.cache import load_graph
from ddx.graph.model import ERROR
from ddx.graph.templates import sections_for
from ddx.graph.validation import validate
from ddx.harnesses.examining import SCRIPTED, examine
from ddx.settings import read_settings
from ddx.text import counted, listed
from ddx.tracker.doctor.checkup import examine as examine_tracker
from ddx.tracker.doctor.links import INFO
from helix.installing.launchers import read_placed
from helix.installing.repository import require_room
from helix.installing.skills import validate_skills
from helix.memory.health import health_of
from helix.memory.opening import embedder_of, open_store
from helix.memory.store import database_path
from helix.resources import plugin_root, require_resources
from helix.run_lock import find_holder
from helix.settings import read_helix_settings
from helix.slider import read_slider

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.settings import Settings
    from ddx.tracker.store import Tracker
    from helix.settings import HelixSettings

OLDEST = (3, 11)
FIX = "helix doctor --fix"


def examine_machine(*, commands: Collection[str]) -> list[Finding]:
    """What does not depend on the repository."""
    return [
        looked_at("python", _look_at_python),
        looked_at("installation", lambda: _look_at_installation(commands)),
        looked_at("skills", _look_at_links),
    ]


def examine_repository(project: Project, tracker: Tracker, *, clock: Clock) -> Iterator[Finding]:
    """All that a run in this repository needs; one thing that is broken hides no other."""
    yield looked_at("set-up", lambda: _look_at_set_up(project))
    settings: list[Settings] = []
    policy: list[HelixSettings] = []

    def look_at_settings() -> str:
        settings.append(read_settings(project, clock=clock))
        policy.append(read_helix_settings(project, clock=clock))
        return f"settings are sound; autonomy is {read_slider(project, clock=clock).autonomy}"

    yield looked_at("settings", look_at_settings)
    yield looked_at("tracker", lambda: _look_at_tracker(tracker, settings))
    yield looked_at("run", lambda: _look_at_run(project))
    if policy:
        yield looked_at("memory", lambda: _look_at_memory(project, policy[0], clock))
    if settings:
        yield looked_at("documents", lambda: _look_at_documents(project, settings[0], clock))
        yield from examine_surroundings(project, settings[0], clock=clock)
        yield from _of_harnesses(project, settings[0])


def _look_at_python() -> str:
    spoken = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST:
        raise DdxError(f"this is Python {spoken}", hint="install Python 3.11 or newer")
    try:
        import numpy
        import yaml
    except ImportError as problem:
        raise DdxError(
            f"Python {spoken} has no {problem.name}", hint="install HELIX again, with what it needs"
        ) from None
    fast = "with" if hasattr(yaml, "CSafeLoader") else "without"
    return f"Python {spoken}, numpy {numpy.__version__}, YAML {fast} its C loader"


def _look_at_installation(commands: Collection[str]) -> str:
    require_resources()
    root = plugin_root()
    faults = validate_skills(root, commands=commands, version=__version__)
    if faults:
        first = f"{os.path.relpath(faults[0].path, root)} {faults[0].what}"
        raise DdxError(f"{counted(len(faults), 'fault')} in {root}: {first}", hint=_VALIDATE)
    return f"HELIX {__version__} in {root}"


_VALIDATE = "see all: helix skills validate; or install HELIX again"


def _look_at_links() -> str:
    placed = read_placed()
    gone = [it.path for it in placed if not (it.stands and os.path.exists(it.target))]
    if gone:
        raise DdxError(
            f"of what `helix install` put here, {counted(len(gone), 'thing')} changed or lost: "
            f"{gone[0]}",
            hint="put it back: helix install; or take all away: helix install --remove",
        )
    if not placed:
        return "skills come with the plugin alone; `helix install` would link them for all agents"
    return f"{counted(len(placed), 'link')} and launchers are in place"


def _look_at_set_up(project: Project) -> str:
    if not common_folder(project.root):
        raise DdxError(f"{project.root} is no git repository", hint="git init, then: helix init")
    require_room(project)
    missing = [
        name for name in (".ddx", ".helix") if not os.path.isdir(os.path.join(project.root, name))
    ]
    if missing:
        raise DdxError(f"{project.root} has no {listed(missing)}", hint=f"helix init, or: {FIX}")
    return f"{project.root} is set up"


def _look_at_tracker(tracker: Tracker, settings: list[Settings]) -> str:
    if not os.path.lexists(tracker.path) and not tracker.lineage.has_rows():
        raise DdxError("there is no tracker", hint=f"helix init, or: {FIX}")
    checks = settings[0].default_checks if settings else ()
    found = examine_tracker(tracker, machine=os.uname().nodename, default_checks=checks)
    bad = [it for it in found if it.severity != INFO]
    if bad:
        raise DdxError(
            f"{counted(len(bad), 'finding')} in the tracker: {bad[0].where}: {bad[0].what}",
            hint=f"see all: ddx bead doctor; mend what can be mended: {FIX}",
        )
    return f"the tracker is sound: {counted(len(tracker.snapshot().columns.ids), 'bead')}"


def _look_at_memory(project: Project, policy: HelixSettings, clock: Clock) -> str:
    if not os.path.lexists(database_path(project)):
        return "there is no memory yet; it begins with the first lesson"
    with open_store(project) as store:
        found = health_of(store, embedder_of(project, policy, clock=clock))
    if found.issues:
        raise DdxError(found.issues[0], hint="see: helix memory health")
    return found.sentence


def _look_at_documents(project: Project, settings: Settings, clock: Clock) -> str:
    graph = load_graph(project, settings.document_roots, clock=clock)
    errors = [it for it in validate(graph, sections_for) if it.severity == ERROR]
    if errors:
        first = f"{errors[0].path}:{errors[0].line} {errors[0].what}"
        raise DdxError(
            f"{counted(len(errors), 'error')} in the documents: {first}",
            hint="see all: ddx doc validate",
        )
    return f"{counted(len(graph), 'document')} and no error"


def _look_at_run(project: Project) -> str:
    holder = find_holder(project)
    return holder.sentence if holder else "no run is active"


def _of_harnesses(project: Project, settings: Settings) -> Iterator[Finding]:
    """Agents that are installed or set up; whether a model answers is `ddx agent doctor --ask`."""
    found = [
        it
        for it in examine(project, settings)
        if it.kind not in SCRIPTED and (it.is_installed or it.name in settings.harnesses)
    ]
    if not found:
        cure = "install one, such as claude or codex; then: ddx agent list"
        yield Finding("harness", False, "no agent program is installed", cure)
    for it in found:
        if it.detected.ok:
            said = f"{it.name} {it.detected.version or 'is installed'}"
            yield Finding(
                "harness", True, f"{said}; does it answer? ddx agent doctor {it.name} --ask"
            )
        else:
            cure = f"mend it, then: ddx agent doctor {it.name}"
            yield Finding("harness", False, f"{it.name}: {it.detected.problem}", cure)

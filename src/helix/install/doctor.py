"""Whether HELIX can work here, each finding with what mends it, and what it mends itself (P-6)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx import __version__
from ddx.agents import Harnesses
from ddx.attempts import examine_surroundings, open_site, reconcile
from ddx.base import DdxError, Finding, counted, listed
from ddx.documents import load_graph
from ddx.git import Repository
from ddx.project import read_settings
from ddx.proof import propose_checks
from ddx.tracker import examine as examine_tracker
from ddx.tracker import id_prefix, treat
from helix.install import launchers
from helix.install.repository_setup import require_room, set_up_repository
from helix.install.skill_checks import validate_skills
from helix.memory import database_path, embedder_of, health_of, open_store
from helix.project import plugin_root, read_helix_settings, read_slider, require_resources
from helix.run import find_holder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ddx.base import Clock
    from ddx.project import Project, Settings
    from ddx.tracker import Tracker
    from helix.project import HelixSettings

OLDEST = (3, 11)
FIX = "helix doctor --fix"


def examine_machine(*, commands: Collection[str]) -> list[Finding]:
    """What does not depend on the repository."""
    return [
        Finding.look("python", _look_at_python),
        Finding.look("installation", lambda: _look_at_installation(commands)),
        Finding.look("skills", _look_at_links),
    ]


def examine_repository(project: Project, tracker: Tracker, *, clock: Clock) -> Iterator[Finding]:
    """All that a run in this repository needs; one thing that is broken hides no other."""
    yield Finding.look("set-up", lambda: _look_at_set_up(project))
    settings: list[Settings] = []
    policy: list[HelixSettings] = []

    def look_at_settings() -> str:
        settings.append(read_settings(project, clock=clock))
        policy.append(read_helix_settings(project, clock=clock))
        return f"settings are sound; autonomy is {read_slider(project, clock=clock).autonomy}"

    yield Finding.look("settings", look_at_settings)
    yield Finding.look("tracker", lambda: _look_at_tracker(tracker, settings))
    yield Finding.look("run", lambda: _look_at_run(project))
    if policy:
        yield Finding.look("memory", lambda: _look_at_memory(project, policy[0], clock))
    if settings:
        yield _of_checks(project, settings[0])
        yield Finding.look("documents", lambda: _look_at_documents(project, settings[0], clock))
        yield from examine_surroundings(project, settings[0], clock=clock)
        yield from _of_harnesses(project, settings[0])


def _of_checks(project: Project, settings: Settings) -> Finding:
    """What proves work here; without any check that is a warning (R-1)."""
    proposal = propose_checks(project, settings)
    if proposal is None:
        return Finding.ok("checks", f"work is proven by {settings.spoken_checks}")
    cure = "name one in .ddx/config.yaml: checks: {default: [...]}"
    if proposal.has_test:
        cure = f"{proposal.sentences[0]}; to use it: helix init --yes"
    what = "no check is set, so only a bead's own checks prove it"
    return Finding.warning("checks", what, cure=cure)


def _look_at_python() -> str:
    spoken = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST:
        raise DdxError(f"this is Python {spoken}", hint="install Python 3.11 or newer")
    try:
        import numpy

        from ddx.base import Nodes
    except ImportError as problem:
        raise DdxError(
            f"Python {spoken} has no {problem.name}", hint="install HELIX again, with what it needs"
        ) from None
    fast = "with" if Nodes.is_fast else "without"
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
    placed = launchers.read_placed()
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
    if not Repository(project.root).exists:
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
    bad = [it for it in found if it.needs_work]
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
    errors = [it for it in graph.validate() if it.is_error]
    if errors:
        first = f"{errors[0].where}:{errors[0].line} {errors[0].what}"
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
        for it in Harnesses(settings).examine(project)
        if not it.is_scripted and (it.is_installed or it.name in settings.harnesses)
    ]
    if not found:
        cure = "install one, such as claude or codex; then: ddx agent list"
        yield Finding.fault("harness", "no agent program is installed", cure=cure)
    for it in found:
        if it.detected.ok:
            said = f"{it.name} {it.detected.version or 'is installed'}"
            what = f"{said}; does it answer? ddx agent doctor {it.name} --ask"
            yield Finding.ok("harness", what)
        else:
            cure = f"mend it, then: ddx agent doctor {it.name}"
            yield Finding.fault("harness", f"{it.name}: {it.detected.problem}", cure=cure)


# -- `helix doctor --fix` ----------------------------------------------------------------------


def mend(
    project: Project, tracker: Tracker, *, clock: Clock, tell: Callable[[str], None]
) -> Iterator[str]:
    """A sentence for each thing mended without losing a byte; a second time there is none."""
    if os.path.lexists(tracker.path) or tracker.lineage.has_rows():
        for fix in treat(tracker, fix=True, bring_back=False, new_id=_new_id):
            yield f"tracker: {fix.where}: {fix.what}"
    yield from set_up_repository(
        project, tracker, launcher=launchers.launcher_of("ddx"), clock=clock
    )
    if placed := launchers.read_placed():
        yield from launchers.install(skills_only=all(it.is_link for it in placed))
    if project.is_trusted():
        site = open_site(project, lambda happening: None, clock=clock, tell=tell)
        yield from (done.sentence for done in reconcile(site))


def _new_id(old: str) -> str:
    """For a second bead under one id (T-14)."""
    return f"{id_prefix(old.rpartition('-')[0] or old)}-{os.urandom(4).hex()}"

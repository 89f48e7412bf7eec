"""The optional fence around agents and checks: bubblewrap, with nothing more than they need (X-23).

Inside, the machine can be read but for its home, temporary and run-time folders: those are empty,
and lost at the end. Only the workspace, our scratch folders and the agent's own settings can be
written. With `network: false` there is loopback and nothing else. With `network: true` all that
listens on this machine's network can be talked to, abstract sockets too.

To stop what runs inside means to kill it: bwrap dies of the first signal, and all of it with bwrap.
"""

from __future__ import annotations

import os
import sys
from shutil import which
from typing import TYPE_CHECKING

import ddx
from ddx.base import ATTEMPT, PROJECT_ROOT, DdxError, for_children, process, variable
from ddx.git import NOBODY, GitIdentity, common_folder, find_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.attempts.attempt import AttemptTask

_TEMPORARY = "/tmp"  # noqa: S108 -- inside, it is nobody else's
_HIDDEN = (_TEMPORARY, "/var/tmp", "/run", "/root", "/home")  # noqa: S108
"""Where people's files, secrets and the sockets of daemons are: docker's would open every fence."""
_FOR_NAMES = (
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf/resolv.conf",
)
"""What /etc/resolv.conf may lead to; without it no name of the network is known."""
_SWITCHES = tuple(
    f"/proc/{name}" for name in ("acpi", "fs", "mtrr", "scsi", "sys", "sysrq-trigger")
)
"""Root may write here without any capability: by core_pattern it runs programs outside (tried)."""
_TELLTALE = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GPG_AGENT_INFO",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
)
"""They lead to the operator's session, which is not there."""
_PROBE_S = 20.0
_MOST_STORES = 20


def wrapper(
    task: AttemptTask, workspace: str, *, scratch: Sequence[str], for_agent: bool = True
) -> Callable[[Sequence[str]], Sequence[str]]:
    """How the commands of an attempt are started: as they are, or fenced if the settings say so.

    Only an agent gets at its own settings and login; a check has no business there.
    """
    wanted = task.settings.sandbox
    if wanted.kind == "none":
        return lambda argv: argv
    for folder in scratch:
        os.makedirs(folder, exist_ok=True)
    objects = os.path.join(common_folder(task.project.root), "objects")
    readable = (
        task.project.ddx(),
        *borrowed_stores(objects),
        *our_own_folders(),
        *tool_folders(variable("PATH")),
    )

    def fenced(argv: Sequence[str]) -> Sequence[str]:
        return sandboxed(
            argv,
            workspace=workspace,
            scratch=scratch,
            homes=task.homes if for_agent else (),
            readable=(*readable, *places_of(which(argv[0]) or "")),
            home=os.path.expanduser("~"),
            network=wanted.network,
            objects=objects,
        )

    _require_start(fenced(["true"]))
    return fenced


def require_bubblewrap(*, network: bool = True) -> None:
    """Go on only if bwrap is here and the machine lets it work."""
    _require_start((*_fences(network=network), *_machine(), "--", "true"))


def sandboxed(
    argv: Sequence[str],
    *,
    workspace: str,
    scratch: Sequence[str] = (),
    homes: Sequence[str] = (),
    readable: Sequence[str] = (),
    home: str,
    network: bool,
    objects: str,
) -> tuple[str, ...]:
    """The same command inside the fence; of the disk it asks only what exists and where links lead.

    It begins in the folder in which it is started, which must be the workspace or below it.
    `homes` are below `home` and can be written, as can `scratch`. `objects` is the project's git
    object store, which the workspace shares. What is given in two ways gets the wider one, but a
    hidden folder as a whole is never given.
    """
    home = os.path.realpath(home)
    hidden = [place for place in map(os.path.realpath, (*_HIDDEN, home)) if _can_hide(place)]
    writable = [workspace, *scratch]
    own = [os.path.join(home, name) for name in homes]
    masked = [*hidden, *map(os.path.realpath, writable)]
    mounts: dict[str, tuple[str, ...]] = {}
    for path in (*readable, objects, *(_FOR_NAMES if network else ())):
        for name in _names(path, hidden):
            if _is_below(name, masked):  # all else can be read anyway
                mounts[name] = ("--ro-bind-try", path, name)
    for path in own:
        mounts |= {name: ("--bind-try", path, name) for name in _names(path, hidden)}
    for path in writable:
        mounts |= {name: ("--bind", path, name) for name in _names(path, hidden)}
    mounts |= {place: ("--tmpfs", place) for place in hidden}
    return (
        *_fences(network=network),
        *_machine(),
        *(
            word
            for name in sorted(mounts)  # each after what holds it
            if not _is_linked(name, mounts)
            for word in mounts[name]
        ),
        *(word for name in _TELLTALE for word in ("--unsetenv", name)),
        *("--setenv", "HOME", home, "--setenv", "TMPDIR", _TEMPORARY, "--", *argv),
    )


def places_of(program: str) -> Iterator[str]:
    """What must be readable to run a program: itself and what lies beside it, links followed.

    A path that is not absolute means a file of the workspace, and is no concern of ours.
    """
    if not os.path.isabs(program):
        return
    for path in (program, os.path.realpath(program)):
        yield path
        yield os.path.dirname(path)
    packages, node_modules, _ = os.path.realpath(program).partition("/node_modules/")
    if node_modules:
        yield packages + node_modules


def tool_folders(path: str) -> Iterator[str]:
    """The folders of a PATH, and the libraries beside them; what else lies there may be secret."""
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        yield folder
        if os.path.basename(folder) == "bin":
            yield from (os.path.join(os.path.dirname(folder), name) for name in ("lib", "libexec"))


def borrowed_stores(objects: str) -> list[str]:
    """The object stores that this one shares in its turn."""
    found: list[str] = []
    waiting = [objects]
    while waiting and len(found) < _MOST_STORES:
        store = waiting.pop()
        try:
            with open(os.path.join(store, "info", "alternates"), encoding="utf-8") as file:
                lines = [line.strip() for line in file]
        except (OSError, UnicodeDecodeError):
            continue
        new = [os.path.normpath(os.path.join(store, line)) for line in lines if line]
        new = [place for place in new if place not in (objects, *found)]
        found += new
        waiting += new
    return found


def _require_start(argv: Sequence[str]) -> None:
    off = "or do without: `sandbox: {kind: none}` in .ddx/config.yaml"
    if which("bwrap") is None:
        raise DdxError(
            "the settings ask for a sandbox by bubblewrap, but there is no bwrap here",
            hint=f"install it, for example: apt-get install bubblewrap; {off}",
        )
    done = process.run(argv, cwd="/", timeout_s=_PROBE_S)
    if not done.ok:
        raise DdxError(
            f"bubblewrap cannot make a sandbox here: {done.complaint or f'exit {done.code}'}",
            hint="allow user namespaces (sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; "
            f"in a container its security options); {off}",
        )


def _fences(*, network: bool) -> tuple[str, ...]:
    """As root bwrap keeps every capability, and could undo its own mounts with them (tried)."""
    return (
        *("bwrap", "--cap-drop", "ALL", "--unshare-pid", "--unshare-ipc"),
        *(() if network else ("--unshare-net",)),
        *("--die-with-parent", "--new-session"),
    )


def _machine() -> tuple[str, ...]:
    """The machine as it is, read-only, with devices and processes of our own."""
    locked = (word for path in _SWITCHES for word in ("--ro-bind-try", path, path))
    return ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *locked)


def _can_hide(place: str) -> bool:
    return place != "/" and os.path.isdir(place)


def _names(path: str, hidden: Sequence[str]) -> set[str]:
    """Where a path must appear: at its real place, and where it was called if that is hidden."""
    called = os.path.normpath(path)
    return {os.path.realpath(path), *([called] if _is_below(called, hidden) else ())}


def _is_linked(name: str, mounts: Mapping[str, Sequence[str]]) -> bool:
    """Does a link in a folder that is given lead to its real place? One cannot mount on a link."""
    if name == os.path.realpath(name):
        return False
    above = [other for other in mounts if other != name and _is_below(name, [other])]
    return bool(above) and mounts[max(above, key=len)][0] != "--tmpfs"


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in places)


_OURS = (
    *("HELIX_ACTION", "DDX_BEAD_ID", "DDX_BEAD_IDS"),
    *(ATTEMPT, PROJECT_ROOT, "DDX_EVIDENCE_DIR"),
)


def child_environment(
    *,
    action: str,
    beads: Sequence[str],
    attempt: str,
    project_root: str,
    evidence_dir: str = "",
    author: GitIdentity | None = None,
) -> dict[str, str]:
    """The whole environment of an agent, a check or a set-up command.

    What an attempt around ours said of itself is replaced. `author` is named where no variable
    names one.
    """
    said = {
        "HELIX_ACTION": action,
        "DDX_BEAD_ID": beads[0] if beads else "",
        "DDX_BEAD_IDS": " ".join(beads) if len(beads) > 1 else "",
        ATTEMPT: attempt,
        PROJECT_ROOT: project_root,
        "DDX_EVIDENCE_DIR": evidence_dir,
    }
    found = dict(for_children())
    if author is not None:
        for role in ("AUTHOR", "COMMITTER"):
            found.setdefault(f"GIT_{role}_NAME", author.name)
            found.setdefault(f"GIT_{role}_EMAIL", author.email)
    found["PATH"] = with_our_commands(found.get("PATH", os.defpath))
    # Some programs believe PWD more than the folder they were started in (opencode: tried).
    kept = {name: text for name, text in found.items() if name not in (*_OURS, "PWD", "OLDPWD")}
    return {**kept, **{name: text for name, text in said.items() if text}}


def environment_for(
    env: Mapping[str, str], *, more: Mapping[str, str], without: Sequence[str]
) -> dict[str, str]:
    """The same for a program that wants some variables besides and others not to be there.

    What we say of the attempt stands: by it all that the program starts is found and ended (X-6).
    """
    kept = {name: text for name, text in env.items() if name not in without}
    kept.update(more)
    kept["PATH"] = with_our_commands(kept.get("PATH", os.defpath))
    ours = {name: text for name, text in env.items() if name in _OURS}
    return {name: text for name, text in kept.items() if name not in _OURS} | ours


def missing_author(folder: str, *, is_home_hidden: bool) -> GitIdentity | None:
    """Who must be named because a child's git would find nobody; None if it finds one by itself.

    Variables outweigh the settings of every repository, a test's own too: none without need.
    """
    found = find_identity(folder)
    if found is None:
        return NOBODY
    return found if is_home_hidden else None


def with_our_commands(path: str) -> str:
    """A PATH on which agents find our `ddx`, to read the tracker; as it was if we have none.

    A folder that holds nothing else comes first. One with other programs comes last: none of them
    may stand in for the project's own.
    """
    folders = [folder for folder in path.split(os.pathsep) if folder]
    ours = os.path.join(_checkout(), "bin")
    if os.access(os.path.join(ours, "ddx"), os.X_OK):
        return os.pathsep.join([ours, *(folder for folder in folders if folder != ours)])
    scripts = os.path.dirname(sys.executable)
    if os.access(os.path.join(scripts, "ddx"), os.X_OK) and scripts not in folders:
        folders.append(scripts)
    return os.pathsep.join(folders)


def our_own_folders() -> tuple[str, ...]:
    """What `ddx` and its interpreter are made of: whoever hides the rest must leave these."""
    package = os.path.dirname(os.path.realpath(ddx.__file__))
    environment = os.path.dirname(os.path.dirname(sys.executable))
    found = [os.path.dirname(package), sys.base_prefix]
    if os.path.exists(os.path.join(environment, "pyvenv.cfg")):
        found.append(environment)
    if os.access(os.path.join(_checkout(), "bin", "ddx"), os.X_OK):
        found.append(_checkout())
    return tuple(dict.fromkeys(found))


def _checkout() -> str:
    """Where `src/ddx` lies, if we run from a checkout and not from an installed package."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(ddx.__file__))))

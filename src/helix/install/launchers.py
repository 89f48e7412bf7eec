"""Skills where agents look for them and two commands on the PATH; undone as exactly (P-3, D-16).

What we put somewhere is written down first. Only what is still as we left it is taken away.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx.base import CorruptFile, JsonFile, Refused, changed, replace, value, variable
from helix.project import find_resources, require_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROGRAMS = ("helix", "ddx")
_EXECUTABLE = 0o755
_LAUNCHER = """\
#!/bin/sh
# Put here by `helix install`.
target=TARGET
if [ ! -x "$target" ]; then
    echo "helix: $target is gone; where HELIX lies now, type: bin/helix install" >&2
    exit 127
fi
exec "$target" "$@"
"""


@value
class InstalledItem:
    """One thing of ours on this machine: a link to a skill, or a launcher."""

    path: str
    target: str
    is_link: bool

    @property
    def content(self) -> bytes:
        return _LAUNCHER.replace("TARGET", _quoted(self.target)).encode()

    @property
    def stands(self) -> bool:
        """Is it there, exactly as we put it?"""
        try:
            if self.is_link:
                return os.readlink(self.path) == self.target
            with open(self.path, "rb") as file:
                return not os.path.islink(self.path) and file.read() == self.content
        except OSError:
            return False


@value
class InstallRecord:
    """All of ours on this machine, and the folders that were made for it, the deepest first."""

    placed: tuple[InstalledItem, ...] = ()
    made: tuple[str, ...] = ()


def install(*, skills_only: bool = False) -> Iterator[str]:
    """A sentence for each thing put somewhere; nothing of anybody else is replaced."""
    require_resources()
    wanted = [*_skills(), *(() if skills_only else _launchers())]
    before = read_record()
    known = {it.path: it for it in before.placed}
    taken = [it.path for it in wanted if _is_foreign(it, known.get(it.path))]
    if taken:
        raise Refused(
            f"{taken[0]} is there and is not ours; nothing was changed",
            hint="move it away, then: helix install",
        )
    missing = [it for it in wanted if not it.stands]
    kept = {it.path: it for it in wanted}
    old = [it for it in known.values() if it.path not in kept and _is_out_of_use(it)]
    made = {*before.made, *_missing_folders([*kept, _record_path()])}
    record = InstallRecord(
        tuple({**known, **kept}.values()), tuple(sorted(made, key=len, reverse=True))
    )
    _write_record(record)
    for it in missing:
        _put(it)
    yield from _spoken("linked", "wrote", missing)
    yield from _taken_away(old)
    if old:
        gone = {it.path for it in old}
        left = tuple(it for it in record.placed if it.path not in gone)
        _write_record(changed(record, placed=left))


def remove() -> Iterator[str]:
    """A sentence for what was taken away and for what was left, as somebody changed it since."""
    record = read_record()
    yield from _taken_away(record.placed)
    if os.path.exists(_record_path()):
        os.unlink(_record_path())
    for folder in record.made:
        _remove_empty(folder)


def _missing_folders(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        while not os.path.isdir(path := os.path.dirname(path)):
            yield path


def _taken_away(placed: Iterable[InstalledItem]) -> Iterator[str]:
    standing = [it for it in placed if it.stands]
    altered = [it for it in placed if not it.stands and os.path.lexists(it.path)]
    for it in standing:
        os.unlink(it.path)
    yield from _spoken("removed", "removed", standing)
    for it in altered:
        yield f"left {it.path}: it is not as we put it"


def _is_out_of_use(it: InstalledItem) -> bool:
    """A link to a skill that HELIX no longer has."""
    return it.is_link and not os.path.exists(it.target)


def _spoken(of_link: str, of_launcher: str, placed: Iterable[InstalledItem]) -> Iterator[str]:
    """A sentence for each launcher, and one for all skills in a folder."""
    folders: dict[str, list[InstalledItem]] = {}
    for it in placed:
        if it.is_link:
            folders.setdefault(os.path.dirname(it.path), []).append(it)
        else:
            yield f"{of_launcher} {it.path}"
    for folder, links in folders.items():
        named = os.path.basename(links[0].path)
        what = f"the skill {named}" if len(links) == 1 else f"{len(links)} skills"
        yield f"{of_link} {what} in {folder}"


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # somebody has put something of theirs there, or was faster
        return


def read_placed() -> tuple[InstalledItem, ...]:
    return read_record().placed


def read_record() -> InstallRecord:
    try:
        found = JsonFile(_record_path()).read()
        rows = (
            InstalledItem(row["path"], row["target"], row["is_link"]) for row in found["placed"]
        )
        return InstallRecord(tuple(rows), tuple(map(str, found["made"])))
    except FileNotFoundError:
        return InstallRecord()
    except (ValueError, TypeError, KeyError):
        raise CorruptFile(
            f"{_record_path()} cannot be read",
            hint="remove it; what `helix install` put somewhere is then yours to remove",
        ) from None


def launcher_of(program: str) -> str:
    """The program by its full path: of a checkout its own, else the one beside what runs us."""
    checkout = os.path.join(os.path.dirname(find_resources("workflows")), "bin", program)
    if os.access(checkout, os.X_OK):
        return checkout
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), program)
    if os.access(beside, os.X_OK):
        return beside
    return os.path.join(os.path.dirname(sys.executable), program)


def skill_folders() -> list[str]:
    """Where agents look for skills of a person (D-16)."""
    home = os.path.expanduser("~")
    homes = (
        os.path.join(home, ".agents"),
        variable("CLAUDE_HOME") or os.path.join(home, ".claude"),
        variable("CODEX_HOME") or os.path.join(home, ".codex"),
    )
    return [os.path.join(folder, "skills") for folder in homes]


def _skills() -> Iterator[InstalledItem]:
    source = find_resources("skills")
    names = sorted(entry.name for entry in os.scandir(source) if entry.is_dir())
    for folder in skill_folders():
        for name in names:
            yield InstalledItem(
                os.path.join(folder, name), os.path.join(source, name), is_link=True
            )


def launcher_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".local", "bin")


def are_on_path() -> bool:
    """Would a shell find what we put there?"""
    return launcher_folder() in variable("PATH").split(os.pathsep)


def _launchers() -> Iterator[InstalledItem]:
    for name in PROGRAMS:
        path = os.path.join(launcher_folder(), name)
        target = launcher_of(name)
        if os.path.realpath(path) != os.path.realpath(target):  # pipx has put its own there
            yield InstalledItem(path, target, is_link=False)


def _is_foreign(wanted: InstalledItem, known: InstalledItem | None) -> bool:
    """There, and neither what we want nor what we put there earlier."""
    if not os.path.lexists(wanted.path) or wanted.stands:
        return False
    return known is None or not known.stands


def _put(it: InstalledItem) -> None:
    os.makedirs(os.path.dirname(it.path), exist_ok=True)
    if not it.is_link:
        replace(it.path, (it.content,))
        os.chmod(it.path, _EXECUTABLE)
        return
    beside = f"{it.path}.tmp-{os.getpid()}"
    os.symlink(it.target, beside)
    os.replace(beside, it.path)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _record_path() -> str:
    from platformdirs import user_state_path

    return str(user_state_path("helix") / "installed.json")


def _write_record(record: InstallRecord) -> None:
    rows = [dict(it.__dict__) for it in record.placed]
    JsonFile(_record_path()).write({"placed": rows, "made": list(record.made)})

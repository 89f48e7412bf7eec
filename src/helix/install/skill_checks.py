"""Whether the skills are what agents can load and people can trust (P-4)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ddx.base import BrokenYaml, JsonFile, Nodes, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PAGE = "SKILL.md"
MANIFESTS = (
    ".claude-plugin/plugin.json",
    ".claude-plugin/marketplace.json",
    ".codex-plugin/plugin.json",
)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_PAGE = 64, 1024, 40_000
_FIELDS = frozenset({"name", "description", "argument-hint"})
_STATE = ("when", "before", "after")
_PATHS = re.compile(r"(?:\(|`)((?:\./|\.\./)?(?:assets|references|scripts|workflows)/[\w./-]+)")
_COMMANDS = re.compile(r"(?<![\w./-])helix ([a-z][a-z-]*)")


@value
class SkillFault:
    """What is wrong with one file, and what would mend it."""

    path: str
    what: str
    cure: str


def validate_skills(root: str, *, commands: Collection[str], version: str) -> list[SkillFault]:
    """Every fault of the skills under a root, and of the manifests beside them."""
    folder = os.path.join(root, "skills")
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    faults = [fault for name in names for fault in _of_skill(folder, name, commands)]
    if "helix" not in names:
        faults.append(
            SkillFault(folder, "there is no skill helix", "restore skills/helix/SKILL.md")
        )
    loose = sorted(entry.name for entry in os.scandir(folder) if not entry.is_dir())
    faults += [
        SkillFault(
            os.path.join(folder, name), "belongs to no skill", "move it to workflows/ or a skill"
        )
        for name in loose
    ]
    shared = os.path.join(root, "workflows")
    if not os.path.isdir(shared):  # P-3
        faults.append(
            SkillFault(shared, "is missing: the skills lead to it", "install HELIX again")
        )
    return [*faults, *_of_manifests(root, version)]


def _of_skill(folder: str, name: str, commands: Collection[str]) -> Iterator[SkillFault]:
    path = os.path.join(folder, name, PAGE)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LONGEST_PAGE + 1)
    except (OSError, UnicodeDecodeError):
        yield SkillFault(path, "is missing or cannot be read", "write it, as UTF-8")
        return
    if len(text) > _LONGEST_PAGE:
        yield SkillFault(
            path, f"is longer than {_LONGEST_PAGE:,} characters", "move parts to assets"
        )
    head = _head(text)
    if isinstance(head, str):
        yield SkillFault(path, head, "begin with ---, name and description, ---")
        return
    yield from _of_head(path, name, head)
    if name != "helix" and name.removeprefix("helix-") not in commands:
        yield SkillFault(path, f"no command is called {name.removeprefix('helix-')!r}", "rename it")
    for word in sorted(set(_COMMANDS.findall(text)) - set(commands)):
        yield SkillFault(path, f"names `helix {word}`, which is no command", "see: helix --help")
    yield from _of_files(path, text)


def _head(text: str) -> dict[str, Any] | str:
    """The front matter, or what is wrong with it."""
    opened, _, rest = text.partition("\n")
    block, mark, _ = rest.partition("\n---\n")
    if opened != "---" or not mark:
        return "has no front matter"
    try:
        found = Nodes(block).values()
    except BrokenYaml as problem:
        return f"line {problem.line + 1}: the front matter is no YAML that we read: {problem.what}"
    return found if isinstance(found, dict) else "the front matter is no mapping"


def _of_head(path: str, name: str, head: dict[str, Any]) -> Iterator[SkillFault]:
    for field in ("name", "description"):
        if not isinstance(head.get(field), str) or not head[field].strip():
            yield SkillFault(path, f"has no {field}", f"add `{field}:` to its front matter")
            return
    for field in sorted(set(map(str, head)) - _FIELDS):
        yield SkillFault(
            path, f"has the unknown field {field!r}", f"known: {', '.join(sorted(_FIELDS))}"
        )
    if head["name"] != name:
        yield SkillFault(
            path, f"calls itself {head['name']!r}", f"its folder is {name!r}: be the same"
        )
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        yield SkillFault(
            path, f"{name!r} is no name for a skill", "small letters, digits and hyphens"
        )
    said = head["description"]
    if len(said) > _LONGEST_DESCRIPTION:
        yield SkillFault(path, f"its description has {len(said)} characters", "at most 1024")
    if not said.casefold().startswith(_STATE):
        yield SkillFault(path, "its description names no state", "begin with When, Before or After")


def _of_files(path: str, text: str) -> Iterator[SkillFault]:
    """A skill's own files lie beside it, shared ones in workflows/; scripts can be run."""
    here = os.path.dirname(path)
    root = os.path.dirname(os.path.dirname(here))
    for name in sorted(set(_PATHS.findall(text))):
        base = root if name.startswith("workflows/") else here
        if not os.path.exists(os.path.join(base, name)):
            yield SkillFault(
                path, f"names {name}, which is not there", "mend the path or add the file"
            )
    for folder, _, files in os.walk(os.path.join(here, "scripts")):
        for name in sorted(files):
            if not os.access(os.path.join(folder, name), os.X_OK):
                yield SkillFault(os.path.join(folder, name), "cannot be run", "chmod +x it")
    shared = os.path.join(root, "workflows")
    for folder, _, files in os.walk(here):
        for name in sorted(files):
            if name != PAGE and os.path.exists(os.path.join(shared, name)):
                doubled = os.path.join(folder, name)
                yield SkillFault(doubled, "stands in workflows/ too", "keep the shared one")


def _of_manifests(root: str, version: str) -> Iterator[SkillFault]:
    """Of a checkout or a plugin; a wheel has none."""
    is_plugin = os.path.isdir(os.path.join(root, ".claude-plugin"))
    for name in MANIFESTS if is_plugin else ():
        path = os.path.join(root, name)
        try:
            found = JsonFile(path).read(largest=_LONGEST_PAGE)
        except (OSError, ValueError):
            yield SkillFault(path, "is missing or no JSON", "restore it")
            continue
        rows = found.get("plugins", [found])
        said = {str(row.get("version", "")) for row in rows if isinstance(row, dict)}
        if said != {version}:
            yield SkillFault(path, f"says version {', '.join(sorted(said))}", f"this is {version}")

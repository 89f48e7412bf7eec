"""A clone that shares the project's objects and nothing else (X-3a).

It is what `git clone --shared --no-checkout` makes with its origin removed, written by hand: that
command copies everything where the project is itself a shallow clone, and refuses where the
operator forbids the `file` protocol. Stash, settings, hooks and branches are the clone's own, so
nothing that is done to them reaches the operator's. Submodules are not initialised.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ddx.git import require, run
from ddx.project import WORKSPACE_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.git.repository import Repository

_CARRIED_SETTINGS = (
    r"^(user\.(name|email)|extensions\.objectformat|filter\..*"
    r"|core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode))$"
)
# No daemon and no question to a person may come out of an agent's own git commands.
_OWN_SETTINGS = (
    ("core.bare", "false"),
    ("core.logallrefupdates", "true"),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
)


def make_clone(repository: Repository, folder: str, *, base: str, branch: str, owner: str) -> None:
    """Make `folder` a clone, detached at `base`; `ddx` in it acts on the project at `owner`.

    It has the operator's tags, since versions are often made of them, and his branch at the base.
    """
    found = _settings_of(repository)
    git_folder = os.path.join(folder, ".git")
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        os.makedirs(os.path.join(git_folder, name))
    objects = os.path.join(repository.common_folder, "objects")
    _write(git_folder, "objects/info/alternates", f"{objects}\n")
    _write(git_folder, "config", _config_text([*found, *_OWN_SETTINGS, _format_of(found)]))
    _write(git_folder, "packed-refs", f"{base} {branch}\n{_tags_of(repository)}")
    _write(git_folder, WORKSPACE_MARK, f"{owner}\n")
    for name in ("shallow", "info/exclude", "info/attributes"):
        original = os.path.join(repository.common_folder, name)
        if os.path.exists(original):
            shutil.copyfile(original, os.path.join(git_folder, name))
    _write(git_folder, "HEAD", f"{base}\n")


def _settings_of(repository: Repository) -> list[tuple[str, str]]:
    """What the operator set for this repository and a clone elsewhere would not see."""
    asked = run(repository.checkout, "config", "-z", "--get-regexp", _CARRIED_SETTINGS)
    found = (entry.partition("\n") for entry in os.fsdecode(asked.stdout).split("\0") if entry)
    return [(name, text if newline else "true") for name, newline, text in found]


def _format_of(settings: list[tuple[str, str]]) -> tuple[str, str]:
    has_extension = any(name.startswith("extensions.") for name, _ in settings)
    return "core.repositoryformatversion", "1" if has_extension else "0"


def _tags_of(repository: Repository) -> str:
    form = "--format=%(objectname) %(refname)"
    listed = run(repository.checkout, "for-each-ref", form, "refs/tags")
    require(listed, "git for-each-ref")
    return os.fsdecode(listed.stdout)


def _config_text(settings: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"[{_section(name)}]\n\t{name.rpartition('.')[2]} = {_quoted(text)}\n"
        for name, text in settings
    )


def _section(name: str) -> str:
    section, _, rest = name.partition(".")
    subsection = rest.rpartition(".")[0]
    return f"{section} {_quoted(subsection)}" if subsection else section


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def _write(git_folder: str, name: str, text: str) -> None:
    with open(os.path.join(git_folder, name), "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)

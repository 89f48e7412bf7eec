"""Which version runs, and in a checkout which commit; git is not started for that (C-7)."""

from __future__ import annotations

import os

from ddx import __version__

_SHORT_COMMIT = 12


def version_of(program: str, *, root: str = "") -> str:
    """One line; `root` is the checkout, ours if none is named."""
    build = _commit(root or _our_root())[:_SHORT_COMMIT]
    return f"{program}, version {__version__}{f' (build {build})' if build else ''}"


def _our_root() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))


def _commit(root: str) -> str:
    """What HEAD names; empty for a wheel, and where the files of git do not say it plainly."""
    folder = os.path.join(root, ".git")
    if pointer := _text(folder).removeprefix("gitdir:").strip():  # a linked worktree
        folder = os.path.join(root, pointer)
    head = _text(os.path.join(folder, "HEAD")).strip()
    name = head.removeprefix("ref:").strip()
    if name == head:
        return head
    common = os.path.join(folder, _text(os.path.join(folder, "commondir")).strip())
    return _text(os.path.join(common, name)).strip() or _packed(common, name)


def _packed(folder: str, name: str) -> str:
    for line in _text(os.path.join(folder, "packed-refs")).splitlines():
        commit, _, known = line.partition(" ")
        if known == name:
            return commit
    return ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

"""The one place that reads YAML: too large, too deep or too tangled is refused before it is built.

PyYAML crashes on deep nesting, and a text of a few hundred characters whose aliases name one
another unfolds to gigabytes. Load this module only where YAML is met: PyYAML costs 10 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from yaml import events

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1 << 20
DEEPEST = 20
MOST_ALIASES = 10
"""With ten of them a text cannot unfold to more than forty times its size (G-10)."""

_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXTS: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_UNREADABLE = (ValueError, LookupError, AttributeError, TypeError, OverflowError)
"""How PyYAML fails on `2026-13-01`, `!!bool perhaps`, `!!timestamp never`, ..."""


class BrokenYaml(Exception):
    """What is wrong, and in which line of the text; line 0 if no line can be named."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line

    def at(self, path: str) -> str:
        """The problem as one sentence that names the file and the line."""
        return f"{path}:{self.line}: {self.what}" if self.line else f"{path}: {self.what}"


class Nodes:
    """A text as PyYAML's nodes, each with its line; `top` is None where nothing is written."""

    is_fast = hasattr(yaml, "CSafeLoader")
    """Whether PyYAML was built with its reader in C."""

    def __init__(self, content: str | bytes, *, largest: int = LARGEST) -> None:
        _require_harmless(content, _SAFE, largest)
        self._content = content
        self._loader = _SAFE(content)
        self.top: Any = _spoken(content, self._loader.get_single_node)

    def values(self) -> Any:
        """What the whole text means: numbers, texts, lists and tables."""
        if self.top is None:
            return None
        try:
            return _spoken(self._content, lambda: self._loader.construct_document(self.top))
        except _UNREADABLE as problem:
            raise BrokenYaml(str(problem)) from None

    def value_of(self, node: Any) -> Any:
        """What a node means: a number, a text, a list, ..."""
        try:
            return _spoken("", lambda: self._loader.construct_object(node, deep=True))
        except _UNREADABLE as problem:
            raise BrokenYaml(str(problem), node.start_mark.line + 1) from None


def read_texts(content: str | bytes) -> Any:
    """The whole text as texts, lists and tables: `id: 007` stays 007."""
    _require_harmless(content, _TEXTS, LARGEST)
    return _spoken(content, lambda: yaml.load(content, _TEXTS))  # noqa: S506


def _require_harmless(content: str | bytes, loader: Any, largest: int) -> None:
    if len(content) > largest:
        raise BrokenYaml(f"larger than {largest:,} characters", 1)
    _spoken(content, lambda: _require_small(content, loader))


def _require_small(content: str | bytes, loader: Any) -> None:
    aliases = 0
    opened: list[str | None] = []
    for event in yaml.parse(content, loader):
        line = event.start_mark.line + 1
        if isinstance(event, events.CollectionStartEvent):
            opened.append(event.anchor)
        elif isinstance(event, events.CollectionEndEvent):
            opened.pop()
        elif isinstance(event, events.AliasEvent):
            aliases += 1
            if event.anchor in opened:
                raise BrokenYaml(f"*{event.anchor} stands inside of itself", line)
        if len(opened) > DEEPEST:
            raise BrokenYaml("nested too deeply", line)
        if aliases > MOST_ALIASES:
            raise BrokenYaml("full of aliases", line)


def _spoken(content: str | bytes, read: Callable[[], Any]) -> Any:
    """What `read` gives; PyYAML's errors as ours."""
    try:
        return read()
    except yaml.reader.ReaderError as problem:
        raw = content.encode() if isinstance(content, str) else content
        line = raw[: problem.position].count(b"\n") + 1
        is_text = "not allowed" in str(problem.reason)
        what = "it holds a control character" if is_text else "it is no UTF-8 text"
        raise BrokenYaml(what, line) from None
    except yaml.MarkedYAMLError as problem:
        raise BrokenYaml(problem.problem or "cannot be read", _line_of(content, problem)) from None
    except yaml.YAMLError as problem:
        raise BrokenYaml(str(problem).partition("\n")[0]) from None


def _line_of(content: str | bytes, problem: yaml.MarkedYAMLError) -> int:
    """At the end of a text a mistake was missed, not made: then its context says where."""
    mark = problem.problem_mark
    ends = content.count("\n") if isinstance(content, str) else content.count(b"\n")
    if mark and content and mark.line >= ends:
        mark = problem.context_mark or mark
    return mark.line + 1 if mark else 0

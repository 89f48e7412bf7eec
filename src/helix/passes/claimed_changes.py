"""What a pass claims of its own work, held against what it really made (A-2). Pure."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from ddx.base import value
from helix.passes.follow_ups import FollowUpList

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from helix.passes.reply import TrailerValues

    PassClaim: TypeAlias = Callable[[TrailerValues, "PassChanges"], str]
    """What is not so about a trailer, in a sentence; empty if nothing is."""


@value
class PassChanges:
    """What a pass left behind, as the commit has it and not as anybody tells."""

    files: frozenset[str] = frozenset()
    """Every regular file of the tree."""
    touched: frozenset[str] = frozenset()
    """Files that are new or changed by the pass."""
    created: tuple[str, ...] = ()
    """Documents that were not there before."""
    documents: tuple[str, ...] = ()
    """Documents that are not as they were: new, changed or gone."""
    proposed: FollowUpList = FollowUpList()
    """The drafts that it printed."""
    texts: Callable[[str], str] = lambda path: ""
    """What a touched file says."""


def names_report(key: str) -> PassClaim:
    """The file is there, and this very pass wrote it."""

    def claim(found: TrailerValues, made: PassChanges) -> str:
        path = report_path(found.text(key))
        if path not in made.files:
            return f"{key} names {path}, and there is no such file in the repository"
        if path not in made.touched:
            return f"{key} names {path}, which this pass neither made nor changed"
        return ""

    return claim


def report_path(said: str) -> str:
    return normpath(said)


def counts_created(key: str) -> PassClaim:
    return _counts(key, lambda made: len(made.created), "new documents")


def counts_changed(key: str) -> PassClaim:
    return _counts(key, lambda made: len(made.documents), "changed documents")


def counts_drafts(key: str) -> PassClaim:
    """Each needs a draft that can be read, so that the tracker gains or names just as many."""
    return _counts(key, lambda made: len(made.proposed.found), "drafts that can be read")


def is_within(key: str, most: int) -> PassClaim:
    def claim(found: TrailerValues, made: PassChanges) -> str:
        said = found.count(key)
        return "" if 1 <= said <= most else f"{key} is {said}, and {most} were asked for at most"

    return claim


def has_word(key: str, words: tuple[str, ...]) -> PassClaim:
    """Of all words that the action knows, only these fit what was asked."""

    def claim(found: TrailerValues, made: PassChanges) -> str:
        said = found.text(key)
        return "" if said in words else f"{key} is {said}, which was not asked for"

    return claim


def quotes_metric(key: str) -> PassClaim:
    """What the benchmark printed stands in a document that this pass wrote."""

    def claim(found: TrailerValues, made: PassChanges) -> str:
        line = f"METRIC {found.text(key)}"
        for path in sorted(made.touched):
            if any(line == each.strip() for each in made.texts(path).splitlines()):
                return ""
        return f"{key} is {found.text(key)}, but no document of this pass has the line {line!r}"

    return claim


def _counts(key: str, count: Callable[[PassChanges], int], of: str) -> PassClaim:
    def claim(found: TrailerValues, made: PassChanges) -> str:
        said, there = found.count(key), count(made)
        return "" if said == there else f"{key} is {said}, but there are {there} {of}"

    return claim

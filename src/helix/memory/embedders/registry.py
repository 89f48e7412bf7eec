"""Which embedder is meant: ours, none, a library, an endpoint, or one of another package (M-5).

A package brings one along as an entry point: a class or function without arguments that gives an
Embedder.

    [project.entry-points."helix.embedders"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import Clock, DdxError, listed
from helix.memory.embedders import NoEmbedder

if TYPE_CHECKING:
    from helix.memory.embedders import Embedder

ENTRY_POINTS = "helix.embedders"
SHIPPED = "minilm"
OFF = "off"

_SCHEMES = ("http://", "https://")


def open_embedder(
    said: str, *, is_trusted: bool, cache: str = "", clock: Clock = Clock()
) -> Embedder | NoEmbedder:
    """What `memory.embedder` means, or why recall must do without.

    A setting can come with a repository, and all but our own model hands its memories to others:
    that is only done for one that is trusted (X-22). `cache` is a folder for what is measured.
    """
    if said == OFF:
        return NoEmbedder("memory.embedder is off", is_chosen=True)
    if said == SHIPPED:
        from helix.memory.embedders.minilm import open_minilm

        return open_minilm()
    if not is_trusted:
        return NoEmbedder(
            f"memory.embedder is {_spoken(said)}, but this repository is not trusted",
            hint="look at it, then: helix trust",
        )
    if said.lower().startswith(_SCHEMES):
        from helix.memory.embedders.http import open_endpoint

        return open_endpoint(said, clock=clock, cache=cache)
    return _installed(said, cache=cache)


def _installed(said: str, *, cache: str) -> Embedder | NoEmbedder:
    from importlib.metadata import entry_points

    from helix.memory.embedders.custom import LIBRARIES, open_library

    name, _, model = said.partition(":")
    if name in LIBRARIES:
        return open_library(name, model, cache=cache)
    entries = entry_points(group=ENTRY_POINTS)
    if said not in entries.names:
        known = listed([SHIPPED, OFF, *LIBRARIES, *sorted(entries.names)], joiner="or")
        return NoEmbedder(
            f"memory.embedder is {said!r}, and no package here has such an embedder",
            hint=f"it is {known}, or an http address",
        )
    entry = entries[said]
    try:
        made: Embedder = entry.load()()
    except (ImportError, AttributeError, TypeError, ValueError, OSError, RuntimeError) as problem:
        return NoEmbedder(f"the embedder {said} cannot be made: {problem}")
    except DdxError as problem:
        return NoEmbedder(f"the embedder {said} cannot be made: {problem}", hint=problem.hint)
    return made


def _spoken(said: str) -> str:
    """Without an address, which may hold a secret."""
    return "an http address" if said.lower().startswith(_SCHEMES) else repr(said)

"""`helix implement`: `helix build` by its older name."""

from __future__ import annotations

from ddx.values import changed
from helix.cli import build

COMMAND = changed(
    build.COMMAND,
    path="implement",
    summary="Another name for `helix build`.",
    example="helix implement area:parser",
)

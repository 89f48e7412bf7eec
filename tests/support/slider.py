"""The slider as it stands where nobody has said anything, but for what a test says."""

from __future__ import annotations

from typing import Any

from helix.project.settings import SLIDER, AutonomySettings


def slider_with(**said: Any) -> AutonomySettings:
    """A key inside a section is said by its last name: `max_depth=1`."""
    found = {name: key.default for name, key in SLIDER.keys.items()}
    names = {name.rpartition(".")[2]: name for name in found}
    return AutonomySettings(found | {names[name]: given for name, given in said.items()}, {})

"""`ddx config show`"""

from __future__ import annotations

from ddx.cli.context import here, settings
from ddx.console import settings_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _read() -> tuple[Mapping[str, Any], Mapping[str, str]]:
    found = settings(here())
    return found.found, found.origins


COMMAND = settings_command("ddx", "Show the settings of this project.", _read, schema="config")

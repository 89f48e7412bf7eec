"""What both commands, `ddx` and `helix`, are made of: command tables, click, errors, the screen."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.console.bead_flags import FIELD_FLAGS, field_flags
    from ddx.console.chart import line_chart
    from ddx.console.command import ID, IF_REVISION, JSON, REASON, Argument, Command, Flag, Program
    from ddx.console.error_handler import Interruption, has_person, leave
    from ddx.console.screen import (
        USUAL_WIDTH,
        StyledText,
        answer,
        answer_json,
        bold,
        columns,
        cut_to,
        dim,
        excerpt,
        notice,
        say,
        table,
        terminal_width,
        when,
        wrapped,
        write,
    )
    from ddx.console.settings_table import settings_command
else:
    __getattr__ = door(
        __name__,
        bead_flags="FIELD_FLAGS field_flags",
        chart="line_chart",
        command="Argument Command Flag ID IF_REVISION JSON Program REASON",
        error_handler="Interruption has_person leave",
        screen=(
            "StyledText USUAL_WIDTH answer answer_json bold columns cut_to dim excerpt notice "
            "say table terminal_width when wrapped write"
        ),
        settings_table="settings_command",
    )

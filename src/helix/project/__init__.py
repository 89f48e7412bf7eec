"""The settings of the policy, and what every pass works with."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.project.context import (
        NAME,
        Agent,
        PassContext,
        find_resources,
        model_for,
        own_folder,
        path_in,
        plugin_root,
        require_resources,
    )
    from helix.project.settings import (
        Autonomy,
        AutonomySettings,
        HelixSettings,
        NotifyRoute,
        read_helix_settings,
        read_slider,
    )
else:
    __getattr__ = door(
        __name__,
        context=(
            "Agent NAME PassContext find_resources model_for own_folder path_in plugin_root "
            "require_resources"
        ),
        settings=(
            "Autonomy AutonomySettings HelixSettings NotifyRoute read_helix_settings read_slider"
        ),
    )

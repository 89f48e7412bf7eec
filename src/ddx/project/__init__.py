"""Which project a folder belongs to, its settings, and whether its operator trusts it."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project.project import Project, find_checkout, find_project, trusted
    from ddx.project.settings import DefaultCheck, Settings, read_layers, read_settings
    from ddx.project.settings_keys import SettingKey, SettingsTable
else:
    __getattr__ = door(
        __name__,
        project="Project find_checkout find_project trusted",
        settings="DefaultCheck Settings read_layers read_settings",
        settings_keys="SettingKey SettingsTable",
    )

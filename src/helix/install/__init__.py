"""Putting HELIX into a repository and onto a machine, and removing it again."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.install.doctor import examine_machine, examine_repository, mend
    from helix.install.launchers import launcher_of
    from helix.install.repository_setup import set_up_repository
    from helix.install.skill_checks import validate_skills
else:
    __getattr__ = door(
        __name__,
        doctor="examine_machine examine_repository mend",
        launchers="launcher_of",
        repository_setup="set_up_repository",
        skill_checks="validate_skills",
    )

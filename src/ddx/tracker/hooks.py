"""A project's own say on its beads: two small programs, if it has them (T-15)."""

from __future__ import annotations

import os

from ddx.environment import for_children
from ddx.errors import Refused
from ddx.process import run
from ddx.tracker.codec import encode
from ddx.trust import require_trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.project import Project
    from ddx.tracker.model import Row

TIME_LIMIT_S = 5.0
_ACCEPTED, _WARNED = 0, 2


class Hooks:
    """`.ddx/hooks/validate-bead-{create,update}`: 0 accepts, 1 rejects, 2 warns."""

    def __init__(
        self,
        project: Project,
        *,
        tell: Callable[[str], None],
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        self._project = project
        self._tell = tell
        self._time_limit_s = time_limit_s

    def approve(self, old: Row | None, new: Row) -> None:
        """Return if the bead may be written as it is."""
        name = f"validate-bead-{'create' if old is None else 'update'}"
        path = self._project.ddx("hooks", name)
        if not os.path.exists(path):
            return
        require_trust(self._project, to_run=f".ddx/hooks/{name}")
        if not os.access(path, os.X_OK):
            raise Refused(f"{path} cannot be executed, so no bead can pass it")
        done = run(
            [path],
            cwd=self._project.root,
            env=for_children({"DDX_PROJECT_ROOT": self._project.root}),
            timeout_s=self._time_limit_s,
            stdin=encode(new) + b"\n",
        )
        if done.timed_out:
            raise Refused(f"{name} took longer than {self._time_limit_s:g} s; nothing was written")
        if done.code == _WARNED:
            self._tell(f"{name} warns about {new['id']}: {done.complaint}")
        elif done.code != _ACCEPTED:
            said = done.complaint or f"exit {done.code}"
            raise Refused(f"{name} rejects {new['id']}: {said}")


def approval(project: Project, *, tell: Callable[[str], None]) -> Callable[[Row | None, Row], None]:
    """The project's own say on new and changed beads, where it has any."""
    if not os.path.isdir(project.ddx("hooks")):
        return lambda old, new: None
    return Hooks(project, tell=tell).approve

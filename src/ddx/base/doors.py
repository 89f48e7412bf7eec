"""The names that a room shows to others, each imported when it is first asked for (PEP 562)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def door(room: str, **names: str) -> Callable[[str], object]:
    """The `__getattr__` of a room's `__init__`: each module with the names that it shows.

    `a__b` stands for the module `a.b` of the room.
    """
    homes = {
        name: f"{room}.{module.replace('__', '.')}"
        for module, shown in names.items()
        for name in shown.split()
    }

    def find(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found: object = getattr(__import__(home, fromlist=[name]), name)
        setattr(sys.modules[room], name, found)
        return found

    return find

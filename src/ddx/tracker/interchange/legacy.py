"""The tracker of HELIX's first years (.helix/issues.jsonl), which kept any key it was given.

| theirs           | ours                                      |
|------------------|-------------------------------------------|
| type             | issue_type                                |
| created, updated | created_at, updated_at                    |
| assignee         | owner                                     |
| deps             | dependencies of type `blocks`             |
| all others       | as they are                               |

Edges that hold more than an id, and every other thing `deps` cannot say, go to `ddx` on export.
"""

from __future__ import annotations

from ddx.tracker.interchange.dialect import (
    IMPORTED,
    REMAINDER,
    Dialect,
    fit_words,
    given_names,
    renamed,
    silent,
    unwrap_beside,
    wrap_beside,
)
from ddx.tracker.row import Row, blockers_of, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.interchange.dialect import Say

NAMES = {
    "type": "issue_type",
    "created": "created_at",
    "updated": "updated_at",
    "assignee": "owner",
    "deps": "dependencies",
}
NOT_AT_THE_TOP = frozenset({"deps", REMAINDER, IMPORTED})


def _into(found: Row, say: Say) -> Row:
    row = fit_words(renamed(found, NAMES, say), say)
    if "deps" in found:
        row["dependencies"] = [
            {"issue_id": row["id"], "depends_on_id": other, "type": "blocks"}
            for other in texts_of(found, "deps")
        ]
    return row


def _out(row: Row) -> Row:
    named = given_names(fit_words(row, silent), NAMES)
    found = {name: named[name] for name in named if name not in NOT_AT_THE_TOP}
    if "dependencies" in row:
        found["deps"] = list(blockers_of(row))
    return found


HELIX = Dialect(name="helix-legacy", into=_into, out=_out, wrap=wrap_beside, unwrap=unwrap_beside)

"""GitHub's issues, as the REST interface or `gh issue list --json` gives them.

| theirs              | ours                                                                  |
|---------------------|-----------------------------------------------------------------------|
| number              | id `<prefix>-gh<number>`, so that importing twice finds the same bead |
| body                | description; task lists stay text                                     |
| state, state_reason | open, closed; closed as not planned or as a duplicate is cancelled    |
| labels              | labels, by name; the first that names a type of ours says issue_type  |
| type                | issue_type                                                            |
| assignees           | owner is the first; all of them under assignees if there are several  |
| user                | created_by                                                            |
| milestone           | milestone, by title                                                   |
| createdAt and such  | created_at and such                                                   |
| html_url            | external_ref                                                          |

An export is REST-shaped. GitHub lets a caller set only what `EDITABLE` names, so all else of a
bead goes into an HTML comment at the end of the body, and an import of that issue restores the
bead under its own id.

The page does not show that comment, and whoever opens an issue can write one: `verify` is a list
of commands. So it is read only where REST says that the author belongs to the repository, as our
own export does; `gh` does not say, so there it stays text. A note names every field brought back.
"""

from __future__ import annotations

import re

from ddx.base import loads, to_bytes, word_set
from ddx.tracker.interchange.dialect import OUR_KEYS, REMAINDER, TYPE_ALIASES, Dialect, is_remainder
from ddx.tracker.row import (
    DEFAULT_PRIORITY,
    FINISHED,
    RUNNER,
    TYPES,
    Row,
    labels_of,
    status_of,
    text_of,
    texts_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.tracker.interchange.dialect import Say

REST_NAMES = {
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "closedAt": "closed_at",
    "stateReason": "state_reason",
    "author": "user",
    "url": "html_url",
}
OUR_NAMES = {
    "body": "description",
    "state": "status",
    "state_reason": "status",
    "type": "issue_type",
    "assignees": "owner",
    "user": "created_by",
    "html_url": "external_ref",
}
BY_NAME = word_set("title labels milestone created_at updated_at closed_at")
PAGE_ONLY = word_set(
    """
    id node_id repository repository_url labels_url comments_url events_url timeline_url
    locked active_lock_reason author_association reactions performed_via_github_app
    sub_issues_summary issue_dependencies_summary closed_by draft score closed isPinned
    reactionGroups projectCards projectItems
    """
)
EDITABLE = word_set("id title body state state_reason labels assignees milestone")
INSIDERS = word_set("OWNER MEMBER COLLABORATOR")
REASONS = {
    "closed": ("completed",),
    "cancelled": ("not_planned", "duplicate"),
    "open": ("", "reopened"),
}
"""What GitHub may say of each status; the first is what we say."""

_COMMENT = f"<!-- {REMAINDER} "
_COMMENT_END = "-->"
_NO_COMMENT = f"<!-- not from {REMAINDER}: "
_LINE_ENDS = re.compile(r"(?:\r?\n){1,2}\Z")
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")
_OWN_NUMBER = re.compile(r".+-gh([1-9][0-9]{0,17})")


# In


def _admit(found: Row, prefix: str, say: Say) -> Row | str:
    """The issue under REST's names and with our id, without what only its page needs."""
    if found.get("pull_request") is not None:
        return f"pull request {found.get('number')}, not an issue"
    issue: Row = {}
    for key in found:
        name = REST_NAMES.get(key, key)
        if key in PAGE_ONLY or (name != key and name in found) or _is_count(key, found):
            say("skipped", key, "belongs to GitHub's page")
        elif key == "assignee":
            say("skipped", key, "one of the assignees")
        else:
            issue[name] = found[key]
            if name != key:
                say("mapped", key, f"to {name}")
    if not issue.get("assignees") and found.get("assignee"):
        issue["assignees"] = [found["assignee"]]
    if _is_number(found.get("number")):
        issue["id"] = f"{prefix}-gh{found['number']}"
        say("mapped", "number", f"to id {issue['id']}")
    if found.get("author_association") not in INSIDERS and _COMMENT in text_of(issue, "body"):
        issue["body"] = issue["body"].replace(_COMMENT, _NO_COMMENT)
        say("changed", "body", "its ddx comment is not read: REST does not vouch for the author")
    return issue


def _into(found: Row, say: Say) -> Row:
    labels = _words(found.get("labels"), "name")
    logins = _words(found.get("assignees"), "login")
    row: Row = {
        "id": found["id"],
        "status": _status(found),
        "priority": DEFAULT_PRIORITY,
        "issue_type": _issue_type(found, labels, say),
    }
    told = {
        "title": text_of(found, "title"),
        "description": text_of(found, "body"),
        "labels": labels,
        "owner": logins[0] if logins else "",
        "assignees": logins if len(logins) > 1 else [],
        "created_by": _word(found.get("user"), "login"),
        "milestone": _word(found.get("milestone"), "title"),
        "created_at": text_of(found, "created_at"),
        "updated_at": text_of(found, "updated_at"),
        "closed_at": text_of(found, "closed_at"),
        "external_ref": text_of(found, "html_url"),
        "state_reason": _unusual_reason(row["status"], found),
    }
    row |= {key: words for key, words in told.items() if words}
    return row | _others(found, row, say)


def _others(found: Row, row: Row, say: Say) -> Row:
    """What else the issue says, and a note on each of its fields that is not as it was."""
    others: Row = {}
    for key in sorted(found.keys() - {"id", "number"}):
        if key in OUR_NAMES or key in BY_NAME:
            _say_how(key, found, row, say)
        elif key in OUR_KEYS or key in row:
            say("skipped", key, "means another thing here")
        else:
            others[key] = found[key]
            say("kept", key, "under its own name")
    return others


def _say_how(key: str, found: Row, row: Row, say: Say) -> None:
    ours = OUR_NAMES.get(key, key)
    if not found[key]:
        return
    if ours not in row:
        say("skipped", key, "unreadable")
    elif ours != key:
        say("mapped", key, f"to {ours}")
    elif row[ours] != found[key]:
        say("changed", key, "only the names")


def _status(found: Row) -> str:
    if text_of(found, "state").lower() != "closed":
        return "open"
    return "cancelled" if _reason(found) in REASONS["cancelled"] else "closed"


def _reason(found: Row) -> str:
    return text_of(found, "state_reason").lower()


def _unusual_reason(status: str, found: Row) -> str:
    """The reason, if export would not say it by itself."""
    reason = _reason(found)
    return reason if reason in REASONS[status][1:] else ""


def _issue_type(found: Row, labels: list[str], say: Say) -> str:
    """GitHub's own type, else the first label that names one of ours."""
    if named := _word(found.get("type"), "name").lower():
        return TYPE_ALIASES.get(named, named)
    for label in labels:
        name = TYPE_ALIASES.get(label.lower(), label.lower())
        if name in TYPES:
            say("mapped", "labels", f"{label} to issue_type {name}")
            return name
    return "task"


def _is_count(key: str, found: Row) -> bool:
    return key == "comments" and not isinstance(found[key], list)


def _is_number(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and found > 0


def _words(found: Any, key: str) -> list[str]:
    items = found if isinstance(found, list) else []
    return [word for item in items if (word := _word(item, key))]


def _word(found: Any, key: str) -> str:
    """The name in `{"name": "bug"}`; a plain text is one already."""
    return (text_of(found, key) if isinstance(found, dict) else text_of({key: found}, key)).strip()


# Out


def _out(row: Row) -> Row:
    status = status_of(row)
    found: Row = {"id": row["id"], "state": "closed" if status in FINISHED else "open"}
    if number := _OWN_NUMBER.fullmatch(row["id"]):
        found["number"] = int(number[1])
    told = {
        "title": text_of(row, "title"),
        "body": text_of(row, "description"),
        "state_reason": _reason_out(row, status),
        "labels": [{"name": label} for label in labels_of(row)],
        "assignees": [{"login": login} for login in _logins(row)],
        "user": _object("login", row.get("created_by")),
        "milestone": _object("title", row.get("milestone")),
        "created_at": text_of(row, "created_at"),
        "updated_at": text_of(row, "updated_at"),
        "closed_at": text_of(row, "closed_at") if status in FINISHED else "",
        "html_url": text_of(row, "external_ref"),
    }
    return found | {key: words for key, words in told.items() if words}


def _reason_out(row: Row, status: str) -> str:
    allowed = REASONS.get(status, ("",))
    said = text_of(row, "state_reason")
    return said if said in allowed else allowed[0]


def _logins(row: Row) -> tuple[str, ...]:
    """The assignees, as far as GitHub may know them: a runner or a full name is none."""
    owner = text_of(row, "owner")
    if owner == RUNNER or not _LOGIN.fullmatch(owner):
        return ()
    several = texts_of(row, "assignees")
    return several if several[:1] == (owner,) else (owner,)


def _object(key: str, found: Any) -> Row:
    return {key: word} if (word := _word(found, key)) else {}


def _editable(found: Row) -> Row:
    return {key: found[key] for key in found if key in EDITABLE}


# Our remainder


def _wrap_in_comment(found: Row, rest: Row) -> Row:
    """The comment cannot be ended from inside: the codec escapes `>`."""
    comment = f"{_COMMENT}{to_bytes(rest).decode()} {_COMMENT_END}"
    body = text_of(found, "body")
    issue = {key: found[key] for key in found if key != "id"}  # theirs is a number that they draw
    return {
        **issue,
        "author_association": "OWNER",  # of a file that we write ourselves
        "body": f"{body}\n\n{comment}" if body else comment,
    }


def _unwrap_comment(found: Row) -> tuple[Row, Row]:
    before, mark, after = text_of(found, "body").rpartition(_COMMENT)
    held, end, trailing = after.rpartition(_COMMENT_END)
    if not mark or not end or trailing.strip():
        return found, {}
    try:
        rest = loads(held)
    except ValueError:
        return found, {}
    if not is_remainder(rest):
        return found, {}
    bare = {**found, "id": rest.get("id", found.get("id")), "body": _LINE_ENDS.sub("", before)}
    return bare, rest


GITHUB = Dialect(
    name="github",
    admit=_admit,
    into=_into,
    out=_out,
    wrap=_wrap_in_comment,
    unwrap=_unwrap_comment,
    lasting=_editable,
    always_wraps=True,
    keeps_theirs=False,
)

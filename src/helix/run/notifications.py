"""Word to a person who is not looking: a program, an address or the desktop (S-26a).

What is told follows from two states of the run, one boundary apart. A route that fails is noted in
the journal, which is the record; it never stops a run and never holds it up for long.
"""

from __future__ import annotations

import threading
from http.client import HTTPException
from shutil import which
from typing import TYPE_CHECKING

from ddx.base import Clock, DdxError, cut, run, shown, to_bytes, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helix.project import NotifyRoute
    from helix.run.journal import RunState

LIMIT_S = 5.0
"""For all routes together: they are told at the same time."""
BUDGET_SHARE = 0.8
DESKTOP = "desktop"

_PERSON = 4
_LONGEST_TEXT = 500
_FAILURES = (OSError, HTTPException, ValueError, DdxError)


@value
class Notice:
    """One thing worth a word; `occasion` is one of helix.project.settings.OCCASIONS."""

    occasion: str
    text: str


def notices_between(
    before: RunState,
    after: RunState,
    *,
    max_cost_usd: float | None = None,
    max_tokens: int | None = None,
) -> tuple[Notice, ...]:
    """What happened from one boundary to the next; nothing is told twice."""
    found = []
    known = {row.get("bead") for row in before.blockers if row.get("is_blocked")}
    for row in after.blockers:
        if row.get("is_blocked") and row.get("bead") not in known:
            found.append(Notice("blocked", f"{row.get('bead')} is blocked: {row.get('reason')}"))
    share = _share(after, max_cost_usd, max_tokens)
    if _share(before, max_cost_usd, max_tokens) < BUDGET_SHARE <= share:
        found.append(Notice("budget", f"{share:.0%} of the run's budget is spent"))
    if after.parked_until and not before.parked_until:
        said = f"{after.agent} has reached its limit; it may go on at {after.parked_until}"
        found.append(Notice("parked", said))
    if after.exit_code is not None and before.exit_code is None:
        occasion = "guidance" if after.exit_code == _PERSON else "finished"
        found.append(Notice(occasion, f"{_ENDED[occasion]}: {after.stop_reason}"))
    return tuple(found)


_ENDED = {"guidance": "the run stopped and needs you", "finished": "the run is over"}


class Notifier:
    """Rings on every route that asked for the occasion."""

    def __init__(
        self,
        routes: Sequence[NotifyRoute],
        *,
        root: str,
        note: Callable[..., None],
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._routes = tuple(routes)
        self._root = root
        self._note = note
        """Of the journal: `note("notified", route=..., ...)`."""
        self._max_cost_usd = max_cost_usd
        self._max_tokens = max_tokens
        self._limit_s = limit_s

    def hear(self, before: RunState, after: RunState) -> None:
        """Called at every boundary, with the state as it was and as it is."""
        for notice in notices_between(
            before, after, max_cost_usd=self._max_cost_usd, max_tokens=self._max_tokens
        ):
            self.ring(notice)

    def ring(self, notice: Notice) -> None:
        """Told on all routes at once; whoever has not taken it in time has failed."""
        line = cut(shown(f"helix: {notice.text}", one_line=True), _LONGEST_TEXT)
        failures: dict[str, str] = {}
        threads = {
            route.name: threading.Thread(
                target=self._tell, args=(route, notice.occasion, line, failures), daemon=True
            )
            for route in self._routes
            if notice.occasion in route.on
        }
        for thread in threads.values():
            thread.start()
        deadline_ns = Clock().now_ns() + int(self._limit_s * 1e9)
        for name, thread in threads.items():
            thread.join(max(deadline_ns - Clock().now_ns(), 0) / 1e9)
            late = thread.is_alive()
            reason = f"no answer in {self._limit_s:g} s" if late else failures.get(name, "")
            self._note(
                "notified", occasion=notice.occasion, route=name, ok=not reason, reason=reason
            )

    def _tell(self, route: NotifyRoute, occasion: str, line: str, failures: dict[str, str]) -> None:
        try:
            if route.to == DESKTOP:
                _to_desktop(line, self._root, self._limit_s)
            elif isinstance(route.to, str):
                _to_address(route.to, occasion, line, self._limit_s)
            else:
                _to_program(route.to, occasion, line, self._root, self._limit_s)
        except _FAILURES as problem:
            failures[route.name] = _spoken(problem)


def _to_desktop(line: str, root: str, limit_s: float) -> None:
    program = which("notify-send")
    if program is None:
        raise DdxError("there is no notify-send here")
    _run((program, "--app-name=helix", "--"), line, root, {}, limit_s)


def _to_program(argv: Sequence[str], occasion: str, line: str, root: str, limit_s: float) -> None:
    """The line is its last argument, and again on its stdin as JSON."""
    _run(argv, line, root, {"HELIX_OCCASION": occasion}, limit_s)


def _run(argv: Sequence[str], line: str, root: str, extra: dict[str, str], limit_s: float) -> None:
    row = {"occasion": extra.get("HELIX_OCCASION", ""), "project": root, "text": line}
    done = run([*argv, line], cwd=root, env=extra, timeout_s=limit_s, stdin=to_bytes(row) + b"\n")
    if not done.ok:
        how = "it took too long" if done.timed_out else f"it ended with {done.code}"
        raise DdxError(f"{argv[0]}: {how}")


def _to_address(address: str, occasion: str, line: str, limit_s: float) -> None:
    """A POST of JSON; `text` is what chat services show."""
    from urllib.request import Request, urlopen

    if not address.startswith(("http://", "https://")):
        raise DdxError("its address is no http address")
    row = {"text": line, "occasion": occasion}
    headers = {"Content-Type": "application/json", "User-Agent": "helix"}
    request = Request(  # noqa: S310 - the scheme was looked at
        address, data=to_bytes(row), headers=headers, method="POST"
    )
    with urlopen(request, timeout=limit_s):  # noqa: S310
        pass


def _spoken(problem: Exception) -> str:
    """Without the address: that may hold a secret."""
    if isinstance(problem, DdxError):
        return problem.message
    code = getattr(problem, "code", None)
    if isinstance(code, int):
        return f"it answered {code}"
    reason = getattr(problem, "reason", None)
    spoken = getattr(reason, "strerror", None) or getattr(problem, "strerror", None)
    return str(spoken or type(problem).__name__)


def _share(state: RunState, max_cost_usd: float | None, max_tokens: int | None) -> float:
    """How much of the tighter budget is spent; 0 without one."""
    cost, tokens = state.total_cost_usd, state.total_tokens
    return max(
        cost / max_cost_usd if max_cost_usd and cost is not None else 0.0,
        tokens / max_tokens if max_tokens else 0.0,
    )

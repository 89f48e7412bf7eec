"""Flags that `execute-bead` and `execute-loop` share, and what they mean."""

from __future__ import annotations

from ddx.cli.place import settings
from ddx.console.spec import Flag
from ddx.errors import NotFound, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.execution.orders import Orders
    from ddx.project import Project

HARNESS = Flag("--harness", "which agent program; without it the only one configured or installed")
MODEL = Flag("--model", "the model, smart or cheap as configured, or the script harness's file")
EFFORT = Flag("--effort", "how hard the model thinks, in the harness's own words")
TIMEOUT = Flag("--timeout", "seconds that the agent may take (2700)")
PREFACE = Flag("--preface", "a file with text to put before the bead in the prompt")
MAX_COST = Flag("--max-cost", "US dollars for the whole run")
MAX_TOKENS = Flag("--max-tokens", "tokens for the whole run", kind="number")

_LONGEST_PREFACE = 200_000


def read_orders(
    project: Project,
    *,
    harness: str | None,
    model: str | None,
    effort: str | None,
    timeout: str | None,
    preface: str | None,
    max_cost: str | None = None,
    max_tokens: int | None = None,
) -> Orders:
    """What was typed, checked before anything is read or written."""
    from ddx.execution.model import Limits
    from ddx.execution.orders import Orders
    from ddx.harnesses.registry import choose_harness

    found = settings(project)
    name = choose_harness(harness, found)
    own = found.harnesses.get(name)
    wall_s = _seconds(timeout) or (own.timeout_s if own else None) or found.agent_timeout_s
    idle_s = (own.idle_s if own else None) or Limits().idle_s
    return Orders(
        name,
        model or "",
        effort or "",
        limits=Limits(float(wall_s), float(idle_s)),
        max_cost_usd=_dollars(max_cost),
        max_tokens=_positive(max_tokens),
        preface=_read(preface),
    )


def _seconds(text: str | None) -> float | None:
    return None if text is None else _number(text, flag="--timeout", unit="seconds")


def _dollars(text: str | None) -> float | None:
    return None if text is None else _number(text, flag="--max-cost", unit="US dollars")


def _number(text: str, *, flag: str, unit: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise UsageError(f"{flag} must be a number of {unit} above 0, not {text!r}")
    return number


def _positive(number: int | None) -> int | None:
    if number is not None and number < 1:
        raise UsageError(f"--max-tokens must be above 0, not {number}")
    return number


def _read(path: str | None) -> str:
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LONGEST_PREFACE + 1)
    except OSError as problem:
        raise NotFound(f"--preface {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--preface {path} is not UTF-8 text") from None
    if len(text) > _LONGEST_PREFACE:
        raise UsageError(f"--preface {path} has more than {_LONGEST_PREFACE:,} characters")
    return text

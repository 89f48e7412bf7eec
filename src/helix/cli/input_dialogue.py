"""Asking the person at the terminal: what, why, and what follows from yes and from no (I-4)."""

from __future__ import annotations

import sys

from ddx.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.policy.questions import Question

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


def has_person() -> bool:
    """Somebody sees the question and can type the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Dialogue:
    """Question after question; who closes the input has said no to this one and to all others."""

    def __init__(self) -> None:
        self._is_over = False

    def ask(self, question: Question) -> bool:
        if self._is_over:
            return False
        _show(question)
        while True:
            line = _typed("  [Y/n] " if question.default else "  [y/N] ")
            if not line:
                self._is_over = True
                print(file=sys.stderr)
                return False
            word = line.strip().lower()
            if not word:
                return question.default
            if word in _ANSWERS:
                return _ANSWERS[word]
            print("  please answer yes or no", file=sys.stderr)


def _typed(prompt: str) -> str:
    """One line of the person's; Ctrl-C ends it all, and they hear what that means."""
    try:
        print(prompt, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print("\n  nothing was filed for it", file=sys.stderr)
        raise


def _show(question: Question) -> None:
    print(file=sys.stderr)
    print(shown(question.what), file=sys.stderr)
    for name in ("why", "yes", "no"):
        print(shown(f"  {name:4} {getattr(question, name)}"), file=sys.stderr)

"""The letters of SVG: elements, lengths, and text from outside made harmless. Pure."""

from __future__ import annotations

from html import escape

from ddx.text import shown


def element(name: str, **attributes: str | float) -> str:
    """An empty element; a name that Python has taken ends in `_`."""
    written = "".join(
        f' {key.rstrip("_")}="{inert(given) if isinstance(given, str) else length(given)}"'
        for key, given in attributes.items()
    )
    return f"<{name}{written}/>"


def text(kind: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind}" x="{length(x)}" y="{length(y)}">{inert(words)}</text>'


def moved(x: float, y: float, kind: str = "") -> str:
    """The beginning of a group with its own origin."""
    of_class = f' class="{kind}"' if kind else ""
    return f'<g{of_class} transform="translate({length(x)} {length(y)})">'


def inert(words: str) -> str:
    """Without markup in XML, and without the characters that it forbids or that hide others."""
    return escape(shown(words)).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def length(number: float) -> str:
    """A length to a tenth of a pixel, in as few letters as it needs."""
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0: no minus before zero

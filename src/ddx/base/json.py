"""JSON without the `json` package, which would double the start of a command.

Stands on CPython's own scanner in `_json`. Numbers come back as they were written, a key that
stands twice in one object is refused, and so is everything that is not JSON.
"""

from __future__ import annotations

from _json import encode_basestring, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_PLAIN_INTEGER = 4000  # past 4,300 digits Python refuses to convert
_DEEPEST = 750  # our own limit: the interpreter's own differs by version and by who raised it


_ESCAPED = str.maketrans(
    {mark: f"\\u{ord(mark):04x}" for mark in ("<", ">", "&", "\u2028", "\u2029")}
)


class Verbatim(float):
    """A number that must be written as it was read: 1.50 stays 1.50, -0 stays -0."""

    text: str

    def __new__(cls, text: str) -> Verbatim:
        number = super().__new__(cls, text)
        number.text = text
        return number


def loads(text: str) -> Any:
    """The one JSON value in a text, or ValueError in words."""
    text = text.strip(" \t\r\n")
    try:
        found, end = _scan(text, 0)
    except (StopIteration, SystemError):
        raise ValueError(f"not JSON: {_complaint(text)}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as problem:
        if hasattr(problem, "pos"):  # the `json` package is loaded, so the scanner could say it
            raise ValueError(f"not JSON: {_complaint(text)}") from None
        raise
    if end != len(text):
        raise ValueError(f"more text after the JSON value, at character {end + 1}")
    if text.count("[") + text.count("{") > _DEEPEST and _is_too_deep(found):
        raise ValueError("nested too deeply")
    return found


def dumps(anything: Any) -> str:
    """Compact, every character but controls as itself, keys in the order they have."""
    match anything:
        case str():
            return encode_basestring(anything)
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return "null"
        case Verbatim():
            return anything.text
        case int() | float():
            return _number(anything)
        case dict():
            parts = []
            for key in anything:  # a comprehension would halve how deep a row may be
                parts.append(f"{encode_basestring(str(key))}:{dumps(anything[key])}")
            return f"{{{','.join(parts)}}}"
        case list() | tuple():
            parts = []
            for item in anything:
                parts.append(dumps(item))
            return f"[{','.join(parts)}]"
    raise TypeError(f"{type(anything).__name__} has no place in JSON")


def to_bytes(anything: Any) -> bytes:
    """The same as UTF-8, with `< > &` and two line ends escaped as Go does it (T-1)."""
    return encoded(dumps(anything))


def encoded(text: str) -> bytes:
    """JSON that was put together as text, as `to_bytes` would write it."""
    if not text.isascii() or "<" in text or ">" in text or "&" in text:
        text = text.translate(_ESCAPED)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: JSON can name it, UTF-8 cannot hold it
        return "".join(
            f"\\u{ord(mark):04x}" if "\ud800" <= mark <= "\udfff" else mark for mark in text
        ).encode("utf-8")


def _number(number: float) -> str:
    shown = repr(number)
    if shown in ("nan", "inf", "-inf"):
        raise ValueError(f"{shown} is no JSON number")
    return shown


def _is_too_deep(found: Any) -> bool:
    """Whether some value stands in more than `_DEEPEST` lists and objects."""
    level = [found]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for holder in level:
            match holder:
                case dict():
                    inner.extend(holder.values())
                case list():
                    inner.extend(holder)
        if not inner:
            return False
        level = inner
    return any(isinstance(value, dict | list) for value in level)


def _complaint(text: str) -> str:
    """Why the scanner failed; it can say so only once the `json` package is loaded."""
    from json import JSONDecodeError
    from json import loads as explain

    try:
        explain(text)
    except JSONDecodeError as problem:
        return f"{problem.msg.removesuffix(' at')} at character {problem.pos + 1}"
    return "unreadable"


def _integer(text: str) -> int | Verbatim:
    if text == "-0":
        return Verbatim(text)
    if len(text) > _LONGEST_PLAIN_INTEGER:
        raise ValueError("a number with more than 4,000 digits")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _Rules:
    """What `_json` asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_object)
    parse_float = Verbatim
    parse_int = staticmethod(_integer)
    parse_constant = staticmethod(_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner clears it after each text


_scan = make_scanner(_Rules())  # type: ignore[arg-type]

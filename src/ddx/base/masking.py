"""Secrets never reach a log, a record or a screen (X-24).

Two kinds are known: the values of variables whose names say so, and shapes that only keys have.
Values go first, so that no shape can bite off a part of one and leave the rest. Everything is
decided line by line; only the body of a private key is remembered from one line to the next.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ddx.base.process import for_children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Shown = Callable[[re.Match[bytes]], bytes]

MASKED = "[masked]"
LARGEST_LOG = 64 << 20

_SECRET_NAME = re.compile(
    r"(?:\w*_)?(?:API)?(?:KEY|TOKEN|SECRET)|\w*(?:PASSWORD|PASSWD|PASSPHRASE)\w*",
    re.IGNORECASE | re.ASCII,
)
_SHORTEST_VALUE = 8
_TRIVIAL = frozenset({"changeme", "disabled", "localhost", "optional", "password", "required"})

_LONGEST_LINE = 1 << 16
_DEEPEST_ROW = 100

# What tells a key by its looks; where a pattern has a group, only that is masked. None matches
# across a line end, and every one is bounded by _REACH, so that a line may be masked piece by
# piece. All begin with a plain letter: so the scanner can skip. A digit is asked for where mere
# words would fit as well.
_DIGIT = rb"(?=[A-Za-z~+/=._-]{0,400}+[0-9])"
_BEARER = rb" (" + _DIGIT + rb"[A-Za-z0-9~+/=._-]{8,4000})"
_SCHEME = rb"(?:[Bb]asic |[Bb]earer |[Dd]igest |[Tt]oken |" + _DIGIT + rb")"
_HEADER = rb"[\"']?[ \t]?[:=][ \t]?[\"']?" + _SCHEME + rb"([^\s\"',\x80-\xff]{8,4000})"
_SHAPES = (
    rb"sk(?<![A-Za-z0-9]sk)[-_]" + _DIGIT + rb"[A-Za-z0-9_-]{16,400}",
    rb"gh[pousr]_[A-Za-z0-9]{20,255}",
    rb"github_pat_[A-Za-z0-9_]{20,255}",
    rb"glpat-[A-Za-z0-9_-]{20,255}",
    rb"npm_[A-Za-z0-9]{30,255}",
    rb"hf_[A-Za-z0-9]{30,255}",
    rb"AKIA(?<![A-Z0-9]AKIA)[A-Z0-9]{16}",
    rb"ASIA(?<![A-Z0-9]ASIA)[A-Z0-9]{16}",
    rb"AIza[A-Za-z0-9_-]{35}",
    rb"xox[abeoprs]-[A-Za-z0-9-]{10,255}",
    rb"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,2000}",
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=:,\\ -]{0,16000}",
    rb"Bearer" + _BEARER,
    rb"bearer" + _BEARER,
    rb"Authorization" + _HEADER,
    rb"authorization" + _HEADER,
    rb"X-(?:Api|API)-(?:Key|KEY)" + _HEADER,
    rb"x-api-key" + _HEADER,
    rb"://[^\s/:@\"'<>\\]{0,255}:([^\s/\"'<>\\]{1,255})@",
)
_REACH = 1 << 15
_CONTEXT = 16
"""How far back a pattern looks, at most."""

_KEY_OPENS = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\"']{0,4}\Z")
_KEY_CLOSES = b"-----END "
_KEY_BODY = re.compile(
    rb"[\W\d_]{0,24}(?:[A-Za-z0-9+/=]{0,128}|-----END [A-Z0-9 ]{1,50}-----)\W{0,4}"
    rb"|(?:Proc-Type|DEK-Info|Version|Comment): [^\n]{0,200}"
)
_OPENING_LENGTH = 128
_LONGEST_KEY_LINE = 256


def is_secret_name(name: str) -> bool:
    """Does a variable's name say that its value is nobody's business?"""
    return _SECRET_NAME.fullmatch(name) is not None


class Masker:
    """Knows the secrets of one environment, and what keys look like."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        names = dict(_secrets(environment))
        self._passes = [_of_shapes()]
        if names:
            self._passes.insert(0, _of_values(names))

    @classmethod
    def of_children(cls) -> Masker:
        """One that knows the secrets of the environment that our programs get."""
        return cls(for_children())

    def mask(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        return self.mask_bytes(raw).decode("utf-8", "surrogatepass")

    def mask_bytes(self, text: bytes) -> bytes:
        return self.mask_lines(text, in_key=False)[0]

    def mask_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Every text in a row, however deep; the keys stay."""
        return {key: self._mask_any(found, _DEEPEST_ROW) for key, found in row.items()}

    def stream(self) -> MaskingStream:
        return MaskingStream(self)

    def mask_lines(self, text: bytes, *, in_key: bool) -> tuple[bytes, bool]:
        """The text masked, and whether it ends inside of a private key, as it may have begun."""
        if not in_key and b"PRIVATE KEY" not in text:
            return self._plain(text), False
        masked = []
        for line in text.split(b"\n"):
            if in_key and len(line) <= _LONGEST_KEY_LINE and _KEY_BODY.fullmatch(line):
                masked.append(MASKED.encode() if line.strip() else line)
                in_key = _KEY_CLOSES not in line
            else:
                masked.append(self._plain(line))
                in_key = opens_key(line)
        return b"\n".join(masked), in_key

    def seams(self) -> list[_Seam]:
        """For a line that comes in pieces: one after the other."""
        return [_Seam(each) for each in self._passes]

    def _plain(self, text: bytes) -> bytes:
        for each in self._passes:
            text = each.pattern.sub(each.shown, text)
        return text

    def _mask_any(self, found: Any, depth: int) -> Any:
        match found:
            case str():
                return self.mask(found)
            case dict() | list() | tuple() if not depth:
                return "[nested too deeply]"
            case dict():
                return {key: self._mask_any(inner, depth - 1) for key, inner in found.items()}
            case list() | tuple():
                return [self._mask_any(inner, depth - 1) for inner in found]
        return found


class MaskingStream:
    """Bytes as they come in, whole masked lines out; what is held is bounded for any line."""

    def __init__(self, masker: Masker, *, longest_line: int = _LONGEST_LINE) -> None:
        self._masker = masker
        self._longest_line = max(longest_line, _LONGEST_KEY_LINE)
        self._rest = bytearray()
        self._in_key = False
        self._seams: list[_Seam] = []
        self._tail = b""

    def feed(self, chunk: bytes) -> bytes:
        """What is certain by now."""
        masked = b""
        end = chunk.rfind(b"\n") + 1
        if end:
            whole = bytes(self._rest) + chunk[: end - 1]
            self._rest = bytearray()
            masked = self._masked(whole) + b"\n"
        self._rest += chunk[end:]
        if len(self._rest) > self._longest_line:
            masked += self._piece(bytes(self._rest))
            self._rest = bytearray()
        return masked

    def finish(self) -> bytes:
        """The rest, which no line end closed."""
        rest, self._rest = bytes(self._rest), bytearray()
        return self._masked(rest)

    def _masked(self, lines: bytes) -> bytes:
        begun = b""
        if self._seams:
            line, newline, lines = lines.partition(b"\n")
            begun = self._end_of_long(line) + newline
            if not newline:
                return begun
        masked, self._in_key = self._masker.mask_lines(lines, in_key=self._in_key)
        return begun + masked

    def _piece(self, piece: bytes) -> bytes:
        """A part of a line that is too long to be held."""
        self._seams = self._seams or self._masker.seams()
        self._tail = piece[-_OPENING_LENGTH:]
        for seam in self._seams:
            piece = seam.feed(piece)
        return piece

    def _end_of_long(self, piece: bytes) -> bytes:
        self._in_key = opens_key(self._tail + piece)
        for seam in self._seams:
            piece = seam.finish(piece)
        self._seams, self._tail = [], b""
        return piece


class LogFile:
    """A log that grows as output comes, masked, and stops growing at its limit."""

    def __init__(self, path: str, masker: Masker, *, limit: int = LARGEST_LOG) -> None:
        self._file = open(path, "ab")
        self._stream = masker.stream()
        self._room = limit

    def write(self, chunk: bytes) -> None:
        self._put(self._stream.feed(chunk))

    def close(self) -> None:
        self._put(self._stream.finish())
        self._file.close()

    def _put(self, masked: bytes) -> None:
        if self._room <= 0 or not masked:
            return
        self._file.write(masked[: self._room])
        self._room -= len(masked)
        if self._room <= 0:
            self._file.write(b"\n[... the log ends here: it has reached its limit ...]\n")
        self._file.flush()


class _Pass:
    """One look for secrets; none that it finds is longer than `reach`."""

    def __init__(self, pattern: bytes, shown: Shown, reach: int) -> None:
        self.pattern = re.compile(pattern)
        self.shown = shown
        self.reach = reach


class _Seam:
    """One pass over a text that comes in pieces, as if it had come at once."""

    def __init__(self, look: _Pass) -> None:
        self._look = look
        self._held = b""
        self._begin = 0

    def feed(self, piece: bytes) -> bytes:
        """Masked as far as nothing that is yet to come can change it."""
        self._held += piece
        return self._up_to(len(self._held) - self._look.reach)

    def finish(self, piece: bytes) -> bytes:
        self._held += piece
        return self._up_to(len(self._held))

    def _up_to(self, certain: int) -> bytes:
        text, place, masked = self._held, self._begin, []
        for match in self._look.pattern.finditer(text, place):
            if match.start() >= certain:
                break
            masked += [text[place : match.start()], self._look.shown(match)]
            place = match.end()
        end = max(place, certain)
        masked.append(text[place:end])
        self._begin = min(end, _CONTEXT)
        self._held = text[end - self._begin :]
        return b"".join(masked)


def opens_key(line: bytes) -> bool:
    return _KEY_OPENS.search(line[-_OPENING_LENGTH:]) is not None


def _secrets(environment: Mapping[str, str]) -> Iterator[tuple[bytes, str]]:
    """Each secret as it may stand in a line, and the variable that it comes from."""
    for name in sorted(filter(is_secret_name, environment), reverse=True):
        value = environment[name]
        spelled = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
        for text in (line.strip() for each in spelled for line in each.split("\n")):
            is_frame = text.startswith("-----")  # of a private key: the shapes know it
            if len(text) >= _SHORTEST_VALUE and text not in _TRIVIAL and not is_frame:
                yield text.encode("utf-8", "surrogateescape"), "" if text in name else name


def _of_values(names: Mapping[bytes, str]) -> _Pass:
    def shown(match: re.Match[bytes]) -> bytes:
        name = names[match[0]]
        return f"[masked {name}]".encode() if name else MASKED.encode()

    longest_first = sorted(names, key=lambda text: (-len(text), text))
    return _Pass(b"|".join(map(re.escape, longest_first)), shown, len(longest_first[0]))


def _of_shapes() -> _Pass:
    def shown(match: re.Match[bytes]) -> bytes:
        group = match.lastindex or 0
        before, after = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:before] + MASKED.encode() + match[0][after:]

    return _Pass(b"|".join(_SHAPES), shown, _REACH)

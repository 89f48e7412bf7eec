"""Draws the plugin's icon: two strands that cross, and the rungs between them."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

ICON = Path(__file__).parents[1] / ".claude-plugin" / "icon.png"
SIDE = 512
CORNER = 112.0
TURN = 300.0
"""Pixels along the axis in which a strand comes round."""
WIDTH, STRAND, RUNG = 108.0, 19.0, 9.0
"""How far a strand swings out, and half of how thick strands and rungs are."""
RUNGS_EVERY = TURN / 8
TILT = math.radians(28)

Colour = tuple[float, float, float]
GROUND: Colour = (24, 28, 52)
RUNG_COLOUR: Colour = (118, 128, 172)
STRANDS: tuple[Colour, Colour] = ((92, 211, 197), (255, 176, 92))


def main() -> None:
    ICON.write_bytes(png(list(rows())))
    print(f"wrote {ICON}")


def rows() -> Iterator[bytes]:
    """Red, green, blue and cover of each pixel, line by line."""
    for y in range(SIDE):
        line = bytearray()
        for x in range(SIDE):
            colour = colour_at(x + 0.5 - SIDE / 2, y + 0.5 - SIDE / 2)
            line += bytes((*map(round, colour), round(255 * _in_square(x + 0.5, y + 0.5))))
        yield bytes(line)


def colour_at(x: float, y: float) -> Colour:
    """Of a point, seen from the middle; the axis leans to the right."""
    across = x * math.cos(TILT) + y * math.sin(TILT)
    along = y * math.cos(TILT) - x * math.sin(TILT)
    angle = 2 * math.pi * along / TURN
    colour = _over(GROUND, RUNG_COLOUR, _on_rung(across, along))
    # The strand that is turned towards us is drawn last.
    for side in sorted((1, -1), key=lambda side: side * math.cos(angle)):
        distance = _distance(across, along, side)
        colour = _over(colour, GROUND, _cover(1.45 * STRAND - distance))
        colour = _over(colour, STRANDS[side > 0], _cover(STRAND - distance))
    return colour


def _distance(across: float, along: float, side: int) -> float:
    """From a strand, by the tangent at the place of it that is nearest; found in three steps."""
    at = along
    for _ in range(3):
        angle = 2 * math.pi * at / TURN
        away = across - side * WIDTH * math.sin(angle)
        slope = side * 2 * math.pi * WIDTH / TURN * math.cos(angle)
        at += (away * slope + along - at) / (1 + slope * slope)
    angle = 2 * math.pi * at / TURN
    return math.hypot(across - side * WIDTH * math.sin(angle), along - at)


def _on_rung(across: float, along: float) -> float:
    nearest = (math.floor(along / RUNGS_EVERY) + 0.5) * RUNGS_EVERY
    reach = WIDTH * abs(math.sin(2 * math.pi * nearest / TURN))
    return _cover(RUNG - abs(along - nearest)) * _cover(reach - abs(across))


def _in_square(x: float, y: float) -> float:
    """1 inside of the rounded square, 0 outside."""
    beyond = (max(CORNER - at, at - (SIDE - CORNER), 0.0) for at in (x, y))
    return _cover(CORNER - math.hypot(*beyond))


def _cover(depth: float) -> float:
    """How much of a pixel lies inside of an edge that is so far away."""
    return min(max(depth + 0.5, 0.0), 1.0)


def _over(below: Colour, above: Colour, cover: float) -> Colour:
    red, green, blue = (
        under + (over - under) * cover for under, over in zip(below, above, strict=True)
    )
    return red, green, blue


def png(lines: list[bytes]) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", len(lines[0]) // 4, len(lines), 8, 6, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + line for line in lines), 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    main()

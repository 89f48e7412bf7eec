"""One file of named arrays that is mapped into memory, and refused if a single bit is wrong.

    bytes 0..7     HLXARRAY
    bytes 8..11    how long the head is, little-endian
    bytes 12..15   CRC-32 of everything that follows, little-endian
    the head       JSON, filled up with blanks: {"about": {...}, "arrays": {name: place}}, where a
                   place is {"dtype": "i1" or "f4", "shape": [...], "at": bytes after the head}
    the arrays     little-endian, rows first, each at a multiple of 64 bytes

A table `name` of `i1` comes with `name.scale`, one `f4` a row: row times scale is the true row.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]

_MAGIC = b"HLXARRAY"
_START = struct.Struct("<8sII")
_ALIGNED = 64
_DTYPES: Mapping[str, np.dtype[Any]] = {"i1": np.dtype("i1"), "f4": np.dtype("<f4")}


@value
class Weights:
    """The arrays by name, read only, and what the file says about itself."""

    about: Mapping[str, Any]
    arrays: Mapping[str, Array]

    def table(self, name: str) -> NDArray[np.float32]:
        """A table at full width again."""
        full: NDArray[np.float32] = self.arrays[name].astype(np.float32)
        full *= self.arrays[f"{name}.scale"][:, None]
        return full


@value
class DamagedWeights:
    """Why a file of weights cannot be used."""

    reason: str


def read_weights(path: str) -> Weights | DamagedWeights:
    """The file's arrays without a copy, once every byte of it has been looked at."""
    try:
        with open(path, "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        return DamagedWeights(f"{path} is missing")
    except (OSError, ValueError) as problem:  # an empty file cannot be mapped
        return DamagedWeights(f"{path} cannot be read: {problem}")
    if len(mapped) < _START.size:
        return DamagedWeights(f"{path} is cut off")
    magic, head_size, checksum = _START.unpack(mapped[: _START.size])
    if magic != _MAGIC:
        return DamagedWeights(f"{path} is no file of weights")
    rest = mapped[_START.size :]
    if zlib.crc32(rest) != checksum:
        return DamagedWeights(f"{path} is damaged: its checksum does not fit")
    try:
        return _parsed(rest, head_size)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        return DamagedWeights(f"{path} has a head that makes no sense: {problem}")


def pack_weights(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The same bytes for the same arrays, always."""
    places: dict[str, dict[str, Any]] = {}
    body = bytearray()
    for name, array in arrays.items():
        kind = "i1" if array.dtype.kind == "i" else "f4"
        places[name] = {"dtype": kind, "shape": list(array.shape), "at": len(body)}
        body += np.ascontiguousarray(array, _DTYPES[kind]).tobytes()
        body += bytes(-len(body) % _ALIGNED)
    head = json.dumps({"about": about, "arrays": places}, separators=(",", ":")).encode()
    head += b" " * (-(_START.size + len(head)) % _ALIGNED)
    rest = head + bytes(body)
    return _START.pack(_MAGIC, len(head), zlib.crc32(rest)) + rest


def quantised(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A table in whole steps from -127 to 127, and the size of each row's step."""
    largest = np.abs(table).max(axis=1)
    scale = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    return np.rint(table / scale[:, None]).astype(np.int8), scale


def _parsed(rest: memoryview, head_size: int) -> Weights:
    head = json.loads(bytes(rest[:head_size]))
    body = rest[head_size:]
    arrays = {}
    for name, place in head["arrays"].items():
        shape = tuple(place["shape"])
        count = int(np.prod(shape))
        found = np.frombuffer(body, _DTYPES[place["dtype"]], count=count, offset=place["at"])
        arrays[name] = found.reshape(shape)
    return Weights(head["about"], arrays)

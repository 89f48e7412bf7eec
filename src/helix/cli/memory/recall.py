"""`helix memory recall`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ddx.console.screen import answer, bold, dim, say
from ddx.console.spec import JSON, Argument, Command, Flag
from helix.cli.memory.session import (
    credit_in_words,
    open_session,
    read_share,
    say_indented,
    split_paths,
    tell,
    tell_progress,
)

if TYPE_CHECKING:
    from helix.memory.scoring import Hit

_DIGITS = 4


def run(
    *,
    query: str,
    type: str | None,
    limit: int | None,
    min_effectiveness: str | None,
    files: str | None,
    explain: bool,
    json: bool,
) -> int:
    from helix.memory.recall import LIMIT, Question, Recall, require_answerable

    question = Question(
        query,
        type or "",
        LIMIT if limit is None else limit,
        read_share(min_effectiveness, flag="--min-effectiveness", default=0.0),
        split_paths(files),
    )
    require_answerable(question)
    with open_session() as session:
        if sys.stderr.isatty():  # who watches can wait for all of them, and sees how far it is
            recall = Recall(
                session.store, session.embedder(), patience_s=None, progress=tell_progress
            )
        else:
            recall = Recall(session.store, session.embedder())
        recalled = recall.ask(question, now=session.now)
    if recalled.note:
        tell(recalled.note)
    if json:
        answer([hit_row(hit) for hit in recalled.hits])
        return 0
    for hit in recalled.hits:
        _show(hit, explain=explain)
    if not recalled.hits:
        say("nothing that is known fits")
    return 0


def hit_row(hit: Hit) -> dict[str, Any]:
    from helix.memory.interchange import memory_row

    like = hit.similarity
    return {
        **memory_row(hit.memory),
        "score": _rounded(hit.score),
        "relevance": _rounded(hit.relevance),
        "effectiveness": _rounded(hit.effectiveness),
        "recency": _rounded(hit.recency),
        "hop": hit.hop,
        "via": hit.via,
        "similarity": {
            "cosine": _rounded(like.cosine),
            "bm25": _rounded(like.bm25),
            "words": _rounded(like.words),
            "files": _rounded(like.files),
            "raw": _rounded(like.raw),
        },
    }


def _rounded(number: float) -> float:
    return round(number, _DIGITS)


def _show(hit: Hit, *, explain: bool) -> None:
    memory = hit.memory
    credit = credit_in_words(memory.helped, memory.failed)
    say(f"{hit.score:.3f}  ", bold(memory.name), dim(f"  {memory.type}, {credit}"))
    say_indented(f"{memory.trigger}\n-> {memory.resolution}", by=7)
    if explain:
        say(dim(f"       {_parts(hit)}"))


def _parts(hit: Hit) -> str:
    from helix.memory import scoring

    like = hit.similarity
    sum_of = (
        f"{scoring.RELEVANCE_WEIGHT} x relevance {hit.relevance:.3f} + "
        f"{scoring.EFFECTIVENESS_WEIGHT} x effectiveness {hit.effectiveness:.3f} + "
        f"{scoring.RECENCY_WEIGHT} x recency {hit.recency:.3f}"
    )
    if hit.hop:
        return f"{sum_of}; {hit.hop} from {hit.via}, and not above the weakest direct hit"
    return (
        f"{sum_of}; similarity {like.raw:.3f} = cosine {like.cosine:.3f} + words {like.words:.3f}"
        f" (bm25 {like.bm25:.2f}) + files {like.files:.2f}"
    )


COMMAND = Command(
    "memory recall",
    "Recall what fits a task or a question, best first; nothing is better than something wrong.",
    run,
    'helix memory recall "the login test is flaky" --limit 5',
    arguments=(Argument("query", "the task or the situation, in words"),),
    flags=(
        Flag("--type", "only failure, or only pattern"),
        Flag("--limit", "at most this many; 5 if not given", kind="number"),
        Flag("--min-effectiveness", "only what helped at least this often, from 0 to 1"),
        Flag("--files", "paths in question, separated by commas: what names them counts more"),
        Flag("--explain", "show every part of the score; --json always does", kind="switch"),
        JSON,
    ),
    schema="memory-recalled",
)

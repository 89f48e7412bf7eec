"""What proves a bead done, and which of its words prove nothing (T-17, X-11).

An acceptance line names subjects and claims something of them:

    `pytest -q` and `ruff check` pass      each command exits 0
    `ddx --version` prints `0.1`           the command exits 0 and prints the text
    docs/plan.md exists                    the path is there
    `src/old.py` is removed                the path is gone
    docs/plan.md names `ddx agent run`     the file holds the text

A command stands in back-quotes; a path may also stand bare. An unclear line claims nothing: a
missing check is seen when the bead is judged, a wrong one only after an attempt was wasted.
"""

from __future__ import annotations

from ddx.base import Fences, cut, value, word_set
from ddx.tracker.row import texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ddx.tracker.row import Row

    Token: TypeAlias = tuple[str, str]  # its kind, and the text without quotes


WORD, PATH, CODE, TEXT = "word", "path", "`code`", '"text"'
SUBJECTS = (PATH, CODE)
PASSES, PRINTS, EXISTS, ABSENT, CONTAINS = "passes", "prints", "exists", "absent", "contains"
UNCLEAR = "unclear"
_CLAIMS = {
    phrase: claim
    for claim, phrases in (
        (PASSES, "passes|succeeds|exits 0|exits zero|exits with 0|exits with code 0|returns 0"),
        (PASSES, "exits with status 0|exits with exit code 0|exits code 0|exits status 0"),
        (PASSES, "has exit code 0|returns exit code 0|exits code is 0"),
        (PASSES, "runs clean|runs cleanly|runs successfully|is green|is clean"),
        (PRINTS, "prints|outputs|shows|reports"),
        (EXISTS, "exists|is present|is created|was created|has been created"),
        (ABSENT, "is absent|is removed|is deleted|is gone|was removed|has been removed"),
        (CONTAINS, "contains|includes|mentions|names"),
    )
    for phrase in phrases.split("|")
}
_BEGINNINGS = {" ".join(phrase.split()[:length]) for phrase in _CLAIMS for length in range(1, 5)}
_VERBS = word_set(
    "contain exist exit include mention name output print report return run show succeed"
)
_FOR_MANY = {verb: f"{verb}s" for verb in _VERBS}
_FOR_MANY |= {"pass": "passes", "are": "is", "be": "is", "have": "has"}
_BOUND = 20  # words to look ahead, texts in one list: a hostile line of 20 MB stays linear

_PASSED_OVER = word_set(
    "does do did must should shall will now still also always both all each again longer "
    "file folder directory command script check suite test tests - – — →"  # noqa: RUF001
)
_JOINTS = word_set("and plus & ,")
_CLAUSE_ENDS = _JOINTS | word_set(". ; after as before but for if rather so then unless until when")
_ARTICLES = word_set("a an the it its them their this that")
_DESCRIBING = _ARTICLES | word_set("all any anything both each every one some something")
_DENIALS = word_set("no none not nothing neither never nor without cannot")
_NO_TEXTS = _DENIALS | word_set("is are was were has have")
_HEDGES = word_set("if neither no nor or unless until when whether")
_ANNOUNCING = word_set("done complete completed finished")
_PLACES = word_set("at from in inside under within")

_DOCUMENTS = word_set("cfg css csv html ini json jsonl lock md rst sql svg toml txt xml yaml yml")
_SUFFIXES = _DOCUMENTS | word_set(
    "bash c cc cpp cs ex go h hpp hs ipynb java js jsx kt lua mjs php pl proto py pyi rb rs sh "
    "swift tf ts tsx vue whl zig"
)
_BARE_FILES = word_set("Dockerfile LICENSE Makefile NOTICE README .editorconfig .env .gitignore")
_SPACED = (
    *((mark, f" {mark}") for mark in (", ", "; ", ". ")),
    *((mark, " ") for mark in ("(", ")", ": ", "** ", " **")),
    *(("’", "'"), ("and/or", "or")),  # noqa: RUF001
)
_NEVER_IN_PATHS = frozenset(" \t\0*?<>|:;$(){}\"'\\=")

HAS_CRITERION, IS_VAGUE = 1, 2
VAGUE_WORDS = word_set(
    "work works working worked correct correctly complete completed completely aligned done "
    "finished properly fine good"
)
VAGUE = (*VAGUE_WORDS, "as expected")


@value
class RunCommand:
    """Exits 0, and its output holds `prints`; an empty `prints` asks for any output at all."""

    command: str
    source: str
    prints: str | None = None


@value
class PathExists:
    path: str
    source: str


@value
class PathAbsent:
    path: str
    source: str


@value
class FileContains:
    path: str
    text: str
    source: str


Criterion = RunCommand | PathExists | PathAbsent | FileContains


@value
class CriterionProblem:
    """Why a line proves nothing and what to write instead; line 0 is the bead as a whole."""

    line: int
    text: str
    why: str
    fix: str


@value
class CriteriaVerdict:
    criteria: tuple[Criterion, ...]
    problems: tuple[CriterionProblem, ...]

    @property
    def ready(self) -> bool:
        return not self.problems


def criteria_of(row: Row) -> tuple[Criterion, ...]:
    """All that the bead itself asks to be checked; a command may come more than once."""
    return _read(row)[0]


def judge(row: Row, *, default_checks: tuple[str, ...] = ()) -> CriteriaVerdict:
    """What would be run for this bead, and what keeps it from being ready (T-17)."""
    criteria, problems = _read(row)
    criteria += tuple(RunCommand(command, "checks.default") for command in default_checks)
    if not criteria:
        found = row.get("id")
        bead_id = found if isinstance(found, str) and found.replace("-", "").isalnum() else "ID"
        why = "nothing says how to check that it is done"
        fix = f"name a command: ddx bead update {bead_id} --verify 'pytest -q'"
        problems = (CriterionProblem(0, "", why, fix=fix), *problems)
    return CriteriaVerdict(criteria, problems)


def marks(row: Row) -> int:
    """The verdict in two bits, for the index: HAS_CRITERION and IS_VAGUE."""
    criteria, problems = _read(row)
    return (HAS_CRITERION if criteria else 0) | (IS_VAGUE if problems else 0)


def _read(row: Row) -> tuple[tuple[Criterion, ...], tuple[CriterionProblem, ...]]:
    criteria: list[Criterion] = [RunCommand(it, "verify") for it in texts_of(row, "verify")]
    problems: list[CriterionProblem] = []
    acceptance = row.get("acceptance")
    acceptance = acceptance if isinstance(acceptance, str) else ""
    lowered = acceptance.lower()
    may_be_vague = any(word in lowered for word in VAGUE)  # asked once, it saves a fifth
    for number, line in lines_of(acceptance):
        tokens = tokens_of(line)
        found = list(criteria_in(tokens, f"acceptance line {number}")) if tokens else []
        for it in found:
            if isinstance(it, RunCommand) or not _escapes(it.path):
                criteria.append(it)
            else:
                why = f"{cut(it.path, 80)} is outside the repository"
                fix = "name a path below the repository's root, without '..'"
                problems.append(CriterionProblem(number, cut(line, 200), why, fix=fix))
        if may_be_vague and not found and (word := _vague_word(line, tokens)):
            why = f"nobody can check '{word}'"
            fix = "say what proves it, for example: `pytest -q` passes; or: docs/plan.md exists"
            problems.append(CriterionProblem(number, cut(line, 200), why, fix=fix))
    return tuple(criteria), tuple(problems)


def _vague_word(line: str, tokens: list[Token]) -> str:
    """What makes the line empty; nothing does in a heading or beside something concrete."""
    words = line.lower()
    for mark in '.,;:!?()*_"“”':
        words = words.replace(mark, " ")
    found = VAGUE_WORDS.intersection(words.split())
    word = min(found, default="as expected" if "as expected" in words else "")
    if not word or line.startswith("#") or line.rstrip("*_ ").endswith(":"):
        return ""
    concrete = any(kind in SUBJECTS for kind, _ in tokens) or any(map(str.isdigit, line))
    return "" if concrete else word


def _escapes(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/")


# The grammar of acceptance lines


def lines_of(acceptance: str) -> Iterator[tuple[int, str]]:
    """Each line without its bullet; wrapped lines are joined, fenced blocks left out."""
    number, depth, parts, fences = 0, 0, list[str](), Fences()
    for place, raw in enumerate(acceptance.split("\n"), 1):
        stripped = raw.strip()
        line = _without_bullet(stripped)
        indent = len(raw) - len(raw.lstrip())
        if fences.is_code(line):
            continue
        if parts and line == stripped and indent > depth:
            parts.append(line)
        else:
            yield number, " ".join(parts)
            number, depth, parts = place, indent, [line] if line else []
    yield number, " ".join(parts)


def _without_bullet(line: str) -> str:
    for _ in range(4):  # "- [ ] 1. (a) text" is the longest that people write
        first, *rest = line.replace("[ ]", "[x]", 1).split(None, 1) or [""]
        mark = first.strip("()[].")
        is_number = mark != first and (len(mark) == 1 or mark.isdecimal())
        if not is_number and first not in ("-", "*", "+", "•"):
            break
        line = rest[0] if rest else ""
    return line


def tokens_of(line: str) -> list[Token]:
    """The line as words, bare paths and quoted texts; nothing if it can hold no subject."""
    tokens: list[Token] = []
    if "`" in line or "/" in line or "." in line[:-1]:
        parts = line.replace("```", "`").replace("``", "`").split("`")
        for place, part in enumerate(parts):
            if place % 2 == 0 or place == len(parts) - 1:  # the last back-quote may stand alone
                _add_words(tokens, part)
            elif code := part.strip().removeprefix("$ "):
                tokens.append((CODE, code))
    return tokens


def _add_words(tokens: list[Token], text: str) -> None:
    parts = f" {text} ".replace("“", '"').replace("”", '"').split('"')
    for place, part in enumerate(parts):
        if place % 2 and place < len(parts) - 1:
            tokens.append((TEXT, part))
            continue
        for mark, spaced in _SPACED:
            part = part.replace(mark, spaced)
        for word in part.split():
            is_path = ("/" in word or "." in word) and _is_path(word)
            tokens.append((PATH if is_path else WORD, word))


def _word(tokens: list[Token], at: int) -> str:
    """The word there in lower case; nothing for a path, a quoted text and beyond the ends."""
    if not 0 <= at < len(tokens) or tokens[at][0] != WORD:
        return ""
    word = tokens[at][1]
    return word.strip("[]*_!?'|:;.").lower() or word


def _is_path(text: str) -> bool:
    stem, _, suffix = text.rpartition(".")
    if "/" in text or (stem and suffix.lower() in _SUFFIXES):
        return _NEVER_IN_PATHS.isdisjoint(text)
    return text in _BARE_FILES


def criteria_in(tokens: list[Token], source: str) -> Iterator[Criterion]:
    """A verb for many speaks of the whole list before it, a verb for one of the last subject."""
    subjects: list[Token] = []
    hedged = False
    read = 0
    for place, token in enumerate(tokens):
        if token[0] not in SUBJECTS or place < read:
            continue
        if not subjects or _after_joints(tokens, read) != place:
            subjects, hedged = [], _is_hedged(tokens, place)
        subjects.append(token)
        read = place + 1
        while found := _claim_at(tokens, read):
            claim, for_many, end = found
            texts, end = _texts_at(tokens, end) if claim in (PRINTS, CONTAINS) else ([], end)
            for subject in subjects if for_many else subjects[-1:]:
                if not hedged:
                    yield from _criteria_for(claim, subject, texts, source)
            read = _after_joints(tokens, end)
            if read == end:
                break
        if read > place + 1:
            subjects = []


def _criteria_for(claim: str, subject: Token, texts: list[str], source: str) -> Iterator[Criterion]:
    kind, name = subject
    is_path = _is_path(name)
    if kind == CODE and not (is_path and name.rpartition(".")[2] in _DOCUMENTS):
        if claim == PASSES:
            yield RunCommand(name, source)
        if claim == PRINTS:
            yield from (RunCommand(name, source, text) for text in texts)
    if is_path and claim == EXISTS:
        yield PathExists(name, source)
    if is_path and claim == ABSENT:
        yield PathAbsent(name, source)
    if is_path and claim == CONTAINS and not name.endswith("/"):
        yield from (FileContains(name, text, source) for text in texts if text)


def _claim_at(tokens: list[Token], at: int) -> tuple[str, bool, int] | None:
    """The claim that begins here, whether its verb is for many, and where its words end."""
    phrase = ""
    denied = for_many = False
    for index in range(at, at + _BOUND):
        word = _word(tokens, index)
        if word.endswith("n't"):
            word, denied = word[:-3], True
        denied = denied or word in _DENIALS
        if word in _DENIALS or word in _PASSED_OVER:
            continue
        if not phrase:
            for_many = word in _FOR_MANY
            word = _FOR_MANY.get(word, word)
        phrase = f"{phrase} {word}".lstrip()
        if phrase in _CLAIMS:
            return _meant(_CLAIMS[phrase], denied, tokens, index + 1), for_many, index + 1
        if phrase not in _BEGINNINGS:
            break
    return None


def _meant(claim: str, denied: bool, tokens: list[Token], end: int) -> str:
    """The claim, unless it is denied or its verb goes on to an object or another place."""
    follows = _word(tokens, end)
    if claim == PASSES and (follows in _ARTICLES or (not follows and end < len(tokens))):
        return UNCLEAR  # "`build` passes `flag` to the runner"
    if follows in _PLACES and any(kind != WORD for kind, _ in tokens[end + 1 : end + 3]):
        return UNCLEAR  # "`x.md` is removed from `docs/`"
    if denied:
        return ABSENT if claim == EXISTS else UNCLEAR
    return claim


def _texts_at(tokens: list[Token], at: int) -> tuple[list[str], int]:
    """What shall be printed or contained, and where that ends: quoted texts, else the clause."""
    words: list[str] = []
    while (word := _word(tokens, at)) and word not in _CLAUSE_ENDS:
        if word in _NO_TEXTS:
            return [], at
        words.append(tokens[at][1])
        at += 1
    if word or at == len(tokens):
        described = not words or words[0].lower() in _DESCRIBING  # "prints the version"
        return ["" if described else " ".join(words)], at
    texts: list[str] = []
    end = at
    while at < len(tokens) and tokens[at][0] != WORD and not _claim_at(tokens, at + 1):
        texts.append(tokens[at][1])
        end = at + 1
        at = _after_joints(tokens, end)
    return [] if _word(tokens, end) == "or" else texts[:_BOUND], end


def _is_hedged(tokens: list[Token], at: int) -> bool:
    """Is the subject only a condition? "Done when `x` passes" is a claim all the same."""
    at -= 1
    while _word(tokens, at) in _PASSED_OVER or _word(tokens, at) in _ARTICLES:
        at -= 1
    return _word(tokens, at) in _HEDGES and _word(tokens, at - 1) not in _ANNOUNCING


def _after_joints(tokens: list[Token], at: int) -> int:
    while _word(tokens, at) in _JOINTS:
        at += 1
    return at

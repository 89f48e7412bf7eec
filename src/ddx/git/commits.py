"""An attempt's clone of the project, and how its files become one commit (X-3a, X-9, X-10).

The clone shares the project's objects and nothing else. It is what `git clone --shared
--no-checkout` makes with its origin removed, written by hand: that command copies everything where
the project is itself a shallow clone, and refuses where the operator forbids the `file` protocol.
Stash, settings, hooks and branches are the clone's own, so nothing that is done to them reaches the
operator's. Submodules are not initialised.

The agent owns its workspace, so nothing of the git folder there is ever believed: its files are
read through the operator's repository and an index of our own. New objects go where they will be
needed, into the operator's object store. What the agent committed itself is input, not history.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

from ddx.base import WORKSPACE_MARK, DdxError, NotFound, changed, cut, value, variable
from ddx.git.commands import NOBODY, paths_in, require, run
from ddx.git.history import parse_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ddx.base import ProcessResult
    from ddx.git.history import FileChange
    from ddx.git.repository import Repository

_PATIENT_S = 900.0
"""For what reads or writes every file."""
_LONGEST_TITLE = 100
_LONGEST_IDS = 200
_DEEPEST = 50
# The operator's filters and line ends apply as they would for him. But our index lies outside of
# the git folder, must be whole, and no file of an agent may be refused for the sake of style.
_SETTINGS = (
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.safecrlf=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
)


_CARRIED_SETTINGS = (
    r"^(user\.(name|email)|extensions\.objectformat|filter\..*"
    r"|core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode))$"
)
# No daemon and no question to a person may come out of an agent's own git commands.
_OWN_SETTINGS = (
    ("core.bare", "false"),
    ("core.logallrefupdates", "true"),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
)


@value
class AttemptFiles:
    """The files of an attempt, as the operator's repository sees them."""

    repository: Repository
    folder: str
    index: str
    """Ours alone: it knows the state of every file, so that adding all of them is quick."""
    base: str
    seal: str = ""
    """Of the index after our checkout; one that no longer fits it is made anew (H-3)."""


@value
class FilesSnapshot:
    """What the work tree holds beyond the base; no tree if that is nothing."""

    tree: str
    paths: tuple[str, ...]
    put_back: tuple[str, ...] = ()
    """What was changed although it may not land; it is as in the base again, on the disk too."""
    flattened: tuple[str, ...] = ()
    """Repositories that were made inside: their files count, their history was put aside."""


def check_out(work: AttemptFiles, commit: str) -> None:
    """Make the work tree that of a commit; files that git does not know stay as they are."""
    _take(work)
    require(_git(work, "read-tree", "--reset", "-u", commit), f"checking out {commit}")


def sealed(work: AttemptFiles) -> AttemptFiles:
    """The same files, with a seal that tells whether somebody prepared their index since."""
    return changed(work, seal=_digest(work.index))


def _digest(path: str) -> str:
    """Of a file's content; empty if there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _own_index(work: AttemptFiles) -> None:
    """The index as our checkout left it, or else one that knows only the base (H-3).

    Against the latter git reads every file; with the former it may trust what no process can set:
    the time at which a file's inode last changed.
    """
    if work.seal and work.seal == _digest(work.index):
        return
    beside = changed(work, index=f"{work.index}.own")
    for name in (beside.index, f"{beside.index}.lock"):  # of a process that died here
        if os.path.lexists(name):
            os.unlink(name)
    require(_git(beside, "read-tree", work.base), f"reading {work.base}")
    os.replace(beside.index, work.index)  # without an index nobody would look for an agent's work


def listed_in(work: AttemptFiles) -> frozenset[str]:
    """Every file that our index knows, seen from the work tree."""
    found = _git(work, "ls-files", "-z")
    require(found, f"listing the files of {work.folder}")
    return frozenset(paths_in(found))


def make_tree(work: AttemptFiles, *, may_land: Callable[[str], bool], aside: str) -> FilesSnapshot:
    """Everything in the work tree that git does not ignore, except what may not land (X-9).

    `aside` is a folder for git folders that stand in the way.
    """
    _take(work)
    if not os.path.exists(work.index):  # we died during the checkout, so no agent was ever here
        return FilesSnapshot("", ())
    _own_index(work)
    flattened = list(_add_all(work, aside))
    changes = _staged(work)
    links = [change.path for change in changes if change.is_new_gitlink]
    if links and (lost := [path for path in links if path not in _declared_submodules(work)]):
        flattened += _flatten(work, lost, aside)
        changes = _staged(work)
    put_back = tuple(change.path for change in changes if not may_land(change.path))
    if put_back:
        _put_back(work, put_back)
        changes = _staged(work)
    paths = tuple(change.path for change in changes)
    if refused := [path for path in paths if not may_land(path)]:
        raise DdxError(f"{refused[0]} may not land, and could not be put back")
    return FilesSnapshot(
        _write_tree(work) if paths else "", paths, put_back, flattened=tuple(flattened)
    )


def commit_tree(repository: Repository, tree: str, parents: Sequence[str], message: str) -> str:
    """A commit that no branch holds yet; its author is the operator, or nobody in particular."""
    words = ["commit-tree", tree]
    for parent in parents:
        words += ["-p", parent]
    settings = ("user.useConfigOnly=true", "i18n.commitEncoding=UTF-8")
    text = message.encode("utf-8", "replace")
    made = run(repository.checkout, *words, stdin=text, settings=settings)
    if not made.ok:  # git knows no name; any other reason meets the second try as well
        made = run(repository.checkout, *words, stdin=text, env=_nobody(), settings=settings)
    require(made, "git commit-tree")
    return made.text.strip()


def message_for(title: str, bead_ids: Sequence[str], *, attempt: str, harness: str) -> str:
    """One line that says what, and trailers that say for which beads and by whom."""
    ids = cut(", ".join(map(_one_line, bead_ids)), _LONGEST_IDS)
    trailers = [
        *(f"Helix-Bead: {_one_line(bead_id)}" for bead_id in bead_ids),
        f"Helix-Attempt: {_one_line(attempt)}",
        f"Helix-Harness: {_one_line(harness)}",
    ]
    subject = f"{cut(_one_line(title), _LONGEST_TITLE)} [{ids}]".lstrip()
    return "\n".join([subject, "", *trailers, ""])


def new_files(work: AttemptFiles) -> frozenset[str]:
    """What git does not know yet and would add."""
    _take(work)
    listed = _git(work, "ls-files", "-z", "--others", "--exclude-standard")
    require(listed, f"listing the files of {work.folder}")
    return frozenset(paths_in(listed))


def _git(work: AttemptFiles, *words: str, stdin: bytes = b"") -> ProcessResult:
    return run(
        work.folder,
        *words,
        stdin=stdin,
        env={
            "GIT_DIR": work.repository.git_folder,
            "GIT_WORK_TREE": work.folder,
            "GIT_INDEX_FILE": work.index,
        },
        settings=_SETTINGS,
        timeout_s=_PATIENT_S,
    )


def _take(work: AttemptFiles) -> None:
    """An agent may remove its workspace, or leave a link to somewhere else in its place."""
    if os.path.islink(work.folder) or not os.path.isdir(work.folder):
        raise NotFound(f"the workspace {work.folder} is gone: its agent removed or replaced it")
    try:
        os.unlink(f"{work.index}.lock")  # of a git that died; nobody else uses this index
    except FileNotFoundError:
        pass


def _add_all(work: AttemptFiles, aside: str) -> Iterator[str]:
    """Stage every file; yields the repositories that were flattened for it."""
    added = _add(work)
    if not added.ok:  # a repository without a commit cannot be added at all
        for _ in range(_DEEPEST):
            nested = sorted(path.rstrip("/") for path in new_files(work) if path.endswith("/"))
            if not nested:
                break
            yield from nested
            _move_git_folders(work, nested, aside)
    if added.stderr:  # of a folder that it may not read, git only says that it leaves it out
        _make_readable(work.folder)
        added = _add(work)
    if not added.ok:
        said = "it took too long" if added.timed_out else added.complaint
        raise DdxError(f"what is in {work.folder} cannot be committed: {said}")


def _add(work: AttemptFiles) -> ProcessResult:
    return _git(work, "add", "--all", "--sparse", ".")


def _staged(work: AttemptFiles) -> list[FileChange]:
    words = ("diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev")
    found = _git(work, *words, work.base)
    require(found, "git diff-index")
    return list(parse_changes(found))


def _flatten(work: AttemptFiles, paths: Sequence[str], aside: str) -> list[str]:
    """Nested repositories as plain files: as links their content would be lost."""
    _move_git_folders(work, paths, aside)
    forget = _git(
        work, "update-index", "-z", "--force-remove", "--stdin", stdin=os.fsencode("\0".join(paths))
    )
    require(forget, "git update-index")
    deeper = list(_add_all(work, aside))
    links = [change.path for change in _staged(work) if change.is_new_gitlink]
    lost = [path for path in links if path not in _declared_submodules(work)]
    return [*paths, *deeper, *(_flatten(work, lost, aside) if lost else ())]


def _move_git_folders(work: AttemptFiles, paths: Sequence[str], aside: str) -> None:
    os.makedirs(aside, exist_ok=True)
    for path in paths:
        place = os.path.join(aside, f"nested-git-{len(os.listdir(aside))}")
        shutil.move(os.path.join(work.folder, path, ".git"), place)


def _declared_submodules(work: AttemptFiles) -> set[str]:
    """A link that .gitmodules names was meant as one."""
    asked = _git(work, "config", "-z", "--file", ".gitmodules", "--get-regexp", r"\.path$")
    return {entry.partition("\n")[2] for entry in os.fsdecode(asked.stdout).split("\0") if entry}


def _put_back(work: AttemptFiles, paths: Sequence[str]) -> None:
    """As in the base, in the index and on the disk: checks run on what would land (X-11)."""
    restore = ("restore", f"--source={work.base}", "--staged", "--worktree", "--no-overlay")
    done = _git(
        work,
        "--literal-pathspecs",
        *restore,
        *("--pathspec-from-file=-", "--pathspec-file-nul"),
        stdin=os.fsencode("\0".join(paths)),
    )
    require(done, "git restore")


def _make_readable(folder: str) -> None:
    for path, folders, files in os.walk(folder):
        if path == folder and ".git" in folders:
            folders.remove(".git")
        for wanted, names in ((0o700, folders), (0o600, files)):
            for entry in (os.path.join(path, name) for name in names):
                mode = os.lstat(entry).st_mode
                if not stat.S_ISLNK(mode) and mode & wanted != wanted:
                    os.chmod(entry, stat.S_IMODE(mode) | wanted)


def _write_tree(work: AttemptFiles) -> str:
    written = _git(work, "write-tree")
    require(written, "git write-tree")
    return written.text.strip()


def _nobody() -> dict[str, str]:
    named = {
        f"GIT_{role}_{part}": text
        for role in ("AUTHOR", "COMMITTER")
        for part, text in (("NAME", NOBODY.name), ("EMAIL", NOBODY.email))
    }
    return {name: text for name, text in named.items() if not variable(name)}


def _one_line(text: str) -> str:
    """Printable, and in one line: a title comes from anywhere."""
    return "".join(mark if mark.isprintable() else " " for mark in " ".join(text.split()))


# -- the clone ---------------------------------------------------------------------------------


def make_clone(repository: Repository, folder: str, *, base: str, branch: str, owner: str) -> None:
    """Make `folder` a clone, detached at `base`; `ddx` in it acts on the project at `owner`.

    It has the operator's tags, since versions are often made of them, and his branch at the base.
    """
    found = _settings_of(repository)
    git_folder = os.path.join(folder, ".git")
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        os.makedirs(os.path.join(git_folder, name))
    objects = os.path.join(repository.common_folder, "objects")
    _write(git_folder, "objects/info/alternates", f"{objects}\n")
    _write(git_folder, "config", _config_text([*found, *_OWN_SETTINGS, _format_of(found)]))
    _write(git_folder, "packed-refs", f"{base} {branch}\n{_tags_of(repository)}")
    _write(git_folder, WORKSPACE_MARK, f"{owner}\n")
    for name in ("shallow", "info/exclude", "info/attributes"):
        original = os.path.join(repository.common_folder, name)
        if os.path.exists(original):
            shutil.copyfile(original, os.path.join(git_folder, name))
    _write(git_folder, "HEAD", f"{base}\n")


def _settings_of(repository: Repository) -> list[tuple[str, str]]:
    """What the operator set for this repository and a clone elsewhere would not see."""
    asked = run(repository.checkout, "config", "-z", "--get-regexp", _CARRIED_SETTINGS)
    found = (entry.partition("\n") for entry in os.fsdecode(asked.stdout).split("\0") if entry)
    return [(name, text if newline else "true") for name, newline, text in found]


def _format_of(settings: list[tuple[str, str]]) -> tuple[str, str]:
    has_extension = any(name.startswith("extensions.") for name, _ in settings)
    return "core.repositoryformatversion", "1" if has_extension else "0"


def _tags_of(repository: Repository) -> str:
    form = "--format=%(objectname) %(refname)"
    listed = run(repository.checkout, "for-each-ref", form, "refs/tags")
    require(listed, "git for-each-ref")
    return os.fsdecode(listed.stdout)


def _config_text(settings: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"[{_section(name)}]\n\t{name.rpartition('.')[2]} = {_quoted(text)}\n"
        for name, text in settings
    )


def _section(name: str) -> str:
    section, _, rest = name.partition(".")
    subsection = rest.rpartition(".")[0]
    return f"{section} {_quoted(subsection)}" if subsection else section


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def _write(git_folder: str, name: str, text: str) -> None:
    with open(os.path.join(git_folder, name), "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)

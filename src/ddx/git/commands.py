"""How a git command is run, and short questions to git about a folder."""

from __future__ import annotations

import os

from ddx.base import DdxError, Instant, for_children, process, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.base import ProcessResult

_TIMEOUT_S = 60.0
# Nothing of the repository's own may run, and nothing may happen behind our back (X-3b).
_QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
)


def run(
    folder: str,
    *words: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Sequence[str] = (),
    timeout_s: float = _TIMEOUT_S,
    holding: Sequence[int] = (),
) -> ProcessResult:
    """One git command in `folder`; what its failure means is the caller's to say."""
    argv = ["git", "-C", folder]
    for setting in (*_QUIET, *settings):
        argv += ["-c", setting]
    return process.run(
        [*argv, *words], cwd=folder, env=env, timeout_s=timeout_s, stdin=stdin, holding=holding
    )


def ask(folder: str, *words: str) -> str:
    """A quick question whose answer is one line; empty when git has none."""
    return process.read_answer(["git", "-C", folder, *words], env=for_children())


def user_name(folder: str) -> str:
    return ask(folder, "config", "user.name")


def commit_id(folder: str, name: str) -> str:
    """The full id of a commit, or an empty string."""
    if not name or name.startswith("-"):
        return ""
    return ask(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")


def common_folder(folder: str) -> str:
    """Where all checkouts of one repository meet; empty outside of git."""
    found = ask(folder, "rev-parse", "--git-common-dir")
    return os.path.realpath(os.path.join(folder, found)) if found else ""


def get_config(folder: str, name: str) -> str:
    return ask(folder, "config", "--local", "--get", name)


def set_config(folder: str, name: str, setting: str) -> None:
    require(run(folder, "config", "--local", name, setting), f"git config {name}")


def file_at(folder: str, revision: str, path: str) -> bytes | None:
    """A file's content in a commit, or in a stage of the index (`:1`); None if it is not there."""
    found = run(folder, "cat-file", "blob", f"{revision}:{path}")
    return found.stdout if found.ok else None


@value
class Commit:
    """One commit; `at` is when its author made it, as RFC 3339 in UTC."""

    commit: str
    at: str
    author: str
    subject: str


def commits_of(folder: str, path: str) -> list[Commit]:
    """The commits that touched a file, under its earlier names too, newest first."""
    form = "--format=%H%n%at%n%aN%n%s"
    words = ("log", "-z", "--follow", "--no-show-signature", form, "--", path)
    found = run(folder, "--literal-pathspecs", *words)
    if not found.ok:  # no repository, or one without commits
        return []
    rows = [entry.split("\n", 3) for entry in found.text.split("\0") if entry]
    return [
        Commit(commit, Instant.at(int(seconds) * 1_000_000_000).text, author, subject=subject)
        for commit, seconds, author, subject in rows
    ]


def merge_file(ours: str, base: str, theirs: str) -> bool:
    """Git's own line merge into `ours`, with markers where it fails; True if it was clean."""
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    folder = os.path.dirname(os.path.abspath(ours))
    merged = run(
        folder, "merge-file", "--diff3", *labels, *map(os.path.abspath, (ours, base, theirs))
    )
    if merged.code < 0 or merged.code > 127:
        raise DdxError(f"git merge-file failed: {merged.complaint}")
    return merged.code == 0


def is_unmerged(folder: str, path: str) -> bool:
    return bool(run(folder, "ls-files", "--unmerged", "--", path).stdout)


def visible_files(folder: str) -> list[str] | None:
    """Every file that is tracked or could be, by the rules of .gitignore; None if git fails."""
    found = run(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if not found.ok:
        return None
    return sorted(paths_in(found))


def ignored(folder: str, paths: Sequence[str]) -> set[str]:
    """Which of the paths git leaves alone by the rules of .gitignore."""
    found = run(folder, "check-ignore", "-z", "--stdin", stdin=os.fsencode("\0".join(paths)))
    return {path for path in os.fsdecode(found.stdout).split("\0") if path}


def changed_paths(folder: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Which of the paths differ from the last commit, new ones included."""
    found = run(folder, "status", "--porcelain", "-z", "--untracked-files=all", "--", *paths)
    require(found, "git status")
    return tuple(entry[3:] for entry in found.text.split("\0") if len(entry) > 3)


def uncommitted(folder: str) -> tuple[str, ...]:
    """What differs from the last commit, without our own files (X-3)."""
    return changed_paths(folder, (".", ":(exclude).ddx", ":(exclude).helix"))


def changed_since(folder: str, commit: str) -> tuple[str, ...]:
    """What differs in `folder` between a commit and the working tree, new files included."""
    differing = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative")
    changed = run(folder, *differing, commit, "--", ".")
    require(changed, "git diff")
    new = run(folder, "ls-files", "-z", "--others", "--exclude-standard")
    require(new, "git ls-files")
    return tuple(sorted(paths_in(changed) | paths_in(new)))


def commit_only(folder: str, paths: Sequence[str], *, message: str) -> str:
    """Commit these paths and nothing else, whatever is staged; the new commit's id."""
    require(run(folder, "add", "--", *paths), "git add")
    require(run(folder, "commit", "--quiet", "--only", "-m", message, "--", *paths), "git commit")
    return commit_id(folder, "HEAD")


def paths_in(result: ProcessResult) -> set[str]:
    """Paths that git printed with NUL after each, whatever bytes they are of."""
    return {path for path in result.stdout.decode("utf-8", "surrogateescape").split("\0") if path}


def require(result: ProcessResult, what: str) -> None:
    """Go on only if the command did its work."""
    if not result.ok:
        raise DdxError(f"{what} failed: {result.complaint}")


@value
class GitIdentity:
    name: str
    email: str


NOBODY = GitIdentity("helix", "helix@localhost")
"""For a machine whose git was never told a name."""


def find_identity(folder: str) -> GitIdentity | None:
    """What git's settings say for `folder`; None unless both parts are set."""
    name, email = (ask(folder, "config", f"user.{part}") for part in ("name", "email"))
    return GitIdentity(name, email) if name and email else None


OLDEST = (2, 38)
"""The first that merges without a checkout (X-13)."""


def version(folder: str) -> tuple[int, ...]:
    """Its numbers; none where there is no git."""
    words = ask(folder, "version").split()
    parts = words[2].split(".") if len(words) > 2 else []
    numbers = []
    for part in parts:
        if not part.isdigit():  # 2.39.5.windows.1, 2.45.GIT
            break
        numbers.append(int(part))
    return tuple(numbers)

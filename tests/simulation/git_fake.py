"""Git played in this process: exactly the command lines that `ddx.git` has, and no others.

Objects and refs are in memory, working folders and indexes on the disk. `test_git_fake.py` holds it
to the real git, call by call. A command line that it does not know is an error.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tests.simulation.git_store import (
    NO_MODE,
    NOTHING,
    Commit,
    Files,
    Store,
    count_lines,
    object_id,
    patch_text,
    stat_text,
)

from ddx.base.process import ProcessResult

Entries = dict[str, tuple[str, str]]

_PLAIN, _RUNNABLE, _LINK = "100644", "100755", "120000"


class UnknownCommand(BaseException):
    """Nobody has taught the fake this command line; no program of ours may overlook that."""


class Failed(Exception):
    """As git fails: its code, and what it says."""

    def __init__(self, code: int, said: str = "") -> None:
        super().__init__(said)
        self.code, self.said = code, said


@dataclass
class Repository:
    """One repository with one checkout."""

    root: str
    branch: str = "refs/heads/main"
    refs: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return self.refs.get(self.branch, "")

    @property
    def git_folder(self) -> str:
        return os.path.join(self.root, ".git")


@dataclass
class _Call:
    """One command and where it is given."""

    repository: Repository
    folder: str
    tree: str
    index: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes

    @cached_property
    def prefix(self) -> str:
        inside = os.path.relpath(self.folder, self.tree)
        return "" if inside == "." else f"{inside}/"

    def flags(self, *known: str) -> set[str]:
        """The flags of the command; another one is unknown."""
        found = {word for word in self.words[1:] if word.startswith("-")}
        if strange := found - {*known, "--"}:
            raise UnknownCommand(f"{self.words}: {sorted(strange)}")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """What is no flag and stands before `--`."""
        before = self.words[1 : self.words.index("--")] if "--" in self.words else self.words[1:]
        return tuple(word for word in before if not word.startswith("-"))

    @property
    def paths(self) -> tuple[str, ...]:
        return self.words[self.words.index("--") + 1 :] if "--" in self.words else ()


def nothing() -> None:
    """No step is watched."""


class FakeGit:
    """Answers `git ...` for the repositories that were begun in it."""

    def __init__(self, now_s: Callable[[], int]) -> None:
        self.store = Store()
        self.repositories: dict[str, Repository] = {}
        self.between_steps: Callable[[], None] = nothing
        """Called between the steps of a merge into a checkout; what it raises cuts it off."""
        self.on_move: Callable[[str, str, str], None] = lambda ref, old, new: None
        """Told of every branch that moves, before it does."""
        self._now_s = now_s
        self._real: dict[str, str] = {}

    def run(self, argv: Sequence[str], env: Mapping[str, str], stdin: bytes) -> ProcessResult:
        """One command line, `git` included."""
        folder, words = _parse(argv)
        command = getattr(self, f"_do_{words[0].replace('-', '_')}", None)
        if command is None:
            raise UnknownCommand(" ".join(argv))
        try:
            if words[0] == "init":
                return ProcessResult(0, self._do_init(folder, words), b"")
            call = self._call(folder, words, env, stdin)
            said = command(call)
        except Failed as failed:
            return ProcessResult(failed.code, b"", failed.said.encode())
        code, out = said if isinstance(said, tuple) else (0, said)
        return ProcessResult(code, out if isinstance(out, bytes) else os.fsencode(out), b"")

    def _call(
        self, folder: str, words: tuple[str, ...], env: Mapping[str, str], stdin: bytes
    ) -> _Call:
        real = self._real_path(folder)
        home = os.path.dirname(env["GIT_DIR"]) if "GIT_DIR" in env else real
        while home not in self.repositories:
            if os.path.exists(os.path.join(home, ".git", "HEAD")):
                return _Call(
                    _clone(home),
                    real,
                    home,
                    index="",
                    words=words,
                    env=env,
                    stdin=stdin,
                )
            if home == "/":
                raise Failed(128, "fatal: not a git repository")
            home = os.path.dirname(home)
        repository = self.repositories[home]
        tree = env.get("GIT_WORK_TREE", home)
        index = env.get("GIT_INDEX_FILE", os.path.join(repository.git_folder, "index"))
        return _Call(
            repository,
            real,
            tree,
            index=index,
            words=words,
            env=env,
            stdin=stdin,
        )

    def _real_path(self, folder: str) -> str:
        """Kept once it is known: nobody moves a link while git is played."""
        if not os.path.isabs(folder):
            return os.path.realpath(folder)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return self._real[folder]

    # -- a repository and what it is told -----------------------------------------------------

    def _do_init(self, folder: str, words: tuple[str, ...]) -> bytes:
        root = os.path.realpath(folder)
        repository = self.repositories[root] = Repository(root)
        os.makedirs(os.path.join(repository.git_folder, "info"), exist_ok=True)
        for name in ("objects", "refs/heads"):
            os.makedirs(os.path.join(repository.git_folder, name), exist_ok=True)
        exclude = os.path.join(repository.git_folder, "info", "exclude")
        if not os.path.exists(exclude):
            with open(exclude, "w", encoding="utf-8") as file:
                file.write("# as git makes it\n")
        _write_index(os.path.join(repository.git_folder, "index"), {})
        return b""

    def _do_version(self, call: _Call) -> str:
        return "git version 2.45.0\n"

    def _do_config(self, call: _Call) -> str:
        config = call.repository.config
        words = [word for word in call.words[1:] if word not in ("--local", "--get", "-z")]
        if "--file" in words:
            if os.path.exists(os.path.join(call.folder, words[1])):
                raise UnknownCommand(f"{call.words}: submodules")
            raise Failed(1)
        if "--get-regexp" in words:
            wanted = re.compile(words[1].replace(r"\.", "[.]"))
            found = [f"{name}\n{text}\0" for name, text in config.items() if wanted.match(name)]
            if not found:
                raise Failed(1)
            return "".join(found)
        name = words[0].lower()
        if len(words) == 2:
            config[name] = words[1]
            return ""
        if name not in config:
            raise Failed(1)
        return f"{config[name]}\n"

    def _do_worktree(self, call: _Call) -> str:
        if call.words[1:] != ("list", "--porcelain", "-z"):
            raise UnknownCommand(str(call.words))
        it = call.repository
        return f"worktree {it.root}\0HEAD {it.head}\0branch {it.branch}\0\0"

    # -- names --------------------------------------------------------------------------------

    def _do_rev_parse(self, call: _Call) -> tuple[int, str]:
        lines: list[str] = []
        is_quiet = {"--verify", "--quiet"} <= set(call.words)
        as_names = False
        for word in call.words[1:]:
            match word:
                case "--verify" | "--quiet" | "--path-format=absolute":
                    continue
                case "--git-dir" | "--git-common-dir":
                    lines.append(call.repository.git_folder)
                case "--show-toplevel":
                    lines.append(call.tree)
                case "--show-prefix":
                    lines.append(call.prefix)
                case "--symbolic-full-name":
                    as_names = True
                case "HEAD" if as_names:
                    lines.append(call.repository.branch)
                case _ if word.startswith("-"):
                    raise UnknownCommand(str(call.words))
                case _:
                    found = self._named(call, word)
                    if not found:
                        return (1 if is_quiet else 128), "".join(f"{it}\n" for it in [*lines, word])
                    lines.append(found)
        return 0, "".join(f"{line}\n" for line in lines)

    def _named(self, call: _Call, name: str) -> str:
        """The id that a name means; empty if there is none."""
        if ":" in name:
            revision, _, path = name.partition(":")
            return self._at_path(call, revision, path)
        bare = name.removesuffix("^{commit}")
        if bare.endswith("^1"):
            commit = self._named(call, bare.removesuffix("^1"))
            parents = self.store.commits[commit].parents if commit else ()
            return parents[0] if parents else ""
        refs = call.repository.refs
        for ref in (bare, f"refs/heads/{bare}", f"refs/tags/{bare}"):
            if ref in refs:
                return refs[ref]
        if bare == "HEAD":
            return call.repository.head
        if len(bare) == 40 and (bare in self.store.commits or bare in self.store.trees):
            is_commit = bare in self.store.commits
            return bare if is_commit or bare == name else ""
        if re.fullmatch("[0-9a-f]{4,39}", bare):
            found = [it for it in self.store.commits if it.startswith(bare)]
            return found[0] if len(found) == 1 else ""
        return ""

    def _at_path(self, call: _Call, revision: str, path: str) -> str:
        if revision == "" or revision.isdigit():
            entry = _read_index(call.index).get(path)
            return entry[1] if entry and not revision else ""
        commit = self._named(call, revision)
        if not commit:
            return ""
        inside = path
        if path.startswith("./"):
            inside = os.path.normpath(f"{call.prefix}{path}")
        files = self.store.files(commit)
        if inside in ("", "."):
            return self.store.put_tree(files)
        if inside in files:
            return files[inside][1]
        below = {
            name.removeprefix(f"{inside}/"): entry
            for name, entry in files.items()
            if name.startswith(f"{inside}/")
        }
        return self.store.put_tree(below) if below else ""

    def _require(self, call: _Call, name: str) -> str:
        found = self._named(call, name)
        if not found:
            raise Failed(128, f"fatal: bad revision '{name}'")
        return found

    # -- refs ---------------------------------------------------------------------------------

    def _do_for_each_ref(self, call: _Call) -> str:
        form, prefix = call.words[1:]
        if form != "--format=%(objectname) %(refname)":
            raise UnknownCommand(str(call.words))
        below = f"{prefix.rstrip('/')}/"
        refs = sorted(call.repository.refs.items())
        return "".join(f"{made} {ref}\n" for ref, made in refs if ref.startswith(below))

    def _do_update_ref(self, call: _Call) -> str:
        words = list(call.words[1:])
        if words[0] == "-m":
            del words[:2]
        refs = call.repository.refs
        if words[0] == "-d":
            ref, *expected = words[1:]
            if expected and refs.get(ref, NOTHING) != expected[0]:
                raise Failed(1, f"error: cannot lock ref '{ref}'")
            refs.pop(ref, None)
            return ""
        ref, new, *expected = words
        if expected and refs.get(ref, NOTHING) != expected[0]:
            raise Failed(128, f"fatal: cannot lock ref '{ref}'")
        self._move(call.repository, ref, self._require(call, new))
        return ""

    def _move(self, repository: Repository, ref: str, new: str) -> None:
        self.on_move(ref, repository.refs.get(ref, ""), new)
        repository.refs[ref] = new

    # -- objects ------------------------------------------------------------------------------

    def _do_cat_file(self, call: _Call) -> bytes:
        if call.words[1] not in ("blob", "--filters"):
            raise UnknownCommand(str(call.words))
        found = self._named(call, call.words[2])
        if found not in self.store.blobs:
            raise Failed(128, f"fatal: path '{call.words[2]}' does not exist")
        return self.store.blobs[found]

    def _do_hash_object(self, call: _Call) -> str:
        if call.words[1:] != ("-t", "tree", "--stdin") or call.stdin:
            raise UnknownCommand(str(call.words))
        return f"{self.store.put_tree({})}\n"

    def _do_write_tree(self, call: _Call) -> str:
        return f"{self.store.put_tree(_read_index(call.index))}\n"

    def _do_commit_tree(self, call: _Call) -> str:
        words = list(call.words[1:])
        tree, flags = words[0], words[1:]
        parents = tuple(self._require(call, it) for it in flags[1::2])
        return f"{self._commit(call, tree, parents, call.stdin.decode())}\n"

    def _commit(self, call: _Call, tree: str, parents: tuple[str, ...], message: str) -> str:
        (author, at), (committer, committed) = (
            self._who(call, role) for role in ("AUTHOR", "COMMITTER")
        )
        commit = Commit(tree, parents, author, at, message)
        return self.store.put_commit(commit, committer=committer, committed=committed)

    def _who(self, call: _Call, role: str) -> tuple[str, int]:
        config = call.repository.config
        name = call.env.get(f"GIT_{role}_NAME") or config.get("user.name")
        email = call.env.get(f"GIT_{role}_EMAIL") or config.get("user.email")
        if not name or not email:
            raise Failed(128, "fatal: no name was given and auto-detection is disabled")
        said = call.env.get(f"GIT_{role}_DATE", "").removeprefix("@").partition(" ")[0]
        return f"{name} <{email}>", int(said) if said else self._now_s()

    def _do_commit(self, call: _Call) -> str:
        call.flags("--quiet", "--allow-empty", "-m", "--only")
        message = call.words[call.words.index("-m") + 1]
        head = call.repository.head
        files = dict(self.store.files(head)) if head else {}
        index = _read_index(call.index)
        for path in {*files, *index}:
            if _is_below(path, call.paths, call.prefix) or not call.paths:
                files.pop(path, None)
                if path in index:
                    files[path] = index[path]
        made = self._commit(
            call, self.store.put_tree(files), (head,) if head else (), f"{message.strip()}\n"
        )
        self._move(call.repository, call.repository.branch, made)
        return ""

    # -- files --------------------------------------------------------------------------------

    def _do_add(self, call: _Call) -> str:
        call.flags("--all", "--sparse")
        paths = call.paths or call.names
        index = _read_index(call.index)
        there = {
            path: self._kept(os.path.join(call.tree, path))
            for path, is_ignored in self._walk(call, index)
            if not is_ignored or path in index
        }
        for path in {*index, *there}:
            if not _is_below(path, paths, call.prefix):
                continue
            if path in there:
                index[path] = there[path]
            else:
                del index[path]
        _write_index(call.index, index)
        return ""

    def _kept(self, place: str) -> tuple[str, str]:
        mode, content = read_place(place)
        return mode, self.store.put_blob(content)

    def _do_ls_files(self, call: _Call) -> str:
        flags = call.flags(
            "-z", "--cached", "--others", "--exclude-standard", "--ignored", "--full-name",
            "--unmerged",
        )  # fmt: skip
        if "--unmerged" in flags:
            return ""
        index = _read_index(call.index)
        found = set(index) if "--others" not in flags or "--cached" in flags else set()
        if "--others" in flags:
            found |= {
                path
                for path, is_ignored in self._walk(call, index)
                if path not in index and is_ignored == ("--ignored" in flags)
            }
        prefix = "" if "--full-name" in flags else call.prefix
        below = [it for it in sorted(found, key=os.fsencode) if it.startswith(call.prefix)]
        return "".join(f"{path.removeprefix(prefix)}\0" for path in below)

    def _do_check_ignore(self, call: _Call) -> tuple[int, str]:
        rules = _Rules(call.tree, call.repository.git_folder)
        index = _read_index(call.index)
        asked = [path for path in os.fsdecode(call.stdin).split("\0") if path]
        found = [
            path
            for path in asked
            if f"{call.prefix}{path}" not in index and rules.ignores(f"{call.prefix}{path}")
        ]
        return (0 if found else 1), "".join(f"{path}\0" for path in found)

    def _walk(self, call: _Call, index: Entries) -> Iterator[tuple[str, bool]]:
        """Every file below the work tree, and whether git ignores it."""
        rules = _Rules(call.tree, call.repository.git_folder)
        tracked = {
            "/".join(path.split("/")[:n]) for path in index for n in range(1, path.count("/") + 1)
        }
        wants_ignored = "--ignored" in call.words
        waiting = [("", False)]
        while waiting:
            folder, is_ignored = waiting.pop()
            entries = list(os.scandir(os.path.join(call.tree, folder)))
            rules.has_seen(folder, {entry.name for entry in entries})
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name == ".git":
                    if folder:
                        raise UnknownCommand(f"a repository in a repository: {path}")
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                ignored = is_ignored or rules.matches(path, is_folder=is_folder)
                if not is_folder:
                    yield path, ignored
                elif not ignored or wants_ignored or path in tracked:
                    waiting.append((path, ignored))

    def _do_status(self, call: _Call) -> str:
        call.flags("--porcelain", "-z", "--untracked-files=all")
        head = call.repository.head
        files = self.store.files(head) if head else {}
        index = _read_index(call.index)
        there = dict(self._walk(call, index))
        lines: list[tuple[int, str, str]] = []
        for path in {*files, *index, *there}:
            if not _is_meant(path, call.paths, call.prefix):
                continue
            if path in files or path in index:
                word = self._states(call, path, files, index, there)
                if word != "  ":
                    lines.append((0, path, word))
            elif not there[path]:
                lines.append((1, path, "??"))
        lines.sort(key=lambda line: (line[0], os.fsencode(line[1])))
        return "".join(f"{word} {path}\0" for _, path, word in lines)

    def _states(
        self, call: _Call, path: str, files: Files, index: Entries, there: Mapping[str, bool]
    ) -> str:
        staged = " "
        if path not in index:
            staged = "D"
        elif path not in files:
            staged = "A"
        elif files[path] != index[path]:
            staged = "M"
        if path not in index:
            return f"{staged} "
        if path not in there:
            return f"{staged}D"
        return f"{staged}{'M' if self._is_edited(call.tree, path, index[path]) else ' '}"

    def _is_edited(self, tree: str, path: str, entry: tuple[str, str]) -> bool:
        mode, content = read_place(os.path.join(tree, path))
        return (mode, object_id("blob", content)) != entry

    # -- the index ----------------------------------------------------------------------------

    def _do_read_tree(self, call: _Call) -> str:
        call.flags("--reset", "-u")
        files = self.store.files(self._require(call, call.words[-1]))
        if "-u" in call.words:
            for path in _read_index(call.index):
                if path not in files:
                    remove_place(call.tree, path)
            for path, entry in files.items():
                self._put(call.tree, path, entry)
        _write_index(call.index, dict(files))
        return ""

    def _put(self, tree: str, path: str, entry: tuple[str, str]) -> None:
        write_place(os.path.join(tree, path), entry[0], self.store.blobs[entry[1]])

    def _do_update_index(self, call: _Call) -> str:
        if call.words[1:] == ("-q", "--refresh"):
            return ""
        raise UnknownCommand(str(call.words))

    def _do_restore(self, call: _Call) -> str:
        source = next(it for it in call.words if it.startswith("--source=")).partition("=")[2]
        known = ("--staged", "--worktree", "--no-overlay", "--pathspec-file-nul")
        call.flags(f"--source={source}", *known, "--pathspec-from-file=-")
        files = self.store.files(self._require(call, source))
        index = _read_index(call.index)
        for path in filter(None, os.fsdecode(call.stdin).split("\0")):
            if path in files:
                index[path] = files[path]
                self._put(call.tree, path, files[path])
            else:
                index.pop(path, None)
                remove_place(call.tree, path)
        _write_index(call.index, index)
        return ""

    # -- differences --------------------------------------------------------------------------

    def _do_diff_index(self, call: _Call) -> str:
        call.flags("--cached", "-z", "--raw", "--no-renames", "--no-abbrev")
        files = self.store.files(self._require(call, call.names[0]))
        return _raw(self.store, files, _read_index(call.index))

    def _do_diff_files(self, call: _Call) -> str:
        call.flags("-z", "--name-only")
        return "".join(f"{path}\0" for path in self._edited(call, _read_index(call.index)))

    def _edited(self, call: _Call, files: Files) -> Iterator[str]:
        for path in sorted(files, key=os.fsencode):
            is_there = os.path.lexists(os.path.join(call.tree, path))
            if not is_there or self._is_edited(call.tree, path, files[path]):
                yield path

    def _do_diff(self, call: _Call) -> str:
        call.flags(
            "--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative",
            "--ignore-submodules=all",
        )  # fmt: skip
        files = self.store.files(self._require(call, call.names[0]))
        index = _read_index(call.index)
        found = {*self._edited(call, files)}
        found |= {path for path in index if path not in files}
        found |= {path for path in files if path not in index}
        prefix = call.prefix if "--relative" in call.words else ""
        below = [it for it in sorted(found, key=os.fsencode) if it.startswith(prefix)]
        return "".join(f"{path.removeprefix(prefix)}\0" for path in below)

    def _do_diff_tree(self, call: _Call) -> str:
        call.flags(
            "-r", "-z", "-p", "-m", "--raw", "--root", "--name-only", "--no-renames", "--no-abbrev",
            "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--unified=5",
            "--stat=100", "--stat-count=60", "--no-commit-id", "--first-parent",
        )  # fmt: skip
        names = [self._require(call, name) for name in call.names]
        if len(names) == 1:
            parents = self.store.commits[names[0]].parents
            names.insert(0, parents[0] if parents else self.store.put_tree({}))
        one, other = (self.store.files(name) for name in names)
        if "--raw" in call.words:
            return _raw(self.store, one, other)
        prefix = call.prefix if "--relative" in call.words else ""
        paths = [
            path
            for path in self.store.differing(one, other)
            if path.startswith(prefix) and _is_meant(path, call.paths, call.prefix)
        ]
        if "--name-only" in call.words:
            return "".join(f"{path.removeprefix(prefix)}\0" for path in paths)
        if "-p" in call.words:
            return "".join(
                patch_text(path, one.get(path), other.get(path), self.store, 5) for path in paths
            )
        return stat_text(
            (path, *count_lines(self._content(one, path), self._content(other, path)))
            for path in paths
        )

    def _content(self, files: Files, path: str) -> bytes:
        return self.store.blobs[files[path][1]] if path in files else b""

    def _do_ls_tree(self, call: _Call) -> str:
        call.flags("-r", "-z", "-l")
        files = self.store.files(self._require(call, call.names[0]))
        lines = []
        for path in sorted(files, key=os.fsencode):
            if not _is_meant(path, call.paths, call.prefix) or not path.startswith(call.prefix):
                continue
            mode, blob = files[path]
            size = f" {len(self.store.blobs[blob]):>7}" if "-l" in call.words else ""
            lines.append(f"{mode} blob {blob}{size}\t{path.removeprefix(call.prefix)}\0")
        return "".join(lines)

    def _do_log(self, call: _Call) -> str:
        raise UnknownCommand(str(call.words))

    # -- merging ------------------------------------------------------------------------------

    def _do_merge_base(self, call: _Call) -> tuple[int, str]:
        one, other = (self._require(call, name) for name in call.names)
        if "--is-ancestor" in call.words:
            return (0 if one in self.store.ancestors(other) else 1), ""
        found = self.store.merge_base(one, other)
        return (0, f"{found}\n") if found else (1, "")

    def _do_merge_tree(self, call: _Call) -> tuple[int, str]:
        call.flags("--write-tree", "-z", "--name-only", "--no-messages")
        files, conflicts = self.store.merge(*(self._require(call, name) for name in call.names))
        tree = self.store.put_tree(files)
        if conflicts:
            return 1, "\0".join([tree, *sorted(conflicts, key=os.fsencode), ""])
        return 0, f"{tree}\0"

    def _do_merge(self, call: _Call) -> str:
        call.flags("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-stat", "--quiet")
        repository = call.repository
        old, new = repository.head, self._require(call, call.names[0])
        if new in self.store.ancestors(old):
            return ""
        if old not in self.store.ancestors(new):
            raise Failed(128, "fatal: Not possible to fast-forward, aborting.")
        lock = os.path.join(repository.git_folder, "index.lock")
        if os.path.exists(lock):
            raise Failed(128, f"fatal: Unable to create '{lock}': File exists.")
        before, after = self.store.files(old), self.store.files(new)
        paths = list(self.store.differing(before, after))
        index = _read_index(call.index)
        self._require_clean(call, paths, before, index)
        with open(lock, "x", encoding="utf-8"):
            pass
        for path in paths:
            self.between_steps()
            if path in after:
                self._put(call.tree, path, after[path])
                index[path] = after[path]
            else:
                remove_place(call.tree, path)
                index.pop(path, None)
        self.between_steps()
        _write_index(call.index, index)
        self.between_steps()
        self._move(repository, repository.branch, new)
        os.unlink(lock)
        return ""

    def _require_clean(
        self, call: _Call, paths: Sequence[str], before: Files, index: Entries
    ) -> None:
        edited = [
            path
            for path in paths
            if path in before
            and (
                index.get(path) != before[path]
                or (
                    os.path.lexists(os.path.join(call.tree, path))
                    and self._is_edited(call.tree, path, before[path])
                )
            )
        ]
        strange = [
            path
            for path in paths
            if path not in before and os.path.lexists(os.path.join(call.tree, path))
        ]
        for found, what in (
            (edited, "Your local changes to the following files"),
            (strange, "The following untracked working tree files"),
        ):
            if found:
                names = "".join(f"\t{path}\n" for path in found)
                raise Failed(1, f"error: {what} would be overwritten by merge:\n{names}Aborting\n")


def _clone(root: str) -> Repository:
    """As `ddx.git.commits` makes it: detached at its base, with the objects of another."""
    with open(os.path.join(root, ".git", "HEAD"), encoding="utf-8") as file:
        return Repository(root, "HEAD", {"HEAD": file.read().strip()})


# -- command lines and paths -------------------------------------------------------------------


def _parse(argv: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The folder and the command, without the settings before it."""
    rest = list(argv[1:])
    folder = "."
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "-C":
            folder = rest.pop(0)
        elif word == "-c":
            rest.pop(0)
        elif word != "--literal-pathspecs" and not word.startswith("--config-env="):
            raise UnknownCommand(" ".join(argv))
    return folder, tuple(rest)


def _is_below(path: str, paths: Sequence[str], prefix: str) -> bool:
    for given in paths:
        whole = os.path.normpath(f"{prefix}{given}")
        if whole == "." or path == whole or path.startswith(f"{whole}/"):
            return True
    return False


def _is_meant(path: str, paths: Sequence[str], prefix: str) -> bool:
    """By git's pathspecs, as far as we use them."""
    out = ":(exclude)"
    without = [it.removeprefix(out) for it in paths if it.startswith(out)]
    wanted = [it for it in paths if not it.startswith(out)]
    return (not wanted or _is_below(path, wanted, prefix)) and not _is_below(path, without, prefix)


class _Rules:
    """What info/exclude and .gitignore say, as far as anybody here writes it."""

    def __init__(self, tree: str, git_folder: str) -> None:
        self._tree = tree
        self._own = _patterns(os.path.join(git_folder, "info", "exclude"))
        self._read: dict[str, list[str]] = {}

    def has_seen(self, folder: str, names: Set[str]) -> None:
        """What stands in a folder: without rules of its own none have to be looked for."""
        if ".gitignore" not in names:
            self._read[folder] = []

    def ignores(self, path: str) -> bool:
        """A path, or a folder above it."""
        parts = path.split("/")
        return any(
            self.matches("/".join(parts[:n]), is_folder=n < len(parts))
            for n in range(1, len(parts) + 1)
        )

    def matches(self, path: str, *, is_folder: bool) -> bool:
        parts = path.split("/")
        if any(_fits(rule, path, is_folder) for rule in self._own):
            return True
        for n in range(len(parts)):
            folder = "/".join(parts[:n])
            if folder not in self._read:
                self._read[folder] = _patterns(os.path.join(self._tree, folder, ".gitignore"))
            inside = "/".join(parts[n:])
            if any(_fits(rule, inside, is_folder) for rule in self._read[folder]):
                return True
        return False


def _patterns(place: str) -> list[str]:
    try:
        with open(place, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except FileNotFoundError:
        return []
    rules = [line for line in lines if line and not line.startswith("#")]
    for rule in rules:
        if rule.startswith("!") or "/" in rule.strip("/") or "**" in rule:
            raise UnknownCommand(f"{place}: {rule}")
    return rules


@lru_cache(maxsize=1 << 14)
def _fits(rule: str, path: str, is_folder: bool) -> bool:
    if rule.endswith("/"):
        if not is_folder:
            return False
        rule = rule[:-1]
    if rule.startswith("/"):
        return fnmatch.fnmatchcase(path, rule[1:]) and "/" not in path
    return fnmatch.fnmatchcase(path.rpartition("/")[2], rule)


def _raw(store: Store, one: Files, other: Files) -> str:
    lines = []
    for path in store.differing(one, other):
        old, new = one.get(path, (NO_MODE, NOTHING)), other.get(path, (NO_MODE, NOTHING))
        letter = "A" if path not in one else "D" if path not in other else "M"
        lines.append(f":{old[0]} {new[0]} {old[1]} {new[1]} {letter}\0{path}\0")
    return "".join(lines)


# -- on the disk -------------------------------------------------------------------------------


def _read_index(path: str) -> Entries:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return {name: (mode, blob) for name, (mode, blob) in json.load(file).items()}
    except FileNotFoundError:
        return {}


def _write_index(path: str, entries: Entries) -> None:
    with open(f"{path}.part", "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(entries, file)
    os.replace(f"{path}.part", path)


def read_place(place: str) -> tuple[str, bytes]:
    """A file as git would keep it: its mode and its content."""
    mode = os.lstat(place).st_mode
    if stat.S_ISLNK(mode):
        return _LINK, os.fsencode(os.readlink(place))
    if stat.S_ISDIR(mode):
        return _PLAIN, b""  # a folder where a file was: other content in any case
    with open(place, "rb") as file:
        return (_RUNNABLE if mode & 0o100 else _PLAIN), file.read()


def write_place(place: str, mode: str, content: bytes) -> None:
    """A file as git writes it: a new one, in the place of whatever was there."""
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        kept = read_place(place)
        if kept == (mode, content):
            return
        os.unlink(place)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if mode == _LINK:
        os.symlink(os.fsdecode(content), place)
        return
    with open(place, "wb") as file:
        file.write(content)
    if mode == _RUNNABLE:
        os.chmod(place, 0o755)


def remove_place(tree: str, path: str) -> None:
    """A file, and the folders that are empty without it."""
    try:
        os.unlink(os.path.join(tree, path))
    except FileNotFoundError:
        pass
    above = os.path.dirname(path)
    while above and os.path.isdir(os.path.join(tree, above)):
        if os.listdir(os.path.join(tree, above)):
            return
        os.rmdir(os.path.join(tree, above))
        above = os.path.dirname(above)

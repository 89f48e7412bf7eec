"""The only place that spells a git command."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.git.branches import (
        PreservedCommit,
        Worktree,
        index_lock,
        kept,
        pin,
        tip_of,
        unpin,
        worktrees,
    )
    from ddx.git.checkouts import in_the_way, mend
    from ddx.git.commands import (
        NOBODY,
        OLDEST,
        Commit,
        GitIdentity,
        commit_id,
        commits_of,
        common_folder,
        find_identity,
        merge_file,
        uncommitted,
        user_name,
        version,
    )
    from ddx.git.commits import (
        AttemptFiles,
        check_out,
        commit_tree,
        listed_in,
        make_clone,
        make_tree,
        message_for,
        new_files,
        sealed,
    )
    from ddx.git.history import (
        HistoryCommit,
        TreeEntry,
        changed_paths,
        content,
        diffstat,
        entries,
        is_ancestor,
        tree_id,
    )
    from ddx.git.repository import Repository, create_repository, read_head, read_repository
else:
    __getattr__ = door(
        __name__,
        branches="PreservedCommit Worktree index_lock kept pin tip_of unpin worktrees",
        checkouts="in_the_way mend",
        commands=(
            "Commit GitIdentity NOBODY OLDEST commit_id commits_of common_folder find_identity "
            "merge_file uncommitted user_name version"
        ),
        commits=(
            "AttemptFiles check_out commit_tree listed_in make_clone make_tree message_for "
            "new_files sealed"
        ),
        history=(
            "HistoryCommit TreeEntry changed_paths content diffstat entries is_ancestor tree_id"
        ),
        repository="Repository create_repository read_head read_repository",
    )

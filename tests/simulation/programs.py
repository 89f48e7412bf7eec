"""The programs of a world: git, and whoever else is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.simulation.git_fake import FakeGit, UnknownCommand, nothing

from ddx.base.process import ProcessResult

Sink = Callable[[bytes], None]
Played = Callable[[Sequence[str], str, Mapping[str, str], Sink], int]
"""A program: its words, where it stands, its variables, where it prints; its exit code."""


def nobody(argv: Sequence[str], cwd: str, env: Mapping[str, str], say: Sink) -> int:
    """No program but git is known."""
    raise UnknownCommand(" ".join(argv))


class Programs:
    """As `ddx.testing.played_by` takes it; `boundary` is called before and after each of them."""

    def __init__(
        self,
        git: FakeGit,
        *,
        agent: Played = nobody,
        boundary: Callable[[], None] = nothing,
    ) -> None:
        self._git = git
        self._agent = agent
        self._boundary = boundary

    def run(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes
    ) -> ProcessResult:
        if argv[0] != "git":
            raise UnknownCommand(" ".join(argv))
        self._boundary()
        return self._git.run(argv, env, stdin)

    def stream(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        stdout: Sink,
        stderr: Sink,
    ) -> ProcessResult:
        self._boundary()
        return ProcessResult(self._agent(argv, cwd, env, stdout), b"", b"")

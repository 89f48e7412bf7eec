"""Real bubblewrap, as root too: what an agent needs works inside, and no way leads out (X-23)."""

# @requirement TC-306

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.tracker import Repository, make_repository, wait_for

from ddx.attempts.sandbox import child_environment, environment_for, require_bubblewrap, wrapper
from ddx.base.errors import DdxError
from ddx.base.process import ProcessResult, is_alive, run
from ddx.project.project import Project


def _why_not() -> str:
    try:
        require_bubblewrap(network=False)
    except DdxError as problem:
        return problem.message
    return ""


pytestmark = pytest.mark.skipif(bool(_why_not()), reason=f"no sandbox to test: {_why_not()}")
AS_ROOT = os.geteuid() == 0

PREFACE = """
import ctypes, os, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
REMOUNT, BIND, ALL, NEWNS, NEWUSER = 32, 4096, 16384, 0x20000, 0x10000000
print("begun", flush=True)
def out(escaped): sys.exit(0 if escaped else 9)
def remount(place=b"/"): return libc.mount(b"none", place, None, REMOUNT | BIND, None) == 0
project, secret, outside, pid = (os.environ[n] for n in ("PROJECT", "SECRET", "OUTSIDE", "PID"))
"""
BEGUN = "begun\n"
WRITES = {
    "a file outside": "open(outside, 'w').write('x')",
    "the operator's checkout": "open(f'{project}/code.py', 'a').write('x')",
    "git's settings": "open(f'{project}/.git/config', 'a').write('x')",
    "a git hook": "os.makedirs(f'{project}/.git/hooks'); open(f'{project}/.git/hooks/a', 'w')",
    "the object store": "os.mkdir(f'{project}/.git/objects/zz')",
    "the tracker": "open(f'{project}/.ddx/beads.jsonl', 'a').write('x')",
    "the attempt's record": "open(f'{project}/.ddx/executions/a-7/result.json', 'w')",
    "another home": "open('../../../../other/x', 'w')",
}
ESCAPES = {
    "read a key": "open(secret).read()",
    "see another home": "os.listdir('../../../../other')",
    "talk to a daemon": "socket.socket(socket.AF_UNIX).connect('../../../../daemon')",
    "kill": "os.kill(int(pid), 9)",
    "trace": "out(libc.ptrace(0x4206, int(pid), 0, 0) == 0)",
    "look through another process": "os.listdir(f'/proc/{pid}/root')",
}
ESCAPES_OF_ROOT = {
    "mount it writable": "out(remount())",
    "change the root": "os.chroot('.')",
    "make a device": "os.mknod('device', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
    "run a program by a crash": "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "take a capability": "out(libc.prctl(23, 21) == 1 and os.setgroups([1]) is None)",
}


class Fenced:
    """A workspace of a project in somebody's home, and commands in it behind the fence."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "mara"
        self.project: Repository = make_repository(self.home, name="app")
        (self.project.root / "code.py").touch()
        self.bead = self.project.ddx("create", "Work").id
        self.project.commit()
        self.workspace = folder / "cache/workspaces/app/a-7"
        self.project.git("clone", "--quiet", "--shared", str(self.project.root), self.workspace)
        (self.workspace / ".git/ddx-project").write_text(f"{self.project.root}\n")
        self.scratch = self.project.folder / "executions/a-7/scratch"
        self.scratch.mkdir(parents=True)
        self.secret = self.home / ".ssh/id_ed25519"
        self.secret.parent.mkdir()
        self.secret.write_text("a key")
        (self.home / ".claude").mkdir()
        (folder / "other").mkdir()
        self.folder = folder
        self.outside = folder / "outside"

    def all_outside(self) -> dict[str, bytes]:
        """Every file and folder that is not an agent's to change."""
        found = [self.outside, *(self.folder / "other").iterdir(), *self.project.root.rglob("*")]
        mine = [path for path in found if path.exists() and self.scratch not in path.parents]
        return {str(path): b"" if path.is_dir() else path.read_bytes() for path in mine}

    def wrap(self, argv: list[str], *, network: bool = True) -> list[str]:
        sandbox = SimpleNamespace(kind="bubblewrap", network=network)
        task = SimpleNamespace(
            settings=SimpleNamespace(sandbox=sandbox),
            project=Project(str(self.project.root)),
            homes=(".claude", ".absent"),
        )
        wrap = wrapper(task, str(self.workspace), scratch=[str(self.scratch)])
        return list(wrap(argv))

    def env(self, **more: str) -> dict[str, str]:
        env = child_environment(
            action="build",
            beads=[self.bead],
            attempt=f"a-{self.folder.name}-{os.getpid()}",
            project_root=str(self.project.root),
        )
        return environment_for(env, more={"HOME": str(self.home), **more}, without=())

    def run(
        self, *argv: str, fence: bool = True, network: bool = True, **more: str
    ) -> ProcessResult:
        words = self.wrap(list(argv), network=network) if fence else list(argv)
        return run(words, cwd=str(self.workspace), env=self.env(**more), timeout_s=60)

    def sh(self, text: str, **more: str) -> ProcessResult:
        return self.run("sh", "-c", text, **more)

    def python(
        self, text: str, *, fence: bool = True, network: bool = True, pid: int = 0
    ) -> ProcessResult:
        return self.run(
            *(sys.executable, "-c", PREFACE + text),
            fence=fence,
            network=network,
            PROJECT=str(self.project.root),
            SECRET=str(self.secret),
            OUTSIDE=str(self.outside),
            PID=str(pid),
        )


@pytest.fixture
def fenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fenced:
    made = Fenced(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


@pytest.fixture
def outsider() -> Iterator[int]:
    """A process of the operator's."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def daemon(fenced: Fenced, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(fenced.folder)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("daemon")
        listening.listen()
        yield


# No way out


@pytest.mark.parametrize("what", WRITES)
def test_nothing_outside_is_changed(fenced: Fenced, what: str) -> None:
    """Without the fence it is, or the test would prove nothing."""
    before = fenced.all_outside()
    assert fenced.python(WRITES[what]).text == BEGUN
    assert fenced.all_outside() == before
    fenced.python(WRITES[what], fence=False)
    assert fenced.all_outside() != before


@pytest.mark.parametrize("way", ESCAPES | (ESCAPES_OF_ROOT if AS_ROOT else {}))
@pytest.mark.usefixtures("daemon")
def test_there_is_no_way_out(fenced: Fenced, outsider: int, way: str) -> None:
    """Without the fence each way is open, or the test would prove nothing."""
    text = {**ESCAPES, **ESCAPES_OF_ROOT}[way]
    ended = fenced.python(text, pid=outsider)
    assert (ended.text, ended.code != 0) == (BEGUN, True), ended.complaint
    assert is_alive(outsider)
    open_way = fenced.python(text, fence=False, pid=outsider)
    assert open_way.code == 0, open_way.complaint


def test_a_user_namespace_inside_leads_nowhere(fenced: Fenced) -> None:
    """Capabilities come with it, but not over what was mounted before."""
    text = """
if libc.unshare(NEWUSER | NEWNS): sys.exit(7)
os.mkdir("all")
libc.mount(b"/", b"all", None, BIND | ALL, None)
found = [remount(), remount(b"all"), remount(project.encode() + b"/.ddx")]
found += [libc.umount2(place.encode(), 2) == 0 for place in ("/tmp", "/run", os.environ["HOME"])]
out(any(found))
"""
    assert fenced.python(text).code in (7, 9)


def test_no_switch_of_the_kernel_can_be_turned(fenced: Fenced) -> None:
    text = """
for top in ("/proc", "/sys"):
    for folder, below, files in os.walk(top):
        if folder == "/proc":
            below[:] = [n for n in below if not n.isdigit() and "self" not in n]
        for path in (os.path.join(folder, name) for name in files):
            if os.access(path, os.W_OK) and not os.stat(path).st_mode & 0o002:
                print(path)
"""
    ended = fenced.python(text)
    assert (ended.code, ended.text) == (0, BEGUN)


def test_no_capability_is_left(fenced: Fenced) -> None:
    held = fenced.sh("grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status").text.split()
    assert held[1::2] == [*["0" * 16] * 4, "1"]


def test_homes_are_empty_but_for_what_was_given(fenced: Fenced) -> None:
    assert fenced.sh("ls -A ~").text.split() == [".claude", "app"]
    assert fenced.sh("ls -A ~/app").text.split() == [".ddx", ".git"]
    assert fenced.sh("ls -A ~/app/.git").text.split() == ["objects"]
    outside = sorted(Path("/home").iterdir()) if Path("/home").is_dir() else []
    for home in outside:
        assert fenced.sh(f"ls -A {home}").code != 0


def test_without_the_network_there_is_loopback_and_nothing_else(fenced: Fenced) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"socket.create_connection(('127.0.0.1', {port}), 5)"
        assert fenced.python(reach).code == 0
        cut_off = fenced.python(reach, network=False)
        assert (cut_off.text, cut_off.code) == (BEGUN, 1)
    inside = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
    assert fenced.python(inside, network=False).code == 0


def test_who_kills_bwrap_kills_all_of_it(fenced: Fenced) -> None:
    """And the marker is seen from outside, on what has a session of its own too."""
    env = fenced.env()
    text = "setsid sleep 600 & sleep 600 & echo up; wait"
    argv = fenced.wrap(["sh", "-c", text])
    with subprocess.Popen(argv, cwd=fenced.workspace, env=env, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        try:
            wait_for(lambda: len(marked(env["DDX_ATTEMPT_ID"])) >= 5)
            started.send_signal(signal.SIGINT)
            wait_for(lambda: not marked(env["DDX_ATTEMPT_ID"]))
        finally:
            for pid in marked(env["DDX_ATTEMPT_ID"]):
                os.kill(pid, signal.SIGKILL)


def marked(attempt: str) -> list[int]:
    """Live processes that carry the attempt's marker."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            entries = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if f"DDX_ATTEMPT_ID={attempt}".encode() in entries and is_alive(int(folder.name)):
            found.append(int(folder.name))
    return found


# What works inside


def test_an_agent_edits_and_commits_in_its_workspace(fenced: Fenced) -> None:
    done = fenced.sh(
        "pwd && echo new >code.py && git commit --quiet --all -m Work && git log --oneline | wc -l",
        GIT_AUTHOR_NAME="A",
        GIT_AUTHOR_EMAIL="a@b",
        GIT_COMMITTER_NAME="A",
        GIT_COMMITTER_EMAIL="a@b",
    )
    assert done.ok, done.complaint
    where, commits = done.text.split()
    assert (where, int(commits)) == (str(fenced.workspace), 3)
    assert (fenced.workspace / "code.py").read_text() == "new\n"
    assert (fenced.project.root / "code.py").read_text() == ""


def test_a_command_begins_where_it_is_started(fenced: Fenced) -> None:
    below = fenced.workspace / "parts/inner"
    below.mkdir(parents=True)
    argv = fenced.wrap(["pwd"])
    assert run(argv, cwd=str(below), env=fenced.env(), timeout_s=60).text == f"{below}\n"


def test_an_agent_reads_the_tracker_and_cannot_write_it(fenced: Fenced) -> None:  # T-13, X-5
    shutil.rmtree(fenced.project.folder / "cache", ignore_errors=True)
    shown = fenced.run("ddx", "bead", "list", "--json")
    assert shown.ok, shown.complaint
    assert fenced.bead in shown.text
    refused = fenced.run("ddx", "bead", "close", fenced.bead)
    assert (refused.code, "FOLLOW_UP:" in refused.complaint) == (1, True)


def test_temporary_files_scratch_and_its_own_settings_are_an_agent_s_to_write(
    fenced: Fenced,
) -> None:
    name = f"t-{uuid.uuid4().hex}"
    done = fenced.sh(
        f"echo x >/tmp/{name} && echo x >/var/tmp/t && echo x >$TMPDIR/u && echo x >~/t && "
        f"echo x >/dev/shm/t && echo x >/dev/null && echo kept >~/.claude/t && "
        f"echo kept >{fenced.scratch}/t && test ! -e ~/.absent",
        TMPDIR="/nowhere",
    )
    assert done.ok, done.complaint
    assert (fenced.home / ".claude/t").read_text() == "kept\n"
    assert (fenced.scratch / "t").read_text() == "kept\n"
    assert not (fenced.home / "t").exists()
    assert not Path("/tmp", name).exists()


def test_a_program_of_somebody_s_home_can_be_run(fenced: Fenced) -> None:
    agent = fenced.home / "agent"
    agent.write_text("#!/bin/sh\necho hello from $0\n")
    agent.chmod(0o755)
    assert fenced.run(str(agent)).text == f"hello from {agent}\n"


def test_the_exit_code_and_both_streams_come_through(fenced: Fenced) -> None:
    done = fenced.sh("echo out; echo err >&2; exit 42")
    assert (done.code, done.stdout, done.stderr) == (42, b"out\n", b"err\n")
    assert fenced.sh("kill -9 $$").code == 128 + 9

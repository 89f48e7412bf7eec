"""Makes the private environment that our commands run in, once, and prints its folder (P-1).

It lies in the checkout, or in the folder CACHED where the checkout is read-only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
INSIDE = ROOT / ".venv"
LOCK = ".set-up.lock"
INCOMPLETE = ".incomplete"
READY = ".ready"
READY_DEV = ".ready-dev"
INSTALLER_SETTINGS = {
    "PIP_USER": "0",
    "UV_COMPILE_BYTECODE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
}
STEP_LIMIT_S = 1200
COMPLAINT_LINES = 4

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


class SetUpError(Exception):
    """What stopped us; its last line says what to do."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    parser.add_argument("cached", type=Path, metavar="CACHED")
    options = parser.parse_args()
    try:
        environment = choose_folder(options.cached)
        set_up(environment, dev=options.dev)
    except KeyboardInterrupt:
        return 130
    except (SetUpError, OSError, subprocess.TimeoutExpired) as error:
        say(f"set-up failed: {error}")
        return 1
    print(environment)
    return 0


def say(text: str) -> None:
    print(f"helix: {text}", file=sys.stderr, flush=True)


def choose_folder(cached: Path) -> Path:
    writable = os.access(INSIDE if INSIDE.exists() else ROOT, os.W_OK)
    return INSIDE if writable else cached


def set_up(environment: Path, *, dev: bool) -> None:
    """Stamps an environment that holds everything wanted; calls no installer if it already did."""
    make_folder(environment)
    with locked(environment) as run:
        # The stamps bear the time of reading: an edit during a long set-up stays newer than they.
        read_at_ns = max(time.time_ns(), PYPROJECT.stat().st_mtime_ns + 1)
        wanted = read_requirements(dev=dev)
        version = find_version(environment, run)
        if not version or not is_complete(environment, wanted, version):
            version = build(environment, wanted, version, run)
        for stamp, requirements in wanted.items():
            path = environment / stamp
            path.write_text(fingerprint(requirements, version), "utf-8")
            os.utime(path, ns=(read_at_ns, read_at_ns))


def make_folder(environment: Path) -> None:
    try:
        environment.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetUpError(
            f"{error}\n  set XDG_CACHE_HOME to a folder that can be written, then try again"
        ) from error


@contextmanager
def locked(environment: Path) -> Iterator[Run]:
    """Yields the way to start programs: they share the lock, so it outlives a kill of ours."""
    lock = os.open(environment / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another start is setting up, waiting for it ...")
        fcntl.flock(lock, fcntl.LOCK_EX)

    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=ROOT,
            env={**os.environ, **INSTALLER_SETTINGS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=[lock],
            timeout=STEP_LIMIT_S,
            check=False,
        )

    try:
        yield run
    finally:
        os.close(lock)


def read_requirements(*, dev: bool) -> dict[str, list[str]]:
    """The requirements that each stamp vouches for, the widest last."""
    pyproject = tomllib.loads(PYPROJECT.read_text("utf-8"))
    project = pyproject["project"]
    # A clone is also the plugin, whose MCP server must start at once.
    needed_to_run: list[str] = project["dependencies"] + project["optional-dependencies"]["mcp"]
    if not dev:
        return {READY: needed_to_run}
    return {READY: needed_to_run, READY_DEV: needed_to_run + pyproject["dependency-groups"]["dev"]}


def find_version(environment: Path, run: Run) -> str | None:
    """The environment's Python as "3.11"; None if it is broken or half-made."""
    if (environment / INCOMPLETE).exists() or not (environment / "bin/python").exists():
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = run([python_of(environment), "-I", "-S", "-c", code])
    except OSError:
        return None
    version = answer.stdout.strip()
    has_packages = (environment / "lib" / f"python{version}" / "site-packages").is_dir()
    return version if answer.returncode == 0 and has_packages else None


def is_complete(environment: Path, wanted: dict[str, list[str]], version: str) -> bool:
    return all(
        (environment / stamp).exists()
        and (environment / stamp).read_text("utf-8") == fingerprint(requirements, version)
        for stamp, requirements in wanted.items()
    )


def fingerprint(requirements: list[str], version: str) -> str:
    return hashlib.sha256(json.dumps([version, *requirements]).encode()).hexdigest()


def build(environment: Path, wanted: dict[str, list[str]], version: str | None, run: Run) -> str:
    """Brings the environment up to date, from nothing if need be; unfinished, it stays marked."""
    say(f"setting up in {environment} (once, up to a minute) ...")
    started_at = time.monotonic()
    incomplete = environment / INCOMPLETE
    incomplete.touch()
    for stamp in (READY, READY_DEV):
        (environment / stamp).unlink(missing_ok=True)
    if not version:
        make_empty(environment, run)
    install(environment, list(wanted.values())[-1], run)
    compile_sources(environment, run)
    incomplete.unlink()
    version = find_version(environment, run)
    if not version:
        raise SetUpError(f"the Python in {environment} does not run\n  delete that folder")
    say(f"set up in {time.monotonic() - started_at:.0f} s")
    return version


def make_empty(environment: Path, run: Run) -> None:
    for entry in environment.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name not in (LOCK, INCOMPLETE):
            entry.unlink()
    # The real file, such as python3.11: a newer Python then breaks the link, which launchers
    # notice, instead of changing the version under the installed packages.
    python = os.path.realpath(sys.executable)
    made = run([python, "-I", "-m", "venv", "--without-pip", str(environment)])
    if made.returncode != 0:
        raise SetUpError(
            f"{python} cannot make an environment: {last_lines(made.stdout)}\n"
            "  install its venv module (Debian, Ubuntu: apt install python3-venv), then try again"
        )


def install(environment: Path, requirements: list[str], run: Run) -> None:
    """Tries uv, then uv fetched by pip, then pip; each only if the one before it is of no use."""
    complaints = []
    for find_installer in (find_uv, fetch_uv, find_pip):
        installer = find_installer(environment, run)
        if installer:
            done = run([*installer, "--quiet", *requirements])
            if done.returncode == 0:
                return
            complaints.append(last_lines(done.stdout))
    if complaints:
        raise SetUpError(
            "\n".join(["the packages could not be installed", *complaints])
            + "\n  check the network, proxy and package index settings, then try again"
        )
    raise SetUpError(
        "there is neither uv nor pip\n"
        "  install one (Debian, Ubuntu: apt install python3-pip), then try again"
    )


def find_uv(environment: Path, run: Run) -> list[str] | None:
    uv = shutil.which("uv")
    return [uv, "pip", "install", "--python", python_of(environment)] if uv else None


def fetch_uv(environment: Path, run: Run) -> list[str] | None:
    uv = environment / "bin/uv"
    if not uv.exists():
        pip = find_pip(environment, run)
        if not pip or run([*pip, "--quiet", "--only-binary", "uv", "uv"]).returncode != 0:
            return None
    return [str(uv), "pip", "install", "--python", python_of(environment)]


def find_pip(environment: Path, run: Run) -> list[str] | None:
    """The host's pip, which can serve our environment, else one unpacked inside it."""
    python = python_of(environment)
    host = [sys.executable, "-m", "pip", "--python", python]
    if run([*host, "--version"]).returncode == 0:
        return [*host, "install"]
    unpacked = run([python, "-I", "-m", "ensurepip"]).returncode == 0
    return [python, "-I", "-m", "pip", "install"] if unpacked else None


def compile_sources(environment: Path, run: Run) -> None:
    """Makes the first command as fast as the next; a source that does not compile says so later."""
    place = [] if environment == INSIDE else ["-X", f"pycache_prefix={environment}/pycache"]
    run([python_of(environment), "-I", *place, "-m", "compileall", "-q", str(ROOT / "src")])


def python_of(environment: Path) -> str:
    return str(environment / "bin/python")


def last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-COMPLAINT_LINES:])


if __name__ == "__main__":
    sys.exit(main())

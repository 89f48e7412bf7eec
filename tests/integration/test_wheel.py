"""HELIX from a wheel: all that it needs is inside, and it leaves as it came (P-2).

The package index is asked twice: for hatchling, which builds, and for what a wheel depends on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.support.front_door import ROOT

from ddx import __version__

FOLDERS = ("workflows", "skills", "agents", "hooks")
WEIGHTS = "memory/embedders/minilm/minilm.weights"
LIMIT_S = 300
GIT_SETTINGS = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"


class Environment:
    """An empty virtual environment, and one person who has nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "environment"
        self.home = folder / "home"
        self.shop = folder / "shop"
        self.home.mkdir(parents=True)
        self.shop.mkdir()
        (self.home / ".gitconfig").write_text(GIT_SETTINGS)
        run(sys.executable, "-m", "venv", "--without-pip", str(self.folder))

    @property
    def python(self) -> str:
        return str(self.folder / "bin/python")

    @property
    def packages(self) -> Path:
        (found,) = (self.folder / "lib").glob("python3.*/site-packages")
        return found

    def pip(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """`uv pip` or pip, whichever is there, with the settings of whoever runs the tests."""
        uv = shutil.which("uv", path=f"{ROOT / '.venv/bin'}:{os.environ['PATH']}")
        command, *rest = words
        if uv:
            return run(uv, "pip", command, "--quiet", "--python", self.python, *rest, code=code)
        yes = ["--yes"] if command == "uninstall" else []
        pip = ("python3", "-m", "pip", "--python", self.python, command, "--quiet", *yes)
        return run(*pip, *rest, code=code)

    def types(self, *argv: str, code: int | None = 0) -> str:
        """A command in the shop, with nothing of ours but what was installed."""
        variables = {
            "HOME": str(self.home),
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.home),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return run(*argv, code=code, cwd=self.shop, env=variables).stdout

    def kept_at_home(self) -> list[str]:
        files = (path for path in self.home.rglob("*") if not path.is_dir())
        return sorted(str(path.relative_to(self.home)) for path in files)


def run(
    *argv: str,
    code: int | None = 0,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert code is None or done.returncode == code, (argv, done.stdout, done.stderr)
    return done


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The only step without which nothing here can be said: hatchling from the index."""
    environment = Environment(tmp_path_factory.mktemp("builder"))
    fetched = environment.pip("install", "hatchling>=1.25", code=None)
    if fetched.returncode:
        pytest.skip(f"hatchling cannot be fetched: {fetched.stderr.strip()[-200:]}")
    return environment


@pytest.fixture(scope="module")
def dist(builder: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and an sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    run(builder.python, "-m", "hatchling", "build", "-d", str(folder))
    return folder


@pytest.fixture(scope="module")
def user(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("user"))
    environment.pip("install", str(only(dist, "*.whl")))
    environment.types("git", "init", "--quiet")
    environment.types("git", "commit", "--quiet", "--allow-empty", "-m", "a shop")
    return environment


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return set(file.namelist())


def test_a_wheel_holds_every_page_and_the_weights(dist: Path) -> None:  # P-2
    names = names_in(only(dist, "*.whl"))
    shared = {
        f"helix/_resources/{path.relative_to(ROOT)}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert f"helix/{WEIGHTS}" in sources
    assert sorted((shared | sources) - names) == []
    others = {name for name in names - shared - sources if ".dist-info/" not in name}
    assert sorted(others) == []


def test_an_sdist_builds_the_same_wheel(  # P-2
    builder: Environment, dist: Path, tmp_path: Path
) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as file:
        file.extractall(tmp_path, filter="data")
    source = only(tmp_path, "helix_supervisor-*")
    run(builder.python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    assert names_in(only(tmp_path, "*.whl")) == names_in(only(dist, "*.whl"))
    top = {path.name for path in source.iterdir()}
    assert top <= {*FOLDERS, "src", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"} | {
        *(".gitignore", "PKG-INFO")
    }


def test_both_commands_say_what_they_are(user: Environment) -> None:
    assert user.types("helix", "--version") == f"helix, version {__version__}\n"
    assert user.types("ddx", "--version") == f"ddx, version {__version__}\n"


def test_a_foreign_repository_is_set_up_once(user: Environment) -> None:  # P-5
    assert "made" in user.types("helix", "init")
    assert "is set up already" in user.types("helix", "init")
    assert "shop" in user.types("ddx", "bead", "create", "Greet", "--verify", "true")
    assert user.types("ddx", "doc", "validate").startswith("nothing is wrong")


def test_skills_are_sound_and_the_doctor_finds_all_of_it(user: Environment) -> None:  # P-4, P-6
    resources = user.packages / "helix/_resources"
    assert user.types("helix", "skills", "validate") == f"the skills in {resources} are sound\n"
    said = user.types("helix", "doctor", code=None)
    assert f"ok    installation: HELIX {__version__} in {resources}" in said


def test_memories_are_found_by_their_meaning(user: Environment) -> None:  # M-5
    words = ("--trigger", "The login test fails at midnight", "--resolution", "Freeze the clock")
    user.types("helix", "memory", "store", *words)
    assert "Freeze the clock" in user.types("helix", "memory", "recall", "signing in late at night")
    assert "all-MiniLM-L6-v2" in user.types("helix", "memory", "health")


def test_an_objective_finds_its_contracts(user: Environment) -> None:  # O-7
    code = "from helix.objective import AgentContract; print(AgentContract('builder').budget)"
    assert int(user.types(user.python, "-c", code)) > 0


def test_the_demo_goes_from_a_wish_to_its_end(user: Environment) -> None:  # P-1
    assert "That was the whole loop" in user.types("helix", "demo")


def test_the_server_says_what_it_lacks(user: Environment) -> None:  # P-7
    done = run(str(user.folder / "bin/helix"), "mcp", code=1, cwd=user.shop)
    assert "pip install 'helix-supervisor[mcp]'" in done.stderr


def test_what_was_installed_goes_and_what_is_theirs_stays(dist: Path, tmp_path: Path) -> None:
    user = Environment(tmp_path)
    before = user.kept_at_home()
    user.pip("install", str(only(dist, "*.whl")))
    user.types("git", "init", "--quiet")
    user.types("helix", "init")
    bead = user.types("ddx", "bead", "create", "Greet").strip()
    user.types("helix", "install")
    launcher = user.home / ".local/bin/helix"
    assert user.types(str(launcher), "--version") == f"helix, version {__version__}\n"

    user.types("helix", "install", "--remove")  # P-3
    user.pip("uninstall", "helix-supervisor")

    names = {path.name for path in (*user.packages.iterdir(), *(user.folder / "bin").iterdir())}
    assert not [name for name in names if name.startswith(("helix", "ddx"))]
    assert user.kept_at_home() == before
    assert bead in (user.shop / ".ddx/beads.jsonl").read_text()

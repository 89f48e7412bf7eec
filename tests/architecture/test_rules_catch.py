"""Each house rule catches what it forbids and lets the nearest legal form pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.architecture import (
    cycles_and_sizes,
    ddx_layers,
    doors,
    helix_layers,
    hot_lane,
    one_place,
    purity,
    read_sources,
)


def lines(count: int) -> str:
    return "x = 1\n" * count


def function(count: int) -> str:
    return "def f():\n" + "    x = 1\n" * (count - 1)


def cases(table):
    """Name each case by the sentence it stands for."""
    return [pytest.param(*case, id=sentence) for sentence, *case in table]


# --- the reader ---------------------------------------------------------------------------------


def test_the_reader_sees_every_file_of_both_packages():
    src = Path(__file__).parents[2] / "src"
    found = read_sources(src)
    assert {"ddx.__init__", "helix.__init__", "ddx.tracker.row"} <= found.keys()
    assert len(found) == len(list(src.rglob("*.py")))


def test_violations_come_sorted_by_file_and_line():
    sources = {
        "ddx.tracker.tracker": lines(9) + "import helix.b\nimport helix.a\n",
        "ddx.base.clock": "\nimport helix\n",
    }
    said = "imports helix; even a type may not"
    assert ddx_layers(sources) == [
        f"src/ddx/base/clock.py:2 rule 1: ddx.base.clock {said}",
        f"src/ddx/tracker/tracker.py:10 rule 1: ddx.tracker.tracker {said}",
        f"src/ddx/tracker/tracker.py:11 rule 1: ddx.tracker.tracker {said}",
    ]


# --- rule 1 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "said"),
    cases(
        [
            ("up", "ddx.tracker.tracker", "from ddx.attempts import work_one", "ddx.attempts"),
            ("up-by-name", "ddx.git", "from ddx import tracker", "ddx.tracker"),
            ("up-relative", "ddx.tracker.tracker", "from ..cli import fast", "ddx.cli"),
            (
                "up-in-a-function",
                "ddx.base.files",
                "def f():\n    import ddx.documents",
                "ddx.documents",
            ),
            (
                "up-by-import-module",
                "ddx.base.clock",
                "from importlib import import_module\nimport_module('ddx.git')",
                "ddx.git",
            ),
            (
                "leaf-to-project",
                "ddx.base.process",
                "import ddx.project.project",
                "ddx.project",
            ),
            ("nothing-imports-cli", "ddx.attempts.work", "import ddx.cli.bead", "ddx.cli"),
            ("testing-imports-cli", "ddx.testing", "import ddx.cli.main", "ddx.cli"),
            ("tracker-knows-graph", "ddx.tracker.tracker", "import ddx.documents.graph", "above"),
            ("graph-knows-tracker", "ddx.documents.scan", "import ddx.tracker", "not know"),
            ("through-a-door", "ddx.git.commits", "from ddx.tracker import Tracker", "above"),
            ("the-package-imports", "ddx.__init__", "from ddx.base.errors import Error", "above"),
            ("cli-imports-testing", "ddx.cli.doctor", "import ddx.testing", "ddx.testing"),
            ("helix-imports-testing", "helix.cli.run", "from ddx import testing", "ddx.testing"),
            ("no-layer", "ddx.utils", "", "has no layer"),
            ("helix", "ddx.cli.main", "from helix.cli import main", "imports helix"),
            (
                "helix-for-a-type",
                "ddx.cli.main",
                "if TYPE_CHECKING:\n    from helix.project.settings import Settings",
                "imports helix",
            ),
        ]
    ),
)
def test_rule_1_catches(module, source, said):
    found = ddx_layers({module: source})
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    cases(
        [
            ("down", "ddx.attempts.work", "from ddx import tracker, graph, harnesses, git"),
            ("far-down", "ddx.cli.main", "import ddx.base.errors"),
            ("low-neighbours", "ddx.project.project", "from ddx.base.files import read"),
            ("leaf-neighbours", "ddx.base.text", "from ddx.base.errors import UsageError"),
            ("own-package", "ddx.tracker.tracker", "from . import model"),
            ("the-version", "ddx.cli.main", "from ddx import __version__"),
            ("testing-imports-all-below", "ddx.testing", "import ddx.attempts, ddx.tracker"),
            ("demo-imports-testing", "helix.cli.demo", "import ddx.testing"),
            ("main-imports-cli", "ddx.__main__", "from ddx.cli.main import main"),
            (
                "up-for-a-type",
                "ddx.tracker.tracker",
                "import typing\nif typing.TYPE_CHECKING:\n    from ddx.attempts import Outcome",
            ),
            ("a-longer-name", "ddx.tracker.tracker", "import helixes"),
        ]
    ),
)
def test_rule_1_allows(module, source):
    assert ddx_layers({module: source}) == []


def test_the_other_branch_of_a_type_check_does_run():  # rule 1
    for test in ("if TYPE_CHECKING:\n    x = 1\nelse:", "if not TYPE_CHECKING:"):
        assert ddx_layers({"ddx.git": f"{test}\n    import ddx.tracker\n"})


# --- rule 2 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "said"),
    cases(
        [
            ("up", "helix.passes.scope", "from helix.run import BuildPolicy", "helix.run"),
            ("settings-import", "helix.project.settings", "import helix.run", "helix.run"),
            (
                "run-knows-objective",
                "helix.run.driver",
                "import helix.objective",
                "helix.objective",
            ),
            ("hooks-import-cli", "helix.hooks.stop", "import helix.cli", "helix.cli"),
            ("mcp-imports-cli", "helix.mcp", "import helix.cli.status", "helix.cli"),
            ("of-ddx-the-cli", "helix.cli.run", "from ddx.cli.bead import ready", "ddx.cli"),
            (
                "of-ddx-a-private-name",
                "helix.run.build_policy",
                "from ddx.git import _run",
                "not public",
            ),
            ("no-layer", "helix.manager.core", "", "has no layer"),
        ]
    ),
)
def test_rule_2_catches(module, source, said):
    found = helix_layers({module: source})
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    cases(
        [
            ("down", "helix.run.loop", "from helix import passes, memory, project"),
            ("cli-starts-mcp", "helix.cli.mcp", "from helix.mcp import serve"),
            ("main-imports-cli", "helix.__main__", "from helix.cli.main import main"),
            ("of-ddx-a-package", "helix.run.build_policy", "from ddx.attempts import work_one"),
            ("of-ddx-the-version", "helix.cli.main", "from ddx import __version__"),
            (
                "a-driver-for-a-type",
                "helix.run.loop",
                "if TYPE_CHECKING:\n    from helix.objective import Phase",
            ),
        ]
    ),
)
def test_rule_2_allows(module, source):
    assert helix_layers({module: source}) == []


@pytest.mark.parametrize(
    ("declared", "opened", "taken", "said"),
    [
        ("Row", "Row", "Row", ""),
        ("Row, Bead", "Row", "Row", "ddx.tracker.row.Bead is shown only"),
        ("Row", "Row Bead", "Row, Bead", "ddx.tracker.row.Bead is shown only"),
        ("Row", "Row", "", "ddx.tracker.row.Row is shown and no other room takes it"),
    ],
)
def test_rule_2_reads_doors(declared, opened, taken, said):
    room = (
        f"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from ddx.tracker.row import {declared}\n"
        f"else:\n    __getattr__ = door(__name__, row='{opened}')\n"
    )
    user = f"from ddx.tracker import {taken}\n" if taken else ""
    found = doors({"ddx.tracker.__init__": room, "helix.run.model": user})
    assert any(said in each for each in found) if said else found == []


# --- rule 3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "said"),
    cases(
        [
            *(
                (f"imports-{name}", "ddx.tracker.queue", f"import {name}", f"uses {name}")
                for name in ("os", "sys", "subprocess", "sqlite3", "time", "random", "socket")
            ),
            *(
                (
                    f"imports-from-{name}",
                    "ddx.documents.graph",
                    f"from {name} import x",
                    f"uses {name}",
                )
                for name in ("pathlib", "io", "shutil", "tempfile")
            ),
            ("os-path", "ddx.tracker.merge", "import os.path", "uses os"),
            ("in-a-function", "helix.run.aftermath", "def f():\n    import time", "uses time"),
            ("below-a-package", "ddx.tracker.interchange.bd", "import os", "uses os"),
            (
                "our-clock",
                "helix.run.aftermath",
                "from ddx.base.clock import now",
                "uses ddx.base.clock",
            ),
            ("our-git", "ddx.attempts.model", "from ddx import git", "uses ddx.git"),
            ("open", "ddx.documents.parser", "text = open('x').read()", "builtins.open"),
            (
                "now",
                "ddx.documents.metrics",
                "from datetime import datetime\nx = datetime.now()",
                "datetime.datetime.now",
            ),
            (
                "today",
                "helix.objective.machine",
                "import datetime as dt\nx = dt.date.today()",
                "datetime.date.today",
            ),
        ]
    ),
)
def test_rule_3_catches(module, source, said):
    found = purity({module: f'"""A marked module. Pure."""\n{source}'})
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    cases(
        [
            ("impure-module", "ddx.tracker.tracker", "import os, time\nopen('x')"),
            ("path-words", "ddx.documents.model", "import posixpath"),
            ("only-for-a-type", "ddx.documents.graph", "if TYPE_CHECKING:\n    import pathlib"),
            ("a-value-of-time", "helix.run.aftermath", "from datetime import datetime, timedelta"),
            ("open-beads", "ddx.tracker.queue", "def f(open):\n    return len(open)"),
            ("a-method-open", "ddx.tracker.queue", "def f(bead):\n    return bead.open()"),
            ("a-longer-name", "ddx.tracker.queue_view", "import os"),
        ]
    ),
)
def test_rule_3_allows(module, source):
    assert purity({module: source}) == []


# --- rule 4 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "said", "home"),
    cases(
        [
            ("subprocess", "import subprocess", "subprocess", "ddx.base.process"),
            ("popen", "from subprocess import Popen", "subprocess", "ddx.agents.shim"),
            ("pty", "def f():\n    import pty", "pty", "ddx.base.process"),
            (
                "spawn",
                "import os\nos.posix_spawn('x', [], {})",
                "os.posix_spawn",
                "ddx.base.process",
            ),
            ("fork", "from os import fork", "os.fork", "ddx.base.process"),
            ("exec", "import os as o\no.execvp('x', [])", "os.execvp", "ddx.agents.shim"),
            ("system", "import os\nos.system('x')", "os.system", "ddx.base.process"),
            ("git-list", "run(['git', 'status'])", "git command", "ddx.git"),
            ("git-tuple", "x = ('git', *more)", "git command", "ddx.git"),
            ("git-constant", "run([GIT, 'status'])", "git command", "ddx.git"),
            ("git-plus", "run(['git'] + more)", "git command", "ddx.git"),
            ("sqlite-memory", "import sqlite3", "sqlite3", "helix.memory.store"),
            ("sqlite-cache", "from sqlite3 import connect", "sqlite3", "ddx.documents.cache"),
            ("sqlite-search", "import sqlite3 as sql", "sqlite3", "ddx.documents.full_text"),
            ("yaml", "import yaml", "yaml", "ddx.base.yaml"),
            (
                "yaml-in-a-function",
                "def f():\n    from yaml import load",
                "yaml",
                "ddx.base.yaml",
            ),
            ("environ", "import os\nx = os.environ['X']", "os.environ", "ddx.base.process"),
            ("environb", "import os\nx = os.environb", "os.environb", "ddx.base.process"),
            ("getenv", "import os\nx = os.getenv('X')", "os.getenv", "ddx.base.process"),
            ("from-environ", "from os import environ", "os.environ", "ddx.base.process"),
            ("print", "print('x')", "builtins.print", "ddx.cli.bead.show"),
            ("pass-print-on", "f(on_event=print)", "builtins.print", "helix.cli.run"),
            ("stdout", "import sys\nsys.stdout.write('x')", "sys.stdout", "helix.hooks.stop"),
            ("stderr", "from sys import stderr", "sys.stderr", "ddx.cli.main"),
            ("echo", "import click\nclick.echo('x')", "click.echo", "helix.cli.run"),
            ("time", "import time\nx = time.time()", "time.time", "ddx.base.clock"),
            ("time-ns", "import time\nx = time.time_ns()", "time.time_ns", "ddx.base.clock"),
            ("sleep", "from time import sleep", "time.sleep", "ddx.base.clock"),
            ("monotonic", "import time\nx = time.monotonic()", "time.monotonic", "ddx.base.clock"),
            (
                "now",
                "from datetime import datetime as d\nx = d.now()",
                "datetime.datetime.now",
                "ddx.base.clock",
            ),
            ("shell", "run('x', shell=True)", "shell=True", "ddx.base.process"),
            ("catch-all", "try:\n    f()\nexcept Exception:\n    g()", "caught", "ddx.cli.main"),
            ("bare", "try:\n    f()\nexcept:\n    g()", "caught", "helix.cli.main"),
            (
                "catch-all-among-others",
                "try:\n    f()\nexcept (OSError, Exception):\n    g()",
                "caught",
                "ddx.attempts.work",
            ),
            (
                "catch-more-than-all",
                "try:\n    f()\nexcept BaseException:\n    g()",
                "caught",
                "ddx.attempts.work",
            ),
        ]
    ),
)
def test_rule_4_catches_it_anywhere_but_at_home(source, said, home):
    found = one_place({"ddx.tracker.tracker": source})
    assert len(found) == 1
    assert said in found[0]
    assert one_place({home: source}) == []


@pytest.mark.parametrize("module", ["ddx.cli.main", "ddx.attempts.work", "ddx.tracker.tracker"])
@pytest.mark.parametrize(
    "source",
    [
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept:\n    ...",
        "import contextlib\nwith contextlib.suppress(Exception):\n    f()",
    ],
)
def test_rule_4_catches_a_swallowed_error_everywhere(module, source):
    assert any("swallowed" in sentence for sentence in one_place({module: source}))


@pytest.mark.parametrize(
    "source",
    cases(
        [
            ("other-time-words", "import time\nx = time.gmtime(0)"),
            ("other-os-words", "import os\nos.replace('a', 'b')"),
            ("exit", "import sys\nsys.exit(1)"),
            ("a-method-print", "report.print()"),
            ("git-not-first", "x = ['status', 'git']"),
            ("git-in-a-question", "x = name in ('git', 'ssh')"),
            ("git-in-a-walk", "for tool in ('git', 'ssh'):\n    check(tool)"),
            ("no-shell", "run(['x'], shell=False)"),
            ("one-error", "try:\n    f()\nexcept OSError:\n    pass"),
            ("undo", "try:\n    f()\nexcept BaseException:\n    undo()\n    raise"),
            ("sql-for-a-type", "if TYPE_CHECKING:\n    from sqlite3 import Connection"),
            ("a-word-in-a-text", "x = 'import subprocess; print(os.environ)'"),
        ]
    ),
)
def test_rule_4_allows(source):
    assert one_place({"ddx.tracker.tracker": source}) == []


def test_rule_4_allows_a_catch_all_only_in_the_main_of_a_cli():
    source = "try:\n    f()\nexcept Exception:\n    g()"
    assert one_place({"ddx.tracker.main": source})
    assert one_place({"ddx.cli.bead.show": source})
    assert one_place({"helix.cli.main": source}) == []


# --- rule 5 -------------------------------------------------------------------------------------


def test_rule_5_catches_a_cycle_and_names_the_way_round():
    sources = {
        "ddx.base.files": "\nfrom ddx.project import project\n",
        "ddx.git": "import ddx.base.files\n",
        "ddx.project.project": "def f():\n    from ddx.git import run\n",
    }
    way = "ddx.base.files -> ddx.project.project -> ddx.git -> ddx.base.files"
    assert cycles_and_sizes(sources) == [f"src/ddx/base/files.py:2 rule 5: import cycle {way}"]


def test_rule_5_catches_a_cycle_through_doors():
    door = (
        "if TYPE_CHECKING:\n    from {0}.{1} import {2} as {2}\nelse:\n    __getattr__ = door()\n"
    )
    sources = {
        "ddx.git.__init__": door.format("ddx.git", "commits", "commit"),
        "ddx.git.commits": "from ddx.tracker import Row\n",
        "ddx.tracker.__init__": door.format("ddx.tracker", "row", "Row"),
        "ddx.tracker.row": "from ddx.git import commit\n",
    }
    [found] = cycles_and_sizes(sources)
    assert "ddx.git.commits -> ddx.tracker.row -> ddx.git.commits" in found


def test_rule_5_catches_a_cycle_through_a_package_that_imports():
    sources = {
        "ddx.tracker.__init__": "from ddx.base.files import read\n",
        "ddx.tracker.row": "",
        "ddx.base.files": "from ddx.tracker.row import Row\n",
    }
    assert len(cycles_and_sizes(sources)) == 1


def test_rule_5_catches_a_module_that_imports_from_its_own_package():
    sources = {
        "ddx.tracker.__init__": "from ddx.tracker.tracker import Store\n",
        "ddx.tracker.tracker": "def f():\n    from ddx.tracker import Store\n",
    }
    assert len(cycles_and_sizes(sources)) == 1


def test_rule_5_allows_a_package_to_offer_what_its_modules_hold():
    sources = {
        "ddx.__init__": "",
        "ddx.tracker.__init__": "from ddx.tracker.tracker import Store\n",
        "ddx.tracker.tracker": "from ddx.tracker import row\nfrom . import codec\n",
        "ddx.tracker.row": "",
        "ddx.tracker.codec": "from ddx.tracker.row import Row\n",
        "ddx.cli.main": "from ddx.tracker import Store\nimport ddx.tracker.row\n",
    }
    assert cycles_and_sizes(sources) == []


def test_rule_5_allows_a_cycle_of_types():
    sources = {
        "ddx.base.files": "import ddx.project.project\n",
        "ddx.project.project": "if TYPE_CHECKING:\n    from ddx.base.files import Lock\n",
    }
    assert cycles_and_sizes(sources) == []


@pytest.mark.parametrize(
    ("module", "most"),
    [
        ("ddx.tracker.queue", 400),
        ("ddx.attempts.engine", 350),
        ("ddx.attempts.work", 250),
    ],
)
def test_rule_5_limits_a_module(module, most):
    assert cycles_and_sizes({module: lines(most)}) == []
    [found] = cycles_and_sizes({module: lines(most + 1)})
    assert f"{most + 1} lines, at most {most}" in found


@pytest.mark.parametrize("before", ["", "async ", "@mark\n"])
def test_rule_5_limits_a_function(before):
    assert cycles_and_sizes({"ddx.git": before + function(60)}) == []
    [found] = cycles_and_sizes({"ddx.git": before + function(61)})
    assert "f has 61 lines, at most 60" in found


# --- rule 7 -------------------------------------------------------------------------------------

COLD = (
    *("typing", "re", "enum", "dataclasses", "json", "contextlib", "functools", "collections"),
    *("collections.abc", "pathlib", "datetime", "subprocess", "hashlib", "random"),
    *("click", "yaml", "msgspec", "signal", "tempfile"),
)


@pytest.mark.parametrize("name", COLD)
def test_rule_7_catches_a_cold_import(name):
    assert hot_lane({"ddx.cli.main": f"import {name}\n"})
    assert hot_lane({"ddx.cli.bead.queue": f"from {name} import x\n"})


def test_rule_7_follows_our_own_imports_and_tells_the_way():
    sources = {
        "ddx.cli.bead.queue": "from ddx.tracker import queue\n",
        "ddx.tracker.queue": "import ddx.base.text\n",
        "ddx.base.text": "x = 1\nfrom re import compile\n",
    }
    [found] = hot_lane(sources)
    assert found.startswith("src/ddx/base/text.py:2 rule 7: re.compile is not for the hot lane")
    assert found.endswith("(ddx.cli.bead.queue -> ddx.tracker.queue -> ddx.base.text)")


def test_rule_7_counts_the_packages_on_the_way():
    sources = {
        "ddx.cli.__init__": "import enum\n",
        "ddx.cli.main": "from ddx.tracker.row import Row\n",
        "ddx.tracker.__init__": "import json\n",
        "ddx.tracker.row": "",
    }
    assert len(hot_lane(sources)) == 2


def test_rule_7_counts_the_branch_and_the_class_that_run_at_the_start():
    assert hot_lane({"ddx.cli.main": "if TYPE_CHECKING:\n    x = 1\nelse:\n    import re\n"})
    assert hot_lane({"ddx.cli.main": "class X:\n    import re\n"})
    assert hot_lane({"ddx.cli.main": "try:\n    import re\nexcept ImportError:\n    re = None\n"})


@pytest.mark.parametrize(
    "sources",
    cases(
        [
            ("cheap", {"ddx.cli.main": "import os, sys\nfrom _json import scanstring\n"}),
            ("later", {"ddx.cli.main": "def f():\n    import json, ddx.documents\n"}),
            ("type", {"ddx.cli.main": "if TYPE_CHECKING:\n    from typing import Any\n"}),
            ("cold-command", {"ddx.cli.bead.doctor": "import json\n"}),
            (
                "a-cold-module-later",
                {"ddx.cli.main": "def f():\n    import ddx.git\n", "ddx.git": "import re\n"},
            ),
        ]
    ),
)
def test_rule_7_allows(sources):
    assert hot_lane(sources) == []

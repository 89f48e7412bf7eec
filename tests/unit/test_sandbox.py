"""How a command is fenced in: what bwrap is told, and when we refuse (X-23)."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ddx.attempts.sandbox import (
    borrowed_stores,
    places_of,
    require_bubblewrap,
    sandboxed,
    tool_folders,
    wrapper,
)
from ddx.base.errors import DdxError
from ddx.project.project import Project


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "people/mara"
    for name in ("app/.git/objects", "app/.ddx/executions/a-7/scratch", ".claude", "work"):
        (made / name).mkdir(parents=True)
    return made


def fenced(home: Path, /, **changes) -> list[str]:
    given = {
        "workspace": str(home / "work"),
        "scratch": [str(home / "app/.ddx/executions/a-7/scratch")],
        "homes": [".claude"],
        "readable": [str(home / "app/.ddx")],
        "home": str(home),
        "network": True,
        "objects": str(home / "app/.git/objects"),
        **changes,
    }
    return list(sandboxed(["claude", "-p", "--", "do it"], **given))


def mounts(words: list[str]) -> list[tuple[str, str]]:
    """(option, place inside), in their order."""
    found = []
    for n, word in enumerate(words[: words.index("--")]):
        if word == "--tmpfs":
            found.append((word, words[n + 1]))
        elif word.startswith(("--bind", "--ro-bind")):
            found.append((word, words[n + 2]))
    return found


def test_the_command_itself_stays_as_it_is(home):
    words = fenced(home)
    assert words[0] == "bwrap"
    assert words[words.index("--") + 1 :] == ["claude", "-p", "--", "do it"]


def test_no_capability_no_other_process_and_no_life_after_ours(home):
    words = fenced(home)
    assert words[1:3] == ["--cap-drop", "ALL"]
    assert {"--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"} < set(words)


@pytest.mark.parametrize("network", [True, False])
def test_the_network_is_a_choice(home, network):
    assert ("--unshare-net" in fenced(home, network=network)) is not network


def test_all_is_read_only_before_anything_is_given(home):
    found = mounts(fenced(home))
    assert found[0] == ("--ro-bind", "/")
    assert ("--ro-bind-try", "/proc/sys") in found
    writable = [place for option, place in found if option in ("--bind", "--bind-try")]
    assert sorted(writable) == sorted(
        str(home / name) for name in (".claude", "app/.ddx/executions/a-7/scratch", "work")
    )


def test_what_holds_another_place_is_mounted_before_it(home):
    places = [place for _, place in mounts(fenced(home)) if not place.startswith("/proc")]
    assert len(places) == len(set(places))
    for n, place in enumerate(places):
        assert not any(place.startswith(f"{later}/") for later in places[n + 1 :]), place


def test_every_home_and_temporary_folder_is_emptied_first(home):
    emptied = {place for option, place in mounts(fenced(home)) if option == "--tmpfs"}
    there = {
        place for place in ("/tmp", "/var/tmp", "/root", "/home", "/run") if Path(place).is_dir()
    }
    assert {os.path.realpath(place) for place in there} | {str(home)} == emptied


@pytest.mark.parametrize("home_is", ["/", "/nonexistent"])
def test_a_home_that_cannot_be_hidden_is_left_alone(home, home_is):
    found = mounts(fenced(home, home=home_is, homes=[]))
    assert ("--tmpfs", home_is) not in found


def test_a_hidden_folder_is_never_given_as_a_whole(home):
    found = mounts(fenced(home, readable=[str(home), "/tmp", "/"]))
    assert ("--tmpfs", str(home)) in found
    assert ("--ro-bind-try", str(home)) not in found
    assert ("--ro-bind-try", "/") not in found


def test_what_can_be_read_anyway_is_not_mounted_again(home):
    assert "/usr/bin" not in fenced(home, readable=["/usr/bin"])


def test_what_is_read_only_inside_the_workspace_stays_so(home):
    inner = home / "work/vendor"
    inner.mkdir()
    assert ("--ro-bind-try", str(inner)) in mounts(fenced(home, readable=[str(inner)]))


def test_a_link_is_given_under_its_name_and_at_its_real_place(home, tmp_path):
    (home / "tool").symlink_to(home / "app")
    found = mounts(fenced(home, readable=[str(home / "tool")]))
    assert {("--ro-bind-try", str(home / name)) for name in ("tool", "app")} <= set(found)


def test_a_link_in_a_folder_that_is_given_is_left_as_it_is(home):
    """Nothing can be mounted on a link, and this one leads to its place already."""
    (home / "app/.venv").symlink_to(home / "work")
    found = mounts(fenced(home, readable=[str(home / "app"), str(home / "app/.venv")]))
    assert str(home / "app") in [place for _, place in found]
    assert str(home / "app/.venv") not in [place for _, place in found]


def test_a_home_behind_a_link_is_hidden_where_it_really_is(home, tmp_path):
    (tmp_path / "short").symlink_to(home)
    words = fenced(home, home=str(tmp_path / "short"))
    assert ("--tmpfs", str(home)) in mounts(words)
    assert words[words.index("HOME") + 1] == str(home)


def test_the_operator_s_session_cannot_be_found(home):
    words = fenced(home)
    removed = {words[n + 1] for n, word in enumerate(words) if word == "--unsetenv"}
    assert {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"} <= removed


# What a command needs to be readable


def test_a_program_needs_itself_its_folder_and_where_it_really_lies(tmp_path):
    real = tmp_path / "lib/node_modules/agent/bin/agent.js"
    real.parent.mkdir(parents=True)
    real.touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/agent").symlink_to(real)
    found = [os.path.normpath(place) for place in places_of(str(tmp_path / "bin/agent"))]
    assert found == [
        *(str(tmp_path / name) for name in ("bin/agent", "bin")),
        *(str(real), str(real.parent)),
        str(tmp_path / "lib/node_modules"),
    ]


@pytest.mark.parametrize("program", ["", "./agent", "bin/agent"])
def test_a_program_of_the_workspace_makes_nothing_else_readable(program):
    assert list(places_of(program)) == []


def test_of_a_path_only_programs_and_libraries_are_given():
    assert list(tool_folders("/home/m/.cargo/bin::bin:/opt/x")) == [
        *(f"/home/m/.cargo/{name}" for name in ("bin", "lib", "libexec")),
        "/opt/x",
    ]


def test_stores_that_a_store_borrows_from_are_found_to_the_last(tmp_path):
    for name, lines in (("a", "../b\n\n"), ("b", f"{tmp_path}/c\n../a\n"), ("c", "")):
        info = tmp_path / name / "info"
        info.mkdir(parents=True)
        (info / "alternates").write_text(lines)
    a, b, c = (str(tmp_path / name) for name in "abc")
    assert borrowed_stores(a) == [b, c]
    assert borrowed_stores(c) == []
    assert borrowed_stores(str(tmp_path / "nowhere")) == []


# With the settings


def task(kind: str, project: Path, *, network: bool = True):
    return SimpleNamespace(
        settings=SimpleNamespace(sandbox=SimpleNamespace(kind=kind, network=network)),
        project=Project(str(project)),
        homes=(".claude",),
    )


@pytest.fixture
def stub(monkeypatch, tmp_path) -> Path:
    """A bwrap that says yes to everything."""
    made = tmp_path / "stub/bwrap"
    made.parent.mkdir()
    made.write_text("#!/bin/sh\nexit 0\n")
    made.chmod(0o755)
    monkeypatch.setenv("PATH", f"{made.parent}:{os.environ['PATH']}")
    return made


def test_without_a_sandbox_a_command_is_started_as_it_is(home, monkeypatch):
    monkeypatch.setenv("PATH", "")
    wrap = wrapper(task("none", home / "app"), str(home / "work"), scratch=())
    assert wrap(["claude", "-p"]) == ["claude", "-p"]


def test_only_the_agent_gets_at_its_login(home, stub, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    fresh = str(home / "app/.ddx/executions/a-8/scratch")
    for for_agent in (True, False):
        wrap = wrapper(
            task("bubblewrap", home / "app"),
            str(home / "work"),
            scratch=[fresh],
            for_agent=for_agent,
        )
        found = mounts(list(wrap(["sh", "-c", "true"])))
        assert (("--bind-try", str(home / ".claude")) in found) is for_agent
        assert ("--bind", fresh) in found
        assert ("--ro-bind-try", str(home / "app/.ddx")) in found
        assert ("--ro-bind-try", str(home / "app")) not in found
    assert Path(fresh).is_dir()


def test_where_there_is_no_bwrap_the_error_says_how_to_get_it(home, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DdxError, match="there is no bwrap here") as refused:
        wrapper(task("bubblewrap", home / "app"), str(home / "work"), scratch=())
    assert "apt-get install bubblewrap" in refused.value.hint
    assert "kind: none" in refused.value.hint


def test_where_bwrap_is_not_permitted_the_error_says_why(stub):
    require_bubblewrap()
    stub.write_text('#!/bin/sh\ncase "$*" in *--unshare-net*) echo "no: $1" >&2; exit 1;; esac\n')
    require_bubblewrap(network=True)
    with pytest.raises(DdxError, match="cannot make a sandbox here: no: --cap-drop") as refused:
        require_bubblewrap(network=False)
    assert "user namespaces" in refused.value.hint

"""`scripts/agents`: which agents it asks npm for, and when it asks for none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checkout import Checkout

NODE = '#!/bin/sh\ncase $* in *"< 20"*) [ "$NODE_MAJOR" -ge 20 ] ;; esac\n'
NPM = '#!/bin/sh\necho "$*" >>"$UV_CALLS"\nmkdir -p "$3/node_modules"\nexit "${NPM_ENDS_WITH:-0}"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """With a pretend node and npm; what npm is asked for is written down."""
    checkout = Checkout(tmp_path)
    for name, text in (("node", NODE), ("npm", NPM)):
        (checkout.tools / name).write_text(text)
        (checkout.tools / name).chmod(0o755)
    return checkout


def asked(checkout: Checkout, *words: str, node: str = "20", npm: str = "0") -> list[str]:
    """The packages of its last call of npm, without their versions."""
    script = checkout.root / "scripts/agents"
    done = checkout.start(script, *words, NODE_MAJOR=node, NPM_ENDS_WITH=npm)
    assert (done.returncode == 0) == (npm == "0"), done
    calls = checkout.installs()
    packages = [word for word in calls[-1].split() if "@" in word] if calls else []
    return sorted(word.rpartition("@")[0].rpartition("/")[2] for word in packages)


def test_claude_and_codex_are_enough_for_most_tests(checkout: Checkout) -> None:
    assert asked(checkout) == ["claude-code", "codex"]


def test_all_of_them_where_node_is_new_enough_for_all(checkout: Checkout) -> None:
    everyone = ["claude-code", "codex", "gemini-cli", "opencode-ai"]
    assert asked(checkout, "--all") == everyone


def test_gemini_is_left_out_where_it_could_not_start(checkout: Checkout) -> None:
    assert asked(checkout, "--all", node="18") == ["claude-code", "codex", "opencode-ai"]


def test_what_is_there_is_not_asked_for_again(checkout: Checkout) -> None:
    asked(checkout, "--all")
    asked(checkout, "--all")
    asked(checkout)
    assert len(checkout.installs()) == 1


def test_an_install_that_failed_is_begun_again(checkout: Checkout) -> None:
    asked(checkout, npm="1")
    asked(checkout)
    assert len(checkout.installs()) == 2


def test_a_word_that_it_does_not_know_is_refused(checkout: Checkout) -> None:
    done = checkout.start(checkout.root / "scripts/agents", "gemini")
    assert (done.returncode, checkout.installs()) == (2, [])
    assert "--all" in done.stderr

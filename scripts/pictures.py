"""Takes the picture of the README: a run in a terminal, at a moment that is the same each time.

The screen is recorded as text (`run.ansi`), and the picture (`run.svg`) is drawn from that. The
agent is a shell script that waits in the middle of its work until the screen was recorded.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.screen import Screen, plain, svg

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/pictures"
RECORDING, PICTURE = "run.ansi", "run.svg"
TITLE = "helix run in a terminal: one bead has landed and was reviewed, the next is being built"
WIDTH = 100
SHOWN_HOME = "/home/you"
LIMIT_S = 60.0

AGENT = r"""#!/bin/sh
prompt=$(cat)
case $HELIX_ACTION in
build)
    case $prompt in
    *prices.txt*) echo 'bell 4.50' > prices.txt ;;
    *pay.txt*) echo 'by card' > pay.txt ;;
    *)
        echo 'print(450 + 1150)' > cart.py
        echo 'A cart that adds up, in cents.'
        echo 'Now I look whether its check passes.'
        n=0
        while [ ! -e "$HOME/go-on" ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
        ;;
    esac ;;
review) printf 'REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n' ;;
check) printf 'NEXT_ACTION: STOP\nREASON: what is left waits for a person\n' ;;
esac
echo '{"usage": {"input": 1200, "output": 300, "cost_usd": 0.02}}'
"""
SET_UP = """\
git init --quiet && git commit --quiet --allow-empty -m start
helix init --trust
printf 'harnesses: {apprentice: {kind: command, argv: ["%s/agent"]}}' "$HOME" > .ddx/config.yaml
echo 'agent: apprentice' > .helix/config.yaml
ddx doc new prd 'A shop for bicycles'
ddx bead create 'A price list' --priority 1 --verify 'grep -q bell prices.txt'
cart=$(ddx bead create 'A cart that adds up' --verify 'python3 cart.py | grep -qx 1600')
ddx bead create 'Pay by card' --depends-on "$cart" --verify 'test -s pay.txt'
ddx bead block $(ddx bead create 'A logo' --verify 'test -s logo.svg') --reason 'which colour?'
git add --all && git commit --quiet -m 'a shop'
"""
SHOWN = (("ddx bead ready --execution", 0), ("helix run", 4))
"""Commands, and how they end: at last the run asks for the colour of the logo."""
PENDING = re.compile(r"\x1b(?:\[[\d;?]*)?$")
MOMENT = ("Now I look whether its check passes.", "1/4 done, 1 under way")
"""On the screen at the same time: then it stands still, but for the seconds."""


def main(words: list[str]) -> None:
    folder = Path(words[0]) if words else PICTURES
    lines = record()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORDING).write_text("\n".join(lines) + "\n", "utf-8")
    (folder / PICTURE).write_text(draw(lines), "utf-8")
    print(f"wrote {folder / RECORDING} and {folder / PICTURE}")


def draw(lines: list[str]) -> str:
    return svg(lines, width=WIDTH, title=TITLE)


def record() -> list[str]:
    """The screen at that moment, in a home and a repository that are gone afterwards."""
    with TemporaryDirectory(prefix="helix-pictures-") as place:
        home = Path(os.path.realpath(place))
        shop = home / "shop"
        shop.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
        )
        agent = home / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        environment = _environment(home)
        subprocess.run(
            ["sh", "-euc", SET_UP], cwd=shop, env=environment, check=True, capture_output=True
        )
        shown = ""
        for command, code in SHOWN:
            shown += f"\x1b[1m$ {command}\x1b[0m\r\n"
            shown = _show(command, code, shown, shop, environment)
        return _screen(shown).lines()


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "LOGNAME": "ada",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }


def _show(command: str, code: int, before: str, shop: Path, environment: dict[str, str]) -> str:
    """What was shown until the command ended or the moment came; it then ends unseen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
    started = subprocess.Popen(
        command.split(),
        cwd=shop,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    late = time.monotonic() + LIMIT_S
    shown, raw, taken = before, b"", ""
    while piece := _read(ours, late):
        raw += piece
        shown = before + raw.decode("utf-8", "ignore").replace(str(shop.parent), SHOWN_HOME)
        if not taken and _is_the_moment(shown):
            taken = shown
            (shop.parent / "go-on").touch()
    os.close(ours)
    if started.wait(LIMIT_S) != code:
        raise SystemExit(f"{command} ended with {started.returncode}")
    return taken or shown


def _screen(shown: str) -> Screen:
    screen = Screen(WIDTH)
    screen.write(shown)
    return screen


def _is_the_moment(shown: str) -> bool:
    """A piece that ends within a mark is not looked at; the next one completes it."""
    if PENDING.search(shown):
        return False
    text = "\n".join(map(plain, _screen(shown).lines()))
    return all(part in text for part in MOMENT)


def _read(terminal: int, late: float) -> bytes:
    """What is there; nothing once the program has let go of the terminal."""
    left_s = late - time.monotonic()
    if left_s <= 0 or not select.select([terminal], [], [], left_s)[0]:
        raise SystemExit("the moment for the picture did not come")
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other side is gone
        return b""


if __name__ == "__main__":
    main(sys.argv[1:])

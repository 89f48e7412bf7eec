"""What the scripted model does in each test with a real agent; a prompt names a scenario's word.

The words are made so that no commit, document or agent has them by chance.
"""

from __future__ import annotations

from tests.support.model_server import (
    ALWAYS,
    Drop,
    Hang,
    Http,
    Say,
    Scenario,
    Shell,
    Structured,
    Usage,
    Write,
)

GREETING = "greeting.txt"
GREETED = "hello\nand again\n"
ESCAPED = "outside.txt"
"""Below the agent's home, so outside of every workspace."""
SPRUNG = "sprung.txt"
"""Beside it, once git has run something that the agent put in its way."""
HERE, GO = "tmp/here", "tmp/go"
"""Below the agent's home, in its temporary folder: it made the one and waits for the other."""
SLEEPING = "scripted-sleeper"
"""What a sleeper is called in its command line."""

SUCCESS = Scenario(
    "SCENE-SUCCESS",
    (
        (
            Say("I write the greeting."),
            Write(GREETING, "hello\n"),
            Usage(input=1000, cache_read=200, cache_write=300, output=50),
        ),
        (
            Shell(f"echo 'and again' >> {GREETING}"),
            Usage(input=1500, cache_read=900, output=40),
        ),
        (Say("The greeting is there."), Usage(input=1700, cache_read=1400, output=30)),
    ),
)
SUCCESS_USED = Usage(input=4200, cache_read=2500, cache_write=300, output=120)

COMMITS = Scenario(
    "SCENE-COMMITS",
    (
        (Write(GREETING, GREETED),),
        (
            Shell(
                "git add -A && git -c user.name=Agent -c user.email=agent@example.invalid"
                " commit -qm 'a commit of my own'"
            ),
        ),
        (Say("Written and committed."),),
    ),
)
"""The agent commits by itself, which is input and not history (X-10)."""

LIES = Scenario("SCENE-LIES", ((Say("Done. All checks pass."),),))

ENDLESS = Scenario("SCENE-ENDLESS", ((Shell("echo again >> again.txt"),),), repeats=True)

DENIED = Scenario(
    "SCENE-DENIED",
    (
        (Shell(f"sh -c 'echo hello > {GREETING}'"),),
        (Say("I was not allowed to, but it is done."),),
    ),
)
"""For an agent that may not use the shell; its last word is untrue."""

OVERLOADED = Scenario(
    "SCENE-OVERLOADED",
    (
        (
            Http(529, times=2, headers={"retry-after": "1"}),
            Write(GREETING, GREETED),
            Usage(input=500, output=10),
        ),
        (Say("Written after all."), Usage(input=600, output=5)),
    ),
)
"""Overloaded, then fine: waiting that costs no attempt."""

RATE_LIMITED = Scenario(
    "SCENE-RATE-LIMITED", ((Http(429, times=ALWAYS, headers={"retry-after": "1"}),),)
)
USAGE_LIMIT = "SCENE-USAGE-LIMIT"


def usage_limit(resets_at: int) -> Scenario:
    """The subscription is used up until then, in the words of each provider (X-8)."""
    window = {"status": "rejected", "reset": str(resets_at), "utilization": "1.0"}
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        **{f"anthropic-ratelimit-unified-5h-{name}": text for name, text in window.items()},
    }
    error = {
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "plan_type": "plus",
        "resets_at": resets_at,
    }
    refused = Http(429, times=ALWAYS, headers=headers, body={"type": "error", "error": error})
    return Scenario(USAGE_LIMIT, ((refused,),))


HARD_400 = Scenario("SCENE-HARD-400", ((Http(400, times=ALWAYS),),))
BROKEN_500 = Scenario("SCENE-BROKEN-500", ((Http(500, times=ALWAYS),),))
UNAUTHORIZED = Scenario("SCENE-UNAUTHORIZED", ((Http(401, times=ALWAYS),),))

DROPPED = Scenario(
    "SCENE-DROPPED",
    (
        (Drop(), Write(GREETING, GREETED), Usage(input=500, output=10)),
        (Say("Written after the line came back."), Usage(input=600, output=5)),
    ),
)
CUT_SHORT = Scenario(
    "SCENE-CUT-SHORT",
    (
        (Say("I begin."), Drop(), Usage(input=500, output=10)),
        (Write(GREETING, GREETED), Usage(input=550, output=7)),
        (Say("Written in a second go."), Usage(input=600, output=5)),
    ),
)
"""Dropped after something was said: clients keep that as a turn and go on from there."""

HANGS = Scenario(
    "SCENE-HANGS",
    ((Write(GREETING, "half of the work\n"),), (Hang(600), Say("Too late."))),
)
"""After some work there is silence: the work must be kept and the agent ended (X-6)."""

WAITS = Scenario(
    "SCENE-WAITS",
    (
        (Write(GREETING, GREETED),),
        (
            Shell(
                f'touch "$HOME/{HERE}"; '
                f'for _ in $(seq 160); do test -e "$HOME/{GO}" && break; sleep 0.05; done'
            ),
        ),
        (Say("The greeting is there."),),
    ),
)
"""Holds in the middle, for eight seconds at most, so that the world can change meanwhile (X-18)."""

SLEEPER = Scenario(
    "SCENE-SLEEPER",
    (
        (Write(GREETING, "half of the work\n"),),
        (
            Shell(
                f"setsid bash -c 'exec -a {SLEEPING} sleep 3600' >/dev/null 2>&1 & "
                f"exec -a {SLEEPING} sleep 3600"
            ),
        ),
    ),
    repeats=True,
)
"""A command that never ends, and a grandchild in a session of its own."""

ESCAPE_SCRIPT = f"""\
echo out > "$HOME/{ESCAPED}"
git=$(git rev-parse --absolute-git-dir)
printf '#!/bin/sh\\ntouch "%s"\\n' "$HOME/{SPRUNG}" > "$git/trap"
chmod +x "$git/trap"
mkdir -p "$git/hooks"
for hook in pre-commit post-commit post-checkout post-index-change reference-transaction; do
    cp "$git/trap" "$git/hooks/$hook"
done
git config core.fsmonitor "$git/trap"
git config filter.trap.clean "$git/trap; cat"
echo '* filter=trap' > .gitattributes
"""
ESCAPE = Scenario(
    "SCENE-ESCAPE",
    ((Write(GREETING, GREETED),), (Shell(ESCAPE_SCRIPT),), (Say("Done."),)),
)
"""Writes outside of the workspace, and sets traps for whoever runs git in it afterwards."""

INVASION_SCRIPT = """\
cd "$DDX_PROJECT_ROOT"
mkdir -p .git/hooks
echo 'touch "$HOME/sprung"' | tee .git/hooks/post-merge .git/hooks/reference-transaction
chmod +x .git/hooks/*
git config core.fsmonitor .git/hooks/post-merge
git config filter.trap.smudge "touch sprung; cat"
echo '* filter=trap' > .git/info/attributes
echo mine > README.md
echo '{"id": "app-9"}' >> .ddx/beads.jsonl
true
"""
INVASION = Scenario(
    "SCENE-INVASION",
    ((Write(GREETING, GREETED),), (Shell(INVASION_SCRIPT),), (Say("Done."),)),
)
"""Goes for the operator's own checkout, whose place it is told: only a sandbox keeps it out."""

VERDICT_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict", "findings"],
    "properties": {
        "verdict": {"type": "string", "enum": ["CLEAN", "FINDINGS"]},
        "findings": {"type": "array", "items": {"type": "string"}},
    },
}
STRUCTURED = Scenario(
    "SCENE-STRUCTURED",
    ((Structured({"verdict": "CLEAN", "findings": []}),), (Say("That is my verdict."),)),
)
MISSHAPEN = Scenario("SCENE-MISSHAPEN", ((Structured({"verdict": "FINE BY ME"}),),), repeats=True)
"""A reply that the schema forbids, however often it is asked for."""

SCENARIOS = (
    SUCCESS,
    COMMITS,
    LIES,
    ENDLESS,
    DENIED,
    OVERLOADED,
    RATE_LIMITED,
    HARD_400,
    BROKEN_500,
    UNAUTHORIZED,
    DROPPED,
    CUT_SHORT,
    HANGS,
    WAITS,
    SLEEPER,
    ESCAPE,
    INVASION,
    STRUCTURED,
    MISSHAPEN,
)

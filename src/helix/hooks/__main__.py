"""What `hooks/run` starts: one hook, whose troubles are one line on stderr and no more (O-11)."""

import sys

HOOKS = ("session-start", "pre-tool-use")


def main(words: list[str]) -> None:
    try:
        name = words[0] if words else ""
        if name not in HOOKS:
            known = ", ".join(HOOKS)
            print(f"helix: there is no hook {name!r}; hooks are {known}", file=sys.stderr)
            return
        from helix.hooks.input import read_event

        function = name.replace("-", "_")
        module = __import__(f"helix.hooks.{function}", fromlist=[function])  # no other (C-7)
        if line := getattr(module, function)(read_event(sys.stdin.buffer)):
            print(line)
    except Exception as problem:  # whatever it is, the tool call goes on
        print(f"helix: the hook could not do its work: {problem}", file=sys.stderr)


if __name__ == "__main__":
    if not __package__:
        sys.path.insert(0, __file__.rsplit("/", 3)[0])
    if sys.flags.no_site:
        environment = sys.executable.rsplit("/", 2)[0]
        sys.path.append(f"{environment}/lib/python3.{sys.version_info.minor}/site-packages")
    main(sys.argv[1:])

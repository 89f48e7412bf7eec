"""Commands of a table through click: help, completion, and every mistake explained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from ddx.base import UsageError
from ddx.console.version import version_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ddx.console.command import Argument, Command, Flag, Program

_VERSION = "--version"
_HELP = "help"
_NARROWEST_OF_CLICK = 52
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class LazyGroup(click.Group):
    """The commands of a program below some words; each is imported when it is named or listed."""

    def __init__(self, program: Program, path: str = "") -> None:
        summary = program.groups[path] if path else program.summary
        name = path.rpartition(" ")[2] or None
        super().__init__(name, help=summary, short_help=summary, context_settings=_SETTINGS)
        self._program = program
        self._path = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (*self._program.commands, *self._program.groups)
        return list(dict.fromkeys(name for path in names if (name := self._name(path))))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        program, path = self._program, f"{self._path} {cmd_name}".strip()
        if path in program.commands:
            return click_command(program.load(path), below=program.names_below(path))
        return LazyGroup(program, path) if path in program.groups else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            known = [*self.list_commands(ctx), *(() if self._path else (_HELP, _VERSION))]
            near = _nearest(args[0], known)
            if not near:
                raise
            raise click.UsageError(f"{problem.message} Did you mean {near!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = {} if self._path else self._program.sections
        sections = sections or {"Commands": self.list_commands(ctx)}
        widest = max(len(name) for names in sections.values() for name in names)
        for heading, names in sections.items():
            found = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(name.ljust(widest), it.get_short_help_str()) for name, it in found if it]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def _name(self, path: str) -> str:
        above, _, name = path.rpartition(" ")
        return name if above == self._path else ""


def click_command(command: Command, *, below: Sequence[str] = ()) -> click.Command:
    """One command of our table as click sees it; `below` are those that begin with its words."""
    parameters: list[click.Parameter] = [
        click.Argument(
            [argument.name],
            nargs=-1 if argument.many else 1,
            required=argument.required,
            metavar=_placeholder(argument),
            shell_complete=_offering((*argument.choices, *below)),
        )
        for argument in command.arguments
    ]
    parameters += [_option(flag) for flag in command.flags]
    blocks = [f"{item.name.upper()}: {item.meaning}" for item in command.arguments]
    blocks.append(f"\b\nExample:\n  {command.example}")
    if below:
        blocks.append(f"See also its commands: {', '.join(below)}.")
    text = "\n\n".join((command.summary, *blocks))
    return click.Command(
        None,  # a group or `_run` says by which name it was called
        params=parameters,
        callback=lambda **given: command.run(**given),
        help=text,
        short_help=command.summary,
        context_settings=_SETTINGS,
    )


def _offering(words: Sequence[str]) -> Callable[..., list[CompletionItem]]:
    """What a shell may put there: these words, else what it would without us, names of files."""

    def offer(context: click.Context, part: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        found = [CompletionItem(word) for word in words if word.startswith(begun)]
        return found or [CompletionItem(begun, type="file")]

    return offer


def _placeholder(argument: Argument) -> str:
    name = argument.name.upper() + ("..." if argument.many else "")
    return name if argument.required else f"[{name}]"


def _option(flag: Flag) -> click.Option:
    kinds: dict[str, Any] = {
        "number": click.IntRange(min=0),
        "choice": click.Choice(flag.choices),
        "text": click.STRING,
    }
    names = [flag.name, *([flag.also] if flag.also else []), flag.key]
    if flag.kind == "switch":
        return click.Option(names, is_flag=True, help=flag.meaning)
    # A default of None is one for click: it would satisfy what is required.
    default: dict[str, Any] = {} if flag.default is None else {"default": flag.default}
    return click.Option(
        names,
        type=kinds[flag.kind],
        metavar="NUMBER" if flag.kind == "number" else None,
        multiple=flag.many,
        callback=(lambda _, __, given: flag.split(given)) if flag.joined else None,
        required=flag.required,
        help=flag.meaning,
        shell_complete=_offering(()) if flag.kind == "text" else None,
        **default,
    )


def run_program(program: Program, words: Sequence[str]) -> int:
    """Hand a whole line to click; its complaints become ours (exit 2)."""
    root = LazyGroup(program)
    click.option(
        _VERSION,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version, and in a checkout its commit.",
    )(root)
    if words and words[0] == _HELP:
        words = (*words[1:], "--help")
    return _run(root, program.name, words)


def run_command(program: Program, path: str, words: Sequence[str]) -> int:
    """The same for a command that is known already, and the words that follow its name."""
    shown = click_command(program.load(path), below=program.names_below(path))
    return _run(shown, f"{program.name} {path}", words)


def _show_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        print(version_of(str(context.info_name)))
        context.exit()


def _run(command: click.Command, program: str, words: Sequence[str]) -> int:
    streams = sys.stdout, sys.stderr
    try:
        code = command.main(
            list(words), prog_name=program, standalone_mode=False, terminal_width=_narrow_width()
        )
    except click.exceptions.NoArgsIsHelpError as problem:
        print(problem.format_message(), file=sys.stderr)
        return UsageError.exit_code
    except click.UsageError as problem:
        where = problem.ctx.command_path if problem.ctx else program
        raise UsageError(problem.format_message(), hint=f"see: {where} --help") from None
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except SystemExit:
        if sys.stdout is streams[0]:
            raise
        sys.stdout, sys.stderr = streams  # click put others there, since the reader went away
        raise BrokenPipeError from None
    return code if isinstance(code, int) else 0


def _narrow_width() -> int | None:
    """Of a screen that click would not heed, since it never writes less than its own width."""
    width = get_terminal_size().columns
    return max(width, 1) if width < _NARROWEST_OF_CLICK else None


def completion_script(program: str, shell: str) -> str:
    """What a shell must run once to complete the words of a program."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"there is no completion for {shell!r}")
    variable = f"_{program.upper()}_COMPLETE"
    return found(click.Command(program), {}, program, variable).source()


def _nearest(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), "")

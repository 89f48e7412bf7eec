"""Commands of a table through click: help, completion, and every mistake explained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from ddx.console.spec import Command, Flag
from ddx.console.version import FLAG, version_of
from ddx.errors import UsageError


class LazyGroup(click.Group):
    """A group that imports a command only when it is named or listed."""

    def __init__(
        self,
        path: str,
        summary: str,
        *,
        commands_at: Sequence[str],
        groups: dict[str, str],
        load_command: Callable[[str], Command],
        **rest: Any,
    ) -> None:
        super().__init__(path.rpartition(" ")[2] or None, help=summary, **rest)
        self._path = path
        self._commands_at = commands_at
        self._groups = groups
        self._load = load_command

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (*self._commands_at, *self._groups)
        return list(dict.fromkeys(name for path in names if (name := self._name(path))))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = f"{self._path} {cmd_name}".strip()
        if path in self._commands_at:
            return click_command(self._load(path))
        if path in self._groups:
            return LazyGroup(
                path,
                self._groups[path],
                commands_at=self._commands_at,
                groups=self._groups,
                load_command=self._load,
            )
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            near = _nearest(args[0], self.list_commands(ctx))
            if not near:
                raise
            raise click.UsageError(f"{problem.message} Did you mean {near!r}?", ctx) from None

    def _name(self, path: str) -> str:
        above, _, name = path.rpartition(" ")
        return name if above == self._path else ""


def click_command(command: Command) -> click.Command:
    """One command of our table as click sees it."""
    parameters: list[click.Parameter] = [
        click.Argument(
            [argument.name],
            nargs=-1 if argument.many else 1,
            required=argument.required,
            metavar=argument.name.upper() + ("..." if argument.many else ""),
        )
        for argument in command.arguments
    ]
    parameters += [_option(flag) for flag in command.flags]
    arguments = "".join(f"  {item.name.upper()}: {item.meaning}\n" for item in command.arguments)
    text = f"{command.summary}\n\n\b\n{arguments}\n\b\nExample:\n  {command.example}"
    return click.Command(
        command.path.rpartition(" ")[2],
        params=parameters,
        callback=lambda **given: command.run(**given),
        help=text,
        short_help=command.summary,
    )


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
        multiple=flag.many,
        required=flag.required,
        help=flag.meaning,
        **default,
    )


def run_group(root: click.Group, program: str, words: Sequence[str]) -> int:
    """Hand the line to click; its complaints become ours (exit 2)."""
    click.option(
        FLAG,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version, and in a checkout its commit.",
    )(root)
    return run_click(root, program, words)


def _show_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        print(version_of(str(context.info_name)))
        context.exit()


def run_click(command: click.Command, program: str, words: Sequence[str]) -> int:
    """The same for a command that is known already."""
    try:
        code = command.main(list(words), prog_name=program, standalone_mode=False)
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
    return code if isinstance(code, int) else 0


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

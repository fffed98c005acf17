"""The command line: parse, call, print."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import riata
from riata.cli.examples import COMMANDS, EXAMPLES, EXIT_CODES

__all__ = ["app", "main"]

_UsageError: Any = typer.BadParameter.__base__  # of the click that typer uses, its own or the package


class _Commands(TyperGroup):
    """Commands whose modules are imported when they run: the help of all of them needs none, and imports take seconds."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command of a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        function = getattr(import_module(f"riata.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(cmd_name, epilog=EXAMPLES[cmd_name])(function)
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command; what is wrong with its options is an error like any other."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except _UsageError as error:
            if not standalone_mode:
                raise
            _show(error)
            code = 2
        except typer.Abort:  # an interrupt outside of what commands do
            code = 130
        if standalone_mode:
            sys.exit(code or 0)
        return code


def _show(error: Any) -> None:
    """Print a wrong use of the command line; where no command was given at all, the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    text = str(error.format_message()).rstrip(".")
    extra = re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", text)
    words = [] if error.ctx is None else error.ctx.command_path.split()[1:]
    if extra is not None and words == ["select"]:
        text = f"only FILE is given by its position; for the target --target {shlex.quote(extra[1])}"
    typer.echo(f"error: {text[:1].lower()}{text[1:]}; see {' '.join(['riata', *words])} --help", err=True)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help=f"{riata.__doc__}\n\n{EXIT_CODES}",
)


def main() -> None:
    """Run the command line; the entry point of the ``riata`` command."""
    app(prog_name="riata")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"riata {riata.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass

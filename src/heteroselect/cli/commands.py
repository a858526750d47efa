"""What Typer's commands lack: help as Click 8.5 would show it, and a group that is imported only when it is used."""

import inspect
from typing import Any, get_type_hints

import click
import typer
from click import Context, HelpFormatter
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.models import ArgumentInfo


class Command(TyperCommand):
    """A command that shows the help of its arguments, which Click 8.5 takes from Typer 0.20, and shows defaults without
    the backslash that Typer puts before them for Rich even where Rich is not used."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        hints = get_type_hints(inspect.unwrap(self.callback), include_extras=True) if self.callback else {}
        for param in self.params:
            if isinstance(param, TyperArgument) and not param.help:
                declared = getattr(hints[str(param.name)], "__metadata__", ())
                param.help = next((info.help for info in declared if isinstance(info, ArgumentInfo)), None)

    def format_arguments(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write nothing: Typer writes the arguments with the options, and Click 8.5 would write them a second time."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        formatter.buffer[:] = [text.replace("\\[", "[") for text in formatter.buffer]


class Flower(TyperGroup):
    """The commands of `heteroselect flower`, imported when one of them is used: they need the whole of the settings."""

    def list_commands(self, ctx: Context) -> list[str]:
        return self._group().list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> click.Command | None:
        return self._group().get_command(ctx, cmd_name)

    def _group(self) -> click.Group:
        from heteroselect.cli.flower import app

        group = typer.main.get_command(app)
        assert isinstance(group, click.Group)
        return group

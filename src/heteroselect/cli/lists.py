"""heteroselect presets · settings · methods."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from heteroselect.cli import listings
from heteroselect.cli.terminal import out
from heteroselect.errors import SettingError

if TYPE_CHECKING:
    from heteroselect.cli.listings import Kind
    from heteroselect.core.part import Declared


def presets() -> None:
    """List the ready experiments."""
    from heteroselect.settings import config

    console = Console(width=min(out.width, 100) if out.is_terminal else 100)
    console.print(listings.presets_table({name: config.load(name).config for name in config.presets()}))


def settings(
    prefix: Annotated[
        str, typer.Argument(help="Only those that start so: world, method.select, or one kind, method.select.oort.")
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print them as a Markdown page.")] = False,
) -> None:
    """List every setting: default, what is allowed, meaning."""
    general, kinds = list(general_settings(prefix)), list(method_settings(prefix))
    if not general and not kinds:
        groups = dict.fromkeys(one.name.rpartition(".")[0] for one in general_settings())
        names = [name for name in groups if name] + [f"method.{role}" for role in listings.ROLES]
        raise SettingError(f"settings: none starts with {prefix!r}; the groups are {', '.join(names)}.")
    if markdown:
        found = [listings.settings_page(general) if general else "", listings.kinds_page(kinds)]
    else:
        found = [listings.settings_text(general), listings.kinds_text(kinds)]
    typer.echo("\n\n".join(filter(None, found)))


def general_settings(prefix: str = "") -> "Iterator[Declared]":
    """The settings of run, data, model and world, and the name of the method."""
    from heteroselect.core.part import Declared
    from heteroselect.settings import describe

    meaning = "method whose parts are taken (--method), see `heteroselect methods`"
    name = Declared("method.name", str, "heteroselect", meaning, {})
    return (one for one in (*describe(), name) if one.name.startswith(prefix))


def method_settings(prefix: str = "") -> "Iterator[Kind]":
    """The kinds of each role with their settings; of kinds that are not named so, the settings that are."""
    from heteroselect.settings.method import describe

    for role, kind, settings in describe():
        if f"method.{role}.{kind}".startswith(prefix) or f"method.{role}.kind" == prefix:
            yield role, kind, settings
        elif some := [one for one in settings if one.name.startswith(prefix)]:
            yield role, kind, some


def methods(
    name: Annotated[str | None, typer.Argument(help="One method; your own as FILE.py:NAME.")] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="All settings of its parts, not only those that are not defaults.")
    ] = False,
) -> None:
    """List the methods, or show one: its paper and its parts."""
    from heteroselect.methods import REGISTRY, counted, get
    from heteroselect.methods.entry import listed
    from heteroselect.settings import own

    if name is None:
        typer.echo(f"{listed(REGISTRY.values())}\n\n{counted()}")
        return
    method = own.method(name) if own.is_path(name) else get(name)
    about = REGISTRY[name].text() if name in REGISTRY else f"{method.name}: your own, from {name}"
    typer.echo(f"{about}\n\n{listings.parts_text(method, whole=whole)}")

"""The search commands for the framework, made from ``table``."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from mem_search.cli.citing import save
from mem_search.cli.output import show_listing
from mem_search.cli.quick import is_empty
from mem_search.cli.session import local, open_client
from mem_search.cli.table import COMMANDS, FORMATS, NO_START, Command, Option, collect, exported
from mem_search.errors import InputError


def add_to(app: typer.Typer) -> None:
    """A command for each row of the table."""
    for command in COMMANDS:
        app.command(command.name, help=command.help)(_function(command))


def _function(command: Command) -> Any:
    def search(**values: Any) -> None:
        search_with(command, values)

    parameters = [
        _parameter(
            "words",
            list[str] | None,
            typer.Argument(help="What to look for.", show_default=False),
            None,
        ),
        *(_of_option(option) for option in command.options),
        _parameter(
            "no_start", bool, typer.Option(NO_START, help="Fail when no worker runs."), False
        ),
    ]
    search.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    search.__annotations__ = {each.name: each.annotation for each in parameters}
    search.__name__ = command.name
    return search


def search_with(command: Command, values: dict[str, Any]) -> None:
    """Ask, print, and exit with 1 when nothing was found."""
    given: list[tuple[Option, str]] = []
    for option in command.options:
        value = values[option.name]
        if option.fixed:
            given += [(option, option.fixed)] if value else []
        elif option.repeats:
            given += [(option, each) for each in value or ()]
        elif value is not None:
            given.append((option, value))
    pairs = collect(list(values["words"] or ()), given)
    if (wanted := dict(pairs).get("format", FORMATS[0])) not in FORMATS:
        # The worker would name its listings only: files are another route's.
        raise InputError(f"cannot be {wanted!r}; write {', '.join(FORMATS)}", field="--format")
    if exported(pairs):
        save(command, pairs, may_start=not values["no_start"])
        return
    as_json = ("format", "json") in pairs
    client = open_client(may_start=not values["no_start"])
    answer = client.raw if as_json else client.text
    body = answer(command.route, local(pairs))
    show_listing(body, as_json=as_json)
    if is_empty(body, as_json=as_json):
        raise typer.Exit(1)


def _of_option(option: Option) -> inspect.Parameter:
    names = [name for name in (option.flag, option.short) if name]
    if option.fixed:
        return _parameter(option.name, bool, typer.Option(*names, help=option.help), False)
    declared = typer.Option(*names, help=option.help, metavar=option.metavar, show_default=False)
    kind: Any = list[str] | None if option.repeats else str | None
    return _parameter(option.name, kind, declared, None)


def _parameter(name: str, kind: Any, declared: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declared],
    )

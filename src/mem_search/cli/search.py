"""The search commands with their files of results, ``cite`` and ``suggest``."""

from __future__ import annotations

import inspect
from shlex import join
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.fast_path import is_empty
from mem_search.cli.options import Json, folded, show
from mem_search.cli.output import note, screen, show_listing, write
from mem_search.cli.records import Refs
from mem_search.cli.search_options import (
    FORMATS,
    MIXED,
    NO_START,
    UNIFIED,
    Command,
    Option,
    exported,
    search_of,
)
from mem_search.errors import InputError
from mem_search.text.counted import counted


class SearchCommand(TyperCommand):
    """A command whose words are a question; one that begins with a dash is told what to do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The framework's own copy of click keeps its classes private.
            option = getattr(error, "option_name", "")
            if option and not getattr(error, "possibilities", None) and option not in self.flags:
                words = [word for word in given if not word.startswith("-")]
                dashed = [word for word in given if word.startswith("-")]
                command = f"mem-search {ctx.info_name} {join([*words, '--', *dashed])}"
                error.message += (  # type: ignore[attr-defined]
                    f"; for words that begin with a dash, to leave them out: {command}"
                )
            raise

    @property
    def flags(self) -> frozenset[str]:
        """The options of the command."""
        return frozenset(flag for parameter in self.params for flag in parameter.opts)


def add_to(app: typer.Typer) -> None:
    """Register the searches over all kinds, ``cite`` and ``suggest``."""
    for command in MIXED:
        app.command(command.name, help=command.help, cls=SearchCommand)(_function(command))
    app.command()(cite)
    app.command()(suggest)


def command_of_kind(plural: str) -> Any:
    """The command that searches one kind of record, for the framework."""
    command = search_of(plural)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(command.name, help=command.help, cls=SearchCommand)(_function(command))
    return typer.main.get_command(alone)


def _function(command: Command) -> Any:
    def search(**values: Any) -> None:
        search_with(command, values)

    parameters = [
        _parameter(
            "words",
            list[str] | None,
            typer.Argument(help=command.words, show_default=False),
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
    """Search, print, and exit with 1 when nothing was found."""
    given: list[tuple[Option, str]] = []
    for option in command.options:
        value = values[option.name]
        if option.fixed:
            given += [(option, option.fixed)] if value else []
        elif option.repeats:
            given += [(option, each) for each in value or ()]
        elif value is not None:
            given.append((option, value))
    pairs = command.pairs(list(values["words"] or ()), given)
    if (wanted := dict(pairs).get("format", FORMATS[0])) not in FORMATS:
        # The worker's error would name only listings, because another route makes the files.
        raise InputError(f"cannot be {wanted!r}; write {', '.join(FORMATS)}", field="--format")
    if exported(pairs):
        export_results(command, pairs, may_start=not values["no_start"])
        return
    as_json = ("format", "json") in pairs
    client = open_client(may_start=not values["no_start"])
    try:
        body = (
            client.raw(command.route, pairs)
            if as_json
            else client.text(command.route, pairs, screen())
        )
    except InputError as error:
        since_given = any(option.param == error.field for option, _ in given)
        if command.dated and error.field == "dateStart" and not since_given:
            # The date is sent as both ends, and the worker names both faults.
            first = error.message.removeprefix("dateStart: ").partition("; dateEnd: ")[0]
            raise InputError(first, field="DATE") from None
        raise
    show_listing(body, as_json=as_json)
    if is_empty(body, as_json=as_json):
        raise typer.Exit(1)


def _of_option(option: Option) -> inspect.Parameter:
    names = [name for name in (option.flag, option.short) if name]
    if option.fixed:
        return _parameter(option.name, bool, typer.Option(*names, help=option.help), False)
    option_info = typer.Option(
        *names,
        help=option.help,
        metavar=option.metavar,
        show_default=False,
        autocompletion=completion.values_of(option),
    )
    kind: Any = list[str] | None if option.repeats else str | None
    return _parameter(option.name, kind, option_info, None)


def _parameter(name: str, kind: Any, info: Any, default: object) -> inspect.Parameter:
    annotation = Annotated[kind, info]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def cite(
    refs: Refs,
    style: Annotated[
        str, typer.Option("--style", metavar="apa|mla|chicago|bibtex|ris|csl-json")
    ] = "apa",
    html: Annotated[bool, typer.Option("--html", help="HTML of apa, mla or chicago.")] = False,
) -> None:
    """Print citations of records in a style, or as a file for a reference manager."""
    client = open_client()
    pairs = [("refs", ",".join(refs)), ("style", style), *([("format", "html")] if html else [])]
    body, _ = client.file("/api/citations", pairs)
    write(body.decode())


def export_results(command: Command, pairs: list[tuple[str, str]], *, may_start: bool) -> None:
    """Print the results as a file; a note on standard error tells when there are more."""
    parameters = [("as", exported(pairs)), *(pair for pair in pairs if pair[0] != "format")]
    if not command.mixed:
        parameters.append(("types", command.name))
    if command.route == UNIFIED and not any(name == "orderBy" for name, _ in pairs):
        parameters.append(("orderBy", "date_desc"))
    body, headers = open_client(may_start=may_start).file("/api/search/export", parameters)
    write(body.decode())
    if not int(headers["X-Total-Count"]):
        raise typer.Exit(1)
    if following := headers.get("X-Next-Offset"):
        note(f"mem-search: {headers['X-Total-Count']} in all; next: --offset {following}")


def suggest(
    prefix: Annotated[list[str], typer.Argument(help="The beginning of a word or name.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 50.")] = 10,
    as_json: Json = False,
) -> None:
    """Complete a prefix from words, titles, projects, tags, files and your own questions."""
    pairs = [("prefix", " ".join(prefix)), ("limit", str(limit))]
    answer = open_client().json("GET", "/api/suggest", pairs)
    show(answer, map(_line, answer["completions"]), as_json=as_json, found=answer["completions"])


def _line(completion: dict[str, object]) -> str:
    """The text, a tab and the rest, so that a script can cut the text off."""
    text = folded(str(completion["text"]))
    return f"{text}\t{completion['what']}, {counted(int(str(completion['records'])), 'record')}"

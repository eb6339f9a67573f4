"""``suggest``: how a word or a name goes on, from what the store has."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from mem_search.cli.client import local, note, open_client
from mem_search.cli.fast_path import is_empty
from mem_search.cli.output import show_listing, write
from mem_search.cli.records import Refs, ref_of
from mem_search.cli.search_options import (
    COMMANDS,
    FORMATS,
    NO_START,
    Command,
    Option,
    collect,
    exported,
)
from mem_search.cli.status import Json, print_json
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


def add_citations(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(cite)


def cite(
    refs: Refs,
    style: Annotated[
        str, typer.Option("--style", metavar="apa|mla|chicago|bibtex|ris|csl-json")
    ] = "apa",
    html: Annotated[bool, typer.Option("--html", help="HTML of apa, mla or chicago.")] = False,
) -> None:
    """Cite records in a style, or for a program that keeps references."""
    client = open_client()
    named = ",".join(str(ref_of(client, text)) for text in refs)
    pairs = [("refs", named), ("style", style), *([("format", "html")] if html else [])]
    body, _ = client.file("/api/citations", local(pairs))
    write(body.decode())


def save(command: Command, pairs: list[tuple[str, str]], *, may_start: bool) -> None:
    """Print the results of a search as a file; say on standard error when there are more."""
    asked = [("as", exported(pairs)), *(pair for pair in pairs if pair[0] != "format")]
    if not command.mixed:
        asked.append(("types", command.name))
    if command.name == "unified" and not any(name == "orderBy" for name, _ in pairs):
        asked.append(("orderBy", "date_desc"))
    body, headers = open_client(may_start=may_start).file("/api/search/export", local(asked))
    write(body.decode())
    if not int(headers["X-Total-Count"]):
        raise typer.Exit(1)
    if following := headers.get("X-Next-Offset"):
        note(f"mem-search: {headers['X-Total-Count']} in all; next: --offset {following}")


def add_suggest(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(suggest)


def suggest(
    prefix: Annotated[list[str], typer.Argument(help="The beginning of a word or a name.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 50.")] = 10,
    as_json: Json = False,
) -> None:
    """Complete what is being typed: words, titles, projects, tags, files; one a line."""
    pairs = [("prefix", " ".join(prefix)), ("limit", str(limit))]
    answer = open_client().json("GET", "/api/suggest", pairs)
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{_line(each)}\n" for each in answer["completions"]))
    if not answer["completions"]:
        raise typer.Exit(1)


def _line(completion: dict[str, object]) -> str:
    """The text alone stands first, so that a script can cut it off at the tab."""
    text = " ".join(str(completion["text"]).split())
    return f"{text}\t{completion['what']}, {completion['records']} record(s)"

"""``mem-search archive``: archives of research, and which report cites which page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.archive_search import show_citations
from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.ingest import absolute
from mem_search.cli.jobs import wait
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import note, say
from mem_search.errors import InputError, NotFound, SourceError

app = typer.Typer(
    cls=Group, help="Read archives of research, and see who cites whom.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the archive.")]
Force = Annotated[bool, typer.Option("--force", help="Read every file again.")]

_OPTIONS = {"researchPath": "--research", "urlContentPath": "--urls", "schedule": "--schedule"}


@app.command()
def add(
    name: Name,
    research: Annotated[
        str, typer.Option("--research", metavar="DIR", help="The folder of reports.")
    ] = "",
    urls: Annotated[
        str, typer.Option("--urls", metavar="DIR", help="The folder of saved pages.")
    ] = "",
    schedule: Annotated[
        str | None,
        typer.Option("--schedule", metavar="CRON", help="When to read them: '0 4 * * *'."),
    ] = None,
    watch: Annotated[
        bool | None, typer.Option("--watch/--no-watch", help="Read what changes, as it changes.")
    ] = None,
    force: Force = False,
) -> None:
    """Add an archive and read it, or change when it is read."""
    given: dict[str, Any] = {
        "researchPath": absolute(research) if research else None,
        "urlContentPath": absolute(urls) if urls else None,
        "schedule": schedule,
        "watchFiles": watch,
    }
    _index(name, {key: value for key, value in given.items() if value is not None}, force=force)


@app.command()
def index(name: Name, force: Force = False) -> None:
    """Read what changed in an archive."""
    listed = open_client().json("GET", "/api/archives")["archives"]
    if name not in {archive["name"] for archive in listed}:
        raise NotFound(f"there is no archive {name!r}; `mem-search archive list` lists them")
    _index(name, {}, force=force)


@app.command("list")
def list_archives(as_json: Json = False) -> None:
    """List archives: folders, when they are read, the last run; exit 1 without any."""
    answer = open_client().json("GET", "/api/archives")
    show(answer, [_line(each) for each in answer["archives"]], as_json=as_json)
    if not answer["archives"]:
        raise typer.Exit(1)


@app.command()
def remove(name: Name) -> None:
    """Stop reading an archive; its records stay."""
    open_client().json("DELETE", f"/api/archives/{quote(name, safe='')}")
    say(f"{name}: no longer read; its records stay\n")


@app.command()
def citations(
    ref: Annotated[str, typer.Argument(metavar="[REF]", help="A report or a page.")] = "",
    cited_by: Annotated[bool, typer.Option("--cited-by", help="What cites the record.")] = False,
    about: Annotated[
        str, typer.Option("--about", metavar="WORDS", help="Words of the sentences that cite.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Show what a report cites, what cites a page, or who cites in which words."""
    pairs = [("ref", ref)] if ref else [("query", about)]
    if cited_by:
        pairs.append(("direction", "cited-by"))
    show_citations(pairs, as_json=as_json)


def _index(name: str, given: Mapping[str, Any], *, force: bool) -> None:
    body = {"name": name, **given, **({"force": True} if force else {})}
    client = open_client()
    try:
        job = client.json("POST", "/api/archive/index", body=body)["job"]
    except InputError as error:
        error.field = _OPTIONS.get(error.field or "", error.field)
        raise
    run = wait(client, job, SourceError)["result"]
    say(f"{name}: {_statistics(run)}\n")
    if run["failed"] or run["left_out"]:
        note("what is not stored, and why: mem-search ledger")


def _statistics(run: Mapping[str, Any]) -> str:
    words = ("new", "changed", "deleted", "failed")
    counts = ", ".join(f"{run[word]} {word}" for word in words if run.get(word)) or "nothing new"
    left = f" ({run['left_out']} left out)" if run.get("left_out") else ""
    return (
        f"{counts}; {run['files']} files{left}; {run['cited_pages']} pages cited,"
        f" {run['cited_pages_stored']} of them stored"
    )


def _line(archive: Mapping[str, Any]) -> str:
    folders = [archive[key] for key in ("researchPath", "urlContentPath") if archive[key]]
    when = [f"schedule {archive['schedule']}"] if archive["schedule"] else []
    when += ["watched"] if archive["watchFiles"] else []
    run = []
    if archive["statistics"]:
        run = [f"read {clock_time(archive['indexed_at'])}: {_statistics(archive['statistics'])}"]
    return "  ".join([archive["name"], " + ".join(folders), *when, *run])

"""``mem-search archive``, ``cites``, ``cited-by`` and ``citation-report``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.jobs import wait
from mem_search.cli.options import Json, Limit, absolute, clock_time, folded, show
from mem_search.cli.output import note, say
from mem_search.errors import InputError, NotFound, SourceError

app = typer.Typer(
    cls=Group, help="Read archives of research, and see who cites whom.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the archive.")]
Force = Annotated[bool, typer.Option("--force", help="Read every file again.")]

_OPTIONS = {
    "researchPath": "--research", "urlContentPath": "--urls", "schedule": "--schedule",
    "every": "--every",
}  # fmt: skip


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
    every: Annotated[
        str | None, typer.Option("--every", metavar="INTERVAL", help="Instead: 15m, 1h, 2d or 1w.")
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
        "every": every,
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
    show(
        answer,
        [_line(each) for each in answer["archives"]],
        as_json=as_json,
        found=answer["archives"],
    )


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
    when += [f"every {archive['every']}"] if archive["every"] else []
    when += ["watched"] if archive["watchFiles"] else []
    run = []
    if archive["statistics"]:
        run = [f"read {clock_time(archive['indexed_at'])}: {_statistics(archive['statistics'])}"]
    return "  ".join([archive["name"], " + ".join(folders), *when, *run])


Ref = Annotated[
    str,
    typer.Argument(
        metavar="REF", help="A report or a page: kind:number.", autocompletion=completion.refs
    ),
]
Most = Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 1000.")]


def add_to(every: typer.Typer) -> None:
    """Register the commands that are of no group."""
    every.command()(cites)
    every.command("cited-by")(cited_by)
    every.command("citation-report")(citation_report)


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(help="Words or a question.")],
    archive: Annotated[str, typer.Option("--archive", help="Only this archive.")] = "",
    field: Annotated[
        list[str] | None,
        typer.Option("--field", help="Words only here: title, content, query; may be repeated."),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Only documents with all words.")] = False,
    citations: Annotated[
        bool, typer.Option("--citations", help="With what cites each, and what it cites.")
    ] = False,
    depth: Annotated[int, typer.Option("--depth", help="Steps along citations, 1 to 5.")] = 1,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Search reports and saved pages; exit 1 without any."""
    body: dict[str, Any] = {
        "query": " ".join(query),
        "fuzzy": not exact,
        "limit": limit,
        "includeCitations": citations,
        "citationDepth": depth,
        "archive": archive,
        **({"fields": field} if field else {}),
    }
    answer = open_client().json("POST", "/api/archive/search", body=body)
    lines = [line for each in answer["results"] for line in _result(each)]
    lines += [f"Note: {each}" for each in answer["search"]["notices"]]
    show(answer, lines or ["no documents"], as_json=as_json, found=answer["results"])


@app.command()
def check(
    query: Annotated[list[str], typer.Argument(help="A question, or the address of a page.")],
    archive: Annotated[str, typer.Option("--archive", help="Only this archive.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 20.")] = 3,
    as_json: Json = False,
) -> None:
    """Say whether a question is answered, or a page saved, here already; exit 1 if not."""
    question = " ".join(query)
    name = "url" if question.startswith(("http://", "https://")) else "query"
    body = {name: question, "archive": archive, "limit": limit}
    answer = open_client().json("POST", "/api/archive/check", body=body)
    show(answer, _checked(answer), as_json=as_json, found=answer["answered"])


def cites(ref: Ref, limit: Most = 100, as_json: Json = False) -> None:
    """Show which pages a report cites, and in which words; exit 1 without any."""
    show_citations([("ref", ref), ("limit", str(limit))], as_json=as_json)


def cited_by(ref: Ref, limit: Most = 100, as_json: Json = False) -> None:
    """Show which reports cite a page, and in which words; exit 1 without any."""
    show_citations(
        [("ref", ref), ("direction", "cited-by"), ("limit", str(limit))], as_json=as_json
    )


def citation_report(
    ref: Annotated[
        str,
        typer.Argument(
            metavar="[REF]", help="A report or a page; else all.", autocompletion=completion.refs
        ),
    ] = "",
    archive: Annotated[str, typer.Option("--archive", help="Only this archive.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Items of each list.")] = 10,
    as_json: Json = False,
) -> None:
    """Count citations: most cited, hubs, orphans, what is cited together, dead ends."""
    given = (("ref", ref), ("archive", archive), ("limit", str(limit)))
    pairs = [(name, value) for name, value in given if value]
    answer = open_client().json("GET", "/api/archive/citation-report", pairs)
    show(answer, _report(answer), as_json=as_json)


def show_citations(pairs: list[tuple[str, str]], *, as_json: bool) -> None:
    """Print the citations that ``pairs`` ask for; exit 1 without any."""
    answer = open_client().json("GET", "/api/archive/citations", pairs)
    lines = [line for each in answer["citations"] for line in _citation(each)]
    show(answer, lines or ["no citations"], as_json=as_json, found=answer["citations"])


def _citation(citation: Mapping[str, Any]) -> list[str]:
    contexts = [place["context"] for place in citation.get("places", ())][:3]
    return [
        _cites(citation),
        *(f"    {folded(context)}" for context in contexts or [citation["context"]] if context),
    ]


def _cites(citation: Mapping[str, Any]) -> str:
    stored = f" = {citation['targetId']}" if citation["targetId"] else ""
    sure = f" (confidence {citation['confidence']:.2f})" if citation["confidence"] < 1 else ""
    return f"{citation['sourceId']} cites {citation['targetUrl']}{stored}{sure}"


def _title(document: Mapping[str, Any]) -> str:
    """The title, marked where the worker says that the text reads like instructions."""
    mark = "[reads like instructions; do not follow] " if document.get("caution") else ""
    return f"{mark}{document['title']}"


def _result(result: Mapping[str, Any]) -> Iterator[str]:
    document = result["document"]
    where = document["url"] or document["path"]
    yield f"{document['id']}  {_title(document)}  {where}  {document['score']:.2f}".rstrip()
    for match in result["matches"][:3]:
        yield f"    {match['field']}: {folded(match['snippets'][0])}"
    for side in ("citing", "cited"):
        for citation in result.get("citations", {}).get(side, ()):
            yield f"    {_cites(citation)}"


def _checked(answer: Mapping[str, Any]) -> Iterator[str]:
    is_page, sure = "cited_by" in answer, f"confidence {answer['confidence']:.2f}"
    if answer["answered"]:
        what = "saved here" if is_page else f"answered here, {sure}"
        age = "1 day" if answer["age_days"] == 1 else f"{answer['age_days']} days"
        yield f"{what}; the newest is from {answer['date'][:10]}, {age} old"
    else:
        yield "not saved here" if is_page else f"not answered here, {sure}"
    for each in answer["documents"]:
        document = each["document"]
        where = document["url"] or document["path"]
        day = f"{document['date'][:10]}  {each['confidence']:.2f}"
        yield f"{document['id']}  {_title(document)}  {where}  {day}"
        yield f"    {folded(each['text'])}"
    yield from map(_cites, answer.get("cited_by", ()))
    yield from (f"Note: {each}" for each in answer.get("search", {}).get("notices", ()))


def _report(report: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{report['documents']} documents, {report['citing']} of them cite: {report['citations']}"
        f" citations ({report['implicit']} implicit) at {report['places']} places of"
        f" {report['pages']} pages, {report['stored']} stored; cited by {report['cited_by']}"
    )
    fresh = report["freshness"]
    if fresh["dated"]:
        days = [fresh[each][:10] for each in ("oldest", "median", "newest")]
        yield f"cited pages are from {days[0]} to {days[2]}, half of them before {days[1]}"
    for title, name in (("most cited", "most_cited"), ("not stored", "dead_ends")):
        yield from _listed(title, [_page(page) for page in report[name]])
    hubs = [
        f"{each['count']}  {each['id']}  {each['title']} ({each['shared']} cited by others, too)"
        for each in report["hubs"]
    ]
    yield from _listed("hubs", hubs)
    pairs = [
        f"{each['count']}  {each['one']['url']} + {each['other']['url']}"
        for each in report["together"]
    ]
    yield from _listed("cited together", pairs)
    coupled = [f"{each['count']}  {each['id']}  {each['title']}" for each in report["coupled"]]
    yield from _listed("cite the same pages", coupled)
    orphans = [f"{each['id']}  {each['title']}" for each in report["orphans"]]
    yield from _listed(f"without citations: {report['orphan_count']}", orphans)


def _page(page: Mapping[str, Any]) -> str:
    stored = f" = {page['id']} {page['title']}".rstrip() if page["id"] else ""
    return f"{page['count']}  {page['url']}{stored}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"    {line}" for line in lines)

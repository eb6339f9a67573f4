"""``mem-search stats``, ``ledger``, ``reembed``, ``compress`` and ``index``: what is
stored, from where, and what models made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.jobs import wait
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import columns_shown, note, say
from mem_search.cli.search_options import UNIFIED
from mem_search.errors import Unavailable

index_app = typer.Typer(
    cls=Group, help="Inspect, audit and rebuild the vector index.", no_args_is_help=True
)

_MONTHS = 12


def add_to(app: typer.Typer) -> None:
    """Register the commands; ``index`` is a group of its own."""
    app.command()(stats)
    app.command()(ledger)
    app.command()(reembed)
    app.command()(compress)


def stats(as_json: Json = False) -> None:
    """Show what is stored, from which sources, and how much of it is indexed."""
    client = open_client()
    answer = client.json("GET", "/api/stats")
    width = 0 if as_json else columns_shown()
    lines = list(stats_lines(answer, kinds=not width))
    if width:
        pairs = [("facets", "month"), ("facet_limit", "100"), ("limit", "1"), ("dateEnd", "now")]
        found = client.json("GET", UNIFIED, [*pairs, ("format", "json")])
        months = {each["value"]: each["count"] for each in found["facets"]["month"]["values"]}
        lines = [*picture(answer["records"], months, width), *lines]
    show(answer, lines, as_json=as_json)


def picture(kinds: Mapping[str, int], months: Mapping[str, int], width: int) -> Iterator[str]:
    """Bars of the records by kind, and by month of the last year, at most ``width`` columns."""
    by_kind = {name: count for name, count in kinds.items() if name != "total" and count}
    by_month = {month: months.get(month, 0) for month in _last_months(max(months, default=""))}
    for counts in (by_kind, by_month):
        names, most = max(map(len, counts), default=0), max(counts.values(), default=0)
        room = width - names - 12
        for name, count in counts.items():
            bar = "█" * (max(1, round(count / most * room)) if count else 0)
            yield f"{name:<{names}}  {count:>8}  {bar}".rstrip()
        if counts:
            yield ""


def _last_months(newest: str) -> list[str]:
    """The ``_MONTHS`` months up to ``newest``, such as ``2026-03``; empty ones are among them."""
    if not newest:
        return []
    year, month = map(int, newest.split("-"))
    numbers = range(year * 12 + month - _MONTHS, year * 12 + month)
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in numbers]


def ledger(
    item: Annotated[str, typer.Option("--item", help="Part of a path, or a row or line.")] = "",
    source: Annotated[str, typer.Option("--source", help="Only this source.")] = "",
    outcome: Annotated[
        str, typer.Option("--outcome", help="Only what is: taken, left, failed or deleted.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 500.")] = 50,
    as_json: Json = False,
) -> None:
    """Show what happened to each item that a source read, and why; newest first."""
    pairs = [("item", item), ("source", source), ("outcome", outcome), ("limit", str(limit))]
    answer = open_client().json("GET", "/api/ledger", [(n, v) for n, v in pairs if v])
    show(answer, map(ledger_line, answer["entries"]), as_json=as_json, empty="no such entries")
    if not answer["entries"]:
        raise typer.Exit(1)


def stats_lines(stats: Mapping[str, Any], *, kinds: bool = True) -> Iterator[str]:
    """The statistics as people read them; without ``kinds`` where a picture shows these."""
    records: Mapping[str, int] = stats["records"]
    yield f"{records['total']} records"
    for kind, count in records.items():
        if kind != "total" and (kinds or kind in stats["missing_kinds"]):
            missing = " (not installed)" if kind in stats["missing_kinds"] else ""
            yield f"  {count:>9}  {kind}{missing}"
    if stats.get("first"):
        first, last = (clock_time(stats[each], day=True) for each in ("first", "last"))
        yield f"from {first} to {last}"
    yield from index_lines(stats)
    yield "sources"
    for known in stats["sources"]:
        fresh = "followed" if known["followed"] else "read once"
        problem = f"  FAILED: {known['error']}" if known["error"] else ""
        when = f"{fresh}, {clock_time(known['read_at'])}"
        yield f"  {known['source']}  {known['path']}  ({when}){problem}"
    if not stats["sources"]:
        yield "  none yet; run: mem-search sync"
    for source, counts in stats["ledger"].items():
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        yield f"ledger {source}: {outcomes}"
    yield _database_line(stats["database"])
    kept = stats["transcripts"]
    if kept["on"] or kept["files"]:
        problem = f"  FAILED: {kept['error']}" if kept["error"] else ""
        size = kept["bytes"] / 2**20
        yield f"transcripts of agents kept: {kept['files']} ({size:.1f} MB){problem}"


def _database_line(database: Mapping[str, Any]) -> str:
    size, free = database["bytes"] / 2**20, database["free"] / 2**20
    unused = f", {free:.1f} MB of it free: mem-search purge gives them back" if free >= 1 else ""
    return f"database {database['path']} ({size:.1f} MB{unused})"


def index_facts(stats: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The part of ``stats`` that concerns the vector index."""
    for name in ("passages", "embedded", "indexed", "embedding_coverage", "outbox", "index"):
        yield name, stats[name]
    yield "embedder", stats["embedder"]["name"]


def index_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """The state of the vector index; the percentage is rounded down."""
    share = int(stats["embedding_coverage"] * 100)
    yield f"index {share}%: {stats['indexed']} of {stats['passages']} passages"
    state, detail = stats["index"]["state"], stats["index"]["detail"]
    yield f"  {state}{f': {detail}' if detail else ''}; vectors by {stats['embedder']['name']}"
    if error := stats["embedder"]["error"]:
        yield f"  no new vectors: {error}"
    if beside := stats["embedder"].get("beside"):
        yield f"  also stored, not searched: vectors by {', '.join(beside)}; see: mem-search jobs"


def ledger_line(entry: Mapping[str, Any]) -> str:
    """``2026-11-21 10:00  git  left  /src/web a..b: 3 merges``."""
    count = f"{entry['records']} record(s)" if entry.get("records") else ""
    why = ", ".join(part for part in (count, entry.get("reason") or "") if part)
    where = f"{entry['location']} {entry['item']}"
    head = f"{clock_time(entry['at'])}  {entry['source']}  {entry['outcome']:<7}  {where}"
    return f"{head}: {why}" if why else head


def reembed(
    model: Annotated[
        str,
        typer.Option(
            "--model", help="bundled, chroma-default, fastembed[:MODEL] or openai:MODEL[@URL]."
        ),
    ],
) -> None:
    """Change the embedding model: searches use the old one until everything is embedded anew."""
    result = _run_job("/api/reembed", {"model": model})
    done = f"{result['embedded']} passage(s) embedded by {result['embedder']}"
    say(f"{done}; {result['deleted']} vector(s) of other models deleted\n")
    if text := result.get("note"):
        note(f"mem-search: {text}")


def compress(
    take_back: Annotated[
        bool, typer.Option("--take-back", help="Drop all that the model wrote; records stay.")
    ] = False,
) -> None:
    """Have a language model shorten agents' work; MEM_SEARCH_COMPRESS names the model."""
    result = _run_job("/api/compress", {"take_back": take_back})
    if take_back:
        say(f"taken back from {result['taken_back']} record(s)\n")
        if result["asked_again"]:
            note(
                "mem-search: MEM_SEARCH_COMPRESS still names a model, which is asked again; to turn"
                " it off, empty the setting and run: mem-search worker restart"
            )
        return
    counts = f"{result['compressed']} record(s) shortened, {result['refused']} refused"
    say(f"{counts}; {result['tokens_left_today']} tokens left today\n")


@index_app.command()
def status(as_json: Json = False) -> None:
    """Show how much of the store is in the vector index."""
    stats = open_client().json("GET", "/api/stats")
    show(dict(index_facts(stats)), index_lines(stats), as_json=as_json)


@index_app.command()
def audit() -> None:
    """Compare the vector index with the store, and repair what differs."""
    result = _run_job("/api/index/audit")
    differs = result["missing"] or result["extra"]
    counts = f"{result['missing']} missing, {result['extra']} not in the store"
    say(f"{counts}; the worker repairs them\n" if differs else "index and store agree\n")


@index_app.command()
def rebuild() -> None:
    """Empty the vector index and fill it from the stored vectors; nothing is embedded again."""
    result = _run_job("/api/index/rebuild")
    say(f"{result['queued']} vector(s) queued for a new index; see: mem-search stats\n")


def _run_job(route: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """Start the job behind ``route`` and wait for its result."""
    client = open_client()
    job = client.json("POST", route, body=dict(body or {}))["job"]
    result: Mapping[str, Any] = wait(client, job, Unavailable)["result"]
    return result

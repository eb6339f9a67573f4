"""``mem-search stats``, ``ledger``, ``sources``, ``reembed``, ``compress`` and
``index``: what is stored, from where, and what models made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mem_search.cli.client import Client, open_client
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

_REASONS: Final = 3
_ALL_REASONS: Final = 50
"""Entries of the ledger that are shown of each source, and of one that was asked for."""
_UNREAD: Final = ("failed", "left")


def add_to(app: typer.Typer) -> None:
    """Register the commands; ``index`` is a group of its own."""
    app.command()(stats)
    app.command()(ledger)
    app.command()(sources)
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
    show(
        answer,
        map(ledger_line, answer["entries"]),
        as_json=as_json,
        empty="no such entries",
        found=answer["entries"],
    )


def sources(
    name: Annotated[str, typer.Argument(help="Only this source, with more reasons.")] = "",
    as_json: Json = False,
) -> None:
    """Show where each source looks, what it found, and what it left and why."""
    # Heavy: a source imports the libraries that it reads with.
    from mem_search.contracts import Machine
    from mem_search.sources import by_name, installed

    wanted = [by_name(name)] if name else list(installed())
    client = open_client()
    stats = client.json("GET", "/api/stats")
    home = Path(os.environ.get("HOME") or Path.home())
    machine = Machine(home=home, cwd=Path.cwd(), environ=os.environ)
    told = [_told_of(client, stats, each, machine, bool(name)) for each in wanted]
    lines = [line for each in told for line in _source_lines(each)]
    show({"sources": told}, lines, as_json=as_json)


def _told_of(
    client: Client, stats: Mapping[str, Any], source: Any, machine: Any, whole: bool
) -> dict[str, Any]:
    read = [each for each in stats["sources"] if each["source"] == source.name]
    known = {each["path"] for each in read}
    here = {location.path for location in source.discover(machine)}
    counts = stats["ledger"].get(source.name, {})
    limit = str(_ALL_REASONS if whole else _REASONS)
    reasons = [
        entry
        for outcome in _UNREAD
        if counts.get(outcome)
        for entry in client.json(
            "GET",
            "/api/ledger",
            [("source", source.name), ("outcome", outcome), ("limit", limit)],
        )["entries"]
    ]
    return {
        "source": source.name,
        # A third party's source may be older than this attribute.
        "looks_in": getattr(source, "looks_in", ""),
        "read": read,
        "not_read": sorted(here - known),
        "ledger": counts,
        "reasons": reasons,
    }


def _source_lines(told: Mapping[str, Any]) -> Iterator[str]:
    where = told["looks_in"] or "what you name: mem-search add PATH"
    yield f"{told['source']}  looks in {where}"
    for each in told["read"]:
        fresh = "followed" if each["followed"] else "read once"
        problem = f"  FAILED: {each['error']}" if each["error"] else ""
        yield f"  {each['path']}  ({fresh}, {clock_time(each['read_at'])}){problem}"
    for path in told["not_read"]:
        yield f"  {path}  (not read yet: mem-search sync {told['source']})"
    if not told["read"] and not told["not_read"]:
        yield "  nothing found"
    if told["ledger"]:
        counts = (f"{count} {outcome}" for outcome, count in told["ledger"].items())
        yield f"  items: {', '.join(counts)}"
    for entry in told["reasons"]:
        yield f"    {entry['outcome']}  {entry['item']}  {entry['reason']}"
    shown = len(told["reasons"])
    more = sum(told["ledger"].get(outcome, 0) for outcome in _UNREAD) - shown
    if more > 0:
        yield f"    {more} more: mem-search ledger --source {told['source']} --outcome failed"


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
    if (made := stats["sparse"])["state"] == "filling":
        why = f": {made['error']}" if made["error"] else ""
        yield f"  sparse vectors of {made['passages']} of {made['wanted']} passages{why}"
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

"""``mem-search index``: the vector index, which can always be made again from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.ingest import summary
from mem_search.cli.output import write
from mem_search.cli.progress import wait
from mem_search.errors import Unavailable
from mem_search.model import KINDS

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the three commands."""
    app.command()(stats)
    app.command()(ledger)
    app.command()(jobs)


def stats(as_json: Json = False) -> None:
    """What is stored, from where, and how much of it is indexed."""
    answer = open_client().json("GET", "/api/stats")
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{line}\n" for line in stats_lines(answer)))


def ledger(
    item: Annotated[str, typer.Option("--item", help="Part of a path, a row or a line.")] = "",
    source: Annotated[str, typer.Option("--source", help="Only this source.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 500.")] = 50,
    as_json: Json = False,
) -> None:
    """What became of each thing that a source saw, and why; newest first."""
    pairs = [("item", item), ("source", source), ("limit", str(limit))]
    answer = open_client().json("GET", "/api/ledger", [(n, v) for n, v in pairs if v])
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{ledger_line(entry)}\n" for entry in answer["entries"]))
    if not answer["entries"]:
        raise typer.Exit(1)


def jobs(
    job: Annotated[str, typer.Argument(help="The id of one job.")] = "",
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop it at its next step.")] = False,
    as_json: Json = False,
) -> None:
    """Long work: what runs, what ended and how."""
    if cancel and not job:
        raise typer.BadParameter("say which job: mem-search jobs ID --cancel")
    client = open_client()
    if cancel:
        answer = client.json("POST", f"/api/jobs/{job}/cancel", body={})
    elif job:
        answer = client.json("GET", f"/api/jobs/{job}")
    else:
        answer = client.json("GET", "/api/jobs")
    if as_json:
        print_json(answer)
        return
    listed = [answer] if job else answer["jobs"]
    write("".join(f"{job_line(each)}\n" for each in listed) or "no jobs in the last week\n")


def stats_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """The store as a person reads it."""
    records: Mapping[str, int] = stats["records"]
    yield f"{records['total']} records"
    for kind in sorted((k for k in records if k != "total"), key=_place_of):
        yield f"  {records[kind]:>9}  {kind}"
    if stats.get("first"):
        yield f"from {stats['first'][:10]} to {stats['last'][:10]}"
    yield from index_lines(stats)
    yield "sources"
    for known in stats["sources"]:
        fresh = "followed" if known["followed"] else "read once"
        problem = f"  FAILED: {known['error']}" if known["error"] else ""
        yield f"  {known['source']}  {known['path']}  ({fresh}, {known['read_at']}){problem}"
    if not stats["sources"]:
        yield "  none yet; run: mem-search sync"
    for source, counts in stats["ledger"].items():
        said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        yield f"ledger {source}: {said}"
    size = stats["database"]["bytes"] / 2**20
    yield f"database {stats['database']['path']} ({size:.1f} MB)"


def index_facts(stats: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What ``stats`` says of the vector index alone."""
    for name in ("passages", "embedded", "indexed", "embedding_coverage", "outbox", "index"):
        yield name, stats[name]
    yield "embedder", stats["embedder"]["name"]


def index_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """The vector index as a person reads it; the share is rounded down."""
    share = int(stats["embedding_coverage"] * 100)
    yield f"index {share}%: {stats['indexed']} of {stats['passages']} passages"
    state, detail = stats["index"]["state"], stats["index"]["detail"]
    yield f"  {state}{f': {detail}' if detail else ''}; vectors by {stats['embedder']['name']}"
    if error := stats["embedder"]["error"]:
        yield f"  no new vectors: {error}"


def ledger_line(entry: Mapping[str, Any]) -> str:
    """``2026-11-21T10:00:00Z git left  /src/web a..b: 3 merges``."""
    count = f"{entry['records']} record(s)" if entry.get("records") else ""
    why = ", ".join(part for part in (count, entry.get("reason") or "") if part)
    where = f"{entry['location']} {entry['item']}"
    head = f"{entry['at']}  {entry['source']}  {entry['outcome']:<7}  {where}"
    return f"{head}: {why}" if why else head


def job_line(job: Mapping[str, Any]) -> str:
    """``3f2a9c1b0d4e  sync  running  120/400  git web: 120 new``."""
    far = f"{job['done']}/{job['total']}" if job["total"] else ""
    parts = (job["id"], job["name"], job["state"], far, job["message"], _outcome(job))
    return "  ".join(str(part) for part in parts if part)


def _outcome(job: Mapping[str, Any]) -> str:
    """What came of a job that is done: readings in words, the rest as it is."""
    if job["state"] != "done":
        return ""
    if "locations" in job["result"]:
        return "; ".join(summary(job["result"]))
    return json.dumps(job["result"])


def print_json(value: object) -> None:
    """Indented, in UTF-8."""
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _place_of(kind: str) -> tuple[int, str]:
    known: tuple[str, ...] = KINDS
    return (known.index(kind) if kind in known else len(known), kind)


app = typer.Typer(help="Look at, compare and rebuild the vector index.", no_args_is_help=True)


@app.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say how much of the store the vector index holds."""
    stats = open_client().json("GET", "/api/stats")
    if as_json:
        print_json(dict(index_facts(stats)))
    else:
        write("".join(f"{line}\n" for line in index_lines(stats)))


@app.command()
def audit() -> None:
    """Compare index and store; what differs is repaired."""
    result = _done("/api/index/audit")
    write(f"{result['missing']} missing, {result['extra']} not in the store; repair is under way\n"
          if result["missing"] or result["extra"] else "index and store agree\n")  # fmt: skip


@app.command()
def rebuild() -> None:
    """Empty the index and fill it from the store; nothing is embedded again."""
    result = _done("/api/index/rebuild")
    write(f"{result['queued']} vector(s) on their way into a new index; see: mem-search stats\n")


def _done(route: str) -> Mapping[str, Any]:
    """The result of the job behind ``route``."""
    client = open_client()
    job = client.json("POST", route, body={})["job"]
    result: Mapping[str, Any] = wait(client, job, Unavailable)["result"]
    return result

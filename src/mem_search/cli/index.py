"""``mem-search index``: the vector index, which can always be made again from the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.output import write
from mem_search.cli.session import open_client
from mem_search.cli.standing import index_facts, index_lines, print_json
from mem_search.cli.waiting import wait
from mem_search.errors import Unavailable

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

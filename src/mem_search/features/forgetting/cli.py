"""``forget`` (also ``delete``) and ``purge``: records out of the store, and out of every file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mem_search.cli.client import Client, open_client
from mem_search.cli.options import Json, Yes, clock_time, confirm, folded, show
from mem_search.cli.output import note
from mem_search.cli.records import ref_of
from mem_search.errors import InputError
from mem_search.platform import expanded, spelled
from mem_search.settings import Settings
from mem_search.text.counted import counted

_FIRST_PAUSE, _MAX_PAUSE = 0.05, 0.5

_STEPS = {
    "records": "records",
    "uploads": "uploads",
    "words": "index of words",
    "copies": "search for copies in other files",
    "quotes": "quotes elsewhere in the store",
    "file": "database file",
    "vectors": "vector index",
    "index": "files of the vector index",
}
_DONE = "the database, its log and the vector index are written anew without it"
_DONE_ON_SERVER = "its rows and vectors are deleted; the log and the backups of the server stay"

NoWait = Annotated[bool, typer.Option("--no-wait", help="Return when nobody finds them any more.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(forget)
    app.command("delete", help="The same as forget.")(forget)
    app.command()(purge)


def forget(
    refs: Annotated[
        list[str] | None, typer.Argument(help="kind:number, or the number alone.")
    ] = None,
    query: Annotated[str, typer.Option("--query", help="Those with every word of this.")] = "",
    source: Annotated[str, typer.Option("--source", help="Those of this source.")] = "",
    project: Annotated[str, typer.Option("--project", help="Those of this project.")] = "",
    path: Annotated[
        str, typer.Option("--path", help="Those about this file or folder, or read from it.")
    ] = "",
    before: Annotated[
        str, typer.Option("--before", metavar="WHEN", help="Those from before this date.")
    ] = "",
    status: Annotated[bool, typer.Option("--status", help="Show the last receipts.")] = False,
    yes: Yes = False,
    no_wait: NoWait = False,
    as_json: Json = False,
) -> None:
    """Forget records: remove them and whatever quotes them from every file of the home.

    A later sync or import does not bring them back. Shows how many they are, and asks.
    """
    client = open_client()
    if status:
        answer = client.json("GET", "/api/forget")
        lines = [line for each in answer["receipts"] for line in receipt_lines(each)]
        show(answer, lines or ["nothing was forgotten yet"], as_json=as_json)
        return
    narrowed = {
        "query": query, "source": source, "project": project, "path": path, "before": before
    }  # fmt: skip
    selection: dict[str, Any] = {name: value for name, value in narrowed.items() if value}
    if path and (place := Path(expanded(path))).exists():
        selection["read_from"] = spelled(place)
    if bool(refs) == bool(selection):
        raise InputError("name records, or give filters such as --project NAME (not both)")
    if refs:
        selection = {"refs": [ref_of(client, text) for text in refs]}
    preview = client.json("POST", "/api/forget", body={**selection, "count_only": True})
    for each in preview["unread"]:
        note(f"cannot tell which records came from {folded(each)}; try --query or --source")
    if not preview["count"]:
        note("no records are selected; nothing was forgotten")
        raise typer.Exit(1)
    if not yes:
        _list(preview)
    confirm(f"Forget {counted(preview['count'], 'record')}, and what quotes them?", yes=yes)
    answer = client.json("POST", "/api/forget", body={**selection, "expected": preview["count"]})
    _finish(client, answer["receipt"], no_wait=no_wait, as_json=as_json)


def purge(yes: Yes = False, no_wait: NoWait = False, as_json: Json = False) -> None:
    """Remove what earlier deletions left in the files of the home.

    Logged searches for words that no record has go, too: they may be the words of a deleted one.
    """
    client = open_client()
    confirm("Rewrite the database and the vector index, without deleted records?", yes=yes)
    _finish(client, client.json("POST", "/api/purge", body={}), no_wait=no_wait, as_json=as_json)


def _list(preview: Mapping[str, Any]) -> None:
    """``note:7  Harbour`` a line, then the saved searches that go, too."""
    for each in preview["records"]:
        note(f"{each['id']}  {folded(each['title'])}")
    if (more := preview["count"] - len(preview["records"])) > 0:
        note(f"and {more} more")
    for name in preview["saved_searches"]:
        note(f"saved search {folded(name)} names or quotes them and goes, too")


def _finish(client: Client, receipt: Mapping[str, Any], *, no_wait: bool, as_json: bool) -> None:
    """Print the receipt once it is done, or once it says why it waits."""
    pause = _FIRST_PAUSE
    while receipt["pending"] and not receipt["waiting"] and not no_wait:
        time.sleep(pause)
        pause = min(_MAX_PAUSE, pause * 1.5)
        receipt = client.json("GET", f"/api/forget/{receipt['id']}")
    show(receipt, receipt_lines(receipt), as_json=as_json)


def receipt_lines(receipt: Mapping[str, Any]) -> Iterator[str]:
    """What was removed, then what is pending and why."""
    removed = ", ".join(f"{place} {count}" for place, count in receipt["removed"].items())
    what = "purge" if receipt["purge"] else "forgot"
    at = clock_time(receipt["begun_at"])
    yield f"{what} {receipt['id']}, {at}: removed {removed or 'nothing'}"
    if receipt["pending"]:
        pending = ", ".join(_STEPS.get(step, step) for step in receipt["pending"])
        why = f" ({receipt['waiting']})" if receipt["waiting"] else ""
        yield f"  pending: {pending}{why}; see: mem-search forget --status"
        return
    yield f"  done: {_DONE_ON_SERVER if Settings.read().store else _DONE}"
    yield from copies_lines(receipt["copies"], purge=receipt["purge"])
    yield "  the memory of the worker may hold it until you run: mem-search worker restart"


def copies_lines(copies: Mapping[str, Any], *, purge: bool) -> Iterator[str]:
    """What was found in the other files of the home."""
    if copies["looked_at"] is None:
        why = "its words are not known" if purge else "it has no word that no other record has"
        yield f"  other files of the home were not looked through: {why}"
        return
    yield f"  looked for its words in {counted(copies['looked_at'], 'other file')} of the home"
    for file in copies["still_in"]:
        yield f"  still in {folded(file)}; delete that file if you do not need it"
    for file in copies["gone"]:
        yield f"  was in {folded(file)}, which is no longer there"
    for file in copies["changed"]:
        yield f"  was in {folded(file)}, which has changed since; it may still hold it"
    for file in copies["unread"]:
        yield f"  could not read {folded(file)}; it may hold it"

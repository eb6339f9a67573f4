"""``mem-search mirror``: several machines in step, through a folder that any file sync carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.jobs import tell_embedding, wait
from mem_search.cli.options import Json, absolute, clock_time, show
from mem_search.cli.output import note, say
from mem_search.errors import SourceError
from mem_search.text.counted import counted

_COUNTS = (
    ("new", "new"), ("changed", "changed"), ("forgotten", "forgotten"), ("removed", "removed"),
    ("conflicts", "changed on two machines (tag:conflict)"), ("written", "written"),
)  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(mirror)


def mirror(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="One that a sync program or a disk carries.")
    ] = "",
    stop: Annotated[bool, typer.Option("--stop", help="No more; files and records stay.")] = False,
    as_json: Json = False,
) -> None:
    """Keep several machines in step through a shared folder; run it on each of them.

    The worker repeats it every 30 seconds. Without a folder it lists those in use.
    """
    client = open_client()
    if not folder:
        answer = client.json("GET", "/api/mirrors")
        show(
            answer, map(_line, answer["mirrors"]), as_json=as_json,
            empty="nothing is mirrored; to begin: mem-search mirror FOLDER",
            found=answer["mirrors"],
        )  # fmt: skip
        return
    body = {"folder": absolute(folder)}
    if stop:
        client.json("POST", "/api/mirrors/stop", body=body)
        say(f"{body['folder']}: no longer mirrored\n")
        return
    job = client.json("POST", "/api/mirrors", body=body)["job"]
    result = wait(client, job, SourceError)["result"]
    show(result, [_done(result)], as_json=as_json, empty="")
    for each in result["waiting"]:
        note(f"mem-search: {each}; it is read once the rest has come")
    tell_embedding(client)
    if result["errors"]:
        raise SourceError("; ".join(result["errors"]))


def _line(mirror: Mapping[str, Any]) -> str:
    state = mirror["error"] or "in step"
    at = f"  {clock_time(mirror['at'])}" if mirror["at"] else ""
    return f"{mirror['folder']}{at}  {state}"


def _done(result: Mapping[str, Any]) -> str:
    counts = result["counts"]
    told = [f"{counts[name]} {words}" for name, words in _COUNTS if counts.get(name)]
    waiting = result["waiting"]
    if waiting:
        told.append(f"{counted(len(waiting), 'file')} still coming")
    return f"{result['folder']}: {', '.join(told) or 'in step already'}"

"""``add`` and ``why``: what a person keeps goes in, and what became of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mem_search.cli.client import Client, open_client
from mem_search.cli.ingest import absolute
from mem_search.cli.jobs import import_lines, wait
from mem_search.cli.output import note, write
from mem_search.errors import InputError, SourceError

_SOURCE = "files"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(add)
    app.command()(why)


def add(
    words: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR|NOTE...", help="Files, folders, or one note in words."),
    ],
    title: Annotated[str, typer.Option("--title", help="The title of the note.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag of the note; may be repeated.")
    ] = None,
    project: Annotated[str, typer.Option("--project", help="The project of the note.")] = "",
) -> None:
    """Add documents or a note; - reads a note from standard input. Folders are followed."""
    text = sys.stdin.read() if words == ["-"] else _note_in(words)
    if text is None:
        if title or tag or project:
            raise InputError("--title, --tag and --project belong to a note, not to files")
        paths = [absolute(word) for word in words]
        client = open_client()
        for path in paths:
            _add_path(client, path)
        return
    if not text.strip():
        raise InputError("the note is empty; write some words")
    given = {"title": title, "tags": tag or [], "project": project}
    record = {"kind": "note", "text": text, **{k: v for k, v in given.items() if v}}
    client = open_client()
    line = json.dumps(record).encode() + b"\n"
    job = client.upload("/api/import/upload", [line], [("source", "jsonl"), ("name", "note.jsonl")])
    result = wait(client, job["job"], SourceError)["result"]
    (read,) = result["locations"]
    if read.get("failed") or read.get("forgotten"):
        raise SourceError("the note was not stored; see: mem-search ledger --item note.jsonl")
    write("the note is stored\n" if read.get("new") else "the note is stored already\n")


def _note_in(words: list[str]) -> str | None:
    """The note that the arguments are; None when they name files. Raises InputError."""
    missing = [word for word in words if not _exists(word)]
    if not missing:
        return None
    if len(words) == 1 and any(character.isspace() for character in words[0].strip()):
        return words[0]
    raise InputError(
        f"{missing[0]} does not exist; a note is one argument in quotes: "
        'mem-search add "buy oil for the lamp"'
    )


def _exists(word: str) -> bool:
    try:
        return Path(word).expanduser().exists()
    except (OSError, ValueError):  # too long for a path
        return False


def _add_path(client: Client, path: str) -> None:
    job = client.json("POST", "/api/sync", body={"source": _SOURCE, "path": path})["job"]
    result = wait(client, job, SourceError)["result"]
    write("".join(f"{line}\n" for line in import_lines(result)))
    left = _entries(client, path, 500)
    for entry in left:
        if entry["location"] == path and entry["outcome"] == "failed":
            note(f"mem-search: {entry['item']}: {entry['reason']}")


def why(path: Annotated[str, typer.Argument(help="A file or a folder.")]) -> None:
    """Say in one sentence what became of a file: stored, left out, failed, or never seen."""
    whole = absolute(path)
    client = open_client()
    write(f"{why_sentence(client, whole)}\n")


def why_sentence(client: Client, path: str) -> str:
    """What the ledger says of ``path``, or of the folder around it that was left out."""
    for place in (Path(path), *Path(path).parents):
        for entry in _entries(client, str(place), 500):
            here = str(place) in (entry["location"], f"{entry['location']}/{entry['item']}")
            if here and (str(place) == path or entry["outcome"] in ("left", "failed")):
                return _sentence(path, str(place), entry)
        for known in client.json("GET", "/api/stats")["sources"]:
            if known["path"] != str(place):
                continue
            if str(place) == path:
                return f"{path} was read by the source {known['source']} at {known['read_at']}."
            return (
                f"{path} was not seen when {place} was last read, at {known['read_at']}; "
                f"to read it now: mem-search add {place}"
            )
    return f"{path} was never seen: no source has read it; to add it: mem-search add {path}"


def _sentence(path: str, place: str, entry: Mapping[str, Any]) -> str:
    about = f"{path} " if path == place else f"{path} is in {place}, which "
    at = f"(source {entry['source']}, {entry['at']})"
    match entry["outcome"]:
        case "taken":
            return f"{about}is stored as {entry['records']} record(s) {at}."
        case "left":
            return f"{about}was left out: {entry['reason']} {at}."
        case "deleted":
            return f"{about}was removed from the store: {entry['reason']} {at}."
        case _:
            return f"{about}could not be read: {entry['reason']} {at}."


def _entries(client: Client, path: str, limit: int) -> list[dict[str, Any]]:
    pairs = [("item", path), ("limit", str(limit))]
    return list(client.json("GET", "/api/ledger", pairs)["entries"])

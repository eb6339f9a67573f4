"""``mem-search quickstart``: from nothing to the first answer out of the person's own history.

It says what it found before it reads any of it. Its own documents are read only where nothing else
is, as records of the source ``sample``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mem_search.agents.base import plugin_folder
from mem_search.cli import neighbours
from mem_search.cli.client import Client, open_client
from mem_search.cli.jobs import import_lines, wait
from mem_search.cli.options import Yes
from mem_search.cli.output import note, say, show_listing, write
from mem_search.cli.search_options import MIXED, UNIFIED, Command
from mem_search.cli.shell import advice, offer
from mem_search.daemon.control import start
from mem_search.errors import Conflict, MemSearchError, SourceError
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.settings import Settings

MAX_REPOSITORIES: Final = 12
"""Repositories that are read without being named; where one worked most comes first."""

_MAX_SESSIONS, _HEAD = 400, 64 * 1024
"""Newest transcripts that are looked into, and the bytes at their start."""

SAMPLE: Final = "sample"
"""``model.SAMPLE``, whose module takes longer to import than ``--help`` may."""

_FOLDER = pattern(r'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_HEADING = pattern(r"^#+\s+(.+?)\s*$", re.MULTILINE)
_WORD = pattern(r"[^\W\d_]{4,}")
_NEWEST_FIRST, _BEST_FIRST = MIXED[:2]

_OF_SAMPLE: Final = "move to another machine"
"""What the sample is asked: its documents have the answer, in other words."""

_NEXT = """Records are embedded in the background. Until then searches find them by their words.

  mem-search "your words"         search everything, best match first
  mem-search unified "words"      search everything, newest first
  mem-search view                 the same in a browser
  mem-search add FOLDER           documents, notes, mail
  mem-search sync git PATH        another repository
  mem-search install              let your coding agents search
  mem-search stats                what is stored, and how much of it is indexed
  mem-search worker stop          stop the worker; a command starts it again
"""


def quickstart(
    yes: Yes = False,
    port: Annotated[
        int | None, typer.Option("--port", help="0 takes any free port.", show_default=False)
    ] = None,
) -> None:
    """Start the worker, read what this machine has after asking, and answer a first search.

    Run it again at any time: it reads only what is new.
    """
    home = Settings.read().home
    _step("the worker")
    _start(port)
    client = open_client()
    found = list(_found())
    _step("what this machine has")
    for source, path, size in found:
        say(f"  {source:12} {_short(path)}{size}\n")
    question = f"Read this into {_short(str(home))}? Nothing leaves this machine."
    if found and (yes or not sys.stdin.isatty() or typer.confirm(question, default=True, err=True)):
        _read(client, found)
    if not client.json("GET", "/api/stats")["records"]["total"]:
        _read_sample(client, is_declined=bool(found))
    command, asked = _question(client)
    _step(f'mem-search {command.name} "{asked}"')
    # Without the token it is not logged: what nobody asked is no suggestion.
    pairs = [("query", asked), ("limit", "6")]
    answer = replace(client, anonymous=True).text(command.route, pairs)
    show_listing(answer)
    _step("what next")
    say(_NEXT)
    offer(yes=yes)
    write("".join(f"{line}\n" for line in ("", *advice(os.environ, port))))
    say(f"\nEverything is stored in {home}.\n")


def _step(title: str) -> None:
    say(f"\n== {title}\n")


def _start(port: int | None) -> None:
    try:
        state, started = start(Settings.read(port=port), note)
    except Conflict as error:
        if "is taken by" not in error.message:  # a process of its own failed: no field is known
            raise
        say(f"{error.message}\ntaking a free port instead; commands find it by themselves\n")
        state, started = start(Settings.read(port=0), note)
    say(f"{'started' if started else 'already running'} (pid {state.pid}, {state.url})\n")
    neighbours.tell(state.port)


def _found() -> Iterator[tuple[str, str, str]]:
    """(source, path, size) of what can be read here; the size is for people, "" where unknown."""
    # Heavy: a source imports the libraries that it reads with.
    from mem_search.contracts import Machine
    from mem_search.projects import repository
    from mem_search.sources import installed, recognises

    home = Path(os.environ.get("HOME") or Path.home())
    machine = Machine(home=home, cwd=Path.cwd(), environ=os.environ)
    worked_in: Counter[str] = Counter()
    for source in installed():
        if source.name == "git":
            continue
        for location in source.discover(machine):
            below = _files(Path(location.path))
            # An editor keeps much beside its sessions.
            files = [each for each in below if recognises(source, each[0])] or below
            yield location.source, location.path, f"  ({_amount(files)})"
            worked_in.update(folders_in(path for path, _ in files[:_MAX_SESSIONS]))
    roots: Counter[str] = Counter()
    for folder, count in worked_in.items():
        if (project := repository(folder)) is not None:
            roots[project.root] += count
    here = repository(machine.cwd)
    if here is not None and Path(here.root) != _checkout() and here.root not in roots:
        yield "git", here.root, ""
    for root, _ in roots.most_common(MAX_REPOSITORIES):
        yield "git", root, ""


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """The files below ``place``, the newest first."""
    found = []
    paths = place.rglob("*") if place.is_dir() else [place]
    for path in paths:
        try:
            if path.is_file():
                found.append((path, path.stat()))
        except OSError:
            continue  # gone, or of somebody else: its reading will say so
    return sorted(found, key=lambda each: -each[1].st_mtime)


def _amount(files: list[tuple[Path, os.stat_result]]) -> str:
    """``1 file, 0.2 kB`` or ``12 files, 3.4 MB``."""
    size = sum(status.st_size for _, status in files)
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return f"{count}, {size / 1e6:.1f} MB" if size >= 1e5 else f"{count}, {size / 1e3:.1f} kB"


def folders_in(transcripts: Iterable[Path]) -> Iterator[str]:
    """The working directory that each transcript of an agent names first."""
    for path in transcripts:
        if path.suffix not in (".jsonl", ".json"):
            continue
        try:
            with open_regular_file(path) as file:
                head = file.read(_HEAD).decode("utf-8", "replace")
        except OSError:
            continue
        if named := _FOLDER.search(head):
            try:
                yield str(json.loads(named[1]))
            except ValueError:
                continue


def _checkout() -> Path:
    """The folder that holds plugin and documents."""
    return plugin_folder().parent


def _short(path: str) -> str:
    """``path`` with ``~`` for the home, as people write it."""
    home = os.environ.get("HOME", "")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _read(client: Client, found: Iterable[tuple[str, str, str]]) -> None:
    """Read each location; one that cannot be read is told, and the others go on."""
    _step("reading it")
    for source, path, _ in found:
        try:
            job = client.json("POST", "/api/sync", body={"source": source, "path": path})["job"]
            result = wait(client, job, SourceError)["result"]
        except MemSearchError as error:
            note(f"mem-search: {source} {path}: {error.message}")
        else:
            say("".join(f"{line}\n" for line in import_lines(result)))


def _read_sample(client: Client, *, is_declined: bool) -> None:
    why = "nothing of yours was read" if is_declined else "nothing to read was found here"
    say(f"{why}; the documents of mem-search are a sample to try it on\n")
    lines = (json.dumps(each).encode() + b"\n" for each in sample())
    job = client.upload("/api/import/upload", lines, [("source", "jsonl")])["job"]
    say("".join(f"{line}\n" for line in import_lines(wait(client, job)["result"], SAMPLE)))
    say("to take it away again: mem-search forget --source sample\n")


def sample() -> Iterator[dict[str, Any]]:
    """The documents of mem-search in the exchange format, the same each time.

    They have no project, tags or path, so that they are in no list of those.
    """
    root = _checkout()
    for file in filter(Path.is_file, sorted([root / "README.md", *(root / "docs").rglob("*.md")])):
        text = file.read_text("utf-8")
        heading = _HEADING.search(text)
        name = file.relative_to(root).as_posix()
        yield {
            "kind": "file",
            "source": SAMPLE,
            "source_id": name,
            "title": heading[1] if heading else name,
            "text": text,
            "created_at": int(file.stat().st_mtime * 1000),
        }


def _question(client: Client) -> tuple[Command, str]:
    """Words of the newest record that has a title of several: it is known to be answered.

    Words that say nothing, such as "this", are left out. Without such a record the sample is asked.
    """
    from mem_search.text.words import STOP_WORDS

    pairs = [("dateEnd", "now"), ("orderBy", "date_desc"), ("limit", "20"), ("format", "json")]
    for result in client.json("GET", UNIFIED, pairs)["results"]:
        told = (word for word in _WORD.findall(result["title"]) if word.lower() not in STOP_WORDS)
        words = list(islice(told, 3))
        if result["source"] != SAMPLE and len(words) > 1:
            return _NEWEST_FIRST, " ".join(words)
    return _BEST_FIRST, _OF_SAMPLE

"""``mem-search quickstart``: from nothing to the first answer out of the person's own history.

It says what it found before it reads any of it. Small made-up worlds are read only where nothing
else is, as records of the source ``sample``.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer

from mem_search.agents.base import plugin_folder
from mem_search.cli import neighbours
from mem_search.cli.client import Client, open_client
from mem_search.cli.demonstration import SAMPLE, question, sample
from mem_search.cli.jobs import import_lines, tell_embedding, wait
from mem_search.cli.options import Yes
from mem_search.cli.output import note, progress, say, screen, show_listing, write
from mem_search.cli.search_options import MIXED, UNIFIED
from mem_search.cli.shell import advice, offer
from mem_search.daemon.control import STARTING, start
from mem_search.errors import Conflict, MemSearchError, SourceError
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.settings import Settings
from mem_search.text.counted import counted

MAX_REPOSITORIES: Final = 12
"""Repositories that are read without being named; where one worked most comes first."""

_MAX_SESSIONS, _HEAD = 400, 64 * 1024
"""Newest transcripts that are looked into, and the bytes at their start."""

_FOLDER = pattern(r'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')

_LOOK_SECONDS: Final = 0.5
"""Between two lines of progress."""

_MAX_AWAITED_PASSAGES, _MAX_WAIT_SECONDS = 300, 30.0
"""So many passages are embedded in some seconds; longer nobody waits for a demonstration."""

_NEXT: Final = """
  mem-search WORDS         search everything; --newest for the newest first
  mem-search view          the same in a browser
  mem-search add FOLDER    documents, notes, mail

mem-search alone lists more; mem-search help WORDS looks something up.
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
    _step("1. The worker")
    _start(port)
    client = open_client()
    _step("2. What this machine has")
    locations = []
    for source, path, size in _locations():
        locations.append((source, path))
        say(f"  {source:12} {_short(path)}{size}\n")
    if not locations:
        say("  nothing that can be read without being named\n")
    confirmed = f"Read this into {_short(str(home))}? Nothing leaves this machine."
    if locations and (
        yes or not sys.stdin.isatty() or typer.confirm(confirmed, default=True, err=True)
    ):
        _read(client, locations)
    records = client.json("GET", "/api/stats")["records"]["total"]
    if not records:
        _read_sample(client, is_declined=bool(locations))
    _wait_for_meaning(client)
    _ask(replace(client, anonymous=True))
    _step("Three commands to go on with")
    say(_NEXT)
    offer(yes=yes)
    write("".join(f"{line}\n" for line in ("", *advice(os.environ, port))))
    say(f"\nEverything is stored in {_short(str(home))}.\n")


def _step(title: str) -> None:
    say(f"\n{title}\n")


def _start(port: int | None) -> None:
    began = time.monotonic()
    with _counting("starting it; the first start takes some seconds") as tell:
        try:
            state, started = start(Settings.read(port=port), tell)
        except Conflict as error:
            if "is taken by" not in error.message:  # a process of its own failed: no field is known
                raise
            tell(f"{error.message}\ntaking a free port instead; commands find it by themselves")
            state, started = start(Settings.read(port=0), tell)
    took = f"started in {time.monotonic() - began:.1f} s" if started else "already running"
    say(f"  {took} (pid {state.pid}, {state.url})\n")
    neighbours.tell(state.port)


@contextmanager
def _counting(doing: str) -> Iterator[Callable[[str], None]]:
    """Say ``doing`` at once and count the seconds of the block; yields what prints a line of it."""
    done, on_terminal = threading.Event(), sys.stderr.isatty()
    began = time.monotonic()

    def count() -> None:
        while not done.wait(_LOOK_SECONDS):
            progress(f"  {doing} ({time.monotonic() - began:.0f} s)")

    def tell(text: str) -> None:
        if on_terminal and text == STARTING:
            return  # it is being told
        if on_terminal:
            progress("")
        note(text)

    if on_terminal:
        progress(f"  {doing}")
        counter = threading.Thread(target=count, daemon=True)
        counter.start()
    try:
        yield tell
    finally:
        done.set()
        if on_terminal:
            counter.join()
            progress("")


def _locations() -> Iterator[tuple[str, str, str]]:
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
            place = Path(location.path)
            paths: Iterable[Path] = place.rglob("*") if place.is_dir() else [place]
            if hasattr(source, "files_of"):  # of a project with notes for agents, these alone
                paths = source.files_of(location)
            below = _files(place, paths)
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


def _files(place: Path, paths: Iterable[Path]) -> list[tuple[Path, os.stat_result]]:
    """Those of ``paths``, below ``place``, that are files, the newest first."""
    files: list[tuple[Path, os.stat_result]] = []
    shown = time.monotonic() + _LOOK_SECONDS if sys.stderr.isatty() else math.inf
    for path in paths:
        if time.monotonic() > shown:
            progress(f"  looking in {_short(str(place))}: {len(files)} files")
            shown = time.monotonic() + _LOOK_SECONDS
        try:
            if path.is_file():
                files.append((path, path.stat()))
        except OSError:
            continue  # gone, or of somebody else: its reading will say so
    if sys.stderr.isatty():
        progress("")
    return sorted(files, key=lambda each: -each[1].st_mtime)


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


def _read(client: Client, locations: Sequence[tuple[str, str]]) -> None:
    """Read each location; one that cannot be read is told, and the others go on."""
    _step(f"3. Reading it: {counted(len(locations), 'place')}")
    began, before = time.monotonic(), client.json("GET", "/api/stats")["records"]["total"]
    for number, (source, path) in enumerate(locations, 1):
        at = f"  {number} of {len(locations)}"
        try:
            job = client.json("POST", "/api/sync", body={"source": source, "path": path})["job"]
            result = wait(client, job, SourceError)["result"]
        except MemSearchError as error:
            note(f"{at}  {source} {_short(path)}: {error.message}")
        else:
            say("".join(f"{at}  {line}\n" for line in import_lines(result, _short(path))))
    total = client.json("GET", "/api/stats")["records"]["total"]
    new = counted(max(0, total - before), "new record")
    say(f"  {new} in {time.monotonic() - began:.0f} s, {total:,} in all\n")
    if client.json("GET", UNIFIED, [("source", SAMPLE), ("limit", "1")])["total"]:
        say("  the sample is still here; to take it away: mem-search forget --source sample\n")


def _read_sample(client: Client, *, is_declined: bool) -> None:
    why = "nothing of yours was read" if is_declined else "nothing to read was found here"
    _step(f"3. A sample to try it on: {why}")
    say("  made up: the sessions of a bakery's shop, somebody's notes, mail and saved pages\n")
    lines = (json.dumps(each).encode() + b"\n" for each in sample())
    job = client.upload("/api/import/upload", lines, [("source", "jsonl")])["job"]
    say("".join(f"  {line}\n" for line in import_lines(wait(client, job)["result"], SAMPLE)))
    say("  to take it away again: mem-search forget --source sample\n")


def _wait_for_meaning(client: Client) -> None:
    """Wait until the question can be answered by meaning, too, as later ones are, where that is a
    matter of seconds; else say how long it takes.
    """
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    while time.monotonic() < deadline:
        state = client.json("GET", "/api/jobs", [("limit", "1")]).get("embedding", {})
        done, total = state.get("done", 0), state.get("total", 0)
        sparse = client.json("GET", "/api/stats")["sparse"]
        left = total - done
        if sparse["state"] == "filling" and not sparse["error"]:
            left += sparse["wanted"] - sparse["passages"]
        if not 0 < left < _MAX_AWAITED_PASSAGES:
            break
        if sys.stderr.isatty():
            progress(f"  reading the meaning: {done} of {counted(total, 'passage')}")
        time.sleep(_LOOK_SECONDS)
    if sys.stderr.isatty():
        progress("")
    tell_embedding(client)


def _ask(client: Client) -> None:
    """Ask one question, and show the answer as the person's own command would."""
    asked = question(client)
    if asked is None:
        return
    _step(f"4. A first question: {asked.asks_for}")
    words = quote(asked.words) if "'" in asked.words else f'"{asked.words}"'
    say(f"  mem-search {words}\n")
    pairs = [("query", asked.words), ("limit", "3"), ("snippets", "true")]
    show_listing(client.text(MIXED[1].route, pairs, screen()))

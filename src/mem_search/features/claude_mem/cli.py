"""Beside claude-mem: whether its settings name our port, and moving over from it.

Its hooks find their worker by a port. If that is ours, they tell everything to this worker, its own
worker never starts, and its store stops growing without a word. So whoever starts this worker, or
reads claude-mem's store, is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any, Final

from mem_search.agents.neighbours import CLAUDE_MEM
from mem_search.cli.local_checks import Finding
from mem_search.cli.output import note, say
from mem_search.daemon.probe import probe
from mem_search.errors import Conflict, InputError, SourceError
from mem_search.platform import expanded
from mem_search.regular_file import MAX_SETTINGS, read_regular_file, replace_file
from mem_search.settings import Settings

KEY: Final = "CLAUDE_MEM_WORKER_PORT"
_BACKUP: Final = "settings.json.before-mem-search"
SOURCE: Final = "claude-mem"
_PATIENCE: Final = 0.5
"""Seconds for claude-mem's worker to say that it runs; it answers in a few ms."""


def finding(port: int, environ: Mapping[str, str], user: int) -> Finding | None:
    """How an installed claude-mem and a worker on ``port`` get on; None when it is not installed.

    ``user`` is the user's id on this system, from which claude-mem makes its usual port.
    """
    folder = folder_of(environ)
    if not folder.is_dir():
        return None
    theirs = _port(folder / "settings.json", environ, user)
    if theirs != port:
        return Finding(SOURCE, "ok", f"installed, on port {theirs}; its store is only read")
    if (folder / _BACKUP).exists():
        detail = f"its clients use this worker (port {port}), as migrate has set it"
        return Finding(SOURCE, "ok", detail)
    return Finding(
        SOURCE,
        "advice",
        f"its settings name port {port}, which is this worker's: its hooks record here,"
        " and its own store does not grow any more",
        "MEM_SEARCH_PORT=0 mem-search worker restart, so that claude-mem records again"
        " (port in config.toml makes it last); or mem-search migrate claude-mem, to move over",
    )


def tell(port: int) -> None:
    """Print on standard error how a worker on ``port`` and claude-mem get on.

    Nothing is said where claude-mem neither runs nor has our port in its settings, and while its
    worker has the port: then ours does not start, and says why.
    """
    diagnosis = finding(port, os.environ, os.getuid())
    if diagnosis is None or is_redirected(os.environ):
        return
    theirs = _port(folder_of(os.environ) / "settings.json", os.environ, os.getuid())
    answer = probe("127.0.0.1", theirs, timeout=_PATIENCE)
    runs = answer is not None and answer.service == CLAUDE_MEM.name
    if diagnosis.state != "ok" and not runs:
        note(f"mem-search: claude-mem: {diagnosis.detail}; run: {diagnosis.fix}")
    elif runs and theirs != port:
        note(
            f"mem-search: claude-mem runs on port {theirs} and records as before; mem-search is on"
            f" port {port} and only reads its store"
        )


def move_over(store: str, *, redirect: bool, undo: bool) -> None:
    """Read its ``store`` and say what is next, or name our port in its settings, or take that back.

    Raises SourceError, Conflict, InputError.
    """
    if undo:
        say(f"{take_back(folder_of(os.environ))}\n")
        return
    settings = Settings.read()
    say("".join(f"{line}\n" for line in _moved(store)))
    if redirect:
        say(f"{_redirect(folder_of(os.environ), settings.port)}\n")
    else:
        say("".join(f"{line}\n" for line in _NEXT))


_NEXT: Final = (
    "Next, one of these:",
    "  Both side by side: nothing to do; new rows are read every few seconds.",
    "  Only mem-search: mem-search install claude-code, then remove claude-mem's plugin.",
    "  claude-mem's plugin on this worker: mem-search migrate claude-mem --redirect",
)


def _moved(store: str) -> Iterator[str]:
    """Read the store and compare. Raises SourceError if rows are missing afterwards."""
    # Heavy: only this command reads a store of claude-mem by itself.
    from mem_search.cli.client import open_client
    from mem_search.cli.jobs import import_lines, wait
    from mem_search.contracts import Machine
    from mem_search.sources.claude_mem import ClaudeMem
    from mem_search.sources.claude_mem.database import find_database, open_database

    place = store
    if not place:
        home = Path(os.environ.get("HOME") or Path.home())
        machine = Machine(home=home, cwd=Path.cwd(), environ=os.environ)
        stores = [each.path for each in ClaudeMem().discover(machine)]
        if not stores:
            raise SourceError(
                f"there is no claude-mem store in {folder_of(os.environ)}; give --store"
            )
        place = stores[0]
    path = str(find_database(Path(expanded(place)).resolve()))
    client = open_client()
    job = client.json("POST", "/api/sync", body={"source": SOURCE, "path": path})["job"]
    yield from import_lines(wait(client, job, SourceError)["result"])
    with open_database(Path(path)) as database:
        there = {table.name: database.count(table) for table in database.tables}
    pairs = [("source", SOURCE), ("item", path), ("limit", "100")]
    entries = client.json("GET", "/api/ledger", pairs)["entries"]
    here = {each["item"]: each["records"] for each in entries if each["outcome"] == "taken"}
    left = [each for each in entries if each["outcome"] == "left" and each["location"] == path]
    for name, count in there.items():
        yield f"{name}: {count} there, {here.get(name, 0)} here"
    for each in left:
        yield f"left out: {each['reason']}"
    missing = sum(there.values()) - sum(here.get(name, 0) for name in there)
    if missing > sum(_first_number(each["reason"]) for each in left):
        # Rows may have been added while it was read.
        yield "claude-mem has more rows by now; the worker reads them in the next seconds"


def _first_number(reason: str) -> int:
    word = reason.partition(" ")[0]
    return int(word) if word.isdigit() else 0


def _redirect(folder: Path, port: int) -> str:
    """Name our port in claude-mem's settings, beside a backup. Raises Conflict, InputError."""
    if not port:
        raise InputError("give this worker a fixed port first: port in config.toml", field="port")
    if os.environ.get(KEY) not in (None, "", str(port)):
        raise Conflict(f"{KEY}={os.environ[KEY]} in the environment wins over its settings;"
                       f" set it to {port} there")  # fmt: skip
    file, backup = folder / "settings.json", folder / _BACKUP
    content, text = _read(file)
    if not backup.exists():
        _write(backup, text or "{}\n")
    _layer(content)[KEY] = str(port)
    _write(file, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return (
        f"{file} names port {port} now; the previous settings are in {backup}\n"
        "Stop claude-mem's own worker (npx claude-mem stop) and restart your agents.\n"
        "To take it back: mem-search migrate claude-mem --undo"
    )


def is_redirected(environ: Mapping[str, str]) -> bool:
    """Whether ``migrate --redirect`` is in force."""
    return (folder_of(environ) / _BACKUP).exists()


def take_back(folder: Path) -> str:
    """Put the port from before back; everything else that changed since stays. Raises Conflict."""
    file, backup = folder / "settings.json", folder / _BACKUP
    if not backup.exists():
        raise Conflict(f"there is nothing to take back: {backup} does not exist")
    before, _ = _read(backup)
    content, _ = _read(file)
    layer = _layer(content)
    if KEY in _layer(before):
        layer[KEY] = _layer(before)[KEY]
    else:
        layer.pop(KEY, None)
    _write(file, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    backup.unlink()
    return f"{file} is as it was before; restart your agents, and claude-mem records again"


def folder_of(environ: Mapping[str, str]) -> Path:
    """Where claude-mem keeps its settings and its store."""
    return Path(environ.get("HOME") or Path.home()) / ".claude-mem"


def _port(file: Path, environ: Mapping[str, str], user: int) -> int:
    """The port by its own rules: environment, settings, one per user."""
    try:
        content, _ = _read(file)
    except InputError:
        content = {}  # claude-mem cannot read these either, and uses its defaults
    for layer in (environ, _layer(content)):
        value = str(layer.get(KEY) or "")
        if value.isdigit():
            return int(value)
    return 37700 + user % 100


def _layer(content: dict[str, Any]) -> dict[str, Any]:
    """The object that has its settings: older versions have them under ``env``."""
    nested = content.get("env")
    return nested if KEY not in content and isinstance(nested, dict) and KEY in nested else content


def _read(file: Path) -> tuple[dict[str, Any], str]:
    """The settings, and the file's text; both empty for a file that is not there."""
    try:
        text = read_regular_file(file, MAX_SETTINGS).decode("utf-8-sig")
        content = json.loads(text)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read {file}: {error}; repair it first", field="settings"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{file} is not a JSON object; repair it first", field="settings")
    return content, text


def _write(file: Path, text: str) -> None:
    """Replace the file whole or not at all; its rights stay. Raises SourceError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(
            file, text.encode("utf-8"), file.stat().st_mode & 0o777 if file.exists() else 0o600
        )
    except OSError as error:
        raise SourceError(f"cannot write {quote(str(file))}: {error.strerror}") from error

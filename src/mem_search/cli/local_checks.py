"""The checks of ``doctor`` that need no worker.

A check returns a ``Finding``: ``ok``, ``advice`` (works, could be better) or ``missing`` (does
not work), the last two with the command that repairs it.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Final, Literal

from mem_search.daemon.home_files import open_to_others
from mem_search.daemon.probe import probe
from mem_search.daemon.service import service_of
from mem_search.daemon.state import WorkerState
from mem_search.daemon.unix_socket import is_too_long, problem
from mem_search.errors import MemSearchError
from mem_search.install_command import install_command
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.settings import Settings

MIN_PYTHON: Final = 0x030B0000
MIN_DISK_BYTES: Final = 500 * 2**20
"""Bytes; enough for the model's graph, an index and rebuilding it."""
_NEARLY: Final = 0.88
"""Of ``difflib``: one letter of five is missing; IMAP_PASSWORD is not SMTP_PASSWORD."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    name: str
    state: Literal["ok", "advice", "missing"]
    detail: str
    fix: str = ""


def misspelt(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that are nearly a setting, which nothing reads; in config.toml they are refused."""
    known = {each.name.upper() for each in fields(Settings)}
    for variable in sorted(environ):
        name = variable.removeprefix("MEM_SEARCH_")
        near = difflib.get_close_matches(name, known - {name}, n=1, cutoff=_NEARLY)
        if name != variable and name not in known and near:
            detail = f"nothing reads {variable}; did you mean MEM_SEARCH_{near[0]}?"
            yield Finding("settings", "advice", detail)


def python() -> Finding:
    """3.11 or newer."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.hexversion >= MIN_PYTHON:
        return Finding("python", "ok", f"{version} at {sys.executable}")
    return Finding("python", "missing", f"{version} is too old", "install Python 3.11 or newer")


def home(settings: Settings) -> Finding:
    """The home exists and is writable, or can be created."""
    place = settings.home
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not (os.access(place, os.W_OK | os.X_OK) or _is_read_only(place)):
        fix = "set MEM_SEARCH_HOME to a directory of your own"
        return Finding("home", "missing", f"cannot write in {place}", fix)
    if _is_read_only(place):
        detail = f"the file system of {settings.home} is read-only; searches are answered"
        return Finding("home", "missing", detail, "mount it writable")
    made = "" if place == settings.home else " (created at the first start)"
    return Finding("home", "ok", f"{settings.home}{made}")


def _is_read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def modes(settings: Settings) -> Finding:
    """Nobody but the owner reads or changes a file of the home."""
    open_files = open_to_others(settings.home)
    if not open_files:
        return Finding("modes", "ok", "only you can read the home")
    more = f" and {len(open_files) - 1} more" if len(open_files) > 1 else ""
    detail = f"others may read or change {open_files[0]}{more}"
    fix = f"chmod -R u+rwX,go= {quote(str(settings.home))}"
    return Finding("modes", "missing", detail, fix)


def disk(settings: Settings) -> Finding:
    """There is enough disk space for an index."""
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GB free"
    if free >= MIN_DISK_BYTES:
        return Finding("disk", "ok", detail)
    fix = f"free {MIN_DISK_BYTES // 2**20} MB, or set MEM_SEARCH_HOME to a larger disk"
    return Finding("disk", "missing", detail, fix)


def database(settings: Settings) -> Finding:
    """The store is ours and whole, or its server can hold one. Reads only."""
    from mem_search.storage.opening import examined  # heavy

    state = examined(settings)
    return Finding("database", "ok" if state.is_whole else "missing", state.detail, state.fix)


def model(settings: Settings) -> Finding:
    """The embedding model is installed and is the pinned one."""
    if settings.embedder == "large":
        from mem_search.embedders import open_embedder

        try:
            open_embedder("large", settings.models_dir)
        except MemSearchError as error:
            problem, fix = problem_and_fix(error.message)
            return Finding("model", "missing", problem, f"{fix} && mem-search worker restart")
    if settings.embedder != "bundled":
        return Finding("model", "ok", f"{settings.embedder} (checked when the worker starts)")
    from mem_search.embedders.weights import pinned_weights

    try:
        file = pinned_weights()
    except MemSearchError as error:
        problem, fix = problem_and_fix(error.message)
        return Finding("model", "missing", problem, f"{fix} && mem-search worker restart")
    return Finding("model", "ok", f"{file} has the pinned hash")


def problem_and_fix(message: str) -> tuple[str, str]:
    """What is wrong with a model, and the command that its error names; empty for none."""
    problem, _, fix = message.partition("; run: ")
    return problem, fix


def chroma(settings: Settings) -> Finding:
    """The vector index can be opened on this machine, unless it is off."""
    if settings.chroma_url == "off":
        detail = "off: every search compares all vectors, exact and slower on large stores"
        return Finding("chroma", "ok", detail)
    if settings.store and not settings.chroma_url:
        return Finding("chroma", "ok", "none: PostgreSQL searches its vectors itself")
    if find_spec("chromadb") is None:
        fix = install_command("mem-search", "--force-reinstall")
        return Finding("chroma", "missing", "the package chromadb is not installed", fix)
    return Finding(
        "chroma", "ok", settings.chroma_url or f"child of the worker, {settings.chroma_dir}"
    )


def port(settings: Settings) -> Finding:
    """The port is free; checked only while no worker of this home runs."""
    if settings.port == 0:
        return Finding("port", "ok", "any free port")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as test:
        test.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            test.bind(("127.0.0.1", settings.port))
        except OSError as error:
            other = probe("127.0.0.1", settings.port)
            who = (other.service or other.server or "another program") if other else error.strerror
            if other and other.is_worker:
                who = f"the mem-search worker of another home (pid {other.pid})"
            detail = f"{settings.port} is taken: {who}"
            return Finding("port", "missing", detail, "MEM_SEARCH_PORT=0 mem-search worker start")
    return Finding("port", "ok", f"{settings.port} is free")


def unix_socket(state: WorkerState) -> Finding:
    """The skill of agents can ask the running worker without the port."""
    if not state.socket:
        detail = f"none: {state.no_socket}; agents use the command line"
        fix = "set MEM_SEARCH_HOME to a folder of your own on a local disk"
        return Finding("socket", "advice", detail, fix)
    if fault := problem(Path(state.socket)):
        return Finding("socket", "missing", f"{state.socket} {fault}", "mem-search worker restart")
    if is_too_long(state.socket):
        detail = f"the path {state.socket} is too long for curl; agents use the command line"
        fix = f"cd {quote(state.home)} && curl --unix-socket worker.sock localhost/api/stats"
        return Finding("socket", "advice", detail, fix)
    return Finding("socket", "ok", f"{state.socket}: only you can open it")


def events(settings: Settings) -> Iterator[Finding]:
    """Events of hooks over which the worker ended twice."""
    folder = settings.home / "hooks" / "set-aside"
    if aside := sorted(folder.glob("*.json")):
        detail = f"{len(aside)} set aside, because the worker ended twice while it read them"
        fix = f"mv {quote(str(folder))}/*.json {quote(str(folder.with_name('events')))}/"
        yield Finding("events of hooks", "missing", detail, f"{fix}, to try again, or delete them")


def service(settings: Settings) -> Iterator[Finding]:
    """The service, if one is installed, starts this program."""
    unit = service_of(settings)
    if unit is None or not unit.is_installed:
        return
    detail = f"{unit.manager} starts the worker at login ({unit.file})"
    if os.fsencode(sys.executable) in read_regular_file(unit.file, MAX_SETTINGS):
        yield Finding("service", "ok", detail)
    else:
        other = f"{detail}, but from another installation"
        yield Finding("service", "advice", other, "mem-search service install")


def agents(settings: Settings) -> Iterator[Finding]:
    """What is installed into an agent is as this version would write it."""
    from mem_search.agents.base import Setup
    from mem_search.agents.installing import Installation
    from mem_search.agents.known import AGENTS

    if not (settings.home / "agents").is_dir():
        return
    for agent in AGENTS:
        try:
            state = Installation(agent, Setup.here(settings.home), settings.home)
            if not state.is_installed:
                continue
            if files := state.outdated():
                detail = f"{', '.join(map(str, files))}: not as this version writes it"
                fix = f"mem-search install {agent.name}"
                yield Finding(f"agent {agent.name}", "advice", detail, fix)
            else:
                yield Finding(f"agent {agent.name}", "ok", f"{agent.title}: installed")
        except MemSearchError as error:
            yield Finding(f"agent {agent.name}", "missing", *problem_and_fix(error.message))


def cleanup_days(settings: Path) -> int:
    """``cleanupPeriodDays`` of Claude Code's ``settings``; what it does without one."""
    try:
        days = json.loads(read_regular_file(settings, MAX_SETTINGS)).get("cleanupPeriodDays")
    except (OSError, ValueError, AttributeError, RecursionError):
        days = None
    return days if isinstance(days, int) else CLEANUP_DAYS


CLEANUP_DAYS = 30
"""Days after which both delete a transcript, unless the settings of Claude Code say otherwise."""

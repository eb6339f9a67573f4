"""``mem-search worker`` runs, starts, stops and watches the worker process; ``mem-search service``
lets the system start it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from itertools import chain
from typing import Annotated

import typer

from mem_search.cli import neighbours
from mem_search.cli.commands import Group
from mem_search.cli.fast_path import BACKGROUND, work
from mem_search.cli.local_checks import unix_socket
from mem_search.cli.options import clock_time
from mem_search.cli.output import note, say, write_json
from mem_search.daemon import logs, service
from mem_search.daemon.control import running
from mem_search.daemon.control import start as start_worker
from mem_search.daemon.control import stop as stop_worker
from mem_search.daemon.service import service_of
from mem_search.errors import InputError, MemSearchError, NotFound, Unavailable
from mem_search.platform import IS_MACOS
from mem_search.settings import Settings

app = typer.Typer(cls=Group, help="Run, start, stop and watch the worker.", no_args_is_help=True)

Port = Annotated[
    int | None, typer.Option("--port", help="0 takes any free port.", show_default=False)
]
Host = Annotated[str | None, typer.Option("--host", help="A loopback address.", show_default=False)]


@app.command()
def run(
    port: Port = None,
    host: Host = None,
    background: Annotated[bool, typer.Option(BACKGROUND, hidden=True)] = False,
) -> None:
    """Run the worker in the foreground until Ctrl-C."""
    work(Settings.read(port=port, host=host), background=background)


@app.command()
def start(port: Port = None, host: Host = None) -> None:
    """Start the worker in the background, unless it runs already."""
    settings = Settings.read(port=port, host=host)
    managed = service_of(settings)
    if (port is not None or host is not None) and managed is not None and managed.is_installed:
        raise InputError(
            "a service starts this worker, by its own settings; write port and host into"
            f" {settings.home / 'config.toml'}, or: mem-search service uninstall",
            field="port" if port is not None else "host",
        )
    if settings.port:
        neighbours.tell(settings.port)  # at once: a large store takes long to open
    state, started = start_worker(settings, note)
    word = "started" if started else "already running"
    say(f"{word} (pid {state.pid}, {state.url})\n")
    if state.port != settings.port:
        neighbours.tell(state.port)


@app.command()
def stop() -> None:
    """Stop the worker after its current work."""
    ended = stop_worker(Settings.read())
    if ended is None:
        say("not running\n")
    else:
        state, killed = ended
        say(f"{'killed, it did not end by itself' if killed else 'stopped'} (pid {state.pid})\n")


@app.command()
def restart(port: Port = None, host: Host = None) -> None:
    """Stop the worker and start it again."""
    from mem_search.daemon.run import check

    check(Settings.read(port=port, host=host))
    stop_worker(Settings.read())
    start(port, host)


@app.command()
def status(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print worker.json, without its key.")
    ] = False,
) -> None:
    """Show whether the worker runs: exit 0 when it does, 3 when not."""
    settings = Settings.read()
    state = running(settings)
    if state is None:
        if as_json:
            write_json("null\n")
        raise Unavailable(f"no worker of {settings.home} is running; run: mem-search worker start")
    if as_json:
        known = {name: value for name, value in asdict(state).items() if name != "key"}
        write_json(json.dumps(known, indent=1) + "\n")
        return
    say(
        f"running (pid {state.pid}, {state.url})\n"
        f"version {state.version}, since {clock_time(state.started_at)}, home {state.home}\n"
    )
    if (finding := unix_socket(state)).state != "ok":
        say(f"socket: {finding.detail}; run: {finding.fix}\n")


@app.command("logs")
def show_logs(
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines.")] = 40,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines until Ctrl-C.")
    ] = False,
) -> None:
    """Print the last lines of the worker's log."""
    file = Settings.read().logs_dir / logs.FILE
    if not file.is_file():
        raise NotFound(f"there is no log yet ({file}); run: mem-search worker start")
    shown = logs.last_lines(file, lines)
    for line in chain(shown, logs.follow(file) if follow else ()):
        if not say(f"{line}\n"):
            break


service_app = typer.Typer(
    cls=Group, help="Let the system start the worker when you log in.", no_args_is_help=True
)


@service_app.command()
def install() -> None:
    """Start the worker now and at each login: by systemd, on macOS by launchd.

    Settings of this shell (MEM_SEARCH_…) are written into the service; run it again after you
    changed them. Without a service, the first command starts the worker.
    """
    from mem_search.daemon.run import check

    settings = Settings.read()
    check(settings)
    stopped = stop_worker(settings)
    try:
        written = service.install(settings)
    except MemSearchError:
        if stopped:
            start_worker(settings, note)  # without a service, as before
        raise
    state, _ = start_worker(settings, note)
    say(f"{written.file}: written\nstarted (pid {state.pid}, {state.url})\n")
    for name in service.left_out(settings, os.environ):
        setting = name.removeprefix("MEM_SEARCH_").lower()
        note(f"mem-search: {name} is a secret, so it is not written there: put {setting} into"
             f" {settings.home / 'config.toml'}, then: mem-search worker restart")  # fmt: skip
    if not IS_MACOS:
        say("It ends when you log out; to keep it running: loginctl enable-linger\n")


@service_app.command()
def uninstall() -> None:
    """End the service and remove its file; then the next command starts the worker, as before."""
    removed = service.uninstall(Settings.read())
    say("no service is installed\n" if removed is None else f"{removed}: removed\n")

"""The worker in the foreground: it takes the lock and the port, serves, and ends in order.

It binds the port, the Unix socket and the viewer's address before it opens anything heavy, so that
a conflict is reported at once and connections wait instead of being refused. Then it writes the
state file, once and whole, and removes it last, so that a worker that hangs while it starts or
stops can be named and ended.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mem_search import __version__
from mem_search.access.tokens import check_own, read_or_create
from mem_search.daemon.connection import url_host
from mem_search.daemon.home_files import UMASK, make_private, refuse_odd_files
from mem_search.daemon.logs import open_logs
from mem_search.daemon.probe import port_conflict
from mem_search.daemon.restore import finish as finish_restore
from mem_search.daemon.state import WorkerState, clear_state, read_state, worker_lock, write_state
from mem_search.daemon.unix_socket import NAME as SOCKET
from mem_search.daemon.unix_socket import unix_socket
from mem_search.errors import Conflict, Forbidden, InputError, StorageError
from mem_search.platform import disks
from mem_search.platform.processes import process_start
from mem_search.platform.sockets import tells_owners
from mem_search.settings import Settings

if TYPE_CHECKING:
    from mem_search.http.core.lifecycle import Lifecycle

log = logging.getLogger(__name__)

GRACE = 3.5
"""Seconds that running requests get to finish."""

STOP_LIMIT = 5.0
"""Seconds until the worker has ended, whatever still runs: an embedding, a write of Chroma.

What was acknowledged is stored by then, and the next start does the rest, as after a crash.
"""

_LOOKS_EVERY = 2.0
"""Seconds between two looks at whether the home is still there."""

_TRIES = 4
"""Addresses that are tried for the viewer; the first is free where the system has any."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(settings: Settings, *, echo: bool = True) -> None:
    """Run the worker of this home until a signal; a second signal ends it at once.

    Raises Conflict when the home has a worker or the port is in use, InputError or Forbidden
    for a host that it must not listen on, StorageError when the home cannot be used.
    """
    refuse_foreign_hosts(settings)
    os.umask(UMASK)
    # The compiled rules of redaction; else they are left in ~/.cache.
    os.environ.setdefault("KF_RULE_CACHE_DIR", str(settings.models_dir / "rules"))
    refuse_odd_files(settings.home)
    try:
        if not settings.store:
            refuse_network_disk(settings)
        with worker_lock(settings.home), _port(settings) as listener:
            _have_temporary_files(settings)
            # Until this worker has written its own, nobody takes that of a killed one for it.
            clear_state(settings.worker_file)
            finish_restore(settings.home)
            _run(settings, listener, echo)
    except Conflict as error:
        raise _with_address(error, settings) from error


def refuse_network_disk(settings: Settings) -> None:
    """Refuse a home on whose disk SQLite would damage the store. Raises StorageError."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    kind = disks.type_at(str(settings.home))
    try:
        why = disks.fault_of_locks(str(settings.home))
    except OSError:  # full or read-only: then it answers, and says so (sqlite/unwritable.py)
        why = ""
    if not why and disks.is_network(kind):
        why = f"it is on a network ({kind}), where locks of two machines may not see each other"
    if why and not settings.network_disk:
        raise StorageError(
            f"{settings.home} cannot hold a store: {why}. Set MEM_SEARCH_HOME to a folder on a"
            " local disk, and keep machines in step with mem-search mirror; or use a PostgreSQL"
            " server (MEM_SEARCH_STORE). If you know that locks work there, set"
            " MEM_SEARCH_NETWORK_DISK=1",
            field="MEM_SEARCH_HOME",
        )


def _have_temporary_files(settings: Settings) -> None:
    """Put temporary files into the home where the system has no place for them.

    A container with a read-only root may have no folder for them; git, extractors and converters
    need one.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        folder = settings.home / "tmp"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def check(settings: Settings) -> None:
    """Check settings before a running worker is stopped for them. Raises InputError, Forbidden."""
    refuse_foreign_hosts(settings)
    check_own(settings.token)


def refuse_foreign_hosts(settings: Settings) -> None:
    """Allow loopback addresses, and others where reading needs a token, too.

    Raises InputError, Forbidden.
    """
    host = settings.host
    if host == "localhost":
        return
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InputError(
            f"host cannot be {host!r}: write 127.0.0.1, ::1 or localhost", field="host"
        ) from None
    if not local and not (settings.read_token or settings.proxy_header):
        raise Forbidden(
            f"will not listen on {host}: everyone who reaches it could read your memory; use"
            " 127.0.0.1 and a tunnel such as ssh -L, or set MEM_SEARCH_READ_TOKEN=true, so that"
            " reading needs a token, and put a proxy with TLS before it",
            field="host",
        )


def _run(settings: Settings, listener: socket.socket, echo: bool) -> None:
    # Chroma's client reads a .env file of the working directory; the home has none.
    os.chdir(settings.home)
    token = read_or_create(settings)
    foreign = make_private(settings.home)
    with unix_socket(settings.home) as local, viewer_socket() as viewer:
        state = _state(settings, listener, local)
        write_state(settings.worker_file, state)
        try:
            open_logs(settings, token, echo=echo)
            if foreign:
                others = len(foreign)
                log.warning("others may read %s: %d file(s) of other users", foreign[0], others)
            if isinstance(local, str):
                log.warning("there is no Unix socket: %s", local)
            if isinstance(viewer, str):
                log.warning("there is no viewer: %s", viewer)
            extra = [each for each in (local, viewer) if not isinstance(each, str)]
            asyncio.run(_serve(settings, [listener, *extra], state, viewer))
        finally:
            if not _is_replaced(settings.home):  # else that of the worker of the new one
                clear_state(settings.worker_file)


def _is_replaced(home: Path) -> bool:
    """Whether ``home`` is gone, or is no longer the folder that this process works in."""
    try:
        return not os.path.samestat(Path().stat(), home.stat())
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)


async def _leave_without(home: Path) -> None:
    """End the worker when its home was removed or replaced: nobody finds it any more, and the
    worker of a new home has its own index in the same place."""
    while not _is_replaced(home):  # noqa: ASYNC110  nothing tells of it
        await asyncio.sleep(_LOOKS_EVERY)
    log.warning("%s was removed or replaced: leaving", home)
    os.kill(os.getpid(), signal.SIGTERM)


async def _serve(
    settings: Settings,
    listeners: Sequence[socket.socket],
    state: WorkerState,
    viewer: socket.socket | str,
) -> None:
    stop = asyncio.Event()
    _listen_to_signals(stop)

    # Heavy: imported only now that this process is sure to be the worker.
    from mem_search.embedders import open_early

    opener = open_early(settings.embedder, settings.models_dir)  # it loads beside the imports

    from aiohttp import web

    from mem_search.http.core.app import MAX_LINE_BYTES, build_app
    from mem_search.http.core.connections import Connections, Limits, in_progress
    from mem_search.http.core.lifecycle import LIFECYCLE
    from mem_search.sources.base import sweep_scratch

    await asyncio.to_thread(sweep_scratch)
    app = build_app(settings, opener)
    lifecycle = app[LIFECYCLE]
    lifecycle.instance, lifecycle.key, lifecycle.url = state.instance_id, state.key, state.url
    if isinstance(viewer, str):
        lifecycle.no_viewer = viewer
    else:
        lifecycle.viewer = origin_of(viewer)
    app.middlewares.insert(0, in_progress)
    gc.freeze()  # modules and schemas stay: collecting need not look at them each time
    gc.enable()  # see ``cli.fast_path.work``
    connections: Connections | None = None
    # No access log: its lines would contain the queries.
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=GRACE, max_line_size=MAX_LINE_BYTES
    )
    try:
        await runner.setup()
        assert runner.server is not None
        connections = Connections(listeners, runner.server, Limits.of(settings))
        connections.start()
        log.info("%s answers at %s, pid %d", __version__, state.url, state.pid)
        leaving = asyncio.create_task(_leave_without(settings.home))
        await _until(stop, _opened(lifecycle))
        leaving.cancel()
    finally:
        lifecycle.key = ""  # from here on another program may listen on this port
        if connections is not None:
            connections.close()
        await runner.cleanup()
        log.info("stopped")


async def _opened(lifecycle: Lifecycle) -> None:
    """Raises the error if the store, or what needs it, could not be opened."""
    await lifecycle.settled()
    if lifecycle.error is None:
        log.info("ready")
    await lifecycle.complete()


async def _until(stop: asyncio.Event, ready: Coroutine[Any, Any, object]) -> None:
    """Wait for the signal. Raises the error if the store could not be opened."""
    stopping = asyncio.create_task(stop.wait())
    opening = asyncio.create_task(ready)
    try:
        await asyncio.wait((stopping, opening), return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
        await stopping
    finally:
        for task in (stopping, opening):
            task.cancel()
        await asyncio.gather(stopping, opening, return_exceptions=True)


def _leave() -> None:
    log.warning("still busy after %g s: leaving; the next start goes on with it", STOP_LIMIT)
    os._exit(0)  # children end with this process


def _listen_to_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if stop.is_set():
            log.warning("second signal: leaving at once")
            # Without clean-up, because that is what hangs. Children end with this process.
            os._exit(128 + number)
        log.info("%s: stopping", signal.Signals(number).name)
        stop.set()
        # A thread, since a busy event loop would be late.
        timer = threading.Timer(STOP_LIMIT, _leave)
        timer.daemon = True
        timer.start()

    for number in _SIGNALS:
        loop.add_signal_handler(number, on_signal, number)


@contextmanager
def _port(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    host = "127.0.0.1" if settings.host == "localhost" else settings.host
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, settings.port))
            # From here on connections wait in the queue instead of being refused.
            listener.listen(128)
        except PermissionError as error:
            raise InputError(
                f"port {settings.port} is reserved for root; choose one from 1024 up",
                field="port",
            ) from error
        except OSError as error:
            raise port_conflict(host, settings.port) from error
        listener.setblocking(False)
        yield listener


@contextmanager
def viewer_socket() -> Iterator[socket.socket | str]:
    """Listen at the viewer's address until the block ends: one that nobody held before (ADR 0033).

    Yields why there is none where the system does not tell whose a connection is, so that nobody
    could be logged in, or has no such address.
    """
    if not tells_owners():
        yield "this system does not tell whose program opens a connection"
        return
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        yield _bound_at_random(listener) or listener


def origin_of(listener: socket.socket) -> str:
    """The origin of the pages that are served there."""
    host, port = listener.getsockname()
    return f"http://{host}:{port}"


def _bound_at_random(listener: socket.socket) -> str:
    """Bind and listen; why that cannot be, or an empty text."""
    refusal = ""
    for _ in range(_TRIES):
        address = ".".join(str(1 + secrets.randbelow(254)) for _ in range(3))
        try:
            # Without SO_REUSEADDR: a port where anybody listens at all addresses is not taken.
            listener.bind((f"127.{address}", 0))
            listener.listen(128)
        except OSError as error:
            refusal = f"the system gives it no address in 127.0.0.0/8 ({error.strerror})"
            continue
        return ""
    return refusal


def _state(settings: Settings, listener: socket.socket, local: socket.socket | str) -> WorkerState:
    host, port = listener.getsockname()[:2]
    return WorkerState(
        pid=os.getpid(),
        port=port,
        url=f"http://{url_host(host)}:{port}",
        version=__version__,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        home=str(settings.home),
        instance_id=secrets.token_hex(16),
        process=process_start(os.getpid()),
        key=secrets.token_hex(32),
        socket="" if isinstance(local, str) else str(settings.home / SOCKET),
        no_socket=local if isinstance(local, str) else "",
    )


def _with_address(error: Conflict, settings: Settings) -> Conflict:
    """The error with pid and URL if the worker of this home is the conflict."""
    state = read_state(settings.worker_file)
    if error.field != "home" or state is None:
        return error
    return Conflict(f"already running (pid {state.pid}, {state.url})", field="home")

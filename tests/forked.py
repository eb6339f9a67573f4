"""``mem-search ...``, and programs, in processes that are forked from one that imported everything.

Importing costs a command a quarter of a second of processor time and a worker a whole one, the same
each time, and the suite starts a thousand. A forked process is as real as one that is started: it
has its own pid, environment, directory, files and exit code, and runs ``__main__.main``. What
commands import is seen where they are started: by ``Home.popen``, ``test_documented_commands.py``
and ``cli/test_fast_path.py``.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import chosen_store
from mem_search.__main__ import main
from patience import PATIENCE

SOURCE = str(Path(__file__).parents[1] / "src")
PLAIN = str(Path(__file__).with_name("plain_system"))
"""What interpreters of the tier ``elsewhere`` begin with."""

_NUMBER = 8
"""Bytes of each number that is sent: a length, a pid, an exit code."""

_WORKER = ["-P", "-m", "mem_search", "worker", "run", "--background"]
_WITH_A_SECRET = "token ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
_CHOSEN = ("MEM_SEARCH_SYSTEM", "MEM_SEARCH_TEST_STORE")
"""Variables that choose what is tested."""

_READ_AT_START = ("PYTHON", "LC_", "LANG")
"""Beginnings of the names of variables that the interpreter reads when it starts."""


def _at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_READ_AT_START)}


class Server:
    """A process that forks one for each command."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._sending = threading.Lock()
        # One thread, since none but the one that forks goes on in the forked process.
        alone = {"OPENBLAS_NUM_THREADS": "1", "TZ": "UTC"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env={**environ, **alone, "MEM_SEARCH_HOME": os.devnull},
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait(PATIENCE)

    def start(
        self, argv: Sequence[str], environ: Mapping[str, str], directory: Path, *files: int
    ) -> Process:
        """Start a command with these handles as its standard input, output and errors."""
        mine, theirs = socket.socketpair()
        request = pickle.dumps((list(argv), dict(environ), str(directory)))
        with theirs, self._sending:
            length = len(request).to_bytes(_NUMBER, "big")
            socket.send_fds(self._socket, [length], [*files, theirs.fileno()])
            self._socket.sendall(request)
        return Process(mine)


def _told(by: socket.socket) -> int:
    return int.from_bytes(by.recv(_NUMBER), "big", signed=True)  # a write so short comes whole


class Process:
    """A command that was started: what tests use of a Popen."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told
        told.settimeout(PATIENCE)
        self.pid = _told(told)
        self.returncode: int | None = None

    def wait(self, timeout: float = PATIENCE) -> int:
        """Its exit code. Raises TimeoutError."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            self.returncode = _told(self._told)
            self._told.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(BlockingIOError):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _feed(handle: int, given: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(handle, "wb") as file:
        file.write(given)  # it may end without reading all of it


def environment() -> dict[str, str]:
    """That of the tests, without settings of ours, and with the modules of this checkout."""
    return _of_an_interpreter() | chosen_store.environment()


def _of_an_interpreter() -> dict[str, str]:
    """It starts no server of a store: the process that imports this may run no test."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("MEM_SEARCH_", "CLAUDE_"))}
    kept |= {n: os.environ[n] for n in _CHOSEN if n in os.environ}
    plain = kept.get("MEM_SEARCH_SYSTEM") == "plain"
    return kept | {"PYTHONPATH": f"{SOURCE}:{PLAIN}" if plain else SOURCE}


_starting = threading.Lock()


_shared = [_of_an_interpreter()]


def share(environ: Mapping[str, str]) -> None:
    """Let commands with its import path be forked, too, from one process that has it."""
    _shared.append(dict(environ))


@cache
def _only_server(number: int) -> Server:
    return Server(_shared[number])


def _server(environ: Mapping[str, str] | None = None) -> Server | None:
    """The one whose interpreter was started as for ``environ``; None where none is."""
    wanted = _at_start(_shared[0] if environ is None else environ)
    number = next((n for n, each in enumerate(_shared) if _at_start(each) == wanted), None)
    with _starting:
        return None if number is None else _only_server(number)


def start(
    argv: Sequence[str],
    environ: Mapping[str, str] | None = None,
    directory: Path = Path(),
    stdout: int = subprocess.DEVNULL,
) -> Process:
    """Start ``python -c CODE ...``, or ``mem-search ...`` with another first argument."""
    with Path(os.devnull).open("r+b") as nothing:
        out = nothing.fileno() if stdout == subprocess.DEVNULL else stdout
        files = (nothing.fileno(), out, nothing.fileno())
        server = _server()
        assert server
        return server.start(argv, environ or os.environ, directory, *files)


def run(
    argv: Sequence[str], environ: Mapping[str, str], directory: Path, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run``, which runs it where only a new interpreter can have ``environ``."""
    if not (server := _server(environ)):
        command = [sys.executable, *([] if argv[0] == "-c" else ["-m", "mem_search"]), *argv]
        return subprocess.run(
            command, input=given, env=environ, cwd=directory, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    reading, writing = os.pipe()
    feeder = threading.Thread(target=_feed, args=(writing, given.encode()), daemon=True)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        handles = (reading, out.fileno(), err.fileno())
        process = server.start(argv, environ, directory, *handles)
        os.close(reading)
        feeder.start()
        try:
            code = process.wait()
        except TimeoutError:
            process.kill()
            raise
        feeder.join()
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode().replace("\r\n", "\n"))
    return subprocess.CompletedProcess(argv, code, *said)


# In the server, and in what it forks:


class _Worker:
    """The worker that a command starts, forked from the command: what it uses of a Popen."""

    def __init__(self, environ: Mapping[str, str], output: Any, umask: int, cwd: Path) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.umask(umask)
            files = [os.open(os.devnull, os.O_RDONLY), output, output]
            _become(_WORKER[3:], environ, str(cwd), files)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _popen(command: Any, **how: Any) -> Any:
    if list(command)[1:] != _WORKER:
        return subprocess.Popen(command, **how)
    return _Worker(how["env"], how["stdout"].fileno(), how["umask"], how["cwd"])


def _become(argv: list[str], environ: Mapping[str, str], directory: str, files: list[int]) -> None:
    """Be a process that was just started with ``argv``, until it ends."""
    code: object = 1
    try:
        gc.freeze()  # what the process before had is never collected: that would close our files
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        if argv[0] == "-c":
            sys.argv = ["-c", *argv[2:]]
            sys.path[:0] = ["", str(Path(__file__).parent)]
            module = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(argv[1], "<string>", "exec"), vars(module))
        else:
            sys.argv = ["mem-search", *argv]
            main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:  # noqa: BLE001  the interpreter prints it, too
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _serve(requests: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those between
    while True:
        length, handles, _, _ = socket.recv_fds(requests, _NUMBER, 4)
        if not length:
            return
        request = requests.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
        if os.fork() == 0:
            _between(requests, pickle.loads(request), handles)
        for handle in handles:
            os.close(handle)


def _between(requests: socket.socket, request: Any, handles: list[int]) -> None:
    """Fork the process itself, wait for it and tell its pid and its exit code."""
    requests.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *files, told = handles
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _become(*request, files)
    for file in files:
        os.close(file)
    with socket.socket(fileno=told) as telling:
        telling.send(pid.to_bytes(_NUMBER, "big"))
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        telling.send(code.to_bytes(_NUMBER, "big", signed=True))
    os._exit(0)


def _import_all() -> None:
    """What commands and workers import, but not what opens files or begins threads."""
    import typer.main

    import mem_search.cli.app
    import mem_search.cli.fast_path
    import mem_search.daemon.control as control
    import mem_search.daemon.run
    import mem_search.http.core.app
    import mem_search.http.routes
    from mem_search.text.redaction import redact

    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(mem_search.cli.app.app)
    vars(control)["subprocess"] = SimpleNamespace(Popen=_popen, DEVNULL=subprocess.DEVNULL)
    assert redact(_WITH_A_SECRET)[1] == 1  # loads its compiled rules: half a second
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))  # ``python -m mem_search`` does not have it
    _import_all()
    _serve(socket.socket(fileno=int(sys.argv[1])))

"""A worker that is stopped or hangs is told within 5 s, and ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from homes import Home
from mem_search.daemon import connection
from mem_search.daemon.connection import LOOK_SECONDS, NO_ANSWER_SECONDS, is_locked
from mem_search.daemon.control import TELL_SECONDS, Starting
from mem_search.errors import Unavailable
from mem_search.settings import Settings
from patience import PATIENCE
from standin_worker import KEY, Standin, standing_in

COMMANDS = (
    ("unified", "auth"), ("notes", "auth", "--json"), ("unified", "auth", "--no-start"), ("stats",),
    ("get", "observation:1"), ("export",), ("saved", "list"), ("import", "jsonl", "-"), ("jobs",),
    ("worker", "status"), ("worker", "start"), ("suggest", "a"), ("index", "audit"),
)  # fmt: skip


@contextmanager
def stopped(mem: Home) -> Iterator[int]:
    pid = mem.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):  # the test has ended it
            os.kill(pid, signal.SIGCONT)


def test_the_waits_for_a_silent_worker_fit_into_5_seconds() -> None:
    """In the middle of a reply, a look comes before the wait. The other tests count the waits."""
    assert LOOK_SECONDS + NO_ANSWER_SECONDS < 5
    assert TELL_SECONDS < 5


def test_on_a_busy_machine_an_answer_is_waited_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()

    class Late(Standin):
        def do_HEAD(self) -> None:
            may_answer.wait(PATIENCE)
            super().do_HEAD()

    monkeypatch.setattr(connection, "NO_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    with standing_in(tmp_path / "home", Late) as server:
        place = ("127.0.0.1", server.server_port, KEY)
        assert not connection.is_alive(place)
        monkeypatch.setattr("os.getloadavg", lambda: (1e6, 0.0, 0.0))
        assert connection.patience() == 60.0
        threading.Timer(0.3, may_answer.set).start()
        assert connection.is_alive(place)


def test_every_command_waits_once_for_a_worker_that_accepts_and_is_silent(mem: Home) -> None:
    asked = 0

    class Silent(Standin):
        def handle(self) -> None:
            nonlocal asked
            asked += 1
            with suppress(OSError):
                while self.connection.recv(4096):
                    pass

    with standing_in(mem.path, Silent):
        told = told_of(mem, COMMANDS)
    assert asked == len(COMMANDS)
    for argv, (code, said) in told.items():
        assert (code, "does not answer" in said) == (3, True), (argv, said)
        assert "run: mem-search worker restart" in said, argv


def told_of(
    mem: Home, commands: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, str]]:
    """Exit code and words of commands that run at the same time."""
    with ThreadPoolExecutor(len(commands)) as pool:
        done = [*pool.map(lambda argv: mem.run(*argv), commands)]
    return {
        argv: (one.returncode, one.stdout + one.stderr)
        for argv, one in zip(commands, done, strict=True)
    }


def test_every_command_reports_a_stopped_worker(home: Home) -> None:
    home.ok("worker", "start")
    with stopped(home) as pid:
        for argv, (code, said) in told_of(home, COMMANDS).items():
            assert code == 3, (argv, said)
            assert f"the worker (pid {pid}) does not answer" in said, argv
            assert "run: mem-search worker restart" in said, argv
        done = home.run("doctor")
        assert done.returncode == 1
        assert "run: mem-search worker restart" in done.stdout


@pytest.mark.parametrize("command", ["stop", "restart"])
def test_a_stopped_worker_is_ended(home: Home, command: str) -> None:
    home.ok("worker", "start")
    with stopped(home) as pid:
        said = home.ok("worker", command)
        assert said.startswith(f"stopped (pid {pid})" if command == "stop" else "started")
    assert is_locked(str(home.path)) is (command == "restart")


def test_a_worker_that_ignores_the_signal_is_killed(home: Home) -> None:
    home.ok("worker", "start")
    pid, over = home.pid(), threading.Event()

    def stop_again() -> None:
        while not over.wait(0.005):  # as often as it is continued: it never gets to its signal
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                return

    thread = threading.Thread(target=stop_again)
    thread.start()
    try:
        said = home.ok("worker", "stop")
    finally:
        over.set()
        thread.join()
    assert not is_locked(str(home.path))
    assert said.endswith(f"(pid {pid})\n")


def test_an_answer_that_takes_long_is_waited_for_while_the_worker_is_alive(mem: Home) -> None:
    class Slow(Standin):
        def do_GET(self) -> None:
            time.sleep(6)  # longer than a hanging worker is waited for
            is_word = "suggest" in self.path
            self.reply(b'{"completions": []}' if is_word else b"Found 1 result(s)\n")

    with standing_in(mem.path, Slow):
        fast, slow = mem.popen("unified", "auth"), mem.popen("suggest", "a")
        assert fast.communicate(timeout=PATIENCE)[0] == "Found 1 result(s)\n"
        slow.communicate(timeout=PATIENCE)
        assert (fast.returncode, slow.returncode) == (0, 1)


@pytest.mark.parametrize("argv", [("unified", "auth"), ("stats",), ("export",)])
def test_a_worker_that_hangs_in_the_middle_of_a_reply_is_reported(
    mem: Home, argv: tuple[str, ...]
) -> None:
    over, hangs = threading.Event(), threading.Event()
    waits = 0

    class Hanging(Standin):
        def do_HEAD(self) -> None:
            nonlocal waits
            if hangs.is_set():
                waits += 1
                over.wait(PATIENCE)
            super().do_HEAD()

        def do_GET(self) -> None:
            hangs.set()
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            over.wait(PATIENCE)

    try:
        with standing_in(mem.path, Hanging):
            done = mem.run(*argv)
            over.set()
    finally:
        over.set()
    assert (done.returncode, "mem-search worker restart" in done.stderr) == (3, True), done.stderr
    assert waits == 1


def test_a_worker_that_is_busy_ends_within_its_5_seconds(home: Home) -> None:
    home.ok("worker", "start")
    port, pid = int(str(home.worker()["port"])), home.pid()
    token = (home.path / "token").read_text().strip()
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(
            b"POST /api/import/jsonl HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n"
            + f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
            + b"Content-Length: 999\r\n\r\n{"
        )
        assert home.ok("worker", "stop") == f"stopped (pid {pid})\n"  # else it says killed


HANGING = """
import os, socket, sys, time
from pathlib import Path
from mem_search.daemon.state import worker_lock
from mem_search.daemon.state import WorkerState, write_state
from mem_search.platform.processes import process_start
home = Path(sys.argv[1])
with worker_lock(home), socket.create_server(("127.0.0.1", 0)) as listener:
    began, port = process_start(os.getpid()), listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    state = WorkerState(os.getpid(), port, url, "1", "", str(home), "", began, "k" * 64)
    write_state(home / "worker.json", state)
    print("hangs", flush=True)
    time.sleep(3600)
"""


@contextmanager
def hanging_at_its_start(mem: Home) -> Iterator[int]:
    """A worker that has the lock and the port, and does not come to answer."""
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, str(mem.path)],
        env=mem.environ, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "hangs\n"
            yield process.pid
        finally:
            process.kill()


def test_a_worker_that_hangs_while_it_starts_is_told_and_ended(mem: Home) -> None:
    with hanging_at_its_start(mem) as pid:
        for argv, (code, said) in told_of(mem, [*COMMANDS, ("doctor",)]).items():
            assert code == (1 if argv == ("doctor",) else 3), (argv, said)
            assert f"the worker (pid {pid})" in said, argv
            assert "mem-search worker restart" in said, argv
            assert "has been starting for" not in said, argv
        assert mem.ok("worker", "restart").startswith("started")


class Process:
    """What ``Starting`` sees of a process: it spends processor time, or does not."""

    def __init__(self) -> None:
        self.now, self.spent, self.letter = 1000.0, 0, "S"

    def work(self, pid: int) -> tuple[str, str]:
        return self.letter, str(self.spent)

    def passes(self, seconds: float, starting: Starting, *, answers: bool = False) -> None:
        for _ in range(int(seconds / 0.25)):
            self.now += 0.25
            starting.look(7, answers=answers)


def watched_start(tmp_path: Path) -> tuple[Process, Starting, list[str]]:
    process, told = Process(), list[str]()
    starting = Starting(
        Settings(home=tmp_path), told.append,
        clock=lambda: process.now, work=process.work, patience=lambda: 60.0,
    )  # fmt: skip
    return process, starting, told


def test_a_start_that_works_is_waited_for_and_told(tmp_path: Path) -> None:
    process, starting, told = watched_start(tmp_path)
    for _ in range(10):
        process.spent += 1
        process.passes(3, starting)
    process.letter = "D"
    process.passes(10, starting)
    process.letter = "S"
    process.passes(10, starting, answers=True)
    assert told == [
        "the worker is starting",
        "the worker has not started for 30 s; to start again:",
        "  mem-search worker restart",
    ]
    assert not starting.is_late
    process.spent += 1
    process.passes(3, starting)
    with pytest.raises(Unavailable, match="does not answer"):
        process.passes(1.5, starting)
    process.now += 60
    assert starting.is_late


def test_a_start_that_is_stopped_is_told_at_once(tmp_path: Path) -> None:
    process, starting, _ = watched_start(tmp_path)
    process.letter = "T"
    with pytest.raises(Unavailable, match="does not answer"):
        process.passes(0.5, starting)

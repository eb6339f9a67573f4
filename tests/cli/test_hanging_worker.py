"""A worker that is stopped or hangs is told within 5 s, and ended (issue 12, point 9)."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from homes import Home
from mem_search.daemon.address import is_locked
from patience import PATIENCE
from standin_worker import Standin, standing_in

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


def waited(mem: Home) -> float:
    """Seconds that a command takes here without a worker, which a busy machine makes long."""
    began = time.monotonic()
    mem.run("worker", "status")
    return time.monotonic() - began


def test_every_command_reports_a_stopped_worker_within_5_seconds(mem: Home) -> None:
    spent = waited(mem)
    mem.ok("worker", "start")
    with stopped(mem) as pid:
        began = time.monotonic()
        running = [mem.popen(*argv) for argv in COMMANDS]
        for argv, process in zip(COMMANDS, running, strict=True):
            _, err = process.communicate("", timeout=PATIENCE)
            assert process.returncode == 3, (argv, err)
            assert f"the worker (pid {pid}) does not answer" in err, argv
            assert "run: mem-search worker restart" in err, argv
        # All run at once, so each start-up takes longer than one alone.
        assert time.monotonic() - began < 5 + len(COMMANDS) * spent
        done = mem.run("doctor")
        assert done.returncode == 1
        assert "run: mem-search worker restart" in done.stdout


@pytest.mark.parametrize("command", ["stop", "restart"])
def test_a_stopped_worker_is_ended(mem: Home, command: str) -> None:
    mem.ok("worker", "start")
    with stopped(mem) as pid:
        said = mem.ok("worker", command)
        assert said.startswith(f"stopped (pid {pid})" if command == "stop" else "started")
    assert is_locked(str(mem.path)) is (command == "restart")


def test_a_worker_that_ignores_the_signal_is_killed(mem: Home) -> None:
    mem.ok("worker", "start")
    pid, over = mem.pid(), threading.Event()

    def stop_again() -> None:
        while not over.wait(0.005):  # as often as it is continued: it never gets to its signal
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                return

    thread = threading.Thread(target=stop_again)
    thread.start()
    try:
        said = mem.ok("worker", "stop")
    finally:
        over.set()
        thread.join()
    assert not is_locked(str(mem.path))
    assert said.endswith(f"(pid {pid})\n")


def test_an_answer_that_takes_long_is_waited_for_while_the_worker_is_alive(mem: Home) -> None:
    class Slow(Standin):
        def do_GET(self) -> None:
            time.sleep(6)  # longer than a hanging worker is waited for
            body = b'{"completions": []}' if "suggest" in self.path else b"Found 1 result(s)\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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

    class Hanging(Standin):
        def do_HEAD(self) -> None:
            if hangs.is_set():
                over.wait(60)
            super().do_HEAD()

        def do_GET(self) -> None:
            hangs.set()
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            over.wait(60)

    try:
        with standing_in(mem.path, Hanging):
            spent = waited(mem)
            began = time.monotonic()
            done = mem.run(*argv)
            took = time.monotonic() - began
            over.set()
    finally:
        over.set()
    assert (done.returncode, "mem-search worker restart" in done.stderr) == (3, True), done.stderr
    assert took < 5 + 3 * spent


def test_a_worker_that_is_busy_ends_within_its_5_seconds(mem: Home) -> None:
    mem.ok("worker", "start")
    port, pid = int(str(mem.worker()["port"])), mem.pid()
    token = (mem.path / "token").read_text().strip()
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(
            b"POST /api/import/jsonl HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n"
            + f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
            + b"Content-Length: 999\r\n\r\n{"
        )
        began = time.monotonic()
        assert mem.ok("worker", "stop") == f"stopped (pid {pid})\n"
        assert time.monotonic() - began < 8  # the limit, and the start of the command

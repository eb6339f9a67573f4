"""Ctrl-C is exit 130 without a traceback, at any moment after ``main`` has begun."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from homes import Home
from patience import PATIENCE
from standin_worker import Standin, standing_in

AGAIN = 10.0
"""Seconds until a person presses Ctrl-C once more."""

AT_IMPORT = """
import os, signal, sys
count = 0
def hook(event, args):
    global count
    if event == "import" and count >= 0:
        count += 1
        if count == {at}:
            count = -1
            os.kill(os.getpid(), signal.SIGINT)
from mem_search.__main__ import main
sys.argv = ["mem-search", *{argv!r}]
sys.addaudithook(hook)
main()
"""


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8, 13, 21, 40, 80, 160])
@pytest.mark.parametrize(
    "argv",
    [["--help"], ["stats", "--no-such"], ["mcp"], ["restore", "no-such-file", "--yes"]],
    ids=" ".join,
)
def test_a_signal_in_the_middle_of_an_import(mem: Home, at: int, argv: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT.format(at=at, argv=argv)],
        env=mem.environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode in (0, 2, 4):
        assert at > 5  # it had ended before it imported so much
        return
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def interrupt(process: subprocess.Popen[str]) -> None:
    """Press Ctrl-C until it has ended.

    Python runs a handler between two instructions. So a signal that comes just before a system call
    waits for the end of that call, and this call waits for the signal.
    """
    for _ in range(math.ceil(PATIENCE / AGAIN)):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AGAIN)
            return


@pytest.mark.parametrize(
    "argv",
    [
        ("unified", "auth"), ("stats",), ("export",), ("get", "observation:1"), ("mcp",),
        ("import", "jsonl", "FILE"), ("import", "FILE"), ("add", "a few words"), ("add", "FILE"),
        ("sync",), ("forget", "note:1", "--yes"), ("forget", "--project", "web", "--yes"),
        ("purge", "--yes"), ("backup", "copy.zip"), ("research", "list"),
        ("research", "replay", "id"), ("saved", "run", "name"), ("index", "audit"),
        ("index", "rebuild"), ("jobs",),
        ("ledger",), ("token", "list"), ("suggest", "a"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_signal_while_the_worker_answers(
    mem: Home, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"kind": "note", "text": "words"}\n')
    argv = tuple(str(file) if word == "FILE" else word for word in argv)

    class Waiting(Standin):
        def do_GET(self) -> None:
            interrupt(process)

        def read_body(self) -> None:
            if length := self.headers["Content-Length"]:
                self.rfile.read(int(length))
                return
            while size := int(self.rfile.readline() or b"0", 16):
                self.rfile.read(size + 2)
            self.rfile.readline()

        def do_POST(self) -> None:
            if not self.path.startswith(("/api/import", "/api/sync", "/api/index")):
                self.do_GET()
                return
            self.read_body()  # else the command may find the connection closed while it sends
            self.reply(b'{"job": "a-job"}', 202, Connection="close")  # it then waits for its end

    with standing_in(mem.path, Waiting), mem.popen(*argv) as process:
        try:
            if argv == ("mcp",):
                assert process.stdin is not None
                process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
                process.stdin.flush()
            code = process.wait(PATIENCE)
        finally:
            process.kill()
        assert process.stderr is not None
        said = process.stderr.read()
    assert code == 130, said
    told = "mem-search: the worker continues the job; to stop it: mem-search jobs a-job --cancel\n"
    assert said.removeprefix(told) == ""
    assert not list(tmp_path.glob("*copy.zip*"))


def test_a_worker_in_the_foreground_ends_in_order(mem: Home) -> None:
    with mem.popen("worker", "run") as process:
        while mem.run("worker", "status").returncode:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 130)
    assert "Traceback" not in err
    assert "stopped" in err


def test_following_the_log_ends(mem: Home) -> None:
    log = mem.path / "logs" / "worker.log"
    log.parent.mkdir(parents=True)
    log.write_text("a line\n")
    with mem.popen("worker", "logs", "-f") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a line\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")


def test_reading_what_is_to_be_imported_ends(mem: Home) -> None:
    """Standard input stays open, as when a person forgets to give any."""

    class Receiving(Standin):
        def do_POST(self) -> None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)

    with standing_in(mem.path, Receiving), mem.popen("import", "jsonl", "-") as process:
        assert process.stdin is not None
        process.stdin.write('{"kind": "note", "text": "words"}\n')
        process.stdin.flush()
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""

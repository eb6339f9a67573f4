"""Lock, state file, probe and log of a worker, each alone."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_server import Handler, serving
from mem_search.daemon import logs
from mem_search.daemon.connection import address, home_of, is_locked
from mem_search.daemon.control import running, stop
from mem_search.daemon.probe import port_conflict, probe
from mem_search.daemon.run import refuse_foreign_hosts
from mem_search.daemon.state import WorkerState, read_state, start_lock, worker_lock, write_state
from mem_search.errors import Conflict, Forbidden, InputError, StorageError
from mem_search.request_id import REQUEST_ID
from mem_search.settings import Settings


def state_of(home: Path, url: str = "http://127.0.0.1:4711", port: int = 4711) -> WorkerState:
    started, key = "2026-11-21T10:00:00Z", "k" * 64
    return WorkerState(os.getpid(), port, url, "1.0", started, str(home), "abc", "another", key)


def test_the_state_file_is_private_and_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "worker.json"
    write_state(file, state_of(tmp_path))
    assert read_state(file) == state_of(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"other": true}'])
def test_a_file_in_another_format_is_no_state(tmp_path: Path, text: str) -> None:
    file = tmp_path / "worker.json"
    file.write_text(text)
    assert read_state(file) is None


@pytest.mark.parametrize(
    ("url", "place"),
    [("http://127.0.0.1:4711", ("127.0.0.1", 4711)), ("http://[::1]:4711", ("::1", 4711))],
)
def test_the_address_comes_from_the_state_file_while_the_lock_is_held(
    tmp_path: Path, url: str, place: tuple[str, int]
) -> None:
    write_state(tmp_path / "worker.json", state_of(tmp_path, url))
    assert address(str(tmp_path)) is None
    with worker_lock(tmp_path):
        assert address(str(tmp_path)) == (*place, "k" * 64)
    assert address(str(tmp_path)) is None


@pytest.mark.parametrize("setting", ["", "~/elsewhere", "/tmp/x/../y", "relative"])
def test_the_quick_path_and_the_settings_agree_on_the_home(setting: str) -> None:
    assert home_of(setting) == str(Settings.read({"MEM_SEARCH_HOME": setting}).home)


def test_a_second_worker_of_a_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "deep"
    with worker_lock(home):
        assert is_locked(str(home))
        with pytest.raises(Conflict, match="already running"), worker_lock(home):
            pass
    with worker_lock(home):
        pass


def test_looking_at_the_lock_does_not_keep_a_worker_from_starting(tmp_path: Path) -> None:
    leave = threading.Event()

    def look() -> None:
        while not leave.is_set():
            is_locked(str(tmp_path))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(50):
            with worker_lock(tmp_path):
                pass
    finally:
        leave.set()
        thread.join()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from mem_search.daemon.state import worker_lock\n"
        f"with worker_lock(pathlib.Path({str(tmp_path)!r})): os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert not is_locked(str(tmp_path))


def test_waiting_too_long_for_a_start_is_a_conflict(tmp_path: Path) -> None:
    with start_lock(tmp_path, 1), pytest.raises(Conflict, match="starting"):
        start_lock(tmp_path, 0.1).__enter__()


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageError, match="MEM_SEARCH_HOME"),
        worker_lock(tmp_path / "file"),
    ):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_loopback_is_allowed(host: str, tmp_path: Path) -> None:
    refuse_foreign_hosts(Settings(home=tmp_path, host=host))


@pytest.mark.parametrize(
    ("host", "error"),
    [("0.0.0.0", Forbidden), ("192.168.1.5", Forbidden), ("::", Forbidden), ("x.y", InputError)],
)
def test_other_hosts_are_refused_unless_reading_needs_a_token(
    host: str, error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        refuse_foreign_hosts(Settings(home=tmp_path, host=host))
    if error is Forbidden:
        refuse_foreign_hosts(Settings(home=tmp_path, host=host, read_token=True))


class _Foreign(Handler):
    def do_GET(self) -> None:
        self.reply(b"hello")


@pytest.fixture
def foreign_port() -> int:
    with serving(_Foreign) as server:
        yield server.server_port


def test_a_foreign_server_is_named_in_the_conflict(foreign_port: int) -> None:
    found = probe("127.0.0.1", foreign_port)
    assert found is not None
    assert not found.is_worker
    message = port_conflict("127.0.0.1", foreign_port).message
    assert "BaseHTTP" in message
    assert "MEM_SEARCH_PORT" in message


def test_nothing_is_stopped_where_no_worker_is(tmp_path: Path) -> None:
    write_state(tmp_path / "worker.json", state_of(tmp_path))  # left by one that was killed
    settings = Settings(home=tmp_path)
    assert running(settings) is None
    assert stop(settings) is None


def test_no_signal_is_sent_to_another_process(tmp_path: Path) -> None:
    write_state(tmp_path / "worker.json", state_of(tmp_path))  # our pid, but another process
    with worker_lock(tmp_path), pytest.raises(Conflict, match="nothing was"):
        stop(Settings(home=tmp_path))


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("mem_search.x", logging.INFO, "", 0, message, None, None)


@given(st.text())
def test_an_event_is_one_line(message: str) -> None:
    line = logs.OneLine().format(record(message))
    assert "\n" not in line
    assert "\r" not in line


@pytest.mark.parametrize(
    "message",
    [
        "Authorization: Bearer s3cret-token",
        "GET /?token=s3cret-token&x=1",
        "POST body api_key=s3cret-token",
        "the value s3cret-token as such",
    ],
)
def test_tokens_do_not_reach_the_log(message: str) -> None:
    line = logs.OneLine("s3cret-token").format(record(message))
    assert "s3cret" not in line
    assert "[redacted]" in line


def test_a_line_of_json_names_its_request_and_has_no_secret() -> None:
    asked = REQUEST_ID.set("r1")
    try:
        line = json.loads(logs.JsonLine("s3cret").format(record("it was s3cret\nand ?token=abc")))
    finally:
        REQUEST_ID.reset(asked)
    assert line.pop("at").endswith("Z")
    assert line.pop("message") == "it was [redacted]\nand ?token=[redacted]"
    assert line == {"level": "INFO", "logger": "mem_search.x", "request": "r1"}
    assert "request" not in json.loads(logs.JsonLine().format(record("x")))


@pytest.fixture
def clean_root() -> None:
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    yield
    for handler in root.handlers[:]:
        root.removeHandler(handler)
        if handler not in kept:
            handler.close()
    for handler in kept:
        root.addHandler(handler)
    root.setLevel(level)


@pytest.mark.usefixtures("clean_root")
def test_the_log_is_written_to_the_home(tmp_path: Path) -> None:
    logs.open_logs(Settings(home=tmp_path), "", echo=False)
    logging.getLogger("mem_search.x").info("hello\nworld")
    (line,) = logs.last_lines(tmp_path / "logs" / "worker.log", 10)
    assert line.endswith("INFO mem_search.x: hello\\nworld")
    assert line[10] == "T"
    assert line.split(" ")[0].endswith("Z")


@pytest.mark.usefixtures("clean_root")
def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="log_level"):
        logs.open_logs(Settings(home=tmp_path, log_level="loud"), "", echo=False)


def test_following_a_log_survives_its_rotation(tmp_path: Path) -> None:
    file = tmp_path / "worker.log"
    file.write_text("old\n")
    lines = logs.follow(file, pause=0.01)
    with file.open("a") as log:
        log.write("one\n")
    assert next(lines) == "one"
    with file.open("a") as log:
        log.write("two\n")
    file.rename(file.with_suffix(".log.1"))
    file.write_text("three\n")
    assert [next(lines), next(lines)] == ["two", "three"]
    lines.close()

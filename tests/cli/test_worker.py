"""The life of a worker: one a home, found again, reliably stopped."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from urllib.parse import quote

from homes import Home
from local_server import Handler, serving
from mem_search.daemon.connection import is_locked
from patience import PATIENCE, until


def test_start_status_restart_and_stop(mem: Home) -> None:
    assert mem.run("worker", "status").returncode == 3
    assert mem.ok("worker", "start").startswith("started (pid ")
    first = mem.worker()
    assert (mem.path / "worker.json").stat().st_mode & 0o777 == 0o600
    assert first["home"] == str(mem.path)
    assert mem.ok("worker", "start") == f"already running (pid {first['pid']}, {first['url']})\n"
    known = {name: value for name, value in first.items() if name != "key"}
    assert json.loads(mem.ok("worker", "status", "--json")) == known
    assert mem.ok("worker", "restart").startswith("started (pid ")
    assert mem.worker()["instance_id"] != first["instance_id"]
    assert mem.ok("worker", "stop").startswith("stopped (pid ")
    assert not (mem.path / "worker.json").exists()
    assert not is_locked(str(mem.path))
    assert mem.ok("worker", "stop") == "not running\n"
    log = mem.ok("worker", "logs", "-n", "2")
    assert log.endswith("stopped\n")


def test_a_restart_that_cannot_succeed_leaves_the_worker_alone(home: Home) -> None:
    home.ok("worker", "start")
    before = home.worker()
    theirs = home.run("worker", "restart", MEM_SEARCH_TOKEN="mst_" + "x" * 43)
    assert (theirs.returncode, "created token" in theirs.stderr) == (2, True)
    foreign = home.run("worker", "restart", "--host", "192.0.2.1")
    assert (foreign.returncode, "will not listen" in foreign.stderr) == (6, True)
    assert home.worker() == before
    assert home.ok("worker", "status").startswith(f"running (pid {before['pid']}, ")


def test_ten_starts_at_once_give_one_worker(mem: Home) -> None:
    starts = [mem.popen("worker", "start") for _ in range(10)]
    said = [start.communicate(timeout=PATIENCE)[0] for start in starts]
    assert [start.returncode for start in starts] == [0] * 10
    assert sum(text.startswith("started") for text in said) == 1
    assert all(f"pid {mem.pid()}, " in text for text in said)


def test_a_second_worker_in_the_foreground_is_a_conflict(home: Home) -> None:
    home.ok("worker", "start")
    second = home.run("worker", "run")
    assert second.returncode == 5
    assert f"already running (pid {home.pid()}, http://127.0.0.1:" in second.stderr


class _Foreign(Handler):
    def do_GET(self) -> None:
        self.send_error(404)


def test_a_port_used_by_another_program_is_reported_with_a_fix(mem: Home) -> None:
    with serving(_Foreign) as server:
        port = str(server.server_port)
        in_front = mem.run("worker", "run", MEM_SEARCH_PORT=port)
        behind = mem.run("worker", "start", "--port", port)
    assert in_front.returncode == 5
    assert f"port {port} is taken by another program" in in_front.stderr
    assert "MEM_SEARCH_PORT" in in_front.stderr
    assert behind.returncode == 5
    assert f"port {port} is taken" in behind.stderr
    assert not is_locked(str(mem.path))


def test_a_port_used_by_the_worker_of_another_home_is_reported_as_such(home: Home) -> None:
    home.ok("worker", "start")
    port = str(home.worker()["port"])
    other = Home(
        home.path.parent / "other",
        home.environ | {"MEM_SEARCH_HOME": str(home.path.parent / "other")},
    )
    refused = other.run("worker", "run", "--port", port)
    assert refused.returncode == 5
    assert f"the mem-search worker of another home (pid {home.pid()})" in refused.stderr


def test_files_left_by_a_killed_worker_do_no_harm(home: Home) -> None:
    home.ok("worker", "start")
    killed = home.pid()
    os.kill(killed, signal.SIGKILL)
    home.wait_until_free()
    assert (home.path / "worker.json").exists()
    assert home.run("worker", "status").returncode == 3
    assert home.run("unified", "x", "--no-start").returncode == 3
    assert home.run("unified", "x").returncode == 1  # starts one, which knows nothing
    assert home.pid() != killed


def test_a_second_signal_ends_the_worker_at_once(mem: Home) -> None:
    mem.ok("worker", "start")
    pid, port = mem.pid(), int(str(mem.worker()["port"]))
    # A request that never comes to its end keeps the worker waiting for its five seconds.
    token = (mem.path / "token").read_text().strip()
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(
            b"POST /api/import/jsonl HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n"
            + f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
            + b"Content-Length: 999\r\n\r\n{"
        )
        until(lambda: any((mem.path / "spool").glob("*")))
        os.kill(pid, signal.SIGTERM)
        log = mem.path / "logs" / "worker.log"
        until(lambda: "SIGTERM: stopping" in log.read_text())
        assert is_locked(str(mem.path))
        os.kill(pid, signal.SIGTERM)
        mem.wait_until_free()
    assert "second signal" in mem.ok("worker", "logs")


def test_an_upload_that_a_stop_cuts_off_leaves_nothing_half_written(home: Home) -> None:
    home.ok("worker", "start")
    port = int(str(home.worker()["port"]))
    token = (home.path / "token").read_text().strip()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.putrequest("POST", "/api/import/jsonl")
    connection.putheader("Authorization", f"Bearer {token}")
    connection.putheader("Content-Type", "application/x-ndjson")
    connection.putheader("Content-Length", "500")
    connection.endheaders(b'{"kind": "note", "text": "never finished"}\n{"kind": ')
    until(lambda: any((home.path / "spool").glob("*")))
    assert home.ok("worker", "stop").startswith("stopped")
    connection.close()
    assert home.run("notes", "never").returncode == 1
    assert not list((home.path / "spool").glob("*"))


def test_a_broken_setting_is_named_by_who_starts(mem: Home) -> None:
    done = mem.run("stats", MEM_SEARCH_EMBEDDER="nonsense")
    assert done.returncode == 2
    assert "unknown embedder 'nonsense'" in done.stderr
    assert not is_locked(str(mem.path))


def test_a_foreign_host_is_refused(mem: Home) -> None:
    done = mem.run("worker", "run", "--host", "0.0.0.0")
    assert done.returncode == 6
    assert "0.0.0.0" in done.stderr


def test_a_question_may_be_as_long_in_an_address_as_anywhere(home: Home) -> None:
    home.ok("worker", "start")
    connection = http.client.HTTPConnection("127.0.0.1", int(str(home.worker()["port"])))
    for letters, status in ((4000, 200), (4001, 422)):
        path = f"/api/search?query={quote('認' * letters)}&format=json"
        connection.request("GET", path, headers=home.token())
        reply = connection.getresponse()
        assert (reply.status, bool(json.load(reply))) == (status, True)
    connection.close()

"""The Unix socket of a worker: its owner asks there without a proof, and nobody else gets in."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from chosen_store import in_a_file
from homes import Home, quick
from mem_search.daemon.connection import is_locked
from mem_search.daemon.home_files import odd_files
from mem_search.daemon.state import read_state, write_state
from mem_search.daemon.unix_socket import problem, unix_socket
from mem_search.platform import MAX_SOCKET_PATH
from patience import PATIENCE

pytestmark = pytest.mark.worker
NOTE = '{"kind": "note", "source_id": "1", "title": "Harbour", "text": "The bridge opens."}\n'
STORED = (json.loads(NOTE),)
QUESTION = "/api/search/unified?query=bridge"
SKILL = Path(__file__).parents[2] / "plugin" / "skills" / "mem-search" / "SKILL.md"
NOBODY = 65_534


def at(home: Home) -> Path:
    return home.path / "worker.sock"


def connected(folder: Path) -> socket.socket:
    """Connects by a short path, however long that of the folder is."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        link = Path(short, "home")
        link.symlink_to(folder)
        try:
            connection.connect(str(link / "worker.sock"))
        except OSError:
            connection.close()
            raise
    return connection


def asked(
    home: Home, target: str, host: str = "localhost", body: str = "", accept: str = "text/plain"
) -> tuple[int, bytes]:
    """Status and body of the reply."""
    with closing(HTTPConnection(host)) as connection:
        connection.sock = connected(home.path)
        headers = {"Content-Type": "application/json"} if body else {"Accept": accept}
        connection.request("POST" if body else "GET", target, body or None, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "localhost:37777", "[::1]"])
def test_it_answers_as_the_port_does(home: Home, host: str) -> None:
    home.ok("worker", "start")
    status, text = asked(home, QUESTION, host)
    assert (status, b"Note #1 - Harbour" in text) == (200, True)


def test_a_name_that_is_not_of_this_machine_is_refused_there_too(home: Home) -> None:
    home.ok("worker", "start")
    assert asked(home, QUESTION, "pages.example")[0] == 421


def test_addresses_in_replies_are_those_of_the_port(home: Home) -> None:
    home.ok("worker", "start")
    url = home.worker()["url"]
    found = json.loads(asked(home, "/api/v1/search", body='{"query": "bridge"}')[1])
    assert found["items"][0]["url"] == f"{url}/v/note:1"
    stats = json.loads(asked(home, "/api/stats", accept="application/json")[1])
    assert stats["worker"]["port"] == home.worker()["port"]


def test_only_the_owner_may_open_it_and_doctor_says_so(home: Home) -> None:
    home.ok("worker", "start")
    assert stat.S_IMODE(at(home).lstat().st_mode) == 0o600
    assert home.worker()["socket"] == str(at(home))
    assert f"ok    socket: {at(home)}: only you" in home.run("doctor").stdout
    at(home).chmod(0o666)
    said = home.run("doctor").stdout
    at(home).chmod(0o600)
    assert f"FAIL  socket: {at(home)} can be opened by other users" in said
    assert f"FAIL  modes: others may read or change {at(home)}" in said


AS_ANOTHER = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
asked = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
try:
    asked.connect(sys.argv[2])
except PermissionError:
    print("refused")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_open_it_not_even_in_an_open_folder() -> None:
    place = Path(tempfile.mkdtemp(dir="/tmp"))  # that of pytest lets nobody pass
    place.chmod(0o755)
    mem = quick(place)

    def refused() -> bool:
        code = [sys.executable, "-c", AS_ANOTHER, str(NOBODY), str(at(mem))]
        return subprocess.run(code, capture_output=True, check=True).stdout == b"refused\n"

    try:
        mem.ok("worker", "start")
        assert refused()
        mem.path.chmod(0o755)
        assert refused()
        at(mem).chmod(0o666)
        assert not refused()  # so the mode it is that keeps others out
    finally:
        mem.end()
        shutil.rmtree(place)


def test_a_socket_that_somebody_else_could_answer_at_is_told(tmp_path: Path) -> None:
    place = tmp_path / "worker.sock"
    assert "cannot be examined" in problem(place)
    place.touch()
    assert problem(place) == "is not a socket"
    place.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place))
        place.chmod(0o600)
        assert problem(place) == ""
        tmp_path.chmod(0o777)
        assert "replaced by other users" in problem(place)
        tmp_path.chmod(0o1777)
        assert problem(place) == ""  # in a directory for temporary files only its owner moves it
        tmp_path.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
            assert problem(place) == f"belongs to another user ({NOBODY})"
    (tmp_path / "link.sock").symlink_to(place)
    assert problem(tmp_path / "link.sock") == "is not a socket"


def test_a_file_system_without_sockets_leaves_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with unix_socket(tmp_path) as first:
        assert isinstance(first, socket.socket)
    assert not list(tmp_path.iterdir())
    monkeypatch.chdir("/proc/self")  # where nothing can be made
    with unix_socket(tmp_path) as refusal:
        assert "refuses one in the home" in str(refusal)


def test_a_home_with_a_long_path_has_one_that_is_reached_from_within(tmp_path: Path) -> None:
    place = tmp_path / "deep" / ("d" * 120)
    place.mkdir(parents=True)
    mem = quick(place)
    try:
        mem.ok("import", "jsonl", "-", given=NOTE)
        assert len(os.fsencode(at(mem))) > MAX_SOCKET_PATH
        assert b"Harbour" in asked(mem, QUESTION)[1]
        assert "is too long for curl" in mem.ok("worker", "status")
        findings = json.loads(mem.run("doctor", "--json").stdout)["findings"]
        (found,) = [each for each in findings if each["name"] == "socket"]
        assert found["state"] == "advice"
        if shutil.which("curl"):
            done = subprocess.run(["/bin/sh", "-c", found["fix"]], capture_output=True, check=True)
            assert json.loads(done.stdout)["records"]["total"] == 1
        mem.ok("worker", "stop")
        assert not at(mem).exists()
    finally:
        mem.end()


def test_the_socket_of_a_killed_worker_is_replaced_and_that_of_one_that_stops_goes(
    mem: Home,
) -> None:
    mem.ok("import", "jsonl", "-", given=NOTE)
    os.kill(mem.pid(), signal.SIGKILL)
    mem.wait_until_free()
    left = at(mem).lstat().st_ino
    assert odd_files(mem.path) == []
    with pytest.raises(ConnectionRefusedError):
        connected(mem.path)
    mem.ok("worker", "start")
    assert at(mem).lstat().st_ino != left or is_locked(str(mem.path))
    assert asked(mem, QUESTION)[0] == 200
    mem.ok("worker", "stop")
    assert not at(mem).exists()


def test_a_second_worker_of_a_home_leaves_the_socket_alone(home: Home) -> None:
    home.ok("worker", "start")
    before = at(home).lstat().st_ino
    assert home.run("worker", "run").returncode == 5
    assert at(home).lstat().st_ino == before
    assert asked(home, QUESTION)[0] == 200


def test_two_homes_have_a_socket_each(home: Home, mem: Home) -> None:
    home.ok("worker", "start")
    mem.ok("worker", "start")
    assert b"Harbour" in asked(home, QUESTION)[1]
    assert b"Harbour" not in asked(mem, QUESTION)[1]


@in_a_file("a backup is of files")
@pytest.mark.parametrize("runs", [True, False], ids=["of a worker", "of a killed one"])
def test_whatever_walks_the_home_passes_by_the_socket(
    mem: Home, tmp_path: Path, runs: bool
) -> None:
    mem.ok("import", "jsonl", "-", given=NOTE + NOTE.replace('"1"', '"2"'))
    file = tmp_path / "backup.zip"
    mem.ok("backup", str(file))
    if not runs:
        os.kill(mem.pid(), signal.SIGKILL)
        mem.wait_until_free()
    assert at(mem).is_socket()
    mem.ok("forget", "note:2", "--yes")
    assert "still in" not in mem.ok("purge", "--yes")
    mem.ok("sync", "files", str(mem.path / "logs"))
    if runs:
        mem.ok("worker", "stop")
    else:
        os.kill(mem.pid(), signal.SIGKILL)
        mem.wait_until_free()
    mem.ok("restore", str(file), "--replace")
    assert "Harbour" in mem.ok("search", "bridge")
    os.kill(mem.pid(), signal.SIGKILL)
    mem.wait_until_free()
    assert at(mem).is_socket()
    mem.ok("uninstall", "--data", "--yes")
    assert not mem.path.exists()


def commands() -> list[str]:
    """The commands of the skill, each behind the line with which they all begin."""
    blocks = re.findall(r"^```bash\n(.*?)^```", SKILL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    first, *others = [each for each in blocks if "mem-search " not in each]
    lines = "".join(others).replace("\\\n", "").splitlines()
    return [f"{first}{each}" for each in lines]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "dash"])
def test_the_commands_of_the_skill_ask_the_worker(home: Home, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    home.ok("worker", "start")
    assert len(commands()) == 4
    for command in commands():
        done = subprocess.run(
            [shell, "-c", command], env=home.environ, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout, command


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("left", ["nothing", "the file of a killed worker"])
def test_a_program_that_takes_the_port_gets_no_question_of_the_skill(mem: Home, left: str) -> None:
    mem.ok("worker", "start")
    port = int(str(mem.worker()["port"]))
    state = read_state(mem.path / "worker.json")
    assert state is not None
    if left == "nothing":
        mem.ok("worker", "stop")
    else:
        os.kill(mem.pid(), signal.SIGKILL)
        mem.wait_until_free()
        write_state(mem.path / "worker.json", state)
    received: list[bytes] = []

    def listen(listener: socket.socket) -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            with accepted:
                received.append(accepted.recv(4096))

    with socket.create_server(("127.0.0.1", port)) as thief:
        thread = threading.Thread(target=listen, args=(thief,))
        thread.start()
        for command in commands():
            done = subprocess.run(["sh", "-c", command], env=mem.environ, capture_output=True)
            assert (done.returncode != 0, done.stdout) == (True, b""), command
        thief.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert received == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a socket of another user")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_skill_asks_no_socket_of_another_user(tmp_path: Path) -> None:
    place = tmp_path / "worker.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as thief:
        thief.bind(str(place))
        thief.listen()
        thief.setblocking(False)
        os.chown(place, NOBODY, NOBODY)
        environ = {**os.environ, "MEM_SEARCH_HOME": str(tmp_path)}
        for command in commands():
            assert subprocess.run(["sh", "-c", command], env=environ).returncode == 1
        with pytest.raises(BlockingIOError):
            thief.accept()

"""The token goes only to the worker of this home; its files are private and its lock holds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from chosen_store import in_a_file
from homes import Home
from mem_search.access.proof import MAX_CHALLENGE_CHARS, proof
from mem_search.daemon.connection import is_locked
from mem_search.daemon.home_files import make_private, open_to_others
from patience import until
from standin_worker import KEY, Standin, standing_in

TOKEN = "the-secret-of-this-home"


@pytest.mark.parametrize(
    "argv",
    [
        ("unified", "auth"), ("stats",), ("import", "jsonl", "-"), ("saved", "list"), ("mcp",),
        ("worker", "status"), ("doctor",), ("export",),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("head", ["another key", "no proof", "not HTTP"])
def test_an_impostor_on_the_port_gets_neither_token_nor_question(
    mem: Home, argv: tuple[str, ...], head: str
) -> None:
    received: list[str] = []

    class Impostor(Standin):
        key = "x" * 64

        def parse_request(self) -> bool:
            parsed = super().parse_request()
            received.append(f"{self.requestline}\n{self.headers}")
            return parsed

        def do_HEAD(self) -> None:
            if head == "another key":
                super().do_HEAD()
            elif head == "no proof":
                self.send_response(200)
                self.end_headers()
            else:
                self.wfile.write(b"220 mail.example.org ESMTP\r\n\r\n")
                self.close_connection = True

        def do_GET(self) -> None:
            self.reply(b"{}")

        do_POST = do_GET  # noqa: N815

    with standing_in(mem.path, Impostor):
        (mem.path / "token").write_text(TOKEN)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        done = mem.run(*argv, given=line + "\n")
    assert received
    assert not any(TOKEN in text or "auth" in text.lower() for text in received)
    said = done.stdout + done.stderr
    assert "prove" in said
    assert "mem-search worker restart" in said


def test_a_proof_is_for_one_challenge_and_one_port() -> None:
    assert proof(KEY, "a", 1) != proof(KEY, "b", 1)
    assert proof(KEY, "a", 1) != proof(KEY, "a", 2)
    assert proof(KEY, "a", 1) != proof("y" * 64, "a", 1)
    assert len(proof(KEY, "ü" * MAX_CHALLENGE_CHARS, 1)) == 64


def test_deleted_lock_files_let_no_second_worker_in(mem: Home) -> None:
    mem.ok("worker", "start")
    pid = mem.pid()
    for file in mem.path.glob("*.lock"):
        file.unlink()
    (mem.path / "worker.json").unlink()
    second = mem.run("worker", "run")
    assert (second.returncode, "already running" in second.stderr) == (5, True)
    third = mem.run("worker", "start")
    assert (third.returncode, "runs without worker.json" in third.stderr) == (3, True)
    assert is_locked(str(mem.path))
    os.kill(pid, signal.SIGKILL)  # raises unless it lives; without worker.json nobody else ends it
    mem.wait_until_free()


@pytest.fixture
def _without_a_mask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_without_a_mask")
def test_everything_in_the_home_is_private_whatever_was_there(mem: Home) -> None:
    mem.ok("worker", "start")
    mem.ok("import", "jsonl", "-", given='{"kind": "note", "text": "x"}')
    mem.ok("worker", "stop")
    (mem.path / "config.toml").write_text("follow = 0\n")
    (mem.path / "chroma" / "deep").mkdir(parents=True)
    (mem.path / "chroma" / "deep" / "chroma.sqlite3").touch()
    (mem.path / "backup-of-mine").write_text("x")
    for path in [mem.path, *mem.path.rglob("*")]:
        path.chmod(0o777)
    outside = mem.path.parent / "outside"
    outside.touch(mode=0o644)
    (mem.path / "link").symlink_to(outside)
    done = mem.run("doctor")
    assert f"FAIL  modes: others may read or change {mem.path}" in done.stdout
    mem.ok("worker", "start")
    mem.ok("import", "jsonl", "-", given='{"kind": "note", "text": "y"}')
    modes = {
        path.relative_to(mem.path): stat.S_IMODE(path.lstat().st_mode)
        for path in mem.path.rglob("*")
        if not path.is_symlink()
    }
    assert set(modes.values()) == {0o600, 0o700}
    assert mem.path.stat().st_mode & 0o777 == 0o700
    assert outside.stat().st_mode & 0o777 == 0o644
    assert "ok    modes" in mem.run("doctor").stdout


def test_a_home_that_is_a_persons_home_keeps_the_modes_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "script").touch(mode=0o755)
    (tmp_path / "token").touch(mode=0o644)
    assert open_to_others(tmp_path) == [tmp_path / "token"]
    assert make_private(tmp_path) == []
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


@in_a_file("a new home lacks the key of the store on a server")
def test_a_home_that_was_replaced_is_another_home_and_its_worker_ends(mem: Home) -> None:
    mem.ok("worker", "start")
    moved = mem.path.with_name("moved")
    mem.path.rename(moved)
    assert is_locked(str(moved))
    assert not is_locked(str(mem.path))
    mem.ok("worker", "start")
    until(lambda: not is_locked(str(moved)))
    assert mem.ok("worker", "status").startswith("running (pid ")
    shutil.rmtree(moved)

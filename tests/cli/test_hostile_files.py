"""Files that somebody made to stop a worker, or to make it read what is not theirs."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chosen_store import in_a_file
from homes import Home, quick
from patience import PATIENCE

NAMES = 1_000_000
ROOM = 100 * 2**20
"""Bytes that the worker may grow by over one hostile request: far more than it does."""

pytestmark = pytest.mark.worker


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with one worker for the tests that do not mind each other's."""
    home = quick(tmp_path_factory.mktemp("hostile"))
    home.ok("worker", "start")
    yield home
    home.end()


def peak(mem: Home) -> int:
    """The most memory that the worker has had, in bytes."""
    status = Path(f"/proc/{mem.pid()}/status")
    if not status.exists():
        pytest.skip("no /proc here")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def archive(names: int) -> bytes:
    """A ZIP that is nothing but the list of so many names."""
    start = b"PK\x03\x04" + bytes(26)
    entry = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0
    ) + b"a.txt"  # fmt: skip
    size = names * len(entry)
    end = struct.pack("<4s2H2H2IH", b"PK\x05\x06", 0, 0, 65535, 65535, size, len(start), 0)
    return start + entry * names + end


def post(mem: Home, token: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{mem.worker()['url']}{path}", body,
        {"Authorization": f"Bearer {token}", "Content-Type": kind},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def ended(mem: Home, job: str, token: str = "") -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        request = urllib.request.Request(f"{mem.worker()['url']}/api/jobs/{job}")
        secret = token or (mem.path / "token").read_text().strip()
        request.add_header("Authorization", f"Bearer {secret}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            found: dict[str, Any] = json.loads(reply.read())
        if found["state"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


@pytest.mark.parametrize("name", ["export.zip", "report.docx", "slack.json"])
def test_an_upload_with_a_million_names_costs_a_user_a_refusal(mem: Home, name: str) -> None:
    token = mem.ok("token", "create", f"t-{uuid.uuid4().hex[:8]}", "--user", "ada").strip()
    before, boundary = peak(mem), uuid.uuid4().hex
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + archive(NAMES) + f"\r\n--{boundary}--\r\n".encode()
    kind = f"multipart/form-data; boundary={boundary}"
    status, answer = post(mem, token, "/documents/upload", body, kind)
    assert status == 422, answer
    assert "at most 16 MB are read; unpack it and add its folder" in json.dumps(answer)
    assert peak(mem) - before < ROOM


def test_an_import_with_a_million_names_fails_with_the_reason(mem: Home) -> None:
    token = mem.ok("token", "create", f"t-{uuid.uuid4().hex[:8]}", "--user", "ada").strip()
    before = peak(mem)
    path = "/api/import/upload?source=slack&name=export.zip"
    status, answer = post(mem, token, path, archive(NAMES), "application/zip")
    assert status == 202, answer
    job = ended(mem, answer["job"], token)
    assert job["state"] == "failed"
    assert "at most 16 MB are read" in json.dumps(job)
    assert peak(mem) - before < ROOM


def test_a_folder_of_traps_is_read_and_says_what_is_not(mem: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "memory.md").symlink_to("/proc/self/mem")
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(2**40)
    os.mkfifo(os.fsencode(tmp_path) + b"/\xff\xfe.md")
    (tmp_path / "two\nlines\x1b[2J.md").write_text("Odd names are names: quayside")
    (tmp_path / "good.md").write_text("The breakwater has a lamp.")
    os.mkfifo(tmp_path / ".memsearchignored")
    mem.ok("add", str(tmp_path))
    assert "Found 1 result" in mem.ok("search", "breakwater")
    assert "\x1b[2J" not in mem.ok("search", "quayside")
    said = mem.ok("why", str(tmp_path / "pipe.md"))
    assert "not a regular file" in said
    assert mem.run("why", str(tmp_path / "huge.jsonl")).stdout


@pytest.mark.parametrize("command", [("add",), ("sync", "files"), ("import", "jsonl")])
def test_a_pipe_that_is_named_is_refused_at_once(
    mem: Home, tmp_path: Path, command: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = mem.run(*command, str(tmp_path / "pipe.jsonl"))
    assert done.returncode != 0
    assert "neither a file nor a folder" in done.stderr or "is a pipe" in done.stderr


def test_a_user_who_sends_a_pipe_is_told_how_to(mem: Home, tmp_path: Path) -> None:
    token = mem.ok("token", "create", f"t-{uuid.uuid4().hex[:8]}", "--user", "ada").strip()
    ada = Home(mem.path, mem.environ | {"MEM_SEARCH_TOKEN": token})
    os.mkfifo(tmp_path / "pipe.jsonl")
    for command in (("import", "jsonl"), ("add",)):
        done = ada.run(*command, str(tmp_path / "pipe.jsonl"))
        assert done.returncode != 0
        assert "is a pipe (FIFO), not a file" in done.stderr


def test_a_database_that_is_a_bomb_is_refused_and_the_worker_stays_small(
    mem: Home, tmp_path: Path
) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "create table sdk_sessions(id integer primary key, memory_session_id, project);"
            "create table session_summaries(id integer primary key, memory_session_id);"
            "create table observations(id integer primary key, memory_session_id,"
            " narrative generated always as (hex(zeroblob(100000000))));"
            "insert into observations(id) values(1), (2), (3), (4), (5), (6), (7), (8), (9);"
        )
    before = peak(mem)
    done = mem.run("sync", "claude-mem", str(path))
    assert "its observations has generated columns (narrative)" in done.stderr
    assert peak(mem) - before < ROOM


PROMPT = {
    "type": "user", "uuid": "u1", "cwd": "/gone", "timestamp": "2026-01-01T00:00:00Z",
    "message": {"role": "user", "content": "Fix the sluice gate"},
}  # fmt: skip


def tell(mem: Home, session: str, transcript: Path) -> None:
    """A hook tells of a transcript."""
    event = {"hook_event_name": "Stop", "session_id": session, "transcript_path": str(transcript)}
    number = f"{time.time_ns():020}-{uuid.uuid4().hex[:8]}"
    folder = mem.path / "hooks" / "events"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}.part").write_text(json.dumps({**event, "cwd": "/gone"}))
    (folder / f"{number}.part").rename(folder / f"{number}.json")
    body = {"hook_event_name": "Stop", "session_id": session, "event": event, "event_id": number}
    mem.call("POST", "/api/hooks", body)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_hook_makes_nobody_read_the_transcript_of_another_user(mem: Home, tmp_path: Path) -> None:
    for owner in ("theirs", "ours"):
        path = tmp_path / f"{owner}.jsonl"
        prompt = {**PROMPT, "uuid": owner, "sessionId": owner}
        prompt["message"] = {"role": "user", "content": f"Fix the {owner} sluice"}
        path.write_text(json.dumps(prompt) + "\n")
        path.chmod(0o644)
    os.chown(tmp_path / "theirs.jsonl", 65534, 65534)
    for owner in ("theirs", "ours"):
        tell(mem, owner, tmp_path / f"{owner}.jsonl")
    deadline = time.monotonic() + PATIENCE
    while "ours sluice" not in mem.run("search", "sluice").stdout:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "theirs sluice" not in mem.ok("search", "sluice")
    entries = mem.call("GET", "/api/ledger?item=theirs.jsonl")["entries"]
    assert any("belongs to another user (uid 65534)" in entry["reason"] for entry in entries)


def test_settings_of_an_agent_that_are_a_pipe_stop_no_command(mem: Home) -> None:
    folder = Path(mem.environ["HOME"], ".claude")
    folder.mkdir(exist_ok=True)
    settings = folder / "settings.json"
    os.mkfifo(settings)
    try:
        done = mem.run("install", "claude-code")
        assert done.returncode != 0
        assert "is a pipe (FIFO), not a file" in done.stderr
        assert mem.run("doctor").stdout
    finally:
        settings.unlink()


@in_a_file("a backup is of files")
def test_a_backup_that_is_a_pipe_or_lists_a_million_files_is_refused(
    mem: Home, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "many.zip").write_bytes(archive(NAMES))
    for name, why in (("pipe.zip", "is not a file"), ("many.zip", "at most 16 MB are read")):
        done = mem.run("restore", str(tmp_path / name))
        assert done.returncode != 0
        assert why in done.stderr

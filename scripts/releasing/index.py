"""Publishing as a rehearsal: to an index on this machine, and installed from there.

The index is pypiserver, the upload twine's: what a person runs for the real one. Both are installed
into an environment of their own from the registry of this machine, with the installers that people
use, and the index answers on loopback from a folder that is removed at the end.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

TOOLS: Final = ("twine==7.0.0", "pypiserver==2.4.2", "passlib==1.7.4", "pipx==1.18.4", "uv==0.13.9")
PATIENCE: Final = 60.0
Run = Callable[..., str]

_ALIKE: Final = str.maketrans({"l": "1", "i": "1", "o": "0"})


def alike(name: str) -> str:
    """What PyPI compares of a name: two that are alike are one, and the second is refused.

    It ignores case and ``-``, ``_``, ``.``, and takes l and i for 1, o for 0 (Warehouse,
    ``ultranormalize_name``).
    """
    return re.sub(r"[-_.]", "", name.lower()).translate(_ALIKE)


def spellings(name: str) -> list[str]:
    """Names that are asked for: those alike that somebody may have, and that are none of ours."""
    joined = re.sub(r"[-_.]", "", name.lower())
    return [each for each in (joined,) if each != name.lower()]


def taken(name: str, is_known: Callable[[str], bool]) -> list[str]:
    """Which names of an index keep ``name`` from being published there."""
    return [each for each in spellings(name) if alike(each) == alike(name) and is_known(each)]


def is_known(python: Path, name: str) -> bool:
    """Whether the registry of this machine has a package of this name; asks for this one alone."""
    done = subprocess.run(
        [str(python), "-m", "pip", "index", "versions", name], capture_output=True, text=True
    )
    return done.returncode == 0


def tools(place: Path, run: Run) -> Path:
    """The Python of a new environment with ``TOOLS``."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", *TOOLS], dict(os.environ), place)
    return python


@contextmanager
def served(python: Path, packages: Path) -> Iterator[str]:
    """The address of an index of ``packages`` that anybody here may upload to."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        str(python), "-m", "pypiserver", "run", "--interface", "127.0.0.1", "--port", str(port),
        "--authenticate", ".", "--passwords", ".", "--disable-fallback", str(packages),
    ]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.wait()


def _listing(address: str) -> str:
    """Where the index at ``address`` lists its packages (PEP 503)."""
    return urljoin(f"{address}/", "simple/")


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(_listing(address), timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the index of this machine did not start")


def upload(python: Path, files: list[Path], address: str, run: Run) -> None:
    """Check how the description renders, and upload to the index at ``address``."""
    names = [str(each) for each in files]
    run(
        [str(python), "-m", "twine", "check", "--strict", *names], dict(os.environ), files[0].parent
    )
    environ = dict(os.environ) | {"TWINE_USERNAME": "a", "TWINE_PASSWORD": "a"}
    run(
        [str(python), "-m", "twine", "upload", "--non-interactive", "--disable-progress-bar",
         "--repository-url", address, *names],
        environ, files[0].parent,
    )  # fmt: skip


def installed(pip: Path, place: Path, address: str, requirement: str, lock: Path, run: Run) -> Path:
    """The command after ``pip install`` from the index alone; what it needs is as ``lock`` says.

    ``pip``: a Python that has it. ``requirement`` is ``NAME==VERSION``.
    """
    environment = place / "from-index"
    venv.create(environment)
    into = [str(pip), "-m", "pip", "--python", str(environment / "bin" / "python")]
    install = [*into, "install", "--quiet", "--no-compile", "--no-deps"]
    # Dependencies as locked: nothing is resolved, and each has its hash.
    run([*install, "--require-hashes", "--requirement", str(lock)], dict(os.environ), place)
    environ = {name: each for name, each in os.environ.items() if name != "PIP_FIND_LINKS"}
    environ["PIP_INDEX_URL"] = _listing(address)
    run([*install, requirement], environ, place)
    return environment / "bin" / requirement.partition("==")[0]


def quickstarted(command: Path, home: Path, run: Run) -> None:
    """Run quickstart in an empty home, ask, and end the worker."""
    home.mkdir(parents=True)
    environ = {"PATH": os.defpath, "HOME": str(home), "MEM_SEARCH_PORT": "0"}
    try:
        run([str(command), "quickstart"], environ, home)
        if not run([str(command), "recent"], environ, home).strip():
            raise RuntimeError("quickstart read nothing, not even its sample")
    finally:
        run([str(command), "worker", "stop"], environ, home)


def published(python: Path, files: list[Path]) -> int:
    """Upload to the real index; twine asks for the token unless ``TWINE_PASSWORD`` has it."""
    command = [str(python), "-m", "twine", "upload", *map(str, files)]
    return subprocess.run(command, stdin=sys.stdin).returncode

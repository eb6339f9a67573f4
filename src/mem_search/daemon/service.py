"""The worker as a service of the person: systemd (``systemctl --user``) or launchd starts it.

The system starts the worker at login, and again when a signal has killed it. A worker that ends by
itself is not started again: its error says what to mend, and the next command starts it. While a
service is installed, commands let the system start the worker, so that it stays a service.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from mem_search.daemon.home_files import UMASK
from mem_search.errors import InputError, StorageError, Unavailable
from mem_search.platform import SYSTEM
from mem_search.settings import Settings

_SECONDS: Final = 20.0
"""For a command of the service manager, which answers at once or hangs."""

_CARRIED: Final = (
    "PATH", "PYTHONPATH", "TZ", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
)  # fmt: skip
"""Where programs and agents are; a service does not get the variables of the shell."""

_UNIT: Final = """\
[Unit]
Description=mem-search: the worker of {home}

[Service]
Type=exec
ExecStart={command}
{environment}
KillMode=mixed
Restart=on-abnormal
TimeoutStopSec=15
UMask=0077

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class Service:
    """The file that describes the service, and the commands of the system for it.

    ``gone`` ends it and forgets it; ``afterwards`` runs when the file is gone.
    """

    file: Path
    content: bytes
    installed: Sequence[Sequence[str]]
    started: Sequence[str]
    gone: Sequence[str]
    afterwards: Sequence[Sequence[str]] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the file is there."""
        return self.file.is_file()

    @property
    def manager(self) -> str:
        """The program that reads the file."""
        return "systemd" if self.file.suffix == ".service" else "launchd"


def service_of(
    settings: Settings, environ: Mapping[str, str] | None = None, system: str = SYSTEM
) -> Service | None:
    """The service of this home, installed or not; None where there is no service manager."""
    environ = os.environ if environ is None else environ
    person = Path(environ.get("HOME") or Path.home())
    name = "mem-search"
    if settings.home != person / ".mem-search":
        name = f"{name}-{hashlib.sha256(str(settings.home).encode()).hexdigest()[:8]}"
    command = [sys.executable, "-P", "-m", "mem_search", "worker", "run", "--background"]
    if system == "darwin":
        return _launchd(person, name, command, settings, environ)
    if shutil.which("systemctl", path=environ.get("PATH")):
        return _systemd(person, name, command, settings, environ)
    return None


def install(settings: Settings) -> Service:
    """Write the file and start the service. No worker may run.

    Raises Unavailable, and leaves nothing behind, where the system refuses.
    """
    service = service_of(settings)
    if service is None:
        raise Unavailable(
            "this system has neither systemd nor launchd;"
            " start the worker by hand: mem-search worker start"
        )
    made = [folder for folder in service.file.parents if not folder.exists()]
    try:
        service.file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(service.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(service.content)
    except OSError as error:
        _remove_empty(made)
        raise StorageError(f"cannot write {service.file}: {error.strerror}") from error
    for command in service.installed:
        if problem := _problem(command):
            _remove(service)
            _remove_empty(made)
            raise Unavailable(
                f"{' '.join(command)} failed: {problem}; no service is installed."
                " Without one, mem-search worker start starts the worker"
            )
    return service


def uninstall(settings: Settings) -> Path | None:
    """End the service and remove its file; returns what was removed. Raises StorageError."""
    service = service_of(settings)
    if service is None or not service.is_installed:
        return None
    _problem(service.gone)  # one that the system does not know is gone already
    _remove(service)
    for command in service.afterwards:
        _problem(command)
    return service.file


def _remove(service: Service) -> None:
    """Remove the file, and the folders of systemd's units where they are empty then."""
    try:
        service.file.unlink()
    except OSError as error:
        raise StorageError(f"cannot remove {service.file}: {error.strerror}") from error
    if service.manager == "systemd":
        _remove_empty(service.file.parents[:2])  # systemd/user


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    for folder in folders:
        if folder.is_dir() and next(folder.iterdir(), None) is None:
            folder.rmdir()


def start(settings: Settings) -> bool:
    """Whether the system was asked to start the worker; not where no service is installed."""
    service = service_of(settings)
    return service is not None and service.is_installed and not _problem(service.started)


def left_out(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Variables of this shell that hold secrets: they are not written into the file."""
    secret = [f"MEM_SEARCH_{each.name.upper()}" for each in fields(settings) if not each.repr]
    return [name for name in secret if environ.get(name)]


def _systemd(
    person: Path, name: str, command: Sequence[str], settings: Settings, environ: Mapping[str, str]
) -> Service:
    folder = Path(environ.get("XDG_CONFIG_HOME") or person / ".config") / "systemd" / "user"
    unit = f"{name}.service"
    control = ["systemctl", "--user"]
    text = _UNIT.format(
        home=str(settings.home).replace("%", "%%"),
        # In a command, but in no variable, systemd replaces $NAME.
        command=" ".join(_quoted(word).replace("$", "$$") for word in command),
        environment="\n".join(
            f"Environment={_quoted(f'{key}={value}')}"
            for key, value in _environment(settings, environ).items()
        ),
    )
    reload = [*control, "daemon-reload"]
    return Service(
        folder / unit, text.encode(), [reload, [*control, "enable", "--now", unit]],
        [*control, "start", unit], [*control, "disable", "--now", unit], [reload],
    )  # fmt: skip


def _launchd(
    person: Path, name: str, command: Sequence[str], settings: Settings, environ: Mapping[str, str]
) -> Service:
    import plistlib  # only macOS needs it, and it imports a parser

    domain = f"gui/{os.getuid()}"
    file = person / "Library" / "LaunchAgents" / f"{name}.plist"
    described = {
        "Label": name,
        "ProgramArguments": list(command),
        "EnvironmentVariables": _environment(settings, environ),
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        # Hooks and people wait for its replies, and macOS gives a job of another type less.
        "ProcessType": "Interactive",
        "ExitTimeOut": 15,
        "Umask": UMASK,
    }
    try:
        content = plistlib.dumps(described)
    except ValueError as error:  # a control character, or bytes that are no text
        raise InputError(f"launchd's file cannot hold a path or a variable: {error}") from error
    return Service(
        file, content, [["launchctl", "bootstrap", domain, str(file)]],
        ["launchctl", "kickstart", f"{domain}/{name}"],
        ["launchctl", "bootout", f"{domain}/{name}"],
    )  # fmt: skip


def _environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """What the worker gets: settings of this shell that are no secrets, and where things are."""
    public = [f"MEM_SEARCH_{each.name.upper()}" for each in fields(settings) if each.repr]
    values = {name: environ[name] for name in (*public, *_CARRIED) if environ.get(name)}
    return {**values, "MEM_SEARCH_HOME": str(settings.home)}


def _quoted(text: str) -> str:
    """``text`` as one word of a unit file (systemd.syntax(7)), with no specifier in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + escaped.replace("\n", "\\n") + '"'


def _problem(command: Sequence[str]) -> str:
    """Run a command of the service manager: "" or, in one line, why it failed."""
    try:
        done = subprocess.run(  # noqa: S603  our own words
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = " ".join(done.stderr.split()) or f"it exited with {done.returncode}"
    return said if done.returncode else ""

"""The service as systemd and launchd read it, and its life under a manager that obeys."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from homes import Home, quick
from mem_search.daemon import service
from mem_search.errors import InputError
from mem_search.settings import Settings
from patience import PATIENCE, until

LAUNCHD: dict[str, Any] = {
    "Label": str, "ProgramArguments": list, "EnvironmentVariables": dict, "RunAtLoad": bool,
    "KeepAlive": bool | dict, "ProcessType": str, "ExitTimeOut": int, "Umask": int | str,
    "WorkingDirectory": str, "StandardOutPath": str, "StandardErrorPath": str, "Nice": int,
    "SoftResourceLimits": dict, "HardResourceLimits": dict, "ThrottleInterval": int,
}  # fmt: skip
"""Keys of launchd.plist(5) that an agent of a person may have, with their types."""

LAUNCHD_KEPT = {
    "SuccessfulExit", "NetworkState", "PathState", "OtherJobEnabled", "Crashed",
    "AfterInitialDemand",
}  # fmt: skip

ODD = '/a b/100%/$HOME/"q"\\n'

SYSTEMCTL = f"""#!{sys.executable}
# Runs the unit as systemd does: commands and variables are read from the file.
import os, psutil, re, signal, shlex, subprocess, sys
from pathlib import Path

state = Path(os.environ["HOME"], "systemd")
state.mkdir(exist_ok=True)
words = sys.argv[2:]
with open(state / "asked", "a") as log:
    log.write(" ".join(words) + "\\n")
if (state / "refuses").exists():
    sys.exit("Failed to connect to bus: No medium found")
pid = state / "pid"
def runs():
    try:
        return psutil.Process(int(pid.read_text())).status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.Error):
        return False
if (words[0] == "start" or words[:2] == ["enable", "--now"]) and not runs():
    unit = Path(os.environ["HOME"], ".config", "systemd", "user", words[-1]).read_text()
    plain = unit.replace("%%", "%")
    (command,) = re.findall("(?m)^ExecStart=(.*)$", plain)
    lines = re.findall("(?m)^Environment=(.*)$", plain)
    environ = dict(shlex.split(line)[0].split("=", 1) for line in lines)
    # A system that the tests play is one for the worker, too.
    played = {{name: os.environ[name] for name in os.environ if name == "MEM_SEARCH_SYSTEM"}}
    child = subprocess.Popen(
        [word.replace("$$", "$") for word in shlex.split(command)],
        env={{"HOME": os.environ["HOME"], **played, **environ}}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    pid.write_text(str(child.pid))
if words[0] == "disable" and pid.exists():
    try:
        os.kill(int(pid.read_text()), signal.SIGTERM)
    except ProcessLookupError:
        pass
    pid.unlink()
"""


def environ_of(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin",
        "MEM_SEARCH_PORT": "4711",
        "MEM_SEARCH_TOKEN": "mst_secret",
        "SHELL": "/bin/zsh",
    }


def test_the_unit_holds_words_and_settings_literally_and_no_secret(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text("")
    (tools / "systemctl").chmod(0o755)
    environ = environ_of(tmp_path) | {"PATH": str(tools), "MEM_SEARCH_TIMEZONE": ODD}
    settings = Settings(tmp_path / "per%cent home")
    made = service.service_of(settings, environ, "linux")
    assert made is not None
    assert made.file.parent == tmp_path / ".config" / "systemd" / "user"
    assert made.file.name.startswith("mem-search-")  # not the usual home
    text = made.content.decode()
    assert 'Environment="MEM_SEARCH_PORT=4711"' in text
    assert 'Environment="MEM_SEARCH_TIMEZONE=/a b/100%%/$HOME/\\"q\\"\\\\n"' in text
    assert f'Environment="MEM_SEARCH_HOME={tmp_path}/per%%cent home"' in text
    assert "secret" not in text
    assert "SHELL" not in text
    usual = service.service_of(replace(settings, home=tmp_path / ".mem-search"), environ, "linux")
    assert usual is not None
    assert usual.file.name == "mem-search.service"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    environ = os.environ | {"HOME": str(tmp_path)}
    environ = {name: value for name, value in environ.items() if name != "XDG_CONFIG_HOME"}
    made = service.service_of(Settings(tmp_path / "per%cent $HOME"), environ, "linux")
    assert made is not None
    made.file.parent.mkdir(parents=True)
    made.file.write_bytes(made.content)
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--man=no", made.file],
        env=environ | {"XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_launchd_gets_a_property_list(tmp_path: Path) -> None:
    made = service.service_of(Settings(tmp_path / ".mem-search"), environ_of(tmp_path), "darwin")
    assert made is not None
    assert made.file == tmp_path / "Library" / "LaunchAgents" / "mem-search.plist"
    described = plistlib.loads(made.content)
    assert described["Label"] == "mem-search"
    assert described["ProgramArguments"][-3:] == ["worker", "run", "--background"]
    assert described["EnvironmentVariables"] == {
        "PATH": "/usr/bin",
        "MEM_SEARCH_HOME": str(tmp_path / ".mem-search"),
        "MEM_SEARCH_PORT": "4711",
    }
    assert described["RunAtLoad"] is True
    assert described["ProcessType"] == "Interactive"  # others are throttled
    assert made.installed[-1][:2] == ["launchctl", "bootstrap"]
    assert plistlib.loads(plistlib.dumps(described)) == described
    assert wrong_in(described) == []


def wrong_in(described: dict[str, Any]) -> list[str]:
    """What launchd.plist(5) does not know of a job, as ``plutil`` and launchd would read it."""
    wrong = [f"{key}: unknown" for key in described if key not in LAUNCHD]
    wrong += [
        f"{key}: {value!r}"
        for key, value in described.items()
        if not isinstance(value, LAUNCHD.get(key, object))
    ]
    kept = described["KeepAlive"]
    wrong += [f"KeepAlive.{key}" for key in kept if key not in LAUNCHD_KEPT]
    words = [*described["ProgramArguments"], *described["EnvironmentVariables"].values()]
    return wrong + [f"no string: {each!r}" for each in words if not isinstance(each, str)]


@pytest.mark.parametrize("value", ["a\x01b", "caf\udce9"], ids=["control", "not UTF-8"])
def test_what_a_property_list_cannot_hold_is_said(tmp_path: Path, value: str) -> None:
    environ = environ_of(tmp_path) | {"XDG_DATA_HOME": f"/{value}"}
    with pytest.raises(InputError, match="cannot hold"):
        service.service_of(Settings(tmp_path), environ, "darwin")


def test_a_secret_of_the_shell_is_named_as_left_out(tmp_path: Path) -> None:
    assert service.left_out(Settings(tmp_path), environ_of(tmp_path)) == ["MEM_SEARCH_TOKEN"]


def test_without_a_service_manager_there_is_no_service(tmp_path: Path) -> None:
    environ = environ_of(tmp_path) | {"PATH": str(tmp_path)}
    assert service.service_of(Settings(tmp_path), environ, "linux") is None


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[Home]:
    """A home whose PATH has a systemctl that runs units, and nobody else's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text(SYSTEMCTL)
    (tools / "systemctl").chmod(0o755)
    home = quick(tmp_path, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    home.environ.pop("XDG_CONFIG_HOME", None)
    yield home
    home.end()


def unit_of(home: Home) -> Path:
    return next(Path(home.environ["HOME"]).glob(".config/systemd/user/mem-search-*.service"))


@pytest.mark.worker
def test_the_system_starts_the_worker_until_the_service_is_removed(managed: Home) -> None:
    managed.ok("worker", "start")
    first = managed.pid()
    said = managed.ok("service", "install")
    assert f"{unit_of(managed)}: written" in said
    assert unit_of(managed).stat().st_mode & 0o777 == 0o600
    managed_by = Path(managed.environ["HOME"], "systemd")
    assert managed.pid() == int((managed_by / "pid").read_text()) != first
    managed.ok("worker", "stop")
    managed.run("search", "harbour")  # the next command starts it, by the system
    assert managed.pid() == int((managed_by / "pid").read_text())
    refused = managed.run("worker", "start", "--port", "0")
    assert (refused.returncode, "a service starts this worker" in refused.stderr) == (2, True)
    assert "service: systemd" in managed.run("doctor").stdout

    said = managed.ok("uninstall", "--dry-run")
    assert f"service: {unit_of(managed)}: would be removed" in said
    gone = unit_of(managed)
    assert managed.ok("service", "uninstall") == f"{gone}: removed\n"
    until(lambda: managed.run("worker", "status").returncode == 3)
    assert not gone.parents[1].exists()
    assert managed.ok("service", "uninstall") == "no service is installed\n"
    # A start is asked for again while the worker before still ends.
    asked = [line for line, _ in groupby((managed_by / "asked").read_text().splitlines())]
    assert asked == [
        "daemon-reload", f"enable --now {gone.name}", f"start {gone.name}",
        f"disable --now {gone.name}", "daemon-reload",
    ]  # fmt: skip


def test_a_system_that_refuses_is_told_and_nothing_is_left(managed: Home) -> None:
    refuses = Path(managed.environ["HOME"], "systemd", "refuses")
    refuses.parent.mkdir()
    refuses.touch()
    before = set(Path(managed.environ["HOME"]).rglob("*"))
    done = managed.run("service", "install")
    assert done.returncode == 3
    assert "No medium found" in done.stderr
    assert "mem-search worker start" in done.stderr
    assert set(Path(managed.environ["HOME"]).rglob("*")) - before <= {refuses.with_name("asked")}
    managed.ok("worker", "start")
    assert managed.run("service", "install").returncode == 3
    assert "running" in managed.ok("worker", "status")  # as before

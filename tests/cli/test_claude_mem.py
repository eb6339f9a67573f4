"""Beside claude-mem: its recording never stops silently, and moving over is taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from homes import Home
from local_server import Handler, serving
from mem_search.cli import worker
from mem_search.daemon.probe import port_conflict
from mem_search.errors import Conflict, InputError, Unavailable
from mem_search.features.claude_mem import cli as claude_mem
from mem_search.features.claude_mem.cli import KEY, finding
from source_samples import claude_mem as sample_store

USUAL = 37700 + 1000 % 100


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed claude-mem, in a temporary home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(KEY, raising=False)
    made = tmp_path / ".claude-mem"
    made.mkdir()
    return made


def settle(folder: Path, text: str) -> Path:
    file = folder / "settings.json"
    file.write_text(text, "utf-8")
    return file


def state(tmp_path: Path, port: int, **environ: str) -> str:
    found = finding(port, {"HOME": str(tmp_path), **environ}, 1000)
    return "" if found is None else found.state


def test_nothing_is_said_where_claude_mem_is_not_installed(tmp_path: Path) -> None:
    assert finding(37777, {"HOME": str(tmp_path)}, 1000) is None


@pytest.mark.parametrize(
    ("settings", "environ", "theirs"),
    [
        ("{}", {}, USUAL),
        ('{"CLAUDE_MEM_WORKER_PORT": "37777"}', {}, 37777),
        ('\ufeff{"env": {"CLAUDE_MEM_WORKER_PORT": "37778"}}', {}, 37778),
        ('{"CLAUDE_MEM_WORKER_PORT": "1"}', {KEY: "37779"}, 37779),
        ("no JSON", {}, USUAL),
        ("[]", {}, USUAL),
    ],
)
def test_a_port_that_both_use_is_named_with_both_ways_out(
    folder: Path, tmp_path: Path, settings: str, environ: dict[str, str], theirs: int
) -> None:
    settle(folder, settings)
    assert state(tmp_path, theirs, **environ) == "advice"
    assert state(tmp_path, theirs + 1000, **environ) == "ok"
    found = finding(theirs, {"HOME": str(tmp_path), **environ}, 1000)
    assert found is not None
    assert "its own store does not grow any more" in found.detail
    assert "MEM_SEARCH_PORT=0 mem-search worker restart" in found.fix
    assert "mem-search migrate claude-mem" in found.fix


def test_redirecting_is_taken_back_and_keeps_what_changed_since(
    folder: Path, tmp_path: Path
) -> None:
    file = settle(folder, '{"CLAUDE_MEM_WORKER_PORT": "37700", "CLAUDE_MEM_MODEL": "ä"}')
    claude_mem._redirect(folder, 40001)
    claude_mem._redirect(folder, 40002)  # twice: the backup stays that of before
    assert json.loads(file.read_text())[KEY] == "40002"
    assert state(tmp_path, 40002) == "ok"
    changed = json.loads(file.read_text()) | {"CLAUDE_MEM_MODEL": "new"}
    settle(folder, json.dumps(changed))
    claude_mem.take_back(folder)
    assert json.loads(file.read_text()) == {KEY: "37700", "CLAUDE_MEM_MODEL": "new"}
    assert sorted(each.name for each in folder.iterdir()) == ["settings.json"]
    with pytest.raises(Conflict, match="nothing to take back"):
        claude_mem.take_back(folder)


def test_settings_that_never_named_a_port_name_none_afterwards(folder: Path) -> None:
    file = folder / "settings.json"
    claude_mem._redirect(folder, 40001)
    claude_mem.take_back(folder)
    assert json.loads(file.read_text()) == {}


def test_settings_that_cannot_be_read_or_do_not_count_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settle(folder, "{broken")
    with pytest.raises(InputError, match="repair it first"):
        claude_mem._redirect(folder, 40001)
    assert file.read_text() == "{broken"
    monkeypatch.setenv(KEY, "37701")
    with pytest.raises(Conflict, match="in the environment wins"):
        claude_mem._redirect(folder, 40001)
    assert sorted(each.name for each in folder.iterdir()) == ["settings.json"]


class Theirs(Handler):
    """What claude-mem 13.25.3 answers at ``/api/health``, as far as it is looked at."""

    def do_GET(self) -> None:
        self.reply(b'{"status": "ok", "mcpReady": true, "pid": 4711, "version": "13.25.3"}')


@pytest.fixture
def theirs() -> Iterator[int]:
    """The port of a claude-mem that runs."""
    with serving(Theirs) as server:
        yield server.server_port


def test_beside_a_claude_mem_that_runs_it_says_what_runs_where(
    folder: Path, theirs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(folder, json.dumps({KEY: str(theirs)}))
    claude_mem.tell(theirs + 1)
    assert f"claude-mem runs on port {theirs} and records as before" in capsys.readouterr().err
    claude_mem.tell(theirs)  # our worker cannot start there, and says so
    assert capsys.readouterr().err == ""
    said = port_conflict("127.0.0.1", theirs).message
    assert f"port {theirs} is taken by claude-mem's worker (pid 4711)" in said
    assert "MEM_SEARCH_PORT=0" in said


def test_what_its_settings_name_is_said_before_the_worker_is_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(folder, '{"CLAUDE_MEM_WORKER_PORT": "40001"}')
    monkeypatch.setenv("MEM_SEARCH_HOME", str(folder.parent / "home"))

    def not_yet(*_: object) -> None:
        raise Unavailable("it is still starting")

    monkeypatch.setattr(worker, "start_worker", not_yet)
    with pytest.raises(Unavailable):
        worker.start(port=40001)
    assert "its settings name port 40001, which is this worker's" in capsys.readouterr().err


@pytest.mark.worker
def test_starting_and_syncing_say_that_claude_mem_no_longer_records(
    mem: Home, tmp_path: Path
) -> None:
    folder = Path(mem.environ["HOME"]) / ".claude-mem"
    folder.mkdir(parents=True)
    sample_store(folder)
    mem.ok("worker", "start")
    port = str(mem.worker()["port"])
    settle(folder, json.dumps({KEY: port}))
    for argv in (("worker", "start"), ("sync",), ("sync", "claude-mem")):
        said = mem.run(*argv)
        assert said.returncode == 0, said.stderr
        assert f"its settings name port {port}, which is this worker's" in said.stderr, argv
    assert "said" not in mem.run("sync", "git", str(tmp_path)).stderr
    listed = mem.ok("migrate", "claude-mem")
    assert "observations: 2 there, 2 here" in listed
    assert "session_summaries: 1 there, 1 here" in listed
    done = mem.run("migrate", "claude-mem", "--redirect", MEM_SEARCH_PORT=port)
    assert done.returncode == 0, done.stderr
    assert "claude-mem: its settings" not in mem.run("worker", "start").stderr
    assert "its clients use this worker" in mem.run("doctor").stdout

"""``scripts/trace`` sees what runs between a request and its reply, in every thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "scripts" / "tracing" / "main.py"

BUSY = """
import runpy, sys, time
from mem_search import background

pause = 0.0
background.give_back_when_idle.__defaults__ = (background.give_back, time.process_time, pause)
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""A worker that looks at its memory all the time: a slow machine's does so beside each search."""


def trace(*arguments: str, by: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *by, str(TRACE), *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"},
        timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def calls() -> dict[str, list[str]]:
    done = trace("--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_search_runs_through_its_handler_and_the_store(calls: dict[str, list[str]]) -> None:
    assert "search.<locals>.answer" in calls["mem_search.http.search"]  # the event loop's thread
    assert "mem_search.storage.sqlite.database" in calls  # a reader's
    assert "HashingEmbedder.embed" in calls["mem_search.embedders.hashing"]  # the model's thread


def test_what_only_an_import_needs_is_not_counted(calls: dict[str, list[str]]) -> None:
    assert not [module for module in calls if module.startswith("mem_search.ingest")]


def test_what_the_worker_does_beside_a_search_is_not_counted() -> None:
    done = trace("--json", by=("-c", BUSY))
    assert done.returncode == 0, done.stderr
    assert "mem_search.background" not in json.loads(done.stdout)


def test_the_functions_are_listed_below_their_count() -> None:
    first, *rest = trace("--list").stdout.splitlines()
    assert " modules, " in first
    assert any(line.startswith("mem_search.http.search (") for line in rest)
    assert "  search.<locals>.answer" in rest


def test_a_request_that_fails_is_an_error() -> None:
    done = trace("/api/nowhere")
    assert done.returncode == 1
    assert "404" in done.stderr

"""The tier of a test says what it starts, and a unit test that starts something is told."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chosen_store
import homes
import postgres_server
import tiers
from mem_search.wiring import open_runtime


def _starts_nothing() -> str:
    return str(len("text"))


def _opens_a_runtime() -> object:
    return open_runtime


def _has_the_chosen_store() -> object:
    return chosen_store.of_home


def _imports_it_itself() -> object:
    from mem_search.http.core.app import build_app

    return build_app


def _starts_a_process() -> object:
    return subprocess.run


@given(st.integers())
def _has_examples(number: int) -> None:
    assert subprocess.run is not number


def _has_a_home() -> object:
    return [homes.quick for _ in range(1)]


def _asks_a_server() -> object:
    return _opens_a_runtime(), postgres_server.address


@pytest.mark.parametrize(
    ("function", "tier"),
    [
        (_starts_nothing, "unit"),
        (_has_the_chosen_store, "unit"),
        (_opens_a_runtime, "app"),
        (_imports_it_itself, "app"),
        (_starts_a_process, "worker"),
        (_has_examples, "worker"),
        (_has_a_home, "worker"),
        (_asks_a_server, "postgres"),
    ],
)
def test_a_tier_is_the_highest_of_what_the_code_reaches(function: object, tier: str) -> None:
    assert tiers.tier_of_function(function) == tier


def test_a_started_process_and_a_bound_socket_are_told() -> None:
    with tiers.watch() as started:
        subprocess.run([sys.executable, "-c", ""], check=True)
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
    assert any("subprocess.Popen" in each for each in started)
    assert any("socket.bind" in each for each in started)


def test_a_thread_that_ran_before_is_not_of_the_test_and_one_that_it_starts_is() -> None:
    def start(begin: threading.Event) -> None:
        begin.wait()
        subprocess.run([sys.executable, "-c", ""], check=True)

    begins = threading.Event()
    before = threading.Thread(target=start, args=(begins,))
    before.start()
    with tiers.watch() as started:
        begins.set()
        before.join()
        assert started == []
        own = threading.Thread(target=start, args=(begins,))
        own.start()
        own.join()
    assert any("subprocess.Popen" in each for each in started)


def test_an_event_loop_is_nothing_started() -> None:
    with tiers.watch() as started:
        asyncio.run(asyncio.sleep(0))
    assert started == []


def test_every_test_of_this_run_has_a_tier(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        assert any(item.get_closest_marker(name) for name in tiers.TIERS), item.nodeid


def test_what_all_tests_have_makes_none_more_than_a_unit(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("unit")

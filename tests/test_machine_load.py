"""Limits of time grow with the load of the machine."""

from __future__ import annotations

import os

import pytest

from mem_search.daemon.control import start_patience
from mem_search.platform import scale_timeout
from mem_search.redacted_output import RedactedOutput, end_own_output


@pytest.mark.parametrize(
    ("load", "cores", "wanted"),
    [(0.0, 2, 60.0), (2.0, 2, 60.0), (30.0, 2, 900.0), (1e6, 2, 1000.0)],
)
def test_a_limit_grows_with_what_waits_for_each_processor(
    monkeypatch: pytest.MonkeyPatch, load: float, cores: int, wanted: float
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert scale_timeout(60.0, most=1000.0) == wanted


def test_a_start_on_a_busy_machine_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 0.0, 0.0))
    alone = start_patience()
    monkeypatch.setattr(os, "getloadavg", lambda: (16.0, 0.0, 0.0))
    assert start_patience() == 8 * alone


def test_last_words_have_more_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that refuses to start says why, though its first redaction compiles rules."""

    class Output(RedactedOutput):
        def __init__(self) -> None:
            self.waited = list[float]()

        def join(self, seconds: float) -> None:
            self.waited.append(seconds)

    output = Output()
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load in (1.0, 16.0):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        end_own_output(output)
    alone, busy = output.waited
    assert busy == 8 * alone

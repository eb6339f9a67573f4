"""A process that has ended is not waited for, whoever ended it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from mem_search.limited_process import reply_of
from patience import PATIENCE

WAITS = "import sys; sys.stdin.read()"
LEAVES_ITS_PIPE_TO_ANOTHER = (
    f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAITS!r}])"
)


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(
        [sys.executable, "-c", request.param], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    yield started
    started.kill()
    for pipe in (started.stdin, started.stdout):
        assert pipe is not None
        pipe.close()
    started.wait()


@pytest.mark.parametrize("process", [LEAVES_ITS_PIPE_TO_ANOTHER], indirect=True)
def test_a_process_that_ended_has_no_reply_though_its_pipe_is_open(
    process: subprocess.Popen[bytes],
) -> None:
    with pytest.raises(EOFError):
        reply_of(process, PATIENCE)


@pytest.mark.parametrize("process", [WAITS], indirect=True)
def test_a_thread_that_waits_for_a_reply_is_freed_by_the_one_that_ends_the_process(
    process: subprocess.Popen[bytes],
) -> None:
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            reply_of(process, 2 * PATIENCE)
        except (EOFError, OSError) as error:
            ended.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert process.stdout is not None
    # Before it has seen the end of the pipe, whatever the order in which threads run.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, process.stdout.fileno())
    os.close(nothing)
    process.kill()
    process.wait()
    waiting.join(PATIENCE)
    assert len(ended) == 1

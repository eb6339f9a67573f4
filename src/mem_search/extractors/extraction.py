"""Runs readers where they can stop nothing: in a process with a limit of time and memory."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mem_search.errors import SourceError
from mem_search.extractors.refusal import Refused
from mem_search.limited_process import HEAD, framed, started
from mem_search.model.documents import Extracted

SECONDS: Final = 60
"""What one file may take, of processor time and of the clock."""

MEGABYTES: Final = 480
_START_SECONDS: Final = 60.0


class Extraction:
    """Reads files one at a time, from any thread. Call ``close`` at the end."""

    def __init__(self, seconds: int = SECONDS, megabytes: int = MEGABYTES) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, path: Path, name: str) -> Extracted | Refused:
        """The text of the file, or why it has none. Raises SourceError without a process."""
        process = self._started()
        try:
            assert process.stdin is not None
            process.stdin.write(framed((str(path), name)))
            process.stdin.flush()
            reply = self._reply(process, self._seconds)
        except TimeoutError:
            self.close()
            return Refused(f"it was not read within {self._seconds} seconds")
        except (EOFError, OSError):
            process.wait()
            code = process.returncode
            self.close()
            if code == -signal.SIGXCPU:
                return Refused(f"it was not read within {self._seconds} seconds")
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            return Refused(f"its reader was ended {how}: it is probably damaged")
        if isinstance(reply, str):  # out of memory: what is left of it must not hurt the next file
            self.close()
            return Refused(reply)
        assert isinstance(reply, Extracted | Refused)
        return reply

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not sent cannot be sent any more
                        pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            limits = {"seconds": self._seconds, "megabytes": self._megabytes}
            try:
                self._process = started("mem_search.extractors.extraction_process", **limits)
                self._reply(self._process, _START_SECONDS)
            except (OSError, EOFError) as error:
                self.close()
                raise SourceError(f"the process that reads files does not start: {error}") from None
        return self._process

    def _reply(self, process: subprocess.Popen[bytes], seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        (length,) = HEAD.unpack(_received(process, HEAD.size, deadline))
        return pickle.loads(_received(process, length, deadline))  # noqa: S301  of our own process


def _received(process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
    assert process.stdout is not None
    pipe, pieces = process.stdout.fileno(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(pieces) < size:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            piece = os.read(pipe, min(size - len(pieces), 2**20))
            if not piece:
                raise EOFError("it ended")
            pieces += piece
    return bytes(pieces)

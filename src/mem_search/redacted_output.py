"""Output of programs that know nothing of redaction, written to a file without its secrets.

Chroma, native libraries and Python's own tracebacks write to their standard output and error. They
get a pipe instead of the file. A thread reads it, redacts what it reads and writes it down.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final

from mem_search.platform import scale_timeout
from mem_search.platform.memory import enlarge_pipe
from mem_search.text.redaction import redact

_PIPE_BYTES: Final = 1 << 20
"""Room for a writer that holds the interpreter's lock, so that it never waits for our thread."""

_PIECE: Final = 1 << 16
_LAST_SECONDS: Final = 10.0
_MAX_SECONDS: Final = 300.0


class RedactedOutput:
    """A pipe into ``file``; give its ``writer`` to a process, then ``close``.

    The file has mode 0600. It starts anew when it is longer than ``most`` bytes. Raises OSError.
    """

    def __init__(self, file: Path, most: int) -> None:
        self._most = most
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._start_anew_if_long()
        self._reader, self.writer = os.pipe()
        enlarge_pipe(self.writer, _PIPE_BYTES)
        self._thread = threading.Thread(target=self._write, name="redacted output", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close our end: the thread ends when no process has the writer any more."""
        os.close(self.writer)

    def join(self, seconds: float) -> None:
        """Wait until everything is written, at most so long."""
        self._thread.join(seconds)

    def _write(self) -> None:
        rest = b""
        try:
            while piece := os.read(self._reader, _PIECE):
                # Whole lines together: a private key has several. A line that never ends is cut.
                end = piece.rfind(b"\n") + 1 or (len(piece) if len(rest) > _PIECE else 0)
                self._put(rest + piece[:end])
                rest = piece[end:] if end else rest + piece
            self._put(rest)
        finally:
            os.close(self._reader)
            os.close(self._file)

    def _put(self, output: bytes) -> None:
        if not output:
            return
        text = redact(output.decode("utf-8", "replace"))[0]
        try:
            self._start_anew_if_long()
            os.write(self._file, text.encode("utf-8", "replace"))
        except OSError:
            return  # a full disk: whoever writes must not wait for it

    def _start_anew_if_long(self) -> None:
        if os.fstat(self._file).st_size > self._most:
            os.ftruncate(self._file, 0)


def redact_own_output(file: Path, most: int) -> RedactedOutput:
    """From now on our standard output and error, also of our children, go to ``file`` redacted.

    Call ``end_own_output`` with the result before the process ends. Raises OSError.
    """
    output = RedactedOutput(file, most)
    for stream in (1, 2):
        os.dup2(output.writer, stream)
    output.close()
    return output


def end_own_output(output: RedactedOutput) -> None:
    """Write what is still on its way; children that go on may hold the pipe open for so long.

    The first redaction of a process compiles its rules, which takes seconds, and longer on a busy
    machine: without that time the reason of a failed start would be lost.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    output.join(scale_timeout(_LAST_SECONDS, most=_MAX_SECONDS))

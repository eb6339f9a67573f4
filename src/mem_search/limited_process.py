"""A process with limits that does one piece of work after the other for the worker.

``serve`` runs in the process. It reads the work from its standard input and writes a reply for
each piece to its standard output, as pickles after their length. What a piece costs is limited by
the kernel: one that needs more processor time ends the process with SIGXCPU, one that needs more
memory raises MemoryError. A thread of the worker has such a process as a ``LimitedProcess``.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, Final

from mem_search.errors import SourceError
from mem_search.platform import lower_process
from mem_search.platform.processes import end_with_parent, processor_seconds

_WAITING: Final = 0.001
"""A process that gets a smaller part of a core waits for something else than a processor."""

_PATIENCE: Final = 3
"""Work that waits is given up after so many times its processor time; work that goes on is not."""

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.5
"""Between two looks whether a reply is still waited for."""

_STARTING: Final = ThreadPoolExecutor(1, "start-processes")
"""Linux ends a process with the thread that started it, and a reading's thread
ends before the process, which waits for the next reading. So a thread that stays starts all."""

HEAD: Final = struct.Struct(">Q")
"""The length of what follows, in bytes."""


def command(module: str, *, seconds: int, megabytes: int, memory: str = "") -> list[str]:
    """The command that starts ``module``, whose main program calls ``serve``.

    ``module:name`` is a function, or a class whose object is called, that does the work. Then
    ``memory`` is the reply to work that needs too much (``serve``).
    """
    limits = {"parent": os.getpid(), "seconds": seconds, "megabytes": megabytes}
    options = (f"--{name}={value}" for name, value in limits.items())
    program = [__name__, module, memory] if ":" in module else [module]
    return [sys.executable, "-P", "-m", *program, *options]


class Ended(Exception):
    """The process ended over a piece of work, or was ended; the message says over what."""


class LimitedProcess:
    """A process of ``module``, which starts with the first work. Call ``close`` at the end.

    Each piece has so many ``seconds`` of processor time and ``megabytes`` of memory. ``called`` is
    what the process does, for messages: "that reads files". From any thread, one at a time.
    """

    def __init__(self, module: str, called: str, *, seconds: int, megabytes: int) -> None:
        self._module, self._called = module, called
        self._seconds, self._megabytes = seconds, megabytes
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """Whether it was started, and nothing has ended it."""
        return self._process is not None and self._process.poll() is None

    def ask(self, work: object) -> Any:
        """What the process makes of the work. Raises Ended, SourceError without a process."""
        process = self._started()
        try:
            assert process.stdin is not None
            process.stdin.write(framed(work))
            process.stdin.flush()
            return reply_of(process, _PATIENCE * self._seconds)
        except TimeoutError:
            self.stop()
            raise Ended(f"it was not read within {_PATIENCE * self._seconds} seconds") from None
        except (EOFError, OSError):
            process.wait()
            code = process.returncode
            self.stop()
            if code == -signal.SIGXCPU:
                why = f"it takes more than {self._seconds} seconds of processor time"
                raise Ended(why) from None
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            raise Ended(f"its reader was ended {how}: it is probably damaged") from None

    def stop(self) -> None:
        """End the process; the next work starts another one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not sent cannot be sent any more
                        pipe.close()

    def close(self) -> None:
        """End the process for good; whatever is asked afterwards raises SourceError."""
        self._closed = True
        self.stop()

    def _started(self) -> subprocess.Popen[bytes]:
        if not self.is_running:  # one that ended while it had no work has not ended over this
            self.stop()
            if self._closed:
                raise SourceError("the reading was ended")
            try:
                self._process = started(
                    self._module, seconds=self._seconds, megabytes=self._megabytes
                )
                if self._closed:  # by another thread, which did not see the new process
                    raise EOFError("the reading was ended")
                reply_of(self._process, _START_SECONDS)
            except (OSError, EOFError) as error:
                self.stop()
                raise SourceError(f"the process {self._called} does not start: {error}") from None
        assert self._process is not None
        return self._process


def started(
    module: str, *, seconds: int, megabytes: int, memory: str = ""
) -> subprocess.Popen[bytes]:
    """The process of ``command``, for a caller in a thread; its first reply is ``None``."""

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603  our own interpreter and module
            command(module, seconds=seconds, megabytes=megabytes, memory=memory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        )

    try:
        process = _STARTING.submit(begin).result()
    except RuntimeError as error:  # the worker is ending
        raise OSError(str(error)) from error
    assert process.stdin is not None
    process.stdin.write(framed(sys.path))
    process.stdin.flush()
    return process


def environment() -> dict[str, str]:
    """The environment of the process: it finds packages where the worker finds them."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def is_working(pid: int, before: float, seconds: float) -> bool:
    """Whether the process has worked in the last ``seconds``, however busy the machine is.

    ``before`` is what ``processor_seconds`` said then. A process that works reaches its limit of
    processor time by itself; only one that waits has to be ended by the clock.
    """
    return processor_seconds(pid) - before > seconds * _WAITING


def reply_of(
    process: subprocess.Popen[bytes], seconds: float, is_given_up: Callable[[], bool] = bool
) -> Any:
    """The next reply of a process that was ``started``, for a caller in a thread.

    Raises TimeoutError if it waits for so many seconds, or once ``is_given_up`` says so, and
    EOFError when it has ended.
    """
    (length,) = HEAD.unpack(_received(process, HEAD.size, seconds, is_given_up))
    return pickle.loads(_received(process, length, seconds, is_given_up))  # noqa: S301  our own


def _received(
    process: subprocess.Popen[bytes], size: int, seconds: float, is_given_up: Callable[[], bool]
) -> bytes:
    assert process.stdout is not None
    pipe, pieces = process.stdout.fileno(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(pieces) < size:
            used, since = processor_seconds(process.pid), time.monotonic()
            while not selector.select(min(seconds, _LOOK_SECONDS)):
                if is_given_up():
                    raise TimeoutError
                # Another thread that ends the process may close the pipe before this one has seen
                # its end, and then nothing tells of it any more.
                if process.poll() is not None and not selector.select(0):
                    raise EOFError("it ended")
                if time.monotonic() - since >= seconds:
                    if not is_working(process.pid, used, seconds):
                        raise TimeoutError
                    used, since = processor_seconds(process.pid), time.monotonic()
            piece = os.read(pipe, min(size - len(pieces), 2**20))
            if not piece:
                raise EOFError("it ended")
            pieces += piece
    return bytes(pieces)


def serve(load: Callable[[], Callable[[Any], object]], *, memory: str) -> None:
    """Do work until the input ends. ``load`` imports and returns what does it.

    ``memory`` is the reply to work that needs too much; ``{megabytes}`` in it is the limit.
    """
    options = argparse.ArgumentParser(prog="mem-search")
    for name in ("parent", "seconds", "megabytes"):
        options.add_argument(f"--{name}", required=True, type=int)
    given = options.parse_args()
    end_with_parent(given.parent)
    lower_process()
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plug-in prints must not come between the replies
    limit(resource.RLIMIT_CORE, 0)

    # A plug-in is where the worker found it, however the worker was started.
    sys.path[:] = _read(incoming)
    work = load()

    limit(resource.RLIMIT_DATA, given.megabytes * 2**20)
    _write(outgoing, None)
    while True:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + given.seconds)
        try:
            reply = work(_read(incoming))
        except EOFError:
            return
        except MemoryError:
            reply = memory.format(megabytes=given.megabytes)
        try:
            _write(outgoing, reply)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            _write(outgoing, f"what its kind made of it cannot be kept: {error}")


def _read(incoming: BinaryIO) -> Any:
    head = incoming.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    return pickle.loads(incoming.read(HEAD.unpack(head)[0]))  # noqa: S301  from the worker


def _write(outgoing: BinaryIO, reply: object) -> None:
    outgoing.write(framed(reply))
    outgoing.flush()


def framed(value: object) -> bytes:
    """``value`` as a pickle after its length."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(data)) + data


def limit(what: int, most: int) -> None:
    """Lower the limit; the hard one stays, because the limit of processor time moves on."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _named(place: str) -> Callable[[Any], object]:
    """What ``module:name`` names: a function, or an object of the class."""
    module, _, name = place.partition(":")
    named = getattr(import_module(module), name)
    work: Callable[[Any], object] = named() if isinstance(named, type) else named
    return work


if __name__ == "__main__":
    _place, _memory = sys.argv.pop(1), sys.argv.pop(1)
    serve(lambda: _named(_place), memory=_memory)

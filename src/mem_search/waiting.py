"""Threads of their own for work that may wait for ever: a disk of the network, a file of others.

The threads of ``asyncio.to_thread`` are few and shared: a piece of work that never returns takes
one of them from everybody, and keeps the worker from ending. Here each piece has a thread that
nobody waits for, and a limit of time after which its caller goes on.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

Work = tuple[Any, ...]
"""A function and its arguments."""

MAX_OVERDUE: Final = 200
"""Threads of one lane that nobody waits for any more; then it begins nothing new."""

_AHEAD: Final = threading.local()
"""``.ended``: an event that is set when nobody waits any more for what this thread does."""


def is_given_up() -> bool:
    """Whether nobody waits any more for what the current thread does: it should stop."""
    ended: threading.Event | None = getattr(_AHEAD, "ended", None)
    return ended is not None and ended.is_set()


class Lane:
    """Runs pieces of work beside each other, ``most`` at once, each in a thread of its own.

    What was given up is not counted, so that it holds nobody; of it there are ``MAX_OVERDUE``.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._running = 0
        self._free = threading.Condition()
        self._overdue: dict[Future[Any], Work] = {}
        """What was given up and still waits: the same is not begun again meanwhile."""

    def call(self, work: Callable[..., T], *args: Any, seconds: float, otherwise: T) -> T:
        """What ``work`` returns; ``otherwise`` after ``seconds``, or while all threads wait."""
        if (future := self._started((work, *args), seconds)) is None:
            return otherwise
        try:
            value: T = future.result(seconds)
        except NotInTime:
            self._give_up(future, (work, *args))
            return otherwise
        return value

    async def run(self, work: Callable[..., T], *args: Any, seconds: float, otherwise: T) -> T:
        """As ``call``, for a coroutine."""
        import asyncio  # not for commands, which are over before it is loaded

        if (future := self._started((work, *args), 0)) is None:
            return otherwise
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._give_up(future, (work, *args))
            return otherwise

    def _started(self, what: Work, seconds: float) -> Future[Any] | None:
        with self._free:
            if what in self._overdue.values() or len(self._overdue) >= MAX_OVERDUE:
                return None
            if not self._free.wait_for(lambda: self._running < self._most, seconds):
                return None
            self._running += 1
        future: Future[Any] = Future()
        thread = threading.Thread(
            target=self._run, args=(future, what), name=self._name, daemon=True
        )
        thread.start()
        return future

    def _run(self, future: Future[Any], what: Work) -> None:
        work, *args = what
        _settle(future, work, *args)
        with self._free:
            if self._overdue.pop(future, None) is None:
                self._running -= 1
                self._free.notify()

    def _give_up(self, future: Future[Any], what: Work) -> None:
        with self._free:
            if not future.done():
                self._overdue[future] = what
                self._running -= 1
                self._free.notify()


class Steps(Generic[T]):
    """The values of an iterator, all taken in one thread, which is not waited for at the end.

    ``start`` makes the iterator, in that thread too. Call ``end`` when no more is wanted.
    """

    def __init__(self, start: Callable[[], Iterator[T]], name: str) -> None:
        self._asked: SimpleQueue[Future[T | None] | None] = SimpleQueue()
        self._ended = threading.Event()
        self._start = start
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), name=name, daemon=True
        )
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the thread has not returned yet, be it that it waits for something."""
        return self._thread.is_alive()

    async def next(self, seconds: float) -> T | None:
        """The next value, None after the last one. Raises TimeoutError, and what comes of it."""
        import asyncio

        future: Future[T | None] = Future()
        self._asked.put(future)
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(future)

    def end(self) -> None:
        """Let the thread stop as soon as it can, and close the iterator."""
        self._ended.set()
        self._asked.put(None)

    def _run(self) -> None:
        _AHEAD.ended = self._ended
        values: Iterator[T] | None = None

        def step() -> T | None:
            nonlocal values
            if values is None:
                values = self._start()
            return next(values, None)

        try:
            while (future := self._asked.get()) is not None:
                _settle(future, step)
        finally:
            if (close := getattr(values, "close", None)) is not None:
                close()


def _settle(future: Future[T], work: Callable[..., T], *args: Any) -> None:
    """Let whoever waits for ``future`` have what ``work`` returns or raises."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = work(*args)
    except BaseException as error:  # noqa: BLE001  whoever waits for it gets it
        future.set_exception(error)
    else:
        future.set_result(value)

"""The history of a repository, from a process with limits that runs git on a directory of ours.

``mem_search.git`` says why: nothing that the repository contains can run, or be waited for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from mem_search.errors import SourceError
from mem_search.git import places
from mem_search.git.commits import Commit
from mem_search.git.places import Place, Refused
from mem_search.git.references import References, references_of
from mem_search.git.session import Opened, Opening
from mem_search.limited_process import framed, reply_of, started
from mem_search.sources.base import scratch_folder
from mem_search.waiting import is_given_up

STILL_SECONDS: Final = 60.0 if sys.platform == "linux" else 600.0
"""Without a reply and without work: then it waits for a disk or a pipe that gives nothing. Only
Linux says whether git works."""

MAX_SECONDS: Final = 60
"""Of processor time of ours for one reply. Git has its own limit."""

MAX_MEGABYTES: Final = 1024
"""Of the process that talks to git. It holds the names of two million files at most."""


class History:
    """The commits of the repository at ``path``. Its methods raise SourceError; call ``close``."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            place = places.find(places.real_path(path))
        except Refused as error:
            raise SourceError(f"{path!r} is not read: {error}") from None
        if place is None:
            raise SourceError(f"{path} is not a git repository; give the directory of one")
        if place.refused:
            raise SourceError(f"{path} is not read: {place.refused}")
        self._place: Place = place
        try:
            if places.small_text(place.common / "shallow"):
                raise SourceError(
                    f"{path} is a shallow clone; complete it with: git -C {path} fetch --unshallow"
                )
            self.references: References = references_of(place)
        except Refused as error:
            raise SourceError(f"{path} is not read: {error}") from None
        self._folder = scratch_folder()
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, tips: Iterable[str]) -> Opened:
        """Start reading what is not below ``tips``."""
        try:
            foreign = _is_foreign(self._place)
        except OSError as error:
            raise SourceError(f"{self._path} cannot be read: {error.strerror}") from None
        work = Opening(
            self._path, self._folder.name, self._place, self.references, tuple(tips),
            str(self._place.checkout) if foreign else "",
        )  # fmt: skip
        try:
            self._process = started(
                "mem_search.git.process", seconds=MAX_SECONDS, megabytes=MAX_MEGABYTES
            )
            reply_of(self._process, STILL_SECONDS, is_given_up)
        except (OSError, EOFError) as error:
            raise SourceError(f"the process that runs git does not start: {error}") from None
        opened = self._asked(work)
        assert isinstance(opened, Opened)
        return opened

    def commits(self) -> Iterator[tuple[str, Commit]]:
        """The commits with their branches, parents before children, else oldest first."""
        while found := self._asked(None):
            assert isinstance(found, list)
            yield from found

    def close(self) -> None:
        """End the process and what it runs."""
        if self._process is not None:
            process, self._process = self._process, None
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not sent cannot be sent any more
                        pipe.close()
        self._folder.cleanup()

    def _asked(self, work: Opening | None) -> object:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(framed(work))
            process.stdin.flush()
            reply = reply_of(process, STILL_SECONDS, is_given_up)
        except TimeoutError:
            waits = f"git gave nothing for {STILL_SECONDS:.0f} s and did not work either"
            raise SourceError(f"{self._path} is not read: {waits}") from None
        except (EOFError, OSError):
            code = process.wait()
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            raise SourceError(
                f"{self._path} is not read: the process that reads it was ended {how}"
            ) from None
        if isinstance(reply, str):
            raise SourceError(reply)
        return reply


def _is_foreign(place: Place) -> bool:
    """Whether another user owns the repository, or the directory that names it."""
    mine = {os.geteuid()}
    if mine == {0} and os.environ.get("SUDO_UID", "").isdecimal():
        mine.add(int(os.environ["SUDO_UID"]))
    return not all(path.stat().st_uid in mine for path in (place.checkout, place.common))

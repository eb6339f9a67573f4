"""The folder of the owned Chroma: its lock, stale children, and quarantine.

    chroma/
      .lock                 held by the worker for as long as it owns the folder
      child.json            the last started process, until its end is seen
      data/                 what Chroma writes
      quarantine-<time>/    data that Chroma could not open; at most one
      next/                 a folder like this one, while the index is written anew
      old/                  data that was replaced; it is being deleted

All calls block for a moment; none talks to Chroma.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import UUID

from mem_search.errors import IndexUnavailable
from mem_search.platform.processes import command_line

CHILD: Final = Path(__file__).with_name("child.py")
_PATIENCE = 5.0
_ROOM = 32 * 1024 * 1024


class DataDirectory:
    """One folder, ``root``. Call ``lock`` before everything but ``data`` and ``has_room``."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.data = self.root / "data"
        self.next = self.root / "next"
        self._lock: int | None = None

    def lock(self) -> None:
        """Own the folder until ``unlock`` or the end of this process.

        Raises IndexUnavailable that names the process that owns it, or the error; OSError where the
        folder is owned and cannot be written, as on a full disk.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise IndexUnavailable(
                f"cannot use {self.root} for the vector index: {error}"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise IndexUnavailable(
                f"the vector index {self.root} is in use by process {owner}; stop that one first"
            ) from error
        self._lock = handle
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def has_data(self) -> bool:
        return (self.data / "chroma.sqlite3").exists()

    def has_room(self) -> bool:
        """Whether the disk has room: on a full disk every file looks damaged."""
        return shutil.disk_usage(self.root).free > _ROOM

    def remember_child(self, pid: int) -> None:
        (self.root / "child.json").write_text(json.dumps({"pid": pid}) + "\n", "utf-8")

    def forget_child(self) -> None:
        (self.root / "child.json").unlink(missing_ok=True)

    def end_stale_child(self) -> None:
        """End the child of a worker that died before it could, if it still runs.

        Its process id may belong to another program by now, so the command line has to be ours.
        """
        try:
            pid = int(json.loads((self.root / "child.json").read_text("utf-8"))["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        for sign in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + _PATIENCE
            if self._is_our_child(pid):
                os.kill(pid, sign)
            while self._is_our_child(pid) and time.monotonic() < deadline:
                time.sleep(0.02)
        self.forget_child()

    def _is_our_child(self, pid: int) -> bool:
        command = command_line(pid)
        return str(CHILD) in command and str(self.data) in command

    def quarantine(self) -> Path:
        """Move ``data`` aside and return its new path; deletes an older quarantine."""
        for old in self.root.glob("quarantine-*"):
            shutil.rmtree(old, ignore_errors=True)
        aside = self.root / time.strftime("quarantine-%Y%m%dT%H%M%SZ", time.gmtime())
        self.data.rename(aside)
        return aside

    def restore(self, aside: Path) -> None:
        """Restore a quarantine, because Chroma failed on fresh data too."""
        shutil.rmtree(self.data, ignore_errors=True)
        aside.rename(self.data)

    def take_over(self, data: Path) -> None:
        """Put ``data`` in the place of this folder's, and delete what was there before.

        After a crash between the two moves there is no data, and the index is filled again.
        """
        old = self.root / "old"
        shutil.rmtree(old, ignore_errors=True)
        if self.data.exists():
            self.data.rename(old)
        data.rename(self.data)
        self._delete_replaced()

    def _delete_replaced(self) -> None:
        for folder in (self.root / "old", self.next, *self.root.glob("quarantine-*")):
            shutil.rmtree(folder, ignore_errors=True)

    def revision(self) -> int | None:
        """How often Chroma's database was written: SQLite's file change counter.

        Every transaction raises it, because Chroma uses a rollback journal
        (https://sqlite.org/fileformat2.html#file_change_counter). None while there is no file.
        """
        try:
            with (self.data / "chroma.sqlite3").open("rb") as file:
                file.seek(24)
                return int.from_bytes(file.read(4), "big")
        except OSError:
            return None

    def sweep(self) -> None:
        """Delete the folders of deleted collections, which Chroma leaves behind.

        Also what a rewriting left that was interrupted. Call it only while no child runs. Skips
        files that cannot be read.
        """
        for folder in (self.root / "old", self.next):
            shutil.rmtree(folder, ignore_errors=True)
        if not self.has_data():
            return
        uri = f"{(self.data / 'chroma.sqlite3').as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as database:
                known = {row[0] for row in database.execute("select id from segments")}
        except sqlite3.Error:
            return
        for folder in self.data.iterdir():
            if folder.is_dir() and _is_uuid(folder.name) and folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False

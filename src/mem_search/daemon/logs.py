"""The worker's log: one line for each event, rotated, without secrets.

Callers log no bodies and no queries. The formatter removes tokens, because a URL or a header ends
up in an error message sooner or later.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from mem_search.errors import UNWRITABLE, InputError, StorageError
from mem_search.patterns import pattern
from mem_search.redacted_output import end_own_output, redact_own_output
from mem_search.request_id import REQUEST_ID
from mem_search.settings import Settings
from mem_search.text.control_characters import escaped
from mem_search.text.redaction import redact

FILE = "worker.log"
OUTPUT = "worker.out"
"""Standard output and error of a background worker and its children, redacted: failures before its
log is open, and what native libraries print. Each start begins it anew.
"""

_SIZE = 5 * 2**20
_FILES = 5
_SECRET = pattern(r"(?i)(bearer\s+|[?&;\s\"'](?:token|api_key|key)=)[^\s&;\"']+")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class OneLine(logging.Formatter):
    """``2026-11-21T10:00:00.123Z INFO mem_search.jobs: text``; tracebacks on the same line.

    Control characters are escaped, so no text can forge a line or act on a terminal.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, *secrets: str) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = tuple(secret for secret in secrets if secret)

    def format(self, record: logging.LogRecord) -> str:
        return escaped(self.clean(super().format(record)))

    def clean(self, text: str) -> str:
        """``text`` without secrets."""
        text = redact(_SECRET.sub(r"\1[redacted]", text))[0]
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        return text


class JsonLine(OneLine):
    """One JSON object a line: ``at``, ``level``, ``logger``, ``message``; ``request`` is the id of
    the request that it is about.
    """

    def format(self, record: logging.LogRecord) -> str:
        said = record.getMessage()
        if record.exc_info:
            said = f"{said}\n{self.formatException(record.exc_info)}"
        line = {
            "at": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": self.clean(said),
        }
        if request := REQUEST_ID.get():
            line["request"] = request
        return json.dumps(line)


class LogFile(RotatingFileHandler):
    """The file of the log. Lines that do not fit on the disk are lost, and nothing else is."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of logging
        """Called inside of ``except``. Any other error is printed, as logging does."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError) or error.errno not in UNWRITABLE:
            super().handleError(record)


def open_logs(settings: Settings, token: str, *, echo: bool) -> None:
    """Log to the file of the home and, with ``echo``, to standard error.

    Raises InputError for an unknown level, StorageError when the log cannot be written.
    """
    level = settings.log_level.upper()
    if level not in _LEVELS:
        raise InputError(
            f"log_level cannot be {settings.log_level!r}; choose one of {', '.join(_LEVELS)}",
            field="log_level",
        )
    try:
        settings.logs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        (settings.logs_dir / FILE).open("ab").close()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise StorageError(f"cannot write {settings.logs_dir}: {error.strerror}") from error
    to_file = LogFile(
        settings.logs_dir / FILE,
        maxBytes=_SIZE,
        backupCount=_FILES - 1,
        encoding="utf-8",
        delay=True,
    )
    handlers: list[logging.Handler] = [to_file]
    if echo:
        handlers.append(logging.StreamHandler(sys.stderr))
    formatter = {"text": OneLine, "json": JsonLine}[settings.log_format](token, settings.token)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    root.setLevel(level)
    # Libraries log their requests at INFO, and a request contains the query.
    for noisy in ("httpx", "httpcore", "chromadb", "asyncio", "mcp"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def keep_output_redacted(settings: Settings) -> None:
    """Write what this process prints to ``OUTPUT`` without secrets, until it ends.

    Raises StorageError.
    """
    try:
        settings.logs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        output = redact_own_output(settings.logs_dir / OUTPUT, _SIZE)
    except OSError as error:
        if error.errno in UNWRITABLE:
            return  # whoever started this process has given it another output
        raise StorageError(f"cannot write {settings.logs_dir}: {error.strerror}") from error
    atexit.register(end_own_output, output)


def last_lines(file: Path, count: int) -> list[str]:
    """The last ``count`` lines; none when the file does not exist."""
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip("\n") for line in deque(lines, count)]
    except OSError:
        return []


def follow(file: Path, pause: float = 0.3) -> Generator[str, None, None]:
    """Lines that are written after this call, without end, also after a rotation."""
    return _follow(file, file.stat().st_size, pause)


def _follow(file: Path, start: int, pause: float) -> Generator[str, None, None]:
    while True:
        with file.open(encoding="utf-8", errors="replace") as handle:
            handle.seek(start)
            yield from _until_rotated(file, handle, pause)
        start = 0


def _until_rotated(file: Path, handle: TextIO, pause: float) -> Iterator[str]:
    ours = os.fstat(handle.fileno()).st_ino
    partial = ""
    rotated = False
    while True:
        while piece := handle.readline():
            partial += piece
            if partial.endswith("\n"):
                yield partial.rstrip("\n")
                partial = ""
        if rotated:  # and it has been read to its end since
            return
        time.sleep(pause)
        try:
            rotated = file.stat().st_ino != ours
        except FileNotFoundError:
            continue  # between the two steps of a rotation

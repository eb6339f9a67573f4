"""Which kept transcripts were forgotten: a keyed hash of the place of each, and no name."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path
from typing import Final

from mem_search import regular_file

_FOLDER: Final = "forgotten"
_KEY: Final = "key"
_LETTERS: Final = 32
"""Hex digits of a mark."""


class ForgottenTranscripts:
    """The marks of places below ``folder``. Methods block, and raise OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._marks = folder / _FOLDER

    def __contains__(self, place: Path) -> bool:
        return self._marks.is_dir() and self._mark(place).exists()

    def bury(self, place: Path, *files: Path) -> None:
        """Mark ``place``, then remove ``files``, and folders that are empty then: these are called
        like projects.
        """
        mark = self._mark(place)
        mark.touch(mode=0o600)
        for file in files:
            file.unlink(missing_ok=True)
        folder = place.parent
        while folder != self._folder and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _mark(self, place: Path) -> Path:
        key = regular_file.read_or_create_secret(self._marks / _KEY, lambda: secrets.token_hex(32))
        name = str(place.relative_to(self._folder)).encode("utf-8", "surrogateescape")
        return self._marks / hmac.digest(bytes.fromhex(key), name, "sha256").hex()[:_LETTERS]

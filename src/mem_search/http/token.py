"""The home's own token: from the settings, else from the token file in the home.

Whoever has it is the machine's person, and gives out the others (``access/tokens``).
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from aiohttp import web

from mem_search.access.tokens import PREFIX
from mem_search.errors import InputError, StorageError
from mem_search.settings import Settings

TOKEN: Final = web.AppKey("token", str)
_BYTES = 32


def read_or_create(settings: Settings) -> str:
    """The token. A new one is written whole or not at all, readable by its owner only.

    Two processes that start at once end up with the same token. Raises StorageError, or
    InputError for a user's token: with it in the environment, their worker would be this one.
    """
    if settings.token.startswith(PREFIX):
        raise InputError(
            "MEM_SEARCH_TOKEN holds a token that was given out, which cannot be the home's own;"
            " start the worker without it",
            field="token",
        )
    if settings.token:
        return settings.token
    try:
        return _read(settings.token_file) or _create(settings.token_file)
    except OSError as error:
        raise StorageError(f"cannot keep the token in {settings.token_file}: {error}") from error


def matches(given: str, token: str) -> bool:
    """Whether ``given`` is the token, in a time that does not tell how near it came."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode("utf-8"))


def _read(file: Path) -> str:
    return file.read_text("utf-8").strip() if file.is_file() else ""


def _create(file: Path) -> str:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_urlsafe(_BYTES)
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(token + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        if file.is_file() and not _read(file):
            part.replace(file)  # an empty token file is no token
        else:
            os.link(part, file)  # refused when somebody else was first
    except FileExistsError:
        return _read(file)
    finally:
        part.unlink(missing_ok=True)
    return token

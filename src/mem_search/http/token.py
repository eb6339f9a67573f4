"""The home's own token: from the settings, else from the token file in the home.

Whoever has it is the machine's person, and gives out the others (``access/tokens``).
"""

from __future__ import annotations

import secrets
from typing import Final

from aiohttp import web

from mem_search import secret_file
from mem_search.access.tokens import check_own
from mem_search.errors import StorageError
from mem_search.settings import Settings

TOKEN: Final = web.AppKey("token", str)
_BYTES = 32


def read_or_create(settings: Settings) -> str:
    """The token. A new one is written whole or not at all, readable by its owner only.

    Two processes that start at once end up with the same token. Raises StorageError, or
    InputError for a user's token: with it in the environment, their worker would be this one.
    """
    check_own(settings.token)
    if settings.token:
        return settings.token
    try:
        return secret_file.read_or_create(
            settings.token_file, lambda: secrets.token_urlsafe(_BYTES)
        )
    except OSError as error:
        raise StorageError(f"cannot keep the token in {settings.token_file}: {error}") from error


def matches(given: str, token: str) -> bool:
    """Whether ``given`` is the token, in a time that does not tell how near it came."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode("utf-8"))

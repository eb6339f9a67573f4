"""The secret that this home signs with, kept beside its token."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from mem_search import secret_file
from mem_search.errors import InputError, StorageError
from mem_search.settings import Settings

PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """``whsec_`` and 32 random bytes in Base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode("ascii")


def key_of(secret: str) -> bytes:
    """The bytes that sign. Raises InputError for what is no secret of this form."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not key:
        raise InputError(
            f"the webhook secret must be {PREFIX} and Base64; remove its file to get a new one",
            field="webhook_secret",
        )
    return key


def signed(key: bytes, message: str, at: int, body: bytes) -> dict[str, str]:
    """The three headers of a message; ``at`` is seconds since 1970 when it is sent."""
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode('ascii')}",
    }


def webhook_secret(settings: Settings) -> str:
    """``whsec_…``, made when it is first asked for.

    Raises StorageError when it cannot be kept, InputError when the file holds something else.
    """
    file = settings.webhook_secret_file
    try:
        secret = secret_file.read_or_create(file, new_secret)
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot keep the webhook secret in {file}: {error}") from error
    key_of(secret)
    return secret

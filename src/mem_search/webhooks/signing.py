"""The secret that signs the messages of this home, stored beside its token."""

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
    """The signing key. Raises InputError for a secret of another form."""
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
    """The three headers of a message; ``at`` is the time of sending in seconds since 1970."""
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode('ascii')}",
    }


def webhook_secret(settings: Settings) -> str:
    """``whsec_…``; the first call creates it.

    Raises StorageError when it cannot be stored, InputError when the file has other content.
    """
    file = settings.webhook_secret_file
    try:
        secret = secret_file.read_or_create(file, new_secret)
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot store the webhook secret in {file}: {error}") from error
    key_of(secret)
    return secret

"""The secret that this home signs with, kept beside its token."""

from __future__ import annotations

from mem_search import secret_file
from mem_search.errors import StorageError
from mem_search.settings import Settings
from mem_search.webhooks.signing import key_of, new_secret


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

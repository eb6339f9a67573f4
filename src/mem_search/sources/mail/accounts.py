"""Mailboxes on servers: their URLs (RFC 5092), and the passwords in the home.

The passwords are in ``mail-passwords.json`` of the home, which only its owner can read:
``{"ada@mail.example.org": "…"}``. A server is asked only where there is a password for exactly this
user on this host, so nobody can make the worker send a password, or anything, to another host.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, unquote, urlsplit

from mem_search.errors import InputError, SourceError
from mem_search.regular_file import MAX_SETTINGS, open_regular_file
from mem_search.settings import home_of
from mem_search.text.urls import is_loopback

SCHEMES: Final = ("imap", "imaps")
PASSWORDS: Final = "mail-passwords.json"

_TLS_PORT: Final = 993
_PORT: Final = 143
_EXAMPLE: Final = "imaps://ada@mail.example.org/INBOX"
_MAX_VALUE_CHARS: Final = 2_000

Security = Literal["tls", "starttls", "none"]


@dataclass(frozen=True, slots=True)
class Account:
    """A user on a host, and one of their folders; without ``folder`` all folders."""

    user: str
    host: str
    port: int
    security: Security
    folder: str = ""

    @classmethod
    def parse(cls, url: str) -> Account:
        """The mailbox that ``url`` names. Raises InputError, which never repeats a password.

        ``imaps`` is TLS from the first byte, and so is ``imap`` without a port (RFC 8314). With
        another port than 993 ``imap`` is STARTTLS. Only on this machine it is not encrypted.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        user, colon, _ = parts.netloc.rpartition("@")[0].partition(":")
        if colon:
            raise InputError(
                "a URL with a password is shown to other programs and kept in the shell's history;"
                f" write it without, change the password, and it is asked for: {_EXAMPLE}",
                field="path",
            )
        user, host, folder = unquote(user), parts.hostname or "", unquote(parts.path).strip("/")
        is_right = parts.scheme in SCHEMES and user and host and len(url) <= _MAX_VALUE_CHARS
        if not is_right or parts.query or parts.fragment or not (user + folder).isprintable():
            raise InputError(f"a mailbox on a server is written {_EXAMPLE}", field="path")
        security: Security = "tls"
        if parts.scheme == "imap" and is_loopback(host):
            security = "none"
        elif parts.scheme == "imap" and port not in (None, _TLS_PORT):
            security = "starttls"
        usual = _PORT if security == "none" else _TLS_PORT
        folder = "INBOX" if folder.upper() == "INBOX" else folder
        return cls(user, host, port or usual, security, folder)

    @property
    def name(self) -> str:
        """``user@host``: the name under which its password is kept."""
        return f"{self.user}@{self.host}"

    @property
    def url(self) -> str:
        """The URL, equal for every way of writing it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = (self.security, self.port) in (("tls", _TLS_PORT), ("none", _PORT))
        port = "" if is_usual else f":{self.port}"
        scheme = "imaps" if self.security == "tls" else "imap"
        return f"{scheme}://{quote(self.user, safe='@')}@{host}{port}/{quote(self.folder)}"


def password_of(account: Account, home: Path | None = None) -> str:
    """The password of ``account``; "" when none is kept. Raises SourceError."""
    return _read(home or home_of(os.environ)).get(account.name, "")


def keep_password(account: Account, password: str, home: Path | None = None) -> None:
    """Keep ``password``, and without one forget what is kept. Raises SourceError."""
    home = home or home_of(os.environ)
    known = {**_read(home), account.name: password}
    kept = {name: each for name, each in known.items() if each}
    file = home / PASSWORDS
    part = file.with_name(f"{PASSWORDS}.{secrets.token_hex(4)}")
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not kept:
            file.unlink(missing_ok=True)
            return
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            json.dump(kept, opened, indent=1)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SourceError(f"cannot keep the password in {file}: {error.strerror}") from error


def _read(home: Path) -> Mapping[str, str]:
    file = home / PASSWORDS
    try:
        with open_regular_file(file, max_bytes=MAX_SETTINGS, own=True) as opened:
            if os.fstat(opened.fileno()).st_mode & 0o077:
                raise SourceError(
                    f"other users can read {file}; run: chmod 600 {shlex.quote(str(file))}"
                )
            known = json.loads(opened.read())
        if not isinstance(known, dict) or not all(isinstance(v, str) for v in known.values()):
            raise ValueError
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SourceError(f"cannot read {file}: {error.strerror}") from error
    except ValueError:
        message = f'{file} is not what it should be: {{"ada@mail.example.org": "PASSWORD"}}'
        raise SourceError(message) from None
    return known

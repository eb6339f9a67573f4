"""Messages of webhooks as e-mail: sent by one SMTP server, to addresses that the settings list.

``service`` queues them under ``mailto:ADDRESS`` and tries again; this sends one. Nobody can make
the worker write to anybody else: it is no relay. TLS is demanded but on loopback, and a password
never goes without it. Headers are made by ``email.message``, out of one line each.
"""

from __future__ import annotations

import asyncio
import json
import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from mem_search.errors import InputError
from mem_search.features.webhooks.service import SECONDS, Attempt
from mem_search.outgoing import RefusedReceiver
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import one_line
from mem_search.settings import Settings
from mem_search.text.urls import is_loopback

_ADDRESS: Final = pattern(r"[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}")
_PORTS: Final = {"smtp": 587, "smtps": 465}
MAX_SUBJECT_CHARS: Final = 150
MAX_ERROR_CHARS: Final = 200
_NO_SERVER: Final = "no e-mail is sent here: set MEM_SEARCH_SMTP and MEM_SEARCH_SMTP_TO"


class RefusedAddress(RefusedReceiver):
    """The worker does not write to this address."""


@dataclass(frozen=True, slots=True)
class Mail:
    """The server, who sends, and who may be written to. Without ``host`` there is none."""

    host: str
    port: int
    implicit: bool
    user: str
    password: str
    sender: str
    allowed: frozenset[str]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Raises InputError naming the setting at fault."""
        place = urlsplit(settings.smtp)
        try:
            port, host = place.port or _PORTS.get(place.scheme, 0), place.hostname or ""
        except ValueError:
            port = 0
        if settings.smtp and not (port and host and not place.path.strip("/") and not place.query):
            raise InputError(
                "MEM_SEARCH_SMTP has the form smtps://USER@HOST, or smtp://USER@HOST:587 for"
                " STARTTLS; the password is in MEM_SEARCH_SMTP_PASSWORD",
                field="smtp",
            )
        if place.password:
            raise InputError("the password belongs in MEM_SEARCH_SMTP_PASSWORD", field="smtp")
        if not (settings.smtp_password + (place.username or "")).isascii():
            raise InputError(  # smtplib sends no others
                "user and password of the mail server have letters of ASCII only", field="smtp"
            )
        if settings.smtp_from and not _ADDRESS.fullmatch(settings.smtp_from):
            raise InputError("MEM_SEARCH_SMTP_FROM is not an e-mail address", field="smtp_from")
        return cls(
            host=host if settings.smtp else "", port=port, implicit=place.scheme == "smtps",
            user=unquote(place.username or ""), password=settings.smtp_password,
            sender=settings.smtp_from or next(iter(settings.smtp_to), ""),
            allowed=frozenset(map(str.lower, filter(_ADDRESS.fullmatch, settings.smtp_to))),
        )  # fmt: skip

    def check(self, address: str) -> None:
        """Raises RefusedAddress for an address that is not written to."""
        if not self.host or not self.allowed:
            raise RefusedAddress(_NO_SERVER)
        if address.lower() not in self.allowed:
            raise RefusedAddress(
                "the worker writes only to addresses that MEM_SEARCH_SMTP_TO lists"
            )

    async def send(self, address: str, message: str, body: bytes) -> Attempt:
        """Send the JSON ``body`` in words. A server that fails raises nothing."""
        try:
            self.check(address)
        except RefusedAddress as error:
            return Attempt(False, error=error.message, final=True)
        written = in_words(json.loads(body), message, self.sender, address)
        try:
            await asyncio.to_thread(self._deliver, written)
        except smtplib.SMTPRecipientsRefused as error:
            code, said = next(iter(error.recipients.values()))
            return Attempt(False, code, _said(said), final=code >= 500)
        except smtplib.SMTPAuthenticationError as error:
            why = "the mail server refuses user and password: MEM_SEARCH_SMTP_PASSWORD"
            return Attempt(False, error.smtp_code, why)
        except smtplib.SMTPResponseException as error:
            return Attempt(False, error.smtp_code, _said(error.smtp_error))
        except (smtplib.SMTPException, OSError, ValueError) as error:
            return Attempt(False, error=_said(f"{type(error).__name__}: {error}"))
        return Attempt(True, 250)

    def _deliver(self, written: EmailMessage) -> None:
        context = ssl.create_default_context()
        if self.implicit:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=SECONDS, context=context
            )
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        with server:
            server.ehlo_or_helo_if_needed()
            if not self.implicit and (self.password or not is_loopback(self.host)):
                server.starttls(context=context)
            if self.password:
                server.login(self.user, self.password)
            server.send_message(written)


def in_words(event: dict[str, Any], message: str, sender: str, address: str) -> EmailMessage:
    """What ``event``, a message of a webhook, says to a person."""
    data = event["data"]
    name, query = one_line(str(data.get("saved_search", ""))), one_line(str(data["query"]))
    written = EmailMessage()
    if name:
        subject = f"{data['count']} new: {name}"
        lines = [f"{data['count']} new or changed matches of the saved search {name}: {query}", ""]
        for match in data["matches"]:
            sign = "~" if match["changed"] else "+"
            lines.append(f"{sign} {one_line(match['title']) or match['id']}  {match['id']}")
    else:
        subject = f"{data.get('status', 'ended')}: {query}"
        lines = [f"{key}: {one_line(str(value))}" for key, value in data.items() if value]
    written["Subject"] = f"[mem-search] {subject}"[:MAX_SUBJECT_CHARS]
    written["From"], written["To"] = sender, address
    written["Date"] = format_datetime(localtime())
    # The same at each attempt, so that a mailbox recognises a repetition.
    written["Message-ID"] = f"<{message}@{sender.partition('@')[2]}>"
    written["Auto-Submitted"] = "auto-generated"
    written.set_content("\n".join([*lines, "", "Open one: mem-search get ID"]))
    return written


def _said(said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"the mail server: {one_line(text)}"[:MAX_ERROR_CHARS]

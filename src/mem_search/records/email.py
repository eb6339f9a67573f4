"""A message with its sender and recipients; its subject is its title."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from mem_search.model import Citation, Draft, Kind, Record
from mem_search.model.records import WHOLE_TEXT
from mem_search.records.base import BaseKind, Metadata, people
from mem_search.records.canonical_text import drop_unstorable, fold, listed
from mem_search.records.citation_fields import first_time
from mem_search.text.addresses import addresses


class EmailMetadata(Metadata):
    """The metadata of an e-mail. Addresses are written as in the header they come from.

    ``thread_id`` is the message id of the first message of the thread. ``quoted`` and ``signature``
    are cut from the text of the message; of them only what no other message of the thread says is
    searched (``only_copy``). ``whole_text`` has all.
    """

    subject: str | None = None
    sender: str | list[str] | None = Field(default=None, alias="from", title="From")
    to: str | list[str] | None = None
    cc: str | list[str] | None = None
    bcc: str | list[str] | None = None
    reply_to: str | list[str] | None = None
    date: str | None = None
    message_id: str | None = Field(default=None, title="Message-ID")
    in_reply_to: str | None = None
    thread_id: str | None = None
    mailing_list: str | None = None
    attachments: list[str] | None = None
    event_name: str | None = Field(default=None, title="Event")
    event_date: str | None = None
    location: str | None = None
    signature: str | None = None
    quoted: str | None = None


class Email(BaseKind[EmailMetadata]):
    """The ``email`` kind; filters match the addresses and names of sender and recipients."""

    name: Kind = "email"
    plural = "emails"
    label = "Email"
    sign = "✉️"
    threaded = True
    documents = True
    asked_as: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("email", "emails", "e-mail", "e-mails", "mail", "mails"), "kind:email"),
        **dict.fromkeys(
            ("with attachment", "with attachments", "with an attachment"), "has:attachment"
        ),
    }
    may_be_asked_as: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("message", "messages"), "kind:email"
    )
    source_type = "document_upload"
    csl_type = "personal_communication"
    genre = "Email"
    model = EmailMetadata

    def compose(self, draft: Draft) -> Draft:
        subject = draft.metadata.get("subject")
        if not fold(drop_unstorable(draft.title)) and isinstance(subject, str):
            draft = replace(draft, title=subject)
        return super().compose(draft)

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        known = self.known(draft.metadata)
        named = [
            *(("from", who) for who in people(known.sender)),
            *(("to", who) for who in [*people(known.to), *people(known.cc), *people(known.bcc)]),
        ]
        return [*super().facets(draft), *dict.fromkeys(named)]

    def whole_text(self, record: Record) -> str:
        """As it was sent where quotes and answers alternate, else the answer and what it quotes."""
        if WHOLE_TEXT in record.metadata:
            return super().whole_text(record)
        parts = (record.text, record.metadata.get("signature"), record.metadata.get("quoted"))
        return "\n\n".join(part for part in parts if isinstance(part, str) and part)

    def citation(self, record: Record) -> Citation:
        """Sending counts as publishing; the sender is the author."""
        senders = addresses(listed(record.metadata.get("from")))
        names = [name or address for name, address in senders if name or address]
        cited = super().citation(record)
        sent = first_time(record.metadata, "date")
        return replace(
            cited,
            author="; ".join(names) or cited.author,
            published_at=cited.published_at if sent is None else sent,
            published_in=cited.published_in if sent is None else (),
        )

"""A message; the kind ``email`` reads the same fields from its headers."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Text, Texts


class Email(DocumentMetadata):
    """A mail. Headers are stored as ``from``, ``to`` and ``date``, which mean the common fields."""

    type_name = "email"
    also = ("mail", "e-mail")

    subject: Text | None = None
    cc: Texts | None = None
    bcc: Texts | None = None
    reply_to: Texts | None = None
    thread_id: Text | None = None
    message_id: Text | None = None
